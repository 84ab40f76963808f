use super::*;
use crate::facts::{BodyFacts, Facts};
use crate::profile::Provider;
use proptest::prelude::*;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// 2026-01-01T00:00:00Z, a Thursday.
const NOW: Wall = Wall::from_unix_ms(1_767_225_600_000);

fn read_with(headers: &[(&str, &[u8])], body: BodyFacts<'_>, provider: Provider, scope: Scope) -> Reading {
    let facts = Facts {
        status: Some(429),
        headers: &headers,
        body,
        broke: None,
        wall: NOW,
    };
    find(provider.profile(), &facts, scope)
}

fn told(reading: Reading) -> String {
    let found = match reading.found {
        Found::Nothing => "nothing".to_string(),
        Found::Wait {
            wait: Duration::MAX,
            source,
        } => format!("too long {}", source.name()),
        Found::Wait { wait, source } => format!("{wait} {}", source.name()),
        Found::DoNotRetry => "never".to_string(),
    };
    match reading.ignored {
        Some(source) => format!("{found}, not {}", source.name()),
        None => found,
    }
}

/// Headers as `name: value | name: value`.
fn headers(text: &str) -> Vec<(&str, &[u8])> {
    text.split(" | ")
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name, value.as_bytes()))
        .collect()
}

fn check(rows: &[(&str, &str)]) {
    for (given, expected) in rows {
        let reading = read_with(
            &headers(given),
            BodyFacts::default(),
            Provider::Generic,
            Scope::StatedOrReset,
        );
        assert_eq!(told(reading), *expected, "{given}");
    }
}

#[test]
fn retry_after_is_read_in_every_form_that_occurs() {
    // Each of these forms broke one client or another: read as a prefix, as now, or as an error.
    check(&[
        ("retry-after: 120", "2m retry-after"),
        ("retry-after: \t 7 ", "7s retry-after"),
        ("retry-after: 007", "7s retry-after"),
        ("retry-after: 0.493", "493ms retry-after"),
        ("retry-after: 2.0", "2s retry-after"),
        ("retry-after: 1m0s", "1m retry-after"),
        ("retry-after: 1h2m3.5s", "1h2m4s retry-after"),
        ("retry-after: 20ms", "20ms retry-after"),
        ("retry-after: 2026-01-01T00:00:05Z", "5s retry-after"),
        ("retry-after: 2026-01-01T02:00:05.25+02:00", "5.25s retry-after"),
        ("retry-after: 2025-12-31t23:00:05-01:00", "5s retry-after"),
        ("retry-after: Thu, 01 Jan 2026 00:00:04 GMT", "4s retry-after"),
        ("retry-after: Thursday, 01-Jan-26 00:00:04 GMT", "4s retry-after"),
        ("retry-after: Thu Jan  1 00:00:04 2026", "4s retry-after"),
        ("retry-after: 1767225605", "5s retry-after"),
        ("retry-after: 1767225605.5", "5.5s retry-after"),
        ("retry-after: 1767225605250", "5.25s retry-after"),
        ("retry-after: 999999999", "277777h46m39s retry-after"),
    ]);
}

#[test]
fn what_cannot_be_read_or_is_not_to_come_is_absent() {
    // Trap C25.
    // A prefix, a zero, a past date or junk would each become a wait of nothing, or a crash.
    for value in [
        "",
        " ",
        "soon",
        "-5",
        "0",
        "0.0",
        "0s",
        "nan",
        "inf",
        "+5",
        "5 seconds",
        "5,",
        "5, 6",
        "1_000",
        "1e3",
        "0x10",
        "12abc",
        "2026-01-01",
        "2026-01-01T00:00:05",
        "2025-12-31T23:59:59Z",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "Wed, 31 Dec 2025 23:59:59 GMT",
        "Fri, 31 Dec 99999 23:59:59 GMT",
        "Thu, 01 Jan 2026 00:00:04 CET",
        "Thu, 01 Jan 2026 00:00:04 GMT+1",
        "Thu, 1 Jan 2026 00:00:04 GMT",
        "Thu, 32 Jan 2026 00:00:04 GMT",
        "Fri Jan 99 00:00:04 2026",
        "1767225600",
        "1000000000",
        "1700000000000",
        "٣",
    ] {
        let given = [("retry-after", value.as_bytes())];
        let reading = read_with(&given, BodyFacts::default(), Provider::Generic, Scope::Stated);
        assert_eq!(told(reading), "nothing, not retry-after", "{value:?}");
    }
    let bytes = [("retry-after", b"\xff\xfe5".as_slice())];
    let reading = read_with(&bytes, BodyFacts::default(), Provider::Generic, Scope::Stated);
    assert_eq!(told(reading), "nothing, not retry-after");
}

