use super::case::Case;
use crate::failure::Failure;
use seawall_core::call::{Candidate, Spec};
use seawall_core::classify::Classified;
use seawall_core::engine::Engine;
use seawall_core::gate::GateKey;
use seawall_core::outcome::{Cause, Outcome, Report, Sent};
use seawall_core::policy::{GatePolicy, PolicyError};
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant};
use seawall_core::trace::Recording;
use seawall_core::verdict::{Action, CallId, Permit, Verdict};
use seawall_core::wait::WaitPlan;
use serde::Serialize;

/// When the attempt in question ends: so late that every wait before it fits, whatever the policy.
const ENDS_AT: Instant = Instant::from_nanos(100 * 365 * 86_400 * 1_000_000_000);

/// The gate of the only upstream that there is.
const GATE: GateKey = GateKey(1);

/// Sets the samples' engines apart: an odd factor gives every sample a seed of its own, and none that the next
/// `--seed` has.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// What is printed; the keys are a contract.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    outcome: &'static str,
    sent: &'static str,
    action: &'static str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<DelayMs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint_source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples_ms: Vec<u64>,
}

/// From the shortest to the longest delay that could be drawn.
#[derive(Clone, Copy, Debug, Serialize)]
struct DelayMs {
    min: u64,
    max: u64,
}

/// What the engine said once.
struct Said {
    reason: Reason,
    /// How long to wait, and the role of what is sent then; nothing where the call is over.
    wait: Option<(Duration, Option<&'static str>)>,
    /// Whether the wait was drawn from the backoff's range, and not set by a gate.
    drawn: bool,
}

/// Asks the engine as often as there are samples to draw.
pub(super) fn tell(case: &Case, met: &Classified, seed: u64, samples: u32) -> Result<Told, Failure> {
    let outcome = met.report.outcome;
    let hint = outcome.hint();
    let said = ask(case, &met.report, seed)?;
    let too_long = matches!(
        said.reason,
        Reason::ServerAskedTooLong { .. } | Reason::CoolingDown { .. }
    );
    let mut told = Told {
        outcome: outcome.name(),
        sent: outcome.sent().name(),
        action: "finish",
        reason: said.reason.code(),
        role: None,
        delay_ms: None,
        hint_ms: hint.map(|hint| hint.wait.as_millis_up()),
        hint_source: hint.map(|hint| hint.source.name()),
        retry_after_ms: hint.filter(|_| too_long).map(|hint| hint.wait.as_millis_up()),
        text: said.reason.to_string(),
        samples_ms: Vec::new(),
    };
    let Some((first, role)) = said.wait else {
        return Ok(told);
    };
    told.action = "wait";
    told.role = role;
    told.samples_ms.push(first.as_millis_up());
    for nth in 1..samples {
        let again = ask(case, &met.report, seed ^ u64::from(nth).wrapping_mul(SPREAD))?;
        let (wait, _) = again
            .wait
            .ok_or_else(|| Failure::internal("one seed waits and another does not"))?;
        told.samples_ms.push(wait.as_millis_up());
    }
    let range = if said.drawn {
        delay_range(case, &met.report)?
    } else {
        (first, first)
    };
    told.delay_ms = Some(DelayMs {
        min: range.0.as_millis_up(),
        max: range.1.as_millis_up(),
    });
    Ok(told)
}

impl Told {
    /// The words of the verdict, for those who want to see behind the sentence.
    pub(super) fn details(&self) -> String {
        let mut line = format!(
            "outcome {}, sent {}, action {}, reason {}",
            self.outcome, self.sent, self.action, self.reason
        );
        if let Some(delay) = self.delay_ms {
            line.push_str(&format!(", delay {} to {} ms", delay.min, delay.max));
        }
        line
    }

    pub(super) fn json(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| Failure::internal(error.to_string()))
    }
}

