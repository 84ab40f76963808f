use crate::net::tests::{ask, body, header, json as parsed, raw, status};
use crate::net::{Mock, blocking};
use expect_test::{Expect, expect};
use seawall_core::time::Duration;

/// One payment under this key.
async fn pay(mock: &Mock, key: &str) {
    let request = format!(
        "POST /v1/payments HTTP/1.1\r\nidempotency-key: {key}\r\nconnection: close\r\ncontent-length: 12\r\n\r\n{{\"amount\":5}}"
    );
    raw(mock, &request).await;
}

/// A mock at which a client paid: a second after a 503 that asked for five, under another key.
async fn paid_badly() -> Mock {
    let file = "clock = \"manual\"\n[[route]]\nmatch = \"POST /v1/payments\"\nscript = \"503 retry-after=5, 200\"\nresource = \"payments\"";
    let file = crate::file::MockFile::parse("mock.toml", file).unwrap();
    let mock = Mock::builder().file(file).start().await.unwrap();
    pay(&mock, "k1").await;
    mock.advance(Duration::from_secs(1)).await.unwrap();
    pay(&mock, "k1").await;
    mock
}

async fn check(mock: &Mock, expectations: &str, expected: Expect) {
    let said = match mock.verify(expectations).await {
        Ok(()) => "as expected".to_owned(),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&(said + "\n"));
}