#[test]
fn a_number_too_large_to_hold_is_a_long_wait() {
    // An overflow that wraps or fires at once turns "come back next year" into an instant retry.
    let nines = "9".repeat(400);
    for value in [
        "18446744073709551616",
        "99999999999",
        "999999999999",
        "99999999999999999999.5",
        &nines,
    ] {
        let given = [("retry-after", value.as_bytes())];
        let reading = read_with(&given, BodyFacts::default(), Provider::Generic, Scope::Stated);
        assert_eq!(told(reading), "too long retry-after", "{value}");
    }
    check(&[
        ("retry-after: 9999999999", "2286881h46m39s retry-after"),
        ("retry-after-ms: 99999999999999999999", "too long retry-after-ms"),
        ("retry-after: 99999999999999999999h", "too long retry-after"),
    ]);
}

#[test]
fn sources_speak_in_one_order() {
    // A coarser or vaguer header that overrules a finer one sends too early or waits too long.
    check(&[
        ("retry-after: 5 | retry-after-ms: 4500", "4.5s retry-after-ms"),
        (
            "retry-after: 5 | retry-after-ms: 4321.5",
            "4.3215s retry-after-ms",
        ),
        (
            "retry-after: 5 | retry-after-ms: soon",
            "5s retry-after, not retry-after-ms",
        ),
        (
            "retry-after: 5 | retry-after-ms: 0",
            "5s retry-after, not retry-after-ms",
        ),
        (
            "retry-after: 5 | x-ms-retry-after-ms: 500",
            "500ms x-ms-retry-after-ms",
        ),
        (
            "retry-after: 5 | x-amz-retry-after: 1500",
            "1.5s x-amz-retry-after",
        ),
        (
            "x-amz-retry-after: 1500 | x-ms-retry-after-ms: 500",
            "500ms x-ms-retry-after-ms",
        ),
        (
            "retry-after: 5 | grpc-retry-pushback-ms: 250",
            "250ms grpc-retry-pushback-ms",
        ),
        ("grpc-retry-pushback-ms: -1", "never"),
        (
            "grpc-retry-pushback-ms: -1 | retry-after-ms: 10",
            "10ms retry-after-ms",
        ),
        ("grpc-retry-pushback-ms: -", "nothing, not grpc-retry-pushback-ms"),
        (
            "grpc-retry-pushback-ms: -0",
            "nothing, not grpc-retry-pushback-ms",
        ),
        (
            "grpc-retry-pushback-ms: x | retry-after: 1",
            "1s retry-after, not grpc-retry-pushback-ms",
        ),
        ("retry-after: 5 | x-ratelimit-reset: 90", "5s retry-after"),
        (
            "retry-after: 0 | x-ratelimit-reset: 90",
            "1m30s ratelimit-reset, not retry-after",
        ),
    ]);
}

#[test]
fn dates_are_measured_against_the_response_unless_its_date_is_absurd() {
    // A host clock that is an hour off would turn every date into a past one, or into an hour.
    check(&[
        (
            "date: Thu, 01 Jan 2026 01:00:00 GMT | retry-after: Thu, 01 Jan 2026 01:00:09 GMT",
            "9s retry-after",
        ),
        (
            "date: Thu, 01 Jan 2026 01:00:00 GMT | retry-after: 1767229209",
            "9s retry-after",
        ),
        (
            "date: Thu, 01 Jan 2026 01:00:00 GMT | retry-after: Thu, 01 Jan 2026 00:59:00 GMT",
            "nothing, not retry-after",
        ),
        (
            "date: Sat, 03 Jan 2026 00:00:00 GMT | retry-after: Thu, 01 Jan 2026 00:00:09 GMT",
            "9s retry-after",
        ),
        (
            "date: yesterday | retry-after: Thu, 01 Jan 2026 00:00:09 GMT",
            "9s retry-after",
        ),
        (
            "date: Thu, 01 Jan 2026 01:00:00 GMT | retry-after: 9",
            "9s retry-after",
        ),
    ]);
}

