//! What was sent a minute, as a plain list of who took what when.

use super::book::GATES;
use crate::outcome::{Cause, Outcome, Report, Sent, Usage};
use crate::policy::GatePolicy;
use crate::time::Instant;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Requests, tokens, tokens in, tokens out.
type Cost = [u64; 4];

pub(super) struct Taken {
    sent: Vec<Entry>,
    /// By gate: the first entry that its limits of now hold for. What went before a reload weighs in the engine alone.
    since: [usize; GATES],
    /// What attempts used whose sending has not been told yet: events come after the step.
    used: Vec<((u64, u32), Cost)>,
}

struct Entry {
    at: Instant,
    /// Call and attempt.
    who: (u64, u32),
    gates: &'static [usize],
    /// What it took; by its estimate until it is known.
    cost: Cost,
}

const MINUTE: u128 = 60_000_000_000;

impl Taken {
    pub(super) const fn new() -> Self {
        Self {
            sent: Vec::new(),
            since: [0; GATES],
            used: Vec::new(),
        }
    }

    /// The gate has other limits from now on.
    pub(super) const fn configured(&mut self, gate: usize) {
        self.since[gate] = self.sent.len();
    }

    /// An attempt is sent that passes `gates`: over no span up to now is any limit exceeded. Says which was.
    pub(super) fn sent(
        &mut self,
        at: Instant,
        who: (u64, u32),
        gates: &'static [usize],
        (tokens_in, tokens_out): (u32, u32),
        policies: &[GatePolicy; GATES],
    ) -> Option<String> {
        let (tokens_in, tokens_out) = (u64::from(tokens_in), u64::from(tokens_out));
        let cost = [1, tokens_in + tokens_out, tokens_in, tokens_out];
        self.sent.push(Entry { at, who, gates, cost });
        if let Some(known) = self.used.iter().position(|(known, _)| *known == who) {
            let (_, used) = self.used.swap_remove(known);
            self.at_most(who, used);
        }
        gates
            .iter()
            .find_map(|gate| self.exceeded(at, *gate, &policies[*gate]))
    }

    fn exceeded(&self, at: Instant, gate: usize, policy: &GatePolicy) -> Option<String> {
        let rates = policy.limits().rates();
        let limits = [
            rates.requests_per_minute(),
            rates.tokens_per_minute(),
            rates.tokens_in_per_minute(),
            rates.tokens_out_per_minute(),
        ];
        for (kind, limit) in limits.into_iter().enumerate() {
            let Some(limit) = limit.map(u128::from) else {
                continue;
            };
            let mut sum = 0;
            for entry in self.sent[self.since[gate]..]
                .iter()
                .rev()
                .filter(|entry| entry.gates.contains(&gate))
            {
                sum += u128::from(entry.cost[kind]);
                let span = u128::from(at.since(entry.at).as_nanos());
                if sum * MINUTE > limit * (MINUTE + span) {
                    return Some(format!(
                        "gate {gate} let {sum} of kind {kind} through in {span} ns, {limit} a minute may go"
                    ));
                }
            }
        }
        None
    }

    /// An attempt met something: it took no more than it is known to have used.
    pub(super) fn settled(&mut self, who: (u64, u32), report: &Report) {
        match (report.usage, report.outcome) {
            (
                Usage {
                    tokens_in,
                    tokens_out,
                },
                _,
            ) if report.usage != Usage::NONE => {
                self.at_most(who, [1, tokens_in + tokens_out, tokens_in, tokens_out]);
            }
            (_, Outcome::Answer) => {}
            (
                _,
                Outcome::Failed {
                    cause: Cause::Status,
                    sent: Sent::Maybe,
                    ..
                },
            ) => self.at_most(who, [1, 0, 0, 0]),
            (_, outcome) => self.dropped(who, outcome.sent()),
        }
    }

    /// An attempt ended without an answer.
    pub(super) fn dropped(&mut self, who: (u64, u32), sent: Sent) {
        match sent {
            Sent::No => self.at_most(who, [0; 4]),
            Sent::NotDone | Sent::Done => self.at_most(who, [1, 0, 0, 0]),
            Sent::Maybe => {}
        }
    }

    fn at_most(&mut self, who: (u64, u32), used: Cost) {
        match self.sent.iter_mut().find(|entry| entry.who == who) {
            None => self.used.push((who, used)),
            Some(entry) => {
                for (cost, used) in entry.cost.iter_mut().zip(used) {
                    *cost = used.min(*cost);
                }
            }
        }
    }
}