#[tokio::test]
async fn a_mock_is_asked_in_the_words_of_scenarios() {
    // Could break if a rule were judged without what it needs (a hint, a key, an effect): it would be not observable, and
    // pass.
    let mock = paid_badly().await;
    let right = "attempts = { '/v1/payments' = 2 }\nsame_key = true\nresources = { payments = 1 }\nnever = ['overlap', 'new-key', 'duplicate-write']\nobserve = 'must'";
    check(
        &mock,
        right,
        expect![[r#"
        as expected
    "#]],
    )
    .await;
    check(
        &mock,
        "[expect]\nattempts = { 'GET /*' = 0 }",
        expect![[r#"
        as expected
    "#]],
    )
    .await;
    let wrong =
        "attempts = { '/v1/payments' = '3..' }\nnever = ['retry-before-hint']\nresources = { payments = 2 }";
    check(
        &mock,
        wrong,
        expect![[r#"
        not as expected:
          x attempts at /v1/payments (expected:1: attempts = { '/v1/payments' = '3..' })
              expected  at least 3 attempts at /v1/payments
              seen      2
                #1  0s       0s  POST /v1/payments  503  key k1  retry-after: 5
                #2  1s  +1s  0s  POST /v1/payments  200  key k1
          x resources `payments` (expected:3: resources = { payments = 2 })
              expected  2 `payments`
              seen      1
                (the attempts are those above)
          x never retry-before-hint (expected:2: never = ['retry-before-hint'])
              expected  no attempt within 5s of an answer that said retry-after: 5
              seen      the next one came after 1s
                (the attempts are those above)
                #2 <- 4s too early
    "#]],
    )
    .await;
    pay(&mock, "k2").await;
    check(
        &mock,
        "same_key = true\nattempts = 3\nresources = { payments = 2 }",
        expect![[r#"
        as expected
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_stream_that_is_taken_again_after_content_is_found_and_one_before_is_not() {
    // Could break if nobody counted what a stream had handed out: the rule would never be observable.
    let chat = r#"{"model":"m","stream":true,"messages":[]}"#;
    for (script, holds) in [
        ("stream events=2 then=cut, 200", false),
        ("stream events=2 then=error, 200", false),
        ("stream events=0 then=cut, 200", true),
        ("stream events=2, 200", true),
        ("503, 200", true),
    ] {
        let mock = Mock::start(&format!("POST /v1/chat/completions = {script}"))
            .await
            .unwrap();
        for _ in 0..2 {
            ask(&mock, "POST", "/v1/chat/completions", chat).await;
        }
        mock.quiet().await;
        let told = mock.verify("never = ['retry-after-commit']").await;
        assert_eq!(told.is_ok(), holds, "{script}: {told:?}");
    }
    let mock = Mock::start("POST /v1/chat/completions = stream events=2 then=cut, 200")
        .await
        .unwrap();
    ask(&mock, "POST", "/v1/chat/completions", chat).await;
    ask(&mock, "POST", "/other", chat).await;
    mock.quiet().await;
    let events: Vec<Option<u64>> = mock
        .journal()
        .attempts
        .iter()
        .map(|attempt| attempt.events)
        .collect();
    assert_eq!(events, [Some(2), None]);
    let kept = mock
        .verify("never = ['retry-after-commit']\nobserve = 'must'")
        .await;
    assert_eq!(kept, Ok(()));
}

#[tokio::test]
async fn what_cannot_be_expected_is_told_with_its_place() {
    // Could break if a word that only a scenario knows were taken and never judged: it would always hold.
    let mock = Mock::start("GET /x = 200").await.unwrap();
    check(
        &mock,
        "",
        expect![[r#"
        expected:1:1: nothing is expected
        1 | 
          | ^
          = expected attempts = { "/v1/payments" = 2 }, never = ["overlap"], …
    "#]],
    )
    .await;
    check(&mock, "exit = 0\nattemps = 2\nnever = ['overlapp']\nattempts = 'many'", expect![[r#"
        expected:1:1: what a mock can be asked has no key `exit`
        1 | exit = 0
          | ^^^^
          = expected one of attempts, same_key, same_body, resources, waits, never, schedule, observe
        expected:2:1: what a mock can be asked has no key `attemps`
        2 | attemps = 2
          | ^^^^^^^ did you mean `attempts`?
          = expected one of attempts, same_key, same_body, resources, waits, never, schedule, observe
        expected:3:10: a rule cannot be `overlapp`
        3 | never = ['overlapp']
          |          ^^^^^^^^^^ did you mean `overlap`?
          = expected one of retry-before-hint, overlap, retry-of-refused, retry-when-told-not-to, new-key, new-body, no-backoff, no-jitter, endless, duplicate-write, retry-after-commit, no-shared-cool-down, cut-taken-as-whole
        expected:4:12: attempts: `many` is no range of counts
        4 | attempts = 'many'
          |            ^^^^^^
          = expected 3, "2..=3", "2.." or "..=4"
    "#]]).await;
}

#[tokio::test]
async fn toml_json_and_parameters_are_judged_alike_and_a_no_is_an_error() {
    // Could break if a form lost an expectation on the way: nothing left to judge holds.
    let mock = paid_badly().await;
    let right = [
        (
            "POST",
            "",
            "attempts = { '/v1/payments' = 2 }\nnever = ['overlap', 'endless']\nsame_key = true",
        ),
        (
            "POST",
            "",
            r#"{"attempts":{"/v1/payments":2},"never":["overlap","endless"],"same_key":true}"#,
        ),
        (
            "GET",
            "?attempts.%2Fv1%2Fpayments=2&never=overlap,endless&same_key=true",
            "",
        ),
    ];
    for (method, query, text) in right {
        let answer = ask(&mock, method, &format!("/__seawall/verify{query}"), text).await;
        let told = parsed(&answer);
        assert_eq!(
            (status(&answer), &told["passed"], &told["text"]),
            (200, &true.into(), &"".into())
        );
        let checks: Vec<_> = told["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|check| check["state"].clone())
            .collect();
        assert_eq!(checks, ["held"; 4], "{answer}");
    }
    for (method, query, text) in [
        ("POST", "", "attempts = 3"),
        ("POST", "", r#"{"attempts":3}"#),
        ("GET", "?attempts=3", ""),
        ("GET", "?attempts=3..", ""),
        ("GET", "?resources.payments=7", ""),
        ("GET", "?never=retry-before-hint", ""),
    ] {
        let answer = ask(&mock, method, &format!("/__seawall/verify{query}"), text).await;
        assert_eq!(
            (status(&answer), &parsed(&answer)["passed"]),
            (417, &false.into()),
            "{answer}"
        );
    }
    let text = ask(&mock, "POST", "/__seawall/verify?format=text", "attempts = 3").await;
    assert_eq!(header(&text, "content-type"), Some("text/plain; charset=utf-8"));
    assert!(
        body(&text).contains("x attempts at /* (expected:1: attempts = 3)"),
        "{text}"
    );
    let held = ask(&mock, "GET", "/__seawall/verify?attempts=2&format=text", "").await;
    assert_eq!(body(&held), "as expected\n");
    for (query, text) in [
        ("", "attemps = 3"),
        ("", "{"),
        ("", "{\"attempts\":null}"),
        ("?format=xml", "attempts = 3"),
        ("", ""),
    ] {
        let answer = ask(&mock, "POST", &format!("/__seawall/verify{query}"), text).await;
        assert_eq!(status(&answer), 400, "{answer}");
    }
    for query in ["?attemps=3", "?attempts=3&attempts./x=2", ""] {
        let answer = ask(&mock, "GET", &format!("/__seawall/verify{query}"), "").await;
        assert_eq!(status(&answer), 400, "{answer}");
    }
}

#[tokio::test]
async fn an_answer_that_was_just_read_is_in_what_is_judged() {
    // Could break if the end of an attempt were noted after its last byte was sent, and whoever has that byte were faster.
    let mock = Mock::start("GET /x = 503, 200").await.unwrap();
    for _ in 0..20 {
        ask(&mock, "GET", "/x", "").await;
        ask(&mock, "GET", "/x", "").await;
        let told = parsed(&ask(&mock, "GET", "/__seawall/journal", "").await);
        let attempts = told["attempts"].as_array().unwrap();
        assert!(
            attempts.iter().all(|attempt| attempt["ended_ms"].is_number()),
            "{told}"
        );
        mock.verify("attempts = { '/x' = 2 }\nnever = ['overlap']")
            .await
            .unwrap();
        mock.reset();
    }
}

#[test]
fn a_thread_asks_as_well() {
    // Could break if the verdict stayed on the mock's thread.
    let mock = blocking::Mock::start("GET /x = 200").unwrap();
    mock.verify("attempts = 0").unwrap();
    let error = mock.verify("attempts = 1").unwrap_err();
    // A test that unwraps it prints it so.
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(
        error
            .to_string()
            .starts_with("not as expected:\n  x attempts at /*")
    );
}
