//! Whether a breaker refuses more than it saves, or lets more in at once than the servers can take.
//!
//! A breaker helps where what it stops would have failed. Where a part fails (a shard, some of all attempts) it stops
//! what would have been answered, too: it opens after a while, stays open, lets a probe through that may meet the part
//! that is well, and opens again. In the long run a call is answered with chance (1 − q)·closed ÷ (closed + open).

use super::forms::{seconds, until_open};
use super::world::{Comes, Reckoned};
use super::{Code, Finding, percent, shown};
use crate::sim::model::{Failures, Spread, Trouble};
use seawall_core::policy::{BreakerPolicy, Mode, OnOpen};

/// Less availability than this is lost in the digits of a report: half a per cent.
const HARM_LEAST: f64 = 0.005;

pub(super) fn of(reckoned: &Reckoned<'_>, findings: &mut Vec<Finding>) {
    let (Comes::Openly { per_s } | Comes::Pooled { per_s, .. }) = reckoned.comes else {
        return;
    };
    let caller = reckoned.nearest();
    let Some(breaker) = caller.policy.gate.breaker() else {
        return;
    };
    let Some(part) = part(reckoned).filter(|_| breaker.mode() == Mode::Auto) else {
        return;
    };
    let (failing, share) = (part.failing, part.share);
    if reckoned.model.spread == Spread::ShardsOwnGates && part.is_shard {
        let text = format!(
            "each shard is behind a gate of its own: where one of {} fails, its breaker refuses {} of the calls, and the \
             others are answered",
            reckoned.model.servers.len(),
            percent(share)
        );
        findings.push(Finding::new(
            Code::BreakerPerPart,
            text,
            [("failing", share), ("availability", 1.0 - share)],
        ));
        return;
    }
    let each_per_s = per_s / f64::from(caller.processes);
    let without = 1.0 - share;
    let closed = until_open(&breaker, failing, each_per_s);
    let (open_s, with) = match closed {
        None => (0.0, without),
        Some(attempts) => {
            let closed_s = attempts / each_per_s;
            let open_s = open_s(&breaker, failing, closed_s);
            (open_s, without * closed_s / (closed_s + open_s))
        }
    };
    let closed_s = closed.map_or(0.0, |attempts| attempts / each_per_s);
    let numbers = [
        ("failing", failing),
        ("availability_without", without),
        ("availability_with", with),
        ("closed_s", closed_s),
        ("open_s", open_s),
    ];
    let what = part.what;
    if without - with > HARM_LEAST {
        let text = format!(
            "this breaker makes it worse: where {what} fails ({} of attempts), it opens after {} s for {} s each time, and \
             {} of calls are answered in the long run, {} without it",
            percent(failing),
            shown(closed_s),
            shown(open_s),
            percent(with),
            percent(without)
        );
        findings.push(Finding::new(Code::BreakerHarms, text, numbers));
    } else {
        let text = format!(
            "where {what} fails ({} of attempts), the breaker stays closed, and {} of calls are answered, as without it",
            percent(failing),
            percent(with)
        );
        findings.push(Finding::new(Code::BreakerHarmless, text, numbers));
    }
}

/// Whom a breaker without a ramp keeps waiting goes all at once when it closes, with first attempts that no budget bounds.
/// Where the servers take longer for them than anybody waits, they fail, and it opens again.
pub(super) fn let_in_at_once(reckoned: &Reckoned<'_>, per_s: f64, bears: f64) -> Option<Finding> {
    let caller = reckoned.nearest();
    let breaker = caller.policy.gate.breaker()?;
    let processes = f64::from(caller.processes);
    let keeps = breaker.mode() == Mode::Auto && breaker.on_open() == OnOpen::Wait && breaker.ramp().is_none();
    if !keeps || until_open(&breaker, 1.0, per_s / processes).is_none() {
        return None;
    }
    let limits = caller.policy.gate.limits();
    let deadline = caller.policy.call.deadline_for(caller.endpoint);
    let open_s = seconds(breaker.open_max().min(deadline));
    let places = limits
        .concurrency()
        .at_most()
        .unwrap_or(u32::MAX)
        .min(limits.queue());
    let crowd = (per_s * open_s).min(f64::from(places) * processes);
    let service_s = reckoned.servers().iter().map(|server| reckoned.heard_s(server).0);
    let takes_s = crowd / bears + service_s.fold(0.0, f64::max);
    if takes_s <= reckoned.patience_s {
        return None;
    }
    let text = format!(
        "this breaker lets in at once whom it has kept waiting: after {} s these are {} calls, the servers take {} s for \
         them, and attempts wait {} s; they fail, and it opens again; a ramp lets them in one by one",
        shown(open_s),
        shown(crowd),
        shown(takes_s),
        shown(reckoned.patience_s)
    );
    let numbers = [
        ("open_s", open_s),
        ("calls", crowd),
        ("takes_s", takes_s),
        ("patience_s", reckoned.patience_s),
    ];
    Some(Finding::new(Code::BreakerReleases, text, numbers))
}

