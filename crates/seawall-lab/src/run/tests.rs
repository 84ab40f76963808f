use super::*;
use crate::findings::{Attempt, Effect};
use crate::scenario::{Got, Run, StepSeen};
use expect_test::{Expect, expect};
use std::fmt::Write as _;

/// Runs a scenario and shows what was seen: each attempt, and what each caller got.
fn seen(text: &str) -> String {
    let scenario = Scenario::parse("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let evidence = run(&scenario, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    evidence.runs.iter().map(shown).collect()
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&seen(text));
}

fn shown(run: &Run) -> String {
    let mut text = String::new();
    for attempt in &run.log.attempts {
        writeln!(text, "{}", shown_attempt(attempt)).unwrap();
    }
    for (name, count) in &run.resources {
        writeln!(text, "{count} {name}").unwrap();
    }
    for (nth, step) in run.steps.iter().enumerate() {
        match step {
            StepSeen::NotSent(why) => writeln!(text, "step {} not sent: {why}", nth + 1).unwrap(),
            StepSeen::Sent(all) => {
                for got in all {
                    writeln!(text, "step {}: {}", nth + 1, shown_got(got)).unwrap();
                }
            }
        }
    }
    text
}

fn shown_attempt(attempt: &Attempt) -> String {
    let met = attempt
        .status
        .map_or("no answer".to_owned(), |status| status.to_string());
    let left = attempt
        .client_left
        .map_or(String::new(), |left| format!(", left at {left}"));
    let told = attempt.hint.as_ref().map_or(String::new(), |hint| {
        format!(", told {} {}", hint.source, hint.wait)
    });
    let call = attempt.call.as_deref().unwrap_or("?");
    let key = attempt
        .key
        .as_deref()
        .map_or(String::new(), |key| format!(", key {key}"));
    let effect = match attempt.effect {
        Effect::Unknown => "",
        Effect::None => ", nothing done",
        Effect::Done => ", done",
        Effect::Replayed => ", replayed",
    };
    format!(
        "{} {call} {} {}: {met}{told}{left}{key}{effect}",
        attempt.at, attempt.method, attempt.path
    )
}

fn shown_got(got: &Got) -> String {
    let status = got
        .status
        .map_or("no answer".to_owned(), |status| status.to_string());
    let (reason, attempts) = (&got.reason, got.attempts);
    format!(
        "{status}, {reason}, {attempts} attempts, {} to {}",
        got.began, got.ended
    )
}

