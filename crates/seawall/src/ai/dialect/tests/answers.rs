//! Answers, whole and in pieces.

use super::*;
use crate::ai::delta::Delta as Piece;
use crate::ai::{Delta, Finish, ToolCall, Usage};
use proptest::prelude::*;
use proptest::sample::Index;

#[test]
fn an_answer_that_is_none_is_told_with_its_place() {
    // `missing field` says nothing about which of three answers is wrong, and why.
    for (dialect, body, told) in [
        (
            Dialect::OpenAi,
            "{",
            "the body is not JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            Dialect::OpenAi,
            "{}",
            "$.choices should be an array with an answer and is nothing",
        ),
        (
            Dialect::OpenAi,
            r#"{"choices":[{"message":{"content":7}}]}"#,
            "$.choices[0].message.content should be an array and is a number",
        ),
        (
            Dialect::OpenAi,
            r#"{"choices":[{}]}"#,
            "$.choices[0].message should be an object and is nothing",
        ),
        (
            Dialect::Anthropic,
            "{}",
            "$.content should be an array and is nothing",
        ),
        (
            Dialect::Anthropic,
            r#"{"content":[{"type":"text"}]}"#,
            "$.content[0].text should be a text and is nothing",
        ),
        (
            Dialect::Gemini,
            r#"{"candidates":[]}"#,
            "$.candidates should be an array with an answer and is an array",
        ),
        (
            Dialect::Gemini,
            r#"{"candidates":[{"content":{"parts":["a"]}}]}"#,
            "$.candidates[0].content.parts[0] should be an object and is a text",
        ),
    ] {
        assert_eq!(dialect.decode(body.as_bytes()).unwrap_err().to_string(), told);
    }
    let error = Dialect::OpenAi.decode_responses(b"{}").unwrap_err();
    assert_eq!(error.to_string(), "$.output should be an array and is nothing");
}

