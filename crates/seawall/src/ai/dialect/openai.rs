//! OpenAI's chat completions, which many others speak as well.

mod answer;
mod stream;

pub(super) use answer::decode;
pub(super) use stream::ChatStream;

use super::Delivery;
use super::notes::{Notes, finite, several};
use crate::ai::chat::{Chat, Effort, Format, LimitKey};
use crate::ai::message::{Image, ImageSource, Message, Part, Role};
use crate::ai::node::{Members, Node};
use crate::ai::tool::{Obedience, Tool, ToolCall, ToolChoice, ToolResult, ToolStatus, ToolTurns};
use crate::ai::{Dialect, EncodeError, Encoded};
use serde_json::{Value, json};

/// The body of a chat.
pub(super) fn encode(chat: &Chat, delivery: Delivery) -> Result<Encoded, EncodeError> {
    let mut notes = Notes::new(Dialect::OpenAi, chat.unsupported);
    let mut body = Members::new().with("model", chat.model.as_str());
    let mut messages = Vec::new();
    for message in &chat.messages {
        write_message(message, &mut messages, &mut notes)?;
    }
    if messages.is_empty() {
        return Err(notes.missing("a message", "say something to the model"));
    }
    body.put("messages", messages);
    body.put_some("temperature", finite("the temperature", chat.temperature)?);
    body.put_some("top_p", finite("top_p", chat.top_p)?);
    body.put_some(limit_key(chat), chat.max_tokens.map(Value::from));
    if !chat.stop.is_empty() {
        body.put("stop", json!(chat.stop));
    }
    body.put_some("seed", chat.seed.map(Value::from));
    match (several(chat), delivery) {
        (Some(choices), Delivery::Whole) => body.put("n", json!(choices)),
        (Some(_), Delivery::Stream) => notes.unsupported("several answers in one stream", "ask for one")?,
        (None, _) => {}
    }
    put_tools(chat, &mut body);
    body.put_some("response_format", format(&chat.format));
    body.put_some("reasoning_effort", chat.reasoning.map(effort));
    if delivery == Delivery::Stream {
        body.put("stream", json!(true));
        body.put(
            "stream_options",
            Members::new().with("include_usage", json!(true)),
        );
    }
    Ok(notes.encoded(body, &chat.extra))
}

/// The name of the limit; see [`LimitKey`].
fn limit_key(chat: &Chat) -> &'static str {
    let newer = match chat.limit_key {
        LimitKey::MaxCompletionTokens => true,
        LimitKey::MaxTokens => false,
        LimitKey::ByModel => is_openais(&chat.model),
    };
    match newer {
        true => "max_completion_tokens",
        false => "max_tokens",
    }
}

/// Whether a model has one of OpenAI's names. `gpt-oss` is open and runs at servers of all kinds.
fn is_openais(model: &str) -> bool {
    let name = model.strip_prefix("openai/").unwrap_or(model);
    let mut letters = name.bytes();
    let is_o = letters.next() == Some(b'o') && letters.next().is_some_and(|byte| byte.is_ascii_digit());
    let known = ["gpt-", "chatgpt-", "codex-", "computer-use-", "ft:"];
    is_o || (known.iter().any(|start| name.starts_with(start)) && !name.starts_with("gpt-oss"))
}

fn put_tools<'a>(chat: &'a Chat, body: &mut Members<'a>) {
    if !chat.tools.is_empty() {
        let tools = chat.tools.iter().map(|tool| {
            let function = function(tool, Members::new());
            Members::typed("function").with("function", function).into()
        });
        body.put("tools", tools.collect::<Vec<Node<'_>>>());
    }
    body.put_some(
        "tool_choice",
        chat.tool_choice.as_ref().map(|choice| match choice {
            ToolChoice::Auto => Node::from("auto"),
            ToolChoice::None => Node::from("none"),
            ToolChoice::Required => Node::from("required"),
            ToolChoice::Named(name) => Members::typed("function")
                .with("function", Members::new().with("name", name.as_str()))
                .into(),
        }),
    );
    // OpenAI refuses the word where there are no tools.
    if !chat.tools.is_empty() && chat.tool_turns == ToolTurns::OneByOne {
        body.put("parallel_tool_calls", json!(false));
    }
}

