//! What the live library tells the engine of time: hedges by the live percentile, slow calls, and a limit by first bytes.

use crate::server::{Deed, Server, Step};
use crate::stage::Stage;
use seawall::clock::Clock as _;
use seawall::crank::CrankedClock;
use seawall::upstream::Call;
use seawall_core::policy::{Concurrency, Policy, PolicyBuilder, SlowCall};
use seawall_core::time::Duration;

const TOOK: Duration = Duration::from_millis(100);

/// A stage whose server answers after `TOOK`, but for those of these numbers, which it keeps waiting.
async fn stage(policy: PolicyBuilder, stalls: impl Fn(usize) -> bool + Send + Sync + 'static) -> Stage {
    let clock = CrankedClock::new();
    let server = Server::start(&clock, move |nth, _| {
        if stalls(nth) {
            Step::of(Deed::Stall)
        } else {
            Step::answer(200, &[], "{}").after(TOOK)
        }
    });
    Stage::new(&clock, server.await, policy.build().unwrap(), 1, |builder| {
        builder
    })
}

async fn call(stage: &Stage) -> Result<(), &'static str> {
    let upstream = stage.upstream.clone();
    let answered = stage
        .run(async move { upstream.call(Call::get("/v1/things")).await })
        .await;
    answered.map(|_| ()).map_err(|error| error.reason.code())
}

#[tokio::test]
async fn a_hedge_goes_when_the_live_percentile_has_passed() {
    // Broken if the live crate told no times, or those of the calls instead of the attempts': no hedge would ever go.
    let stage = stage(Policy::builder().hedge_after_percentile(950), |nth| nth == 20).await;
    for _ in 0..20 {
        call(&stage).await.unwrap();
    }
    let began = stage.clock.now();
    call(&stage).await.unwrap();
    let took = stage.clock.now().since(began);
    assert!(
        took >= TOOK.times(2) && took < Duration::from_millis(215),
        "{took}"
    );
    assert_eq!(stage.server.requests().len(), 22);
}

#[tokio::test]
async fn a_limit_by_first_bytes_hears_how_long_they_took() {
    // Broken if plain answers brought no times: such a limit would stay where it began for ever.
    let stage = stage(Policy::builder().concurrency(Concurrency::Gradient), |_| false).await;
    for _ in 0..12 {
        call(&stage).await.unwrap();
    }
    let state = stage.upstream.state();
    let gradient = state.gate.gradient.expect("it goes by first bytes");
    assert_eq!(gradient.base, TOOK);
    assert!(
        state
            .to_string()
            .contains(", first bytes take 100ms, uncrowded 100ms"),
        "{state}"
    );
}

#[tokio::test]
async fn calls_into_a_hang_end_before_the_first_of_them_times_out() {
    // Broken if the breaker of a live gate heard of ends alone: each call would wait a minute to find out.
    let slow = SlowCall {
        over: Duration::from_secs(2),
        per_mille: 500,
    };
    let policy = Policy::builder().edit_breaker(|breaker| breaker.slow_call(Some(slow)).min_calls(5));
    let stage = stage(policy, |_| true).await;
    let (upstream, clock) = (stage.upstream.clone(), stage.clock.clone());
    let hangs = stage.run(async move {
        let hang = |nth: u64| {
            let (upstream, clock) = (upstream.clone(), clock.clone());
            async move {
                clock.sleep_until(clock.now() + Duration::from_millis(nth)).await;
                let call = Call::get("/v1/things").with_deadline(Duration::from_secs(30));
                upstream
                    .call(call)
                    .await
                    .map(|_| ())
                    .map_err(|error| error.reason.code())
            }
        };
        let late = async {
            clock
                .sleep_until(clock.now() + Duration::from_millis(2_500))
                .await;
            let began = clock.now();
            let told = upstream
                .call(Call::get("/v1/things"))
                .await
                .map(|_| ())
                .map_err(|error| error.reason.code());
            (told, clock.now().since(began))
        };
        tokio::join!(hang(0), hang(1), hang(2), hang(3), hang(4), late).5
    });
    assert_eq!(hangs.await, (Err("breaker-open"), Duration::ZERO));
}
