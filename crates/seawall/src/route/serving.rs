//! Calls that not every candidate has words for.

use super::{Leg, Route};
use crate::upstream::{Answer, Call, CallError, Opened};

impl Route {
    /// As [`call_with`](Self::call_with), for those candidates alone whose place `serves` says yes to.
    pub(crate) async fn call_where(
        &self,
        serves: impl Fn(usize) -> bool,
        make: impl Fn(&Leg<'_>) -> Call,
    ) -> Result<Answer, Box<CallError>> {
        self.walk(|stop| serves(stop.nth), make).await
    }

    /// As [`open_with`](Self::open_with), for those candidates alone.
    pub(crate) async fn open_where(
        &self,
        serves: impl Fn(usize) -> bool,
        make: impl Fn(&Leg<'_>) -> Call,
    ) -> Result<Opened, Box<CallError>> {
        self.walk_to_content(|stop| serves(stop.nth), make).await
    }
}
