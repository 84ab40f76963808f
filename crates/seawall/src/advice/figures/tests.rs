use super::*;
use proptest::prelude::*;
use seawall_core::budget::Budget;
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::GateKey;
use seawall_core::outcome::{Cause, Outcome, Report, Sent};
use seawall_core::policy::{Jitter, Policy};
use seawall_core::rng::Rng;
use seawall_core::time::Instant;
use seawall_core::trace::Recording;
use seawall_core::verdict::{Action, Endpoint, Permit};

fn budget(ratio_per_mille: u32, floor_milli: u64, window_secs: u64) -> BudgetPolicy {
    let window = Duration::from_secs(window_secs);
    let policy = Policy::builder()
        .edit_budget(|edit| {
            edit.ratio_per_mille(ratio_per_mille)
                .floor_milli(floor_milli)
                .window(window)
        })
        .build()
        .expect("in range");
    policy.gate.budget().expect("it has a budget")
}

/// Extras that the real budget grants at once after a window of even traffic: the first second of an outage.
fn granted_at_once(policy: &BudgetPolicy, calls_per_s: u64) -> u64 {
    let mut real = Budget::new(policy);
    let gap = Duration::from_nanos(1_000_000_000 / calls_per_s);
    let mut now = Instant::START;
    for _ in 0..calls_per_s * policy.window().as_secs() * 2 {
        now = now.after(gap);
        real.original(now);
    }
    let mut granted = 0;
    while real.room(now).is_ok() {
        let _ = real.charge(now);
        granted += 1;
    }
    granted
}

#[test]
fn the_first_second_sees_what_the_budget_grants_at_once() {
    // A figure that the engine does not keep to is a promise about somebody else's program.
    for (ratio, floor, window, calls) in [
        (100, 1_000, 10, 100),
        (100, 0, 10, 1_000),
        (200, 2_500, 60, 50),
        (0, 3_000, 10, 10),
    ] {
        let policy = budget(ratio, floor, window);
        let bound = Bound::new(&policy, 1);
        let said = bound.burst_of_floors_milli() / 1_000 + calls * bound.burst_of_ratio_per_mille() / 1_000;
        let granted = granted_at_once(&policy, calls);
        // Never more; and of what the ratio gives, a tenth at the most is refused by the grain of its buckets.
        let slack = calls * bound.burst_of_ratio_per_mille() / 10_000 + 1;
        assert!(granted <= said && granted + slack >= said, "{granted} of {said}");
    }
}

#[test]
fn a_budget_starves_below_what_is_said_and_not_at_it() {
    // Off by a factor, the advice sends people to change what is right, or leaves them without a single retry.
    for (ratio, floor, window) in [(100, 0, 10), (100, 50, 10), (10, 0, 60), (500, 30, 20)] {
        let policy = budget(ratio, floor, window);
        let Starving::BelowMilli(milli) = Bound::new(&policy, 1).starves_below() else {
            panic!("it starves below some rate");
        };
        // Calls are whole: the rate's own window has one more begun, a slower one's has not.
        let at = (u128::from(milli) * u128::from(window)).div_ceil(1_000);
        let below = u128::from(milli - 1) * u128::from(window) / 1_000;
        let granted_with = |originals: u128| {
            let mut real = Budget::new(&policy);
            let now = Instant::START.after(Duration::from_secs(1_000));
            (0..originals).for_each(|_| real.original(now));
            real.room(now).is_ok()
        };
        assert!(granted_with(at), "{milli}");
        assert!(!granted_with(below), "{milli}");
    }
    assert_eq!(
        Bound::new(&budget(100, 1_000, 10), 1).starves_below(),
        Starving::Never
    );
    assert_eq!(
        Bound::new(&budget(100, 100, 10), 1).starves_below(),
        Starving::Never
    );
    assert_eq!(
        Bound::new(&budget(0, 99, 10), 1).starves_below(),
        Starving::Always
    );
}

#[test]
fn what_a_capacity_bears_is_where_calls_and_extras_reach_it() {
    // λ(1+β) + floors < C, both ways: the rate that is named bears, and a little more does not.
    let bound = Bound::new(&budget(100, 1_000, 10), 3);
    let capacity = Rate::from_milli(100_000);
    let borne = bound.calls_borne(capacity);
    assert_eq!(borne.to_string(), "88.181");
    assert!(bound.attempts_max(borne, 6) <= capacity);
    assert!(bound.attempts_max(Rate::from_milli(borne.milli() + 2), 6) > capacity);
    // Few calls cannot be sent more often than each may be.
    assert_eq!(
        bound.attempts_max(Rate::from_milli(500), 6),
        Rate::from_milli(3_000)
    );
    assert_eq!(bound.floor_rules_below(), Some(Rate::from_milli(30_000)));
}

#[test]
fn runs_come_as_often_as_the_formula_says() {
    // (1 − pⁿ) ÷ (pⁿ(1 − p)).
    assert_eq!(attempts_until_run(1, 100), 10);
    assert_eq!(attempts_until_run(2, 100), 110);
    assert_eq!(attempts_until_run(5, 100), 111_110);
    assert_eq!(attempts_until_run(5, 500), 62);
    assert_eq!(attempts_until_run(3, 1_000), 3);
    assert_eq!(attempts_until_run(1_000_000, 1), u64::MAX);
}

