//! Bodies: what a good answer and an error look like in each dialect.
//!
//! Answers are a function of the request and the attempt's number, so that runs can be compared byte for byte. A
//! body that cannot be read as JSON decides nothing: it is answered all the same, from its bytes.

mod providers;

use super::http1::Keep;
use crate::plan::Dialect;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The fault of what was asked for and is not served yet.
pub(super) const NOT_SERVED: &str = "not-served";
/// When every answer says it was made (2025-01-01): a real date would make two equal runs differ.
const CREATED_UNIX_SECS: u64 = 1_735_689_600;
/// How much of a prompt an answer quotes, in characters.
const QUOTED_CHARS_MAX: usize = 48;
/// The most inputs that one embeddings answer covers.
const INPUTS_MAX: usize = 2_048;
/// How many numbers a mock embedding has.
const EMBEDDING_DIMENSIONS: usize = 8;

/// What was asked.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    /// The `api-key` or the `authorization`, where one was sent.
    pub(super) credential: Option<&'a [u8]>,
    pub(super) body: &'a [u8],
    /// The place of the rule.
    pub(super) rule: usize,
    /// Which attempt of the rule it is.
    pub(super) number: u64,
}

/// An answer before it is bytes.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) content_type: Option<&'static str>,
    pub(super) body: Vec<u8>,
    pub(super) fault: Option<Cow<'static, str>>,
}

impl Answer {
    /// An answer without a body.
    pub(super) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content_type: None,
            body: Vec::new(),
            fault: None,
        }
    }

    /// An answer with a JSON body.
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self {
            content_type: Some("application/json"),
            body: body.to_string().into_bytes(),
            ..Self::empty(status)
        }
    }

    /// The bytes on the wire.
    pub(super) fn encode(&self, method: &str, keep: Keep) -> Vec<u8> {
        let mut bytes = self.head(Some(self.body.len() as u64), false, keep);
        if !self.is_bodiless() && method != "HEAD" {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }

    /// The head on the wire of HTTP/1.1, with this length of its body, where it claims one.
    pub(super) fn head(&self, length: Option<u64>, chunked: bool, keep: Keep) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, phrase(self.status));
        let mut line = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        };
        let scripted = |name: &str| self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        if let Some(content_type) = self.content_type.filter(|_| !scripted("content-type")) {
            line("content-type", content_type);
        }
        for (name, value) in &self.headers {
            line(name, value);
        }
        if let Some(fault) = &self.fault {
            line("x-seawall-fault", fault);
        }
        if let Some(length) = length.filter(|_| !self.is_bodiless()) {
            line("content-length", &length.to_string());
        }
        if chunked {
            line("transfer-encoding", "chunked");
        }
        if keep == Keep::Close {
            line("connection", "close");
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    /// RFC 9110, 8.6: a 204 has no length. A 304 may have one, but clients differ on it.
    pub(super) fn is_bodiless(&self) -> bool {
        matches!(self.status, 204 | 304)
    }
}

/// What a request meets that nothing is held against: a good answer, unless the dialect refuses such requests.
pub(super) fn answer(dialect: Dialect, ask: &Ask<'_>) -> Answer {
    let mut answer = match dialect {
        Dialect::Generic | Dialect::ByPath | Dialect::GitHub => generic(ask),
        Dialect::OpenAi | Dialect::Groq => openai(ask),
        Dialect::Azure => match providers::azure_refuses(ask) {
            Some(refusal) => refusal,
            None => providers::filtered_by_azure(openai(ask)),
        },
    };
    answer.headers = headers(dialect, answer.status, ask, &[]);
    answer
}

/// An error of this status; `scripted` are the headers that its step gives it.
pub(super) fn error(dialect: Dialect, status: u16, ask: &Ask<'_>, scripted: &[(String, String)]) -> Answer {
    let as_told = format!("mock: {status}, as the script says");
    let mut answer = match dialect {
        Dialect::Generic | Dialect::ByPath => {
            refusal(status, &format!("the mock answers {status}, as it was told"))
        }
        Dialect::OpenAi => Answer::json(status, &openai_error(status, &as_told)),
        Dialect::Azure => providers::azure_error(status, &as_told, scripted),
        Dialect::Groq => providers::groq_error(status, &as_told, scripted),
        Dialect::GitHub => providers::github_error(status, &as_told, scripted),
    };
    answer.headers = headers(dialect, status, ask, scripted);
    answer
}

