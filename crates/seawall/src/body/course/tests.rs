use super::*;

/// What a stream says, word by word: `.` a greeting, `c` content, `!` an error, `?` what cannot be read; and how complete
/// it is at its end.
fn heard(events: &[(&str, &str)]) -> (String, Complete) {
    let mut course = Course::default();
    let words = events
        .iter()
        .map(|(name, data)| match course.hear(name, data.as_bytes()) {
            Word::Greeting => '.',
            Word::Content => 'c',
            Word::Error(_) => '!',
            Word::Unreadable => '?',
        });
    let words = words.collect();
    (words, course.complete())
}

fn unnamed(events: &[&str]) -> (String, Complete) {
    let events: Vec<_> = events.iter().map(|data| ("", *data)).collect();
    heard(&events)
}

#[test]
fn a_stream_begins_with_its_first_content_and_not_with_its_greeting() {
    // Breaks when a stream is handed on at its role or its `message_start`: what fails before the first word could have
    // been asked again, and is not. And when content of a kind that is not known here is held back.
    let chat = unnamed(&[
        r#"{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#,
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
        "[DONE]",
    ]);
    assert_eq!(chat, ("..cccc".to_owned(), Complete::Whole));
    let messages = heard(&[
        (
            "message_start",
            r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":2}}}"#,
        ),
        (
            "content_block_start",
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        ),
        ("ping", r#"{"type":"ping"}"#),
        (
            "content_block_delta",
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}}"#,
        ),
        ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
        (
            "message_delta",
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        ),
        ("message_stop", r#"{"type":"message_stop"}"#),
    ]);
    assert_eq!(messages, ("...cccc".to_owned(), Complete::Whole));
    let responses = unnamed(&[
        r#"{"type":"response.created","response":{"output":[],"error":null}}"#,
        r#"{"type":"response.in_progress","response":{"output":[]}}"#,
        r#"{"type":"response.output_item.added","item":{"type":"message","id":"m","status":"in_progress","content":[],"role":"assistant"}}"#,
        r#"{"type":"response.content_part.added","part":{"type":"output_text","text":""}}"#,
        r#"{"type":"response.output_text.delta","delta":"Hel"}"#,
        r#"{"type":"response.completed","response":{"error":null}}"#,
    ]);
    assert_eq!(responses, ("....cc".to_owned(), Complete::Whole));
    let gemini = unnamed(&[
        r#"{"usageMetadata":{"promptTokenCount":2}}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"},"index":0}]}"#,
        r#"{"candidates":[{"finishReason":"STOP","index":0}],"usageMetadata":{}}"#,
    ]);
    assert_eq!(gemini, ("..cc".to_owned(), Complete::Answer));
    for tool in [
        r#"{"choices":[{"delta":{"role":"assistant","tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
        r#"{"choices":[{"index":0,"text":"Hel"}]}"#,
        r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
        r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}"#,
        r#"{"type":"a.kind.of.tomorrow"}"#,
        r#"{"a shape":"of tomorrow"}"#,
        "[1,2]",
        "7",
    ] {
        assert_eq!(unnamed(&[tool]).0, "c", "{tool}");
    }
}

#[test]
fn a_stream_of_several_answers_is_complete_with_the_last_of_them() {
    // Breaks when the end of one choice is taken for the end of the stream, and a cut in the other for nothing.
    let delta = |index: u32| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"a"}},"finish_reason":null}}]}}"#)
    };
    let stop =
        |index: u32| format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"stop"}}]}}"#);
    let course = |events: &[String]| {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        unnamed(&events).1
    };
    assert_eq!(course(&[delta(0), delta(1), stop(0)]), Complete::Not);
    assert_eq!(course(&[delta(0), delta(1), stop(0), stop(1)]), Complete::Answer);
    assert_eq!(course(&[delta(0), delta(4_000_000_000), stop(0)]), Complete::Not);
    assert_eq!(
        course(&[delta(0), delta(500), stop(0), stop(500)]),
        Complete::Answer
    );
}

#[test]
fn an_empty_reason_is_none() {
    // Breaks when a server that writes `"finish_reason":""` into every chunk has finished with the first: whatever cuts it
    // off then goes unnoticed.
    let chat = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":""}]}"#;
    assert_eq!(unnamed(&[chat]).1, Complete::Not);
    let gemini = r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":""}],"promptFeedback":{"blockReason":""}}"#;
    assert_eq!(unnamed(&[gemini]).1, Complete::Not);
    let odd = r#"{"choices":[{"index":0,"delta":{},"finish_reason":["stop"]}]}"#;
    assert_eq!(unnamed(&[chat, odd]).1, Complete::Answer);
}

#[test]
fn a_prompt_that_is_blocked_is_an_answer() {
    // Breaks when a refusal that Gemini states without a candidate is taken for a cut: it would be asked again and again.
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{}}"#;
    assert_eq!(unnamed(&[blocked]), ("c".to_owned(), Complete::Answer));
}

#[test]
fn what_fails_and_what_cannot_be_read_are_told_apart_wherever_they_come() {
    // Breaks when an error is handed on as content, or when a hole in the text goes unnoticed.
    let delta = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":null}]}"#;
    let names = |first: &str, name: &'static str, data: &'static str| heard(&[("", first), (name, data)]).0;
    for (name, data, word) in [
        ("", r#"{"error":{"message":"m","code":"c"}}"#, '!'),
        ("", r#"{"error":"overloaded"}"#, '!'),
        ("", r#"[{"error":{"code":503,"status":"UNAVAILABLE"}}]"#, '!'),
        ("", r#"{"type":"error","error":{"type":"overloaded_error"}}"#, '!'),
        (
            "",
            r#"{"type":"response.failed","response":{"error":{"code":"server_error"}}}"#,
            '!',
        ),
        ("error", "", '!'),
        ("error", "anything", '!'),
        ("", r#"{"choices":[{"del"#, '?'),
        ("", "\u{fffd}", '?'),
        ("ping", "now", '.'),
    ] {
        assert_eq!(heard(&[(name, data)]).0, word.to_string(), "{name} {data}");
        assert_eq!(names(delta, name, data), format!("c{word}"), "{name} {data}");
    }
    let mut course = Course::default();
    assert!(matches!(course.hear("", b"{\"a\":\"\xff\"}"), Word::Unreadable));
    // After the last word nothing is heard.
    assert_eq!(
        unnamed(&["[DONE]", r#"{"error":{"message":"m"}}"#, "?"]),
        ("c..".to_owned(), Complete::Whole)
    );
}
