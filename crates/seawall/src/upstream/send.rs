//! One call live: its attempts along its candidates by the engine's verdicts, and how it ended.
//!
//! What can go wrong: what is sent to one candidate is made for another, so that a model, a path or a credential goes
//! where it must not; or it is made anew for every attempt, and a retry is another request than the one before. So what a
//! candidate is sent is made once, when the call first comes there, and the key of a write is made once for all of them
//! (rule E3).

use super::attempt::{Brought, Heard, Judged, attempt};
use super::end::{Answer, AttemptNote, Attempts, CallError, RefusedAnswer, UnknownWrite};
use super::{Call, Prepared, Upstream};
use crate::drive::{Finished, Log, drive};
use crate::hub::{Landed, Leave};
use http::HeaderValue;
use seawall_core::call::{Candidate, Spec};
use seawall_core::facts::Replay;
use seawall_core::outcome::{Cause, Outcome, Report, Sent, Usage};
use seawall_core::policy::CallPolicy;
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant};
use std::sync::{Arc, OnceLock};

/// Everything that attempts brought and waits took.
#[derive(Default)]
pub(super) struct Journal {
    pub(super) attempts: Attempts,
    pub(super) waited: Vec<(&'static str, Duration)>,
    pub(super) usage: Usage,
    last: Option<Report>,
    detail: Option<String>,
    heard: Option<Heard>,
    /// The candidate of the last attempt that may have acted.
    acted: Option<usize>,
}

impl Log<Brought> for Journal {
    fn landed(&mut self, brought: Brought) {
        let judged = brought.judged;
        match judged.report.outcome.sent() {
            Sent::Maybe | Sent::Done => self.acted = Some(brought.note.candidate),
            Sent::No | Sent::NotDone => {}
        }
        self.attempts.push(brought.note);
        self.usage = self.usage.plus(judged.used);
        self.last = Some(judged.report);
        self.detail = judged.detail;
        // An attempt that got no answer does not hide the last one that did.
        self.heard = judged.heard.or(self.heard.take());
    }

    fn waited(&mut self, reason: Reason, length: Duration) {
        let code = reason.code();
        match self.waited.iter_mut().find(|(known, _)| *known == code) {
            Some((_, sum)) => *sum = sum.plus(length),
            None => self.waited.push((code, length)),
        }
    }
}

/// One candidate, as a call along a route sees it.
#[derive(Clone, Copy)]
pub(crate) struct Stop<'r> {
    pub(crate) upstream: &'r Upstream,
    pub(crate) model: Option<&'r Arc<str>>,
    /// Its place in the route as that was written.
    pub(crate) nth: usize,
}

/// What one candidate is sent, or why it can be sent nothing.
pub(crate) type Made = Result<Prepared, http::Error>;

/// One call's way along its candidates.
pub(crate) struct Way<'r> {
    /// The candidates, in the order in which they are asked.
    pub(crate) stops: &'r [Stop<'r>],
    /// The same, for the engine.
    pub(crate) candidates: &'r [Candidate],
    /// What each of them is sent, once that was made; the first one's is.
    pub(crate) made: &'r [OnceLock<Made>],
    pub(crate) policy: &'r CallPolicy,
}

