//! Errors: whose words they are in, and what they say about waiting.

use super::*;
use crate::script::Script;

/// The error that a step makes, as bytes and headers.
fn stepped(dialect: Dialect, target: &str, step: &str) -> Answer {
    let script: Script = step.parse().unwrap();
    let crate::script::Deed::Status(reply) = &script.steps()[0].action.deed else {
        panic!("{step} is no status");
    };
    let ask = ask("POST", target, "{}");
    error(dialect, reply.status, &ask, Told::of(reply))
}

const SSE: &str = "/v1beta/models/m:streamGenerateContent?alt=sse";

#[test]
fn each_status_and_each_code_has_its_providers_name() {
    // Could break: a client decides by these words whether it tries again; another provider's word decides nothing.
    use Dialect::{Anthropic, Azure, Gemini, Generic, GitHub, Groq, OpenAi, Stripe};
    for (dialect, step, member, expected) in [
        (OpenAi, "429", "/error/code", "rate_limit_exceeded"),
        (OpenAi, "401", "/error/code", "invalid_api_key"),
        (OpenAi, "500", "/error/type", "server_error"),
        (
            OpenAi,
            "429 code=insufficient_quota",
            "/error/code",
            "insufficient_quota",
        ),
        (
            OpenAi,
            "429 code=insufficient_quota",
            "/error/type",
            "insufficient_quota",
        ),
        (
            OpenAi,
            "400 code=context_length_exceeded",
            "/error/code",
            "context_length_exceeded",
        ),
        (
            OpenAi,
            "400 code=context_length_exceeded",
            "/error/type",
            "invalid_request_error",
        ),
        (Anthropic, "529", "/error/type", "overloaded_error"),
        (Anthropic, "429", "/error/type", "rate_limit_error"),
        (Anthropic, "401", "/error/type", "authentication_error"),
        (Anthropic, "418", "/error/type", "invalid_request_error"),
        (Anthropic, "503", "/error/type", "api_error"),
        (Anthropic, "429", "/type", "error"),
        (Anthropic, "429", "/request_id", "req_mock_0_7"),
        (
            Anthropic,
            "400 code=billing_error",
            "/error/type",
            "billing_error",
        ),
        (Gemini, "429", "/error/status", "RESOURCE_EXHAUSTED"),
        (Gemini, "503", "/error/status", "UNAVAILABLE"),
        (
            Gemini,
            "400 code=FAILED_PRECONDITION",
            "/error/status",
            "FAILED_PRECONDITION",
        ),
        (
            Gemini,
            "400 code=API_KEY_INVALID",
            "/error/status",
            "INVALID_ARGUMENT",
        ),
        (
            Gemini,
            "400 code=API_KEY_INVALID",
            "/error/details/0/reason",
            "API_KEY_INVALID",
        ),
        (
            Gemini,
            "429",
            "/error/details/0/violations/0/quotaId",
            "GenerateRequestsPerMinutePerProjectPerModel",
        ),
        (
            Gemini,
            "429 code=RequestsPerDay",
            "/error/details/0/violations/0/quotaId",
            "RequestsPerDay",
        ),
        (
            Azure,
            "429 code=insufficient_quota",
            "/error/code",
            "insufficient_quota",
        ),
        (
            Groq,
            "429 code=insufficient_quota",
            "/error/code",
            "insufficient_quota",
        ),
        (
            GitHub,
            "422 code=missing_field",
            "/errors/0/code",
            "missing_field",
        ),
        (Stripe, "402", "/error/code", "card_declined"),
        (Stripe, "402", "/error/type", "card_error"),
        (Stripe, "402 code=expired_card", "/error/code", "expired_card"),
        (Stripe, "409", "/error/code", "idempotency_key_in_use"),
        (Stripe, "409", "/error/type", "idempotency_error"),
        (
            Stripe,
            "400 code=idempotency_error",
            "/error/type",
            "idempotency_error",
        ),
        // What the mock itself says of keys and objects: the engine takes the first for a lock.
        (
            Stripe,
            "409 code=key-in-flight",
            "/error/code",
            "idempotency_key_in_use",
        ),
        (Stripe, "422 code=key-reused", "/error/type", "idempotency_error"),
        (
            Stripe,
            "404 code=resource-missing",
            "/error/code",
            "resource_missing",
        ),
        (Stripe, "429", "/error/code", "rate_limit"),
        (Stripe, "429 code=lock_timeout", "/error/code", "lock_timeout"),
        (Stripe, "500", "/error/type", "api_error"),
        (Generic, "400 code=nope", "/error/code", "nope"),
    ] {
        let answer = parsed(&stepped(dialect, SSE, step));
        let found = answer.pointer(member).and_then(Value::as_str);
        assert_eq!(found, Some(expected), "{dialect:?} {step}: {answer}");
    }
    let declined = parsed(&stepped(Stripe, "/v1/charges", "400 code=idempotency_error"));
    assert_eq!(declined["error"].get("code"), None, "{declined}");
}

