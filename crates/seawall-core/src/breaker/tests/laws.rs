//! The breaker against a model that keeps every outcome in a list and reads the rules as they are written.

use super::*;
use crate::rng::Rng;
use alloc::format;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Pass { millis: u64 },
    Back { millis: u64 },
    Arrive { replay: Replay },
    Send { replay: Replay, lease_ms: u64 },
    Record { which: usize, evidence: Evidence },
    Drop { which: usize },
    Force { mode: Mode },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let replay = || prop_oneof![3 => Just(Replay::Keyed), 1 => Just(Replay::Unsafe)];
    let evidence = prop_oneof![
        4 => Just(Evidence::Failure), 3 => Just(Evidence::Success),
        1 => Just(Evidence::Answered), 1 => Just(Evidence::Neutral),
    ];
    let mode = prop_oneof![
        6 => Just(Mode::Auto), 1 => Just(Mode::Open), 1 => Just(Mode::Closed), 1 => Just(Mode::Observe),
    ];
    let step = prop_oneof![
        6 => prop_oneof![6 => 0_u64..300, 2 => 0_u64..6_000, 1 => 0_u64..100_000_000]
            .prop_map(|millis| Step::Pass { millis }),
        1 => (0_u64..3_000).prop_map(|millis| Step::Back { millis }),
        2 => replay().prop_map(|replay| Step::Arrive { replay }),
        12 => (replay(), 0_u64..8_000).prop_map(|(replay, lease_ms)| Step::Send { replay, lease_ms }),
        12 => (0_usize..50, evidence).prop_map(|(which, evidence)| Step::Record { which, evidence }),
        2 => (0_usize..50).prop_map(|which| Step::Drop { which }),
        1 => mode.prop_map(|mode| Step::Force { mode }),
    ];
    prop::collection::vec(step, 1..250)
}

