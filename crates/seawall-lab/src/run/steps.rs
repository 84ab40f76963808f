//! The steps of a scenario: calls that seawall makes itself, through a policy, in virtual time.
//!
//! Steps of one policy share an upstream, with its budget, its breaker and its cool-downs; another policy is another
//! upstream. All go over the same connections.

use super::RunError;
use super::mock::MockPlan;
use super::stage::{Act, Stage, Stuck};
use crate::findings::Timing;
use crate::net::CALL_HEADER;
use crate::plan::Rule;
use crate::scenario::{Body, Got, PolicyAt, Run, Scenario, Schedule, Sends, Step, StepSeen};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use seawall::clock::Clock as _;
use seawall::config::read_policy;
use seawall::crank::{CrankedClock, Wires};
use seawall::http::Transport;
use seawall::upstream::{Answer, Call, CallError, Upstream, UpstreamError};
use seawall_core::facts::Replay;
use seawall_core::policy::{Policy, Preset};
use seawall_core::profile::{KEY_HEADER, Provider};
use seawall_core::rng::Rng;
use seawall_core::time::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs steps one after the other, and tells what was seen.
pub(super) async fn run(scenario: &Scenario, steps: &[Step], plan: &MockPlan<'_>) -> Result<Run, RunError> {
    let (clock, wires) = (CrankedClock::new(), Wires::new());
    let options = plan.options(0).clock(Arc::new(clock.clone())).wires(&wires);
    let mock = options.start().await?;
    let mut transport = Transport::builder()
        .clock(Arc::new(clock.clone()))
        .seed(plan.seed(0))
        .wires(&wires);
    if let Some(ca) = mock.ca_pem() {
        transport = transport.extra_ca(ca);
    }
    let transport = transport
        .build()
        .expect("the mock's own authority is a certificate");
    let mut troupe = Troupe {
        scenario,
        plan,
        url: mock.url(),
        stage: Stage::new(clock, wires, mock),
        transport,
        upstreams: Vec::new(),
        captured: BTreeMap::new(),
        missed: BTreeMap::new(),
        keys_made: 0,
    };
    let mut seen = Vec::with_capacity(steps.len());
    for (nth, step) in steps.iter().enumerate() {
        seen.push(troupe.step(nth, step).await?);
    }
    let Troupe { stage, .. } = troupe;
    stage.mock.quiet().await;
    Ok(Run {
        steps: seen,
        ..stage.mock.seen(Timing::Virtual)
    })
}

/// Everybody who has a part in a run of steps.
struct Troupe<'s> {
    scenario: &'s Scenario,
    plan: &'s MockPlan<'s>,
    url: String,
    stage: Stage,
    transport: Transport,
    upstreams: Vec<Known>,
    captured: BTreeMap<String, String>,
    /// What was to be captured and was not, and why.
    missed: BTreeMap<String, String>,
    keys_made: u64,
}

/// An upstream that steps share.
struct Known {
    policy: Policy,
    provider: Option<Provider>,
    upstream: Upstream,
}

/// What a step sends, with every place filled in.
struct Filled {
    method: Method,
    target: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Option<String>,
    key: Option<HeaderValue>,
}

