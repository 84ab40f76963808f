//! Public bug reports of other clients, one case each (`tests/cases/retry.jsonl`), live.
//!
//! Every case is run against a real server by the live library; whatever its `then` says is checked, and a word
//! that nobody knows is a failure of the test, not a case that passes.

mod expected;
mod given;
mod rows;
mod rules;
mod setup;

use crate::server::{Request, Server};
use crate::stage::{Act, Stage, soon};
use expected::check;
use seawall::clock::Clock as _;
use seawall::crank::CrankedClock;
use seawall::upstream::{Answer, CallError};
use seawall_core::policy::Policy;
use seawall_core::time::{Duration, Instant};
use serde_json::{Map, Value};

const CASES: &str = include_str!("../cases/retry.jsonl");

/// Cases that this cannot decide, and what would.
const NOT_APPLICABLE: &[(&str, &str)] = &[(
    "RC-134",
    "the library writes no files; a full disk is the batch runner's to meet",
)];

/// Cases whose word the engine's rules do not follow to the letter, and what is held instead.
const RULES_STAND: &[(&str, &str)] = &[
    (
        "RC-145",
        "an error inside a stream forbids a retry once content was handed on (rule L1); a call that is answered whole \
         has handed on nothing, so it is retried, and the answer is the second one alone",
    ),
    (
        "RC-150",
        "twenty calls throttled at once are one cool-down (rule C6): they return in order, at most half at a time; \
         the spread is asked of calls that no cool-down holds",
    ),
];

/// One case.
#[derive(Debug)]
struct Case {
    id: String,
    given: Value,
    then: Map<String, Value>,
}

impl Case {
    fn all() -> Vec<Self> {
        CASES.lines().map(Self::read).collect()
    }

    fn read(line: &str) -> Self {
        let mut case: Value = serde_json::from_str(line).unwrap();
        let Value::Object(then) = case["then"].take() else {
            panic!("a case says what is right: {line}");
        };
        Self {
            id: case["id"].as_str().unwrap().to_owned(),
            given: case["given"].take(),
            then,
        }
    }

    fn request(&self) -> &Value {
        &self.given["request"]
    }

    fn script(&self) -> Vec<Value> {
        self.given["script"].as_array().unwrap().clone()
    }

    /// When its caller leaves.
    fn leaves_after(&self) -> Option<Duration> {
        (self.id == "RC-171").then_some(Duration::from_millis(500))
    }
}

/// What was seen of one call.
struct Ran {
    policy: Policy,
    /// Its requests, in order.
    requests: Vec<Request>,
    ended: Ended,
    took: Duration,
}

enum Ended {
    Answered(Box<Answer>),
    Failed(Box<CallError>),
    /// The caller left.
    Left,
}

impl Ended {
    fn error(&self) -> Option<&CallError> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Answered(_) | Self::Left => None,
        }
    }
}

impl Ran {
    /// The time between request i and the next.
    fn gap_ms(&self, i: usize) -> Option<u64> {
        let (this, next) = (self.requests.get(i)?, self.requests.get(i + 1)?);
        Some(next.at.since(this.at).as_millis())
    }

