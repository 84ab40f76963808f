//! Bytes of a body → [`BodyFacts`]: what a provider says inside its answers.
//!
//! What can go wrong: a client that looks for a quota code in every 429 crashes on an HTML page, takes a float for
//! an error, or lets a body that it could not read overrule the status. So reading never fails: a body that is
//! not what it should be decides nothing, and the status stands. Only a 2xx can be spoilt by its body, and only
//! where nobody can mistake it:
//!
//! - *empty* or *not JSON* where JSON was declared and an answer was due (an inference endpoint also owes
//!   something better than an HTML page);
//! - *an error inside*: at an inference endpoint alone, a top-level object whose `error` is an object, or a
//!   string with nothing beside it, or a stream whose first event is an error. Elsewhere an `error` member is
//!   data: JSON-RPC answers so, and a failed job that is looked up carries its error as it should.
//!
//! What it does not cover: whether the bytes are whole, which only the connection knows; whether a stream of events
//! ends as its dialect demands (rule L3) is for [`read_whole`] to say. Reference: RFC 9457 for problem+json.

mod course;
mod request;
mod sse;
mod stream;
#[cfg(test)]
mod tests;
mod top;
#[cfg(feature = "http")]
mod usage;

use crate::json;
use seawall_core::facts::{BodyFacts, BodyState};
use seawall_core::verdict::Endpoint;
use serde_json::Value;
use stream::whole_stream;
use top::Top;

#[cfg(feature = "http")]
pub(crate) use course::{Complete, Course, Word};
pub use request::{ANSWER_TOKENS_DEFAULT, RequestBody, request_facts};
pub use sse::{EVENT_BYTES_MAX, ServerEvent};
#[cfg(feature = "http")]
pub(crate) use sse::{RawEvent, Sse};
pub(crate) use stream::Events;
#[cfg(feature = "http")]
pub(crate) use usage::Counts;

/// The longest message that is kept of a body: enough for every phrase that decides.
const MESSAGE_BYTES_MAX: usize = 4_096;
/// The longest code or type that is believed to be one.
const CODE_BYTES_MAX: usize = 256;

/// What is known of a body before it is read.
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a> {
    /// What kind of call it answers.
    pub endpoint: Endpoint,
    /// The request's method: a HEAD owes no body.
    pub method: &'a str,
    /// The answer's status.
    pub status: u16,
    /// `content-type`, where there is one.
    pub content_type: Option<&'a [u8]>,
    /// `content-encoding`, where there is one: encoded bytes are not read.
    pub content_encoding: Option<&'a [u8]>,
}

/// [`BodyFacts`] that own their strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedBodyFacts {
    /// What became of the body; [`BodyState::Truncated`] is the connection's to say.
    pub state: BodyState,
    /// The provider's error code.
    pub code: Option<String>,
    /// The provider's error type.
    pub kind: Option<String>,
    /// The provider's message, or the first part of a text.
    pub message: Option<String>,
    /// Google's `RetryInfo.retryDelay`.
    pub retry_delay: Option<String>,
    /// Discord's `retry_after`.
    pub retry_after: Option<String>,
    /// Google's quota for the day is spent.
    pub quota_spent: bool,
}

impl OwnedBodyFacts {
    /// The same, for [`Facts`](seawall_core::facts::Facts).
    pub fn facts(&self) -> BodyFacts<'_> {
        BodyFacts {
            state: self.state,
            code: self.code.as_deref(),
            kind: self.kind.as_deref(),
            message: self.message.as_deref(),
            retry_delay: self.retry_delay.as_deref(),
            retry_after: self.retry_after.as_deref(),
            quota_spent: self.quota_spent,
        }
    }
}

