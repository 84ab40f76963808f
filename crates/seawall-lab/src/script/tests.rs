use super::*;
use expect_test::{Expect, expect};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Every one of these is no script, for the reasons expected.
fn check(texts: &[&str], expected: Expect) {
    let errors = texts.iter().map(|text| {
        format!(
            "{}
",
            Script::parse(text).expect_err(text)
        )
    });
    expected.assert_eq(&errors.collect::<String>());
}

#[test]
fn every_action_of_the_grammar_is_read_with_its_options() {
    // Could break if an option were dropped on the way: the printed form would lack it.
    for text in [
        "200",
        "2x 503, 429 retry-after=5, 200",
        "429 retry-after-ms=300",
        "429 code=insufficient_quota, 429 retry-after=1 code=\"a b\" retry-in=17s delay=1s",
        "503 retry-in=90.5s",
        "503 retry-after=\"Wed, 21 Oct 2026 07:28:00 GMT\" header.X-Id=7 body=\"\"",
        "200 text=\"a, b\" delay=1.5s",
        "200 json=\"{\\\"ok\\\":[true, false]}\"",
        "error-in-200",
        "stream events=5 gap=20ms then=bad-json",
        "apply then reset after=10",
        "reset, close after=0, hang delay=1s",
        "truncate at=50%, truncate at=100",
        "drip bps=20, garbage, wrong-length +5, wrong-length -5, bad-chunk, half-close",
        "slow-headers, bad-gzip, goaway, rst-stream",
        "goaway error=enhance-your-calm, rst-stream after=10 error=refused-stream delay=1s",
        "200, at 10s for 5s 503, 3x at 20s 500, 200",
        "200 delay=90.5s",
        "200, stop",
    ] {
        assert_eq!(
            Script::parse(text).map(|script| script.to_string()).as_deref(),
            Ok(text)
        );
    }
}

#[test]
fn spacing_and_quotes_change_nothing() {
    // Could break if a place in the text took part in comparing, or a bare and a quoted value were two things.
    for (one, other) in [
        (" 2x  503 ,\n\t200 ", "2x 503, 200"),
        ("200 text='a'", "200 text=a"),
        (
            "200 json={\"a\": [1, \"}\\\"\"]}",
            "200 json=\"{\\\"a\\\": [1, \\\"}\\\\\\\"\\\"]}\"",
        ),
        ("200 text=\"\\u{e9}\\t\"", "200 text=\"é\t\""),
    ] {
        assert_eq!(Script::parse(one), Script::parse(other), "{one} / {other}");
        assert!(Script::parse(one).is_ok(), "{one}");
    }
}

