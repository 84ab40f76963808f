use super::*;
use crate::facts::{BodyFacts, Headers};
use crate::profile::Provider;
use crate::time::Wall;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

fn told(classified: &Classified) -> String {
    let outcome = classified.report.outcome;
    let mut text = match outcome {
        Outcome::Answer | Outcome::Throttled { .. } => outcome.name().to_string(),
        Outcome::Refused(why) => format!("refused {why:?}"),
        Outcome::Failed { cause, sent, .. } => format!("failed {} {}", cause.name(), sent.name()),
        Outcome::Denied { latches } => format!("denied{}", if latches { " latches" } else { "" }),
    };
    if let Some(hint) = outcome.hint() {
        let reach = if hint.cools { "cools" } else { "holds" };
        text += &format!(" {reach} {}", hint.wait);
    }
    match classified.report.should_retry {
        Some(yes) => text + &format!(" should-retry={yes}"),
        None => text,
    }
}

#[derive(Default)]
struct Case<'a> {
    provider: Option<Provider>,
    status: Option<u16>,
    headers: &'a [(&'a str, &'a [u8])],
    body: BodyFacts<'a>,
    broke: Option<Broke>,
}

fn met(case: &Case<'_>, overrides: &[Override]) -> String {
    let facts = Facts {
        status: case.status,
        headers: &case.headers,
        body: case.body,
        broke: case.broke,
        wall: Wall::from_unix_ms(1_767_225_600_000),
    };
    let profile = case.provider.unwrap_or(Provider::Generic).profile();
    told(&classify(profile, overrides, &facts))
}

fn code(code: &str) -> BodyFacts<'_> {
    BodyFacts {
        code: Some(code),
        ..BodyFacts::default()
    }
}

fn message(message: &str) -> BodyFacts<'_> {
    BodyFacts {
        message: Some(message),
        ..BodyFacts::default()
    }
}

fn state(state: BodyState) -> BodyFacts<'static> {
    BodyFacts {
        state,
        ..BodyFacts::default()
    }
}

#[test]
fn every_status_stands_in_the_table_once() {
    // A status in the wrong row repeats a write, hammers a refusal or gives up on what would pass.
    let expected = |status: u16| match status {
        100..=399 => "answer",
        401 => "denied latches",
        403 | 407 => "denied",
        408 => "failed status maybe",
        413 => "refused TooLarge",
        421 | 425 => "failed status not-done",
        429 => "throttled",
        501 | 505 | 511 => "refused Caller",
        521 | 523 => "failed status no",
        500.. => "failed status maybe",
        _ => "refused Caller",
    };
    for status in 100..=999 {
        let case = Case {
            status: Some(status),
            ..Case::default()
        };
        assert_eq!(met(&case, &[]), expected(status), "{status}");
    }
}

#[test]
fn a_hint_changes_only_the_rows_that_name_it() {
    // 503 with a hint says "not begun"; 500 with one does not, and would repeat a write if it did.
    let headers = [("retry-after", b"7".as_slice())];
    for (status, expected) in [
        (200, "answer"),
        (400, "refused Caller"),
        (401, "denied latches"),
        (403, "denied"),
        (408, "failed status maybe holds 7s"),
        (413, "throttled holds 7s"),
        (421, "failed status not-done holds 7s"),
        (425, "failed status not-done holds 7s"),
        (429, "throttled cools 7s"),
        (500, "failed status maybe holds 7s"),
        (501, "refused Caller"),
        (502, "failed status maybe holds 7s"),
        (503, "failed status not-done cools 7s"),
        (504, "failed status maybe holds 7s"),
        (521, "failed status no holds 7s"),
        (529, "failed status not-done cools 7s"),
    ] {
        let case = Case {
            status: Some(status),
            headers: &headers,
            ..Case::default()
        };
        assert_eq!(met(&case, &[]), expected, "{status}");
    }
}

#[test]
fn windows_count_for_429_and_503_alone() {
    // A 500 or 413 with the windows that every response carries is neither paced by them nor a throttle.
    let headers = [
        ("x-ratelimit-remaining", b"0".as_slice()),
        ("x-ratelimit-reset", b"9"),
    ];
    for (status, expected) in [
        (413, "refused TooLarge"),
        (429, "throttled cools 9s"),
        (500, "failed status maybe"),
        (503, "failed status not-done cools 9s"),
        (529, "failed status maybe"),
    ] {
        let case = Case {
            status: Some(status),
            headers: &headers,
            ..Case::default()
        };
        assert_eq!(met(&case, &[]), expected, "{status}");
    }
}