/// The headers of an answer: those that the script gives it, and those that the dialect adds and that agree with them.
pub(super) fn headers(
    dialect: Dialect,
    status: u16,
    ask: &Ask<'_>,
    scripted: &[(String, String)],
) -> Vec<(String, String)> {
    let added = match dialect {
        Dialect::Generic | Dialect::ByPath | Dialect::OpenAi => Vec::new(),
        Dialect::Azure => providers::azure_headers(status, ask, scripted),
        Dialect::Groq => providers::groq_headers(status, ask, scripted),
        Dialect::GitHub => providers::github_headers(ask),
    };
    let mut headers = scripted.to_vec();
    for (name, value) in added {
        if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            headers.push((name.to_owned(), value));
        }
    }
    headers
}

/// What the mock itself has to say.
pub(super) fn refusal(status: u16, message: &str) -> Answer {
    Answer::json(
        status,
        &json!({ "error": { "message": message, "status": status } }),
    )
}

fn openai(ask: &Ask<'_>) -> Answer {
    match (ask.method, ask.path) {
        ("POST", path) if path.ends_with("/chat/completions") => chat(ask),
        ("POST", path) if path.ends_with("/embeddings") => embeddings(ask),
        ("GET", path) if path.ends_with("/models") => models(),
        _ => generic(ask),
    }
}

fn generic(ask: &Ask<'_>) -> Answer {
    Answer::json(
        200,
        &json!({ "ok": true, "model": "mock:generic", "attempt": ask.number }),
    )
}

fn openai_error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("requests", Some("rate_limit_exceeded")),
        400..500 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

fn chat(ask: &Ask<'_>) -> Answer {
    let request: Value = serde_json::from_slice(ask.body).unwrap_or(Value::Null);
    if request["stream"] == Value::Bool(true) {
        let mut answer = Answer::json(501, &openai_error(501, "this mock does not serve streams yet"));
        answer.fault = Some(NOT_SERVED.into());
        return answer;
    }
    let texts: Vec<String> = request["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|message| text_of(&message["content"]))
        .collect();
    let prompt = texts.last().cloned().unwrap_or_default();
    let seen = if texts.is_empty() {
        ask.body
    } else {
        prompt.as_bytes()
    };
    let quoted: String = prompt.chars().take(QUOTED_CHARS_MAX).collect();
    let content = format!("mock answer {:016x} to: {quoted}", hash(seen));
    let prompt_tokens: usize = texts.iter().map(|text| tokens(text)).sum();
    let completion_tokens = tokens(&content);
    Answer::json(
        200,
        &json!({
            "id": format!("chatcmpl-mock-{}-{}", ask.rule, ask.number),
            "object": "chat.completion",
            "created": CREATED_UNIX_SECS,
            "model": model(&request, ask.path),
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": content, "refusal": null },
                "logprobs": null,
                "finish_reason": "stop",
            }],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        }),
    )
}

fn embeddings(ask: &Ask<'_>) -> Answer {
    let request: Value = serde_json::from_slice(ask.body).unwrap_or(Value::Null);
    let inputs: Vec<String> = match &request["input"] {
        Value::Array(inputs) => inputs.iter().take(INPUTS_MAX).map(text_of).collect(),
        other => vec![text_of(other)],
    };
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, input)| json!({ "object": "embedding", "index": index, "embedding": embedding(input) }))
        .collect();
    let prompt_tokens: usize = inputs.iter().map(|text| tokens(text)).sum();
    Answer::json(
        200,
        &json!({
            "object": "list",
            "data": data,
            "model": model(&request, ask.path),
            "usage": { "prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens },
        }),
    )
}

fn models() -> Answer {
    let model =
        json!({ "id": "mock:small", "object": "model", "created": CREATED_UNIX_SECS, "owned_by": "seawall" });
    Answer::json(200, &json!({ "object": "list", "data": [model] }))
}

/// The model that was asked for, by its body or, as at Azure, by the deployment in its path.
fn model(request: &Value, path: &str) -> String {
    let deployment = path
        .split_once("/deployments/")
        .and_then(|(_, rest)| rest.split('/').next());
    let name = request["model"].as_str().or(deployment);
    format!("mock:{}", name.unwrap_or("unnamed"))
}

/// The text of a content: a string, or the text parts of a list.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join(" ")
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}

/// Four characters a token, which is what estimates without a tokeniser use.
fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

fn embedding(text: &str) -> Vec<f64> {
    (0..EMBEDDING_DIMENSIONS)
        .map(|dimension| {
            let hashed = hash(format!("{dimension}:{text}").as_bytes());
            f64::from(u32::try_from(hashed % 2_000_001).unwrap_or_default()) / 1_000_000.0 - 1.0
        })
        .collect()
}

/// FNV-1a: the same in every version and on every machine.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        425 => "Too Early",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        // The phrase means nothing to a client (RFC 9112, 4); the space before it is due all the same.
        _ => "",
    }
}
