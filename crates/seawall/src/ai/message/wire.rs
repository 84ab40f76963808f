//! Messages as JSON, in OpenAI's shape.

use super::{Image, ImageSource, Message, Part, Role, Thinking};
use crate::ai::read::At;
use crate::ai::tool::{ToolCall, ToolResult, ToolStatus};
use crate::ai::{DecodeError, Dialect};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        value_of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        read(&At::body(&value)).map_err(D::Error::custom)
    }
}

fn value_of(message: &Message) -> Value {
    let mut members = Map::new();
    members.insert("role".to_owned(), json!(message.role.name()));
    if let (Role::Tool, [Part::ToolResult(result)]) = (message.role, message.parts.as_slice()) {
        members.insert("tool_call_id".to_owned(), json!(result.id));
        members.insert("content".to_owned(), content_of(result.parts.iter()));
        if let Some(name) = &result.name {
            members.insert("name".to_owned(), json!(name));
        }
        if result.status == ToolStatus::Failed {
            members.insert("is_error".to_owned(), json!(true));
        }
    } else {
        let (calls, content): (Vec<_>, Vec<_>) = message.parts.iter().partition(|part| is_call(part));
        members.insert("content".to_owned(), content_of(content.into_iter()));
        if !calls.is_empty() {
            members.insert(
                "tool_calls".to_owned(),
                calls.into_iter().map(part_value).collect(),
            );
        }
    }
    // Fields stand over members of the same name, which only a caller can have put there.
    for (key, value) in &message.extra {
        members.entry(key).or_insert_with(|| value.clone());
    }
    Value::Object(members)
}

/// Calls of tools stand in a member of their own; OpenAI's custom ones are no [`Part::ToolCall`].
fn is_call(part: &Part) -> bool {
    match part {
        Part::ToolCall(_) => true,
        Part::Other(value) => value["type"] == "custom" && value["custom"].is_object(),
        Part::Text(_) | Part::Image(_) | Part::Thinking(_) | Part::Refusal(_) | Part::ToolResult(_) => false,
    }
}

fn content_of<'p>(parts: impl ExactSizeIterator<Item = &'p Part>) -> Value {
    let parts: Vec<&Part> = parts.collect();
    match parts.as_slice() {
        [] => Value::Null,
        [Part::Text(text)] => json!(text),
        parts => parts.iter().map(|part| part_value(part)).collect(),
    }
}

fn part_value(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image(image) => image_value(image),
        Part::Thinking(thinking) => thinking_value(thinking),
        Part::Refusal(text) => json!({ "type": "refusal", "refusal": text }),
        Part::ToolCall(call) => {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            let mut value = json!({ "id": call.id, "type": "function", "function": function });
            if let Some(signature) = &call.signature {
                value["signature"] = json!(signature);
            }
            value
        }
        Part::ToolResult(result) => {
            let content = content_of(result.parts.iter());
            let mut value = json!({ "type": "tool_result", "tool_use_id": result.id, "content": content });
            if let Some(name) = &result.name {
                value["name"] = json!(name);
            }
            if result.status == ToolStatus::Failed {
                value["is_error"] = json!(true);
            }
            value
        }
        Part::Other(value) => value.clone(),
    }
}

/// An image as OpenAI's chats have it.
fn image_value(image: &Image) -> Value {
    let url = match &image.source {
        ImageSource::Url(url) => url.clone(),
        ImageSource::Base64 { media_type, data } => format!("data:{media_type};base64,{data}"),
    };
    let mut value = json!({ "type": "image_url", "image_url": { "url": url } });
    if let Some(detail) = &image.detail {
        value["image_url"]["detail"] = json!(detail);
    }
    value
}

fn thinking_value(thinking: &Thinking) -> Value {
    let mut value = json!({ "type": "thinking", "thinking": thinking.text });
    if let Some(signature) = &thinking.signature {
        value["signature"] = json!(signature);
    }
    if let Some(redacted) = &thinking.redacted {
        value["data"] = json!(redacted);
    }
    if let Some(dialect) = thinking.dialect {
        value["dialect"] = json!(dialect.name());
    }
    value
}

/// Reads a message.
fn read(at: &At<'_>) -> Result<Message, DecodeError> {
    let said = at.member("role");
    let role = Role::named(said.due_text()?).ok_or_else(|| said.is_not("a role"))?;
    let mut taken = vec!["role", "content"];
    let parts = match (role, at.member("tool_call_id").text()?) {
        (Role::Tool, Some(id)) => {
            taken.extend(["tool_call_id", "name", "is_error"]);
            vec![Part::ToolResult(result(at, id)?)]
        }
        (Role::System | Role::Developer | Role::User | Role::Assistant | Role::Tool, _) => {
            taken.extend(["refusal", "tool_calls"]);
            said_parts(at)?
        }
    };
    let members = at.object()?.iter();
    let extra = members.filter(|(key, value)| !value.is_null() && !taken.contains(&key.as_str()));
    Ok(Message {
        role,
        parts,
        extra: extra.map(|(key, value)| (key.clone(), value.clone())).collect(),
    })
}

