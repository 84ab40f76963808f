//! What the forms are fed with: what comes in, what the policies may make of it, what the servers bear.

use super::forms::{coupled_bears, seconds, turned_away};
use crate::plan::Limit;
use crate::sim::luck::nanos;
use crate::sim::model::{AnswerIs, Capacity, Contender, Failures, Load, MeanTokens, Model, Server};
use seawall_core::load::{Bound, attempts_max, hung_attempts};
use seawall_core::policy::Policy;
use seawall_core::time::Instant;
use seawall_core::verdict::Endpoint;

/// A model and a contender, as far as closed forms know them.
#[derive(Debug)]
pub(super) struct Reckoned<'m> {
    pub(super) model: &'m Model,
    pub(super) comes: Comes,
    /// Who retries, the clients first.
    pub(super) callers: Vec<Caller<'m>>,
    /// What all servers together bear, of useful attempts.
    pub(super) bears: Bears,
    /// How many servers share the load.
    pub(super) shards: f64,
    /// How long who calls the servers waits for an answer, in seconds.
    pub(super) patience_s: f64,
}

/// What comes in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Comes {
    /// So many calls a second, whatever becomes of them.
    Openly { per_s: f64 },
    /// So many callers that wait for their answers, and so long between; for ever, or some calls each.
    Closed { callers: f64, think_s: f64, ends: bool },
    /// So many calls a second, of which so many at once.
    Pooled { per_s: f64, connections: f64 },
    /// It cannot be said.
    Unknown { why: &'static str },
}

/// One who retries: the clients, or a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'m> {
    pub(super) policy: &'m Policy,
    pub(super) processes: u32,
    /// What kind of calls it makes.
    pub(super) endpoint: Endpoint,
}

/// What the servers bear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bears {
    /// Anything.
    Anything,
    /// So many attempts a second.
    PerSecond(f64),
    /// So many attempts a second; from there on answers take longer than anybody waits.
    Coupled { per_s: f64, alone_s: f64, slope_s: f64 },
    /// It cannot be said.
    Unknown { why: &'static str },
}

impl Bears {
    /// The number, where there is one.
    pub(super) const fn per_s(self) -> Option<f64> {
        match self {
            Self::PerSecond(per_s) | Self::Coupled { per_s, .. } => Some(per_s),
            Self::Anything | Self::Unknown { .. } => None,
        }
    }
}

impl<'m> Reckoned<'m> {
    pub(super) fn of(model: &'m Model, contender: &'m Contender) -> Self {
        let clients = Caller {
            policy: &contender.policy,
            processes: contender.fleet.processes(model.load.clients()),
            endpoint: model.endpoint(),
        };
        let layers = model.layers.iter().map(|layer| Caller {
            policy: layer.policy.as_ref().unwrap_or(&contender.policy),
            processes: layer.processes,
            endpoint: model.endpoint(),
        });
        let callers: Vec<Caller<'m>> = [clients].into_iter().chain(layers).collect();
        let patience_s = callers.last().map_or(0.0, Caller::patience_s);
        let shards = crate::sim::summary::float(model.serving().len() as u64);
        Self {
            model,
            comes: comes(&model.load),
            bears: bears(model, patience_s, shards),
            callers,
            shards,
            patience_s,
        }
    }

