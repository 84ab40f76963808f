//! Resources, idempotency keys and `apply`, on the wire.

use super::*;
use crate::plan::{Dialect, Idempotency, Scope, Unkeyed};
use seawall::crank::CrankedClock;
use seawall_core::time::Duration as Length;
use std::task::Poll;

const KEYED: &str = "idempotency-key: k1\r\n";

/// `POST /v1/payments` with this script, a resource and keys.
fn payments(script: &str) -> Rule {
    let mut rule = Rule::parse(&format!("POST /v1/payments = {script}")).unwrap();
    rule.resource = Some("payments".to_owned());
    rule.idempotency = Some(Idempotency::default());
    rule
}

async fn keeping(rule: Rule) -> Mock {
    Mock::builder().rule(rule).start().await.unwrap()
}

fn written(method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

async fn post(mock: &Mock, headers: &str, body: &str) -> (String, End) {
    raw(mock, &written("POST", "/v1/payments", headers, body)).await
}

/// Sends a POST whose answer nobody waits for, and ends once the mock keeps it waiting.
async fn post_and_wait(mock: &Mock, headers: &str, body: &str) -> TcpStream {
    let before = mock.kept_waiting();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    let bytes = written("POST", "/v1/payments", headers, body);
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let waits = std::future::poll_fn(|context| {
        mock.watch(context.waker());
        match mock.kept_waiting() > before {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    });
    tokio::time::timeout(PATIENCE, waits)
        .await
        .expect("the mock reads it");
    stream
}

/// What each attempt did, and to what: `created payments_1`.
async fn works(mock: &Mock) -> Vec<String> {
    tokio::time::timeout(PATIENCE, mock.quiet())
        .await
        .expect("everything ends");
    let attempts = mock.journal().attempts;
    let words = attempts.iter().map(|attempt| {
        let object = attempt.object.as_deref();
        let words = [attempt.work.or(Some("-")), object];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    words.collect()
}

#[tokio::test]
async fn a_payment_that_times_out_after_it_was_done_is_one_payment_with_one_key() {
    // Could break by a repeat that pays again, by a key that stays in flight because its first attempt hangs still, or
    // by an answer that is not the one that was lost.
    let mock = keeping(payments("apply then hang, 200")).await;
    let lost = post_and_wait(&mock, KEYED, r#"{"amount":5}"#).await;
    assert_eq!(mock.resources("payments").len(), 1);
    let (answer, _) = post(&mock, KEYED, r#"{"amount":5}"#).await;
    assert_eq!(status(&answer), 200);
    assert_eq!(header(&answer, "idempotent-replayed"), Some("true"));
    assert_eq!(json(&answer)["id"], "payments_1");
    assert_eq!(json(&answer)["amount"], 5);
    drop(lost);
    assert_eq!(works(&mock).await, ["created payments_1", "replayed"]);
    let objects = mock.resources("payments");
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0].field("amount"), Some("5"));
    assert_eq!(
        mock.journal().attempts[0].fault.as_deref(),
        Some("apply then hang")
    );
}

#[tokio::test]
async fn the_same_payment_with_a_new_key_is_two_and_the_journal_shows_it() {
    // Could break by a mock that is kinder than a bank: the client's bug would stay unseen.
    let mock = keeping(payments("apply then reset, 200")).await;
    let (nothing, end) = post(&mock, KEYED, r#"{"amount":5}"#).await;
    assert_eq!((nothing.as_str(), end), ("", End::Rst));
    let (answer, _) = post(&mock, "idempotency-key: k2\r\n", r#"{"amount":5}"#).await;
    assert_eq!(json(&answer)["id"], "payments_2");
    assert_eq!(header(&answer, "idempotent-replayed"), None);
    assert_eq!(works(&mock).await, ["created payments_1", "created payments_2"]);
    let keys: Vec<_> = mock
        .journal()
        .attempts
        .into_iter()
        .map(|attempt| attempt.key)
        .collect();
    assert_eq!(keys, [Some("k1".to_owned()), Some("k2".to_owned())]);
}

#[tokio::test]
async fn every_action_does_the_work_or_leaves_it_as_its_name_says() {
    // Could break where an action's place in the table of `plan::Reach` is not where the server looks.
    let done = [
        "200",
        "201",
        "200 text=ok",
        "drip bps=5000",
        "slow-headers",
        "truncate at=50%",
        "wrong-length +3",
        "wrong-length -3",
        "bad-chunk",
        "half-close",
        "bad-gzip",
        "reset after=0",
        "close after=1",
        "hang after=9",
        "apply then reset",
        "apply then close",
        "apply then 503",
        "apply then garbage",
        "apply then error-in-200",
        "apply then truncate at=0",
    ];
    let not_done = ["302", "409", "503", "error-in-200", "reset", "close", "garbage"];
    for (actions, count) in [(&done[..], 1), (&not_done[..], 0)] {
        for action in actions {
            let mock = keeping(payments(action)).await;
            let mut stream = TcpStream::connect(mock.address()).await.unwrap();
            let bytes = written("POST", "/v1/payments", KEYED, "{}");
            stream.write_all(bytes.as_bytes()).await.unwrap();
            // One byte of an answer, or its end, is proof that the attempt was decided.
            let first = tokio::time::timeout(PATIENCE, stream.read_u8());
            drop(first.await.expect("something happens"));
            drop(stream);
            assert_eq!(mock.resources("payments").len(), count, "{action}");
        }
    }
    for (action, count) in [("hang", 0), ("apply then hang", 1)] {
        let mock = keeping(payments(action)).await;
        let _stream = post_and_wait(&mock, KEYED, "{}").await;
        assert_eq!(mock.resources("payments").len(), count, "{action}");
    }
}

#[tokio::test]
async fn a_key_in_flight_is_said_to_be_until_the_delay_is_over() {
    // Could break by a second payment beside the first one, by a repeat that waits for it, or by a first answer that a
    // client has while its key is still taken.
    let clock = CrankedClock::new();
    let mock = Mock::builder()
        .rule(payments("200 delay=15s, 200"))
        .clock(std::sync::Arc::new(clock.clone()))
        .start()
        .await
        .unwrap();
    let mut first = post_and_wait(&mock, KEYED, r#"{"amount":5}"#).await;
    let (same, _) = post(&mock, KEYED, r#"{"amount":5}"#).await;
    assert_eq!(
        (status(&same), &json(&same)["error"]["code"]),
        (409, &"key-in-flight".into())
    );
    let (other, _) = post(&mock, KEYED, r#"{"amount":6}"#).await;
    assert_eq!(
        (status(&other), &json(&other)["error"]["code"]),
        (422, &"key-reused".into())
    );
    clock.advance(Length::from_secs(15));
    let (answer, _) = read_out(&mut first).await;
    let (again, _) = post(&mock, KEYED, r#"{"amount":5}"#).await;
    assert_eq!(
        (status(&answer), header(&answer, "idempotent-replayed")),
        (200, None)
    );
    assert_eq!(header(&again, "idempotent-replayed"), Some("true"));
    assert_eq!(body(&again), body(&answer));
    // A day later it is a key like any other.
    clock.advance(Length::from_secs(24 * 60 * 60));
    let (new, _) = post(&mock, KEYED, r#"{"amount":6}"#).await;
    assert_eq!(json(&new)["id"], "payments_2");
    assert_eq!(
        works(&mock).await,
        [
            "created payments_1",
            "key-in-flight",
            "key-reused",
            "replayed",
            "created payments_2"
        ]
    );
}

#[tokio::test]
async fn a_client_that_leaves_while_its_payment_is_delayed_finds_it_done() {
    // Could break by a key that nobody hands back once its attempt is dropped.
    let clock = CrankedClock::new();
    let mock = Mock::builder()
        .rule(payments("200 delay=15s, 200"))
        .clock(std::sync::Arc::new(clock.clone()))
        .start()
        .await
        .unwrap();
    drop(post_and_wait(&mock, KEYED, "{}").await);
    assert_eq!(works(&mock).await, ["created payments_1"]);
    let (answer, _) = post(&mock, KEYED, "{}").await;
    assert_eq!(header(&answer, "idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn the_script_decides_whether_and_the_key_what() {
    // Could break by a 503 that is kept for a day, by a replay that is whole though the script cuts it, or by a step
    // that gives a replay another status or body than its first answer had.
    let script =
        "503, 201 json={\"made\":true} header.location=/there, 200, truncate at=50%, apply then 500, 204";
    let mock = keeping(payments(script)).await;
    assert_eq!(status(&post(&mock, KEYED, "{}").await.0), 503);
    let (first, _) = post(&mock, KEYED, "{}").await;
    let (second, _) = post(&mock, KEYED, "{}").await;
    let (cut, _) = post(&mock, KEYED, "{}").await;
    let (lost, _) = post(&mock, KEYED, "{}").await;
    let (last, _) = post(&mock, KEYED, "{}").await;
    for answer in [&first, &second, &cut, &last] {
        assert_eq!(
            (status(answer), header(answer, "location")),
            (201, Some("/there"))
        );
        assert_eq!(header(answer, "content-length"), Some("13"));
    }
    assert_eq!(
        (body(&first), body(&second), body(&last)),
        ("{\"made\":true}", body(&first), body(&first))
    );
    assert_eq!(body(&cut), "{\"made");
    assert_eq!(
        (status(&lost), header(&lost, "x-seawall-fault")),
        (500, Some("apply then 500"))
    );
    assert_eq!(header(&first, "idempotent-replayed"), None);
    assert_eq!(header(&last, "idempotent-replayed"), Some("true"));
    assert_eq!(
        works(&mock).await,
        [
            "-",
            "created payments_1",
            "replayed",
            "replayed",
            "replayed",
            "replayed"
        ]
    );
}

#[tokio::test]
async fn a_route_that_keeps_a_resource_implies_its_other_paths() {
    // Could break by a script that is used up by a look, by a route that is taken from whoever wrote it, or by a 404
    // that is a 200 in disguise.
    let mut rule = payments("503, 200");
    rule.latency = crate::plan::Latency::Fixed(Length::from_secs(3_600));
    let mock = Mock::builder()
        .rule(Rule::parse("GET /v1/payments/mine = 418").unwrap())
        .rule(rule)
        .rule(Rule::parse("GET /v1/other = 200").unwrap())
        .start()
        .await
        .unwrap();
    let missing = ask(&mock, "GET", "/v1/payments/payments_1", "").await;
    assert_eq!(
        (status(&missing), &json(&missing)["error"]["code"]),
        (404, &"resource-missing".into())
    );
    let put = ask(&mock, "PUT", "/v1/payments/p-7", r#"{"amount":7}"#).await;
    assert_eq!((status(&put), &json(&put)["id"]), (200, &"p-7".into()));
    let patched = ask(&mock, "PATCH", "/v1/payments/p-7", r#"{"amount":8}"#).await;
    assert_eq!(json(&patched)["amount"], 8);
    let list = ask(&mock, "GET", "/v1/payments?limit=1", "").await;
    assert_eq!(
        (json(&list)["data"][0]["id"].as_str(), &json(&list)["has_more"]),
        (Some("p-7"), &false.into())
    );
    let wrong = ask(&mock, "GET", "/v1/payments?limit=0", "").await;
    assert_eq!(
        (status(&wrong), &json(&wrong)["error"]["code"]),
        (400, &"bad-query".into())
    );
    assert_eq!(status(&ask(&mock, "GET", "/v1/payments/mine", "").await), 418);
    assert_eq!(status(&ask(&mock, "DELETE", "/v1/payments", "").await), 405);
    let removed = ask(&mock, "DELETE", "/v1/payments/p-7", "").await;
    assert_eq!(json(&removed)["deleted"], true);
    // Two levels down nothing is implied: that is the mock's own 404.
    let beyond = ask(&mock, "GET", "/v1/payments/p-7/refunds", "").await;
    assert!(body(&beyond).contains("no route of this mock matches"));
    let head = raw(&mock, &written("HEAD", "/v1/payments", "", "")).await.0;
    assert_eq!((status(&head), body(&head)), (200, ""));
    assert_eq!(
        works(&mock).await,
        [
            "missing",
            "created p-7",
            "changed p-7",
            "listed",
            "bad-query",
            "-",
            "not-allowed",
            "removed p-7",
            "-",
            "listed"
        ]
    );
    assert!(
        mock.journal()
            .attempts
            .iter()
            .all(|attempt| attempt.path != "/v1/payments" || attempt.route.is_none())
    );
}

#[tokio::test]
async fn a_caller_that_its_dialect_refuses_has_done_nothing() {
    // Could break by work that is done for whoever has no credential.
    let mut rule = Rule::parse("POST /openai/deployments/* = 200").unwrap();
    rule.resource = Some("answers".to_owned());
    rule.idempotency = Some(Idempotency::default());
    let mock = keeping(rule).await;
    let path = "/openai/deployments/big/chat/completions?api-version=2024-10-21";
    let refused = raw(&mock, &written("POST", path, KEYED, "{}")).await.0;
    assert_eq!((status(&refused), mock.resources("answers").len()), (401, 0));
    let key = format!("{KEYED}api-key: k\r\n");
    let taken = raw(&mock, &written("POST", path, &key, "{}")).await.0;
    assert_eq!((status(&taken), mock.resources("answers").len()), (200, 1));
    assert_eq!(works(&mock).await, ["declined", "created answers_1"]);
}

#[tokio::test]
async fn keys_hold_where_nothing_is_kept_and_under_a_header_of_their_own() {
    // Could break where only resources look at keys: an answer of a model is paid for twice as well.
    let mut rule = Rule::parse("POST /v1/chat/completions = apply then close, 200").unwrap();
    rule.idempotency = Some(Idempotency {
        header: "x-once".to_owned(),
        scope: Scope::Header("authorization".to_owned()),
        unkeyed: Unkeyed::Refused,
        ..Idempotency::default()
    });
    let mock = keeping(rule).await;
    let chat = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
    let sent = async |headers: &str| {
        raw(&mock, &written("POST", "/v1/chat/completions", headers, chat))
            .await
            .0
    };
    assert_eq!(sent("authorization: a\r\nx-once: 1\r\n").await, "");
    let replayed = sent("authorization: a\r\nx-once: 1\r\n").await;
    // The number of the attempt that it was made for.
    assert_eq!(json(&replayed)["id"], "chatcmpl-mock-0-1");
    let other = sent("authorization: b\r\nx-once: 1\r\n").await;
    assert_eq!(json(&other)["id"], "chatcmpl-mock-0-3");
    let unkeyed = sent(KEYED).await;
    assert_eq!(
        (status(&unkeyed), &json(&unkeyed)["error"]["code"]),
        (400, &"key-missing".into())
    );
    assert_eq!(works(&mock).await, ["done", "replayed", "done", "key-missing"]);
    let keys: Vec<_> = mock
        .journal()
        .attempts
        .into_iter()
        .map(|attempt| attempt.key)
        .collect();
    assert_eq!(keys[0].as_deref(), Some("1"));
}

#[tokio::test]
async fn a_refusal_speaks_its_dialect() {
    // Could break by a client library that cannot read the error and calls it a broken answer.
    let reused = |dialect, place, word: &'static str| (dialect, place, word);
    for (dialect, place, word) in [
        reused(Dialect::Generic, "/error/code", "key-reused"),
        reused(Dialect::OpenAi, "/error/code", "key-reused"),
        reused(Dialect::Groq, "/error/code", "key-reused"),
        reused(Dialect::Anthropic, "/type", "error"),
        reused(Dialect::GitHub, "/status", "422"),
        reused(Dialect::Stripe, "/error/type", "idempotency_error"),
    ] {
        let mut rule = payments("200");
        rule.dialect = dialect;
        let mock = keeping(rule).await;
        assert_eq!(status(&post(&mock, KEYED, "{}").await.0), 200);
        let refused = post(&mock, KEYED, "[]").await.0;
        assert_eq!(status(&refused), 422, "{}", dialect.name());
        let said = json(&refused).pointer(place).cloned();
        assert_eq!(said, Some(word.into()), "{}", dialect.name());
        assert!(body(&refused).contains("was used before"), "{refused}");
    }
}

#[tokio::test]
async fn stripes_objects_are_kept_as_its_clients_know_them() {
    // Could break by an object that is made by one and shown by another, by a verb that makes a second one, or by a
    // change that forgets what was confirmed.
    let mut rule = Rule::parse("* /v1/* = 200").unwrap();
    rule.resource = Some("intents".to_owned());
    rule.idempotency = Some(Idempotency::default());
    rule.dialect = Dialect::Stripe;
    let mock = keeping(rule).await;
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let sent = async |method: &str, path: &str, body: &str| {
        json(&raw(&mock, &written(method, path, form, body)).await.0)
    };
    let made = sent(
        "POST",
        "/v1/payment_intents",
        "amount=5&currency=eur&metadata[order]=7",
    )
    .await;
    assert_eq!(
        (
            &made["id"],
            &made["object"],
            &made["amount"],
            &made["status"],
            &made["metadata"]["order"]
        ),
        (
            &"pi_mock_1".into(),
            &"payment_intent".into(),
            &5.into(),
            &"requires_payment_method".into(),
            &"7".into()
        )
    );
    let confirmed = sent("POST", "/v1/payment_intents/pi_mock_1/confirm", "").await;
    assert_eq!(
        (&confirmed["status"], &confirmed["amount_received"]),
        (&"succeeded".into(), &5.into())
    );
    let changed = sent("POST", "/v1/payment_intents/pi_mock_1", "description=x").await;
    assert_eq!(
        (&changed["status"], &changed["currency"]),
        (&"succeeded".into(), &"eur".into())
    );
    assert_eq!(sent("GET", "/v1/payment_intents/pi_mock_1", "").await, changed);
    let list = sent("GET", "/v1/payment_intents", "").await;
    assert_eq!(
        (&list["url"], &list["data"]),
        (&"/v1/payment_intents".into(), &serde_json::json!([changed]))
    );
    let missing = sent("GET", "/v1/payment_intents/pi_mock_2", "").await;
    assert_eq!(missing["error"]["code"], "resource_missing");
    assert_eq!(mock.resources("intents").len(), 1);
}

#[tokio::test]
async fn a_streamed_answer_is_streamed_again_to_the_letter() {
    // Could break by a replay that comes with another id or other words, in one piece, or in place of a refusal.
    let mut rule = Rule::parse("POST /v1/chat/completions = apply then reset, 200, stream then=cut").unwrap();
    rule.idempotency = Some(Idempotency::default());
    let mock = keeping(rule).await;
    let sent = async |headers: &str, body: &str| {
        let bytes = written("POST", "/v1/chat/completions", headers, body);
        raw(&mock, &bytes).await.0
    };
    let chat = r#"{"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(sent(KEYED, chat).await, "");
    let whole = sent(KEYED, chat).await;
    assert_eq!(header(&whole, "idempotent-replayed"), Some("true"));
    assert_eq!(header(&whole, "transfer-encoding"), Some("chunked"));
    assert!(
        whole.contains("chatcmpl-mock-0-1") && whole.contains("[DONE]"),
        "{whole}"
    );
    let cut = sent(KEYED, chat).await;
    assert!(whole.contains(body(&cut)) && !cut.contains("[DONE]"), "{cut}");
    assert_eq!(header(&cut, "idempotent-replayed"), Some("true"));
    assert_eq!(status(&sent(KEYED, "{}").await), 422);
}

#[tokio::test]
async fn the_control_plane_shows_what_is_kept_and_a_reset_forgets_it() {
    // Could break by a count that is not the list's, by a page that ends too soon, or by a key that outlives a reset.
    let mock = keeping(payments("200")).await;
    let empty = ask(&mock, "GET", "/__seawall/resources/payments", "").await;
    assert_eq!(
        body(&empty),
        r#"{"name":"payments","count":0,"made":0,"next":null,"items":[]}"#
    );
    let (first, _) = post(&mock, KEYED, r#"{"amount":18446744073709551616}"#).await;
    let _second = post(&mock, "", "{}").await;
    let all = ask(&mock, "GET", "/__seawall/resources", "").await;
    assert_eq!(
        json(&all)["resources"],
        serde_json::json!([{ "name": "payments", "count": 2, "made": 2 }])
    );
    assert_eq!(
        json(&all)["keys"],
        serde_json::json!({ "known": 1, "in_flight": 0 })
    );
    let listed = ask(&mock, "GET", "/__seawall/resources/payments", "").await;
    assert!(body(&listed).contains(body(&first)), "{listed}");
    let rest = ask(&mock, "GET", "/__seawall/resources/payments?since=1", "").await;
    assert_eq!(
        (json(&rest)["items"][0]["id"].as_str(), &json(&rest)["count"]),
        (Some("payments_2"), &2.into())
    );
    let unknown = ask(&mock, "GET", "/__seawall/resources/refunds", "").await;
    assert_eq!(status(&unknown), 404);
    assert!(body(&unknown).contains("it keeps: payments"));
    assert_eq!(
        status(&ask(&mock, "GET", "/__seawall/resources/payments?x", "").await),
        400
    );
    assert_eq!(
        status(&ask(&mock, "POST", "/__seawall/resources/payments", "").await),
        405
    );
    let routes = json(&ask(&mock, "GET", "/__seawall/routes", "").await);
    assert_eq!(routes["routes"][0]["resource"], "payments");
    assert_eq!(routes["routes"][0]["idempotency"]["ttl"], "24h");
    let _reset = ask(&mock, "POST", "/__seawall/reset", "").await;
    let (anew, _) = post(&mock, KEYED, "[]").await;
    assert_eq!((status(&anew), &json(&anew)["id"]), (200, &"payments_1".into()));
    assert_eq!(mock.resources("payments").len(), 1);
}

#[tokio::test]
async fn another_plan_takes_no_key_away_and_a_route_that_begins_again_forgets_its_own() {
    // Could break where keys hang on a rule's place: rules that move would find each other's keys.
    let mock = keeping(payments("200")).await;
    let (first, _) = post(&mock, KEYED, "{}").await;
    let moved = vec![Rule::parse("GET /x = 200").unwrap(), payments("201, 200")];
    mock.shared.plan().replace(moved);
    let (again, _) = post(&mock, KEYED, "{}").await;
    assert_eq!(
        (body(&again), header(&again, "idempotent-replayed")),
        (body(&first), Some("true"))
    );
    let other = ask(&mock, "POST", "/__seawall/reset?route=GET%20/x", "").await;
    assert_eq!((status(&other), mock.resources("payments").len()), (200, 1));
    let own = ask(&mock, "POST", "/__seawall/reset?route=POST%20/v1/payments", "").await;
    assert_eq!((status(&own), mock.resources("payments").len()), (200, 0));
    assert_eq!(status(&post(&mock, KEYED, "[]").await.0), 201);
}
