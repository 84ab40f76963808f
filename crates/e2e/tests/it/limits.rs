//! Limits over sockets: our own, a server's, those of keys, and what an upstream says of them.

use crate::server::{Deed, Request, Server, Step, answer};
use crate::stage::{Act, Stage};
use seawall::clock::Clock as _;
use seawall::crank::CrankedClock;
use seawall::upstream::{Call, Upstream};
use seawall_core::policy::{Mode, Policy, PolicyBuilder};
use seawall_core::time::{Duration, Instant};
use std::sync::Mutex;

const JSON: (&str, &str) = ("content-type", "application/json");
const SECOND: Duration = Duration::from_secs(1);

async fn stage(clock: &CrankedClock, server: Server, policy: PolicyBuilder) -> Stage {
    Stage::new(clock, server, policy.build().unwrap(), 1, |builder| builder)
}

/// A stage whose server answers everything with this body.
async fn answering(clock: &CrankedClock, body: &str, policy: PolicyBuilder) -> Stage {
    let server = Server::with_steps(clock, vec![Step::answer(200, &[JSON], body)]).await;
    stage(clock, server, policy).await
}

/// A chat that may be answered with so many tokens; its own are `CHAT_TOKENS_IN`.
fn chat(tokens_out: u32) -> Call {
    let body = format!(r#"{{"model":"small-1","messages":[],"max_tokens":{tokens_out:>4}}}"#);
    Call::post_json("/v1/chat/completions", body)
}

const CHAT_TOKENS_IN: u64 = 13;

/// Makes this call again and again until `end`.
fn worker(stage: &Stage, end: Instant, call: impl Fn() -> Call + Send + 'static) -> Act<()> {
    let (upstream, clock) = (stage.upstream.clone(), stage.clock.clone());
    Box::pin(async move {
        while clock.now() < end {
            upstream.call(call()).await.unwrap();
        }
    })
}

fn times(requests: &[Request]) -> Vec<Duration> {
    let since = |request: &Request| request.at.since(Instant::START);
    requests.iter().map(since).collect()
}

#[tokio::test]
async fn an_hour_of_sixty_a_minute_sends_what_the_bucket_allows_to_the_second() {
    // Broken by one request more or less: by a wait that is a moment too long, a place that is kept while a call waits,
    // or a call that asks twice.
    let clock = CrankedClock::new();
    let policy = Policy::builder().requests_per_minute(Some(60));
    let stage = answering(&clock, "{}", policy).await;
    let end = Instant::START + Duration::from_secs(3_600);
    let workers = (0..3).map(|_| worker(&stage, end, || Call::get("/v1/things")));
    stage.run_all(workers.collect()).await;
    let sent = times(&stage.server.requests());
    let within: Vec<Duration> = sent
        .into_iter()
        .filter(|at| *at < Duration::from_secs(3_600))
        .collect();
    let at_once = (0..60).map(|_| Duration::ZERO);
    let expected: Vec<Duration> = at_once.chain((1..3_600).map(Duration::from_secs)).collect();
    assert_eq!(within.len(), 60 + 3_599);
    assert_eq!(within, expected);
}

/// A server of five requests in ten seconds, which says so in every answer; 429 beyond.
async fn telling(clock: &CrankedClock) -> Server {
    const LIMIT: u32 = 5;
    let window = Mutex::new((Instant::START, LIMIT));
    Server::start(clock, move |_, request| {
        let mut window = window.lock().unwrap();
        if request.at >= window.0 {
            *window = (request.at + Duration::from_secs(10), LIMIT);
        }
        let status = if window.1 > 0 { 200 } else { 429 };
        window.1 = window.1.saturating_sub(1);
        let resets_in = format!("{}ms", window.0.since(request.at).as_millis());
        let said = [
            JSON,
            ("x-ratelimit-limit-requests", "5"),
            ("x-ratelimit-remaining-requests", &window.1.to_string()),
            ("x-ratelimit-reset-requests", &resets_in),
        ];
        Step::answer(status, &said, "{}").after(Duration::from_millis(40))
    })
    .await
}

#[tokio::test]
async fn a_server_that_tells_what_is_left_is_never_run_into() {
    // Broken if the headers went unheard, were heard at the end of an answer, or if what is on its way were forgotten.
    let clock = CrankedClock::new();
    let stage = stage(&clock, telling(&clock).await, Policy::builder()).await;
    let end = Instant::START + Duration::from_secs(100);
    let workers = (0..4).map(|_| worker(&stage, end, || Call::get("/v1/things")));
    stage.run_all(workers.collect()).await;
    let requests = stage.server.requests();
    let events = stage.upstream.events();
    let met = |what: &str| {
        let line = format!("met {what}");
        events
            .iter()
            .filter(|event| event.to_string().contains(&line))
            .count()
    };
    assert_eq!(met("throttled"), 0);
    assert_eq!(met("answer"), requests.len());
    // And no less is sent than the server allows.
    let within = times(&requests)
        .into_iter()
        .filter(|at| *at < Duration::from_secs(100));
    assert_eq!(within.count(), 50);
}

#[tokio::test]
async fn before_anything_was_told_the_same_server_is_run_into() {
    // The test above could not fail against a server that never says 429.
    let clock = CrankedClock::new();
    let stage = stage(&clock, telling(&clock).await, Policy::builder().retries(0)).await;
    let acts = (0..7).map(|_| {
        let upstream = stage.upstream.clone();
        Box::pin(async move { upstream.call(Call::get("/v1/things")).await.is_ok() }) as Act<bool>
    });
    let ended = stage.run_all(acts.collect()).await;
    assert_eq!(ended.iter().filter(|ok| !**ok).count(), 2);
    assert_eq!(stage.server.requests().len(), 7);
}

#[tokio::test]
async fn a_head_is_heard_before_its_body_has_come() {
    // Broken if what is left were learned with the last byte: a slow answer would let others run into the limit.
    let clock = CrankedClock::new();
    let said = [
        JSON,
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "2s"),
    ];
    let half = Step::of(Deed::WriteStall(answer(200, &said, "{", 2)));
    let server = Server::with_steps(&clock, vec![half, Step::answer(200, &[JSON], "{}")]).await;
    let policy = Policy::builder().retries(0).idle(Duration::from_secs(5));
    let stage = stage(&clock, server, policy).await;
    let (slow, next, at) = (stage.upstream.clone(), stage.upstream.clone(), clock.clone());
    let acts: Vec<Act<bool>> = vec![
        Box::pin(async move { slow.call(Call::get("/v1/things")).await.is_ok() }),
        Box::pin(async move {
            at.sleep_until(at.now() + SECOND).await;
            next.call(Call::get("/v1/things")).await.is_ok()
        }),
    ];
    assert_eq!(stage.run_all(acts).await, [false, true]);
    assert_eq!(
        times(&stage.server.requests()),
        [Duration::ZERO, Duration::from_secs(2)]
    );
}

