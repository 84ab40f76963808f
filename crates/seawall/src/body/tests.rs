use super::*;
use proptest::prelude::*;
use seawall_core::profile::RequestFacts;

const INFERENCE: Wire<'_> = Wire {
    endpoint: Endpoint::Inference,
    method: "POST",
    status: 200,
    content_type: Some(b"application/json"),
    content_encoding: None,
};
const OTHER: Wire<'_> = Wire {
    endpoint: Endpoint::General,
    ..INFERENCE
};
const FAILED: Wire<'_> = Wire {
    status: 429,
    content_type: None,
    ..OTHER
};

fn told(facts: &OwnedBodyFacts) -> String {
    let mut parts = Vec::new();
    if facts.state != BodyState::WellFormed {
        parts.push(format!("{:?}", facts.state));
    }
    for (name, value) in [
        ("code", &facts.code),
        ("kind", &facts.kind),
        ("message", &facts.message),
        ("delay", &facts.retry_delay),
        ("after", &facts.retry_after),
    ] {
        if let Some(value) = value {
            parts.push(format!("{name}={value}"));
        }
    }
    if facts.quota_spent {
        parts.push("spent".to_owned());
    }
    parts.join(" ")
}

#[test]
fn every_providers_error_shape_is_read() {
    // A shape that is missed loses a quota code or a hint, and the call hammers on.
    for (body, expected) in [
        (
            r#"{"error":{"message":"quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            "code=insufficient_quota kind=insufficient_quota message=quota",
        ),
        (
            r#"{"error":{"message":"m","type":"requests","code":null}}"#,
            "kind=requests message=m",
        ),
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"},"request_id":"r"}"#,
            "kind=rate_limit_error message=slow",
        ),
        (
            r#"{"error":{"code":"429","message":"Please retry after 6 seconds","innererror":{"code":"Busy"}}}"#,
            "code=429 kind=Busy message=Please retry after 6 seconds",
        ),
        (
            r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[
                {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"PerMinute"}]},
                {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}"#,
            "code=RESOURCE_EXHAUSTED message=m delay=34.07s",
        ),
        (
            r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[
                {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}]"#,
            "code=RESOURCE_EXHAUSTED message=m spent",
        ),
        (
            r#"{"error":{"message":"x, limit: 0, model: y"}}"#,
            "message=x, limit: 0, model: y spent",
        ),
        (r#"{"error":{"message":"limit: 05"}}"#, "message=limit: 05"),
        (
            r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
            "code=INVALID_ARGUMENT kind=API_KEY_INVALID",
        ),
        (
            r#"{"error":{"code":"idempotency_key_in_use","type":"idempotency_error","message":"m"}}"#,
            "code=idempotency_key_in_use kind=idempotency_error message=m",
        ),
        (
            r#"{"message":"secondary rate limit","documentation_url":"u"}"#,
            "message=secondary rate limit",
        ),
        (
            r#"{"message":"m","retry_after":64.57,"global":false,"code":0}"#,
            "message=m after=64.57",
        ),
        (r#"{"retry_after":"3"}"#, "after=3"),
        (r#"{"retry_after":null}"#, ""),
        (
            r#"{"cloudflare_error":true,"status":520,"error_name":"origin","detail":"d"}"#,
            "code=origin message=d",
        ),
        (
            r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"t","violated-policies":[]}"#,
            "kind=quota-exceeded message=t",
        ),
        (
            r#"{"__type":"com.amazonaws#ThrottlingException","message":"m"}"#,
            "kind=ThrottlingException message=m",
        ),
        (
            r#"{"error":"slow_down","error_description":"d"}"#,
            "code=slow_down message=d",
        ),
        (r#"{"error":"model not found"}"#, "message=model not found"),
        (r#"{"errors":[{"code":"x","message":"m"}]}"#, "code=x message=m"),
        (
            "  You have exceeded a secondary rate limit\n",
            "message=You have exceeded a secondary rate limit",
        ),
        ("", ""),
        ("null", ""),
        ("[]", ""),
        ("\u{feff}{\"message\":\"m\"}", "message=m"),
        (
            r#"{"error":{"code":"insufficient_quota""#,
            r#"message={"error":{"code":"insufficient_quota""#,
        ),
    ] {
        assert_eq!(told(&read(&FAILED, body.as_bytes())), expected, "{body}");
    }
}

#[test]
fn only_an_unmistakable_error_spoils_a_two_hundred() {
    // An `error` member is data at most APIs; taken for a failure, an answer is thrown away and paid for again.
    for (wire, body, expected) in [
        (
            INFERENCE,
            r#"{"error":{"message":"m","code":"server_error"}}"#,
            "ErrorInside code=server_error message=m",
        ),
        (
            INFERENCE,
            r#"{"id":"r","error":{"code":"server_error"}}"#,
            "ErrorInside code=server_error",
        ),
        (
            INFERENCE,
            r#"{"error":"overloaded"}"#,
            "ErrorInside code=overloaded message=overloaded",
        ),
        (INFERENCE, r#"{"id":"r","error":"text"}"#, ""),
        (INFERENCE, r#"{"id":"r","error":null}"#, ""),
        (INFERENCE, r#"{"error":{}}"#, ""),
        (INFERENCE, r#"{"choices":[{"error":{"code":1}}]}"#, ""),
        (INFERENCE, "{}", ""),
        (OTHER, r#"{"error":{"code":-32601,"message":"m"},"id":1}"#, ""),
        (OTHER, r#"{"error":"x"}"#, ""),
        (INFERENCE, r#"{"id":"#, "Undecodable"),
        (INFERENCE, r#"{"id":1} x"#, "Undecodable"),
        (OTHER, r#"{"id":"#, "Undecodable"),
        (OTHER, "NaN", "Undecodable"),
        (INFERENCE, "", "Empty"),
        (OTHER, "", "Empty"),
    ] {
        assert_eq!(
            told(&read(&wire, body.as_bytes())),
            expected,
            "{:?} {body}",
            wire.endpoint
        );
    }
}

#[test]
fn what_was_not_promised_is_not_missed() {
    // A 204 or a HEAD without a body, an empty 200 of no type, a download: none of them is a failure.
    let typed = |content_type: Option<&'static [u8]>| Wire {
        content_type,
        ..INFERENCE
    };
    for (wire, body, expected) in [
        (
            Wire {
                status: 204,
                ..INFERENCE
            },
            "",
            "",
        ),
        (
            Wire {
                method: "HEAD",
                ..INFERENCE
            },
            "",
            "",
        ),
        (
            Wire {
                content_type: None,
                ..OTHER
            },
            "",
            "",
        ),
        (
            Wire {
                status: 302,
                ..INFERENCE
            },
            "<html>",
            "",
        ),
        (typed(None), "", "Empty"),
        (typed(None), "ok", ""),
        (typed(None), "{\"a\":", "Undecodable"),
        (typed(Some(b"text/plain")), "ok", ""),
        (
            typed(Some(b"text/html; charset=utf-8")),
            "<html>log in</html>",
            "Undecodable",
        ),
        (
            Wire {
                content_type: Some(b"text/html"),
                ..OTHER
            },
            "<html>",
            "",
        ),
        (typed(Some(b"Application/Problem+JSON ; x=y")), "x", "Undecodable"),
        (typed(Some(b"\xff")), "x", ""),
        (
            Wire {
                content_encoding: Some(b"gzip"),
                ..INFERENCE
            },
            "\u{1f}",
            "",
        ),
        (
            Wire {
                content_encoding: Some(b"identity"),
                ..INFERENCE
            },
            "x",
            "Undecodable",
        ),
    ] {
        assert_eq!(told(&read(&wire, body.as_bytes())), expected, "{wire:?} {body}");
    }
}

#[test]
fn a_streams_first_event_may_be_an_error() {
    // After the first content nothing can be retried; an error that stands before it can.
    let wire = Wire {
        content_type: Some(b"text/event-stream"),
        ..INFERENCE
    };
    for (body, expected) in [
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n",
            "ErrorInside kind=overloaded_error message=m",
        ),
        (
            ": ping\r\n\r\ndata: {\"error\":{\"code\":\"server_error\"}}\r\n\r\n",
            "ErrorInside code=server_error message={\"error\":{\"code\":\"server_error\"}}",
        ),
        (
            "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"c\",\"message\":\"m\"}}}\n\n",
            "ErrorInside code=c message=m",
        ),
        ("event: error\ndata: boom\n\n", "ErrorInside message=boom"),
        ("data: {\"choices\":[]}\n\nevent: error\ndata: {}\n\n", ""),
        (
            "data: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\n",
            "",
        ),
        ("data: [DONE]\n\n", ""),
        ("event: message_start\ndata: {\"type\":\"message_start\"}\n\n", ""),
        (": only a comment\n\n", ""),
    ] {
        assert_eq!(told(&read(&wire, body.as_bytes())), expected, "{body}");
    }
}

#[test]
fn a_request_that_acts_is_seen() {
    // A background response or an unknown server tool that is repeated runs twice.
    let plain = RequestFacts::default();
    for (body, expected) in [
        (
            r#"{"model":"m","stream":true}"#,
            RequestFacts {
                stream: true,
                ..plain
            },
        ),
        (
            r#"{"background":true}"#,
            RequestFacts {
                background: true,
                ..plain
            },
        ),
        (r#"{"background":false,"conversation":null,"stream":null}"#, plain),
        (
            r#"{"conversation":"conv_1"}"#,
            RequestFacts {
                conversation: true,
                ..plain
            },
        ),
        (
            r#"{"tools":[{"type":"function","function":{}},{"name":"mine"},{"type":"web_search_20250305"}]}"#,
            plain,
        ),
        (
            r#"{"tools":[{"type":"mcp"}]}"#,
            RequestFacts {
                acting_tool: true,
                ..plain
            },
        ),
        (
            r#"{"tools":[{"type":"code_interpreter"}]}"#,
            RequestFacts {
                acting_tool: true,
                ..plain
            },
        ),
        (
            r#"{"tools":[{"type":"functional"}]}"#,
            RequestFacts {
                acting_tool: true,
                ..plain
            },
        ),
        (
            r#"{"mcp_servers":[{"url":"u"}]}"#,
            RequestFacts {
                acting_tool: true,
                ..plain
            },
        ),
        (r#"{"tools":"x"}"#, plain),
        ("[1]", plain),
        ("not json", plain),
    ] {
        assert_eq!(request_facts(body.as_bytes()), expected, "{body}");
    }
}

#[test]
fn depth_and_size_are_bounded() {
    // A body of a million brackets must neither overflow the stack nor be kept.
    let deep = "[".repeat(1_000_000);
    assert_eq!(read(&INFERENCE, deep.as_bytes()).state, BodyState::Undecodable);
    let deep = format!("{{\"error\":{}", "{\"a\":".repeat(100_000));
    assert_eq!(read(&INFERENCE, deep.as_bytes()).state, BodyState::Undecodable);
    let long = format!(
        "{{\"error\":{{\"message\":\"{}\",\"code\":\"{}\"}}}}",
        "ä".repeat(9_000),
        "c".repeat(9_000)
    );
    let facts = read(&FAILED, long.as_bytes());
    assert_eq!(facts.message.map(|text| text.len()), Some(MESSAGE_BYTES_MAX));
    assert_eq!(facts.code, None);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[\\[\\]{}\":,a-z0-9 \\\\u\\n]{0,80}".prop_map(String::into_bytes),
            "(data|event|:|id)?: ?[{}\":a-z]{0,20}\n\n?".prop_map(String::into_bytes),
        ],
        status in 0_u16..1_000,
        content_type in prop::option::of(prop_oneof![
            Just(b"application/json".to_vec()), Just(b"text/event-stream".to_vec()), prop::collection::vec(any::<u8>(), 0..20),
        ]),
        inference in any::<bool>(),
    ) {
        let endpoint = if inference { Endpoint::Inference } else { Endpoint::General };
        let wire = Wire { endpoint, status, content_type: content_type.as_deref(), ..INFERENCE };
        let facts = read(&wire, &bytes);
        // Only a 2xx can be spoilt by its body.
        prop_assert!(facts.state == BodyState::WellFormed || (200..300).contains(&status));
        request_facts(&bytes);
    }
}
