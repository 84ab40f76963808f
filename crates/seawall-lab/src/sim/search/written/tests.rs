use super::*;
use proptest::prelude::*;

fn policies() -> impl Strategy<Value = Policy> {
    let waits = (1_u64..5_000, 1_u64..20, 0_u64..=100, 10_u32..=100);
    let jitters = prop_oneof![
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        Just(Jitter::DecorrelatedAws),
        Just(Jitter::None),
        (1_u32..=1_000).prop_map(|per_mille| Jitter::Proportional { per_mille }),
    ];
    let budget = proptest::option::of((0_u32..=10_000, 0_u64..5_000, 1_u64..100));
    let breaker = proptest::option::of((1_u32..100, 1_u32..=1_000, 1_u64..100, 1_u64..60_000));
    let hedge = proptest::option::of((500_u32..=999, 1_u32..=1_000));
    (0_u32..=100, waits, jitters, 1_u64..100, (budget, breaker, hedge)).prop_map(
        |(retries, (base, caps, min, factor), jitter, first_byte, (budget, breaker, hedge))| {
            let builder = Policy::builder()
                .retries(retries)
                .deadline(Duration::from_secs(200))
                .backoff_base(Duration::from_millis(base))
                .backoff_min(Duration::from_millis(base * min / 100))
                .backoff_cap(Duration::from_millis(base * caps))
                .backoff_factor_tenths(factor)
                .jitter(jitter)
                .first_byte(Duration::from_secs(first_byte));
            let builder = match budget {
                None => builder.budget(None),
                Some((ratio, floor, window)) => builder.edit_budget(|budget| {
                    let window = Duration::from_secs(window);
                    budget.ratio_per_mille(ratio).floor_milli(floor).window(window)
                }),
            };
            let builder = match breaker {
                None => builder.breaker(None),
                Some((run, share, window, open_for)) => builder.edit_breaker(|breaker| {
                    breaker
                        .consecutive(run)
                        .failure_per_mille(share)
                        .window(Duration::from_secs(window))
                        .open_for(Duration::from_millis(open_for))
                }),
            };
            let builder = match hedge {
                None => builder,
                Some((percentile, most)) => builder
                    .hedge_after_percentile(percentile)
                    .hedge_at_most_per_mille(most),
            };
            builder.build().expect("in range")
        },
    )
}

proptest! {
    #[test]
    fn the_table_that_is_printed_is_the_policy_that_was_run(policy in policies()) {
        // Could break by a setting that is left out since it looks like the default, or by a unit.
        let table = policy_table(&policy);
        let read = seawall::config::read_policy("found.toml", &table);
        prop_assert_eq!(read.map_err(|errors| format!("{table}{errors}")), Ok(policy));
    }
}
