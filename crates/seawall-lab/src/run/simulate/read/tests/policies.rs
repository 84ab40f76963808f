use super::*;
use crate::sim::search::policy_table;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use seawall::config::keys::{self, Takes};
use seawall_core::policy::{HedgeAfter, LongHint, Mode, OnEmpty, OnOpen, Preset, SlowCall};
use std::collections::BTreeSet;

/// Numbers that settings are made of, each taken once.
struct Drawn(std::vec::IntoIter<u32>);

impl Drawn {
    fn of(&mut self, least: u32, most: u32) -> u32 {
        let number = self.0.next().expect("there are enough");
        least + number % (most - least + 1)
    }

    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        let last = u32::try_from(all.len() - 1).expect("a few");
        all[self.of(0, last) as usize]
    }

    /// A length that no unit is too coarse for.
    fn ms(&mut self, least: u32, most: u32) -> Duration {
        let part = self.one(&[0, 0, 1, 1_000]);
        Duration::from_nanos(u64::from(self.of(least, most)) * 1_000_000 + part)
    }

    fn maybe<T>(&mut self, value: T) -> Option<T> {
        Some(value).filter(|_| self.of(0, 3) > 0)
    }
}

fn drawn() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(any::<u32>(), 160)
}

/// Every setting that both kinds of files have a key for.
fn builder(ground: Preset, drawn: &mut Drawn) -> PolicyBuilder {
    let base = drawn.of(1, 4_999);
    let min = drawn.of(0, base);
    let jitters = [
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::DecorrelatedAws,
        Jitter::None,
        Jitter::Proportional {
            per_mille: drawn.of(1, 1_000),
        },
    ];
    let mut builder = PolicyBuilder::from_preset(ground)
        .retries(drawn.of(0, 100))
        .deadline(drawn.ms(200_000, 300_000))
        .backoff_base(Duration::from_millis(base.into()))
        .backoff_min(Duration::from_millis(drawn.one(&[base / 10, min]).into()))
        .backoff_cap(drawn.ms(5_000, 90_000))
        .backoff_factor_tenths(drawn.of(10, 100))
        .jitter(drawn.one(&jitters))
        .hints_max(drawn.ms(1, 90_000))
        .hints_long(drawn.one(&[LongHint::Stop, LongHint::Clamp]))
        .cooldown_max(drawn.ms(1, 90_000))
        .min_attempt(drawn.ms(0, 1_000))
        .queue(drawn.of(0, 10_000));
    if let Some(length) = drawn.maybe(()).map(|()| drawn.ms(1, 100_000)) {
        builder = builder.first_byte(length);
    }
    if let Some(length) = drawn.maybe(()).map(|()| drawn.ms(1, 100_000)) {
        builder = builder.total(length);
    }
    builder = gate(builder, drawn);
    let hedge = [
        HedgeAfter::Fixed(drawn.ms(1, 90_000)),
        HedgeAfter::Percentile {
            per_mille: drawn.of(500, 999),
        },
    ];
    if let Some(()) = drawn.maybe(()) {
        builder = match drawn.one(&hedge) {
            HedgeAfter::Fixed(length) => builder.hedge_after(length),
            HedgeAfter::Percentile { per_mille } => builder.hedge_after_percentile(per_mille),
        };
        if let Some(share) = drawn.maybe(()).map(|()| drawn.of(1, 1_000)) {
            builder = builder.hedge_at_most_per_mille(share);
        }
    }
    builder
}

fn gate(builder: PolicyBuilder, drawn: &mut Drawn) -> PolicyBuilder {
    let most = drawn.of(1, 1_000);
    // A preset with a bound has no key that takes it away.
    let builder = builder.concurrency(drawn.one(&[
        Concurrency::AtMost(most),
        Concurrency::Auto,
        Concurrency::Gradient,
    ]));
    let mut rate = || drawn.maybe(()).map(|()| u64::from(drawn.of(1, 1_000_000)));
    let builder = builder
        .requests_per_minute(rate())
        .tokens_per_minute(rate())
        .tokens_in_per_minute(rate())
        .tokens_out_per_minute(rate());
    let builder = match drawn.maybe(()) {
        None => builder.budget(None),
        Some(()) => builder.edit_budget(|budget| {
            let budget = budget
                .ratio_per_mille(drawn.of(0, 10_000))
                .floor_milli(drawn.of(0, 5_000).into());
            budget
                .window(drawn.ms(1_000, 90_000))
                .on_empty(drawn.one(&[OnEmpty::Stop, OnEmpty::Wait]))
        }),
    };
    match drawn.maybe(()) {
        None => builder.breaker(None),
        Some(()) => builder.edit_breaker(|breaker| {
            let slow = SlowCall {
                over: drawn.ms(1, 90_000),
                per_mille: drawn.of(1, 1_000),
            };
            let ramp = drawn.ms(1, 90_000);
            breaker
                .consecutive(drawn.of(1, 100))
                .failure_per_mille(drawn.of(1, 1_000))
                .window(drawn.ms(1_000, 90_000))
                .min_calls(drawn.of(1, 100))
                .slow_call(drawn.maybe(slow))
                .open_for(drawn.ms(1, 60_000))
                .open_max(drawn.ms(60_001, 90_000))
                .probes(drawn.of(1, 100))
                .probe_successes(drawn.of(1, 1_000))
                .ramp(drawn.maybe(ramp))
                .on_open(drawn.one(&[OnOpen::Fail, OnOpen::Wait]))
                .mode(drawn.one(&[Mode::Auto, Mode::Open, Mode::Closed, Mode::Observe]))
        }),
    }
}