fn policies() -> impl Strategy<Value = BreakerPolicy> {
    let trips = (1_u32..7, 100_u32..=1_000, 1_000_u64..6_000, 1_u32..12);
    let heals = (50_u64..6_000, 1_u64..10, 1_u32..5, 1_u32..4);
    (trips, heals).prop_map(
        |((run, share, window, min_calls), (open, times, probes, successes))| {
            policy(|b| {
                b.consecutive(run)
                    .failure_per_mille(share)
                    .window(ms(window))
                    .min_calls(min_calls)
                    .open_for(ms(open))
                    .open_max(ms(open * times))
                    .probes(probes)
                    .probe_successes(successes)
            })
        },
    )
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Is {
    Closed,
    Open(Instant),
    HalfOpen,
}

/// One recorded outcome.
struct Fact {
    at: Instant,
    epoch: u64,
    probe: bool,
    evidence: Evidence,
}

/// Every outcome and every probe, and each rule read off them anew.
struct Model {
    policy: BreakerPolicy,
    mode: Mode,
    now: Instant,
    is: Is,
    epoch: u64,
    since: Instant,
    outcomes: Vec<Fact>,
    /// Ticket and lease end.
    probes: Vec<(u64, Instant)>,
    others: Vec<Instant>,
    closed_at: Option<Instant>,
    length: Duration,
}

#[derive(Debug)]
enum Expected {
    Exactly(Option<Transition>),
    Open { flapping: Option<bool> },
}

impl Model {
    fn new(policy: BreakerPolicy) -> Self {
        Self {
            policy,
            mode: policy.mode,
            now: Instant::START,
            is: Is::Closed,
            epoch: 0,
            since: Instant::START,
            outcomes: Vec::new(),
            probes: Vec::new(),
            others: Vec::new(),
            closed_at: None,
            length: policy.open_for,
        }
    }

    fn tell(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    fn running(&self) -> usize {
        self.probes.iter().filter(|(_, until)| self.now < *until).count()
    }

    fn proven(&self, evidence: &[Evidence]) -> usize {
        let own = self
            .outcomes
            .iter()
            .filter(|fact| fact.epoch == self.epoch && fact.probe);
        own.filter(|fact| evidence.contains(&fact.evidence)).count()
    }

    fn enter(&mut self, is: Is) {
        self.is = is;
        self.epoch += 1;
        self.since = self.now;
        if is == Is::Closed {
            self.closed_at = Some(self.now);
        }
    }

    fn overdue(&self) -> bool {
        let alive = self.proven(&[Evidence::Success, Evidence::Answered]) > 0;
        alive && self.now >= self.since.after(self.policy.open_max)
    }

    fn advance(&mut self, now: Instant) -> Option<Transition> {
        let now = self.tell(now);
        match self.is {
            Is::Open(until) if now >= until => {
                self.enter(Is::HalfOpen);
                Some(Transition::HalfOpened)
            }
            Is::HalfOpen if self.overdue() => {
                self.enter(Is::Closed);
                Some(Transition::ClosedCautiously)
            }
            Is::Open(_) | Is::HalfOpen | Is::Closed => None,
        }
    }

    fn finding(&self, replay: Replay) -> &'static str {
        let rested = self
            .others
            .iter()
            .all(|at| at.after(self.policy.open_max) <= self.now);
        match self.is {
            Is::Closed => "admits",
            Is::Open(_) => "refuses",
            Is::HalfOpen if self.running() >= self.policy.probes as usize => "refuses",
            Is::HalfOpen if replay == Replay::Unsafe && !rested => "refuses",
            Is::HalfOpen => "probe",
        }
    }

    fn standing(&self, replay: Replay) -> &'static str {
        match self.mode {
            Mode::Auto => self.finding(replay),
            Mode::Open => "forced-open",
            Mode::Closed | Mode::Observe => "admits",
        }
    }

    fn counted(&self) -> Vec<&Fact> {
        let verdicts = [Evidence::Success, Evidence::Failure];
        let own = self.outcomes.iter().filter(|fact| fact.epoch == self.epoch);
        own.filter(|fact| verdicts.contains(&fact.evidence)).collect()
    }

    fn run_trips(&self) -> bool {
        let counted = self.counted();
        let run = counted
            .iter()
            .rev()
            .take_while(|fact| fact.evidence == Evidence::Failure);
        let run: Vec<_> = run.collect();
        let (Some(last), Some(first)) = (run.first(), run.last()) else {
            return false;
        };
        run.len() >= self.policy.consecutive as usize && last.at.since(first.at) >= ms(500)
    }

    /// A rest that was not enough is followed by one that is half as long again.
    fn longer(&self) -> Duration {
        self.length.times(3).over(2).min(self.policy.open_max)
    }

    /// Whether as large a share of what it met since it closed failed as trips a breaker.
    fn is_as_bad(&self) -> bool {
        let recent = self.recent();
        let failures = recent.iter().filter(|fact| fact.evidence == Evidence::Failure);
        failures.count() * 1_000 >= recent.len() * self.policy.failure_per_mille as usize
    }

    /// What counted within the window.
    fn recent(&self) -> Vec<&Fact> {
        let window = u128::from(self.policy.window.as_nanos());
        let number = |at: Instant| u128::from(at.as_nanos()) * 10 / window;
        let mut recent = self.counted();
        recent.retain(|fact| number(fact.at) + 9 >= number(self.now));
        recent
    }

    fn share_trips(&self) -> bool {
        let recent = self.recent();
        let (Some(first), Some(last)) = (recent.first(), recent.last()) else {
            return false;
        };
        recent.len() >= self.policy.min_calls as usize
            && self.is_as_bad()
            && last.at.since(first.at) >= secs(1).min(self.policy.window.over(2))
    }

    /// What the outcome does, but for the drawn open time, which is taken from the breaker once it is in range.
    fn record(&mut self, now: Instant, epoch: u64, ticket: Option<u64>, evidence: Evidence) -> Expected {
        let by_clock = self.advance(now);
        let own = |(t, _): &&(u64, Instant)| Some(*t) == ticket;
        let probe = self
            .probes
            .iter()
            .find(own)
            .is_some_and(|(_, until)| self.now < *until);
        self.probes.retain(|(t, _)| Some(*t) != ticket);
        if epoch != self.epoch {
            return Expected::Exactly(by_clock);
        }
        self.outcomes.push(Fact {
            at: self.now,
            epoch,
            probe,
            evidence,
        });
        match self.is {
            Is::Closed if self.run_trips() || self.share_trips() => {
                let early = self.is_as_bad()
                    && self
                        .closed_at
                        .is_some_and(|at| self.now < at.after(self.policy.window));
                self.length = if early {
                    self.longer()
                } else {
                    self.policy.open_for
                };
                Expected::Open {
                    flapping: Some(early),
                }
            }
            Is::HalfOpen if probe && evidence == Evidence::Failure => {
                self.length = self.longer();
                Expected::Open { flapping: None }
            }
            Is::HalfOpen if self.proven(&[Evidence::Success]) >= self.policy.probe_successes as usize => {
                self.enter(Is::Closed);
                Expected::Exactly(Some(Transition::Closed))
            }
            Is::HalfOpen if self.overdue() => {
                self.enter(Is::Closed);
                Expected::Exactly(Some(Transition::ClosedCautiously))
            }
            Is::Closed | Is::HalfOpen | Is::Open(_) => Expected::Exactly(None),
        }
    }
}

