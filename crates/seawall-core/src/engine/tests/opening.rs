//! A call that is sent before it has a seat is the same call.

use super::*;
use crate::engine::{Opened, Opening, Settled};
use crate::latch::CredentialId;
use crate::learned::{Kind, Learned, Word};
use crate::policy::{Concurrency, OnOpen};
use crate::rng::Rng;
use proptest::prelude::*;

/// A call as its caller gave it: at which gate, how it may be repeated, and the tokens that it reads.
#[derive(Clone, Copy)]
struct Given {
    gate: usize,
    replay: Replay,
    nth: u32,
    tokens_in: u32,
}

/// What one driver has of a call.
enum Mine {
    Opening(Opening),
    Seated(CallId, Option<Permit>),
    Nothing,
}

/// One of two drivers in the same world.
struct Driver {
    desk: Desk,
    route: [Candidate; 2],
    opens: bool,
    calls: Vec<(Given, Mine)>,
}

impl Driver {
    fn new(opens: bool, policy: PolicyBuilder, found_out: Concurrency) -> Self {
        let mut desk = Desk::new(policy);
        let all = desk.gate(plain().concurrency(Some(5)), &[]);
        let gates = [
            desk.gate(policy, &[all]),
            desk.gate(policy.concurrency(found_out), &[]),
        ];
        Self {
            desk,
            // One credential at both gates.
            route: gates.map(|gate| Candidate {
                credential: (CredentialId(1), 0),
                // The largest calls do not fit.
                window: 300,
                ..Candidate::at(gate)
            }),
            opens,
            calls: Vec::new(),
        }
    }

    fn hear(&mut self, which: usize, call: CallId, verdict: Verdict) {
        self.calls[which].1 = match verdict.action {
            Action::Send(permit) => Mine::Seated(call, Some(permit)),
            Action::Finish { .. } => {
                self.desk.engine.end(self.desk.now, call);
                Mine::Nothing
            }
            Action::Wait(_) | Action::Park { .. } | Action::InFlight { .. } => Mine::Seated(call, None),
        };
    }

    fn begin(&mut self, given: Given) {
        let now = self.desk.now;
        self.calls.push((given, Mine::Nothing));
        let which = self.calls.len() - 1;
        let (policy, route) = (self.desk.policy, self.route);
        let spec = spec(now, &policy, &route, given);
        if self.opens {
            match self.desk.engine.open(now, &spec) {
                Opened::Sent(opening, _) => self.calls[which].1 = Mine::Opening(opening),
                Opened::Seated(call, verdict) => self.hear(which, call, verdict),
            }
        } else {
            let call = self.desk.engine.begin(now, spec);
            let verdict = self.desk.engine.poll(now, call);
            self.hear(which, call, verdict);
        }
    }

    fn take(&mut self, which: usize) -> (Given, Mine) {
        let given = self.calls[which].0;
        (given, core::mem::replace(&mut self.calls[which].1, Mine::Nothing))
    }

    /// The attempt of a call meets something; nothing happens where it has none out.
    fn settle(&mut self, which: usize, report: Report) {
        let now = self.desk.now;
        let (policy, route) = (self.desk.policy, self.route);
        match self.take(which) {
            (given, Mine::Opening(opening)) => {
                let told = |began| spec(began, &policy, &route, given);
                match self.desk.engine.settle_opening(now, opening, report, told) {
                    Settled::Answered(ended) => assert_eq!((ended.unknown, ended.sends), (false, 1)),
                    Settled::Seated(call, verdict) => self.hear(which, call, verdict),
                }
            }
            (_, Mine::Seated(call, Some(permit))) => {
                self.desk.engine.settle(now, permit, report);
                let verdict = self.desk.engine.poll(now, call);
                self.hear(which, call, verdict);
            }
            (_, other) => self.calls[which].1 = other,
        }
    }

