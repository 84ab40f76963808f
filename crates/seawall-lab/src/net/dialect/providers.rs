//! What azure, groq and github have of their own: codes, the words that clients look for, headers.
//!
//! What can go wrong: headers and body that contradict each other, as no server's do, so that a client passes here
//! which reads the wrong one. So what a step says about waiting is told in each of the dialect's ways, from one number.
//! Of a message only the words that a client could decide by are the provider's; the rest says that it is a mock.
//! GitHub's `x-ratelimit-reset` is a date, and answers here hold none: a script says it where a test needs it.

use super::{Answer, Ask, Told};
use crate::plan::limit::go_duration;
use seawall_core::time::Duration;
use serde_json::{Value, json};

type Added = Vec<(&'static str, String)>;

/// What an error of one status is called.
struct Named {
    status: u16,
    kind: Option<&'static str>,
    code: Option<&'static str>,
}

const fn named(status: u16, kind: Option<&'static str>, code: Option<&'static str>) -> Named {
    Named { status, kind, code }
}

const AZURE_ERRORS: [Named; 5] = [
    named(400, None, Some("content_filter")),
    named(401, None, Some("401")),
    named(404, None, Some("DeploymentNotFound")),
    named(408, None, Some("Timeout")),
    named(429, None, Some("429")),
];
const GROQ_ERRORS: [Named; 7] = [
    named(400, Some("invalid_request_error"), None),
    named(401, Some("invalid_request_error"), Some("invalid_api_key")),
    named(404, Some("invalid_request_error"), Some("model_not_found")),
    named(413, Some("tokens"), Some("rate_limit_exceeded")),
    named(422, Some("invalid_request_error"), None),
    named(429, Some("requests"), Some("rate_limit_exceeded")),
    named(498, Some("flex"), Some("capacity_exceeded")),
];

/// Requests that Azure lets a deployment have in its window.
const AZURE_REQUESTS: u64 = 120;
/// Groq's requests a day, and what a day's worth refills at.
const GROQ_REQUESTS: u64 = 14_400;
const GROQ_MS_A_REQUEST: u64 = 86_400_000 / GROQ_REQUESTS;
/// Groq's tokens a minute, and what a minute's worth refills at.
const GROQ_TOKENS: u64 = 18_000;
const GROQ_TOKENS_A_SECOND: u64 = GROQ_TOKENS / 60;
/// GitHub's requests an hour.
const GITHUB_REQUESTS: u64 = 5_000;

/// The headers of every answer of OpenAI.
pub(super) fn openai_headers(ask: &Ask<'_>) -> Added {
    vec![("x-request-id", format!("req_mock_{}_{}", ask.rule, ask.number))]
}

/// What Azure says before the first chunk of a chat: filters alone, and no choice.
pub(super) fn azure_preamble() -> Value {
    let results = filter_results(Filtered::Nothing);
    json!({
        "id": "",
        "object": "",
        "created": 0,
        "model": "",
        "choices": [],
        "prompt_filter_results": [{ "prompt_index": 0, "content_filter_results": results }],
    })
}

/// Azure looks at the key and the version before anything else.
pub(super) fn azure_refuses(ask: &Ask<'_>) -> Option<Answer> {
    if ask.credential.is_none() {
        let message = "mock: neither an `api-key` nor an `authorization` was sent";
        return Some(azure_error(401, message, Told::NOTHING));
    }
    let has_version = ask
        .query
        .split('&')
        .any(|pair| pair.strip_prefix("api-version=").is_some_and(|is| !is.is_empty()));
    if ask.path.contains("/openai/deployments/") && !has_version {
        let error = json!({ "code": "404", "message": "mock: the query has no `api-version`" });
        return Some(Answer::json(404, &json!({ "error": error })));
    }
    None
}

/// A good answer with what Azure's filters say of it.
pub(super) fn filtered_by_azure(mut answer: Answer) -> Answer {
    let Ok(Value::Object(mut body)) = serde_json::from_slice(&answer.body) else {
        return answer;
    };
    if let Some(choices) = body.get_mut("choices").and_then(Value::as_array_mut) {
        for choice in choices {
            choice["content_filter_results"] = filter_results(Filtered::Nothing);
        }
        let results = filter_results(Filtered::Nothing);
        let prompt = json!([{ "prompt_index": 0, "content_filter_results": results }]);
        body.insert("prompt_filter_results".to_owned(), prompt);
        answer.body = Value::Object(body).to_string().into_bytes();
    }
    answer
}

/// What a filter found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filtered {
    Nothing,
    Violence,
}

fn filter_results(filtered: Filtered) -> Value {
    let of = |severity: &str| json!({ "filtered": severity != "safe", "severity": severity });
    let violence = match filtered {
        Filtered::Nothing => "safe",
        Filtered::Violence => "high",
    };
    json!({
        "hate": of("safe"),
        "self_harm": of("safe"),
        "sexual": of("safe"),
        "violence": of(violence),
    })
}

