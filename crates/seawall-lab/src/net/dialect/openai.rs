//! OpenAI's chat, completions, embeddings and models, which Azure and Groq speak as well; its errors.

use super::events::{Event, Events, Speaker};
use super::text::{Pieces, Said, model_of, request_of, text_of, texts_of, tokens};
use super::{Answer, Ask, CREATED_UNIX_SECS, Told, Wanted, base64, plain, providers, responses};
use crate::fnv::hash;
use crate::plan::Dialect;
use crate::plan::limit::go_duration;
use seawall_core::time::Duration;
use serde_json::{Value, json};

/// The most inputs that one embeddings answer covers.
const INPUTS_MAX: usize = 2_048;
/// How many numbers a mock embedding has.
const EMBEDDING_DIMENSIONS: usize = 8;

/// What a path asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Chat,
    Completions,
    Responses,
    Embeddings,
    Models,
    Other,
}

impl Endpoint {
    fn of(ask: &Ask<'_>) -> Self {
        match ask.method {
            "POST" if ask.path.ends_with("/chat/completions") => Self::Chat,
            "POST" if ask.path.ends_with("/completions") => Self::Completions,
            _ if ask.path.ends_with("/responses") || ask.path.contains("/responses/") => Self::Responses,
            "POST" if ask.path.ends_with("/embeddings") => Self::Embeddings,
            "GET" if ask.path.ends_with("/models") || ask.path.contains("/models/") => Self::Models,
            _ => Self::Other,
        }
    }
}

/// Whether the request asks for its answer as a stream.
pub(super) fn wanted(ask: &Ask<'_>) -> Wanted {
    let asks = || request_of(ask.body)["stream"] == Value::Bool(true);
    match Endpoint::of(ask) {
        Endpoint::Chat | Endpoint::Completions | Endpoint::Responses if ask.method == "POST" && asks() => {
            Wanted::Stream
        }
        Endpoint::Chat
        | Endpoint::Completions
        | Endpoint::Responses
        | Endpoint::Embeddings
        | Endpoint::Models
        | Endpoint::Other => Wanted::Whole,
    }
}

/// A good answer in one piece.
pub(super) fn answer(ask: &Ask<'_>) -> Answer {
    match Endpoint::of(ask) {
        Endpoint::Chat => chat(ask),
        Endpoint::Completions => completion(ask),
        Endpoint::Responses => responses::answer(ask),
        Endpoint::Embeddings => embeddings(ask),
        Endpoint::Models => models(ask),
        Endpoint::Other => plain::answer(ask),
    }
}

/// A good answer as a stream.
pub(super) fn stream(dialect: Dialect, ask: &Ask<'_>, events: Option<u32>) -> Events {
    match Endpoint::of(ask) {
        Endpoint::Chat => ChatStream::of(dialect, ask, events),
        Endpoint::Completions => CompletionStream::of(ask, events),
        Endpoint::Responses => responses::stream(ask, events),
        Endpoint::Embeddings | Endpoint::Models | Endpoint::Other => plain::stream(ask, events),
    }
}

/// What an error of one status is called, where its step does not say.
const ERRORS: [(u16, &str, Option<&str>); 3] = [
    (401, "invalid_request_error", Some("invalid_api_key")),
    (404, "invalid_request_error", Some("model_not_found")),
    (429, "requests", Some("rate_limit_exceeded")),
];
/// Codes that are also the type of their error.
const KINDS: [&str; 5] = [
    "insufficient_quota",
    "billing_not_active",
    "server_error",
    "invalid_request_error",
    "tokens",
];
/// The words of a message that clients look for.
const PHRASES: [(&str, &str); 3] = [
    (
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details",
    ),
    (
        "context_length_exceeded",
        "This model's maximum context length is exceeded",
    ),
    ("rate_limit_exceeded", "Rate limit reached"),
];

pub(super) fn error(status: u16, message: &str, told: Told<'_>) -> Answer {
    let known = ERRORS.iter().find(|(of, _, _)| *of == status);
    let kind = match (known, told.code) {
        _ if let Some(kind) = told.limit_kind() => kind,
        (_, Some(code)) if KINDS.contains(&code) => code,
        (Some((_, kind, _)), _) => kind,
        (None, _) if status < 500 => "invalid_request_error",
        (None, _) => "server_error",
    };
    let code = told.code.or(known.and_then(|(_, _, code)| *code));
    let phrase = PHRASES.iter().find(|(of, _)| Some(*of) == told.code);
    let mut message = match phrase {
        Some((_, phrase)) => format!("{phrase} ({message})"),
        None => message.to_owned(),
    };
    if let Some(ms) = told.body_wait_ms(status) {
        message.push_str(&format!(
            ". Please try again in {}.",
            go_duration(Duration::from_millis(ms))
        ));
    }
    let error = json!({ "message": message, "type": kind, "param": null, "code": code });
    Answer::json(status, &json!({ "error": error }))
}

