//! What a client sees of each step of a listener's script, on raw sockets.

use super::*;
use crate::listener::HttpVersions;
use seawall::crank::CrankedClock;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

async fn listening(script: &str) -> Mock {
    Mock::builder().listener(script).start().await.unwrap()
}

async fn listening_tls(script: &str) -> Mock {
    let told = Mock::builder().listener(script).tls();
    told.start().await.unwrap()
}

/// How a client that only reads sees a connection end, and what came before.
async fn silent(mock: &Mock) -> (Vec<u8>, End) {
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    let (text, end) = read_out(&mut stream).await;
    (text.into_bytes(), end)
}

fn faults(mock: &Mock) -> Vec<(String, u64)> {
    let entry = |attempt: &Attempt| {
        let fault = attempt.fault.as_deref().unwrap_or("-").to_owned();
        (fault, attempt.on_connection)
    };
    mock.journal().attempts.iter().map(entry).collect()
}

/// Does the handshake as a client that trusts the mock's authority.
async fn secure(mock: &Mock, protocols: &[&[u8]]) -> Result<TlsStream<TcpStream>, io::Error> {
    let stream = TcpStream::connect(mock.address()).await.unwrap();
    let mut roots = RootCertStore::empty();
    let pem = mock.ca_pem().expect("a mock with TLS").as_bytes();
    roots.add(CertificateDer::from_pem_slice(pem).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    tokio::time::timeout(
        PATIENCE,
        TlsConnector::from(std::sync::Arc::new(config)).connect(name, stream),
    )
    .await
    .expect("a handshake ends")
}

fn tls_error(error: &io::Error) -> String {
    match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        Some(error) => format!("{error:?}"),
        None => format!("{:?}", error.kind()),
    }
}

#[tokio::test]
async fn a_counted_fault_is_met_by_so_many_connections_and_each_is_in_the_journal() {
    // Could break if a fault were the next connection's, or if the kernel's queue turned a reset into an end.
    let mock = listening("2x refuse, reset, close, accept").await;
    for expected in [End::Rst, End::Rst, End::Rst, End::Fin] {
        assert_eq!(silent(&mock).await, (Vec::new(), expected));
    }
    assert_eq!(status(&ask(&mock, "GET", "/x", "").await), 200);
    mock.quiet().await;
    let expected = [("refuse", 0), ("refuse", 0), ("reset", 0), ("close", 0), ("-", 1)];
    assert_eq!(faults(&mock), expected.map(|(fault, on)| (fault.to_owned(), on)));
}

