//! How much a minute (rules I2 and I4): what an hour admits, what a refusal costs, and what a server's word saves.

use super::*;
use crate::learned::{Kind, Learned, Word};
use crate::outcome::Usage;
use crate::rng::Rng;
use alloc::collections::VecDeque;
use proptest::prelude::*;

const MINUTE: Duration = Duration::from_secs(60);

fn rpm(n: u64) -> PolicyBuilder {
    plain().requests_per_minute(Some(n))
}

/// A desk whose calls wait as long as it takes.
fn patient() -> Desk {
    Desk::new(plain().deadline(Duration::from_secs(86_400)).queue(100_000))
}

/// When each of `costs` may go by the definition of two buckets alone: over no span since any earlier one do they add
/// up to more than a minute's worth and what runs off in that span. Nanoseconds, first come, first served.
fn by_definition(costs: &[u64], limits: [u64; 2], end: u64) -> Vec<u64> {
    let mut times: Vec<u64> = Vec::new();
    let minute = u128::from(MINUTE.as_nanos());
    for (n, cost) in costs.iter().enumerate() {
        let mut at = times.last().copied().unwrap_or(0);
        for (limit, weigh) in limits.into_iter().zip([0, 1]) {
            let weight = |cost: u64| if weigh == 0 { 1 } else { u128::from(cost) };
            let mut sum = weight(*cost);
            for (earlier, began) in costs[..n].iter().zip(&times).rev() {
                sum += weight(*earlier);
                let over = (sum * minute).saturating_sub(u128::from(limit) * minute);
                at = at.max(began + u64::try_from(over.div_ceil(u128::from(limit))).unwrap());
            }
        }
        if at >= end {
            break;
        }
        times.push(at);
    }
    times
}

/// When each of `costs` goes through a gate of 60 requests and 10 000 tokens a minute, within an hour.
fn by_engine(costs: &[u64]) -> Vec<u64> {
    let mut desk = patient();
    let gate = desk.gate(rpm(60).tokens_per_minute(Some(10_000)).queue(100_000), &[]);
    let route = [Candidate::at(gate)];
    let end = Instant::START.after(Duration::from_secs(3_600));
    let mut times = Vec::new();
    let mut waiting: VecDeque<CallId> = VecDeque::new();
    for cost in costs {
        let call = desk.begin_as(&route, |spec| {
            spec.tokens_in = u32::try_from(cost / 2).unwrap();
            spec.tokens_out = u32::try_from(cost - cost / 2).unwrap();
        });
        waiting.push_back(call);
        if let Action::Send(permit) = desk.poll(call).action {
            times.push(desk.now.as_nanos());
            desk.answer(permit);
        }
    }
    while let Some(at) = desk.engine.next_wake().filter(|at| *at < end) {
        desk.now = desk.now.max(at);
        for permit in desk.serve() {
            times.push(desk.now.as_nanos());
            desk.answer(permit);
        }
    }
    times
}

#[test]
fn an_hour_of_two_limits_admits_what_both_buckets_allow() {
    // Broken by one request or token more or less, or by a nanosecond: the expected times come from the definition.
    let hour = 3_600 * 1_000_000_000;
    let mut rng = Rng::new(7, 7);
    let small = [10_u64; 4_000];
    let mixed: Vec<u64> = (0..4_000).map(|_| rng.between(1, 700)).collect();
    let large: Vec<u64> = (0..200).map(|_| rng.between(5_000, 10_000)).collect();
    for (costs, count) in [(&small[..], Some(60 + 3_600 - 1)), (&mixed, None), (&large, None)] {
        let expected = by_definition(costs, [60, 10_000], hour);
        let times = by_engine(costs);
        let differs = times.iter().zip(&expected).position(|(one, two)| one != two);
        assert_eq!((times.len(), differs), (expected.len(), None));
        assert!(count.is_none_or(|count| count == times.len()));
        assert!(
            times.len() < costs.len(),
            "there is always one more that wants to go"
        );
    }
}