/// How long it stays open, its failed probes included, where it was closed for so long.
fn open_s(breaker: &BreakerPolicy, failing: f64, closed_s: f64) -> f64 {
    // One that trips again within one window, on as much as trips it, comes to its longest time.
    let flaps =
        closed_s < seconds(breaker.window()) && failing * 1e3 >= f64::from(breaker.failure_per_mille());
    let mut length = if flaps {
        breaker.open_max()
    } else {
        breaker.open_for()
    };
    let (mut open_s, mut so_far) = (0.0, 1.0);
    while length < breaker.open_max() {
        open_s += so_far * seconds(length);
        so_far *= failing;
        length = breaker.open_longer(length);
    }
    open_s + so_far * seconds(length) / (1.0 - failing).max(1e-3)
}

/// What fails while the rest is well.
struct Part {
    what: String,
    is_shard: bool,
    /// Of the calls.
    share: f64,
    /// Of the attempts: calls of that part are sent again.
    failing: f64,
}

fn part(reckoned: &Reckoned<'_>) -> Option<Part> {
    let servers = &reckoned.model.servers;
    if reckoned.model.spread != Spread::Route && servers.len() > 1 {
        let share = 1.0 / crate::sim::summary::float(servers.len() as u64);
        return Some(Part {
            what: format!("one of {} shards", servers.len()),
            is_shard: true,
            share,
            failing: Sent::of(reckoned, share, 1.0).failing,
        });
    }
    let server = servers.first()?;
    let outages = server.outages.iter().filter(|outage| match outage.how {
        Trouble::FailFast | Trouble::Refuse | Trouble::Truncate => outage.share < 1.0,
        // A stall is no answer for a while, slowness is one, and a throttle says when: none of them is such a failure.
        Trouble::Hang | Trouble::Slow { .. } | Trouble::Throttle { .. } => false,
    });
    let hit = outages.map(|outage| outage.share).reduce(f64::max);
    let chance = match server.failures {
        Failures::None => None,
        Failures::Independent { chance } => Some((chance, chance)),
        Failures::Sticky { first, again } => Some((first, again)),
    };
    let (first, again) = hit.map(|share| (share, share)).or(chance)?;
    let sent = Sent::of(reckoned, first, again);
    // A call is lost where all of its attempts fail, and where the budget lets it have no other.
    let retries = f64::from(reckoned.nearest().policy.call.retries());
    let lost_each = 1.0 - sent.granted + sent.granted * libm::pow(again, retries);
    Some(Part {
        what: "a part of all attempts".to_owned(),
        is_shard: false,
        share: first * lost_each,
        failing: sent.failing,
    })
}

/// What is sent where attempts fail by chance.
struct Sent {
    /// The share of attempts that fail.
    failing: f64,
    /// The share of wanted retries that the budget grants.
    granted: f64,
}

impl Sent {
    /// Where so many first attempts fail and so many later ones.
    fn of(reckoned: &Reckoned<'_>, first: f64, again: f64) -> Self {
        let policy = reckoned.nearest().policy;
        let (mut extras, mut failed, mut next) = (0.0, 0.0, first);
        for _ in 0..policy.call.retries() {
            extras += next;
            next *= again;
            failed += next;
        }
        let budget = policy.gate.budget();
        let allowed = budget.map_or(f64::INFINITY, |budget| f64::from(budget.ratio_per_mille()) / 1e3);
        let granted = if extras > allowed { allowed / extras } else { 1.0 };
        Self {
            failing: (first + granted * failed) / (1.0 + granted * extras),
            granted,
        }
    }
}
