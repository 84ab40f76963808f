//! backon: retries without state that calls share.

use super::{answer, answer_now, fail_next, pending_now, ready_now};
use backon::{BlockingRetryable as _, ExponentialBuilder, Retryable as _};
use std::future::ready;
use std::time::Duration;

/// The settings of these rows.
pub const SETTINGS: &str = "backon 1.6.0: its default (3 retries, 1 s x2 up to 60 s) with jitter; keeps no state between calls, \
     so it has no budget, breaker or limit";

fn policy() -> ExponentialBuilder {
    ExponentialBuilder::default().with_jitter()
}

/// A call that is answered.
pub fn success() -> impl FnMut() {
    move || {
        assert!(ready_now(async { answer.retry(policy()).await }).is_ok());
    }
}

/// The same on a thread.
pub fn success_blocking() -> impl FnMut() {
    move || {
        assert!(answer_now.retry(policy()).call().is_ok());
    }
}

/// A call that fails, and is dropped as soon as it waits.
pub fn failure() -> impl FnMut() {
    move || {
        fail_next(1);
        pending_now(async { answer.retry(policy()).await });
    }
}

/// A call that fails once and then is answered.
pub fn recovery() -> impl FnMut() {
    move || {
        fail_next(1);
        let call = async { answer.retry(policy()).sleep(|_: Duration| ready(())).await };
        assert!(ready_now(call).is_ok());
    }
}
