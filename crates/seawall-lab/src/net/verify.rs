//! Whether what came is what was expected: a scenario's `[expect]`, asked of a mock that runs.
//!
//! What can go wrong: a second set of rules that says "overlap" and means something else than scenarios do. So a mock asks
//! their judge, with one run as its evidence: its own journal. What a mock cannot know (what the caller got, how a program
//! ended) cannot be asked, rather than being held.

use super::{Attempt, Mock, Shared};
use crate::findings::{self, Effect, Log, Timing};
use crate::passage::Passage;
use crate::plan::{Plan, Rule};
use crate::scenario::{Evidence, Passed, Run, Scenario, ScenarioErrors, Verdict, failures, judge};
use std::collections::BTreeMap;
use std::fmt;

impl Mock {
    /// Whether what came is what was expected, in the words of a scenario's `[expect]`: `attempts`, `same_key`,
    /// `same_body`, `resources`, `waits`, `never`, `schedule`, `observe`.
    ///
    /// Call it when the client is done. It waits a moment for attempts whose answer is just being sent, not for those that
    /// are still to come.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use seawall_lab::net::Mock;
    /// let mock = Mock::start("POST /v1/payments = 503, 200").await?;
    /// // ... the client does its work ...
    /// mock.verify("attempts = { '/v1/payments' = 0 }\nnever = ['overlap']").await?;
    /// let error = mock.verify("attempts = { '/v1/payments' = '1..=2' }").await.unwrap_err();
    /// assert!(error.to_string().contains("attempts at /v1/payments"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Something did not come as expected, each with its time-line; or the text expects nothing that can be.
    pub async fn verify(&self, expectations: &str) -> Result<(), VerifyError> {
        self.shared.verify(expectations).await
    }

    /// All that was seen, as a run that nobody has said anything about yet.
    pub(crate) fn seen(&self, timing: Timing) -> Run {
        self.shared.seen(timing)
    }
}

impl Shared {
    pub(super) async fn verify(&self, expectations: &str) -> Result<(), VerifyError> {
        let scenario = Scenario::expectations("expected", expectations).map_err(VerifyError::Unread)?;
        let verdict = self.judge(&scenario).await;
        match verdict.passed() {
            Passed::Yes => Ok(()),
            Passed::No => Err(VerifyError::Failed(failures(&scenario, &verdict))),
        }
    }

    pub(super) async fn judge(&self, scenario: &Scenario) -> Verdict {
        self.settled().await;
        let timing = match self.pace.dial().state().passage {
            Passage::Stands => Timing::Virtual,
            Passage::Runs(_) => Timing::Real,
        };
        let evidence = Evidence {
            runs: vec![self.seen(timing)],
        };
        judge(scenario, &evidence)
    }

    fn seen(&self, timing: Timing) -> Run {
        let plan = self.plan();
        let journal = self.log().journal();
        let store = self.store();
        let named = plan.rules().filter_map(|rule| rule.resource.clone());
        let names = named.chain(store.resources().map(str::to_owned));
        let resources: BTreeMap<String, u64> = names
            .map(|name| {
                let count = store.count(&name) as u64;
                (name, count)
            })
            .collect();
        Run {
            log: Log {
                attempts: journal.attempts.iter().map(|seen| seen_of(seen, &plan)).collect(),
                dropped: journal.dropped,
                timing,
            },
            resources,
            ..Run::default()
        }
    }
}

fn seen_of(seen: &Attempt, plan: &Plan) -> findings::Attempt {
    findings::Attempt {
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
        hint: seen.hint.clone(),
        word: seen.word,
        effect: effect(seen, plan),
        events: seen.events,
        bytes_in: seen.bytes_in,
        bytes_out: seen.bytes_out,
        ..findings::Attempt::default()
    }
}

fn effect(seen: &Attempt, plan: &Plan) -> Effect {
    match seen.work {
        Some("created" | "changed" | "removed" | "done") => Effect::Done,
        Some("replayed") => Effect::Replayed,
        Some(_) => Effect::None,
        // Where nothing is kept, nobody counts; where something is, an attempt that got to no work did nothing.
        None => {
            let place = plan.matching(&seen.method, &seen.path);
            match place.is_some_and(|place| Rule::keeps(plan.rule(place).0)) {
                true => Effect::None,
                false => Effect::Unknown,
            }
        }
    }
}

/// Why a mock does not stand by what was expected of it. Its `Debug` is its `Display`: a test that unwraps it shows the
/// time-line as it is.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyError {
    /// You wrote what cannot be expected.
    Unread(ScenarioErrors),
    /// Something did not come as expected: each expectation that does not hold, what was seen, and the time-line.
    Failed(String),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(errors) => errors.fmt(f),
            Self::Failed(text) => write!(f, "not as expected:\n{}", text.trim_end()),
        }
    }
}

impl fmt::Debug for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for VerifyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unread(errors) => Some(errors),
            Self::Failed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
