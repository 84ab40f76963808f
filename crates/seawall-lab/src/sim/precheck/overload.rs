//! Whether an overload keeps itself alive, and what outages leave behind.

use super::forms::{coupled_answer_s, drain_s, mean_waits, seconds, until_open};
use super::world::{Bears, Comes, Reckoned, failing};
use super::{Code, Finding, Stability, percent, shown};
use super::{chance, harm};
use crate::sim::luck::nanos;
use crate::sim::model::{Burst, Capacity, Load, Model, Order, Orphans, Outage, Server, Trouble};
use seawall_core::policy::Mode;
use seawall_core::time::{Duration, Instant};

pub(super) fn of(reckoned: &Reckoned<'_>, findings: &mut Vec<Finding>) -> Stability {
    findings.extend(layers(reckoned));
    findings.extend(over_limit(reckoned));
    let stability = match reckoned.comes {
        Comes::Unknown { why } => {
            findings.push(Finding::new(
                Code::LoadUnknown,
                format!("how many calls come in a second is not known: {why}"),
                [],
            ));
            return Stability::Unknown;
        }
        Comes::Openly { per_s } => openly(reckoned, per_s, None, findings),
        Comes::Pooled { per_s, connections } => {
            findings.push(pool(reckoned, per_s, connections));
            openly(reckoned, per_s, Some(connections), findings)
        }
        Comes::Closed {
            callers,
            think_s,
            ends,
        } => closed(reckoned, callers, think_s, ends, findings),
    };
    let late = answers_late(reckoned);
    let grows = |finding: &Finding| matches!(finding.code, Code::OverLimit | Code::PoolSaturates);
    let hopeless = late.is_some() || findings.iter().any(grows);
    findings.extend(late);
    if hopeless {
        Stability::Overloaded
    } else {
        stability
    }
}

/// Answers that are late where nobody else is there: whatever the servers bear, it is for nobody.
fn answers_late(reckoned: &Reckoned<'_>) -> Option<Finding> {
    let least = |of: fn((f64, f64)) -> f64| {
        let heard = reckoned
            .servers()
            .iter()
            .map(|server| of(reckoned.heard_s(server)));
        heard.reduce(f64::min)
    };
    let (patience_s, whole_within_s) = reckoned.nearest().waits_s();
    let (first_s, whole_s) = (least(|(first, _)| first)?, least(|(_, whole)| whole)?);
    let late = [(first_s, patience_s), (whole_s, whole_within_s)];
    let (answer_s, patience_s) = late
        .into_iter()
        .find(|(answer_s, patience_s)| answer_s > patience_s)?;
    let text = format!(
        "half of the answers take {} s and longer with nothing else there, and callers wait {} s for one: most are never \
         heard, whatever the policy",
        shown(answer_s),
        shown(patience_s)
    );
    let numbers = [("answer_s", answer_s), ("patience_s", patience_s)];
    Some(Finding::new(Code::AnswersLate, text, numbers))
}

