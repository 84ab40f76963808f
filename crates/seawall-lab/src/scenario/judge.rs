//! Judges a scenario by its evidence: every expectation, one after the other, whatever the others say.

mod calls;
mod client;
mod steps;

use super::{
    Evidence, Expect, Grouping, Never, Observe, Place, Run, Scenario, Schedule, StepSeen, Work, Written,
};
use crate::findings::{
    self, Attempt, CallSeen, Content, Finding, Kind, Limits, Proof, Rule, RunSeen, TimeLine, calls_by_path,
};
use crate::plan::Pattern;
use seawall_core::policy::Backoff;

/// What became of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Every expectation, in the order in which reports list them.
    pub checks: Vec<Check>,
    /// What becomes of those that could not be judged.
    pub observe: Observe,
}

/// One expectation, and what does not fit it.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What is expected, as in `step 2: status` or `never overlap`.
    pub what: String,
    /// Where it is written; `None` for what every scenario expects, such as that a client can be started.
    pub at: Option<Place>,
    /// What does not fit; empty where it holds.
    pub findings: Vec<Finding>,
}

/// What became of one expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It holds.
    Held,
    /// It does not.
    Broken,
    /// Nothing was seen by which it could be judged.
    NotObservable,
}

/// Whether a scenario passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// Every expectation held, but for those that could not be judged where that is allowed.
    Yes,
    /// At least one did not.
    No,
}

impl Check {
    /// What became of it.
    pub fn state(&self) -> State {
        match self.findings.iter().any(|finding| finding.kind == Kind::Broken) {
            true => State::Broken,
            false if self.findings.is_empty() => State::Held,
            false => State::NotObservable,
        }
    }
}

impl Verdict {
    /// Whether the scenario passed.
    pub fn passed(&self) -> Passed {
        match self.checks.iter().all(|check| self.lets_pass(check)) {
            true => Passed::Yes,
            false => Passed::No,
        }
    }

    /// Whether a scenario passes that has this check.
    pub(super) fn lets_pass(&self, check: &Check) -> bool {
        match check.state() {
            State::Held => true,
            State::Broken => false,
            State::NotObservable => self.observe == Observe::May,
        }
    }

    /// Every finding, with the expectation that it is about.
    pub fn findings(&self) -> impl Iterator<Item = (&Check, &Finding)> {
        self.checks
            .iter()
            .flat_map(|check| check.findings.iter().map(move |finding| (check, finding)))
    }
}

/// Judges a scenario by what was seen of it. Nothing is left out because something else failed.
///
/// ```
/// use seawall_lab::scenario::{Evidence, Passed, Scenario, judge};
/// let text = "mock = 'm.toml'\nclient = { run = 'true' }\n[expect]\nattempts = 3\n";
/// let scenario = Scenario::parse("x.toml", text)?;
/// // A runner that saw nothing proves nothing.
/// assert_eq!(judge(&scenario, &Evidence::default()).passed(), Passed::No);
/// # Ok::<(), seawall_lab::scenario::ScenarioErrors>(())
/// ```
pub fn judge(scenario: &Scenario, evidence: &Evidence) -> Verdict {
    let court = Court::new(scenario, evidence);
    let mut checks = vec![court.ran()];
    checks.retain(|check| !check.findings.is_empty());
    match &scenario.work {
        Work::Steps(steps) => court.steps(steps, &mut checks),
        Work::Client(_) => court.client(&mut checks),
    }
    court.whole(&mut checks);
    if evidence.runs.len() == 1 {
        let findings = checks.iter_mut().flat_map(|check| &mut check.findings);
        findings.for_each(|finding| finding.run = None);
    }
    Verdict {
        checks,
        observe: scenario.expect.observe,
    }
}

/// A scenario, what was seen of it, and which attempts are one call.
struct Court<'a> {
    scenario: &'a Scenario,
    evidence: &'a Evidence,
    runs: Vec<RunSeen<'a>>,
}

impl<'a> Court<'a> {
    fn new(scenario: &'a Scenario, evidence: &'a Evidence) -> Self {
        let one = matches!(&scenario.work, Work::Client(client) if client.grouping == Grouping::One);
        let runs = evidence.runs.iter().map(|run| RunSeen {
            log: &run.log,
            calls: match one {
                true => calls_by_path(&run.log.attempts),
                false => findings::calls(&run.log.attempts),
            },
            content: run.client.as_ref().map_or(Content::Unknown, client::content),
        });
        Self {
            scenario,
            evidence,
            runs: runs.collect(),
        }
    }