#[test]
fn usage_is_counted_alike() {
    // Anthropic's input leaves out what came from the cache, Gemini's output what was thought: added up as they stand,
    // a bill is wrong.
    let expected = Usage {
        input: 30,
        output: 20,
        cached: 10,
        cache_written: 0,
        cache_written_1h: 0,
        reasoning: 5,
    };
    for (dialect, body) in [
        (
            Dialect::OpenAi,
            json!({ "choices": [{ "message": {} }], "usage": { "prompt_tokens": 30, "completion_tokens": 20,
                "prompt_tokens_details": { "cached_tokens": 10 }, "completion_tokens_details": { "reasoning_tokens": 5 } } }),
        ),
        (
            Dialect::Anthropic,
            json!({ "content": [], "usage": { "input_tokens": 20, "cache_read_input_tokens": 10, "output_tokens": 20,
                "output_tokens_details": { "thinking_tokens": 5 } } }),
        ),
        (
            Dialect::Gemini,
            json!({ "candidates": [{}], "usageMetadata": { "promptTokenCount": 30, "cachedContentTokenCount": 10,
                "candidatesTokenCount": 15, "thoughtsTokenCount": 5 } }),
        ),
    ] {
        assert_eq!(
            dialect.decode(body.to_string().as_bytes()).unwrap().usage,
            Some(expected),
            "{dialect}"
        );
    }
    let silent = Dialect::OpenAi
        .decode(br#"{"choices":[{"message":{"content":"a"}}]}"#)
        .unwrap();
    assert_eq!(silent.usage, None, "unknown is not nothing");
}

#[test]
fn ends_mean_the_same_in_every_dialect() {
    // Who asks for `tool_calls` must find them, though Gemini says `STOP`.
    let openai =
        |word: &str| json!({ "choices": [{ "message": { "content": "a" }, "finish_reason": word }] });
    let anthropic = |word: &str| json!({ "content": [], "stop_reason": word });
    let gemini = |word: &str| json!({ "candidates": [{ "finishReason": word }] });
    for (dialect, body, finish) in [
        (Dialect::OpenAi, openai("stop"), Finish::Stop),
        (Dialect::OpenAi, openai("length"), Finish::Length),
        (Dialect::OpenAi, openai("content_filter"), Finish::Refused),
        (
            Dialect::OpenAi,
            openai("tired"),
            Finish::Other("tired".to_owned()),
        ),
        (Dialect::Anthropic, anthropic("end_turn"), Finish::Stop),
        (Dialect::Anthropic, anthropic("stop_sequence"), Finish::Stop),
        (
            Dialect::Anthropic,
            anthropic("model_context_window_exceeded"),
            Finish::Length,
        ),
        (Dialect::Anthropic, anthropic("refusal"), Finish::Refused),
        (Dialect::Anthropic, anthropic("pause_turn"), Finish::Paused),
        (Dialect::Gemini, gemini("MAX_TOKENS"), Finish::Length),
        (Dialect::Gemini, gemini("SAFETY"), Finish::Refused),
        (
            Dialect::Gemini,
            json!({ "candidates": [{ "finishReason": "STOP", "content": { "parts": [{ "functionCall": { "name": "f" } }] } }] }),
            Finish::ToolCalls,
        ),
        (
            Dialect::Gemini,
            json!({ "promptFeedback": { "blockReason": "SAFETY" } }),
            Finish::Refused,
        ),
    ] {
        assert_eq!(
            dialect.decode(body.to_string().as_bytes()).unwrap().finish,
            finish,
            "{body}"
        );
    }
}

#[test]
fn several_answers_are_all_there() {
    // Asked for two, paid for two.
    let openai = json!({ "choices": [{ "message": { "content": "a" } }, { "message": { "content": "b" } }] });
    let gemini = json!({ "candidates": [
        { "content": { "parts": [{ "text": "a" }] }, "index": 0 },
        { "content": { "parts": [{ "text": "b" }] }, "index": 1, "finishReason": "STOP" },
    ] });
    for (dialect, body) in [(Dialect::OpenAi, openai), (Dialect::Gemini, gemini)] {
        let answer = dialect.decode(body.to_string().as_bytes()).unwrap();
        let more: Vec<_> = answer.more.iter().map(|choice| choice.message.text()).collect();
        assert_eq!(
            (answer.text().as_ref(), more),
            ("a", vec!["b".into()]),
            "{dialect}"
        );
        assert_eq!(answer.raw, body, "what has no field is kept");
    }
}

#[test]
fn a_call_without_an_id_gets_one_that_is_not_sent_back() {
    // Results are told apart by ids; Gemini gives none, and knows none that it did not give.
    let part = json!({ "functionCall": { "name": "f", "args": { "a": 1 } } });
    let body = json!({ "responseId": "r1", "candidates": [{ "content": { "parts": [part, part] } }] });
    let answer = Dialect::Gemini.decode(body.to_string().as_bytes()).unwrap();
    let ids: Vec<_> = answer.tool_calls().map(|call| call.id.clone()).collect();
    assert_eq!(ids, ["seawall_call_r1_0", "seawall_call_r1_1"]);
    let chat = Chat::new("m")
        .message(answer.message)
        .messages(ids.iter().map(|id| Message::tool(ToolResult::new(id, "4"))));
    let sent = Dialect::Gemini.encode(&chat, Delivery::Whole).unwrap();
    assert!(!std::str::from_utf8(&sent.body).unwrap().contains("seawall"));
    // Elsewhere they are ids like any other.
    let sent = body_of(Dialect::OpenAi, &chat);
    assert_eq!(sent["messages"][1]["tool_call_id"], "seawall_call_r1_0");
}

fn body_of(dialect: Dialect, chat: &Chat) -> Value {
    body(&dialect.encode(chat, Delivery::Whole).unwrap())
}

#[test]
fn what_a_model_said_goes_back_as_it_said_it() {
    // Anthropic refuses a thought that differs by a letter from what it sealed.
    let content = json!([
        { "type": "thinking", "thinking": "Hm.", "signature": "seal" },
        { "type": "redacted_thinking", "data": "cipher" },
        { "type": "text", "text": "Let me see." },
        { "type": "server_tool_use", "id": "srv", "name": "web_search", "input": { "query": "sea" } },
        { "type": "tool_use", "id": "t", "name": "f", "input": { "a": [1, { "b": null }] } },
    ]);
    let answer = json!({ "content": content, "stop_reason": "tool_use" });
    let answer = Dialect::Anthropic.decode(answer.to_string().as_bytes()).unwrap();
    let sent = body_of(
        Dialect::Anthropic,
        &Chat::new("m").user("a").message(answer.message),
    );
    assert_eq!(sent["messages"][1]["content"], content);

    let parts = json!([
        { "text": "Hm.", "thought": true },
        { "functionCall": { "id": "g", "name": "f", "args": { "a": 1 } }, "thoughtSignature": "seal" },
        { "executableCode": { "language": "PYTHON", "code": "1" } },
        { "text": "", "thoughtSignature": "last" },
    ]);
    let answer = json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
    let answer = Dialect::Gemini.decode(answer.to_string().as_bytes()).unwrap();
    let sent = body_of(Dialect::Gemini, &Chat::new("m").user("a").message(answer.message));
    assert_eq!(sent["contents"][1]["parts"], parts);
}

#[test]
fn a_server_that_numbers_no_calls_makes_two_calls_all_the_same() {
    // Glued together, `{"a":1}{"a":2}` is the arguments of nothing.
    let piece = |id: &str, arguments: &str| {
        let call = json!({ "id": id, "function": { "name": "f", "arguments": arguments } });
        json!({ "id": "c", "choices": [{ "delta": { "tool_calls": [call] } }] })
    };
    let events = [piece("x", "{\"a\":1}"), piece("y", "{\"a\":"), piece("", "2}")];
    let (assembly, _) = told(Dialect::OpenAi.stream(), &events);
    let calls: Vec<_> = assembly.message().tool_calls().cloned().collect();
    assert_eq!(
        calls,
        [
            ToolCall::new("x", "f", "{\"a\":1}"),
            ToolCall::new("y", "f", "{\"a\":2}")
        ]
    );
}

#[test]
fn errors_inside_a_stream_are_the_providers() {
    // `overloaded` in the middle of an answer that is read as a strange event is an answer that never ends.
    for (mut stream, name, data, code) in [
        (
            Dialect::OpenAi.stream(),
            "",
            r#"{"error":{"message":"gone","code":"server_error","param":"model"}}"#,
            "gone (status 200, server_error)",
        ),
        (
            Dialect::Anthropic.stream(),
            "error",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"gone"},"request_id":"req_1"}"#,
            "gone (status 200, overloaded_error, request req_1)",
        ),
        (
            Dialect::Gemini.stream(),
            "",
            r#"{"error":{"code":503,"message":"gone","status":"UNAVAILABLE"}}"#,
            "gone (status 200, UNAVAILABLE)",
        ),
        (
            Dialect::OpenAi.stream_responses(),
            "response.failed",
            r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"gone"}}}"#,
            "gone (status 200, server_error)",
        ),
    ] {
        match stream.event(name, data.as_bytes()) {
            Err(EventError::Provider(error)) => assert_eq!(error.to_string(), code),
            other => panic!("{other:?}"),
        }
    }
    let spoilt = Dialect::OpenAi.stream().event("", b"{\"choices\":[");
    assert!(matches!(
        spoilt,
        Err(EventError::Undecodable(DecodeError::NotJson { .. }))
    ));
}