#[test]
fn what_was_used_is_what_is_taken() {
    // Broken if the estimate stayed taken after the usage was known, or if a failure kept its tokens.
    let mut desk = patient();
    let gate = desk.gate(plain().tokens_per_minute(Some(1_000)), &[]);
    let route = [Candidate::at(gate)];
    let left = |desk: &Desk| desk.engine.state(desk.now, gate).unwrap().rates[Kind::Tokens as usize].left;
    let begin =
        |desk: &mut Desk| desk.begin_as(&route, |spec| (spec.tokens_in, spec.tokens_out) = (100, 500));
    let call = begin(&mut desk);
    let permit = desk.sent(call);
    assert_eq!(left(&desk), Some(400));
    let usage = Usage {
        tokens_in: 90,
        tokens_out: 10,
    };
    let report = Report {
        usage,
        ..Report::of(Outcome::Answer)
    };
    desk.settle(permit, report);
    assert_eq!(left(&desk), Some(900));
    let call = begin(&mut desk);
    let permit = desk.sent(call);
    desk.settle(permit, failed(400, Sent::NotDone));
    assert_eq!(left(&desk), Some(900));
    let call = begin(&mut desk);
    let permit = desk.sent(call);
    let over = Usage {
        tokens_in: 100,
        tokens_out: 2_000,
    };
    desk.engine.abandon(desk.now, permit, Sent::Maybe, over);
    assert_eq!(left(&desk), Some(0));
    let late = begin(&mut desk);
    assert_eq!(desk.told(late), "rate-wait");
    // 100 and 2 100 were used; 600 more fit when 1 800 of those have run off.
    assert_eq!(
        desk.engine.next_wake(),
        Some(desk.now.after(Duration::from_secs(108)))
    );
}

#[test]
fn a_call_that_can_never_go_is_told_so_and_one_that_would_go_too_late_is_told_when() {
    // Broken if either waited: the first for ever, the second to its deadline for nothing.
    let mut desk = Desk::new(plain().deadline(Duration::from_secs(30)));
    let gate = desk.gate(plain().tokens_per_minute(Some(1_000)), &[]);
    let route = [Candidate::at(gate)];
    let large = desk.begin_as(&route, |spec| spec.tokens_in = 1_001);
    let verdict = desk.poll(large);
    assert_eq!(
        verdict.reason.to_string(),
        "the call needs 1001 of a limit that holds 1000"
    );
    assert!(matches!(verdict.action, Action::Finish { retry_at: None, .. }));
    let first = desk.begin_as(&route, |spec| spec.tokens_in = 1_000);
    drop(desk.sent(first));
    let late = desk.begin_as(&route, |spec| spec.tokens_in = 800);
    let verdict = desk.poll(late);
    assert_eq!(verdict.reason.code(), "limiter-full");
    let Action::Finish { retry_at, .. } = verdict.action else {
        panic!("it cannot go in time: {verdict:?}")
    };
    assert_eq!(retry_at, Some(desk.now.after(Duration::from_secs(48))));
}

#[test]
fn a_small_call_never_passes_a_large_one_that_waits() {
    // Broken if the queue let go whoever fits: under a stream of small calls a large one would starve.
    let mut desk = patient();
    let gate = desk.gate(plain().tokens_per_minute(Some(1_000)), &[]);
    let route = [Candidate::at(gate)];
    let sized = |desk: &mut Desk, tokens| desk.begin_as(&route, |spec| spec.tokens_in = tokens);
    let first = sized(&mut desk, 500);
    drop(desk.sent(first));
    let large = sized(&mut desk, 900);
    assert_eq!(desk.told(large), "rate-wait");
    let small = sized(&mut desk, 1);
    assert_eq!(desk.told(small), "queued");
    desk.pass(Duration::from_secs(24));
    let order: Vec<CallId> = desk.serve().iter().map(Permit::call).collect();
    assert_eq!(order, [large], "the small one needs what the large one took");
    desk.pass(ms(60));
    let order: Vec<CallId> = desk.serve().iter().map(Permit::call).collect();
    assert_eq!(order, [small]);
}

