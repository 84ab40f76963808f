//! What is expected of the calls that seawall makes itself: what their caller got.

use super::calls::{out_of, waits_of};
use super::{Check, Court, broken};
use crate::findings::{CallSeen, Finding, Proof, RunSeen, TimeLine};
use crate::scenario::{
    BodyIs, Capture, Elapsed, Got, HeaderIs, Place, Run, Scalar, StatusIs, Step, StepSeen, Written,
};
use seawall_core::time::Duration;
use std::collections::BTreeMap;

/// The most of a body that a finding quotes, in characters.
const BODY_CHARS_MAX: usize = 200;

/// One send of a step, as it was seen.
struct Sent<'a> {
    number: usize,
    run: &'a Run,
    seen: &'a RunSeen<'a>,
    got: &'a Got,
    call: Option<&'a CallSeen>,
    /// ` (send 3 of 8)`, where there are several.
    which: String,
}

impl Court<'_> {
    pub(super) fn steps(&self, steps: &[Step], checks: &mut Vec<Check>) {
        for (place, step) in steps.iter().enumerate() {
            let name = match &step.name {
                Some(name) => format!("step {} ({name})", place + 1),
                None => format!("step {}", place + 1),
            };
            let sent = self.was_sent(place, step, &name);
            let was_sent = sent.findings.is_empty();
            if !was_sent {
                checks.push(sent);
            }
            self.step(place, step, &name, checks);
        }
    }

    /// That a step could be sent at all.
    fn was_sent(&self, place: usize, step: &Step, name: &str) -> Check {
        let unsent = |(number, run, _): (usize, &Run, _)| {
            let why = match run.steps.get(place) {
                Some(StepSeen::Sent(gots)) if gots.len() as u64 >= u64::from(step.sends.count()) => {
                    return None;
                }
                Some(StepSeen::Sent(gots)) => format!("{} of {} were sent", gots.len(), step.sends.count()),
                Some(StepSeen::NotSent(why)) => why.clone(),
                None => "nothing is known of it".to_owned(),
            };
            Some(broken(Some(number), "the step to be sent", why, Proof::None))
        };
        Check {
            what: format!("{name}: sent"),
            at: Some(step.at.clone()),
            findings: self.seen().filter_map(unsent).collect(),
        }
    }

    fn step(&self, place: usize, step: &Step, name: &str, checks: &mut Vec<Check>) {
        let expect = &step.expect;
        let mut check = |what: &str, at: &Place, look: &dyn Fn(&Sent<'_>) -> Option<Finding>| {
            checks.push(Check {
                what: format!("{name}: {what}"),
                at: Some(at.clone()),
                findings: self.sends(place, look),
            });
        };
        if let Some(status) = &expect.status {
            check("status", &status.at, &|sent| sent.status(status));
        }
        if let Some(reason) = &expect.reason {
            check("reason", &reason.at, &|sent| sent.reason(reason));
        }
        if let Some(attempts) = &expect.attempts {
            check("attempts", &attempts.at, &|sent| {
                let fits = attempts.holds(u64::from(sent.got.attempts));
                (!fits).then(|| {
                    sent.broken(
                        format!("{} attempts", attempts.value),
                        sent.got.attempts.to_string(),
                    )
                })
            });
        }
        for body in &expect.body {
            check("body", &body.at, &|sent| sent.body(body));
        }
        for header in &expect.headers {
            check("header", &header.at, &|sent| sent.header(header));
        }
        if let Some(error) = &expect.error {
            check("error", &error.at, &|sent| sent.error(error));
        }
        if let Some(elapsed) = &expect.elapsed {
            check("elapsed", &elapsed.at, &|sent| self.step_elapsed(sent, elapsed));
        }
        if let Some(waits) = &expect.waits {
            check("waits", &waits.at, &|sent| match sent.call {
                Some(call) => waits_of(sent.number, sent.seen, call, waits),
                None => Some(sent.broken("attempts", "none came to the mock".to_owned())),
            });
        }
        for capture in &step.captures {
            check(&format!("capture {}", capture.name), &capture.at, &|sent| {
                sent.capture(capture)
            });
        }
    }

    fn step_elapsed(&self, sent: &Sent<'_>, elapsed: &Written<Elapsed>) -> Option<Finding> {
        match (&elapsed.value, sent.call) {
            (Elapsed::Within(range), _) => {
                let took: Duration = sent.got.ended.since(sent.got.began);
                out_of(sent.number, *range, took).map(|finding| Finding {
                    proof: sent.proof(),
                    ..finding
                })
            }
            (Elapsed::Backoff, Some(call)) => self.in_bounds(sent.number, sent.run, sent.seen, call),
            (Elapsed::Backoff, None) => Some(sent.broken("attempts", "none came to the mock".to_owned())),
        }
    }

    /// What a look finds at every send of a step, in every run.
    fn sends(&self, place: usize, look: &dyn Fn(&Sent<'_>) -> Option<Finding>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (number, run, seen) in self.seen() {
            let Some(StepSeen::Sent(gots)) = run.steps.get(place) else {
                continue;
            };
            let mut calls = BTreeMap::new();
            for call in &seen.calls {
                let first = call.of(&seen.log.attempts).next();
                let name = first.and_then(|attempt| Run::of_call(attempt.call.as_ref()?));
                calls.extend(
                    name.filter(|(step, _)| *step == place)
                        .map(|(_, send)| (send, call)),
                );
            }
            for (send, got) in gots.iter().enumerate() {
                findings.extend(look(&Sent {
                    number,
                    run,
                    seen,
                    got,
                    call: calls.get(&send).copied(),
                    which: match gots.len() {
                        0 | 1 => String::new(),
                        all => format!(" (send {} of {all})", send + 1),
                    },
                }));
            }
        }
        findings
    }
}

