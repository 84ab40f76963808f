//! What a model says, sent back, and read as an answer again: nothing is lost on the way that the dialect can carry.

use super::*;
use crate::ai::ToolCall;
use proptest::collection::vec;
use proptest::prelude::*;

/// What a model of this dialect may say.
fn said(dialect: Dialect) -> impl Strategy<Value = Vec<Part>> {
    let text = || "\\PC{1,12}";
    let call = ("[a-z]{1,8}", "[a-z]{1,8}", "\\PC{0,8}", any::<Option<u8>>());
    let call = call.prop_map(move |(id, name, value, seal)| {
        let mut call = ToolCall::new(id, name, json!({ "value": value }).to_string());
        call.signature = seal
            .filter(|_| dialect == Dialect::Gemini)
            .map(|seal| format!("seal {seal}"));
        Part::ToolCall(call)
    });
    let thought = (text(), "[a-z]{1,8}").prop_map(move |(text, seal)| {
        let mut thought = Thinking::new(dialect, text);
        thought.signature = Some(seal);
        Part::Thinking(thought)
    });
    let cipher = "[a-z]{1,8}".prop_map(|data| {
        let mut thought = Thinking::new(Dialect::Anthropic, "");
        thought.redacted = Some(data);
        Part::Thinking(thought)
    });
    let words = text().prop_map(Part::Text).boxed();
    let (own, calls_last) = match dialect {
        Dialect::OpenAi => (text().prop_map(Part::Refusal).boxed(), true),
        Dialect::Anthropic => (prop_oneof![thought, cipher, call.clone()].boxed(), false),
        Dialect::Gemini => (prop_oneof![thought, call.clone()].boxed(), false),
    };
    let calls = vec(call, if calls_last { 0..3 } else { 0..1 });
    (vec(prop_oneof![words, own], 1..6), calls).prop_map(|(mut parts, calls)| {
        // Texts side by side are one in a stream without blocks.
        parts.dedup_by(|one, other| matches!((one, other), (Part::Text(_), Part::Text(_))));
        parts.extend(calls);
        parts
    })
}

/// The message of the model in a body, as an answer.
fn answered(dialect: Dialect, body: &Value) -> Value {
    match dialect {
        Dialect::OpenAi => json!({ "choices": [{ "message": body["messages"][1] }] }),
        Dialect::Anthropic => match &body["messages"][1]["content"] {
            Value::String(text) => json!({ "content": [{ "type": "text", "text": text }] }),
            blocks => json!({ "content": blocks }),
        },
        Dialect::Gemini => json!({ "candidates": [{ "content": body["contents"][1] }] }),
    }
}

fn any_said() -> impl Strategy<Value = (Dialect, Vec<Part>)> {
    proptest::sample::select(&Dialect::ALL[..])
        .prop_flat_map(|dialect| said(dialect).prop_map(move |parts| (dialect, parts)))
}

proptest! {
    /// A codec that loses on the way back what it read on the way in makes the model forget what it did.
    #[test]
    fn what_a_model_says_survives_the_way_back((dialect, parts) in any_said()) {
        let chat = Chat::new("m").user("a").message(Message::new(Role::Assistant, parts.clone())).max_tokens(9);
        let sent = dialect.encode(&chat, Delivery::Whole).unwrap();
        prop_assert_eq!(&sent.changes, &[]);
        let answer = answered(dialect, &body(&sent)).to_string();
        prop_assert_eq!(dialect.decode(answer.as_bytes()).unwrap().message.parts, parts);
    }

    /// The same from one provider to the next: calls and texts go along, and what stays behind is told.
    #[test]
    fn what_stays_behind_on_the_way_elsewhere_is_told((dialect, parts) in any_said(), other in any::<prop::sample::Index>()) {
        let other = *other.get(&Dialect::ALL);
        let message = Message::new(Role::Assistant, parts);
        let chat = Chat::new("m").user("a").message(message.clone()).max_tokens(9);
        let sent = other.encode(&chat, Delivery::Whole).unwrap();
        let answer = answered(other, &body(&sent)).to_string();
        // What holds nothing but thoughts is no message elsewhere.
        let came = other.decode(answer.as_bytes()).map(|answer| answer.message);
        let came = came.unwrap_or_else(|_| Message::new(Role::Assistant, []));
        let calls = |message: &Message| message.tool_calls().map(|call| call.arguments.clone()).collect::<Vec<_>>();
        prop_assert_eq!(calls(&came), calls(&message));
        let has_thoughts = message.parts.iter().any(|part| matches!(part, Part::Thinking(_)));
        let told = sent.changes.contains(&Change::LeftOut("what the model thought"));
        prop_assert_eq!(told, has_thoughts && other != dialect);
        let refused = message.parts.iter().any(|part| matches!(part, Part::Refusal(_)));
        let moved = sent.changes.contains(&Change::Moved("a refusal, to a text"));
        prop_assert_eq!(moved, refused && other != Dialect::OpenAi);
    }
}