const fn name(standing: Standing) -> &'static str {
    match standing {
        Standing::Admits => "admits",
        Standing::AdmitsProbe => "probe",
        Standing::Refuses { .. } => "refuses",
        Standing::ForcedOpen => "forced-open",
    }
}

/// A breaker, its model, and the attempts in flight.
struct Pair {
    bench: Bench,
    model: Model,
    in_flight: Vec<(Pass, Option<u64>)>,
}

impl Pair {
    fn after(policy: &BreakerPolicy, seed: u64, steps: Vec<Step>) -> Result<Self, TestCaseError> {
        let mut bench = Bench::new(policy);
        bench.rng = Rng::new(seed, 0);
        let mut pair = Self {
            bench,
            model: Model::new(*policy),
            in_flight: Vec::new(),
        };
        for step in steps {
            pair.step(step)?;
            pair.check()?;
        }
        Ok(pair)
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Pass { millis } => self.bench.now = self.bench.now.after(ms(millis)),
            Step::Back { millis } => self.bench.now = self.bench.now.before(ms(millis)),
            Step::Arrive { replay } => {
                self.bench.breaker.arrive(self.bench.now, replay);
                let now = self.model.tell(self.bench.now);
                if replay != Replay::Unsafe {
                    self.model.others.push(now);
                }
            }
            Step::Send { replay, lease_ms } => self.send(replay, lease_ms)?,
            Step::Record { which, evidence } => self.record(which, evidence)?,
            Step::Drop { which } => {
                if self.in_flight.is_empty() {
                    return Ok(());
                }
                let (pass, ticket) = self.in_flight.swap_remove(which % self.in_flight.len());
                self.bench.breaker.release(self.bench.now, pass);
                self.model.tell(self.bench.now);
                self.model.probes.retain(|(t, _)| Some(*t) != ticket);
            }
            Step::Force { mode } => {
                self.bench.breaker.force(self.bench.now, mode);
                self.model.tell(self.bench.now);
                self.model.mode = mode;
            }
        }
        Ok(())
    }

    fn send(&mut self, replay: Replay, lease_ms: u64) -> Result<(), TestCaseError> {
        let now = self.bench.now;
        prop_assert_eq!(self.bench.breaker.advance(now), self.model.advance(now));
        let standing = self.bench.breaker.standing(replay);
        prop_assert_eq!(name(standing), self.model.standing(replay));
        prop_assert_eq!(
            name(self.bench.breaker.finding(replay)),
            self.model.finding(replay)
        );
        match standing {
            Standing::Refuses { retry_at } => {
                prop_assert!(
                    retry_at > self.model.now,
                    "a refusal until {} at {}",
                    retry_at,
                    self.model.now
                );
                return Ok(());
            }
            Standing::ForcedOpen => return Ok(()),
            Standing::Admits | Standing::AdmitsProbe => {}
        }
        self.bench.tickets += 1;
        let (ticket, lease_until) = (self.bench.tickets, now.after(ms(lease_ms)));
        let probe = self.model.finding(replay) == "probe";
        let pass = self.bench.breaker.admit(now, replay, ticket, lease_until);
        prop_assert_eq!((pass.is_probe(), pass.epoch().0), (probe, self.model.epoch));
        if probe {
            self.model.probes.push((ticket, lease_until));
        }
        self.in_flight.push((pass, probe.then_some(ticket)));
        Ok(())
    }

    fn record(&mut self, which: usize, evidence: Evidence) -> Result<(), TestCaseError> {
        if self.in_flight.is_empty() {
            return Ok(());
        }
        let (pass, ticket) = self.in_flight.swap_remove(which % self.in_flight.len());
        let epoch = pass.epoch().0;
        let transition = self.bench.record(pass, evidence);
        match self.model.record(self.bench.now, epoch, ticket, evidence) {
            Expected::Exactly(expected) => prop_assert_eq!(transition, expected),
            Expected::Open { flapping } => {
                let Some(Transition::Opened {
                    until,
                    flapping: told,
                    ..
                }) = transition
                else {
                    return Err(TestCaseError::fail(format!(
                        "{transition:?} instead of an opening"
                    )));
                };
                let (open, tenth) = (until.since(self.model.now), self.model.length.over(10));
                prop_assert!(open >= self.model.length.minus(tenth));
                prop_assert!(open <= self.model.length.plus(tenth).min(self.model.policy.open_max));
                prop_assert!(flapping.is_none_or(|flapping| flapping == told));
                self.model.enter(Is::Open(until));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let view = self.bench.breaker.view();
        let state = match self.model.is {
            Is::Closed => "closed",
            Is::Open(_) => "open",
            Is::HalfOpen => "half-open",
        };
        prop_assert_eq!((view.state, view.transitions), (state, self.model.epoch));
        prop_assert_eq!(view.probes as usize, self.model.running());
        prop_assert!(self.model.running() <= self.model.policy.probes as usize);
        Ok(())
    }

    /// Lifts the latch and does nothing but wait and probe, until it is closed.
    fn heal(&mut self) -> Result<(), TestCaseError> {
        self.bench.breaker.force(self.bench.now, Mode::Auto);
        self.bench.now = self.bench.breaker.now;
        // Steps of one open time each, while a probe's lease may be many of them long.
        for _ in 0..1_000 {
            self.bench.breaker.advance(self.bench.now);
            match self.bench.standing() {
                Standing::Admits => return Ok(()),
                Standing::AdmitsProbe => {
                    self.bench.attempt(Evidence::Success);
                }
                // A slot may be free later than it is worth asking.
                Standing::Refuses { retry_at } => {
                    self.bench.now = self.bench.breaker.next_change().unwrap_or(retry_at);
                }
                Standing::ForcedOpen => return Err(TestCaseError::fail("the latch was lifted")),
            }
        }
        Err(TestCaseError::fail("waiting and probing did not close it"))
    }

    /// Fails this often, each `gap` after the one before, until it opens.
    fn fail(&mut self, times: u32, gap: Duration) -> Option<Transition> {
        (0..times).find_map(|_| {
            self.bench.now = self.bench.now.after(gap);
            self.bench.attempt(Evidence::Failure)
        })
    }
}

proptest! {
    /// Could break through a rule misread, a probe too many, a slot lost, a late outcome that moves newer state, or
    /// a clock told backwards.
    #[test]
    fn no_history_tells_it_from_the_rules(policy in policies(), seed: u64, steps in steps()) {
        Pair::after(&policy, seed, steps)?;
    }

    /// Could break if a probe that never came home held its slot for good, or a run survived what ended it.
    #[test]
    fn after_any_history_it_heals_and_trips_on_a_run(policy in policies(), seed: u64, steps in steps()) {
        let mut pair = Pair::after(&policy, seed, steps)?;
        pair.heal()?;
        let run = policy.consecutive.max(2);
        let gap = Duration::from_nanos(500_000_000_u64.div_ceil(u64::from(run) - 1));
        let opened = pair.fail(run, gap);
        prop_assert!(matches!(opened, Some(Transition::Opened { .. })), "{:?}", opened);
    }

    /// Could break as a window of lifetime totals does: after ten thousand successes it needed as many failures.
    #[test]
    fn after_any_history_a_window_of_failures_trips(
        policy in policies(),
        seed: u64,
        steps in steps(),
        spare in 0_u32..50,
    ) {
        // Trap V6.
        let policy = BreakerPolicy { consecutive: 1_000_000, ..policy };
        let mut pair = Pair::after(&policy, seed, steps)?;
        pair.heal()?;
        // Old failures go first: among them even a success may be what completes a share.
        pair.bench.now = pair.bench.now.after(policy.window);
        for _ in 0..10_000 {
            pair.bench.attempt(Evidence::Success);
        }
        let failures = policy.min_calls + 10 + spare;
        let opened = pair.fail(failures, policy.window.over(u64::from(failures)).plus(Duration::from_nanos(1)));
        prop_assert!(matches!(opened, Some(Transition::Opened { .. })), "{:?}", opened);
    }
}

#[test]
fn a_quarter_of_random_errors_never_trips_in_an_hour() {
    // Could break if the run or the share were judged over less than they say.
    let policy = policy(|b| b);
    for (per_second, seed) in [100, 1_000]
        .into_iter()
        .flat_map(|rate| (0..100).map(move |seed| (rate, seed)))
    {
        let mut bench = Bench::new(&policy);
        let mut errors = Rng::new(seed, 1);
        for _ in 0..per_second * 3_600 {
            bench.now = bench.now.after(secs(1).over(per_second));
            let evidence = if errors.next_u64() < u64::MAX / 4 {
                Evidence::Failure
            } else {
                Evidence::Success
            };
            let transition = bench.attempt(evidence);
            assert_eq!(
                transition, None,
                "seed {seed}, {per_second} a second, at {}",
                bench.now
            );
        }
    }
}
