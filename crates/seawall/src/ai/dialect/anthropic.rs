//! Anthropic's messages.

mod answer;
mod stream;

pub(super) use answer::decode;
pub(super) use stream::MessageStream;

use super::Delivery;
use super::notes::{Notes, several};
use crate::ai::chat::{Chat, Effort, Format};
use crate::ai::message::{Image, ImageSource, Message, Part, Role, Thinking};
use crate::ai::node::{Members, Node};
use crate::ai::tool::{Obedience, ToolChoice, ToolResult, ToolStatus, ToolTurns};
use crate::ai::{Change, Dialect, EncodeError, Encoded};
use serde_json::json;
use std::borrow::Cow;

/// The limit of an answer's tokens where the chat has none, since Anthropic must have one: 4 096, what even its oldest
/// models can say at once.
pub const ANTHROPIC_MAX_TOKENS_DEFAULT: u32 = 4_096;

/// The body of a chat.
pub(super) fn encode(chat: &Chat, delivery: Delivery) -> Result<Encoded, EncodeError> {
    let mut notes = Notes::new(Dialect::Anthropic, chat.unsupported);
    unsupported(chat, &mut notes)?;
    let max_tokens = chat.max_tokens.unwrap_or_else(|| {
        notes.changed(Change::Filled("max_tokens is 4096, as none was given"));
        ANTHROPIC_MAX_TOKENS_DEFAULT
    });
    let mut body = Members::new()
        .with("model", chat.model.as_str())
        .with("max_tokens", json!(max_tokens));
    body.put_some("system", system(chat, &mut notes));
    let messages = messages(chat, &mut notes)?;
    if messages.is_empty() {
        return Err(notes.missing("a message that is not the system's", "say something to the model"));
    }
    body.put("messages", messages);
    if !chat.stop.is_empty() {
        body.put("stop_sequences", json!(chat.stop));
    }
    put_tools(chat, &mut body);
    put_output(chat, &mut body, &mut notes)?;
    if delivery == Delivery::Stream {
        body.put("stream", json!(true));
    }
    Ok(notes.encoded(body, &chat.extra))
}

/// What its current API has no words for: its libraries of 2026 have no such members any more.
fn unsupported(chat: &Chat, notes: &mut Notes) -> Result<(), EncodeError> {
    if chat.temperature.is_some() {
        let instead = "leave it out, or give it to an older model by `extra_for(Dialect::Anthropic, \"temperature\", …)`";
        notes.unsupported("a temperature", instead)?;
    }
    if chat.top_p.is_some() {
        let instead =
            "leave it out, or give it to an older model by `extra_for(Dialect::Anthropic, \"top_p\", …)`";
        notes.unsupported("top_p", instead)?;
    }
    if chat.seed.is_some() {
        notes.unsupported("a seed", "leave it out")?;
    }
    if several(chat).is_some() {
        notes.unsupported("several answers to one call", "call it several times")?;
    }
    Ok(())
}

/// What the system says stands apart from the messages, whenever it was said.
fn system<'a>(chat: &'a Chat, notes: &mut Notes) -> Option<Node<'a>> {
    let is_system = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
    let begun = chat.messages.iter().skip_while(is_system);
    if begun.filter(is_system).count() > 0 {
        notes.changed(Change::Moved("a system message, to the top"));
    }
    let mut blocks: Vec<Node<'_>> = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    for part in chat
        .messages
        .iter()
        .filter(is_system)
        .flat_map(|message| &message.parts)
    {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => {
                texts.push(text);
                blocks.push(text_block(text));
            }
            Part::Other(value) => blocks.push(value.clone().into()),
            Part::Image(_)
            | Part::Thinking(_)
            | Part::Refusal(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_) => {
                notes.left_out("a part of a system message that is no text");
            }
        }
    }
    match (blocks.len(), texts.as_slice()) {
        (0, _) => None,
        (1, [text]) => Some(Node::from(*text)),
        (_, _) => Some(blocks.into()),
    }
}