impl Troupe<'_> {
    async fn step(&mut self, nth: usize, step: &Step) -> Result<StepSeen, RunError> {
        let policy = self.policy(step)?;
        let filled = match self.fill(step)? {
            Ok(filled) => filled,
            Err(name) => {
                let why = self.missed.get(&name);
                let why = why.map_or("no step before it captures that", String::as_str);
                return Ok(StepSeen::NotSent(format!("there is no `{name}`: {why}")));
            }
        };
        let upstream = self.upstream(step, policy, &filled)?;
        let schedule = Schedule::of(&policy.call);
        let sends = 0..step.sends.count() as usize;
        let calls: Vec<Call> = sends
            .map(|send| self.call(step, &filled, &Run::call_name(nth, send)))
            .collect();
        let stuck = |stuck| self.stuck(step, stuck);
        let clock = self.stage.clock.clone();
        if !step.after.is_zero() {
            let wait = clock.sleep_until(clock.now().after(step.after));
            self.stage.play_one(wait).await.map_err(stuck)?;
        }
        let mut all = Vec::with_capacity(calls.len());
        let acts = calls
            .into_iter()
            .map(|call| act(&upstream, &clock, call, schedule));
        match step.sends {
            Sends::Once | Sends::InTurn(_) => {
                for act in acts {
                    all.extend(self.stage.play(vec![act]).await.map_err(stuck)?);
                }
            }
            Sends::Together(_) => all = self.stage.play(acts.collect()).await.map_err(stuck)?,
        }
        self.capture(nth, step, &all);
        Ok(StepSeen::Sent(all))
    }

    fn policy(&self, step: &Step) -> Result<Policy, RunError> {
        match &step.policy {
            PolicyAt::Default => Ok(Policy::preset(Preset::Default)),
            PolicyAt::Preset(preset) => Ok(Policy::preset(preset.value)),
            PolicyAt::Table { toml, .. } => read_policy(self.scenario.file(), toml).map_err(RunError::Policy),
        }
    }

    /// Fills in what was captured; the inner error is the first name that nothing was captured for.
    fn fill(&self, step: &Step) -> Result<Result<Filled, String>, RunError> {
        let captured = &self.captured;
        let texts = || {
            let target = step.send.target.fill(captured)?;
            let headers = step.headers.iter();
            let headers = headers
                .map(|(name, value)| Ok((name.as_str(), value.fill(captured)?)))
                .collect::<Result<Vec<_>, String>>()?;
            let key = step.key.as_ref().map(|key| key.fill(captured)).transpose()?;
            Ok((target, headers, step.body.fill(captured)?, key))
        };
        let (target, headers, body, key) = match texts() {
            Ok(texts) => texts,
            Err(name) => return Ok(Err(name)),
        };
        let wrong = |what: String| self.scenario.finding(&step.send.at, what);
        let method = &step.send.method;
        let method =
            Method::from_bytes(method.as_bytes()).map_err(|_| wrong(format!("`{method}` is no method")))?;
        let mut kept = Vec::with_capacity(headers.len() + 1);
        for (name, value) in headers {
            let header = HeaderName::from_bytes(name.as_bytes())
                .ok()
                .zip(HeaderValue::from_str(&value).ok());
            kept.push(header.ok_or_else(|| wrong(format!("`{name}: {value}` is no header")))?);
        }
        let says_what = kept.iter().any(|(name, _)| name == header::CONTENT_TYPE);
        if matches!(step.body, Body::Json(_)) && !says_what {
            kept.push((header::CONTENT_TYPE, HeaderValue::from_static("application/json")));
        }
        let key = match key {
            Some(key) => Some(
                HeaderValue::from_str(&key)
                    .map_err(|_| wrong(format!("`{key}` is no key: no header can carry it")))?,
            ),
            None => None,
        };
        Ok(Ok(Filled {
            method,
            target,
            headers: kept,
            body,
            key,
        }))
    }

    /// The upstream of this policy, as its mock's route speaks.
    fn upstream(&mut self, step: &Step, policy: Policy, filled: &Filled) -> Result<Upstream, RunError> {
        let provider = self.rule_of(filled).and_then(|rule| rule.dialect.provider());
        let known = |known: &&Known| known.policy == policy && known.provider == provider;
        if let Some(known) = self.upstreams.iter().find(known) {
            return Ok(known.upstream.clone());
        }
        let builder = Upstream::builder(&self.url).expect("a mock's address is a URL");
        let mut builder = builder
            .policy(policy)
            .clock(Arc::new(self.stage.clock.clone()))
            .transport(self.transport.clone())
            // Another stream for each: two policies must not draw the same waits.
            .seed(Rng::new(self.plan.seed(0), self.upstreams.len() as u64).next_u64());
        if let Some(provider) = provider {
            builder = builder.provider(provider);
        }
        let cannot = |error: UpstreamError| self.scenario.finding(&step.at, error.to_string());
        let upstream = builder.build().map_err(cannot)?;
        self.stage.enter(upstream.clone());
        self.upstreams.push(Known {
            policy,
            provider,
            upstream: upstream.clone(),
        });
        Ok(upstream)
    }

    /// The route that the mock answers this by.
    fn rule_of(&self, filled: &Filled) -> Option<&Rule> {
        let path = filled.target.split('?').next().unwrap_or_default();
        let rules = &self.plan.file.rules;
        rules
            .iter()
            .find(|rule| rule.pattern.matches(filled.method.as_str(), path))
    }

    /// One call of a step.
    fn call(&mut self, step: &Step, filled: &Filled, name: &str) -> Call {
        let name = HeaderValue::from_str(name).expect("a number and a dot are a header's value");
        let mut call = Call::new(filled.method.clone(), filled.target.as_str())
            .with_header(HeaderName::from_static(CALL_HEADER), name);
        for (name, value) in &filled.headers {
            call = call.with_header(name.clone(), value.clone());
        }
        if let Some(body) = &filled.body {
            call = call.with_body(body.clone());
        }
        if let Some((header, key)) = self.key(filled) {
            call = match header == KEY_HEADER {
                true => call.with_key(key),
                // A header that no profile knows: the scenario's own mock says what it means.
                false => call.with_header(header, key).with_replay(Replay::Keyed),
            };
        }
        if let Some(deadline) = step.deadline {
            call = call.with_deadline(deadline);
        }
        match step.replay {
            Some(replay) => call.with_replay(replay),
            None => call,
        }
    }

    /// The key of one call and its header: as it is written, else a new one where the mock's route honours keys.
    fn key(&mut self, filled: &Filled) -> Option<(HeaderName, HeaderValue)> {
        let keys = self.rule_of(filled).and_then(|rule| rule.idempotency.as_ref());
        let header = keys.map_or(KEY_HEADER, |keys| keys.header.as_str());
        let header = HeaderName::from_bytes(header.as_bytes()).ok()?;
        if let Some(key) = &filled.key {
            return Some((header, key.clone()));
        }
        let writes = [Method::POST, Method::PATCH].contains(&filled.method);
        if keys.is_none() || !writes || filled.headers.iter().any(|(name, _)| *name == header) {
            return None;
        }
        // Streams of calls count up from the first; those of keys count down from the last.
        let mut rng = Rng::new(self.plan.seed(0), u64::MAX - self.keys_made);
        self.keys_made += 1;
        let key = format!("{:016x}{:016x}", rng.next_u64(), rng.next_u64());
        let key = HeaderValue::from_str(&key).expect("hex digits are a header's value");
        Some((header, key))
    }

    /// Keeps what later steps need, from the answer of the last send.
    fn capture(&mut self, nth: usize, step: &Step, all: &[Got]) {
        for capture in &step.captures {
            let captured = match all.last() {
                Some(got) if got.status.is_some() => capture.path.capture(&got.body),
                Some(_) | None => Err("it had no answer".to_owned()),
            };
            match captured {
                Ok(value) => {
                    self.captured.insert(capture.name.clone(), value);
                }
                Err(why) => {
                    // An older value must not stand in for the one that is missing.
                    self.captured.remove(&capture.name);
                    let why = format!("step {} was to capture it, and {why}", nth + 1);
                    self.missed.insert(capture.name.clone(), why);
                }
            }
        }
    }

    fn stuck(&self, step: &Step, stuck: Stuck) -> RunError {
        let what = match stuck {
            Stuck::Still => {
                let journal = self.stage.mock.journal();
                let waits = journal.attempts.iter().filter(|attempt| attempt.ended.is_none());
                let waits: Vec<String> = waits
                    .take(3)
                    .map(|attempt| format!("{} {}", attempt.method, attempt.path))
                    .collect();
                match waits.as_slice() {
                    [] => "this step never ends: it waits for nothing that time could bring".to_owned(),
                    waits => format!(
                        "this step never ends: the mock keeps {} waiting for ever, and nothing limits that; give the step a deadline",
                        waits.join(", ")
                    ),
                }
            }
            Stuck::OnItsWay => {
                "this step never ends: something was sent and never arrived, which is a bug in seawall or in \
                                this machine"
                    .to_owned()
            }
        };
        self.scenario.finding(&step.at, what).into()
    }
}

