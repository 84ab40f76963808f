//! Scripts: gates, calls, what their attempts meet and when callers leave, as text.
//!
//! ```text
//! gate main concurrency=1                       # gates are numbered in order; policy words follow
//! call at=0ms route=main,spare replay=keyed     # calls are numbered from 1; `keep retries=1` words change its policy
//!   50ms 503 | 20ms commit 30ms cut             # its attempts, in order; the last one repeats
//! leave 1 at=70ms                               # call 1's caller leaves
//! reload main at=80ms concurrency=2             # the gate has another policy, made of these words alone
//! ```

use seawall::Failure;
use seawall_core::call::{Candidate, DedupId};
use seawall_core::engine::Engine;
use seawall_core::facts::{Broke, Replay};
use seawall_core::gate::{GateId, GateKey};
use seawall_core::latch::CredentialId;
use seawall_core::learned::{Kind, Learned, Word};
use seawall_core::outcome::{Cause, Hint, HintSource, Outcome, Refusal, Report, Sent, Usage};
use seawall_core::policy::{
    CallPolicy, Concurrency, GatePolicy, Jitter, OnEmpty, OnOpen, PolicyBuilder, Preset, SlowCall,
};
use seawall_core::time::{Duration, Instant};
use seawall_core::trace::Recording;

pub(super) struct Script {
    gates: Vec<(String, PolicyBuilder, Option<String>)>,
    pub(super) calls: Vec<CallScript>,
    pub(super) leaves: Vec<(usize, Instant)>,
    pub(super) reloads: Vec<Reload>,
}

/// A gate that has another policy from then on.
#[derive(Clone)]
pub(super) struct Reload {
    pub(super) at: Instant,
    gate: usize,
    policy: GatePolicy,
    parents: Vec<GateId>,
}

impl Reload {
    pub(super) fn happen(&self, engine: &mut Engine, now: Instant) {
        let key = GateKey(self.gate as u64);
        let same = engine.configure(now, key, &self.policy, &self.parents, None);
        same.expect("the script's gates are there for good");
    }
}

#[derive(Clone)]
pub(super) struct CallScript {
    pub(super) at: Instant,
    route: Vec<String>,
    pub(super) replay: Replay,
    pub(super) policy: CallPolicy,
    pub(super) deadline: Option<Duration>,
    nth: u32,
    once: bool,
    /// Read and written.
    tokens: (u32, u32),
    attempts: Vec<Vec<Moment>>,
}

/// After `after`, this happens to an attempt.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) after: Duration,
    pub(super) what: Happens,
}

#[derive(Clone, Copy)]
pub(super) enum Happens {
    Commits,
    /// Its answer's head says this of the server's limit on requests.
    Tells(Learned),
    /// Another call's caller leaves, here and now.
    Kills(usize),
    Lands(Report),
}

/// A call ready to begin.
pub(super) struct Ready {
    pub(super) route: Vec<Candidate>,
    pub(super) script: CallScript,
}

impl Script {
    pub(super) fn parse(text: &str) -> Self {
        let mut script = Self {
            gates: Vec::new(),
            calls: Vec::new(),
            leaves: Vec::new(),
            reloads: Vec::new(),
        };
        for line in text
            .lines()
            .map(|line| line.split('#').next().unwrap_or("").trim())
        {
            let mut words = line.split_whitespace();
            match words.next() {
                None => {}
                Some("gate") => script.gate(words),
                Some("call") => script.call(words),
                Some("leave") => {
                    let call: usize = words.next().expect("which call").parse().expect("a number");
                    let at = words
                        .next()
                        .and_then(|word| word.strip_prefix("at="))
                        .expect("at=");
                    script.leaves.push((call - 1, Instant::START + duration(at)));
                }
                Some("reload") => script.reload(words),
                Some(_) => {
                    let call = script.calls.last_mut().expect("attempts follow their call");
                    call.attempts = line.split('|').map(attempt).collect();
                }
            }
        }
        script
    }

