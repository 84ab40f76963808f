//! From a mock's journal to the log that findings are judged by.

use super::mock::MockPlan;
use crate::findings::{Attempt, Effect, Log, Timing};
use crate::net::{self, Mock};
use crate::plan::Rule;
use std::collections::BTreeMap;

/// What a mock saw, for whoever judges it.
pub(super) fn log(mock: &Mock, plan: &MockPlan<'_>, timing: Timing) -> Log {
    let journal = mock.journal();
    Log {
        attempts: journal.attempts.iter().map(|seen| attempt(seen, plan)).collect(),
        dropped: journal.dropped,
        timing,
    }
}

fn attempt(seen: &net::Attempt, plan: &MockPlan<'_>) -> Attempt {
    Attempt {
        call: seen.call.clone(),
        connection: seen.connection,
        method: seen.method.clone(),
        path: seen.path.clone(),
        key: seen.key.clone(),
        body: seen.body,
        at: seen.at,
        answered: seen.answered,
        ended: seen.ended,
        client_left: seen.client_left,
        status: seen.status,
        fault: seen.fault.clone(),
        effect: effect(seen, plan),
        bytes_in: seen.bytes_in,
        bytes_out: seen.bytes_out,
        ..Attempt::default()
    }
}

fn effect(seen: &net::Attempt, plan: &MockPlan<'_>) -> Effect {
    match seen.work {
        Some("created" | "changed" | "removed" | "done") => Effect::Done,
        Some("replayed") => Effect::Replayed,
        Some(_) => Effect::None,
        // Where nothing is kept, nobody counts; where something is, an attempt that got to no work did nothing.
        None => match plan.rule(&seen.method, &seen.path).is_some_and(Rule::keeps) {
            true => Effect::None,
            false => Effect::Unknown,
        },
    }
}

/// How many resources there are, of each that a route keeps.
pub(super) fn resources(mock: &Mock, plan: &MockPlan<'_>) -> BTreeMap<String, u64> {
    let names = plan.file.rules.iter().filter_map(|rule| rule.resource.clone());
    names
        .map(|name| {
            let count = mock.resources(&name).len() as u64;
            (name, count)
        })
        .collect()
}
