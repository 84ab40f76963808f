//! Budgets, and places that are held for nothing.

use super::{RESILIENCE, Seen, TOWER, Trap, seen, virtual_time};
use seawall_bench::peers::{Fault, answer};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::retry::budget::{Budget as _, TpsBudget};
use tower::{Layer as _, Service, service_fn};
use tower_resilience_retry::RetryBudgetBuilder;

pub(super) const TRAPS: [Trap; 6] = [
    Trap {
        id: "V3",
        peer: TOWER,
        right: "30 %, 40 % and 60 % are what they say",
        run: a_ratio_is_rounded_up,
    },
    Trap {
        id: "V3b",
        peer: TOWER,
        right: "a floor is a rate, not a burst",
        run: a_burst_without_traffic,
    },
    Trap {
        id: "V4",
        peer: TOWER,
        right: "an idle month costs no more than an idle window",
        run: an_idle_month_is_counted_slot_by_slot,
    },
    Trap {
        id: "V5",
        peer: TOWER,
        right: "a deposit lives as long however often it is looked at",
        run: a_window_that_depends_on_who_looks,
    },
    Trap {
        id: "V13",
        peer: TOWER,
        right: "a place is taken to send, not to be ready",
        run: idle_clones_hold_every_place,
    },
    Trap {
        id: "V10",
        peer: RESILIENCE,
        right: "a budget bounds extras by a part of the traffic",
        run: a_token_for_every_success,
    },
];

/// Extras that `budget` grants after so many originals.
fn extras(percent: f32, originals: u32) -> u32 {
    let budget = TpsBudget::new(Duration::from_secs(10), 0, percent);
    for _ in 0..originals {
        budget.deposit();
    }
    (0..10 * originals).take_while(|_| budget.withdraw()).count() as u32
}

fn a_ratio_is_rounded_up() -> Seen {
    let granted = [0.3, 0.4, 0.6].map(|percent| extras(percent, 1_000));
    let [third, half, all] = granted;
    seen(
        third > 300 && half > 400 && all > 600,
        format!("1000 originals: {third} extras at 30 %, {half} at 40 %, {all} at 60 %"),
    )
}

fn a_burst_without_traffic() -> Seen {
    let budget = TpsBudget::default();
    let granted = (0..1_000).take_while(|_| budget.withdraw()).count();
    seen(
        granted >= 50,
        format!("the default, no traffic: {granted} extras at one instant"),
    )
}

fn an_idle_month_is_counted_slot_by_slot() -> Seen {
    let idle = |length: Duration| {
        let budget = TpsBudget::new(Duration::from_secs(1), 10, 0.2);
        budget.deposit();
        virtual_time::advance(length);
        virtual_time::really_takes(|| budget.deposit())
    };
    // The quickest of some: in one of them the machine does nothing else.
    let short = (0..20).map(|_| idle(Duration::from_secs(2))).min();
    let short = short.unwrap_or_default();
    let long = idle(Duration::from_secs(30 * 86_400));
    seen(
        long > 1_000 * short.max(Duration::from_nanos(100)),
        format!(
            "window 1s: the first call after 2 s idle takes {short:.1?}, after 30 days {long:.1?}, under a lock"
        ),
    )
}

fn a_window_that_depends_on_who_looks() -> Seen {
    let lives = |step: Duration| {
        // One deposit is half of what a withdrawal asks, so that looking takes nothing.
        let budget = TpsBudget::new(Duration::from_secs(10), 0, 0.5);
        budget.deposit();
        let steps = (1..100).take_while(|_| {
            virtual_time::advance(step);
            let _ = budget.withdraw();
            format!("{budget:?}").contains("balance: 1")
        });
        step * steps.count() as u32
    };
    let (often, seldom) = (
        lives(Duration::from_millis(900)),
        lives(Duration::from_millis(1_001)),
    );
    seen(
        seldom + Duration::from_secs(3) < often,
        format!(
            "window 10s: a deposit lives {often:.1?} looked at every 900ms, {seldom:.1?} at every 1001ms"
        ),
    )
}

fn idle_clones_hold_every_place() -> Seen {
    let layer = GlobalConcurrencyLimitLayer::new(2);
    let mut services: Vec<_> = (0..3).map(|_| layer.layer(service_fn(|()| answer()))).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut is_ready = |place: usize| {
        let polled: Poll<Result<(), Fault>> = services[place].poll_ready(&mut context);
        polled.is_ready()
    };
    let first_two = is_ready(0) && is_ready(1);
    virtual_time::advance(Duration::from_secs(86_400));
    let third = is_ready(2);
    seen(
        first_two && !third,
        format!(
            "limit 2: two clones that are ready and send nothing; a day later the third is ready: {third}"
        ),
    )
}

fn a_token_for_every_success() -> Seen {
    let budget = RetryBudgetBuilder::new()
        .token_bucket()
        .tokens_per_second(0.0)
        .max_tokens(1_000)
        .initial_tokens(0)
        .build()
        .expect("the bucket is in range");
    for _ in 0..1_000 {
        budget.deposit();
    }
    let granted = (0..10_000).take_while(|_| budget.try_withdraw()).count();
    seen(
        granted >= 1_000,
        format!("no refill, empty at first: 1000 successes permit {granted} retries"),
    )
}
