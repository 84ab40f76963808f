//! What every dialect must do alike.

mod answers;
mod back;
mod bodies;
mod hostile;
mod usage;

use super::*;
use crate::ai::{Assembly, Change, Image, Message, Part, Role, Thinking, Tool, ToolResult};
use serde_json::{Value, json};

/// A chat with everything that all three can say.
fn rich() -> Chat {
    let mut thought = Thinking::new(Dialect::Anthropic, "Where?");
    thought.signature = Some("seal".to_owned());
    let schema = r#"{"type":"object","properties":{"why":{"type":"string"},"city":{"type":"string"}}}"#;
    let schema = crate::ai::Schema::from_text(schema).unwrap();
    let call = |id: &str, city: &str| {
        Part::from(crate::ai::ToolCall::new(
            id,
            "weather",
            format!(r#"{{"why": "asked", "city": "{city}"}}"#),
        ))
    };
    Chat::new("m")
        .system("Be brief.")
        .user("Is it warm there?")
        .message(Message::new(
            Role::Assistant,
            [
                thought.into_part(),
                "Let me see.".into(),
                call("c1", "Oslo"),
                call("c2", "Bergen"),
            ],
        ))
        .message(Message::tool(ToolResult::new("c1", "4")))
        .message(Message::tool(ToolResult::failed("c2", "no such city")))
        .message(Message::new(
            Role::User,
            ["And here?".into(), Image::base64("image/png", "AA==").into()],
        ))
        .max_tokens(100)
        .stop("END")
        .tool(Tool::new("weather", schema.clone()).description("The weather."))
        .json_schema("place", schema)
}

impl Thinking {
    fn into_part(self) -> Part {
        Part::Thinking(self)
    }
}

fn body(sent: &Encoded) -> Value {
    serde_json::from_slice(&sent.body).unwrap()
}

#[test]
fn every_dialect_has_its_name_and_its_provider() {
    // Two dialects of one name could not be told apart in a file.
    for dialect in Dialect::ALL {
        assert_eq!(Dialect::named(dialect.name()), Some(dialect));
        assert_eq!(Dialect::of(dialect.provider(), "/"), dialect);
    }
    assert_eq!(Dialect::named("latin"), None);
}

#[test]
fn paths_are_those_of_the_providers_own_libraries() {
    // A base address that works with a provider's library must work here.
    let chat = |delivery| Operation::Chat { model: "m", delivery };
    for (dialect, base, operation, path) in [
        (Dialect::OpenAi, "/v1", chat(Delivery::Whole), "/chat/completions"),
        (Dialect::OpenAi, "", Operation::Responses, "/responses"),
        (
            Dialect::OpenAi,
            "/openai/deployments/d",
            Operation::Models,
            "/models",
        ),
        (Dialect::Anthropic, "", chat(Delivery::Stream), "/v1/messages"),
        (Dialect::Anthropic, "/v1/", Operation::Models, "/models"),
        (Dialect::Anthropic, "/vertex", Operation::Models, "/v1/models"),
        (
            Dialect::Gemini,
            "",
            chat(Delivery::Whole),
            "/v1beta/models/m:generateContent",
        ),
        (
            Dialect::Gemini,
            "/v1alpha",
            Operation::Embeddings { model: "m" },
            "/models/m:batchEmbedContents",
        ),
        (
            Dialect::Gemini,
            "/v1",
            Operation::Embeddings {
                model: "tunedModels/a b",
            },
            "/tunedModels/a%20b:batchEmbedContents",
        ),
        (
            Dialect::Gemini,
            "",
            Operation::Embeddings {
                model: "tunedModels/../../files/..",
            },
            "/v1beta/tunedModels%2F..%2F../files%2F..:batchEmbedContents",
        ),
        (
            Dialect::Gemini,
            "",
            Operation::Embeddings { model: "a/../b?c" },
            "/v1beta/models/a%2F..%2Fb%3Fc:batchEmbedContents",
        ),
    ] {
        assert_eq!(
            dialect.path(base, operation).as_deref(),
            Some(path),
            "{dialect} {base}"
        );
    }
    assert_eq!(
        Dialect::Anthropic.path("", Operation::Embeddings { model: "m" }),
        None
    );
    assert_eq!(Dialect::Gemini.path("", Operation::Responses), None);
}

#[test]
fn what_a_dialect_cannot_say_is_refused_by_name() {
    // A setting that is dropped in silence gives the answer to another question.
    let ask = || Chat::new("m").user("a").max_tokens(9);
    let refused = |dialect: Dialect, chat: Chat, delivery| {
        let error = dialect.encode(&chat, delivery).unwrap_err();
        let left_out = dialect
            .encode(&chat.unsupported(crate::ai::Unsupported::LeaveOut), delivery)
            .unwrap();
        assert_eq!(left_out.changes.len(), 1, "{error}");
        let asked = dialect.encode(&ask(), delivery).unwrap();
        assert_eq!(left_out.body, asked.body, "{error}");
        match error {
            EncodeError::Unsupported { what, .. } => {
                assert_eq!(left_out.changes, [Change::LeftOut(what)]);
                what
            }
            error => panic!("{error}"),
        }
    };
    let whole = Delivery::Whole;
    assert_eq!(refused(Dialect::Anthropic, ask().seed(7), whole), "a seed");
    assert_eq!(
        refused(Dialect::Anthropic, ask().temperature(0.5), whole),
        "a temperature"
    );
    assert_eq!(refused(Dialect::Anthropic, ask().top_p(0.5), whole), "top_p");
    assert_eq!(
        refused(Dialect::Anthropic, ask().json(), whole),
        "JSON without a schema"
    );
    assert_eq!(
        refused(Dialect::Anthropic, ask().choices(2), whole),
        "several answers to one call"
    );
    let minimal = ask().reasoning(crate::ai::Effort::Minimal);
    assert_eq!(refused(Dialect::Anthropic, minimal, whole), "minimal reasoning");
    let maximal = ask().reasoning(crate::ai::Effort::Max);
    assert_eq!(refused(Dialect::Gemini, maximal, whole), "maximal reasoning");
    for dialect in [Dialect::OpenAi, Dialect::Gemini] {
        assert_eq!(
            refused(dialect, ask().choices(2), Delivery::Stream),
            "several answers in one stream"
        );
    }
}

#[test]
fn what_a_chat_lacks_is_told() {
    // A body that a provider is sure to refuse costs a call, and its own words say less.
    for (dialect, chat, told) in [
        (
            Dialect::OpenAi,
            Chat::new("m"),
            "openai needs a message; say something to the model",
        ),
        (
            Dialect::Anthropic,
            Chat::new("m").system("a").user(""),
            "anthropic needs a message that is not the system's; say something to the model",
        ),
        (
            Dialect::Gemini,
            Chat::new("m").message(Message::tool(ToolResult::new("c", "4"))),
            "gemini needs the name of the tool that gave a result; keep the call that it answers in the chat, or name it \
             (`ToolResult::named`)",
        ),
        (
            Dialect::OpenAi,
            Chat::new("m").message(Message::new(Role::Tool, ["4".into()])),
            "openai needs the call that a tool message answers; make the message with `Message::tool`",
        ),
        (
            Dialect::Anthropic,
            Chat::new("m").message(Message::new(
                Role::Assistant,
                [crate::ai::ToolCall::new("c", "f", r#"{"city":"#).into()],
            )),
            "anthropic takes the arguments of a tool call as a JSON object; those of `c` (f) are none: EOF while parsing a \
             value at line 1 column 8",
        ),
        (
            Dialect::Gemini,
            Chat::new("m").user("a").temperature(f64::NAN),
            "the temperature is not a finite number",
        ),
    ] {
        let error = dialect.encode(&chat, Delivery::Whole).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
}

#[test]
fn thoughts_go_back_to_their_own_dialect_alone() {
    // A seal of another provider's is an error there, and a thought without its seal at its own.
    for (dialect, thinks) in [
        (Dialect::OpenAi, false),
        (Dialect::Anthropic, true),
        (Dialect::Gemini, false),
    ] {
        let sent = dialect.encode(&rich(), Delivery::Whole).unwrap();
        let text = std::str::from_utf8(&sent.body).unwrap();
        assert_eq!(text.contains("seal"), thinks, "{dialect}");
        let told = sent.changes.contains(&Change::LeftOut("what the model thought"));
        assert_eq!(told, !thinks, "{dialect}");
    }
}

#[test]
fn what_was_written_keeps_its_order() {
    // Models answer in the order of a schema; and a call that comes back in other bytes misses the cache.
    for dialect in Dialect::ALL {
        let sent = dialect.encode(&rich(), Delivery::Whole).unwrap();
        let text = std::str::from_utf8(&sent.body).unwrap();
        let ordered = r#""properties":{"why":{"type":"string"},"city":{"type":"string"}}"#;
        assert_eq!(text.matches(ordered).count(), 2, "{dialect}: {text}");
        let written = [
            r#"{"why": "asked", "city": "Oslo"}"#,
            r#"{\"why\": \"asked\", \"city\": \"Oslo\"}"#,
        ];
        assert!(
            written.iter().any(|arguments| text.contains(arguments)),
            "{dialect}: {text}"
        );
        assert_eq!(sent.body, dialect.encode(&rich(), Delivery::Whole).unwrap().body);
    }
}

#[test]
fn members_of_the_callers_stand_over_settings() {
    // What is new at a provider must be sayable on its first day, beside what there are settings for.
    let ask = |key, value| {
        Chat::new("m")
            .user("a")
            .max_tokens(9)
            .temperature(0.5)
            .extra(key, value)
    };
    let sent = |dialect: Dialect, chat: &Chat| body(&dialect.encode(chat, Delivery::Whole).unwrap());
    let merged = sent(
        Dialect::Gemini,
        &ask("generationConfig", json!({ "topK": 3, "temperature": 1 })),
    );
    assert_eq!(
        merged["generationConfig"],
        json!({ "topK": 3, "temperature": 1, "maxOutputTokens": 9 })
    );
    let replaced = sent(Dialect::OpenAi, &ask("temperature", json!(1)));
    assert_eq!(replaced["temperature"], 1);
    let gone = sent(Dialect::OpenAi, &ask("temperature", Value::Null));
    assert_eq!(gone.get("temperature"), None);
    let elsewhere = Chat::new("m").user("a").extra_for(Dialect::Anthropic, "top_k", 3);
    assert_eq!(sent(Dialect::OpenAi, &elsewhere).get("top_k"), None);
    assert_eq!(sent(Dialect::Anthropic, &elsewhere)["top_k"], 3);
}

#[test]
fn the_limit_has_the_name_that_the_model_knows() {
    // OpenAI's thinking models refuse the old name, other servers the new one.
    use crate::ai::LimitKey;
    let key = |model: &str, key| {
        let chat = Chat::new(model).user("a").max_tokens(9).limit_key(key);
        let body = body(&Dialect::OpenAi.encode(&chat, Delivery::Whole).unwrap());
        let names = ["max_completion_tokens", "max_tokens"];
        names.into_iter().find(|name| body[name] == 9).unwrap()
    };
    for model in [
        "gpt-5-mini",
        "o3",
        "openai/gpt-4o",
        "chatgpt-4o-latest",
        "ft:gpt-4o:acme",
    ] {
        assert_eq!(key(model, LimitKey::ByModel), "max_completion_tokens", "{model}");
        assert_eq!(key(model, LimitKey::MaxTokens), "max_tokens", "{model}");
    }
    for model in [
        "llama-3.3-70b",
        "openai/gpt-oss-120b",
        "olmo",
        "my-deployment",
        "",
    ] {
        assert_eq!(key(model, LimitKey::ByModel), "max_tokens", "{model}");
        assert_eq!(
            key(model, LimitKey::MaxCompletionTokens),
            "max_completion_tokens",
            "{model}"
        );
    }
}

#[test]
fn responses_that_change_something_are_known_as_such() {
    // A stored conversation that is added to twice has the question twice (rule E1).
    let facts = |call: &Responses| {
        let sent = Dialect::OpenAi.encode_responses(call, Delivery::Whole).unwrap();
        crate::body::request_facts(&sent.body)
    };
    let ask = || Responses::new("m").user("a");
    assert!(!facts(&ask()).conversation && !facts(&ask()).background);
    assert!(facts(&ask().conversation("conv_1")).conversation);
    assert!(facts(&ask().background()).background);
    for dialect in [Dialect::Anthropic, Dialect::Gemini] {
        assert!(dialect.encode_responses(&ask(), Delivery::Whole).is_err());
    }
}

/// What events make; how far they came.
fn told(mut stream: StreamDecoder, events: &[Value]) -> (Assembly, StreamState) {
    let mut assembly = Assembly::new();
    for event in events {
        let name = event["type"].as_str().unwrap_or("");
        for delta in stream.event(name, event.to_string().as_bytes()).unwrap() {
            assembly.push(delta);
        }
    }
    (assembly, stream.state())
}
