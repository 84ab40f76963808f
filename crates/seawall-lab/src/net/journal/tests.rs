use super::*;
use crate::findings::Hint;
use crate::net::exchange::unread;
use crate::net::{Mock, blocking};
use expect_test::expect;
use std::process::Command;

fn millis(millis: u64) -> Instant {
    Instant::START.after(Duration::from_millis(millis))
}

fn attempt(number: u64, at: u64, path: &str) -> Attempt {
    Attempt {
        number,
        method: "POST".to_owned(),
        path: path.to_owned(),
        ended: Some(millis(at + 5)),
        ..unread(number.div_ceil(2), 2 - number % 2, millis(at))
    }
}

#[test]
fn a_time_line_tells_what_came_when_and_what_it_met() {
    // Could break if a gap were counted from another path's attempt, or if a client that left looked like an answer.
    let hint = Hint {
        source: "retry-after".into(),
        text: "1".to_owned(),
        wait: Duration::from_secs(1),
    };
    let attempts = vec![
        Attempt {
            status: Some(503),
            fault: Some("503".into()),
            key: Some("k-1".to_owned()),
            hint: Some(hint),
            ..attempt(1, 12, "/v1/payments")
        },
        Attempt {
            status: Some(200),
            ..attempt(2, 300, "/v1/models")
        },
        Attempt {
            fault: Some("reset".into()),
            key: Some("k-1".to_owned()),
            ..attempt(3, 1_020, "/v1/payments")
        },
        Attempt {
            status: Some(200),
            fault: Some("delay".into()),
            client_left: Some(millis(9_050)),
            ..attempt(4, 3_050, "/v1/payments")
        },
        Attempt {
            ended: None,
            ..attempt(5, 70_000, &"/long".repeat(20))
        },
        Attempt {
            method: String::new(),
            status: Some(400),
            ..attempt(6, 70_001, "\x1b[31m")
        },
    ];
    let journal = Journal {
        attempts,
        dropped: 3,
        open: 1,
    };
    expect![[r#"
        3 earlier attempts are not shown
        #  at       gap     connection  attempt                                                 met                                      key
        1  12ms             1.1         POST /v1/payments                                       503, retry-after 1s                      k-1
        2  300ms            1.2         POST /v1/models                                         200
        3  1.020s   1.008s  2.1         POST /v1/payments                                       reset                                    k-1
        4  3.050s   2.030s  2.2         POST /v1/payments                                       200 delay, the client left after 6.000s
        5  70.000s          3.1         POST /long/long/long/long/long/long/long/long/long/lo…  no answer, not ended
        6  70.001s          3.2         (no request)                                            400
    "#]].assert_eq(&(journal.to_string() + "\n"));
    assert_eq!(Journal::default().to_string(), "no attempt came");
}

#[test]
fn a_storm_is_told_by_its_end() {
    // Could break if a hundred thousand lines went to a terminal, or if the gap of the first line shown were lost.
    let journal = Journal {
        attempts: (1..=1_000)
            .map(|number| attempt(number, number * 10, "/x"))
            .collect(),
        ..Journal::default()
    };
    let text = journal.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        (lines.len(), lines[0]),
        (202, "800 earlier attempts are not shown")
    );
    assert!(
        lines[2].starts_with("801") && lines[2].contains("10ms"),
        "{}",
        lines[2]
    );
}

/// Fails on purpose where the test below asks for it, and is no test otherwise.
#[test]
fn fails_when_asked_to() {
    let Ok(kind) = std::env::var("SEAWALL_FAILS_WHEN_ASKED") else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    match kind.as_str() {
        "async" => runtime.block_on(async {
            let _mock = Mock::start("GET /x = 503").await.unwrap();
            panic!("as a failing test does");
        }),
        "blocking" => {
            let _mock = blocking::Mock::start("GET /x = 503").unwrap();
            panic!("as a failing test does");
        }
        _ => {
            let _mock = blocking::Mock::start("GET /x = 503").unwrap();
        }
    }
}

#[test]
fn a_test_that_fails_shows_the_journal_and_one_that_passes_is_silent() {
    // Could break if the mock ended on another thread than the one that panics, if what it says went past the harness, or
    // if it spoke though nothing failed. Only another process shows what a failing test prints.
    for (kind, fails) in [("async", true), ("blocking", true), ("passing", false)] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "net::journal::tests::fails_when_asked_to",
                "--nocapture",
            ])
            .env("SEAWALL_FAILS_WHEN_ASKED", kind)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let told = said.contains("what the mock saw:\nno attempt came\n");
        assert_eq!((output.status.success(), told), (!fails, fails), "{kind}: {said}");
    }
}
