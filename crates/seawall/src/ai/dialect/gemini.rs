//! Gemini's content.

mod answer;

pub(super) use answer::{ContentStream, decode};

use super::Delivery;
use super::notes::{Notes, finite, several};
use crate::ai::chat::{Chat, Effort, Format};
use crate::ai::message::{Image, ImageSource, Message, Part, Role, Thinking};
use crate::ai::node::{Members, Node};
use crate::ai::tool::{Obedience, ToolChoice, ToolResult, ToolStatus, ToolTurns};
use crate::ai::{Change, Dialect, EncodeError, Encoded};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How the ids begin that are made up for calls without one; they are not sent back.
pub(super) const MADE_UP_ID: &str = "seawall_call_";

/// The body of a chat. How it is delivered stands in the address.
pub(super) fn encode(chat: &Chat, delivery: Delivery) -> Result<Encoded, EncodeError> {
    let mut notes = Notes::new(Dialect::Gemini, chat.unsupported);
    let mut body = Members::new();
    body.put_some("systemInstruction", system(chat, &mut notes));
    let contents = contents(chat, &mut notes)?;
    if contents.is_empty() {
        return Err(notes.missing("a message that is not the system's", "say something to the model"));
    }
    body.put("contents", contents);
    put_tools(chat, &mut body, &mut notes)?;
    let config = config(chat, delivery, &mut notes)?;
    // Empty where nothing is asked for, and then left away, unless the caller lays something into it.
    let laid = chat.extra.iter().any(|extra| extra.key == "generationConfig");
    if !config.is_empty() || laid {
        body.put("generationConfig", config);
    }
    Ok(notes.encoded(body, &chat.extra))
}

fn system<'a>(chat: &'a Chat, notes: &mut Notes) -> Option<Members<'a>> {
    let is_system = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
    let begun = chat.messages.iter().skip_while(is_system);
    if begun.filter(is_system).count() > 0 {
        notes.changed(Change::Moved("a system message, to the top"));
    }
    let mut parts: Vec<Node<'_>> = Vec::new();
    for part in chat
        .messages
        .iter()
        .filter(is_system)
        .flat_map(|message| &message.parts)
    {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => parts.push(text_part(text)),
            Part::Other(value) => parts.push(value.clone().into()),
            Part::Image(_)
            | Part::Thinking(_)
            | Part::Refusal(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_) => {
                notes.left_out("a part of a system message that is no text");
            }
        }
    }
    (!parts.is_empty()).then(|| Members::new().with("parts", parts))
}

/// What user and model said, by turns: the results of parallel calls must come together.
fn contents<'a>(chat: &'a Chat, notes: &mut Notes) -> Result<Vec<Node<'a>>, EncodeError> {
    let mut names = BTreeMap::new();
    let mut turns: Vec<(&'static str, Vec<Node<'a>>)> = Vec::new();
    for message in &chat.messages {
        let role = match message.role {
            Role::System | Role::Developer => continue,
            Role::User | Role::Tool => "user",
            Role::Assistant => "model",
        };
        if !message.extra.is_empty() {
            notes.left_out("members of a message that OpenAI alone knows");
        }
        for call in message.tool_calls() {
            names.insert(call.id.as_str(), call.name.as_str());
        }
        let mut parts = Vec::new();
        for part in &message.parts {
            parts.extend(part_node(part, &names, notes)?);
        }
        if parts.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            Some(_) | None => turns.push((role, parts)),
        }
    }
    let turns = turns.into_iter();
    Ok(turns
        .map(|(role, parts)| Members::new().with("role", role).with("parts", parts).into())
        .collect())
}

fn part_node<'a>(
    part: &'a Part,
    names: &BTreeMap<&'a str, &'a str>,
    notes: &mut Notes,
) -> Result<Option<Node<'a>>, EncodeError> {
    Ok(Some(match part {
        Part::Text(text) if text.is_empty() => return Ok(None),
        Part::Text(text) => text_part(text),
        Part::Refusal(text) => {
            notes.changed(Change::Moved("a refusal, to a text"));
            text_part(text)
        }
        Part::Image(image) => image_part(image, notes),
        Part::Thinking(thinking) => match thinking_part(thinking) {
            Some(part) => part,
            None => {
                notes.left_out("what the model thought");
                return Ok(None);
            }
        },
        Part::ToolCall(call) => {
            let mut function = Members::new();
            function.put_some("id", own_id(&call.id));
            function.put("name", call.name.as_str());
            function.put("args", notes.arguments(call)?);
            let mut part = Members::new().with("functionCall", function);
            part.put_some("thoughtSignature", call.signature.as_deref());
            part.into()
        }
        Part::ToolResult(result) => {
            let name = result
                .name
                .as_deref()
                .or_else(|| names.get(result.id.as_str()).copied());
            let name = name.ok_or_else(|| {
                notes.missing(
                    "the name of the tool that gave a result",
                    "keep the call that it answers in the chat, or name it (`ToolResult::named`)",
                )
            })?;
            result_part(result, name, notes)?
        }
        Part::Other(value) => value.clone().into(),
    }))
}

fn text_part(text: &str) -> Node<'_> {
    Members::new().with("text", text).into()
}

/// An id that the provider gave.
fn own_id(id: &str) -> Option<&str> {
    Some(id).filter(|id| !id.is_empty() && !id.starts_with(MADE_UP_ID))
}

fn image_part<'a>(image: &'a Image, notes: &mut Notes) -> Node<'a> {
    if image.detail.is_some() {
        notes.left_out("how closely an image is looked at");
    }
    match &image.source {
        ImageSource::Url(url) => {
            let mut file = Members::new().with("fileUri", url.as_str());
            file.put_some("mimeType", media_type(url));
            Members::new().with("fileData", file).into()
        }
        ImageSource::Base64 { media_type, data } => {
            Members::new().with("inlineData", blob(media_type, data)).into()
        }
    }
}