#[test]
fn a_wait_that_the_server_asked_for_takes_no_real_time_and_is_exact() {
    // In real time this takes two minutes; where time passes while bytes are on their way, it is not exact.
    check(
        r#"
        [[mock.route]]
        match = "GET /v1/models"
        script = "429 retry-after=5, 2x 429 retry-after=50, 200"
        [[step]]
        send = "GET /v1/models"
        "#,
        expect![[r#"
            0s 1.1 GET /v1/models: 429, told retry-after 5s
            5s 1.1 GET /v1/models: 429, told retry-after 50s
            55s 1.1 GET /v1/models: 429, told retry-after 50s
            1m45s 1.1 GET /v1/models: 200
            step 1: 200, succeeded, 4 attempts, 0s to 1m45s
        "#]],
    );
}

#[test]
fn a_limit_of_the_callers_own_ends_a_wait_to_the_nanosecond() {
    // A hang, a late answer and a stall in the middle each have another limit. One that is met late, or not at all,
    // shows as another time; the last line as a tie that the wire decides.
    check(
        r#"
        [[mock.route]]
        match = "GET /hang"
        script = "hang"
        [[mock.route]]
        match = "GET /late"
        script = "200 delay=15s"
        [[mock.route]]
        match = "GET /stall"
        script = "hang after=5"
        [[mock.route]]
        match = "GET /tie"
        script = "200 delay=2s"
        [[step]]
        send = "GET /hang"
        policy = { retries = 0, timeouts = { first_byte = "2s", idle = "3s" } }
        [[step]]
        send = "GET /late"
        policy = { retries = 0, timeouts = { first_byte = "2s", idle = "3s" } }
        [[step]]
        send = "GET /stall"
        policy = { retries = 0, timeouts = { first_byte = "2s", idle = "3s" } }
        [[step]]
        send = "GET /tie"
        policy = { retries = 0, timeouts = { first_byte = "2s", idle = "3s" } }
        "#,
        expect![[r#"
            0s 1.1 GET /hang: no answer, left at 2s
            2s 2.1 GET /late: no answer, left at 4s
            4s 3.1 GET /stall: 200, left at 7s
            7s 4.1 GET /tie: 200
            step 1: no answer, attempts-spent, 1 attempts, 0s to 2s
            step 2: no answer, attempts-spent, 1 attempts, 2s to 4s
            step 3: 200, attempts-spent, 1 attempts, 4s to 7s
            step 4: no answer, attempts-spent, 1 attempts, 7s to 9s
        "#]],
    );
}

#[test]
fn what_a_step_captures_stands_in_the_next_ones() {
    // An older value, or none, in the place of the one that was captured asks for the wrong thing.
    check(
        r#"
        [[mock.route]]
        match = "POST /v1/things"
        script = '200 json={"id":"the first of two"}, 200 json={"id":"thing-7"}, 200 json={"name":"no id"}'
        [[step]]
        send = "POST /v1/things"
        times = 2
        capture = { id = "$.id" }
        [[step]]
        send = "GET /v1/things/{{id}}"
        [[step]]
        send = "POST /v1/things"
        capture = { id = "$.id" }
        [[step]]
        send = "GET /v1/things/{{id}}"
        [[mock.route]]
        match = "GET /v1/*"
        "#,
        expect![[r#"
            0s 1.1 POST /v1/things: 200
            0s 1.2 POST /v1/things: 200
            0s 2.1 GET /v1/things/thing-7: 200
            0s 3.1 POST /v1/things: 200
            step 1: 200, succeeded, 1 attempts, 0s to 0s
            step 1: 200, succeeded, 1 attempts, 0s to 0s
            step 2: 200, succeeded, 1 attempts, 0s to 0s
            step 3: 200, succeeded, 1 attempts, 0s to 0s
            step 4 not sent: there is no `id`: step 3 was to capture it, and `$` has no `id`; it has name
        "#]],
    );
}

#[test]
fn a_write_keeps_the_one_key_that_was_made_for_its_call() {
    // Without a key of its own the second call would be taken for the first, or the lost answer be paid for again. The
    // route's own header is the one that counts, and a key that is written stands.
    check(
        r#"
        [[mock.route]]
        match = "POST /v1/payments"
        resource = "payments"
        idempotency = { header = "X-Once" }
        script = "503, apply then reset, 200"
        [[step]]
        send = "POST /v1/payments"
        json = { amount = 5 }
        policy = "writes"
        capture = { id = "$.id" }
        [[step]]
        send = "GET /v1/payments/{{id}}"
        [[step]]
        send = "POST /v1/payments"
        json = { amount = 5 }
        key = "mine"
        times = 2
        "#,
        expect![[r#"
            0s 1.1 POST /v1/payments: 503, key c3a44c5cb7ee1819404ba8181a8ab0a9, nothing done
            339ms 1.1 POST /v1/payments: no answer, key c3a44c5cb7ee1819404ba8181a8ab0a9, done
            339ms 1.1 POST /v1/payments: 200, key c3a44c5cb7ee1819404ba8181a8ab0a9, replayed
            339ms 2.1 GET /v1/payments/payments_1: 200, nothing done
            339ms 3.1 POST /v1/payments: 200, key mine, done
            339ms 3.2 POST /v1/payments: 200, key mine, replayed
            2 payments
            step 1: 200, succeeded, 2 attempts, 0s to 339ms
            step 2: 200, succeeded, 1 attempts, 339ms to 339ms
            step 3: 200, succeeded, 1 attempts, 339ms to 339ms
            step 3: 200, succeeded, 1 attempts, 339ms to 339ms
        "#]],
    );
}

#[test]
fn each_call_has_a_key_of_its_own_and_each_policy_draws_of_its_own() {
    // Could break if one key, or one stream of chance, served the whole run: the second payment would be the first one's
    // answer again, and two policies that should differ would wait alike.
    let text = r#"
        [[mock.route]]
        match = "POST /v1/payments"
        resource = "payments"
        idempotency = {}
        script = "503, 200, 503, 200"
        [[step]]
        send = "POST /v1/payments"
        policy = { retries = 1 }
        [[step]]
        send = "POST /v1/payments"
        policy = { retries = 2 }
        "#;
    let scenario = Scenario::parse("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let evidence = run(&scenario, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let seen = &evidence.runs[0];
    let attempts = &seen.log.attempts;
    assert_eq!((attempts.len(), seen.resources["payments"]), (4, 2));
    assert_eq!(attempts[0].key, attempts[1].key);
    assert_ne!(attempts[0].key, attempts[2].key);
    let waits = [1, 3].map(|place: usize| attempts[place].at.since(attempts[place - 1].at));
    assert_ne!(waits[0], waits[1]);
}

#[test]
fn steps_of_one_policy_share_an_upstream_and_its_cool_downs() {
    // A second call that goes into a wait which the first was told of is what cool-downs are there to stop.
    check(
        r#"
        [[mock.route]]
        match = "GET /v1/models"
        script = "429 retry-after=5, 200"
        [[step]]
        send = "GET /v1/models"
        deadline = "1s"
        [[step]]
        send = "GET /v1/models"
        times = 3
        together = true
        [[step]]
        send = "GET /v1/models"
        after = "2s"
        times = 2
        "#,
        expect![[r#"
            0s 1.1 GET /v1/models: 429, told retry-after 5s
            5s 2.1 GET /v1/models: 200
            5s 2.2 GET /v1/models: 200
            5s 2.3 GET /v1/models: 200
            7s 3.1 GET /v1/models: 200
            7s 3.2 GET /v1/models: 200
            step 1: 429, server-asked-too-long, 1 attempts, 0s to 0s
            step 2: 200, succeeded, 1 attempts, 0s to 5s
            step 2: 200, succeeded, 1 attempts, 0s to 5s
            step 2: 200, succeeded, 1 attempts, 0s to 5s
            step 3: 200, succeeded, 1 attempts, 7s to 7s
            step 3: 200, succeeded, 1 attempts, 7s to 7s
        "#]],
    );
}

#[test]
fn the_same_seed_is_the_same_run_however_the_machine_is_loaded() {
    // Bytes that arrive in another order, or a clock that turns while they are on their way, show as another time or
    // another attempt. Each fault here takes another way over the wires.
    let text = r#"
        seed = 11
        [[mock.route]]
        match = "POST /v1/*"
        mix = { "200" = 0.2, "503" = 0.2, "200 delay=3s" = 0.2, "hang after=9" = 0.1, "drip bps=2" = 0.1, "hang" = 0.1, "truncate at=50%" = 0.1 }
        latency = { p50 = "120ms", p99 = "2s" }
        [[step]]
        send = "POST /v1/chat/completions"
        body = '{"model":"small-1","messages":[]}'
        policy = { retries = 4, deadline = "40s", timeouts = { first_byte = "2s", idle = "1s" } }
        times = 40
        together = true
        [[step]]
        send = "POST /v1/embeddings"
        body = '{"model":"small-1","input":"x"}'
        policy = "batch"
        times = 3
        "#;
    let once = seen(text);
    for _ in 0..3 {
        assert_eq!(once, seen(text));
    }
    let scenario = Scenario::parse("test.toml", text).unwrap();
    let other = run(&scenario, &RunOptions::default().seed(12)).unwrap();
    assert_ne!(
        once,
        shown(&other.runs[0]),
        "a seed that is given stands before the file's"
    );
}

#[test]
fn tls_and_http2_pass_no_time_of_their_own() {
    // A handshake, settings or a goodbye that time does not wait for makes an answer late; a mock whose authority the
    // steps do not trust fails them all.
    let text = r#"
        [mock.listener]
        tls = true
        script = "for 2s refuse, reset, tls-fail, accept"
        [[mock.route]]
        match = "GET /x"
        script = "429 retry-after=5, hang, rst-stream, goaway, 200 delay=3s"
        [[step]]
        send = "GET /x"
        times = 2
        policy = { retries = 8, timeouts = { first_byte = "4s" }, backoff = { jitter = "none" } }
        "#;
    check(
        text,
        expect![[r#"
        3.5s ?  : no answer
        7.5s ?  : no answer
        15.5s 1.1 GET /x: 429, told retry-after 5s
        31.5s 1.1 GET /x: no answer, left at 35.5s
        1m6s 1.1 GET /x: no answer
        1m36s 1.1 GET /x: no answer
        1m36s 1.2 GET /x: 200
        step 1: 429, attempts-spent, 9 attempts, 0s to 1m36s
        step 1: 200, succeeded, 1 attempts, 1m36s to 1m39s
    "#]],
    );
    let once = seen(text);
    for _ in 0..5 {
        assert_eq!(once, seen(text));
    }
}

#[test]
fn a_client_trusts_its_mock_and_a_proxy_does_not_stand_before_it() {
    // Without the authority no client gets past the handshake; with a proxy in between it never gets to the mock.
    let text = r#"
        client = { run = ["sh", "-c", "cat $SSL_CERT_FILE; echo $NO_PROXY; echo $SEAWALL_CASE; echo $OPENAI_BASE_URL"] }
        name = "who is\u0000asked"
        [mock.listener]
        tls = true
        [[mock.route]]
        match = "GET /x"
        "#;
    let scenario = Scenario::parse("test.toml", text).unwrap();
    let evidence = run(&scenario, &RunOptions::default()).unwrap();
    let said = evidence.runs[0].client.as_ref().unwrap().stdout.clone();
    assert!(said.starts_with("-----BEGIN CERTIFICATE-----"), "{said}");
    let last: Vec<&str> = said.lines().rev().take(3).collect();
    assert!(last[2].ends_with("127.0.0.1,localhost,::1"), "{said}");
    assert_eq!(last[1], "who is\u{fffd}asked", "no variable holds a NUL");
    assert!(
        last[0].starts_with("https://127.0.0.1:") && last[0].ends_with("/v1"),
        "{said}"
    );
}

#[test]
fn what_only_shows_when_it_is_run_is_told_with_its_place() {
    // Without the place, whoever wrote it looks through the whole file; without the system's word, nobody knows why.
    for (text, expected) in [
        (
            "mock = \"gone/pay.toml\"\n[[step]]\nsend = \"GET /x\"\n",
            "test.toml:1:1: the mock file ./gone/pay.toml cannot be read: No such file",
        ),
        #[cfg(unix)]
        (
            "mock = \"/dev/zero\"\n[[step]]\nsend = \"GET /x\"\n",
            "test.toml:1:1: /dev/zero is no file: a mock is read from one",
        ),
        (
            "[[step]]\nsend = \"GET /x\"\npolicy = { retries = 1000 }\n",
            "test.toml:3:22: retries is 1000",
        ),
        (
            "client = { run = \"no-such-program-here\" }\n",
            "test.toml:1:1: `no-such-program-here` cannot be started: No such file",
        ),
    ] {
        let text = if text.starts_with("mock") {
            text.to_owned()
        } else {
            format!("{text}[[mock.route]]\nmatch = \"GET /x\"\n")
        };
        let scenario = Scenario::parse("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        let error = run(&scenario, &RunOptions::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_mock_that_waits_for_a_hand_is_refused_where_no_hand_is() {
    // Could break if such a file were taken as it is: time would stand still, and the run with it.
    let folder = std::env::temp_dir().join(format!("seawall-by-hand-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mock.toml"), "clock = \"manual\"\n").unwrap();
    let file = folder.join("test.toml").display().to_string();
    let text = "mock = \"mock.toml\"\n[[step]]\nsend = \"GET /x\"\n";
    let scenario = Scenario::parse(&file, text).unwrap();
    let error = run(&scenario, &RunOptions::default()).unwrap_err().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        error.contains("test.toml:1:1: this mock's clock is turned by hand"),
        "{error}"
    );
}

#[test]
fn a_run_that_is_stopped_ends() {
    // An interrupt that waits for the end of the scenario is none.
    let halt = Halt::default();
    halt.pull();
    for text in [
        "[[step]]\nsend = \"GET /x\"\n",
        "client = { run = \"sleep 60\" }\n",
    ] {
        let text = format!("{text}[[mock.route]]\nmatch = \"GET /x\"\n");
        let scenario = Scenario::parse("test.toml", &text).unwrap();
        let ended = run(&scenario, &RunOptions::default().halt(&halt));
        assert!(matches!(ended, Err(RunError::Halted)), "{ended:?}");
    }
}
