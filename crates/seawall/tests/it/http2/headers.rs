//! What an HTTP/2 server sees, and what it may say beside an answer.

use h2::server::Builder;
use http::{HeaderMap, HeaderValue, StatusCode, Version};
use seawall::http::{Outgoing, Resend, Secret, Versions};
use std::sync::{Arc, Mutex};

use super::real::Real;
use super::wire::{
    END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, NO_ERROR, Step, Wire, answer, block, data, frame,
    head, last, reset, settings,
};
use super::{attempt, post2, whole};
use crate::{LIMITS, soon, transport};

#[tokio::test]
async fn a_request_has_the_form_that_http2_asks_for() {
    // Breaks when Host goes beside :authority, or a header about an HTTP/1.1 connection travels: a strict server then
    // resets every stream as malformed.
    let seen = Arc::new(Mutex::new(None));
    let put = Arc::clone(&seen);
    let server = Real::start(Builder::new(), None, move |mut exchange| {
        let put = Arc::clone(&put);
        async move {
            let body = exchange.body().await;
            let request = &exchange.request;
            let (uri, headers) = (request.uri().to_string(), request.headers().clone());
            *put.lock().unwrap() = Some((request.version(), uri, headers, body));
            exchange.answer("ok");
        }
    })
    .await;
    let mut out: Outgoing = post2(&server.url("http"), "ping");
    for (name, value) in [
        ("host", "elsewhere"),
        ("connection", "x-hop, close"),
        ("x-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("upgrade", "h2c"),
        ("http2-settings", "AAMAAABk"),
        ("transfer-encoding", "chunked"),
        ("te", "gzip, trailers"),
        ("x-own", "a"),
        ("x-own", "b"),
    ] {
        out = out.with_header(name, value).unwrap();
    }
    let out = out
        .with_secret("authorization", Secret::bearer("sk-1").unwrap())
        .unwrap();
    let attempted = soon(transport().attempt(&out, &LIMITS, Resend::Never)).await;
    assert_eq!(whole(attempted).await.unwrap().body, "ok");
    let (version, uri, headers, body) = seen.lock().unwrap().take().unwrap();
    assert_eq!(version, Version::HTTP_2);
    assert_eq!(uri, server.url("http"));
    assert_eq!(body, b"ping");
    let mut sent: Vec<_> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    sent.sort();
    let expected = [
        "authorization: Bearer sk-1",
        "content-length: 4",
        "te: trailers",
        "x-own: a",
        "x-own: b",
    ];
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn a_request_without_a_body_ends_with_its_head() {
    // Breaks when a GET leaves its stream open for a body that never comes.
    let server = Real::start(Builder::new(), None, |mut exchange| async move {
        assert!(exchange.request.body().is_end_stream());
        assert!(!exchange.request.headers().contains_key("content-length"));
        exchange.answer("ok");
    })
    .await;
    let out = Outgoing::new(http::Method::GET, server.url("http").parse().unwrap())
        .with_versions(Versions::Http2PriorKnowledge);
    let attempted = soon(transport().attempt(&out, &LIMITS, Resend::Never)).await;
    assert_eq!(whole(attempted).await.unwrap().body, "ok");
}

#[tokio::test]
async fn trailers_come_after_the_body() {
    // Breaks when trailers end a body early, or are lost.
    let server = Real::start(Builder::new(), None, |mut exchange| async move {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        exchange.answer_with_trailers("all", trailers);
    })
    .await;
    let transport = transport();
    let attempted = attempt(&transport, &server.url("http")).await;
    let mut body = attempted.result.unwrap().body;
    assert_eq!(soon(body.collect(100)).await.unwrap(), "all");
    assert_eq!(body.trailers().unwrap()["grpc-status"], "0");
    assert_eq!(transport.idle_connections(), 1);
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    // Breaks when a 103 is taken for the answer, or ends it.
    let server = Wire::start(|asked| {
        // `:status: 103` as a literal with an indexed name.
        let interim = [8, 3, b'1', b'0', b'3'];
        let mut steps = vec![frame(HEADERS, END_HEADERS, asked.stream, &interim); 3];
        steps.extend(answer(asked.stream, "ok"));
        steps
    })
    .await;
    let answered = whole(attempt(&transport(), &server.url()).await).await.unwrap();
    assert_eq!(
        (answered.status, &answered.body[..]),
        (StatusCode::OK, &b"ok"[..])
    );
}

#[tokio::test]
async fn an_answer_without_a_body_is_whole() {
    // Breaks when an answer that ends with its head waits for more: its connection would count as busy for ever.
    let server = Wire::start(|asked| {
        let block = block(&[]);
        vec![frame(HEADERS, END_HEADERS | END_STREAM, asked.stream, &block)]
    })
    .await;
    let transport = transport();
    let attempted = attempt(&transport, &server.url()).await;
    assert_eq!(transport.idle_connections(), 1);
    assert_eq!(whole(attempted).await.unwrap().body, "");
}

#[tokio::test]
async fn an_answer_in_pieces_is_the_same_bytes() {
    // Breaks when merging loses a frame, or an empty one ends the body or is handed on.
    let server = Wire::start(|asked| {
        let stream = asked.stream;
        let mut steps: Vec<Step> = vec![head(stream, &[])];
        for piece in ["one ", "", "two ", "", "three"] {
            steps.push(data(stream, piece));
        }
        steps.push(last(stream, ""));
        steps
    })
    .await;
    let transport = transport();
    let mut body = attempt(&transport, &server.url()).await.result.unwrap().body;
    let mut read = String::new();
    while let Some(chunk) = soon(body.chunk()).await {
        let chunk = chunk.unwrap();
        assert!(!chunk.is_empty(), "after {read:?}");
        read.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert_eq!(read, "one two three");
}

#[tokio::test]
async fn an_answer_before_the_end_of_the_upload_is_heard() {
    // Breaks when the reset that ends an upload early hides the answer before it (RFC 9113 8.1).
    let early = Wire::opening(settings(&[(INITIAL_WINDOW_SIZE, 0)]), |_| Vec::new()).await;
    let transport = transport();
    let out = post2(&early.url(), "never leaves");
    let answering = async {
        early.has_seen(|seen| seen.kind == HEADERS).await;
        for step in [
            head(1, &[("x-early", "1")]),
            last(1, "too large"),
            reset(1, NO_ERROR),
        ] {
            early.says(0, step);
        }
    };
    let (attempted, ()) =
        soon(async { tokio::join!(transport.attempt(&out, &LIMITS, Resend::Never), answering) }).await;
    assert_eq!(whole(attempted).await.unwrap().body, "too large");
}

#[tokio::test]
async fn a_body_larger_than_every_window_passes_both_ways() {
    // Breaks when what was read is not given back to the server's window, or an upload stops at the first one.
    let large: &'static str = Box::leak("0123456789abcdef".repeat(300_000).into_boxed_str());
    let server = Real::start(Builder::new(), None, move |mut exchange| async move {
        assert_eq!(exchange.body().await.len(), large.len());
        exchange.answer(large);
    })
    .await;
    let out = post2(&server.url("http"), large);
    let attempted = soon(transport().attempt(&out, &LIMITS, Resend::Never)).await;
    let body = soon(attempted.result.unwrap().collect(5 << 20))
        .await
        .unwrap()
        .body;
    assert!(body == large.as_bytes());
}
