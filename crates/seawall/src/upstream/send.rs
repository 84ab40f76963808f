//! One call live: its attempts by the engine's verdicts, and how it ended.

use super::attempt::{Brought, Heard, attempt};
use super::end::{Answer, AttemptNote, CallError, RefusedAnswer, UnknownWrite};
use super::{Call, Prepared, Upstream};
use crate::drive::{Finished, Log, drive};
use seawall_core::outcome::{Cause, Outcome, Report, Usage};
use seawall_core::reason::Reason;
use seawall_core::time::Duration;

/// Everything that attempts brought and waits took.
#[derive(Default)]
struct Journal {
    attempts: Vec<AttemptNote>,
    waited: Vec<(&'static str, Duration)>,
    usage: Usage,
    last: Option<Report>,
    detail: Option<String>,
    heard: Option<Heard>,
}

impl Log<Brought> for Journal {
    fn landed(&mut self, brought: Brought) {
        self.attempts.push(brought.note);
        let judged = brought.judged;
        let usage = judged.report.usage;
        self.usage.tokens_in = self.usage.tokens_in.saturating_add(usage.tokens_in);
        self.usage.tokens_out = self.usage.tokens_out.saturating_add(usage.tokens_out);
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

impl Upstream {
    /// Makes one call, with whatever attempts and waits its policy allows.
    ///
    /// Dropping the future at any point cancels the call: what is in flight is closed, and what it held of budget,
    /// breaker, places and queues goes back.
    ///
    /// # Errors
    /// [`CallError`]: why the call ended, the last real answer, and every attempt.
    pub async fn call(&self, call: Call) -> Result<Answer, Box<CallError>> {
        let shared = &*self.shared;
        let url = match shared.base.join(&call.path) {
            Ok(url) => url,
            Err(error) => return Err(Box::new(unsendable(&error))),
        };
        let prepared = self.prepare(&call, url);
        let mut journal = Journal::default();
        let route = [self.candidate()];
        let policy = self.call_policy();
        let spec = |now| Self::spec(&policy, &call, &prepared, &route, now);
        let send = |leave| attempt(shared, &prepared, leave);
        let finished = drive(&shared.hub, spec, send, &mut journal).await;
        self.end(&prepared, finished, journal)
    }

    fn end(
        &self,
        prepared: &Prepared,
        finished: Finished,
        journal: Journal,
    ) -> Result<Answer, Box<CallError>> {
        let Journal {
            attempts,
            waited,
            usage,
            last,
            detail,
            heard,
        } = journal;
        let heard = match heard {
            Some(heard) if finished.reason == Reason::Succeeded => {
                return Ok(Answer {
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
        let outcome = last.map_or("none", |report| report.outcome.name());
        let unknown = finished.unknown.then(|| UnknownWrite {
            upstream: self.shared.name.clone(),
            method: prepared.out.method.to_string(),
            path: prepared.out.url.path().to_owned(),
            key: prepared
                .key
                .as_ref()
                .map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned()),
            outcome,
        });
        let now = self.shared.hub.clock().now();
        let answer = heard.map(|heard| {
            let Heard {
                status,
                headers,
                body,
                state,
                _held,
            } = heard;
            Box::new(RefusedAnswer {
                status,
                headers,
                body,
                state,
            })
        });
        Err(Box::new(CallError {
            reason: finished.reason,
            cause: last.and_then(|report| cause(&report.outcome)),
            detail,
            answer,
            attempts,
            waited,
            usage,
            retry_after: finished.retry_at.map(|at| at.since(now)),
            unknown,
        }))
    }
}

/// A call that no request can be made of: the caller's to mend (rule D4).
fn unsendable(error: &http::Error) -> CallError {
    CallError {
        reason: Reason::Refused { status: 0 },
        cause: Some(Cause::Request),
        detail: Some(format!("the path cannot be sent: {error}")),
        answer: None,
        attempts: Vec::new(),
        waited: Vec::new(),
        usage: Usage::NONE,
        retry_after: None,
        unknown: None,
    }
}

const fn cause(outcome: &Outcome) -> Option<Cause> {
    match outcome {
        Outcome::Failed { cause, .. } => Some(*cause),
        Outcome::Answer | Outcome::Refused(_) | Outcome::Throttled { .. } | Outcome::Denied { .. } => None,
    }
}
