use super::*;
use seawall::http::Secret;
use seawall_core::policy::{Policy, Preset};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

/// A server on a thread that answers its n-th request with `answer(n)`: status, more header lines, body. Tells what it
/// was sent.
fn serve(answer: impl Fn(usize) -> (u16, &'static str, &'static str) + Send + 'static) -> (String, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heads = Heads::default();
    let seen = Arc::clone(&heads.0);
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            // The rows of these tests have the body `{}`.
            while !request.ends_with(b"\r\n\r\n{}") {
                let bytes = stream.read(&mut chunk).unwrap();
                request.extend_from_slice(&chunk[..bytes]);
            }
            seen.lock().unwrap().push(String::from_utf8(request).unwrap());
            let (status, lines, body) = answer(n);
            let head = format!(
                "HTTP/1.1 {status} X\r\n{lines}content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
        }
    });
    (url, heads)
}

#[derive(Clone, Default)]
struct Heads(Arc<Mutex<Vec<String>>>);

fn caller(url: &str, key: Option<&str>) -> LiveCaller {
    let policy = Policy::preset(Preset::Batch);
    let mut builder = Upstream::builder(url).unwrap().policy(policy).seed(7);
    if let Some(key) = key {
        builder = builder.credential(http::header::AUTHORIZATION, Secret::bearer(key).unwrap());
    }
    let elsewhere = move |origin: &str| Upstream::builder(origin)?.policy(policy).build();
    LiveCaller::new(
        builder.build().unwrap(),
        url,
        HeaderMap::new(),
        Box::new(elsewhere),
    )
}

fn row(path: &str) -> Call {
    Call {
        id: "r".to_owned(),
        method: "POST".to_owned(),
        path: path.to_owned(),
        body: Bytes::from_static(b"{}"),
    }
}

fn block<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn failure(ended: Ended) -> Failure {
    ended.result.expect_err("the row has no answer")
}

#[test]
fn a_key_that_is_refused_twice_stops_the_run_even_at_its_only_row() {
    // Could break: the engine's latch tells the next call, and the last row has none; without a credential there is no
    // latch at all. Either way every row fails for good, and a new key finds nothing to do.
    for key in [Some("sk-one"), None] {
        let (url, heads) = serve(|_| (401, "", "{\"error\":{}}"));
        let caller = caller(&url, key);
        let ended = block(caller.call(row("/v1/chat/completions")));
        assert_eq!(ended.attempts.len(), 2);
        assert_eq!(heads.0.lock().unwrap().len(), 2);
        assert_eq!(failure(ended).reach, Reach::Run(Stop::Key));
    }
}

#[test]
fn a_denial_between_answers_concerns_its_row_alone() {
    // Could break: a count that only grows ends a run of a million rows at its second stray 401.
    for statuses in [[200, 401, 200], [401, 200, 200]] {
        let (url, _) = serve(move |n| (statuses[n % 3], "", "{}"));
        let caller = caller(&url, Some("sk-one"));
        for _ in 0..4 {
            let ended = block(caller.call(row("/v1/x")));
            assert!(ended.result.is_ok());
        }
    }
    // Statuses that are about one request, or about a proxy.
    for status in [403, 407] {
        let (url, _) = serve(move |_| (status, "", "{}"));
        let caller = caller(&url, Some("sk-one"));
        for _ in 0..3 {
            assert_eq!(failure(block(caller.call(row("/v1/x")))).reach, Reach::Row);
        }
    }
}

#[test]
fn an_empty_account_stops_the_run() {
    // Could break: a 402 whose body names no code that is known.
    let (url, _) = serve(|_| (402, "", "{\"detail\":\"top up\"}"));
    let ended = block(caller(&url, None).call(row("/v1/x")));
    assert_eq!(failure(ended).reach, Reach::Run(Stop::Money));
}

#[test]
fn a_redirect_is_no_answer_and_names_its_host_alone() {
    // Could break: an http address of an https server fills the output with empty answers; a signed query is printed.
    for (status, location, told) in [
        (
            307,
            "location: https://me:SECRET@other.example/v1?sig=SECRET\r\n",
            "redirects to https://other.example,",
        ),
        (
            302,
            "location: /elsewhere?sig=SECRET\r\n",
            "the upstream redirects,",
        ),
        (301, "", "the upstream redirects,"),
        (101, "upgrade: other\r\n", "the upstream answered with 101,"),
    ] {
        let (url, heads) = serve(move |_| (status, location, ""));
        let failure = failure(block(caller(&url, Some("sk-one")).call(row("/v1/x"))));
        assert_eq!(failure.reason.code(), "answer-unfit");
        assert!(failure.message.contains(told), "{}", failure.message);
        assert!(!failure.message.contains("SECRET"));
        assert_eq!(failure.reach, Reach::Row);
        assert_eq!(heads.0.lock().unwrap().len(), 1);
    }
}

#[test]
fn a_row_with_a_host_of_its_own_takes_no_credential_there_and_stops_nothing() {
    // Could break: the key travels with the row; another host's 401 or 402 ends the run.
    let (url, _) = serve(|_| (200, "", "{}"));
    for status in [401, 402] {
        let (other, heads) = serve(move |_| (status, "", "{}"));
        let caller = caller(&url, Some("sk-one"));
        for _ in 0..3 {
            let ended = block(caller.call(row(&format!("{other}/v1/x"))));
            assert_eq!(failure(ended).reach, Reach::Row);
        }
        assert!(!heads.0.lock().unwrap().concat().contains("sk-one"));
    }
}

#[test]
fn answers_are_asked_for_unpacked() {
    // Could break: without the word a server may pack its answer, which the output would hold as base64.
    let (url, heads) = serve(|_| (200, "", "{}"));
    assert!(block(caller(&url, None).call(row("/v1/x"))).result.is_ok());
    assert!(heads.0.lock().unwrap()[0].contains("accept-encoding: identity\r\n"));
}

#[test]
fn who_watches_is_told_what_rows_wait_for() {
    // Could break: "waiting: 900" does not say whether a limit is too low or a server is down.
    let policy = Policy::builder().requests_per_minute(Some(1)).build().unwrap();
    let upstream = Upstream::builder("http://127.0.0.1:9").unwrap().policy(policy);
    let elsewhere = move |origin: &str| Upstream::builder(origin)?.policy(policy).build();
    block(async {
        let caller = LiveCaller::new(
            upstream.build().unwrap(),
            "http://127.0.0.1:9",
            HeaderMap::new(),
            Box::new(elsewhere),
        );
        let mut rows: Vec<_> = (0..3).map(|_| Box::pin(caller.call(row("/v1/x")))).collect();
        for row in &mut rows {
            // A turn for each: the first goes out, the others find no room.
            let mut turn = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(row.as_mut().poll(&mut turn).is_pending());
        }
        assert_eq!(caller.line(), Some(Line { begun: 3, queued: 2 }));
        assert_eq!(caller.in_flight(), Some(1));
        let snapshot = crate::Snapshot {
            total: 3,
            in_flight: 1,
            waiting: 2,
            waits: caller.waits(),
            ..crate::Snapshot::default()
        };
        assert_eq!(
            snapshot.to_string(),
            "0/3 done, 0 failed, 1 in flight, 2 waiting: 2 rate-wait (oldest 0s)"
        );
        drop(rows);
        assert_eq!(caller.line(), Some(Line { begun: 0, queued: 0 }));
    });
}