/// The error event of a stream that has begun.
pub(super) fn stream_error() -> Event {
    let message = "mock: an error in the middle of the stream, as the script says";
    let error = json!({ "message": message, "type": "server_error", "param": null, "code": null });
    Event::bare(&json!({ "error": error }))
}

/// What is said to a chat.
fn said(request: &Value, ask: &Ask<'_>) -> Said {
    Said::to(&texts_of(&request["messages"], "content"), ask.body)
}

/// The model that was asked for, by its body or, as at Azure, by the deployment in its path.
pub(super) fn model(request: &Value, path: &str) -> String {
    let deployment = path
        .split_once("/deployments/")
        .and_then(|(_, rest)| rest.split('/').next());
    model_of(request["model"].as_str().or(deployment))
}

fn usage(prompt: u64, completion: u64) -> Value {
    json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion })
}

fn chat(ask: &Ask<'_>) -> Answer {
    let request = request_of(ask.body);
    let said = said(&request, ask);
    Answer::json(
        200,
        &json!({
            "id": format!("chatcmpl-mock-{}-{}", ask.rule, ask.number),
            "object": "chat.completion",
            "created": CREATED_UNIX_SECS,
            "model": model(&request, ask.path),
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": said.text, "refusal": null },
                "logprobs": null,
                "finish_reason": "stop",
            }],
            "usage": usage(said.prompt_tokens, said.completion_tokens()),
        }),
    )
}

/// Whether a stream ends by telling its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UsageTold {
    No,
    /// `stream_options.include_usage`: in a chunk of its own.
    InChunk,
    /// Groq, unasked: beside the last choice.
    AsGroq,
}

/// A chat in chunks.
#[derive(Clone, Debug)]
pub(super) struct ChatStream {
    id: String,
    model: String,
    prompt_tokens: u64,
    usage: UsageTold,
    dialect: Dialect,
}

impl ChatStream {
    fn of(dialect: Dialect, ask: &Ask<'_>, events: Option<u32>) -> Events {
        let request = request_of(ask.body);
        let said = said(&request, ask);
        let asked = request["stream_options"]["include_usage"] == Value::Bool(true);
        let usage = match dialect {
            _ if asked => UsageTold::InChunk,
            Dialect::Groq => UsageTold::AsGroq,
            Dialect::ByPath
            | Dialect::OpenAi
            | Dialect::Anthropic
            | Dialect::Gemini
            | Dialect::Azure
            | Dialect::Stripe
            | Dialect::GitHub
            | Dialect::Generic => UsageTold::No,
        };
        let chat = Self {
            id: format!("chatcmpl-mock-{}-{}", ask.rule, ask.number),
            model: model(&request, ask.path),
            prompt_tokens: said.prompt_tokens,
            usage,
            dialect,
        };
        Events::sse(Speaker::Chat(chat), said.pieces(events))
    }

    pub(super) fn head(&self) -> Vec<Event> {
        let role = json!({ "role": "assistant", "content": "", "refusal": null });
        let role = Event::bare(&self.chunk(role, Value::Null));
        match self.dialect {
            Dialect::Azure => vec![Event::bare(&providers::azure_preamble()), role],
            Dialect::ByPath
            | Dialect::OpenAi
            | Dialect::Anthropic
            | Dialect::Gemini
            | Dialect::Groq
            | Dialect::Stripe
            | Dialect::GitHub
            | Dialect::Generic => vec![role],
        }
    }

    pub(super) fn piece(&self, text: &str) -> Event {
        Event::bare(&self.chunk(json!({ "content": text }), Value::Null))
    }

    pub(super) fn end(&self, pieces: &Pieces) -> Vec<Event> {
        let mut last = self.chunk(json!({}), json!("stop"));
        let usage = || usage(self.prompt_tokens, pieces.tokens());
        match self.usage {
            UsageTold::No => vec![Event::bare(&last), Event::done()],
            UsageTold::AsGroq => {
                last["x_groq"] = json!({ "id": self.id, "usage": usage() });
                vec![Event::bare(&last), Event::done()]
            }
            UsageTold::InChunk => {
                let mut chunk = self.chunk(json!({}), Value::Null);
                chunk["choices"] = json!([]);
                chunk["usage"] = usage();
                vec![Event::bare(&last), Event::bare(&chunk), Event::done()]
            }
        }
    }

