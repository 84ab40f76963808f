//! Events of a message.

use super::answer::{finish, part};
use crate::ai::answer::Finish;
use crate::ai::delta::Delta;
use crate::ai::dialect::stream::{Beside, StreamState};
use crate::ai::message::Part;
use crate::ai::read::At;
use crate::ai::{DecodeError, Dialect};
use serde_json::Value;

/// A message in events, as far as it was read.
#[derive(Clone, Debug, Default)]
pub(in crate::ai::dialect) struct MessageStream {
    /// How many calls of tools began.
    calls: usize,
    block: Block,
    beside: Beside,
}

/// The block that is being told.
#[derive(Clone, Debug, Default)]
enum Block {
    #[default]
    None,
    /// Its pieces are handed on as they come.
    Told,
    /// A call of a tool.
    Call,
    /// A block of a kind without deltas of its own, and its input so far.
    Kept(Value, String),
}

impl MessageStream {
    /// One event.
    pub(in crate::ai::dialect) fn event(
        &mut self,
        value: &Value,
        out: &mut Vec<Delta>,
        state: &mut StreamState,
    ) -> Result<(), DecodeError> {
        let event = At::body(value);
        match event.member("type").due_text()? {
            "message_start" => self.start(&event.member("message"), out)?,
            "content_block_start" => self.begin(&event.member("content_block"), out)?,
            "content_block_delta" => self.delta(&event.member("delta"), out)?,
            "content_block_stop" => self.end(out),
            "message_delta" => self.told(&event, out),
            "message_stop" => *state = StreamState::Complete,
            "ping" => {}
            // Anthropic says that kinds of events may be added.
            _ => self.beside.tell(value, &["type"], out),
        }
        Ok(())
    }

    fn start(&mut self, message: &At<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        message.object()?;
        out.push(Delta::Began {
            id: message.member("id").hint().unwrap_or_default().to_owned(),
            model: message.member("model").hint().unwrap_or_default().to_owned(),
        });
        let known = ["id", "type", "role", "model", "content", "usage", "stop_reason"];
        self.beside.tell(message.value, &known, out);
        Ok(())
    }

    fn begin(&mut self, block: &At<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let dialect = Dialect::Anthropic;
        self.block = match part(block)? {
            Part::Text(text) => {
                // Told even where it is empty, so that each block is a part of its own.
                out.push(Delta::Text(text));
                Block::Told
            }
            Part::Thinking(thought) if thought.redacted.is_none() => {
                let text = thought.text;
                out.push(Delta::Thinking { dialect, text });
                if let Some(text) = thought.signature {
                    out.push(Delta::Signature { dialect, text });
                }
                Block::Told
            }
            Part::ToolCall(call) => {
                let index = self.calls;
                self.calls += 1;
                out.push(Delta::ToolCall {
                    index,
                    id: call.id,
                    name: call.name,
                    signature: None,
                });
                if !matches!(call.arguments.as_str(), "" | "{}") {
                    let text = call.arguments;
                    out.push(Delta::Arguments { index, text });
                }
                Block::Call
            }
            part @ (Part::Thinking(_) | Part::Image(_) | Part::Refusal(_) | Part::ToolResult(_)) => {
                out.push(Delta::Part(part));
                Block::Told
            }
            Part::Other(value) => Block::Kept(value, String::new()),
        };
        Ok(())
    }

    fn delta(&mut self, delta: &At<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let dialect = Dialect::Anthropic;
        match delta.member("type").due_text()? {
            "text_delta" => out.push(Delta::Text(delta.member("text").due_text()?.to_owned())),
            "thinking_delta" => {
                let text = delta.member("thinking").due_text()?.to_owned();
                out.push(Delta::Thinking { dialect, text });
            }
            "signature_delta" => {
                let text = delta.member("signature").due_text()?.to_owned();
                out.push(Delta::Signature { dialect, text });
            }
            "input_json_delta" => {
                let json = delta.member("partial_json");
                let text = json.due_text()?;
                match &mut self.block {
                    Block::Kept(_, input) => input.push_str(text),
                    Block::Call if text.is_empty() => {}
                    Block::Call => out.push(Delta::Arguments {
                        index: self.calls.saturating_sub(1),
                        text: text.to_owned(),
                    }),
                    Block::None | Block::Told => return Err(json.is_not("a piece of a tool's input")),
                }
            }
            "citations_delta" => out.push(Delta::Cited(delta.member("citation").value.clone())),
            _ => self.beside.tell(delta.value, &["type"], out),
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        match std::mem::take(&mut self.block) {
            Block::None => {}
            Block::Told | Block::Call => out.push(Delta::PartEnded),
            Block::Kept(mut value, input) => {
                if let (Ok(input), Some(block)) =
                    (serde_json::from_str::<Value>(&input), value.as_object_mut())
                {
                    block.insert("input".to_owned(), input);
                }
                out.push(Delta::Part(Part::Other(value)));
            }
        }
    }

    /// The end, and why.
    fn told(&mut self, event: &At<'_>, out: &mut Vec<Delta>) {
        let delta = event.member("delta");
        self.beside.tell(delta.value, &["stop_reason"], out);
        match finish(delta.member("stop_reason").hint()) {
            Finish::Unsaid => {}
            finish => out.push(Delta::Finish(finish)),
        }
    }
}