#[tokio::test]
async fn tokens_are_settled_by_what_the_answer_says() {
    // Broken if a reservation of the most that a call may use stayed for the little that it did: three in four calls
    // would wait for nothing.
    let clock = CrankedClock::new();
    let body =
        r#"{"choices":[{"message":{"content":"yes"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#;
    let stage = answering(&clock, body, Policy::builder().tokens_per_minute(Some(1_000))).await;
    let left = |stage: &Stage| stage.upstream.state().gate.rates[1].left;
    for nth in 1..=5 {
        let upstream = stage.upstream.clone();
        stage
            .run(async move { upstream.call(chat(900)).await.unwrap() })
            .await;
        assert_eq!(left(&stage), Some(1_000 - nth * 10));
    }
    assert_eq!(clock.now(), Instant::START, "none of them waited");
    // While it is out, the most that it may use is taken.
    let silent = Server::with_steps(&clock, vec![Step::of(Deed::Stall)]).await;
    let policy = Policy::builder().tokens_per_minute(Some(1_000)).retries(0);
    let other = Stage::new(&clock, silent, policy.build().unwrap(), 1, |builder| builder);
    let (out, at) = (other.upstream.clone(), clock.clone());
    other
        .run(async move {
            let call = out.call(chat(900));
            let later = at.sleep_until(at.now() + Duration::from_millis(1));
            tokio::select! { biased; _ = call => panic!("nobody answers"), () = later => {} }
        })
        .await;
    // Nobody knows what it used.
    assert_eq!(left(&other), Some(1_000 - 900 - CHAT_TOKENS_IN));
}

