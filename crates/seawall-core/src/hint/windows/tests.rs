use crate::facts::{BodyFacts, Facts};
use crate::hint::learned;
use crate::learned::Kind;
use crate::time::Wall;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// 2026-01-01T00:00:00Z.
const NOW: Wall = Wall::from_unix_ms(1_767_225_600_000);

/// What headers, given as `name: value | name: value`, teach, as `kind remaining/limit time`.
fn taught(headers: &str) -> String {
    let headers: Vec<(&str, &[u8])> = headers
        .split(" | ")
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name, value.as_bytes()))
        .collect();
    let facts = Facts {
        status: Some(200),
        headers: &&headers[..],
        body: BodyFacts::default(),
        broke: None,
        wall: NOW,
    };
    let learned = learned(&facts);
    let words = Kind::ALL.into_iter().filter_map(|kind| {
        let word = learned.word(kind)?;
        let limit = word.limit.map_or("?".to_string(), |limit| limit.to_string());
        let resets = word
            .resets_in
            .map_or("?".to_string(), |wait| format!("{}ms", wait.as_millis()));
        Some(format!("{} {}/{limit} {resets}", kind.name(), word.remaining))
    });
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn what_is_left_is_read_in_every_form_that_providers_write() {
    // Broken if a form is missed: its users run into each limit, though they were told.
    for (given, expected) in [
        (
            "x-ratelimit-limit-requests: 60 | x-ratelimit-remaining-requests: 59 | x-ratelimit-reset-requests: 1s | \
             x-ratelimit-limit-tokens: 150000 | x-ratelimit-remaining-tokens: 149984 | x-ratelimit-reset-tokens: 6m0s",
            "requests 59/60 1000ms, tokens 149984/150000 360000ms",
        ),
        (
            "x-ratelimit-limit-requests: 14400 | x-ratelimit-remaining-requests: 14370 | \
             x-ratelimit-reset-requests: 2m59.56s",
            "requests 14370/14400 179560ms",
        ),
        (
            "anthropic-ratelimit-requests-limit: 50 | anthropic-ratelimit-requests-remaining: 0 | \
             anthropic-ratelimit-requests-reset: 2026-01-01T00:00:30Z",
            "requests 0/50 30000ms",
        ),
        (
            "anthropic-ratelimit-input-tokens-limit: 8000 | anthropic-ratelimit-input-tokens-remaining: 7000 | \
             anthropic-ratelimit-output-tokens-limit: 4000 | anthropic-ratelimit-output-tokens-remaining: 5",
            "tokens-in 7000/8000 ?, tokens-out 5/4000 ?",
        ),
        ("x-ratelimit-remaining-requests: 12", "requests 12/? ?"),
        (
            "x-ratelimit-limit: 5000 | x-ratelimit-remaining: 4999 | x-ratelimit-reset: 1767225660 | \
             x-ratelimit-resource: core",
            "requests 4999/5000 60000ms",
        ),
        (
            "ratelimit-limit: 10 | ratelimit-remaining: 3 | ratelimit-reset: 7",
            "requests 3/10 7000ms",
        ),
        (
            "ratelimit: limit=100, remaining=50, reset=5",
            "requests 50/100 5000ms",
        ),
        (
            "ratelimit: \"burst\";r=4;t=3, \"day\";r=9;t=60",
            "requests 4/? 3000ms",
        ),
    ] {
        assert_eq!(taught(given), expected, "{given}");
    }
}

#[test]
fn what_is_about_something_else_or_cannot_be_read_teaches_nothing() {
    // Broken if a remainder were guessed: a gate that believes in 0 stands still.
    for given in [
        "x-ratelimit-limit-requests: 60",
        "x-ratelimit-remaining-requests: many",
        "x-ratelimit-remaining-requests: -1",
        "x-ratelimit-remaining-requests: 99999999999999999999",
        "x-ratelimit-remaining: 0 | x-ratelimit-reset: 1767225660 | x-ratelimit-resource: search",
        "ratelimit: \"bytes\";r=4;t=3 | ratelimit-policy: \"bytes\";q=9;w=9;qu=\"content-bytes\"",
        "ratelimit: limit=100, remaining=, reset=5",
        "anthropic-ratelimit-unified-status: rejected | anthropic-ratelimit-unified-reset: 1767225660",
        "content-type: text/plain",
    ] {
        assert_eq!(taught(given), "", "{given}");
    }
}

#[test]
fn of_several_windows_of_one_kind_the_lesser_remainder_is_taught() {
    // Broken if the organisation's tokens hid that the project's are spent.
    let given = "x-ratelimit-limit-tokens: 1000 | x-ratelimit-remaining-tokens: 900 | x-ratelimit-reset-tokens: 5s | \
                 x-ratelimit-limit-project-tokens: 100 | x-ratelimit-remaining-project-tokens: 0 | \
                 x-ratelimit-reset-project-tokens: 30s";
    assert_eq!(taught(given), "tokens 0/100 30000ms");
}
