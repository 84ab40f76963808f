//! Why: the one vocabulary of logs, metrics, response headers, pages, reports and tests.
//!
//! A [`Reason`] has a stable [`code`](Reason::code), never renamed and never reused, and carries the numbers that
//! decided; its `Display` is a sentence for people, with times to the millisecond. `docs/reference/reasons.md` is generated from [`CATALOGUE`].

use crate::time::Duration;
use core::fmt;

/// Why the engine answered as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A call's first attempt.
    First,
    /// An attempt after a failed one.
    Retry,
    /// An attempt that finds out whether an upstream is back.
    Probe,
    /// A second attempt beside a slow first one.
    Hedge,
    /// An attempt at another upstream than the last.
    Fallback,
    /// Waiting by our own guess.
    BackingOff {
        /// How long.
        wait: Duration,
    },
    /// Waiting because the server said so.
    ServerAsked {
        /// What the server said.
        asked: Duration,
        /// How long.
        wait: Duration,
        /// Whether the whole gate waits with the call.
        cools: bool,
    },
    /// The upstream said "not before".
    CoolingDown {
        /// How much of that is left.
        left: Duration,
    },
    /// Waiting for a place among the attempts in flight.
    Queued {
        /// Calls in front.
        ahead: u32,
    },
    /// Waiting for a broken upstream's next probe.
    BreakerWait {
        /// Until when at the least.
        left: Duration,
    },
    /// Waiting for the retry budget.
    BudgetWait {
        /// Until it is looked at again.
        left: Duration,
    },
    /// Waiting for a rate limit.
    RateWait {
        /// Until the bucket has enough.
        left: Duration,
    },
    /// The call has its answer.
    Succeeded,
    /// The request itself is at fault.
    Refused {
        /// The status, 0 where it was not one.
        status: u16,
    },
    /// The credential was not accepted.
    Denied {
        /// The status, 0 where it was not one.
        status: u16,
    },
    /// The credential was denied twice in a row and is not used for a while.
    DeniedLatched {
        /// How long still.
        left: Duration,
    },
    /// The money or quota is gone.
    QuotaSpent,
    /// The prompt is longer than the model's window.
    ContextTooLong,
    /// The server said not to retry.
    ToldNotTo,
    /// The write may have acted, and nothing makes a repeat safe.
    MayHaveActed,
    /// Every retry that the policy allows was made.
    AttemptsSpent {
        /// Attempts made.
        sends: u32,
    },
    /// The retry budget has nothing left.
    BudgetEmpty {
        /// Extras granted within the window.
        granted: u64,
        /// Extras that the window allows.
        allowed: u64,
    },
    /// The server asked for a longer wait than the policy or the deadline allows.
    ServerAskedTooLong {
        /// What the server said.
        asked: Duration,
        /// The longest wait that was possible.
        max: Duration,
    },
    /// No attempt fits between the shortest wait and the deadline.
    DeadlineTooNear {
        /// The least that wait and attempt need.
        needs: Duration,
        /// What is left.
        left: Duration,
    },
    /// The deadline passed.
    DeadlinePassed {
        /// The deadline's length.
        deadline: Duration,
    },
    /// The upstream is broken and not tried.
    BreakerOpen {
        /// When the next probe may go.
        retry_in: Duration,
    },
    /// A limit of our own has no room in time.
    LimiterFull {
        /// Which, and how full it is.
        full: Full,
    },
    /// The body is too large to be kept for a second send.
    BodyTooLarge,
    /// Content was handed on before the failure.
    AlreadyStreaming,
    /// The caller left.
    Cancelled,
    /// No candidate can serve the call.
    NoCandidate,
    /// The money cap has nothing left.
    CostMax,
    /// The idempotency key was used with another body.
    KeyReused,
    /// A call with the same idempotency key is running.
    KeyInFlight,
    /// The upstream was told to send nothing more.
    Draining,
    /// The answer is not what the caller asked for.
    AnswerUnfit,
    /// The batch row is larger than the limit.
    RowTooLarge,
}

/// What a full limit has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The queue in front of the gate holds no more.
    Queue {
        /// Calls that wait.
        waiting: u32,
    },
    /// The call alone needs more than a minute's worth.
    Bucket {
        /// Requests or tokens.
        needs: u64,
        /// What the limit holds.
        holds: u64,
    },
    /// The rate has no room before the call's deadline.
    Rate {
        /// When it has.
        free_in: Duration,
        /// The time that is left.
        left: Duration,
    },
}

