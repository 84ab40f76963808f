//! Logs as text: a line for an attempt, in the order of time.
//!
//! `AT METHOD PATH MET…`, where MET is a status, a fault's name or `status/fault`, and what else is known:
//! `key=` `body=` `call=` `took=` (1 ms where nothing is written) `hint=` `events=` `left` `open` `done` `replayed`
//! `not-again` `again`.

use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use seawall_core::time::{Duration, Instant};

pub(crate) fn log(timing: Timing, text: &str) -> Log {
    Log {
        attempts: text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(attempt)
            .collect(),
        dropped: 0,
        timing,
    }
}

fn attempt(line: &str) -> Attempt {
    let mut words = line.split_whitespace();
    let mut word = || {
        words
            .next()
            .unwrap_or_else(|| panic!("a word is missing in `{line}`"))
    };
    let at = Instant::START.after(word().parse().unwrap());
    let mut attempt = Attempt {
        method: word().to_owned(),
        path: word().to_owned(),
        at,
        ..Attempt::default()
    };
    let (mut took, mut open, mut left) = (Duration::from_millis(1), false, false);
    for word in words {
        match word.split_once('=') {
            Some(("key", key)) => attempt.key = Some(key.to_owned()),
            Some(("body", body)) => attempt.body = Some(Fingerprint::of(body.as_bytes())),
            Some(("call", call)) => attempt.call = Some(call.to_owned()),
            Some(("took", length)) => took = length.parse().unwrap(),
            Some(("events", count)) => attempt.events = Some(count.parse().unwrap()),
            Some(("hint", length)) => {
                let wait: Duration = length.parse().unwrap();
                let text = wait.as_secs().to_string();
                attempt.hint = Some(Hint {
                    source: "retry-after".into(),
                    text,
                    wait,
                });
            }
            Some((other, _)) => panic!("`{other}` is nothing that an attempt has"),
            None => match word {
                "left" => left = true,
                "open" => open = true,
                "done" => attempt.effect = Effect::Done,
                "replayed" => attempt.effect = Effect::Replayed,
                "not-again" => attempt.word = Word::NotAgain,
                "again" => attempt.word = Word::Again,
                met => {
                    let (status, fault) = met.split_once('/').unwrap_or((met, met));
                    attempt.status = status.parse().ok();
                    attempt.fault = (fault != "200" && fault != "201").then(|| fault.to_owned().into());
                }
            },
        }
    }
    let over = at.after(took);
    attempt.answered = attempt.status.map(|_| over);
    attempt.ended = (!open).then_some(over);
    attempt.client_left = left.then_some(over);
    attempt
}

pub(super) fn runs(logs: &[Log]) -> Vec<RunSeen<'_>> {
    let seen = |log| RunSeen {
        log,
        calls: calls(&log.attempts),
        content: Content::Unknown,
    };
    logs.iter().map(seen).collect()
}

pub(super) const LIMITS: Limits = Limits {
    attempts_max: 3,
    promised: None,
};

pub(super) fn told(findings: &[Finding]) -> String {
    let told = findings.iter().map(|finding| {
        let Finding {
            kind,
            expected,
            seen,
            proof,
            ..
        } = finding;
        match kind {
            Kind::Broken => format!("expected {expected}; seen {seen}\n{proof}"),
            Kind::NotObservable => format!("not observable: {seen}\n"),
        }
    });
    let told: String = told.collect();
    if told.is_empty() {
        "held\n".to_owned()
    } else {
        told
    }
}

/// What a rule says of each of these histories.
fn check(rule: Rule, histories: &[&str], expected: Expect) {
    let told = histories.iter().map(|history| {
        let logs = [log(Timing::Virtual, history)];
        told(&super::check(rule, LIMITS, &runs(&logs)))
    });
    expected.assert_eq(&told.collect::<Vec<_>>().join("\n"));
}

