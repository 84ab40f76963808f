//! Credentials that end, over real sockets (rule D6).
//!
//! What can go wrong: a token that ended fails every call until somebody restarts the program; or each of a thousand
//! calls fetches a token of its own; or the fetch is taken for a retry, and pays for it with the budget.

use crate::cancel::Cut;
use crate::server::{LANE, Request, Server, Step};
use crate::stage::{Act, Stage, soon};
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use seawall::crank::CrankedClock;
use seawall::http::Secret;
use seawall::upstream::{Answer, Call, CallError};
use seawall::{Credential, Upstream};
use seawall_core::gate::GateKey;
use seawall_core::outcome::Sent;
use seawall_core::policy::Policy;
use seawall_core::time::Duration;
use seawall_core::trace::{Held, What};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

type Told = Result<Answer, Box<CallError>>;

/// What an identity server does with one request for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Desk {
    /// The next token: `t2`, `t3` and so on.
    Gives,
    Fails,
    Panics,
    Hangs,
}

/// An identity server, and how often it was asked.
#[derive(Clone)]
struct Identity {
    does: Arc<Mutex<Vec<Desk>>>,
    asked: Arc<AtomicU32>,
    /// Requests for a token that are under way.
    open: Arc<AtomicU32>,
    was_asked: Arc<Notify>,
}

/// Counts a request for a token for as long as it is there.
struct Open(Arc<AtomicU32>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Identity {
    /// One that does these things, and then gives tokens.
    fn new(does: &[Desk]) -> Self {
        Self {
            does: Arc::new(Mutex::new(does.iter().rev().copied().collect())),
            asked: Arc::default(),
            open: Arc::default(),
            was_asked: Arc::default(),
        }
    }

    fn credential(&self) -> Credential {
        let identity = self.clone();
        Credential::refreshing(move || identity.clone().token())
    }

    async fn token(self) -> Result<Secret, String> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 2;
        self.open.fetch_add(1, Ordering::SeqCst);
        let _open = Open(Arc::clone(&self.open));
        let does = self.does.lock().unwrap().pop().unwrap_or(Desk::Gives);
        self.was_asked.notify_one();
        // Long enough for all who are denied together to be.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        match does {
            Desk::Gives => Secret::bearer(&format!("t{number}")).map_err(|error| error.to_string()),
            Desk::Fails => Err("the identity server said 503".to_owned()),
            Desk::Panics => panic!("on purpose"),
            Desk::Hangs => std::future::pending().await,
        }
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }

    fn open(&self) -> u32 {
        self.open.load(Ordering::SeqCst)
    }
}

