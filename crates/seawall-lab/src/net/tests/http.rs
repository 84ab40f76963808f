//! Everything that is no fault: requests as they come, answers, dialects, the journal, the control plane.

use super::*;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

#[tokio::test]
async fn one_connection_serves_many_attempts_however_their_bodies_are_framed() {
    // Could break if a byte of a body were left in the connection: it would begin the next request.
    let mock = Mock::start("POST /x = 503, 200").await.unwrap();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    let requests = [
        "POST /x HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello",
        "POST /x?key=secret HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\ntrailer: x\r\n\r\n",
        "\r\nPOST http://host/x HTTP/1.1\r\nhost: host\r\n\r\n",
    ];
    let mut statuses = Vec::new();
    for request in requests {
        stream.write_all(request.as_bytes()).await.unwrap();
        statuses.push(status(&one_answer(&mut stream).await));
    }
    assert_eq!(statuses, [503, 200, 200]);
    mock.quiet().await;
    let attempts = mock.journal().attempts;
    let seen: Vec<_> = attempts
        .iter()
        .map(|a| (a.connection, a.on_connection, &a.path[..], a.bytes_in))
        .collect();
    let bytes = requests.map(|request| request.len() as u64);
    assert_eq!(
        seen,
        [
            (1, 1, "/x", bytes[0]),
            (1, 2, "/x", bytes[1]),
            (1, 3, "/x", bytes[2])
        ]
    );
}