#[test]
fn every_rule_has_a_name_of_its_own_and_is_found_by_it() {
    for rule in Rule::ALL {
        assert_eq!(Rule::named(rule.name()), Some(rule));
    }
    assert_eq!(Rule::named("overlaps"), None);
}

/// Which attempts of a history are one call, and by what.
fn grouped(history: &str) -> String {
    let log = log(Timing::Virtual, history);
    let calls = calls(&log.attempts);
    let shown = calls.iter().map(|call| {
        let places: Vec<String> = call.places.iter().map(|place| (place + 1).to_string()).collect();
        format!("{} ({})", places.join(" "), call.by.name())
    });
    shown.collect::<Vec<_>>().join("; ")
}

#[test]
fn attempts_are_one_call_by_what_is_known_of_them_and_not_by_their_prompt_alone() {
    // The histories on which a grader that groups by bodies alone is wrong: a fresh timestamp, equal prompts, calls
    // side by side.
    for (history, expected) in [
        (
            "0ms POST /p 503 body=a\n500ms POST /p 200 body=a",
            "1 2 (same body)",
        ),
        // A fresh timestamp at every attempt.
        (
            "0ms POST /p 503 body=a-1764500000\n500ms POST /p 200 body=a-1764500001",
            "1 2 (like bodies)",
        ),
        // Two items one after the other, the first given up.
        (
            "0ms POST /p 503 body=amount=5\n500ms POST /p 200 body=amount=6",
            "1 (named); 2 (named)",
        ),
        // The next item of a list after a refusal is no repeat of the refused one, however alike.
        (
            "0ms POST /p 400 body=a-1764500000\n9ms POST /p 200 body=a-1764500001",
            "1 (named); 2 (named)",
        ),
        // Three calls with one prompt, one after the other.
        (
            "0ms POST /p 200 body=a\n5ms POST /p 200 body=a\n9ms POST /p 200 body=a",
            "1 (named); 2 (named); 3 (named)",
        ),
        // Two equal calls side by side, each sent again: the first to fail goes on first.
        (
            "0ms POST /p 503 body=a\n0ms POST /p 503 body=a took=3ms\n9ms POST /p 503 body=a\n9ms POST /p 200 body=a",
            "1 3 (same body); 2 4 (same body)",
        ),
        // One key is one call, also after an answer, also while it is out; another key is a repeat where the body says so.
        (
            "0ms POST /p 200 key=k body=a\n5ms POST /p 200 key=k body=b",
            "1 2 (same key)",
        ),
        (
            "0ms POST /p 503 key=k body=a\n5ms POST /p 200 key=l body=a",
            "1 2 (same body)",
        ),
        (
            "0ms POST /p 503 key=k body=a\n5ms POST /q 200 key=k body=a",
            "1 (named); 2 (named)",
        ),
        // Two equal calls side by side, each with its key: one that comes again is not continued by the other.
        (
            "0ms POST /p 503 key=k body=a\n5ms POST /p 503 key=l body=a\n90ms POST /p 200 key=k body=a\n95ms POST /p 200 key=l body=a",
            "1 3 (same key); 2 4 (same key)",
        ),
        // A loop around a loop that makes a new key for each of its rounds.
        (
            "0ms POST /p 503 key=k body=a\n5ms POST /p 503 key=k body=a\n90ms POST /p 503 key=l body=a\n95ms POST /p 200 key=l body=a",
            "1 2 3 4 (same body)",
        ),
        // A name is believed before anything else.
        (
            "0ms POST /p 200 call=x body=a\n5ms POST /p 200 call=x body=b\n6ms POST /p 503 call=y body=b",
            "1 2 (named); 3 (named)",
        ),
        // Without bodies, method and path.
        (
            "0ms GET /p 503\n5ms GET /p 200\n9ms GET /p 200",
            "1 2 (same body); 3 (named)",
        ),
    ] {
        assert_eq!(grouped(history), expected, "{history}");
    }
    let log = log(Timing::Virtual, "0ms GET /a 200\n1ms GET /b 200\n2ms GET /a 200");
    let places: Vec<_> = calls_by_path(&log.attempts)
        .into_iter()
        .map(|call| call.places)
        .collect();
    assert_eq!(places, [vec![0, 2], vec![1]]);
}

