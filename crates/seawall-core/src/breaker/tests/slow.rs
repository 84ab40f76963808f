//! Slow attempts (rule H1), and what follows after closing (rule H5).

use super::*;
use crate::policy::SlowCall;
use alloc::collections::VecDeque;

fn slow_policy(edit: impl FnOnce(BreakerEdit) -> BreakerEdit) -> BreakerPolicy {
    let slow = SlowCall {
        over: secs(2),
        per_mille: 500,
    };
    policy(|breaker| edit(breaker.slow_call(Some(slow))))
}

impl Bench {
    fn look(&mut self) -> Option<Transition> {
        self.breaker.look(self.now, &mut self.rng)
    }

    /// Attempts that begin `gap` apart and take `took` each.
    fn stream(
        &mut self,
        count: u64,
        gap: Duration,
        took: Duration,
        evidence: Evidence,
    ) -> Option<Transition> {
        let (began, mut out, mut moved) = (self.now, VecDeque::new(), None);
        for nth in 0..=count {
            let next = if nth < count {
                began.after(gap.times(nth))
            } else {
                Instant::NEVER
            };
            while let Some((lands, pass)) =
                out.pop_front_if(|(lands, _): &mut (Instant, Pass)| *lands <= next)
            {
                self.now = lands;
                moved = moved.or(self.record(pass, evidence));
            }
            if nth < count {
                self.now = next;
                out.push_back((next.after(took), self.send()));
            }
        }
        moved
    }
}

#[test]
fn answers_that_take_too_long_open_it() {
    // Could break if success were the whole verdict: an upstream that answers after a minute is well by that.
    let mut bench = Bench::new(&slow_policy(|breaker| breaker));
    let moved = bench.stream(20, ms(100), secs(3), Evidence::Success);
    let Some(Transition::Opened {
        trip: Trip::Slow { slow, counted },
        ..
    }) = moved
    else {
        panic!("{moved:?}");
    };
    assert_eq!((slow, counted), (20, 20));
}

#[test]
fn as_long_as_the_policy_allows_is_not_slow() {
    // Could break by one nanosecond: `over` is what an attempt may take.
    let mut bench = Bench::new(&slow_policy(|breaker| breaker));
    assert_eq!(bench.stream(100, ms(100), secs(2), Evidence::Success), None);
    assert_eq!(bench.breaker.view().slow, 0);
}

#[test]
fn what_says_nothing_of_health_is_not_slow_either() {
    // Could break if a throttle that came late, or a caller who left, counted against an upstream.
    for evidence in [Evidence::Answered, Evidence::Neutral] {
        let mut bench = Bench::new(&slow_policy(|breaker| breaker));
        for _round in 0..10 {
            // While they are out they are slow, so that they are fewer here than say anything.
            assert_eq!(bench.stream(10, ms(10), secs(9), evidence), None);
        }
        assert_eq!(bench.breaker.view().slow, 0);
    }
    let mut bench = Bench::new(&slow_policy(|breaker| breaker));
    let pass = bench.send();
    bench.pass(secs(9));
    bench.breaker.release(bench.now, pass);
    assert_eq!((bench.look(), bench.breaker.view().slow), (None, 0));
}

#[test]
fn an_upstream_that_hangs_opens_it_before_anybody_has_ended() {
    // Could break if only ends counted: a thousand calls would be sent into a hang before the first one times out.
    let mut bench = Bench::new(&slow_policy(|breaker| breaker));
    let mut out = Vec::new();
    for _ in 0..20 {
        out.push(bench.send());
        bench.pass(ms(20));
        assert_eq!(bench.look(), None);
    }
    bench.now = Instant::START.after(secs(2));
    assert_eq!(bench.look(), None, "nobody has taken longer than allowed yet");
    bench.now = Instant::START.after(ms(2_801));
    let moved = bench.look();
    let Some(Transition::Opened {
        trip: Trip::Slow { slow, counted },
        ..
    }) = moved
    else {
        panic!("{moved:?}");
    };
    assert_eq!((slow, counted), (20, 20));
    // What was counted while it was out says nothing more in the next epoch.
    for pass in out {
        assert_eq!(bench.record(pass, Evidence::Success), None);
    }
    assert_eq!(bench.breaker.view().slow, 0);
}

#[test]
fn those_that_come_home_are_overdue_no_more() {
    // Could break if an attempt stayed counted after its end, or was taken out twice: a gate would open for a hang that
    // is over, or never again.
    let mut bench = Bench::new(&slow_policy(|breaker| breaker.min_calls(5)));
    for _round in 0..50 {
        let out: Vec<Pass> = (0..4).map(|_| bench.send()).collect();
        bench.pass(secs(4));
        assert_eq!(bench.look(), None, "four are too few");
        for pass in out {
            bench.breaker.release(bench.now, pass);
        }
        assert_eq!(bench.look(), None);
    }
    let out: Vec<Pass> = (0..5).map(|_| bench.send()).collect();
    bench.pass(secs(4));
    assert!(matches!(bench.look(), Some(Transition::Opened { .. })));
    drop(out);
}