#[tokio::test]
async fn a_close_is_an_end_even_to_a_client_that_has_already_written() {
    // Could break if the socket were closed with its bytes unread: the kernel then sends a reset.
    let mock = listening("close").await;
    let (answer, end) = raw(&mock, "GET /x HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert_eq!((answer.as_str(), end), ("", End::Fin));
}

#[tokio::test]
async fn a_refusal_for_a_time_closes_the_port_itself() {
    // Could break if the mock went on listening and reset: connect would succeed.
    let clock = CrankedClock::new();
    let told = Mock::builder().listener("accept, for 5s refuse, accept");
    let mock = told
        .clock(std::sync::Arc::new(clock.clone()))
        .start()
        .await
        .unwrap();
    let mut kept = TcpStream::connect(mock.address()).await.unwrap();
    kept.write_all(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(status(&one_answer(&mut kept).await), 200);
    for _ in 0..3 {
        let refused = TcpStream::connect(mock.address()).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
    // Who is connected stays so.
    kept.write_all(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(status(&one_answer(&mut kept).await), 200);

    clock.advance(seawall_core::time::Duration::from_secs(5));
    let opened = async {
        loop {
            match TcpStream::connect(mock.address()).await {
                Ok(stream) => return stream,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let mut stream = tokio::time::timeout(PATIENCE, opened).await.unwrap();
    stream
        .write_all(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(status(&one_answer(&mut stream).await), 200);
}

#[tokio::test]
async fn a_reset_of_the_mock_opens_a_port_that_was_closed_for_good() {
    // Could break if the accept loop learnt of it at its next connection, which cannot come.
    let mock = listening("accept, refuse").await;
    assert_eq!(status(&ask(&mock, "GET", "/x", "").await), 200);
    let refused = TcpStream::connect(mock.address()).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    mock.reset();
    let opened = async {
        while TcpStream::connect(mock.address()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, opened).await.unwrap();
}

#[tokio::test]
async fn a_hang_reads_nothing_and_ends_when_the_client_leaves() {
    // Could break if the mock read on: a client's write would then never fill the socket.
    let mock = listening("hang, accept").await;
    let stream = TcpStream::connect(mock.address()).await.unwrap();
    let block = vec![0; 1 << 20];
    let filled = async {
        loop {
            stream.writable().await.unwrap();
            match stream.try_write(&block) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Full once the kernel has moved what it could, which it does by itself.
                    let more = tokio::time::timeout(Duration::from_millis(300), stream.writable()).await;
                    if more.is_err() {
                        return;
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, filled)
        .await
        .expect("the socket fills");
    // A kernel takes what fills it before anybody has accepted.
    while mock.kept_waiting() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!((mock.kept_waiting(), mock.journal().open), (1, 1));
    // An end would wait behind the bytes that nobody takes.
    stream.set_zero_linger().unwrap();
    drop(stream);
    mock.quiet().await;
    let journal = mock.journal();
    assert_eq!(journal.attempts[0].fault.as_deref(), Some("hang"));
    assert!(journal.attempts[0].client_left.is_some());
    assert_eq!(mock.kept_waiting(), 0);
}

#[tokio::test]
async fn an_accept_with_a_delay_waits_before_it_serves() {
    // Could break if the delay were dropped on the way.
    let clock = CrankedClock::new();
    let told = Mock::builder().listener("accept delay=2s, accept");
    let mock = told
        .clock(std::sync::Arc::new(clock.clone()))
        .start()
        .await
        .unwrap();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    stream
        .write_all(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    while mock.kept_waiting() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(seawall_core::time::Duration::from_secs(2));
    assert_eq!(status(&one_answer(&mut stream).await), 200);
    mock.quiet().await;
    assert_eq!(faults(&mock), [("delay".to_owned(), 0), ("-".to_owned(), 1)]);
    assert_eq!(
        mock.journal().attempts[1]
            .at
            .since(seawall_core::time::Instant::START)
            .as_millis(),
        2_000
    );
}

#[tokio::test]
async fn a_mock_with_tls_is_trusted_by_its_own_authority_and_speaks_what_was_agreed() {
    // Could break if the certificate lacked a name, or ALPN promised a protocol that is not spoken.
    let mock = Mock::builder().tls().start().await.unwrap();
    assert!(mock.url().starts_with("https://127.0.0.1:"));
    for protocols in [&[&b"http/1.1"[..]][..], &[]] {
        let mut stream = secure(&mock, protocols).await.unwrap();
        let request = b"GET /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert_eq!(status(&String::from_utf8(answer).unwrap()), 200);
    }
    let stream = secure(&mock, &[b"h2", b"http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    for (versions, agreed) in [
        (HttpVersions::Http1, b"http/1.1".as_slice()),
        (HttpVersions::Http2, b"h2"),
    ] {
        let mock = Mock::builder().tls().http(versions).start().await.unwrap();
        let stream = secure(&mock, &[b"h2", b"http/1.1"]).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(agreed));
    }
}

#[tokio::test]
async fn a_reset_through_tls_is_no_goodbye() {
    // Could break if TLS said close_notify first: the client would see an orderly end.
    for (action, end) in [("reset", Err(io::ErrorKind::ConnectionReset)), ("close", Ok(0))] {
        let route = format!("GET /x = {action}");
        let mock = Mock::builder().route(route).tls().start().await.unwrap();
        let mut stream = secure(&mock, &[]).await.unwrap();
        stream
            .write_all(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        let mut bytes = Vec::new();
        let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes))
            .await
            .unwrap();
        assert_eq!(ended.map_err(|error| error.kind()), end, "{action}");
    }
}

#[tokio::test]
async fn each_fault_of_tls_is_that_fault_to_a_client() {
    // Could break if two of them differed in more than their names say, or an alert came as a reset.
    let mock = listening_tls("tls-fail, bad-cert, expired-cert, accept").await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(match secure(&mock, &[]).await {
            Ok(_) => "a handshake".to_owned(),
            Err(error) => tls_error(&error),
        });
    }
    assert_eq!(seen[0], "AlertReceived(HandshakeFailure)");
    assert!(seen[1].contains("NotValidForName"), "{}", seen[1]);
    assert!(seen[2].contains("Expired"), "{}", seen[2]);
    assert_eq!(seen[3], "a handshake");
    mock.quiet().await;
    let named: Vec<_> = faults(&mock).into_iter().map(|(fault, _)| fault).collect();
    assert!(
        named.starts_with(&["tls-fail".to_owned(), "bad-cert".to_owned()]),
        "{named:?}"
    );
}

#[tokio::test]
async fn a_hanging_handshake_is_silence_after_the_hello() {
    // Could break if the mock answered, or forgot a client that left.
    let mock = listening_tls("tls-hang").await;
    let handshake = secure(&mock, &[]);
    tokio::pin!(handshake);
    let waiting = async {
        while mock.kept_waiting() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ended = &mut handshake => panic!("it hangs"),
        () = waiting => {}
    }
    drop(tokio::time::timeout(Duration::from_millis(1), &mut handshake).await);
    let Err(_) = tokio::time::timeout(Duration::ZERO, mock.quiet()).await else {
        panic!("its attempt is open while the client waits");
    };
}

#[tokio::test]
async fn a_fault_of_tls_on_a_plain_port_is_no_mock() {
    // Could break if only files were looked at.
    let error = Mock::builder()
        .listener("accept, bad-cert")
        .start()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("`bad-cert` needs TLS"), "{error}");
    let error = Mock::builder()
        .route("GET /x = goaway")
        .http(HttpVersions::Http1)
        .start()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("HTTP/1.1 has no `goaway`"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_gets_the_port_while_it_is_closed() {
    // Could break if the port were only let go: another program would have it when the outage is over.
    let mock = listening("for 1h refuse, accept").await;
    while TcpStream::connect(mock.address()).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let other = tokio::net::TcpSocket::new_v4().unwrap();
    let error = other.bind(mock.address()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}
