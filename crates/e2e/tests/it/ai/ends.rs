//! How calls of the AI client end, in each dialect: the answer, or the kind of error that callers match on.
//!
//! What can go wrong: a kind that is right in one dialect and wrong in the next, since each has its own words for the same
//! thing; a wait that is lost on the way from a header to the caller; a cause that is lost behind a count.

use super::stage::Stage;
use super::{DIALECTS, OPENAI, Scene, chat};
use seawall::ai::prices::{Cost, MicroUsd, Unpriced};
use seawall::ai::{Chat, Embeddings, ErrorKind, LimitedBy, Responses, Server};
use seawall::{Duration, Policy};
use std::error::Error as _;

#[tokio::test]
async fn a_chat_is_answered_in_every_dialect() {
    // Breaks when one dialect's path, key header, body or answer is another's.
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "503, 200", Policy::builder()).await;
        let act = async { scene.client.chat(&chat()).await };
        let answer = scene
            .stage
            .play(&scene.client, &[&scene.mock], act)
            .await
            .unwrap();
        assert!(!answer.text().is_empty(), "{dialect:?}");
        assert!(answer.usage.is_some_and(|usage| usage.output > 0), "{dialect:?}");
        assert_eq!(answer.upstream(), dialect.0.name());
        let sent_for: Vec<_> = answer.attempts().iter().map(|attempt| attempt.sent_for).collect();
        assert_eq!(sent_for, ["first", "retry"], "{dialect:?}");
    }
}

/// Where, what the server does, how often it is tried again at the most, and what the caller is told.
const ENDS: &[(&[usize], &str, u32, &str, usize)] = &[
    (
        &[0, 1, 2],
        "429 retry-after=7",
        0,
        "the rate limit is reached; retry after 7s",
        1,
    ),
    (
        &[0, 1, 2],
        "429 retry-after=7",
        2,
        "all 3 attempts failed, the last: the rate limit is reached; retry after 7s",
        3,
    ),
    (
        &[0, 1, 2],
        "429 retry-after=86400",
        2,
        "the rate limit is reached; retry after 24h",
        1,
    ),
    (
        &[0],
        "429 code=insufficient_quota",
        2,
        "the money or quota is gone; waiting does not bring it back",
        1,
    ),
    (&[0, 1, 2], "401", 2, "the key was not accepted", 1),
    (&[0, 1, 2], "403", 2, "the key may not do this", 1),
    (
        &[0],
        "400 code=context_length_exceeded",
        2,
        "the prompt is longer than the window of big",
        1,
    ),
    (&[0, 1, 2], "400", 2, "the call was refused with 400", 1),
    (&[0, 1, 2], "404", 2, "the call was refused with 404", 1),
    (&[0, 1, 2], "500", 0, "the server failed with 500", 1),
    (
        &[0, 1, 2],
        "503",
        3,
        "all 4 attempts failed, the last: the server failed with 503",
        4,
    ),
    (
        &[0, 1, 2],
        "error-in-200",
        1,
        "all 2 attempts failed, the last: the server failed with 200",
        2,
    ),
    (
        &[0, 1, 2],
        "reset",
        1,
        "all 2 attempts failed, the last: the connection could not be made, or broke",
        2,
    ),
    (
        &[0, 1, 2],
        "truncate at=50%",
        0,
        "the connection could not be made, or broke",
        1,
    ),
    (&[0, 1, 2], "hang", 0, "the server took too long", 1),
];

#[tokio::test]
async fn each_end_is_told_as_what_it_is() {
    // Breaks when a dialect's word for an end is taken for another end, or when a retry hides what it was.
    for (dialects, script, retries, expected, sends) in ENDS {
        for dialect in dialects.iter().map(|place| DIALECTS[*place]) {
            let scene = Scene::new(dialect, script, Policy::builder().retries(*retries)).await;
            let error = scene.play(scene.client.chat(chat())).await.expect_err(script);
            let told = error.to_string();
            let expected = format!("{}: {expected}", dialect.0.name());
            assert!(told.starts_with(&expected), "{script}: {told}");
            assert_eq!(
                (scene.sends(), error.attempts().len()),
                (*sends, *sends),
                "{script}"
            );
        }
    }
}

