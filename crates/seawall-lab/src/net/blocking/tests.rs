use super::*;
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
