use http::{Method, Uri};
use tokio::net::{TcpListener, TcpStream};

use super::super::outgoing::Outgoing;
use super::super::socket::Stream;
use super::*;

/// A connection whose peer closed it, where the runtime knows of the close already.
async fn closed_by_peer() -> (Conn, Request<Full<Bytes>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    drop(listener.accept().await.unwrap());
    stream.readable().await.unwrap();
    let url: Uri = format!("http://{address}/").parse().unwrap();
    let out = Outgoing::new(Method::POST, url).with_body("once");
    let target = out.target().unwrap();
    let place = Arc::clone(&target.place);
    let conn = Conn::new(Socket::new(Stream::Plain(stream)), place, &Builder::new())
        .await
        .unwrap();
    let request = out.request(&target);
    (conn, request)
}

#[tokio::test]
async fn a_request_that_never_left_is_known_not_to_have_left() {
    // Breaks when hyper writes before it looks, or the meter counts what was only buffered: an unsafe call would
    // then be reported as one that may have acted.
    let (mut conn, request) = closed_by_peer().await;
    let Met::NeverSent(broken) = conn.exchange(request).await else {
        panic!("the request left");
    };
    assert_eq!(broken.broke, Broke::Refused);
    assert_eq!(broken.sent_bytes, 0);
}

#[tokio::test]
async fn one_look_sees_a_closed_connection() {
    // Breaks when the look needs a second poll, and a dead connection is handed to a write.
    let (mut conn, _) = closed_by_peer().await;
    assert!(!conn.is_idle());
}
