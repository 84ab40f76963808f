//! One call live whose answer is handed on as it comes.
//!
//! What can go wrong: a stream is handed on with its head, and every failure of the next minute is the caller's to mend; or
//! it is held until it is whole, and is no stream. So an attempt is over, and may be followed by another, until its answer
//! has brought content; from there its call is not sent again (rule L1). What is held is short: a model's stream up to
//! its first event with content, another answer of an inference endpoint whole, since what it says can spoil it, and
//! anything else not at all; and none beyond [`HOLD_BYTES_MAX`], from which it is handed on as it is. What it does not
//! cover: what comes after the first content ([`Opened`]).

use super::attempt::{Brought, Flown, Heard, ends_by, is_event_stream, judge, read_to_end, wire};
use super::end::{AttemptNote, CallError};
use super::head::{Again, Head, Headed, head};
use super::hold::Held;
use super::opened::{Before, Judge, Opened, Origin};
use super::send::{Journal, Made, Stop, Way, leave_for};
use super::watch::{Content, Verdict, Watch};
use super::{Call, Prepared, Shared, Upstream};
use crate::body::{Course, Lead, OwnedBodyFacts};
use crate::drive::{self, Driven, drive_to_content};
use crate::http::{self, AnswerBody, Broken};
use crate::hub::Leave;
use ::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use seawall_core::facts::BodyState;
use seawall_core::outcome::Outcome;
use seawall_core::time::Duration;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

/// Most bytes of an answer that are held back before its first content: 1 MiB, as of plain answers (rule L1).
pub const HOLD_BYTES_MAX: usize = 1 << 20;

/// An answer that has brought content.
pub(super) struct Begun {
    pub(super) note: AttemptNote,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: AnswerBody,
    pub(super) ahead: Ahead,
}

/// What has come of an answer and was not handed on yet.
pub(super) struct Ahead {
    lead: Lead,
    pub(super) chunks: VecDeque<Bytes>,
    pub(super) bytes: usize,
    pub(super) held: Held,
    pub(super) watch: Option<Watch>,
}

/// What a chunk decides.
enum Found {
    Nothing,
    /// The answer is handed on from here.
    Content,
    /// It is not worth reading on.
    Fault,
    /// No more may be held; with a sentence for people.
    TooMuch(String),
}

impl Upstream {
    /// Makes one call, and hands its answer on as it comes.
    ///
    /// Until the answer has brought content everything is as in [`call`](Self::call): an attempt that fails, breaks off,
    /// stalls or ends too early may be followed by another. The answer is handed over at its first content, and from
    /// there the call is never sent again; how it ends from there [`Opened`] says. A model's stream is held back up to its
    /// first event with content, so that an error in its place is an attempt's; an inference endpoint's answer that is no
    /// stream comes whole where it is at most [`HOLD_BYTES_MAX`]; any other answer is handed over with its first byte.
    ///
    /// The deadline holds up to the first content; from there the policy's `idle` and `total` do.
    ///
    /// Dropping the future at any point cancels the call; dropping what it brought closes its connection, or over HTTP/2
    /// resets its stream, and gives the call's place back.
    ///
    /// ```no_run
    /// # async fn example(upstream: seawall::Upstream) -> Result<(), Box<dyn std::error::Error>> {
    /// let chat = r#"{"model":"small-1","stream":true,"messages":[{"role":"user","content":"Why?"}]}"#;
    /// let mut stream = upstream.open(seawall::Call::post_json("/chat/completions", chat)).await?;
    /// while let Some(event) = stream.event().await {
    ///     println!("{}", event?.data);
    /// }
    /// // Here the answer is complete: one that breaks off ends with an error.
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`CallError`]: why the call ended before any content, the last real answer, and every attempt.
    pub async fn open(&self, call: Call) -> Result<Opened, Box<CallError>> {
        let key = OnceLock::new();
        let made = [OnceLock::from(self.prepare(call, &key))];
        let way = Way {
            stops: &[self.stop()],
            candidates: &[self.candidate()],
            made: &made,
            policy: &self.call_policy(),
        };
        way.walk_to_content(|_| unreachable!("what the only candidate is sent was made before"))
            .await
    }
}

