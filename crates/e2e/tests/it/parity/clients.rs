//! Rows about clients of AI APIs.

use super::Scene;
use super::shown::{at_once, cheapest, client, closed, key, many, statuses, window};
use crate::stage::soon;
use seawall::ai::fit::{DEFAULT_MARK, DEFAULT_OUTPUT_TOKENS};
use seawall::ai::tokens::Tokenizer;
use seawall::ai::{Client, ErrorKind};
use seawall::clock::Clock as _;
use seawall::{Duration, PolicyBuilder};
use std::sync::Mutex;

const CHAT: &str = "POST /v1/chat/completions";

async fn scene(script: &str) -> (Scene, Client) {
    let scene = Scene::new(&format!("{CHAT} = {script}")).await;
    let client = scene.client(client::client(&scene.mock.url()));
    (scene, client)
}

/// The most attempts that were at the mock at one time.
fn at_once_max(scene: &Scene) -> usize {
    let attempts = scene.mock.journal().attempts;
    let overlaps = attempts.iter().map(|one| {
        let during = |other: &&seawall_lab::net::Attempt| {
            other.at <= one.at && other.ended.is_none_or(|end| end > one.at)
        };
        attempts.iter().filter(during).count()
    });
    overlaps.max().unwrap_or(0)
}

#[tokio::test]
async fn a_client_connects_once_when_it_is_used_and_leaves_nothing() {
    // Breaks when a session is opened before it is needed, for each call, or never closed.
    let (scene, other) = scene("200").await;
    drop(other);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let client = client::client(&scene.mock.url()).build().unwrap();
    assert_eq!(tasks(), before);
    for _ in 0..3 {
        assert!(!soon(client::run(&client)).await.unwrap().is_empty());
    }
    let attempts = scene.mock.journal().attempts;
    assert_eq!((attempts.len(), attempts[2].on_connection), (3, 3));
    drop(client);
    // The mock's task of a connection ends with the connection.
    soon(async {
        while tasks() > before {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_call_ends_after_its_sixty_seconds() {
    // Breaks when the limit is for each attempt, or for each read.
    let (scene, client) = scene("hang").await;
    let error = scene.play(&client, client::run(&client)).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::DeadlinePassed { .. }),
        "{error}"
    );
    assert_eq!(scene.stage.clock_secs(), 60);
}

#[tokio::test]
async fn waits_that_a_server_asks_for_are_kept_in_every_form_and_a_day_is_not_slept() {
    // Breaks when a wait with decimals or a date is not read, a 401 is sent again, or a task sleeps until tomorrow.
    for (script, said, sends, secs) in [
        ("429 retry-after=5, 200", "answered at attempt 2", 2, 5..=6),
        (
            "429 header.retry-after=2.5, 200",
            "answered at attempt 2",
            2,
            3..=4,
        ),
        (
            "429 header.retry-after='Thu, 01 Jan 2026 00:00:07 GMT', 200",
            "answered at attempt 2",
            2,
            7..=9,
        ),
        ("429 retry-after-ms=1500, 200", "answered at attempt 2", 2, 2..=3),
        ("429 retry-after=86400", "rate limited: again in ", 1, 0..=0),
        ("401", "authentication failed", 1, 0..=0),
        ("400", "API error: ", 1, 0..=0),
        ("404", "API error: ", 1, 0..=0),
        ("500, 200", "answered at attempt 2", 2, 0..=1),
        ("502", "server error 502 at attempt 6", 6, 1..=20),
        ("503", "server error 503 at attempt 6", 6, 1..=20),
        ("504", "server error 504 at attempt 6", 6, 1..=20),
    ] {
        let (scene, client) = scene(script).await;
        let came = scene.play(&client, statuses::run(&client)).await;
        assert!(came.starts_with(said), "{script}: {came}");
        assert_eq!(scene.sends(), sends, "{script}: {came}");
        let passed = scene.stage.clock_secs();
        assert!(secs.contains(&passed), "{script}: {passed} s");
    }
}

#[tokio::test]
async fn one_failure_cancels_nobody_and_ten_run_at_a_time() {
    // Breaks when the first error ends the batch, or when all thousand are sent at once.
    let (scene, client) = scene("7x 200 delay=1s, 400 delay=1s, 200 delay=1s").await;
    let prompts: Vec<_> = (0..40).map(|place| format!("Number {place}?")).collect();
    let (answered, results) = scene.play(&client, many::run(&client, prompts)).await;
    assert_eq!((answered, results.len(), scene.sends()), (39, 40, 40));
    assert_eq!((at_once_max(&scene), scene.stage.clock_secs()), (10, 4));
}

#[tokio::test]
async fn leaving_closes_what_is_in_flight() {
    // Breaks when a call or a stream runs on for nobody, and is paid for.
    let (scene, client) = scene("hang").await;
    let upstream = client.upstreams().next().unwrap().clone();
    let clock = scene.stage.clock.clone();
    let second = clock.now().after(Duration::from_secs(1));
    let left = scene
        .play(&upstream, closed::run(client, clock.sleep_until(second)))
        .await;
    soon(scene.mock.quiet()).await;
    assert_eq!((left, upstream.attempts_out()), (None, 0));
    assert!(scene.mock.journal().attempts[0].client_left.is_some());

    let (scene, client) = self::scene("stream events=50 gap=1s then=done").await;
    let upstream = client.upstreams().next().unwrap().clone();
    let words = scene.play(&upstream, closed::first_words(client)).await;
    soon(scene.mock.quiet()).await;
    assert!(words.is_some_and(|words| !words.is_empty()));
    assert_eq!(upstream.attempts_out(), 0);
    assert!(scene.mock.journal().attempts[0].client_left.is_some());
}

const SUMMARIZE: &str = "Summarize: the tide comes in twice a day.";

#[tokio::test]
async fn a_failure_falls_back_to_the_cheapest_of_the_others_and_a_refusal_to_none() {
    // Breaks when a 400 is tried at every price, or when the chain has no end.
    let models = cheapest::models(SUMMARIZE);
    assert_eq!(models, ["gpt-4.1-nano", "gpt-4.1-mini", "gpt-4.1"]);
    assert_eq!(cheapest::models("Explain the tide.")[0], "gpt-4.1-mini");
    assert_eq!(cheapest::models("Write a poem.")[0], "gpt-4.1");
    for (script, sends) in [("400", 1), ("503 retry-after=40, 200", 2)] {
        let scene = Scene::new(&format!("{CHAT} = {script}")).await;
        let client = scene.client(cheapest::client(&scene.mock.url(), &models));
        let ended = scene
            .play(&client, cheapest::run(&client, &models[0], SUMMARIZE))
            .await;
        assert_eq!(
            (ended.is_ok(), scene.sends()),
            (sends > 1, sends),
            "{script}: {ended:?}"
        );
    }
}

#[tokio::test]
async fn a_fallback_has_what_is_left_of_the_deadline_and_no_more() {
    // Breaks when each model begins the time anew: three times ten seconds.
    let models = cheapest::models(SUMMARIZE);
    let scene = Scene::new(&format!("{CHAT} = 503 delay=4s")).await;
    let client = cheapest::client(&scene.mock.url(), &models).deadline(Duration::from_secs(10));
    let client = scene.client(client);
    scene
        .play(&client, cheapest::run(&client, &models[0], SUMMARIZE))
        .await
        .unwrap_err();
    assert!(
        (4..=10).contains(&scene.stage.clock_secs()),
        "{}",
        scene.stage.clock_secs()
    );
    assert!(scene.sends() <= 3);
}

#[tokio::test]
async fn five_run_at_once_and_those_that_wait_go_in_their_order() {
    // Breaks when a sixth is let in, or when the last who came overtakes the first.
    let scene = Scene::new(&format!("{CHAT} = 200 delay=1s")).await;
    let client = scene.client(at_once::client(&scene.mock.url()).unwrap());
    let ended = Mutex::new(Vec::new());
    let (shared, ends) = (&client, &ended);
    let task = |place: usize| async move {
        at_once::run(shared, "Why?").await.unwrap();
        ends.lock().unwrap().push(place / 5);
    };
    scene.play_many(&client, 20, task).await;
    assert_eq!((at_once_max(&scene), scene.stage.clock_secs()), (5, 4));
    let ended = ended.into_inner().unwrap();
    assert!(ended.is_sorted(), "{ended:?}");
}

#[tokio::test]
async fn a_place_comes_back_however_its_call_ends() {
    // Breaks when an error, a broken connection or a caller who leaves keeps a place: after five, nobody is let in.
    let scene = Scene::new(&format!(
        "{CHAT} = 5x 400, 5x 500, 5x truncate at=50%, 5x hang, 200"
    ))
    .await;
    let builder = at_once::client(&scene.mock.url()).unwrap();
    let once = PolicyBuilder::from_preset(seawall::Preset::Off)
        .concurrency(5)
        .build()
        .unwrap();
    let client = scene.client(builder.policy(once));
    for _ in 0..15 {
        scene
            .play(&client, at_once::run(&client, "Why?"))
            .await
            .unwrap_err();
    }
    let clock = &scene.stage.clock;
    for _ in 0..5 {
        let second = clock.sleep_until(clock.now().after(Duration::from_secs(1)));
        let leaves = async {
            tokio::select! {
                ended = at_once::run(&client, "Why?") => panic!("{ended:?}"),
                () = second => {}
            }
        };
        scene.play(&client, leaves).await;
    }
    assert_eq!(client.attempts_out(), 0);
    let results = scene
        .play(&client, at_once::complete(&client, &["Why?"; 10]))
        .await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

#[tokio::test]
async fn a_key_is_tried_by_one_get_and_a_server_that_is_down_refuses_none() {
    // Breaks when a key is tried by a chat that costs money, is tried again, or is called wrong in an outage.
    for (script, said) in [
        ("200", "the key works"),
        ("401", "mend the key: "),
        ("503", "whether the key is valid is not known: "),
        ("reset", "whether the key is valid is not known: "),
    ] {
        let scene = Scene::new(&format!("GET /v1/models = {script}")).await;
        let client = scene.client(key::client(&scene.mock.url(), "sk-one"));
        let came = scene.play(&client, key::run(&client)).await;
        assert!(
            came.starts_with(said) && !came.contains("sk-one"),
            "{script}: {came}"
        );
        assert_eq!(scene.sends(), 1, "{script}");
    }
}

#[tokio::test]
async fn a_prompt_is_cut_by_tokens_and_never_inside_a_letter() {
    // Breaks when characters are taken for tokens, or when the cut halves what people see as one letter.
    let letters = ["👩‍👩‍👧‍👦", "e\u{301}", "🇩🇪", "日", "a"];
    let prompt = letters.concat().repeat(12_000);
    let fitted = window::fitted("gpt-4o", &prompt).unwrap();
    // The window less the reserve, and less the answer.
    let room = 128_000 - 100 - DEFAULT_OUTPUT_TOKENS;
    assert!(fitted.cut_bytes > 0 && fitted.text.ends_with(DEFAULT_MARK));
    assert!(
        fitted.tokens <= room && fitted.tokens > room - 50,
        "{}",
        fitted.tokens
    );
    let counted = Tokenizer::for_model("gpt-4o").count(&fitted.text);
    assert!(
        counted.tokens <= fitted.tokens && counted.tokens > room - 50,
        "{counted}"
    );
    let kept = prompt.len() - fitted.cut_bytes;
    assert!(prompt.is_char_boundary(kept));
    let (mut left, mut letter) = (kept % letters.concat().len(), letters.iter());
    while left > 0 {
        left = left
            .checked_sub(letter.next().unwrap().len())
            .expect("a whole letter");
    }
    let whole = window::fitted("gpt-4o", "short").unwrap();
    assert_eq!((whole.text.as_str(), whole.cut_bytes), ("short", 0));
}