/// An answer of each dialect in events, by pieces of a text and of a call's arguments.
fn events(dialect: Dialect, texts: &[&str], arguments: &[&str]) -> Vec<Value> {
    match dialect {
        Dialect::OpenAi => {
            let delta = |delta: Value, finish: Value| {
                let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
                json!({ "id": "a", "model": "m", "choices": [choice] })
            };
            let call = |call: Value| delta(json!({ "tool_calls": [call] }), Value::Null);
            let mut events = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
            events.extend(
                texts
                    .iter()
                    .map(|text| delta(json!({ "content": text }), Value::Null)),
            );
            events.push(call(
                json!({ "index": 0, "id": "c", "function": { "name": "f", "arguments": "" } }),
            ));
            events.extend(
                arguments
                    .iter()
                    .map(|text| call(json!({ "index": 0, "function": { "arguments": text } }))),
            );
            events.push(delta(json!({}), json!("tool_calls")));
            events
        }
        Dialect::Anthropic => {
            let delta = |index: u32, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
            let begin = |index: u32, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
            let stop = |index: u32| json!({ "type": "content_block_stop", "index": index });
            let mut events = vec![
                json!({ "type": "message_start", "message": { "id": "a", "model": "m", "content": [] } }),
                begin(0, json!({ "type": "text", "text": "" })),
            ];
            events.extend(
                texts
                    .iter()
                    .map(|text| delta(0, json!({ "type": "text_delta", "text": text }))),
            );
            events.extend([
                stop(0),
                begin(
                    1,
                    json!({ "type": "tool_use", "id": "c", "name": "f", "input": {} }),
                ),
            ]);
            events.extend(
                arguments
                    .iter()
                    .map(|text| delta(1, json!({ "type": "input_json_delta", "partial_json": text }))),
            );
            events.push(stop(1));
            events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }));
            events.push(json!({ "type": "message_stop" }));
            events
        }
        Dialect::Gemini => {
            let chunk = |part: Value, finish: Value| {
                let candidate = json!({ "content": { "parts": [part] }, "finishReason": finish });
                json!({ "responseId": "a", "modelVersion": "m", "candidates": [candidate] })
            };
            let mut events: Vec<_> = texts
                .iter()
                .map(|text| chunk(json!({ "text": text }), Value::Null))
                .collect();
            let arguments: Value = serde_json::from_str(&arguments.concat()).unwrap();
            let call = json!({ "functionCall": { "id": "c", "name": "f", "args": arguments } });
            events.push(chunk(call, json!("STOP")));
            events
        }
    }
}