/// Calls that come whatever becomes of them; `at_once` is how many there may be.
fn openly(
    reckoned: &Reckoned<'_>,
    per_s: f64,
    at_once: Option<f64>,
    findings: &mut Vec<Finding>,
) -> Stability {
    let Some(bears) = bears(reckoned, findings) else {
        return without_capacity(reckoned);
    };
    findings.extend(coupled(reckoned, per_s));
    let usual = reckoned.attempts_usual(per_s);
    let most = reckoned.attempts_in_overload(per_s);
    let numbers = [
        ("calls_per_s", per_s),
        ("attempts_per_s", most),
        ("capacity_per_s", bears),
        ("calls_borne_per_s", bears * per_s / most),
    ];
    let (calls, attempts, capacity) = (shown(per_s), shown(most), shown(bears));
    if usual >= bears {
        let text = format!(
            "{calls} calls a second come in, {} attempts with what fails of itself, and the servers bear {capacity}: in the \
             long run no policy answers them all",
            shown(usual)
        );
        findings.push(Finding::new(Code::OverCapacity, text, numbers));
        return Stability::Overloaded;
    }
    // Where a refusal takes longer than an answer, servers that refuse bear less.
    let bears = bears.min(reckoned.bears_refusing());
    let capacity = shown(bears);
    let numbers = [
        ("calls_per_s", per_s),
        ("attempts_per_s", most),
        ("capacity_per_s", bears),
        ("calls_borne_per_s", bears * per_s / most),
    ];
    if most < bears {
        let text = format!(
            "{calls} calls a second become at most {attempts} attempts, below the {capacity} that the servers bear: an \
             overload ends by itself, up to {} calls a second",
            shown(bears * per_s / most)
        );
        findings.push(Finding::new(Code::Headroom, text, numbers));
        findings.extend(drains(reckoned, per_s, most, bears));
        findings.extend(chance::drain_of_bursts(reckoned, per_s));
        let ends_not = [
            chance::often(reckoned, usual),
            harm::let_in_at_once(reckoned, per_s, bears),
        ];
        return where_each_ends(ends_not, findings);
    }
    let text = format!(
        "{calls} calls a second may become {attempts} attempts, and the servers bear {capacity}: an overload, once begun, \
         may keep itself alive; it cannot below {} calls a second",
        shown(bears * per_s / most)
    );
    findings.push(Finding::new(Code::NoHeadroom, text, numbers));
    if let Some(held) = held(reckoned, bears, at_once, most) {
        let by_breaker = held.code == Code::HeldByBreaker;
        let begins_again = by_breaker.then(|| chance::begins(reckoned, usual)).flatten();
        findings.push(held);
        findings.extend(drains(reckoned, per_s, per_s, bears));
        let ends_not = [begins_again, harm::let_in_at_once(reckoned, per_s, bears)];
        return where_each_ends(ends_not, findings);
    }
    findings.extend(by_chance(reckoned));
    let triggers: Vec<Finding> = triggers(reckoned, per_s, bears).collect();
    let stability = if triggers.is_empty() {
        Stability::Vulnerable
    } else {
        Stability::Metastable
    };
    findings.extend(triggers);
    stability
}

/// What it comes to where every overload would end by itself, but for these, and but for what is left at the horizon.
fn where_each_ends(ends_not: [Option<Finding>; 2], findings: &mut Vec<Finding>) -> Stability {
    let is_late = ends_not.iter().any(Option::is_some) || findings.iter().any(ends_after_horizon);
    findings.extend(ends_not.into_iter().flatten());
    if is_late {
        Stability::Vulnerable
    } else {
        Stability::Stable
    }
}

/// Whether what an outage leaves is still there when nobody looks any more: that it would end is no comfort.
fn ends_after_horizon(finding: &Finding) -> bool {
    let number = |name: &str| finding.numbers.get(name).copied();
    let drain_s = number("drain_s").or(number("drain_with_extras_s"));
    let of_both = drain_s.zip(number("left_s"));
    finding.code == Code::Drain && of_both.is_some_and(|(drain_s, left_s)| drain_s > left_s)
}

/// Callers that wait for their answers bring less the longer they wait.
fn closed(
    reckoned: &Reckoned<'_>,
    callers: f64,
    think_s: f64,
    ends: bool,
    findings: &mut Vec<Finding>,
) -> Stability {
    let Some(bears) = bears(reckoned, findings) else {
        return without_capacity(reckoned);
    };
    let most = most_of_callers(reckoned, callers, think_s);
    let held = held(reckoned, bears, Some(callers), most);
    let by_breaker = held.as_ref().is_none_or(|held| held.code == Code::HeldByBreaker);
    // Where each call were one attempt that nobody answers.
    let firsts = callers / (think_s + reckoned.patience_s);
    if !ends && by_breaker && firsts >= bears {
        let text = format!(
            "{} callers make {} calls a second even where each waits {} s in vain, and the servers bear {}: in the long run no \
             policy answers them all",
            shown(callers),
            shown(firsts),
            shown(reckoned.patience_s),
            shown(bears)
        );
        let numbers = [
            ("callers", callers),
            ("calls_per_s", firsts),
            ("capacity_per_s", bears),
        ];
        findings.push(Finding::new(Code::OverCapacity, text, numbers));
        return Stability::Overloaded;
    }
    if let Some(held) = held {
        findings.push(held);
        return Stability::Stable;
    }
    let numbers = [
        ("callers", callers),
        ("attempts_per_s", most),
        ("capacity_per_s", bears),
    ];
    let (text, code, stability) = if most < bears {
        let text = format!(
            "{} callers whose attempts all end unanswered after {} s make {} attempts a second, below the {} that the \
             servers bear: an overload ends by itself",
            shown(callers),
            shown(reckoned.patience_s),
            shown(most),
            shown(bears)
        );
        (text, Code::Headroom, Stability::Stable)
    } else {
        let text = format!(
            "{} callers whose attempts all end unanswered after {} s make {} attempts a second, and the servers bear {}: \
             an overload, once begun, may keep itself alive",
            shown(callers),
            shown(reckoned.patience_s),
            shown(most),
            shown(bears)
        );
        (text, Code::NoHeadroom, Stability::Vulnerable)
    };
    findings.push(Finding::new(code, text, numbers));
    stability
}

