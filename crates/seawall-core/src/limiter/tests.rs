use super::Limiter;
use crate::policy::{AUTO_CONCURRENCY_MAX, AUTO_CONCURRENCY_START, Concurrency, LimitPolicy, Rates};
use crate::time::{Duration, Instant};

fn policy(concurrency: Concurrency) -> LimitPolicy {
    LimitPolicy {
        concurrency,
        queue: 10,
        rates: Rates::NONE,
    }
}

fn at(millis: u64) -> Instant {
    Instant::START.after(Duration::from_millis(millis))
}

/// Takes places until there are none.
fn fill(limiter: &mut Limiter) -> u32 {
    while limiter.has_place() {
        limiter.take();
    }
    limiter.in_flight()
}

/// One answer of a gate that is as full as it may be.
fn answer(limiter: &mut Limiter) {
    fill(limiter);
    limiter.give();
    limiter.succeeded();
}

#[test]
fn an_auto_limit_grows_by_one_per_limits_worth_of_answers() {
    // Broken if each answer counted for a whole step: that is slow start for ever, and no bound.
    let mut limiter = Limiter::new(&policy(Concurrency::Auto));
    for most in AUTO_CONCURRENCY_START..AUTO_CONCURRENCY_START + 5 {
        for _ in 0..most {
            assert_eq!(limiter.most(), Some(most));
            answer(&mut limiter);
        }
    }
    assert_eq!(limiter.most(), Some(AUTO_CONCURRENCY_START + 5));
}

#[test]
fn an_auto_limit_that_nobody_uses_does_not_grow() {
    // Broken if answers counted whatever is in flight: a quiet day would end with a bound that was never tried.
    let mut limiter = Limiter::new(&policy(Concurrency::Auto));
    for _ in 0..10 * AUTO_CONCURRENCY_START {
        limiter.take();
        limiter.give();
        limiter.succeeded();
    }
    assert_eq!(limiter.most(), Some(AUTO_CONCURRENCY_START));
}

#[test]
fn an_auto_limit_is_cut_once_per_round_trip() {
    // Broken if each refusal of one burst cut it: what was in flight together says one thing once.
    let mut limiter = Limiter::new(&policy(Concurrency::Auto));
    let began = at(10);
    for later in 0..50 {
        limiter.overloaded(at(100 + later), began);
    }
    assert_eq!(limiter.most(), Some(AUTO_CONCURRENCY_START * 7 / 10));
    limiter.overloaded(at(300), at(99));
    assert_eq!(
        limiter.most(),
        Some(AUTO_CONCURRENCY_START * 7 / 10),
        "began before the cut"
    );
    limiter.overloaded(at(300), at(100));
    assert_eq!(limiter.most(), Some(AUTO_CONCURRENCY_START * 7 / 10 * 7 / 10));
}

#[test]
fn an_auto_limit_stays_between_one_and_its_most() {
    // Broken if it could reach nothing: no answer would ever raise it again.
    let mut limiter = Limiter::new(&policy(Concurrency::Auto));
    for round in 0..100 {
        limiter.overloaded(at(round), at(round));
    }
    assert_eq!(limiter.most(), Some(1));
    let answers = u64::from(AUTO_CONCURRENCY_MAX) * u64::from(AUTO_CONCURRENCY_MAX);
    for _ in 0..answers {
        answer(&mut limiter);
    }
    assert_eq!(limiter.most(), Some(AUTO_CONCURRENCY_MAX));
}

#[test]
fn a_reload_keeps_what_an_auto_limit_found_out() {
    // Broken if configure began anew: each reload of a file would send twenty at once into a limit of three.
    let mut limiter = Limiter::new(&policy(Concurrency::Auto));
    limiter.overloaded(at(1), at(1));
    let found = limiter.most();
    limiter.configure(&policy(Concurrency::Auto));
    assert_eq!(limiter.most(), found);
    limiter.configure(&policy(Concurrency::AtMost(3)));
    assert_eq!(limiter.most(), Some(3));
}

#[test]
fn a_lower_limit_drains_and_revokes_nothing() {
    // Broken if configure touched what is in flight.
    let mut limiter = Limiter::new(&policy(Concurrency::AtMost(5)));
    assert_eq!(fill(&mut limiter), 5);
    limiter.configure(&policy(Concurrency::AtMost(2)));
    assert_eq!(limiter.in_flight(), 5);
    for _ in 0..4 {
        assert!(!limiter.has_place());
        limiter.give();
    }
    assert!(limiter.has_place());
}
