//! A caller that leaves, at every point at which a call can wait.
//!
//! What can go wrong: a place, a turn, a promise or a charge stays taken when a future is dropped; a wake dies with
//! the call that it was meant for, and the next one waits for ever; a socket stays open for nobody. So each scene is
//! played again and again, and its caller leaves one step later each time.

use crate::server::{LANE, Request, Server, Step};
use crate::stage::{Act, Stage};
use http::{HeaderName, HeaderValue};
use seawall::clock::Clock as _;
use seawall::crank::CrankedClock;
use seawall::upstream::Call;
use seawall_core::gate::GateKey;
use seawall_core::outcome::Sent;
use seawall_core::policy::{OnEmpty, OnOpen, Policy, PolicyBuilder};
use seawall_core::time::Duration;
use seawall_core::trace::{Event, Held, What};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Calls at one gate, of which one leaves early.
struct Scene {
    policy: PolicyBuilder,
    server: fn(usize, &Request) -> Step,
    /// Calls before the scene, one after the other, a quarter of a second apart.
    before: u32,
    extras: Extras,
    /// The calls of the scene begin these many milliseconds after it; the first is the one that leaves.
    begin_ms: &'static [u64],
    /// What the call that leaves was doing at one time or another when it left, as reason codes.
    left_while: &'static [&'static str],
}

/// Whether this scene's retries and hedges are charged to the budget (rule G6).
enum Extras {
    Charged,
    /// The server invited them, or there is no budget.
    Free,
}

fn get(lane: &str) -> Call {
    let lane = HeaderValue::from_str(lane).unwrap();
    Call::get("/v1/things").with_header(HeaderName::from_static(LANE), lane)
}

fn ok() -> Step {
    Step::answer(200, &[], "{}")
}

fn is_before(request: &Request) -> bool {
    request.lane() == "before"
}

/// A future that is dropped after so many polls, if it has not ended by itself.
pub(crate) struct Cut<F> {
    whole: Option<Pin<Box<F>>>,
    polls_left: u32,
}

impl<F> Cut<F> {
    pub(crate) fn after(polls: u32, whole: F) -> Self {
        Self {
            whole: Some(Box::pin(whole)),
            polls_left: polls,
        }
    }
}

