//! Servers that send anything at all.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use seawall::http::Resend;

use crate::server::{Server, Step, write};
use crate::{LIMITS, post, soon, transport};

/// Parts of answers, whole and broken, and junk: in any order they make most of what a parser can trip over.
fn parts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let known = [
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n",
        "HTTP/1.0 503 X\r\n",
        "HTTP/1.1 421 X\r\n",
        "content-length: 5\r\n",
        "content-length: 99999999999999999999\r\n",
        "transfer-encoding: chunked\r\n",
        "connection: close\r\n",
        "keep-alive: timeout=99999999999999999999\r\n",
        "\r\n",
        "5\r\nhello\r\n",
        "ffffffffffffffff\r\n",
        "0\r\n\r\n",
        "hello",
    ];
    let part = prop_oneof![
        4 => prop::sample::select(known.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop::collection::vec(part, 0..8)
}

proptest! {
    #![proptest_config(Config {
        cases: 256,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..Config::default()
    })]

    // Breaks when anything that a peer sends makes an attempt panic or wait for ever, or leaves its socket open.
    #[test]
    fn whatever_a_server_sends_the_attempt_ends(parts in parts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::start(move |_| {
                let mut steps: Vec<_> = parts.iter().map(write).collect();
                steps.push(Step::Close);
                steps
            })
            .await;
            let transport = transport();
            let out = post(&server.url("/"), "x");
            let attempted = soon(transport.attempt(&out, &LIMITS, Resend::StaleOnce)).await;
            let body = match attempted.result {
                Ok(answer) => soon(answer.collect(1_000)).await.map(|whole| whole.body.len()),
                Err(broken) => Err(broken),
            };
            match body {
                Ok(bytes) => prop_assert!(bytes <= 1_000),
                Err(broken) => prop_assert!(!broken.detail.is_empty()),
            }
            drop(transport);
            soon(server.is_alone()).await;
            Ok(())
        })?;
    }
}