    /// The policy of those who call the servers.
    pub(super) fn nearest(&self) -> Caller<'m> {
        *self.callers.last().expect("there is always a client")
    }

    /// Attempts a second that reach the servers of so many calls, where every attempt ends when its caller's patience does.
    pub(super) fn attempts_in_overload(&self, calls_per_s: f64) -> f64 {
        self.callers
            .iter()
            .fold(calls_per_s, |per_s, caller| caller.attempts_in_overload(per_s))
    }

    /// The same of calls whose attempts fail by chance alone.
    pub(super) fn attempts_usual(&self, calls_per_s: f64) -> f64 {
        let caller = self.nearest();
        let (first, again) = failing(self.servers().first());
        let mut extras = 0.0;
        let mut next = first;
        for _ in 0..caller.policy.call.retries() {
            extras += next;
            next *= again;
        }
        (calls_per_s * (1.0 + extras)).min(caller.attempts_in_overload(calls_per_s))
    }

    /// How long messages of an attempt are on their way, there and back.
    pub(super) fn on_the_way_s(&self) -> f64 {
        on_the_way_s(self.model)
    }

    /// The servers that attempts go to while all is well.
    pub(super) fn servers(&self) -> &'m [Server] {
        self.model.serving()
    }

    /// The least that a server's own limit lets in a second, of all of them together: over the whole run, so that what it
    /// lets in at first counts, too.
    pub(super) fn admitted_per_s(&self, per_s: f64) -> Option<f64> {
        let tokens = self.model.mean_tokens().charged;
        let horizon_s = seconds(self.model.horizon);
        let each = self.servers().iter().filter_map(|server| {
            let service_s = nanos(self.model.service_mean(server)) / 1e9;
            limit_per_s(
                server.limit.as_ref()?,
                tokens,
                service_s,
                per_s / self.shards,
                horizon_s,
            )
        });
        Some(each.reduce(f64::min)? * self.shards)
    }

    /// What the limits of the policy itself let through a second, of all its processes: calls, calls of so many tokens, and
    /// calls at once, of which each takes at least as long as an answer.
    pub(super) fn policy_lets_per_s(&self) -> Option<f64> {
        let MeanTokens { read, written, .. } = self.model.mean_tokens();
        let answer_s = self
            .servers()
            .iter()
            .map(|server| nanos(self.model.service_mean(server)) / 1e9 + self.on_the_way_s());
        let answer_s = answer_s.reduce(f64::min)?;
        let lets = self.callers.iter().flat_map(|caller| {
            let limits = caller.policy.gate.limits();
            let rates = limits.rates();
            let each = [
                (rates.requests_per_minute(), 1.0),
                (rates.tokens_per_minute(), read + written),
                (rates.tokens_in_per_minute(), read),
                (rates.tokens_out_per_minute(), written),
            ];
            let processes = f64::from(caller.processes);
            let a_minute = each.into_iter().filter_map(move |(a_minute, each)| {
                let a_minute = crate::sim::summary::float(a_minute?);
                // A bucket is full at the beginning.
                let all = a_minute * (1.0 / 60.0 + 1.0 / seconds(self.model.horizon));
                (each > 0.0).then(|| all * processes / each)
            });
            let at_once = limits.concurrency().at_most().filter(|_| answer_s > 0.0);
            a_minute.chain(at_once.map(|places| f64::from(places) * processes / answer_s))
        });
        lets.reduce(f64::min)
    }

    /// What the servers bear a second where all that they do is to refuse; without end where that takes no time.
    pub(super) fn bears_refusing(&self) -> f64 {
        let each = self.servers().iter().map(|server| match server.capacity {
            Capacity::Workers(workers) if !server.reject_cost.is_zero() && refuses(server) => {
                f64::from(workers) / seconds(server.reject_cost)
            }
            Capacity::Workers(_)
            | Capacity::Unbounded
            | Capacity::Coupled { .. }
            | Capacity::OptimisticLock => f64::INFINITY,
        });
        each.fold(f64::INFINITY, f64::min) * self.shards
    }

    /// When half of a server's answers are heard of, and when they are whole, with nothing else there.
    pub(super) fn heard_s(&self, server: &Server) -> (f64, f64) {
        let plain_s = nanos(server.service.about_half()) / 1e9;
        let MeanTokens { read, written, .. } = self.model.mean_tokens();
        let hops = match server.capacity {
            Capacity::OptimisticLock => 2.0,
            Capacity::Unbounded | Capacity::Workers(_) | Capacity::Coupled { .. } => 1.0,
        };
        let on_the_way_s = hops * 2.0 * nanos(self.model.hop.about_half()) / 1e9;
        let alone_s = plain_s + on_the_way_s;
        let Some(generation) = server.generation else {
            return (alone_s, alone_s);
        };
        let read_s = alone_s + nanos(generation.per_token_in) * read / 1e9;
        let whole_s = read_s + nanos(generation.per_token_out) * written / 1e9;
        match generation.sent {
            AnswerIs::Whole => (whole_s, whole_s),
            AnswerIs::Streamed => (read_s, whole_s),
        }
    }
}