    /// The attempt of a call hands its first content on.
    fn commit(&mut self, which: usize) {
        let now = self.desk.now;
        match &mut self.calls[which].1 {
            Mine::Opening(opening) => self.desk.engine.commit_opening(now, opening),
            Mine::Seated(_, Some(permit)) => self.desk.engine.commit(now, permit),
            Mine::Seated(_, None) | Mine::Nothing => {}
        }
    }

    /// The answer of a call's attempt says what its server has left.
    fn head(&mut self, which: usize, learned: &Learned) {
        let now = self.desk.now;
        match &self.calls[which].1 {
            Mine::Opening(opening) => self.desk.engine.head_opening(now, opening, learned),
            Mine::Seated(_, Some(permit)) => self.desk.engine.head(now, permit, learned),
            Mine::Seated(_, None) | Mine::Nothing => {}
        }
    }

    /// The attempt of a call goes out with another version of its credential.
    fn renew(&mut self, which: usize, version: u32) {
        let now = self.desk.now;
        match &self.calls[which].1 {
            Mine::Opening(opening) => self.desk.engine.renew_opening(now, opening, version),
            Mine::Seated(_, Some(permit)) => self.desk.engine.renew(now, permit, version),
            Mine::Seated(_, None) | Mine::Nothing => {}
        }
    }

    fn leave(&mut self, which: usize, sent: Sent) {
        let now = self.desk.now;
        match self.take(which).1 {
            Mine::Opening(opening) => self.desk.engine.drop_opening(now, opening, sent),
            Mine::Seated(call, permit) => {
                if let Some(permit) = permit {
                    self.desk
                        .engine
                        .abandon(now, permit, sent, crate::outcome::Usage::NONE);
                }
                self.desk.engine.end(now, call);
            }
            Mine::Nothing => {}
        }
    }

    /// A call that has only been opened takes a seat.
    fn seat(&mut self, which: usize) {
        let (policy, route) = (self.desk.policy, self.route);
        self.calls[which].1 = match self.take(which) {
            (given, Mine::Opening(opening)) => {
                let spec = spec(self.desk.engine.began(&opening), &policy, &route, given);
                let permit = self.desk.engine.seat(opening, &spec);
                Mine::Seated(permit.call(), Some(permit))
            }
            (_, other) => other,
        };
    }

    fn serve(&mut self) {
        for _ in 0..TURNS_MAX {
            let Some(call) = self.desk.engine.woken(self.desk.now) else {
                return;
            };
            let is_it = |(_, mine): &(Given, Mine)| matches!(mine, Mine::Seated(id, _) if *id == call);
            let which = self.calls.iter().position(is_it).expect("who is woken is there");
            let verdict = self.desk.engine.poll(self.desk.now, call);
            if !matches!(verdict.action, Action::InFlight { .. }) {
                self.hear(which, call, verdict);
            }
        }
        panic!("calls wake each other without end");
    }
}

fn spec<'a>(now: Instant, policy: &'a Policy, route: &'a [Candidate; 2], given: Given) -> Spec<'a> {
    let mut spec = Desk::spec(now, policy, &route[given.gate..=given.gate]);
    (spec.replay, spec.nth, spec.tokens_in) = (given.replay, given.nth, given.tokens_in);
    spec
}

/// What a server may say of a window of 10 attempts, or of one of 1 000 tokens, that ends within the test.
fn some_word(rng: &mut Rng) -> Learned {
    let (kind, limit) = [(Kind::Requests, 10), (Kind::TokensIn, 1_000)][usize::from(rng.up_to(1) == 0)];
    let word = Word {
        limit: (rng.up_to(2) > 0).then_some(limit),
        remaining: rng.up_to(limit),
        resets_in: (rng.up_to(2) > 0).then(|| ms(rng.up_to(900))),
    };
    Learned::NOTHING.with(kind, word)
}

