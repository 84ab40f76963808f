//! Azure, groq and github: what their clients read, to the header.

use super::*;
use crate::plan::{Dialect, Rule};

/// A mock whose one route speaks `dialect`.
async fn mock(dialect: Dialect, route: &str) -> Mock {
    let rule = Rule {
        dialect,
        ..Rule::parse(route).unwrap()
    };
    Mock::builder().rule(rule).start().await.unwrap()
}

/// One request with these header lines.
async fn asked(mock: &Mock, target: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "POST {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    let (answer, end) = raw(mock, &request).await;
    assert_eq!(end, End::Fin, "{answer}");
    answer
}

const DEPLOYMENT: &str = "/openai/deployments/big/chat/completions";
const CHAT: &str = r#"{"messages":[{"role":"user","content":"hi"}]}"#;

#[tokio::test]
async fn azure_asks_for_a_key_and_a_version_before_it_answers() {
    // Could break: a client that sends its key as another provider's, or joins the path without the version, would
    // pass here and fail there.
    let mock = mock(Dialect::Azure, "POST /* = 200").await;
    let with_version = format!("{DEPLOYMENT}?x=1&api-version=2024-10-21");
    let key = "api-key: k\r\n";
    for (target, headers, expected) in [
        (with_version.as_str(), key, (200, "")),
        (with_version.as_str(), "authorization: Bearer t\r\n", (200, "")),
        (with_version.as_str(), "x-api-key: k\r\n", (401, "401")),
        (DEPLOYMENT, key, (404, "404")),
        (&format!("{DEPLOYMENT}?api-version="), key, (404, "404")),
        ("/openai/v1/chat/completions", key, (200, "")),
    ] {
        let answer = asked(&mock, target, headers, CHAT).await;
        let body = json(&answer);
        let code = body["error"]["code"].as_str().unwrap_or("");
        assert_eq!((status(&answer), code), expected, "{target} {headers}");
    }
    // What it finds is found by the path as well.
    let by_path = Mock::builder().start().await.unwrap();
    let answer = json(&asked(&by_path, &with_version, key, CHAT).await);
    assert_eq!(answer["model"], "mock:big");
    let filtered = &answer["choices"][0]["content_filter_results"]["hate"];
    assert_eq!(filtered["filtered"], false, "{answer}");
}

#[tokio::test]
async fn what_a_step_says_of_waiting_is_told_in_each_way_of_its_dialect() {
    // Could break: a header, another header and the message of one answer that name three different times.
    for (dialect, step, expected) in [
        (
            Dialect::Azure,
            "429 retry-after=6",
            "retry-after: 6|retry-after-ms: 6000|Please retry after 6 seconds.",
        ),
        (
            Dialect::Azure,
            "429 retry-after-ms=1500",
            "retry-after: 2|retry-after-ms: 1500|Please retry after 2 seconds.",
        ),
        (
            Dialect::Groq,
            "429 retry-after=180",
            "retry-after: 180|x-ratelimit-remaining-requests: 0|x-ratelimit-reset-requests: 3m0s|try again in 3m0s.",
        ),
        (
            Dialect::GitHub,
            "403 retry-after=60",
            "retry-after: 60|x-ratelimit-remaining: 4999|a secondary rate limit",
        ),
        (
            Dialect::GitHub,
            "403 header.x-ratelimit-remaining=0 header.x-ratelimit-reset=1767225700",
            "x-ratelimit-remaining: 0|x-ratelimit-reset: 1767225700|API rate limit exceeded",
        ),
    ] {
        let mock = mock(dialect, &format!("POST /* = {step}")).await;
        let answer = asked(&mock, "/x?api-version=1", "api-key: k\r\n", CHAT).await;
        for part in expected.split('|') {
            assert!(answer.contains(part), "{part} is not in {answer}");
        }
    }
}

#[tokio::test]
async fn a_step_without_a_wait_states_none() {
    // Could break: a throttle that was to be silent, and has a hint in it all the same.
    for (dialect, step) in [
        (Dialect::Azure, "429"),
        (Dialect::Groq, "429"),
        (Dialect::Groq, "498"),
        (Dialect::GitHub, "429"),
        (Dialect::GitHub, "403"),
    ] {
        let mock = mock(dialect, &format!("POST /* = {step}")).await;
        let answer = asked(&mock, "/x", "api-key: k\r\n", CHAT).await;
        let exhausted = answer.contains("x-ratelimit-remaining-requests: 0");
        assert!(!answer.contains("retry-after") && !exhausted, "{answer}");
    }
}

#[tokio::test]
async fn each_status_has_the_code_that_its_provider_gives_it() {
    // Could break: an error of one provider in the words of another, which its clients read as no error of theirs.
    for (dialect, status, member, expected) in [
        (Dialect::Azure, 400, "/error/code", "content_filter"),
        (
            Dialect::Azure,
            400,
            "/error/innererror/code",
            "ResponsibleAIPolicyViolation",
        ),
        (Dialect::Azure, 404, "/error/code", "DeploymentNotFound"),
        (Dialect::Azure, 503, "/error/code", "503"),
        (Dialect::Groq, 401, "/error/code", "invalid_api_key"),
        (Dialect::Groq, 413, "/error/type", "tokens"),
        (Dialect::Groq, 498, "/error/code", "capacity_exceeded"),
        (Dialect::Groq, 503, "/error/type", "internal_server_error"),
        (Dialect::GitHub, 404, "/status", "404"),
    ] {
        let mock = mock(dialect, &format!("POST /* = {status}")).await;
        let answer = asked(&mock, "/x", "api-key: k\r\n", CHAT).await;
        assert_eq!(super::status(&answer), status);
        assert_eq!(json(&answer).pointer(member).unwrap(), expected, "{answer}");
    }
}

#[tokio::test]
async fn groq_tells_the_state_of_its_limits_with_every_answer() {
    // Could break: a remainder and a reset that contradict each other (30 used of 14400 a day are 3 minutes).
    let mock = mock(Dialect::Groq, "POST /* = 200").await;
    let mut last = String::new();
    for _ in 0..30 {
        last = asked(&mock, "/openai/v1/chat/completions", "", CHAT).await;
    }
    for (name, value) in [
        ("x-ratelimit-limit-requests", "14400"),
        ("x-ratelimit-remaining-requests", "14370"),
        ("x-ratelimit-reset-requests", "3m0s"),
        ("x-ratelimit-remaining-tokens", "17989"),
        ("x-ratelimit-reset-tokens", "36ms"),
    ] {
        assert_eq!(header(&last, name), Some(value), "{name}");
    }
}
