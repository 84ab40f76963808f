//! Gemini's content, embeddings, token counts and models; its errors.
//!
//! What can go wrong: Gemini says how long to wait in its body alone (`RetryInfo`), a day's quota and a minute's are the
//! same status, and without `alt=sse` a stream is one JSON array, whose errors stand in an array as well. A client that
//! never met these reads them as nothing. So all three are here as they are there.

use super::events::{Event, Events, Speaker};
use super::openai;
use super::text::{Pieces, Said, model_of, request_of, text_of, texts_of, tokens};
use super::{Answer, Ask, Told, Wanted, plain};
use crate::plan::Wait;
use crate::plan::limit::{Refusal, retry_delay};
use serde_json::{Value, json};

/// The most texts that one answer of embeddings covers.
const INPUTS_MAX: usize = 2_048;

/// What an error of one status is called (`google.rpc.Code`).
const CODES: [(u16, &str); 11] = [
    (400, "INVALID_ARGUMENT"),
    (401, "UNAUTHENTICATED"),
    (403, "PERMISSION_DENIED"),
    (404, "NOT_FOUND"),
    (409, "ABORTED"),
    (429, "RESOURCE_EXHAUSTED"),
    (499, "CANCELLED"),
    (500, "INTERNAL"),
    (501, "UNIMPLEMENTED"),
    (503, "UNAVAILABLE"),
    (504, "DEADLINE_EXCEEDED"),
];
/// Names that no status above has.
const OTHER_CODES: [&str; 5] = [
    "UNKNOWN",
    "ALREADY_EXISTS",
    "FAILED_PRECONDITION",
    "OUT_OF_RANGE",
    "DATA_LOSS",
];

/// What stands after the last colon of a path.
fn verb<'a>(ask: &Ask<'a>) -> &'a str {
    let last = ask.path.rsplit('/').next().unwrap_or("");
    last.rsplit_once(':').map_or("", |(_, verb)| verb)
}

fn is_sse(ask: &Ask<'_>) -> bool {
    ask.query.split('&').any(|pair| pair == "alt=sse")
}

/// Gemini also speaks OpenAI's dialect, at paths of its own.
fn is_openai(ask: &Ask<'_>) -> bool {
    ask.path.contains("/openai/")
}

/// Whether the request asks for its answer as a stream.
pub(super) fn wanted(ask: &Ask<'_>) -> Wanted {
    if is_openai(ask) {
        return openai::wanted(ask);
    }
    match (ask.method, verb(ask)) {
        ("POST", "streamGenerateContent") => Wanted::Stream,
        _ => Wanted::Whole,
    }
}

/// A good answer in one piece.
pub(super) fn answer(ask: &Ask<'_>) -> Answer {
    if is_openai(ask) {
        return openai::answer(ask);
    }
    match (ask.method, verb(ask)) {
        ("POST", "generateContent" | "streamGenerateContent") => {
            let (content, said) = ContentStream::parts(ask);
            let usage = content.usage(said.completion_tokens());
            Answer::json(200, &content.object(&said.text, json!("STOP"), usage))
        }
        ("POST", "countTokens") => {
            let (content, _) = ContentStream::parts(ask);
            let body = json!({ "totalTokens": content.prompt_tokens, "model": content.model });
            Answer::json(200, &body)
        }
        ("POST", "embedContent") => {
            let request = request_of(ask.body);
            let values = openai::embedding(&text_of(&request["content"]["parts"]));
            Answer::json(
                200,
                &json!({ "embedding": { "values": values }, "model": model(ask) }),
            )
        }
        ("POST", "batchEmbedContents") => {
            let request = request_of(ask.body);
            let requests = request["requests"]
                .as_array()
                .into_iter()
                .flatten()
                .take(INPUTS_MAX);
            let embeddings: Vec<Value> = requests
                .map(|one| json!({ "values": openai::embedding(&text_of(&one["content"]["parts"])) }))
                .collect();
            Answer::json(200, &json!({ "embeddings": embeddings, "model": model(ask) }))
        }
        ("GET", _) if ask.path.ends_with("/models") => {
            Answer::json(200, &json!({ "models": [described("mock:small")] }))
        }
        ("GET", _) if ask.path.contains("/models/") => Answer::json(200, &described(&model(ask))),
        _ => plain::answer(ask),
    }
}

