//! What an answer says about being asked again, read as the engine reads it.

use crate::findings::{self, Hint, Word};
use crate::net::dialect::Answer;
use seawall::body::{self, Wire};
use seawall_core::facts::{Facts, Headers};
use seawall_core::profile::Provider;
use seawall_core::time::Wall;
use seawall_core::verdict::Endpoint;

/// What is told about waiting, and about sending it again.
#[derive(Clone, Debug, Default)]
pub(in crate::net) struct Heard {
    /// Boxed: every connection has room for one, and few answers tell one.
    pub(in crate::net) hint: Option<Box<Hint>>,
    pub(in crate::net) word: Word,
}

impl Heard {
    /// What an answer of this provider says, if it is sent.
    pub(in crate::net) fn of(answer: &Answer, provider: Provider, wall: Wall) -> Self {
        // Good answers are most, and say nothing of this.
        if answer.status < 400 {
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
        let body = body::read(&wire, &answer.body);
        let facts = Facts {
            status: Some(answer.status),
            headers: &headers,
            body: body.facts(),
            broke: None,
            wall,
        };
        let mut attempt = findings::Attempt::default();
        attempt.hear(provider.profile(), &facts);
        Self {
            hint: attempt.hint.map(Box::new),
            word: attempt.word,
        }
    }
}

/// The headers of an answer.
struct Sent<'a>(&'a [(String, String)]);

impl Headers for Sent<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_bytes())
    }
}