#[test]
fn a_waiting_call_that_leaves_takes_nothing_with_it() {
    // Broken if a place in the queue had cost a part of the rate, or if those behind kept the time of who left.
    let mut desk = patient();
    let gate = desk.gate(rpm(60), &[]);
    let route = [Candidate::at(gate)];
    for _ in 0..60 {
        let call = desk.begin(&route);
        drop(desk.sent(call));
    }
    let leaves = desk.begin(&route);
    let stays = desk.begin(&route);
    assert_eq!((desk.told(leaves), desk.told(stays)), ("rate-wait", "rate-wait"));
    desk.engine.end(desk.now, leaves);
    desk.pass(Duration::from_secs(1));
    let order: Vec<CallId> = desk.serve().iter().map(Permit::call).collect();
    assert_eq!(order, [stays]);
    // Woken with its part taken, it leaves before it asks: the next has that part at once.
    let leaves = desk.begin(&route);
    let stays = desk.begin(&route);
    assert_eq!((desk.told(leaves), desk.told(stays)), ("rate-wait", "rate-wait"));
    desk.pass(Duration::from_secs(1));
    assert_eq!(desk.engine.woken(desk.now), Some(leaves));
    desk.engine.end(desk.now, leaves);
    assert_eq!(desk.engine.woken(desk.now), Some(stays));
    drop(desk.sent(stays));
}

#[test]
fn a_wait_for_a_rate_above_patience_moves_on_while_another_can_send() {
    // Broken if a rate were no wait like another: the call would stand at one upstream while a second is idle.
    let mut desk = patient();
    let slow = desk.gate(rpm(1), &[]);
    let idle = desk.gate(plain(), &[]);
    let small = desk.gate(plain().tokens_per_minute(Some(10)), &[]);
    let route = [Candidate::at(slow), Candidate::at(idle)];
    let first = desk.begin(&route);
    assert_eq!(desk.sent(first).candidate(), 0);
    let second = desk.begin(&route);
    assert_eq!(desk.sent(second).candidate(), 1);
    let route = [Candidate::at(small), Candidate::at(idle)];
    let large = desk.begin_as(&route, |spec| spec.tokens_in = 11);
    assert_eq!(desk.sent(large).candidate(), 1, "no bucket there ever holds it");
}

#[test]
fn a_reload_that_raises_a_limit_wakes_who_waits_for_it() {
    // Broken if waiters kept the time of the limit that they met.
    let mut desk = patient();
    let gate = desk.gate(rpm(1), &[]);
    let route = [Candidate::at(gate)];
    let first = desk.begin(&route);
    drop(desk.sent(first));
    let waits = desk.begin(&route);
    assert_eq!(desk.told(waits), "rate-wait");
    let raised = rpm(10).build().unwrap().gate;
    desk.engine
        .configure(desk.now, GateKey(0), &raised, &[], None)
        .unwrap();
    let order: Vec<CallId> = desk.serve().iter().map(Permit::call).collect();
    assert_eq!(order, [waits]);
    let state = desk.engine.state(desk.now, gate).unwrap();
    assert_eq!(state.rates[Kind::Requests as usize].left, Some(8));
}

