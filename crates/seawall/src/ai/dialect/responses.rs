//! OpenAI's Responses on the wire.

mod answer;

pub(super) use answer::{ResponseStream, decode};

use super::Delivery;
use super::notes::{Notes, finite};
use super::openai::{effort, function, image_url};
use crate::ai::chat::Format;
use crate::ai::message::{Message, Part, Role};
use crate::ai::node::{Members, Node};
use crate::ai::responses::{Place, Responses, Storage};
use crate::ai::tool::{Obedience, ToolChoice, ToolResult, ToolStatus, ToolTurns};
use crate::ai::{Change, Dialect, EncodeError, Encoded};
use serde_json::{Value, json};

/// The body of a call.
pub(super) fn encode(call: &Responses, delivery: Delivery) -> Result<Encoded, EncodeError> {
    let mut notes = Notes::new(Dialect::OpenAi, Responses::UNSUPPORTED);
    let mut body = Members::new().with("model", call.model.as_str());
    body.put_some("instructions", call.instructions.as_deref());
    match call.input.as_slice() {
        // What follows a response or a stored prompt may say nothing of its own.
        [] => {}
        [
            Message {
                role: Role::User,
                parts,
                extra,
            },
        ] if extra.is_empty() && is_text(parts) => {
            let text = parts.iter().find_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Image(_)
                | Part::Thinking(_)
                | Part::Refusal(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::Other(_) => None,
            });
            body.put_some("input", text);
        }
        messages => {
            let mut items = Vec::new();
            for message in messages {
                write_items(message, &mut items, &mut notes)?;
            }
            body.put("input", items);
        }
    }
    body.put_some("temperature", finite("the temperature", call.temperature)?);
    body.put_some("top_p", finite("top_p", call.top_p)?);
    body.put_some("max_output_tokens", call.max_tokens.map(Value::from));
    put_tools(call, &mut body);
    body.put_some(
        "text",
        format(&call.format).map(|format| Members::new().with("format", format)),
    );
    body.put_some(
        "reasoning",
        call.reasoning
            .map(|hard| Members::new().with("effort", effort(hard))),
    );
    body.put_some("previous_response_id", call.previous.as_deref());
    body.put_some("conversation", call.conversation.as_deref());
    if call.place == Place::Background {
        body.put("background", json!(true));
    }
    body.put_some(
        "store",
        call.storage.map(|storage| match storage {
            Storage::Kept => json!(true),
            Storage::Forgotten => json!(false),
        }),
    );
    if delivery == Delivery::Stream {
        body.put("stream", json!(true));
    }
    Ok(notes.encoded(body, &call.extra))
}

fn is_text(parts: &[Part]) -> bool {
    matches!(parts, [Part::Text(_)])
}

fn put_tools<'a>(call: &'a Responses, body: &mut Members<'a>) {
    if !call.tools.is_empty() {
        let tools = call.tools.iter().map(|tool| {
            let mut members = function(tool, Members::typed("function"));
            if tool.obedience == Obedience::Default {
                // Here it must be said, and unsaid means yes.
                members.put("strict", json!(false));
            }
            members.into()
        });
        body.put("tools", tools.collect::<Vec<Node<'_>>>());
        if call.tool_turns == ToolTurns::OneByOne {
            body.put("parallel_tool_calls", json!(false));
        }
    }
    body.put_some(
        "tool_choice",
        call.tool_choice.as_ref().map(|choice| match choice {
            ToolChoice::Auto => Node::from("auto"),
            ToolChoice::None => Node::from("none"),
            ToolChoice::Required => Node::from("required"),
            ToolChoice::Named(name) => Members::typed("function").with("name", name.as_str()).into(),
        }),
    );
}

fn format(format: &Format) -> Option<Members<'_>> {
    match format {
        Format::Text => None,
        Format::Json => Some(Members::typed("json_object")),
        Format::Schema {
            name,
            schema,
            obedience,
        } => {
            let mut members = Members::typed("json_schema")
                .with("name", name.as_str())
                .with("schema", schema);
            if *obedience == Obedience::Strict {
                members.put("strict", json!(true));
            }
            Some(members)
        }
    }
}

