//! How a mock meets connections, before any request: which protocols it speaks, and what its listener's script says.
//!
//! What can go wrong: an action that the connection's protocol lacks would be served as something else, and a fault of
//! TLS on a plain port as nothing at all. So what a listener speaks is known before the first connection, and scripts are
//! held to it when they are loaded.

mod arrivals;

pub use arrivals::{Arrival, Arrivals, Door};

use crate::error::{ScriptError, Source};
use crate::plan::{Answers, Rule};
use crate::script::listener::ListenerScript;
use crate::script::{Action, Deed, Script};
use std::ops::Range;

/// What a mock file's `[listener]` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listener {
    /// What connections meet; without it, each is served.
    pub script: Option<ListenerScript>,
    /// Whether connections are encrypted.
    pub security: Security,
    /// Which versions of HTTP it speaks.
    pub http: HttpVersions,
}

impl Listener {
    /// Refuses a script that such a listener cannot do.
    ///
    /// # Errors
    /// A fault of TLS without TLS.
    pub fn check(&self) -> Result<(), ScriptError> {
        match (&self.script, self.security) {
            (Some(script), Security::Plain) => script.steps().iter().try_for_each(|step| {
                let text = step.action.to_string();
                step.action.check_plain(Source::bare(&text), 0..text.len())
            }),
            (Some(_), Security::Tls) | (None, _) => Ok(()),
        }
    }
}

/// Whether connections are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// TCP alone.
    #[default]
    Plain,
    /// TLS, by a certificate authority that is thrown away with the mock.
    Tls,
}

impl Security {
    /// The scheme of the mock's URL.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Plain => "http",
            Self::Tls => "https",
        }
    }
}

/// Which versions of HTTP a listener speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersions {
    /// Either: by ALPN under TLS, else by the client's first bytes.
    #[default]
    Auto,
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone, in clear text by prior knowledge.
    Http2,
}

impl HttpVersions {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Http1, Self::Http2];

    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Http1 => "1.1",
            Self::Http2 => "2",
        }
    }
}

/// A version of HTTP, as one connection speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

impl Version {
    /// As the specifications write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        }
    }
}

/// Whether a version of HTTP has what an action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It has.
    Fits,
    /// The deed of this name has no form in it.
    Lacks(&'static str),
}

/// Looks whether `version` has what `action` does, and what it does after `apply`.
pub fn fit(action: &Action, version: Version) -> Fit {
    match (&action.deed, version) {
        (Deed::Apply(then), _) => fit(then, version),
        (Deed::Goaway(_), Version::Http1) => Fit::Lacks("goaway"),
        (Deed::RstStream(..), Version::Http1) => Fit::Lacks("rst-stream"),
        (Deed::BadChunk, Version::Http2) => Fit::Lacks("bad-chunk"),
        (Deed::SlowHeaders, Version::Http2) => Fit::Lacks("slow-headers"),
        (
            Deed::Status(_)
            | Deed::ErrorIn200
            | Deed::Stream(_)
            | Deed::Reset(_)
            | Deed::Close(_)
            | Deed::Hang(_)
            | Deed::Truncate(_)
            | Deed::Drip(_)
            | Deed::Garbage
            | Deed::WrongLength(_)
            | Deed::BadChunk
            | Deed::HalfClose
            | Deed::SlowHeaders
            | Deed::BadGzip
            | Deed::Goaway(_)
            | Deed::RstStream(..),
            Version::Http1 | Version::Http2,
        ) => Fit::Fits,
    }
}

/// Refuses rules with an action that no connection of such a listener can meet.
///
/// # Errors
/// Points into the action as it is printed.
pub fn check_rules(rules: &[Rule], http: HttpVersions) -> Result<(), ScriptError> {
    let check = |action: &Action| {
        let text = action.to_string();
        check_action(Source::bare(&text), action, 0..text.len(), http)
    };
    rules.iter().try_for_each(|rule| match &rule.answers {
        Answers::Plain | Answers::Outage | Answers::Storm => Ok(()),
        Answers::Script(script) => script.steps().iter().try_for_each(|step| check(&step.action)),
        Answers::Mix(mix) => mix.parts().iter().try_for_each(|(action, _)| check(action)),
        Answers::Mixes { whole, stream } => {
            let mut parts = whole.parts().iter().chain(stream.parts());
            parts.try_for_each(|(action, _)| check(action))
        }
    })
}

/// Refuses a script with an action that no connection of such a listener can meet.
pub(crate) fn check_script(
    source: Source<'_>,
    script: &Script,
    http: HttpVersions,
) -> Result<(), ScriptError> {
    let mut steps = script.steps().iter().zip(script.action_spans());
    steps.try_for_each(|(step, span)| check_action(source, &step.action, span.clone(), http))
}

/// Refuses an action that no connection of such a listener can meet. One that only some lack passes: those answer 500.
pub(crate) fn check_action(
    source: Source<'_>,
    action: &Action,
    span: Range<usize>,
    http: HttpVersions,
) -> Result<(), ScriptError> {
    let version = match http {
        HttpVersions::Auto => return Ok(()),
        HttpVersions::Http1 => Version::Http1,
        HttpVersions::Http2 => Version::Http2,
    };
    match fit(action, version) {
        Fit::Fits => Ok(()),
        Fit::Lacks(deed) => {
            let message = format!(
                "{} has no `{deed}`, and this listener speaks nothing else",
                version.name()
            );
            let right = "`http = \"auto\"` in [listener], or another action";
            Err(source.error(span, message).expecting(right))
        }
    }
}