/// Where in a call's life a reason stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// On an attempt that is sent.
    Send,
    /// On a wait.
    Wait,
    /// On an end.
    End,
}

/// One row of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The stable code.
    pub code: &'static str,
    /// Where in a call's life it stands.
    pub stage: Stage,
    /// What it says.
    pub meaning: &'static str,
    /// What a person can do about it, empty where nothing is needed.
    pub remedy: &'static str,
}

const fn entry(code: &'static str, stage: Stage, meaning: &'static str, remedy: &'static str) -> Entry {
    Entry {
        code,
        stage,
        meaning,
        remedy,
    }
}

/// Every reason that exists: code, stage, meaning, remedy.
pub const CATALOGUE: &[Entry] = &[
    entry("first", Stage::Send, "A call's first attempt.", ""),
    entry("retry", Stage::Send, "An attempt after a failed one.", ""),
    entry(
        "probe",
        Stage::Send,
        "An attempt that finds out whether a broken upstream is back.",
        "",
    ),
    entry(
        "hedge",
        Stage::Send,
        "A second attempt beside a slow first one.",
        "",
    ),
    entry(
        "fallback",
        Stage::Send,
        "An attempt at another upstream than the last.",
        "",
    ),
    entry(
        "backing-off",
        Stage::Wait,
        "Waiting by our own guess, drawn from the policy's backoff.",
        "",
    ),
    entry(
        "server-asked",
        Stage::Wait,
        "Waiting because the server said when to come back.",
        "",
    ),
    entry(
        "cooling-down",
        Stage::Wait,
        "The upstream said \"not before\"; also ends a call that cannot wait so long.",
        "Wait for the stated time, or add another upstream to the route.",
    ),
    entry(
        "queued",
        Stage::Wait,
        "Waiting for a place among the attempts in flight.",
        "",
    ),
    entry(
        "breaker-wait",
        Stage::Wait,
        "Waiting for a broken upstream's next probe.",
        "",
    ),
    entry("budget-wait", Stage::Wait, "Waiting for the retry budget.", ""),
    entry("rate-wait", Stage::Wait, "Waiting for a rate limit.", ""),
    entry("succeeded", Stage::End, "The call has its answer.", ""),
    entry(
        "refused",
        Stage::End,
        "The request itself is at fault; the same request will fail again.",
        "Read the upstream's error and mend the request.",
    ),
    entry(
        "denied",
        Stage::End,
        "The credential was not accepted for this request.",
        "Check the key and what it is allowed to do.",
    ),
    entry(
        "denied-latched",
        Stage::End,
        "The credential was denied twice in a row and is not used for a while.",
        "Replace the key; a new version is tried at once.",
    ),
    entry(
        "quota-spent",
        Stage::End,
        "The money or quota is gone; waiting does not bring it back.",
        "Raise the limit or the balance at the provider.",
    ),
    entry(
        "context-too-long",
        Stage::End,
        "The prompt is longer than the model's window.",
        "Shorten the prompt or route to a model with a larger window.",
    ),
    entry("told-not-to", Stage::End, "The server said not to retry.", ""),
    entry(
        "may-have-acted",
        Stage::End,
        "The write may have acted, and nothing makes a repeat safe.",
        "Look at the upstream whether it happened; send an idempotency key with such calls.",
    ),
    entry(
        "attempts-spent",
        Stage::End,
        "Every retry that the policy allows was made.",
        "",
    ),
    entry(
        "budget-empty",
        Stage::End,
        "The retry budget has nothing left: too large a part of the traffic fails.",
        "Mend the upstream; a larger budget makes an outage worse.",
    ),
    entry(
        "server-asked-too-long",
        Stage::End,
        "The server asked for a longer wait than the policy or the deadline allows.",
        "Come back after the stated time; raise hints.max where nobody waits.",
    ),
    entry(
        "deadline-too-near",
        Stage::End,
        "No attempt fits between the shortest wait and the deadline.",
        "Give calls more time, or fewer retries.",
    ),
    entry(
        "deadline-passed",
        Stage::End,
        "The call's deadline passed.",
        "Give calls more time.",
    ),
    entry(
        "breaker-open",
        Stage::End,
        "The upstream is broken and not tried until its next probe.",
        "Come back at the stated time, or add another upstream to the route.",
    ),
    entry(
        "limiter-full",
        Stage::End,
        "The gate's line is full, the call needs more than a limit holds, or a limit of a minute has no room before its deadline.",
        "Send less at once, make the call smaller, or raise the limit; a longer limits.queue only waits longer.",
    ),
    entry(
        "body-too-large",
        Stage::End,
        "The body is too large to be kept for a second send, so there was one attempt.",
        "Send a smaller body, or raise the limit for kept bodies.",
    ),
    entry(
        "already-streaming",
        Stage::End,
        "Content was handed on before the failure, so the call cannot be repeated.",
        "",
    ),
    entry("cancelled", Stage::End, "The caller left.", ""),
    entry(
        "no-candidate",
        Stage::End,
        "No upstream of the route can serve the call.",
        "Look at the route's candidates.",
    ),
    entry(
        "cost-max",
        Stage::End,
        "The money cap has nothing left.",
        "Raise the cap.",
    ),
    entry(
        "key-reused",
        Stage::End,
        "The idempotency key was used before with another body.",
        "Make a new key for each call.",
    ),
    entry(
        "key-in-flight",
        Stage::End,
        "A call with the same idempotency key is running.",
        "Wait for that one.",
    ),
    entry(
        "draining",
        Stage::End,
        "The upstream was told to send nothing more, because its program is stopping.",
        "Send through another instance, or later.",
    ),
    entry(
        "answer-unfit",
        Stage::End,
        "The answer is whole and not what was asked for.",
        "Look at the schema.",
    ),
    entry(
        "row-too-large",
        Stage::End,
        "The batch row is larger than the limit.",
        "Raise --max-line.",
    ),
];