#[test]
fn what_broke_says_whether_it_was_sent() {
    // A reset is not "not sent": the work may be done and only the answer lost.
    for (broke, expected) in [
        (Broke::Dns, "failed connect no"),
        (Broke::Refused, "failed connect no"),
        (Broke::ConnectTimeout, "failed connect no"),
        (Broke::Tls, "failed connect no"),
        (Broke::BadCertificate, "failed request no"),
        (Broke::Request, "failed request no"),
        (Broke::RefusedStream, "failed cut no"),
        (Broke::GoAway, "failed cut no"),
        (Broke::Reset, "failed cut maybe"),
        (Broke::Closed, "failed cut maybe"),
        (Broke::ReusedClosed, "failed cut maybe"),
        (Broke::Timeout, "failed timeout maybe"),
        (Broke::Idle, "failed timeout maybe"),
        (Broke::Protocol, "failed malformed maybe"),
    ] {
        let case = Case {
            broke: Some(broke),
            ..Case::default()
        };
        assert_eq!(met(&case, &[]), expected, "{broke:?}");
    }
    let case = Case {
        broke: Some(Broke::Reset),
        status: Some(200),
        ..Case::default()
    };
    assert_eq!(met(&case, &[]), "failed cut maybe");
    assert_eq!(met(&Case::default(), &[]), "failed malformed maybe");
}

#[test]
fn a_refusing_head_stands_whatever_breaks_after_it() {
    // A 429 whose body was cut is still "not now", with its hint; a 400 is not sent again.
    let headers = [("retry-after", b"7".as_slice())];
    for (status, expected) in [
        (429, "throttled cools 7s"),
        (400, "refused Caller"),
        (503, "failed status not-done cools 7s"),
    ] {
        let broke = Some(Broke::Closed);
        let case = Case {
            status: Some(status),
            headers: &headers,
            broke,
            ..Case::default()
        };
        assert_eq!(met(&case, &[]), expected, "{status}");
        let body = state(BodyState::Truncated);
        let case = Case {
            status: Some(status),
            headers: &headers,
            body,
            ..Case::default()
        };
        assert_eq!(met(&case, &[]), expected, "{status} truncated");
    }
}

#[test]
fn a_two_hundred_with_a_bad_body_is_no_answer() {
    // A short body handed on as whole is the worst failure of all: nobody sees it.
    for (body, expected) in [
        (BodyState::WellFormed, "answer"),
        (BodyState::Empty, "failed malformed maybe"),
        (BodyState::Truncated, "failed cut maybe"),
        (BodyState::Undecodable, "failed malformed maybe"),
        (BodyState::ErrorInside, "failed malformed maybe"),
    ] {
        let case = Case {
            status: Some(200),
            body: state(body),
            ..Case::default()
        };
        assert_eq!(met(&case, &[]), expected, "{body:?}");
    }
}