proptest! {
    #[test]
    fn the_table_that_a_search_writes_is_the_policy_that_was_run(numbers in drawn()) {
        // Could break by a setting that is left out since it looks like the default, by a unit, or by a key that
        // `seawall.toml` does not have.
        let mut drawn = Drawn(numbers.into_iter());
        let ground = drawn.one(&[Preset::Default, Preset::Batch, Preset::Writes]);
        let mut builder = builder(ground, &mut drawn);
        if let Some(length) = drawn.maybe(()).map(|()| drawn.ms(1, 90_000)) {
            builder = builder.connect(length);
        }
        if let Some(length) = drawn.maybe(()).map(|()| drawn.ms(1, 90_000)) {
            builder = builder.idle(length);
        }
        let policy = builder.build().expect("in range");
        let table = policy_table(&policy);
        let read = seawall::config::read_policy("found.toml", &table);
        prop_assert_eq!(read.map_err(|errors| format!("{table}{errors}")), Ok(policy));
    }

    #[test]
    fn a_policy_is_read_back_from_a_report(numbers in drawn()) {
        // Could break by a setting that decides and that no report says.
        let mut drawn = Drawn(numbers.into_iter());
        let policy = builder(Preset::Default, &mut drawn)
            .fallbacks(drawn.of(0, 100))
            .tries(drawn.of(1, 100))
            .patience(drawn.ms(0, 90_000))
            .throttled_counts(drawn.one(&[false, true]))
            .build()
            .expect("in range");
        let mut simulation = parse(RIGHT);
        simulation.study.contenders[0].policy = policy;
        let again = parse(&file_of(&scenario_of(&simulation)));
        prop_assert_eq!(again.study.contenders[0].policy, spelt(policy));
    }
}

#[test]
fn a_policy_has_a_setting_for_every_key() {
    // Could break by a key that files have and no list of settings does: nobody would write it.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut said = BTreeSet::new();
    for _ in 0..100 {
        let tree = drawn().new_tree(&mut runner).expect("numbers");
        let builder = builder(Preset::Default, &mut Drawn(tree.current().into_iter()));
        let second = Duration::from_secs(1);
        let policy = builder.connect(second).idle(second).build().expect("in range");
        said.extend(
            policy
                .settings()
                .iter()
                .map(|setting| format!("policy.{}", setting.key)),
        );
    }
    let keyless = [
        "fallbacks",
        "tries",
        "patience",
        "throttled_counts",
        "declared_counts",
    ];
    for key in keyless {
        assert!(said.remove(&format!("policy.{key}")), "{key}");
    }
    let keys = keys::all().filter(|key| key.path.starts_with("policy.") && key.takes != Takes::Table);
    let keys: BTreeSet<String> = keys.map(|key| key.path.to_owned()).collect();
    let without_preset = |key: &&String| *key != "policy.preset";
    assert_eq!(said, keys.iter().filter(without_preset).cloned().collect());
}

#[test]
fn what_no_policy_table_can_say_is_told_beside_it() {
    // Could break by a key that only files of simulations have, which `seawall.toml` refuses, or by one that is dropped
    // in silence.
    let policy = Policy::builder()
        .retries(2)
        .fallbacks(0)
        .throttled_counts(false)
        .build()
        .expect("in range");
    let policy = Policy {
        call: policy.call.without_waits(),
        ..policy
    };
    let table = policy_table(&policy);
    expect![[r#"
        [policy]
        retries = 2

        [policy.backoff]
        base = "1ms"
        cap = "1ms"
        jitter = "none"
        min = "0s"
        # No [policy] table can say no wait between attempts; the file of a simulation can: naive = "immediate".
        # No [policy] table can say fallbacks = 0; a [[route]], or the file of a simulation, can.
        # No [policy] table can say throttled_counts = false; the file of a simulation can.
    "#]]
    .assert_eq(&table);
    assert!(seawall::config::read_policy("found.toml", &table).is_ok());
}
