use super::*;
use crate::outcome::HintSource;
use crate::policy::{Jitter, Policy};
use crate::rng::Rng;
use proptest::prelude::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn hint(wait: Duration, cools: bool) -> Option<Hint> {
    Some(Hint {
        wait,
        cools,
        source: HintSource::RetryAfter,
    })
}

#[test]
fn where_part_of_the_range_fits_the_delay_is_drawn_from_that_part() {
    // Could break if the whole range is drawn from and cut: most waits would then end at the last moment (rule F3).
    let policy = Policy::builder().backoff_base(ms(1_000)).build().unwrap().call;
    let plan = WaitPlan::new(&policy, 0, Duration::ZERO, None, ms(400)).unwrap();
    assert_eq!((plan.shortest(), plan.longest()), (ms(100), ms(300)));
    let mut rng = Rng::new(1, 1);
    let draws: alloc::vec::Vec<Duration> = (0..2_000).map(|_| plan.draw(&mut rng)).collect();
    assert!(draws.iter().all(|wait| (ms(100)..=ms(300)).contains(wait)));
    let late = draws.iter().filter(|wait| **wait > ms(290)).count();
    assert!(late < 200, "{late} of 2000 draws are in the last twentieth");
}

#[test]
fn a_long_word_of_the_server_is_cut_only_where_the_user_says_so() {
    // Could break if clamping were the default, or a clamped wait went past the deadline (rule C4).
    let stop = Policy::builder().jitter(Jitter::None);
    let clamp = stop.hints_long(LongHint::Clamp).build().unwrap().call;
    let stop = stop.build().unwrap().call;
    let long = hint(Duration::from_secs(61), true);
    let plan = |policy, left| WaitPlan::new(policy, 0, Duration::ZERO, long, left);
    let minute = Duration::from_secs(60);
    assert_eq!(
        plan(&stop, minute.times(2)).unwrap_err(),
        Reason::ServerAskedTooLong {
            asked: Duration::from_secs(61),
            max: minute
        }
    );
    assert_eq!(
        plan(&clamp, minute.times(2)).unwrap().draw(&mut Rng::new(1, 1)),
        minute
    );
    assert!(matches!(
        plan(&clamp, ms(59_000)),
        Err(Reason::ServerAskedTooLong { .. })
    ));
}

#[test]
fn what_a_wait_is_rounded_up_by_is_not_trebled_with_it() {
    // Could break if the wait itself were followed: with a base of 5 ms the mean of the fourth wait would be a tenth too
    // long, and each later one as well.
    let policy = Policy::builder()
        .backoff_base(ms(5))
        .jitter(Jitter::Decorrelated)
        .build()
        .unwrap()
        .call;
    let mut sum = Duration::ZERO;
    for stream in 0..20_000 {
        let (mut rng, mut previous) = (Rng::new(1, stream), Duration::ZERO);
        for retries_made in 0..4 {
            let plan = WaitPlan::new(&policy, retries_made, previous, None, Duration::from_secs(60)).unwrap();
            let drawn = plan.drawn(&mut rng);
            assert_eq!(drawn.wait, drawn.follows.up_to_millis());
            previous = drawn.follows;
        }
        sum = sum.plus(previous);
    }
    // From a base b each draw has the mean b/2 + 3/2 of the one before: 10, 17.5, 28.75, 45.625 ms.
    let mean = sum.over(20_000).as_nanos();
    assert!((44_700_000..46_500_000).contains(&mean), "{mean} ns");
}

proptest! {
    #[test]
    fn no_wait_is_before_the_hint_above_the_cap_or_past_the_deadline(
        retries in 0_u32..12, base in 1_u64..5_000, cap in 1_u64..60_000, left in 0_u64..200_000_000_000,
        asked in prop::option::of((1_u64..100_000_000_000, any::<bool>())), kind in 0_usize..5, previous in 0_u64..90_000,
        clamp in any::<bool>(), seed in any::<u64>(),
    ) {
        // Could break by rounding: a nanosecond short of the hint re-arms the limit (rules B3, C2 and F3).
        let jitter = [Jitter::Full, Jitter::Equal, Jitter::Decorrelated, Jitter::Proportional { per_mille: 500 }, Jitter::None][kind];
        let builder = Policy::builder().backoff_base(ms(base)).backoff_cap(ms(cap.max(base))).jitter(jitter)
            .hints_long(if clamp { LongHint::Clamp } else { LongHint::Stop });
        let policy = builder.build().expect("in range").call;
        let left = Duration::from_nanos(left);
        let asked = asked.map(|(wait, cools)| (Duration::from_nanos(wait), cools));
        let word = asked.and_then(|(wait, cools)| hint(wait, cools));
        let (max, cap) = (policy.hints().max(), policy.backoff().cap());
        let heard = asked.map(|(wait, cools)| (if clamp { wait.min(max) } else { wait }, cools));
        let plan = WaitPlan::new(&policy, retries, ms(previous), word, left);
        match plan {
            Err(Reason::ServerAskedTooLong { .. }) => {
                let (wait, _) = heard.expect("somebody asked");
                prop_assert!(wait > max || wait > left);
            }
            Err(Reason::DeadlineTooNear { needs, .. }) => prop_assert!(needs > left),
            Err(other) => prop_assert!(false, "{other}"),
            Ok(plan) => {
                let mut rng = Rng::new(seed, 1);
                for _ in 0..20 {
                    let wait = plan.draw(&mut rng);
                    prop_assert!(plan.shortest() <= wait && wait <= plan.longest());
                    prop_assert!(wait.plus(policy.timeouts().min_attempt()) <= left);
                    let room = left.minus(policy.timeouts().min_attempt());
                    let least = heard.map_or(Duration::ZERO, |(wait, _)| wait);
                    prop_assert!(wait >= least, "{wait} is before {least}");
                    let most = cap.max(least).up_to_millis();
                    match heard {
                        Some((asked, false)) => prop_assert!(wait <= most.plus(asked.over(10).min(Duration::from_secs(1)))),
                        Some((_, true)) | None => {
                            prop_assert!(wait <= most);
                            prop_assert!(wait == wait.up_to_millis() || wait == room, "{wait} is no whole millisecond");
                        }
                    }
                }
            }
        }
    }
}