impl Way<'_> {
    /// As [`walk`](Self::walk), up to the first content of the answer.
    pub(crate) async fn walk_to_content(
        &self,
        make: impl Fn(usize) -> Made,
    ) -> Result<Opened, Box<CallError>> {
        let (first, prepared) = self.first(&make)?;
        let mut journal = Journal::default();
        let spec = |now| prepared.spec(now, self.candidates, self.policy);
        let driven = drive_to_content(
            first.upstream.hub(),
            spec,
            |leave| {
                let nth = leave.candidate();
                let made = self.made[nth].get_or_init(|| make(nth));
                attempt_at(&self.stops[nth], made, leave)
            },
            &mut journal,
        );
        match driven.await {
            Driven::Finished(finished) => {
                let last = journal.attempts.last().map_or(0, |note| note.candidate);
                let answer = self.end(finished, journal)?;
                Ok(Opened::whole(self.origin(last), answer))
            }
            Driven::Streams(streaming, begun) => {
                let at = begun.note.candidate;
                let Journal {
                    mut attempts,
                    waited,
                    usage,
                    ..
                } = journal;
                attempts.push(begun.note);
                for note in attempts.iter_mut() {
                    note.candidate = self.stops[note.candidate].nth;
                }
                let before = Before {
                    attempts,
                    waited,
                    usage,
                };
                Ok(Opened::streaming(self.origin(at), before, begun, streaming))
            }
        }
    }

    /// Where an answer of this candidate comes from.
    fn origin(&self, at: usize) -> Origin {
        let stop = &self.stops[at];
        let prepared = self.made[at].get().and_then(|made| made.as_ref().ok());
        let prepared = prepared.expect("what was answered was sent");
        Origin {
            shared: Arc::clone(&stop.upstream.shared),
            upstream: stop.upstream.shared_name(),
            model: stop.model.cloned(),
            profile: prepared.profile,
            write: self.write_at(at, Outcome::Answer.name()),
        }
    }
}

/// Sends one attempt that the engine permitted to the candidate that it is for.
async fn attempt_at<'h>(stop: &Stop<'_>, made: &Made, leave: Leave<'h>) -> drive::Flown<'h, Brought, Begun> {
    match leave_for(stop, made, leave) {
        Ok((prepared, leave)) => attempt_to_content(&stop.upstream.shared, prepared, leave).await,
        Err(landed) => drive::Flown::Landed(*landed),
    }
}

/// Sends one attempt that the engine permitted, and reads its answer up to its first content, or whole where it brings
/// none or is none.
async fn attempt_to_content<'h>(
    shared: &Shared,
    prepared: &Prepared,
    mut leave: Leave<'h>,
) -> drive::Flown<'h, Brought, Begun> {
    let began = shared.hub.clock().now();
    let by = ends_by(shared, &leave);
    let read = match head(shared, prepared, by, &mut leave).await {
        Headed::Over(flown) => Err(flown),
        Headed::Head(head) => match promised(shared, prepared, head) {
            Promised::Answer(head) => to_content(shared, prepared, head, &mut leave).await,
            Promised::Nothing(head) => Err(read_to_end(shared, prepared, head, &mut leave).await),
        },
    };
    match read {
        Ok(mut begun) => {
            begun.body.end_by(began.after(leave.limits().total));
            drive::Flown::Content(leave, begun)
        }
        Err(flown) => drive::Flown::Landed(flown.lands(leave)),
    }
}

/// What a head promises, as far as a head can say.
enum Promised {
    /// A good answer.
    Answer(GoodHead),
    /// None: whatever comes is read to its end.
    Nothing(Head),
}

/// The head of a good answer.
struct GoodHead {
    answer: http::Answer,
    again: Again,
    first_byte: Option<Duration>,
    version: Option<u32>,
}

fn promised(shared: &Shared, prepared: &Prepared, head: Head) -> Promised {
    let Head {
        result,
        again,
        first_byte,
        version,
    } = head;
    match result {
        Ok(answer)
            if answer.status.is_success()
                && Judge::of(shared, prepared.profile, answer.status, &answer.headers).accepts() =>
        {
            Promised::Answer(GoodHead {
                answer,
                again,
                first_byte,
                version,
            })
        }
        result => Promised::Nothing(Head {
            result,
            again,
            first_byte,
            version,
        }),
    }
}