impl Way<'_> {
    /// Walks it to its end. `make` makes what a candidate is sent, once, when the call first comes there.
    pub(crate) async fn walk(&self, make: impl Fn(usize) -> Made) -> Result<Answer, Box<CallError>> {
        let (first, prepared) = self.first(&make)?;
        let mut journal = Journal::default();
        let spec = |now| prepared.spec(now, self.candidates, self.policy);
        let hub = first.upstream.hub();
        let finished = drive(
            hub,
            spec,
            |leave| {
                let nth = leave.candidate();
                let made = self.made[nth].get_or_init(|| make(nth));
                attempt_at(&self.stops[nth], made, leave)
            },
            &mut journal,
        );
        let finished = finished.await;
        self.end(finished, journal)
    }

    /// The first candidate, and what it is sent.
    pub(super) fn first(
        &self,
        make: impl Fn(usize) -> Made,
    ) -> Result<(&Stop<'_>, &Prepared), Box<CallError>> {
        let [first, ..] = self.stops else {
            unreachable!("a way has a candidate");
        };
        match self.made[0].get_or_init(|| make(0)) {
            Ok(prepared) => Ok((first, prepared)),
            Err(error) => Err(Box::new(unsendable(first, error))),
        }
    }

    pub(super) fn end(&self, finished: Finished, mut journal: Journal) -> Result<Answer, Box<CallError>> {
        let last = journal.attempts.last().map_or(0, |note| note.candidate);
        let at = self.stops[last];
        let unknown = finished.unknown.then(|| self.unknown(&journal, last));
        for note in journal.attempts.iter_mut() {
            note.candidate = self.stops[note.candidate].nth;
        }
        let Journal {
            attempts,
            waited,
            usage,
            last,
            detail,
            heard,
            ..
        } = journal;
        let (upstream, model) = (at.upstream.shared_name(), at.model.cloned());
        let heard = match heard {
            Some(heard) if finished.reason == Reason::Succeeded => {
                return Ok(Answer {
                    upstream,
                    model,
                    status: heard.status,
                    headers: heard.headers,
                    body: heard.body,
                    attempts,
                    waited,
                    usage,
                });
            }
            heard => heard,
        };
        let now = at.upstream.hub().clock().now();
        Err(Box::new(CallError {
            upstream,
            model,
            reason: finished.reason,
            cause: last.and_then(|report| cause(&report.outcome)),
            detail,
            answer: heard.map(|heard| Box::new(refused(heard))),
            attempts,
            waited,
            usage,
            retry_after: finished.retry_at.map(|at| at.since(now)),
            unknown,
        }))
    }

    /// The write that nobody knows the effect of, where it may have acted.
    fn unknown(&self, journal: &Journal, last: usize) -> UnknownWrite {
        let at = journal.acted.unwrap_or(last);
        self.write_at(at, journal.last.map_or("none", |report| report.outcome.name()))
    }

    /// The write that this candidate was sent, and what it met there.
    pub(super) fn write_at(&self, at: usize, outcome: &'static str) -> UnknownWrite {
        let prepared = self.made[at].get().and_then(|made| made.as_ref().ok());
        let out = prepared.map(|prepared| &prepared.out);
        let key = prepared.and_then(|prepared| prepared.key.as_ref());
        UnknownWrite {
            upstream: self.stops[at].upstream.name().to_owned(),
            method: out.map_or_else(String::new, |out| out.method.to_string()),
            path: out.map_or_else(String::new, |out| out.url.path().to_owned()),
            key: key.map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned()),
            outcome,
        }
    }
}

/// Sends one attempt that the engine permitted to the candidate that it is for.
async fn attempt_at<'h>(stop: &Stop<'_>, made: &Made, leave: Leave<'h>) -> Landed<'h, Brought> {
    match leave_for(stop, made, leave) {
        Ok((prepared, leave)) => attempt(&stop.upstream.shared, prepared, leave).await,
        Err(landed) => *landed,
    }
}

/// What is sent by this leave, within its candidate's own limits; an attempt that is over where nothing can be.
pub(super) fn leave_for<'m, 'h>(
    stop: &Stop<'_>,
    made: &'m Made,
    mut leave: Leave<'h>,
) -> Result<(&'m Prepared, Leave<'h>), Box<Landed<'h, Brought>>> {
    match made {
        Ok(prepared) => {
            // The call keeps the policy of its route's first candidate; each bounds its own attempts (rule K1).
            if leave.candidate() > 0 {
                let own = stop.upstream.call_policy();
                let now = stop.upstream.hub().clock().now();
                let deadline = leave.limits().deadline;
                leave.limit_to(own.limits_for(prepared.endpoint, now, deadline));
            }
            Ok((prepared, leave))
        }
        Err(error) => {
            let report = Report::of(UNSENDABLE);
            let note = AttemptNote {
                candidate: leave.candidate(),
                sent_for: leave.role().reason().code(),
                outcome: UNSENDABLE.name(),
                status: None,
                resent: false,
                first_byte: None,
            };
            let judged = Judged {
                report,
                used: Usage::NONE,
                heard: None,
                detail: Some(no_path(error)),
            };
            Err(Box::new(leave.landed(report, Brought { note, judged })))
        }
    }
}

