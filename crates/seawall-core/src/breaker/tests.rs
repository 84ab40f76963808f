use super::*;
use crate::policy::{BreakerEdit, Policy};

mod laws;
mod slow;

const SAFE: Replay = Replay::Idempotent;
const LONG: Duration = Duration::from_secs(600);

fn policy(edit: impl FnOnce(BreakerEdit) -> BreakerEdit) -> BreakerPolicy {
    let policy = Policy::builder().edit_breaker(edit).build().unwrap();
    policy.gate.breaker().unwrap()
}

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A breaker, its chance and a clock that is cranked.
struct Bench {
    breaker: Breaker,
    rng: Rng,
    now: Instant,
    tickets: u64,
}

impl Bench {
    fn new(policy: &BreakerPolicy) -> Self {
        Self {
            breaker: Breaker::new(policy),
            rng: Rng::new(7, 0),
            now: Instant::START,
            tickets: 0,
        }
    }

    /// A breaker that just tripped, and when its first probe may go.
    fn tripped(policy: &BreakerPolicy) -> (Self, Instant) {
        let mut bench = Self::new(policy);
        let until = bench.trip();
        (bench, until)
    }

    fn trip(&mut self) -> Instant {
        loop {
            self.now = self.now.after(ms(125));
            match self.attempt(Evidence::Failure) {
                Some(Transition::Opened { until, .. }) => return until,
                Some(Transition::HalfOpened | Transition::Closed | Transition::ClosedCautiously) | None => {}
            }
        }
    }

    fn pass(&mut self, length: Duration) -> Option<Transition> {
        self.go(self.now.after(length))
    }

    fn go(&mut self, to: Instant) -> Option<Transition> {
        self.now = to;
        self.breaker.advance(to)
    }

    fn send(&mut self) -> Pass {
        self.send_for(LONG)
    }

    fn send_for(&mut self, lease: Duration) -> Pass {
        self.tickets += 1;
        self.breaker
            .admit(self.now, SAFE, self.tickets, self.now.after(lease))
    }

    fn record(&mut self, pass: Pass, evidence: Evidence) -> Option<Transition> {
        self.breaker.record(self.now, pass, evidence, &mut self.rng)
    }

    fn attempt(&mut self, evidence: Evidence) -> Option<Transition> {
        let pass = self.send();
        self.record(pass, evidence)
    }

    fn standing(&self) -> Standing {
        self.breaker.standing(SAFE)
    }

    fn state(&self) -> &'static str {
        self.breaker.view().state
    }
}

#[test]
fn five_failures_in_one_moment_trip_only_once_they_span_half_a_second() {
    // Could break if a burst that met one bad moment counted as an outage.
    let mut bench = Bench::new(&policy(|b| b));
    for _ in 0..50 {
        assert_eq!(bench.attempt(Evidence::Failure), None);
    }
    bench.pass(ms(499));
    assert_eq!(bench.attempt(Evidence::Failure), None);
    bench.pass(ms(1));
    let opened = bench.attempt(Evidence::Failure).unwrap();
    let Transition::Opened {
        until,
        trip,
        flapping,
    } = opened
    else {
        panic!("{opened:?}");
    };
    assert_eq!(
        trip,
        Trip::Run {
            failures: 52,
            span: ms(500)
        }
    );
    assert!(!flapping);
    let open = until.since(bench.now);
    assert!((ms(450)..=ms(550)).contains(&open), "{open}");
    assert_eq!(bench.standing(), Standing::Refuses { retry_at: until });
}