/// A message as items: what is said, and each call and each result by itself, in their order.
fn write_items<'a>(
    message: &'a Message,
    items: &mut Vec<Node<'a>>,
    notes: &mut Notes,
) -> Result<(), EncodeError> {
    let mut said: Vec<Node<'a>> = Vec::new();
    for part in &message.parts {
        let item = match part {
            Part::Text(text) => match message.role {
                Role::Assistant => said_by_model(text),
                Role::System | Role::Developer | Role::User | Role::Tool => {
                    said.push(Members::typed("input_text").with("text", text.as_str()).into());
                    continue;
                }
            },
            Part::Image(image) => {
                let part = Members::typed("input_image")
                    .with("image_url", image_url(image))
                    .with("detail", image.detail.as_deref().unwrap_or("auto"));
                said.push(part.into());
                continue;
            }
            Part::Refusal(text) => {
                notes.changed(Change::Moved("a refusal, to a text"));
                said_by_model(text)
            }
            Part::Thinking(thinking) => {
                // What Responses thought stands beside it, as the item that it came in.
                if thinking.dialect != Some(Dialect::OpenAi) {
                    notes.left_out("what the model thought");
                }
                continue;
            }
            Part::ToolCall(call) => Members::typed("function_call")
                .with("call_id", call.id.as_str())
                .with("name", call.name.as_str())
                .with("arguments", call.arguments_or_empty())
                .into(),
            Part::ToolResult(result) => result_item(result, notes)?,
            Part::Other(part)
                if part["type"]
                    .as_str()
                    .is_some_and(|kind| kind.starts_with("input_")) =>
            {
                said.push(Node::Value(part.clone()));
                continue;
            }
            Part::Other(item) => Node::Value(item.clone()),
        };
        flush(message.role, &mut said, items, notes)?;
        items.push(item);
    }
    flush(message.role, &mut said, items, notes)
}

/// A text of the model's, as a message that has no id.
fn said_by_model(text: &str) -> Node<'_> {
    Members::typed("message")
        .with("role", "assistant")
        .with("content", text)
        .into()
}

fn flush<'a>(
    role: Role,
    said: &mut Vec<Node<'a>>,
    items: &mut Vec<Node<'a>>,
    notes: &Notes,
) -> Result<(), EncodeError> {
    if said.is_empty() {
        return Ok(());
    }
    if role == Role::Tool {
        return Err(notes.missing(
            "the call that a tool message answers",
            "make the message with `Message::tool`",
        ));
    }
    items.push(
        Members::typed("message")
            .with("role", role.name())
            .with("content", std::mem::take(said))
            .into(),
    );
    Ok(())
}

fn result_item<'a>(result: &'a ToolResult, notes: &mut Notes) -> Result<Node<'a>, EncodeError> {
    if result.status == ToolStatus::Failed {
        notes.left_out("the mark of a failed tool");
    }
    let item = Members::typed("function_call_output").with("call_id", result.id.as_str());
    if let [Part::Text(text)] = result.parts.as_slice() {
        return Ok(item.with("output", text.as_str()).into());
    }
    let mut parts: Vec<Node<'_>> = Vec::new();
    for part in &result.parts {
        match part {
            Part::Text(text) => parts.push(Members::typed("input_text").with("text", text.as_str()).into()),
            Part::Image(image) => {
                parts.push(
                    Members::typed("input_image")
                        .with("image_url", image_url(image))
                        .into(),
                );
            }
            Part::Other(value) => parts.push(value.clone().into()),
            Part::Refusal(_) | Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => {
                let what = "a part of a tool's result that is neither text nor image";
                notes.unsupported(what, "say it in text")?;
            }
        }
    }
    Ok(item.with("output", parts).into())
}