/// A good answer as a stream.
pub(super) fn stream(ask: &Ask<'_>, events: Option<u32>) -> Events {
    if is_openai(ask) {
        return openai::stream(crate::plan::Dialect::Gemini, ask, events);
    }
    if !matches!(verb(ask), "generateContent" | "streamGenerateContent") {
        return plain::stream(ask, events);
    }
    let (content, said) = ContentStream::parts(ask);
    let (speaker, pieces) = (Speaker::Gemini(content), said.pieces(events));
    match is_sse(ask) {
        true => Events::sse(speaker, pieces),
        false => Events::array(speaker, pieces),
    }
}

/// An error. Of `code`, a name of `google.rpc.Code` is its status, a quota's id (`…PerDay…`) the quota that is spent,
/// and any other word the reason of its `ErrorInfo`.
pub(super) fn error(status: u16, message: &str, ask: &Ask<'_>, told: Told<'_>) -> Answer {
    let is_code = |word: &str| CODES.iter().any(|(_, code)| *code == word) || OTHER_CODES.contains(&word);
    let known = CODES.iter().find(|(of, _)| *of == status);
    let name = match (told.code.filter(|word| is_code(word)), known) {
        (Some(code), _) => code,
        (None, Some((_, code))) => code,
        (None, None) if status < 500 => "INVALID_ARGUMENT",
        (None, None) => "UNKNOWN",
    };
    let mut details = Vec::new();
    match (told.refusal, told.code.filter(|word| !is_code(word))) {
        (Some(refusal), _) => details.push(quota_failure(Quota::of(refusal))),
        (None, Some(quota)) if quota.contains("Per") => details.push(quota_failure(Quota::named(quota))),
        (None, Some(reason)) => details.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "googleapis.com",
        })),
        (None, None) if status == 429 => details.push(quota_failure(Quota::named(REQUESTS_A_MINUTE))),
        (None, None) => {}
    }
    let wait = match told.refusal.map(|refusal| refusal.wait) {
        Some(Wait::For(wait)) => Some(retry_delay(wait)),
        Some(Wait::UntilOneEnds | Wait::Never) => None,
        None => told.body_wait_ms(status).map(proto_duration),
    };
    if let Some(wait) = wait {
        details.push(json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": wait }));
    }
    let mut error = json!({ "code": status, "message": message, "status": name });
    if !details.is_empty() {
        error["details"] = Value::Array(details);
    }
    let body = json!({ "error": error });
    match wanted(ask) {
        Wanted::Stream if !is_sse(ask) && !is_openai(ask) => Answer::json(status, &json!([body])),
        Wanted::Stream | Wanted::Whole => Answer::json(status, &body),
    }
}

/// The error event of a stream that has begun.
pub(super) fn stream_error() -> Event {
    let message = "The model is overloaded (mock: in the middle of the stream, as the script says)";
    Event::bare(&json!({ "error": { "code": 503, "message": message, "status": "UNAVAILABLE" } }))
}

/// The quota of requests a minute, by its id.
const REQUESTS_A_MINUTE: &str = "GenerateRequestsPerMinutePerProjectPerModel";

/// A quota that is spent.
struct Quota<'a> {
    counts: &'static str,
    id: &'a str,
    value: u64,
}

impl<'a> Quota<'a> {
    /// A quota of requests, where nothing but its id is known.
    fn named(id: &'a str) -> Self {
        Self {
            counts: "generate_content_requests",
            id,
            value: 60,
        }
    }

