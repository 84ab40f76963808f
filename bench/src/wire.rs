//! What `Upstream::call` adds to its bytes on the wire: the same request over the bare transport, and as a call, to a
//! server on a thread of its own that answers at once.
//!
//! What can go wrong: a round trip over loopback takes a hundred times what is measured, and moves with whatever else the
//! machine does. So both are measured in turns, and the difference is told beside them; what is allocated does not
//! move at all, and is what `--check` holds.

use crate::rounds::{self, Measured, Subject};
use seawall::http::{AttemptLimits, Outgoing, Resend, Transport};
use seawall::upstream::{Call, Upstream};
use seawall_core::time::Duration;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use tokio::runtime::Runtime;

/// Round trips of one batch.
const ITERATIONS: u32 = 100;
/// Batches per round of each subject.
const BATCHES: usize = 20;

const BARE: &str = "a chat over the bare transport";
const CALL: &str = "a chat by Upstream::call";
const CHAT: &str =
    r#"{"model":"big-1","messages":[{"role":"user","content":"Why \"so\"?\nSay it."}],"max_tokens":9}"#;
const ANSWER: &str = r#"{"id":"c-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Because.\n"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#;

/// Both, measured in turns.
pub fn measure() -> Vec<Measured> {
    rounds::measure_in(vec![bare(), call()], ITERATIONS, BATCHES)
}

/// Prints both, and what the call adds.
pub fn print() {
    let measured = measure();
    println!("# Loopback, HTTP/1.1, one connection, one runtime on one thread; the server on another.");
    rounds::print("one round trip", &measured);
    if let [bare, call] = &measured[..] {
        println!(
            "Upstream::call adds {:.0} ns and {:.2} allocations",
            call.p50_ns - bare.p50_ns,
            call.allocations - bare.allocations,
        );
    }
}

/// Says whether a call allocates no more than its bytes take.
pub fn check() -> bool {
    let measured = measure();
    let [bare, call] = &measured[..] else { return false };
    let (bare, call) = (bare.allocations, call.allocations);
    println!("a call by Upstream::call: {call} allocations; its bytes take {bare}");
    // A turn of the runtime that comes early saves either a timer.
    call < bare + 0.5
}

fn bare() -> Subject {
    let url = format!("http://{}/v1/chat/completions", server());
    let mut out =
        Outgoing::new(http::Method::POST, url.parse().expect("an address is a URL")).with_body(CHAT);
    let json = http::HeaderValue::from_static("application/json");
    out.headers.insert(http::header::CONTENT_TYPE, json);
    let transport = Transport::builder()
        .seed(1)
        .build()
        .expect("the defaults are right");
    let limits = AttemptLimits {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_secs(300),
        idle: Duration::from_secs(120),
        total: Some(Duration::from_secs(600)),
    };
    let runtime = runtime();
    Subject::new(BARE, move || {
        runtime.block_on(async {
            let attempted = transport.attempt(&out, &limits, Resend::StaleOnce).await;
            let answer = attempted.result.expect("the server answers");
            answer.collect(1 << 20).await.expect("the answer is whole");
        });
    })
}

fn call() -> Subject {
    let url = format!("http://{}/v1", server());
    let upstream = Upstream::builder(&url).expect("an address is a URL");
    let upstream = Rc::new(upstream.seed(1).build().expect("the defaults are right"));
    let runtime = runtime();
    // What the caller makes of its call is the caller's: it is ready before it is counted.
    Subject::prepared(
        CALL,
        || Call::post_json("/chat/completions", CHAT),
        move |call| {
            runtime.block_on(upstream.call(call)).expect("the server answers");
        },
    )
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime with sockets")
}

/// A server that answers every chat on every connection.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a listener has an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(mut stream: TcpStream) {
    // Without it an answer waits for the acknowledgement of the last one.
    let _said = stream.set_nodelay(true);
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{ANSWER}",
        ANSWER.len()
    );
    let (mut bytes, mut part) = (Vec::new(), [0; 4_096]);
    loop {
        while !bytes.ends_with(CHAT.as_bytes()) {
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
