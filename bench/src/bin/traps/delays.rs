//! Waits: jitter, caps, deadlines.

use super::{BACKON, RETRY_POLICIES, Seen, TOWER, Trap, seen, virtual_time};
use backon::{BackoffBuilder as _, BlockingRetryable as _, ExponentialBuilder};
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::sync::mpsc;
use std::time::Duration;
use tower::retry::backoff::{Backoff as _, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff as _};

pub(super) const TRAPS: [Trap; 8] = [
    Trap {
        id: "V1",
        peer: TOWER,
        right: "delays spread evenly at nanosecond grain",
        run: jitter_in_whole_seconds,
    },
    Trap {
        id: "V2",
        peer: TOWER,
        right: "two calls wait differently",
        run: two_calls_in_lockstep,
    },
    Trap {
        id: "C24",
        peer: TOWER,
        right: "at the cap calls still wait differently",
        run: no_jitter_at_the_cap,
    },
    Trap {
        id: "V8a",
        peer: BACKON,
        right: "no delay above the cap",
        run: delays_above_the_cap,
    },
    Trap {
        id: "V8b",
        peer: BACKON,
        right: "no panic from any setting",
        run: a_large_factor_panics,
    },
    Trap {
        id: "V8c",
        peer: BACKON,
        right: "a maximum below the minimum is refused",
        run: a_maximum_below_the_minimum,
    },
    Trap {
        id: "C30",
        peer: BACKON,
        right: "a deadline covers attempts as well as waits",
        run: a_deadline_of_sleeps_alone,
    },
    Trap {
        id: "V12",
        peer: RETRY_POLICIES,
        right: "building a policy ends",
        run: a_builder_that_never_returns,
    },
];

fn tower_backoff(base: Duration, most: Duration) -> ExponentialBackoffMaker {
    ExponentialBackoffMaker::new(base, most, 0.99, Default::default()).expect("the settings are in range")
}

/// The length that tower's timer was set to; time stands still here.
fn next(backoff: &mut ExponentialBackoff) -> Duration {
    backoff.next_backoff().deadline() - tokio::time::Instant::now()
}

fn jitter_in_whole_seconds() -> Seen {
    let (second, most) = (Duration::from_secs(1), Duration::from_secs(3_600));
    let (mut first, mut later) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..1_000 {
        // A new maker each: see V2.
        let mut backoff = tower_backoff(second, most).make_backoff();
        first.insert(next(&mut backoff));
        later.insert(next(&mut backoff));
    }
    let whole = first.iter().chain(&later).all(|delay| delay.subsec_nanos() == 0);
    let what = format!(
        "base 1s, jitter 0.99, 1000 draws: {} different first delays, {} different second ones, {}",
        first.len(),
        later.len(),
        if whole {
            "all whole seconds"
        } else {
            "not whole seconds"
        },
    );
    seen(whole && first.len() == 1, what)
}

fn two_calls_in_lockstep() -> Seen {
    let mut maker = tower_backoff(Duration::from_millis(50), Duration::from_secs(30));
    let (mut one, mut other) = (maker.make_backoff(), maker.make_backoff());
    let same = (0..8).filter(|_| next(&mut one) == next(&mut other)).count();
    seen(
        same == 8,
        format!("two calls of one maker: {same} of 8 delays are the same to the nanosecond"),
    )
}

fn no_jitter_at_the_cap() -> Seen {
    let mut delays = BTreeSet::new();
    for _ in 0..1_000 {
        let mut backoff = tower_backoff(Duration::from_millis(50), Duration::from_secs(2)).make_backoff();
        for _ in 0..9 {
            next(&mut backoff);
        }
        delays.insert(next(&mut backoff));
    }
    seen(
        delays.len() == 1,
        format!(
            "1000 calls, tenth delay, cap 2s: {} different, {:?}",
            delays.len(),
            delays.first()
        ),
    )
}

fn delays_above_the_cap() -> Seen {
    let cap = Duration::from_secs(10);
    let builder = ExponentialBuilder::default()
        .with_jitter()
        .with_max_delay(cap)
        .with_max_times(10);
    let delays: Vec<Duration> = (0..1_000).flat_map(|_| builder.build()).collect();
    let above = delays.iter().filter(|delay| **delay > cap).count();
    let most = delays.iter().max();
    let part = 100 * above / delays.len();
    seen(
        above > 0,
        format!("cap 10s: {part} % of delays are above it, the longest is {most:.2?}"),
    )
}

fn a_large_factor_panics() -> Seen {
    let panics = catch_unwind(|| {
        let builder = ExponentialBuilder::default()
            .with_factor(1e20)
            .without_max_delay()
            .with_total_delay(Some(Duration::MAX))
            .with_max_times(20);
        builder.build().count()
    });
    seen(
        panics.is_err(),
        format!(
            "factor 1e20, no cap, total delay {:?}: {}",
            Duration::MAX,
            word(panics.is_err())
        ),
    )
}

fn word(panics: bool) -> &'static str {
    if panics { "panics" } else { "does not panic" }
}

fn a_maximum_below_the_minimum() -> Seen {
    let builder = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_millis(5));
    let delays: Vec<Duration> = builder.build().collect();
    let first_is_above = delays.first() > Some(&Duration::from_millis(5));
    seen(
        first_is_above,
        format!("minimum 100ms, maximum 5ms is taken: delays {delays:?}"),
    )
}

fn a_deadline_of_sleeps_alone() -> Seen {
    let began = std::time::Instant::now();
    let mut attempts = 0;
    let fails = || {
        attempts += 1;
        virtual_time::advance(Duration::from_secs(10));
        Err::<(), ()>(())
    };
    let policy = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_total_delay(Some(Duration::from_secs(1)));
    let _ = fails.retry(policy).sleep(virtual_time::advance).call();
    let took = began.elapsed();
    seen(
        took > Duration::from_secs(20),
        format!("total delay 1s, attempts of 10s: {attempts} attempts, over after {took:.1?}"),
    )
}

fn a_builder_that_never_returns() -> Seen {
    let (done, ended) = mpsc::channel();
    // Left running: nothing ends it, but the end of the program.
    std::thread::spawn(move || {
        let policy = retry_policies::policies::ExponentialBackoff::builder()
            .retry_bounds(Duration::ZERO, Duration::from_secs(1))
            .build_with_total_retry_duration_and_limit_retries(Duration::from_secs(10));
        let _ = done.send(policy);
    });
    // A second is a million of its turns.
    let returned = virtual_time::on_real_time(|| ended.recv_timeout(Duration::from_secs(1)).is_ok());
    seen(
        !returned,
        format!(
            "least interval 0, total 10s: {} within a second",
            if returned { "returned" } else { "not built" }
        ),
    )
}