impl Sent<'_> {
    fn broken(&self, expected: impl Into<String>, seen: String) -> Finding {
        broken(
            Some(self.number),
            expected,
            format!("{seen}{}", self.which),
            self.proof(),
        )
    }

    fn proof(&self) -> Proof {
        match self.call {
            Some(call) => Proof::Attempts(TimeLine::of_call(self.seen.log, call, &[])),
            None => Proof::None,
        }
    }

    /// What the caller got, in few words.
    fn got(&self) -> String {
        let status = self
            .got
            .status
            .map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        match &self.got.error {
            // Errors of the live crate begin with their reason's code.
            Some(error) if error.starts_with(&self.got.reason) => format!("{status}, {error}"),
            Some(error) => format!("{status}, {}: {error}", self.got.reason),
            None => format!("{status}, {}", self.got.reason),
        }
    }

    fn status(&self, expected: &Written<StatusIs>) -> Option<Finding> {
        let fits = match (&expected.value, self.got.status) {
            (StatusIs::OneOf(statuses), Some(status)) => statuses.contains(&status),
            (StatusIs::Class(class), Some(status)) => status / 100 == *class,
            (StatusIs::None, status) => status.is_none(),
            (StatusIs::OneOf(_) | StatusIs::Class(_), None) => false,
        };
        (!fits).then(|| self.broken(expected.value.to_string(), self.got()))
    }

    fn reason(&self, expected: &Written<String>) -> Option<Finding> {
        (self.got.reason != expected.value).then(|| self.broken(expected.value.clone(), self.got()))
    }

    fn error(&self, expected: &Written<String>) -> Option<Finding> {
        let fits = self
            .got
            .error
            .as_ref()
            .is_some_and(|error| error.contains(&expected.value));
        let wanted = format!("an error that says `{}`", expected.value);
        (!fits).then(|| self.broken(wanted, self.got()))
    }

    fn body(&self, expected: &Written<BodyIs>) -> Option<Finding> {
        match &expected.value {
            BodyIs::Has(text) => {
                let body = String::from_utf8_lossy(&self.got.body);
                (!body.contains(text))
                    .then(|| self.broken(format!("`{text}` in the body"), self.body_shown()))
            }
            BodyIs::At(path, scalar) => {
                let wanted = format!("{scalar} at {path}");
                match path.find(&self.got.body) {
                    Err(why) => {
                        Some(self.broken(wanted, format!("{why}; the body is {}", self.body_shown())))
                    }
                    Ok(found) => (!equals(scalar, found)).then(|| self.broken(wanted, clipped(found))),
                }
            }
        }
    }

    fn header(&self, expected: &Written<HeaderIs>) -> Option<Finding> {
        let HeaderIs { name, value } = &expected.value;
        let values: Vec<&str> = self
            .got
            .headers
            .iter()
            .filter(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect();
        let met = match values.is_empty() {
            true => format!("no {name}"),
            false => format!("{name}: {}", clipped(&values.join(", "))),
        };
        let fits = values.iter().any(|found| found.trim() == value);
        (!fits).then(|| self.broken(format!("{name}: {value}"), met))
    }

    fn capture(&self, capture: &Capture) -> Option<Finding> {
        let why = capture.path.capture(&self.got.body).err()?;
        let wanted = format!("something at {} to keep as `{}`", capture.path, capture.name);
        Some(self.broken(
            wanted,
            format!("{why}; {}; the body is {}", self.got(), self.body_shown()),
        ))
    }

    fn body_shown(&self) -> String {
        match self.got.body.is_empty() {
            true => "empty".to_owned(),
            false => format!("`{}`", clipped(&String::from_utf8_lossy(&self.got.body))),
        }
    }
}

/// Whether a value of a body is the expected one. Numbers are equal as numbers: `5.0` is `5`.
fn equals(expected: &Scalar, found: &str) -> bool {
    match expected {
        Scalar::Text(text) => serde_json::from_str::<String>(found).is_ok_and(|found| found == *text),
        Scalar::Bool(truth) => found == truth.to_string(),
        Scalar::Number(number) if number == found => true,
        // Two long integers that differ must not be made equal by rounding.
        Scalar::Number(number) => {
            let fraction = |text: &str| text.contains(['.', 'e', 'E']);
            match (number.parse::<f64>(), found.parse::<f64>()) {
                (Ok(one), Ok(other)) => (fraction(number) || fraction(found)) && one == other,
                (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
            }
        }
    }
}

fn clipped(text: &str) -> String {
    let mut short: String = text.chars().take(BODY_CHARS_MAX).collect();
    if text.chars().nth(BODY_CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}