#[test]
fn only_a_success_breaks_a_run_of_failures() {
    // Trap B12.
    // Could break if a 429 or a 404 between failures hid an outage.
    let mut bench = Bench::new(&policy(|b| b));
    for evidence in [Evidence::Answered, Evidence::Neutral] {
        bench.pass(secs(60));
        for _ in 0..4 {
            bench.pass(ms(200));
            assert_eq!(bench.attempt(Evidence::Failure), None);
        }
        assert_eq!(bench.attempt(evidence), None);
        assert_eq!(bench.attempt(Evidence::Success), None);
    }
    for _ in 0..4 {
        bench.pass(ms(200));
        bench.attempt(Evidence::Failure);
        assert_eq!(bench.attempt(Evidence::Answered), None);
        assert_eq!(bench.attempt(Evidence::Neutral), None);
    }
    assert!(matches!(
        bench.attempt(Evidence::Failure),
        Some(Transition::Opened {
            trip: Trip::Run { failures: 5, .. },
            ..
        })
    ));
}

#[test]
fn half_of_enough_attempts_over_a_second_trip() {
    // Could break if the share were judged on too few attempts or too short a time, or above half only.
    let mut bench = Bench::new(&policy(|b| b));
    for _ in 0..10 {
        bench.attempt(Evidence::Success);
        assert_eq!(bench.attempt(Evidence::Failure), None);
    }
    bench.pass(ms(999));
    bench.attempt(Evidence::Success);
    assert_eq!(bench.attempt(Evidence::Failure), None);
    bench.pass(ms(1));
    bench.attempt(Evidence::Success);
    let Some(Transition::Opened { trip, .. }) = bench.attempt(Evidence::Failure) else {
        panic!("half of 24 over a second");
    };
    assert_eq!(
        trip,
        Trip::Share {
            failures: 12,
            counted: 24
        }
    );
    assert_eq!(
        bench.breaker.view().before,
        Counts {
            successes: 12,
            failures: 12
        }
    );
    assert_eq!(bench.breaker.view().counts, Counts::default());
}

#[test]
fn neutral_answers_neither_count_nor_dilute() {
    // Could break if a storm of 429 made a failing upstream look healthy.
    let mut bench = Bench::new(&policy(|b| b.consecutive(1_000)));
    let mut opened = None;
    for _ in 0..20 {
        bench.pass(ms(100));
        for _ in 0..50 {
            bench.attempt(Evidence::Answered);
            bench.attempt(Evidence::Neutral);
        }
        opened = bench.attempt(Evidence::Failure);
    }
    assert!(matches!(
        opened,
        Some(Transition::Opened {
            trip: Trip::Share {
                failures: 20,
                counted: 20
            },
            ..
        })
    ));
}

#[test]
fn no_more_probes_than_the_policy_says() {
    // Trap V9, A1.
    // Could break if the slot were taken after the check, or freed by a transition while the probe is in flight.
    let (mut bench, until) = Bench::tripped(&policy(|b| b.open_for(secs(5))));
    assert_eq!(bench.breaker.free_probes(), 0);
    assert_eq!(bench.go(until), Some(Transition::HalfOpened));
    assert_eq!(bench.breaker.free_probes(), 3);
    let probes = [bench.send(), bench.send(), bench.send()];
    assert!(probes.iter().all(Pass::is_probe));
    // A lease may be an hour; that is no time to come back after.
    let retry_at = bench.now.after(secs(5));
    assert_eq!(bench.standing(), Standing::Refuses { retry_at });
    // One fails and it opens again; the other two hang on through the next half-open.
    let [first, second, _third] = probes;
    let reopened = bench.record(first, Evidence::Failure);
    let Some(Transition::Opened {
        until,
        trip: Trip::Probe,
        flapping: false,
    }) = reopened
    else {
        panic!("{reopened:?}");
    };
    bench.go(until);
    assert_eq!(bench.breaker.free_probes(), 1);
    let fourth = bench.send();
    assert!(matches!(bench.standing(), Standing::Refuses { .. }));
    bench.breaker.release(bench.now, second);
    assert_eq!(bench.standing(), Standing::AdmitsProbe);
    assert_eq!(bench.record(fourth, Evidence::Success), Some(Transition::Closed));
}