proptest! {
    #[test]
    fn a_refusal_by_one_limit_takes_nothing_from_another(seed: u64) {
        // Broken if limits were taken one after the other: the first would have paid for what the second refused.
        // Whatever calls come, wait, leave and end, each limit has taken what was sent, and nothing else.
        let mut rng = Rng::new(seed, 1);
        let mut desk = patient();
        let all = desk.gate(plain().tokens_per_minute(Some(600)).concurrency(Some(3)), &[]);
        let quota = desk.gate(rpm(9).tokens_out_per_minute(Some(400)), &[]);
        let one = desk.gate_of_quota(rpm(5).concurrency(Some(2)), &[all], Some(quota));
        let two = desk.gate_of_quota(plain().tokens_in_per_minute(Some(300)), &[all], Some(quota));
        let chains = [[one, all, quota], [two, all, quota]];
        let mut out: Vec<Permit> = Vec::new();
        let mut calls: Vec<(CallId, usize, [u64; 2])> = Vec::new();
        // By call: what its attempt takes of each limit it passes.
        let mut taken: Vec<(GateId, [u64; 4])> = [all, quota, one, two].map(|gate| (gate, [0; 4])).to_vec();
        for _ in 0..60 {
            match rng.up_to(5) {
                0..=2 => {
                    let which = usize::try_from(rng.up_to(1)).unwrap();
                    let route = [Candidate::at(chains[which][0])];
                    let tokens = [rng.up_to(200), rng.up_to(200)];
                    let call = desk.begin_as(&route, |spec| {
                        spec.tokens_in = u32::try_from(tokens[0]).unwrap();
                        spec.tokens_out = u32::try_from(tokens[1]).unwrap();
                    });
                    calls.push((call, which, tokens));
                    if let Action::Send(permit) = desk.poll(call).action {
                        out.push(permit);
                    }
                }
                3 if !out.is_empty() => {
                    let permit = out.swap_remove(usize::try_from(rng.up_to(out.len() as u64 - 1)).unwrap());
                    desk.answer(permit);
                }
                _ if !calls.is_empty() => {
                    let (call, ..) = calls[usize::try_from(rng.up_to(calls.len() as u64 - 1)).unwrap()];
                    if !out.iter().any(|permit| permit.call() == call) {
                        desk.engine.end(desk.now, call);
                    }
                }
                _ => {}
            }
            if rng.up_to(2) > 0 {
                out.extend(desk.serve());
            }
        }
        out.extend(desk.serve());
        let (end, events) = (desk.now, desk.engine.drain().collect::<Vec<_>>());
        for event in events.iter().filter(|event| matches!(event.what, What::Sent(_))) {
            let (_, which, tokens) = calls[usize::try_from(event.call).unwrap() - 1];
            let cost = [1, tokens[0] + tokens[1], tokens[0], tokens[1]];
            for (gate, sums) in &mut taken {
                if chains[which].contains(gate) {
                    sums.iter_mut().zip(cost).for_each(|(sum, cost)| *sum += cost);
                }
            }
        }
        // What waits still has nothing: those that were woken have been served.
        for (call, ..) in &calls {
            if !out.iter().any(|permit| permit.call() == *call) {
                desk.engine.end(end, *call);
            }
        }
        let holds = [(all, [None, Some(600), None, None]), (quota, [Some(9), None, None, Some(400)]),
            (one, [Some(5), None, None, None]), (two, [None, None, Some(300), None])];
        for (gate, limits) in holds {
            let sums = taken.iter().find(|(id, _)| *id == gate).unwrap().1;
            let rates = desk.engine.state(end, gate).unwrap().rates;
            for kind in 0..4 {
                let expected = limits[kind].map(|limit: u64| limit - sums[kind]);
                prop_assert_eq!(rates[kind].left, expected, "seed {}, gate {:?}, kind {}", seed, gate, kind);
            }
        }
    }
}

/// A server with so many requests in each of its windows, which tells what is left and where the window ends.
struct Teller {
    limit: u64,
    window: u64,
    used: u64,
    refused: u64,
    served: Vec<u64>,
}

impl Teller {
    /// Serves a request at `now`: whether it is let in, and what is told.
    fn serve(&mut self, now: Instant) -> (bool, Learned) {
        let window = now.as_nanos() / MINUTE.as_nanos();
        if window != self.window {
            (self.window, self.used) = (window, 0);
        }
        let fits = self.used < self.limit;
        if fits {
            self.used += 1;
            self.served.push(window);
        } else if window > 0 {
            self.refused += 1;
        }
        let end = Instant::from_nanos((window + 1) * MINUTE.as_nanos());
        let word = Word {
            limit: Some(self.limit),
            remaining: self.limit - self.used,
            resets_in: Some(end.since(now)),
        };
        (fits, Learned::NOTHING.with(Kind::Requests, word))
    }
}