#[tokio::test]
async fn a_limit_counts_all_that_a_dialect_counts_apart_but_what_was_cached_for_nothing() {
    // Broken if what Gemini thought, what its tools read, or what Anthropic wrote to a cache were left out of the limit; if
    // what Anthropic had from a cache, which its own limits leave out, were held against it; or if the caller were told
    // another sum than what was used. A stream must count as the same answer in one piece does.
    let gemini = r#""usageMetadata":{"promptTokenCount":20,"toolUsePromptTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":70}"#;
    let gemini = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"yes"}}]}},"finishReason":"STOP"}}],{gemini}}}"#
    );
    let read = r#""input_tokens":20,"cache_creation_input_tokens":4,"cache_read_input_tokens":500"#;
    let anthropic =
        format!(r#"{{"content":[{{"type":"text","text":"yes"}}],"usage":{{{read},"output_tokens":5}}}}"#);
    let messages = [
        format!(r#"{{"type":"message_start","message":{{"usage":{{{read},"output_tokens":1}}}}}}"#),
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"yes"}}"#.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#
            .to_owned(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    let stream = |events: &[String]| {
        events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect::<String>()
    };
    let openai = r#"{"choices":[{"message":{"content":"yes"}}],"usage":{"prompt_tokens":20,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":16}}}"#;
    let events = ("content-type", "text/event-stream");
    for (kind, body, used, counted) in [
        (JSON, gemini.clone(), (24, 75), 99),
        (events, stream(&[gemini]), (24, 75), 99),
        (JSON, anthropic, (524, 5), 29),
        (events, stream(&messages), (524, 5), 29),
        (JSON, openai.to_owned(), (20, 5), 25),
    ] {
        let clock = CrankedClock::new();
        let server = Server::with_steps(&clock, vec![Step::answer(200, &[kind], &body)]).await;
        let stage = stage(&clock, server, Policy::builder().tokens_per_minute(Some(1_000))).await;
        let left = || stage.upstream.state().gate.rates[1].left;
        let upstream = stage.upstream.clone();
        let answer = stage
            .run(async move { upstream.call(chat(900)).await.unwrap() })
            .await;
        assert_eq!((answer.usage.tokens_in, answer.usage.tokens_out), used, "{body}");
        assert_eq!(left(), Some(1_000 - counted), "{body}");

        clock.advance(Duration::from_secs(60));
        let upstream = stage.upstream.clone();
        let told = stage
            .run(async move {
                let mut opened = upstream.open(chat(900)).await.unwrap();
                opened.rest().await.unwrap();
                opened.usage()
            })
            .await;
        assert_eq!((told.tokens_in, told.tokens_out), used, "handed on: {body}");
        assert_eq!(left(), Some(1_000 - counted), "handed on: {body}");
    }
}

#[tokio::test]
async fn a_server_that_fails_three_times_in_ten_leaves_the_limit_whole() {
    // Broken if a failed attempt kept its tokens: the answers in ten minutes would be fewer than the limit has room for,
    // and the bucket would never be full again.
    let clock = CrankedClock::new();
    let answered =
        r#"{"choices":[{"message":{"content":"yes"}}],"usage":{"prompt_tokens":90,"completion_tokens":10}}"#;
    let server = Server::start(&clock, move |nth, _| match nth * 7 % 10 {
        0..3 => Step::answer(503, &[JSON, ("retry-after-ms", "1")], "{}"),
        _ => Step::answer(200, &[JSON], answered),
    });
    let policy = Policy::builder()
        .tokens_per_minute(Some(600))
        .retries(20)
        .backoff_base(Duration::from_millis(1))
        .budget(None)
        .breaker(None);
    let stage = stage(&clock, server.await, policy).await;
    let end = Instant::START + Duration::from_secs(600);
    let workers = (0..2).map(|_| worker(&stage, end, || chat(87)));
    stage.run_all(workers.collect()).await;
    let events = stage.upstream.events();
    let answers = events
        .iter()
        .filter(|event| event.at < end && event.to_string().contains("met answer"));
    // Six at once, and one every ten seconds.
    assert_eq!(answers.count(), 6 + 59);
    clock.advance(Duration::from_secs(60));
    assert_eq!(stage.upstream.state().gate.rates[1].left, Some(600));
}

#[tokio::test]
async fn a_stream_that_is_given_up_has_used_what_it_said() {
    // Broken if the tokens of an answer that nobody waits for were kept at the most that it might have used.
    let clock = CrankedClock::new();
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\n";
    let head = [("content-type", "text/event-stream")];
    let part = Step::of(Deed::WriteStall(answer(200, &head, start, 10_000)));
    let server = Server::with_steps(&clock, vec![part]).await;
    let stage = stage(&clock, server, Policy::builder().tokens_per_minute(Some(1_000))).await;
    let (upstream, at) = (stage.upstream.clone(), clock.clone());
    stage
        .run(async move {
            let later = at.sleep_until(at.now() + Duration::from_millis(1));
            tokio::select! { biased; _ = upstream.call(chat(900)) => panic!("it stalls"), () = later => {} }
        })
        .await;
    assert_eq!(stage.upstream.state().gate.rates[1].left, Some(1_000 - 26));
}

#[tokio::test]
async fn a_reload_lets_go_on_who_waited_for_the_old_limit() {
    // Broken if calls that wait slept on until the time that the old limit had told them, or if the reload forgot what
    // was sent before it.
    let clock = CrankedClock::new();
    let stage = answering(&clock, "{}", Policy::builder().requests_per_minute(Some(1))).await;
    let (upstream, at) = (stage.upstream.clone(), clock.clone());
    let reload: Act<usize> = Box::pin(async move {
        at.sleep_until(at.now() + SECOND).await;
        assert_eq!(upstream.state().waits.of("rate-wait"), 2);
        let policy = Policy::builder().requests_per_minute(Some(60)).retries(1).build();
        upstream.configure(&policy.unwrap()).unwrap();
        0
    });
    let call = |upstream: Upstream| -> Act<usize> {
        Box::pin(async move {
            upstream
                .call(Call::get("/v1/things"))
                .await
                .unwrap()
                .attempts
                .len()
        })
    };
    let calls = (0..3).map(|_| call(stage.upstream.clone()));
    stage.run_all(calls.chain([reload]).collect()).await;
    assert_eq!(times(&stage.server.requests()), [Duration::ZERO, SECOND, SECOND]);
    assert_eq!(stage.upstream.state().gate.rates[0].left, Some(57));
}

#[tokio::test]
async fn a_call_keeps_the_call_policy_that_it_began_with_and_the_next_has_the_new_one() {
    // Broken if a reload changed the rules in the middle of a call, or never reached the calls that follow.
    let clock = CrankedClock::new();
    let server = Server::with_steps(&clock, vec![Step::answer(500, &[JSON], "{}")]).await;
    let stage = stage(&clock, server, Policy::builder().retries(2)).await;
    let (upstream, at) = (stage.upstream.clone(), clock.clone());
    let reload: Act<usize> = Box::pin(async move {
        at.sleep_until(at.now() + Duration::from_millis(1)).await;
        upstream
            .configure(&Policy::builder().retries(0).build().unwrap())
            .unwrap();
        0
    });
    let upstream = stage.upstream.clone();
    let call = || -> Act<usize> {
        let upstream = upstream.clone();
        Box::pin(async move {
            upstream
                .call(Call::get("/v1/things"))
                .await
                .unwrap_err()
                .attempts
                .len()
        })
    };
    assert_eq!(stage.run_all(vec![call(), reload]).await, [3, 0]);
    assert_eq!(stage.run_all(vec![call()]).await, [1]);
}

#[tokio::test]
async fn whoever_forces_an_upstream_is_obeyed_until_it_is_given_back() {
    // Broken if a latch let calls through, or if giving it back did not.
    let clock = CrankedClock::new();
    let stage = answering(&clock, "{}", Policy::builder()).await;
    let call = |upstream: Upstream| {
        stage.run(async move {
            match upstream.call(Call::get("/v1/things")).await {
                Ok(_) => "succeeded",
                Err(error) => error.reason.code(),
            }
        })
    };
    stage.upstream.force(Mode::Open).unwrap();
    assert_eq!(call(stage.upstream.clone()).await, "breaker-open");
    assert_eq!(stage.upstream.state().gate.breaker.unwrap().mode, Mode::Open);
    stage.upstream.force(Mode::Auto).unwrap();
    assert_eq!(call(stage.upstream.clone()).await, "succeeded");
    assert_eq!(stage.server.requests().len(), 1);
}

#[tokio::test]
async fn keys_share_one_server_and_what_it_says() {
    // Broken if a key had connections, a credential's quota or a cool-down of its own: one customer's 429 is told to
    // the account, and so to all.
    let clock = CrankedClock::new();
    let steps = vec![
        Step::answer(200, &[JSON], "{}"),
        Step::answer(429, &[JSON, ("retry-after", "3")], "{}"),
        Step::answer(200, &[JSON], "{}"),
    ];
    let server = Server::with_steps(&clock, steps).await;
    let stage = stage(&clock, server, Policy::builder()).await;
    let (one, other) = (stage.upstream.keyed("one"), stage.upstream.keyed("other"));
    let (first, second) = (one.clone(), one.clone());
    stage
        .run(async move { first.call(Call::get("/v1/things")).await.unwrap() })
        .await;
    let throttled: Act<usize> =
        Box::pin(async move { second.call(Call::get("/v1/things")).await.unwrap().attempts.len() });
    let at = clock.clone();
    let waiting: Act<usize> = Box::pin(async move {
        at.sleep_until(at.now() + SECOND).await;
        other.call(Call::get("/v1/things")).await.unwrap().attempts.len()
    });
    assert_eq!(stage.run_all(vec![throttled, waiting]).await, [2, 1]);
    let three = Duration::from_secs(3);
    assert_eq!(
        times(&stage.server.requests()),
        [Duration::ZERO, Duration::ZERO, three, three]
    );
    assert_eq!(stage.server.accepted(), 1, "connections are the upstream's");
    let state = one.state();
    assert_eq!(
        state.above.unwrap().budget.unwrap().granted,
        0,
        "a 429 invited the retry"
    );
    assert_eq!(state.gate.budget, None);
}