/// One send: the call, and what its caller got.
fn act(upstream: &Upstream, clock: &CrankedClock, call: Call, schedule: Schedule) -> Act<'static, Got> {
    let (upstream, clock) = (upstream.clone(), clock.clone());
    Box::pin(async move {
        let began = clock.now();
        let told = upstream.call(call).await;
        let ended = clock.now();
        got(told, began, ended, schedule)
    })
}

fn got(told: Result<Answer, Box<CallError>>, began: Instant, ended: Instant, schedule: Schedule) -> Got {
    let (reason, attempts, error, answer) = match told {
        Ok(answer) => (
            "succeeded",
            answer.attempts.len(),
            None,
            Some((answer.status, answer.headers, answer.body)),
        ),
        Err(error) => (
            error.reason.code(),
            error.attempts.len(),
            Some(error.to_string()),
            error
                .answer
                .map(|answer| (answer.status, answer.headers, answer.body)),
        ),
    };
    let (status, headers, body) = match answer {
        Some((status, headers, body)) => (Some(status.as_u16()), headers, body.to_vec()),
        None => (None, HeaderMap::new(), Vec::new()),
    };
    Got {
        status,
        reason: reason.to_owned(),
        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
        began,
        ended,
        error,
        headers: headers
            .iter()
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect(),
        body,
        schedule: Some(schedule),
    }
}