#[test]
fn one_number_says_how_long_to_wait_in_header_and_body() {
    // Could break: headers and words of one answer that name two times, so that a client which reads the wrong one
    // passes; or a wait that was to stand in the body alone, and stands in a header as well.
    use Dialect::{Anthropic, Azure, Gemini, Generic, Groq, OpenAi, Stripe};
    for (dialect, step, expected) in [
        (
            OpenAi,
            "429 retry-after=20",
            "retry-after: 20|Please try again in 20s.",
        ),
        (
            OpenAi,
            "429 retry-after-ms=634",
            "retry-after-ms: 634|Please try again in 634ms.",
        ),
        (
            Anthropic,
            "429 retry-after=60",
            "retry-after: 60|request-id: req_mock_0_7",
        ),
        (
            Gemini,
            "429 retry-after=17",
            "retry-after: 17|google.rpc.RetryInfo\",\"retryDelay\":\"17s\"",
        ),
        (Gemini, "503 retry-after-ms=1500", "retryDelay\":\"1.500s\""),
        (
            Azure,
            "429 retry-after-ms=1500",
            "retry-after: 2|retry-after-ms: 1500|Please retry after 2 seconds.",
        ),
        (
            Groq,
            "429 retry-after=180",
            "x-ratelimit-reset-requests: 3m0s|try again in 3m0s.",
        ),
        (Gemini, "429 retry-in=17s", "retryDelay\":\"17s\"|!retry-after"),
        (
            Generic,
            "429 retry-in=64570ms",
            "\"retry_after\":64.57|!retry-after:",
        ),
        (Generic, "429 retry-in=2s", "\"retry_after\":2}|!retry-after:"),
        (Generic, "429 retry-after=2", "retry-after: 2|!retry_after"),
        (OpenAi, "429 retry-in=7660ms", "try again in 7.66s.|!retry-after"),
        (
            Azure,
            "429 retry-in=6s",
            "Please retry after 6 seconds.|!retry-after",
        ),
        (
            Groq,
            "429 retry-in=6s",
            "try again in 6s.|!retry-after|!x-ratelimit",
        ),
        (Anthropic, "429 retry-in=6s", "try again in 6s.|!retry-after"),
        (Stripe, "429 retry-in=6s", "try again in 6s.|!retry-after"),
        (Gemini, "429 retry-in=1ns", "retryDelay\":\"0.001s\""),
        (Gemini, "429", "!RetryInfo|!retry-after"),
        (OpenAi, "429", "!try again|!retry-after"),
        (OpenAi, "400 retry-after=5", "retry-after: 5|!try again"),
    ] {
        let answer = stepped(dialect, SSE, step);
        let mut text: String = answer
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        text.push_str(&String::from_utf8_lossy(&answer.body));
        for part in expected.split('|') {
            let (is_there, part) = match part.strip_prefix('!') {
                Some(part) => (false, part),
                None => (true, part),
            };
            assert_eq!(
                text.contains(part),
                is_there,
                "{dialect:?} {step}: {part} in {text}"
            );
        }
    }
}

#[test]
fn a_stream_without_sse_has_its_error_in_an_array() {
    // Could break: the one place where Gemini's errors are a list, which clients for the other form read as nothing.
    let array = parsed(&stepped(
        Dialect::Gemini,
        "/v1beta/models/m:streamGenerateContent",
        "429",
    ));
    assert_eq!(array[0]["error"]["code"], 429);
    for object in [SSE, GENERATE] {
        let answer = parsed(&stepped(Dialect::Gemini, object, "429"));
        assert_eq!(answer["error"]["code"], 429);
    }
}

#[test]
fn stripe_says_itself_where_a_retry_makes_sense() {
    // Could break: a 500 of a keyed request is kept and comes again: a client that repeats it waits for nothing.
    for (key, step, expected) in [
        (Some(&b"k"[..]), "500", Some("false")),
        (None, "500", None),
        (Some(b"k"), "503", None),
        (Some(b"k"), "429 code=lock_timeout", Some("true")),
        (Some(b"k"), "409", None),
        (Some(b"k"), "500 header.stripe-should-retry=true", Some("true")),
    ] {
        let script: Script = step.parse().unwrap();
        let crate::script::Deed::Status(reply) = &script.steps()[0].action.deed else {
            panic!("{step} is no status");
        };
        let ask = Ask {
            key,
            ..ask("POST", "/v1/charges", "")
        };
        let answer = error(Dialect::Stripe, reply.status, &ask, Told::of(reply));
        let said: Vec<&str> = answer
            .headers
            .iter()
            .filter(|(name, _)| name == "stripe-should-retry")
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(said, Vec::from_iter(expected), "{step}");
    }
}
