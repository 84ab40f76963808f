//! What a response says of its attempt.
//!
//! What can go wrong: a response is taken for a success because it is no error. An HTTP 503 is one, and so is a page that
//! says "try later" under a 200. So whoever knows the responses says what they are; unless somebody does, each is an
//! answer.

use crate::clock::Clock;
use crate::retry::Failure;
use crate::tower::error::Ended;
use seawall_core::learned::Learned;
use seawall_core::outcome::{Outcome, Report};
use seawall_core::time::Duration;
use seawall_core::verdict::Limits;

/// What a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// The answer that the call was made for.
    Answer,
    /// A failure, as far as it tells.
    Failed(Failure),
}

impl Met {
    pub(super) fn report(self) -> Report {
        match self {
            Self::Answer => Report::of(Outcome::Answer),
            Self::Failed(failure) => failure.report(),
        }
    }
}

/// Says what responses are. Every one is an answer ([`AnyAnswer`]) unless a closure says otherwise
/// ([`SeawallLayer::classify_response`](crate::tower::SeawallLayer::classify_response)), or its protocol does.
pub trait Answers<Res> {
    /// What `response` is to the engine. Dates in it are measured by `clock`.
    fn report(&self, response: &Res, clock: &dyn Clock) -> Report;

    /// What it says of the server's limits (rule I4).
    fn learned(&self, _response: &Res, _clock: &dyn Clock) -> Learned {
        Learned::NOTHING
    }

    /// How long an attempt may take to its response, of the limits that a policy has.
    fn limit(&self, limits: &Limits) -> Duration {
        limits.total
    }

    /// Notes in a response that failed, and that the call ends with all the same, how the call ended.
    fn ended(&self, _response: &mut Res, _ended: Ended) {}
}

/// Every response is an answer.
#[derive(Clone, Copy, Debug)]
pub struct AnyAnswer;

impl<Res> Answers<Res> for AnyAnswer {
    fn report(&self, _response: &Res, _clock: &dyn Clock) -> Report {
        Met::Answer.report()
    }
}

/// A closure says what a response is.
#[derive(Clone, Copy, Debug)]
pub struct ByResponse<F>(pub(super) F);

impl<Res, F: Fn(&Res) -> Met> Answers<Res> for ByResponse<F> {
    fn report(&self, response: &Res, _clock: &dyn Clock) -> Report {
        (self.0)(response).report()
    }
}
