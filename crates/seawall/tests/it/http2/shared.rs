//! Connections that attempts share.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use h2::server::Builder;
use seawall::crank::CrankedClock;
use seawall::http::{Connected, Resend, Transport};
use seawall_core::facts::Broke;
use seawall_core::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

use super::real::{Exchange, Real, old_times, tls};
use super::wire::{
    CANCEL, GOAWAY, HEADERS, MAX_CONCURRENT_STREAMS, NO_ERROR, RST_STREAM, Step, Wire, answer, data, go_away,
    head, settings,
};
use super::{attempt, post2, whole};
use crate::{LIMITS, post, soon, transport};

/// A server that answers nobody before it has leave for each.
async fn held(builder: Builder) -> (Real, Arc<Semaphore>) {
    let leave = Arc::new(Semaphore::new(0));
    let given = Arc::clone(&leave);
    let server = Real::start(builder, None, move |mut exchange: Exchange| {
        let given = Arc::clone(&given);
        async move {
            exchange.body().await;
            given.acquire().await.unwrap().forget();
            exchange.answer("ok");
        }
    })
    .await;
    (server, leave)
}

/// Begins this many attempts at once, each in a task of its own.
fn begin(transport: &Transport, url: &str, attempts: usize) -> Vec<tokio::task::JoinHandle<Connected>> {
    (0..attempts)
        .map(|_| {
            let (transport, out) = (transport.clone(), post2(url, "ping"));
            tokio::spawn(async move {
                let attempted = transport.attempt(&out, &LIMITS, Resend::Never).await;
                let connected = attempted.connected;
                assert_eq!(attempted.result.unwrap().collect(100).await.unwrap().body, "ok");
                connected
            })
        })
        .collect()
}

#[tokio::test]
async fn a_thousand_calls_share_one_connection() {
    // Breaks when each of many that begin at once opens a connection of its own, or none is kept for the next.
    let server = Real::start(Builder::new(), None, |mut exchange| async move {
        exchange.body().await;
        exchange.answer("ok");
    })
    .await;
    let transport = transport();
    let mut fresh = 0;
    for _ in 0..10 {
        for task in begin(&transport, &server.url("http"), 100) {
            fresh += usize::from(soon(task).await.unwrap() == Connected::Fresh);
        }
    }
    assert_eq!(fresh, 1);
    let counts = server.counts();
    assert_eq!((counts.accepted, counts.requests), (1, 1_000));
    assert_eq!(transport.idle_connections(), 1);
    drop(transport);
    soon(server.reaches(|counts| counts.open == 0)).await;
}