#[tokio::test]
async fn a_request_in_single_bytes_is_a_request() {
    // Could break if the end of the head were looked for only in what just came.
    let mock = Mock::start("POST /x = 200").await.unwrap();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    for byte in b"POST /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" {
        stream.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&one_answer(&mut stream).await), 200);
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_noted() {
    // Could break if a parser's error were swallowed, a length could be read in two ways, or a client that is
    // still sending were cut off before it reads the answer.
    let mock = Mock::start("* /* = 200").await.unwrap();
    let long = format!("GET /x HTTP/1.1\r\na: {}\r\n\r\n", "a".repeat(70_000));
    let many = format!("GET /x HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200));
    let large = format!(
        "GET /x HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n{}",
        "a".repeat(16_000_000)
    );
    for (request, expected) in [
        (&large[..], 413),
        ("hello\r\n\r\n", 400),
        ("GET /x HTTP/3.0\r\n\r\n", 505),
        ("GET /x HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400),
        ("GET /x HTTP/1.1\r\ncontent-length: +5\r\n\r\n", 400),
        (
            "GET /x HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
            400,
        ),
        (
            "GET /x HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
            400,
        ),
        ("GET /x HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 400),
        ("GET /x HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", 413),
        (
            "GET /x HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n",
            413,
        ),
        (
            "GET /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffff0\r\n",
            413,
        ),
        ("GET /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        (
            "GET /x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
            400,
        ),
        (&long, 431),
        (&many, 431),
    ] {
        let (answer, end) = raw(&mock, request).await;
        assert_eq!((status(&answer), end), (expected, End::Fin), "{:.60}", request);
    }
    mock.quiet().await;
    let statuses: Vec<_> = mock
        .journal()
        .attempts
        .iter()
        .filter_map(|attempt| attempt.status)
        .collect();
    assert_eq!(statuses.len(), 15);
}

#[tokio::test]
async fn a_client_that_leaves_inside_its_request_is_noted() {
    // Could break if an unfinished body were forgotten, or took a turn: nothing was asked yet.
    let mock = Mock::start("POST /x = 503, 200").await.unwrap();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    stream
        .write_all(b"POST /x HTTP/1.1\r\ncontent-length: 5\r\n\r\nhe")
        .await
        .unwrap();
    while mock.journal().open == 0 {
        tokio::task::yield_now().await;
    }
    drop(stream);
    tokio::time::timeout(PATIENCE, mock.quiet())
        .await
        .expect("the mock notices");
    assert!(mock.journal().attempts[0].client_left.is_some());
    assert_eq!(status(&ask(&mock, "POST", "/x", "hello").await), 503);
}

#[tokio::test]
async fn a_client_that_waits_for_leave_to_send_its_body_gets_it() {
    let mock = Mock::start("POST /x = 200").await.unwrap();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    stream
        .write_all(b"POST /x HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        .await
        .unwrap();
    let mut leave = [0; 25];
    stream.read_exact(&mut leave).await.unwrap();
    assert_eq!(&leave, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hi").await.unwrap();
    assert_eq!(status(&one_answer(&mut stream).await), 200);
}

#[tokio::test]
async fn a_scripted_answer_is_sent_as_written() {
    let mock = Mock::start("* /* = 429 retry-after-ms=300 header.X-Id=\"a b\" json={\"e\": 1}, 503 text=busy, 304, 204, 200 body=raw header.content-type=a/b").await.unwrap();
    let first = ask(&mock, "GET", "/x", "").await;
    assert_eq!(
        (
            status(&first),
            header(&first, "retry-after-ms"),
            header(&first, "X-Id")
        ),
        (429, Some("300"), Some("a b"))
    );
    assert_eq!(
        (header(&first, "content-type"), body(&first)),
        (Some("application/json"), "{\"e\": 1}")
    );
    assert_eq!(header(&first, "x-seawall-fault"), Some("429"));
    let second = ask(&mock, "GET", "/x", "").await;
    assert_eq!((status(&second), body(&second)), (503, "busy"));
    for bodiless in [304, 204] {
        let answer = ask(&mock, "GET", "/x", "").await;
        assert_eq!(
            (status(&answer), header(&answer, "content-length"), body(&answer)),
            (bodiless, None, "")
        );
    }
    let last = ask(&mock, "GET", "/x", "").await;
    assert_eq!(
        (
            header(&last, "content-type"),
            body(&last),
            header(&last, "x-seawall-fault")
        ),
        (Some("a/b"), "raw", None)
    );
    let to_head = ask(&mock, "HEAD", "/x", "").await;
    assert_eq!(
        (header(&to_head, "content-length"), body(&to_head)),
        (Some("3"), "")
    );
}

#[tokio::test]
async fn the_dialect_of_openai_is_spoken_where_its_paths_are() {
    let mock = Mock::builder().start().await.unwrap();
    let prompt = r#"{"model":"big-1","messages":[{"role":"system","content":"be short"},{"role":"user","content":[{"type":"text","text":"What is a seawall?"}]}]}"#;
    let first = json(&ask(&mock, "POST", "/v1/chat/completions", prompt).await);
    let second = json(&ask(&mock, "POST", "/v1/chat/completions", prompt).await);
    assert_eq!(first["model"], "mock:big-1");
    let content = &first["choices"][0]["message"]["content"];
    assert!(
        content.as_str().unwrap().ends_with("What is a seawall?"),
        "{content}"
    );
    assert_eq!(content, &second["choices"][0]["message"]["content"]);
    assert_ne!(first["id"], second["id"]);
    let usage = &first["usage"];
    assert_eq!(
        usage["total_tokens"].as_u64(),
        Some(usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap())
    );
    assert_eq!(
        json(&ask(&mock, "GET", "/v1/models", "").await)["data"][0]["id"],
        "mock:small"
    );
    let embedded = json(
        &ask(
            &mock,
            "POST",
            "/v1/embeddings",
            r#"{"model":"e","input":["a","b","a"]}"#,
        )
        .await,
    );
    assert_eq!(embedded["data"].as_array().unwrap().len(), 3);
    assert_eq!(embedded["data"][0]["embedding"], embedded["data"][2]["embedding"]);
    assert_ne!(embedded["data"][0]["embedding"], embedded["data"][1]["embedding"]);
    assert_eq!(json(&ask(&mock, "DELETE", "/anything", "").await)["ok"], true);
}

#[tokio::test]
async fn a_body_that_json_readers_reject_is_answered_all_the_same() {
    // Could break if the mock refused what a provider takes: lone surrogates, huge numbers, any bytes.
    let mock = Mock::builder().start().await.unwrap();
    let mut answers = Vec::new();
    for body in ["{\"a\":1e400}", "{\"a\":\"\\ud800\"}", "\u{0}", ""] {
        let answer = ask(&mock, "POST", "/v1/chat/completions", body).await;
        assert_eq!(status(&answer), 200, "{body}");
        answers.push(json(&answer)["choices"][0]["message"]["content"].clone());
    }
    assert_ne!(answers[0], answers[1]);
}

#[tokio::test]
async fn an_unmatched_attempt_is_told_the_routes_and_noted() {
    let mock = Mock::start("POST /v1/payments = 200").await.unwrap();
    let answer = ask(&mock, "GET", "/v1/payments", "").await;
    assert_eq!((status(&answer), header(&answer, "x-seawall-fault")), (404, None));
    assert!(body(&answer).contains("POST /v1/payments"), "{answer}");
    mock.quiet().await;
    assert_eq!(
        (
            mock.journal().attempts[0].route.clone(),
            mock.journal().attempts[0].status
        ),
        (None, Some(404))
    );
}

#[tokio::test]
async fn positions_are_apart_where_the_state_is_a_header() {
    let file = MockFile::parse(
        "m",
        "[[route]]\nmatch = \"GET /x\"\nscript = \"503, 200\"\nstate = \"header:x-test-id\"",
    )
    .unwrap();
    let mock = Mock::builder().file(file).start().await.unwrap();
    let mut statuses = Vec::new();
    for id in ["a", "b", "a"] {
        let (answer, _) = raw(
            &mock,
            &format!("GET /x HTTP/1.1\r\nx-test-id: {id}\r\nconnection: close\r\n\r\n"),
        )
        .await;
        statuses.push(status(&answer));
    }
    assert_eq!(statuses, [503, 503, 200]);
}

#[tokio::test]
async fn one_seed_is_one_sequence_of_faults() {
    // Could break if chance came from anywhere but the seed.
    async fn faults(seed: u64) -> Vec<Option<String>> {
        let text = "[[route]]\nmatch = \"GET /x\"\nmix = { \"200\" = 0.4, \"503\" = 0.2, \"close\" = 0.2, \"reset\" = 0.2 }";
        let mock = Mock::builder()
            .file(MockFile::parse("m", text).unwrap())
            .seed(seed)
            .start()
            .await
            .unwrap();
        for _ in 0..40 {
            raw(&mock, "GET /x HTTP/1.1\r\nconnection: close\r\n\r\n").await;
        }
        mock.quiet().await;
        mock.journal()
            .attempts
            .into_iter()
            .map(|attempt| attempt.fault.map(|fault| fault.into_owned()))
            .collect()
    }
    let first = faults(7).await;
    assert_eq!(first, faults(7).await);
    assert_ne!(first, faults(8).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journal_is_complete_under_many_connections() {
    // Could break if an entry were lost between two locks, or a count shared by two attempts.
    let mock = Arc::new(Mock::start("POST /x = 100x 503, 200").await.unwrap());
    let mut clients = JoinSet::new();
    for client in 0..25 {
        let mock = Arc::clone(&mock);
        clients.spawn(async move {
            let mut stream = TcpStream::connect(mock.address()).await.unwrap();
            let mut failed = 0;
            for n in 0..20 {
                let request = format!("POST /x HTTP/1.1\r\nidempotency-key: {client}-{n}\r\nx-stainless-retry-count: {n}\r\ncontent-length: 2\r\n\r\nhi");
                stream.write_all(request.as_bytes()).await.unwrap();
                failed += usize::from(status(&one_answer(&mut stream).await) == 503);
            }
            failed
        });
    }
    let failed: usize = clients.join_all().await.into_iter().sum();
    mock.quiet().await;
    let journal = mock.journal();
    assert_eq!(
        (failed, journal.attempts.len(), journal.dropped, journal.open),
        (100, 500, 0, 0)
    );
    let numbers: Vec<u64> = journal.attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, (1..=500).collect::<Vec<_>>());
    let first_hundred = journal
        .attempts
        .iter()
        .take(100)
        .all(|attempt| attempt.status == Some(503));
    assert!(first_hundred, "the journal's order is the order of the turns");
    let mut keys: Vec<_> = journal
        .attempts
        .iter()
        .filter_map(|attempt| attempt.key.clone())
        .collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 500);
    assert!(
        journal
            .attempts
            .iter()
            .all(|attempt| attempt.took().is_some() && attempt.retry_count.is_some())
    );
}

#[test]
fn a_long_journal_keeps_the_newest_and_counts_the_rest() {
    // Could break if an end were written into another attempt's entry once old ones were dropped.
    let mut log = Log::keeping(3);
    let blank = super::journal_entry();
    (0..5).for_each(|_| log.begin());
    let numbers: Vec<u64> = (0..5).map(|_| log.enter(blank.clone())).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    for number in [1, 4] {
        log.end(
            number,
            seawall_core::time::Instant::from_nanos(number),
            journal::Outcome::default(),
        );
    }
    let journal = log.journal();
    let kept: Vec<_> = journal
        .attempts
        .iter()
        .map(|attempt| (attempt.number, attempt.ended.is_some()))
        .collect();
    assert_eq!(kept, [(3, false), (4, true), (5, false)]);
    assert_eq!((journal.dropped, journal.open), (2, 3));
    assert_eq!(log.journal_since(4).attempts.len(), 1);
    assert_eq!(log.journal_since(99).attempts.len(), 0);
    log.clear();
    log.end(5, seawall_core::time::Instant::START, journal::Outcome::default());
    assert_eq!(
        (log.journal().attempts.len(), log.open(), log.enter(blank)),
        (0, 2, 6)
    );
}

#[tokio::test]
async fn the_control_plane_tells_and_resets_and_is_in_no_journal() {
    let mock = Mock::start("POST /x = 503, reset").await.unwrap();
    let secret = "POST /x?api_key=hush HTTP/1.1\r\nauthorization: hush\r\nidempotency-key: k1\r\nconnection: close\r\ncontent-length: 4\r\n\r\nhush";
    raw(&mock, secret).await;
    mock.quiet().await;
    let answer = ask(&mock, "GET", "/__seawall/journal", "").await;
    assert!(!answer.contains("hush"), "{answer}");
    let told = json(&answer);
    let attempt = &told["attempts"][0];
    for (name, value) in [
        ("method", "POST"),
        ("path", "/x"),
        ("route", "POST /x"),
        ("fault", "503"),
        ("key", "k1"),
    ] {
        assert_eq!(attempt[name], value, "{name}");
    }
    assert_eq!(
        (&attempt["status"], &attempt["bytes_in"], &attempt["connection"]),
        (&503.into(), &secret.len().into(), &1.into())
    );
    assert!(
        attempt["at_ms"].is_number()
            && attempt["answered_ms"].is_number()
            && attempt["client_abort_ms"].is_null()
    );
    assert_eq!(
        json(&ask(&mock, "GET", "/__seawall/journal?since=1", "").await)["attempts"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    let routes = json(&ask(&mock, "GET", "/__seawall/routes", "").await);
    assert_eq!(
        (&routes["routes"][0]["match"], &routes["routes"][0]["script"]),
        (&"POST /x".into(), &"503, reset".into())
    );
    assert_eq!(routes["routes"][0]["attempts"], 1);
    assert_eq!(status(&ask(&mock, "GET", "/__seawall/reset", "").await), 405);
    assert_eq!(status(&ask(&mock, "POST", "/__seawall/reset", "").await), 200);
    assert!(mock.journal().attempts.is_empty());
    assert_eq!(
        status(&ask(&mock, "POST", "/x", "").await),
        503,
        "the script begins again"
    );
    assert_eq!(status(&ask(&mock, "GET", "/__seawall/nothing", "").await), 404);
}

#[tokio::test]
async fn a_stopped_mock_frees_its_port_and_its_connections() {
    // Could break if a connection's task outlived the mock.
    let mock = Mock::start("GET /x = hang").await.unwrap();
    let address = mock.address();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /x HTTP/1.1\r\n\r\n").await.unwrap();
    while mock.journal().open == 0 {
        tokio::task::yield_now().await;
    }
    mock.stop().await;
    read_out(&mut stream).await;
    let again = Mock::builder()
        .listen(address.to_string())
        .start()
        .await
        .expect("the port is free");
    assert_eq!(again.address(), address);
}

#[tokio::test]
async fn a_dropped_mock_is_a_stopped_one() {
    // Could break if the accept loop held itself alive.
    let mock = Mock::start("GET /x = 200").await.unwrap();
    let address = mock.address();
    drop(mock);
    let refused = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused)
        .await
        .expect("nobody listens any more");
}

#[tokio::test]
async fn what_is_wrong_with_a_mock_is_said_before_it_listens() {
    let error = Mock::start("GET /x = go-away").await.unwrap_err();
    assert!(error.to_string().contains("did you mean `goaway`?"), "{error}");
    let taken = Mock::builder().start().await.unwrap();
    let error = Mock::builder()
        .listen(taken.address().to_string())
        .start()
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with("cannot listen on 127.0.0.1:"),
        "{error}"
    );
    let told = std::cell::Cell::new(None);
    let answers = async {
        loop {
            if let Some(address) = told.get()
                && let Ok(stream) = TcpStream::connect(address).await
            {
                return stream;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = serve(Mock::builder(), |address| told.set(Some(address))) => panic!("it serves until it is dropped: {ended:?}"),
        _stream = answers => {}
    }
}

#[tokio::test]
async fn a_thousand_hanging_connections_are_no_trouble() {
    // Could break if a waiting attempt held a thread.
    let mock = Mock::start("GET /x = 1000x hang, 200").await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..1_000 {
        let mut stream = TcpStream::connect(mock.address()).await.unwrap();
        stream.write_all(b"GET /x HTTP/1.1\r\n\r\n").await.unwrap();
        clients.push(stream);
    }
    while mock.journal().open < 1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&ask(&mock, "GET", "/x", "").await), 200);
    drop(clients);
    tokio::time::timeout(PATIENCE, mock.quiet())
        .await
        .expect("the mock notices all of them");
    assert_eq!(
        mock.journal()
            .attempts
            .iter()
            .filter(|attempt| attempt.client_left.is_some())
            .count(),
        1_000
    );
}

#[tokio::test]
async fn a_connection_takes_little_room_while_it_hangs() {
    // Could break if an answer, a body or a whole score were kept inside the connection's future across a wait: ten
    // thousand of them are a laptop's memory.
    let mock = Mock::start("GET /x = hang").await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let connection = http1::run(
        socket::Socket::Plain(stream),
        Vec::new(),
        1,
        Arc::clone(&mock.shared),
    );
    let bytes = size_of_val(&connection);
    assert!(bytes <= 4 * 1024, "{bytes} bytes");
    drop(client);
}