#[test]
fn provider_codes_decide_only_at_their_provider() {
    use Provider::{Anthropic, Azure, Gemini, Generic, GitHub, Groq, OpenAi, Stripe};
    // A code that another provider uses for something else would stop calls for good.
    let spent = BodyFacts {
        quota_spent: true,
        ..code("RESOURCE_EXHAUSTED")
    };
    let kind = BodyFacts {
        kind: Some("insufficient_quota"),
        ..BodyFacts::default()
    };
    for (provider, status, body, expected) in [
        (OpenAi, 429, code("insufficient_quota"), "refused QuotaSpent"),
        (OpenAi, 429, kind, "refused QuotaSpent"),
        (
            OpenAi,
            429,
            code("billing_hard_limit_reached"),
            "refused QuotaSpent",
        ),
        (OpenAi, 429, code("rate_limit_exceeded"), "throttled"),
        (OpenAi, 503, code("insufficient_quota"), "failed status maybe"),
        (Azure, 429, code("insufficient_quota"), "refused QuotaSpent"),
        (Groq, 429, code("insufficient_quota"), "refused QuotaSpent"),
        (Generic, 429, code("insufficient_quota"), "throttled"),
        (
            Anthropic,
            429,
            message("Your credit balance is too low"),
            "refused QuotaSpent",
        ),
        (
            Anthropic,
            400,
            message("Your credit balance is too low"),
            "refused QuotaSpent",
        ),
        (
            Anthropic,
            429,
            code("enforced_spend_limit_reached"),
            "refused QuotaSpent",
        ),
        (Gemini, 429, spent, "refused QuotaSpent"),
        (Gemini, 429, code("RESOURCE_EXHAUSTED"), "throttled"),
        (Generic, 429, spent, "throttled"),
        (
            OpenAi,
            400,
            code("context_length_exceeded"),
            "refused ContextTooLong",
        ),
        (
            OpenAi,
            413,
            code("context_length_exceeded"),
            "refused ContextTooLong",
        ),
        (Generic, 400, code("context_length_exceeded"), "refused Caller"),
        (
            Anthropic,
            400,
            message("prompt is too long: 210000 tokens > 200000 maximum"),
            "refused ContextTooLong",
        ),
        (Anthropic, 413, code("request_too_large"), "refused TooLarge"),
        (
            Gemini,
            400,
            message("The input token count (12) exceeds the maximum number of tokens allowed (8)."),
            "refused ContextTooLong",
        ),
        (OpenAi, 403, code("invalid_api_key"), "denied latches"),
        (Generic, 403, code("invalid_api_key"), "denied"),
        (Gemini, 400, code("API_KEY_INVALID"), "denied latches"),
        (OpenAi, 409, BodyFacts::default(), "failed status not-done"),
        (
            Stripe,
            409,
            code("idempotency_key_in_use"),
            "failed status not-done",
        ),
        (Stripe, 409, BodyFacts::default(), "failed status not-done"),
        (Stripe, 409, code("resource_already_exists"), "refused Caller"),
        (Generic, 409, BodyFacts::default(), "refused Caller"),
        (Anthropic, 409, BodyFacts::default(), "refused Caller"),
        // A tier that is full passes; the same number elsewhere is a refusal like any other.
        (Groq, 498, code("capacity_exceeded"), "throttled"),
        (OpenAi, 498, code("capacity_exceeded"), "refused Caller"),
        (
            GitHub,
            403,
            message("You have exceeded a secondary rate limit"),
            "throttled cools 1m",
        ),
        (
            GitHub,
            429,
            message("You have exceeded a secondary rate limit"),
            "throttled cools 1m",
        ),
        (
            GitHub,
            403,
            message("Resource not accessible by integration"),
            "denied",
        ),
        (
            Generic,
            403,
            message("You have exceeded a secondary rate limit"),
            "denied",
        ),
    ] {
        let case = Case {
            provider: Some(provider),
            status: Some(status),
            body,
            ..Case::default()
        };
        assert_eq!(met(&case, &[]), expected, "{} {status} {body:?}", provider.name());
    }
}

#[test]
fn githubs_spent_window_is_a_throttle() {
    // GitHub answers a rate limit with 403; taken for a denial it latches a good credential.
    let headers = [
        ("x-ratelimit-remaining", b"0".as_slice()),
        ("x-ratelimit-reset", b"1767225604"),
    ];
    let case = Case {
        provider: Some(Provider::GitHub),
        status: Some(403),
        headers: &headers,
        ..Case::default()
    };
    assert_eq!(met(&case, &[]), "throttled cools 4s");
    let case = Case {
        status: Some(403),
        headers: &headers,
        ..Case::default()
    };
    assert_eq!(met(&case, &[]), "denied");
}

fn headers<'a>(rows: &[(&'a str, &'a [u8])]) -> Vec<(&'a str, &'a [u8])> {
    rows.to_vec()
}

#[test]
fn the_servers_word_on_retrying_is_exact() {
    // `True` or `yes` taken for `true` retries what the server did not invite; a push-back below 0 is a no.
    for (headers, expected) in [
        (headers(&[("x-should-retry", b"true")]), " should-retry=true"),
        (headers(&[("x-should-retry", b" false ")]), " should-retry=false"),
        (headers(&[("x-should-retry", b"True")]), ""),
        (headers(&[("x-should-retry", b"1")]), ""),
        (
            headers(&[("stripe-should-retry", b"false")]),
            " should-retry=false",
        ),
        (
            headers(&[("stripe-should-retry", b"true"), ("x-should-retry", b"false")]),
            " should-retry=false",
        ),
        (
            headers(&[("grpc-retry-pushback-ms", b"-1")]),
            " should-retry=false",
        ),
        (
            headers(&[("grpc-retry-pushback-ms", b"-1"), ("x-should-retry", b"true")]),
            " should-retry=false",
        ),
    ] {
        let case = Case {
            status: Some(500),
            headers: &headers,
            ..Case::default()
        };
        assert_eq!(
            met(&case, &[]),
            format!("failed status maybe{expected}"),
            "{headers:?}"
        );
    }
}

