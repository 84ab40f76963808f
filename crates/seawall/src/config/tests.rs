mod hostile;
mod keys;
mod page;
mod whole;

use super::*;
use expect_test::{Expect, expect};
use seawall_core::policy::{Concurrency, HedgeAfter, Jitter, LongHint, Mode, OnEmpty, OnOpen, Preset};
use seawall_core::time::Duration;

fn check_error(text: &str, expected: Expect) {
    let errors = read_policy("seawall.toml", text).expect_err("a file that cannot be right");
    expected.assert_eq(&errors.to_string());
}

#[test]
fn every_key_reaches_the_policy() {
    // A key that is read and dropped is worse than one that is refused: nobody notices.
    let text = r#"
        [policy]
        retries = 7
        preset = "interactive"
        deadline = "1h30m"
        backoff = { base = "100ms", factor = 1.5, cap = "9s", min = "20ms", jitter = { proportional = 0.25 } }
        [policy.hints]
        max = "11s"
        long = "clamp"
        cooldown_max = "1h"
        [policy.timeouts]
        connect = "1s"
        first_byte = "2s"
        idle = "3s"
        total = "4s"
        min_attempt = "50ms"
        [policy.budget]
        ratio = 0.125
        floor = 0.5
        window = "20s"
        on_empty = "wait"
        [policy.breaker]
        consecutive = 9
        failure_rate = 0.75
        window = "40s"
        min_calls = 30
        open_for = "6s"
        open_max = "2m"
        probes = 2
        probe_successes = 4
        on_open = "wait"
        mode = "closed"
        [policy.limits]
        concurrency = 1_0
        queue = 99
        requests_per_minute = 60
        tokens_per_minute = 10_000
        tokens_in_per_minute = 8_000
        tokens_out_per_minute = 2_000
        [policy.hedge]
        after = "800ms"
    "#;
    let policy = read_policy("f", text).expect("a right file");
    let (call, secs) = (&policy.call, Duration::from_secs);
    assert_eq!(
        (call.retries(), call.deadline(), call.deadline_written()),
        (7, secs(5_400), true)
    );
    let backoff = call.backoff();
    assert_eq!(
        (backoff.base(), backoff.factor_tenths(), backoff.cap()),
        (Duration::from_millis(100), 15, secs(9))
    );
    assert_eq!(backoff.min(), Duration::from_millis(20));
    assert_eq!(backoff.jitter(), Jitter::Proportional { per_mille: 250 });
    let hints = call.hints();
    assert_eq!(
        (hints.max(), hints.long(), hints.cooldown_max()),
        (secs(11), LongHint::Clamp, secs(3_600))
    );
    let timeouts = call.timeouts();
    assert_eq!(
        (timeouts.connect(), timeouts.first_byte()),
        (Some(secs(1)), Some(secs(2)))
    );
    assert_eq!(
        (timeouts.idle(), timeouts.total()),
        (Some(secs(3)), Some(secs(4)))
    );
    assert_eq!(timeouts.min_attempt(), Duration::from_millis(50));
    let budget = policy.gate.budget().expect("a budget");
    assert_eq!((budget.ratio_per_mille(), budget.floor_milli()), (125, 500));
    assert_eq!((budget.window(), budget.on_empty()), (secs(20), OnEmpty::Wait));
    let breaker = policy.gate.breaker().expect("a breaker");
    assert_eq!(
        (
            breaker.consecutive(),
            breaker.failure_per_mille(),
            breaker.window()
        ),
        (9, 750, secs(40))
    );
    assert_eq!(
        (breaker.min_calls(), breaker.open_for(), breaker.open_max()),
        (30, secs(6), secs(120))
    );
    assert_eq!((breaker.probes(), breaker.probe_successes()), (2, 4));
    assert_eq!((breaker.on_open(), breaker.mode()), (OnOpen::Wait, Mode::Closed));
    let limits = policy.gate.limits();
    assert_eq!((limits.concurrency().at_most(), limits.queue()), (Some(10), 99));
    let rates = limits.rates();
    assert_eq!(
        (rates.requests_per_minute(), rates.tokens_per_minute()),
        (Some(60), Some(10_000))
    );
    assert_eq!(
        (rates.tokens_in_per_minute(), rates.tokens_out_per_minute()),
        (Some(8_000), Some(2_000))
    );
    assert_eq!(
        call.hedge().map(|hedge| hedge.after()),
        Some(HedgeAfter::Fixed(Duration::from_millis(800)))
    );
}