/// Takes these tokens, and denies all others.
fn takes(tokens: &'static [&'static str]) -> impl Fn(usize, &Request) -> Step + Send + Sync {
    move |_, request| match tokens.contains(&token(request)) {
        true => Step::answer(200, &[("content-type", "application/json")], "{}"),
        false => Step::answer(401, &[], r#"{"error":{"message":"expired"}}"#),
    }
}

fn token(request: &Request) -> &str {
    let given = request.header("authorization").unwrap_or("");
    given.strip_prefix("Bearer ").unwrap_or(given)
}

/// A stage whose upstream begins with the token `t1`.
async fn stage(
    identity: &Identity,
    policy: Policy,
    script: impl Fn(usize, &Request) -> Step + Send + Sync + 'static,
) -> Stage {
    let clock = CrankedClock::new();
    let server = Server::start(&clock, script).await;
    let first = Secret::bearer("t1").unwrap();
    let credential = identity.credential().beginning_with(first);
    Stage::new(&clock, server, policy, 1, |builder| {
        builder.credential(AUTHORIZATION, credential)
    })
}

fn policy() -> Policy {
    Policy::builder().build().unwrap()
}

fn order(lane: usize) -> Call {
    let lane = HeaderValue::from_str(&lane.to_string()).unwrap();
    Call::post_json("/v1/orders", r#"{"amount":5}"#).with_header(HeaderName::from_static(LANE), lane)
}

fn acts(upstream: &Upstream, calls: usize) -> Vec<Act<Told>> {
    let acts = (0..calls).map(|lane| {
        let upstream = upstream.clone();
        let act: Act<Told> = Box::pin(async move { upstream.call(order(lane)).await });
        act
    });
    acts.collect()
}

async fn call(stage: &Stage) -> Told {
    let upstream = stage.upstream.clone();
    stage.run(async move { upstream.call(order(0)).await }).await
}

/// How a call ended: its reason and what each attempt met, with a star where it was sent again inside.
fn line(told: &Told) -> String {
    let (code, attempts) = match told {
        Ok(answer) => ("succeeded", &answer.attempts),
        Err(error) => (error.reason.code(), &error.attempts),
    };
    let attempts = attempts.iter().map(|note| {
        let star = if note.resent { "*" } else { "" };
        format!(" {}:{}{star}", note.sent_for, note.outcome)
    });
    format!("{code}{}", attempts.collect::<String>())
}

fn detail(told: &Told) -> &str {
    let error = told.as_ref().expect_err("it was answered");
    error.detail.as_deref().unwrap_or("")
}

fn tokens(stage: &Stage) -> Vec<String> {
    let requests = stage.server.requests();
    requests.iter().map(|request| token(request).to_owned()).collect()
}

#[tokio::test]
async fn a_token_that_ended_is_renewed_inside_the_attempt_and_costs_no_retry() {
    // Breaks when the second send is another attempt, is charged, carries the old token, or is not told.
    let identity = Identity::new(&[]);
    let stage = stage(&identity, policy(), takes(&["t2"])).await;
    // A write without a key: nothing but the denial makes its second send safe.
    let told = call(&stage).await;
    assert_eq!(line(&told), "succeeded first:answer*");
    assert_eq!(tokens(&stage), ["t1", "t2"]);
    let requests = stage.server.requests();
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[1].at, requests[0].at, "nothing was waited for");
    let events = stage.upstream.events();
    let count = |what: fn(&What) -> bool| events.iter().filter(|event| what(&event.what)).count();
    assert_eq!(count(|what| matches!(what, What::Sent(_))), 1);
    assert_eq!(count(|what| *what == What::Resent), 1);
    assert!(events.iter().all(|event| !event.took.has(Held::CHARGE)));
    // The next call begins with it.
    assert_eq!(line(&call(&stage).await), "succeeded first:answer");
    assert_eq!((identity.asked(), tokens(&stage).len()), (1, 3));
}

#[tokio::test]
async fn a_hundred_denials_at_once_are_one_refresh_and_a_hundred_second_sends() {
    // Breaks when each call fetches a token, when one is sent more than twice, or when a place leaks.
    let identity = Identity::new(&[]);
    let stage = stage(&identity, policy(), takes(&["t2"])).await;
    let ended = stage.run_all(acts(&stage.upstream, 100)).await;
    for told in &ended {
        assert_eq!(line(told), "succeeded first:answer*");
    }
    assert_eq!(identity.asked(), 1);
    let tokens = tokens(&stage);
    let count = |token: &str| tokens.iter().filter(|given| *given == token).count();
    assert_eq!((count("t1"), count("t2")), (100, 100));
    assert_eq!((stage.upstream.attempts_out(), identity.open()), (0, 0));
}

#[tokio::test]
async fn a_denial_after_the_renewal_is_a_denial_and_the_second_latches() {
    // Breaks when a server that takes no token is sent each call twice for ever, with a fetch between: twice the load
    // of the outage it may have, and an account that is locked.
    let identity = Identity::new(&[]);
    let stage = stage(&identity, policy(), takes(&[])).await;
    assert_eq!(line(&call(&stage).await), "denied first:denied*");
    assert_eq!(
        (tokens(&stage), identity.asked()),
        (vec!["t1".into(), "t2".into()], 1)
    );
    let told = call(&stage).await;
    assert_eq!(line(&told), "denied first:denied");
    assert!(detail(&told).contains("never accepted"), "{}", detail(&told));
    assert_eq!(line(&call(&stage).await), "denied-latched");
    assert_eq!((tokens(&stage).len(), identity.asked()), (3, 1));
    // A minute later it is worth asking again.
    stage.clock.advance(Duration::from_secs(60));
    assert_eq!(line(&call(&stage).await), "denied first:denied*");
    assert_eq!((tokens(&stage).len(), identity.asked()), (5, 2));
}

#[tokio::test]
async fn a_token_that_lives_for_seconds_is_renewed_as_often_as_it_ends() {
    // Breaks when a young token is never replaced, whether or not a server took it.
    let identity = Identity::new(&[]);
    let stage = stage(&identity, policy(), |nth, request| match (nth, token(request)) {
        (..3, "t2") | (3.., "t3") => Step::answer(200, &[], "{}"),
        _ => Step::answer(401, &[], ""),
    })
    .await;
    assert_eq!(line(&call(&stage).await), "succeeded first:answer*");
    assert_eq!(line(&call(&stage).await), "succeeded first:answer");
    assert_eq!(line(&call(&stage).await), "succeeded first:answer*");
    assert_eq!(tokens(&stage), ["t1", "t2", "t2", "t2", "t3"]);
}

#[tokio::test]
async fn a_refresh_that_fails_or_panics_ends_the_attempt_as_denied_and_the_next_caller_asks_again() {
    // Breaks when the cause is not told, when a panic takes the caller's task, or when one failure is for ever.
    for (does, cause) in [
        (Desk::Fails, "the identity server said 503"),
        (Desk::Panics, "asking for it panicked"),
    ] {
        let identity = Identity::new(&[does]);
        let stage = stage(&identity, policy(), takes(&["t3"])).await;
        let told = call(&stage).await;
        assert_eq!(line(&told), "denied first:denied");
        assert!(detail(&told).ends_with(cause), "{}", detail(&told));
        let error = told.unwrap_err();
        assert_eq!(error.answer.map(|answer| answer.status.as_u16()), Some(401));
        assert_eq!(line(&call(&stage).await), "succeeded first:answer*");
        assert_eq!((identity.asked(), tokens(&stage).len()), (2, 3));
    }
}

#[tokio::test]
async fn a_refresh_that_hangs_ends_with_the_attempt_and_does_not_hold_the_next() {
    // Breaks when an identity server that is silent holds a call beyond its deadline, or every call after it.
    let identity = Identity::new(&[Desk::Hangs]);
    let policy = Policy::builder()
        .deadline(Duration::from_secs(5))
        .build()
        .unwrap();
    let stage = stage(&identity, policy, takes(&["t3"])).await;
    let upstream = stage.upstream.clone();
    let hangs = async {
        let turns = async {
            identity.was_asked.notified().await;
            // The call waits by now: it was polled to its end before this was woken.
            stage.clock.advance(Duration::from_secs(5));
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            told = upstream.call(order(0)) => told,
            () = turns => unreachable!("the crank turns for ever"),
        }
    };
    let told = soon(hangs).await;
    assert_eq!(line(&told), "denied first:denied");
    assert!(detail(&told).contains("longer than 5s"), "{}", detail(&told));
    assert_eq!((identity.open(), stage.upstream.attempts_out()), (0, 0));
    assert_eq!(line(&call(&stage).await), "succeeded first:answer*");
}

#[tokio::test]
async fn a_late_denial_of_the_old_token_takes_the_new_one_and_asks_nobody() {
    // Breaks when a 401 on its way back throws away the token that has replaced the one it speaks of.
    let identity = Identity::new(&[]);
    let stage = stage(&identity, policy(), |_, request| {
        match (token(request), request.lane()) {
            ("t1", "1") => Step::answer(401, &[], "").after(Duration::from_secs(5)),
            ("t1", _) => Step::answer(401, &[], ""),
            _ => Step::answer(200, &[], "{}"),
        }
    })
    .await;
    let ended = stage.run_all(acts(&stage.upstream, 2)).await;
    for told in &ended {
        assert_eq!(line(told), "succeeded first:answer*");
    }
    assert_eq!(identity.asked(), 1);
    assert_eq!(tokens(&stage), ["t1", "t1", "t2", "t2"]);
}

#[tokio::test]
async fn the_first_token_is_fetched_once_before_anything_is_sent() {
    // Breaks when a call goes out without a credential, or when fifty that begin together fetch fifty.
    let identity = Identity::new(&[Desk::Fails]);
    let clock = CrankedClock::new();
    let server = Server::start(&clock, takes(&["t3"])).await;
    let credential = identity.credential();
    let stage = Stage::new(&clock, server, policy(), 1, |builder| {
        builder.credential(AUTHORIZATION, credential)
    });
    let told = call(&stage).await;
    assert_eq!(line(&told), "denied first:denied");
    assert!(
        detail(&told).starts_with("nothing was sent: "),
        "{}",
        detail(&told)
    );
    assert!(told.unwrap_err().answer.is_none());
    assert_eq!(stage.server.accepted(), 0);
    let ended = stage.run_all(acts(&stage.upstream, 50)).await;
    for told in &ended {
        assert_eq!(line(told), "succeeded first:answer");
    }
    assert_eq!((identity.asked(), tokens(&stage)), (2, vec!["t3".to_owned(); 50]));
}

#[tokio::test]
async fn a_denial_that_is_no_401_renews_nothing() {
    // Breaks when a 403 for one request throws away a token that all others are let in with.
    for status in [400, 403, 407, 500] {
        let identity = Identity::new(&[]);
        let policy = Policy::builder().retries(0).build().unwrap();
        let script = move |_: usize, _: &Request| Step::answer(status, &[], "");
        let stage = stage(&identity, policy, script).await;
        assert!(call(&stage).await.is_err(), "{status}");
        assert_eq!((identity.asked(), tokens(&stage).len()), (0, 1), "{status}");
    }
}

#[tokio::test]
async fn a_token_that_ends_between_two_attempts_is_the_new_one_in_the_second() {
    // Breaks when a call keeps the token that it began with over its retries.
    let identity = Identity::new(&[]);
    let stage = stage(&identity, policy(), |nth, request| match (nth, token(request)) {
        (0, _) => Step::answer(503, &[("retry-after", "2")], ""),
        (_, "t1") => Step::answer(401, &[], ""),
        _ => Step::answer(200, &[], "{}"),
    })
    .await;
    assert_eq!(line(&call(&stage).await), "succeeded first:failed retry:answer*");
    assert_eq!(tokens(&stage), ["t1", "t1", "t2"]);
}

#[tokio::test]
async fn a_caller_that_leaves_at_any_point_of_a_renewal_leaves_it_to_the_others() {
    // Breaks when the refresh dies with the caller that began it, when a wake is lost with one who left, or when a
    // place, a socket or a refresh is left behind.
    let (mut handed_on, mut begun_again) = (0, 0);
    for polls in 0.. {
        let identity = Identity::new(&[]);
        let stage = stage(&identity, policy(), takes(&["t2", "t3"])).await;
        let mut acts: Vec<Act<Option<Told>>> = Vec::new();
        for lane in 0..3 {
            let upstream = stage.upstream.clone();
            let whole = async move { upstream.call(order(lane)).await };
            let cut = Cut::after(if lane == 0 { polls } else { u32::MAX }, whole);
            acts.push(Box::pin(cut));
        }
        let ended = stage.run_all(acts).await;
        for other in &ended[1..] {
            let told = other.as_ref().expect("nobody else leaves");
            assert_eq!(line(told), "succeeded first:answer*", "after {polls} polls");
        }
        let events = stage.upstream.events();
        let sent_back = What::Abandoned(Sent::NotDone);
        let left_while_asking = events.iter().any(|event| event.what == sent_back);
        match (left_while_asking, identity.asked()) {
            (false, 1) => {}
            // Somebody else waited for it, and polled it to its end.
            (true, 1) => handed_on += 1,
            // It left before another was denied: nobody waited, and the next who was began another.
            (true, 2) => begun_again += 1,
            (_, asked) => panic!("{asked} refreshes after {polls} polls"),
        }
        nothing_is_left(&stage, &identity, polls).await;
        if ended[0].is_some() {
            break;
        }
    }
    assert!(
        handed_on > 0,
        "no refresh was handed on; {begun_again} were begun again"
    );
}

#[tokio::test]
async fn the_last_caller_that_leaves_takes_the_refresh_with_it() {
    // Breaks when a refresh goes on for nobody, or when its end is waited for by the next call.
    for polls in 0.. {
        let identity = Identity::new(&[]);
        let stage = stage(&identity, policy(), takes(&["t2", "t3"])).await;
        let upstream = stage.upstream.clone();
        let ended = stage
            .run(Cut::after(polls, async move { upstream.call(order(0)).await }))
            .await;
        nothing_is_left(&stage, &identity, polls).await;
        assert!(call(&stage).await.is_ok(), "after {polls} polls");
        if ended.is_some() {
            break;
        }
    }
}

async fn nothing_is_left(stage: &Stage, identity: &Identity, polls: u32) {
    let gate_policy = policy().gate;
    let (load, alive) = stage.upstream.hub().with(|engine, now| {
        let gate = engine
            .configure(now, GateKey(0), &gate_policy, &[], None)
            .unwrap();
        (engine.load(gate), engine.calls_alive())
    });
    let left = (load.in_flight, load.queued, alive, stage.upstream.attempts_out());
    assert_eq!(left, (0, 0, 0, 0), "after {polls} polls");
    assert_eq!(identity.open(), 0, "after {polls} polls");
    stage.server.has_open(stage.transport.idle_connections()).await;
}

#[test]
fn no_token_is_ever_printed() {
    // Breaks when a debug line of a builder, an upstream or a credential shows what it holds (rule M3).
    let credential = || {
        let ask = || async { Secret::bearer("SECRET-2") };
        Credential::refreshing(ask).beginning_with(Secret::bearer("SECRET-1").unwrap())
    };
    let lasting = Credential::from(Secret::bearer("SECRET-3").unwrap());
    let builder = Upstream::builder("http://h").unwrap();
    let builder = builder.credential(AUTHORIZATION, credential());
    let mut shown = format!("{:?} {lasting:?} {builder:?} ", credential());
    shown.push_str(&format!("{:?}", builder.build().unwrap()));
    assert!(shown.contains("***") && !shown.contains("SECRET"), "{shown}");
}