impl Caller<'_> {
    /// How long it waits for one attempt.
    pub(super) fn patience_s(&self) -> f64 {
        self.waits_s().0
    }

    /// How long it waits for an answer to begin, and to be whole.
    pub(super) fn waits_s(&self) -> (f64, f64) {
        let deadline = Instant::START.after(self.policy.call.deadline_for(self.endpoint));
        let limits = self
            .policy
            .call
            .limits_for(self.endpoint, Instant::START, deadline);
        let deadline = deadline.since(Instant::START);
        let whole = limits.total.min(deadline);
        // Who has accepted the first token has only the limit of the whole.
        (seconds(limits.first_byte.min(whole)), seconds(limits.total))
    }

    /// Attempts of one call that fit where none is answered, hedges included.
    pub(super) fn attempts_each(&self) -> f64 {
        let call = &self.policy.call;
        let begun = f64::from(hung_attempts(call, self.endpoint));
        match call.hedge() {
            None => begun,
            Some(hedge) => {
                let share = hedge
                    .at_most_per_mille()
                    .map_or(1.0, |most| f64::from(most) / 1e3);
                begun * (1.0 + share)
            }
        }
    }

    /// The most attempts of one call whose attempts fail at once.
    #[expect(clippy::cast_precision_loss, reason = "at most 202 attempts")]
    pub(super) fn attempts_most(&self) -> f64 {
        attempts_max(&self.policy.call) as f64
    }

    fn attempts_in_overload(&self, calls_per_s: f64) -> f64 {
        let unbounded = calls_per_s * self.attempts_each();
        match self.policy.gate.budget() {
            None => unbounded,
            Some(budget) => {
                let bound = Bound::new(&budget, self.processes);
                milli(bound.attempts_max_milli(to_milli(calls_per_s), u64::MAX >> 32)).min(unbounded)
            }
        }
    }

    /// What its budget makes of a call, 1 + β; `None` without one.
    pub(super) fn budgeted(&self) -> Option<f64> {
        let budget = self.policy.gate.budget()?;
        Some((1.0 + f64::from(budget.ratio_per_mille()) / 1e3).min(self.attempts_most()))
    }
}

fn comes(load: &Load) -> Comes {
    match load {
        Load::Open { per_second, .. } => Comes::Openly { per_s: *per_second },
        Load::Closed {
            clients,
            think,
            calls_each,
            ..
        } => Comes::Closed {
            callers: f64::from(*clients),
            think_s: seconds(think.mean()),
            ends: calls_each.is_some(),
        },
        Load::Pool {
            connections,
            per_second,
            ..
        } => Comes::Pooled {
            per_s: *per_second,
            connections: f64::from(*connections),
        },
        Load::Trace { calls, .. } => match (calls.first(), calls.last()) {
            (Some(first), Some(last)) if last.at > first.at => Comes::Openly {
                per_s: crate::sim::summary::float(calls.len() as u64 - 1) / seconds(last.at.since(first.at)),
            },
            _ => Comes::Unknown {
                why: "the trace has no two calls at different times",
            },
        },
    }
}

fn on_the_way_s(model: &Model) -> f64 {
    2.0 * nanos(model.hop.mean()) / 1e9
}