#[tokio::test]
async fn many_that_begin_at_once_share_a_tls_handshake() {
    // Breaks when it is only known after the handshake that one would have done for all.
    let (acceptor, pem) = tls(&["h2", "http/1.1"]);
    let server = Real::start(Builder::new(), Some(acceptor), |mut exchange| async move {
        exchange.answer("ok");
    })
    .await;
    let transport = Transport::builder().extra_ca(pem).build().unwrap();
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let (transport, out) = (transport.clone(), post(&server.url("https"), "x"));
            tokio::spawn(async move { whole(transport.attempt(&out, &LIMITS, Resend::Never).await).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(soon(task).await.unwrap().unwrap().body, "ok");
    }
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test]
async fn a_server_of_http1_is_waited_for_once() {
    // Breaks when attempts go on waiting for each other's connection though none can be shared: twenty calls would pay
    // for twenty handshakes in a row. This server ends no second handshake before all have begun.
    let (acceptor, pem) = tls(&["http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let transport = Transport::builder().extra_ca(pem).build().unwrap();
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (transport, out) = (transport.clone(), post(&url, "x"));
            tokio::spawn(async move { whole(transport.attempt(&out, &LIMITS, Resend::Never).await).await })
        })
        .collect();
    let (first, _) = soon(listener.accept()).await.unwrap();
    let served = acceptor.clone();
    tokio::spawn(async move { old_times(served.accept(first).await.unwrap()).await });
    let mut others = Vec::new();
    for _ in 1..20 {
        others.push(soon(listener.accept()).await.unwrap().0);
    }
    for other in others {
        let served = acceptor.clone();
        tokio::spawn(async move { old_times(served.accept(other).await.unwrap()).await });
    }
    for task in tasks {
        assert_eq!(soon(task).await.unwrap().unwrap().body, "http/1.1");
    }
}

#[tokio::test]
async fn no_more_streams_are_opened_than_the_server_takes() {
    // Breaks when the server's limit is not known before the first streams, or one too many waits inside a connection
    // for its place: this server answers nobody until all six are there.
    let mut builder = Builder::new();
    builder.max_concurrent_streams(2);
    let (server, leave) = held(builder).await;
    let transport = transport();
    let tasks = begin(&transport, &server.url("http"), 6);
    soon(server.reaches(|counts| counts.in_flight == 6)).await;
    assert_eq!(server.counts().accepted, 3);
    leave.add_permits(6);
    for task in tasks {
        soon(task).await.unwrap();
    }
    assert_eq!(transport.idle_connections(), 3);
    // Places that came free are taken again.
    leave.add_permits(2);
    for task in begin(&transport, &server.url("http"), 2) {
        assert_eq!(soon(task).await.unwrap(), Connected::Reused);
    }
    assert_eq!(server.counts().accepted, 3);
}

#[tokio::test]
async fn a_server_of_few_streams_is_dialed_by_all_at_once() {
    // Breaks when one dial at a time is the rule: thirty calls would wait thirty round trips for each other. This
    // server answers no second dial before it has seen all of them.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let transport = transport();
    let tasks: Vec<_> = (0..30)
        .map(|_| {
            let (transport, out) = (transport.clone(), post2(&url, "x"));
            tokio::spawn(async move { transport.attempt(&out, &LIMITS, Resend::Never).await })
        })
        .collect();
    let one = settings(&[(MAX_CONCURRENT_STREAMS, 1)]);
    let (mut first, _) = soon(listener.accept()).await.unwrap();
    first.write_all(&one).await.unwrap();
    let mut others = Vec::new();
    for _ in 1..30 {
        others.push(soon(listener.accept()).await.unwrap());
    }
    drop((first, others));
    for task in tasks {
        assert!(soon(task).await.unwrap().result.is_err());
    }
}

#[tokio::test]
async fn a_limit_that_is_lowered_is_kept() {
    // Breaks when the limit is read once, at the beginning.
    let server = Wire::start(|asked| match asked.connection {
        0 => Vec::new(),
        _ => answer(asked.stream, "ok"),
    })
    .await;
    let transport = transport();
    let out = post2(&server.url(), "ping");
    let mut first = pin!(transport.attempt(&out, &LIMITS, Resend::Never));
    let mut asked = pin!(server.was_asked(1));
    soon(poll_fn(|cx| {
        assert!(first.as_mut().poll(cx).is_pending());
        asked.as_mut().poll(cx)
    }))
    .await;
    server.says(0, Step::Write(settings(&[(MAX_CONCURRENT_STREAMS, 1)])));
    // Our acknowledgement says that it holds: the first was for the server's opening settings.
    soon(async {
        loop {
            let acks = server
                .seen()
                .iter()
                .filter(|seen| seen.kind == super::wire::SETTINGS)
                .count();
            if acks == 3 {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(
        whole(attempt(&transport, &server.url()).await)
            .await
            .unwrap()
            .body,
        "ok"
    );
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn dropping_an_attempt_resets_its_stream_and_no_other() {
    // Breaks when a dropped attempt takes the connection along, or leaves the server at work for nobody.
    let go_on = Arc::new(Notify::new());
    let word = Arc::clone(&go_on);
    let server = Wire::start(move |asked| match asked.nth {
        0 => {
            let mut steps = vec![head(asked.stream, &[]), Step::Await(Arc::clone(&word))];
            steps.extend(answer(asked.stream, "ok").split_off(1));
            steps
        }
        1 => Vec::new(),
        _ => vec![head(asked.stream, &[]), data(asked.stream, "part")],
    })
    .await;
    let transport = transport();
    let sibling = attempt(&transport, &server.url()).await;
    let out = post2(&server.url(), "ping");
    // One is dropped before its head,
    {
        let mut dropped = pin!(transport.attempt(&out, &LIMITS, Resend::Never));
        let mut asked = pin!(server.was_asked(2));
        soon(poll_fn(|cx| {
            assert!(dropped.as_mut().poll(cx).is_pending());
            asked.as_mut().poll(cx)
        }))
        .await;
    }
    // and one inside its body.
    let mut body = attempt(&transport, &server.url()).await.result.unwrap().body;
    assert_eq!(soon(body.chunk()).await.unwrap().unwrap(), "part");
    drop(body);
    for stream in [3, 5] {
        soon(server.has_seen(|seen| {
            seen.kind == RST_STREAM && seen.stream == stream && seen.payload == CANCEL.to_be_bytes()
        }))
        .await;
    }
    go_on.notify_one();
    assert_eq!(whole(sibling).await.unwrap().body, "ok");
    assert_eq!(server.accepted(), 1);
    assert_eq!(transport.idle_connections(), 1);
}

#[tokio::test]
async fn an_attempt_dropped_at_any_point_leaves_nothing_behind() {
    // Breaks when a task, the pool or a cycle keeps the connection of a call that nobody waits for.
    let server = Wire::start(|asked| answer(asked.stream, "ok")).await;
    let out = post2(&server.url(), "ping");
    for polls_max in 0..10_000 {
        let transport = transport();
        let mut polls = 0;
        let ended = {
            let mut call = pin!(async {
                whole(transport.attempt(&out, &LIMITS, Resend::Never).await)
                    .await
                    .unwrap()
            });
            soon(poll_fn(|cx| {
                if polls == polls_max {
                    return Poll::Ready(None);
                }
                polls += 1;
                call.as_mut().poll(cx).map(Some)
            }))
            .await
        };
        drop(transport);
        soon(server.is_alone_after_all()).await;
        if ended.is_some() {
            assert!(polls > 3, "{polls} polls are too few to show anything");
            return;
        }
    }
    panic!("it never ends");
}

#[tokio::test]
async fn a_reader_that_pauses_holds_up_nobody_else() {
    // Breaks when the streams share one window: paused readers would fill it, and their siblings starve.
    let large: &'static str = Box::leak("x".repeat(1 << 20).into_boxed_str());
    let server = Real::start(Builder::new(), None, move |mut exchange| async move {
        exchange.answer(if exchange.nth < 20 { large } else { "ok" });
    })
    .await;
    let transport = transport();
    let mut paused = Vec::new();
    for _ in 0..20 {
        paused.push(attempt(&transport, &server.url("http")).await.result.unwrap());
    }
    let answered = whole(attempt(&transport, &server.url("http")).await).await;
    assert_eq!(answered.unwrap().body, "ok");
    for answer in paused {
        assert_eq!(soon(answer.collect(1 << 20)).await.unwrap().body.len(), 1 << 20);
    }
    assert_eq!(server.counts().accepted, 1);
}

#[tokio::test]
async fn a_connection_that_said_goodbye_takes_no_new_streams() {
    // Breaks when GOAWAY is only noticed by whom it hits: the next attempt would be sent for nothing.
    let go_on = Arc::new(Notify::new());
    let word = Arc::clone(&go_on);
    let server = Wire::start(move |asked| match asked.nth {
        0 => {
            let mut steps = vec![head(asked.stream, &[]), go_away(asked.stream, NO_ERROR)];
            steps.push(data(asked.stream, "part"));
            steps.push(Step::Await(Arc::clone(&word)));
            steps.extend(answer(asked.stream, "ok").split_off(1));
            steps
        }
        _ => answer(asked.stream, "new"),
    })
    .await;
    let transport = transport();
    let mut body = attempt(&transport, &server.url()).await.result.unwrap().body;
    assert_eq!(soon(body.chunk()).await.unwrap().unwrap(), "part");
    let next = attempt(&transport, &server.url()).await;
    assert_eq!((next.connected, next.resent), (Connected::Fresh, false));
    assert_eq!(whole(next).await.unwrap().body, "new");
    go_on.notify_one();
    assert_eq!(soon(body.collect(10)).await.unwrap(), "ok");
    assert_eq!(transport.idle_connections(), 1);
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn an_idle_connection_is_let_go_with_a_goodbye() {
    // Breaks when a shared connection is kept for ever, or just dropped.
    let clock = CrankedClock::new();
    let transport = Transport::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    let server = Wire::start(|asked| answer(asked.stream, "ok")).await;
    whole(attempt(&transport, &server.url()).await).await.unwrap();
    clock.advance(Duration::from_secs(23));
    assert_eq!(transport.idle_connections(), 1);
    clock.advance(Duration::from_secs(8));
    assert_eq!(transport.idle_connections(), 0);
    soon(server.has_seen(|seen| seen.kind == GOAWAY)).await;
    soon(server.is_alone()).await;
}

#[tokio::test]
async fn the_last_to_leave_says_so() {
    // Breaks when a connection that nobody holds any more is closed before its last reset and its goodbye are out: the
    // server would work on for nobody.
    let server = Wire::start(|_| Vec::new()).await;
    let out = post2(&server.url(), "ping");
    let transport = transport();
    let task = tokio::spawn(async move { transport.attempt(&out, &LIMITS, Resend::Never).await });
    soon(server.was_asked(1)).await;
    task.abort();
    assert!(soon(task).await.unwrap_err().is_cancelled());
    soon(server.is_alone()).await;
    let last: Vec<_> = server.seen().iter().map(|seen| seen.kind).collect();
    assert!(last.ends_with(&[RST_STREAM, GOAWAY]), "{last:?}");
}

#[tokio::test]
async fn no_idle_connection_is_kept_where_none_may_be() {
    // Breaks when the bounds of the pool are those of HTTP/1.1 alone.
    for builder in [
        Transport::builder().idle_per_place_max(0),
        Transport::builder().idle_for(Duration::ZERO),
    ] {
        let transport = builder.build().unwrap();
        let server = Wire::start(|asked| answer(asked.stream, "ok")).await;
        whole(attempt(&transport, &server.url()).await).await.unwrap();
        soon(server.is_alone()).await;
        assert_eq!(transport.idle_connections(), 0);
    }
}

#[tokio::test]
async fn after_a_408_the_next_attempt_has_a_new_connection() {
    // Breaks when a server that gives up on a connection is asked over it again.
    let server = Wire::start(|asked| match asked.nth {
        // `:status: 408` as a literal with an indexed name.
        0 => vec![super::wire::frame(
            HEADERS,
            super::wire::END_HEADERS | super::wire::END_STREAM,
            asked.stream,
            &[8, 3, b'4', b'0', b'8'],
        )],
        _ => answer(asked.stream, "ok"),
    })
    .await;
    let transport = transport();
    assert_eq!(
        whole(attempt(&transport, &server.url()).await)
            .await
            .unwrap()
            .status,
        408
    );
    assert_eq!(
        attempt(&transport, &server.url()).await.connected,
        Connected::Fresh
    );
}

#[tokio::test]
async fn who_waits_for_a_dial_hears_what_it_broke_on() {
    // Breaks when each of many tries a server that refuses one after the other, or waits for a dial that is over.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let transport = transport();
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let (transport, out) = (transport.clone(), post2(&url, "x"));
            tokio::spawn(async move { transport.attempt(&out, &LIMITS, Resend::Never).await })
        })
        .collect();
    drop(soon(listener.accept()).await.unwrap());
    for task in tasks {
        let broken = soon(task).await.unwrap().result.unwrap_err();
        assert_eq!((broken.broke, broken.sent_bytes), (Broke::Refused, 0), "{broken}");
    }
}

#[tokio::test]
async fn a_dial_that_is_dropped_is_handed_on() {
    // Breaks when the others wait for one that has gone.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let transport = transport();
    let begin = || {
        let (transport, out) = (transport.clone(), post2(&url, "x"));
        tokio::spawn(async move { transport.attempt(&out, &LIMITS, Resend::Never).await })
    };
    let first = begin();
    let silent = soon(listener.accept()).await.unwrap();
    let second = begin();
    tokio::task::yield_now().await;
    first.abort();
    assert!(soon(first).await.unwrap_err().is_cancelled());
    drop(soon(listener.accept()).await.unwrap());
    assert_eq!(
        soon(second).await.unwrap().result.unwrap_err().broke,
        Broke::Refused
    );
    drop(silent);
}