    fn gate<'t>(&mut self, mut words: impl Iterator<Item = &'t str>) {
        let name = words.next().expect("a gate has a name").to_owned();
        let mut parent = None;
        let mut builder = bare();
        for word in words {
            match word.split_once('=').expect("key=value") {
                ("parent", name) => parent = Some(name.to_owned()),
                (key, value) => builder = gate_word(builder, key, value),
            }
        }
        self.gates.push((name, builder, parent));
    }

    fn reload<'t>(&mut self, mut words: impl Iterator<Item = &'t str>) {
        let name = words.next().expect("which gate");
        let gate = self.gates.iter().position(|(known, ..)| known == name);
        let mut at = Instant::START;
        let mut builder = bare();
        for word in words {
            match word.split_once('=').expect("key=value") {
                ("at", time) => at = Instant::START + duration(time),
                (key, value) => builder = gate_word(builder, key, value),
            }
        }
        self.reloads.push(Reload {
            at,
            gate: gate.expect("a gate of the script"),
            policy: builder.build().expect("a policy in range").gate,
            parents: Vec::new(),
        });
    }

    fn call<'t>(&mut self, words: impl Iterator<Item = &'t str>) {
        let mut builder = PolicyBuilder::from_preset(Preset::Default)
            .jitter(Jitter::None)
            .backoff_base(Duration::from_millis(100));
        let mut call = CallScript {
            at: Instant::START,
            route: vec![self.gates[0].0.clone()],
            replay: Replay::Idempotent,
            policy: builder.build().expect("the script's own default").call,
            deadline: None,
            nth: 1,
            once: false,
            tokens: (0, 0),
            attempts: vec![attempt("10ms answer")],
        };
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("at", at) => call.at = Instant::START + duration(at),
                ("route", route) => call.route = route.split(',').map(str::to_owned).collect(),
                ("replay", name) => call.replay = Replay::named(name).expect("a replay"),
                ("deadline", length) => call.deadline = Some(duration(length)),
                ("nth", n) => call.nth = n.parse().expect("a number"),
                ("once", _) => call.once = true,
                ("tokens", tokens) => {
                    let (read, written) = tokens.split_once('+').expect("READ+WRITTEN");
                    let number = |text: &str| text.parse().expect("a number");
                    call.tokens = (number(read), number(written));
                }
                (key, value) => builder = call_word(builder, key, value),
            }
        }
        call.policy = builder.build().expect("a policy in range").call;
        self.calls.push(call);
    }

    /// Whether closures can make these calls: each at one gate, with attempts that end before their call's deadline
    /// (a closure is cut there) and with nothing that only an adapter knows.
    pub(super) fn fits_closures(&self) -> bool {
        let fits = |moment: &Moment| match &moment.what {
            Happens::Commits | Happens::Tells(_) => false,
            Happens::Kills(_) => true,
            Happens::Lands(report) => as_failure(report).is_some(),
        };
        self.calls.iter().all(|call| {
            call.route.len() == 1
                && (call.nth, call.once, call.deadline) == (1, false, None)
                && call.tokens == (0, 0)
                && call.attempts.iter().flatten().all(fits)
        })
    }

    /// An engine with the script's gates, and its calls with their routes.
    pub(super) fn begin(&self, seed: u64) -> (Engine, Vec<Ready>, Vec<Reload>) {
        let mut engine = Engine::new(seed, Recording::On);
        let mut gates: Vec<(String, GateId)> = Vec::new();
        for (number, (name, builder, parent)) in (0_u64..).zip(&self.gates) {
            let policy = builder.build().expect("a policy in range").gate;
            let parent = parent.as_ref().map(|name| find(&gates, name));
            let parents: Vec<GateId> = parent.into_iter().collect();
            let gate = engine.configure(Instant::START, GateKey(number), &policy, &parents, None);
            gates.push((name.clone(), gate.expect("few gates")));
        }
        let ready = self.calls.iter().map(|script| {
            let route = script.route.iter().map(|name| candidate(&gates, name)).collect();
            Ready {
                route,
                script: script.clone(),
            }
        });
        let ready = ready.collect();
        let reloads = self.reloads.iter().cloned().map(|mut reload| {
            let (_, _, parent) = &self.gates[reload.gate];
            reload.parents = parent.iter().map(|name| find(&gates, name)).collect();
            reload
        });
        let reloads = reloads.collect();
        (engine, ready, reloads)
    }
}

