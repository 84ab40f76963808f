//! What an answer says about being asked again, read as a right client reads it.

use crate::net::dialect::Answer;
use seawall::body::{self, Wire};
use seawall_core::facts::{Facts, Headers};
use seawall_core::hint::{self, Found, Scope};
use seawall_core::outcome::HintSource;
use seawall_core::profile::Provider;
use seawall_core::time::{Duration, Wall};
use seawall_core::verdict::Endpoint;

/// What an answer said about waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Where it stood, as in `retry-after`; `body` for a body's own words.
    pub source: &'static str,
    /// What stood there; empty for a body's own words.
    pub text: String,
    /// How long that is from when the answer was made.
    pub wait: Duration,
}

/// What an answer said about sending it again: `x-should-retry`, `stripe-should-retry`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShouldRetry {
    /// Nothing.
    #[default]
    Unsaid,
    /// `true`.
    Yes,
    /// `false`.
    No,
}

/// Both.
#[derive(Clone, Debug, Default)]
pub(in crate::net) struct Heard {
    pub(in crate::net) hint: Option<Hint>,
    pub(in crate::net) should_retry: ShouldRetry,
}

impl Heard {
    /// What this answer says, if it is sent.
    pub(in crate::net) fn by(answer: &Answer, wall: Wall) -> Self {
        // Most answers are good and say nothing of this, and their bodies are not worth reading for it.
        let refuses = answer.status >= 400;
        if !refuses && answer.headers.is_empty() {
            return Self::default();
        }
        let headers = Sent(&answer.headers);
        let wire = Wire {
            endpoint: Endpoint::General,
            method: "POST",
            status: answer.status,
            content_type: answer.content_type.map(str::as_bytes),
            content_encoding: headers.get("content-encoding"),
        };
        let body = body::read(&wire, if refuses { &answer.body } else { b"" });
        let facts = Facts {
            status: Some(answer.status),
            headers: &headers,
            body: body.facts(),
            broke: None,
            wall,
        };
        let hint = match hint::find(Provider::Generic.profile(), &facts, Scope::Stated).found {
            Found::Wait { wait, source } => Some(Hint {
                source: source.name(),
                text: headers.text(source),
                wait,
            }),
            Found::Nothing | Found::DoNotRetry => None,
        };
        let word = ["x-should-retry", "stripe-should-retry"]
            .into_iter()
            .find_map(|name| headers.get(name));
        let should_retry = match word {
            Some(b"true") => ShouldRetry::Yes,
            Some(b"false") => ShouldRetry::No,
            Some(_) | None => ShouldRetry::Unsaid,
        };
        Self { hint, should_retry }
    }
}

/// The headers of an answer.
struct Sent<'a>(&'a [(String, String)]);

impl Sent<'_> {
    /// What stood where a hint was found.
    fn text(&self, source: HintSource) -> String {
        self.get(source.name()).map(super::kept).unwrap_or_default()
    }
}

impl Headers for Sent<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_bytes())
    }
}
