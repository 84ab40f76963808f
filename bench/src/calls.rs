//! Calls of closures, as users make them: on their own and at a gate, awaited and on a thread.

use crate::ours::policy;
use crate::peers::{Fault, answer, answer_now, ready_now};
use seawall::{Classify, Failure, Gate, Upstream};

impl Classify for Fault {
    fn classify(&self) -> Failure {
        Failure::transient()
    }
}

/// A call on its own that is answered.
pub fn alone() -> impl FnMut() {
    let policy = policy();
    move || {
        assert!(ready_now(async { seawall::retry(answer, &policy).await }).is_ok());
    }
}

/// The same, whose attempt knows its number, the time left and its key.
pub fn alone_with() -> impl FnMut() {
    let policy = policy();
    move || {
        assert!(ready_now(async { seawall::retry_with(|_| answer(), &policy).await }).is_ok());
    }
}

/// A call at a gate that is answered.
pub fn at_a_gate() -> impl FnMut() {
    let gate = Gate::new(&policy());
    move || {
        assert!(ready_now(async { seawall::retry(answer, &gate).await }).is_ok());
    }
}

/// A call at an upstream's gate that is answered.
pub fn at_an_upstream() -> impl FnMut() {
    let upstream = Upstream::builder("http://localhost:1").expect("this is a URL");
    let upstream = upstream.policy(policy()).build().expect("the defaults are right");
    move || {
        assert!(ready_now(async { seawall::retry(answer, &upstream).await }).is_ok());
    }
}

/// A call on its own, on a thread.
pub fn alone_blocking() -> impl FnMut() {
    let policy = policy();
    move || {
        assert!(seawall::blocking::retry(answer_now, &policy).call().is_ok());
    }
}

/// A call at a gate, on a thread.
pub fn at_a_gate_blocking() -> impl FnMut() {
    let gate = Gate::new(&policy());
    move || {
        assert!(seawall::blocking::retry(answer_now, &gate).call().is_ok());
    }
}
