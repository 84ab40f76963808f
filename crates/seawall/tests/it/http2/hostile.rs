//! Servers that send any frames at all.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use seawall::http::Resend;

use super::post2;
use super::wire::{Step, Wire, block, frame, settings};
use crate::{LIMITS, soon, transport};

/// Frames of every kind with any flags, on streams that exist and not, with payloads that fit and not.
fn frames() -> impl Strategy<Value = Vec<Step>> {
    let stream = prop::sample::select(vec![0, 1, 1, 1, 2, 3, 5, 0x7fff_ffff]);
    let payload = prop_oneof![
        3 => Just(block(&[])),
        2 => Just(block(&[("content-length", "5")])),
        2 => Just(b"hello".to_vec()),
        2 => Just(vec![0, 0, 0, 1]),
        1 => Just(vec![0, 0, 0, 1, 0, 0, 0, 0]),
        1 => Just(Vec::new()),
        1 => Just(vec![0x7f, 0xff, 0xff, 0xff]),
        3 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    let one = prop_oneof![
        8 => (0..11_u8, prop::sample::select(vec![0, 1, 4, 5, 8, 0x20, 0xff]), stream, payload)
            .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload)),
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Step::Write),
        1 => prop::sample::select(vec![(1, 0), (2, 1), (3, 0), (4, 0), (4, u32::MAX), (5, 1), (6, 0)])
            .prop_map(|value| Step::Write(settings(&[value]))),
    ];
    prop::collection::vec(one, 0..10)
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
    fn whatever_frames_a_server_sends_the_attempt_ends(frames in frames()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Wire::start(move |_| {
                let mut steps = frames.clone();
                steps.push(Step::Close);
                steps
            })
            .await;
            let transport = transport();
            let out = post2(&server.url(), "x");
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

    // Breaks when bytes before the first settings are trusted further than those after them.
    #[test]
    fn whatever_a_server_opens_with_the_attempt_ends(
        opening in prop::collection::vec(any::<u8>(), 0..200),
        settled in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bytes = if settled { [settings(&[]), opening].concat() } else { opening };
            let server = Wire::opening(bytes, |_| vec![Step::Close]).await;
            let transport = transport();
            let out = post2(&server.url(), "x");
            let limits = seawall::http::AttemptLimits {
                connect: seawall_core::time::Duration::from_millis(20),
                ..LIMITS
            };
            prop_assert!(soon(transport.attempt(&out, &limits, Resend::StaleOnce)).await.result.is_err());
            drop(transport);
            soon(server.is_alone()).await;
            Ok(())
        })?;
    }
}
