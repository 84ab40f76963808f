use super::*;
use crate::policy::Policy;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use proptest::prelude::*;

use crate::rng::Rng;

const KINDS: [Jitter; 7] = [
    Jitter::Full,
    Jitter::Equal,
    Jitter::Decorrelated,
    Jitter::DecorrelatedAws,
    Jitter::Proportional { per_mille: 250 },
    Jitter::Proportional { per_mille: 1_000 },
    Jitter::None,
];
const RETRIES_MADE: [u32; 5] = [0, 1, 5, 40, u32::MAX];
const BASE: Duration = Duration::from_millis(500);
const CAP: Duration = Duration::from_secs(30);

fn backoff(jitter: Jitter) -> Backoff {
    Policy::builder().jitter(jitter).build().unwrap().call.backoff()
}

/// The largest distance between the drawn and the stated distribution, for draws that are all in `low..=high`.
fn distance(drawn: &mut [f64], stated: impl Fn(f64) -> f64) -> f64 {
    drawn.sort_by(f64::total_cmp);
    let n = f64::from(u32::try_from(drawn.len()).unwrap());
    let mut worst = 0.0_f64;
    let mut from = 0;
    // Equal draws are one step: a distribution that piles up has steps of its own.
    for run in drawn.chunk_by(|a, b| a.total_cmp(b).is_eq()) {
        let value = run[0];
        let (below, upto) = (
            f64::from(from),
            f64::from(from) + f64::from(u32::try_from(run.len()).unwrap()),
        );
        let jump = stated(value) - stated(value.next_down());
        worst = worst.max((upto / n - stated(value)).abs());
        worst = worst.max((below / n - (stated(value) - jump)).abs());
        from += u32::try_from(run.len()).unwrap();
    }
    worst
}

/// What Kolmogorov and Smirnov allow at alpha = 1e-4: sqrt(-ln(alpha / 2) / 2) / sqrt(n).
fn allowed(draws: u32) -> f64 {
    (-(1e-4_f64 / 2.0).ln() / 2.0).sqrt() / f64::from(draws).sqrt()
}

/// The lowest and the highest of the kind's formula, in nanoseconds, from the rule's own words.
fn formula(jitter: Jitter, retries_made: u32, previous: Duration) -> (f64, f64) {
    let nanos = |length: Duration| f64::from(u32::try_from(length.as_millis()).unwrap()) * 1e6;
    let (base, cap) = (nanos(BASE), nanos(CAP));
    let c = (base * 2_f64.powf(f64::from(retries_made))).min(cap);
    match jitter {
        Jitter::Full => (base / 10.0, c),
        Jitter::Equal => (c / 2.0, c),
        Jitter::Decorrelated => (base, (3.0 * nanos(previous)).min(cap)),
        Jitter::DecorrelatedAws => (base, 3.0 * nanos(previous)),
        Jitter::Proportional { per_mille } => {
            let p = f64::from(per_mille) / 1_000.0;
            (c * (1.0 - p), (c * (1.0 + p)).min(cap))
        }
        Jitter::None => (c, c),
    }
}

#[expect(clippy::cast_precision_loss, reason = "delays are far below 2^53 ns")]
fn draws(jitter: Jitter, retries_made: u32, previous: Duration, at_most: Duration) -> Vec<f64> {
    let backoff = backoff(jitter);
    let mut rng = Rng::new(2_024, u64::from(retries_made));
    (0..20_000)
        .map(|_| {
            backoff
                .draw(&mut rng, retries_made, previous, at_most)
                .unwrap()
                .as_nanos() as f64
        })
        .collect()
}

#[test]
fn every_kind_is_drawn_evenly_from_its_formula() {
    // Trap V1.
    // Could break through a unit lost (whole seconds), a clipped end, or a jitter that is a part of what it says.
    for jitter in KINDS {
        for retries_made in RETRIES_MADE {
            for previous in [BASE, Duration::from_secs(2), CAP] {
                let (low, high) = formula(jitter, retries_made, previous);
                let mut drawn = draws(jitter, retries_made, previous, Duration::MAX);
                if jitter == Jitter::None {
                    assert!(drawn.iter().all(|delay| delay.total_cmp(&low).is_eq()));
                    continue;
                }
                let cap = 30e9;
                let stated = |delay: f64| {
                    if jitter == Jitter::DecorrelatedAws && delay >= cap {
                        1.0
                    } else {
                        ((delay - low) / (high - low)).clamp(0.0, 1.0)
                    }
                };
                let distance = distance(&mut drawn, stated);
                let (shortest, longest) = (drawn[0], drawn[drawn.len() - 1]);
                let case = alloc::format!("{jitter:?}, {retries_made} retries made, previous {previous}");
                assert!(distance < allowed(20_000), "{case}: off by {distance}");
                assert!(
                    shortest >= low.floor() && longest <= high.min(cap),
                    "{case}: {shortest} to {longest}"
                );
            }
        }
    }
}