#[tokio::test]
async fn an_error_keeps_all_that_is_known() {
    // Breaks when the provider's words, the request's number, the wait, the attempts or the call behind it are lost.
    let script = r#"429 retry-after=7 header.x-request-id=req_1 json={"error":{"message":"slow down","type":"tokens","code":"rate_limit_exceeded"}}"#;
    let scene = Scene::new(OPENAI, script, Policy::builder().retries(1)).await;
    let error = scene.play(scene.client.chat(chat())).await.unwrap_err();
    let limited = ErrorKind::RateLimited {
        retry_after: Some(Duration::from_secs(7)),
        by: LimitedBy::Provider,
    };
    let spent = ErrorKind::Exhausted {
        attempts: 2,
        last: Box::new(limited.clone()),
    };
    assert_eq!((error.kind(), error.root()), (&spent, &limited));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    assert_eq!((error.upstream(), error.model()), ("openai", "big"));
    assert_eq!(error.request_id(), Some("req_1"));
    let said = error.provider().unwrap();
    assert_eq!(said.code.as_deref(), Some("rate_limit_exceeded"));
    assert_eq!(error.call().unwrap().reason.code(), "attempts-spent");
    assert!(error.source().is_some());
    let sentence =
        "openai: all 2 attempts failed, the last: the rate limit is reached; retry after 7s: slow down";
    assert_eq!(error.to_string(), sentence);
}

#[tokio::test]
async fn what_our_own_gate_refuses_is_told_with_the_time_to_come_back() {
    // Breaks when a refusal by the breaker looks like one by the server, or does not say when.
    let scene = Scene::new(OPENAI, "500", Policy::builder().retries(0)).await;
    for _ in 0..5 {
        let error = scene.play(scene.client.chat(chat())).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Server { status: 500 });
        scene.stage.clock.advance(Duration::from_millis(150));
    }
    let error = scene.play(scene.client.chat(chat())).await.unwrap_err();
    let ErrorKind::BreakerOpen {
        retry_after,
        retry_at,
    } = error.kind()
    else {
        panic!("{error:?}");
    };
    assert!(*retry_after > Duration::ZERO && *retry_after <= Duration::from_secs(6));
    assert!(*retry_at > std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600));
    assert!(
        error.to_string().contains("the breaker is open; retry after"),
        "{error}"
    );
    assert_eq!(scene.sends(), 5);
}

#[tokio::test]
async fn a_deadline_ends_a_call_and_says_what_it_met() {
    // Breaks when a caller's own limit is taken for the server's failure, or hides it.
    let scene = Scene::new(OPENAI, "503", Policy::builder().retries(50).breaker(None)).await;
    let hasty = scene.client.with_deadline(Duration::from_secs(5));
    let error = scene.play(hasty.chat(chat())).await.unwrap_err();
    let ErrorKind::DeadlinePassed { attempts, last } = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(
        (*attempts as usize, scene.sends()),
        (error.attempts().len(), error.attempts().len())
    );
    assert_eq!(last.as_deref(), Some(&ErrorKind::Server { status: 503 }));
    assert!(scene.stage.clock_secs() <= 5);
}

#[tokio::test]
async fn a_drained_client_sends_nothing_more() {
    // Breaks when a program that stops goes on sending.
    let scene = Scene::new(OPENAI, "200", Policy::builder()).await;
    scene.client.drain();
    let error = scene.play(scene.client.chat(chat())).await.unwrap_err();
    assert_eq!((error.kind(), scene.sends()), (&ErrorKind::Draining, 0));
}

#[tokio::test]
async fn what_cannot_be_said_or_read_is_told_and_nothing_is_sent_twice() {
    // Breaks when a body that is no answer is a panic or an empty answer, or when a setting is dropped in silence.
    let scene = Scene::new(OPENAI, r#"200 json={"hello":"world"}"#, Policy::builder()).await;
    let error = scene.play(scene.client.chat(chat())).await.unwrap_err();
    assert_eq!(
        (error.kind(), scene.sends()),
        (&ErrorKind::Undecodable, 1),
        "{error}"
    );
    assert!(error.to_string().contains("$."), "{error}");

    let scene = Scene::new(DIALECTS[1], "200", Policy::builder()).await;
    let error = scene.play(scene.client.chat(chat().seed(7))).await.unwrap_err();
    assert_eq!(
        (error.kind(), scene.sends()),
        (&ErrorKind::Inexpressible, 0),
        "{error}"
    );
    let error = scene
        .play(scene.client.embeddings(Embeddings::new("e", ["a"])))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), scene.sends()),
        (&ErrorKind::Inexpressible, 0),
        "{error}"
    );
    let told = error.to_string();
    assert!(
        told.starts_with("anthropic: the call cannot be said in this dialect: anthropic has no"),
        "{told}"
    );
}