/// The most attempts a second of callers that call again, so long after their last one has ended, where no attempt is
/// answered. Extras that a budget bounds are taken for first retries, before which the wait is shortest.
fn most_of_callers(reckoned: &Reckoned<'_>, callers: f64, think_s: f64) -> f64 {
    /// Halvings after which nothing is left between the two ends.
    const HALVINGS: usize = 60;
    let caller = reckoned.nearest();
    let waits = mean_waits(caller.policy.call.backoff(), caller.policy.call.retries());
    let asleep_s = |extras: f64| -> f64 {
        let mut left = extras;
        let waited = waits.iter().map(|wait_s| {
            let these = left.clamp(0.0, 1.0);
            left -= these;
            these * wait_s
        });
        waited.sum()
    };
    let cycle_s = |calls_per_s: f64| {
        let each = reckoned.attempts_in_overload(calls_per_s) / calls_per_s;
        let each = each.min(caller.attempts_each());
        think_s + each * reckoned.patience_s + asleep_s(each - 1.0)
    };
    // The more calls a second there are, the more callers it takes.
    let (mut fewer, mut more) = (0.0, callers / (think_s + reckoned.patience_s));
    for _ in 0..HALVINGS {
        let calls_per_s = f64::midpoint(fewer, more);
        if calls_per_s * cycle_s(calls_per_s) > callers {
            more = calls_per_s;
        } else {
            fewer = calls_per_s;
        }
    }
    reckoned.attempts_in_overload(fewer)
}

fn bears(reckoned: &Reckoned<'_>, findings: &mut Vec<Finding>) -> Option<f64> {
    if let Bears::Unknown { why } = reckoned.bears {
        let text = format!("what the servers bear is not known: {why}");
        findings.push(Finding::new(Code::CapacityUnknown, text, []));
    }
    reckoned.bears.per_s()
}

/// Servers that bear anything are never overloaded; of others it cannot be said.
const fn without_capacity(reckoned: &Reckoned<'_>) -> Stability {
    match reckoned.bears {
        Bears::Anything => Stability::Stable,
        Bears::PerSecond(_) | Bears::Coupled { .. } | Bears::Unknown { .. } => Stability::Unknown,
    }
}

/// What ends an overload that would keep itself alive, in which so many attempts a second come to nothing.
fn held(reckoned: &Reckoned<'_>, bears: f64, at_once: Option<f64>, attempts_per_s: f64) -> Option<Finding> {
    let patience_s = reckoned.patience_s;
    let servers = reckoned.servers();
    if let Some(at_once) = at_once {
        let each = if reckoned.nearest().policy.call.hedge().is_some() {
            2.0
        } else {
            1.0
        };
        let longest_s = match reckoned.bears {
            Bears::Coupled { alone_s, slope_s, .. } => alone_s + slope_s * at_once * each,
            Bears::PerSecond(_) | Bears::Anything | Bears::Unknown { .. } => at_once * each / bears,
        };
        // What a caller has left behind is still worked on, so that twice as much may stand before it.
        if 2.0 * longest_s < patience_s {
            let text = format!(
                "at most {} attempts are there at once, so that nobody waits longer than {} s, and {} s is how long they \
                 would: an overload ends by itself",
                shown(at_once * each),
                shown(2.0 * longest_s),
                shown(patience_s)
            );
            let numbers = [("wait_s", 2.0 * longest_s), ("patience_s", patience_s)];
            return Some(Finding::new(Code::HeldByFewCallers, text, numbers));
        }
    }
    // Where refusals take the workers' time, too, enough of them leave none.
    let refuse_freely = servers.iter().all(|server| server.reject_cost.is_zero());
    let longest_s = longest_queue_s(reckoned);
    if refuse_freely && longest_s < patience_s {
        let text = format!(
            "a full queue is {} s long and attempts wait {} s: what is worked on is answered in time, and what finds it \
             full is refused at once",
            shown(longest_s),
            shown(patience_s)
        );
        let numbers = [("queue_s", longest_s), ("patience_s", patience_s)];
        return Some(Finding::new(Code::HeldByQueue, text, numbers));
    }
    let newest_first =
        |server: &Server| server.order == Order::Lifo && matches!(server.capacity, Capacity::Workers(_));
    if servers.iter().all(newest_first) {
        let text = "the servers take who came last first, so that they always work for somebody who waits"
            .to_owned();
        return Some(Finding::new(Code::HeldByNewestFirst, text, []));
    }
    held_by_breaker(reckoned, bears, attempts_per_s)
}

