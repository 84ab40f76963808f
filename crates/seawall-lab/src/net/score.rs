//! What is to be sent, before it is bytes: every answer and every fault is four choices.
//!
//! What can go wrong: each fault written by hand for each protocol, and "truncate" means one thing over HTTP/1.1 and
//! another over HTTP/2. So what an attempt meets is first put down as a score (how the head goes out, what length it
//! claims, how the body goes, how it ends), which is plain data that a test can read; a protocol only plays it.
//!
//! | action | head | claims | body | end |
//! |---|---|---|---|---|
//! | a status, `error-in-200` | whole | its length | whole | done |
//! | a 2xx to a request for a stream | whole | chunks | event by event | done |
//! | `stream` | whole | chunks | event by event | done, FIN (`cut`), silence (`stall`) |
//! | `reset` `close` `hang` | none | – | none | RST, FIN, silence |
//! | the same with `after=N` | whole | its length | N bytes | RST, FIN, silence |
//! | `truncate` | whole | its length | a part | FIN |
//! | `drip` | whole | its length | piece by piece | done |
//! | `garbage` | bytes that are no HTTP | – | none | FIN |
//! | `wrong-length` | whole | N more or fewer | whole | FIN |
//! | `bad-chunk` | whole | chunks | one good chunk, then one whose length is no number | FIN |
//! | `half-close` | whole | its length | none | FIN, and goes on reading |
//! | `slow-headers` | piece by piece | its length | whole | done |
//! | `bad-gzip` | whole, says gzip | its length | no gzip | done |
//! | `apply then ...` | as the action that follows | | | |
//! | `rst-stream` | none | – | none | RST_STREAM |
//! | `goaway` | none | – | none | GOAWAY without this stream |
//!
//! What ends an answer too soon without a fault of the connection (`truncate`, `wrong-length`) ends the connection over
//! HTTP/1.1, where nothing else ends a body, and the stream over HTTP/2, whose siblings go on.
//!
//! A body is padded with spaces where a fault asks for more bytes than it has: it is always cut short of its end.

use super::dialect::{self, Answer, Ask, Part, Told, Wanted};
use crate::listener::{Fit, Version, fit};
use crate::plan::{Choice, Dialect, Turn};
use crate::script::{Action, After, Body as Scripted, Cut, Deed, ErrorCode, Reply, Stream, StreamEnd};
use seawall_core::time::Duration;
use std::fmt;
use std::num::NonZeroU64;

/// How often a slow answer sends something, at most: fifty times a second.
const TICK: Duration = Duration::from_millis(20);
/// How fast `slow-headers` sends its head, in bytes a second: a head of 150 bytes takes 15 s.
const SLOW_HEAD_BYTES_PER_SECOND: NonZeroU64 = NonZeroU64::new(10).unwrap();
/// What `garbage` sends: no protocol's beginning, with bytes that no text has.
const GARBAGE: &[u8] = b"\xff\xfe\x00seawall: these bytes are no HTTP\x00\x01\x02\xff\r\n\r\n\x80\x81";

/// Who plays: what one protocol has and another lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Performer {
    /// HTTP/1.0, which knows no chunks.
    Http10,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

impl Performer {
    fn version(self) -> Version {
        match self {
            Self::Http10 | Self::Http1 => Version::Http1,
            Self::Http2 => Version::Http2,
        }
    }
}

/// What is to be sent.
#[derive(Debug)]
pub(super) struct Score {
    /// Time that passes first.
    pub(super) delay: Duration,
    pub(super) opening: Opening,
    /// Status and headers; its body is what `body` plays.
    pub(super) answer: Answer,
    pub(super) claim: Claim,
    pub(super) body: Body,
    pub(super) ending: Ending,
}

/// How the head goes out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// In one piece.
    Whole,
    /// Slowly.
    Slow(Pieces),
    /// In its place, bytes that are no HTTP.
    Garbage(&'static [u8]),
    /// Not at all.
    Silent,
}

/// What the head says about the body's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// So many bytes.
    Bytes(u64),
    /// As many as come.
    Open,
}

/// How the body goes out.
pub(super) enum Body {
    /// The answer's body, in one piece.
    Whole,
    /// The answer's body, slowly.
    Slow(Pieces),
    /// These, with a gap before each but the first; they may have no end.
    Parts {
        parts: Box<dyn Iterator<Item = Part> + Send>,
        gap: Duration,
    },
}

/// So many bytes, so often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    pub(super) bytes: usize,
    pub(super) gap: Duration,
}