/// A text in pieces, cut at these places.
fn cut<'t>(text: &'t str, places: &[Index]) -> Vec<&'t str> {
    let mut at: Vec<usize> = places
        .iter()
        .map(|place| text.floor_char_boundary(place.index(text.len() + 1)))
        .collect();
    at.extend([0, text.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

proptest! {
    /// How a server cuts its answer is no part of it; and every beginning of a stream is known as one.
    #[test]
    fn however_an_answer_is_cut_it_is_the_same(
        text in "\\PC{1,40}",
        value in "\\PC{0,20}",
        texts in proptest::collection::vec(any::<Index>(), 0..6),
        arguments in proptest::collection::vec(any::<Index>(), 0..6),
        ended in any::<Index>(),
    ) {
        let argument = json!({ "value": value }).to_string();
        for dialect in Dialect::ALL {
            let events = events(dialect, &cut(&text, &texts), &cut(&argument, &arguments));
            let (assembly, state) = told(dialect.stream(), &events);
            prop_assert_eq!(state, StreamState::Complete);
            prop_assert_eq!(assembly.half_tool_calls().count(), 0);
            let answer = assembly.into_answer();
            prop_assert_eq!((answer.id.as_str(), answer.model.as_str()), ("a", "m"));
            prop_assert_eq!(&answer.message.parts, &[Part::from(text.clone()), ToolCall::new("c", "f", &*argument).into()]);
            prop_assert_eq!(&answer.finish, &Finish::ToolCalls);

            let ended = &events[..ended.index(events.len())];
            let (assembly, state) = told(dialect.stream(), ended);
            // Anthropic's reason comes an event before its last word.
            prop_assert_eq!(state, StreamState::Open);
            let received = assembly.message().text().into_owned();
            prop_assert!(text.starts_with(&received));
            for call in assembly.message().tool_calls() {
                prop_assert!(argument.starts_with(&call.arguments));
                let half = assembly.half_tool_calls().any(|half| half == call);
                prop_assert!(half || call.arguments == argument, "half a call is known as half");
            }
        }
    }
}

#[test]
fn texts_that_stand_side_by_side_stay_apart_in_a_stream() {
    // Anthropic cuts a text where it cites; joined, the citations would be of another text.
    let block = |index: u32, text: &str| {
        [
            json!({ "type": "content_block_start", "index": index, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": index, "delta": { "type": "text_delta", "text": text } }),
            json!({ "type": "content_block_stop", "index": index }),
        ]
    };
    let events: Vec<_> = block(0, "a").into_iter().chain(block(1, "b")).collect();
    let (assembly, _) = told(Dialect::Anthropic.stream(), &events);
    assert_eq!(assembly.message().parts, ["a".into(), "b".into()]);
}

#[test]
fn kinds_that_are_new_end_nothing() {
    // Providers say that they may add kinds; a reader that stops at one breaks on the day.
    let mut stream = Dialect::Anthropic.stream();
    let deltas = stream
        .event("moon", br#"{"type":"moon","phase":"full"}"#)
        .unwrap();
    let [Piece::Beside(members)] = &deltas[..] else {
        panic!("{deltas:?}")
    };
    assert_eq!(members["phase"], "full");
    let block = json!({ "type": "moon_use", "id": "x", "input": {} });
    let events = [
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "{\"a\":" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "input_json_delta", "partial_json": "1}" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
    ];
    let (assembly, _) = told(Dialect::Anthropic.stream(), &events);
    let whole = json!({ "type": "moon_use", "id": "x", "input": { "a": 1 } });
    assert_eq!(assembly.message().parts, [Part::Other(whole)]);
    let quiet = Dialect::OpenAi
        .stream_responses()
        .event("x", br#"{"type":"response.moon"}"#);
    assert_eq!(quiet.unwrap(), [] as [Delta; 0]);
}

#[test]
fn vectors_are_read_in_both_packings() {
    // One bit off, and every neighbour is another.
    let read = |embedding: Value| {
        let body = json!({ "data": [{ "embedding": embedding }] }).to_string();
        Dialect::OpenAi
            .decode_embeddings(body.as_bytes())
            .map(|answer| answer.vectors)
    };
    assert_eq!(read(json!([0.5, -0.25])).unwrap(), [[0.5, -0.25]]);
    assert_eq!(read(json!("AAAAPwAAgL4=")).unwrap(), [[0.5, -0.25]]);
    assert_eq!(read(json!("AAAAPwAAgL4")).unwrap(), [[0.5, -0.25]]);
    for spoilt in ["AAAAPwAAgL", "AAA", "A", "AAAAPwAA*L4="] {
        let error = read(json!(spoilt)).unwrap_err().to_string();
        assert_eq!(
            error, "$.data[0].embedding should be base64 of numbers and is a text",
            "{spoilt}"
        );
    }
    assert!(read(json!([0.5, "x"])).is_err());
    assert!(read(Value::Null).is_err());
}

#[test]
fn a_page_of_models_says_how_the_next_is_asked_for() {
    // A list that ends at its first page lacks the model that was looked for.
    let next =
        |dialect: Dialect, body: Value| dialect.decode_models(body.to_string().as_bytes()).unwrap().next;
    let anthropic = json!({ "data": [{ "id": "m" }], "has_more": true, "last_id": "m 1" });
    assert_eq!(
        next(Dialect::Anthropic, anthropic).as_deref(),
        Some("after_id=m%201")
    );
    let gemini = json!({ "models": [{ "name": "models/m" }], "nextPageToken": "t=" });
    assert_eq!(next(Dialect::Gemini, gemini).as_deref(), Some("pageToken=t%3D"));
    assert_eq!(next(Dialect::OpenAi, json!({ "data": [] })), None);
    assert_eq!(
        next(
            Dialect::Anthropic,
            json!({ "data": [], "has_more": false, "last_id": "m" })
        ),
        None
    );
}

#[test]
fn what_servers_number_stands_in_the_order_of_its_numbers() {
    // Breaks when the vector of one text is handed over as another's.
    let body = br#"{"data":[{"index":1,"embedding":[2.0]},{"index":0,"embedding":[1.0]}]}"#;
    let answer = Dialect::OpenAi.decode_embeddings(body).unwrap();
    assert_eq!(answer.vectors, [[1.0], [2.0]]);
}

#[test]
fn a_stop_with_calls_is_for_the_calls() {
    // Breaks when a server's word for the end hides that it waits for a tool.
    let body = br#"{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":null,
        "tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    assert_eq!(Dialect::OpenAi.decode(body).unwrap().finish, Finish::ToolCalls);
}
