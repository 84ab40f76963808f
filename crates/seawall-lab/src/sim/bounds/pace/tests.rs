use super::*;
use crate::sim::kit::{at_once, bare, contender, ms, open, plain, secs};
use crate::sim::luck::Length;
use crate::sim::model::{Fleet, Server, Start};
use seawall_core::time::Duration;

/// Told every hundred steps of a run whose time passes by this much each time; when it is given up, in steps.
fn given_up(mut pace: Pace, each: impl Fn(Instant) -> Duration) -> Option<u64> {
    let mut far = HowFar {
        now: Instant::START,
        steps: 0,
    };
    (0..1_000).find_map(|_| {
        far = HowFar {
            now: far.now.after(each(far.now)),
            steps: far.steps + 100,
        };
        pace.too_slow(far).map(|_| far.steps)
    })
}

fn at(seconds: u64) -> Instant {
    Instant::START.after(secs(seconds))
}

#[test]
fn a_run_whose_time_hardly_passes_is_given_up_long_before_its_steps_are_spent() {
    // Could break by a pace that is never judged, by one that judges a run which comes to its end, or by a time that stands
    // still.
    let hour = || Pace::over(1_000, 1_000_000, vec![at(3_600)]);
    assert_eq!(given_up(hour(), |_| ms(1)), Some(2_000), "3.6e8 steps in all");
    assert_eq!(given_up(hour(), |_| Duration::ZERO), Some(2_000));
    assert_eq!(given_up(hour(), |_| ms(500)), None, "7.2e5 steps in all");
    // Twice the bound is what decides: what may just be more is left to the bound.
    assert_eq!(given_up(hour(), |_| ms(300)), None, "1.2e6 steps in all");
    assert_eq!(given_up(hour(), |_| ms(170)), Some(2_000), "2.1e6 steps in all");
}

#[test]
fn a_storm_that_passes_is_no_reason() {
    // Could break by a pace that is carried past the end of an outage, or by one slow moment among others.
    let outage = Pace::over(1_000, 1_000_000, vec![at(1), at(5), at(3_600)]);
    let stormy = |now: Instant| if now < at(5) { ms(1) } else { ms(900) };
    assert_eq!(given_up(outage, stormy), None);
    let start = Pace::over(1_000, 1_000_000, vec![at(3_600)]);
    let together = |now: Instant| if now < at(1) { ms(100) } else { ms(900) };
    assert_eq!(given_up(start, together), None, "one pace that was too slow");
    // What ends after the horizon is not counted by its time.
    let over = Pace::over(1_000, 1_000_000, vec![at(0)]);
    assert_eq!(given_up(over, |_| Duration::ZERO), None);
}

#[test]
fn calls_that_are_counted_are_not_judged_by_their_pace() {
    // Could break by a horizon that is a mere bound: a day, for a million clients with two calls each.
    let closed = |calls_each| Load::Closed {
        clients: 1_000_000,
        think: Length::Fixed(ms(1)),
        start: Start::Together,
        calls_each,
    };
    let pace = |load| {
        let model = plain(load, Server::default(), secs(86_400));
        Pace::new(&model, &contender("one", at_once(bare(3)), Fleet::One), &[])
    };
    assert!(pace(closed(Some(2))).is_none());
    // All of them together may have four attempts each out before a moment has passed.
    let judged = pace(closed(None)).expect("who calls for ever is judged");
    assert_eq!(judged.over, 64_000_000);
    assert!(pace(open(1, 100.0)).is_some_and(|pace| pace.over == STEPS_MIN));
}
