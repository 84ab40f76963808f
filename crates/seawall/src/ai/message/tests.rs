use super::*;
use crate::ai::tool::ToolStatus;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

fn read(value: Value) -> Message {
    serde_json::from_value(value).unwrap()
}

/// Parts that are no calls, in every shape.
fn content() -> impl Strategy<Value = Part> {
    let thinking = (
        any::<String>(),
        any::<Option<String>>(),
        any::<Option<String>>(),
        0..4_usize,
    );
    prop_oneof![
        any::<String>().prop_map(Part::Text),
        any::<String>().prop_map(Part::Refusal),
        "https://[a-z]{1,9}/[a-z]{0,9}".prop_map(|url| Part::Image(Image::url(url))),
        ("image/(png|jpeg)", "[A-Za-z0-9+/]{0,40}={0,2}")
            .prop_map(|(kind, data)| Part::Image(Image::base64(kind, data))),
        thinking.prop_map(|(text, signature, redacted, whose)| Part::Thinking(Thinking {
            text,
            signature,
            redacted,
            dialect: Dialect::ALL.get(whose).copied(),
        })),
        any::<u32>()
            .prop_map(|seed| Part::Other(json!({ "type": "input_audio", "input_audio": { "n": seed } }))),
        result().prop_map(Part::ToolResult),
    ]
}

fn result() -> impl Strategy<Value = ToolResult> {
    let parts = vec(any::<String>().prop_map(Part::Text), 0..3);
    (any::<String>(), any::<Option<String>>(), parts, any::<bool>()).prop_map(|(id, name, parts, worked)| {
        ToolResult {
            id,
            name,
            parts,
            status: if worked {
                ToolStatus::Worked
            } else {
                ToolStatus::Failed
            },
        }
    })
}

fn call() -> impl Strategy<Value = Part> {
    (
        any::<String>(),
        any::<String>(),
        any::<String>(),
        any::<Option<String>>(),
    )
        .prop_map(|(id, name, arguments, signature)| {
            Part::ToolCall(ToolCall {
                id,
                name,
                arguments,
                signature,
            })
        })
}

proptest! {
    /// A conversation that goes through a file must come out as it went in, with seals and half arguments.
    #[test]
    fn a_message_is_read_back_as_it_was_written(
        role in proptest::sample::select(&Role::ALL[..]),
        content in vec(content(), 0..5),
        calls in vec(call(), 0..3),
    ) {
        let message = Message::new(role, content.into_iter().chain(calls));
        let text = serde_json::to_string(&message).unwrap();
        prop_assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }
}

#[test]
fn messages_have_the_shape_of_openais_chats() {
    // Conversations in files are in that shape, and what we write there is read by others.
    for (message, value) in [
        (Message::system("a"), json!({ "role": "system", "content": "a" })),
        (
            Message::user("a").with(Image::url("https://x/y").into()),
            json!({ "role": "user", "content": [
                { "type": "text", "text": "a" },
                { "type": "image_url", "image_url": { "url": "https://x/y" } },
            ] }),
        ),
        (
            Message::new(Role::Assistant, [ToolCall::new("c", "f", "{}").into()]),
            json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } },
            ] }),
        ),
        (
            Message::tool(ToolResult::new("c", "4")),
            json!({ "role": "tool", "tool_call_id": "c", "content": "4" }),
        ),
    ] {
        assert_eq!(serde_json::to_value(&message).unwrap(), value);
        assert_eq!(read(value), message);
    }
}

#[test]
fn anthropics_blocks_are_read_as_what_they_are() {
    // Files of Anthropic's batches have them.
    let message = read(json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "t", "content": [{ "type": "text", "text": "no" }], "is_error": true },
        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } },
    ] }));
    assert_eq!(
        message.parts,
        [
            ToolResult::failed("t", "no").into(),
            Image::base64("image/png", "AA==").into()
        ]
    );
    let message = read(json!({ "role": "assistant", "content": [
        { "type": "redacted_thinking", "data": "x" },
        { "type": "tool_use", "id": "t", "name": "f", "input": { "a": 1 } },
    ] }));
    assert_eq!(
        message.tool_calls().next(),
        Some(&ToolCall::new("t", "f", r#"{"a":1}"#))
    );
    assert!(matches!(&message.parts[0], Part::Thinking(thought) if thought.redacted.as_deref() == Some("x")));
}

#[test]
fn what_has_no_name_here_is_kept() {
    // A mark for the cache that is lost costs money; a part that is lost changes the question.
    for value in [
        json!({ "role": "user", "content": [
            { "type": "text", "text": "a", "cache_control": { "type": "ephemeral" } },
            { "type": "hologram", "hologram": [1, 2] },
            7,
        ] }),
        json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "type": "custom", "custom": { "name": "f", "input": "x" } },
        ] }),
        json!({ "role": "user", "content": "a", "name": "Ada", "mood": { "x": 1 } }),
    ] {
        assert_eq!(serde_json::to_value(read(value.clone())).unwrap(), value);
    }
    let marked = read(json!({ "role": "user", "content": [
        { "type": "text", "text": "a", "cache_control": { "type": "ephemeral" } },
        { "type": "text", "text": "b" },
    ] }));
    assert_eq!(marked.text(), "ab", "a text stays one with a mark beside it");
}

#[test]
fn a_message_that_is_none_is_told_with_its_place() {
    // Of ten thousand rows one is wrong: which part of it?
    for (value, told) in [
        (
            json!({ "content": "a" }),
            "$.role should be a text and is nothing",
        ),
        (
            json!({ "role": "queen", "content": "a" }),
            "$.role should be a role and is a text",
        ),
        (
            json!({ "role": "user", "content": 7 }),
            "$.content should be an array and is a number",
        ),
        (
            json!({ "role": "user", "content": [{ "type": "text", "text": [] }] }),
            "$.content[0].text should be a text and is an array",
        ),
        (
            json!({ "role": "assistant", "tool_calls": [{}, { "function": {} }] }),
            "$.tool_calls[0].function.name should be a text and is nothing",
        ),
    ] {
        let error = serde_json::from_value::<Message>(value).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
}