impl Ready {
    pub(super) fn spec(&self, now: Instant) -> seawall_core::call::Spec<'_> {
        let script = &self.script;
        let mut spec = seawall_core::call::Spec::new(now, &self.route, &script.policy, script.replay);
        if let Some(deadline) = script.deadline {
            spec.deadline = now + deadline;
        }
        (spec.nth, spec.once) = (script.nth, script.once);
        (spec.tokens_in, spec.tokens_out) = script.tokens;
        spec
    }

    /// What attempt `number` (from 1) meets.
    pub(super) fn attempt(&self, number: u32) -> &[Moment] {
        let last = self.script.attempts.len() - 1;
        &self.script.attempts[last.min(number as usize - 1)]
    }
}

fn find(gates: &[(String, GateId)], name: &str) -> GateId {
    gates
        .iter()
        .find(|(known, _)| known == name)
        .expect("a gate of the script")
        .1
}

/// `main`, `main/domain`, `main/domain/window`, `main!` (with credential 1).
fn candidate(gates: &[(String, GateId)], text: &str) -> Candidate {
    let (text, credential) = text.strip_suffix('!').map_or((text, 0), |text| (text, 1));
    let mut parts = text.split('/');
    let gate = find(gates, parts.next().unwrap_or(text));
    let number = |part: Option<&str>| part.map(|part| part.parse::<u32>().expect("a number"));
    let domain = number(parts.next());
    Candidate {
        credential: (CredentialId(credential), 1),
        honours_keys: true,
        dedup: DedupId(domain.unwrap_or(gate.number())),
        window: number(parts.next()).unwrap_or(0),
        gate,
    }
}

/// What a gate's policy begins with: nothing bounds anything.
fn bare() -> PolicyBuilder {
    PolicyBuilder::from_preset(Preset::Default)
        .breaker(None)
        .budget(None)
}

fn gate_word(builder: PolicyBuilder, key: &str, value: &str) -> PolicyBuilder {
    let number = || value.parse::<u32>().expect("a number");
    match key {
        "concurrency" if value == "first-byte" => builder.concurrency(Concurrency::Gradient),
        "concurrency" => builder.concurrency(Some(number())),
        "rpm" => builder.requests_per_minute(Some(u64::from(number()))),
        "tpm" => builder.tokens_per_minute(Some(u64::from(number()))),
        "queue" => builder.queue(number()),
        "budget" => builder.edit_budget(|b| b.ratio_per_mille(number()).floor_milli(0)),
        "floor" => builder.edit_budget(|b| b.floor_milli(u64::from(number()))),
        "on_empty" => builder.edit_budget(|b| {
            b.on_empty(if value == "wait" {
                OnEmpty::Wait
            } else {
                OnEmpty::Stop
            })
            .floor_milli(100)
        }),
        "breaker" => builder.edit_breaker(|b| b.consecutive(number())),
        "probes" => builder.edit_breaker(|b| b.probes(number())),
        "min_calls" => builder.edit_breaker(|b| b.min_calls(number())),
        "ramp" => builder.edit_breaker(|b| b.ramp(Some(duration(value)))),
        "slow" => builder.edit_breaker(|b| {
            b.slow_call(Some(SlowCall {
                over: duration(value),
                per_mille: 500,
            }))
        }),
        "on_open" => builder.edit_breaker(|b| {
            b.on_open(if value == "wait" {
                OnOpen::Wait
            } else {
                OnOpen::Fail
            })
        }),
        _ => panic!("no such gate word: {key}"),
    }
}

fn call_word(builder: PolicyBuilder, key: &str, value: &str) -> PolicyBuilder {
    let number = || value.parse::<u32>().expect("a number");
    match key {
        "retries" => builder.retries(number()),
        "fallbacks" => builder.fallbacks(number()),
        "tries" => builder.tries(number()),
        "patience" => builder.patience(duration(value)),
        "backoff" => builder.backoff_base(duration(value)),
        "jitter" => builder.jitter(match value {
            "full" => Jitter::Full,
            "decorrelated" => Jitter::Decorrelated,
            _ => panic!("no such jitter: {value}"),
        }),
        "hints" => builder.hints_max(duration(value)),
        "hedge" if value.starts_with('p') => {
            let percent: u32 = value[1..].parse().expect("a whole percentile");
            builder.hedge_after_percentile(percent * 10)
        }
        "hedge" => builder.hedge_after(duration(value)),
        "hedged_at_most" => builder.hedge_at_most_per_mille(number()),
        "throttled" => builder.throttled_counts(value == "counts"),
        _ => panic!("no such call word: {key}"),
    }
}

