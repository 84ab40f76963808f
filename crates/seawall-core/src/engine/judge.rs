//! After an attempt: whether, where and when the call is sent again; and, beside a slow one, whether a second goes.

use super::Engine;
use super::depart::Beside;
use crate::budget::Empty;
use crate::call::{Call, Charged, Judgement, Others, Standing, State};
use crate::outcome::Outcome;
use crate::policy::OnEmpty;
use crate::reason::Reason;
use crate::time::{Duration, Instant};
use crate::trace::{Held, What};
use crate::verdict::{Action, Verdict};
use crate::wait::{Drawn, WaitPlan};

impl Engine {
    /// Judges what the call met by rule N1 and says what follows.
    pub(super) fn judge(&mut self, now: Instant, slot: u32) -> Verdict {
        match self.calls[slot as usize].judge(now) {
            // Nearly always. With a reason that is known here, no verdict is copied around.
            Judgement::Answered => self
                .close(now, slot, Reason::Succeeded, None, Held::NOTHING)
                .verdict(),
            Judgement::End(reason) => self.finish(now, slot, reason, None),
            Judgement::Leave(_) | Judgement::Again if self.draining => {
                self.finish(now, slot, Reason::Draining, None)
            }
            Judgement::Leave(reason) => self.leave(now, slot, reason),
            Judgement::Again => self.again(now, slot),
        }
    }

    /// Over at this candidate: goes on at another where rule K1 finds one, and ends with `reason` where not.
    fn leave(&mut self, now: Instant, slot: u32, reason: Reason) -> Verdict {
        let call = &mut self.calls[slot as usize];
        let at = usize::from(call.at);
        match reason {
            Reason::ContextTooLong
            | Reason::Denied { .. }
            | Reason::ServerAskedTooLong { .. }
            | Reason::DeadlineTooNear { .. } => call.legs[at].spent = true,
            Reason::QuotaSpent => self.spend_quota(slot),
            _ => {}
        }
        let call = &self.calls[slot as usize];
        let others = if call.deadline.since(now) >= call.policy.timeouts.min_attempt {
            self.others(now, slot, Some(&reason))
        } else {
            Others::default()
        };
        if let Some(leg) = others.now {
            return self.send(now, slot, leg, Beside::Nothing);
        }
        if let Some(leg) = others.to_wait_for() {
            return self.go_on_at(now, slot, leg);
        }
        self.finish(now, slot, reason, None)
    }

    /// Nothing more is to be had at any candidate of the call that shares the quota of the one it is at (rule K3).
    fn spend_quota(&mut self, slot: u32) {
        let call = &self.calls[slot as usize];
        let quota = self.chain(call.leg().candidate.gate.number).quota();
        for leg in 0..call.legs.len() {
            let gate = self.calls[slot as usize].legs[leg].candidate.gate.number;
            if self.chain(gate).quota() == quota {
                self.calls[slot as usize].legs[leg].spent = true;
            }
        }
    }

    /// The wait does not fit. A wait that long would have moved the call on in good time, too (rule K1, patience).
    fn too_near(&mut self, now: Instant, slot: u32, reason: Reason) -> Verdict {
        let call = &self.calls[slot as usize];
        let policy = &call.policy;
        let wait = match reason {
            Reason::DeadlineTooNear { needs, .. } => needs.minus(policy.timeouts.min_attempt),
            _ => Duration::ZERO,
        };
        if call.leg().sends >= policy.tries || wait > policy.patience {
            return self.leave(now, slot, reason);
        }
        self.finish(now, slot, reason, None)
    }

    /// The call may be sent again: by the hint and our own guess, unless another candidate is better (K1), the time
    /// does not suffice, or the budget has nothing left.
    fn again(&mut self, now: Instant, slot: u32) -> Verdict {
        let call = &mut self.calls[slot as usize];
        let Some(met) = call.met else {
            return self.finish(now, slot, Reason::Cancelled, None);
        };
        let (at, sends) = (usize::from(call.at), call.leg().sends);
        let left = call.deadline.since(now);
        let plan = WaitPlan::new(
            &call.policy,
            sends.saturating_sub(1),
            call.previous_delay,
            met.hint,
            left,
        );
        let plan = match plan {
            Ok(plan) => plan,
            Err(reason @ Reason::ServerAskedTooLong { .. }) => return self.leave(now, slot, reason),
            Err(reason) => return self.too_near(now, slot, reason),
        };
        let Drawn { wait, follows } = plan.drawn(&mut call.rng);
        let until = now.after(wait);
        let patience = call.policy.patience;
        // Wherever the call goes meanwhile, here it is not seen before its wait is over.
        call.legs[at].not_before = until;
        call.uncounted = !call.policy.throttled_counts && matches!(met.outcome, Outcome::Throttled { .. });
        if call.legs.len() > 1 && (sends >= call.policy.tries || wait > patience) {
            let others = self.others(now, slot, Some(&Reason::Retry));
            if let Some(leg) = others.now {
                return self.send(now, slot, leg, Beside::Nothing);
            }
            if let Some((leg, theirs)) = others.soonest
                && wait > patience
                && theirs < until
            {
                return self.go_on_at(now, slot, leg);
            }
        }
        let call = &mut self.calls[slot as usize];
        call.previous_delay = follows;
        let at = call.at;
        let took = if Call::is_charged(&met) {
            match self.charge(now, slot, at) {
                Ok(took) => took,
                Err((gate, empty)) => {
                    let reason = Reason::BudgetEmpty {
                        granted: empty.granted,
                        allowed: empty.allowed,
                    };
                    return self.without_credit(now, slot, gate, until, reason);
                }
            }
        } else {
            let chain = self.chain_at(slot, at);
            self.calls[slot as usize].charged = Some(Charged::nothing(at, chain));
            Held::NOTHING
        };
        self.wait_until(now, slot, until, plan.reason(wait), took, Held::NOTHING)
    }

