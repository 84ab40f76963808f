//! Every form of request that `seawall::ai` makes, sent to a server that takes only what the providers' own libraries
//! would send, and answers as their own types say: `strict http://127.0.0.1:PORT`.
//!
//! What can go wrong: a codec and a mock by the same hands agree on a mistake. So the server is built on somebody else's
//! types (`crates/seawall-cli/tests/sdk/strict.py`, which starts this program), refuses what they do not have, and each
//! answer must come out the same whole and in pieces.

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use seawall::ai::{
    Assembly, Chat, ChatAnswer, Delivery, Dialect, Effort, Embeddings, Finish, Image, Message, Operation,
    Packing, Part, Responses, ResponsesAnswer, Role, Storage, StreamDecoder, StreamState, Tool, ToolChoice,
    ToolResult, ToolTurns, Unsupported,
};
use seawall::{Call, Upstream};
use serde_json::{Value, json};
use std::error::Error;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// One pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let address = std::env::args()
        .nth(1)
        .ok_or("usage: strict http://127.0.0.1:PORT")?;
    let mut providers = Vec::new();
    for dialect in Dialect::ALL {
        let path = match dialect {
            Dialect::OpenAi => "/openai/v1",
            Dialect::Anthropic => "/anthropic",
            Dialect::Gemini => "/gemini",
            other => return Err(format!("{other} is not known here").into()),
        };
        providers.push(Provider {
            dialect,
            path,
            upstream: Upstream::builder(&format!("{address}{path}"))?.build()?,
        });
    }
    for provider in &providers {
        let dialect = provider.dialect;
        let failed = |what: &str, error: Box<dyn Error>| format!("{dialect}, {what}: {error}");
        for (name, chat) in chats(dialect) {
            provider.chat(&chat).await.map_err(|error| failed(name, error))?;
        }
        provider
            .others()
            .await
            .map_err(|error| failed("beside chats", error))?;
        let talk = provider.talk().await.map_err(|error| failed("a talk", error))?;
        for next in &providers {
            // What one provider's model said goes on at each, as it does after a fallback.
            next.chat(&talk)
                .await
                .map_err(|error| failed(&format!("a talk that goes on at {}", next.dialect), error))?;
        }
    }
    Ok(())
}

fn weather() -> Tool {
    let city = json!({ "type": "string", "description": "Its name." });
    let schema = json!({
        "type": "object", "properties": { "city": city }, "required": ["city"], "additionalProperties": false,
    });
    Tool::new("weather", schema).description("The weather of a city.")
}

/// What can be asked for, as far as the dialect has words for it.
fn chats(dialect: Dialect) -> Vec<(&'static str, Chat)> {
    let ask = || {
        Chat::new("m")
            .system("Be brief.")
            .user("What is a seawall?")
            .max_tokens(100)
    };
    let place = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false });
    let mut chats = vec![
        ("plain", ask()),
        (
            "by several",
            ask()
                .assistant("A wall.")
                .user("Why?")
                .user("Really?")
                .message(Message::system("Be polite.")),
        ),
        (
            "an image here",
            ask().message(Message::new(
                Role::User,
                ["And this?".into(), Image::base64("image/png", PNG).into()],
            )),
        ),
        (
            "an image there",
            ask().message(Message::new(
                Role::User,
                [Image::url("https://example.com/a.png").into()],
            )),
        ),
        ("stops", ask().stop("END").stop("\n\n")),
        ("tools", ask().tool(weather())),
        (
            "a strict tool",
            ask().tool(weather().strict()).tool_choice(ToolChoice::Auto),
        ),
        (
            "a tool that must be",
            ask()
                .tool(weather())
                .tool_choice(ToolChoice::Named("weather".into())),
        ),
        (
            "some tool",
            ask().tool(weather()).tool_choice(ToolChoice::Required),
        ),
        ("no tool", ask().tool(weather()).tool_choice(ToolChoice::None)),
        ("a schema", ask().json_schema("place", place)),
        ("thought", ask().reasoning(Effort::High)),
        ("no thought", ask().reasoning(Effort::Off)),
        (
            "all that can be left out",
            ask()
                .temperature(0.7)
                .top_p(0.9)
                .seed(7)
                .json()
                .tool(weather())
                .tool_turns(ToolTurns::OneByOne)
                .choices(2)
                .reasoning(Effort::Minimal)
                .unsupported(Unsupported::LeaveOut),
        ),
        (
            "with more",
            match dialect {
                Dialect::OpenAi => ask()
                    .extra("service_tier", "flex")
                    .extra("logit_bias", json!({ "50256": -100 })),
                Dialect::Anthropic => ask()
                    .extra("metadata", json!({ "user_id": "u" }))
                    .extra("output_config", json!({ "effort": "low" })),
                _ => ask()
                    .extra("generationConfig", json!({ "topK": 3 }))
                    .extra("labels", json!({ "team": "sea" })),
            },
        ),
    ];
    if dialect != Dialect::Anthropic {
        chats.push(("drawn", ask().temperature(0.7).top_p(0.9).seed(7)));
        chats.push(("json", ask().json()));
    }
    if dialect != Dialect::Gemini {
        chats.push(("one tool", ask().tool(weather()).tool_turns(ToolTurns::OneByOne)));
    }
    chats
}

