//! Any answer at all, read by every provider's table: what it says about waiting and what it was.
//!
//! The input is the text of an answer, so that seeds can be read and a dictionary helps: a first line with the
//! status and, in any order, an endpoint, a method, a way to break and the host's date; header lines; an empty line;
//! the body. What the first line does not say has a default. Nothing about an input is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seawall::body::{OwnedBodyFacts, Wire, error_event, read, request_facts};
use seawall_core::classify::{Class, Classified, Override, classify};
use seawall_core::facts::{Broke, Facts, Headers};
use seawall_core::hint::{Found, Scope, find};
use seawall_core::outcome::{HintSource, Outcome, Report, Sent};
use seawall_core::profile::{Profile, Provider};
use seawall_core::time::{Duration, Wall};
use seawall_core::verdict::Endpoint;

/// The headers whose value alone is the hint, in the order in which they are heard.
const STATED: [(HintSource, &str); 5] = [
    (HintSource::RetryAfterMs, "retry-after-ms"),
    (HintSource::XMsRetryAfterMs, "x-ms-retry-after-ms"),
    (HintSource::XAmzRetryAfter, "x-amz-retry-after"),
    (HintSource::GrpcRetryPushbackMs, "grpc-retry-pushback-ms"),
    (HintSource::RetryAfter, "retry-after"),
];

/// What no grammar of a hint ends in.
const JUNK: [&str; 4] = ["!", "x", " 7", "e9"];

fuzz_target!(|bytes: &[u8]| {
    let answer = Input::parse(bytes);
    let body = read(&answer.wire(), answer.body);
    assert_eq!(
        body,
        read(&answer.wire(), answer.body),
        "the same bytes say the same"
    );
    is_bounded(&body);
    let _ = (request_facts(answer.body), error_event("error", answer.body));
    for provider in Provider::ALL {
        check(provider.profile(), &answer, &body);
    }
});

fn check(profile: &Profile, answer: &Input<'_>, body: &OwnedBodyFacts) {
    let facts = answer.facts(&answer.headers, body);
    let met = classify(profile, &[], &facts);
    assert_eq!(
        met,
        classify(profile, &[], &facts),
        "the same facts are the same outcome"
    );
    is_sound(&facts, &met);
    for class in Class::ALL {
        let rule = Override {
            status: facts.status,
            code: None,
            class,
        };
        is_sound_overridden(&facts, &classify(profile, &[rule], &facts));
    }
    for scope in [Scope::Stated, Scope::StatedOrReset] {
        let reading = find(profile, &facts, scope);
        assert_eq!(
            reading,
            find(profile, &facts, scope),
            "the same headers say the same"
        );
        if let Found::Wait { wait, .. } = reading.found {
            assert!(!wait.is_zero(), "a hint never means now");
        }
        whole_seconds_are_whole(answer, reading.found);
    }
    for (source, name) in STATED {
        junk_is_absent(profile, answer, body, (source, name), &met);
    }
}

/// Rule C3: with junk at its end a value says no more than one that is not there; nothing reads a prefix.
fn junk_is_absent(
    profile: &Profile,
    answer: &Input<'_>,
    body: &OwnedBodyFacts,
    (source, name): (HintSource, &'static str),
    met: &Classified,
) {
    let Some(value) = answer.headers.get(name).filter(|value| !value.is_empty()) else {
        return;
    };
    let absent = Changed {
        headers: &answer.headers,
        name,
        value: None,
    };
    let without = classify(profile, &[], &answer.facts(&absent, body)).report;
    for junk in JUNK {
        let spoilt = Changed {
            headers: &answer.headers,
            name,
            value: Some([value, junk.as_bytes()].concat()),
        };
        let facts = answer.facts(&spoilt, body);
        let spoilt = classify(profile, &[], &facts).report;
        assert_eq!(spoilt, without, "{name} with {junk:?} at its end is as absent");
        let reading = find(profile, &facts, Scope::Stated);
        assert!(
            !matches!(reading.found, Found::Wait { source: heard, .. } if heard == source),
            "a prefix of {name} was read"
        );
    }
    // A hint moves the time and the "not done" of an outcome, and a 413's makes it a throttle; it never decides more.
    if met.report.status != 413 && without.should_retry == met.report.should_retry {
        assert_eq!(
            met.report.outcome.name(),
            without.outcome.name(),
            "a hint changed what the outcome is"
        );
    }
}

/// What `Retry-After: 12` means needs no second reader to be sure of.
fn whole_seconds_are_whole(answer: &Input<'_>, found: Found) {
    let says = |name: &str| answer.headers.get(name).is_some();
    let earlier = STATED[..4].iter().any(|(_, name)| says(name));
    let Some(value) = answer.headers.get("retry-after") else {
        return;
    };
    let is_short_number = (1..=9).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    if earlier || !is_short_number {
        return;
    }
    let seconds = value
        .iter()
        .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let said = Found::Wait {
        wait: Duration::from_secs(seconds),
        source: HintSource::RetryAfter,
    };
    match (seconds, found) {
        (0, found) => assert!(
            !matches!(
                found,
                Found::Wait {
                    source: HintSource::RetryAfter,
                    ..
                }
            ),
            "0 is as absent"
        ),
        (_, found) => assert_eq!(found, said, "whole seconds are whole seconds"),
    }
}

/// What holds of every outcome that no user's word made.
fn is_sound(facts: &Facts<'_>, met: &Classified) {
    let Report { outcome, status, .. } = met.report;
    assert_eq!(status, facts.status.unwrap_or(0), "the status is the answer's");
    is_sound_overridden(facts, met);
    match outcome {
        Outcome::Answer => {
            assert!(status < 400, "an error status is no answer");
            assert!(facts.broke.is_none(), "what broke is no answer");
        }
        Outcome::Refused(_) => assert!(status >= 400, "only a status refuses"),
        Outcome::Denied { .. } => assert!(matches!(status, 400..=407), "only a 4xx denies"),
        Outcome::Throttled { .. } => assert!(matches!(status, 403 | 413 | 429), "only these throttle"),
        Outcome::Failed { sent, .. } => {
            let never_left = matches!(status, 521 | 523) || facts.broke.is_some();
            assert!(sent != Sent::No || never_left, "an answered request had left");
            assert!(sent != Sent::Done, "what failed is not done");
        }
    }
}

/// What holds whatever a user wrote.
fn is_sound_overridden(facts: &Facts<'_>, met: &Classified) {
    let outcome = met.report.outcome;
    let Some(hint) = outcome.hint() else { return };
    assert!(!hint.wait.is_zero(), "a hint never means now");
    let gate_wide = match outcome {
        Outcome::Throttled { .. } => true,
        Outcome::Failed { .. } => matches!(facts.status, Some(503 | 529)),
        Outcome::Answer | Outcome::Refused(_) | Outcome::Denied { .. } => false,
    };
    assert!(!hint.cools || gate_wide, "one call's hint holds up no other");
}

/// A peer's body decides how much is kept of it, within bounds.
fn is_bounded(body: &OwnedBodyFacts) {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    assert!(
        length(&body.code) <= 256 && length(&body.kind) <= 256,
        "a code is short"
    );
    assert!(
        length(&body.message).max(length(&body.retry_delay)) <= 4_096,
        "a message is cut"
    );
}

/// An answer as the input spells it.
struct Input<'a> {
    status: Option<u16>,
    endpoint: Endpoint,
    method: &'static str,
    broke: Option<Broke>,
    wall: Wall,
    headers: Lines<'a>,
    body: &'a [u8],
}