fn attempt(text: &str) -> Vec<Moment> {
    let mut words = text.split_whitespace();
    let mut moments = Vec::new();
    while let (Some(after), Some(what)) = (words.next(), words.next()) {
        let what = match what {
            "commit" => Happens::Commits,
            what if what.starts_with("kills-") => {
                let call: usize = what["kills-".len()..].parse().expect("which call");
                Happens::Kills(call - 1)
            }
            what if what.starts_with("told-") => Happens::Tells(learned(&what["told-".len()..])),
            what => Happens::Lands(report(what)),
        };
        moments.push(Moment {
            after: duration(after),
            what,
        });
    }
    moments
}

/// `3/2s`: so many requests are left, and all of them again after that time.
fn learned(text: &str) -> Learned {
    let (remaining, resets_in) = text.split_once('/').expect("LEFT/TIME");
    let word = Word {
        limit: None,
        remaining: remaining.parse().expect("a number"),
        resets_in: Some(duration(resets_in)),
    };
    Learned::NOTHING.with(Kind::Requests, word)
}

/// `answer`, `answer=30+10` (tokens read and written), `503`, `503+2s` (with a hint that cools), `500~1s` (with one that does not), `429`, `400!true` (told to).
fn report(text: &str) -> Report {
    let (text, told) = match text.split_once('!') {
        Some((text, told)) => (text, Some(told == "true")),
        None => (text, None),
    };
    if let Some(used) = text.strip_prefix("answer=") {
        let (read, written) = used.split_once('+').expect("READ+WRITTEN");
        let number = |text: &str| text.parse().expect("a number");
        let usage = Usage {
            tokens_in: number(read),
            tokens_out: number(written),
        };
        return Report {
            usage,
            ..Report::of(Outcome::Answer)
        };
    }
    let (what, hint) = match text.split_once(['+', '~']) {
        Some((what, wait)) => {
            let cools = text.contains('+');
            (
                what,
                Some(Hint {
                    wait: duration(wait),
                    cools,
                    source: HintSource::RetryAfter,
                }),
            )
        }
        None => (text, None),
    };
    let failed = |cause, sent| Outcome::Failed { cause, sent, hint };
    let outcome = match what {
        "answer" => Outcome::Answer,
        "429" => Outcome::Throttled { hint },
        "400" => Outcome::Refused(Refusal::Caller),
        "401" => Outcome::Denied { latches: true },
        "403" => Outcome::Denied { latches: false },
        "quota" => Outcome::Refused(Refusal::QuotaSpent),
        "context" => Outcome::Refused(Refusal::ContextTooLong),
        "unconnected" => failed(Cause::Connect, Sent::No),
        "cut" => failed(Cause::Cut, Sent::Maybe),
        "timeout" => failed(Cause::Timeout, Sent::Maybe),
        "503" if hint.is_some() => failed(Cause::Status, Sent::NotDone),
        "500" | "503" => failed(Cause::Status, Sent::Maybe),
        _ => panic!("no such outcome: {what}"),
    };
    Report {
        should_retry: told,
        status: what.parse().unwrap_or(0),
        ..Report::of(outcome)
    }
}

/// What a closure says of the same: an error, or `None` for an answer; nothing where it has no words for it.
pub(super) fn as_failure(report: &Report) -> Option<Option<Failure>> {
    if report.should_retry.is_some() || report.usage != Usage::NONE {
        return None;
    }
    let failure = match report.outcome {
        Outcome::Answer => return Some(None),
        Outcome::Throttled { .. } => Failure::throttled(),
        Outcome::Refused(Refusal::Caller) | Outcome::Denied { .. } => Failure::status(report.status),
        Outcome::Failed { cause, .. } => match cause {
            Cause::Status => Failure::status(report.status),
            Cause::Connect => Failure::broke(Broke::Refused),
            Cause::Timeout => Failure::broke(Broke::Timeout),
            Cause::Cut => Failure::transient(),
            Cause::Malformed | Cause::Request => return None,
        },
        Outcome::Refused(_) => return None,
    };
    match report.outcome.hint() {
        None => Some(Some(failure)),
        Some(hint) if hint.cools == matches!(report.status, 429 | 503) => {
            Some(Some(failure.retry_after(hint.wait)))
        }
        Some(_) => None,
    }
}

fn duration(text: &str) -> Duration {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}