/// Reads a whole body. Never fails and never panics, whatever the bytes are; takes memory in proportion to the
/// error inside, not to the body.
///
/// ```
/// use seawall::body::{Wire, read};
/// use seawall_core::verdict::Endpoint;
/// let wire = Wire {
///     endpoint: Endpoint::Inference,
///     method: "POST",
///     status: 429,
///     content_type: Some(b"application/json"),
///     content_encoding: None,
/// };
/// let facts = read(&wire, br#"{"error":{"code":"insufficient_quota","message":"no money"}}"#);
/// assert_eq!(facts.code.as_deref(), Some("insufficient_quota"));
/// assert_eq!(read(&wire, b"<html>\xff"), read(&wire, "<html>\u{fffd}".as_bytes()));
/// ```
pub fn read(wire: &Wire<'_>, bytes: &[u8]) -> OwnedBodyFacts {
    if is_encoded(wire) {
        return OwnedBodyFacts::default();
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match wire.status {
        200..300 => inside_success(wire, bytes),
        0..400 => OwnedBodyFacts::default(),
        _ => error_body(bytes),
    }
}

/// As [`read`], for a body that its caller gets whole or not at all: a stream of events at an inference endpoint must
/// also have come to its own end (rule L3), without an error on the way.
///
/// ```
/// use seawall::body::{Wire, read_whole};
/// use seawall_core::{facts::BodyState, verdict::Endpoint};
/// let wire = Wire {
///     endpoint: Endpoint::InferenceStream,
///     method: "POST",
///     status: 200,
///     content_type: Some(b"text/event-stream"),
///     content_encoding: None,
/// };
/// let half = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"},\"finish_reason\":null}]}\n\n";
/// assert_eq!(read_whole(&wire, half).state, BodyState::Truncated);
/// let whole = [half, b"data: [DONE]\n\n".as_slice()].concat();
/// assert_eq!(read_whole(&wire, &whole).state, BodyState::WellFormed);
/// ```
pub fn read_whole(wire: &Wire<'_>, bytes: &[u8]) -> OwnedBodyFacts {
    let facts = read(wire, bytes);
    let inference = is_inference(wire.endpoint);
    let answered = (200..300).contains(&wire.status) && facts.state == BodyState::WellFormed;
    match ContentKind::of(wire.content_type) {
        ContentKind::EventStream if inference && answered && !is_encoded(wire) => whole_stream(bytes),
        ContentKind::EventStream
        | ContentKind::Json
        | ContentKind::Html
        | ContentKind::Other
        | ContentKind::Unsaid => facts,
    }
}

/// How much of a good answer is looked at before its caller gets it as it comes.
#[cfg(feature = "http")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// A model's events, up to the first with content.
    Content,
    /// The whole of it, where that is short: it can be spoilt by what it says.
    Whole,
    /// Its first bytes.
    Bytes,
}

#[cfg(feature = "http")]
impl Lead {
    pub(crate) fn of(wire: &Wire<'_>) -> Self {
        if is_encoded(wire) || !is_inference(wire.endpoint) {
            return Self::Bytes;
        }
        match ContentKind::of(wire.content_type) {
            ContentKind::EventStream => Self::Content,
            ContentKind::Json | ContentKind::Html | ContentKind::Unsaid => Self::Whole,
            ContentKind::Other => Self::Bytes,
        }
    }
}

/// Whether a body that says this of itself is events that can be read.
#[cfg(feature = "http")]
pub(crate) fn is_event_stream(content_type: Option<&[u8]>, content_encoding: Option<&[u8]>) -> bool {
    matches!(ContentKind::of(content_type), ContentKind::EventStream) && !says_encoded(content_encoding)
}

/// The error that a stream's first event is, from the event's name and data; nothing where it is content.
///
/// Call it with the first event of a stream at an inference endpoint, before anything is handed on. A comment or
/// a ping is not an event to ask about.
pub fn error_event(name: &str, data: &[u8]) -> Option<OwnedBodyFacts> {
    let mut top = Top::read(data).unwrap_or_default();
    let failed = matches!(top.text("type"), Some("error" | "response.failed"));
    if let Some(nested) = top.take_nested("response") {
        top = nested;
    }
    if !(name == "error" || failed || top.error_object().is_some() || top.is_error_text_alone()) {
        return None;
    }
    let mut facts = from_top(&top);
    facts.message = facts.message.or_else(|| text_start(data));
    facts.state = BodyState::ErrorInside;
    Some(facts)
}