#[test]
fn a_lost_probe_gives_its_slot_back_by_its_lease() {
    // Trap A2.
    // Could break as a hung probe did that locked a gate for six days.
    let (mut bench, until) = Bench::tripped(&policy(|b| b.open_for(secs(5)).probes(1)));
    bench.go(until);
    let lost = bench.send_for(secs(4));
    let end = bench.now.after(secs(4));
    assert_eq!(bench.standing(), Standing::Refuses { retry_at: end });
    assert_eq!(bench.breaker.next_change(), Some(end));
    bench.go(end);
    assert_eq!(bench.standing(), Standing::AdmitsProbe);
    // It comes home late: no evidence, and no slot that the next probe holds.
    let next = bench.send();
    assert_eq!(bench.record(lost, Evidence::Failure), None);
    assert!(matches!(bench.standing(), Standing::Refuses { .. }));
    assert_eq!(bench.record(next, Evidence::Success), Some(Transition::Closed));
}

#[test]
fn a_late_answer_never_closes_a_newer_breaker() {
    // Trap V7, A5.
    // Could break if an outcome were judged by the state that it finds.
    let mut bench = Bench::new(&policy(|b| b));
    let (early, other) = (bench.send(), bench.send());
    let until = bench.trip();
    assert_eq!(bench.record(early, Evidence::Success), None);
    assert_eq!(bench.state(), "open");
    bench.go(until);
    assert_eq!(bench.record(other, Evidence::Success), None);
    assert_eq!(bench.state(), "half-open");
    let view = bench.breaker.view();
    assert_eq!(
        view.late,
        Counts {
            successes: 2,
            failures: 0
        }
    );
    assert_eq!(view.counts, Counts::default());
}

#[test]
fn late_failures_never_trip_a_breaker_that_just_closed() {
    // Could break if the outage's last timeouts landed in the new window.
    let mut bench = Bench::new(&policy(|b| b));
    let stuck: [Pass; 40] = core::array::from_fn(|_| bench.send());
    let until = bench.trip();
    bench.go(until);
    assert_eq!(bench.attempt(Evidence::Success), Some(Transition::Closed));
    for pass in stuck {
        bench.pass(ms(100));
        assert_eq!(bench.record(pass, Evidence::Failure), None);
    }
    assert_eq!(bench.state(), "closed");
}

#[test]
fn failures_of_probes_at_once_open_it_once() {
    // Trap A4.
    // Could break if the second failure began another epoch, or locked the state.
    let (mut bench, until) = Bench::tripped(&policy(|b| b));
    bench.go(until);
    let [first, second] = [bench.send(), bench.send()];
    assert!(matches!(
        bench.record(first, Evidence::Failure),
        Some(Transition::Opened { .. })
    ));
    let epoch = bench.breaker.epoch();
    assert_eq!(bench.record(second, Evidence::Failure), None);
    assert_eq!(bench.breaker.epoch(), epoch);
}

#[test]
fn as_many_probes_must_succeed_as_the_policy_says() {
    // Could break if one lucky probe closed it whatever was written.
    let (mut bench, until) = Bench::tripped(&policy(|b| b.probe_successes(3)));
    bench.go(until);
    assert_eq!(bench.attempt(Evidence::Success), None);
    assert_eq!(bench.attempt(Evidence::Answered), None);
    assert_eq!(bench.attempt(Evidence::Success), None);
    assert_eq!(bench.attempt(Evidence::Success), Some(Transition::Closed));
}

#[test]
fn answers_without_a_verdict_close_it_with_care() {
    // Trap A3.
    // Could break if a server that throttles everybody kept a gate half-open for ever.
    let (mut bench, until) = Bench::tripped(&policy(|b| b.open_for(secs(5))));
    bench.go(until);
    assert_eq!(bench.attempt(Evidence::Answered), None);
    assert_eq!(bench.breaker.next_change(), Some(until.after(secs(5))));
    assert_eq!(bench.pass(ms(4_999)), None);
    assert_eq!(bench.pass(ms(1)), Some(Transition::ClosedCautiously));
    assert_eq!(bench.standing(), Standing::Admits);
}

