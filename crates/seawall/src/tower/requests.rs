//! What a request says of its call: what a repeat would do, and whether it can be made at all.
//!
//! What can go wrong: a layer that repeats whatever it can clone pays twice. So a request says what a repeat would do
//! (rule E1), and one that cannot be made again is sent once.

use seawall_core::facts::Replay;
use seawall_core::time::Duration;

/// What a caller says of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Promise {
    /// What a repeat would do (rule E1).
    pub replay: Replay,
    /// How long the call may take up to its response, instead of the policy's deadline.
    pub deadline: Option<Duration>,
    /// Fewer retries than the policy's.
    pub retries_max: Option<u32>,
}

impl Promise {
    /// A repeat does this, and nothing else is said.
    pub const fn of(replay: Replay) -> Self {
        Self {
            replay,
            deadline: None,
            retries_max: None,
        }
    }
}

/// Says what a request promises, and makes it again.
pub trait Requests<Req> {
    /// What `request` says of its call, where the layer says nothing else.
    fn promise(&self, _request: &Req) -> Promise {
        // As for a closure: whoever puts a layer that retries around a service says that it may be called again.
        Promise::of(Replay::Declared)
    }

    /// The same request once more; `None` where it cannot be made again: such a call has one attempt, and ends with
    /// `body-too-large` where another would have followed.
    fn again(&self, request: &Req) -> Option<Req>;
}

/// Requests are cloned, each time before they are sent.
#[derive(Clone, Copy, Debug)]
pub struct Cloned;

impl<Req: Clone> Requests<Req> for Cloned {
    fn again(&self, request: &Req) -> Option<Req> {
        Some(request.clone())
    }
}

/// Requests are sent once.
#[derive(Clone, Copy, Debug)]
pub struct Once;

impl<Req> Requests<Req> for Once {
    fn again(&self, _request: &Req) -> Option<Req> {
        None
    }
}

/// A closure makes requests again, those that it can.
#[derive(Clone, Copy, Debug)]
pub struct Again<F>(pub(super) F);

impl<Req, F: Fn(&Req) -> Option<Req>> Requests<Req> for Again<F> {
    fn again(&self, request: &Req) -> Option<Req> {
        (self.0)(request)
    }
}