#[test]
fn an_invitation_turns_a_refusal_into_a_failure() {
    // Stainless SDKs retry even a 400 that says so; a hint beside it must hold, and money that is gone stays gone.
    let given = [("x-should-retry", b"true".as_slice()), ("retry-after", b"7")];
    for (status, body, expected) in [
        (200, BodyFacts::default(), "answer"),
        (400, BodyFacts::default(), "failed status maybe holds 7s"),
        (404, BodyFacts::default(), "failed status maybe holds 7s"),
        (403, BodyFacts::default(), "failed status maybe holds 7s"),
        (401, BodyFacts::default(), "denied latches"),
        (407, BodyFacts::default(), "denied"),
        (429, code("insufficient_quota"), "refused QuotaSpent"),
        (400, code("context_length_exceeded"), "refused ContextTooLong"),
        (429, BodyFacts::default(), "throttled cools 7s"),
        (501, BodyFacts::default(), "failed status maybe holds 7s"),
    ] {
        let provider = Some(Provider::OpenAi);
        let case = Case {
            provider,
            status: Some(status),
            headers: &given,
            body,
            ..Case::default()
        };
        assert_eq!(
            met(&case, &[]),
            format!("{expected} should-retry=true"),
            "{status} {body:?}"
        );
    }
    let case = Case {
        headers: &given,
        broke: Some(Broke::BadCertificate),
        ..Case::default()
    };
    assert_eq!(met(&case, &[]), "failed request no should-retry=true");
}

#[test]
fn a_users_own_word_stands_before_the_table() {
    // Overrides that leak beyond what they name would change other statuses unseen.
    let rule = |status, code: Option<&str>, class| Override {
        status,
        code: code.map(String::from),
        class,
    };
    let rules = [
        rule(Some(446), None, Class::Failed),
        rule(Some(400), Some("try_again"), Class::Throttled),
        rule(None, Some("dead"), Class::Refused),
        rule(Some(200), Some("soft"), Class::Answer),
        rule(Some(418), None, Class::Denied),
    ];
    let inside = BodyFacts {
        state: BodyState::ErrorInside,
        ..code("soft")
    };
    let short = BodyFacts {
        state: BodyState::Truncated,
        ..code("soft")
    };
    for (status, body, expected) in [
        (446, BodyFacts::default(), "failed status maybe"),
        (447, BodyFacts::default(), "refused Caller"),
        (400, code("try_again"), "throttled"),
        (400, code("other"), "refused Caller"),
        (500, code("dead"), "refused Caller"),
        (200, inside, "answer"),
        (200, short, "failed cut maybe"),
        (200, state(BodyState::ErrorInside), "failed malformed maybe"),
        (418, BodyFacts::default(), "denied"),
    ] {
        let case = Case {
            status: Some(status),
            body,
            ..Case::default()
        };
        assert_eq!(met(&case, &rules), expected, "{status} {body:?}");
    }
    for class in Class::ALL {
        assert_eq!(Class::named(class.name()), Some(class));
    }
}

#[test]
fn a_malformed_hint_is_told_and_changes_nothing() {
    // A junk Retry-After that makes a 503 "not begun" repeats a write; one that vanishes is never mended.
    let headers: &[(&str, &[u8])] = &[("retry-after", b"soon")];
    assert!(Headers::get(headers, "retry-after").is_some());
    let facts = Facts {
        status: Some(503),
        headers: &headers,
        body: BodyFacts::default(),
        broke: None,
        wall: Wall::from_unix_ms(0),
    };
    let classified = classify(Provider::Generic.profile(), &[], &facts);
    assert_eq!(told(&classified), "failed status maybe");
    assert_eq!(classified.hint_ignored, Some(HintSource::RetryAfter));
}
