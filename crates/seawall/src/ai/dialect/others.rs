//! Embeddings and models.

use super::gemini_model;
use super::notes::Notes;
use crate::ai::answer::Usage;
use crate::ai::chat::Unsupported;
use crate::ai::embed::{Embeddings, EmbeddingsAnswer, Packing};
use crate::ai::models::{Model, Models};
use crate::ai::node::{Members, Node};
use crate::ai::read::At;
use crate::ai::{DecodeError, Dialect, EncodeError, Encoded};
use serde_json::{Value, json};

/// The bytes of one number of a packed vector.
const NUMBER_BYTES: usize = 4;

pub(super) fn encode_embeddings(dialect: Dialect, call: &Embeddings) -> Result<Encoded, EncodeError> {
    let notes = Notes::new(dialect, Unsupported::Refuse);
    if call.input.is_empty() {
        return Err(notes.missing("a text", "give one at least"));
    }
    let body = match dialect {
        Dialect::OpenAi => {
            let mut body = Members::new()
                .with("model", call.model.as_str())
                .with("input", json!(call.input));
            body.put_some("dimensions", call.dimensions.map(Value::from));
            if call.packing == Packing::Base64 {
                body.put("encoding_format", "base64");
            }
            body
        }
        Dialect::Gemini => {
            let each = call.input.iter().map(|text| {
                let part = Members::new().with("text", text.as_str());
                let mut one = Members::new()
                    .with("model", gemini_model(&call.model))
                    .with("content", Members::new().with("parts", vec![Node::from(part)]));
                one.put_some("outputDimensionality", call.dimensions.map(Value::from));
                one.into()
            });
            Members::new().with("requests", each.collect::<Vec<Node<'_>>>())
        }
        Dialect::Anthropic => {
            return Err(EncodeError::Unsupported {
                dialect,
                what: "embeddings",
                instead: "ask another provider for them",
            });
        }
    };
    Ok(notes.encoded(body, &call.extra))
}

pub(super) fn decode_embeddings(dialect: Dialect, mut raw: Value) -> Result<EmbeddingsAnswer, DecodeError> {
    let body = At::body(&raw);
    let (key, vectors) = match dialect {
        Dialect::OpenAi | Dialect::Anthropic => ("data", numbered(&body.member("data"))?),
        Dialect::Gemini => {
            let all = body.member("embeddings");
            if all.value.is_null() {
                return Err(all.is_not("an array"));
            }
            let mut vectors = Vec::new();
            for one in all.elements()? {
                vectors.push(vector(&one.member("values"))?);
            }
            ("embeddings", vectors)
        }
    };
    let usage = Usage::said_in(&raw);
    let model = body.member("model").hint().unwrap_or_default().to_owned();
    if let Some(members) = raw.as_object_mut() {
        members.remove(key);
    }
    Ok(EmbeddingsAnswer {
        model,
        vectors,
        usage,
        raw,
    })
}

/// OpenAI's vectors, each with the number of its text.
fn numbered(all: &At<'_>) -> Result<Vec<Vec<f32>>, DecodeError> {
    if all.value.is_null() {
        return Err(all.is_not("an array"));
    }
    let mut vectors = Vec::new();
    for (nth, one) in all.elements()?.enumerate() {
        // Servers that number none mean the order in which they stand.
        let index = one.member("index").value.as_u64().unwrap_or(nth as u64);
        vectors.push((index, vector(&one.member("embedding"))?));
    }
    vectors.sort_by_key(|(index, _)| *index);
    Ok(vectors.into_iter().map(|(_, vector)| vector).collect())
}

/// A vector, as numbers or packed.
#[expect(clippy::cast_possible_truncation, reason = "a vector has 32 bits a number")]
fn vector(at: &At<'_>) -> Result<Vec<f32>, DecodeError> {
    if let Some(packed) = at.hint() {
        let bytes = unpacked(packed).filter(|bytes| bytes.len() % NUMBER_BYTES == 0);
        let bytes = bytes.ok_or_else(|| at.is_not("base64 of numbers"))?;
        let (numbers, _) = bytes.as_chunks::<NUMBER_BYTES>();
        return Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect());
    }
    if at.value.is_null() {
        return Err(at.is_not("a vector"));
    }
    at.elements()?
        .map(|number| Ok(number.value.as_f64().ok_or_else(|| number.is_not("a number"))? as f32))
        .collect()
}

/// The bytes of standard base64, with or without its padding.
fn unpacked(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for letter in group {
            bits = bits << 6 | u32::from(sextet(*letter)?);
        }
        let whole = match group.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        let [_, all @ ..] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        bytes.extend_from_slice(&all[..whole]);
    }
    Some(bytes)
}

const fn sextet(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

pub(super) fn decode_models(dialect: Dialect, raw: &Value) -> Result<Models, DecodeError> {
    let body = At::body(raw);
    let all = match dialect {
        Dialect::OpenAi | Dialect::Anthropic => body.member("data"),
        Dialect::Gemini => body.member("models"),
    };
    if all.value.is_null() {
        return Err(all.is_not("an array"));
    }
    let mut models = Vec::new();
    for one in all.elements()? {
        models.push(model(dialect, &one)?);
    }
    let next = match dialect {
        Dialect::OpenAi => None,
        Dialect::Anthropic => {
            let more = body.member("has_more").value == &Value::Bool(true);
            let last = body.member("last_id").hint().filter(|_| more);
            last.map(|id| format!("after_id={}", in_query(id)))
        }
        Dialect::Gemini => {
            let token = body
                .member("nextPageToken")
                .hint()
                .filter(|token| !token.is_empty());
            token.map(|token| format!("pageToken={}", in_query(token)))
        }
    };
    Ok(Models { models, next })
}

fn model(dialect: Dialect, at: &At<'_>) -> Result<Model, DecodeError> {
    let (id, name, input, output) = match dialect {
        Dialect::OpenAi => ("id", "name", "context_window", "max_completion_tokens"),
        Dialect::Anthropic => ("id", "display_name", "max_input_tokens", "max_tokens"),
        Dialect::Gemini => ("name", "displayName", "inputTokenLimit", "outputTokenLimit"),
    };
    let id = at.member(id);
    let id = id.due_text()?;
    Ok(Model {
        id: match dialect {
            Dialect::OpenAi | Dialect::Anthropic => id,
            Dialect::Gemini => id.strip_prefix("models/").unwrap_or(id),
        }
        .to_owned(),
        name: at.member(name).hint().map(str::to_owned),
        input_max: at.member(input).value.as_u64(),
        output_max: at.member(output).value.as_u64(),
        raw: at.value.clone(),
    })
}

fn in_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