/// Fifty callers for ten minutes at a server that tells its limit, each attempt with its own way there and back.
/// How many were refused after the first window, and how many served in each.
fn tell(seed: u64, limit: u64) -> (u64, Vec<u64>) {
    enum Next {
        Arrives(Permit),
        Returns(Permit, bool, Learned),
    }
    let mut rng = Rng::new(seed, 2);
    let mut desk = patient();
    let gate = desk.gate(plain().concurrency(Some(16)).queue(1_000), &[]);
    let route = [Candidate::at(gate)];
    let mut server = Teller {
        limit,
        window: 0,
        used: 0,
        refused: 0,
        served: Vec::new(),
    };
    let mut agenda: Vec<(Instant, Next)> = Vec::new();
    let mut granted: Vec<Permit> = Vec::new();
    for _ in 0..50 {
        let call = desk.begin(&route);
        if let Action::Send(permit) = desk.poll(call).action {
            granted.push(permit);
        }
    }
    let end = Instant::START.after(Duration::from_secs(600));
    loop {
        for permit in granted.drain(..) {
            let way = ms(rng.between(1, 400));
            agenda.push((desk.now.after(way), Next::Arrives(permit)));
        }
        let wake = desk.engine.next_wake().unwrap_or(Instant::NEVER);
        let next = agenda.iter().map(|(at, _)| *at).min().unwrap_or(Instant::NEVER);
        desk.now = desk.now.max(wake.min(next));
        if desk.now >= end {
            break;
        }
        if next <= desk.now {
            let which = agenda.iter().position(|(at, _)| *at == next).unwrap();
            match agenda.swap_remove(which).1 {
                Next::Arrives(permit) => {
                    let (fits, learned) = server.serve(desk.now);
                    let way = ms(rng.between(1, 400));
                    agenda.push((desk.now.after(way), Next::Returns(permit, fits, learned)));
                }
                Next::Returns(permit, fits, learned) => {
                    desk.engine.head(desk.now, &permit, &learned);
                    let call = permit.call();
                    let report = if fits {
                        Report::of(Outcome::Answer)
                    } else {
                        throttled(ms(1_000))
                    };
                    desk.settle(permit, report);
                    if fits {
                        desk.engine.end(desk.now, call);
                        let call = desk.begin(&route);
                        if let Action::Send(permit) = desk.poll(call).action {
                            granted.push(permit);
                        }
                    } else if let Action::Send(permit) = desk.poll(call).action {
                        granted.push(permit);
                    }
                }
            }
        }
        granted.extend(desk.serve());
        desk.engine.drain().for_each(drop);
    }
    let served = (0..10).map(|window| server.served.iter().filter(|it| **it == window).count() as u64);
    (server.refused, served.collect())
}

#[test]
fn a_server_that_tells_what_is_left_never_throttles_after_its_first_window() {
    // Broken if answers that overtake each other raise what is left, or if what is on its way is not counted.
    for seed in 0..20 {
        for limit in [20, 60, 300] {
            let (refused, served) = tell(seed, limit);
            assert_eq!(refused, 0, "seed {seed}, limit {limit}: {served:?}");
            // And it is used: what is waited for is not given away.
            for served in &served[1..9] {
                assert!(
                    *served * 10 >= limit * 9,
                    "seed {seed}, limit {limit}: {served} of {limit}"
                );
            }
        }
    }
}

