//! Bodies: what a good answer and an error look like in each dialect.
//!
//! Answers are a function of the request and the attempt's number, so that runs can be compared byte for byte. A
//! body that cannot be read as JSON decides nothing: it is answered all the same, from its bytes.

mod anthropic;
mod events;
mod gemini;
mod openai;
mod plain;
mod providers;
mod responses;
mod stripe;
mod text;

use super::http1::Keep;
pub(super) use crate::plan::Wanted;

use crate::plan::Dialect;
use crate::plan::limit::Refusal;
use crate::script::{Body, Reply};
use serde_json::{Value, json};
use std::borrow::Cow;

pub(super) use events::{Events, Part, PartKind};
pub(super) use text::tokens;

/// The fault of what was asked for and cannot be served.
pub(super) const NOT_SERVED: &str = "not-served";
/// When every answer says it was made (2025-01-01): a real date would make two equal runs differ.
const CREATED_UNIX_SECS: u64 = 1_735_689_600;
/// The same, as Anthropic writes it.
const CREATED_RFC3339: &str = "2025-01-01T00:00:00Z";

/// What was asked.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    /// The `api-key` or the `authorization`, where one was sent.
    pub(super) credential: Option<&'a [u8]>,
    /// The `idempotency-key`.
    pub(super) key: Option<&'a [u8]>,
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

    /// Its headers, but those of the framing.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let scripted = |name: &str| self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let content_type = self
            .content_type
            .filter(|_| !scripted("content-type") && !self.is_bodiless());
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let fault = self.fault.as_deref().map(|fault| ("x-seawall-fault", fault));
        content_type
            .map(|value| ("content-type", value))
            .into_iter()
            .chain(headers)
            .chain(fault)
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
        for (name, value) in self.fields() {
            line(name, value);
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

    /// Whether its body is the text of events.
    pub(super) fn is_events(&self) -> bool {
        self.content_type == Some("text/event-stream")
    }

    /// RFC 9110, 8.6: a 204 has no length. A 304 may have one, but clients differ on it.
    pub(super) fn is_bodiless(&self) -> bool {
        matches!(self.status, 204 | 304)
    }
}

/// What a step, or a limit, says of its error.
#[derive(Clone, Copy, Default)]
pub(super) struct Told<'a> {
    /// The headers that it gives the answer.
    pub(super) headers: &'a [(String, String)],
    /// The provider's word for it (`code=`).
    pub(super) code: Option<&'a str>,
    /// A wait that the body alone tells (`retry-in=`), in milliseconds.
    pub(super) wait_ms: Option<u64>,
    /// What a limit says that refuses: its message tells the wait already.
    pub(super) refusal: Option<&'a Refusal>,
}

impl<'a> Told<'a> {
    /// Nothing beside a status.
    pub(super) const NOTHING: Self = Self {
        headers: &[],
        code: None,
        wait_ms: None,
        refusal: None,
    };

    /// What a scripted reply says.
    pub(super) fn of(reply: &'a Reply) -> Self {
        let (code, wait_ms) = match &reply.body {
            Body::Worded(wording) => (
                wording.code.as_deref(),
                // Up, as hints are: an early retry would break the word that was given.
                wording.wait.map(|wait| wait.as_nanos().div_ceil(1_000_000)),
            ),
            Body::Dialect | Body::Raw(_) | Body::Text(_) | Body::Json(_) => (None, None),
        };
        Self {
            headers: &reply.headers,
            code,
            wait_ms,
            refusal: None,
        }
    }

    /// How long the headers say to wait, where they say a number.
    fn header_wait_ms(&self) -> Option<u64> {
        let number = |name| self.header(name).and_then(|value| value.parse::<u64>().ok());
        number("retry-after-ms").or_else(|| number("retry-after").and_then(|secs| secs.checked_mul(1_000)))
    }

    /// How long the body of an error says to wait: what it was told to, or what the headers of a throttle say.
    fn body_wait_ms(&self, status: u16) -> Option<u64> {
        let throttles = matches!(status, 429 | 503);
        self.wait_ms
            .or_else(|| self.header_wait_ms().filter(|_| throttles))
    }

    /// The type of error by which OpenAI's kin tell which limit refuses.
    fn limit_kind(&self) -> Option<&'static str> {
        self.refusal.map(|refusal| match refusal.counts_tokens() {
            true => "tokens",
            false => "requests",
        })
    }

    fn header(&self, name: &str) -> Option<&'a str> {
        let mut named = self
            .headers
            .iter()
            .filter(|(given, _)| given.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.as_str())
    }
}

/// The way in which this request wants its answer.
pub(super) fn wanted(dialect: Dialect, ask: &Ask<'_>) -> Wanted {
    match dialect {
        Dialect::Generic | Dialect::ByPath | Dialect::GitHub | Dialect::Stripe => Wanted::Whole,
        Dialect::OpenAi | Dialect::Groq | Dialect::Azure => openai::wanted(ask),
        Dialect::Anthropic => anthropic::wanted(ask),
        Dialect::Gemini => gemini::wanted(ask),
    }
}

/// A good answer in the way in which it is wanted, unless the dialect refuses such requests. A stream that is wanted is
/// here whole, with the length of its text; [`stream`] has it in parts.
pub(super) fn answer(dialect: Dialect, ask: &Ask<'_>) -> Answer {
    if let Some(refusal) = refusal_of(dialect, ask) {
        return refusal;
    }
    let mut answer = match wanted(dialect, ask) {
        Wanted::Stream => {
            let events = stream(dialect, ask, None);
            Answer {
                content_type: Some(events.content_type()),
                body: events.whole(),
                ..Answer::empty(200)
            }
        }
        Wanted::Whole => match dialect {
            Dialect::Generic | Dialect::ByPath | Dialect::GitHub => plain::answer(ask),
            Dialect::OpenAi | Dialect::Groq => openai::answer(ask),
            Dialect::Azure => providers::filtered_by_azure(openai::answer(ask)),
            Dialect::Anthropic => anthropic::answer(ask),
            Dialect::Gemini => gemini::answer(ask),
            Dialect::Stripe => stripe::answer(ask),
        },
    };
    answer.headers = headers(dialect, answer.status, ask, Told::NOTHING);
    answer
}