/// A function, behind the members that are there.
pub(super) fn function<'a>(tool: &'a Tool, mut members: Members<'a>) -> Members<'a> {
    members.put("name", tool.name.as_str());
    members.put_some("description", tool.description.as_deref());
    members.put("parameters", &tool.parameters);
    if tool.obedience == Obedience::Strict {
        members.put("strict", json!(true));
    }
    members
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
            let mut inner = Members::new().with("name", name.as_str()).with("schema", schema);
            if *obedience == Obedience::Strict {
                inner.put("strict", json!(true));
            }
            Some(Members::typed("json_schema").with("json_schema", inner))
        }
    }
}

pub(super) const fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::Off => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::XHigh => "xhigh",
        Effort::Max => "max",
    }
}

/// One message of ours may be several of theirs: each result of a tool is a message of its own there.
fn write_message<'a>(
    message: &'a Message,
    out: &mut Vec<Node<'a>>,
    notes: &mut Notes,
) -> Result<(), EncodeError> {
    for result in message.tool_results() {
        out.push(tool_message(result, notes)?.into());
    }
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    for part in &message.parts {
        match part {
            Part::Text(_) | Part::Image(_) | Part::Refusal(_) => content.push(part),
            Part::ToolCall(call) => calls.push(tool_call(call, notes).into()),
            Part::Other(value) if value["type"] == "custom" => calls.push(Node::Value(value.clone())),
            Part::Other(_) => content.push(part),
            Part::Thinking(_) => notes.left_out("what the model thought"),
            Part::ToolResult(_) => {}
        }
    }
    if content.is_empty() && calls.is_empty() && message.tool_results().next().is_some() {
        return Ok(());
    }
    if message.role == Role::Tool {
        return Err(notes.missing(
            "the call that a tool message answers",
            "make the message with `Message::tool`",
        ));
    }
    let mut members = Members::new().with("role", message.role.name());
    match content.as_slice() {
        [] if calls.is_empty() => members.put("content", ""),
        [] => members.put("content", Value::Null),
        [Part::Text(text)] => members.put("content", text.as_str()),
        parts => members.put(
            "content",
            parts.iter().map(|part| content_part(part)).collect::<Vec<_>>(),
        ),
    }
    if !calls.is_empty() {
        members.put("tool_calls", calls);
    }
    for (key, value) in &message.extra {
        members.lay(key, value);
    }
    out.push(members.into());
    Ok(())
}

fn content_part(part: &Part) -> Node<'_> {
    match part {
        Part::Text(text) => Members::typed("text").with("text", text.as_str()).into(),
        Part::Image(image) => image_part(image),
        Part::Refusal(text) => Members::typed("refusal").with("refusal", text.as_str()).into(),
        Part::Other(value) => Node::Value(value.clone()),
        // Calls, results and thoughts stand elsewhere.
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => Node::Value(Value::Null),
    }
}

fn image_part(image: &Image) -> Node<'_> {
    let mut link = Members::new().with("url", image_url(image));
    link.put_some("detail", image.detail.as_deref());
    Members::typed("image_url").with("image_url", link).into()
}

/// An image's address, or the image itself as one.
pub(super) fn image_url(image: &Image) -> Node<'_> {
    match &image.source {
        ImageSource::Url(url) => url.as_str().into(),
        ImageSource::Base64 { media_type, data } => format!("data:{media_type};base64,{data}").into(),
    }
}

fn tool_call<'a>(call: &'a ToolCall, notes: &mut Notes) -> Members<'a> {
    if call.signature.is_some() {
        notes.left_out("the seal of a thought");
    }
    let function = Members::new()
        .with("name", call.name.as_str())
        .with("arguments", call.arguments_or_empty());
    Members::new()
        .with("id", call.id.as_str())
        .with("type", "function")
        .with("function", function)
}

fn tool_message<'a>(result: &'a ToolResult, notes: &mut Notes) -> Result<Members<'a>, EncodeError> {
    if result.status == ToolStatus::Failed {
        notes.left_out("the mark of a failed tool");
    }
    let mut parts = Vec::new();
    for part in &result.parts {
        match part {
            Part::Text(_) | Part::Other(_) => parts.push(part),
            Part::Image(_) => notes.unsupported(
                "an image that a tool gave",
                "say it in text, or send the image as the user",
            )?,
            Part::Refusal(_) | Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => {
                notes.unsupported("a part of a tool's result that is no text", "say it in text")?;
            }
        }
    }
    let content = match parts.as_slice() {
        [] => Node::from(""),
        [Part::Text(text)] => text.as_str().into(),
        parts => parts
            .iter()
            .map(|part| content_part(part))
            .collect::<Vec<_>>()
            .into(),
    };
    Ok(Members::new()
        .with("role", "tool")
        .with("tool_call_id", result.id.as_str())
        .with("content", content))
}