/// Reads an answer up to its first content; one without any, or that broke before it, has ended its attempt.
async fn to_content(
    shared: &Shared,
    prepared: &Prepared,
    head: GoodHead,
    leave: &mut Leave<'_>,
) -> Result<Begun, Flown> {
    let GoodHead {
        answer,
        again,
        first_byte,
        version,
    } = head;
    let http::Answer {
        status,
        headers,
        mut body,
    } = answer;
    let note = AttemptNote {
        candidate: leave.candidate(),
        sent_for: leave.role().reason().code(),
        outcome: Outcome::Answer.name(),
        status: Some(status.as_u16()),
        resent: again.resent,
        first_byte,
    };
    let mut ahead = Ahead::of(shared, prepared, status, &headers);
    let broken = loop {
        let chunk = match body.chunk().await {
            Some(Ok(chunk)) => chunk,
            Some(Err(broken)) => break Some(broken),
            None => break None,
        };
        let judge = Judge::of(shared, prepared.profile, status, &headers);
        let found = ahead.take(chunk, |error| judge.inside(error));
        if let Some(watch) = &ahead.watch {
            leave.used(watch.used().limited());
        }
        match found {
            Found::Nothing => {}
            Found::Content => {
                Head::note_outcome(shared, version, &Outcome::Answer);
                return Ok(Begun {
                    note,
                    status,
                    headers,
                    body,
                    ahead,
                });
            }
            Found::Fault => break None,
            Found::TooMuch(detail) => break Some(Broken::too_long(detail, body.received_bytes())),
        }
    };
    // It broke off, or has come whole.
    drop(body);
    let (body, held) = ahead.into_bytes();
    let heard = Heard {
        status,
        headers,
        body,
        state: BodyState::WellFormed,
        _held: held,
    };
    let judged = judge(shared, prepared, Some(heard), broken, again);
    Head::note_outcome(shared, version, &judged.report.outcome);
    Err(Flown { judged, first_byte })
}

impl Ahead {
    fn of(shared: &Shared, prepared: &Prepared, status: StatusCode, headers: &HeaderMap) -> Self {
        let wire = wire(prepared, status, headers);
        let lead = Lead::of(&wire);
        let course = match lead {
            Lead::Content => Some(Course::default()),
            Lead::Whole | Lead::Bytes => None,
        };
        Self {
            lead,
            chunks: VecDeque::new(),
            bytes: 0,
            held: Held::nothing(&shared.answers),
            watch: is_event_stream(headers).then(|| Watch::new(course)),
        }
    }

    fn take(&mut self, chunk: Bytes, judge: impl Fn(&OwnedBodyFacts) -> Verdict) -> Found {
        self.bytes += chunk.len();
        if let Err(most) = self.held.hold(self.bytes) {
            return Found::TooMuch(format!(
                "the answers held at once are longer than {most} bytes together, which is the limit"
            ));
        }
        if let Some(watch) = &mut self.watch {
            watch.hear(&chunk, judge);
        }
        self.chunks.push_back(chunk);
        let watch = self.watch.as_ref();
        match self.lead {
            Lead::Bytes => Found::Content,
            Lead::Content if watch.is_some_and(|watch| watch.content() == Content::Some) => Found::Content,
            Lead::Content if watch.is_some_and(|watch| watch.fault().is_some()) => Found::Fault,
            Lead::Content | Lead::Whole if self.bytes > HOLD_BYTES_MAX => Found::Content,
            Lead::Content | Lead::Whole => Found::Nothing,
        }
    }

    fn into_bytes(self) -> (Bytes, Held) {
        let mut chunks = self.chunks.into_iter();
        let first = chunks.next().unwrap_or_default();
        if chunks.len() == 0 {
            return (first, self.held);
        }
        let mut whole = BytesMut::from(first);
        chunks.for_each(|chunk| whole.extend_from_slice(&chunk));
        (whole.freeze(), self.held)
    }
}