#[tokio::test]
async fn every_operation_of_a_dialect_has_its_answer() {
    // Breaks when an operation goes to another one's path, or is decoded as another one.
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "200", Policy::builder()).await;
        let models = scene.play(scene.client.models()).await.unwrap();
        assert!(!models.models.is_empty(), "{dialect:?}");
        let text = scene.play(scene.client.ask("big", "Hello")).await.unwrap();
        assert!(!text.is_empty(), "{dialect:?}");
    }
    for dialect in [DIALECTS[0], DIALECTS[2]] {
        let scene = Scene::new(dialect, "503, 200", Policy::builder()).await;
        let asked = Embeddings::new("vectors", ["one", "two"]);
        let answer = scene.play(scene.client.embeddings(asked)).await.unwrap();
        assert_eq!(
            (answer.vectors.len(), answer.attempts().len()),
            (2, 2),
            "{dialect:?}"
        );
    }
    let scene = Scene::new(OPENAI, "200", Policy::builder()).await;
    let answer = scene
        .play(scene.client.responses(Responses::new("big").user("Hello")))
        .await
        .unwrap();
    assert!(!answer.text().is_empty());
}

#[tokio::test]
async fn what_a_conversation_keeps_is_not_made_twice_and_all_else_is() {
    // Breaks when a write is repeated because its endpoint is one that mostly answers, or when a server whose paths have
    // no version is sent nothing twice.
    let plain = || Responses::new("big").user("Hello");
    for base in ["", "/v1", "/api/paas/v4"] {
        for (call, kept) in [(plain(), false), (plain().conversation("conv_1"), true)] {
            let stage = Stage::new();
            let mock = stage.mock(OPENAI.1, "reset, 200").await;
            let client = stage
                .client(Server::at(format!("{}{base}", mock.url())))
                .build()
                .unwrap();
            let told = stage.play(&client, &[&mock], client.responses(call)).await;
            let sends = mock.journal().attempts.len();
            match told {
                Ok(answer) => assert_eq!((kept, sends, answer.attempts().len()), (false, 2, 2), "{base}"),
                Err(error) => {
                    assert_eq!(
                        (error.kind(), kept, sends),
                        (&ErrorKind::MayHaveActed, true, 1),
                        "{base}"
                    );
                    assert!(error.call().unwrap().unknown.is_some());
                }
            }
        }
    }
}

#[tokio::test]
async fn a_handle_says_how_often_its_calls_are_tried_again() {
    // Breaks when one handle's word holds for all clones.
    let scene = Scene::new(OPENAI, "503", Policy::builder().retries(2)).await;
    let once = scene.client.with_retries_max(0);
    let error = scene
        .play(once.chat(Chat::new("big").user("Hi")))
        .await
        .unwrap_err();
    assert_eq!(error.attempts().len(), 1);
    let error = scene.play(scene.client.chat(chat())).await.unwrap_err();
    assert_eq!(error.attempts().len(), 3);
}

#[tokio::test]
async fn an_answer_says_what_it_cost_and_one_without_a_price_is_not_free() {
    // Breaks when a model that nobody knows costs nothing, or when a fallback is priced as the server before it.
    let scene = Scene::new(OPENAI, "200", Policy::builder()).await;
    let priced = |answer: &seawall::ai::Answered<seawall::ai::ChatAnswer>| answer.cost().unwrap().to_string();
    let answer = scene
        .play(scene.client.chat(chat().model("gpt-4.1")))
        .await
        .unwrap();
    let usage = answer.usage.unwrap();
    // Two and eight dollars a million, of the table of 2026-11.
    let micro_usd = 2 * usage.input + 8 * usage.output;
    assert_eq!(
        answer.cost(),
        Some(Cost::Priced(MicroUsd(micro_usd))),
        "{}",
        priced(&answer)
    );
    let answer = scene
        .play(scene.client.chat(chat().model("of-tomorrow")))
        .await
        .unwrap();
    assert_eq!(answer.cost(), Some(Cost::Unpriced(Unpriced::UnknownModel)));
}

#[tokio::test]
async fn a_limit_of_our_own_is_told_as_ours() {
    // Breaks when a caller blames the provider for what the policy says.
    let policy = Policy::builder().concurrency(Some(1)).queue(0);
    let scene = Scene::new(OPENAI, "200 delay=5s", policy).await;
    let act = async { tokio::join!(scene.client.chat(chat()), scene.client.chat(chat())) };
    let (first, second) = scene.play(act).await;
    assert!(first.is_ok());
    let error = second.unwrap_err();
    let ErrorKind::RateLimited {
        by: LimitedBy::Policy,
        ..
    } = error.kind()
    else {
        panic!("{error:?}");
    };
    assert_eq!(scene.sends(), 1);
}
