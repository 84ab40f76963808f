//! Attempts over HTTP/2 that break, each in its own way.

use seawall::http::Broken;
use seawall_core::facts::{BodyState, Broke};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::wire::{
    CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, INTERNAL_ERROR,
    NO_ERROR, OneStep, PROTOCOL_ERROR, REFUSED_STREAM, Step, Steps, Wire, answer, block, data, frame,
    go_away, head, last, reset,
};
use super::{attempt, whole};
use crate::{soon, transport};

/// What an attempt breaks on when the server answers its one stream like this.
async fn broken_by(steps: impl Fn(u32) -> Vec<Step> + Send + Sync + 'static) -> Broken {
    let server = Wire::start(move |asked| steps(asked.stream)).await;
    let transport = transport();
    let attempted = attempt(&transport, &server.url()).await;
    assert!(!attempted.resent);
    let broken = whole(attempted).await.unwrap_err();
    drop(transport);
    soon(server.is_alone()).await;
    broken
}

#[tokio::test]
async fn a_refused_stream_is_told_from_one_that_was_reset() {
    // Breaks when the code of a reset is not looked at: a refused write could then never be sent again, or one that
    // was cancelled half-way would be.
    let cases = [
        (REFUSED_STREAM, Broke::RefusedStream),
        (CANCEL, Broke::Reset),
        (INTERNAL_ERROR, Broke::Reset),
        (PROTOCOL_ERROR, Broke::Reset),
        (NO_ERROR, Broke::Closed),
        (0xdead, Broke::Reset),
    ];
    for (code, broke) in cases {
        let broken = broken_by(move |stream| vec![reset(stream, code)]).await;
        assert_eq!(broken.broke, broke, "{code}: {broken}");
        assert!(broken.sent_bytes > 0, "{code}");
    }
}

#[tokio::test]
async fn a_refusal_after_the_head_proves_nothing() {
    // Breaks when REFUSED_STREAM is believed of a stream whose answer had begun.
    let broken = broken_by(|stream| vec![head(stream, &[]), reset(stream, REFUSED_STREAM)]).await;
    assert_eq!((broken.broke, broken.body), (Broke::Reset, BodyState::Truncated));
    let broken = broken_by(|stream| vec![head(stream, &[]), go_away(stream - 1, NO_ERROR)]).await;
    assert_eq!((broken.broke, broken.body), (Broke::Closed, BodyState::Truncated));
}

#[tokio::test]
async fn a_goodbye_below_our_stream_was_not_looked_at() {
    // Breaks when GOAWAY is told as a close: what the server says it did not do would count as maybe done.
    for code in [NO_ERROR, ENHANCE_YOUR_CALM, INTERNAL_ERROR] {
        let broken = broken_by(move |stream| vec![go_away(stream - 1, code)]).await;
        assert_eq!(broken.broke, Broke::GoAway, "{code}: {broken}");
    }
}

#[tokio::test]
async fn a_goodbye_at_our_stream_lets_it_finish() {
    // Breaks when any GOAWAY fails all streams.
    for code in [NO_ERROR, INTERNAL_ERROR] {
        let server = Wire::start(move |asked| {
            let mut steps = vec![go_away(asked.stream, code), head(asked.stream, &[])];
            steps.extend([data(asked.stream, "all "), last(asked.stream, "of it")]);
            steps
        })
        .await;
        let transport = transport();
        let answered = whole(attempt(&transport, &server.url()).await).await.unwrap();
        assert_eq!(answered.body, "all of it");
        // The connection is closed with its last stream, though the transport lives on.
        soon(server.is_alone()).await;
        assert_eq!(transport.idle_connections(), 0);
    }
}

#[tokio::test]
async fn a_goodbye_at_our_stream_and_then_the_end_may_have_acted() {
    // Breaks when the end of a connection is taken for the GOAWAY before it.
    let broken = broken_by(|stream| vec![go_away(stream, NO_ERROR), Step::Close]).await;
    assert_eq!(broken.broke, Broke::Closed, "{broken}");
}

#[tokio::test]
async fn the_end_of_the_connection_is_a_close_or_a_reset() {
    // Breaks when FIN and RST are told as one, or either as never sent.
    let closed = broken_by(|_| vec![Step::Close]).await;
    assert_eq!(closed.broke, Broke::Closed, "{closed}");
    assert!(closed.sent_bytes > 0);
    let reset = broken_by(|_| vec![Step::Reset]).await;
    assert_eq!(reset.broke, Broke::Reset, "{reset}");
}

#[tokio::test]
async fn a_body_that_is_cut_is_truncated() {
    // Breaks when a body without END_STREAM is taken as whole.
    let cases: [(OneStep, Broke); 5] = [
        (|stream| reset(stream, CANCEL), Broke::Reset),
        (|stream| reset(stream, INTERNAL_ERROR), Broke::Reset),
        (|stream| reset(stream, NO_ERROR), Broke::Closed),
        (|_| Step::Close, Broke::Closed),
        (|_| Step::Reset, Broke::Reset),
    ];
    for (cut, broke) in cases {
        let broken = broken_by(move |stream| {
            let mut steps = vec![head(stream, &[("content-length", "9")])];
            steps.extend([data(stream, "four"), cut(stream)]);
            steps
        })
        .await;
        assert_eq!(
            (broken.broke, broken.body, broken.received_bytes),
            (broke, BodyState::Truncated, 4),
            "{broken}"
        );
        assert!(broken.head.is_some());
    }
}