    pub(super) fn wait_until(
        &mut self,
        now: Instant,
        slot: u32,
        until: Instant,
        reason: Reason,
        took: Held,
        gave: Held,
    ) -> Verdict {
        self.calls[slot as usize].state = State::Waiting { until, reason };
        self.agenda.arm(slot, until);
        self.record(slot, What::Waits(reason, until), took, gave);
        self.step(now, slot)
    }

    /// No credit at `gate` for a retry that would go at `resume_at`: ends, moves on, or stands in line for credit.
    fn without_credit(
        &mut self,
        now: Instant,
        slot: u32,
        gate: u32,
        resume_at: Instant,
        reason: Reason,
    ) -> Verdict {
        let on_empty = self.gates[gate as usize]
            .budget
            .as_ref()
            .map_or(OnEmpty::Stop, |budget| budget.on_empty());
        match on_empty {
            OnEmpty::Stop => self.leave(now, slot, reason),
            OnEmpty::Wait => {
                self.calls[slot as usize].ticket = 0;
                self.stand_for_credit(now, slot, gate, resume_at, Held::NOTHING)
            }
        }
    }

    fn stand_for_credit(
        &mut self,
        now: Instant,
        slot: u32,
        gate: u32,
        resume_at: Instant,
        gave: Held,
    ) -> Verdict {
        let call = &mut self.calls[slot as usize];
        if call.ticket == 0 {
            self.tickets += 1;
            call.ticket = self.tickets;
        }
        let ticket = call.ticket;
        self.gates[gate as usize]
            .savers
            .join(&mut self.links, slot, ticket);
        self.calls[slot as usize].state = State::Saving { gate, resume_at };
        let until = self.arm_saver(now, slot, gate);
        let reason = Reason::BudgetWait {
            left: until.since(now),
        };
        self.record(slot, What::Waits(reason, until), Held::TURN, gave);
        self.step(now, slot)
    }

    /// The send at `leg` that was to come now is an extra without credit at `gate`. An incoming retry is answered at
    /// once (rule G4); what waited its turn elsewhere waits for credit now, where it may.
    pub(super) fn unpaid(
        &mut self,
        now: Instant,
        slot: u32,
        leg: u16,
        gate: u32,
        Empty { granted, allowed }: Empty,
        gave: Held,
    ) -> Verdict {
        let call = &self.calls[slot as usize];
        let budget = self.gates[gate as usize].budget.as_ref();
        match budget.map(|budget| budget.on_empty()) {
            Some(OnEmpty::Wait) if call.sends > 0 => {
                let gave = gave.and(self.leave_queues(now, slot));
                let call = &mut self.calls[slot as usize];
                (call.at, call.ticket) = (leg, 0);
                self.stand_for_credit(now, slot, gate, now, gave)
            }
            Some(OnEmpty::Wait | OnEmpty::Stop) | None => {
                let reason = Reason::BudgetEmpty { granted, allowed };
                self.close(now, slot, reason, None, gave).verdict()
            }
        }
    }

    /// When a call that waits for credit asks again: the first at each turn of the budget's ring, the others once no
    /// attempt would fit any more.
    fn arm_saver(&mut self, now: Instant, slot: u32, gate: u32) -> Instant {
        let gate = &self.gates[gate as usize];
        let call = &self.calls[slot as usize];
        let give_up = call.deadline.before(call.policy.timeouts.min_attempt);
        let until = match &gate.budget {
            Some(budget) if gate.savers.head() == Some(slot) => budget.next_turn().min(give_up),
            Some(_) | None => give_up,
        };
        // A point that has passed would make the call ask for ever.
        let until = if until > now {
            until
        } else {
            call.deadline.max(now)
        };
        self.agenda.arm(slot, until);
        until
    }