#[test]
fn a_refusal_names_the_closing_that_comes_before_a_free_slot() {
    // Could break if callers were sent away for the length of a hung probe's lease.
    let (mut bench, until) = Bench::tripped(&policy(|b| b.open_for(secs(5))));
    bench.go(until);
    bench.attempt(Evidence::Answered);
    let _hung = [bench.send(), bench.send(), bench.send()];
    let retry_at = until.after(secs(5));
    assert_eq!(bench.standing(), Standing::Refuses { retry_at });
    assert_eq!(bench.go(retry_at), Some(Transition::ClosedCautiously));
}

#[test]
fn silence_is_no_answer() {
    // Could break if a cancelled probe, or none, counted as a sign of life.
    let (mut bench, until) = Bench::tripped(&policy(|b| b));
    bench.go(until);
    assert_eq!(bench.attempt(Evidence::Neutral), None);
    let dropped = bench.send();
    bench.breaker.release(bench.now, dropped);
    assert_eq!(bench.breaker.next_change(), None);
    assert_eq!(bench.pass(secs(3_600)), None);
    assert_eq!(bench.state(), "half-open");
    // The first answer after that much time is enough.
    assert_eq!(
        bench.attempt(Evidence::Answered),
        Some(Transition::ClosedCautiously)
    );
}

/// Whether it opened for this long, but for the tenth that is drawn.
#[track_caller]
fn around(bench: &Bench, until: Instant, nominal_ms: u64) {
    let (open, tenth) = (until.since(bench.now), ms(nominal_ms).over(10));
    let range = ms(nominal_ms).minus(tenth)..=ms(nominal_ms).plus(tenth).min(secs(5));
    assert!(range.contains(&open), "{open} around {nominal_ms} ms");
}

#[test]
fn the_open_time_grows_with_each_probe_that_fails() {
    // Could break if it were as long at first as it must be at last: an outage of a second then costs many.
    let (mut bench, mut until) = Bench::tripped(&policy(|b| b));
    around(&bench, until, 500);
    for nominal in [750, 1_125, 1_687, 2_531, 3_796, 5_000, 5_000] {
        bench.go(until);
        let opened = bench.attempt(Evidence::Failure);
        let Some(Transition::Opened {
            until: next,
            flapping: false,
            ..
        }) = opened
        else {
            panic!("{opened:?}");
        };
        until = next;
        around(&bench, until, nominal);
    }
    // The next outage is another one.
    bench.go(until);
    bench.attempt(Evidence::Success);
    bench.pass(secs(30));
    until = bench.trip();
    around(&bench, until, 500);
}

#[test]
fn the_open_time_grows_for_one_that_flaps() {
    // Trap A6.
    // Could break if one lucky probe forgot that it flaps.
    let (mut bench, mut until) = Bench::tripped(&policy(|b| b));
    for nominal in [750, 1_125, 1_687, 2_531, 3_796, 5_000, 5_000] {
        bench.go(until);
        assert_eq!(bench.attempt(Evidence::Success), Some(Transition::Closed));
        bench.pass(secs(29));
        until = bench.trip();
        around(&bench, until, nominal);
        assert!(bench.breaker.view().flapping);
    }
    bench.go(until);
    bench.attempt(Evidence::Success);
    assert!(bench.breaker.view().flapping);
    bench.pass(secs(30));
    assert!(!bench.breaker.view().flapping);
    until = bench.trip();
    around(&bench, until, 500);
    // The fifth of its failures comes 625 ms on: one whole window after the closing, to the nanosecond.
    bench.go(until);
    bench.attempt(Evidence::Success);
    bench.pass(secs(30).minus(ms(625)));
    until = bench.trip();
    around(&bench, until, 500);
}

#[test]
fn one_that_was_well_in_between_does_not_flap() {
    // Could break if a second of outage in every ten were met with ever longer refusals, until most calls that the
    // upstream would have answered are refused.
    let (mut bench, mut until) = Bench::tripped(&policy(|b| b));
    for (well, nominal, flaps) in [
        (6, 500, false),
        (100, 500, false),
        (4, 750, true),
        (6, 500, false),
    ] {
        bench.go(until);
        assert_eq!(bench.attempt(Evidence::Success), Some(Transition::Closed));
        for _ in 0..well {
            bench.pass(ms(10));
            bench.attempt(Evidence::Success);
        }
        // Five failures in a row: half of what it met since it closed, or less.
        until = bench.trip();
        around(&bench, until, nominal);
        assert_eq!(bench.breaker.view().flapping, flaps, "{well} answers in between");
    }
}

