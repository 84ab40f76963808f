use super::*;
use crate::sim::kit;
use crate::sim::model::{Gaps, Load, Server};

/// A run with so many calls due, answered and arrivals in each tenth of a second.
fn run(bins: impl IntoIterator<Item = (u32, u32, u32)>) -> Tally {
    let bins = bins.into_iter().map(|(due, answered, arrivals)| Bin {
        due,
        answered,
        arrivals,
        ..Bin::default()
    });
    Tally {
        bins: bins.collect(),
        ..Tally::default()
    }
}

fn at(second: u64) -> Instant {
    Instant::START.after(Duration::from_secs(second))
}

#[test]
fn where_nothing_was_due_nothing_has_recovered() {
    // Could break by a window without calls, all of whose calls were answered: the outage of a server that few call would
    // be over at once, and an assert on it would hold though nobody was ever answered again.
    let sparse = |answered: u32| {
        run((0..600).map(|bin| (u32::from(bin % 100 == 0), answered * u32::from(bin % 100 == 0), 1)))
    };
    assert_eq!(recovery(&sparse(0), at(5), at(60)), None);
    // From 5.1 s on, the five seconds that hold the call of the tenth second.
    let recovered = recovery(&sparse(1), at(5), at(60)).expect("each call was answered");
    assert!((recovered - 0.1).abs() < 1e-9, "{recovered}");
    assert_eq!(recovery(&run([]), at(5), at(60)), None);
}

#[test]
fn a_recovery_is_seen_up_to_the_horizon_and_where_none_could_be_nobody_says_never() {
    // Could break by a run whose last call is soon after the outage, and no window of five seconds left behind it: all
    // were answered, and it had never recovered.
    let quiet = run((0..120).map(|bin| (u32::from(bin == 110), u32::from(bin == 110), 1)));
    assert_eq!(recovery(&quiet, at(10), at(60)), Some(0.0));
    assert_eq!(recovery(&quiet, at(7), at(12)), Some(0.0));
    for (end, horizon, sees) in [
        (5, 60, true),
        (55, 60, true),
        (56, 60, false),
        (70, 60, false),
        (0, 4, false),
    ] {
        assert_eq!(sees_recovery(at(end), at(horizon)), sees, "{end} of {horizon}");
    }
}

#[test]
fn the_last_twenty_seconds_are_those_before_the_horizon() {
    // Could break by a run whose last call ended early: its last twenty seconds were counted from there, but not of a
    // policy with a breaker, whose gates are looked at up to the horizon.
    let early = (0..100).map(|_| (1, 0, 1));
    let (mut short, mut long) = (
        run(early.clone()),
        run(early.chain((100..600).map(|_| (0, 0, 0)))),
    );
    for tally in [&mut short, &mut long] {
        tally.bins[..100].iter_mut().for_each(|bin| bin.failed = 1);
    }
    assert_eq!(
        (has_collapsed(&short, at(60)), has_collapsed(&long, at(60))),
        (false, false)
    );
    assert!(has_collapsed(&short, at(20)) && has_collapsed(&long, at(20)));
    assert!(has_collapsed(&short, at(10)) && !has_collapsed(&run([]), at(10)));
}

#[test]
fn where_everybody_waits_and_nobody_is_answered_it_has_collapsed() {
    // Could break by a closed load, whose callers call no more while they wait: of nothing due nothing was lost.
    let mut stuck = run((0..600).map(|bin| if bin < 300 { (2, 1, 2) } else { (0, 0, 2) }));
    assert!(has_collapsed(&stuck, at(60)));
    stuck.bins[590].answered = 1;
    assert!(!has_collapsed(&stuck, at(60)), "one of them was answered");
    stuck.bins[590].answered = 0;
    stuck.bins[300].failed = 300;
    assert!(!has_collapsed(&stuck, at(60)), "nobody waits");
}

#[test]
fn of_a_run_that_nobody_called_at_its_end_nothing_tells_whether_it_collapsed() {
    // Could break by none of nothing: calls that were all lost long before the end would keep the promise that no run
    // collapses. Such a run is no seed of the share either.
    let mut lost = run((0..30).map(|bin| (u32::from(bin < 3), 0, 1)));
    lost.bins[..3].iter_mut().for_each(|bin| bin.failed = 1);
    let all_lost = run((0..600).map(|_| (2, 0, 2)));
    let answered = run((0..600).map(|_| (2, 2, 2)));
    assert_eq!(end(&lost, at(60)), End::Silent);
    assert_eq!(end(&run([]), at(60)), End::Silent);
    assert_eq!(end(&all_lost, at(60)), End::Collapsed);
    assert_eq!(end(&answered, at(60)), End::Answered);
    // What was due before, and is answered at the end.
    let late = run((0..600).map(|bin| (u32::from(bin == 0), u32::from(bin == 590), 1)));
    assert_eq!(end(&late, at(60)), End::Answered);
    let load = Load::Open {
        clients: 1,
        per_second: 1.0,
        gaps: Gaps::Constant,
        bursts: Vec::new(),
    };
    let model = kit::plain(load, Server::default(), kit::secs(60));
    let of = |tallies: &[Tally]| Summary::of("a", &model, None, tallies);
    assert_eq!(of(std::slice::from_ref(&lost)).p_collapse, None);
    assert!(!of(std::slice::from_ref(&lost)).ci.contains_key("p_collapse"));
    let share = of(&[lost, all_lost, answered])
        .p_collapse
        .expect("two of them tell");
    assert!((share - 0.5).abs() < 1e-9, "{share}");
}

#[test]
fn a_peak_is_found_wherever_it_begins_and_not_before_the_warm_up() {
    // Could break by seconds of the clock, between two of which a herd is cut in half, or by the start of a run that was
    // to count for nothing.
    let straddles = run((0..60).map(|bin| (0, 0, if (15..25).contains(&bin) { 10 } else { 0 })));
    let near = |measured: f64, expected: f64| {
        assert!((measured - expected).abs() < 1e-9, "{measured}, not {expected}")
    };
    near(peak(&straddles, Duration::ZERO, 10), 100.0);
    near(peak(&straddles, Duration::ZERO, 1), 10.0);
    near(peak(&straddles, Duration::from_secs(2), 10), 50.0);
    near(peak(&straddles, Duration::from_secs(9), 10), 0.0);
    near(peak(&run([(0, 0, 3), (0, 0, 4)]), Duration::ZERO, 10), 7.0);
    near(peak(&run([]), Duration::ZERO, 10), 0.0);
}