fn blob<'a>(media_type: &'a str, data: &'a str) -> Members<'a> {
    Members::new().with("mimeType", media_type).with("data", data)
}

/// What an image's address says that it is.
fn media_type(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let (_, ending) = path.rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "webp" => Some("image/webp"),
        "gif" => Some("image/gif"),
        "heic" => Some("image/heic"),
        "heif" => Some("image/heif"),
        _ => None,
    }
}

/// A thought of its own. A seal without a thought stands on an empty text, as a stream ends with one.
fn thinking_part(thinking: &Thinking) -> Option<Node<'_>> {
    if thinking.dialect != Some(Dialect::Gemini) {
        return None;
    }
    let mut part = Members::new().with("text", thinking.text.as_str());
    if !thinking.text.is_empty() {
        part.put("thought", json!(true));
    }
    part.put_some("thoughtSignature", thinking.signature.as_deref());
    Some(part.into())
}

/// What a tool gave. Gemini wants an object: a text is its `output`, or its `error`.
fn result_part<'a>(
    result: &'a ToolResult,
    name: &'a str,
    notes: &mut Notes,
) -> Result<Node<'a>, EncodeError> {
    let mut media: Vec<Node<'_>> = Vec::new();
    for part in &result.parts {
        match part {
            Part::Text(_) => {}
            Part::Other(value) => media.push(value.clone().into()),
            Part::Image(Image {
                source: ImageSource::Base64 { media_type, data },
                ..
            }) => media.push(Members::new().with("inlineData", blob(media_type, data)).into()),
            Part::Image(_) => {
                notes.unsupported("the address of an image that a tool gave", "send the image along")?
            }
            Part::Refusal(_) | Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => {
                let what = "a part of a tool's result that is neither text nor image";
                notes.unsupported(what, "say it in text")?;
            }
        }
    }
    let outcome = match result.status {
        ToolStatus::Worked => "output",
        ToolStatus::Failed => "error",
    };
    let mut response = Members::new();
    response.put_some("id", own_id(&result.id));
    response.put("name", name);
    response.put("response", Members::new().with(outcome, result.text()));
    if !media.is_empty() {
        response.put("parts", media);
    }
    Ok(Members::new().with("functionResponse", response).into())
}

fn put_tools<'a>(chat: &'a Chat, body: &mut Members<'a>, notes: &mut Notes) -> Result<(), EncodeError> {
    if !chat.tools.is_empty() {
        if chat.tools.iter().any(|tool| tool.obedience == Obedience::Strict) {
            notes.left_out("that a tool's schema is followed to the letter");
        }
        let tools = chat.tools.iter().map(|tool| {
            let mut members = Members::new().with("name", tool.name.as_str());
            members.put_some("description", tool.description.as_deref());
            members.put("parametersJsonSchema", &tool.parameters);
            members.into()
        });
        let tools = Members::new().with("functionDeclarations", tools.collect::<Vec<Node<'_>>>());
        body.put("tools", vec![Node::from(tools)]);
        if chat.tool_turns == ToolTurns::OneByOne {
            notes.unsupported("one tool at a time", "take the calls of an answer one by one")?;
        }
    }
    if let Some(choice) = &chat.tool_choice {
        let mut calling = Members::new().with(
            "mode",
            match choice {
                ToolChoice::Auto => "AUTO",
                ToolChoice::None => "NONE",
                ToolChoice::Required | ToolChoice::Named(_) => "ANY",
            },
        );
        if let ToolChoice::Named(name) = choice {
            calling.put("allowedFunctionNames", json!([name]));
        }
        body.put(
            "toolConfig",
            Members::new().with("functionCallingConfig", calling),
        );
    }
    Ok(())
}

fn config<'a>(chat: &'a Chat, delivery: Delivery, notes: &mut Notes) -> Result<Members<'a>, EncodeError> {
    let mut config = Members::new();
    config.put_some("temperature", finite("the temperature", chat.temperature)?);
    config.put_some("topP", finite("top_p", chat.top_p)?);
    config.put_some("maxOutputTokens", chat.max_tokens.map(Value::from));
    if !chat.stop.is_empty() {
        config.put("stopSequences", json!(chat.stop));
    }
    config.put_some("seed", chat.seed.map(Value::from));
    match (several(chat), delivery) {
        (Some(choices), Delivery::Whole) => config.put("candidateCount", json!(choices)),
        (Some(_), Delivery::Stream) => notes.unsupported("several answers in one stream", "ask for one")?,
        (None, _) => {}
    }
    match &chat.format {
        Format::Text => {}
        Format::Json => config.put("responseMimeType", "application/json"),
        // Here a schema has no name and is followed to the letter.
        Format::Schema { schema, .. } => {
            config.put("responseMimeType", "application/json");
            config.put("responseJsonSchema", schema);
        }
    }
    if let Some(effort) = chat.reasoning {
        let thinking = match effort {
            Effort::Off => Members::new().with("thinkingBudget", json!(0)),
            Effort::Minimal => Members::new().with("thinkingLevel", "MINIMAL"),
            Effort::Low => Members::new().with("thinkingLevel", "LOW"),
            Effort::Medium => Members::new().with("thinkingLevel", "MEDIUM"),
            Effort::High => Members::new().with("thinkingLevel", "HIGH"),
            Effort::XHigh => Members::new().with("thinkingLevel", "XHIGH"),
            Effort::Max => {
                notes.unsupported("maximal reasoning", "choose `Effort::XHigh`")?;
                return Ok(config);
            }
        };
        config.put("thinkingConfig", thinking);
    }
    Ok(config)
}