impl<'a> Input<'a> {
    fn parse(bytes: &'a [u8]) -> Self {
        let (first, mut rest) = line(bytes);
        let mut input = Self {
            status: None,
            endpoint: Endpoint::General,
            method: "POST",
            broke: None,
            // 2026-11-30: dates in seeds stand around it.
            wall: Wall::from_unix_ms(1_796_000_000_000),
            headers: Lines(Vec::new()),
            body: b"",
        };
        for word in first.split(|byte| *byte == b' ') {
            input.read_word(word);
        }
        loop {
            let (header, tail) = line(rest);
            rest = tail;
            let Some(colon) = header.iter().position(|byte| *byte == b':') else {
                break;
            };
            let name = header[..colon].to_ascii_lowercase();
            input.headers.0.push((name, header[colon + 1..].trim_ascii()));
        }
        input.body = rest;
        input
    }

    fn read_word(&mut self, word: &[u8]) {
        match word {
            b"inference" => self.endpoint = Endpoint::Inference,
            b"stream" => self.endpoint = Endpoint::InferenceStream,
            b"HEAD" => self.method = "HEAD",
            b"dns" => self.broke = Some(Broke::Dns),
            b"tls" => self.broke = Some(Broke::Tls),
            b"bad-cert" => self.broke = Some(Broke::BadCertificate),
            b"reset" => self.broke = Some(Broke::Reset),
            b"reused-closed" => self.broke = Some(Broke::ReusedClosed),
            b"timeout" => self.broke = Some(Broke::Timeout),
            b"protocol" => self.broke = Some(Broke::Protocol),
            b"goaway" => self.broke = Some(Broke::GoAway),
            _ => {
                let text = std::str::from_utf8(word).unwrap_or("");
                match (text.parse::<u16>(), text.parse::<i64>()) {
                    (Ok(status), _) => self.status = Some(status),
                    (Err(_), Ok(unix_ms)) => self.wall = Wall::from_unix_ms(unix_ms),
                    (Err(_), Err(_)) => {}
                }
            }
        }
    }

    fn wire(&self) -> Wire<'_> {
        Wire {
            endpoint: self.endpoint,
            method: self.method,
            status: self.status.unwrap_or(0),
            content_type: self.headers.get("content-type"),
            content_encoding: self.headers.get("content-encoding"),
        }
    }

    fn facts<'f>(&self, headers: &'f dyn Headers, body: &'f OwnedBodyFacts) -> Facts<'f> {
        Facts {
            status: self.status,
            headers,
            body: body.facts(),
            broke: self.broke,
            wall: self.wall,
        }
    }
}

/// The bytes up to a line's end, and those after it.
fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, b""),
    }
}

/// Header lines as they came, names in lower case.
struct Lines<'a>(Vec<(Vec<u8>, &'a [u8])>);

impl Headers for Lines<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        let named = self.0.iter().find(|(key, _)| key == name.as_bytes());
        named.map(|(_, value)| *value)
    }
}

/// The same headers with another value for one of them, or without it.
struct Changed<'a> {
    headers: &'a Lines<'a>,
    name: &'static str,
    value: Option<Vec<u8>>,
}

impl Headers for Changed<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        if name == self.name {
            self.value.as_deref()
        } else {
            self.headers.get(name)
        }
    }
}
