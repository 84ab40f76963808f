//! Streams: first events, parts that add up, and the end that alone makes them whole.

use super::*;

const STREAMED_CHAT: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Why?"}]}"#;
const STREAMED_INPUT: &str = r#"{"model":"m","stream":true,"input":"Why?"}"#;
const STREAM: &str = "/v1beta/models/m:streamGenerateContent";
const STREAM_SSE: &str = "/v1beta/models/m:streamGenerateContent?alt=sse";

/// Every stream there is: whose, where, what asks for it, and where its text stands in an event.
const STREAMS: [(Dialect, &str, &str, &str); 9] = [
    (
        Dialect::OpenAi,
        "/v1/chat/completions",
        STREAMED_CHAT,
        "/choices/0/delta/content",
    ),
    (
        Dialect::Azure,
        "/openai/deployments/m/chat/completions?api-version=1",
        STREAMED_CHAT,
        "/choices/0/delta/content",
    ),
    (
        Dialect::Groq,
        "/openai/v1/chat/completions",
        STREAMED_CHAT,
        "/choices/0/delta/content",
    ),
    (
        Dialect::OpenAi,
        "/v1/completions",
        r#"{"stream":true,"prompt":"Why?"}"#,
        "/choices/0/text",
    ),
    (Dialect::OpenAi, "/v1/responses", STREAMED_INPUT, "/delta"),
    (Dialect::Anthropic, "/v1/messages", STREAMED_CHAT, "/delta/text"),
    (
        Dialect::Gemini,
        STREAM_SSE,
        CONTENTS,
        "/candidates/0/content/parts/0/text",
    ),
    (
        Dialect::Gemini,
        STREAM,
        CONTENTS,
        "/candidates/0/content/parts/0/text",
    ),
    (Dialect::Generic, "/x", "Why?", "/text"),
];

/// The data of the events in these bytes, in either form.
fn data(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    if !text.contains("data: ") {
        let inside = text.trim().trim_matches(['[', ']', ',', '\n']);
        let all = format!("[{inside}]");
        let all: Vec<Value> = serde_json::from_str(&all).unwrap_or_else(|error| panic!("{error}: {all}"));
        return all.iter().map(Value::to_string).collect();
    }
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(str::to_owned).collect()
}

fn told(bytes: &[u8], member: &str) -> String {
    let events = data(bytes)
        .into_iter()
        .filter_map(|data| serde_json::from_str::<Value>(&data).ok());
    events
        .filter_map(|event| event.pointer(member).and_then(Value::as_str).map(str::to_owned))
        .collect()
}

