use super::client::CLIENT_KEYS;
use super::expect::{EXPECT_KEYS, SCHEDULE_KEYS, STEP_EXPECT_KEYS};
use super::step::STEP_KEYS;
use super::*;
use crate::findings::Rule;
use crate::reader::ERRORS_MAX;
use crate::scenario::{
    Body, BodyIs, CountRange, Elapsed, ExitIs, Grouping, Observe, PolicyAt, Scalar, Sends, StatusIs,
};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use seawall_core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// A mock and a step, so that a text is about what it adds.
const MOCK: &str = "mock = \"pay.toml\"\n";
const STEP: &str = "[[step]]\nsend = \"GET /x\"\n";

fn parse(text: &str) -> Scenario {
    Scenario::parse("pay.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// None of these is a scenario, for the reasons expected.
fn check(texts: &[&str], expected: Expect) {
    let errors = texts.iter().map(|text| {
        let errors = Scenario::parse("pay.toml", text).expect_err(text);
        format!("{errors}\n")
    });
    expected.assert_eq(&errors.collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_scenario_of_the_formats_says_what_it_says() {
    // Could break if a key were read and dropped.
    let scenario = parse(
        r#"
name = "a payment survives a lost answer"
seed = 7
[[mock.route]]
match = "POST /v1/payments"
script = "503, reset, 200"

[[step]]
send = "POST /v1/payments"
headers = { X-Team = "blue" }
body = '{"amount":5}'
policy = "writes"
deadline = "20s"
key = "k-1"
capture = { id = "$.id" }

[[step]]
name = "read it back"
send = "GET /v1/payments/{{id}}"
after = "2s"
times = 3
together = true
expect = { status = 200, reason = "succeeded", attempts = "1..=2", body = { "$.id" = "x", "$.amount" = 5 } }

[expect]
attempts = { "/v1/payments" = "2..=3", "GET /v1/payments/*" = 3 }
same_key = true
resources = { payments = 1 }
elapsed = "backoff"
waits = ["500ms..1s", "1s.."]
never = ["retry-before-hint", { rule = "endless", over = 4 }]
observe = "must"
"#,
    );
    assert_eq!(
        (scenario.name.as_str(), scenario.seed),
        ("a payment survives a lost answer", Some(7))
    );
    assert!(matches!(&scenario.mock, MockAt::Inline(mock) if mock.rules.len() == 1));
    let Work::Steps(steps) = &scenario.work else {
        panic!("steps");
    };
    let [pay, read] = &steps[..] else {
        panic!("two steps");
    };
    assert_eq!(
        (pay.send.method.as_str(), pay.send.target.to_string()),
        ("POST", "/v1/payments".to_owned())
    );
    assert_eq!(
        (pay.headers[0].0.as_str(), pay.headers[0].1.to_string()),
        ("x-team", "blue".to_owned())
    );
    assert!(matches!(&pay.policy, PolicyAt::Preset(preset) if preset.value.name() == "writes"));
    assert_eq!((pay.sends, read.sends), (Sends::Once, Sends::Together(3)));
    assert_eq!(
        (pay.captures[0].name.as_str(), pay.captures[0].path.to_string()),
        ("id", "$.id".to_owned())
    );
    assert_eq!(pay.deadline, Some(Duration::from_secs(20)));
    let captured = BTreeMap::from([("id".to_owned(), "p/1".to_owned())]);
    assert_eq!(read.send.target.fill(&captured).unwrap(), "/v1/payments/p/1");
    assert_eq!(read.send.target.fill(&BTreeMap::new()), Err("id".to_owned()));
    assert_eq!(read.after, Duration::from_secs(2));
    assert_eq!(
        read.expect.status.as_ref().unwrap().value,
        StatusIs::OneOf(vec![200])
    );
    assert!(matches!(&read.expect.body[1].value, BodyIs::At(_, Scalar::Number(five)) if five == "5"));
    let expect = &scenario.expect;
    assert_eq!(expect.attempts.len(), 2);
    assert_eq!(expect.attempts[0].count, CountRange { min: 2, max: Some(3) });
    assert_eq!(
        scenario.line(&expect.attempts[1].at),
        r#"attempts = { "/v1/payments" = "2..=3", "GET /v1/payments/*" = 3 }"#
    );
    assert_eq!(expect.elapsed.as_ref().unwrap().value, Elapsed::Backoff);
    assert_eq!((expect.never[1].attempts_max, expect.observe), (4, Observe::Must));
    assert!(expect.same_key.is_some() && expect.waits.as_ref().unwrap().len() == 2);
}

#[test]
fn a_client_is_words_a_time_and_a_place() {
    let scenario = parse(
        r#"
mock = "../mocks/pay.toml"
client = { run = 'python3 "my pay.py" --to {url}/v1 --note a\ b "" ''x''', timeout = "5s", runs = 8, calls = "one", env = { A = "1" } }
[expect]
exit = 0
stdout = ["paid", "once"]
elapsed = "backoff"
schedule = { base = "1s", factor = 1.5, cap = "10s", jitter = { proportional = 0.25 } }
"#
        .replace("''x''", "x")
        .as_str(),
    );
    let Work::Client(client) = &scenario.work else {
        panic!("a client");
    };
    assert_eq!(scenario.name, "pay");
    assert_eq!(
        client.command.at("http://h"),
        [
            "python3",
            "my pay.py",
            "--to",
            "http://h/v1",
            "--note",
            "a b",
            "",
            "x"
        ]
    );
    assert_eq!((client.timeout, client.runs), (Duration::from_secs(5), 8));
    assert_eq!((client.grouping, client.env.len()), (Grouping::One, 1));
    assert_eq!(scenario.expect.exit.as_ref().unwrap().value, ExitIs::Code(0));
    let backoff = scenario.expect.schedule.as_ref().unwrap().backoff;
    assert_eq!(
        (backoff.base(), backoff.factor_tenths()),
        (Duration::from_secs(1), 15)
    );
    let list = parse(&format!("{MOCK}client = {{ run = [\"sh\", \"-c\", \"a | b\"] }}"));
    assert!(matches!(&list.work, Work::Client(client) if client.command.words.len() == 3));
}

#[test]
fn json_keeps_its_digits_and_escapes_what_is_captured() {
    // Could break if a captured quote ended the text that it stands in, or a number went through a float.
    let scenario = parse(&format!(
        "{MOCK}[[step]]\nsend = \"GET /x\"\ncapture = {{ id = \"$.id\" }}\n[[step]]\nsend = \"POST /x\"\n\
         json = {{ of = \"<{{{{id}}}}>\", b = true, n = [18446744073709551616, 1.50, 0xff], t = {{}} }}\n"
    ));
    let Work::Steps(steps) = &scenario.work else {
        panic!("steps");
    };
    assert!(matches!(steps[1].body, Body::Json(_)));
    let captured = BTreeMap::from([("id".to_owned(), "a\"b\n".to_owned())]);
    assert_eq!(
        steps[1].body.fill(&captured).unwrap().unwrap(),
        r#"{"of":"<a\"b\n>","b":true,"n":[18446744073709551616,1.50,255],"t":{}}"#
    );
}

/// The policy of the first step, as its parser is told it: lines that are not blank, with their numbers.
fn alone(steps: &str) -> String {
    let scenario = parse(&format!("{MOCK}{steps}"));
    let Work::Steps(steps) = &scenario.work else {
        panic!("steps");
    };
    let PolicyAt::Table { toml, .. } = &steps[0].policy else {
        panic!("a table");
    };
    assert!(toml.len() <= scenario.text.len());
    let document = toml::de::DeTable::parse(toml).unwrap_or_else(|error| panic!("{error}\n{toml}"));
    let tables: Vec<_> = document
        .get_ref()
        .keys()
        .map(|key| key.get_ref().to_string())
        .collect();
    assert_eq!(tables, ["policy"]);
    let lines = toml
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| format!("{} {}\n", at + 1, line.trim_end()))
        .collect()
}

#[test]
fn a_policy_stands_where_it_stood_for_its_own_parser() {
    // An error of that parser would point at another line, or a key of the step would be one of the policy.
    let forms = [
        "[[step]]\nsend = \"GET /é\"; policy = { retries = 3 }\n".replace("; ", "\n"),
        "[[step]]\nsend = \"GET /x\"\npolicy.retries = 3\npolicy.backoff.base = \"1s\"\nkey = \"k\"\n".to_owned(),
        "[[step]]\nsend = \"GET /x\"\n[step.policy]\nretries = 3\nbackoff.base = \"1s\" # why\nbackoff.cap = \"2s\"\n[step.policy.budget]\nratio = 0.1\n[expect]\nsame_key = true\n".to_owned(),
        "step = [{ send = \"GET /é\", policy = { retries = 3 }, key = \"k\" }]\n".to_owned(),
    ];
    let told: Vec<String> = forms.iter().map(|form| alone(form)).collect();
    expect![[r#"
        4 policy = { retries = 3 }

        4 policy.retries = 3
        5 policy.backoff.base = "1s"

        4 [     policy]
        5 retries = 3
        6 backoff.base = "1s"
        7 backoff.cap = "2s"
        8 [     policy.budget]
        9 ratio = 0.1

        2                            policy = { retries = 3 }
    "#]]
    .assert_eq(&told.join("\n"));
    check(
        &[&format!(
            "{MOCK}step = [{{ send = \"GET /x\", policy.retries = 3, policy.deadline = \"2s\" }}]\n"
        )],
        expect![[r#"
            pay.toml:2:48: `policy.deadline = "2s"` stands on one line with another key of this policy
            2 | step = [{ send = "GET /x", policy.retries = 3, policy.deadline = "2s" }]
              |                                                ^^^^^^^^^^^^^^^^^^^^^^
              = expected policy = { … } with all of them, or a line for each
        "#]],
    );
}

#[test]
fn an_unknown_key_is_never_ignored_and_every_one_is_told() {
    // Could break if a table were read key by key and the rest forgotten, or if the first error hid the others.
    check(
        &[
            "nam = \"x\"\nmock = \"m.toml\"\n[[step]]\nsend = \"GET /x\"\npolcy = \"writes\"\nexpect = { statsu = 200 }\n[expect]\nsame_keys = true\nnever = [\"overlaps\"]\n",
            "mock = \"m.toml\"\n[client]\nrum = \"x\"\n",
            &format!(
                "{MOCK}[client]\nrun = \"x\"\n[expect]\nschedule = {{ bse = \"1s\" }}\nnever = [{{ rule = \"endless\", ovr = 1 }}]\n"
            ),
        ],
        expect![[r#"
            pay.toml:1:1: a scenario has no key `nam`
            1 | nam = "x"
              | ^^^ did you mean `name`?
              = expected one of name, seed, mock, step, client, expect
            pay.toml:5:1: a step has no key `polcy`
            5 | polcy = "writes"
              | ^^^^^ did you mean `policy`?
              = expected one of name, send, headers, body, json, policy, deadline, key, replay, times, together, after, capture, expect
            pay.toml:6:12: a step's expect has no key `statsu`
            6 | expect = { statsu = 200 }
              |            ^^^^^^ did you mean `status`?
              = expected one of status, reason, attempts, body, header, elapsed, waits, error
            pay.toml:8:1: [expect] has no key `same_keys`
            8 | same_keys = true
              | ^^^^^^^^^ did you mean `same_key`?
              = expected one of attempts, same_key, same_body, resources, elapsed, waits, never, exit, stdout, stderr, schedule, observe
            pay.toml:9:10: a rule cannot be `overlaps`
            9 | never = ["overlaps"]
              |          ^^^^^^^^^^ did you mean `overlap`?
              = expected one of retry-before-hint, overlap, retry-of-refused, retry-when-told-not-to, new-key, new-body, no-backoff, no-jitter, endless, duplicate-write, retry-after-commit, no-shared-cool-down, cut-taken-as-whole

            pay.toml:2:2: this client does not say what to run
            2 | [client]
              |  ^^^^^^
              = expected run = "python3 pay.py --amount 5", or a list of words
            pay.toml:3:1: a client has no key `rum`
            3 | rum = "x"
              | ^^^ did you mean `run`?
              = expected one of run, timeout, runs, env, dir, calls

            pay.toml:5:14: a schedule has no key `bse`
            5 | schedule = { bse = "1s" }
              |              ^^^ did you mean `base`?
              = expected one of base, factor, cap, min, jitter
            pay.toml:6:30: a rule has no key `ovr`
            6 | never = [{ rule = "endless", ovr = 1 }]
              |                              ^^^ did you mean `over`?
              = expected one of rule, over
        "#]],
    );
}

#[test]
fn who_calls_and_what_is_called_is_said_once() {
    check(
        &[
            "",
            "name = \"x\"\nmock = 5\n[[step]]\nsend = \"GET /x\"\n[client]\nrun = \"x\"\n",
            "mock = \"\"\nstep = []\n",
            &format!("mock.listen = \"127.0.0.1:9\"\n{STEP}"),
            &format!("mock.clock = \"manual\"\n{STEP}"),
        ],
        expect![[r#"
            pay.toml:1:1: this scenario has no mock
            1 | 
              | ^
              = expected [[mock.route]] with match and script, or mock = "mocks/pay.toml"
            pay.toml:1:1: nobody calls this scenario's mock
            1 | 
              | ^
              = expected [[step]] with send = "POST /v1/payments", or client = { run = "python3 pay.py" }

            pay.toml:2:8: this is no mock
            2 | mock = 5
              |        ^
              = expected [[mock.route]] with match and script, or mock = "mocks/pay.toml"
            pay.toml:5:2: a scenario has steps or a client, not both
            5 | [client]
              |  ^^^^^^
              = expected [[step]] for calls that seawall makes, client for a program under test

            pay.toml:1:8: mock names no file
            1 | mock = ""
              |        ^^
              = expected [[mock.route]] with match and script, or mock = "mocks/pay.toml"
            pay.toml:2:8: a scenario has 1 to 1000 steps, not 0
            2 | step = []
              |        ^^
              = expected one [[step]] or more

            pay.toml:1:6: a scenario's mock listens on a port of its own choice
            1 | mock.listen = "127.0.0.1:9"
              |      ^^^^^^
              = expected no `listen` here

            pay.toml:1:6: nobody turns the clock of a scenario's mock by hand
            1 | mock.clock = "manual"
              |      ^^^^^
              = expected no `clock` here
        "#]],
    );
}

#[test]
fn a_mistake_in_the_mock_is_pointed_at_in_the_scenario() {
    check(
        &[
            &format!("[[mock.route]]\nmatch = \"GET /x\"\nscript = \"2x rest, 200\"\n{STEP}"),
            &format!("[[mock.route]]\nmatch = \"GET /x\"\nscripts = \"200\"\n{STEP}"),
            &format!("[mock]\nrout = []\n{STEP}"),
        ],
        expect![[r#"
            pay.toml:3:14: `rest` is no action
            3 | script = "2x rest, 200"
              |              ^^^^ did you mean `reset`?
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream

            pay.toml:3:1: a route has no key `scripts`
            3 | scripts = "200"
              | ^^^^^^^ did you mean `script`?
              = expected one of match, script, mix, latency, dialect, state, limit, resource, idempotency

            pay.toml:2:1: a mock has no key `rout`
            2 | rout = []
              | ^^^^ did you mean `route`?
              = expected one of listen, seed, time_scale, clock, listener, route
        "#]],
    );
}

#[test]
fn a_step_that_cannot_be_sent_is_pointed_at() {
    check(
        &[
            &format!(
                "{MOCK}[[step]]\nsend = \"get /x\"\n[[step]]\nsend = \"GET http://a/b\"\n[[step]]\nsend = \"GET\"\n[[step]]\nbody = \"x\"\n"
            ),
            &format!(
                "{MOCK}[[step]]\nsend = \"GET /x\"\ncapture = {{ id = \"$.id\" }}\n[[step]]\nsend = \"GET /x/{{{{ids}}}}\"\nbody = \"{{{{id\"\nheaders = {{ \"a b\" = \"x\", c = 5 }}\n"
            ),
            &format!("{MOCK}[[step]]\nsend = \"GET /x/{{{{id}}}}\"\ncapture = {{ id = \"$.id\" }}\n"),
            &format!(
                "{MOCK}[[step]]\nsend = \"GET /x\"\nbody = \"a\"\njson = {{ a = nan }}\ntogether = true\nreplay = \"keyed\"\ndeadline = \"20\"\npolicy = \"write\"\n"
            ),
            &format!(
                "{MOCK}[[step]]\nsend = \"GET /x\"\njson = {{ a = nan }}\ntimes = 0\ncapture = {{ \"a b\" = \"$.id\", b = \"$..id\", c = \"id\", d = \"$.a[x]\" }}\n"
            ),
        ],
        expect![[r#"
            pay.toml:3:9: `get` is no method; methods are in capitals
            3 | send = "get /x"
              |         ^^^ did you mean `GET`?
              = expected send = "POST /v1/payments"
            pay.toml:5:13: `http://a/b` is no path; a step is sent to the scenario's mock
            5 | send = "GET http://a/b"
              |             ^^^^^^^^^^
              = expected a path that begins with `/`
            pay.toml:7:9: a send is a method and a path
            7 | send = "GET"
              |         ^^^
              = expected send = "POST /v1/payments"
            pay.toml:8:1: this step does not say what it sends
            8 | [[step]]
              | ^^^^^^^^
              = expected send = "POST /v1/payments"

            pay.toml:6:16: no step before this one captures `ids`
            6 | send = "GET /x/{{ids}}"
              |                ^^^^^^^ did you mean `id`?
              = expected one of id
            pay.toml:7:9: `{{` is not closed
            7 | body = "{{id"
              |         ^^^^
              = expected {{name}} for what an earlier step captured; \{{ for two braces
            pay.toml:8:13: `a b` is no header's name
            8 | headers = { "a b" = "x", c = 5 }
              |             ^^^^^
              = expected letters, digits and -
            pay.toml:8:30: c is no text
            8 | headers = { "a b" = "x", c = 5 }
              |                              ^
              = expected a text in quotes

            pay.toml:3:16: no step before this one captures `id`
            3 | send = "GET /x/{{id}}"
              |                ^^^^^^
              = expected capture = { id = "$.id" } in an earlier step

            pay.toml:5:1: a step has a body or json, not both
            5 | json = { a = nan }
              | ^^^^
              = expected body for a text as it is, json for TOML as JSON
            pay.toml:6:12: one send has nothing to be together with
            6 | together = true
              |            ^^^^
              = expected times = 3 beside it
            pay.toml:7:10: replay cannot be `keyed`
            7 | replay = "keyed"
              |          ^^^^^^^
              = expected one of declared, unsafe
            pay.toml:8:12: deadline: `20` is no length of time
            8 | deadline = "20"
              |            ^^^^
              = expected 500ms, 30s, 2m or 1h30m
            pay.toml:9:10: policy cannot be `write`
            9 | policy = "write"
              |          ^^^^^^^ did you mean `writes`?
              = expected one of default, interactive, batch, writes, off

            pay.toml:4:14: JSON has no `nan`
            4 | json = { a = nan }
              |              ^^^
              = expected a number
            pay.toml:5:9: times is 0
            5 | times = 0
              |         ^
              = expected a whole number from 1 to 10000
            pay.toml:6:13: `a b` is no name
            6 | capture = { "a b" = "$.id", b = "$..id", c = "id", d = "$.a[x]" }
              |             ^^^^^
              = expected letters, digits, _ and -
            pay.toml:6:35: `..` may find many values; a path names one
            6 | capture = { "a b" = "$.id", b = "$..id", c = "id", d = "$.a[x]" }
              |                                   ^
              = expected $.name, $.list[0].name, $['a name'] or $.list[-1]
            pay.toml:6:47: a path begins with `$`, the whole body
            6 | capture = { "a b" = "$.id", b = "$..id", c = "id", d = "$.a[x]" }
              |                                               ^
              = expected $.name, $.list[0].name, $['a name'] or $.list[-1]
            pay.toml:6:60: in brackets stands a number, or a name in quotes
            6 | capture = { "a b" = "$.id", b = "$..id", c = "id", d = "$.a[x]" }
              |                                                            ^
              = expected $.name, $.list[0].name, $['a name'] or $.list[-1]
        "#]],
    );
}

#[test]
fn an_expectation_that_says_nothing_is_told() {
    check(
        &[
            &format!(
                "{MOCK}{STEP}expect = {{ status = 20, reason = \"suceeded\", attempts = \"3..2\", elapsed = \"backof\", body = {{ \"$.a\" = [1] }} }}\n[[step]]\nsend = \"GET /y\"\nexpect = {{ attempts = \"2..3\", waits = \"1s\", status = \"2x\" }}\n"
            ),
            &format!(
                "{MOCK}{STEP}[expect]\nattempts = {{ \"/x\" = \"..\", \"post /y\" = 1, \"/z?a\" = 1 }}\nsame_key = false\nelapsed = \"4s..1s\"\nexit = 0\nschedule = {{}}\nnever = [{{ rule = \"overlap\", over = 3 }}, {{}}]\n"
            ),
            &format!("{MOCK}client = {{ run = \"x\" }}\n[expect]\nelapsed = \"backoff\"\nexit = \"zero\"\n"),
            &format!(
                "{MOCK}client = {{ run = \"x\" }}\n[expect]\nelapsed = \"backoff\"\nschedule = {{ base = \"0ms\", factor = 1.25, jitter = \"ful\" }}\n"
            ),
            &format!("{MOCK}client = {{ run = \"x\" }}\n[expect]\nschedule = {{ base = \"0ms\" }}\n"),
        ],
        expect![[r#"
            pay.toml:4:21: this is no status
            4 | expect = { status = 20, reason = "suceeded", attempts = "3..2", elapsed = "backof", body = { "$.a" = [1] } }
              |                     ^^
              = expected 200, [200, 201], "2xx", or "none" where no answer comes
            pay.toml:4:34: no call ends for the reason `suceeded`
            4 | expect = { status = 20, reason = "suceeded", attempts = "3..2", elapsed = "backof", body = { "$.a" = [1] } }
              |                                  ^^^^^^^^^^ did you mean `succeeded`?
              = expected one of cooling-down, succeeded, refused, denied, denied-latched, quota-spent, context-too-long, told-not-to, may-have-acted, attempts-spent, budget-empty, server-asked-too-long, deadline-too-near, deadline-passed, breaker-open, limiter-full, body-too-large, already-streaming, cancelled, no-candidate, cost-max, key-reused, key-in-flight, draining, answer-unfit, row-too-large
            pay.toml:4:57: attempts: `3..2` does not say whether it has its last number in it
            4 | expect = { status = 20, reason = "suceeded", attempts = "3..2", elapsed = "backof", body = { "$.a" = [1] } }
              |                                                         ^^^^^^
              = expected 3, "2..=3", "2.." or "..=4"
            pay.toml:4:75: elapsed: `backof` is no range of lengths of time
            4 | tus = 20, reason = "suceeded", attempts = "3..2", elapsed = "backof", body = { "$.a" = [1] } }
              |                                                             ^^^^^^^^ did you mean `backoff`?
              = expected "backoff", or "1s..4s", "1s.." or "..4s"
            pay.toml:4:102: a list or a table is compared with nothing
            4 | d", attempts = "3..2", elapsed = "backof", body = { "$.a" = [1] } }
              |                                                             ^^^
              = expected a text, a number, true or false; name what is inside by its path
            pay.toml:7:23: attempts: `2..3` does not say whether it has its last number in it
            7 | expect = { attempts = "2..3", waits = "1s", status = "2x" }
              |                       ^^^^^^
              = expected 3, "2..=3", "2.." or "..=4"
            pay.toml:7:39: waits is no list
            7 | expect = { attempts = "2..3", waits = "1s", status = "2x" }
              |                                       ^^^^
              = expected waits = ["5s..6s", "1s.."]
            pay.toml:7:54: this is no status
            7 | expect = { attempts = "2..3", waits = "1s", status = "2x" }
              |                                                      ^^^^
              = expected 200, [200, 201], "2xx", or "none" where no answer comes

            pay.toml:5:21: /x: `..` is true of anything
            5 | attempts = { "/x" = "..", "post /y" = 1, "/z?a" = 1 }
              |                     ^^^^
              = expected 3, "2..=3", "2.." or "..=4"
            pay.toml:5:28: `post` is no method; methods are in capitals
            5 | attempts = { "/x" = "..", "post /y" = 1, "/z?a" = 1 }
              |                            ^^^^ did you mean `POST`?
              = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
            pay.toml:5:43: a pattern has no query; every query matches
            5 | attempts = { "/x" = "..", "post /y" = 1, "/z?a" = 1 }
              |                                           ^^^^
            pay.toml:6:12: same_key = false expects nothing
            6 | same_key = false
              |            ^^^^^
              = expected true, or no such key
            pay.toml:7:11: elapsed: `4s..1s` ends before it begins
            7 | elapsed = "4s..1s"
              |           ^^^^^^^^
              = expected "1s..4s", "1s.." or "..4s"
            pay.toml:8:1: `exit` is about a client, and this scenario has steps
            8 | exit = 0
              | ^^^^
              = expected expect = { status = 200 } in a step
            pay.toml:9:1: `schedule` is about a client, and this scenario has steps
            9 | schedule = {}
              | ^^^^^^^^
              = expected nothing: a step's policy says what its waits may be
            pay.toml:10:30: `overlap` has no limit of its own
            10 | never = [{ rule = "overlap", over = 3 }, {}]
               |                              ^^^^
               = expected over beside rule = "endless"
            pay.toml:10:42: this does not say which rule
            10 | never = [{ rule = "overlap", over = 3 }, {}]
               |                                          ^^
               = expected { rule = "endless", over = 20 }

            pay.toml:4:1: nothing says what this client promises about its waits
            4 | elapsed = "backoff"
              | ^^^^^^^^^^^^^^^^^^^
              = expected schedule = { base = "500ms", cap = "8s" } beside it, or "1s..4s"
            pay.toml:5:8: exit cannot be `zero`
            5 | exit = "zero"
              |        ^^^^^^
              = expected one of nonzero, timeout

            pay.toml:5:37: factor is no number
            5 | schedule = { base = "0ms", factor = 1.25, jitter = "ful" }
              |                                     ^^^^
              = expected 2 or 1.5
            pay.toml:5:52: jitter cannot be `ful`
            5 | schedule = { base = "0ms", factor = 1.25, jitter = "ful" }
              |                                                    ^^^^^ did you mean `full`?
              = expected one of full, equal, decorrelated, decorrelated-aws, none

            pay.toml:4:21: backoff.base is 0s; it may be 1ms to 87600h
            4 | schedule = { base = "0ms" }
              |                     ^^^^^
        "#]],
    );
}

#[test]
fn a_command_that_needs_a_shell_is_told_before_it_runs() {
    // Could break if `|` were handed to the program as a word.
    check(
        &[
            &format!("{MOCK}client = {{ run = \"curl $SEAWALL_URL/x\" }}\n"),
            &format!("{MOCK}client = {{ run = 'curl \"$SEAWALL_URL\"' }}\n"),
            &format!("{MOCK}client = {{ run = \"a | b\" }}\n"),
            &format!("{MOCK}client = {{ run = \"a 'b\" }}\n"),
            &format!(
                "{MOCK}client = {{ run = \"\", timeout = \"0s\", runs = 0, calls = \"two\", env = {{ \"A=B\" = \"\" }} }}\n"
            ),
        ],
        expect![[r#"
            pay.toml:2:24: no shell reads this command, so this sign means nothing in it
            2 | client = { run = "curl $SEAWALL_URL/x" }
              |                        ^
              = expected the sign in single quotes, {url} for the mock's address, or a shell: run = ["sh", "-c", "…"]

            pay.toml:2:25: no shell reads this command, so this sign means nothing in it
            2 | client = { run = 'curl "$SEAWALL_URL"' }
              |                         ^
              = expected the sign in single quotes, {url} for the mock's address, or a shell: run = ["sh", "-c", "…"]

            pay.toml:2:21: no shell reads this command, so this sign means nothing in it
            2 | client = { run = "a | b" }
              |                     ^
              = expected the sign in single quotes, {url} for the mock's address, or a shell: run = ["sh", "-c", "…"]

            pay.toml:2:21: this quote is not closed
            2 | client = { run = "a 'b" }
              |                     ^
              = expected another ' where the word ends

            pay.toml:2:19: there is no program to run
            2 | client = { run = "", timeout = "0s", runs = 0, calls = "two", env = { "A=B" = "" } }
              |                   ^
              = expected a program and its arguments
            pay.toml:2:32: no program ends in no time
            2 | client = { run = "", timeout = "0s", runs = 0, calls = "two", env = { "A=B" = "" } }
              |                                ^^^^
              = expected 60s
            pay.toml:2:45: runs is 0
            2 | client = { run = "", timeout = "0s", runs = 0, calls = "two", env = { "A=B" = "" } }
              |                                             ^
              = expected a whole number from 1 to 1000
            pay.toml:2:56: calls cannot be `two`
            2 | client = { run = "", timeout = "0s", runs = 0, calls = "two", env = { "A=B" = "" } }
              |                                                        ^^^^^
              = expected one of one, many
            pay.toml:2:71: `A=B` is no variable's name
            2 |  run = "", timeout = "0s", runs = 0, calls = "two", env = { "A=B" = "" } }
              |                                                             ^^^^^
              = expected a name without `=`
        "#]],
    );
}

#[test]
fn mistakes_in_toml_itself_and_bytes_that_are_no_text_have_a_place() {
    check(
        &["name = \n", "name = \"x\"\nname = \"y\"\n"],
        expect![[r#"
        pay.toml:1:8: string values must be quoted, expected literal string
        1 | name = 
          |        ^

        pay.toml:2:1: duplicate key
        2 | name = "y"
          | ^^^^
    "#]],
    );
    let latin = Scenario::from_bytes("pay.toml", b"name = \"a\"\n# caf\xe9\n").expect_err("latin 1");
    expect![[r#"
        pay.toml:2:6: from here on this is no UTF-8 text
        2 | # caf
          |      ^
          = expected a file saved as UTF-8"#]]
    .assert_eq(&latin.to_string());
    assert!(Scenario::from_bytes("pay.toml", format!("\u{feff}{MOCK}{STEP}").as_bytes()).is_ok());
    let long = " ".repeat(FILE_BYTES_MAX + 1);
    assert!(
        Scenario::parse("pay.toml", &long)
            .unwrap_err()
            .first()
            .message()
            .contains("262145 bytes")
    );
}

#[test]
fn the_schema_has_every_key_of_a_scenario_and_no_other() {
    // An editor would underline a key that is read, or offer one that is refused.
    let schema = crate::scenario::schema();
    let of = |value: &serde_json::Value| -> BTreeSet<String> {
        value["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let known = |keys: &[&str]| -> BTreeSet<String> { keys.iter().map(|key| (*key).to_owned()).collect() };
    let defs = &schema["$defs"];
    assert_eq!(of(&schema), known(&TOP_KEYS));
    assert_eq!(of(&defs["step"]), known(&STEP_KEYS));
    assert_eq!(of(&defs["client"]), known(&CLIENT_KEYS));
    assert_eq!(of(&defs["expect"]), known(&EXPECT_KEYS));
    assert_eq!(of(&defs["step_expect"]), known(&STEP_EXPECT_KEYS));
    assert_eq!(
        of(&defs["expect"]["properties"]["schedule"]),
        known(&SCHEDULE_KEYS)
    );
    let rules: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(defs["rule"]["enum"], serde_json::json!(rules));
}

/// A scenario with every table in it, for what follows to break.
const WHOLE: &str = r#"name = "x"
seed = 7
[[mock.route]]
match = "POST /p"
script = "2x 503, 200"
[[step]]
send = "POST /p?x={{id}}"
headers = { a = "b" }
json = { a = [1, 2.5, true, "x{{id}}"], b = { c = 1979-05-27 } }
policy = { retries = 3, backoff.base = "1s" }
key = "k"
capture = { id = "$.a[0]['b']" }
expect = { status = [200, 201], reason = "succeeded", attempts = "2..=3", body = { "$.a" = 1 }, waits = ["1s.."] }
[step.policy2]
[client]
run = 'a "b" \c'
env = { A = "1" }
[expect]
attempts = { "/p" = "..=4" }
elapsed = "backoff"
never = ["overlap", { rule = "endless", over = 3 }]
schedule = { base = "1s", jitter = { proportional = 0.25 } }
"#;

proptest! {
    #[test]
    fn no_text_is_a_panic(
        cuts in proptest::collection::vec((0..WHOLE.len(), 0_usize..40, any::<proptest::sample::Index>(), 0_usize..40), 0..4),
        stray in ".{0,6}",
    ) {
        // Could break if a span of one text were taken for that of another, or a length were counted in bytes.
        let mut text = WHOLE.to_owned();
        for (at, length, from, copied) in cuts {
            let at = text.floor_char_boundary(at.min(text.len()));
            let end = text.floor_char_boundary((at + length).min(text.len()));
            let from = text.floor_char_boundary(from.index(text.len() + 1));
            let to = text.floor_char_boundary((from + copied).min(text.len()));
            let piece = text[from..to].to_owned() + &stray;
            text.replace_range(at..end, &piece);
        }
        if let Err(errors) = Scenario::parse("x.toml", &text) {
            prop_assert!(errors.iter().len() > 0);
            prop_assert!(!errors.to_string().is_empty());
        }
    }
}

#[test]
fn a_file_of_nothing_but_mistakes_is_told_in_a_moment_and_not_without_end() {
    // Each error looks for its line, and each value for its column: done for all of a hundred thousand, on one line, that is
    // minutes.
    let rules = "\"x\",".repeat(FILE_BYTES_MAX / 4 - 50);
    let keys: String = (0..FILE_BYTES_MAX / 16).map(|n| format!("k{n} = 1\n")).collect();
    let one_line = format!(
        "{MOCK}step = [{}]\n",
        "{ send = \"GET /x\", policy = {}, expect = { status = 200 } },".repeat(300)
    );
    for text in [format!("{MOCK}{STEP}[expect]\nnever = [{rules}]\n"), keys] {
        let errors = Scenario::parse("pay.toml", &text).expect_err("nothing in it is right");
        assert_eq!(errors.iter().len(), ERRORS_MAX);
    }
    assert!(matches!(parse(&one_line).work, Work::Steps(steps) if steps.len() == 300));
}

/// A page of the book.
fn page(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(path);
    std::fs::read_to_string(path).expect("the page is there")
}

#[test]
fn every_scenario_in_the_book_is_one() {
    // A page that shows what cannot be read is worse than none.
    let pages = ["guide/scenarios.md", "reference/scenario-file.md"].map(page);
    let blocks: Vec<&str> = pages
        .iter()
        .flat_map(|page| page.split("```toml\n").skip(1))
        .map(|block| block.split("```").next().unwrap_or_default())
        .collect();
    assert!(blocks.len() >= 4);
    for block in blocks {
        Scenario::parse("book.toml", block).unwrap_or_else(|errors| panic!("{errors}\n{block}"));
    }
}

#[test]
fn the_reference_has_a_row_for_every_key_and_every_rule_and_for_no_other() {
    // A key that is read and not told is found by nobody; one that is told and not read is an error for whoever trusts it.
    let page = page("reference/scenario-file.md");
    let rows = |heading: &str| -> BTreeSet<String> {
        let section = page
            .split(&format!("\n{heading}\n"))
            .nth(1)
            .unwrap_or_else(|| panic!("{heading}"));
        let section = section.split("\n#").next().unwrap_or_default();
        let cells = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        cells
            .filter(|cell| *cell != "never" || heading != "## Rules")
            .map(str::to_owned)
            .collect()
    };
    let known = |keys: &[&str]| -> BTreeSet<String> { keys.iter().map(|key| (*key).to_owned()).collect() };
    assert_eq!(rows("## The file"), known(&TOP_KEYS));
    assert_eq!(rows("## `[[step]]`"), known(&STEP_KEYS));
    assert_eq!(rows("### `expect` of a step"), known(&STEP_EXPECT_KEYS));
    assert_eq!(rows("## `client`"), known(&CLIENT_KEYS));
    assert_eq!(rows("## `[expect]`"), known(&EXPECT_KEYS));
    assert_eq!(rows("### `schedule`"), known(&SCHEDULE_KEYS));
    assert_eq!(rows("## Rules"), known(&Rule::ALL.map(Rule::name)));
}