#[test]
fn hung_attempts_fit_as_the_limits_cut_them() {
    // The default: 60 s of 120 s, so that the third would begin with nothing left.
    let call = Policy::builder().build().expect("right").call;
    assert_eq!(hung_attempts(&call, Endpoint::General), 2);
    assert_eq!(hung_attempts(&call, Endpoint::Inference), 2);
    let with = |deadline, first_byte, retries| {
        let builder = Policy::builder()
            .retries(retries)
            .deadline(Duration::from_secs(deadline));
        let policy = builder
            .first_byte(Duration::from_millis(first_byte))
            .build()
            .expect("right");
        hung_attempts(&policy.call, Endpoint::General)
    };
    assert_eq!(with(30, 30_000, 5), 1);
    // 100 ms must be left after a wait of 50 ms.
    assert_eq!(with(30, 29_850, 5), 2);
    assert_eq!(with(30, 29_851, 5), 1);
    assert_eq!(with(30, 1_000, 5), 6);
    assert_eq!(with(30, 1_000, 0), 1);
}

/// What the engine does with a call whose every attempt fails in this way after as long as it may run: how many
/// attempts it sends, and how long the call takes and waits.
fn fails_to_the_end(
    policy: &Policy,
    seed: u64,
    outcome: Outcome,
    takes: fn(&Permit) -> Duration,
) -> (u32, Duration, Duration) {
    let mut engine = Engine::new(seed, Recording::Off);
    let mut now = Instant::START;
    let gate = engine
        .configure(now, GateKey(1), &policy.gate, &[], None)
        .expect("one gate");
    let route = [Candidate::at(gate)];
    let call = engine.begin(now, Spec::new(now, &route, &policy.call, Replay::Idempotent));
    let (mut sent, mut waited) = (0, Duration::ZERO);
    loop {
        match engine.poll(now, call).action {
            Action::Send(permit) => {
                sent += 1;
                now = now.after(takes(&permit));
                engine.settle(now, permit, Report::of(outcome));
            }
            Action::Wait(until) => {
                waited = waited.plus(until.since(now));
                now = until;
            }
            Action::Finish { .. } => return (sent, now.since(Instant::START), waited),
            Action::Park { .. } | Action::InFlight { .. } => {
                panic!("one call alone neither queues nor hedges")
            }
        }
    }
}

proptest! {
    /// The engine itself keeps to what is said of a call: its time, its waits, and the attempts that fit.
    #[test]
    fn a_call_that_fails_to_its_end_stays_within_what_is_said(
        seed: u64,
        retries in 0_u32..12,
        deadline in 50_u64..200_000,
        base in 1_u64..3_000,
        first_byte in 1_u64..100_000,
    ) {
        let built = Policy::builder()
            .retries(retries)
            .deadline(Duration::from_millis(deadline))
            .backoff_base(Duration::from_millis(base))
            .first_byte(Duration::from_millis(first_byte.min(deadline)))
            .connect(Duration::from_millis(deadline.min(5_000)))
            .idle(Duration::from_millis(deadline.min(5_000)))
            .budget(None)
            .breaker(None)
            .build();
        let policy = built.expect("in range");
        let (cause, sent, hint) = (Cause::Timeout, Sent::Maybe, None);
        let hangs = Outcome::Failed { cause, sent, hint };
        let (sends, took, _) = fails_to_the_end(&policy, seed, hangs, |permit| permit.limits().first_byte);
        prop_assert!(sends <= hung_attempts(&policy.call, Endpoint::General));
        prop_assert!(took <= policy.call.deadline());
        let (sends, took, waited) = fails_to_the_end(&policy, seed, hangs, |_| Duration::ZERO);
        prop_assert!(u64::from(sends) <= sends_max(retries, 0));
        // Each wait is rounded up to the whole millisecond (rule C2).
        let rounded = Duration::from_millis(retries.into());
        prop_assert!(waited <= own_waits(&policy.call).longest.plus(rounded));
        prop_assert!(took <= policy.call.deadline());
    }

    /// No call waits longer or shorter than what is said of all, for any kind of jitter.
    #[test]
    fn drawn_waits_add_up_to_what_is_said(
        seed: u64,
        base in 1_u64..5_000,
        factor in 10_u32..=100,
        cap in 5_000_u64..100_000,
        retries in 0_u32..12,
        kind in 0_usize..6,
    ) {
        let jitter = [
            Jitter::Full,
            Jitter::Equal,
            Jitter::Decorrelated,
            Jitter::DecorrelatedAws,
            Jitter::Proportional { per_mille: 300 },
            Jitter::None,
        ][kind];
        let policy = Policy::builder()
            .retries(retries)
            .backoff_base(Duration::from_millis(base))
            .backoff_factor_tenths(factor)
            .backoff_cap(Duration::from_millis(cap))
            .jitter(jitter)
            .build()
            .expect("in range");
        let said = own_waits(&policy.call);
        let mut rng = Rng::new(seed, 0);
        let (mut sum, mut previous) = (Duration::ZERO, Duration::ZERO);
        for retries_made in 0..retries {
            previous = policy.call.backoff().draw(&mut rng, retries_made, previous, Duration::MAX).expect("it fits");
            sum = sum.plus(previous);
        }
        prop_assert!(said.shortest <= sum && sum <= said.longest, "{sum} in {said:?}");
    }
}
