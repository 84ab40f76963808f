//! Scenarios and what was seen of them as text, judged and printed as a person reads it.

use super::*;
use crate::findings::tests::log;
use crate::findings::{Effect, Timing};
use crate::scenario::{Came, ClientSeen, Colour, End, Entry, Got};
use expect_test::{Expect, expect};
use seawall_core::policy::{Policy, Preset};
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;

fn scenario(text: &str) -> Scenario {
    let text = format!("mock = \"m.toml\"\n{text}");
    Scenario::parse("pay.toml", &text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The report of one scenario, as it is printed.
fn report(scenario: &Scenario, evidence: &Evidence) -> String {
    let entry = Entry {
        file: scenario.file().to_owned(),
        seed: Some(7),
        took: Duration::from_millis(12),
        came: Came::Judged {
            scenario: Box::new(scenario.clone()),
            verdict: judge(scenario, evidence),
        },
    };
    entry.text(Colour::Plain)
}

fn check(text: &str, evidence: &Evidence, expected: Expect) {
    expected.assert_eq(&report(&scenario(text), evidence));
}

fn got(status: Option<u16>, reason: &str, attempts: u32, at: [u64; 2], body: &str) -> Got {
    let at = at.map(|at| Instant::START.after(Duration::from_millis(at)));
    Got {
        status,
        reason: reason.to_owned(),
        attempts,
        began: at[0],
        ended: at[1],
        error: (reason != "succeeded").then(|| format!("the call ended: {reason}")),
        headers: vec![("x-seawall-reason".to_owned(), reason.to_owned())],
        body: body.as_bytes().to_vec(),
        schedule: Some(Schedule::of(&Policy::preset(Preset::Writes).call)),
    }
}

fn steps(history: &str, steps: Vec<StepSeen>, payments: u64) -> Evidence {
    let run = Run {
        log: log(Timing::Virtual, history),
        resources: BTreeMap::from([("payments".to_owned(), payments)]),
        steps,
        client: None,
    };
    Evidence { runs: vec![run] }
}

const PAYMENT: &str = r#"
name = "a payment survives a lost answer"
[[step]]
send = "POST /v1/payments"
policy = "writes"
capture = { id = "$.id" }
[[step]]
name = "read it back"
send = "GET /v1/payments/{{id}}"
expect = { status = 200, reason = "succeeded", attempts = 1, body = { "$.id" = "p1", "$.amount" = 5 }, header = { x-seawall-reason = "succeeded" }, elapsed = "..1s" }
[expect]
attempts = { "/v1/payments" = "2..=3" }
same_key = true
resources = { payments = 1 }
elapsed = "backoff"
waits = ["100ms..1s"]
never = ["retry-before-hint", "overlap", "retry-of-refused", "duplicate-write"]
"#;

#[test]
fn a_payment_that_went_as_it_should_passes_and_says_what_could_not_be_judged() {
    // Could break if what was not observable failed, or was not told.
    let evidence = steps(
        "0ms POST /v1/payments 503 key=k call=1.1\n\
         501ms POST /v1/payments apply/reset key=k call=1.1 done\n\
         1502ms POST /v1/payments 201 key=k call=1.1 replayed\n\
         1503ms GET /v1/payments/p1 200 call=2.1",
        vec![
            StepSeen::Sent(vec![got(Some(201), "succeeded", 3, [0, 1503], r#"{"id":"p1"}"#)]),
            StepSeen::Sent(vec![got(
                Some(200),
                "succeeded",
                1,
                [1503, 1504],
                r#"{"id":"p1","amount":5.0}"#,
            )]),
        ],
        1,
    );
    check(
        PAYMENT,
        &evidence,
        expect![[r#"
        ok   pay.toml: a payment survives a lost answer (17 expectations, 12ms, seed 7)
          ? never retry-before-hint (pay.toml:18: never = ["retry-before-hint", "overlap", "retry-of-refused", "duplicate-write"])
              not observable: no answer told a hint
          ? never retry-of-refused (pay.toml:18: never = ["retry-before-hint", "overlap", "retry-of-refused", "duplicate-write"])
              not observable: nothing was refused
    "#]],
    );
    let must = PAYMENT.to_owned() + "observe = \"must\"\n";
    assert_eq!(judge(&scenario(PAYMENT), &evidence).passed(), Passed::Yes);
    assert_eq!(judge(&scenario(&must), &evidence).passed(), Passed::No);
}

#[test]
fn all_that_went_wrong_is_told_and_not_only_the_first() {
    let evidence = steps(
        "0ms POST /v1/payments 429 key=k call=1.1 hint=5s\n\
         5ms POST /v1/payments apply/reset key=k call=1.1 done\n\
         10ms POST /v1/payments 201 call=1.1 done\n\
         12ms POST /v1/payments 400 call=1.1\n\
         15ms POST /v1/payments 400 call=1.1",
        vec![
            StepSeen::Sent(vec![got(Some(400), "refused", 5, [0, 16], r#"{"error":"no"}"#)]),
            StepSeen::NotSent("nothing was captured as `id`".to_owned()),
        ],
        2,
    );
    check(
        PAYMENT,
        &evidence,
        expect![[r#"
            FAIL pay.toml: a payment survives a lost answer (18 expectations, 12ms, seed 7)
              x step 1: capture id (pay.toml:7: capture = { id = "$.id" })
                  expected  something at $.id to keep as `id`
                  seen      `$` has no `id`; it has error; 400, refused: the call ended: refused; the body is `{"error":"no"}`
                    #1    0s        1ms  POST /v1/payments  429               key k  retry-after: 5
                    #2   5ms  +4ms  1ms  POST /v1/payments  no answer, reset  key k
                    #3  10ms  +4ms  1ms  POST /v1/payments  201
                    #4  12ms  +1ms  1ms  POST /v1/payments  400
                    #5  15ms  +2ms  1ms  POST /v1/payments  400
              x step 2 (read it back): sent (pay.toml:8: [[step]])
                  expected  the step to be sent
                  seen      nothing was captured as `id`
              x attempts at /v1/payments (pay.toml:13: attempts = { "/v1/payments" = "2..=3" })
                  expected  2 to 3 attempts at /v1/payments
                  seen      5
                    (the attempts are those above)
              x same_key (pay.toml:14: same_key = true)
                  expected  a key with every write, the same at each of its attempts
                  seen      attempt #3 has none
                    (the attempts are those above)
                    #3 <- here
              x resources `payments` (pay.toml:15: resources = { payments = 1 })
                  expected  1 `payments`
                  seen      2
                    (the attempts are those above)
              x elapsed (pay.toml:16: elapsed = "backoff")
                  expected  5 attempts within 5.304s to 19.504s, by their schedule
                  seen      15ms from the first to the last
                    (the attempts are those above)
              x waits (pay.toml:17: waits = ["100ms..1s"])
                  expected  wait 1 to be 100ms to 1s
                  seen      4ms
                    (the attempts are those above)
                    #2 <- after that wait
              x never retry-before-hint (pay.toml:18: never = ["retry-before-hint", "overlap", "retry-of-refused", "duplicate-write"])
                  expected  no attempt within 5s of an answer that said retry-after: 5
                  seen      the next one came after 4ms
                    (the attempts are those above)
                    #2 <- 4.996s too early
              x never retry-of-refused (pay.toml:18: never = ["retry-before-hint", "overlap", "retry-of-refused", "duplicate-write"])
                  expected  no attempt after a 400: the same again is answered the same
                  seen      attempt #5 sent it again
                    (the attempts are those above)
                    #5 <- again after a 400
              x never duplicate-write (pay.toml:18: never = ["retry-before-hint", "overlap", "retry-of-refused", "duplicate-write"])
                  expected  one call is done once
                  seen      it was done 2 times
                    (the attempts are those above)
                    #3 <- done again
        "#]],
    );
}

#[test]
fn each_send_of_a_step_is_judged_and_named() {
    let text = r#"
[[step]]
send = "GET /x"
times = 3
together = true
expect = { status = ["none"], error = "spent", body = "no" }
[expect]
elapsed = "..1s"
"#;
    let text = text.replace("[\"none\"]", "\"none\"");
    let evidence = steps(
        "0ms GET /x reset call=1.1\n0ms GET /x reset call=1.2\n1ms GET /x 200 call=1.3",
        vec![StepSeen::Sent(vec![
            got(None, "attempts-spent", 1, [0, 1], ""),
            got(None, "deadline-passed", 1, [0, 900], ""),
            got(Some(200), "succeeded", 1, [0, 1001], "{}"),
        ])],
        0,
    );
    check(
        &text,
        &evidence,
        expect![[r#"
            FAIL pay.toml: pay (4 expectations, 12ms, seed 7)
              x step 1: status (pay.toml:7: expect = { status = "none", error = "spent", body = "no" })
                  expected  no answer
                  seen      200, succeeded (send 3 of 3)
                    #3  1ms  1ms  GET /x  200
              x step 1: body (pay.toml:7: expect = { status = "none", error = "spent", body = "no" })
                  expected  `no` in the body
                  seen      empty (send 1 of 3)
                    #1  0s  1ms  GET /x  no answer, reset
                  expected  `no` in the body
                  seen      empty (send 2 of 3)
                    #2  0s  1ms  GET /x  no answer, reset
                  expected  `no` in the body
                  seen      `{}` (send 3 of 3)
                    (the attempts are those above)
              x step 1: error (pay.toml:7: expect = { status = "none", error = "spent", body = "no" })
                  expected  an error that says `spent`
                  seen      no answer, deadline-passed: the call ended: deadline-passed (send 2 of 3)
                    (the attempts are those above)
                  expected  an error that says `spent`
                  seen      200, succeeded (send 3 of 3)
                    (the attempts are those above)
              x elapsed (pay.toml:9: elapsed = "..1s")
                  expected  at most 1s
                  seen      1.001s
        "#]],
    );
}

#[test]
fn calls_side_by_side_promise_only_the_least_time() {
    // Another call's cool-down holds this one up: no fault of its schedule.
    let text = "[[step]]\nsend = \"GET /x\"\ntimes = 2\ntogether = true\n[expect]\nelapsed = \"backoff\"\n";
    let gots = || {
        vec![StepSeen::Sent(vec![
            got(Some(200), "succeeded", 2, [0, 1], ""),
            got(Some(200), "succeeded", 1, [0, 1], ""),
        ])]
    };
    let late = steps(
        "0ms GET /x 503 call=1.1\n1ms GET /x 200 call=1.2\n20s GET /x 200 call=1.1",
        gots(),
        0,
    );
    let early = steps(
        "0ms GET /x 503 call=1.1\n1ms GET /x 200 call=1.2\n2ms GET /x 200 call=1.1",
        gots(),
        0,
    );
    let state = |evidence: &Evidence| judge(&scenario(text), evidence).checks[0].state();
    assert_eq!(
        (state(&late), state(&early)),
        (State::NotObservable, State::Broken)
    );
}

fn client(end: End, stdout: &str, history: &str) -> Run {
    Run {
        log: log(Timing::Real, history),
        client: Some(ClientSeen {
            end,
            took: Duration::from_millis(2_500),
            stdout: stdout.to_owned(),
            stderr: "warning: \u{1b}[31mred\nlast line".to_owned(),
        }),
        ..Run::default()
    }
}

#[test]
fn a_client_is_judged_by_both_ends_and_run_by_run() {
    let text = r#"
client = { run = "pay", runs = 3 }
[expect]
exit = 0
stdout = ["paid", "once"]
attempts = { "POST /p" = "..=2", "POST /q" = 1 }
elapsed = "1s..2s"
"#;
    let evidence = Evidence {
        runs: vec![
            client(End::Exit(0), "paid once", "0ms POST /p 200"),
            client(
                End::Exit(3),
                "paid",
                "0ms POST /p 503 body=a\n1s POST /p 503 body=a\n2s POST /p 503 body=a",
            ),
            client(End::TimedOut, "", "0ms POST /p 503 body=a"),
        ],
    };
    check(
        text,
        &evidence,
        expect![[r#"
            FAIL pay.toml: pay (6 expectations, 12ms, seed 7)
              x client (pay.toml:5: exit = 0)
                  expected  exit code 0
                  seen      exit code 3; stderr is `warning: �[31mred⏎last line` (run 2)
                  expected  exit code 0
                  seen      it was killed after 2.5s; stderr is `warning: �[31mred⏎last line` (run 3)
              x stdout has `paid` (pay.toml:6: stdout = ["paid", "once"])
                  expected  `paid` in stdout
                  seen      stdout is empty (run 3)
              x stdout has `once` (pay.toml:6: stdout = ["paid", "once"])
                  expected  `once` in stdout
                  seen      stdout is `paid` (run 2)
                  expected  `once` in stdout
                  seen      stdout is empty (run 3)
              x attempts at POST /p (pay.toml:7: attempts = { "POST /p" = "..=2", "POST /q" = 1 })
                  expected  at most 2 attempts at POST /p
                  seen      3 (run 2)
                    #1  0s          1ms  POST /p  503
                    #2  1s  +999ms  1ms  POST /p  503
                    #3  2s  +999ms  1ms  POST /p  503
              x attempts at POST /q (pay.toml:7: attempts = { "POST /p" = "..=2", "POST /q" = 1 })
                  expected  1 attempt at POST /q
                  seen      0 (run 1)
                  expected  1 attempt at POST /q
                  seen      0 (run 2)
                    (the attempts are those above)
                  expected  1 attempt at POST /q
                  seen      0 (run 3)
                    (the attempts are those above)
              x elapsed (pay.toml:8: elapsed = "1s..2s")
                  expected  1s to 2s
                  seen      2.5s (run 1)
                  expected  1s to 2s
                  seen      2.5s (run 2)
                  expected  1s to 2s
                  seen      2.5s (run 3)
        "#]],
    );
}

#[test]
fn a_client_that_did_not_end_by_itself_fails_whatever_else_is_expected() {
    // Could break if an end that nobody expected passed for "exit code 0", or a timeout for a program's own end.
    let text = "client = { run = \"pay\" }\n";
    let ends = [End::Exit(0), End::Exit(9), End::TimedOut, End::Signal(11)];
    let passed = |text: &str| {
        ends.clone().map(|end| {
            let runs = vec![client(end, "", "0ms GET /p 200")];
            judge(&scenario(text), &Evidence { runs }).passed() == Passed::Yes
        })
    };
    assert_eq!(passed(text), [true, true, false, false]);
    let exit = |is: &str| format!("{text}[expect]\nexit = {is}\n");
    assert_eq!(passed(&exit("\"timeout\"")), [false, false, true, false]);
    assert_eq!(passed(&exit("\"nonzero\"")), [false, true, false, false]);
    assert_eq!(passed(&exit("9")), [false, true, false, false]);
}

#[test]
fn nothing_seen_is_no_pass() {
    // Could break if `all` of no runs, or of no calls, were true.
    let expectations = [
        "attempts = \"..=9\"",
        "same_key = true",
        "resources = { payments = 0 }",
        "waits = [\"1s..\"]",
        "elapsed = \"..1s\"",
        "never = [\"overlap\"]",
    ];
    for expectation in expectations {
        let text = format!("client = {{ run = \"pay\" }}\n[expect]\nobserve = \"must\"\n{expectation}\n");
        assert_eq!(
            judge(&scenario(&text), &Evidence::default()).passed(),
            Passed::No,
            "{expectation}"
        );
    }
    let kept = |dropped| {
        let mut run = client(End::Exit(0), "", "0ms GET /p 200");
        run.log.dropped = dropped;
        judge(
            &scenario("client = { run = \"pay\" }"),
            &Evidence { runs: vec![run] },
        )
        .passed()
    };
    assert_eq!((kept(0), kept(1)), (Passed::Yes, Passed::No));
}

/// Runs of a client that comes back after the given waits, against a mock that answers as given; the last answer stays.
fn runs(answers: &[&str], waits: impl Fn(u64) -> Vec<u64>, words: impl Fn(usize, u64) -> String) -> Evidence {
    let run = |number: u64| {
        let (mut at, mut history) = (0, String::new());
        let waits = waits(number);
        for place in 0..=waits.len() {
            let answer = answers.get(place).or(answers.last()).unwrap();
            history.push_str(&format!("{at}ms POST /p {answer} {}\n", words(place, number)));
            at += 1 + waits.get(place).copied().unwrap_or_default();
        }
        let mut run = client(End::Exit(0), "", &history);
        for attempt in &mut run.log.attempts {
            if attempt.status == Some(200) {
                attempt.effect = Effect::Done;
            }
        }
        run
    };
    Evidence {
        runs: (0..8).map(run).collect(),
    }
}

#[test]
fn six_wrong_clients_are_each_found_by_the_right_rule_and_a_right_one_by_none() {
    // A rule that finds more than its own fault sends people to the wrong line of their client.
    let text = r#"
client = { run = "pay", runs = 8 }
[expect]
never = ["retry-before-hint", "overlap", "retry-of-refused", "new-key", "no-backoff", "no-jitter", "endless", "duplicate-write"]
"#;
    let found = |evidence: &Evidence| {
        let verdict = judge(&scenario(text), evidence);
        let broken = verdict
            .checks
            .into_iter()
            .filter(|check| check.state() == State::Broken);
        broken.map(|check| check.what).collect::<Vec<_>>()
    };
    let key = |_: usize, number: u64| format!("key=k{number} body=a");
    let jittered = |number: u64| {
        vec![
            60 + 50 * number,
            130 + 90 * number,
            300 + 170 * number,
            500 + 400 * number,
        ]
    };
    let failing = ["503", "503", "503", "503", "200"];
    assert_eq!(found(&runs(&failing, jittered, key)), [] as [&str; 0]);
    assert_eq!(
        found(&runs(&failing, |_| vec![1, 2, 1, 2], key)),
        ["never no-backoff"]
    );
    assert_eq!(
        found(&runs(&failing, |_| vec![200, 400, 800, 1600], key)),
        ["never no-jitter"]
    );
    let limited = ["429 hint=1s", "200"];
    assert_eq!(
        found(&runs(&limited, |number| vec![100 + 40 * number], key)),
        ["never retry-before-hint"]
    );
    let new = |place: usize, number: u64| format!("key=k{number}-{place} body=a");
    assert_eq!(found(&runs(&failing, jittered, new)), ["never new-key"]);
    let refused = ["400", "400", "200"];
    assert_eq!(
        found(&runs(&refused, |number| vec![100 + 40 * number, 300], key)),
        ["never retry-of-refused"]
    );
    let long = |number: u64| {
        (0..14)
            .map(|n: u64| ((15 + 12 * number) * (4 + n % 5)) << n.min(5))
            .collect()
    };
    assert_eq!(found(&runs(&["503"], long, key)), ["never endless"]);
}

#[test]
fn a_client_that_is_said_to_make_one_call_is_held_to_it() {
    // With a fresh key and a fresh body at every attempt nothing else tells that it is one call.
    let text = |calls: &str| {
        format!(
            "client = {{ run = \"pay\", calls = \"{calls}\" }}\n[expect]\nnever = [\"new-key\", \"new-body\"]\n"
        )
    };
    let history = "0ms POST /p 503 key=a body=x\n1s POST /p 200 key=b body=y";
    let states = |text: &str| {
        let runs = vec![client(End::Exit(0), "", history)];
        let verdict = judge(&scenario(text), &Evidence { runs });
        verdict
            .checks
            .iter()
            .skip(1)
            .map(Check::state)
            .collect::<Vec<_>>()
    };
    assert_eq!(states(&text("one")), [State::Broken, State::Broken]);
    assert_eq!(
        states(&text("many")),
        [State::NotObservable, State::NotObservable]
    );
}

#[test]
fn a_clients_time_is_held_to_what_it_promised() {
    let text = "client = { run = \"pay\" }\n[expect]\nelapsed = \"backoff\"\nschedule = { base = \"1s\", cap = \"4s\", jitter = \"equal\" }\n";
    let judged = |history: &str| {
        judge(
            &scenario(text),
            &Evidence {
                runs: vec![client(End::Exit(0), "", history)],
            },
        )
    };
    // [500 ms, 1 s], [1 s, 2 s]: and a slack.
    let state = |history: &str| judged(history).checks[1].state();
    assert_eq!(
        state("0ms GET /p 503\n800ms GET /p 503\n2400ms GET /p 200"),
        State::Held
    );
    assert_eq!(
        state("0ms GET /p 503\n300ms GET /p 503\n1300ms GET /p 200"),
        State::Broken
    );
    assert_eq!(
        state("0ms GET /p 503\n900ms GET /p 503\n6s GET /p 200"),
        State::Broken
    );
    assert_eq!(state("0ms GET /p 200"), State::NotObservable);
}

#[test]
fn numbers_are_equal_as_numbers_and_long_ones_digit_by_digit() {
    let text =
        |value: &str| format!("[[step]]\nsend = \"GET /x\"\nexpect = {{ body = {{ \"$.n\" = {value} }} }}\n");
    let holds = |value: &str, body: &str| {
        let sent = vec![StepSeen::Sent(vec![got(Some(200), "succeeded", 1, [0, 1], body)])];
        judge(
            &scenario(&text(value)),
            &steps("0ms GET /x 200 call=1.1", sent, 0),
        )
        .passed()
            == Passed::Yes
    };
    assert!(holds("5", r#"{"n":5}"#) && holds("5", r#"{"n":5.0}"#) && holds("0.5", r#"{"n":5e-1}"#));
    assert!(!holds("5", r#"{"n":"5"}"#) && !holds("\"5\"", r#"{"n":5}"#) && !holds("5", r#"{"n":null}"#));
    assert!(!holds("9007199254740993", r#"{"n":9007199254740992}"#));
    assert!(
        holds("true", r#"{"n":true}"#)
            && !holds("true", r#"{"n":"true"}"#)
            && holds("\"é\"", r#"{"n":"\u00e9"}"#)
    );
    assert!(!holds("5", "{") && !holds("5", "[1]") && !holds("5", ""));
}