#[tokio::test]
async fn a_body_of_another_length_than_promised_breaks_the_protocol() {
    // Breaks when END_STREAM alone makes a body whole.
    let short =
        broken_by(|stream| vec![head(stream, &[("content-length", "9")]), last(stream, "four")]).await;
    assert_eq!(
        (short.broke, short.body),
        (Broke::Protocol, BodyState::Truncated),
        "{short}"
    );
    // Nothing of a frame that goes too far is handed on.
    let long = broken_by(|stream| vec![head(stream, &[("content-length", "3")]), last(stream, "four")]).await;
    assert_eq!((long.broke, long.received_bytes), (Broke::Protocol, 0), "{long}");
}

#[tokio::test]
async fn frames_that_are_forbidden_break_the_protocol() {
    // Breaks when junk inside HTTP/2 looks like a cut, a panic or a hang.
    let cases: [(&str, Steps); 9] = [
        ("no status", |stream| {
            vec![frame(HEADERS, END_HEADERS | END_STREAM, stream, &[])]
        }),
        ("no such index", |stream| {
            vec![frame(HEADERS, END_HEADERS, stream, &[0xff, 0xff, 0xff, 0x7f])]
        }),
        ("a body before its head", |stream| vec![last(stream, "early")]),
        ("a stream that nobody opened", |stream| {
            vec![head(stream + 40, &[])]
        }),
        ("a head on stream 0", |_| vec![head(0, &[])]),
        ("a continuation of nothing", |stream| {
            vec![frame(CONTINUATION, END_HEADERS, stream, &block(&[]))]
        }),
        ("trailers without an end", |stream| {
            vec![head(stream, &[]), head(stream, &[("x", "y")])]
        }),
        ("a frame above the limit", |stream| {
            vec![head(stream, &[]), frame(DATA, 0, stream, &[0; 20_000])]
        }),
        ("a connection header", |stream| {
            vec![head(stream, &[("connection", "close")]), last(stream, "")]
        }),
    ];
    for (name, steps) in cases {
        let broken = broken_by(steps).await;
        assert_eq!(broken.broke, Broke::Protocol, "{name}: {broken}");
    }
}

#[tokio::test]
async fn a_head_is_bounded() {
    // Breaks when a head is held whatever its size: by bytes, by number, by continuations without an end.
    let large = "a".repeat(120);
    let bytes = broken_by(move |stream| {
        let names: Vec<String> = (0..80).map(|nth| format!("x-{nth}-{large}")).collect();
        let headers: Vec<(&str, &str)> = names.iter().map(|name| (&name[..100], large.as_str())).collect();
        // 80 headers of about 250 bytes are 20 kB; four frames of them are above 64 KiB.
        let mut steps = vec![frame(HEADERS, 0, stream, &block(&headers)[..16_000])];
        let rest = block(&headers)[1..16_000].to_vec();
        for flags in [0, 0, 0, END_HEADERS] {
            steps.push(frame(CONTINUATION, flags, stream, &rest));
        }
        steps
    })
    .await;
    assert_eq!(bytes.broke, Broke::Protocol, "{bytes}");
    let number = broken_by(|stream| {
        let headers = vec![("x", "y"); 101];
        vec![head(stream, &headers), last(stream, "")]
    })
    .await;
    assert_eq!(number.broke, Broke::Protocol, "{number}");
    assert!(number.detail.contains("100 headers"), "{number}");
    let endless = broken_by(|stream| {
        let mut steps = vec![frame(HEADERS, 0, stream, &block(&[]))];
        steps.extend((0..1_000).map(|_| frame(CONTINUATION, 0, stream, &block(&[("x", "y")])[1..])));
        steps
    })
    .await;
    assert_eq!(endless.broke, Broke::Protocol, "{endless}");
}

#[tokio::test]
async fn one_stream_that_breaks_leaves_its_connection() {
    // Breaks when any broken stream costs the connection: each retry would then pay for a handshake.
    let server = Wire::start(|asked| match asked.nth {
        0 => vec![reset(asked.stream, INTERNAL_ERROR)],
        1 => vec![frame(HEADERS, END_HEADERS | END_STREAM, asked.stream, &[])],
        _ => answer(asked.stream, "ok"),
    })
    .await;
    let transport = transport();
    for broke in [Broke::Reset, Broke::Protocol] {
        let broken = whole(attempt(&transport, &server.url()).await).await.unwrap_err();
        assert_eq!(broken.broke, broke);
    }
    assert_eq!(
        whole(attempt(&transport, &server.url()).await)
            .await
            .unwrap()
            .body,
        "ok"
    );
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn what_does_not_speak_http2_never_gets_the_request() {
    // Breaks when a request follows the preface at once: a server of HTTP/1.1 would then be one that may have acted.
    let openings: [&[u8]; 4] = [
        b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n",
        b"",
        b"\0\0\0",
        &[0xff; 200],
    ];
    for opening in openings {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(opening).await.unwrap();
            stream.shutdown().await.unwrap();
            stream
        };
        let transport = transport();
        let (attempted, _stream) = tokio::join!(attempt(&transport, &url), soon(serving));
        let broken = attempted.result.unwrap_err();
        assert_eq!((broken.broke, broken.sent_bytes), (Broke::Refused, 0), "{broken}");
        assert!(broken.detail.contains("HTTP/2"), "{broken}");
    }
}