    /// The quota of a limit.
    fn of(refusal: &Refusal) -> Self {
        match refusal.counts_tokens() {
            true => Self {
                counts: "generate_content_input_token_count",
                id: "GenerateContentInputTokensPerModelPerMinute",
                value: refusal.limit,
            },
            false => Self {
                value: refusal.limit,
                ..Self::named(REQUESTS_A_MINUTE)
            },
        }
    }
}

fn quota_failure(quota: Quota<'_>) -> Value {
    let violation = json!({
        "quotaMetric": format!("generativelanguage.googleapis.com/{}", quota.counts),
        "quotaId": quota.id,
        "quotaValue": quota.value.to_string(),
    });
    json!({ "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation] })
}

/// `17s`, `1.500s`: how protobuf writes a length of time.
fn proto_duration(ms: u64) -> String {
    match (ms / 1_000, ms % 1_000) {
        (seconds, 0) => format!("{seconds}s"),
        (seconds, rest) => format!("{seconds}.{rest:03}s"),
    }
}

/// The model in the path.
fn model(ask: &Ask<'_>) -> String {
    let last = ask.path.rsplit_once("/models/").map(|(_, last)| last);
    let name = last.map(|last| last.split(':').next().unwrap_or(last));
    // A mock's own model has the colon that ends a name here.
    match last.and_then(|last| last.strip_prefix("mock:")) {
        Some(rest) => model_of(rest.split(':').next()),
        None => model_of(name),
    }
}

fn described(name: &str) -> Value {
    json!({
        "name": format!("models/{}", name.trim_start_matches("mock:")),
        "version": "001",
        "displayName": name,
        "model": name,
        "inputTokenLimit": 64_000,
        "outputTokenLimit": 8_192,
        "supportedGenerationMethods": ["generateContent", "countTokens", "embedContent"],
    })
}

/// Content as it comes to be.
#[derive(Clone, Debug)]
pub(super) struct ContentStream {
    id: String,
    model: String,
    prompt_tokens: u64,
}

impl ContentStream {
    fn parts(ask: &Ask<'_>) -> (Self, Said) {
        let request = request_of(ask.body);
        // Two spellings: the API takes the members of a message in either.
        let system = [&request["systemInstruction"], &request["system_instruction"]];
        let system: u64 = system
            .iter()
            .map(|system| tokens(&text_of(&system["parts"])))
            .sum();
        let contents = match &request["contents"] {
            Value::Null => &request["generateContentRequest"]["contents"],
            contents => contents,
        };
        let said = Said::to(&texts_of(contents, "parts"), ask.body);
        let content = Self {
            id: format!("mock-{}-{}", ask.rule, ask.number),
            model: model(ask),
            prompt_tokens: said.prompt_tokens + system,
        };
        (content, said)
    }

    pub(super) fn piece(&self, text: &str) -> Event {
        let usage = json!({ "promptTokenCount": self.prompt_tokens, "totalTokenCount": self.prompt_tokens });
        Event::bare(&self.object(text, Value::Null, usage))
    }

    pub(super) fn end(&self, pieces: &Pieces) -> Vec<Event> {
        vec![Event::bare(&self.object(
            "",
            json!("STOP"),
            self.usage(pieces.tokens()),
        ))]
    }

    fn usage(&self, candidates: u64) -> Value {
        json!({
            "promptTokenCount": self.prompt_tokens,
            "candidatesTokenCount": candidates,
            "totalTokenCount": self.prompt_tokens + candidates,
        })
    }

    fn object(&self, text: &str, finish_reason: Value, usage: Value) -> Value {
        let content = json!({ "role": "model", "parts": [{ "text": text }] });
        let mut candidate = json!({ "index": 0, "content": content });
        if !finish_reason.is_null() {
            candidate["finishReason"] = finish_reason;
        }
        json!({
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": self.model,
            "model": self.model,
            "responseId": self.id,
        })
    }
}