/// The same answer as a stream, whether or not it is wanted as one; with so many content events, or as many as its
/// text has words. Where a path has no streams, these are plain events.
pub(super) fn stream(dialect: Dialect, ask: &Ask<'_>, events: Option<u32>) -> Events {
    match dialect {
        Dialect::Generic | Dialect::ByPath | Dialect::GitHub | Dialect::Stripe => plain::stream(ask, events),
        Dialect::OpenAi | Dialect::Groq | Dialect::Azure => openai::stream(dialect, ask, events),
        Dialect::Anthropic => anthropic::stream(ask, events),
        Dialect::Gemini => gemini::stream(ask, events),
    }
}

/// Why the dialect refuses a request that no right client sends; to be asked before [`stream`].
pub(super) fn refusal_of(dialect: Dialect, ask: &Ask<'_>) -> Option<Answer> {
    match dialect {
        Dialect::Azure => providers::azure_refuses(ask).map(|mut refusal| {
            refusal.headers = headers(dialect, refusal.status, ask, Told::NOTHING);
            refusal
        }),
        Dialect::ByPath
        | Dialect::OpenAi
        | Dialect::Anthropic
        | Dialect::Gemini
        | Dialect::Groq
        | Dialect::Stripe
        | Dialect::GitHub
        | Dialect::Generic => None,
    }
}

/// What a dialect knows of the objects at a path.
pub(super) struct ObjectKind<'p> {
    /// What they are called.
    pub(super) name: &'static str,
    /// What their ids begin with where a resource counts them.
    pub(super) id_prefix: String,
    /// The path at which they stand.
    pub(super) base: &'p str,
}

/// The kind of object that a resource keeps here, where the dialect has words for that.
pub(super) fn object_kind(dialect: Dialect, path: &str) -> Option<ObjectKind<'_>> {
    match dialect {
        Dialect::Stripe => stripe::object_kind(path),
        Dialect::ByPath
        | Dialect::OpenAi
        | Dialect::Anthropic
        | Dialect::Gemini
        | Dialect::Azure
        | Dialect::Groq
        | Dialect::GitHub
        | Dialect::Generic => None,
    }
}

/// An object as JSON after this request, of a path that has an [`object_kind`]; `before` is what it was.
pub(super) fn object_after(ask: &Ask<'_>, id: &str, before: Option<&str>) -> String {
    let before = before.and_then(|text| serde_json::from_str(text).ok());
    stripe::object_after(ask, id, before.unwrap_or_default())
        .map_or_else(String::new, |object| object.to_string())
}

/// An error of this status; `told` is what its step says of it.
pub(super) fn error(dialect: Dialect, status: u16, ask: &Ask<'_>, told: Told<'_>) -> Answer {
    let message = match dialect {
        Dialect::Generic | Dialect::ByPath => format!("the mock answers {status}, as it was told"),
        Dialect::OpenAi
        | Dialect::Anthropic
        | Dialect::Gemini
        | Dialect::Azure
        | Dialect::Groq
        | Dialect::Stripe
        | Dialect::GitHub => format!("mock: {status}, as the script says"),
    };
    error_saying(dialect, status, &message, ask, told)
}

/// An error of this status, in these words.
pub(super) fn error_saying(
    dialect: Dialect,
    status: u16,
    message: &str,
    ask: &Ask<'_>,
    told: Told<'_>,
) -> Answer {
    let mut answer = match dialect {
        Dialect::Generic | Dialect::ByPath => plain::error(status, message, told),
        Dialect::OpenAi => openai::error(status, message, told),
        Dialect::Anthropic => anthropic::error(status, message, ask, told),
        Dialect::Gemini => gemini::error(status, message, ask, told),
        Dialect::Azure => providers::azure_error(status, message, told),
        Dialect::Groq => providers::groq_error(status, message, told),
        Dialect::Stripe => stripe::error(status, message, ask, told),
        Dialect::GitHub => providers::github_error(status, message, told),
    };
    answer.headers = headers(dialect, status, ask, told);
    answer
}

/// The headers of an answer: those that the script gives it, and those that the dialect adds and that agree with them.
pub(super) fn headers(dialect: Dialect, status: u16, ask: &Ask<'_>, told: Told<'_>) -> Vec<(String, String)> {
    let added = match dialect {
        Dialect::Generic | Dialect::ByPath => Vec::new(),
        Dialect::OpenAi => providers::openai_headers(ask),
        Dialect::Anthropic => anthropic::headers(ask),
        Dialect::Gemini => Vec::new(),
        Dialect::Azure => providers::azure_headers(status, ask, told),
        Dialect::Groq => providers::groq_headers(status, ask, told),
        Dialect::Stripe => stripe::headers(status, ask, told),
        Dialect::GitHub => providers::github_headers(ask),
    };
    let mut headers = told.headers.to_vec();
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

/// RFC 4648, 4: how embeddings are packed.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let joined = group
            .iter()
            .fold(0_u32, |joined, byte| joined << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for place in 0..4 {
            let six = (joined >> (18 - 6 * place)) & 63;
            text.push(match place <= group.len() {
                true => char::from(ALPHABET[six as usize]),
                false => '=',
            });
        }
    }
    text
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
        417 => "Expectation Failed",
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

#[cfg(test)]
mod tests;