/// The messages of user and model, by turns: what one of them says in several is one.
fn messages<'a>(chat: &'a Chat, notes: &mut Notes) -> Result<Vec<Node<'a>>, EncodeError> {
    let mut turns: Vec<(&'static str, Vec<Block<'a>>)> = Vec::new();
    for message in &chat.messages {
        let role = match message.role {
            Role::System | Role::Developer => continue,
            Role::User | Role::Tool => "user",
            Role::Assistant => "assistant",
        };
        if !message.extra.is_empty() {
            notes.left_out("members of a message that OpenAI alone knows");
        }
        let mut blocks = Vec::new();
        for part in &message.parts {
            blocks.extend(block(message.role, part, notes)?);
        }
        // An empty message is refused, and says nothing.
        if blocks.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(blocks),
            Some(_) | None => turns.push((role, blocks)),
        }
    }
    Ok(turns
        .into_iter()
        .map(|(role, blocks)| turn(role, blocks))
        .collect())
}

fn turn<'a>(role: &'static str, mut blocks: Vec<Block<'a>>) -> Node<'a> {
    // Results must come first; among themselves, and the rest among itself, they stay as they are.
    blocks.sort_by_key(|block| match block {
        Block::Result(_) => 0,
        Block::Text(_) | Block::Else(_) => 1,
    });
    let message = Members::new().with("role", role);
    match blocks.as_slice() {
        [Block::Text(text)] => message.with("content", *text).into(),
        _ => {
            let blocks = blocks.into_iter().map(|block| match block {
                Block::Text(text) => text_block(text),
                Block::Result(node) | Block::Else(node) => node,
            });
            message.with("content", blocks.collect::<Vec<_>>()).into()
        }
    }
}

/// A block, as far as its place in a message goes.
enum Block<'a> {
    Text(&'a str),
    Result(Node<'a>),
    Else(Node<'a>),
}

fn block<'a>(role: Role, part: &'a Part, notes: &mut Notes) -> Result<Option<Block<'a>>, EncodeError> {
    Ok(Some(match part {
        // An empty text is refused, and says nothing.
        Part::Text(text) if text.is_empty() => return Ok(None),
        Part::Text(text) => Block::Text(text),
        Part::Refusal(text) => {
            notes.changed(Change::Moved("a refusal, to a text"));
            Block::Text(text)
        }
        Part::Image(image) => Block::Else(image_block(image, notes)),
        Part::Thinking(thinking) => match thinking_block(role, thinking) {
            Some(block) => Block::Else(block),
            None => {
                notes.left_out("what the model thought");
                return Ok(None);
            }
        },
        Part::ToolCall(call) => {
            if call.signature.is_some() {
                notes.left_out("the seal of a thought");
            }
            let input = notes.arguments(call)?;
            let block = Members::typed("tool_use")
                .with("id", tool_id(&call.id))
                .with("name", call.name.as_str())
                .with("input", input);
            Block::Else(block.into())
        }
        Part::ToolResult(result) => Block::Result(result_block(result, notes)?),
        Part::Other(value) => Block::Else(value.clone().into()),
    }))
}

fn text_block(text: &str) -> Node<'_> {
    Members::typed("text").with("text", text).into()
}

fn image_block<'a>(image: &'a Image, notes: &mut Notes) -> Node<'a> {
    if image.detail.is_some() {
        notes.left_out("how closely an image is looked at");
    }
    let source = match &image.source {
        ImageSource::Url(url) => Members::typed("url").with("url", url.as_str()),
        ImageSource::Base64 { media_type, data } => Members::typed("base64")
            .with("media_type", media_type.as_str())
            .with("data", data.as_str()),
    };
    Members::typed("image").with("source", source).into()
}

/// A thought of its own, with the seal without which it is refused.
fn thinking_block(role: Role, thinking: &Thinking) -> Option<Node<'_>> {
    if role != Role::Assistant || thinking.dialect.is_some_and(|whose| whose != Dialect::Anthropic) {
        return None;
    }
    if let Some(data) = &thinking.redacted {
        return Some(
            Members::typed("redacted_thinking")
                .with("data", data.as_str())
                .into(),
        );
    }
    let signature = thinking.signature.as_deref()?;
    let block = Members::typed("thinking")
        .with("thinking", thinking.text.as_str())
        .with("signature", signature);
    Some(block.into())
}

