//! How attempts end on the wire, and what the caller is told: reason, outcome, and all that the error carries.

use crate::server::{Deed, LANE, Request, Server, Step, answer};
use crate::stage::Stage;
use http::{HeaderName, HeaderValue, StatusCode};
use seawall::crank::CrankedClock;
use seawall::upstream::{Answer, Call, CallError};
use seawall_core::facts::{BodyState, Replay};
use seawall_core::policy::{Policy, PolicyBuilder};
use seawall_core::profile::Provider;
use seawall_core::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpSocket};

type Told = Result<Answer, Box<CallError>>;

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

async fn call(stage: &Stage, call: Call) -> Told {
    let upstream = stage.upstream.clone();
    stage.run(async move { upstream.call(call).await }).await
}

fn policy(builder: PolicyBuilder) -> Policy {
    builder.build().unwrap()
}

/// A stage with a server of these steps.
async fn steps(steps: Vec<Step>, builder: PolicyBuilder) -> Stage {
    let clock = CrankedClock::new();
    let server = Server::with_steps(&clock, steps).await;
    Stage::new(&clock, server, policy(builder), 1, |builder| builder)
}

/// A keyless write.
fn write() -> Call {
    Call::post_json("/v1/orders", r#"{"amount":5}"#)
}

fn chat() -> Call {
    Call::post_json("/v1/chat/completions", r#"{"model":"small-1","messages":[]}"#)
}

fn read() -> Call {
    Call::get("/v1/things")
}

/// Everything that an end tells, in a line: reason, cause, what each attempt met, the answer that came, and whether
/// the effect is unknown.
fn line(told: &Told) -> String {
    let error = match told {
        Ok(answer) => return format!("{} after {}", answer.status.as_u16(), answer.attempts.len()),
        Err(error) => error,
    };
    let attempts: Vec<String> = error
        .attempts
        .iter()
        .map(|note| format!("{}:{}", note.sent_for, note.outcome))
        .collect();
    let cause = error.cause.map_or("-", |cause| cause.name());
    let answer = error.answer.as_ref().map_or("no answer".to_owned(), |answer| {
        let state = match answer.state {
            BodyState::WellFormed => "whole",
            BodyState::Empty => "empty",
            BodyState::Truncated => "truncated",
            BodyState::Undecodable => "undecodable",
            BodyState::ErrorInside => "error inside",
        };
        format!("{} {state} {:?}", answer.status.as_u16(), answer.body)
    });
    let unknown = if error.unknown.is_some() {
        "unknown"
    } else {
        "known"
    };
    format!(
        "{} | {cause} | {} | {answer} | {unknown}",
        error.reason.code(),
        attempts.join(" ")
    )
}

/// Makes the call on a fresh stage with one retry: this line is told, and so many requests were seen.
async fn check(deed: Deed, asked: Call, expected: &str, requests: usize) {
    // Short enough for two attempts within the deadline.
    let limit = Duration::from_secs(20);
    let builder = Policy::builder().retries(1).first_byte(limit).idle(limit);
    let stage = steps(vec![Step::of(deed)], builder).await;
    assert_eq!(line(&call(&stage, asked).await), expected);
    assert_eq!(stage.server.requests().len(), requests, "{expected}");
}

#[tokio::test]
async fn each_break_is_told_as_what_it_was() {
    // Breaks when two ends of an attempt become one word: a write is then repeated, or a read given up.
    let cut = || Deed::WriteClose(answer(200, JSON, r#"{"id":"#, 60));
    let in_body = || Deed::WriteStall(answer(200, JSON, r#"{"id":"#, 60));
    let error_inside = || Deed::Write(answer(200, JSON, r#"{"error":{"message":"m"}}"#, 25));
    let retried = "first:failed retry:failed";
    let half = r#"truncated b"{\"id\":""#;
    for (deed, cause, came) in [
        (Deed::Reset, "cut", "no answer"),
        (Deed::Close, "cut", "no answer"),
        (Deed::Stall, "timeout", "no answer"),
        (cut(), "cut", &format!("200 {half}")),
        (in_body(), "timeout", &format!("200 {half}")),
    ] {
        let once = format!("may-have-acted | {cause} | first:failed | {came} | unknown");
        check(deed.clone(), write(), &once, 1).await;
        let twice = format!("attempts-spent | {cause} | {retried} | {came} | known");
        check(deed, read(), &twice, 2).await;
    }
    let inside = format!(
        r#"attempts-spent | malformed | {retried} | 200 error inside b"{{\"error\":{{\"message\":\"m\"}}}}" | known"#
    );
    check(error_inside(), chat(), &inside, 2).await;
    // Outside inference an `error` member is data.
    check(error_inside(), write(), "200 after 1", 1).await;
    check(
        Deed::Write(answer(200, JSON, "", 0)),
        chat(),
        &format!("attempts-spent | malformed | {retried} | 200 empty b\"\" | known"),
        2,
    )
    .await;
}

#[tokio::test]
async fn what_never_left_is_retried_whatever_it_is() {
    // Breaks when a write that reached nobody is called unknown, and is given up for it.
    let clock = CrankedClock::new();
    let bystander = Server::with_steps(&clock, vec![Step::of(Deed::Close)]).await;
    let two = policy(Policy::builder().retries(1));
    let expected = "attempts-spent | connect | first:failed retry:failed | no answer | known";
    // Bound and not listening: refused for as long as it is held.
    let held = TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let refused = format!("http://{}", held.local_addr().unwrap());
    let stage = Stage::at(&refused, &clock, bystander.clone(), two, 1, |builder| builder);
    assert_eq!(line(&call(&stage, write()).await), expected);
    // Takes the hello and hangs up.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cut = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let hello = stream.read(&mut [0; 16]).await.unwrap();
            assert!(hello > 0, "a handshake begins with the client");
        }
    });
    let stage = Stage::at(&cut, &clock, bystander, two, 1, |builder| builder);
    assert_eq!(line(&call(&stage, write()).await), expected);
}

#[tokio::test]
async fn a_write_that_may_have_acted_is_sent_once_and_handed_over_for_the_ledger() {
    // Breaks when the error of a lost answer does not say what was lost: nobody could look it up.
    let stage = steps(vec![Step::of(Deed::Reset)], Policy::builder()).await;
    let mut lost = write();
    lost = lost.with_header(HeaderName::from_static("x-trace"), HeaderValue::from_static("7"));
    let error = call(&stage, lost).await.unwrap_err();
    let unknown = error.unknown.unwrap();
    assert_eq!(
        (unknown.method.as_str(), unknown.path.as_str()),
        ("POST", "/v1/orders")
    );
    assert_eq!(
        (unknown.upstream.as_str(), unknown.key),
        (stage.upstream.name(), None)
    );
    assert_eq!(
        (error.reason.code(), unknown.outcome),
        ("may-have-acted", "failed")
    );
    assert_eq!(stage.server.requests().len(), 1);
}

#[tokio::test]
async fn a_key_is_made_once_for_each_call_and_kept_over_its_attempts() {
    // Breaks when the key is made inside the loop: each attempt would be another payment.
    let clock = CrankedClock::new();
    let lost_then_done = |nth: usize, _: &Request| match nth % 3 {
        0 => Step::of(Deed::Reset),
        1 => Step::answer(500, &[], "no"),
        // A kept connection would be sent over again inside the attempt.
        _ => Step::answer(200, &[("connection", "close")], r#"{"id":"ch_1"}"#),
    };
    let server = Server::start(&clock, lost_then_done).await;
    let stage = Stage::new(&clock, server, policy(Policy::builder()), 1, |builder| {
        builder.provider(Provider::Stripe)
    });
    let pay = || Call::post_json("/v1/charges", r#"{"amount":5}"#);
    for asked in [pay(), pay(), pay().with_key(HeaderValue::from_static("mine"))] {
        assert_eq!(line(&call(&stage, asked).await), "200 after 3");
    }
    let requests = stage.server.requests();
    let keys: Vec<&str> = requests
        .iter()
        .map(|request| request.header("idempotency-key").unwrap())
        .collect();
    assert_eq!(keys[0..3], [keys[0]; 3]);
    assert_eq!(keys[3..6], [keys[3]; 3]);
    assert_eq!(keys[6..9], ["mine"; 3]);
    assert_ne!(keys[0], keys[3]);
    assert_eq!(
        (keys[0].len(), keys[0].as_bytes()[14]),
        (36, b'7'),
        "a UUID of version 7"
    );
    assert!(requests.iter().all(|request| request.body == r#"{"amount":5}"#));
}

#[tokio::test]
async fn the_last_real_answer_outlives_attempts_that_got_none() {
    // Breaks when a reset after a 500 hides what the 500 said, or when its bytes are made pretty.
    const BODY: &str = "{ \"error\" : {\"message\":\"\\u00e9 \u{e9}\"} }\n";
    let failing = Step::answer(
        500,
        &[
            ("content-type", "application/json"),
            ("x-request-id", "r-1"),
            ("x-twice", "a"),
            ("x-twice", "b"),
        ],
        BODY,
    );
    let stage = steps(vec![failing, Step::of(Deed::Reset)], Policy::builder().retries(2)).await;
    let error = call(&stage, read()).await.unwrap_err();
    assert_eq!(error.cause.map(|cause| cause.name()), Some("cut"));
    let notes: Vec<_> = error.attempts.iter().map(|note| note.status).collect();
    assert_eq!(notes, [Some(500), None, None]);
    let kept = error.answer.unwrap();
    assert_eq!(
        (kept.status, kept.body.as_ref()),
        (StatusCode::INTERNAL_SERVER_ERROR, BODY.as_bytes())
    );
    assert_eq!(kept.headers["x-request-id"], "r-1");
    let twice: Vec<_> = kept.headers.get_all("x-twice").iter().collect();
    assert_eq!(twice, ["a", "b"]);
}

#[tokio::test]
async fn a_body_too_large_to_keep_goes_out_once_and_whole() {
    // Breaks when a body that was not kept is sent again empty, or is cut at the limit.
    let large = vec![b'x'; 300_000];
    let clock = CrankedClock::new();
    for (limit_bytes, code, sends) in [(299_999, "body-too-large", 1), (300_000, "attempts-spent", 2)] {
        let server = Server::with_steps(&clock, vec![Step::answer(503, &[], "busy")]).await;
        let stage = Stage::new(
            &clock,
            server,
            policy(Policy::builder().retries(1)),
            1,
            |builder| builder.replay_bytes_max(limit_bytes),
        );
        let error = call(&stage, chat().with_body(large.clone())).await.unwrap_err();
        assert_eq!(error.reason.code(), code);
        assert_eq!(error.answer.unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
        let requests = stage.server.requests();
        assert_eq!(requests.len(), sends);
        assert!(requests.iter().all(|request| request.body == large));
    }
}

#[tokio::test]
async fn what_is_said_of_one_call_stands_before_its_policy() {
    // Breaks when a word of the caller is not heard.
    let (busy, lost) = (
        Step::answer(503, &[("retry-after", "5")], "busy"),
        Step::of(Deed::Reset),
    );
    let short = read().with_deadline(Duration::from_secs(4));
    for (step, said, code, sends) in [
        (&busy, read(), "attempts-spent", 2),
        (&busy, read().with_retries_max(0), "attempts-spent", 1),
        (&busy, short, "server-asked-too-long", 1),
        (&lost, write(), "may-have-acted", 1),
        (&lost, write().with_replay(Replay::Declared), "attempts-spent", 2),
        (&lost, read().with_replay(Replay::Unsafe), "may-have-acted", 1),
        (&lost, read(), "attempts-spent", 2),
    ] {
        let stage = steps(vec![step.clone()], Policy::builder().retries(1)).await;
        let error = call(&stage, said).await.unwrap_err();
        let sent = stage.server.requests().len();
        assert_eq!((error.reason.code(), sent), (code, sends));
    }
}

#[tokio::test]
async fn a_stated_wait_is_kept_to_the_millisecond_by_all_who_share_it() {
    // Breaks when a hint holds for the call that met it alone, or when the wait begins before the answer came.
    let stage = steps(
        vec![
            Step::answer(429, &[("retry-after", "2.5")], "").after(Duration::from_secs(1)),
            Step::answer(200, JSON, "{}"),
        ],
        Policy::builder(),
    )
    .await;
    let late = stage.clock.clone();
    let (first, second) = (stage.upstream.clone(), stage.upstream.clone());
    let told = stage
        .run_all(vec![
            Box::pin(async move { first.call(read()).await }),
            Box::pin(async move {
                use seawall::clock::Clock as _;
                late.sleep_until(late.now().after(Duration::from_secs(2))).await;
                second.call(chat()).await
            }),
        ])
        .await;
    assert!(told.iter().all(Result::is_ok));
    let at: Vec<u64> = stage
        .server
        .requests()
        .iter()
        .map(|request| request.at.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(at, [0, 3_500, 3_500]);
}

#[tokio::test]
async fn two_upstreams_share_nothing() {
    // Breaks when a breaker, a cool-down or a connection is kept by address and not by upstream.
    let clock = CrankedClock::new();
    let server = Server::start(&clock, |nth, request| match (request.lane(), nth) {
        ("failing", _) => Step::answer(500, &[], "no"),
        ("throttled", _) => Step::answer(429, &[("retry-after", "3600")], ""),
        _ => Step::answer(200, JSON, "{}"),
    })
    .await;
    let other = |seed| {
        Stage::new(
            &clock,
            server.clone(),
            policy(Policy::builder().retries(0)),
            seed,
            |b| b,
        )
    };
    let asked = |lane| read().with_header(HeaderName::from_static(LANE), HeaderValue::from_static(lane));
    let (broken, cooling, well) = (other(1), other(2), other(3));
    for _ in 0..5 {
        assert!(call(&broken, asked("failing")).await.is_err());
        clock.advance(Duration::from_millis(250));
    }
    assert!(call(&cooling, asked("throttled")).await.is_err());
    let sent = server.requests().len();
    let refused = call(&broken, asked("well")).await.unwrap_err();
    assert_eq!(refused.reason.code(), "breaker-open");
    let refused = call(&cooling, asked("well")).await.unwrap_err();
    assert_eq!(refused.reason.code(), "cooling-down");
    assert_eq!(server.requests().len(), sent, "what is refused is not sent");
    assert_eq!(line(&call(&well, asked("well")).await), "200 after 1");
    assert_eq!(server.accepted(), 3, "each has connections of its own");
}

#[tokio::test]
async fn an_upstream_that_drains_ends_what_waits_and_not_what_is_out() {
    // Breaks when stopping loses an answer that is on its way, or waits for one that was never asked for.
    let clock = CrankedClock::new();
    let server = Server::start(&clock, |_, request| match request.lane() {
        "waits" => Step::answer(503, &[("retry-after", "30")], ""),
        _ => Step::answer(200, JSON, "{}").after(Duration::from_secs(5)),
    })
    .await;
    let stage = Stage::new(&clock, server, policy(Policy::builder()), 1, |builder| builder);
    let acts = ["out", "waits", "drains"].map(|lane| {
        let (upstream, clock) = (stage.upstream.clone(), stage.clock.clone());
        let act: crate::stage::Act<String> = Box::pin(async move {
            use seawall::clock::Clock as _;
            let asked = read().with_header(HeaderName::from_static(LANE), HeaderValue::from_static(lane));
            if lane == "drains" {
                clock.sleep_until(clock.now().after(Duration::from_secs(1))).await;
                upstream.drain();
            }
            let told = upstream.call(asked).await;
            format!(
                "{} at {}",
                told.map_or_else(|error| error.reason.code(), |_| "answered"),
                clock.now()
            )
        });
        act
    });
    let ended = stage.run_all(acts.into()).await;
    assert_eq!(ended, ["answered at 5s", "draining at 1s", "draining at 1s"]);
}