#[test]
fn only_exhausted_windows_speak_and_the_longest_wins() {
    // The reset of a window with room left says when it is full, up to a day away: nobody need wait for that.
    check(&[
        ("x-ratelimit-reset-requests: 6m0s", "6m ratelimit-reset"),
        (
            "x-ratelimit-reset-requests: 20ms | x-ratelimit-reset-tokens: 7.66s",
            "7.66s ratelimit-reset",
        ),
        (
            "x-ratelimit-reset-tokens: 1h2m3.5s | x-ratelimit-remaining-tokens: 5",
            "nothing",
        ),
        (
            "x-ratelimit-remaining-requests: 0 | x-ratelimit-reset-requests: 4s | x-ratelimit-remaining-tokens: 100 | x-ratelimit-reset-tokens: 40s",
            "4s ratelimit-reset",
        ),
        (
            "x-ratelimit-remaining-requests: 0.0 | x-ratelimit-reset-requests: 12",
            "12s ratelimit-reset",
        ),
        (
            "x-ratelimit-remaining-requests: -3 | x-ratelimit-reset-requests: 12",
            "12s ratelimit-reset",
        ),
        ("x-ratelimit-reset-requests: soon", "nothing, not ratelimit-reset"),
        (
            "x-ratelimit-reset-requests: soon | x-ratelimit-reset-tokens: 1s",
            "1s ratelimit-reset",
        ),
        (
            "anthropic-ratelimit-requests-remaining: 0 | anthropic-ratelimit-requests-reset: 2026-01-01T00:00:04Z | anthropic-ratelimit-tokens-remaining: 100 | anthropic-ratelimit-tokens-reset: 2026-01-01T00:00:40Z",
            "4s ratelimit-reset",
        ),
        (
            "anthropic-ratelimit-input-tokens-reset: 2026-01-01T00:00:40Z",
            "40s ratelimit-reset",
        ),
        (
            "anthropic-ratelimit-output-tokens-reset: 2025-01-01T00:00:40Z",
            "nothing, not ratelimit-reset",
        ),
        (
            "anthropic-ratelimit-unified-5h-reset: 1767225660",
            "1m ratelimit-reset",
        ),
        (
            "anthropic-ratelimit-unified-5h-status: allowed_warning | anthropic-ratelimit-unified-5h-reset: 1767225660",
            "nothing",
        ),
        (
            "anthropic-ratelimit-unified-7d-status: rejected | anthropic-ratelimit-unified-7d-reset: 1767225660",
            "1m ratelimit-reset",
        ),
        ("x-ratelimit-reset-after: 64.57", "1m5s ratelimit-reset"),
        (
            "x-ratelimit-reset-after: 64.57 | x-ratelimit-remaining: 1",
            "nothing",
        ),
        ("x-ratelimit-reset: 4", "4s ratelimit-reset"),
        ("x-ratelimit-reset: 1767225604", "4s ratelimit-reset"),
        ("x-ratelimit-reset: 1767225604.25", "4.25s ratelimit-reset"),
        ("x-ratelimit-reset: 1767225605000", "5s ratelimit-reset"),
        ("x-ratelimit-reset: 1767225599", "nothing, not ratelimit-reset"),
        ("x-ratelimit-reset: 4 | x-ratelimit-remaining: 12", "nothing"),
    ]);
}

