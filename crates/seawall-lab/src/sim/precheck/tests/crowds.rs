//! Who comes all at once, comes back sooner than thought, or never gets a turn.

use super::*;
use seawall_core::policy::OnOpen;

fn lived(model: &Model, contender: &Contender) -> bool {
    let tally = crate::sim::run(model, contender, 3);
    crate::sim::summary::has_collapsed(&tally, Instant::START.after(model.horizon))
}

#[test]
fn a_breaker_that_lets_in_at_once_whom_it_kept_waiting_makes_nothing_stable() {
    // Could break by a look at retries alone: those who waited for the breaker make first attempts, which no budget bounds.
    let mut server = stalling(10, ms(100), secs(5));
    server.outages[0].how = Trouble::FailFast;
    let model = open(60.0, server);
    let policy = |on_open, ramp| {
        let builder = Policy::builder()
            .first_byte(ms(500))
            .edit_breaker(|breaker| breaker.on_open(on_open).ramp(ramp));
        named(kit::built(builder))
    };
    for (on_open, ramp, expected) in [
        (OnOpen::Fail, None, Stability::Stable),
        (OnOpen::Wait, None, Stability::Vulnerable),
        (OnOpen::Wait, Some(secs(10)), Stability::Stable),
    ] {
        let contender = policy(on_open, ramp);
        let found = precheck(&model, &contender);
        assert_eq!(found.stability, expected, "{on_open:?} {ramp:?}: {found:#?}");
        let releases = found.finding(Code::BreakerReleases).is_some();
        assert_eq!(releases, expected == Stability::Vulnerable);
        assert_eq!(lived(&model, &contender), releases, "{on_open:?} {ramp:?}");
    }
    let found = precheck(&model, &policy(OnOpen::Wait, None));
    let of = |name| number(&found, Code::BreakerReleases, name);
    near(of("calls"), 60.0 * 5.0, 0.001);
    near(of("takes_s"), 3.0 + 0.1, 0.001);
    // A gate that lets few in at once lets no crowd in, and neither does one in whose queue few wait.
    for few in [
        Policy::builder().concurrency(Some(10)),
        Policy::builder().queue(10),
    ] {
        let builder = few
            .first_byte(ms(500))
            .edit_breaker(|breaker| breaker.on_open(OnOpen::Wait));
        let found = precheck(&model, &named(kit::built(builder)));
        assert!(found.finding(Code::BreakerReleases).is_none(), "{found:#?}");
    }
}

/// So many callers, who think for two seconds.
fn callers(clients: u32, server: Server) -> Model {
    Model {
        load: Load::Closed {
            clients,
            think: Length::Fixed(secs(2)),
            start: Start::Spread,
            calls_each: None,
        },
        ..open(1.0, server)
    }
}

#[test]
fn callers_whose_budget_is_spent_come_back_after_one_attempt() {
    // Could break by waits before retries that nobody gets: callers seem to be away for longer than they are.
    let patient = || bare(5).first_byte(secs(1));
    let half = named(kit::built(budgeted(patient(), 500)));
    let found = precheck(&callers(170, stalling(7, ms(100), secs(5))), &half);
    assert_eq!(found.stability, Stability::Vulnerable, "{found:#?}");
    // 170 · 1.5 ÷ (2 + 1.5 · 1 + 0.5 · 0.275), as the first wait is drawn from 50 to 500 ms.
    near(
        number(&found, Code::NoHeadroom, "attempts_per_s"),
        170.0 * 1.5 / 3.6375,
        0.01,
    );
    // With all five there is more to wait for: six attempts in 2 + 6 + 7.875 s.
    let all = named(kit::built(patient()));
    let found = precheck(&callers(170, stalling(7, ms(100), secs(5))), &all);
    assert_eq!(found.stability, Stability::Stable, "{found:#?}");
    near(
        number(&found, Code::Headroom, "attempts_per_s"),
        170.0 * 6.0 / 15.875,
        0.01,
    );
}

#[test]
fn callers_of_whom_one_attempt_each_is_too_much_are_an_overload() {
    // Could break by a verdict on retries where there are none: 70 callers a second before servers that bear 50.
    let once = named(at_once(naive(0, secs(1))));
    let model = callers(210, stalling(5, ms(100), secs(5)));
    let found = precheck(&model, &once);
    assert_eq!(found.stability, Stability::Overloaded, "{found:#?}");
    near(number(&found, Code::OverCapacity, "calls_per_s"), 70.0, 0.001);
    assert!(lived(&model, &once));
}

#[test]
fn calls_that_never_all_get_their_turn_are_an_overload() {
    // Could break by limits of which the pre-check knows the rates alone, or by a pool that is judged by its servers.
    let takes = Server {
        service: Length::Fixed(ms(300)),
        ..Server::default()
    };
    let few = |places| named(kit::built(bare(0).concurrency(Some(places))));
    let found = precheck(&open(30.0, takes.clone()), &few(2));
    assert_eq!(found.stability, Stability::Overloaded, "{found:#?}");
    near(number(&found, Code::OverLimit, "limit_per_s"), 2.0 / 0.3, 0.001);
    let found = precheck(&open(30.0, takes.clone()), &few(10));
    assert!(found.finding(Code::OverLimit).is_none(), "{found:#?}");
    let pool = |connections| Model {
        load: Load::Pool {
            connections,
            per_second: 30.0,
            gaps: Gaps::Constant,
        },
        ..open(1.0, takes.clone())
    };
    let found = precheck(&pool(5), &few(100));
    assert_eq!(found.stability, Stability::Overloaded, "{found:#?}");
    assert!(found.finding(Code::PoolSaturates).is_some());
    let found = precheck(&pool(20), &few(100));
    assert_eq!(found.stability, Stability::Stable, "{found:#?}");
}
