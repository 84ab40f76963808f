//! Answers that come whole.

use http::StatusCode;
use seawall::http::{Answer, Connected, Hold, Resend};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::{Server, answer, write};
use crate::{LIMITS, post, soon, transport};

async fn answered(server: &Server, path: &str) -> Answer {
    let out = post(&server.url(path), "ping");
    let attempted = soon(transport().attempt(&out, &LIMITS, Resend::Never)).await;
    assert!(!attempted.resent);
    assert_eq!(attempted.connected, Connected::Fresh);
    assert!(attempted.first_byte.is_some());
    attempted.result.unwrap()
}

#[tokio::test]
async fn an_answer_comes_as_it_was_sent() {
    // Breaks when a status, a header or a byte is changed on the way, or the request is.
    let server = Server::start(|_| {
        vec![write(
            "HTTP/1.1 418 Teapot\r\nX-Own: a b\r\ncontent-length: 4\r\n\r\npong",
        )]
    })
    .await;
    let whole = soon(answered(&server, "/v1/x?q=1").await.collect(4))
        .await
        .unwrap();
    assert_eq!(whole.status, StatusCode::IM_A_TEAPOT);
    assert_eq!(whole.headers["x-own"], "a b");
    assert_eq!(whole.body, "pong");
    let seen = &server.seen()[0];
    assert!(
        seen.head.starts_with("POST /v1/x?q=1 HTTP/1.1\r\n"),
        "{}",
        seen.head
    );
    assert!(
        seen.head.contains(&format!("host: {}\r\n", server.address)),
        "{}",
        seen.head
    );
    assert!(!seen.head.contains("accept-encoding"), "{}", seen.head);
    assert_eq!(seen.body, b"ping");
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    // Breaks when a redirect is followed: a credential would travel to a host that nobody named.
    let server = Server::start(|_| {
        vec![write(
            "HTTP/1.1 307 Away\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        )]
    })
    .await;
    let whole = soon(answered(&server, "/").await.collect(0)).await.unwrap();
    assert_eq!(whole.status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn chunks_and_trailers_arrive_whole() {
    // Breaks when data that is merged with what follows is lost as the trailers come.
    let server = Server::start(|_| {
        vec![
            write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n"),
            write("3\r\nabc\r\n2\r\nde\r\n1\r\nf\r\n0\r\nx-sum: 6\r\n\r\n"),
        ]
    })
    .await;
    let mut answer = answered(&server, "/").await;
    assert_eq!(soon(answer.body.collect(6)).await.unwrap(), "abcdef");
    assert_eq!(answer.body.trailers().unwrap()["x-sum"], "6");
    assert_eq!(answer.body.received_bytes(), 6);
    assert!(soon(answer.body.chunk()).await.is_none());
}

#[tokio::test]
async fn a_body_without_a_length_ends_with_its_connection() {
    // Breaks when HTTP/1.0 answers are taken for cut ones.
    let server = Server::start(|_| {
        vec![
            write("HTTP/1.0 200 OK\r\n\r\nall of it"),
            crate::server::Step::Close,
        ]
    })
    .await;
    let whole = soon(answered(&server, "/").await.collect(100)).await.unwrap();
    assert_eq!(whole.body, "all of it");
}

#[tokio::test]
async fn a_long_body_is_held_in_part_and_read_on() {
    // Breaks when bytes are lost or doubled where holding turns into streaming (rule L1).
    let server = Server::start(|_| answer(200, &"0123456789".repeat(20_000))).await;
    let mut answer = answered(&server, "/").await;
    let Hold::More(part) = soon(answer.body.hold(1_000)).await.unwrap() else {
        panic!("it is longer than that");
    };
    assert!(part.len() > 1_000);
    let mut all = part.to_vec();
    while let Some(chunk) = soon(answer.body.chunk()).await {
        all.extend_from_slice(&chunk.unwrap());
    }
    assert_eq!(all, "0123456789".repeat(20_000).into_bytes());
}

#[tokio::test]
async fn a_body_of_exactly_the_bound_is_whole() {
    // Breaks when the bound is off by one, in either direction.
    let server = Server::start(|_| answer(200, "12345")).await;
    assert_eq!(
        soon(answered(&server, "/").await.collect(5)).await.unwrap().body,
        "12345"
    );
    assert!(soon(answered(&server, "/").await.collect(4)).await.is_err());
}

#[tokio::test]
async fn what_arrives_together_is_handed_on_together() {
    // Breaks when each small event costs its reader one wake and one write, as it does with a connection task.
    let events = "4\r\nevent\r\n".replace("event", "evnt").repeat(200);
    let text = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{events}0\r\n\r\n");
    let server = Server::start(move |_| vec![write(&text)]).await;
    let mut answer = answered(&server, "/").await;
    let (mut chunks, mut bytes) = (0, 0);
    while let Some(chunk) = soon(answer.body.chunk()).await {
        chunks += 1;
        bytes += chunk.unwrap().len();
    }
    assert_eq!(bytes, 800);
    assert!(chunks < 10, "{chunks} chunks");
}

#[tokio::test]
async fn an_answer_before_the_end_of_the_upload_is_an_answer() {
    // Breaks when the failed write hides the answer: a 413 would be retried as a reset, upload and all.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let head = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        stream
            .write_all(b"HTTP/1.1 413 X\r\ntransfer-encoding: chunked\r\n\r\n")
            .await
            .unwrap();
        stream
    };
    let transport = transport();
    let out = post(&format!("http://{address}/"), "").with_body(vec![0; 32 << 20]);
    let (attempted, mut stream) =
        soon(async { tokio::join!(transport.attempt(&out, &LIMITS, Resend::Never), head) }).await;
    stream
        .write_all(b"4\r\ntoo \r\n4\r\nlong\r\n0\r\n\r\n")
        .await
        .unwrap();
    // Closing with unread bytes sends RST; another connection makes the runtime look at its sockets.
    drop(stream);
    tokio::net::TcpStream::connect(address).await.unwrap();
    listener.accept().await.unwrap();
    let whole = soon(attempted.result.unwrap().collect(8)).await.unwrap();
    assert_eq!(
        (whole.status, &whole.body[..]),
        (StatusCode::PAYLOAD_TOO_LARGE, &b"too long"[..])
    );
    assert_eq!(transport.idle_connections(), 0);
}

#[test]
fn an_attempt_can_move_between_threads() {
    // Breaks when something held over an await is bound to its thread: no server could then use it.
    fn can_move<T: Send>(_: &T) {}
    let transport = transport();
    let out = post("http://127.0.0.1:1/", "x");
    let call = async {
        let attempted = transport.attempt(&out, &LIMITS, Resend::Never).await;
        attempted.result.unwrap().collect(1).await
    };
    can_move(&call);
}
