//! Every code, with the exact numbers of a file that brings it about; and files that must stay without a warning.

mod quiet;
mod routes;

use super::*;
use expect_test::{Expect, expect, expect_file};

fn rate(text: &str) -> Rate {
    text.parse().expect("a rate")
}

fn advice(file: &str, traffic: &Traffic) -> Vec<Advice> {
    let config = Config::parse("seawall.toml", file).unwrap_or_else(|errors| panic!("{errors}"));
    of(&config, traffic)
}

fn shown(advice: &Advice) -> String {
    let at = advice.at.as_ref();
    let place = at.map_or_else(|| "-".to_owned(), |at| format!("{}:{}", at.line, at.column));
    let numbers = advice
        .numbers
        .iter()
        .map(|(name, figure)| format!("{name}={figure}"));
    let lines = [format!("{place} {}: {}", advice.code.name(), advice.text)];
    let numbers = numbers.collect::<Vec<_>>().join(" ");
    let lines = lines
        .into_iter()
        .chain((!numbers.is_empty()).then(|| format!("    {numbers}")));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The warnings of a file.
fn warns(file: &str, traffic: &Traffic, expected: Expect) {
    let warnings = advice(file, traffic)
        .into_iter()
        .filter(|advice| advice.severity() == Severity::Warning);
    expected.assert_eq(&warnings.map(|advice| shown(&advice)).collect::<String>());
}

/// What is said under one code.
fn says(code: Code, file: &str, traffic: &Traffic, expected: Expect) {
    let told = advice(file, traffic)
        .into_iter()
        .filter(|advice| advice.code == code);
    expected.assert_eq(&told.map(|advice| shown(&advice)).collect::<String>());
}

fn none() -> Traffic {
    Traffic::default()
}

#[test]
fn every_code_stands_at_its_place_under_a_name_of_its_own() {
    // An entry out of order gives one code the name and weight of another.
    let mut names: Vec<&str> = Vec::new();
    for (place, entry) in CATALOGUE.iter().enumerate() {
        assert_eq!(entry.code as usize, place, "{}", entry.name);
        assert_eq!(entry.code.entry(), entry);
        let spelt = format!("{:?}", entry.code);
        assert_eq!(entry.name.replace('-', ""), spelt.to_lowercase());
        assert!(!names.contains(&entry.name) && !entry.when.is_empty());
        names.push(entry.name);
    }
    assert_eq!(Code::RefusalAsFailed as usize + 1, CATALOGUE.len());
}

#[test]
fn the_reference_has_every_code() {
    // A code that is printed and stands nowhere sends people to the source.
    let mut page = String::from(
        "# Advice\n\n\
         <!-- Made from `seawall::advice::CATALOGUE` by `UPDATE_EXPECT=1 cargo test -p seawall advice`. -->\n\n\
         What `seawall check` says of a file that is right, by its code in `--json`. A code is never renamed and never\n\
         used for something else. The sentences have the numbers of the file, and of `--rate`, `--capacity` and\n\
         `--processes` where they were given.\n\n\
         Two warnings come from reading the file, before any arithmetic: `not-enforced`, a key that is read and that\n\
         nothing obeys yet, and `likely-misspelt`, a model that no `[[model]]` is about and that is nearly one that has its own.\n",
    );
    for (severity, title, about) in [
        (
            Severity::Warning,
            "Warnings",
            "What is written is likely to hurt.",
        ),
        (
            Severity::Note,
            "Notes",
            "What is written means this, whether or not it is what was meant.",
        ),
    ] {
        page += &format!("\n## {title}\n\n{about}\n\n| code | when | what to do |\n|---|---|---|\n");
        for entry in CATALOGUE.iter().filter(|entry| entry.severity == severity) {
            page += &format!("| `{}` | {} | {} |\n", entry.name, entry.when, entry.remedy);
        }
    }
    expect_file!["../../../../docs/reference/advice.md"].assert_eq(&page);
}

#[test]
fn a_plain_file_is_told_what_it_means() {
    // Rule G8's facts, with the defaults' own numbers; a note that is lost is one that nobody misses until an outage.
    let notes: String = advice("", &none()).iter().map(shown).collect();
    expect![[r#"
        - wait-max: a call takes up to 2m, at a model's endpoint up to 10m: its 5 retries wait up to 15.5s by our own guess, or as long as the server asks, up to 1m each; of attempts that never answer, 2 of 6 fit
            deadline_ms=120000 deadline_longest_ms=600000 own_waits_ms=15500 hint_max_ms=60000 hung_attempts=2 attempts=6
        - load-max: in an outage at most 1.1 attempts are sent for each call, and 1 a second more (without the budget it would be 6); retries that a 429 asked for come on top, at the server's pace
            attempts_per_call=1.1 floors_per_s=1 attempts_per_call_unbounded=6
        - first-second: one window's allowance may go at once: the first second of an outage may see 2 times the load and 10 attempts more, until the breaker opens
            load_factor=2 floors_attempts=10
        - floor-rules: below 10 calls a second the floor of 1 a second is more than the ratio of 10 %
            calls_per_s=10 floors_per_s=1 ratio=0.1
        - per-process: budgets are per process: each further process may send 1 extra a second more
            processes=1 floor_per_s=1 floors_per_s=1
        - headroom: the budget protects only while calls a second times 1.1 plus 1 are below what the upstream takes; `--rate` and `--capacity` say whether they are
            attempts_per_call=1.1
    "#]].assert_eq(&notes);
}

#[test]
fn notes_take_the_numbers_of_the_user() {
    // A note with the numbers of the default where another is written is worse than none.
    let file =
        "[policy]\nretries = 1\ndeadline = \"20s\"\nbudget = { ratio = 0.2, floor = 0.5, window = \"5s\" }\n";
    let traffic = none()
        .calls(None, rate("1"))
        .capacity(None, rate("3"))
        .processes(2);
    let notes: String = advice(file, &traffic).iter().map(shown).collect();
    expect![[r#"
        4:33 floors-add-up: 2 processes have 2 floors: together 1 extra a second, where the ratio gives 0.2; floor = 0.1 in each makes that 0.2
            processes=2 floor_per_s=0.5 floors_per_s=1
        4:33 floor-rules: below 5 calls a second the floor of 1 a second is more than the ratio of 20 %: 1 call a second may become 2 attempts
            calls_per_s=5 floors_per_s=1 ratio=0.2
        4:47 first-second: one window's allowance may go at once: the first second of an outage may see 2 times the load and 5 attempts more, until the breaker opens
            load_factor=2 floors_attempts=5
        - wait-max: a call takes up to 20s: its retry waits up to 500ms by our own guess, or as long as the server asks, up to 20s; of attempts that never answer, 1 of 2 fits
            deadline_ms=20000 deadline_longest_ms=20000 own_waits_ms=500 hint_max_ms=20000 hung_attempts=1 attempts=2
        - load-max: in an outage at most 1.2 attempts are sent for each call, and 1 a second more (without the budget it would be 2); retries that a 429 asked for come on top, at the server's pace
            attempts_per_call=1.2 floors_per_s=1 attempts_per_call_unbounded=2
        - headroom: 1 call a second may become 2 attempts, below the 3 that the upstream takes: the budget protects it up to 1.666 calls a second
            calls_per_s=1 attempts_per_s=2 capacity_per_s=3 calls_borne_per_s=1.666
        - breaker-rate-silent: failure_rate never counts: 1 call a second are 15 in a window of 30s in each process, and it asks for 20; only 5 failures in a row open it
            calls_in_window=15 min_calls=20
    "#]].assert_eq(&notes);
    says(
        Code::LoadMax,
        "policy = { preset = \"off\" }",
        &none(),
        expect![[r#"
            - load-max: every call is sent once: the upstream sees no more attempts than there are calls
                attempts_per_call=1
        "#]],
    );
    says(
        Code::WaitMax,
        "policy = { preset = \"off\" }",
        &none(),
        expect![[r#"
            - wait-max: a call takes up to 2m, and is sent once
                deadline_ms=120000 deadline_longest_ms=120000 own_waits_ms=0 hint_max_ms=60000 hung_attempts=1 attempts=1
        "#]],
    );
}

#[test]
fn load_without_bounds_is_told() {
    // The product's first promise is about load: what lifts it must be said.
    warns(
        "policy = { budget = \"off\" }",
        &none(),
        expect![[r#"
        1:21 no-budget: nothing bounds retries: in an outage every call is sent up to 6 times, just when the upstream can bear it least; a budget with ratio = 0.1 makes that 1.1
            attempts_per_call=6
    "#]],
    );
    let busy = none().calls(None, rate("30")).capacity(None, rate("100"));
    warns(
        "policy = { budget = \"off\" }",
        &busy,
        expect![[r#"
            1:21 no-budget: nothing bounds retries: in an outage every call is sent up to 6 times, just when the upstream can bear it least; a budget with ratio = 0.1 makes that 1.1 (30 calls a second become 180 attempts, it takes 100: an overload may then keep itself alive)
                attempts_per_call=6
        "#]],
    );
    warns(
        "policy = { budget = { ratio = 0.5 }, retries = 3 }",
        &none(),
        expect![[r#"
            1:31 burst-large: one window's allowance may go at once: the first second of an outage may see 4 times the load and 10 attempts more, until the breaker opens; a window of 2s makes that 2 times
                load_factor=4 floors_attempts=10
            1:31 ratio-wide: a ratio of 0.5 lets an outage multiply the load by 1.5 for as long as it lasts; 0.1 to 0.2 is what budgets are for
                load_factor=1.5
        "#]],
    );
    warns(
        "policy = { budget = { window = \"1m\" } }",
        &none(),
        expect![[r#"
            1:32 burst-large: one window's allowance may go at once: the first second of an outage may see 6 times the load and 60 attempts more, until the breaker opens; a window of 10s makes that 2 times
                load_factor=6 floors_attempts=60
        "#]],
    );
    // Without retries there is nothing to bound.
    warns(
        "policy = { budget = \"off\", retries = 0 }",
        &none(),
        expect![[""]],
    );
}

#[test]
fn a_capacity_is_held_against_calls_and_extras() {
    // λ(1+β) < C; the floors of all processes count, too.
    let at = |calls, capacity| none().calls(None, rate(calls)).capacity(None, rate(capacity));
    warns(
        "",
        &at("95", "100"),
        expect![[r#"
        - no-headroom: 95 calls a second may become 105.5 attempts, and the upstream takes 100: an overload that has begun may keep itself alive; send fewer than 90 calls a second, or lower budget.ratio and budget.floor
            calls_per_s=95 attempts_per_s=105.5 capacity_per_s=100 calls_borne_per_s=90
    "#]],
    );
    warns(
        "",
        &at("120", "100"),
        expect![[r#"
        - over-capacity: 120 calls a second come in and 100 is what the upstream takes: no policy serves them all; limit what comes in, or add capacity
            calls_per_s=120 attempts_per_s=133 capacity_per_s=100 calls_borne_per_s=90
    "#]],
    );
    warns("", &at("90", "100.001"), expect![[""]]);
    says(
        Code::Headroom,
        "",
        &at("50", "100"),
        expect![[r#"
        - headroom: 50 calls a second may become 56 attempts, below the 100 that the upstream takes: the budget protects it up to 90 calls a second
            calls_per_s=50 attempts_per_s=56 capacity_per_s=100 calls_borne_per_s=90
    "#]],
    );
    warns(
        "",
        &at("90", "100"),
        expect![[r#"
        - no-headroom: 90 calls a second may become 100 attempts, and the upstream takes 100: an overload that has begun may keep itself alive; send fewer than 90 calls a second, or lower budget.ratio and budget.floor
            calls_per_s=90 attempts_per_s=100 capacity_per_s=100 calls_borne_per_s=90
    "#]],
    );
}

#[test]
fn many_processes_have_many_floors() {
    // Twenty processes with the default floor double the load of a small service.
    let twenty = none().calls(None, rate("50")).processes(20);
    warns(
        "",
        &twenty,
        expect![[r#"
        - floors-add-up: 20 processes have 20 floors: together 20 extras a second, where the ratio gives 5; floor = 0.25 in each makes that 5
            processes=20 floor_per_s=1 floors_per_s=20
    "#]],
    );
    let fair = none().calls(None, rate("50")).processes(5);
    says(Code::FloorsAddUp, "", &fair, expect![[""]]);
}

#[test]
fn a_budget_that_allows_no_retry_is_told() {
    // At low rates a ratio alone is nothing: 10 % of three calls.
    warns(
        "policy = { budget = { floor = 0 } }",
        &none(),
        expect![[r#"
            1:31 budget-starves: below 1 call a second in a process, a window of 10s allows no retry at all, and a failure there is final; floor = 0.1 allows one in each 10s
                calls_per_s=1 floor_for_one_per_s=0.1
        "#]],
    );
    warns(
        "policy = { budget = { floor = 0 } }",
        &none().calls(None, rate("0.9")),
        expect![[r#"
            1:31 budget-starves: below 1 call a second in a process, a window of 10s allows no retry at all, and a failure there is final; floor = 0.1 allows one in each 10s
                calls_per_s=1 floor_for_one_per_s=0.1
        "#]],
    );
    warns(
        "policy = { budget = { floor = 0 } }",
        &none().calls(None, rate("1")),
        expect![[""]],
    );
    warns(
        "policy = { budget = { floor = 0, ratio = 0 } }",
        &none(),
        expect![[r#"
            1:31 budget-nothing: the budget adds up to nothing: 5 retries are allowed and none is ever sent; floor = 0.1 allows one in each 10s
                floor_for_one_per_s=0.1
        "#]],
    );
}

#[test]
fn limits_are_held_against_what_comes_in() {
    // Both are the user's own numbers, and nobody divides by sixty.
    let limited = "policy = { limits = { requests_per_minute = 600 } }";
    warns(
        limited,
        &none().calls(None, rate("50")),
        expect![[r#"
            1:45 rate-above-limit: 50 calls a second are 3000 a minute, and 600 may be sent: the others wait for a turn that comes too late
                calls_per_minute=3000 limit_per_minute=600
        "#]],
    );
    warns(limited, &none().calls(None, rate("10")), expect![[""]]);
    let auto = "policy = { limits = { requests_per_minute = 600, concurrency = \"auto\" } }";
    says(
        Code::AutoBehindRate,
        auto,
        &none(),
        expect![[r#"
        1:64 auto-behind-rate: "auto" learns from what the upstream throttles, and the limit of 600 a minute is there to prevent that: at 10 attempts a second it is the rate that decides
            limit_per_minute=600
    "#]],
    );
    let few = "policy = { limits = { concurrency = 64 } }";
    says(
        Code::ConcurrencyRoom,
        few,
        &none().calls(None, rate("100")),
        expect![[r#"
            1:37 concurrency-room: 64 in flight at 100 calls a second is room for answers that take 640ms on average; slower ones make calls queue
                in_flight=64 answer_ms=640
        "#]],
    );
}

#[test]
fn times_that_contradict_each_other_are_told() {
    // Each is in range; together they mean that something is never done.
    warns(
        "policy = { deadline = \"10h\" }",
        &none(),
        expect![[r#"
        1:23 deadline-long: in an outage a caller, its connection and its memory may be held for 10h before it is told anything; a deadline is best what the caller waits
            deadline_ms=36000000
    "#]],
    );
    warns(
        "policy = { deadline = \"30s\", hints = { max = \"5m\" } }",
        &none(),
        expect![[r#"
            1:46 hints-beyond-deadline: hints.max of 5m never decides: a call has 30s, and a server that asks for more than is left ends it; lower hints.max or give calls more time
                hint_max_ms=300000 deadline_ms=30000
        "#]],
    );
    warns(
        "policy = { hints = { max = \"10s\", long = \"clamp\" } }",
        &none(),
        expect![[r#"
            1:42 hints-clamped: a server that asks for more than 10s is sent to after 10s, before the time that it named, which may begin its limit anew; long = "stop" ends such calls and tells when to come back
                hint_max_ms=10000
        "#]],
    );
    warns(
        "policy = { deadline = \"30s\", timeouts = { first_byte = \"30s\" } }",
        &none(),
        expect![[r#"
            1:56 attempt-fills-deadline: an attempt that gets no answer may take 30s of a call's 30s, and then none of 5 retries fits; up to 29.85s, one does
                first_byte_ms=30000 deadline_ms=30000 first_byte_for_one_retry_ms=29850
        "#]],
    );
    warns(
        "policy = { retries = 8, deadline = \"1m\", backoff = { jitter = \"none\", cap = \"1m\" } }",
        &none(),
        expect![[r#"
            1:36 retries-beyond-deadline: of 8 retries only 6 can ever be made: the waits alone take at least 2m4s, and a call has 1m
                retries=8 retries_possible=6 own_waits_shortest_ms=123500 deadline_ms=60000
            1:63 no-jitter: calls that fail together come back together: 1000 that fail in one moment and are retried are all sent again 500ms later in one moment, and so on; jitter = "full" spreads them over 450ms
                herd=1000 after_ms=500 spread_ms=450
        "#]],
    );
    warns(
        "policy = { hedge = { after = \"5m\" } }",
        &none(),
        expect![[r#"
        1:30 hedge-never: no hedge is ever sent: it would start after 5m, and a first attempt without an answer ends after 5m; hedge.after is best near the time in which 95 of 100 answers begin
            after_ms=300000 first_byte_ms=300000
    "#]],
    );
    let models = "[[upstream]]\nname = \"a\"\nbase_url = \"https://api.openai.com/v1\"\npolicy = { deadline = \"10s\" }";
    warns(
        models,
        &none(),
        expect![[r#"
            4:23 deadline-short: a model's plain answer comes whole, at its end: at 50 tokens a second, 10s are 500 tokens, and a longer answer is a timeout that is paid for; give such calls 30s or more, or stream them
                deadline_ms=10000 tokens=500
        "#]],
    );
}

#[test]
fn backoff_that_spreads_nothing_is_told() {
    // A herd comes back as it went.
    warns(
        "policy = { backoff = { jitter = \"none\" } }",
        &none(),
        expect![[r#"
            1:33 no-jitter: calls that fail together come back together: 1000 that fail in one moment and are retried are all sent again 500ms later in one moment, and so on; jitter = "full" spreads them over 450ms
                herd=1000 after_ms=500 spread_ms=450
        "#]],
    );
    warns(
        "policy = { backoff = { jitter = \"decorrelated-aws\" } }",
        &none(),
        expect![[r#"
            1:33 jitter-piles-up: "decorrelated-aws" piles up at the cap: once there, 670 of 1000 delays are 30s to the nanosecond; "decorrelated" or "full" draw inside it
                at_cap_per_mille=670 cap_ms=30000
        "#]],
    );
    warns(
        "policy = { backoff = { factor = 1 } }",
        &none(),
        expect![[r#"
        1:33 waits-flat: waits never grow: all 5 retries are over after 2.5s of waiting at the most, and an outage that lasts longer is not outlived; factor = 2 makes that 15.5s
            own_waits_ms=2500 own_waits_doubling_ms=15500 retries=5
    "#]],
    );
    warns(
        "policy = { backoff = { base = \"10ms\" } }",
        &none(),
        expect![[r#"
            1:31 waits-short: all 5 retries are over within 310ms of waiting, and a restart takes seconds; 1000 calls that fail together and are retried are all sent again within 10ms; raise backoff.base
                own_waits_ms=310 base_ms=10 herd=1000
        "#]],
    );
}

#[test]
fn breakers_that_make_it_worse_are_told() {
    // A breaker may turn a tenth of an outage into a whole one.
    let breaker = |keys: &str| format!("policy = {{ breaker = {keys} }}");
    warns(
        &breaker("\"off\""),
        &none(),
        expect![[r#"
        1:22 no-breaker: nothing stops sending in an outage: every call finds out for itself, for up to 10m each; a breaker answers after half a second of failures
            deadline_ms=600000
    "#]],
    );
    warns(
        &breaker("{ mode = \"closed\" }"),
        &none(),
        expect![[r#"
        1:22 no-breaker: nothing stops sending in an outage: every call finds out for itself, for up to 10m each; a breaker answers after half a second of failures
            deadline_ms=600000
    "#]],
    );
    warns(
        &breaker("{ mode = \"open\" }"),
        &none(),
        expect![[r#"
            1:31 breaker-forced-open: mode = "open" refuses every call; "auto" lets the breaker decide
        "#]],
    );
    warns(
        &breaker("{ failure_rate = 0.05, min_calls = 100 }"),
        &none(),
        expect![[r#"
            1:39 breaker-opens-for-a-part: it opens when 5 % of attempts fail, and one of 20 parts (models, shards, keys) of equal traffic is 5 %: when one fails, calls to the other 19 are refused, too; keep failure_rate above 0.05
                failure_rate=0.05 parts=20
        "#]],
    );
    warns(
        &breaker("{ consecutive = 2 }"),
        &none(),
        expect![[r#"
            1:38 breaker-run-short: where 10 % of attempts fail at random, 2 failures in a row come once in 110 attempts, and a run that lasts 500ms refuses every call for 500ms; 5 in a row come once in 111110
                consecutive=2 attempts_until_run=110 attempts_until_usual_run=111110
        "#]],
    );
    warns(
        &breaker("{ consecutive = 1 }"),
        &none(),
        expect![[r#"
            1:38 breaker-run-short: where 10 % of attempts fail at random, a failure comes once in 10 attempts, and a run that lasts 500ms refuses every call for 500ms; 5 in a row come once in 111110
                consecutive=1 attempts_until_run=10 attempts_until_usual_run=111110
        "#]],
    );
    warns(
        &breaker("{ min_calls = 2 }"),
        &none(),
        expect![[r#"
            1:36 breaker-opens-on-few: it opens on 1 failure among 2 attempts within 30s: that is chance, not an outage; min_calls = 10 asks for 5
                failures=1 min_calls=2 min_calls_for_usual=10
        "#]],
    );
    warns(
        &breaker("{ on_open = \"wait\", open_for = \"15m\", open_max = \"15m\" }"),
        &none(),
        expect![[r#"
            1:53 breaker-waits-in-vain: a call that comes when the breaker opens waits for 13m30s at the least, and has 10m: it waits in vain; lower open_for, or on_open = "fail"
                open_ms=810000 deadline_ms=600000
        "#]],
    );
    says(
        Code::BreakerRateSilent,
        "",
        &none().calls(None, rate("0.1")),
        expect![[r#"
        - breaker-rate-silent: failure_rate never counts: 0.1 calls a second are 3 in a window of 30s in each process, and it asks for 20; only 5 failures in a row open it
            calls_in_window=3 min_calls=20
    "#]],
    );
}

#[test]
fn a_breaker_over_several_models_is_held_against_their_number() {
    // Three models of equal traffic: one that fails is 33.3 %.
    let file = |rate: &str| {
        let models: String = ["a", "b", "c"]
            .map(|model| format!("[[model]]\nname = \"{model}\"\nupstream = \"main\"\n"))
            .concat();
        format!(
            "[[upstream]]\nname = \"main\"\nbase_url = \"https://x.example\"\n\
             policy = {{ breaker = {{ failure_rate = {rate} }} }}\n{models}"
        )
    };
    warns(
        &file("0.333"),
        &none(),
        expect![[r#"
        4:39 breaker-opens-for-a-part: it opens when 33.3 % of attempts fail, and one of 3 models of equal traffic is 33.3 %: when one fails, calls to the other 2 are refused, too; keep failure_rate above 0.334
            failure_rate=0.333 parts=3
    "#]],
    );
    warns(&file("0.334"), &none(), expect![[""]]);
}

#[test]
fn upstreams_that_are_alike_are_told_once_and_others_by_name() {
    // The same sentence five times is a wall that nobody reads.
    let file = "[policy]\nbudget = \"off\"\n\
                [[upstream]]\nname = \"a\"\nbase_url = \"https://a.example\"\n\
                [[upstream]]\nname = \"b\"\nbase_url = \"https://b.example\"\n\
                [[upstream]]\nname = \"c\"\nbase_url = \"https://c.example\"\npolicy = { retries = 2 }\n";
    let told: Vec<_> = advice(file, &none())
        .into_iter()
        .filter(|advice| advice.code == Code::NoBudget)
        .map(|advice| (advice.upstreams, advice.numbers))
        .collect();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        told,
        [
            (names(&["a", "b"]), vec![("attempts_per_call", Figure::Count(6))]),
            (names(&["c"]), vec![("attempts_per_call", Figure::Count(3))]),
        ]
    );
}

#[test]
fn warnings_come_first_and_each_in_the_order_of_the_file() {
    // What matters below what does not is not read.
    let all = advice(
        "[policy.backoff]\njitter = \"none\"\n[policy.breaker]\nconsecutive = 1\n",
        &none(),
    );
    let severities: Vec<Severity> = all.iter().map(Advice::severity).collect();
    assert!(severities.is_sorted_by(|one, two| one >= two), "{severities:?}");
    assert_eq!(
        (all[0].code, all[1].code),
        (Code::NoJitter, Code::BreakerRunShort)
    );
    assert_eq!(all[0].at.as_ref().map(|at| at.line), Some(2));
}

#[test]
fn each_threshold_is_where_it_is_said_to_be() {
    // A threshold that drifts warns about what is recommended, or stays silent about what hurts.
    let told = |file: &str, code| advice(file, &none()).iter().any(|advice| advice.code == code);
    let budget = |keys: &str| format!("policy = {{ budget = {{ {keys} }} }}");
    let breaker = |keys: &str| format!("policy = {{ breaker = {{ {keys} }} }}");
    let policy = |keys: &str| format!("policy = {{ {keys} }}");
    let models = |keys: &str| {
        format!("[[upstream]]\nname = \"a\"\nbase_url = \"https://api.openai.com/v1\"\npolicy = {{ {keys} }}")
    };
    for (code, quiet, warned) in [
        (Code::RatioWide, budget("ratio = 0.499"), budget("ratio = 0.5")),
        (Code::BurstLarge, budget("ratio = 0.1"), budget("ratio = 0.101")),
        (
            Code::BurstLarge,
            budget("ratio = 0.2, window = \"5s\""),
            budget("ratio = 0.2, window = \"6s\""),
        ),
        (
            Code::BudgetStarves,
            budget("floor = 0.1"),
            budget("floor = 0.099"),
        ),
        (
            Code::DeadlineLong,
            policy("deadline = \"1h\""),
            policy("deadline = \"3601s\""),
        ),
        (
            Code::DeadlineShort,
            models("deadline = \"30s\""),
            models("deadline = \"29s\""),
        ),
        (
            Code::HintsBeyondDeadline,
            policy("deadline = \"30s\", hints = { max = \"30s\" }"),
            policy("deadline = \"30s\", hints = { max = \"31s\" }"),
        ),
        (
            Code::AttemptFillsDeadline,
            policy("deadline = \"30s\", timeouts = { first_byte = \"29850ms\" }"),
            policy("deadline = \"30s\", timeouts = { first_byte = \"29851ms\" }"),
        ),
        (
            Code::WaitsShort,
            policy("retries = 2, backoff = { base = \"334ms\" }"),
            policy("retries = 2, backoff = { base = \"333ms\" }"),
        ),
        (
            Code::WaitsFlat,
            policy("retries = 1, backoff = { factor = 1 }"),
            policy("retries = 2, backoff = { factor = 1 }"),
        ),
        (
            Code::WaitsFlat,
            policy("backoff = { factor = 1.1 }"),
            policy("backoff = { factor = 1 }"),
        ),
        (
            Code::HedgeNever,
            policy("hedge = { after = \"299s\" }"),
            policy("hedge = { after = \"300s\" }"),
        ),
        (
            Code::BreakerOpensForAPart,
            breaker("failure_rate = 0.251"),
            breaker("failure_rate = 0.25"),
        ),
        (
            Code::BreakerRunShort,
            breaker("consecutive = 3"),
            breaker("consecutive = 2"),
        ),
        (
            Code::BreakerOpensOnFew,
            breaker("min_calls = 9"),
            breaker("min_calls = 8"),
        ),
        (
            Code::BreakerWaitsInVain,
            breaker("on_open = \"wait\", open_for = \"11m\", open_max = \"1h\""),
            breaker("on_open = \"wait\", open_for = \"12m\", open_max = \"1h\""),
        ),
        (
            Code::RetriesBeyondDeadline,
            policy("retries = 2, deadline = \"1600ms\", backoff = { jitter = \"none\" }"),
            policy("retries = 2, deadline = \"1599ms\", backoff = { jitter = \"none\" }"),
        ),
    ] {
        assert!(!told(&quiet, code), "{}: {quiet}", code.name());
        assert!(told(&warned, code), "{}: {warned}", code.name());
    }
}

#[test]
fn a_rate_is_read_digit_by_digit() {
    // A rate through a binary fraction is another rate.
    assert_eq!(rate("0.1").milli(), 100);
    assert_eq!(rate("50").milli(), 50_000);
    assert_eq!(rate("1.25").to_string(), "1.25");
    for junk in [
        "",
        "0",
        "0.000",
        "-1",
        "1.2345",
        ".5",
        "1e3",
        "50/s",
        "99999999999999999999",
    ] {
        assert_eq!(junk.parse::<Rate>(), Err(RateError), "{junk}");
    }
    let named = none()
        .calls(Some("a"), rate("1"))
        .calls(None, rate("2"))
        .capacity(Some("b"), rate("3"));
    assert_eq!(named.calls_of(Some("a")), Some(rate("1")));
    assert_eq!(named.calls_of(Some("b")), Some(rate("2")));
    assert_eq!(named.capacity_of(Some("a")), None);
    assert_eq!(named.named().collect::<Vec<_>>(), ["a", "b"]);
}