/// A breaker that opens stays open until its probe is answered, and that is when the queue is short again. One that counts
/// too little, since its process makes few of the attempts or its numbers ask for many, does not open.
fn held_by_breaker(reckoned: &Reckoned<'_>, bears: f64, attempts_per_s: f64) -> Option<Finding> {
    let caller = reckoned.nearest();
    let breaker = caller
        .policy
        .gate
        .breaker()
        .filter(|breaker| breaker.mode() == Mode::Auto)?;
    let each_per_s = attempts_per_s / f64::from(caller.processes);
    let closed_s = until_open(&breaker, 1.0, each_per_s)? / each_per_s;
    let open_s = seconds(breaker.open_for());
    // What came while it was closed, behind as much as anybody waits for.
    let queue_s = attempts_per_s * closed_s / bears + reckoned.patience_s;
    let over_s = closed_s + queue_s.max(open_s);
    if over_s > seconds(reckoned.model.horizon) {
        return None;
    }
    let worked_off = bears * queue_s;
    let text = format!(
        "when attempts fail one after the other, the breaker opens after {} s, for {} s at first and longer while that is not \
         enough; meanwhile the servers work off {} attempts that nobody waits for, and some {} s after an overload began \
         answers come in time again",
        shown(closed_s),
        shown(open_s),
        shown(worked_off),
        shown(over_s)
    );
    let numbers = [
        ("closed_s", closed_s),
        ("open_s", open_s),
        ("worked_off", worked_off),
        ("over_s", over_s),
    ];
    Some(Finding::new(Code::HeldByBreaker, text, numbers))
}

/// How long the last in the longest full queue waits; without end where one has none.
fn longest_queue_s(reckoned: &Reckoned<'_>) -> f64 {
    let queues = reckoned
        .servers()
        .iter()
        .map(|server| queue_s(reckoned.model, server));
    queues.reduce(f64::max).unwrap_or(f64::INFINITY)
}

fn queue_s(model: &Model, server: &Server) -> f64 {
    match (server.capacity, server.queue_max) {
        (Capacity::Workers(workers), Some(most)) => {
            let service_s = nanos(model.service_mean(server)) / 1e9;
            (f64::from(most) / f64::from(workers) + 1.0) * service_s
        }
        (Capacity::Workers(_), None)
        | (Capacity::Unbounded | Capacity::Coupled { .. } | Capacity::OptimisticLock, _) => f64::INFINITY,
    }
}

/// A time in which less is worked off, or more comes in.
struct Squeeze {
    what: &'static str,
    lasts_s: f64,
    /// Of the usual arrivals.
    arrivals: f64,
    /// Of the usual capacity.
    left: f64,
    /// How many times as long what it leaves takes: who came while all was slow is worked on slowly afterwards, too.
    each: f64,
    /// From its end to the horizon.
    left_s: f64,
}

/// Those of the model that leave a queue.
fn squeezes(reckoned: &Reckoned<'_>) -> Vec<Squeeze> {
    let servers = reckoned.servers();
    let left_s = |at: Instant, lasts: Duration| {
        let over_s = seconds(at.after(lasts).since(Instant::START));
        (seconds(reckoned.model.horizon) - over_s).max(0.0)
    };
    let of_outage = |outage: &Outage| {
        let left = match outage.how {
            Trouble::Hang if outage.share >= 1.0 => 0.0,
            Trouble::Slow { factor } if outage.share >= 1.0 && factor > 1.0 => 1.0 / factor,
            Trouble::Hang
            | Trouble::Slow { .. }
            | Trouble::FailFast
            | Trouble::Refuse
            | Trouble::Throttle { .. }
            | Trouble::Truncate => return None,
        };
        Some(Squeeze {
            what: if left > 0.0 { "a slowness" } else { "a stall" },
            lasts_s: seconds(outage.lasts),
            arrivals: 1.0,
            left,
            each: if left > 0.0 { 1.0 / left } else { 1.0 },
            left_s: left_s(outage.at, outage.lasts),
        })
    };
    let worked_off = |server: &&Server| matches!(server.capacity, Capacity::Workers(_));
    let outages = servers
        .iter()
        .filter(worked_off)
        .flat_map(|server| &server.outages)
        .filter_map(of_outage);
    let bursts: &[Burst] = match &reckoned.model.load {
        Load::Open { bursts, .. } => bursts,
        Load::Closed { .. } | Load::Pool { .. } | Load::Trace { .. } => &[],
    };
    let of_burst = |burst: &Burst| Squeeze {
        what: "a burst",
        lasts_s: seconds(burst.lasts),
        arrivals: burst.factor,
        left: 1.0,
        each: 1.0,
        left_s: left_s(burst.at, burst.lasts),
    };
    let bursts = bursts.iter().map(of_burst);
    match reckoned.bears {
        Bears::PerSecond(_) => outages.chain(bursts).collect(),
        // How far a burst gets where answers slow down with it is a matter of chance.
        Bears::Anything | Bears::Coupled { .. } | Bears::Unknown { .. } => outages.collect(),
    }
}