/// What a message says: its content, its refusal, the tools that it wants called.
pub(in crate::ai) fn said_parts(at: &At<'_>) -> Result<Vec<Part>, DecodeError> {
    let mut parts = content(&at.member("content"))?;
    if let Some(refusal) = at.member("refusal").text()? {
        parts.push(Part::Refusal(refusal.to_owned()));
    }
    for call in at.member("tool_calls").elements()? {
        parts.push(tool_call(&call)?);
    }
    Ok(parts)
}

/// A content: a text, or parts.
fn content(at: &At<'_>) -> Result<Vec<Part>, DecodeError> {
    match at.value {
        Value::String(text) => Ok(vec![Part::Text(text.clone())]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            at.elements()?.map(|part| read_part(&part)).collect()
        }
    }
}

/// A call as OpenAI's chats have it.
fn tool_call(at: &At<'_>) -> Result<Part, DecodeError> {
    if !matches!(at.member("type").hint(), None | Some("function")) {
        return Ok(Part::Other(at.value.clone()));
    }
    let function = at.member("function");
    let mut call = ToolCall::new(
        at.member("id").owned_text()?,
        function.member("name").due_text()?,
        arguments(&function.member("arguments"))?,
    );
    call.signature = at.member("signature").text()?.map(str::to_owned);
    Ok(Part::ToolCall(call))
}

/// The arguments of a call: JSON in a text, as it should be, or the object itself, as some servers have it.
fn arguments(at: &At<'_>) -> Result<String, DecodeError> {
    match at.value {
        Value::Object(_) => Ok(at.value.to_string()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            at.owned_text()
        }
    }
}

fn result(at: &At<'_>, id: &str) -> Result<ToolResult, DecodeError> {
    Ok(ToolResult {
        id: id.to_owned(),
        name: at.member("name").text()?.map(str::to_owned),
        parts: content(&at.member("content"))?,
        status: match at.member("is_error").value {
            Value::Bool(true) => ToolStatus::Failed,
            _ => ToolStatus::Worked,
        },
    })
}

fn read_part(at: &At<'_>) -> Result<Part, DecodeError> {
    let other = || Part::Other(at.value.clone());
    // What a known part has beside its known members (`cache_control`) must not be lost.
    let has_only = |known: &[&str]| {
        let members = at.value.as_object().into_iter().flatten();
        members
            .filter(|(_, value)| !value.is_null())
            .all(|(key, _)| key == "type" || known.contains(&key.as_str()))
    };
    Ok(match at.member("type").hint() {
        Some("text") if has_only(&["text"]) => Part::Text(at.member("text").due_text()?.to_owned()),
        Some("refusal") if has_only(&["refusal"]) => {
            Part::Refusal(at.member("refusal").due_text()?.to_owned())
        }
        Some("image_url") if has_only(&["image_url"]) => linked_image(at)?.map_or_else(other, Part::Image),
        Some("image") if has_only(&["source"]) => sourced_image(at)?.map_or_else(other, Part::Image),
        Some("thinking" | "redacted_thinking") => Part::Thinking(thinking(at)?),
        Some("tool_use") if at.member("input").value.is_object() => Part::ToolCall(ToolCall::new(
            at.member("id").due_text()?,
            at.member("name").due_text()?,
            at.member("input").value.to_string(),
        )),
        Some("tool_result") => Part::ToolResult(result(at, at.member("tool_use_id").due_text()?)?),
        Some(_) | None => other(),
    })
}

/// OpenAI's image; nothing where it has members that an [`Image`] has not.
fn linked_image(at: &At<'_>) -> Result<Option<Image>, DecodeError> {
    let link = at.member("image_url");
    let known = |key: &String| matches!(key.as_str(), "url" | "detail");
    if !link.object()?.keys().all(known) {
        return Ok(None);
    }
    let url = link.member("url");
    let url = url.due_text()?;
    let inline = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    Ok(Some(Image {
        source: match inline {
            Some((media_type, data)) => ImageSource::Base64 {
                media_type: media_type.to_owned(),
                data: data.to_owned(),
            },
            None => ImageSource::Url(url.to_owned()),
        },
        detail: link.member("detail").text()?.map(str::to_owned),
    }))
}

/// Anthropic's image; nothing where it is in one of its stores.
fn sourced_image(at: &At<'_>) -> Result<Option<Image>, DecodeError> {
    let source = at.member("source");
    Ok(match source.member("type").hint() {
        Some("base64") => Some(Image::base64(
            source.member("media_type").due_text()?,
            source.member("data").due_text()?,
        )),
        Some("url") => Some(Image::url(source.member("url").due_text()?)),
        Some(_) | None => None,
    })
}

/// A thought, in our words and in Anthropic's.
pub(in crate::ai) fn thinking(at: &At<'_>) -> Result<Thinking, DecodeError> {
    Ok(Thinking {
        text: at.member("thinking").owned_text()?,
        signature: at.member("signature").text()?.map(str::to_owned),
        redacted: at.member("data").text()?.map(str::to_owned),
        dialect: at.member("dialect").text()?.and_then(Dialect::named),
    })
}
