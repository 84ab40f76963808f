//! The peers, each behind a closure that makes one call with a service that answers at once.
//!
//! Each gets the cheapest way that its own documentation shows: services are reused and not cloned per call, where
//! their owner could; delays are skipped where the peer lets us, and where not, that row is left out.

pub mod breakers;
pub mod layered;
pub mod resilience;
pub mod retries;

use std::cell::Cell;
use std::future::{Ready, ready};
use std::task::Poll;

/// What a service's failure is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the server failed")
    }
}

impl std::error::Error for Fault {}

thread_local! {
    static FAILS: Cell<u32> = const { Cell::new(0) };
}

/// Makes the next so many answers of this thread's services failures.
pub fn fail_next(times: u32) {
    FAILS.set(times);
}

/// What a service answers: at once, and well unless [`fail_next`] said otherwise.
pub fn answer() -> Ready<Result<u32, Fault>> {
    ready(answer_now())
}

/// As [`answer`], for those who do not await.
pub fn answer_now() -> Result<u32, Fault> {
    match FAILS.get() {
        0 => Ok(std::hint::black_box(1)),
        left => {
            FAILS.set(left - 1);
            Err(Fault)
        }
    }
}

/// Polls what ends at once.
///
/// # Panics
/// It did not.
#[inline(always)]
pub fn ready_now<F: Future>(future: F) -> F::Output {
    match crate::ours::poll_new(future) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// Polls what fails once and then waits, and drops it.
///
/// # Panics
/// It ended.
#[inline(always)]
pub fn pending_now<F: Future>(future: F) {
    assert!(
        crate::ours::poll_new(future).is_pending(),
        "it waits to try again"
    );
}