/// What begins an overload for certain: a queue longer than anybody waits, of work that is done all the same.
fn triggers<'a>(reckoned: &'a Reckoned<'_>, per_s: f64, bears: f64) -> impl Iterator<Item = Finding> + 'a {
    let servers = reckoned.servers();
    let worked = servers.iter().all(|server| server.orphans == Orphans::Worked);
    let patience_s = reckoned.patience_s;
    let longest_s = longest_queue_s(reckoned);
    let squeezes = if worked { squeezes(reckoned) } else { Vec::new() };
    squeezes.into_iter().filter_map(move |squeeze| {
        let backlog =
            squeeze.each * (squeeze.arrivals * per_s - squeeze.left * bears).max(0.0) * squeeze.lasts_s;
        let wait_s = (backlog / bears).min(longest_s);
        (wait_s > patience_s).then(|| {
            let text = format!(
                "{} of {} s leaves a queue of {} s, and nobody waits longer than {} s: the servers then work for callers \
                 that have left, and the overload keeps itself alive",
                squeeze.what,
                shown(squeeze.lasts_s),
                shown(wait_s),
                shown(patience_s)
            );
            let numbers = [
                ("lasts_s", squeeze.lasts_s),
                ("wait_s", wait_s),
                ("patience_s", patience_s),
            ];
            Finding::new(Code::Trigger, text, numbers)
        })
    })
}

/// Outages that are drawn are other ones with each seed.
fn by_chance(reckoned: &Reckoned<'_>) -> Option<Finding> {
    let mut servers = reckoned.servers().iter();
    servers.any(|server| server.renewal.is_some()).then(|| {
        let text =
            "outages come by chance here, so that whether one of them begins such an overload is not known";
        Finding::new(Code::TriggerUnknown, text.to_owned(), [])
    })
}

/// How long what outages leave takes to drain, first attempts alone and with all extras.
fn drains(reckoned: &Reckoned<'_>, per_s: f64, most: f64, bears: f64) -> Vec<Finding> {
    let patience_s = reckoned.patience_s;
    if longest_queue_s(reckoned) < patience_s {
        // What is worked on is answered in time from the first moment.
        return Vec::new();
    }
    let drain = |squeeze: Squeeze| {
        let backlog = |per_s: f64| {
            squeeze.each * (squeeze.arrivals * per_s - squeeze.left * bears).max(0.0) * squeeze.lasts_s
        };
        let calls = drain_s(per_s, bears, backlog(per_s), patience_s)?;
        // With extras, what has expired is retried, so the whole queue has to go.
        let all = drain_s(most, bears, backlog(most), 0.0)?;
        let mut text = format!(
            "{} of {} s leaves a queue: without retries {} s until answers come in time again, and up to {} s until it is empty \
             with all extras",
            squeeze.what,
            shown(squeeze.lasts_s),
            shown(calls),
            shown(all.max(calls))
        );
        if calls > squeeze.left_s {
            text += &format!("; only {} s are left to the horizon", shown(squeeze.left_s));
        }
        let numbers = [
            ("lasts_s", squeeze.lasts_s),
            ("drain_s", calls),
            ("drain_with_extras_s", all.max(calls)),
            ("left_s", squeeze.left_s),
        ];
        Some(Finding::new(Code::Drain, text, numbers))
    };
    squeezes(reckoned).into_iter().filter_map(drain).collect()
}

