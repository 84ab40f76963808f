//! Calls whose own code panics.

use seawall::clock::Clock as _;
use seawall::crank::CrankedClock;
use seawall::drive::drive;
use seawall::hub::{Hub, Landed, Leave, Step};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::GateKey;
use seawall_core::outcome::{Outcome, Report};
use seawall_core::policy::Policy;
use seawall_core::trace::Recording;
use std::sync::Arc;

use crate::soon;

/// Where a call panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Panics {
    MakingTheAttempt,
    BeforeTheFirstByte,
    AfterTheFirstByte,
    HearingOfTheEnd,
}

async fn attempt(place: Panics, mut leave: Leave<'_>) -> Landed<'_, ()> {
    assert_ne!(place, Panics::BeforeTheFirstByte, "on purpose");
    leave.leaving();
    assert_ne!(place, Panics::AfterTheFirstByte, "on purpose");
    leave.landed(Report::of(Outcome::Answer), ())
}

#[tokio::test]
async fn a_call_that_panics_gives_back_what_it_held() {
    // Breaks when a place is given back by a statement that an unwinding stack never comes to: the one place of this
    // gate would be taken for ever.
    let policy = Policy::builder().concurrency(Some(1)).build().unwrap();
    let clock = CrankedClock::new();
    let mut engine = Engine::new(1, Recording::Off);
    let gate = engine
        .configure(clock.now(), GateKey(0), &policy.gate, &[], None)
        .unwrap();
    let route = [Candidate::at(gate)];
    let hub = Hub::new(engine, Arc::new(clock));
    for place in [
        Panics::MakingTheAttempt,
        Panics::BeforeTheFirstByte,
        Panics::AfterTheFirstByte,
        Panics::HearingOfTheEnd,
    ] {
        let shared = Arc::clone(&hub);
        let call = tokio::spawn(async move {
            let send = |leave| {
                assert_ne!(place, Panics::MakingTheAttempt, "on purpose");
                attempt(place, leave)
            };
            let mut log = |()| assert_ne!(place, Panics::HearingOfTheEnd, "on purpose");
            let spec = |now| Spec::new(now, &route, &policy.call, Replay::Idempotent);
            drive(&shared, spec, send, &mut log).await
        });
        assert!(soon(call).await.unwrap_err().is_panic(), "{place:?}");
        assert_eq!(hub.with(|engine, _| engine.permits_out()), 0, "{place:?}");
        let (_next, told) = hub.begin(|now| Spec::new(now, &route, &policy.call, Replay::Idempotent));
        assert!(matches!(told.step, Step::Send(_)), "{place:?}");
    }
}