#[test]
fn the_test_above_tells_a_wrong_distribution() {
    // Could break if the statistic were always small: a delay in whole milliseconds of a few must be found out.
    let (low, high) = formula(Jitter::Full, 0, BASE);
    let stated = |delay: f64| ((delay - low) / (high - low)).clamp(0.0, 1.0);
    let mut narrower = draws(Jitter::Equal, 0, BASE, Duration::MAX);
    assert!(distance(&mut narrower, stated) > 0.3);
    let mut whole = draws(Jitter::Full, 0, BASE, Duration::MAX);
    whole
        .iter_mut()
        .for_each(|delay| *delay = (*delay / 20e6).floor() * 20e6);
    assert!(distance(&mut whole, stated) > allowed(20_000));
    let mut right = draws(Jitter::Full, 0, BASE, Duration::MAX);
    assert!(distance(&mut right, stated) < allowed(20_000));
}

#[test]
fn where_only_part_of_the_range_fits_the_delay_is_drawn_from_that_part() {
    // Could break if a draw were clipped to the limit: every call near its deadline would wait alike.
    for jitter in KINDS {
        let range = backoff(jitter).range(3, Duration::from_secs(3));
        let part = Duration::from_nanos(
            range.shortest.as_nanos() + (range.longest.as_nanos() - range.shortest.as_nanos()) / 3,
        );
        let mut drawn = draws(jitter, 3, Duration::from_secs(3), part);
        if jitter == Jitter::None {
            continue;
        }
        let nanos = |length: Duration| f64::from(u32::try_from(length.as_nanos() / 1_000).unwrap()) * 1e3;
        let (low, high) = (nanos(range.shortest), nanos(part));
        let distance = distance(&mut drawn, |delay| ((delay - low) / (high - low)).clamp(0.0, 1.0));
        assert!(distance < allowed(20_000), "{jitter:?}: off by {distance}");
    }
}

#[test]
fn the_published_form_piles_up_wherever_the_cap_itself_fits() {
    // Could break if a limit that cuts nothing off changed what is drawn: comparisons would flatter it.
    for at_most in [CAP, Duration::from_secs(60), Duration::MAX] {
        let drawn = draws(Jitter::DecorrelatedAws, 0, CAP, at_most);
        // From U[0.5 s, 90 s], 60 of 89.5 are above 30 s.
        let at_cap = drawn
            .iter()
            .filter(|delay| delay.total_cmp(&30e9).is_eq())
            .count();
        assert!(
            (13_100..13_700).contains(&at_cap),
            "{at_cap} of 20000 at the cap, at most {at_most}"
        );
    }
}

#[test]
fn what_does_not_fit_is_not_drawn() {
    // Could break if the shortest delay were cut to the time left.
    for jitter in KINDS {
        let backoff = backoff(jitter);
        let shortest = backoff.range(2, BASE).shortest;
        let mut rng = Rng::new(1, 1);
        if let Some(below) = shortest.as_nanos().checked_sub(1) {
            assert_eq!(backoff.draw(&mut rng, 2, BASE, Duration::from_nanos(below)), None);
        }
        assert_eq!(backoff.draw(&mut rng, 2, BASE, shortest), Some(shortest));
    }
}

#[test]
fn no_delay_in_ten_million_is_above_the_cap() {
    // Trap V8a.
    // Could break if jitter were added after the cap.
    let mut rng = Rng::new(10, 7);
    let mut drawn = 0_u32;
    for jitter in KINDS {
        for retries_made in RETRIES_MADE {
            let backoff = backoff(jitter);
            let mut previous = BASE;
            for _ in 0..285_800 {
                previous = backoff
                    .draw(&mut rng, retries_made, previous, Duration::MAX)
                    .unwrap();
                assert!(previous <= CAP, "{jitter:?}: {previous}");
                drawn += 1;
            }
        }
    }
    assert!(drawn >= 10_000_000, "{drawn}");
}

