//! Scripts: what a mock answers, step by step.
//!
//! What can go wrong: a script that half parses tests something else than its writer meant, and a green test then
//! proves nothing. So every word of the text is accounted for, an option that an action does not have is an error,
//! and a printed script reads back as itself. The grammar knows more actions than every protocol has; what no
//! connection of a listener can meet is refused at load ([`crate::listener`]), and never at the first attempt.
//!
//! ```text
//! script = step {"," step} ["," "stop"]
//! step   = [N"x"] ["at" DURATION] ["for" DURATION] ACTION {key=value}
//! ```
//! A step without count or `for` holds for one attempt; before a step with `at` it holds until then. A step with
//! `for` holds that long from the first attempt that meets it. The last step repeats, unless `stop` follows.
//! Values may be quoted (`text="a, b"`, with `\" \\ \n \r \t \u{41}`); a value that begins with `{` or `[` runs to
//! the bracket that closes it (`json={"ok":true}`).

mod codes;
mod lex;
pub mod listener;
mod parse;
mod print;

pub use codes::ErrorCode;

use crate::error::{ScriptError, Source};
use seawall_core::time::Duration;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::str::FromStr;

/// The longest script text, in bytes.
pub const SCRIPT_BYTES_MAX: usize = 64 * 1024;
/// The most steps of one script.
pub const STEPS_MAX: usize = 1_000;
/// The most body bytes an action may count, 64 MiB: a mock pads its answer up to that.
pub const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What a mock answers, step by step.
///
/// ```
/// use seawall_lab::Script;
/// let script: Script = "2x 503, 429 retry-after=5, reset, 200".parse().unwrap();
/// assert_eq!(script.steps().len(), 4);
/// assert_eq!(script.to_string(), "2x 503, 429 retry-after=5, reset, 200");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    steps: Vec<Step>,
    end: End,
    spans: Spans,
}

impl Script {
    /// Reads a script, as [`str::parse`] does.
    ///
    /// # Errors
    /// Name line and column of the text, what was expected, and the nearest known word.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        Self::parse_in(Source::bare(text), 0..text.len())
    }

    /// Reads the script that stands at `span` of a larger text.
    pub(crate) fn parse_in(source: Source<'_>, span: Range<usize>) -> Result<Self, ScriptError> {
        let (steps, end, spans) = parse::script(source, span)?;
        Ok(Self {
            steps,
            end,
            spans: Spans(spans),
        })
    }

    /// The steps in order; at least one.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What happens when the last step is spent.
    pub fn end(&self) -> End {
        self.end
    }

    /// Where each step's action stood in the text it was read from.
    pub(crate) fn action_spans(&self) -> &[Range<usize>] {
        &self.spans.0
    }
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        Self::parse(text)
    }
}

/// Where actions stood. Two scripts are equal whatever their spacing.
#[derive(Clone, Debug)]
struct Spans(Vec<Range<usize>>);

impl PartialEq for Spans {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Spans {}

/// What happens when the last step is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The last step goes on.
    Repeat,
    /// Connections are accepted and closed without a byte.
    Stop,
}

/// One step of a script; `A` is what its actions are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<A = Action> {
    /// How many attempts it holds for; `None` where the script does not say.
    pub count: Option<NonZeroU32>,
    /// When it begins, counted from the first attempt of the script's position.
    pub at: Option<Duration>,
    /// How long it holds.
    pub length: Option<Duration>,
    /// What it does.
    pub action: A,
}

/// What one attempt meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The deed itself.
    pub deed: Deed,
    /// Time that passes before the first byte, or before the fault.
    pub delay: Duration,
}

impl Action {
    /// Reads one action with its options, without count, `at` or `for`: the key of a `mix`.
    ///
    /// # Errors
    /// As [`Script::parse`].
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        Self::parse_in(Source::bare(text), 0..text.len())
    }

    /// Reads the action that stands at `span` of a larger text.
    pub(crate) fn parse_in(source: Source<'_>, span: Range<usize>) -> Result<Self, ScriptError> {
        parse::action(source, span)
    }
}

impl FromStr for Action {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        Self::parse(text)
    }
}

/// What a mock does with one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Answers with a status.
    Status(Reply),
    /// Answers 200 with the dialect's error object as its body.
    ErrorIn200,
    /// Answers with a stream of events.
    Stream(Stream),
    /// Does the work, then loses or spoils the answer.
    Apply(Box<Action>),
    /// Resets the connection (RST), before any byte or after so many body bytes.
    Reset(After),
    /// Closes the connection (FIN), before any byte or after so many body bytes.
    Close(After),
    /// Sends nothing more until the client leaves, from the start or after so many body bytes.
    Hang(After),
    /// Promises the whole body, sends part of it, closes.
    Truncate(Cut),
    /// Sends the body slowly, at so many bytes a second.
    Drip(NonZeroU64),
    /// Sends bytes that are no HTTP.
    Garbage,
    /// Promises this many bytes more (or fewer) than it sends.
    WrongLength(i64),
    /// Sends a chunk whose length is no number.
    BadChunk,
    /// Closes its sending side after the head and goes on reading.
    HalfClose,
    /// Sends the head a byte at a time.
    SlowHeaders,
    /// Says gzip and sends something else.
    BadGzip,
    /// HTTP/2: says GOAWAY and leaves this stream out, so that the client may safely send it again; ends the connection.
    Goaway(ErrorCode),
    /// HTTP/2: resets the stream, before any byte or after so many body bytes.
    RstStream(After, ErrorCode),
}

