//! failsafe and recloser (breakers), governor (rates).

use super::answer_now;
use failsafe::CircuitBreaker as _;
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;

/// The settings of these rows.
pub const SETTINGS: &str = "failsafe 1.3.0: its default (5 in a row or success under 80 % of 30 s; 10 s..300 s), and 5 in a \
     row alone; recloser 1.4.0: its default (50 % of 100, 30 s); governor 0.10.4: a million a second, never refused";

/// failsafe with its default policy.
pub fn failsafe_default() -> impl FnMut() {
    let breaker = failsafe::Config::new().build();
    move || {
        assert!(breaker.call(answer_now).is_ok());
    }
}

/// failsafe counting failures in a row alone.
pub fn failsafe_consecutive() -> impl FnMut() {
    let policy = failsafe::failure_policy::ConsecutiveFailures::default();
    let breaker = failsafe::Config::new().failure_policy(policy).build();
    move || {
        assert!(breaker.call(answer_now).is_ok());
    }
}

/// recloser with its default policy.
pub fn recloser_default() -> impl FnMut() {
    let breaker = recloser::Recloser::custom().build();
    move || {
        assert!(breaker.call(answer_now).is_ok());
    }
}

/// governor: one check of a rate that is never reached.
pub fn governor_check() -> impl FnMut() {
    let most = NonZeroU32::new(u32::MAX).expect("it is not zero");
    let limiter = RateLimiter::direct(Quota::per_second(most));
    move || {
        assert!(limiter.check().is_ok());
    }
}