#[test]
fn at_the_cap_calls_still_wait_differently() {
    // Trap C24.
    // Could break if the cap clipped the jitter away: after a long outage all calls would come back at once.
    for jitter in [
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::Proportional { per_mille: 250 },
    ] {
        let backoff = backoff(jitter);
        let delays: BTreeSet<_> = (0..1_000)
            .map(|call| backoff.draw(&mut Rng::new(3, call), 40, CAP, Duration::MAX))
            .collect();
        assert!(delays.len() > 990, "{jitter:?}: {} of 1000 differ", delays.len());
    }
}

#[test]
fn the_odd_nanosecond_is_never_above_the_ceiling() {
    // Could break if both halves were rounded up.
    let mut backoff = backoff(Jitter::Equal);
    (backoff.base, backoff.cap) = (Duration::from_nanos(1_000_001), Duration::from_nanos(1_000_001));
    let range = backoff.range(0, Duration::ZERO);
    assert_eq!(range.shortest, Duration::from_nanos(500_001));
    assert_eq!(range.longest, Duration::from_nanos(1_000_001));
}

#[test]
fn before_the_first_draw_the_previous_delay_is_the_base() {
    // Could break if a call that has drawn nothing had an empty range.
    let range = backoff(Jitter::Decorrelated).range(0, Duration::ZERO);
    assert_eq!((range.shortest, range.longest), (BASE, BASE.times(3)));
}

proptest! {
    /// Could break through an overflow, a float, or a loop that stops too early.
    #[test]
    fn a_ceiling_is_the_rule_step_by_step(
        base in 1_000_000_u64..10_000_000_000,
        times in 1_u64..100_000,
        factor in 10_u32..=100,
        retries_made in 0_u32..600,
    ) {
        // Trap C22.
        let cap = base * times;
        let policy = Policy::builder()
            .backoff_base(Duration::from_nanos(base))
            .backoff_cap(Duration::from_nanos(cap))
            .backoff_factor_tenths(factor)
            .build()
            .unwrap();
        let mut stated = u128::from(base);
        for _ in 0..retries_made {
            stated = u128::from(cap).min(stated * u128::from(factor) / 10);
        }
        let ceiling = policy.call.backoff().ceiling(retries_made);
        prop_assert_eq!(u128::from(ceiling.as_nanos()), stated);
        let last = if factor == 10 { base } else { cap };
        prop_assert_eq!(policy.call.backoff().ceiling(u32::MAX).as_nanos(), last);
    }

    /// Could break if a policy at the edge of what may be built drew outside its own range.
    #[test]
    fn no_policy_draws_outside_its_range_or_above_its_cap(
        base in 1_000_000_u64..1_000_000_000,
        times in 1_u64..300_000_000,
        factor in 10_u32..=100,
        kind in 0_usize..KINDS.len(),
        retries_made: u32,
        previous in prop_oneof![0_u64..2_000_000_000, any::<u64>()],
        at_most in prop_oneof![0_u64..2_000_000_000, any::<u64>()],
        seed: u64,
    ) {
        let mut backoff = backoff(KINDS[kind]);
        backoff.base = Duration::from_nanos(base);
        backoff.min = Duration::from_nanos(base / 10);
        backoff.cap = Duration::from_nanos(base * times);
        backoff.factor_tenths = factor;
        let (previous, at_most) = (Duration::from_nanos(previous), Duration::from_nanos(at_most));
        let range = backoff.range(retries_made, previous);
        prop_assert!(range.shortest <= range.longest && range.longest <= backoff.cap);
        match backoff.draw(&mut Rng::new(seed, 0), retries_made, previous, at_most) {
            None => prop_assert!(at_most < range.shortest),
            Some(delay) => {
                prop_assert!((range.shortest..=range.longest).contains(&delay));
                prop_assert!(delay <= at_most);
            }
        }
    }
}

#[test]
fn without_waits_every_delay_is_nothing() {
    // Could break by a base that is taken for missing, or by a grown ceiling that forgets its cap.
    let call = crate::policy::Policy::preset(crate::policy::Preset::Default).call;
    let backoff = call.without_waits().backoff();
    let mut rng = Rng::new(1, 1);
    for n in [0, 1, 5, 100, u32::MAX] {
        assert_eq!(
            backoff.draw(&mut rng, n, Duration::from_secs(9), Duration::MAX),
            Some(Duration::ZERO)
        );
    }
}