/// An id of a call in the letters that Anthropic takes; others, of another provider's ids, become `_`.
fn tool_id(id: &str) -> Cow<'_, str> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match id.chars().all(fits) {
        true => Cow::Borrowed(id),
        false => Cow::Owned(
            id.chars()
                .map(|letter| if fits(letter) { letter } else { '_' })
                .collect(),
        ),
    }
}

fn result_block<'a>(result: &'a ToolResult, notes: &mut Notes) -> Result<Node<'a>, EncodeError> {
    let mut block = Members::typed("tool_result").with("tool_use_id", tool_id(&result.id));
    match result.parts.as_slice() {
        [] => {}
        [Part::Text(text)] => block.put("content", text.as_str()),
        parts => {
            let mut content: Vec<Node<'_>> = Vec::new();
            for part in parts {
                match part {
                    Part::Text(text) if text.is_empty() => {}
                    Part::Text(text) => content.push(text_block(text)),
                    Part::Image(image) => content.push(image_block(image, notes)),
                    Part::Other(value) => content.push(value.clone().into()),
                    Part::Refusal(_) | Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => {
                        let what = "a part of a tool's result that is neither text nor image";
                        notes.unsupported(what, "say it in text")?;
                    }
                }
            }
            block.put("content", content);
        }
    }
    if result.status == ToolStatus::Failed {
        block.put("is_error", json!(true));
    }
    Ok(block.into())
}

fn put_tools<'a>(chat: &'a Chat, body: &mut Members<'a>) {
    if !chat.tools.is_empty() {
        let tools = chat.tools.iter().map(|tool| {
            let mut members = Members::new().with("name", tool.name.as_str());
            members.put_some("description", tool.description.as_deref());
            members.put("input_schema", &tool.parameters);
            if tool.obedience == Obedience::Strict {
                members.put("strict", json!(true));
            }
            members.into()
        });
        body.put("tools", tools.collect::<Vec<Node<'_>>>());
    }
    let one_by_one = !chat.tools.is_empty() && chat.tool_turns == ToolTurns::OneByOne;
    let choice = match &chat.tool_choice {
        None if one_by_one => Some(Members::typed("auto")),
        None => None,
        Some(ToolChoice::Auto) => Some(Members::typed("auto")),
        Some(ToolChoice::Required) => Some(Members::typed("any")),
        Some(ToolChoice::Named(name)) => Some(Members::typed("tool").with("name", name.as_str())),
        Some(ToolChoice::None) => {
            body.put("tool_choice", Members::typed("none"));
            return;
        }
    };
    if let Some(mut choice) = choice {
        if one_by_one {
            choice.put("disable_parallel_tool_use", json!(true));
        }
        body.put("tool_choice", choice);
    }
}

/// How hard it thinks, and what it writes in.
fn put_output<'a>(chat: &'a Chat, body: &mut Members<'a>, notes: &mut Notes) -> Result<(), EncodeError> {
    let mut output = Members::new();
    if let Some(effort) = chat.reasoning {
        let effort = match effort {
            Effort::Off => None,
            Effort::Minimal => {
                notes.unsupported("minimal reasoning", "choose `Effort::Off` or `Effort::Low`")?;
                return put_format(chat, output, body, notes);
            }
            Effort::Low => Some("low"),
            Effort::Medium => Some("medium"),
            Effort::High => Some("high"),
            Effort::XHigh => Some("xhigh"),
            Effort::Max => Some("max"),
        };
        let thinks = if effort.is_some() { "adaptive" } else { "disabled" };
        body.put("thinking", Members::typed(thinks));
        output.put_some("effort", effort);
    }
    put_format(chat, output, body, notes)
}

fn put_format<'a>(
    chat: &'a Chat,
    mut output: Members<'a>,
    body: &mut Members<'a>,
    notes: &mut Notes,
) -> Result<(), EncodeError> {
    match &chat.format {
        Format::Text => {}
        Format::Json => notes.unsupported("JSON without a schema", "give a schema (`Chat::json_schema`)")?,
        // Here a schema has no name and is followed to the letter.
        Format::Schema { schema, .. } => {
            output.put("format", Members::typed("json_schema").with("schema", schema));
        }
    }
    if !output.is_empty() {
        body.put("output_config", output);
    }
    Ok(())
}
