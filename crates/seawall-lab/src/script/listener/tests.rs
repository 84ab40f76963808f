use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::num::NonZeroU32;

fn check(text: &str, expect: Expect) {
    let found = match ListenerScript::parse(text) {
        Ok(script) => format!("{script}\n"),
        Err(error) => format!("{error}\n"),
    };
    expect.assert_eq(&found);
}

// A word of the other grammar, an option or a place that is taken by guess would test something else.
#[test]
fn every_word_is_accounted_for() {
    check(
        "2x refuse, tls-fail, accept",
        expect![[r#"
            2x refuse, tls-fail, accept
        "#]],
    );
    check(
        "accept delay=1500ms,at 5s for 2s refuse, 2x hang,stop",
        expect![[r#"
            accept delay=1.5s, at 5s for 2s refuse, 2x hang, stop
        "#]],
    );
    check(
        "2x refused, accept",
        expect![[r#"
            1:4: `refused` is nothing that a listener does
            1 | 2x refused, accept
              |    ^^^^^^^ did you mean `refuse`?
              = expected one of accept, refuse, reset, close, hang, tls-fail, tls-hang, bad-cert, expired-cert
        "#]],
    );
    check(
        "503",
        expect![[r#"
            1:1: `503` is nothing that a listener does
            1 | 503
              | ^^^
              = expected one of accept, refuse, reset, close, hang, tls-fail, tls-hang, bad-cert, expired-cert
        "#]],
    );
    check(
        "reset after=5, accept",
        expect![[r#"
            1:7: `reset` has no option `after`
            1 | reset after=5, accept
              |       ^^^^^
              = expected one of delay
        "#]],
    );
    check(
        "refuse delay=1s",
        expect![[r#"
            1:8: `refuse` has no option `delay`
            1 | refuse delay=1s
              |        ^^^^^
              = expected no option: the system refuses at once
        "#]],
    );
    check(
        "accept delay=1s delay=2s",
        expect![[r#"
            1:17: delay= stands twice
            1 | accept delay=1s delay=2s
              |                 ^^^^^
        "#]],
    );
    check(
        "accept,, hang",
        expect![[r#"
            1:8: a step is missing before this comma
            1 | accept,, hang
              |        ^
              = expected one of accept, refuse, reset, close, hang, tls-fail, tls-hang, bad-cert, expired-cert
        "#]],
    );
}

// A script with a TLS fault on a plain port would serve in its place something that the client never should meet.
#[test]
fn what_needs_tls_is_refused_without_it() {
    let text = "accept, bad-cert delay=1s";
    let script = ListenerScript::parse(text).unwrap();
    let error = script.check_plain(Source::bare(text)).unwrap_err();
    assert_eq!((error.line(), error.column()), (1, 9));
    let plain = ListenerScript::parse("2x refuse, reset, close, hang, accept").unwrap();
    assert!(plain.check_plain(Source::bare("")).is_ok());
}

fn a_reception() -> impl Strategy<Value = Reception> {
    (0..Welcome::ALL.len(), 0_u64..5_000_000).prop_map(|(welcome, micros)| {
        let welcome = Welcome::ALL[welcome];
        let delay = match welcome {
            Welcome::Refuse => Duration::ZERO,
            _ => Duration::from_micros(micros),
        };
        Reception { welcome, delay }
    })
}

proptest! {
    // A printed script that reads as another one would make a journal or a log lie about what was served.
    #[test]
    fn a_printed_script_reads_back_as_itself(
        receptions in prop::collection::vec((a_reception(), 0_u32..5, 0_u64..9_000), 1..8),
        end in prop::bool::ANY,
    ) {
        let steps: Vec<_> = receptions
            .into_iter()
            .map(|(action, count, length)| Step {
                count: NonZeroU32::new(count),
                at: None,
                length: Some(Duration::from_millis(length)).filter(|length| !length.is_zero()),
                action,
            })
            .collect();
        let end = if end { End::Repeat } else { End::Stop };
        let script = ListenerScript { steps, end, spans: Spans(Vec::new()) };
        prop_assert_eq!(ListenerScript::parse(&script.to_string()).unwrap(), script);
    }
}