/// Brings a call to its last attempt, tells the engine what that met, and asks once.
///
/// The attempts before it fail without being sent, which every call may repeat, and meet a gate without bounds, so
/// that budget and breaker are fresh when the question is put.
fn ask(case: &Case, report: &Report, seed: u64) -> Result<Said, Failure> {
    let mut engine = Engine::new(seed, Recording::Off);
    let mut now = Instant::START;
    let gate = engine
        .configure(now, GATE, &GatePolicy::UNBOUNDED, &[], None)
        .map_err(|error| unfit(&error))?;
    let route = [Candidate::at(gate)];
    let call = engine.begin(
        now,
        Spec {
            deadline: ENDS_AT.after(case.deadline.minus(case.elapsed)),
            endpoint: case.endpoint,
            retries_max: case.caller.retries_max,
            nth: case.caller.nth,
            ..Spec::new(now, &route, &case.policy.call, case.replay)
        },
    );
    let mut permit = next_permit(&mut engine, &mut now, call)?;
    for _ in 0..failures_before(case) {
        engine.settle(now, permit, Report::of(NOT_SENT));
        permit = next_permit(&mut engine, &mut now, call)?;
    }
    let now = now.max(ENDS_AT);
    engine
        .configure(now, GATE, &case.policy.gate, &[], None)
        .map_err(|error| unfit(&error))?;
    engine.settle(now, permit, *report);
    let verdict = engine.poll(now, call);
    let reason = with_the_users_numbers(case, verdict.reason);
    let (until, drawn) = match verdict.action {
        Action::Finish { .. } => {
            return Ok(Said {
                reason,
                wait: None,
                drawn: false,
            });
        }
        Action::Wait(until) => (until, true),
        Action::Park { until } => (until, false),
        Action::Send(_) | Action::InFlight { .. } => {
            return Err(Failure::internal(
                "a failed attempt was followed by another without a wait",
            ));
        }
    };
    let role = match engine.poll(until, call).action {
        Action::Send(permit) => Some(permit.role().reason().code()),
        Action::Wait(_) | Action::Park { .. } | Action::InFlight { .. } | Action::Finish { .. } => None,
    };
    Ok(Said {
        reason,
        wait: Some((until.since(now), role)),
        drawn,
    })
}

/// What the attempts before the one in question met.
const NOT_SENT: Outcome = Outcome::Failed {
    cause: Cause::Connect,
    sent: Sent::No,
    hint: None,
};

/// How many attempts to play before: those that were made, as far as the policy allows so many.
fn failures_before(case: &Case) -> u32 {
    let allowed = case
        .caller
        .retries_max
        .unwrap_or(u32::MAX)
        .min(case.policy.call.retries());
    (case.attempts - 1).min(allowed)
}

/// Waits until the call may be sent.
fn next_permit(engine: &mut Engine, now: &mut Instant, call: CallId) -> Result<Permit, Failure> {
    loop {
        match engine.poll(*now, call) {
            Verdict {
                action: Action::Send(permit),
                ..
            } => return Ok(permit),
            Verdict {
                action: Action::Wait(until) | Action::Park { until },
                ..
            } if until > *now => *now = until,
            Verdict { reason, .. } => {
                return Err(Failure::internal(format!(
                    "the attempts before end the call: {reason}"
                )));
            }
        }
    }
}

/// The range that the wait was drawn from. Decorrelated jitter depends on the delay before, which could have been
/// as long as its own range allowed.
fn delay_range(case: &Case, report: &Report) -> Result<(Duration, Duration), Failure> {
    let policy = &case.policy.call;
    let retries = failures_before(case);
    let plan = |nth, previous, hint, left| {
        WaitPlan::new(policy, nth, previous, hint, left)
            .map_err(|reason| Failure::internal(reason.to_string()))
    };
    let mut previous = policy.backoff().base();
    for nth in 0..retries {
        previous = plan(nth, previous, None, Duration::MAX)?.longest();
    }
    let left = case.deadline.minus(case.elapsed);
    let plan = plan(retries, previous, report.outcome.hint(), left)?;
    Ok((plan.shortest(), plan.longest()))
}

/// The numbers that were played differ from the ones that were given: the call began long before, and no more
/// attempts were made than the policy allows.
fn with_the_users_numbers(case: &Case, reason: Reason) -> Reason {
    match reason {
        Reason::DeadlinePassed { .. } => Reason::DeadlinePassed {
            deadline: case.deadline,
        },
        Reason::AttemptsSpent { .. } => Reason::AttemptsSpent { sends: case.attempts },
        other => other,
    }
}

fn unfit(error: &PolicyError) -> Failure {
    Failure::internal(error.to_string())
}