/// A server that speaks a dialect.
struct Provider {
    dialect: Dialect,
    path: &'static str,
    upstream: Upstream,
}

impl Provider {
    async fn send(&self, operation: Operation<'_>, body: Bytes) -> Outcome<Bytes> {
        let path = self
            .dialect
            .path(self.path, operation)
            .ok_or("there is no such path")?;
        let mut call = match operation {
            Operation::Models => Call::get(path),
            _ => Call::post_json(path, body),
        };
        for (name, value) in self.dialect.headers() {
            call = call.with_header(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        Ok(self.upstream.call(call).await?.body)
    }

    /// Asks twice, whole and in pieces: both must say the same.
    async fn chat(&self, chat: &Chat) -> Outcome<ChatAnswer> {
        let model = chat.model.as_str();
        let delivery = Delivery::Whole;
        let body = self.dialect.encode(chat, delivery)?.body;
        let whole = self
            .dialect
            .decode(&self.send(Operation::Chat { model, delivery }, body).await?)?;
        let delivery = Delivery::Stream;
        let body = self.dialect.encode(chat, delivery)?.body;
        let events = self.send(Operation::Chat { model, delivery }, body).await?;
        let told = assembled(self.dialect.stream(), &events)?.into_answer();
        same("id", &whole.id, &told.id)?;
        same("model", &whole.model, &told.model)?;
        same("message", &whole.message, &told.message)?;
        same("finish", &whole.finish, &told.finish)?;
        same("usage", &whole.usage, &told.usage)?;
        let calls = chat.tools.is_empty() || chat.tool_choice == Some(ToolChoice::None);
        same(
            "finish",
            &whole.finish,
            &if calls { Finish::Stop } else { Finish::ToolCalls },
        )?;
        same("calls", &whole.tool_calls().count(), &if calls { 0 } else { 2 })?;
        let usage = whole.usage.ok_or("no usage was told")?;
        same(
            "tokens",
            &(usage.input, usage.output, usage.cached, usage.reasoning),
            &(31, 17, 11, 5),
        )?;
        Ok(whole)
    }

    /// A talk with two calls of tools at once, whose answer goes back as it came.
    async fn talk(&self) -> Outcome<Chat> {
        let chat = Chat::new("m")
            .user("Where is it warmer?")
            .max_tokens(100)
            .tool(weather());
        let answer = self.chat(&chat).await?;
        let is_thought = |part: &&Part| matches!(part, Part::Thinking(_));
        // OpenAI's chats show no thoughts.
        let thinks = self.dialect != Dialect::OpenAi;
        same(
            "thoughts",
            &answer.message.parts.iter().any(|part| is_thought(&part)),
            &thinks,
        )?;
        let mut results = Vec::new();
        for call in answer.tool_calls() {
            let city: Value = call.parse()?;
            results.push(match city["city"] == "Oslo" {
                true => ToolResult::new(&call.id, "4 degrees"),
                false => ToolResult::failed(&call.id, "no such city"),
            });
        }
        let chat = chat.message(answer.message.clone());
        Ok(chat
            .messages(results.into_iter().map(Message::tool))
            .user("Well?"))
    }

    async fn others(&self) -> Outcome<()> {
        let models = self
            .dialect
            .decode_models(&self.send(Operation::Models, Bytes::new()).await?)?;
        same(
            "models",
            &models
                .models
                .iter()
                .map(|model| model.id.as_str())
                .collect::<Vec<_>>(),
            &vec!["m"],
        )?;
        if self.dialect != Dialect::Anthropic {
            for packing in [Packing::Numbers, Packing::Base64] {
                let call = Embeddings::new("e", ["a wall", "the sea"])
                    .dimensions(3)
                    .packing(packing);
                let body = self.dialect.encode_embeddings(&call)?.body;
                let body = self.send(Operation::Embeddings { model: "e" }, body).await?;
                let vectors = self.dialect.decode_embeddings(&body)?.vectors;
                same(
                    "vectors",
                    &vectors,
                    &vec![vec![0.5, -0.25, 1.0], vec![0.0, 2.0, -4.5]],
                )?;
            }
        }
        if self.dialect == Dialect::OpenAi {
            for (name, call) in responses() {
                self.respond(&call)
                    .await
                    .map_err(|error| format!("responses, {name}: {error}"))?;
            }
            let call = Responses::new("m").user("Where is it warmer?").tool(weather());
            let answer = self.respond(&call).await?;
            let results: Vec<_> = answer
                .tool_calls()
                .map(|call| Message::tool(ToolResult::new(&call.id, "4")))
                .collect();
            same("calls", &results.len(), &2)?;
            self.respond(&call.message(answer.message.clone()).messages(results))
                .await?;
        }
        Ok(())
    }

    async fn respond(&self, call: &Responses) -> Outcome<ResponsesAnswer> {
        let body = self.dialect.encode_responses(call, Delivery::Whole)?.body;
        let whole = self
            .dialect
            .decode_responses(&self.send(Operation::Responses, body).await?)?;
        let body = self.dialect.encode_responses(call, Delivery::Stream)?.body;
        let events = self.send(Operation::Responses, body).await?;
        let told = assembled(self.dialect.stream_responses(), &events)?.into_answer();
        same("message", &whole.message, &told.message)?;
        same("finish", &whole.finish, &told.finish)?;
        same("usage", &whole.usage, &told.usage)?;
        Ok(whole)
    }
}

fn responses() -> Vec<(&'static str, Responses)> {
    let ask = || Responses::new("m").user("What is a seawall?");
    let place = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    vec![
        ("plain", ask()),
        (
            "with everything",
            ask()
                .instructions("Be brief.")
                .temperature(0.7)
                .top_p(0.9)
                .max_tokens(100)
                .reasoning(Effort::Low)
                .storage(Storage::Forgotten)
                .previous("resp_0")
                .extra("metadata", json!({ "a": "b" })),
        ),
        (
            "by several",
            ask()
                .message(Message::assistant("A wall."))
                .message(Message::system("Be polite."))
                .user("Why?"),
        ),
        (
            "images",
            ask().message(Message::new(
                Role::User,
                [
                    Image::base64("image/png", PNG).into(),
                    Image::url("https://example.com/a.png").into(),
                ],
            )),
        ),
        (
            "a tool that must be",
            ask()
                .tool(weather().strict())
                .tool_choice(ToolChoice::Named("weather".into()))
                .tool_turns(ToolTurns::OneByOne),
        ),
        ("a schema", ask().json_schema("place", place)),
        ("json", ask().json()),
        (
            "kept",
            ask().conversation("conv_1").background().storage(Storage::Kept),
        ),
    ]
}

/// What the events of a stream make.
fn assembled(mut stream: StreamDecoder, bytes: &[u8]) -> Outcome<Assembly> {
    let mut assembly = Assembly::new();
    for event in std::str::from_utf8(bytes)?
        .split("\n\n")
        .filter(|event| !event.is_empty())
    {
        let field = |name: &str| {
            event
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or("")
        };
        for delta in stream.event(field("event: "), field("data: ").as_bytes())? {
            assembly.push(delta);
        }
    }
    same("state", &stream.state(), &StreamState::Complete)?;
    Ok(assembly)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, one: &T, other: &T) -> Outcome<()> {
    match one == other {
        true => Ok(()),
        false => Err(format!("{what}: {one:?} is not {other:?}").into()),
    }
}