#[test]
fn a_reload_to_longer_rests_holds_for_the_next_one() {
    // Could break if a reload only ever shortened what the next rest is drawn around.
    let (mut bench, until) = Bench::tripped(&policy(|b| b));
    bench.go(until);
    bench
        .breaker
        .configure(bench.now, &policy(|b| b.open_for(secs(60))));
    let Some(Transition::Opened { until, .. }) = bench.attempt(Evidence::Failure) else {
        panic!("a failed probe opens it");
    };
    let open = until.since(bench.now);
    assert!((secs(54)..=secs(60)).contains(&open), "{open}");
}

#[test]
fn one_that_has_just_closed_is_not_as_new() {
    // Could break if a gate were forgotten with the rest that it has come to: the next one would be the first again.
    let (mut bench, until) = Bench::tripped(&policy(|b| b));
    bench.go(until);
    assert_eq!(bench.attempt(Evidence::Success), Some(Transition::Closed));
    let now = bench.now;
    assert!(!bench.breaker.knows_nothing(now));
    assert!(!bench.breaker.knows_nothing(now.after(ms(29_999))));
    assert!(bench.breaker.knows_nothing(now.after(secs(30))));
}

#[test]
fn a_hundred_breakers_do_not_half_open_together() {
    // Trap A7.
    // Could break if the open time were fixed, or clipped to one longest.
    for open_for in [secs(5), secs(60)] {
        let policy = policy(|b| b.open_for(open_for));
        let mut ends = alloc::collections::BTreeSet::new();
        for seed in 0..100 {
            let mut bench = Bench::new(&policy);
            bench.rng = Rng::new(seed, 0);
            ends.insert(bench.trip());
        }
        assert_eq!(ends.len(), 100);
    }
}

#[test]
fn a_write_that_must_not_act_twice_probes_only_where_nobody_else_came() {
    // Could break if the riskiest call were the one to test the water, or if a gate of writes never recovered.
    let policy = policy(|b| b);
    let (mut writes, until) = Bench::tripped(&policy);
    writes.breaker.arrive(writes.now, Replay::Unsafe);
    writes.go(until);
    assert_eq!(writes.breaker.standing(Replay::Unsafe), Standing::AdmitsProbe);

    let (mut mixed, until) = Bench::tripped(&policy);
    mixed.go(until);
    mixed.breaker.arrive(mixed.now, Replay::Declared);
    mixed.breaker.arrive(mixed.now, Replay::Unsafe);
    let retry_at = until.after(secs(5));
    assert_eq!(
        mixed.breaker.standing(Replay::Unsafe),
        Standing::Refuses { retry_at }
    );
    assert_eq!(mixed.breaker.standing(Replay::Keyed), Standing::AdmitsProbe);
    mixed.go(retry_at);
    assert_eq!(mixed.breaker.standing(Replay::Unsafe), Standing::AdmitsProbe);
}

#[test]
fn latches_stand_outside_the_automaton() {
    // Trap B19.
    // Could break if a forced state were left by a timer, or lost the automaton's own.
    let (mut bench, until) = Bench::tripped(&policy(|b| b));
    let own = bench.standing();
    bench.breaker.force(bench.now, Mode::Closed);
    assert_eq!(bench.standing(), Standing::Admits);
    assert_eq!(
        bench.attempt(Evidence::Success),
        None,
        "the automaton did not send it"
    );
    bench.breaker.force(bench.now, Mode::Auto);
    assert_eq!(bench.standing(), own);
    bench.breaker.force(bench.now, Mode::Open);
    assert_eq!(bench.standing(), Standing::ForcedOpen);
    assert_eq!(bench.go(until), Some(Transition::HalfOpened));
    assert_eq!(bench.standing(), Standing::ForcedOpen);
    bench.breaker.force(bench.now, Mode::Auto);
    assert_eq!(bench.standing(), Standing::AdmitsProbe);
}