#[test]
fn the_ietf_fields_are_read_in_three_drafts() {
    // The three drafts share a name and no grammar; what is malformed must be ignored as a whole.
    check(&[
        (
            "ratelimit-remaining: 0 | ratelimit-reset: 53",
            "53s ratelimit-reset",
        ),
        ("ratelimit-remaining: 3 | ratelimit-reset: 53", "nothing"),
        (
            "ratelimit: limit=100, remaining=0, reset=50",
            "50s ratelimit-reset",
        ),
        ("ratelimit: limit=100, remaining=50, reset=50", "nothing"),
        ("ratelimit: limit=100, reset=50", "50s ratelimit-reset"),
        ("ratelimit: \"default\";r=0;t=30", "30s ratelimit-reset"),
        ("ratelimit: \"default\";r=50;t=30", "nothing"),
        (
            "ratelimit: \"a, \\\"b\";r=0;t=30;pk=:cHJv:, \"c\"; r=0; t=7",
            "30s ratelimit-reset",
        ),
        ("ratelimit: \"a\";r=9;t=300, \"b\";r=0;t=7", "7s ratelimit-reset"),
        ("ratelimit: default;r=0;t=30", "30s ratelimit-reset"),
        ("ratelimit: \"a\";t=30", "nothing, not ratelimit-reset"),
        ("ratelimit: \"a\";r=0;t=-30", "nothing"),
        ("ratelimit: \"a\";r=0;t=30,", "nothing, not ratelimit-reset"),
        ("ratelimit: \"a\";r=0;t=30 x", "nothing, not ratelimit-reset"),
        ("ratelimit: \"a;r=0;t=30", "nothing, not ratelimit-reset"),
        (
            "ratelimit: \"a\";r=0;t=9999999999999999",
            "nothing, not ratelimit-reset",
        ),
        ("ratelimit: \"a\";r=0;t=30 | retry-after: 2", "2s retry-after"),
    ]);
}

#[test]
fn windows_speak_only_where_the_outcome_lets_them() {
    // A plain 500 from a server that prints its windows on every response would wait for a window for nothing.
    let given = headers("x-ratelimit-reset: 4");
    let reading = read_with(&given, BodyFacts::default(), Provider::Generic, Scope::Stated);
    assert_eq!(told(reading), "nothing");
}

#[test]
fn bodies_state_waits_after_headers() {
    // Gemini says it in the body alone; Discord's body is finer than its header, which still comes first.
    let body = |retry_delay, retry_after| BodyFacts {
        retry_delay,
        retry_after,
        ..BodyFacts::default()
    };
    for (given, body, expected) in [
        ("", body(Some("34.074824224s"), None), "34.074824224s body"),
        ("", body(Some("17s"), None), "17s body"),
        ("", body(None, Some("64.57")), "1m5s body"),
        ("", body(Some("soon"), Some("3")), "3s body, not body"),
        ("", body(Some("-3s"), None), "nothing, not body"),
        ("", body(Some("0s"), None), "nothing, not body"),
        ("retry-after: 5", body(Some("17s"), None), "5s retry-after"),
        ("x-ratelimit-reset: 90", body(None, Some("2")), "2s body"),
    ] {
        let reading = read_with(&headers(given), body, Provider::Generic, Scope::StatedOrReset);
        assert_eq!(told(reading), expected, "{given} {body:?}");
    }
}

#[test]
fn githubs_secondary_limit_is_a_minute() {
    // It comes without any header; a client that backs off by its own half second earns a ban.
    let body = BodyFacts {
        message: Some("You have exceeded a secondary rate limit"),
        ..BodyFacts::default()
    };
    let given = headers("x-ratelimit-remaining: 4000 | x-ratelimit-reset: 1767229200");
    let read = |provider| told(read_with(&given, body, provider, Scope::StatedOrReset));
    assert_eq!(read(Provider::GitHub), "1m provider");
    assert_eq!(read(Provider::Generic), "nothing");
}

#[test]
fn two_digit_years_lie_at_most_fifty_years_ahead() {
    // RFC 9110 5.6.7: a date that appears to be more than 50 years ahead is the latest such year in the past.
    let year = |text| {
        let date = http_date(text, NOW).expect("an rfc850-date");
        date::civil_from_days(date.unix_ms.div_euclid(86_400_000)).0
    };
    assert_eq!(year("Sunday, 06-Nov-94 08:49:37 GMT"), 1994);
    assert_eq!(year("Sunday, 06-Nov-26 08:49:37 GMT"), 2026);
    assert_eq!(year("Sunday, 06-Nov-75 08:49:37 GMT"), 2075);
    assert_eq!(year("Thursday, 01-Jan-76 08:49:37 GMT"), 2076);
    assert_eq!(year("Friday, 02-Jan-76 08:49:37 GMT"), 1976);
}

