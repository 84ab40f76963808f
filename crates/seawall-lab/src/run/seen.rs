//! From a mock's journal to the log that findings are judged by.

use super::mock::MockPlan;
use crate::findings::{Attempt, Log, Timing};
use crate::net::{Journal, Mock};
use crate::scenario::Scenario;
use std::collections::BTreeMap;

/// What a mock saw, for whoever judges it.
pub(super) fn log(journal: &Journal, timing: Timing) -> Log {
    let attempts = journal.attempts.iter().map(|seen| Attempt {
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
        bytes_in: seen.bytes_in,
        bytes_out: seen.bytes_out,
        ..Attempt::default()
    });
    Log {
        attempts: attempts.collect(),
        dropped: journal.dropped,
        timing,
    }
}

/// How many resources there are, of each that a route keeps or the scenario asks about.
pub(super) fn resources(_mock: &Mock, _plan: &MockPlan<'_>, _scenario: &Scenario) -> BTreeMap<String, u64> {
    BTreeMap::new()
}