#[test]
fn an_observer_decides_and_refuses_nothing() {
    // Could break if observing never opened, or judged attempts that the automaton would not have sent.
    let (mut bench, until) = Bench::tripped(&policy(|b| b.mode(Mode::Observe).probes(1)));
    assert_eq!(bench.standing(), Standing::Admits);
    assert_eq!(bench.breaker.finding(SAFE), Standing::Refuses { retry_at: until });
    assert_eq!(bench.attempt(Evidence::Success), None);
    assert_eq!(bench.go(until), Some(Transition::HalfOpened));
    let probe = bench.send();
    assert!(probe.is_probe());
    let beside = bench.send();
    assert!(!beside.is_probe());
    assert_eq!(bench.record(beside, Evidence::Failure), None);
    assert_eq!(bench.record(probe, Evidence::Success), Some(Transition::Closed));
}

#[test]
fn a_reload_keeps_an_open_breakers_time_and_a_closed_ones_counts() {
    // Could break if a reload were a fresh start: an outage would be met by full load.
    let (mut bench, until) = Bench::tripped(&policy(|b| b));
    bench
        .breaker
        .configure(bench.now, &policy(|b| b.open_for(secs(1)).probes(1)));
    assert_eq!(bench.standing(), Standing::Refuses { retry_at: until });
    bench.go(until);
    assert_eq!(bench.breaker.free_probes(), 1);
    bench
        .breaker
        .configure(bench.now, &policy(|b| b.open_for(ms(500)).open_max(ms(600))));
    let Some(Transition::Opened { until, .. }) = bench.attempt(Evidence::Failure) else {
        panic!("a failed probe opens it");
    };
    let open = until.since(bench.now);
    assert!(
        (ms(540)..=ms(600)).contains(&open),
        "{open} is the longest that it may be now"
    );

    let mut bench = Bench::new(&policy(|b| b.consecutive(1_000)));
    for _ in 0..19 {
        bench.pass(ms(100));
        assert_eq!(bench.attempt(Evidence::Failure), None);
    }
    let longer = policy(|b| b.consecutive(1_000).window(secs(60)));
    bench.breaker.configure(bench.now, &longer);
    assert_eq!(bench.breaker.view().counts.failures, 19);
    let opened = bench.attempt(Evidence::Failure);
    assert!(matches!(
        opened,
        Some(Transition::Opened {
            trip: Trip::Share { counted: 20, .. },
            ..
        })
    ));
}

#[test]
fn a_lower_number_of_probes_drains_and_never_revokes() {
    // Could break if slots in use were subtracted below nothing.
    let (mut bench, until) = Bench::tripped(&policy(|b| b));
    bench.go(until);
    let [first, second, third] = [bench.send(), bench.send(), bench.send()];
    bench.breaker.configure(bench.now, &policy(|b| b.probes(1)));
    assert_eq!(bench.breaker.free_probes(), 0);
    bench.breaker.release(bench.now, first);
    bench.breaker.release(bench.now, second);
    assert_eq!(bench.breaker.free_probes(), 0);
    assert_eq!(bench.record(third, Evidence::Success), Some(Transition::Closed));
}

#[test]
fn a_forced_latch_outlives_a_reload() {
    // Could break if every reload of a file undid what an operator did in the night.
    let mut bench = Bench::new(&policy(|b| b));
    bench.breaker.force(bench.now, Mode::Open);
    bench.breaker.configure(bench.now, &policy(|b| b.probes(5)));
    assert_eq!(bench.breaker.mode(), Mode::Open);
    bench
        .breaker
        .configure(bench.now, &policy(|b| b.mode(Mode::Observe)));
    assert_eq!(bench.breaker.mode(), Mode::Observe);
}
