//! What Gemini answers. A whole answer is a stream of one chunk, so that both are read by the same rules.

use super::MADE_UP_ID;
use crate::ai::answer::{ChatAnswer, Choice, Finish, Usage};
use crate::ai::delta::{Assembly, Delta};
use crate::ai::dialect::stream::{Beside, Told};
use crate::ai::message::{Image, Part};
use crate::ai::read::At;
use crate::ai::{DecodeError, Dialect};
use serde_json::Value;

/// A whole answer.
pub(in crate::ai::dialect) fn decode(raw: Value) -> Result<ChatAnswer, DecodeError> {
    let body = At::body(&raw);
    body.object()?;
    let candidates = body.member("candidates");
    if candidates.value.as_array().is_none_or(Vec::is_empty) && blocked(&body).is_none() {
        return Err(candidates.is_not("an array with an answer"));
    }
    let mut answer = assembled(&raw)?;
    let others = candidates.elements()?.skip(1);
    for candidate in others {
        let mut stream = ContentStream {
            id: answer.id.clone(),
            ..ContentStream::default()
        };
        let (mut deltas, mut assembly) = (Vec::new(), Assembly::new());
        stream.candidate(&candidate, &mut deltas)?;
        deltas.into_iter().for_each(|delta| assembly.push(delta));
        let other = assembly.into_answer();
        answer.more.push(Choice {
            message: other.message,
            finish: other.finish,
        });
    }
    answer.usage = Usage::said_in(&raw);
    answer.raw = raw;
    Ok(answer)
}

fn assembled(raw: &Value) -> Result<ChatAnswer, DecodeError> {
    let (mut deltas, mut assembly) = (Vec::new(), Assembly::new());
    ContentStream::default().first(raw, &mut deltas)?;
    deltas.into_iter().for_each(|delta| assembly.push(delta));
    Ok(assembly.into_answer())
}

/// Content in chunks, as far as it was read.
#[derive(Clone, Debug, Default)]
pub(in crate::ai::dialect) struct ContentStream {
    began: Told,
    id: String,
    calls: usize,
    last: Last,
    beside: Beside,
}

/// What was told last, as far as a seal may belong to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Thought,
    Else,
}

impl ContentStream {
    /// One chunk of a stream.
    pub(in crate::ai::dialect) fn chunk(
        &mut self,
        value: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let chunk = At::body(value);
        let candidates = chunk.member("candidates");
        if let Some(other) = candidates.elements()?.find(|one| one.member("index").count() > 0) {
            return Err(other.is_not("the only answer of a stream"));
        }
        self.first(value, out)
    }

    fn first(&mut self, value: &Value, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let chunk = At::body(value);
        chunk.object()?;
        if self.began == Told::No {
            self.began = Told::Yes;
            self.id = chunk.member("responseId").hint().unwrap_or_default().to_owned();
            let model = chunk.member("modelVersion").hint().unwrap_or_default().to_owned();
            let id = self.id.clone();
            out.push(Delta::Began { id, model });
        }
        let known = ["candidates", "usageMetadata", "responseId", "modelVersion"];
        self.beside.tell(value, &known, out);
        let candidates = chunk.member("candidates");
        match candidates.elements()?.next() {
            Some(candidate) => self.candidate(&candidate, out)?,
            None => out.extend(blocked(&chunk).map(Delta::Finish)),
        }
        Ok(())
    }

    fn candidate(&mut self, candidate: &At<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let content = candidate.member("content");
        let parts = content.member("parts");
        for part in parts.elements()? {
            self.part(&part, out)?;
        }
        let known = ["content", "finishReason", "index"];
        self.beside.tell(candidate.value, &known, out);
        match finish(candidate.member("finishReason").hint()) {
            Finish::Unsaid => {}
            // Gemini says `STOP` and means the calls.
            Finish::Stop if self.calls > 0 => out.push(Delta::Finish(Finish::ToolCalls)),
            finish => out.push(Delta::Finish(finish)),
        }
        Ok(())
    }

    fn part(&mut self, part: &At<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let dialect = Dialect::Gemini;
        let members = part.object()?;
        let signature = part.member("thoughtSignature").text()?.map(str::to_owned);
        let function = part.member("functionCall");
        if function.value.is_object() {
            return self.call(&function, signature, out);
        }
        let is_text = members
            .keys()
            .all(|key| matches!(key.as_str(), "text" | "thought" | "thoughtSignature"));
        if !is_text {
            out.push(Delta::Part(media(part)));
            self.last = Last::Else;
            return Ok(());
        }
        let text = part.member("text").owned_text()?;
        let thinks = part.member("thought").value == &Value::Bool(true);
        match (thinks, text.is_empty()) {
            (true, _) => {
                out.push(Delta::Thinking { dialect, text });
                self.last = Last::Thought;
            }
            (false, true) => {}
            (false, false) => {
                out.push(Delta::Text(text));
                self.last = Last::Else;
            }
        }
        if let Some(text) = signature {
            if !thinks && self.last == Last::Thought {
                out.push(Delta::PartEnded);
            }
            out.push(Delta::Signature { dialect, text });
            // Two seals are never one.
            out.push(Delta::PartEnded);
            self.last = Last::Else;
        }
        Ok(())
    }

    fn call(
        &mut self,
        function: &At<'_>,
        signature: Option<String>,
        out: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let index = self.calls;
        self.calls += 1;
        self.last = Last::Else;
        let id = match function.member("id").text()?.filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => format!("{MADE_UP_ID}{}_{index}", self.id),
        };
        let name = function.member("name").due_text()?.to_owned();
        out.push(Delta::ToolCall {
            index,
            id,
            name,
            signature,
        });
        let arguments = function.member("args");
        if !arguments.value.is_null() {
            let text = arguments.value.to_string();
            out.push(Delta::Arguments { index, text });
        }
        out.push(Delta::PartEnded);
        Ok(())
    }
}

/// A part that is no text: an image, or something that is kept as it came.
fn media(part: &At<'_>) -> Part {
    let blob = part.member("inlineData");
    let members = part.value.as_object().map_or(0, serde_json::Map::len);
    match (blob.member("mimeType").hint(), blob.member("data").hint()) {
        (Some(kind), Some(data)) if members == 1 && kind.starts_with("image/") => {
            Part::Image(Image::base64(kind, data))
        }
        _ => Part::Other(part.value.clone()),
    }
}

/// Why a prompt was not answered at all.
fn blocked(body: &At<'_>) -> Option<Finish> {
    let feedback = body.member("promptFeedback");
    feedback.member("blockReason").hint().map(|_| Finish::Refused)
}

fn finish(word: Option<&str>) -> Finish {
    match word {
        // Some servers say nothing by an empty word.
        None | Some("") => Finish::Unsaid,
        Some("STOP") => Finish::Stop,
        Some("MAX_TOKENS") => Finish::Length,
        Some(
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "ESCALATION"
            | "MODEL_ARMOR",
        ) => Finish::Refused,
        Some(other) => Finish::Other(other.to_owned()),
    }
}
