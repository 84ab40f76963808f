//! Keys: tried, renewed, and never shown.
//!
//! What can go wrong: a server that repeats the key in its error puts it into every log; a server that is down is taken
//! for one that refuses; a token that ended is renewed once for each call.

use super::stage::Stage;
use super::{DIALECTS, KEY, OPENAI, Scene, chat, server};
use seawall::Credential;
use seawall::Policy;
use seawall::ai::{BuildError, Client, ErrorKind, Key, KeyCheck, Server};
use seawall::http::Secret;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[tokio::test]
async fn a_key_that_a_server_repeats_is_not_shown() {
    // Breaks when any text of an error holds the key.
    for status in [400, 401, 403, 500] {
        let script = format!(r#"{status} json={{"error":{{"message":"not with {KEY}","code":"{KEY}"}}}}"#);
        let scene = Scene::new(OPENAI, &script, Policy::builder().retries(0)).await;
        let error = scene.play(scene.client.chat(chat())).await.unwrap_err();
        let said = error.provider().unwrap();
        let shown = format!(
            "{error} {error:?} {error:#?} {said} {said:?} {:?} {:?}",
            error.call(),
            scene.client
        );
        assert!(!shown.contains(KEY), "{shown}");
        assert_eq!(said.message.as_deref(), Some("not with ***"));
    }
    let builder = Client::builder().openai().key(Key::new(KEY));
    assert!(!format!("{builder:?}").contains(KEY));
    let address = Client::builder().base_url(format!("https://user:{KEY}@api.example.com/v1?key={KEY}"));
    assert!(!format!("{address:?} {address:#?}").contains(KEY));
}

#[tokio::test]
async fn a_key_that_a_server_repeats_is_not_shown_where_another_was_asked_after_it() {
    // Breaks when only the key of the last server is blotted out: what is told may be the answer of one before it.
    let stage = Stage::new();
    let script = format!(r#"500 json={{"error":{{"message":"not with {KEY}"}}}}"#);
    let first = stage.mock(OPENAI.1, &script).await;
    let second = stage.mock(OPENAI.1, "reset").await;
    let other = server(OPENAI.0, &second)
        .name("other")
        .key(Key::new("sk-of-the-other-one"));
    let client = stage
        .client(server(OPENAI.0, &first))
        .policy(Policy::builder().retries(0).build().unwrap())
        .fallback(other)
        .build()
        .unwrap();
    let error = stage
        .play(&client, &[&first, &second], client.chat(chat()))
        .await
        .unwrap_err();
    assert_eq!((error.upstream(), error.attempts().len()), ("other", 2));
    let said = error.provider().unwrap();
    assert_eq!(said.message.as_deref(), Some("not with ***"));
    assert!(!format!("{error} {error:?} {said:?}").contains(KEY), "{error}");
}

#[tokio::test]
async fn a_key_is_tried_by_one_call_and_three_things_may_come_of_it() {
    // Breaks when silence is a yes or a no, when the trial is repeated, or when it is a call that costs money.
    for dialect in DIALECTS {
        for (script, expected) in [
            ("200", "valid"),
            ("401", "refused"),
            ("403", "refused"),
            ("503", "unclear"),
            ("429 retry-after=1", "unclear"),
            ("404", "unclear"),
            ("reset", "unclear"),
            ("hang", "unclear"),
        ] {
            let scene = Scene::new(dialect, script, Policy::builder()).await;
            let check = scene.play(scene.client.check_key()).await;
            let found = match &check {
                KeyCheck::Valid => "valid",
                KeyCheck::Refused(_) => "refused",
                KeyCheck::Unclear(_) => "unclear",
                _ => "new",
            };
            assert_eq!(
                (found, scene.sends()),
                (expected, 1),
                "{dialect:?} {script}: {check}"
            );
            assert_eq!(scene.mock.journal().attempts[0].method, "GET");
            assert!(scene.stage.clock_secs() <= 10);
        }
    }
}

#[tokio::test]
async fn a_token_that_ended_is_renewed_once_for_all_calls() {
    // Breaks when each of ten calls asks for a token of its own, or when a renewal is a retry.
    let stage = Stage::new();
    let mock = stage.mock(OPENAI.1, "10x 401, 200").await;
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let token = Credential::refreshing(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        async {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            Secret::bearer("the next one")
        }
    });
    let token = token.beginning_with(Secret::bearer("the last one").unwrap());
    let client = stage
        .client(Server::openai().base_url(mock.url()).token(token))
        .build()
        .unwrap();
    let acts = (0..10).map(|_| {
        let client = client.clone();
        let act: seawall::crank::Act<'_, _> = Box::pin(async move { client.chat(chat()).await });
        act
    });
    for ended in stage.play_all(&client, &[&mock], acts.collect()).await {
        let answer = ended.unwrap();
        assert_eq!((answer.attempts().len(), answer.attempts()[0].resent), (1, true));
    }
    assert_eq!(
        (asked.load(Ordering::SeqCst), mock.journal().attempts.len()),
        (1, 20)
    );
}

#[test]
fn what_is_wrong_with_a_client_is_said_when_it_is_built() {
    // Breaks when a variable that is not set is found out by the first call, or when the error does not say which.
    let built = |builder: seawall::ai::ClientBuilder| builder.build().unwrap_err().to_string();
    let unset = Client::builder()
        .anthropic()
        .key_from_env("SEAWALL_NOBODY_SETS_THIS");
    assert_eq!(
        built(unset),
        "anthropic: the environment variable SEAWALL_NOBODY_SETS_THIS is not set; set it to the key"
    );
    let broken = built(Client::builder().openai().key(Key::new("sk-one\nsk-two")));
    assert!(
        broken.starts_with("openai: the key holds a character that no key has"),
        "{broken}"
    );
    assert!(!broken.contains("sk-one"));
    let cut = built(Client::builder().openai().key(Key::new("sk-one…")));
    assert!(cut.contains("copied whole"), "{cut}");
    let error = Client::builder().base_url("localhost:8000").build().unwrap_err();
    assert!(matches!(error, BuildError::Server { .. }), "{error}");
    assert!(
        Client::builder()
            .openai()
            .key(Key::new(" sk-with-a-line-end\n"))
            .build()
            .is_ok()
    );
}

#[tokio::test]
async fn a_denied_key_is_kept_back_and_told_as_such() {
    // Breaks when a wrong key is sent for ever, or when the latch looks like another error.
    let scene = Scene::new(OPENAI, "401", Policy::builder()).await;
    for sends in [1, 2, 2] {
        let error = scene.play(scene.client.chat(chat())).await.unwrap_err();
        assert_eq!((error.kind(), scene.sends()), (&ErrorKind::Authentication, sends));
    }
}
