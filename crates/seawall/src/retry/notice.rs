//! Who is told of waits.

use seawall_core::reason::Reason;
use seawall_core::time::Duration;

/// What [`notify`](super::Retry::notify) tells: the call is about to wait.
#[derive(Debug)]
#[non_exhaustive]
pub struct Notice<'n, E> {
    /// How many attempts were made so far.
    pub attempts: u32,
    /// What the last one that failed by itself failed with; `None` before the first, where all were cut, and where the
    /// last brought an answer that was [rejected](super::Retry::reject).
    pub error: Option<&'n E>,
    /// Why the call waits.
    pub reason: Reason,
    /// For how long, if nothing wakes it before.
    pub wait: Duration,
}

/// Who is told of waits.
pub trait Hear<E> {
    /// The call is about to wait.
    fn hear(&mut self, notice: &Notice<'_, E>);
}

/// Nobody is told.
#[derive(Clone, Copy, Debug)]
pub struct Unheard;

impl<E> Hear<E> for Unheard {
    fn hear(&mut self, _notice: &Notice<'_, E>) {}
}

/// A closure is told. See [`Retry::notify`](super::Retry::notify).
#[derive(Clone, Copy, Debug)]
pub struct Heard<H>(pub(super) H);

impl<E, H: FnMut(&Notice<'_, E>)> Hear<E> for Heard<H> {
    fn hear(&mut self, notice: &Notice<'_, E>) {
        (self.0)(notice);
    }
}