    fn expect(&self) -> &'a Expect {
        &self.scenario.expect
    }

    /// Every run with its number, counted from 1, and its calls.
    fn seen(&self) -> impl Iterator<Item = (usize, &'a Run, &RunSeen<'a>)> {
        let runs = self.evidence.runs.iter().zip(&self.runs).enumerate();
        runs.map(|(number, (run, seen))| (number + 1, run, seen))
    }

    /// That there is anything to judge, and all of it.
    fn ran(&self) -> Check {
        let mut findings = Vec::new();
        if self.evidence.runs.is_empty() {
            findings.push(broken(None, "a run", "there was none", Proof::None));
        }
        for (number, run, _) in self.seen().filter(|(_, run, _)| run.log.dropped > 0) {
            let seen = format!("{} attempts were more than the mock keeps", run.log.dropped);
            findings.push(broken(
                Some(number),
                "every attempt to be kept",
                seen,
                Proof::None,
            ));
        }
        Check {
            what: "evidence".to_owned(),
            at: None,
            findings,
        }
    }

    /// `[expect]`, in the order of the reference.
    fn whole(&self, checks: &mut Vec<Check>) {
        let expect = self.expect();
        checks.extend(expect.attempts.iter().map(|written| self.attempts(written)));
        checks.extend(expect.same_key.as_ref().map(|at| self.same_key(at)));
        checks.extend(
            expect
                .same_body
                .as_ref()
                .map(|at| self.rule("same_body", at, Rule::NewBody, self.limits(0))),
        );
        checks.extend(expect.resources.iter().map(|written| self.resources(written)));
        checks.extend(expect.elapsed.as_ref().map(|written| self.elapsed(written)));
        checks.extend(expect.waits.as_ref().map(|written| self.waits(written)));
        checks.extend(expect.never.iter().map(|written| {
            let Never { rule, attempts_max } = written.value;
            self.rule(
                &format!("never {rule}"),
                &written.at,
                rule,
                self.limits(attempts_max),
            )
        }));
    }

    fn attempts(&self, written: &Written<super::PathCount>) -> Check {
        let super::PathCount { pattern, count } = &written.value;
        let at = pattern.to_string();
        let at = at.strip_prefix("* ").unwrap_or(&at);
        let mut findings = Vec::new();
        for (number, _, seen) in self.seen() {
            let places = matching(&seen.log.attempts, pattern);
            if !count.holds(places.len() as u64) {
                findings.push(broken(
                    Some(number),
                    format!("{count} {} at {at}", attempts(*count)),
                    places.len().to_string(),
                    Proof::Attempts(TimeLine::of(seen.log, &places, &[])),
                ));
            }
        }
        Check {
            what: format!("attempts at {at}"),
            at: Some(written.at.clone()),
            findings,
        }
    }

    fn resources(&self, written: &Written<(String, super::CountRange)>) -> Check {
        let (name, count) = &written.value;
        let mut findings = Vec::new();
        for (number, run, seen) in self.seen() {
            let made = run.resources.get(name).copied();
            if made.is_some_and(|made| count.holds(made)) {
                continue;
            }
            let known: Vec<&str> = run.resources.keys().map(String::as_str).collect();
            let met = match (made, known.is_empty()) {
                (Some(made), _) => made.to_string(),
                (None, true) => "the mock keeps no resources: a route names one with `resource`".to_owned(),
                (None, false) => format!("the mock keeps no such resource; it keeps {}", known.join(", ")),
            };
            let writes: Vec<usize> = (0..seen.log.attempts.len())
                .filter(|place| seen.log.attempts[*place].method != "GET")
                .collect();
            let proof = Proof::Attempts(TimeLine::of(seen.log, &writes, &[]));
            findings.push(broken(Some(number), format!("{count} `{name}`"), met, proof));
        }
        Check {
            what: format!("resources `{name}`"),
            at: Some(written.at.clone()),
            findings,
        }
    }

    fn rule(&self, what: &str, at: &Place, rule: Rule, limits: Limits) -> Check {
        Check {
            what: what.to_owned(),
            at: Some(at.clone()),
            findings: findings::check(rule, limits, &self.runs),
        }
    }

    fn limits(&self, attempts_max: u32) -> Limits {
        Limits {
            attempts_max,
            promised: self.promised(),
        }
    }

    /// What is promised about waits: by a client in its schedule, by steps in their policies where those agree.
    fn promised(&self) -> Option<Backoff> {
        if let Some(schedule) = &self.expect().schedule {
            return Some(schedule.backoff);
        }
        let sent = self.evidence.runs.iter().flat_map(|run| &run.steps);
        let gots = sent.flat_map(|step| match step {
            StepSeen::Sent(gots) => gots.as_slice(),
            StepSeen::NotSent(_) => &[],
        });
        let mut backoffs = gots.map(|got| got.schedule.map(|schedule| schedule.backoff));
        let first = backoffs.next()??;
        backoffs.all(|other| other == Some(first)).then_some(first)
    }

    /// The schedule that a call follows.
    fn schedule(&self, run: &Run, call: &CallSeen) -> Option<Schedule> {
        if let Some(schedule) = &self.expect().schedule {
            return Some(Schedule {
                backoff: schedule.backoff,
                hint_max: None,
            });
        }
        let name = call.of(&run.log.attempts).next()?.call.as_ref()?;
        let (step, send) = Run::of_call(name)?;
        run.got(step, send)?.schedule
    }
}

fn attempts(count: super::CountRange) -> &'static str {
    match count == super::CountRange::exactly(1) {
        true => "attempt",
        false => "attempts",
    }
}

fn broken(run: Option<usize>, expected: impl Into<String>, seen: impl Into<String>, proof: Proof) -> Finding {
    Finding {
        kind: Kind::Broken,
        run,
        expected: expected.into(),
        seen: seen.into(),
        proof,
    }
}

fn not_observable(run: Option<usize>, expected: impl Into<String>, seen: impl Into<String>) -> Finding {
    Finding {
        kind: Kind::NotObservable,
        ..broken(run, expected, seen, Proof::None)
    }
}

/// The places of the attempts that a pattern takes.
fn matching(attempts: &[Attempt], pattern: &Pattern) -> Vec<usize> {
    let takes = |(_, attempt): &(usize, &Attempt)| pattern.matches(&attempt.method, &attempt.path);
    attempts
        .iter()
        .enumerate()
        .filter(takes)
        .map(|(place, _)| place)
        .collect()
}

#[cfg(test)]
mod tests;