#[test]
fn a_retry_before_its_hint_is_found_with_how_much_too_early_it_was() {
    // Could break if a hint counted from the attempt and not from its answer, if a later shorter hint freed an earlier
    // longer one, or if nothing told were a pass.
    check(
        Rule::RetryBeforeHint,
        &[
            "0ms POST /p 429 hint=2s took=10ms\n200ms POST /p 200",
            "0ms POST /p 429 hint=2s took=10ms\n2010ms POST /p 200",
            "0ms POST /p 429 hint=2s took=10ms\n2009ms POST /p 200",
            "0ms POST /p 429 hint=5s\n6s POST /p 503 hint=10s\n7s POST /p 429 hint=1s\n9s POST /p 200",
            "0ms POST /p 429 hint=3600s",
            "0ms POST /p 503\n1s POST /p 200",
            "0ms POST /p 200 hint=5s\n1s POST /p 200",
            // It had left before anybody told it.
            "0ms POST /p 429 hint=2s took=300ms call=x\n100ms POST /p 200 call=x",
        ],
        expect![[r#"
            expected no attempt within 2s of an answer that said retry-after: 2; seen the next one came after 190ms
            #1     0s          10ms  POST /p  429  retry-after: 2
            #2  200ms  +190ms   1ms  POST /p  200                  <- 1.81s too early

            held

            expected no attempt within 2s of an answer that said retry-after: 2; seen the next one came after 1.999s
            #1      0s           10ms  POST /p  429  retry-after: 2
            #2  2.009s  +1.999s   1ms  POST /p  200                  <- 1ms too early

            expected no attempt within 10s of an answer that said retry-after: 10; seen the next one came after 999ms
            #1  0s           1ms  POST /p  429  retry-after: 5
            #2  6s  +5.999s  1ms  POST /p  503  retry-after: 10
            #3  7s   +999ms  1ms  POST /p  429  retry-after: 1   <- 9.001s too early
            #4  9s  +1.999s  1ms  POST /p  200

            held

            not observable: no answer told a hint

            not observable: no answer told a hint

            held
        "#]],
    );
}

#[test]
fn a_few_milliseconds_of_a_real_clock_are_no_finding() {
    // A timer that fires a millisecond early would fail every honest client.
    let logs = ["2010ms", "1970ms", "1900ms"].map(|at| {
        log(
            Timing::Real,
            &format!("0ms POST /p 429 hint=2s took=10ms\n{at} POST /p 200"),
        )
    });
    let broken = logs.map(|log| super::check(Rule::RetryBeforeHint, LIMITS, &runs(&[log])).len());
    assert_eq!(broken, [0, 0, 1]);
}

#[test]
fn two_attempts_of_one_call_at_once_are_an_overlap_and_two_calls_are_none() {
    // Could break if only neighbours were compared, or if the end of a connection that the client had left counted.
    check(
        Rule::Overlap,
        &[
            "0ms POST /p 503 key=k took=100ms\n50ms POST /p 200 key=k",
            "0ms POST /p 200 call=a took=100ms\n10ms POST /p 200 call=a took=5ms\n20ms POST /p 200 call=a",
            "0ms POST /p hang key=k took=100ms left\n100ms POST /p 200 key=k",
            "0ms POST /p hang key=k open\n900s POST /p 200 key=k",
            "0ms POST /p 200 key=k took=100ms\n50ms POST /p 200 key=l",
            "0ms POST /p 200 body=a took=100ms\n50ms POST /p 200 body=a",
        ],
        expect![[r#"
            expected one attempt of a call at a time; seen attempt #2 came while #1 was still out for 50ms
            #1    0s  100ms  POST /p  503  key k
            #2  50ms    1ms  POST /p  200  key k  <- #1 is still out

            expected one attempt of a call at a time; seen attempt #2 came while #1 was still out for 90ms
            #1    0s        100ms  POST /p  200
            #2  10ms          5ms  POST /p  200  <- #1 is still out
            #3  20ms  +5ms    1ms  POST /p  200

            held

            expected one attempt of a call at a time; seen attempt #2 came while #1 was still out
            #1   0s    -  POST /p  no answer, hang, never ended  key k
            #2  15m  1ms  POST /p  200                           key k  <- #1 is still out

            held

            not observable: attempts with one body were out at once, and nothing tells whether they are one call
        "#]],
    );
}

#[test]
fn what_was_refused_and_sent_again_is_found_and_a_renewed_token_is_not() {
    // Could break if a limit told as a 403 were a refusal, or a second 401 a renewal.
    check(
        Rule::RetryOfRefused,
        &[
            "0ms POST /p 400 body=a\n1s POST /p 200 body=a",
            "0ms POST /p 404 body=a\n1s POST /p 404 body=a\n2s POST /p 404 body=a",
            "0ms POST /p 401 body=a\n1s POST /p 200 body=a",
            "0ms POST /p 401 body=a\n1s POST /p 401 body=a\n2s POST /p 401 body=a",
            "0ms POST /p 403 hint=2s body=a\n3s POST /p 200 body=a",
            "0ms POST /p 409 body=a\n3s POST /p 200 body=a",
            "0ms POST /p 422 again body=a\n3s POST /p 200 body=a",
            "0ms POST /p 501",
            "0ms POST /p 503 body=a\n3s POST /p 200 body=a",
        ],
        expect![[r#"
            expected no attempt after a 400: the same again is answered the same; seen attempt #2 sent it again
            #1  0s          1ms  POST /p  400
            #2  1s  +999ms  1ms  POST /p  200  <- again after a 400

            expected no attempt after a 404: the same again is answered the same; seen attempt #2 sent it again
            #1  0s          1ms  POST /p  404
            #2  1s  +999ms  1ms  POST /p  404  <- again after a 404
            #3  2s  +999ms  1ms  POST /p  404

            held

            expected no attempt after a 401: the same again is answered the same; seen attempt #3 sent it again
            #1  0s          1ms  POST /p  401
            #2  1s  +999ms  1ms  POST /p  401
            #3  2s  +999ms  1ms  POST /p  401  <- again after a 401

            not observable: nothing was refused

            not observable: nothing was refused

            not observable: nothing was refused

            held

            not observable: nothing was refused
        "#]],
    );
    check(
        Rule::RetryWhenToldNotTo,
        &[
            "0ms POST /p 503 not-again body=a\n1s POST /p 200 body=a",
            "0ms POST /p 503 not-again",
            "0ms POST /p 503 body=a\n1s POST /p 200 body=a",
        ],
        expect![[r#"
            expected no attempt after x-should-retry: false; seen attempt #2 sent it again
            #1  0s          1ms  POST /p  503
            #2  1s  +999ms  1ms  POST /p  200  <- was told not to

            held

            not observable: no answer said x-should-retry: false
        "#]],
    );
}

#[test]
fn a_write_that_changes_its_key_or_its_body_is_found() {
    // Could break if a read were asked for a key, or if a key that appears at the retry passed for the first one.
    check(
        Rule::NewKey,
        &[
            "0ms POST /p reset key=k body=a\n1s POST /p 200 key=l body=a",
            "0ms POST /p reset key=k body=a\n1s POST /p 200 body=a",
            "0ms POST /p reset body=a\n1s POST /p 200 key=k body=a",
            "0ms POST /p reset key=k body=a\n1s POST /p 200 key=k body=a",
            "0ms POST /p reset body=a\n1s POST /p 200 body=a",
            "0ms GET /p reset\n1s GET /p 200",
        ],
        expect![[r#"
            expected one key for all attempts of a write, from the first on; seen attempt #2 came with another
            #1  0s          1ms  POST /p  no answer, reset  key k
            #2  1s  +999ms  1ms  POST /p  200               key l  <- another key

            expected one key for all attempts of a write, from the first on; seen attempt #2 came without one
            #1  0s          1ms  POST /p  no answer, reset  key k
            #2  1s  +999ms  1ms  POST /p  200                      <- another key

            expected one key for all attempts of a write, from the first on; seen attempt #2 was the first to have one
            #1  0s          1ms  POST /p  no answer, reset
            #2  1s  +999ms  1ms  POST /p  200               key k  <- another key

            held

            not observable: no write with a key was sent again

            not observable: no write with a key was sent again
        "#]],
    );
    check(
        Rule::NewBody,
        &[
            "0ms POST /p reset key=k body=a\n1s POST /p 200 key=k body=b",
            "0ms POST /p reset key=k body=a\n1s POST /p 200 key=k",
            "0ms POST /p reset key=k body=a\n1s POST /p 200 key=k body=a",
            "0ms GET /p reset\n1s GET /p 200",
        ],
        expect![[r#"
            expected the same body at every attempt; seen attempt #2 has another
            #1  0s          1ms  POST /p  no answer, reset  key k
            #2  1s  +999ms  1ms  POST /p  200               key k  <- another body

            expected the same body at every attempt; seen attempt #2 has another
            #1  0s          1ms  POST /p  no answer, reset  key k
            #2  1s  +999ms  1ms  POST /p  200               key k  <- another body

            held

            not observable: no call with a body was sent again
        "#]],
    );
}

#[test]
fn a_loop_a_double_write_and_a_stream_taken_twice_are_found() {
    check(
        Rule::Endless,
        &[
            "0ms GET /p 503\n1s GET /p 503\n3s GET /p 503\n7s GET /p 200",
            "0ms GET /p 503\n1s GET /p 503\n3s GET /p 200",
        ],
        expect![[r#"
            expected at most 3 attempts of one call; seen 4 in 7s
            #1  0s           1ms  GET /p  503
            #2  1s   +999ms  1ms  GET /p  503
            #3  3s  +1.999s  1ms  GET /p  503
            #4  7s  +3.999s  1ms  GET /p  200  <- the 4th

            held
        "#]],
    );
    check(
        Rule::DuplicateWrite,
        &[
            "0ms POST /p reset done body=a\n1s POST /p 200 done body=a",
            "0ms POST /p reset done key=k body=a\n1s POST /p 200 replayed key=k body=a",
            "0ms POST /p reset body=a\n1s POST /p 200 body=a",
        ],
        expect![[r#"
            expected one call is done once; seen it was done 2 times
            #1  0s          1ms  POST /p  no answer, reset
            #2  1s  +999ms  1ms  POST /p  200               <- done again

            held

            not observable: nobody kept count of what was done
        "#]],
    );
    check(
        Rule::RetryAfterCommit,
        &[
            "0ms POST /c 200/cut events=0 body=a\n0ms POST /c 200/cut events=3 body=b\n1s POST /c 200 events=9 body=b",
            "0ms POST /c 200/cut events=0 body=a\n1s POST /c 200 events=9 body=a",
            "0ms POST /c 200/cut events=3 body=a",
        ],
        expect![[r#"
            expected no attempt after a stream's content was handed out; seen attempt #3 took it again after 3 events
            #2  0s          1ms  POST /c  200, cut
            #3  1s  +999ms  1ms  POST /c  200       <- after content

            not observable: no stream broke after its first content

            held
        "#]],
    );
}

#[test]
fn one_call_that_ignores_what_another_was_told_is_found() {
    // Could break if the call that was told had to be the one that comes early, or if what was out already counted.
    check(
        Rule::NoSharedCoolDown,
        &[
            "0ms POST /p 429 hint=2s body=a\n5ms POST /p 429 hint=2s body=b\n2500ms POST /p 200 body=a\n2500ms POST /p 200 body=b",
            "0ms POST /p 429 hint=2s body=a took=10ms\n5ms POST /p 200 body=b\n2500ms POST /p 200 body=a",
            "0ms POST /p 503 hint=2s body=a\n1s POST /p 200 body=b",
        ],
        expect![[r#"
            expected no other call within 2s of an answer that said retry-after: 2; seen another call came after 4ms
            #1    0s           1ms  POST /p  429  retry-after: 2
            #2   5ms     +4ms  1ms  POST /p  429  retry-after: 2  <- 1.996s too early
            #3  2.5s  +2.494s  1ms  POST /p  200

            not observable: no throttle told a hint while other calls were to come

            not observable: no throttle told a hint while other calls were to come
        "#]],
    );
}

#[test]
fn a_cut_answer_is_taken_as_whole_only_by_a_client_that_is_content() {
    // A client that complains about a cut answer is right; the server alone cannot tell the two apart.
    let history = log(Timing::Real, "0ms GET /p 200/truncate");
    let judged = [Content::Unknown, Content::Content, Content::Complained].map(|content| {
        let run = RunSeen {
            log: &history,
            calls: calls(&history.attempts),
            content,
        };
        let findings = super::check(Rule::CutTakenAsWhole, LIMITS, &[run]);
        findings.first().map(|finding| finding.kind)
    });
    assert_eq!(judged, [Some(Kind::NotObservable), Some(Kind::Broken), None]);
}

#[test]
fn the_name_of_a_fault_says_whether_an_answer_is_whole_unless_somebody_looked() {
    let met = |text: &str| log(Timing::Real, &format!("0ms GET /p {text}")).attempts[0].met();
    assert_eq!(met("200"), Met::Answered);
    assert_eq!(met("200/delay"), Met::Answered);
    assert_eq!(met("200/drip"), Met::Answered);
    assert_eq!(met("200/truncate"), Met::Broken);
    assert_eq!(met("200/error-in-200"), Met::Broken);
    assert_eq!(met("reset"), Met::Broken);
    assert_eq!(met("503"), Met::Failed);
    assert_eq!(met("429"), Met::Throttled);
    assert_eq!(met("413 hint=1s"), Met::Throttled);
    assert_eq!(met("413"), Met::Refused);
    assert_eq!(met("200 left"), Met::Left);
    assert_eq!(met("200 open"), Met::Broken);
    let mut looked = log(Timing::Real, "0ms GET /p 200/wrong-length")
        .attempts
        .remove(0);
    looked.whole = Whole::Yes;
    assert_eq!(looked.met(), Met::Answered);
}

#[test]
fn three_calls_are_shown_and_the_rest_are_counted() {
    let text: String = (0..9)
        .map(|n| format!("{n}s GET /p{n} 400\n{n}s GET /p{n} 400\n"))
        .collect();
    let mut log = log(Timing::Virtual, &text);
    for (place, attempt) in log.attempts.iter_mut().enumerate() {
        attempt.call = Some((place / 2).to_string());
    }
    let findings = super::check(Rule::RetryOfRefused, LIMITS, &runs(&[log]));
    assert_eq!(findings.len(), 3);
    assert!(
        findings[2].seen.ends_with("; and 6 more calls like this"),
        "{}",
        findings[2].seen
    );
}

#[test]
fn a_long_time_line_keeps_its_beginning_and_its_end() {
    let text: String = (0..1000).map(|n| format!("{n}s GET /p 503 key=k\n")).collect();
    let long = log(Timing::Virtual, &text);
    let call = &calls(&long.attempts)[0];
    let timeline = TimeLine::of_call(&long, call, &[]);
    assert_eq!((timeline.rows.len(), timeline.left_out), (24, 976));
    assert_eq!((timeline.rows[0].number, timeline.rows[23].number), (1, 1000));
    assert!(timeline.to_string().contains("… 976 more\n"), "{timeline}");
    let nasty = log(Timing::Virtual, "0ms GET /\u{1b}[31m 503 key=\u{7}");
    let shown = TimeLine::of(&nasty, &[0], &[]).to_string();
    assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown}");
}

#[test]
fn a_full_journal_is_judged_in_a_moment() {
    // A look at every pair of a hundred thousand attempts is ten thousand million looks: minutes, where this is seconds
    // at most. One path, few bodies, half of them throttled, many out at once.
    let attempts = (0..100_000_u64).map(|n| Attempt {
        method: "POST".to_owned(),
        path: "/p".to_owned(),
        key: (n % 3 == 0).then(|| format!("k{}", n / 9)),
        body: Some(Fingerprint::of(&[b'a' + u8::try_from(n % 7).unwrap()])),
        at: Instant::START.after(Duration::from_millis(n)),
        answered: Some(Instant::START.after(Duration::from_millis(n + 5))),
        ended: Some(Instant::START.after(Duration::from_millis(n + 5))),
        status: Some(if n % 2 == 0 { 429 } else { 200 }),
        hint: (n % 2 == 0).then(|| Hint {
            source: "retry-after".into(),
            text: "1".to_owned(),
            wait: Duration::from_secs(1),
        }),
        ..Attempt::default()
    });
    let log = Log {
        attempts: attempts.collect(),
        dropped: 0,
        timing: Timing::Virtual,
    };
    let runs = runs(std::slice::from_ref(&log));
    for rule in Rule::ALL {
        assert!(super::check(rule, LIMITS, &runs).len() <= 3, "{rule}");
    }
}

fn any_attempts() -> impl Strategy<Value = Vec<Attempt>> {
    let one = (
        0_u64..50,
        0_u64..30,
        0_usize..3,
        0_usize..4,
        0_usize..4,
        0_u8..8,
        any::<bool>(),
    );
    proptest::collection::vec(one, 0..40).prop_map(|drawn| {
        let mut at = 0;
        let made = drawn
            .into_iter()
            .map(|(later, took, path, key, body, met, open)| {
                at += later;
                let status = [
                    Some(200),
                    Some(503),
                    Some(429),
                    Some(400),
                    Some(401),
                    None,
                    Some(500),
                    Some(200),
                ][usize::from(met)];
                let start = Instant::START.after(Duration::from_millis(at));
                let over = start.after(Duration::from_millis(took));
                Attempt {
                    method: "POST".to_owned(),
                    path: ["/a", "/b", "/c"][path].to_owned(),
                    key: [None, None, Some("k"), Some("l")][key].map(str::to_owned),
                    body: [None, Some("x"), Some("y"), Some("z 1764500000")][body]
                        .map(|body| Fingerprint::of(body.as_bytes())),
                    at: start,
                    answered: status.map(|_| over),
                    ended: (!open || met > 1).then_some(over),
                    client_left: (met == 5).then_some(over),
                    status,
                    hint: (status == Some(429)).then(|| Hint {
                        source: "retry-after".into(),
                        text: "1".to_owned(),
                        wait: Duration::from_secs(1),
                    }),
                    ..Attempt::default()
                }
            });
        made.collect()
    })
}

proptest! {
    #[test]
    fn every_attempt_is_in_one_call_and_no_rule_panics(attempts in any_attempts()) {
        // Could break if an attempt that fits two calls were put into both, or one that fits none into none.
        let log = Log { attempts, dropped: 0, timing: Timing::Real };
        for calls in [calls(&log.attempts), calls_by_path(&log.attempts)] {
            let mut places: Vec<usize> = calls.iter().flat_map(|call| call.places.clone()).collect();
            prop_assert!(calls.iter().all(|call| call.places.is_sorted()));
            places.sort_unstable();
            prop_assert_eq!(places, (0..log.attempts.len()).collect::<Vec<_>>());
            for rule in Rule::ALL {
                let run = RunSeen { log: &log, calls: calls.clone(), content: Content::Content };
                for finding in super::check(rule, LIMITS, &[run]) {
                    let _shown = finding.proof.to_string();
                }
            }
        }
    }
}