#[test]
fn a_request_for_a_stream_is_answered_by_one() {
    // Could break: a whole answer where events were asked for: a client's stream would be empty, and its test green.
    for (dialect, target, body, _) in STREAMS {
        let answer = answer(dialect, &ask("POST", target, body));
        let expected = match (dialect, target) {
            (Dialect::Generic, _) | (_, STREAM) => "application/json",
            _ => "text/event-stream",
        };
        assert_eq!(answer.content_type, Some(expected), "{target}");
        assert_eq!(
            wanted(dialect, &ask("POST", target, body)) == Wanted::Stream,
            dialect != Dialect::Generic
        );
    }
    for (dialect, target, body) in [
        (Dialect::OpenAi, "/v1/chat/completions", CHAT),
        (Dialect::OpenAi, "/v1/embeddings", STREAMED_CHAT),
        (Dialect::Anthropic, "/v1/messages", r#"{"stream":"true"}"#),
        (Dialect::Anthropic, "/v1/messages/count_tokens", STREAMED_CHAT),
        (Dialect::Gemini, GENERATE, STREAMED_CHAT),
        (Dialect::Stripe, "/v1/charges", STREAMED_CHAT),
    ] {
        assert_eq!(
            wanted(dialect, &ask("POST", target, body)),
            Wanted::Whole,
            "{target}"
        );
    }
}

#[test]
fn the_parts_of_a_stream_are_the_whole_answer() {
    // Could break: a part lost between head, content and end, or a text that differs from the one without a stream.
    for (dialect, target, body, member) in STREAMS {
        let events = stream(dialect, &ask("POST", target, body), None);
        let text = told(&events.whole(), member);
        assert!(
            text.starts_with("mock answer ") && text.ends_with("to: Why?") || dialect == Dialect::Generic,
            "{target}: {text}"
        );
    }
    let whole = good(
        Dialect::OpenAi,
        "POST",
        "/v1/chat/completions",
        &STREAMED_CHAT.replace("true", "false"),
    );
    let streamed = stream(
        Dialect::OpenAi,
        &ask("POST", "/v1/chat/completions", STREAMED_CHAT),
        None,
    )
    .whole();
    assert_eq!(
        whole["choices"][0]["message"]["content"],
        told(&streamed, "/choices/0/delta/content")
    );
}

#[test]
fn first_events_and_last_ones_are_the_dialects_own() {
    // Could break: a client that takes a stream for whole by another sign than its provider's passes here.
    let kind = |data: String| {
        let event: Value = serde_json::from_str(&data).unwrap_or(Value::Null);
        let finish = ["/choices/0/finish_reason", "/candidates/0/finishReason"];
        let finish = finish
            .iter()
            .find_map(|place| event.pointer(place).and_then(Value::as_str));
        match (event["type"].as_str(), finish) {
            (Some(kind), _) => kind.to_owned(),
            (None, Some(finish)) => format!("({finish})"),
            (None, None) if event.pointer("/choices/0/delta/role").is_some() => "(role)".to_owned(),
            (None, None) if event["choices"] == json!([]) && event.get("usage").is_some() => {
                "(usage)".to_owned()
            }
            (None, None) if event["choices"] == json!([]) => "(filters)".to_owned(),
            (None, None) if event.is_null() => data,
            (None, None) => "(done)".to_owned(),
        }
    };
    let kinds = |bytes: Vec<u8>| data(&bytes).into_iter().map(kind).collect::<Vec<_>>().join(" ");
    let with_usage = STREAMED_CHAT.replacen('{', r#"{"stream_options":{"include_usage":true},"#, 1);
    for (nth, head, end) in [
        (0, "(role)", "(stop) [DONE]"),
        (1, "(filters) (role)", "(stop) [DONE]"),
        (2, "(role)", "(stop) [DONE]"),
        (3, "", "(stop) [DONE]"),
        (
            4,
            "response.created response.in_progress response.output_item.added response.content_part.added",
            "response.output_text.done response.content_part.done response.output_item.done response.completed",
        ),
        (
            5,
            "message_start content_block_start ping",
            "content_block_stop message_delta message_stop",
        ),
        (6, "", "(STOP)"),
        (7, "", "(STOP)"),
        (8, "", "(done)"),
    ] {
        let (dialect, target, body, _) = STREAMS[nth];
        let mut events = stream(dialect, &ask("POST", target, body), None);
        assert_eq!(kinds(events.head()), head, "{target}");
        while events.next().is_some() {}
        assert_eq!(kinds(events.end()), end, "{target}");
    }
    let events = stream(
        Dialect::OpenAi,
        &ask("POST", "/v1/chat/completions", &with_usage),
        None,
    );
    assert_eq!(kinds(events.end()), "(stop) (usage) [DONE]");
}

#[test]
fn the_usage_of_a_stream_is_that_of_what_was_said() {
    // Could break: usage of the usual answer where a script asked for another number of events.
    let with_usage = STREAMED_CHAT.replacen('{', r#"{"stream_options":{"include_usage":true},"#, 1);
    let groq = "/choices/0/delta/content";
    for (dialect, target, body, text, usage, prompt) in [
        (
            Dialect::OpenAi,
            "/v1/chat/completions",
            &*with_usage,
            groq,
            "/usage/completion_tokens",
            "/usage/prompt_tokens",
        ),
        (
            Dialect::Groq,
            "/v1/chat/completions",
            STREAMED_CHAT,
            groq,
            "/x_groq/usage/completion_tokens",
            "/x_groq/usage/prompt_tokens",
        ),
        (
            Dialect::OpenAi,
            "/v1/responses",
            STREAMED_INPUT,
            "/delta",
            "/response/usage/output_tokens",
            "/response/usage/input_tokens",
        ),
        (
            Dialect::Anthropic,
            "/v1/messages",
            STREAMED_CHAT,
            "/delta/text",
            "/usage/output_tokens",
            "/message/usage/input_tokens",
        ),
        (
            Dialect::Gemini,
            STREAM_SSE,
            CONTENTS,
            "/candidates/0/content/parts/0/text",
            "/usageMetadata/candidatesTokenCount",
            "/usageMetadata/promptTokenCount",
        ),
    ] {
        for count in [None, Some(0), Some(1), Some(2), Some(23)] {
            let whole = stream(dialect, &ask("POST", target, body), count).whole();
            let said = told(&whole, text);
            let numbers = |member: &str| {
                let events = data(&whole)
                    .into_iter()
                    .filter_map(|data| serde_json::from_str::<Value>(&data).ok());
                events
                    .filter_map(|event| event.pointer(member).and_then(Value::as_u64))
                    .next_back()
            };
            assert_eq!(numbers(usage), Some(text::tokens(&said)), "{target} {count:?}");
            assert_eq!(
                numbers(prompt),
                Some(if dialect == Dialect::Gemini { 3 } else { 1 }),
                "{target}"
            );
        }
    }
}

#[test]
fn a_stream_has_as_many_content_events_as_it_was_told() {
    // Could break: one more or less, so that a cut after N events falls elsewhere; or a text of 4 billion words that
    // is built before the first is sent.
    for (dialect, target, body, member) in STREAMS {
        for count in [1, 5, 300] {
            let mut events = stream(dialect, &ask("POST", target, body), Some(count));
            let mut seen = 0;
            while let Some(event) = events.next() {
                assert!(!told(&event, member).is_empty(), "{target}");
                seen += 1;
            }
            assert_eq!(seen, count, "{target}");
        }
        let mut endless = stream(dialect, &ask("POST", target, body), Some(u32::MAX));
        for _ in 0..3 {
            assert!(endless.next().is_some());
        }
        assert!(endless.end().len() < 8 * 1024 * 1024, "{target}");
    }
}

#[test]
fn the_numbers_of_a_response_run_on() {
    // Could break: a client that orders events by their number would lose or swap one.
    let whole = stream(
        Dialect::OpenAi,
        &ask("POST", "/v1/responses", STREAMED_INPUT),
        None,
    )
    .whole();
    let numbers: Vec<u64> = data(&whole)
        .iter()
        .map(|data| {
            serde_json::from_str::<Value>(data).unwrap()["sequence_number"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(numbers, Vec::from_iter(0..numbers.len() as u64));
}

#[test]
fn an_error_in_the_middle_is_in_the_dialects_shape() {
    // Could break: an error that a client reads as one more event without content, and goes on to a good end.
    for (nth, expected) in [
        (0, r#"data: {"error":{"code":null,"#),
        (3, r#"data: {"error":{"code":null,"#),
        (4, "event: error\ndata: {\"code\":\"server_error\","),
        (5, "event: error\ndata: {\"error\":{"),
        (6, r#"data: {"error":{"code":503,"#),
        (7, ",\n{\"error\":{\"code\":503,"),
        (8, "event: error\ndata: {\"error\":{"),
    ] {
        let (dialect, target, body, _) = STREAMS[nth];
        let mut events = stream(dialect, &ask("POST", target, body), None);
        events.next();
        let error = String::from_utf8(events.error()).unwrap();
        assert!(error.starts_with(expected), "{target}: {error}");
    }
}

#[test]
fn a_spoilt_event_is_an_event_whose_data_is_no_json() {
    // Could break: a cut at the very end of the data that leaves it whole, or one that takes the event's own end.
    for (dialect, target, body, _) in STREAMS {
        let mut events = stream(dialect, &ask("POST", target, body), None);
        events.next();
        let bad = String::from_utf8(events.bad_json()).unwrap();
        let data = match bad.split_once("data: ") {
            Some((_, data)) => data.strip_suffix("\n\n").expect("an event ends"),
            None => bad.strip_prefix(",\n").expect("an element follows another"),
        };
        assert!(
            data.starts_with('{') && serde_json::from_str::<Value>(data).is_err(),
            "{target}: {bad}"
        );
    }
}

#[test]
fn an_array_is_json_with_its_end_and_none_without() {
    // Could break: elements without a comma, an end that is sent twice, or a cut array that still parses.
    let mut events = stream(Dialect::Gemini, &ask("POST", STREAM, CONTENTS), Some(2));
    let mut bytes = events.head();
    while let Some(event) = events.next() {
        bytes.extend_from_slice(&event);
    }
    assert!(serde_json::from_slice::<Value>(&bytes).is_err());
    bytes.extend_from_slice(&events.end());
    let all: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(all.as_array().map(Vec::len), Some(3));
}

proptest! {
    #[test]
    fn any_prompt_is_quoted_alike_in_one_piece_and_in_parts(prompt in ".{0,80}") {
        // Could break: a split inside a letter, a line break in the prompt that ends an event.
        let body = json!({ "model": "m", "messages": [{ "role": "user", "content": prompt }] }).to_string();
        let streamed = body.replacen('{', r#"{"stream":true,"#, 1);
        let whole = good(Dialect::OpenAi, "POST", "/v1/chat/completions", &body);
        let parts = answer(Dialect::OpenAi, &ask("POST", "/v1/chat/completions", &streamed)).body;
        prop_assert_eq!(&whole["choices"][0]["message"]["content"], &told(&parts, "/choices/0/delta/content"));
    }
}