    /// Wakes the first that waits for credit, so that it is told when to ask.
    pub(super) fn wake_saver(&mut self, now: Instant, gate: u32) {
        if let Some(head) = self.gates[gate as usize].savers.head() {
            self.arm_saver(now, head, gate);
            self.agenda.make_ready(head);
        }
    }

    /// A call that waits for credit asks again.
    pub(super) fn save(&mut self, now: Instant, slot: u32, gate: u32, resume_at: Instant) -> Verdict {
        let call = &self.calls[slot as usize];
        let give_up = call.deadline.before(call.policy.timeouts.min_attempt);
        let (at, is_first) = (call.at, self.gates[gate as usize].savers.head() == Some(slot));
        if is_first && now <= give_up {
            match self.charge(now, slot, at) {
                Ok(took) => {
                    let gave = self.leave_queues(now, slot);
                    self.calls[slot as usize].ticket = 0;
                    let wait = resume_at.max(now).since(now);
                    return self.wait_until(
                        now,
                        slot,
                        resume_at.max(now),
                        Reason::BackingOff { wait },
                        took,
                        gave,
                    );
                }
                Err((other, empty)) if other != gate => {
                    return self.change_line(now, slot, other, resume_at, empty);
                }
                Err(_) => {}
            }
        }
        if now >= give_up {
            let (granted, allowed) = match &self.gates[gate as usize].budget {
                Some(budget) => (budget.granted(), budget.allowed()),
                None => (0, 0),
            };
            self.leave_queues(now, slot);
            self.calls[slot as usize].ticket = 0;
            return self.leave(now, slot, Reason::BudgetEmpty { granted, allowed });
        }
        let until = self.arm_saver(now, slot, gate);
        Verdict {
            action: Action::Park { until },
            reason: Reason::BudgetWait {
                left: until.since(now),
            },
        }
    }

    /// The gate that the call saved at has credit now, and `other` of its chain has none: stands in that line, to
    /// the place that its ticket gives it, or ends where that gate's policy is not to wait.
    fn change_line(
        &mut self,
        now: Instant,
        slot: u32,
        other: u32,
        resume_at: Instant,
        Empty { granted, allowed }: Empty,
    ) -> Verdict {
        let gave = self.leave_queues(now, slot);
        let budget = self.gates[other as usize].budget.as_ref();
        match budget.map(|budget| budget.on_empty()) {
            Some(OnEmpty::Wait) => self.stand_for_credit(now, slot, other, resume_at, gave),
            Some(OnEmpty::Stop) | None => {
                self.calls[slot as usize].ticket = 0;
                self.leave(now, slot, Reason::BudgetEmpty { granted, allowed })
            }
        }
    }

    /// Attempts are out: a hedge, where one is due and every part of it is free (rule J1).
    pub(super) fn fly(&mut self, now: Instant, slot: u32) -> Verdict {
        let call = &self.calls[slot as usize];
        let alone = call.attempts_out() == 1;
        let first = call
            .attempts()
            .next()
            .expect("a call flies while an attempt is out");
        let (reason, leg) = (first.role.reason(), first.leg);
        let (due, hedge) = match (call.policy.hedge, call.hedge_at) {
            (Some(hedge), Some(due))
                if alone && !call.hedged && call.hedges_act_once_at(leg) && !call.once =>
            {
                (due, hedge)
            }
            (Some(_) | None, _) => {
                return Verdict {
                    action: Action::InFlight {
                        hedge_at: None,
                        lost: None,
                    },
                    reason,
                };
            }
        };
        if now < due {
            if self.agenda.armed_at(slot) != Some(due) {
                self.agenda.arm(slot, due);
            }
            return Verdict {
                action: Action::InFlight {
                    hedge_at: Some(due),
                    lost: None,
                },
                reason,
            };
        }
        // One chance: a hedge that is not free now would only add to what makes the first one slow.
        let call = &mut self.calls[slot as usize];
        call.hedged = true;
        let fits = call.deadline.since(now) >= call.policy.timeouts.min_attempt;
        let own = self.chain_at(slot, leg).own() as usize;
        let call = &self.calls[slot as usize];
        if fits
            && !self.draining
            && call.retries_made < call.retries
            && self.gates[own].may_hedge(now, hedge)
            && self.standing(now, slot, leg) == Standing::Now
            && let Ok(paid) = self.charge(now, slot, leg)
        {
            self.gates[own].hedged(now, hedge);
            return self.send(now, slot, leg, Beside::First(paid));
        }
        Verdict {
            action: Action::InFlight {
                hedge_at: None,
                lost: None,
            },
            reason,
        }
    }
}