#[test]
fn learned_limits_hold_for_the_quota_and_not_for_one_upstream() {
    // Broken if the word were kept at the upstream that brought it: the other key to the same quota would run into it.
    let mut desk = patient();
    let quota = desk.gate(plain(), &[]);
    let one = desk.gate_of_quota(plain(), &[], Some(quota));
    let two = desk.gate_of_quota(plain(), &[], Some(quota));
    let (one, two) = ([Candidate::at(one)], [Candidate::at(two)]);
    let call = desk.begin(&one);
    let permit = desk.sent(call);
    let word = Word {
        limit: Some(10),
        remaining: 0,
        resets_in: Some(Duration::from_secs(20)),
    };
    desk.engine
        .head(desk.now, &permit, &Learned::NOTHING.with(Kind::Requests, word));
    desk.answer(permit);
    let call = desk.begin(&two);
    assert_eq!(desk.told(call), "rate-wait");
    assert_eq!(
        desk.engine.next_wake(),
        Some(desk.now.after(Duration::from_secs(20)))
    );
    desk.engine.force(desk.now, quota, Mode::Auto);
    assert_eq!(desk.serve().len(), 1, "whoever forces a gate knows better");
}

#[test]
fn a_word_to_an_attempt_from_before_the_first_takes_nothing_from_what_is_out() {
    // Broken if the attempt that brings it were taken for one of those that are counted as out: the tokens of another
    // would be taken for its own, and be free again while they are on their way.
    let mut desk = patient();
    let gate = desk.gate(plain(), &[]);
    let route = [Candidate::at(gate)];
    let send = |desk: &mut Desk, tokens_in: u32| {
        let mut spec = Desk::spec(desk.now, &desk.policy, &route);
        spec.tokens_in = tokens_in;
        let call = desk.engine.begin(desk.now, spec);
        desk.sent(call)
    };
    let tell = |desk: &mut Desk, permit: &Permit, remaining: u64| {
        let word = Word {
            limit: Some(1_000),
            remaining,
            resets_in: Some(MINUTE),
        };
        let learned = Learned::NOTHING.with(Kind::TokensIn, word);
        desk.engine.head(desk.now, permit, &learned);
        let state = desk.engine.state(desk.now, gate).unwrap();
        state.rates[Kind::TokensIn as usize].told
    };
    let (early, first) = (send(&mut desk, 400), send(&mut desk, 0));
    assert_eq!(tell(&mut desk, &first, 900), Some(900));
    let counted = send(&mut desk, 300);
    assert_eq!(
        tell(&mut desk, &early, 500),
        Some(200),
        "300 of the 500 are on their way"
    );
    drop((early, first, counted));
}

#[test]
fn a_guess_is_reserved_of_our_own_limit_and_not_held_against_a_servers_word() {
    // Broken if a call that states no limit waited for a whole window because a number that we made up is above what the
    // server says is left; or if our own limit let it through for nothing.
    let begin = |desk: &mut Desk, gate, guessed| {
        desk.begin_as(&[Candidate::at(gate)], |spec| {
            (spec.tokens_in, spec.tokens_out, spec.tokens_guessed) = (20, 256, guessed);
        })
    };
    let word = Word {
        limit: None,
        remaining: 100,
        resets_in: Some(Duration::from_secs(40)),
    };
    let told = Learned::NOTHING.with(Kind::Tokens, word);
    for (guessed, code) in [(256, "in flight"), (0, "rate-wait")] {
        let mut desk = patient();
        let gate = desk.gate(plain(), &[]);
        let first = begin(&mut desk, gate, guessed);
        let permit = desk.sent(first);
        desk.engine.head(desk.now, &permit, &told);
        let second = begin(&mut desk, gate, guessed);
        match desk.poll(second) {
            Verdict {
                action: Action::Send(_),
                ..
            } => assert_eq!(code, "in flight"),
            waits => assert_eq!(waits.reason.code(), code),
        }
        let third = begin(&mut desk, gate, guessed);
        assert!(
            matches!(desk.told(third), "rate-wait" | "queued"),
            "nothing is left"
        );
    }
    let mut desk = patient();
    let gate = desk.gate(plain().tokens_per_minute(Some(300)), &[]);
    let first = begin(&mut desk, gate, 256);
    let _out = desk.sent(first);
    let second = begin(&mut desk, gate, 256);
    assert_eq!(desk.told(second), "rate-wait");
}