    fn is(&self, what: impl FnOnce(&Self) -> bool, otherwise: &str) -> Result<(), String> {
        if what(self) {
            return Ok(());
        }
        Err(format!("{otherwise}; it was {self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} requests at", self.requests.len())?;
        for request in &self.requests {
            write!(f, " {}", request.at)?;
        }
        match &self.ended {
            Ended::Answered(answer) => write!(f, ", answered {} after {}", answer.status, self.took),
            Ended::Failed(error) => write!(f, ", failed after {}: {error}", self.took),
            Ended::Left => write!(f, ", left after {}", self.took),
        }
    }
}

/// The case's server, and an upstream as its client was set.
async fn stage(case: &Case, script: Vec<Value>, policy: Policy, seed: u64) -> Stage {
    let clock = CrankedClock::new();
    let dates = clock.clone();
    let server = Server::start(&clock, move |nth, _| given::step(&script, nth, dates.wall())).await;
    Stage::new(&clock, server, policy, seed, |mut builder| {
        if let Some(provider) = setup::provider(&case.id) {
            builder = builder.provider(provider);
        }
        if let Some(credential) = setup::credential(&case.id) {
            builder = builder.credential(http::header::AUTHORIZATION, credential);
        }
        if let Some(bytes) = setup::replay_bytes_max(case) {
            builder = builder.replay_bytes_max(bytes);
        }
        builder
    })
}

/// Runs the case's calls side by side, each in a lane of its own.
async fn play(case: &Case, stage: &Stage, policy: Policy) -> Vec<Ran> {
    let lanes = case.request()["parallel"].as_u64().unwrap_or(1);
    let lanes = usize::try_from(lanes).unwrap();
    let acts = (0..lanes).map(|lane| act(stage, setup::call(case, lane), case.leaves_after()));
    let ended = stage.run_all(acts.collect()).await;
    let requests = stage.server.requests();
    let ran = ended.into_iter().enumerate().map(|(lane, (ended, took))| Ran {
        policy,
        requests: requests
            .iter()
            .filter(|request| request.lane() == lane.to_string())
            .cloned()
            .collect(),
        ended,
        took,
    });
    ran.collect()
}

fn act(
    stage: &Stage,
    call: seawall::upstream::Call,
    leaves_after: Option<Duration>,
) -> Act<(Ended, Duration)> {
    let (clock, upstream) = (stage.clock.clone(), stage.upstream.clone());
    Box::pin(async move {
        let began = clock.now();
        let leaves_at = leaves_after.map_or(Instant::NEVER, |length| began.after(length));
        let ended = tokio::select! {
            biased;
            () = clock.sleep_until(leaves_at) => Ended::Left,
            result = upstream.call(call) => match result {
                Ok(answer) => Ended::Answered(Box::new(answer)),
                Err(error) => Ended::Failed(error),
            },
        };
        (ended, clock.now().since(began))
    })
}

/// The whole case: as often as it says, and by its rule where it has one. The error is what is wrong.
async fn verdict(case: &Case) -> Result<(), String> {
    let policy = setup::policy(&case.id);
    if RULES_STAND.iter().any(|(id, _)| *id == case.id) {
        return rules::check(case, policy).await;
    }
    let times = case.given["repeat"].as_u64().unwrap_or(1);
    for seed in 1..=times {
        let stage = stage(case, case.script(), policy, seed).await;
        for ran in play(case, &stage, policy).await {
            check(case, &ran).map_err(|wrong| format!("{}; it was {ran}", wrong.join(", ")))?;
        }
    }
    if case.then.contains_key("rule") {
        rules::check(case, policy).await?;
    }
    Ok(())
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the tally is what people run this for")]
async fn every_public_bug_report_is_answered_right() {
    // Each of these was a client that stormed a server, doubled a write or gave up on a user; here one that comes
    // back, or a case that nobody looks at.
    let cases = Case::all();
    let mut wrong = Vec::new();
    let mut right = 0;
    for case in &cases {
        if NOT_APPLICABLE.iter().any(|(id, _)| *id == case.id) {
            continue;
        }
        match soon(verdict(case)).await {
            Ok(()) => right += 1,
            Err(why) => wrong.push(format!("{}: {why}", case.id)),
        }
    }
    println!(
        "{right} right, {} wrong, {} not applicable",
        wrong.len(),
        NOT_APPLICABLE.len()
    );
    for (id, why) in NOT_APPLICABLE {
        println!("  not applicable, {id}: {why}");
    }
    for (id, why) in RULES_STAND {
        println!("  by the rules, {id}: {why}");
    }
    assert!(
        wrong.is_empty(),
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!((cases.len(), right), (78, 78 - NOT_APPLICABLE.len()));
}
