//! Whole calls over HTTP/2: each fault by its class and its reason.

use seawall::crank::CrankedClock;
use seawall::{Answer, Call, CallError, Upstream};
use seawall_core::outcome::Cause;
use std::sync::Arc;

use super::real::{Real, tls};
use super::wire::{
    CANCEL, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, NO_ERROR, OneStep, REFUSED_STREAM, Step,
    Steps, Wire, answer, data, frame, go_away, head, last, reset,
};
use crate::soon;

/// A write that nothing makes safe to repeat, on a clock that is cranked while nothing is in flight.
async fn write(server: &Wire) -> Result<Answer, Box<CallError>> {
    let clock = CrankedClock::new();
    let upstream = Upstream::builder(&server.url())
        .unwrap()
        .http2_prior_knowledge()
        .clock(Arc::new(clock.clone()))
        .seed(7)
        .build()
        .unwrap();
    let turns = async {
        loop {
            clock.awaited().await;
            if upstream.attempts_out() == 0 {
                clock.step();
            }
            tokio::task::yield_now().await;
        }
    };
    let call = upstream.call(Call::post_json("/v1/orders", r#"{"amount":5}"#));
    soon(async {
        tokio::select! {
            biased;
            ended = call => ended,
            () = turns => unreachable!("the crank turns for ever"),
        }
    })
    .await
}

async fn first(steps: impl Fn(u32) -> Vec<Step> + Send + Sync + 'static) -> Wire {
    Wire::start(move |asked| match asked.nth {
        0 => steps(asked.stream),
        _ => answer(asked.stream, "{}"),
    })
    .await
}

#[tokio::test]
async fn what_the_server_did_not_look_at_is_sent_again_though_it_is_a_write() {
    // Breaks when a write is given up that the server says it never began.
    let cases: [(&str, OneStep); 3] = [
        ("refused", |stream| reset(stream, REFUSED_STREAM)),
        ("away", |stream| go_away(stream - 1, NO_ERROR)),
        ("calm", |stream| go_away(stream - 1, ENHANCE_YOUR_CALM)),
    ];
    for (name, step) in cases {
        let server = first(move |stream| vec![step(stream)]).await;
        let answered = write(&server).await.unwrap();
        let notes: Vec<_> = answered
            .attempts
            .iter()
            .map(|note| (note.sent_for, note.outcome, note.resent))
            .collect();
        assert_eq!(
            notes,
            [("first", "failed", false), ("retry", "answer", false)],
            "{name}"
        );
    }
}

#[tokio::test]
async fn what_the_server_may_have_done_is_not_sent_again() {
    // Breaks when any fault of HTTP/2 counts as not sent.
    let cases: [(&str, Cause, Steps); 8] = [
        ("reset", Cause::Cut, |stream| vec![reset(stream, CANCEL)]),
        ("closed", Cause::Cut, |_| vec![Step::Close]),
        ("cut", Cause::Cut, |_| vec![Step::Reset]),
        ("away and closed", Cause::Cut, |stream| {
            vec![go_away(stream, NO_ERROR), Step::Close]
        }),
        ("reset in the body", Cause::Cut, |stream| {
            vec![
                head(stream, &[]),
                data(stream, "{"),
                reset(stream, REFUSED_STREAM),
            ]
        }),
        ("closed in the body", Cause::Cut, |stream| {
            vec![head(stream, &[]), data(stream, "{"), Step::Close]
        }),
        ("no status", Cause::Malformed, |stream| {
            vec![frame(HEADERS, END_HEADERS | END_STREAM, stream, &[])]
        }),
        ("too short", Cause::Malformed, |stream| {
            vec![head(stream, &[("content-length", "9")]), last(stream, "{}")]
        }),
    ];
    for (name, cause, steps) in cases {
        let server = first(steps).await;
        let error = write(&server).await.unwrap_err();
        assert_eq!(error.reason.code(), "may-have-acted", "{name}: {error}");
        assert_eq!(error.cause, Some(cause), "{name}: {error}");
        assert_eq!(error.unknown.unwrap().path, "/v1/orders", "{name}");
        assert_eq!(error.attempts.len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_server_without_http2_is_never_sent_a_write() {
    // Breaks when the preface counts as a request: the call would end as one that may have acted.
    let server = Wire::opening(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), |_| Vec::new()).await;
    let error = write(&server).await.unwrap_err();
    assert_eq!(error.reason.code(), "attempts-spent", "{error}");
    assert_eq!(error.cause, Some(Cause::Connect));
    assert!(error.unknown.is_none());
    assert!(error.detail.unwrap().contains("something other than HTTP/2"));
    assert!(server.seen().iter().all(|seen| seen.kind != HEADERS));
}

#[tokio::test]
async fn a_call_needs_no_word_about_http2_under_tls() {
    // Breaks when the upstream's own transport does not negotiate.
    let (acceptor, pem) = tls(&["h2", "http/1.1"]);
    let server = Real::start(
        h2::server::Builder::new(),
        Some(acceptor),
        |mut exchange| async move {
            exchange.body().await;
            exchange.answer("{}");
        },
    )
    .await;
    let transport = seawall::http::Transport::builder().extra_ca(pem).build().unwrap();
    let base = format!("https://{}", server.address);
    let upstream = Upstream::builder(&base)
        .unwrap()
        .transport(transport.clone())
        .build()
        .unwrap();
    let old = Upstream::builder(&base)
        .unwrap()
        .transport(transport)
        .http1_only()
        .build()
        .unwrap();
    let call = || Call::post_json("/v1/x", "{}");
    assert_eq!(soon(upstream.call(call())).await.unwrap().body, "{}");
    // The server's HTTP/1.1 says so.
    assert_eq!(soon(old.call(Call::get("/v1/x"))).await.unwrap().body, "http/1.1");
    assert_eq!(server.counts().requests, 1);
}

#[test]
fn a_thread_that_blocks_inside_a_task_shares_a_connection_too() {
    // Breaks when the task of a shared connection lands on the runtime whose thread the call blocks.
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    let (told, hears) = std::sync::mpsc::channel();
    let serving = std::thread::spawn(move || {
        runtime().block_on(async {
            let server = Wire::start(|asked| answer(asked.stream, "{}")).await;
            told.send(server.clone()).unwrap();
            server.was_asked(100).await;
            soon(server.is_alone()).await;
        });
    });
    let server = hears.recv().unwrap();
    let upstream = Upstream::builder(&server.url())
        .unwrap()
        .http2_prior_knowledge()
        .build()
        .unwrap();
    let upstream = seawall::blocking::Upstream::new(upstream).unwrap();
    runtime().block_on(async {
        for _ in 0..100 {
            assert_eq!(upstream.call(Call::post_json("/v1/x", "{}")).unwrap().body, "{}");
        }
    });
    assert_eq!(server.accepted(), 1);
    drop(upstream);
    serving.join().unwrap();
}