    fn chunk(&self, delta: Value, finish_reason: Value) -> Value {
        let mut choice = json!({ "index": 0, "logprobs": null });
        choice["delta"] = delta;
        choice["finish_reason"] = finish_reason;
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": CREATED_UNIX_SECS,
            "model": self.model,
            "choices": [choice],
        });
        if self.usage == UsageTold::InChunk {
            // Who asks for usage finds the member in every chunk, null but in the last.
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

fn completion(ask: &Ask<'_>) -> Answer {
    let (stream, said) = CompletionStream::parts(ask);
    let mut body = stream.chunk(&said.text, json!("stop"));
    body["usage"] = usage(said.prompt_tokens, said.completion_tokens());
    Answer::json(200, &body)
}

/// A completion of the kind that was there before chats.
#[derive(Clone, Debug)]
pub(super) struct CompletionStream {
    id: String,
    model: String,
}

impl CompletionStream {
    fn of(ask: &Ask<'_>, events: Option<u32>) -> Events {
        let (stream, said) = Self::parts(ask);
        Events::sse(Speaker::Completion(stream), said.pieces(events))
    }

    fn parts(ask: &Ask<'_>) -> (Self, Said) {
        let request = request_of(ask.body);
        let prompts: Vec<String> = match &request["prompt"] {
            Value::Null => Vec::new(),
            Value::Array(prompts) => prompts.iter().take(INPUTS_MAX).map(text_of).collect(),
            prompt => vec![text_of(prompt)],
        };
        let stream = Self {
            id: format!("cmpl-mock-{}-{}", ask.rule, ask.number),
            model: model(&request, ask.path),
        };
        (stream, Said::to(&prompts, ask.body))
    }

    pub(super) fn piece(&self, text: &str) -> Event {
        Event::bare(&self.chunk(text, Value::Null))
    }

    pub(super) fn end(&self, _: &Pieces) -> Vec<Event> {
        vec![Event::bare(&self.chunk("", json!("stop"))), Event::done()]
    }

    fn chunk(&self, text: &str, finish_reason: Value) -> Value {
        let mut choice = json!({ "index": 0, "text": text, "logprobs": null });
        choice["finish_reason"] = finish_reason;
        json!({
            "id": self.id,
            "object": "text_completion",
            "created": CREATED_UNIX_SECS,
            "model": self.model,
            "choices": [choice],
        })
    }
}

fn embeddings(ask: &Ask<'_>) -> Answer {
    let request = request_of(ask.body);
    let inputs: Vec<String> = match &request["input"] {
        Value::Array(inputs) => inputs.iter().take(INPUTS_MAX).map(text_of).collect(),
        other => vec![text_of(other)],
    };
    let packed = request["encoding_format"] == "base64";
    let data: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(index, input)| {
            let embedding = match packed {
                true => json!(base64(&little_endian(&embedding(input)))),
                false => json!(embedding(input)),
            };
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        })
        .collect();
    let prompt_tokens: u64 = inputs.iter().map(|text| tokens(text)).sum();
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

/// The numbers of a text: the same for the same, between -1 and 1.
pub(super) fn embedding(text: &str) -> Vec<f64> {
    (0..EMBEDDING_DIMENSIONS)
        .map(|dimension| {
            let hashed = hash(format!("{dimension}:{text}").as_bytes());
            f64::from(u32::try_from(hashed % 2_000_001).unwrap_or_default()) / 1_000_000.0 - 1.0
        })
        .collect()
}

/// As OpenAI packs them, which its own libraries ask for unasked.
#[expect(clippy::cast_possible_truncation, reason = "the wire has 32 bits a number")]
fn little_endian(numbers: &[f64]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| (*number as f32).to_le_bytes())
        .collect()
}

fn models(ask: &Ask<'_>) -> Answer {
    let model = |name: &str| json!({ "id": name, "object": "model", "created": CREATED_UNIX_SECS, "owned_by": "seawall" });
    match ask.path.split_once("/models/") {
        Some((_, name)) => Answer::json(200, &model(&model_of(Some(name)))),
        None => Answer::json(200, &json!({ "object": "list", "data": [model("mock:small")] })),
    }
}