#[test]
fn a_slow_probe_opens_it_again() {
    // Could break if a probe that is answered closed it, whatever it took: the hang would get everything back.
    let slow = slow_policy(|breaker| breaker);
    let (mut bench, until) = Bench::tripped(&slow);
    bench.go(until);
    let pass = bench.send();
    bench.pass(secs(3));
    let moved = bench.record(pass, Evidence::Success);
    assert!(
        matches!(
            moved,
            Some(Transition::Opened {
                trip: Trip::SlowProbe { .. },
                ..
            })
        ),
        "{moved:?}"
    );
    // One that is out for too long does the same without an answer, and once.
    let Some(Transition::Opened { until, .. }) = moved else {
        unreachable!()
    };
    bench.go(until);
    let pass = bench.send();
    bench.pass(secs(2));
    assert_eq!(bench.look(), None);
    bench.pass(ms(1));
    let Some(Transition::Opened { until, .. }) = bench.look() else {
        panic!("it has been out for more than two seconds");
    };
    bench.go(until);
    assert_eq!(
        bench.look(),
        None,
        "the probe of an earlier half-open proves nothing now"
    );
    assert_eq!(bench.record(pass, Evidence::Success), None);
}

#[test]
fn one_that_is_slow_again_flaps() {
    // Could break if what answered in between were taken for well, however long it took: an upstream that is quick to
    // probes alone would never be rested for longer.
    let mut bench = Bench::new(&slow_policy(|breaker| breaker));
    for flaps in [false, true] {
        let moved = bench.stream(20, ms(100), secs(3), Evidence::Success);
        let Some(Transition::Opened {
            trip: Trip::Slow { .. },
            until,
            ..
        }) = moved
        else {
            panic!("{moved:?}");
        };
        assert_eq!(bench.breaker.view().flapping, flaps);
        bench.go(until.max(bench.now));
        assert_eq!(bench.attempt(Evidence::Success), Some(Transition::Closed));
    }
}

#[test]
fn a_reload_of_what_slow_means_leaves_no_count_behind() {
    // Could break if an attempt from before the reload were taken out of a count that it was never in.
    let mut bench = Bench::new(&policy(|breaker| breaker));
    let before = bench.send();
    let slow = slow_policy(|breaker| breaker.min_calls(2));
    bench.breaker.configure(bench.now, &slow);
    let watched = bench.send();
    bench.breaker.release(bench.now, before);
    let other = SlowCall {
        over: secs(1),
        per_mille: 500,
    };
    let shorter = policy(|breaker| breaker.min_calls(2).slow_call(Some(other)));
    bench.breaker.configure(bench.now, &shorter);
    bench.breaker.release(bench.now, watched);
    let out = [bench.send(), bench.send()];
    bench.pass(secs(3));
    assert!(matches!(bench.look(), Some(Transition::Opened { .. })));
    drop(out);
}

#[test]
fn a_trip_in_the_ramp_is_one_before_a_whole_window() {
    // Could break if a ramp counted as the window that a closing has to prove itself in (rule H3).
    let ramped = policy(|breaker| breaker.ramp(Some(secs(10))));
    let (mut bench, until) = Bench::tripped(&ramped);
    bench.go(until);
    let pass = bench.send();
    assert_eq!(bench.record(pass, Evidence::Success), Some(Transition::Closed));
    assert_eq!(bench.breaker.view().ramp_per_mille, Some(100));
    bench.pass(secs(5));
    assert_eq!(bench.breaker.view().ramp_per_mille, Some(550));
    bench.trip();
    let view = bench.breaker.view();
    assert_eq!(
        (view.state, view.flapping, view.ramp_per_mille),
        ("open", true, None)
    );
}

#[test]
fn a_ramp_ends_by_the_clock_alone() {
    // Could break if it ended with the next call that is sent: a calm gate would be asked gate by gate for ever.
    let ramped = policy(|breaker| breaker.ramp(Some(secs(10))));
    let (mut bench, until) = Bench::tripped(&ramped);
    bench.go(until);
    let pass = bench.send();
    bench.record(pass, Evidence::Success);
    assert_eq!(bench.breaker.next_change(), Some(until.after(secs(10))));
    bench.pass(secs(10));
    assert_eq!(
        (bench.breaker.view().ramp_per_mille, bench.breaker.next_change()),
        (None, None)
    );
}