fn some_report(rng: &mut Rng) -> Report {
    match rng.up_to(10) {
        0..=1 => Report::of(Outcome::Answer),
        2..=3 => Report {
            first_byte: Some(ms(rng.up_to(50))),
            ..Report::of(Outcome::Answer)
        },
        4 => throttled(ms(300)),
        5 => failed(500, Sent::Maybe),
        6 => Report {
            resent: true,
            ..Report::of(Outcome::Answer)
        },
        7..=9 => Report {
            status: 401,
            ..Report::of(Outcome::Denied { latches: true })
        },
        _ => failed(503, Sent::NotDone),
    }
}

proptest! {
    #[test]
    fn a_call_that_is_sent_before_it_has_a_seat_leaves_the_same_trace(seed: u64) {
        // Broken if anything that a seat does were left out of the short way, or done in another order.
        let mut rng = Rng::new(seed, 3);
        let policy = Policy::builder()
            .deadline(ms(2_000))
            .retries(u32::try_from(rng.up_to(3)).unwrap())
            .edit_breaker(|b| b.consecutive(2).on_open(OnOpen::Wait))
            .edit_budget(|b| b.floor_milli(400));
        let (policy, found_out) = match rng.up_to(2) {
            0 => (policy, Concurrency::Auto),
            1 => (policy, Concurrency::Gradient),
            _ => (policy.edit_breaker(|b| b.ramp(Some(ms(700)))), Concurrency::Gradient),
        };
        let (mut one, mut two) = (Driver::new(true, policy, found_out), Driver::new(false, policy, found_out));
        for turn in 0..80 {
            let step = rng.up_to(13);
            let which = usize::try_from(rng.up_to(one.calls.len().max(1) as u64 - 1)).unwrap();
            let replays = [Replay::Idempotent, Replay::Keyed, Replay::Declared, Replay::Unsafe];
            let given = Given {
                gate: usize::try_from(rng.up_to(1)).unwrap(),
                replay: replays[usize::try_from(rng.up_to(3)).unwrap()],
                nth: 1 + u32::from(rng.up_to(9) == 0),
                tokens_in: [0, 150, 400][usize::try_from(rng.up_to(2)).unwrap()],
            };
            let sent = if rng.up_to(1) == 0 { Sent::No } else { Sent::Maybe };
            let (report, length) = (some_report(&mut rng), ms(rng.up_to(400)));
            let (word, version) = (some_word(&mut rng), u32::try_from(rng.up_to(1)).unwrap());
            for driver in [&mut one, &mut two] {
                match step {
                    0..=2 => driver.begin(given),
                    3..=5 if which < driver.calls.len() => driver.settle(which, report),
                    6 if which < driver.calls.len() => driver.leave(which, sent),
                    7 if which < driver.calls.len() => driver.seat(which),
                    8 => driver.desk.pass(length),
                    9 if which < driver.calls.len() => driver.commit(which),
                    10 if which < driver.calls.len() => driver.head(which, &word),
                    11 if which < driver.calls.len() => driver.renew(which, version),
                    // Late: nothing begins after it.
                    12 if turn > 60 => driver.desk.engine.drain_calls(driver.desk.now),
                    _ => driver.desk.engine.force(driver.desk.now, driver.route[0].gate, Mode::Auto),
                }
                driver.serve();
            }
            let traces = [&mut one, &mut two].map(|driver| codes(&mut driver.desk.engine));
            prop_assert_eq!(&traces[0], &traces[1], "seed {}", seed);
            for candidate in one.route {
                let states = [&one, &two].map(|driver| driver.desk.engine.state(driver.desk.now, candidate.gate));
                prop_assert_eq!(states[0], states[1], "seed {}", seed);
            }
            prop_assert_eq!(one.desk.engine.permits_out(), two.desk.engine.permits_out());
            prop_assert_eq!(one.desk.engine.calls_alive(), two.desk.engine.calls_alive());
        }
    }
}