/// How the answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// As it should.
    Done,
    /// RST.
    Reset,
    /// FIN.
    Close,
    /// Silence until the client leaves.
    Hang,
    /// FIN of the sending side; what comes is read until the client leaves.
    HalfClose,
    /// A chunk whose length is no number, and FIN.
    BadChunk,
    /// RST_STREAM.
    ResetStream(ErrorCode),
    /// GOAWAY that leaves this stream out; FIN when the streams before it have ended.
    Goaway(ErrorCode),
}

/// What an ending is to the connection that it happens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// The answer is over, and nothing else is.
    Right,
    /// It is a fault.
    Fault,
}

impl Ending {
    /// Whether it is a fault.
    pub(super) const fn finish(self) -> Finish {
        match self {
            Self::Done => Finish::Right,
            Self::Reset
            | Self::Close
            | Self::Hang
            | Self::HalfClose
            | Self::BadChunk
            | Self::ResetStream(_)
            | Self::Goaway(_) => Finish::Fault,
        }
    }
}

impl Score {
    /// An answer to its end, at once.
    pub(super) fn whole(answer: Answer) -> Self {
        Self {
            delay: Duration::ZERO,
            opening: Opening::Whole,
            claim: Claim::Bytes(answer.body.len() as u64),
            answer,
            body: Body::Whole,
            ending: Ending::Done,
        }
    }

    /// Not a byte.
    fn silent(ending: Ending) -> Self {
        Self {
            opening: Opening::Silent,
            ending,
            ..Self::whole(Answer::empty(0))
        }
    }

    /// The fault that its head names.
    pub(super) fn fault(&self) -> Option<&str> {
        self.answer.fault.as_deref()
    }
}

impl Pieces {
    /// At this rate: a byte at a time where that is seldom enough, else more at once.
    fn at(bytes_per_second: NonZeroU64) -> Self {
        let ticks_per_second = Duration::from_secs(1).as_nanos() / TICK.as_nanos();
        let bytes = bytes_per_second.get().div_ceil(ticks_per_second);
        let gap_nanos = bytes.saturating_mul(1_000_000_000) / bytes_per_second.get();
        Self {
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            gap: Duration::from_nanos(gap_nanos),
        }
    }
}

/// What a good answer says.
#[derive(Clone, Copy)]
pub(super) enum Good<'a> {
    /// What the dialect answers.
    Dialect,
    /// This, whatever a step says of a good answer: the work's own answer, made now or before, or why it is not done.
    Of(&'a Answer),
}

/// Puts down what this turn sends.
pub(super) fn compose(
    turn: &Turn,
    dialect: Dialect,
    ask: &Ask<'_>,
    performer: Performer,
    good: Good<'_>,
) -> Score {
    let composer = Composer {
        turn,
        dialect,
        ask,
        performer,
        good,
    };
    let (mut score, delay) = match (turn.choice, turn.action()) {
        (Choice::Stop, _) => (Score::silent(Ending::Close), Duration::ZERO),
        (_, None) => (composer.good(), turn.latency),
        (_, Some(action)) => (composer.action(action), turn.latency.plus(delay_of(action))),
    };
    score.delay = delay;
    score
}

/// What this turn's good answer is, where its work comes to `base`: with the status, the headers and the body that a
/// step gives to it.
pub(super) fn good_answer(turn: &Turn, dialect: Dialect, ask: &Ask<'_>, base: Answer) -> Answer {
    let composer = Composer {
        turn,
        dialect,
        ask,
        performer: Performer::Http1,
        good: Good::Of(&base),
    };
    match turn.action().map(|action| &action.deed) {
        Some(Deed::Status(reply)) => composer.reply(reply),
        Some(_) | None => base,
    }
}

fn delay_of(action: &Action) -> Duration {
    let then = if let Deed::Apply(then) = &action.deed {
        then.delay
    } else {
        Duration::ZERO
    };
    action.delay.plus(then)
}

struct Composer<'a> {
    turn: &'a Turn,
    dialect: Dialect,
    ask: &'a Ask<'a>,
    performer: Performer,
    good: Good<'a>,
}