/// No request can be made of it: the caller's to mend (rule D4).
const UNSENDABLE: Outcome = Outcome::Failed {
    cause: Cause::Request,
    sent: Sent::No,
    hint: None,
};

impl Prepared {
    /// Tokens sent and answered, by estimate.
    pub(crate) const fn tokens(&self) -> (u32, u32) {
        (self.estimate.tokens_in, self.estimate.tokens_out)
    }

    /// What the engine is told of the call, by what its first candidate is sent.
    pub(super) fn spec<'s>(&self, now: Instant, route: &'s [Candidate], policy: &'s CallPolicy) -> Spec<'s> {
        let length = self.deadline;
        let deadline = length.unwrap_or_else(|| policy.deadline_for(self.endpoint));
        Spec {
            retries_max: self.retries_max,
            deadline: now.after(deadline),
            endpoint: self.endpoint,
            tokens_in: self.estimate.tokens_in,
            tokens_out: self.estimate.tokens_out,
            tokens_guessed: self.estimate.tokens_guessed,
            once: self.once,
            ..Spec::new(now, route, policy, self.replay)
        }
    }
}

impl Upstream {
    /// Makes one call, with whatever attempts and waits its policy allows.
    ///
    /// Dropping the future at any point cancels the call: what is in flight is closed, and what it held of budget,
    /// breaker, places and queues goes back.
    ///
    /// # Errors
    /// [`CallError`]: why the call ended, the last real answer, and every attempt.
    pub async fn call(&self, call: Call) -> Result<Answer, Box<CallError>> {
        let key = OnceLock::new();
        let made = [OnceLock::from(self.prepare(call, &key))];
        let way = Way {
            stops: &[self.stop()],
            candidates: &[self.candidate()],
            made: &made,
            policy: &self.call_policy(),
        };
        way.walk(|_| unreachable!("what the only candidate is sent was made before"))
            .await
    }
}

impl Upstream {
    /// It alone, as a candidate.
    pub(super) const fn stop(&self) -> Stop<'_> {
        Stop {
            upstream: self,
            model: None,
            nth: 0,
        }
    }
}

/// The key of one call, once there is one: the same for whatever is sent of it.
pub(crate) type KeyOfCall = OnceLock<HeaderValue>;

fn refused(heard: Heard) -> RefusedAnswer {
    let Heard {
        status,
        headers,
        body,
        state,
        _held,
    } = heard;
    RefusedAnswer {
        status,
        headers,
        body,
        state,
    }
}

/// A call that no request can be made of.
fn unsendable(stop: &Stop<'_>, error: &http::Error) -> CallError {
    CallError {
        cause: Some(Cause::Request),
        detail: Some(no_path(error)),
        ..unsent(stop, Reason::Refused { status: 0 })
    }
}

/// A call of which nothing was sent.
fn unsent(stop: &Stop<'_>, reason: Reason) -> CallError {
    CallError {
        upstream: stop.upstream.shared_name(),
        model: stop.model.cloned(),
        reason,
        cause: None,
        detail: None,
        answer: None,
        attempts: Attempts::default(),
        waited: Vec::new(),
        usage: Usage::NONE,
        retry_after: None,
        unknown: None,
    }
}

fn no_path(error: &http::Error) -> String {
    format!("the path cannot be sent: {error}")
}

/// A call that no candidate may serve: its route has none that is cheap enough, or that has a credential of its own.
pub(crate) async fn without_candidate(first: &Stop<'_>, policy: &CallPolicy) -> Box<CallError> {
    let spec = |now| Spec::new(now, &[], policy, Replay::Idempotent);
    let finished = drive(
        first.upstream.hub(),
        spec,
        |leave| async move { leave.landed(Report::of(UNSENDABLE), ()) },
        &mut |()| {},
    )
    .await;
    Box::new(unsent(first, finished.reason))
}

const fn cause(outcome: &Outcome) -> Option<Cause> {
    match outcome {
        Outcome::Failed { cause, .. } => Some(*cause),
        Outcome::Answer | Outcome::Refused(_) | Outcome::Throttled { .. } | Outcome::Denied { .. } => None,
    }
}
