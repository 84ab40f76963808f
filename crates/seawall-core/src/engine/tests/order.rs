//! Rule N1: of two reasons that both hold, which one wins.

use super::*;
use crate::latch::CredentialId;
use crate::outcome::{Cause, Refusal};

/// A call that was sent once, and what held when it was judged.
#[derive(Clone, Copy)]
struct Case {
    policy: PolicyBuilder,
    gate: PolicyBuilder,
    replay: Replay,
    once: bool,
    committed: bool,
    takes: Duration,
    report: Report,
}

/// The deadline of every case.
const DEADLINE: Duration = Duration::from_secs(3);

fn met(outcome: Outcome) -> Case {
    Case {
        policy: plain(),
        gate: plain(),
        replay: Replay::Idempotent,
        once: false,
        committed: false,
        takes: ms(10),
        report: Report::of(outcome),
    }
}

fn met_failure() -> Case {
    met(failed(500, Sent::Maybe).outcome)
}

fn met_hint(wait: Duration) -> Case {
    let hint = Some(Hint {
        wait,
        cools: false,
        source: HintSource::RetryAfter,
    });
    met(Outcome::Failed {
        cause: Cause::Status,
        sent: Sent::NotDone,
        hint,
    })
}

impl Case {
    fn told_not_to(mut self) -> Self {
        self.report.should_retry = Some(false);
        self
    }

    fn of_an_unsafe_write(self) -> Self {
        Self {
            replay: Replay::Unsafe,
            ..self
        }
    }

    fn committed(self) -> Self {
        Self {
            committed: true,
            ..self
        }
    }

    fn at_the_deadline(self) -> Self {
        Self {
            takes: DEADLINE,
            ..self
        }
    }

    fn with_a_body_that_is_gone(self) -> Self {
        Self { once: true, ..self }
    }

    fn without_retries(self) -> Self {
        Self {
            policy: self.policy.retries(0),
            ..self
        }
    }

    fn backing_off(self, base: Duration) -> Self {
        Self {
            policy: self.policy.backoff_base(base),
            ..self
        }
    }

    fn without_credit(self) -> Self {
        Self {
            gate: self.gate.edit_budget(|b| b.ratio_per_mille(0).floor_milli(0)),
            ..self
        }
    }

    /// What the call is told once its attempt has ended.
    fn told(self) -> &'static str {
        let mut desk = Desk::new(self.policy);
        let route = [Candidate::at(desk.gate(self.gate, &[]))];
        let call = desk.begin_as(&route, |spec| {
            spec.deadline = Instant::START.after(DEADLINE);
            (spec.replay, spec.once) = (self.replay, self.once);
        });
        let permit = desk.sent(call);
        if self.committed {
            desk.engine.commit(desk.now, &permit);
        }
        desk.pass(self.takes);
        desk.settle(permit, self.report);
        let told = desk.told(call);
        // The finished answer is before all others: nothing that comes later changes it.
        desk.pass(DEADLINE);
        desk.engine.drain_calls(desk.now);
        assert_eq!(desk.told(call), told);
        told
    }
}