impl Composer<'_> {
    fn action(&self, action: &Action) -> Score {
        if let Fit::Lacks(deed) = fit(action, self.performer.version()) {
            return self.lacks(deed);
        }
        let faulty = |mut score: Score| {
            score.answer.fault = score.answer.fault.or_else(|| self.turn.fault());
            score
        };
        faulty(match &action.deed {
            Deed::Status(reply) if self.is_streamed(reply) => {
                let mut score = self.good();
                match self.good {
                    // What is kept has its status and its headers.
                    Good::Of(_) => {}
                    Good::Dialect if score.answer.status >= 400 => {}
                    Good::Dialect => {
                        score.answer.status = reply.status;
                        score.answer.headers =
                            dialect::headers(self.dialect, reply.status, self.ask, Told::of(reply));
                    }
                }
                score
            }
            Deed::Stream(stream) => self.stream(*stream),
            Deed::Status(reply) => Score::whole(match self.good {
                Good::Of(answer) if reply.status < 300 => answer.clone(),
                Good::Of(_) | Good::Dialect => self.reply(reply),
            }),
            Deed::Apply(then) => self.action(then),
            Deed::ErrorIn200 => {
                let mut answer = dialect::error(self.dialect, 500, self.ask, Told::NOTHING);
                answer.status = 200;
                Score::whole(answer)
            }
            Deed::Reset(after) => self.cut_after(*after, Ending::Reset),
            Deed::Close(after) => self.cut_after(*after, Ending::Close),
            Deed::Hang(after) => self.cut_after(*after, Ending::Hang),
            Deed::Truncate(cut) => self.part(*cut, self.short()),
            Deed::Drip(bytes_per_second) => Score {
                body: Body::Slow(Pieces::at(*bytes_per_second)),
                ..Score::whole(self.plain())
            },
            Deed::Garbage => Score {
                opening: Opening::Garbage(GARBAGE),
                ..Score::silent(Ending::Close)
            },
            Deed::WrongLength(by) => self.wrong_length(*by),
            Deed::HalfClose => self.part(Cut::Bytes(0), Ending::HalfClose),
            Deed::SlowHeaders => Score {
                opening: Opening::Slow(Pieces::at(SLOW_HEAD_BYTES_PER_SECOND)),
                ..Score::whole(self.plain())
            },
            Deed::BadGzip => {
                let mut answer = self.plain();
                answer
                    .headers
                    .push(("content-encoding".to_owned(), "gzip".to_owned()));
                Score::whole(answer)
            }
            Deed::BadChunk => match self.performer {
                Performer::Http10 => self.lacks(&action.deed.name()),
                Performer::Http1 | Performer::Http2 => Score {
                    claim: Claim::Open,
                    ending: Ending::BadChunk,
                    ..Score::whole(self.plain())
                },
            },
            Deed::Goaway(code) => Score::silent(Ending::Goaway(*code)),
            Deed::RstStream(after, code) => self.cut_after(*after, Ending::ResetStream(*code)),
        })
    }

    /// A 200 in the place of what cannot be done would be a lie.
    fn lacks(&self, action: &str) -> Score {
        let protocol = match self.performer {
            Performer::Http10 => "HTTP/1.0",
            Performer::Http1 | Performer::Http2 => self.performer.version().name(),
        };
        let message = format!("this mock does not serve `{action}` over {protocol}");
        let mut answer = dialect::refusal(500, &message);
        answer.fault = Some(dialect::NOT_SERVED.into());
        Score::whole(answer)
    }

    fn plain(&self) -> Answer {
        match self.good {
            Good::Dialect => dialect::answer(self.dialect, self.ask),
            Good::Of(answer) => answer.clone(),
        }
    }

    /// A good answer as it is wanted.
    fn good(&self) -> Score {
        match self.wanted() {
            Wanted::Stream => self.stream(Stream {
                events: None,
                gap: Duration::ZERO,
                then: StreamEnd::Done,
            }),
            Wanted::Whole => Score::whole(self.plain()),
        }
    }

    /// Whether a scripted reply is the dialect's own good answer, to a request that wants events.
    fn is_streamed(&self, reply: &Reply) -> bool {
        reply.body == Scripted::Dialect && reply.status < 300 && self.wanted() == Wanted::Stream
    }

    /// What was made is answered whole, whatever else the path speaks; kept events come as events again.
    fn wanted(&self) -> Wanted {
        match self.good {
            Good::Of(answer) if !answer.is_events() => Wanted::Whole,
            Good::Of(_) | Good::Dialect => dialect::wanted(self.dialect, self.ask),
        }
    }

    /// The dialect's events, one after the other, whether or not they are wanted.
    fn stream(&self, stream: Stream) -> Score {
        if let Some(refusal) = dialect::refusal_of(self.dialect, self.ask) {
            return Score::whole(refusal);
        }
        if let Good::Of(answer) = self.good
            && answer.status >= 400
        {
            return Score::whole(answer.clone());
        }
        let events = dialect::stream(self.dialect, self.ask, stream.events);
        let (status, headers) = match self.good {
            // The events are those of the attempt that was answered first: its number makes them.
            Good::Of(answer) => (answer.status, answer.headers.clone()),
            Good::Dialect => (200, dialect::headers(self.dialect, 200, self.ask, Told::NOTHING)),
        };
        let answer = Answer {
            content_type: Some(events.content_type()),
            headers,
            ..Answer::empty(status)
        };
        Score {
            claim: Claim::Open,
            body: Body::Parts {
                parts: Box::new(events.parts(stream.then)),
                gap: stream.gap,
            },
            ending: match stream.then {
                StreamEnd::Done | StreamEnd::Error | StreamEnd::BadJson | StreamEnd::NoDone => Ending::Done,
                StreamEnd::Cut => self.cut(),
                StreamEnd::Stall => Ending::Hang,
            },
            ..Score::whole(answer)
        }
    }

    fn reply(&self, reply: &Reply) -> Answer {
        let mut answer = match reply.status {
            200..300 => self.plain(),
            300..400 => Answer::empty(reply.status),
            _ => dialect::error(self.dialect, reply.status, self.ask, Told::of(reply)),
        };
        if reply.status < 300 && answer.status >= 400 && answer.fault.is_none() {
            // The dialect refuses what was asked, whatever a right request would have met.
            return answer;
        }
        let (content_type, body) = match &reply.body {
            Scripted::Dialect | Scripted::Worded(_) => (answer.content_type, None),
            Scripted::Raw(body) => (None, Some(body)),
            Scripted::Text(body) => (Some("text/plain; charset=utf-8"), Some(body)),
            Scripted::Json(body) => (Some("application/json"), Some(body)),
        };
        if let Some(body) = body {
            answer = Answer::empty(reply.status);
            answer.body = body.clone().into_bytes();
        } else if answer.fault.is_none() {
            // What the mock cannot serve keeps its own status.
            answer.status = reply.status;
        }
        answer.content_type = content_type;
        answer.headers = dialect::headers(self.dialect, reply.status, self.ask, Told::of(reply));
        answer
    }

    fn cut_after(&self, after: After, ending: Ending) -> Score {
        match after {
            After::Nothing => Score::silent(ending),
            After::BodyBytes(bytes) => self.part(Cut::Bytes(bytes), ending),
        }
    }

    /// Promises a whole answer and sends a part of it.
    fn part(&self, cut: Cut, ending: Ending) -> Score {
        let mut answer = self.plain();
        let whole = answer.body.len() as u64;
        let sent = match cut {
            Cut::Bytes(bytes) => bytes,
            Cut::Percent(percent) => whole * u64::from(percent) / 100,
        };
        let claimed = whole.max(sent + 1);
        let sent = usize::try_from(sent).expect("a script counts at most 64 MiB of body");
        answer.body.resize(sent, b' ');
        Score {
            claim: Claim::Bytes(claimed),
            ending,
            ..Score::whole(answer)
        }
    }

    fn wrong_length(&self, by: i64) -> Score {
        let mut answer = self.plain();
        let (more, fewer) = match u64::try_from(by) {
            Ok(more) => (more, 0),
            Err(_) => (0, by.unsigned_abs()),
        };
        if (answer.body.len() as u64) < fewer {
            answer.body.resize(
                usize::try_from(fewer).expect("a script counts at most 64 MiB of body"),
                b' ',
            );
        }
        Score {
            claim: Claim::Bytes(answer.body.len() as u64 + more - fewer),
            ending: self.short(),
            ..Score::whole(answer)
        }
    }

    /// How a stream of events is cut: its connection where it has one of its own, else itself alone.
    fn cut(&self) -> Ending {
        match self.performer {
            Performer::Http10 | Performer::Http1 => Ending::Close,
            Performer::Http2 => Ending::ResetStream(Deed::DEFAULT_RST_STREAM),
        }
    }

    /// How a body ends that is not as long as its head said.
    fn short(&self) -> Ending {
        match self.performer {
            Performer::Http10 | Performer::Http1 => Ending::Close,
            Performer::Http2 => Ending::Done,
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("Whole"),
            Self::Slow(pieces) => f.debug_tuple("Slow").field(pieces).finish(),
            Self::Parts { gap, .. } => f.debug_struct("Parts").field("gap", gap).finish_non_exhaustive(),
        }
    }
}
