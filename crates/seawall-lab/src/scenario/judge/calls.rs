//! What is expected of calls: their keys, their waits and their time.

use super::{Check, Court, broken, not_observable};
use crate::findings::{Attempt, CallSeen, Finding, Proof, RunSeen, TimeLine, Timing, rounded};
use crate::scenario::{Elapsed, LengthRange, Place, Run, Sends, StepSeen, Work, Written, bounds};
use seawall_core::time::Duration;

impl Court<'_> {
    pub(super) fn same_key(&self, at: &Place) -> Check {
        let (mut findings, mut writes) = (Vec::new(), 0_usize);
        for (number, _, seen) in self.seen() {
            let attempts = &seen.log.attempts;
            for call in &seen.calls {
                if !call.of(attempts).any(Attempt::writes) {
                    continue;
                }
                writes += 1;
                let first = &attempts[call.places[0]].key;
                let other = call
                    .places
                    .iter()
                    .find(|place| attempts[**place].key.is_none() || attempts[**place].key != *first);
                if let Some(other) = other {
                    let met = match &attempts[*other].key {
                        Some(_) => format!("attempt #{} has another key", other + 1),
                        None => format!("attempt #{} has none", other + 1),
                    };
                    let note = [(*other, "here".to_owned())];
                    let proof = Proof::Attempts(TimeLine::of_call(seen.log, call, &note));
                    let expected = "a key with every write, the same at each of its attempts";
                    findings.push(broken(Some(number), expected, met, proof));
                }
            }
        }
        if writes == 0 && !self.runs.is_empty() {
            findings.push(not_observable(None, "writes with a key", "no write came"));
        }
        Check {
            what: "same_key".to_owned(),
            at: Some(at.clone()),
            findings,
        }
    }

    pub(super) fn elapsed(&self, written: &Written<Elapsed>) -> Check {
        let mut findings = Vec::new();
        match &written.value {
            Elapsed::Backoff => {
                let mut repeated = 0;
                for (number, run, seen) in self.seen() {
                    for call in seen.calls.iter().filter(|call| call.places.len() > 1) {
                        repeated += 1;
                        findings.extend(self.in_bounds(number, run, seen, call));
                    }
                }
                if repeated == 0 && !self.runs.is_empty() {
                    findings.push(not_observable(None, "a call that is sent again", "none was"));
                }
            }
            Elapsed::Within(range) => {
                for (number, run, _) in self.seen() {
                    findings.extend(whole_time(run).and_then(|took| out_of(number, *range, took)));
                }
            }
        }
        Check {
            what: "elapsed".to_owned(),
            at: Some(written.at.clone()),
            findings,
        }
    }

    /// Whether a call took what its schedule allows.
    pub(super) fn in_bounds(
        &self,
        number: usize,
        run: &Run,
        seen: &RunSeen<'_>,
        call: &CallSeen,
    ) -> Option<Finding> {
        let attempts = &seen.log.attempts;
        let Some(schedule) = self.schedule(run, call) else {
            let why = "nothing says what its waits may be";
            return Some(not_observable(Some(number), "a call within its schedule", why));
        };
        let bounds = bounds(&schedule, seen.log.timing, call.of(attempts));
        let (first, last) = (attempts[call.places[0]].at, attempts[*call.places.last()?].at);
        let took = last.since(first);
        if bounds.hold(took) {
            return None;
        }
        let shared = took > bounds.most && self.is_shared(run, call);
        let (least, most) = (rounded(bounds.least), rounded(bounds.most));
        let slack = match seen.log.timing {
            Timing::Real => ", slack for a busy machine included",
            Timing::Virtual => "",
        };
        let expected = format!(
            "{} attempts within {least} to {most}, by their schedule{slack}",
            call.places.len()
        );
        if shared {
            let why = "calls side by side hold each other up, so only the least is promised";
            return Some(not_observable(Some(number), expected, why));
        }
        let proof = Proof::Attempts(TimeLine::of_call(seen.log, call, &[]));
        Some(broken(
            Some(number),
            expected,
            format!("{} from the first to the last", rounded(took)),
            proof,
        ))
    }

    /// Whether other calls were out at the same time as this one, which may hold it up.
    fn is_shared(&self, run: &Run, call: &CallSeen) -> bool {
        let Work::Steps(steps) = &self.scenario.work else {
            return false;
        };
        let first = call.of(&run.log.attempts).next();
        let name = first.and_then(|attempt| attempt.call.as_deref());
        let step = name.and_then(Run::of_call).and_then(|(step, _)| steps.get(step));
        matches!(step.map(|step| step.sends), Some(Sends::Together(2..)))
    }

    pub(super) fn waits(&self, written: &Written<Vec<LengthRange>>) -> Check {
        let (mut findings, mut repeated) = (Vec::new(), 0_usize);
        for (number, _, seen) in self.seen() {
            for call in seen.calls.iter().filter(|call| call.places.len() > 1) {
                repeated += 1;
                findings.extend(waits_of(number, seen, call, written));
            }
        }
        if repeated == 0 && !written.value.is_empty() {
            findings.push(broken(None, "a call that is sent again", "none was", Proof::None));
        }
        Check {
            what: "waits".to_owned(),
            at: Some(written.at.clone()),
            findings,
        }
    }
}

/// The first wait of a call that is not what it should be.
pub(super) fn waits_of(
    number: usize,
    seen: &RunSeen<'_>,
    call: &CallSeen,
    ranges: &[LengthRange],
) -> Option<Finding> {
    let waits = call.waits(&seen.log.attempts);
    let (place, range) = ranges
        .iter()
        .enumerate()
        .find(|(place, range)| !matches!(waits.get(*place), Some(Some(wait)) if range.holds(*wait)))?;
    let met = match waits.get(place) {
        Some(Some(wait)) => rounded(*wait).to_string(),
        Some(None) => "the attempt before it was still out".to_owned(),
        None => format!("there were {} waits", waits.len()),
    };
    let notes: Vec<(usize, String)> = call
        .places
        .get(place + 1)
        .map(|next| vec![(*next, "after that wait".to_owned())])
        .unwrap_or_default();
    let proof = Proof::Attempts(TimeLine::of_call(seen.log, call, &notes));
    Some(broken(
        Some(number),
        format!("wait {} to be {range}", place + 1),
        met,
        proof,
    ))
}

pub(super) fn out_of(number: usize, range: LengthRange, took: Duration) -> Option<Finding> {
    let late = |took: Duration| {
        broken(
            Some(number),
            range.to_string(),
            rounded(took).to_string(),
            Proof::None,
        )
    };
    (!range.holds(took)).then(|| late(took))
}

/// From the first step's beginning to the last one's end, or from a client's start to its end.
fn whole_time(run: &Run) -> Option<Duration> {
    if let Some(client) = &run.client {
        return Some(client.took);
    }
    let sent = run.steps.iter().filter_map(|step| match step {
        StepSeen::Sent(gots) => Some(gots),
        StepSeen::NotSent(_) => None,
    });
    let gots: Vec<_> = sent.flatten().collect();
    let began = gots.iter().map(|got| got.began).min()?;
    let ended = gots.iter().map(|got| got.ended).max()?;
    Some(ended.since(began))
}