fn inside_success(wire: &Wire<'_>, bytes: &[u8]) -> OwnedBodyFacts {
    let spoilt = |state| OwnedBodyFacts {
        state,
        ..OwnedBodyFacts::default()
    };
    let kind = ContentKind::of(wire.content_type);
    let inference = is_inference(wire.endpoint);
    if bytes.is_empty() {
        let due = wire.method != "HEAD" && !matches!(wire.status, 204 | 205);
        let promised = match kind {
            ContentKind::Json | ContentKind::EventStream => true,
            ContentKind::Html | ContentKind::Other | ContentKind::Unsaid => inference,
        };
        return spoilt(if due && promised {
            BodyState::Empty
        } else {
            BodyState::WellFormed
        });
    }
    match kind {
        ContentKind::EventStream if inference => Events::of(bytes)
            .next()
            .and_then(|(name, data)| error_event(&name, &data))
            .unwrap_or_default(),
        ContentKind::Html if inference => spoilt(BodyState::Undecodable),
        ContentKind::Json => json_success(inference, bytes),
        ContentKind::Unsaid if inference && matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[')) => {
            json_success(inference, bytes)
        }
        ContentKind::EventStream | ContentKind::Html | ContentKind::Other | ContentKind::Unsaid => {
            OwnedBodyFacts::default()
        }
    }
}

fn json_success(inference: bool, bytes: &[u8]) -> OwnedBodyFacts {
    if is_plainly_good(bytes) {
        return OwnedBodyFacts::default();
    }
    let Some(top) = Top::read(bytes) else {
        return OwnedBodyFacts {
            state: BodyState::Undecodable,
            ..OwnedBodyFacts::default()
        };
    };
    if inference && (top.error_object().is_some() || top.is_error_text_alone()) {
        return OwnedBodyFacts {
            state: BodyState::ErrorInside,
            ..from_top(&top)
        };
    }
    OwnedBodyFacts::default()
}

/// Whether the bytes are JSON that holds no error at its top, without a look at what else it holds: nearly always.
fn is_plainly_good(bytes: &[u8]) -> bool {
    let mut says_error = false;
    let read = json::walk(bytes, &mut |path, _, _| {
        says_error |= path.depth() == 1 && (path.is(&["error"]) || path.is(&["errors"]));
        // Gemini wraps the errors of its streams in a list.
        says_error |= path.is(&["*", "error"]) || path.is(&["*", "errors"]);
    });
    read.is_some() && !says_error
}

fn error_body(bytes: &[u8]) -> OwnedBodyFacts {
    match Top::read(bytes) {
        Some(top) => from_top(&top),
        None => OwnedBodyFacts {
            message: text_start(bytes),
            ..OwnedBodyFacts::default()
        },
    }
}

/// The facts of a JSON object in whichever provider's shape it is: the shapes share no key with two meanings.
fn from_top(top: &Top) -> OwnedBodyFacts {
    let mut facts = OwnedBodyFacts {
        retry_after: top.number_or_text("retry_after"),
        ..OwnedBodyFacts::default()
    };
    if let Some(error) = top.error_object() {
        let text = |key| error.get(key).and_then(Value::as_str);
        // Google's `code` repeats the status as a number; its `status` is the name that others call code.
        facts.code = code(text("status").or(text("code")));
        facts.kind = code(text("type"));
        facts.message = text("message").map(message);
        if let Some(details) = error.get("details").and_then(Value::as_array) {
            google_details(details, &mut facts);
        }
        facts.quota_spent |= facts.message.as_deref().is_some_and(says_limit_zero);
        // Azure names the finer reason inside.
        let inner = error.get("innererror").and_then(|inner| inner.get("code"));
        facts.kind = facts.kind.or_else(|| code(inner.and_then(Value::as_str)));
        return facts;
    }
    let error_text = top.text("error");
    // RFC 9457 names a problem by a URI whose last part says it; AWS and Cloudflare have names of their own.
    facts.kind = code(top.text("__type").or(top.text("type")).map(last_part));
    facts.code = code(
        top.text("code")
            .or(top.text("error_name"))
            .or(error_text.filter(|text| is_name(text))),
    );
    facts.message = top
        .text("message")
        .or(top.text("detail"))
        .or(top.text("error_description"))
        .or(error_text)
        .or(top.text("title"))
        .map(message);
    facts
}

