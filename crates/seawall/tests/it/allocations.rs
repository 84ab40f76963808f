//! What a call allocates beside what its bytes on the wire take: nothing.
//!
//! What can go wrong: a call that is answered at once, as nearly all are, pays for what one call of a thousand needs: a
//! list of attempts, a copy of its headers, a tree of its prompt. So the same request goes once over the bare transport
//! and once as a call, over and over, each counted by itself; the server is in another thread, whose allocations are
//! not counted. A turn of the runtime may make a timer or not, for both alike, so it is the least of each that is
//! compared, and the middle one.

use crate::LIMITS;
use allocation_counter::measure;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use seawall::http::{Outgoing, Resend, Secret, Transport};
use seawall::upstream::{Call, Upstream};
use seawall::{Gate, Policy, Preset, blocking};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Calls before the first that counts: connections, caches and tables are warm by then.
const WARM: usize = 20;
const ROUNDS: usize = 101;

/// A server that answers every request on every connection with this body.
fn server(body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || serve(stream, body));
        }
    });
    address
}

fn serve(mut stream: TcpStream, body: &str) {
    stream.set_nodelay(true).unwrap();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: r-1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (mut bytes, mut part) = (Vec::new(), [0; 4_096]);
    loop {
        // A request is its head and as many bytes as that says.
        while !is_whole(&bytes) {
            match stream.read(&mut part) {
                Ok(0) | Err(_) => return,
                Ok(read) => bytes.extend_from_slice(&part[..read]),
            }
        }
        bytes.clear();
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return false;
    };
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    bytes.len() >= end + 4 + length
}

/// The least and the middle of what `round` allocates.
fn least_and_middle(mut round: impl FnMut() -> u64) -> (u64, u64) {
    for _ in 0..WARM {
        round();
    }
    let mut counts: Vec<u64> = (0..ROUNDS).map(|_| round()).collect();
    counts.sort_unstable();
    (counts[0], counts[ROUNDS / 2])
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// What one request allocates over the bare transport.
fn bare(out: &Outgoing) -> (u64, u64) {
    let (runtime, transport) = (runtime(), Transport::builder().seed(1).build().unwrap());
    least_and_middle(|| {
        let counted = measure(|| {
            let answer = runtime.block_on(async {
                let attempted = transport.attempt(out, &LIMITS, Resend::StaleOnce).await;
                attempted.result.unwrap().collect(1 << 20).await.unwrap()
            });
            assert_eq!(answer.status, 200);
        });
        counted.count_total
    })
}

/// What the same allocates as a call. What the caller makes of it before is the caller's.
fn as_call(upstream: &Upstream, call: &Call) -> (u64, u64) {
    let runtime = runtime();
    least_and_middle(|| {
        let call = call.clone();
        let counted = measure(|| {
            let answer = runtime.block_on(upstream.call(call)).unwrap();
            assert_eq!(answer.attempts.len(), 1);
        });
        counted.count_total
    })
}

fn check(what: &str, out: &Outgoing, upstream: &Upstream, call: &Call) {
    let (bare, ours) = (bare(out), as_call(upstream, call));
    assert!(
        ours.0 <= bare.0 && ours.1 <= bare.1,
        "{what}: bare {bare:?}, as a call {ours:?}"
    );
    assert!(bare.0 > 0, "nothing is counted");
}

#[test]
fn a_call_that_is_answered_allocates_what_its_bytes_take_and_nothing_more() {
    // Could break by one list, one copy or one parsed body on the way of every call.
    let address = server(r#"{"id":"t-1","text":"a \"thing\"\n"}"#);
    let url = format!("http://{address}/v1");
    let upstream = Upstream::builder(&url).unwrap().seed(1).build().unwrap();
    let out = Outgoing::new(Method::GET, format!("{url}/things").parse().unwrap());
    check("a read", &out, &upstream, &Call::get("/things"));
}

#[test]
fn a_chat_allocates_what_its_bytes_take_and_nothing_more() {
    // Could break wherever a prompt or an answer is built to be looked at, or a credential copies the headers.
    const CHAT: &str = r#"{"model":"big-1","messages":[{"role":"user","content":"Why \"so\"?\nSay \ud83d\ude00."}],"tools":[{"type":"function"}]}"#;
    let address = server(
        r#"{"id":"c-1","object":"chat.completion","choices":[{"message":{"content":"\u00e9\n"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}"#,
    );
    let url = format!("http://{address}/v1");
    let secret = Secret::bearer("sk-1").unwrap();
    let upstream = Upstream::builder(&url)
        .unwrap()
        .seed(1)
        .credential(AUTHORIZATION, secret.clone())
        .build()
        .unwrap();
    let mut out =
        Outgoing::new(Method::POST, format!("{url}/chat/completions").parse().unwrap()).with_body(CHAT);
    out.headers
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    out.headers.insert(AUTHORIZATION, secret.to_value());
    check(
        "a chat",
        &out,
        &upstream,
        &Call::post_json("/chat/completions", CHAT),
    );
}

#[test]
fn a_closure_that_is_answered_allocates_nothing() {
    // How it could break: the loop that decides on failures is made, in its boxes, for a call that has none.
    let policy = Policy::preset(Preset::Interactive);
    let gate = Gate::new(&policy);
    let upstream = Upstream::builder("http://127.0.0.1:1").unwrap().build().unwrap();
    let runtime = runtime();
    let _entered = runtime.enter();
    let answer = async || std::io::Result::Ok(7);
    let count = |make: &mut dyn FnMut()| least_and_middle(|| measure(&mut *make).count_total);
    let ways: [(&str, &mut dyn FnMut()); 6] = [
        ("alone", &mut || at_once(seawall::retry(answer, &policy))),
        ("told", &mut || {
            at_once(seawall::retry_with(|_| answer(), &policy))
        }),
        ("at a gate", &mut || at_once(seawall::retry(answer, &gate))),
        ("at an upstream", &mut || {
            at_once(seawall::retry(answer, &upstream))
        }),
        ("on a thread", &mut || {
            blocking::retry(|| std::io::Result::Ok(7), &policy)
                .call()
                .unwrap();
        }),
        ("on a thread, at a gate", &mut || {
            blocking::retry(|| std::io::Result::Ok(7), &gate).call().unwrap();
        }),
    ];
    for (way, make) in ways {
        assert_eq!(count(make), (0, 0), "{way}");
    }
}

/// Polls what is answered in one poll.
fn at_once<E: std::fmt::Debug>(call: impl Future<Output = Result<i32, E>>) {
    let polled = pin!(call).poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Ok(7))));
}