#[test]
fn presets_and_absence_mean_what_they_say() {
    // A file that says nothing of the policy must not change it.
    let default = Policy::preset(Preset::Default);
    assert_eq!(read_policy("f", ""), Ok(default));
    assert_eq!(
        read_policy("f", "[policy]\n[[upstream]]\nname = 'x'\n[serve]\n"),
        Ok(default)
    );
    for preset in Preset::ALL {
        let text = format!("[policy]\npreset = \"{}\"", preset.name());
        assert_eq!(read_policy("f", &text), Ok(Policy::preset(preset)));
    }
    let auto = read_policy("f", "policy.limits.concurrency = 'auto'").expect("a right file");
    assert_eq!(auto.gate.limits().concurrency(), Concurrency::Auto);
    let off = read_policy("f", "policy = { budget = 'off', breaker = 'off' }").expect("a right file");
    assert_eq!((off.gate.budget(), off.gate.breaker()), (None, None));
}

#[test]
fn an_error_shows_the_place_and_the_nearest_word() {
    // "invalid config" sends people to the documentation; the line and the word they meant do not.
    check_error(
        "[policy]\nretrys = 3\n",
        expect![[r#"
        seawall.toml:2:1: unknown key `retrys` in [policy]; the nearest known is `retries`
          |
        2 | retrys = 3
          | ^^^^^^"#]],
    );
    check_error(
        "[policy]\n[policy.backoff]\njiter = \"full\"\n",
        expect![[r#"
        seawall.toml:3:1: unknown key `jiter` in [policy.backoff]; the nearest known is `jitter`
          |
        3 | jiter = "full"
          | ^^^^^"#]],
    );
    check_error(
        "[policy.backoff]\njitter = \"fully\"\n",
        expect![[r#"
        seawall.toml:2:10: unknown word "fully"; the nearest known is `full`
          |
        2 | jitter = "fully"
          |          ^^^^^^^"#]],
    );
    check_error(
        "[policy.backoff]\njitter = { half = 1 }\n",
        expect![[r#"
            seawall.toml:2:10: [policy.backoff.jitter] has no `proportional`, which it must have
              |
            2 | jitter = { half = 1 }
              |          ^^^^^^^^^^^^
              = write proportional = 0.5

            seawall.toml:2:12: unknown key `half` in [policy.backoff.jitter]; known are proportional
              |
            2 | jitter = { half = 1 }
              |            ^^^^"#]],
    );
    check_error(
        "[policy.breaker]\nmode = 'shut'\n",
        expect![[r#"
        seawall.toml:2:8: unknown word "shut"; known are auto, open, closed, observe
          |
        2 | mode = 'shut'
          |        ^^^^^^"#]],
    );
    check_error(
        "[polcy]\n",
        expect![[r#"
        seawall.toml:1:2: unknown key `polcy` in the file; the nearest known is `policy`
          |
        1 | [polcy]
          |  ^^^^^"#]],
    );
    check_error(
        "[policy]\nzzz = 1\n",
        expect![[r#"
        seawall.toml:2:1: unknown key `zzz` in [policy]; known are preset, retries, deadline, backoff, hints, timeouts, budget, breaker, limits, hedge
          |
        2 | zzz = 1
          | ^^^"#]],
    );
}

#[test]
fn an_error_says_what_was_expected() {
    // A number without a unit, a share above its places, a negative count: each is somebody's typing error.
    check_error(
        "[policy]\ndeadline = 30\n",
        expect![[r#"
            seawall.toml:2:12: expected a length of time with its unit, such as "500ms" or "30s", found an integer
              |
            2 | deadline = 30
              |            ^^
              = write it as in deadline = "120s""#]],
    );
    check_error(
        "[policy]\ndeadline = \"30\"\n",
        expect![[r#"
            seawall.toml:2:12: "30": a length of time needs a unit: 500ms, 30s, 2m or 1h30m
              |
            2 | deadline = "30"
              |            ^^^^
              = write it as in deadline = "120s""#]],
    );
    check_error(
        "[policy]\nretries = -1\n",
        expect![[r#"
            seawall.toml:2:11: expected a whole number, found -1
              |
            2 | retries = -1
              |           ^^
              = write it as in retries = 3"#]],
    );
    check_error(
        "[policy]\nretries = 5000000000\n",
        expect![[r#"
            seawall.toml:2:11: retries is 5000000000; it may be 0 to 100
              |
            2 | retries = 5000000000
              |           ^^^^^^^^^^
              = the default is 5"#]],
    );
    check_error(
        "[policy]\nretries = \"3\"\n",
        expect![[r#"
            seawall.toml:2:11: expected a whole number, found a string
              |
            2 | retries = "3"
              |           ^^^
              = write it as in retries = 3"#]],
    );
    check_error(
        "[policy.backoff]\nfactor = 1.25\n",
        expect![[r#"
            seawall.toml:2:10: expected a number with at most 1 decimal place, found 1.25
              |
            2 | factor = 1.25
              |          ^^^^
              = write it as in factor = 2.0"#]],
    );
    check_error(
        "[policy.budget]\nratio = 1e-1\n",
        expect![[r#"
            seawall.toml:2:9: expected a share such as 0.1 with at most 3 decimal places, found 1e-1
              |
            2 | ratio = 1e-1
              |         ^^^^
              = write it as in ratio = 0.1"#]],
    );
    check_error(
        "[policy]\nbackoff = 3\n",
        expect![[r#"
            seawall.toml:2:11: expected a table, found an integer
              |
            2 | backoff = 3
              |           ^
              = write [policy.backoff], and its keys below"#]],
    );
    check_error(
        "policy = 3\n",
        expect![[r#"
            seawall.toml:1:10: expected a table, found an integer
              |
            1 | policy = 3
              |          ^
              = write [policy], and its keys below"#]],
    );
    check_error(
        "[policy\n",
        expect![[r#"
        seawall.toml:1:8: unclosed table, expected `]`
          |
        1 | [policy
          |        ^"#]],
    );
    check_error(
        "[policy]\nretries = 1\nretries = 2\n",
        expect![[r#"
            seawall.toml:3:1: duplicate key
              |
            3 | retries = 2
              | ^^^^^^^
              = a key stands in its table once, and a table in its file; join the two, or take one out"#]],
    );
}

#[test]
fn an_error_of_the_policy_stands_where_it_was_written() {
    // A contradiction between two keys is found only when both are read; its place must not be lost by then.
    check_error(
        "[policy]\nretries = 1000\n",
        expect![[r#"
            seawall.toml:2:11: retries is 1000; it may be 0 to 100
              |
            2 | retries = 1000
              |           ^^^^
              = the default is 5"#]],
    );
    check_error(
        "[policy]\ndeadline = \"10s\"\n[policy.timeouts]\nfirst_byte = \"20s\"\n",
        expect![[r#"
            seawall.toml:4:14: timeouts.first_byte is 20s, above deadline, which is 10s
              |
            4 | first_byte = "20s"
              |              ^^^^^
              = deadline stands in line 2; change either"#]],
    );
    check_error(
        "[policy.backoff]\ncap = \"100ms\"\n",
        expect![[r#"
            seawall.toml:2:7: backoff.base is 500ms, above backoff.cap, which is 100ms
              |
            2 | cap = "100ms"
              |       ^^^^^^^
              = backoff.base is the default; write both, or change this one"#]],
    );
    check_error(
        "[policy.budget]\nfloor = 0\non_empty = \"wait\"\n",
        expect![[r#"
            seawall.toml:3:12: budget.on_empty is "wait" and budget.floor is 0: a call could wait for credit that never comes; set a floor or "stop"
              |
            3 | on_empty = "wait"
              |            ^^^^^^
              = budget.floor stands in line 2; change either"#]],
    );
    check_error(
        "[policy]\npreset = \"batch\"\nbudget = { floor = 0 }\n",
        expect![[r#"
            seawall.toml:3:20: budget.on_empty is "wait" and budget.floor is 0: a call could wait for credit that never comes; set a floor or "stop"
              |
            3 | budget = { floor = 0 }
              |                    ^
              = budget.on_empty is from the preset `batch`; write both, or change this one"#]],
    );
}
