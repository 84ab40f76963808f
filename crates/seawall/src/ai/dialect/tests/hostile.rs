//! Whatever a peer says.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// The members that the readers know, so that what is made up comes far into them.
const KEYS: &[&str] = &[
    "type",
    "choices",
    "message",
    "delta",
    "content",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "index",
    "id",
    "text",
    "candidates",
    "parts",
    "functionCall",
    "args",
    "inlineData",
    "mimeType",
    "data",
    "thought",
    "thoughtSignature",
    "usage",
    "usageMetadata",
    "prompt_tokens",
    "stop_reason",
    "finish_reason",
    "finishReason",
    "output",
    "item",
    "response",
    "output_index",
    "content_block",
    "partial_json",
    "error",
    "role",
    "tool_call_id",
    "image_url",
    "url",
    "source",
    "embedding",
    "embeddings",
    "values",
    "models",
    "input",
    "summary",
    "part",
    "refusal",
    "signature",
    "reasoning_content",
    "status",
];

const WORDS: &[&str] = &[
    "",
    "text",
    "assistant",
    "tool",
    "user",
    "tool_use",
    "tool_result",
    "thinking",
    "image",
    "image_url",
    "function",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "text_delta",
    "input_json_delta",
    "signature_delta",
    "citations_delta",
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.function_call_arguments.delta",
    "response.completed",
    "reasoning",
    "function_call",
    "message",
    "output_text",
    "stop",
    "STOP",
    "{\"a\":",
    "data:;base64,",
    "custom",
    "error",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![
            (-2_i64..3).prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from)
        ],
        proptest::sample::select(WORDS).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((proptest::sample::select(KEYS), inner), 0..6).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// Reads bytes in every way that there is.
fn read(bytes: &[u8]) {
    for dialect in Dialect::ALL {
        if let Ok(answer) = dialect.decode(bytes) {
            for back in Dialect::ALL {
                let chat = Chat::new("m").message(answer.message.clone());
                let _either = back.encode(&chat, Delivery::Whole);
            }
        }
        let _either = dialect.decode_embeddings(bytes);
        let _either = dialect.decode_models(bytes);
    }
    let _either = Dialect::OpenAi.decode_responses(bytes);
    let _error = crate::ai::ProviderError::read(500, None, bytes);
    if let Ok(message) = serde_json::from_slice::<Message>(bytes) {
        let again = serde_json::to_vec(&message).unwrap();
        assert!(
            serde_json::from_slice::<Message>(&again).is_ok(),
            "what is written can be read"
        );
    }
}

proptest! {
    /// A body that is JSON and nothing else that was expected.
    #[test]
    fn no_body_makes_a_reader_panic(body in value()) {
        read(body.to_string().as_bytes());
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..64)) {
        read(&bytes);
    }

    /// Events in any order: a block that ends before it begins, a call's arguments before the call.
    #[test]
    fn no_events_make_a_stream_panic(events in vec(value(), 1..12)) {
        let mut streams: Vec<_> = Dialect::ALL.map(Dialect::stream).into_iter().collect();
        streams.push(Dialect::OpenAi.stream_responses());
        for mut stream in streams {
            let mut assembly = Assembly::new();
            for event in &events {
                let name = event["type"].as_str().unwrap_or("");
                for delta in stream.event(name, event.to_string().as_bytes()).unwrap_or_default() {
                    assembly.push(delta);
                }
                assert!(assembly.half_tool_calls().count() <= assembly.message().parts.len());
            }
        }
    }
}