/// Where the length of answers and the load meet.
fn coupled(reckoned: &Reckoned<'_>, per_s: f64) -> Option<Finding> {
    let Bears::Coupled {
        per_s: bears,
        alone_s,
        slope_s,
    } = reckoned.bears
    else {
        return None;
    };
    let answer_s = coupled_answer_s(alone_s, slope_s, per_s / reckoned.shards)?;
    let text = format!(
        "at {} calls a second an answer takes {} s; at {} attempts a second it takes longer than the {} s that callers \
         wait",
        shown(per_s),
        shown(answer_s),
        shown(bears),
        shown(reckoned.patience_s)
    );
    let numbers = [
        ("answer_s", answer_s),
        ("capacity_per_s", bears),
        ("patience_s", reckoned.patience_s),
    ];
    Some(Finding::new(Code::LatencyCoupled, text, numbers))
}

/// Each layer's extras multiply with those of the next.
fn layers(reckoned: &Reckoned<'_>) -> Option<Finding> {
    if reckoned.callers.len() < 2 {
        return None;
    }
    let depth = reckoned.callers.len();
    let worst: f64 = reckoned
        .callers
        .iter()
        .map(|caller| caller.attempts_most())
        .product();
    let budgeted: Option<f64> = reckoned.callers.iter().map(|caller| caller.budgeted()).product();
    let mut text = format!(
        "{depth} that retry, one behind the other, make up to {} attempts of one call",
        shown(worst)
    );
    if let Some(budgeted) = budgeted {
        text += &format!(
            ", and their budgets hold the load to {} times the calls",
            shown(budgeted)
        );
    }
    let numbers = [
        ("attempts_per_call", worst),
        ("load_factor", budgeted.unwrap_or(worst)),
    ];
    Some(Finding::new(Code::Layers, text, numbers))
}

fn over_limit(reckoned: &Reckoned<'_>) -> Vec<Finding> {
    let (Comes::Openly { per_s } | Comes::Pooled { per_s, .. }) = reckoned.comes else {
        return Vec::new();
    };
    let servers = (reckoned.admitted_per_s(per_s), "the server's own limit");
    let policies = (reckoned.policy_lets_per_s(), "the policy's own limit");
    let over = [servers, policies].into_iter().filter_map(|(admitted, whose)| {
        let admitted = admitted.filter(|admitted| per_s > *admitted)?;
        let text = format!(
            "{} calls a second come in and {whose} lets {} in: the others wait or are told to come back, and never all get \
             their turn",
            shown(per_s),
            shown(admitted)
        );
        let numbers = [("calls_per_s", per_s), ("limit_per_s", admitted)];
        Some(Finding::new(Code::OverLimit, text, numbers))
    });
    over.collect()
}

/// λ·h against W: who waits between two attempts holds a connection meanwhile.
fn pool(reckoned: &Reckoned<'_>, per_s: f64, connections: f64) -> Finding {
    let caller = reckoned.nearest();
    let server = reckoned.servers().first();
    let service_s = server.map_or(0.0, |server| nanos(reckoned.model.service_mean(server)) / 1e9);
    let answer_s = service_s + 2.0 * nanos(reckoned.model.hop.mean()) / 1e9;
    let (first, again) = failing(server);
    let (mut held_s, mut asleep_s, mut next) = (answer_s, 0.0, first);
    for wait_s in mean_waits(caller.policy.call.backoff(), caller.policy.call.retries()) {
        held_s += next * (wait_s + answer_s);
        asleep_s += next * wait_s;
        next *= again;
    }
    let wanted = per_s * held_s;
    let numbers = [
        ("held_s", held_s),
        ("asleep_s", asleep_s),
        ("connections_wanted", wanted),
        ("connections", connections),
    ];
    // A call that takes no time holds nothing.
    let asleep = percent(if held_s > 0.0 { asleep_s / held_s } else { 0.0 });
    if wanted > connections {
        let text = format!(
            "a call holds its connection for {} s, {asleep} of it between attempts: {} calls a second want {} \
             connections, and there are {}; the line for them grows without end",
            shown(held_s),
            shown(per_s),
            shown(wanted),
            shown(connections)
        );
        Finding::new(Code::PoolSaturates, text, numbers)
    } else {
        let text = format!(
            "a call holds its connection for {} s, {asleep} of it between attempts: {} calls a second want {} of {} \
             connections",
            shown(held_s),
            shown(per_s),
            shown(wanted),
            shown(connections)
        );
        Finding::new(Code::PoolHolds, text, numbers)
    }
}