#[test]
fn of_two_reasons_that_hold_after_an_attempt_the_earlier_one_wins() {
    // Could break wherever two checks change places: callers act on the reason, and retry or not by it.
    let quota = Outcome::Refused(Refusal::QuotaSpent);
    let context = Outcome::Refused(Refusal::ContextTooLong);
    let caller = Outcome::Refused(Refusal::Caller);
    let denied = Outcome::Denied { latches: false };
    let (soon, long) = (ms(100), Duration::from_secs(7_200));
    // Where both hold; the one that wins; where only the later one holds; its name.
    let rows = [
        (
            met(Outcome::Answer).committed(),
            "succeeded",
            met_failure().committed(),
            "already-streaming",
        ),
        (
            met(quota).committed(),
            "already-streaming",
            met(quota),
            "quota-spent",
        ),
        (
            met(context).committed(),
            "already-streaming",
            met(context),
            "context-too-long",
        ),
        (
            met(quota).told_not_to(),
            "quota-spent",
            met_failure().told_not_to(),
            "told-not-to",
        ),
        (
            met(context).told_not_to(),
            "context-too-long",
            met_failure().told_not_to(),
            "told-not-to",
        ),
        (
            met(caller).told_not_to(),
            "refused",
            met_failure().told_not_to(),
            "told-not-to",
        ),
        (
            met(denied).told_not_to(),
            "denied",
            met_failure().told_not_to(),
            "told-not-to",
        ),
        (
            met_failure().of_an_unsafe_write().told_not_to(),
            "told-not-to",
            met_failure().of_an_unsafe_write(),
            "may-have-acted",
        ),
        (
            met_failure().of_an_unsafe_write().at_the_deadline(),
            "may-have-acted",
            met_failure().at_the_deadline(),
            "deadline-passed",
        ),
        (
            met_failure().with_a_body_that_is_gone().at_the_deadline(),
            "deadline-passed",
            met_failure().with_a_body_that_is_gone(),
            "body-too-large",
        ),
        (
            met_failure().with_a_body_that_is_gone().without_retries(),
            "body-too-large",
            met_failure().without_retries(),
            "attempts-spent",
        ),
        (
            met_hint(long).without_retries(),
            "attempts-spent",
            met_hint(long),
            "server-asked-too-long",
        ),
        (
            met_hint(long).backing_off(DEADLINE),
            "server-asked-too-long",
            met_hint(soon).backing_off(DEADLINE),
            "deadline-too-near",
        ),
        (
            met_failure().backing_off(DEADLINE).without_credit(),
            "deadline-too-near",
            met_failure().without_credit(),
            "budget-empty",
        ),
    ];
    for (both, wins, later, over) in rows {
        assert_eq!(later.told(), over, "the later one of {wins} and {over}");
        assert_eq!(both.told(), wins, "{wins} before {over}");
    }
}

/// What holds before a send.
#[derive(Clone, Copy, Default)]
struct Before {
    latched: bool,
    cools: bool,
    broken: bool,
    full: bool,
}

impl Before {
    /// What a new call is told.
    fn told(self) -> &'static str {
        let mut desk = Desk::new(plain());
        let mut policy = plain().queue(0);
        if self.broken {
            policy = policy.edit_breaker(|b| b.consecutive(1));
        }
        if self.full {
            policy = policy.concurrency(Some(6));
        }
        let candidate = Candidate::at(desk.gate(policy, &[]));
        let route = [Candidate {
            credential: (CredentialId(1), 1),
            ..candidate
        }];
        let send = |desk: &mut Desk| {
            let call = desk.begin(&route);
            desk.sent(call)
        };
        let mut permits: Vec<Permit> = (0..6).map(|_| send(&mut desk)).collect();
        let mut end = |desk: &mut Desk, report| desk.settle(permits.pop().expect("six are out"), report);
        if self.latched {
            for _ in 0..2 {
                end(&mut desk, Report::of(Outcome::Denied { latches: true }));
            }
        }
        if self.broken {
            for wait in [0, 600] {
                desk.pass(ms(wait));
                end(&mut desk, failed(500, Sent::Maybe));
            }
        }
        if self.cools {
            end(&mut desk, throttled(Duration::from_secs(3_600)));
        }
        if self.full {
            // What has ended makes room; a squeeze to what is still out takes it away again.
            let policy = policy
                .concurrency(Some(1))
                .build()
                .expect("a policy in range")
                .gate;
            desk.engine
                .configure(desk.now, GateKey(0), &policy, &[], None)
                .expect("one gate");
        }
        let call = desk.begin(&route);
        desk.told(call)
    }
}

#[test]
fn of_two_reasons_that_hold_before_a_send_the_earlier_one_wins() {
    // Could break if a full queue hid that the upstream is broken, or a cool-down that the key is not accepted.
    let none = Before::default();
    let full = Before { full: true, ..none };
    let broken = Before { broken: true, ..none };
    let cools = Before { cools: true, ..none };
    let rows = [
        (
            Before {
                cools: true,
                latched: true,
                ..none
            },
            "denied-latched",
            cools,
            "cooling-down",
        ),
        (
            Before {
                broken: true,
                cools: true,
                ..none
            },
            "cooling-down",
            broken,
            "breaker-open",
        ),
        (
            Before {
                full: true,
                broken: true,
                ..none
            },
            "breaker-open",
            full,
            "limiter-full",
        ),
        (
            Before {
                latched: true,
                cools: true,
                broken: true,
                full: true,
            },
            "denied-latched",
            full,
            "limiter-full",
        ),
    ];
    for (both, wins, later, over) in rows {
        assert_eq!(later.told(), over, "the later one of {wins} and {over}");
        assert_eq!(both.told(), wins, "{wins} before {over}");
    }
    let mut desk = Desk::new(plain());
    let call = desk.begin(&[]);
    assert_eq!(desk.told(call), "no-candidate");
}
