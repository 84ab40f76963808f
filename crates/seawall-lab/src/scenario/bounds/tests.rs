use super::*;
use crate::findings::tests::log;
use crate::findings::{Effect, Hint, Word};
use proptest::prelude::*;
use seawall_core::outcome::{Hint as Asked, HintSource};
use seawall_core::policy::{Jitter, LongHint, Policy};
use seawall_core::rng::Rng;
use seawall_core::time::Instant;
use seawall_core::wait::WaitPlan;

fn of(timing: Timing, history: &str) -> (String, String) {
    let policy = Policy::builder().build().unwrap();
    let log = log(timing, history);
    let Bounds { least, most } = bounds(&Schedule::of(&policy.call), timing, log.attempts.iter());
    (least.to_string(), most.to_string())
}

#[test]
fn the_bounds_of_a_call_are_the_sums_of_its_waits_its_hints_and_its_answers() {
    // Could break if the last attempt's own time counted, a hint came on top of the draw, or a hint of a good answer
    // counted at all. The default policy draws from [50 ms, 500 ms], [50 ms, 1 s], [50 ms, 2 s], …
    let bounds = |history| of(Timing::Virtual, history);
    let text = |least: &str, most: &str| (least.to_owned(), most.to_owned());
    assert_eq!(bounds("0ms GET /p 503 took=9s"), text("0s", "0s"));
    assert_eq!(
        bounds("0ms GET /p 503 took=10ms\n1s GET /p 503 took=20ms\n2s GET /p 200 took=9s"),
        text("130ms", "1.53s")
    );
    // The hint is a floor; a tenth of it may come on top (rule C2).
    assert_eq!(
        bounds("0ms GET /p 429 hint=5s took=10ms\n6s GET /p 200"),
        text("5.01s", "5.51s")
    );
    // The most that may come on top is a second; a hint longer than is waited for is no part of it.
    assert_eq!(
        bounds("0ms GET /p 429 hint=40s took=0ms\n60s GET /p 200"),
        text("40s", "41s")
    );
    assert_eq!(
        bounds("0ms GET /p 421 took=0ms\n1ms GET /p 200"),
        text("0s", "500ms")
    );
    // Real time: a timer's slack below, a busy machine's above.
    assert_eq!(
        of(Timing::Real, "0ms GET /p 503 took=10ms\n1s GET /p 200"),
        text("10ms", "810ms")
    );
    // Three silent throttles cool the gate, up to the cap (rule C6).
    let throttles = "0ms GET /p 429 took=0ms\n1s GET /p 429 took=0ms\n2s GET /p 429 took=0ms\n3s GET /p 200";
    assert_eq!(bounds(throttles), text("150ms", "31.5s"));
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let jitter = prop_oneof![
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        Just(Jitter::DecorrelatedAws),
        Just(Jitter::None),
        (1_u32..=1_000).prop_map(|per_mille| Jitter::Proportional { per_mille }),
    ];
    let long = prop_oneof![Just(LongHint::Stop), Just(LongHint::Clamp)];
    (
        1_u64..5_000,
        10_u32..=100,
        0_u64..60_000,
        jitter,
        long,
        1_u64..100_000,
    )
        .prop_map(|(base, factor, more, jitter, long, max)| {
            let builder = Policy::builder()
                .backoff_base(Duration::from_millis(base))
                .backoff_factor_tenths(factor)
                .backoff_cap(Duration::from_millis(base + more))
                .jitter(jitter)
                .hints_max(Duration::from_millis(max))
                .hints_long(long)
                .deadline(Duration::from_secs(80_000));
            builder.build().unwrap()
        })
}

proptest! {
    #[test]
    fn what_the_engine_draws_is_within_the_bounds_to_the_nanosecond(
        policy in any_policy(),
        answers in proptest::collection::vec((0_u64..3_000, proptest::option::of(0_u64..120_000_000)), 1..8),
        cools in any::<bool>(),
        seed in any::<u64>(),
    ) {
        // A bound that the engine can leave would fail an honest scenario; one far from it would hold nothing.
        let mut rng = Rng::new(seed, 1);
        let (mut at, mut previous) = (Instant::START, Duration::ZERO);
        let mut attempts = Vec::new();
        for (retries, (took, hint)) in answers.iter().enumerate() {
            let over = at.after(Duration::from_millis(*took));
            let wait = hint.map(Duration::from_micros).filter(|wait| !wait.is_zero());
            attempts.push(Attempt {
                at,
                answered: Some(over),
                ended: Some(over),
                status: Some(503),
                hint: wait.map(|wait| Hint { source: "retry-after".into(), text: wait.to_string(), wait }),
                word: Word::None,
                effect: Effect::None,
                ..Attempt::default()
            });
            let asked = wait.map(|wait| Asked { wait, cools, source: HintSource::RetryAfter });
            let retries = u32::try_from(retries).unwrap();
            let Ok(plan) = WaitPlan::new(&policy.call, retries, previous, asked, Duration::from_secs(70_000)) else {
                break;
            };
            let drawn = plan.draw(&mut rng);
            previous = drawn;
            at = over.after(drawn);
        }
        attempts.push(Attempt { at, status: Some(200), ended: Some(at), ..Attempt::default() });
        // A plan that could not be made is an attempt that was not sent.
        if attempts.len() > 1 && attempts[attempts.len() - 2].at == at {
            attempts.pop();
        }
        let bounds = bounds(&Schedule::of(&policy.call), Timing::Virtual, attempts.iter());
        let took = attempts.last().unwrap().at.since(attempts[0].at);
        prop_assert!(bounds.hold(took), "{took} is outside {bounds:?}");
    }
}
