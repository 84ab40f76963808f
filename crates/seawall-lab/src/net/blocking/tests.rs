use super::*;
use crate::plan::Rule;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

fn get(mock: &Mock, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(mock.address()).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    stream
}

fn status(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.get(9..12).unwrap_or_default().to_owned()
}

#[test]
fn a_thread_starts_asks_and_drops_a_mock() {
    // Could break if the mock's thread outlived its handle, or if a call waited for a runtime that is not driven.
    let options = MockOptions::default()
        .route("GET /x = 503, 200 delay=1h")
        .manual_clock();
    let mock = Mock::start_with(options).unwrap();
    assert_eq!(status(get(&mock, "/x")), "503");
    let waiting = get(&mock, "/x");
    while mock.clock().waiting == 0 {
        std::thread::yield_now();
    }
    assert_eq!(mock.step().unwrap().to_string(), "1h");
    assert_eq!(status(waiting), "200");
    mock.advance(Duration::from_secs(60)).unwrap();
    assert_eq!(mock.clock().now.to_string(), "1h1m");
    mock.route("GET /y = 418").unwrap();
    assert_eq!(status(get(&mock, "/y")), "418");
    mock.remove_route("GET /y").unwrap();
    mock.reset_route("GET /x").unwrap();
    assert_eq!(status(get(&mock, "/x")), "503");
    assert_eq!(
        (mock.attempts("/x").unwrap().len(), mock.journal().attempts.len()),
        (3, 4)
    );
    assert!(mock.timeline().lines().count() == 5);
    mock.reset();
    assert!(mock.journal().attempts.is_empty());
    let address = mock.address();
    drop(mock);
    let error = TcpStream::connect(address).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_runtime_of_the_callers_own_is_in_nobodys_way() {
    // Could break by a runtime that is started inside another: tokio panics at that.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mock = Mock::start_with(MockOptions::default().manual_clock()).unwrap();
        mock.advance(Duration::from_secs(1)).unwrap();
        assert_eq!(mock.clock().now.to_string(), "1s");
    });
}

#[test]
fn what_is_wrong_is_said_where_it_is_started() {
    // Could break if the error stayed on the mock's thread.
    let error = Mock::start("GET /x = 50").unwrap_err();
    assert!(error.to_string().starts_with("1:10: "), "{error}");
    let taken = Mock::start("GET /x = 200").unwrap();
    let options = MockOptions::default().listen(taken.address().to_string());
    assert!(matches!(Mock::start_with(options), Err(MockError::Listen { .. })));
}

#[test]
fn a_mock_that_speaks_tls_says_so_and_whom_to_trust() {
    // Could break if the handle made up an address of its own: a client would speak clear text to a TLS port.
    let mock = Mock::start_with(MockOptions::default().tls()).unwrap();
    assert_eq!(mock.url(), format!("https://{}", mock.address()));
    assert!(mock.ca_pem().is_some_and(|pem| pem.contains("BEGIN CERTIFICATE")));
    let plain = Mock::start("GET /x = 200").unwrap();
    assert_eq!(plain.url(), format!("http://{}", plain.address()));
    assert_eq!(plain.ca_pem(), None);
}

#[test]
fn what_was_made_is_seen_once_all_is_quiet() {
    // Could break if the thread waited for an end that the mock's own thread has to bring about.
    let mut rule = Rule::parse("POST /x = 200").unwrap();
    rule.resource = Some("things".to_owned());
    let mock = Mock::start_with(MockOptions::default().rule(rule)).unwrap();
    let mut stream = TcpStream::connect(mock.address()).unwrap();
    let head = "POST /x HTTP/1.1\r\nhost: mock\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
    stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(status(stream), "200");
    mock.quiet();
    assert!(mock.attempts("/x").unwrap()[0].ended.is_some());
    assert_eq!(mock.resources("things").len(), 1);
    mock.reset();
    assert!(mock.resources("things").is_empty());
}