impl<F: Future> Future for Cut<F> {
    /// `None` where it was dropped.
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(left) = self.polls_left.checked_sub(1) {
            self.polls_left = left;
            let whole = self.whole.as_mut().expect("a cut future is not polled again");
            if let Poll::Ready(ended) = whole.as_mut().poll(context) {
                return Poll::Ready(Some(ended));
            }
        }
        if self.polls_left > 0 {
            return Poll::Pending;
        }
        self.whole = None;
        Poll::Ready(None)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Left {
    Early,
    WithAnswer,
    WithError(&'static str),
}

/// Plays the scene; the first call leaves after so many polls. How each call ended, and the stage as they left it.
async fn played(scene: &Scene, polls: u32) -> (Vec<Left>, Stage) {
    let clock = CrankedClock::new();
    let server = Server::start(&clock, scene.server).await;
    let policy: Policy = scene.policy.build().unwrap();
    let stage = Stage::new(&clock, server, policy, 1, |builder| builder);
    for _ in 0..scene.before {
        let upstream = stage.upstream.clone();
        let call = get("before").with_retries_max(1);
        // Whether it is answered is part of the scene.
        let _ended = stage.run(async move { upstream.call(call).await }).await;
        clock.advance(Duration::from_millis(250));
    }
    let acts = scene.begin_ms.iter().enumerate().map(|(nth, ms)| {
        let (upstream, clock) = (stage.upstream.clone(), clock.clone());
        let at = clock.now().after(Duration::from_millis(*ms));
        let call = get(&nth.to_string());
        let whole = async move {
            clock.sleep_until(at).await;
            upstream.call(call).await
        };
        let cut = Cut::after(if nth == 0 { polls } else { u32::MAX }, whole);
        let act: Act<Left> = Box::pin(async move {
            match cut.await {
                None => Left::Early,
                Some(Ok(_)) => Left::WithAnswer,
                Some(Err(error)) => Left::WithError(error.reason.code()),
            }
        });
        act
    });
    (stage.run_all(acts.collect()).await, stage)
}

/// Plays the scene until its first call no longer leaves early, and looks at what is left each time.
async fn check(scene: Scene) {
    let mut left_while = BTreeSet::new();
    for polls in 0.. {
        let (left, stage) = played(&scene, polls).await;
        let events = stage.upstream.events();
        nothing_is_left(&stage, &scene, &events, polls).await;
        for other in &left[1..] {
            assert_eq!(*other, Left::WithAnswer, "another call, after {polls} polls");
        }
        match left[0] {
            Left::Early => left_while.extend(doing_when_it_left(&events)),
            Left::WithAnswer => break,
            Left::WithError(code) => panic!("the whole call failed: {code}"),
        }
    }
    for wanted in scene.left_while {
        assert!(
            left_while.contains(wanted),
            "no call left while {wanted}: {left_while:?}"
        );
    }
}

/// What the call that left was doing: its last verdict.
fn doing_when_it_left(events: &[Event]) -> Option<&'static str> {
    let left = events.iter().position(|event| event.what == What::Left)?;
    let call = events[left].call;
    events[..left].iter().rev().find_map(|event| match event.what {
        What::Sent(reason) | What::Waits(reason, _) if event.call == call => Some(reason.code()),
        _ => None,
    })
}

async fn nothing_is_left(stage: &Stage, scene: &Scene, events: &[Event], polls: u32) {
    let gate_policy = scene.policy.build().unwrap().gate;
    let (load, alive, out) = stage.upstream.hub().with(|engine, now| {
        let gate = engine
            .configure(now, GateKey(0), &gate_policy, &[], None)
            .unwrap();
        (engine.load(gate), engine.calls_alive(), engine.permits_out())
    });
    let taken = [load.in_flight, load.promised, load.queued, load.saving];
    assert_eq!(
        taken, [0; 4],
        "in flight, promised, queued, saving after {polls} polls"
    );
    assert_eq!(
        (alive, out),
        (0, 0),
        "calls alive and permits out after {polls} polls"
    );
    let count = |held: Held| usize::from(held.has(Held::CHARGE));
    let taken: usize = events.iter().map(|event| count(event.took)).sum();
    let given: usize = events.iter().map(|event| count(event.gave)).sum();
    let sent = match scene.extras {
        Extras::Charged => extras_sent(events),
        Extras::Free => 0,
    };
    assert_eq!(taken - given, sent, "charges and extras after {polls} polls");
    if let Extras::Charged = scene.extras {
        let seen = extras_seen(&stage.server.requests());
        assert!(
            seen <= sent,
            "the server saw {seen} extras, {sent} are charged after {polls} polls"
        );
    }
    // Open is what may be used again, and that goes with the upstream.
    stage.server.has_open(stage.transport.idle_connections()).await;
}

/// Requests that were not the first of their call, as the server counts them.
fn extras_seen(requests: &[Request]) -> usize {
    let lanes: BTreeSet<&str> = requests.iter().map(Request::lane).collect();
    requests.len() - lanes.len()
}

/// Retries and hedges that left this side: one that was dropped before does not count.
fn extras_sent(events: &[Event]) -> usize {
    let same = |one: &Event, other: &Event| (one.call, one.attempt) == (other.call, other.attempt);
    let extras = events.iter().filter(|event| match event.what {
        What::Sent(reason) => ["retry", "hedge"].contains(&reason.code()),
        _ => false,
    });
    let unsent: Vec<&Event> = events
        .iter()
        .filter(|event| event.what == What::Abandoned(Sent::No))
        .collect();
    extras
        .filter(|extra| !unsent.iter().any(|unsent| same(unsent, extra)))
        .count()
}

#[tokio::test]
async fn a_caller_that_leaves_a_plain_call_leaves_nothing() {
    // Breaks when a dropped attempt keeps its place or its socket.
    check(Scene {
        policy: Policy::builder(),
        server: |_, _| ok().after(Duration::from_secs(2)),
        before: 0,
        extras: Extras::Charged,
        begin_ms: &[0],
        left_while: &["first"],
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_leaves_between_attempts_gives_its_charge_back() {
    // Breaks when an extra that was charged and never sent stays charged.
    check(Scene {
        policy: Policy::builder(),
        server: |nth, _| match nth {
            0 => Step::answer(500, &[], "no"),
            _ => ok().after(Duration::from_secs(1)),
        },
        before: 0,
        extras: Extras::Charged,
        begin_ms: &[0],
        left_while: &["first", "backing-off", "retry"],
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_leaves_a_full_gate_gives_its_turn_to_the_next() {
    // Breaks when the wake of a call that has left is lost: those behind it would wait for ever.
    for begin_ms in [&[0, 100, 200], &[100, 0, 200]] {
        let left_while: &[&str] = if begin_ms[0] == 0 {
            &["first"]
        } else {
            &["queued", "first"]
        };
        check(Scene {
            policy: Policy::builder().concurrency(Some(1)),
            server: |_, _| ok().after(Duration::from_secs(5)),
            before: 0,
            extras: Extras::Charged,
            begin_ms,
            left_while,
        })
        .await;
    }
}

#[tokio::test]
async fn a_caller_that_leaves_a_cool_down_leaves_it_to_the_others() {
    // Breaks when the first of a cool-down's queue takes the place of all with it.
    for begin_ms in [&[0, 1_000, 2_000], &[1_000, 0, 2_000]] {
        check(Scene {
            policy: Policy::builder(),
            server: |nth, request| match (nth, request.lane()) {
                (0, lane) if lane == "0" || lane == "1" => Step::answer(429, &[("retry-after", "5")], ""),
                _ => ok(),
            },
            before: 0,
            extras: Extras::Free,
            begin_ms,
            left_while: &["first", "server-asked"],
        })
        .await;
    }
}

#[tokio::test]
async fn a_caller_that_waits_for_a_breaker_and_leaves_takes_no_probe_with_it() {
    // Breaks when a probe slot is lost with the call that was to use it: the breaker would never close again.
    check(Scene {
        policy: Policy::builder()
            .edit_breaker(|breaker| breaker.on_open(OnOpen::Wait).probes(1))
            .budget(None),
        server: |_, request| match is_before(request) {
            true => Step::answer(500, &[], "no"),
            false => ok().after(Duration::from_secs(1)),
        },
        before: 3,
        extras: Extras::Free,
        begin_ms: &[0, 100],
        left_while: &["breaker-wait", "probe"],
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_waits_for_credit_and_leaves_takes_none() {
    // Breaks when one that saves keeps its turn, or the credit that came when it had gone.
    check(Scene {
        policy: Policy::builder()
            .edit_budget(|budget| budget.floor_milli(100).ratio_per_mille(0).on_empty(OnEmpty::Wait)),
        server: |nth, _| match nth {
            0 => Step::answer(500, &[], "no"),
            _ => ok(),
        },
        before: 1,
        extras: Extras::Charged,
        begin_ms: &[0, 100],
        left_while: &["first", "budget-wait", "retry"],
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_leaves_a_hedged_call_leaves_neither_attempt() {
    // Breaks when the loser of a hedge, or both attempts of a call that is dropped, stay in flight.
    check(Scene {
        policy: Policy::builder().hedge_after(Duration::from_secs(1)),
        server: |nth, _| match nth {
            0 => ok().after(Duration::from_secs(10)),
            _ => ok().after(Duration::from_secs(2)),
        },
        before: 0,
        extras: Extras::Charged,
        begin_ms: &[0],
        left_while: &["first", "hedge"],
    })
    .await;
}

#[tokio::test]
async fn an_upstream_that_goes_takes_its_sockets_with_it() {
    // Breaks when a task or a pool outlives what it was made for.
    let clock = CrankedClock::new();
    let server = Server::start(&clock, |_, _| ok()).await;
    let stage = Stage::new(&clock, server, Policy::builder().build().unwrap(), 1, |builder| {
        builder
    });
    let upstream = stage.upstream.clone();
    stage
        .run(async move { upstream.call(get("0")).await })
        .await
        .unwrap();
    assert_eq!(stage.transport.idle_connections(), 1);
    let Stage {
        server,
        upstream,
        transport,
        ..
    } = stage;
    drop((upstream, transport));
    server.has_open(0).await;
}