impl Reason {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Retry => "retry",
            Self::Probe => "probe",
            Self::Hedge => "hedge",
            Self::Fallback => "fallback",
            Self::BackingOff { .. } => "backing-off",
            Self::ServerAsked { .. } => "server-asked",
            Self::CoolingDown { .. } => "cooling-down",
            Self::Queued { .. } => "queued",
            Self::BreakerWait { .. } => "breaker-wait",
            Self::BudgetWait { .. } => "budget-wait",
            Self::RateWait { .. } => "rate-wait",
            Self::Succeeded => "succeeded",
            Self::Refused { .. } => "refused",
            Self::Denied { .. } => "denied",
            Self::DeniedLatched { .. } => "denied-latched",
            Self::QuotaSpent => "quota-spent",
            Self::ContextTooLong => "context-too-long",
            Self::ToldNotTo => "told-not-to",
            Self::MayHaveActed => "may-have-acted",
            Self::AttemptsSpent { .. } => "attempts-spent",
            Self::BudgetEmpty { .. } => "budget-empty",
            Self::ServerAskedTooLong { .. } => "server-asked-too-long",
            Self::DeadlineTooNear { .. } => "deadline-too-near",
            Self::DeadlinePassed { .. } => "deadline-passed",
            Self::BreakerOpen { .. } => "breaker-open",
            Self::LimiterFull { .. } => "limiter-full",
            Self::BodyTooLarge => "body-too-large",
            Self::AlreadyStreaming => "already-streaming",
            Self::Cancelled => "cancelled",
            Self::NoCandidate => "no-candidate",
            Self::CostMax => "cost-max",
            Self::KeyReused => "key-reused",
            Self::KeyInFlight => "key-in-flight",
            Self::Draining => "draining",
            Self::AnswerUnfit => "answer-unfit",
            Self::RowTooLarge => "row-too-large",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("sending it for the first time"),
            Self::Retry => f.write_str("sending it again"),
            Self::Probe => f.write_str("sending it to find out whether the upstream is back"),
            Self::Hedge => f.write_str("sending it a second time beside the slow first one"),
            Self::Fallback => f.write_str("sending it to another upstream"),
            Self::BackingOff { wait } => write!(f, "waiting {} before the next attempt", up(wait)),
            Self::ServerAsked {
                asked,
                wait,
                cools: true,
            } => {
                write!(
                    f,
                    "the server asked for {}; waiting {}, and the whole gate with it",
                    up(asked),
                    up(wait)
                )
            }
            Self::ServerAsked {
                asked,
                wait,
                cools: false,
            } => {
                write!(f, "the server asked for {}; waiting {}", up(asked), up(wait))
            }
            Self::CoolingDown { left } => write!(f, "the upstream said not before {} from now", up(left)),
            Self::Queued { ahead: 1 } => f.write_str("waiting for a place behind 1 other"),
            Self::Queued { ahead } => write!(f, "waiting for a place behind {ahead} others"),
            Self::BreakerWait { left } => {
                write!(f, "the upstream is broken; the next probe may go in {}", up(left))
            }
            Self::BudgetWait { left } => {
                write!(f, "the retry budget is empty; looking again in {}", up(left))
            }
            Self::RateWait { left } => write!(f, "the rate limit has room in {}", up(left)),
            Self::Succeeded => f.write_str("the call has its answer"),
            Self::Refused { status: 0 } => {
                f.write_str("the request was refused; the same request will fail again")
            }
            Self::Refused { status } => {
                write!(
                    f,
                    "the request was refused with {status}; the same request will fail again"
                )
            }
            Self::Denied { status: 0 } => f.write_str("the credential was not accepted"),
            Self::Denied { status } => write!(f, "the credential was not accepted: {status}"),
            Self::DeniedLatched { left } => {
                write!(
                    f,
                    "the credential was denied twice in a row; it is not used for another {}",
                    up(left)
                )
            }
            Self::QuotaSpent => f.write_str("the money or quota is gone; waiting does not bring it back"),
            Self::ContextTooLong => f.write_str("the prompt is longer than the model's window"),
            Self::ToldNotTo => f.write_str("the server said not to retry"),
            Self::MayHaveActed => f.write_str("the write may have acted, and nothing makes a repeat safe"),
            Self::AttemptsSpent { sends: 1 } => {
                f.write_str("the one attempt that the policy allows was made")
            }
            Self::AttemptsSpent { sends } => {
                write!(f, "all {sends} attempts that the policy allows were made")
            }
            Self::BudgetEmpty { granted, allowed } => {
                let extras = if *granted == 1 { "extra" } else { "extras" };
                write!(
                    f,
                    "the retry budget is empty: {granted} {extras} in its window, {allowed} allowed"
                )
            }
            Self::ServerAskedTooLong { asked, max } => {
                write!(
                    f,
                    "the server asked for {}; the longest wait possible is {}",
                    up(asked),
                    down(max)
                )
            }
            Self::DeadlineTooNear { needs, left } => {
                write!(f, "the next attempt needs {}, {} is left", up(needs), down(left))
            }
            Self::DeadlinePassed { deadline } => write!(f, "the deadline of {} passed", up(deadline)),
            Self::BreakerOpen { retry_in } => {
                write!(
                    f,
                    "the upstream is broken and not tried; the next probe may go in {}",
                    up(retry_in)
                )
            }
            Self::LimiterFull { full } => write!(f, "{full}"),
            Self::BodyTooLarge => f.write_str("the body is too large to be kept for a second send"),
            Self::AlreadyStreaming => f.write_str("content was handed on before the failure"),
            Self::Cancelled => f.write_str("the caller left"),
            Self::NoCandidate => f.write_str("no upstream of the route can serve the call"),
            Self::CostMax => f.write_str("the money cap has nothing left"),
            Self::KeyReused => f.write_str("the idempotency key was used before with another body"),
            Self::KeyInFlight => f.write_str("a call with the same idempotency key is running"),
            Self::Draining => f.write_str("the upstream was told to send nothing more"),
            Self::AnswerUnfit => f.write_str("the answer is whole and not what was asked for"),
            Self::RowTooLarge => f.write_str("the row is larger than the limit"),
        }
    }
}

/// For people: a nanosecond decides and tells nobody anything.
const fn up(length: &Duration) -> Duration {
    length.up_to_millis()
}

/// The smaller side of a comparison: rounded the other way, so that what did not fit never looks as if it did.
const fn down(length: &Duration) -> Duration {
    Duration::from_millis(length.as_millis())
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue { waiting: 1 } => f.write_str("1 call waits already"),
            Self::Queue { waiting } => write!(f, "{waiting} calls wait already"),
            Self::Bucket { needs, holds } => {
                write!(f, "the call needs {needs} of a limit that holds {holds}")
            }
            Self::Rate { free_in, left } => write!(
                f,
                "the rate limit has room in {}, and the deadline leaves {}",
                up(free_in),
                up(left)
            ),
        }
    }
}

#[cfg(test)]
mod tests;