#[test]
fn the_calendar_agrees_with_counting_days() {
    // A closed form that is off by one at a century's end would be found by no example.
    let mut days = 0;
    for year in 1970..2_500_i64 {
        let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let lengths = [
            31,
            if leap { 29 } else { 28 },
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ];
        for (month, length) in (1..).zip(lengths) {
            for day in 1..=length {
                assert_eq!(date::days_from_civil(year, month, day), Some(days));
                assert_eq!(date::civil_from_days(days), (year, month, day));
                days += 1;
            }
            assert_eq!(date::days_from_civil(year, month, length + 1), None);
        }
        assert_eq!(date::days_from_civil(year, 13, 1), None);
    }
}

/// A date's parts, printed by hand in each of its forms.
fn forms(days: i64, secs: i64) -> [String; 4] {
    let (year, month, day) = date::civil_from_days(days);
    let names = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month_name = names[usize::try_from(month - 1).expect("1 to 12")];
    let (h, m, s) = (secs / 3_600, secs / 60 % 60, secs % 60);
    let clock = format!("{h:02}:{m:02}:{s:02}");
    [
        format!("Mon, {day:02} {month_name} {year:04} {clock} GMT"),
        format!("Monday, {day:02}-{month_name}-{:02} {clock} GMT", year % 100),
        format!("Mon {month_name} {day:2} {clock} {year:04}"),
        format!("{year:04}-{month:02}-{day:02}T{clock}Z"),
    ]
}

proptest! {
    #[test]
    fn every_date_reads_back_in_every_form(days in 9_000_i64..38_000, secs in 0_i64..86_400) {
        // Within fifty years of now, so that two digits are enough.
        let expected = Some(Wall::from_unix_ms((days * 86_400 + secs) * 1_000));
        let [imf, old, c, iso] = forms(days, secs);
        for text in [imf, old, c] {
            prop_assert_eq!(http_date(&text, NOW), expected, "{}", text);
        }
        prop_assert_eq!(rfc3339(&iso), expected, "{}", iso);
    }

    #[test]
    fn a_prefix_is_never_taken_for_the_whole(
        base in prop::sample::select(std::vec!["120", "1.5", "1m0s", "2026-01-01T00:00:05Z", "Thu, 01 Jan 2026 00:00:04 GMT",
            "Thursday, 01-Jan-26 00:00:04 GMT", "Thu Jan  1 00:00:04 2026", "\"a\";r=0;t=3"]),
        tail in "[a-z,;: /+-]{0,3}[xyz,;/]",
    ) {
        // Another parameter is no tail: RFC 9651 has a structured field go on with one.
        prop_assume!(!(base.starts_with('"') && tail.starts_with(';')));
        let text = format!("{base}{tail}");
        for name in ["retry-after", "retry-after-ms", "x-ratelimit-reset", "ratelimit", "x-ratelimit-reset-tokens"] {
            let given = [(name, text.as_bytes())];
            let reading = read_with(&given, BodyFacts::default(), Provider::Generic, Scope::StatedOrReset);
            prop_assert_eq!(reading.found, Found::Nothing, "{}: {}", name, text);
            prop_assert!(reading.ignored.is_some());
        }
    }

    #[test]
    fn no_bytes_make_it_panic_or_wait_for_nothing(
        name in prop::sample::select(std::vec!["retry-after", "retry-after-ms", "grpc-retry-pushback-ms", "date", "ratelimit",
            "x-ratelimit-reset", "x-ratelimit-reset-tokens", "anthropic-ratelimit-tokens-reset", "ratelimit-reset"]),
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..60),
            "[0-9.:TZ+\\-GMTa-z \";=,]{0,40}".prop_map(String::into_bytes),
        ],
        delay in "\\PC{0,20}",
        wall in any::<i64>(),
    ) {
        let given = [(name, bytes.as_slice()), ("retry-after", b"Thursday, 01-Jan-26 00:00:04 GMT")];
        let facts = Facts {
            status: None,
            headers: &given.as_slice(),
            body: BodyFacts { retry_delay: Some(&delay), retry_after: Some(&delay), ..BodyFacts::default() },
            broke: None,
            wall: Wall::from_unix_ms(wall),
        };
        for provider in Provider::ALL {
            let reading = find(provider.profile(), &facts, Scope::StatedOrReset);
            let zero = matches!(reading.found, Found::Wait { wait: Duration::ZERO, .. });
            prop_assert!(!zero);
        }
    }
}