/// How far an answer gets before a connection fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Not one byte is sent.
    Nothing,
    /// The head and this many bytes of the body are sent.
    BodyBytes(u64),
}

/// How much of a truncated body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// So many bytes.
    Bytes(u64),
    /// This share of the body, 0 to 99 per cent, rounded down.
    Percent(u8),
}

/// A status and what goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status, 200 to 999.
    pub status: u16,
    /// Headers, in order, beside those that the mock adds itself.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
}

/// A scripted body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// What the route's dialect answers.
    Dialect,
    /// The dialect's error, with what the step says of it (`code=`, `retry-in=`).
    Worded(Wording),
    /// These bytes, with no content type but a scripted one (`body=`).
    Raw(String),
    /// These bytes as `text/plain` (`text=`).
    Text(String),
    /// These bytes as `application/json` (`json=`), well formed or not.
    Json(String),
}

/// What a dialect's error says beside its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wording {
    /// The provider's own word, such as `insufficient_quota`.
    pub code: Option<String>,
    /// A wait that the body alone tells, in the dialect's own way.
    pub wait: Option<Duration>,
}

/// A stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// How many content events; 0 is the dialect's beginning alone, `None` leaves it to the dialect.
    pub events: Option<u32>,
    /// Time between two events.
    pub gap: Duration,
    /// How it ends.
    pub then: StreamEnd,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// With the dialect's end.
    Done,
    /// Cut: over HTTP/1.1 the connection ends, over HTTP/2 the stream is reset.
    Cut,
    /// With an error event.
    Error,
    /// Nothing more comes.
    Stall,
    /// With an event that is no JSON.
    BadJson,
    /// Cleanly, without the dialect's end.
    NoDone,
}

impl StreamEnd {
    const ALL: [Self; 6] = [
        Self::Done,
        Self::Cut,
        Self::Error,
        Self::Stall,
        Self::BadJson,
        Self::NoDone,
    ];

    /// The word in scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Cut => "cut",
            Self::Error => "error",
            Self::Stall => "stall",
            Self::BadJson => "bad-json",
            Self::NoDone => "no-done",
        }
    }
}

impl Deed {
    /// Why a GOAWAY is sent where its step does not say: for nothing, as by a server that is restarted.
    pub const DEFAULT_GOAWAY: ErrorCode = ErrorCode::NoError;
    /// Why a stream is reset where its step does not say: the one code that promises nothing. `refused-stream` promises
    /// that the request was not looked at, so a step says it.
    pub const DEFAULT_RST_STREAM: ErrorCode = ErrorCode::InternalError;

    /// The action's word in scripts, journals and `x-seawall-fault`; a status is its number.
    pub fn name(&self) -> String {
        match self {
            Self::Status(reply) => reply.status.to_string(),
            Self::ErrorIn200 => "error-in-200".to_owned(),
            Self::Stream(_) => "stream".to_owned(),
            Self::Apply(_) => "apply".to_owned(),
            Self::Reset(_) => "reset".to_owned(),
            Self::Close(_) => "close".to_owned(),
            Self::Hang(_) => "hang".to_owned(),
            Self::Truncate(_) => "truncate".to_owned(),
            Self::Drip(_) => "drip".to_owned(),
            Self::Garbage => "garbage".to_owned(),
            Self::WrongLength(_) => "wrong-length".to_owned(),
            Self::BadChunk => "bad-chunk".to_owned(),
            Self::HalfClose => "half-close".to_owned(),
            Self::SlowHeaders => "slow-headers".to_owned(),
            Self::BadGzip => "bad-gzip".to_owned(),
            Self::Goaway(_) => "goaway".to_owned(),
            Self::RstStream(..) => "rst-stream".to_owned(),
        }
    }
}

/// Every word that may begin an action, beside the statuses.
const ACTION_NAMES: [&str; 16] = [
    "reset",
    "close",
    "hang",
    "truncate",
    "error-in-200",
    "stream",
    "apply",
    "drip",
    "garbage",
    "wrong-length",
    "bad-chunk",
    "half-close",
    "slow-headers",
    "bad-gzip",
    "goaway",
    "rst-stream",
];

#[cfg(test)]
mod tests;