pub(super) fn azure_error(status: u16, message: &str, told: Told<'_>) -> Answer {
    let name = AZURE_ERRORS.iter().find(|name| name.status == status);
    let code = told.code.or(name.and_then(|name| name.code)).map(str::to_owned);
    let code = code.unwrap_or_else(|| status.to_string());
    let mut error = json!({ "code": code, "message": message });
    if let Some(ms) = told.body_wait_ms(status) {
        let seconds = ms.div_ceil(1_000);
        error["message"] = json!(format!("{message}. Please retry after {seconds} seconds."));
    }
    if (status, code.as_str()) == (400, "content_filter") {
        error["type"] = Value::Null;
        error["param"] = json!("prompt");
        error["status"] = json!(400);
        error["innererror"] = json!({
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": filter_results(Filtered::Violence),
        });
    }
    Answer::json(status, &json!({ "error": error }))
}

pub(super) fn azure_headers(status: u16, ask: &Ask<'_>, told: Told<'_>) -> Added {
    let mut added = vec![
        ("apim-request-id", format!("mock-{}-{}", ask.rule, ask.number)),
        ("x-ms-region", "mock".to_owned()),
    ];
    match (status, told.header_wait_ms()) {
        (429, Some(ms)) => {
            added.push(("retry-after", ms.div_ceil(1_000).to_string()));
            added.push(("retry-after-ms", ms.to_string()));
            added.push(("x-ratelimit-remaining-requests", "0".to_owned()));
        }
        (200..300, _) => {
            let left = AZURE_REQUESTS - ask.number % AZURE_REQUESTS;
            added.push(("x-ratelimit-remaining-requests", left.to_string()));
        }
        _ => {}
    }
    added
}

pub(super) fn groq_error(status: u16, message: &str, told: Told<'_>) -> Answer {
    let name = GROQ_ERRORS.iter().find(|name| name.status == status);
    let kind = match name {
        Some(name) => name.kind,
        None if status < 500 => Some("invalid_request_error"),
        None => Some("internal_server_error"),
    };
    let message = match told.body_wait_ms(status) {
        Some(ms) => format!(
            "{message}. Please try again in {}.",
            go_duration(Duration::from_millis(ms))
        ),
        None => message.to_owned(),
    };
    let kind = told.limit_kind().or(kind);
    let mut error = json!({ "message": message, "type": kind });
    if let Some(code) = told.code.or(name.and_then(|name| name.code)) {
        error["code"] = json!(code);
    }
    Answer::json(status, &json!({ "error": error }))
}

pub(super) fn groq_headers(status: u16, ask: &Ask<'_>, told: Told<'_>) -> Added {
    let mut added = vec![("x-request-id", format!("req_mock_{}_{}", ask.rule, ask.number))];
    let used = ask.number % GROQ_REQUESTS;
    let (used, full_in_ms) = match (status, told.header_wait_ms()) {
        (429, Some(ms)) => (GROQ_REQUESTS, ms),
        // A throttle that states nothing leaves nothing to be read.
        (429, None) => return added,
        _ => (used, used * GROQ_MS_A_REQUEST),
    };
    let tokens = (ask.body.len() as u64 / 4).clamp(1, GROQ_TOKENS - 1);
    let tokens_full_in_ms = tokens * 1_000 / GROQ_TOKENS_A_SECOND;
    let mut add = |name, value| added.push((name, value));
    add("x-ratelimit-limit-requests", GROQ_REQUESTS.to_string());
    add(
        "x-ratelimit-remaining-requests",
        (GROQ_REQUESTS - used).to_string(),
    );
    add(
        "x-ratelimit-reset-requests",
        go_duration(Duration::from_millis(full_in_ms)),
    );
    add("x-ratelimit-limit-tokens", GROQ_TOKENS.to_string());
    add("x-ratelimit-remaining-tokens", (GROQ_TOKENS - tokens).to_string());
    add(
        "x-ratelimit-reset-tokens",
        go_duration(Duration::from_millis(tokens_full_in_ms)),
    );
    added
}

pub(super) fn github_error(status: u16, as_told: &str, told: Told<'_>) -> Answer {
    let exhausted = told.header("x-ratelimit-remaining") == Some("0");
    let waits = told.header("retry-after").is_some();
    let said = match status {
        401 => "Bad credentials",
        403 | 429 if exhausted => "API rate limit exceeded",
        403 if waits => "You have exceeded a secondary rate limit",
        429 => "You have exceeded a secondary rate limit",
        403 => "Resource not accessible",
        404 => "Not Found",
        422 => "Validation Failed",
        _ => "Server Error",
    };
    let mut body = json!({
        "message": format!("{said} ({as_told})"),
        "documentation_url": "https://docs.github.com/rest",
        "status": status.to_string(),
    });
    if let Some(code) = told.code {
        body["errors"] = json!([{ "resource": "Mock", "code": code }]);
    }
    Answer::json(status, &body)
}

pub(super) fn github_headers(ask: &Ask<'_>) -> Added {
    let used = ask.number % GITHUB_REQUESTS;
    vec![
        ("x-github-request-id", format!("MOCK:{}:{}", ask.rule, ask.number)),
        ("x-ratelimit-limit", GITHUB_REQUESTS.to_string()),
        ("x-ratelimit-remaining", (GITHUB_REQUESTS - used).to_string()),
        ("x-ratelimit-used", used.to_string()),
        ("x-ratelimit-resource", "core".to_owned()),
    ]
}