#[test]
fn a_wrong_word_is_pointed_at_and_the_right_one_named() {
    check(
        &[
            "2x rest, 200",
            "503, trunctae at=50%",
            "banana",
            "2x503",
            "0x 503",
            "99999999999x 503",
            "99",
        ],
        expect![[r#"
            1:4: `rest` is no action
            1 | 2x rest, 200
              |    ^^^^ did you mean `reset`?
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
            1:6: `trunctae` is no action
            1 | 503, trunctae at=50%
              |      ^^^^^^^^ did you mean `truncate`?
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
            1:1: `banana` is no action
            1 | banana
              | ^^^^^^
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
            1:1: `2x503` runs two words together
            1 | 2x503
              | ^^^^^
              = expected a space: `2x 503`
            1:1: a step that is met 0 times can be left out
            1 | 0x 503
              | ^^
            1:1: 99999999999 is more than 4294967295
            1 | 99999999999x 503
              | ^^^^^^^^^^^^
            1:1: `99` is no final status
            1 | 99
              | ^^
              = expected 200 to 999
        "#]],
    );
}

#[test]
fn a_missing_part_is_pointed_at() {
    check(
        &[
            "",
            "503,",
            "503,, 200",
            "2x",
            "503 200",
            "at 5s 3x 503",
            "at",
            "at 5 503",
            "for 0s 503",
            "truncate",
            "drip",
            "apply reset",
            "apply then apply then 503",
            "wrong-length 5",
        ],
        expect![[r#"
            1:1: a step is missing
            1 | 
              | ^
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
            1:5: a step is missing
            1 | 503,
              |     ^
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
            1:5: a step is missing before this comma
            1 | 503,, 200
              |     ^
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
            1:3: a step is missing
            1 | 2x
              |   ^
              = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
            1:5: `200` does not follow an action
            1 | 503 200
              |     ^^^
              = expected a comma before the next step, or key=value
            1:7: `3x` stands first in its step
            1 | at 5s 3x 503
              |       ^^
              = expected COUNT, `at`, `for`, ACTION, in this order, as in `2x at 5s for 1s 503`
            1:3: `at` has no length of time
            1 | at
              |   ^
              = expected 500ms, 30s, 2m or 1h30m
            1:4: `5` is no length of time
            1 | at 5 503
              |    ^
              = expected 500ms, 30s, 2m or 1h30m
            1:1: a step for no time is never met
            1 | for 0s 503
              | ^^^
            1:1: `truncate` does not say where
            1 | truncate
              | ^^^^^^^^
              = expected `truncate at=50%` or `truncate at=100`
            1:1: `drip` does not say how fast
            1 | drip
              | ^^^^
              = expected `drip bps=20`, bytes a second
            1:7: `apply` does the work and then does something else
            1 | apply reset
              |       ^^^^^
              = expected `apply then ACTION`
            1:12: `apply` stands once in a step
            1 | apply then apply then 503
              |            ^^^^^
            1:14: `5` is no difference in bytes
            1 | wrong-length 5
              |              ^
              = expected +N or -N, as in `wrong-length +5`
        "#]],
    );
}

#[test]
fn a_wrong_option_is_pointed_at() {
    check(
        &[
            "429 retry_after=5",
            "reset at=5",
            "429 retry-after=",
            "429 retry-after=1 retry-after=2",
            "200 text=a json=1",
            "429 text=a code=b",
            "429 code=b retry-in=1s text=a",
            "200 code=b",
            "429 code=\"\"",
            "429 retry-in=5",
            "200 text=\"a",
            "200 text=\"a\"b",
            "200 text=\"\\q\"",
            "200 json={\"a\":1",
            "200 header.content-length=5",
            "200 header.X-A=\"a\\nb\"",
            "truncate at=100%",
            "reset after=99999999999",
            "stream then=dnoe",
            "200 delay=5",
        ],
        expect![[r#"
            1:5: `429` has no option `retry_after`
            1 | 429 retry_after=5
              |     ^^^^^^^^^^^ did you mean `retry-after`?
              = expected one of retry-after, retry-after-ms, retry-in, code, body, text, json, header.NAME, delay
            1:7: `reset` has no option `at`
            1 | reset at=5
              |       ^^
              = expected one of after, delay
            1:17: retry-after= has no value
            1 | 429 retry-after=
              |                 ^
              = expected a value, or "" for an empty one
            1:19: retry-after= stands twice
            1 | 429 retry-after=1 retry-after=2
              |                   ^^^^^^^^^^^
            1:12: an answer has one body: body=, text=, json=, or the dialect's with code= and retry-in=
            1 | 200 text=a json=1
              |            ^^^^
            1:12: an answer has one body: body=, text=, json=, or the dialect's with code= and retry-in=
            1 | 429 text=a code=b
              |            ^^^^
            1:24: an answer has one body: body=, text=, json=, or the dialect's with code= and retry-in=
            1 | 429 code=b retry-in=1s text=a
              |                        ^^^^
            1:5: `code=` words an error, and 200 is none
            1 | 200 code=b
              |     ^^^^
              = expected it at a status of 400 or above
            1:10: an empty code names nothing
            1 | 429 code=""
              |          ^^
            1:14: `5` is no length of time
            1 | 429 retry-in=5
              |              ^
              = expected 500ms, 30s, 2m or 1h30m
            1:10: this " is never closed
            1 | 200 text="a
              |          ^
            1:13: a value ends here, and something follows without a space
            1 | 200 text="a"b
              |             ^
            1:11: `\q` is no escape
            1 | 200 text="\q"
              |           ^^
              = expected one of \" \\ \n \r \t \u{41}
            1:10: this bracket is never closed
            1 | 200 json={"a":1
              |          ^
            1:5: `content-length` is written by the mock itself
            1 | 200 header.content-length=5
              |     ^^^^^^^^^^^^^^^^^^^^^
              = expected a fault such as truncate, wrong-length, bad-chunk or close
            1:16: a value of X-A cannot hold control characters
            1 | 200 header.X-A="a\nb"
              |                ^^^^^^
            1:13: `100%` is no part of a body
            1 | truncate at=100%
              |             ^^^^
              = expected 0% to 99%, or a number of bytes
            1:13: after= is `99999999999`
            1 | reset after=99999999999
              |             ^^^^^^^^^^^
              = expected a whole number, 0 to 67108864
            1:13: a stream does not end with `dnoe`
            1 | stream then=dnoe
              |             ^^^^ did you mean `done`?
              = expected one of done, cut, error, stall, bad-json, no-done
            1:11: `5` is no length of time
            1 | 200 delay=5
              |           ^
              = expected 500ms, 30s, 2m or 1h30m
        "#]],
    );
}

#[test]
fn steps_out_of_order_are_no_script() {
    check(
        &[
            "200, at 10s 503, at 5s 200",
            "stop, 200",
            "200,\n  503, stop, 200",
        ],
        expect![[r#"
            1:24: this step begins before the one at 10s; steps stand in time order
            1 | 200, at 10s 503, at 5s 200
              |                        ^^^
            1:1: `stop` stands at the end of a script
            1 | stop, 200
              | ^^^^
            2:8: `stop` stands at the end of a script
            2 |   503, stop, 200
              |        ^^^^
        "#]],
    );
}

#[test]
fn a_script_as_long_as_a_book_is_refused_and_not_read() {
    // Could break if the limit were checked after the work.
    let long = "503, ".repeat(SCRIPT_BYTES_MAX);
    assert!(
        Script::parse(&long)
            .unwrap_err()
            .message()
            .contains("the most is 65536")
    );
    let many = vec!["503"; STEPS_MAX + 1].join(",");
    assert!(
        Script::parse(&many)
            .unwrap_err()
            .message()
            .contains("at most 1000 steps")
    );
}

fn length() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (1..10_000_u64).prop_map(Duration::from_millis),
        (1..u64::MAX).prop_map(Duration::from_nanos),
    ]
}

/// Any text, and one of signs that no text is made of: by itself the generator makes none of those.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[ -~\\x00-\\x20\\x7f\u{85}\u{2028}]{0,12}"]
}

fn status() -> impl Strategy<Value = Deed> {
    let header = (
        prop_oneof![
            Just("retry-after".to_owned()),
            Just("retry-after-ms".to_owned()),
            "X-[A-Za-z]{1,8}"
        ],
        "[ -~é]{0,12}",
    );
    let body = prop_oneof![
        Just(Body::Dialect),
        text().prop_map(Body::Raw),
        text().prop_map(Body::Text),
        text().prop_map(Body::Json),
        (option::of("\\PC{1,12}"), length()).prop_map(|(code, wait)| {
            // One of them is there.
            let wait = Some(wait).filter(|wait| code.is_none() || wait.as_nanos() % 2 == 0);
            Body::Worded(Wording { code, wait })
        }),
    ];
    (200..=999_u16, vec(header, 0..3), body).prop_map(|(status, mut headers, body)| {
        let status = if matches!(body, Body::Worded(_)) {
            status.max(400)
        } else {
            status
        };
        headers.dedup_by(|a, b| a.0 == b.0);
        let twice = headers.len() > 2 && headers[0].0 == headers[2].0;
        headers.truncate(if twice { 2 } else { 3 });
        Deed::Status(Reply {
            status,
            headers,
            body,
        })
    })
}

fn simple_deed() -> impl Strategy<Value = Deed> {
    let after = prop_oneof![
        Just(After::Nothing),
        (0..=BODY_BYTES_MAX).prop_map(After::BodyBytes)
    ];
    prop_oneof![
        3 => status(),
        1 => Just(Deed::ErrorIn200),
        1 => after.clone().prop_map(Deed::Reset),
        1 => after.clone().prop_map(Deed::Close),
        1 => after.clone().prop_map(Deed::Hang),
        1 => (0..=99_u8).prop_map(|percent| Deed::Truncate(Cut::Percent(percent))),
        1 => (0..=BODY_BYTES_MAX).prop_map(|bytes| Deed::Truncate(Cut::Bytes(bytes))),
        1 => any::<NonZeroU64>().prop_map(Deed::Drip),
        1 => (1..1_000_i64).prop_map(Deed::WrongLength),
        1 => (-1_000..0_i64).prop_map(Deed::WrongLength),
        1 => (option::of(any::<u32>()), option::of(length()), proptest::sample::select(StreamEnd::ALL.to_vec()))
            .prop_map(|(events, gap, then)| Deed::Stream(Stream { events, gap: gap.unwrap_or_default(), then })),
        1 => proptest::sample::select(vec![
            Deed::Garbage, Deed::BadChunk, Deed::HalfClose, Deed::SlowHeaders, Deed::BadGzip,
        ]),
        1 => proptest::sample::select(ErrorCode::ALL.to_vec()).prop_map(Deed::Goaway),
        1 => (after, proptest::sample::select(ErrorCode::ALL.to_vec()))
            .prop_map(|(after, code)| Deed::RstStream(after, code)),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let simple = || {
        (simple_deed(), option::of(length())).prop_map(|(deed, delay)| Action {
            deed,
            delay: delay.unwrap_or_default(),
        })
    };
    prop_oneof![
        4 => simple(),
        1 => simple().prop_map(|then| Action { deed: Deed::Apply(Box::new(then)), delay: Duration::ZERO }),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let step = (option::of(any::<NonZeroU32>()), option::of(length()), action()).prop_map(
        |(count, length, action)| Step {
            count,
            at: None,
            length,
            action,
        },
    );
    let end = prop_oneof![Just(End::Repeat), Just(End::Stop)];
    (vec(step, 1..5), vec(length(), 0..4), end).prop_map(|(mut steps, mut times, end)| {
        times.sort();
        for (step, at) in steps.iter_mut().zip(times) {
            step.at = Some(at);
        }
        Script {
            steps,
            end,
            spans: Spans(Vec::new()),
        }
    })
}

proptest! {
    #[test]
    fn a_printed_script_reads_back_as_itself(script in script()) {
        // Could break if a value needed quotes and got none, or a length were rounded for people.
        prop_assert_eq!(Script::parse(&script.to_string()), Ok(script));
    }

    #[test]
    fn no_text_is_a_panic(text in "[ -~\t\nxé]{0,80}|(2x |at 5s |for |503|reset|truncate|apply then|stream|=|\"|\\{|\\[|,| |\\\\|é){0,20}") {
        // Could break at a slice inside a letter or a bracket that closes what was never opened. An error prints.
        match Script::parse(&text) {
            Ok(script) => prop_assert_eq!(Script::parse(&script.to_string()), Ok(script)),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
