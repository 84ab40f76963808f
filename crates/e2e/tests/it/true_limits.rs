//! The live library against the true limits of the mock that users get, in each of the forms in which it tells them.

use crate::stage::soon;
use seawall::clock::Clock as _;
use seawall::crank::CrankedClock;
use seawall::http::Transport;
use seawall::upstream::{Call, Upstream};
use seawall_core::policy::Policy;
use seawall_core::profile::Provider;
use seawall_core::time::{Duration, Instant};
use seawall_lab::net::Mock;
use seawall_lab::plan::{Form, Limit, Rule};
use std::num::NonZeroU32;
use std::sync::Arc;

/// Makes a call, and turns the clock while nothing of it is on its way.
async fn called(upstream: &Upstream, clock: &CrankedClock) {
    let mut call = Box::pin(upstream.call(Call::get("/v1/things")));
    let ended = async {
        loop {
            tokio::select! {
                biased;
                told = &mut call => return told,
                () = tokio::task::yield_now() => {}
            }
            if upstream.attempts_out() == 0 {
                clock.step();
            }
        }
    };
    soon(ended).await.unwrap();
}

#[tokio::test]
async fn each_form_of_a_limit_is_obeyed_to_the_moment() {
    // Breaks when the mock tells a wait that is not the true one, or in a way that the library does not read: then it
    // comes too early and is refused again, or waits longer than it must.
    const CALLS: u64 = 5;
    for form in Form::NAMED {
        let clock = CrankedClock::new();
        let limit = Limit {
            burst: NonZeroU32::new(1),
            form,
            ..Limit::per_minute(NonZeroU32::new(6).unwrap())
        };
        let rule = Rule {
            limit: Some(limit),
            ..Rule::parse("GET /* = 200").unwrap()
        };
        let at = Arc::new(clock.clone());
        let mock = Mock::builder()
            .rule(rule)
            .clock(at.clone())
            .start()
            .await
            .unwrap();
        let upstream = Upstream::builder(&mock.url())
            .unwrap()
            .provider(Provider::named(form.name()).unwrap())
            .policy(Policy::builder().build().unwrap())
            .clock(at.clone())
            .transport(Transport::builder().clock(at).build().unwrap())
            .build()
            .unwrap();
        for _ in 0..CALLS {
            called(&upstream, &clock).await;
        }
        let took = clock.now().since(Instant::START);
        assert_eq!(took, Duration::from_secs(10 * (CALLS - 1)), "{form:?}");
        soon(mock.quiet()).await;
        let attempts = mock.journal().attempts;
        let refused = attempts
            .iter()
            .filter(|attempt| attempt.status == Some(429))
            .count();
        // Gemini says nothing before it refuses; every other form is read before (rule I4).
        let expected = if form == Form::Gemini { 4 } else { 0 };
        assert_eq!((refused, attempts.len()), (expected, 5 + expected), "{form:?}");
    }
}