/// Google's details: when to come back, which quota was hit, and the reason in words.
fn google_details(details: &[Value], facts: &mut OwnedBodyFacts) {
    for detail in details {
        let text = |key| detail.get(key).and_then(Value::as_str);
        match text("@type").map(last_part) {
            Some("google.rpc.RetryInfo") => facts.retry_delay = text("retryDelay").map(message),
            Some("google.rpc.ErrorInfo") => facts.kind = code(text("reason")),
            Some("google.rpc.QuotaFailure") => {
                let violations = detail.get("violations").and_then(Value::as_array);
                facts.quota_spent |= violations.is_some_and(|all| all.iter().any(is_spent_for_the_day));
            }
            Some(_) | None => {}
        }
    }
}

fn is_spent_for_the_day(violation: &Value) -> bool {
    let text = |key| violation.get(key).and_then(Value::as_str).unwrap_or("");
    text("quotaId").contains("PerDay") || text("quotaValue") == "0" || says_limit_zero(text("description"))
}

/// `limit: 0` and not `limit: 05`: a quota of nothing, which no waiting fills.
fn says_limit_zero(text: &str) -> bool {
    text.match_indices("limit: 0").any(|(at, found)| {
        let next = text.as_bytes().get(at + found.len());
        !next.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.')
    })
}

/// What a content type says of the bytes.
#[derive(Clone, Copy)]
enum ContentKind {
    Json,
    EventStream,
    Html,
    Other,
    Unsaid,
}

impl ContentKind {
    fn of(content_type: Option<&[u8]>) -> Self {
        let Some(text) = content_type.and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
            return Self::Unsaid;
        };
        let essence = text.split(';').next().unwrap_or("").trim();
        let is = |kind: &str| essence.eq_ignore_ascii_case(kind);
        let ends_as_json = || {
            let end = essence.len().checked_sub("+json".len());
            let end = end.and_then(|end| essence.get(end..));
            end.is_some_and(|end| end.eq_ignore_ascii_case("+json"))
        };
        if essence.is_empty() {
            Self::Unsaid
        } else if is("application/json") || ends_as_json() {
            Self::Json
        } else if is("text/event-stream") {
            Self::EventStream
        } else if is("text/html") {
            Self::Html
        } else {
            Self::Other
        }
    }
}

const fn is_inference(endpoint: Endpoint) -> bool {
    match endpoint {
        Endpoint::Inference | Endpoint::InferenceStream => true,
        Endpoint::General => false,
    }
}

fn is_encoded(wire: &Wire<'_>) -> bool {
    says_encoded(wire.content_encoding)
}

fn says_encoded(content_encoding: Option<&[u8]>) -> bool {
    content_encoding.is_some_and(|value| {
        !value.trim_ascii().eq_ignore_ascii_case(b"identity") && !value.trim_ascii().is_empty()
    })
}

fn code(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty() && text.len() <= CODE_BYTES_MAX)
        .map(str::to_owned)
}

fn message(text: &str) -> String {
    text[..text.floor_char_boundary(MESSAGE_BYTES_MAX)].to_owned()
}

/// The first part of a body that is no JSON, for the phrases that some providers send as plain text.
fn text_start(bytes: &[u8]) -> Option<String> {
    let start = bytes.get(..MESSAGE_BYTES_MAX).unwrap_or(bytes);
    let text = String::from_utf8_lossy(start);
    let text = text.trim();
    (!text.is_empty()).then(|| message(text))
}

/// `…/google.rpc.RetryInfo` and `https://…#quota-exceeded`: what stands after the last `/`, and `#` there.
fn last_part(uri: &str) -> &str {
    let tail = uri.trim_end_matches('/');
    tail.rsplit(['/', '#']).next().unwrap_or(tail)
}

fn is_name(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}
