//! Scripts of a listener: what a connection meets before any request.
//!
//! What can go wrong: a fault of the connection that waits for a request is a fault of the request, and a client's
//! code for connecting is never tried. So these have a script of their own, whose steps count connections, and words
//! that stand nowhere else. A connection that was refused was never seen, so it cannot be counted: `refuse` with a
//! count accepts and resets, and only one that holds for a time closes the port (see [`Welcome::Refuse`]).
//!
//! The grammar is that of [`Script`](super::Script), with its own actions; `delay=` is their one option.

use super::parse::{self, Parser};
use super::print::{self, Exact};
use super::{End, Spans, Step};
use crate::error::{ScriptError, Source, shown};
use seawall_core::time::Duration;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// What may begin a step, for errors.
const WELCOME_EXPECTED: &str =
    "one of accept, refuse, reset, close, hang, tls-fail, tls-hang, bad-cert, expired-cert";

/// What connections meet, one after another.
///
/// ```
/// use seawall_lab::script::listener::ListenerScript;
/// let script: ListenerScript = "2x refuse, tls-fail, accept".parse().unwrap();
/// assert_eq!(script.steps().len(), 3);
/// assert_eq!(script.to_string(), "2x refuse, tls-fail, accept");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerScript {
    steps: Vec<Step<Reception>>,
    end: End,
    spans: Spans,
}

impl ListenerScript {
    /// Reads a script, as [`str::parse`] does.
    ///
    /// # Errors
    /// Name line and column of the text, what was expected, and the nearest known word.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        Self::parse_in(Source::bare(text), 0..text.len())
    }

    /// Reads the script that stands at `span` of a larger text.
    pub(crate) fn parse_in(source: Source<'_>, span: Range<usize>) -> Result<Self, ScriptError> {
        let (steps, end, spans) = parse::steps(source, span, WELCOME_EXPECTED, reception)?;
        Ok(Self {
            steps,
            end,
            spans: Spans(spans),
        })
    }

    /// The steps in order; at least one.
    pub fn steps(&self) -> &[Step<Reception>] {
        &self.steps
    }

    /// What happens when the last step is spent.
    pub fn end(&self) -> End {
        self.end
    }

    /// Refuses steps that only a listener with TLS can do; points at them where the script stands in a file.
    pub(crate) fn check_plain(&self, source: Source<'_>) -> Result<(), ScriptError> {
        let mut steps = self.steps.iter().zip(&self.spans.0);
        steps.try_for_each(|(step, span)| step.action.check_plain(source, span.clone()))
    }
}

impl FromStr for ListenerScript {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        Self::parse(text)
    }
}

impl fmt::Display for ListenerScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::steps(f, &self.steps, self.end)
    }
}

/// What one connection meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reception {
    /// The deed itself.
    pub welcome: Welcome,
    /// Time that passes before it; the system has accepted the connection by then.
    pub delay: Duration,
}

impl Reception {
    /// Refuses what only a listener with TLS can do.
    pub(crate) fn check_plain(self, source: Source<'_>, span: Range<usize>) -> Result<(), ScriptError> {
        match self.welcome.layer() {
            Layer::Tcp => Ok(()),
            Layer::Tls => {
                let name = self.welcome.name();
                let message = format!("`{name}` needs TLS, which this listener does not speak");
                let right = "`tls = true` in [listener], `--tls`, or reset, close or hang";
                Err(source.error(span, message).expecting(right))
            }
        }
    }
}

impl fmt::Display for Reception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.welcome.name())?;
        if !self.delay.is_zero() {
            write!(f, " delay={}", Exact(self.delay))?;
        }
        Ok(())
    }
}

/// How a listener treats a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Welcome {
    /// Serves it.
    Accept,
    /// Where the step holds for a time (`for 5s refuse`, or the last of a script): closes the port, and the client's
    /// connect fails (ECONNREFUSED). Where it is counted (`2x refuse`): lets the system accept, which it has done before
    /// anybody could count, and resets at once.
    Refuse,
    /// Resets it (RST) before it reads a byte.
    Reset,
    /// Closes it (FIN) before it sends a byte.
    Close,
    /// Reads nothing and sends nothing until the client leaves.
    Hang,
    /// Answers the client's TLS hello with a fatal alert.
    TlsFail,
    /// Reads the client's TLS hello and never answers.
    TlsHang,
    /// Serves it with a certificate for another name.
    BadCert,
    /// Serves it with a certificate that has ended.
    ExpiredCert,
}

/// Which layer a [`Welcome`] needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Tcp,
    Tls,
}

impl Welcome {
    /// Every way to treat a connection.
    pub const ALL: [Self; 9] = [
        Self::Accept,
        Self::Refuse,
        Self::Reset,
        Self::Close,
        Self::Hang,
        Self::TlsFail,
        Self::TlsHang,
        Self::BadCert,
        Self::ExpiredCert,
    ];

    /// The word in scripts and journals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Refuse => "refuse",
            Self::Reset => "reset",
            Self::Close => "close",
            Self::Hang => "hang",
            Self::TlsFail => "tls-fail",
            Self::TlsHang => "tls-hang",
            Self::BadCert => "bad-cert",
            Self::ExpiredCert => "expired-cert",
        }
    }

    pub(crate) const fn layer(self) -> Layer {
        match self {
            Self::Accept | Self::Refuse | Self::Reset | Self::Close | Self::Hang => Layer::Tcp,
            Self::TlsFail | Self::TlsHang | Self::BadCert | Self::ExpiredCert => Layer::Tls,
        }
    }
}

fn reception(parser: &mut Parser<'_>) -> Result<Reception, ScriptError> {
    let source = parser.source;
    let (word, span) = parser.action_word()?;
    let found = Welcome::ALL.into_iter().find(|welcome| welcome.name() == word);
    let Some(welcome) = found else {
        let names = Welcome::ALL.map(Welcome::name);
        let message = format!("`{}` is nothing that a listener does", shown(word));
        return Err(source
            .error(span, message)
            .near(word, &names)
            .expecting(WELCOME_EXPECTED));
    };
    let mut delay = None;
    while let Some((key, key_span, value, value_span)) = parser.pair() {
        let known: &[&str] = match welcome {
            // A closed port answers at once.
            Welcome::Refuse => &[],
            Welcome::Accept
            | Welcome::Reset
            | Welcome::Close
            | Welcome::Hang
            | Welcome::TlsFail
            | Welcome::TlsHang
            | Welcome::BadCert
            | Welcome::ExpiredCert => &["delay"],
        };
        if !known.contains(&key) {
            let message = format!("`{word}` has no option `{}`", shown(key));
            let error = source.error(key_span, message);
            return Err(match known {
                [] => error.expecting("no option: the system refuses at once"),
                known => error.expecting_one_of(key, known),
            });
        }
        if delay.is_some() {
            return Err(source.error(key_span, "delay= stands twice"));
        }
        delay = Some(parse::duration(source, &value, value_span)?);
    }
    Ok(Reception {
        welcome,
        delay: delay.unwrap_or(Duration::ZERO),
    })
}

#[cfg(test)]
mod tests;