fn bears(model: &Model, patience_s: f64, shards: f64) -> Bears {
    let on_the_way = on_the_way_s(model);
    let each = model.serving().iter().map(|server| {
        let service_s = nanos(model.service_mean(server)) / 1e9;
        match server.capacity {
            Capacity::Unbounded => Bears::Anything,
            Capacity::Workers(_) if service_s <= 0.0 => Bears::Anything,
            Capacity::Workers(workers) => Bears::PerSecond(shards * f64::from(workers) / service_s),
            Capacity::Coupled { slope } if slope.is_zero() => Bears::Anything,
            Capacity::Coupled { slope } => Bears::Coupled {
                per_s: shards * coupled_bears(service_s, seconds(slope), patience_s - on_the_way),
                alone_s: service_s,
                slope_s: seconds(slope),
            },
            Capacity::OptimisticLock => Bears::Unknown {
                why: "writers that contend for one row have no capacity of their own",
            },
        }
    });
    // The weakest decides for all: each gets an even share.
    each.reduce(|a, b| match (a.per_s(), b.per_s()) {
        (Some(left), Some(right)) => {
            if right < left {
                b
            } else {
                a
            }
        }
        (Some(_), None) if matches!(b, Bears::Unknown { .. }) => b,
        (None, Some(_)) if !matches!(a, Bears::Unknown { .. }) => b,
        (Some(_) | None, None) | (None, Some(_)) => a,
    })
    .unwrap_or(Bears::Unknown {
        why: "there is no server",
    })
}

/// How many first attempts fail of themselves, and how many later ones.
pub(super) fn failing(server: Option<&Server>) -> (f64, f64) {
    match server.map_or(Failures::None, |server| server.failures) {
        Failures::None => (0.0, 0.0),
        Failures::Independent { chance } => (chance, chance),
        Failures::Sticky { first, again } => (first, again),
    }
}

/// Whether a server may refuse somebody.
const fn refuses(server: &Server) -> bool {
    server.queue_max.is_some() || server.limit.is_some()
}

/// What a limit of attempts at once lets in of so many: whoever finds no seat is turned away, and where that is one in a
/// hundred and more it counts.
fn seats_let_per_s(seats: f64, per_s: f64, service_s: f64) -> f64 {
    const AWAY_LEAST: f64 = 0.01;
    match turned_away(seats, 0.0, per_s * service_s) {
        away if away > AWAY_LEAST => per_s * (1.0 - away),
        _ => seats / service_s,
    }
}

/// Calls a second of so many tokens each, of which each takes so long, of so many that come, over so long a run.
fn limit_per_s(limit: &Limit, tokens: f64, service_s: f64, per_s: f64, horizon_s: f64) -> Option<f64> {
    let number = |count: Option<std::num::NonZeroU32>| count.map(|n| f64::from(n.get()));
    let bucket = |count: Option<std::num::NonZeroU32>, seconds: f64, at_first: Option<f64>| {
        let a_second = number(count)? / seconds;
        let at_first = at_first.or(number(count))?;
        Some(a_second + at_first / horizon_s)
    };
    let burst = number(limit.burst);
    let of_seconds = burst.filter(|_| limit.requests_per_minute.is_none());
    let tokens_let = bucket(limit.tokens_per_minute, 60.0, None).map(|all| all / tokens);
    [
        bucket(limit.requests_per_minute, 60.0, burst),
        bucket(limit.requests_per_second, 1.0, of_seconds),
        tokens_let.filter(|_| tokens > 0.0),
        number(limit.concurrency)
            .filter(|_| service_s > 0.0)
            .map(|seats| seats_let_per_s(seats, per_s, service_s)),
    ]
    .into_iter()
    .flatten()
    .reduce(f64::min)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates at both ends, which is meant"
)]
fn to_milli(per_s: f64) -> u64 {
    libm::round(per_s * 1e3) as u64
}

#[expect(clippy::cast_precision_loss, reason = "a report shows a few digits")]
fn milli(n: u64) -> f64 {
    n as f64 / 1e3
}
