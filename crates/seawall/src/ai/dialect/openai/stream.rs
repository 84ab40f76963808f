//! Chunks of a chat completion.

use super::answer::{THINKING, finish, made_up_id};
use crate::ai::answer::Finish;
use crate::ai::delta::Delta;
use crate::ai::dialect::stream::{Beside, Told};
use crate::ai::read::At;
use crate::ai::{DecodeError, Dialect};
use serde_json::Value;
use std::collections::BTreeMap;

/// A chat in chunks, as far as it was read.
#[derive(Clone, Debug, Default)]
pub(in crate::ai::dialect) struct ChatStream {
    began: Told,
    /// How many calls began.
    calls: usize,
    /// Our index of the newest call at each of the server's indices, and its id.
    newest: BTreeMap<u64, (usize, String)>,
    /// Our index of each older call at an index that a newer one has taken, by the server's index and the id.
    older: BTreeMap<(u64, String), usize>,
    beside: Beside,
}

impl ChatStream {
    /// One chunk.
    pub(in crate::ai::dialect) fn chunk(
        &mut self,
        value: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let chunk = At::body(value);
        chunk.object()?;
        self.begin(&chunk, out);
        self.beside.tell(
            value,
            &[
                "id",
                "object",
                "model",
                "choices",
                "usage",
                "x_groq",
                "obfuscation",
            ],
            out,
        );
        let choices = chunk.member("choices");
        for choice in choices.elements()? {
            if choice.member("index").count() > 0 {
                return Err(choice.is_not("the only answer of a stream"));
            }
            self.choice(&choice, out)?;
        }
        Ok(())
    }

    fn begin(&mut self, chunk: &At<'_>, out: &mut Vec<Delta>) {
        let id = chunk.member("id").hint().unwrap_or_default();
        let model = chunk.member("model").hint().unwrap_or_default();
        let choices = chunk.member("choices").value.as_array();
        // Azure begins with a chunk about the prompt, which has neither id nor answer.
        let speaks = !id.is_empty() || choices.is_some_and(|choices| !choices.is_empty());
        if speaks && self.began == Told::No {
            self.began = Told::Yes;
            out.push(Delta::Began {
                id: id.to_owned(),
                model: model.to_owned(),
            });
        }
    }

    fn choice(&mut self, choice: &At<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let delta = choice.member("delta");
        let thought = THINKING.iter().find_map(|key| delta.value.get(key)?.as_str());
        if let Some(text) = thought.filter(|text| !text.is_empty()) {
            let (dialect, text) = (Dialect::OpenAi, text.to_owned());
            out.push(Delta::Thinking { dialect, text });
        }
        if let Some(text) = delta.member("content").text()?.filter(|text| !text.is_empty()) {
            out.push(Delta::Text(text.to_owned()));
        }
        if let Some(text) = delta.member("refusal").text()?.filter(|text| !text.is_empty()) {
            out.push(Delta::Refusal(text.to_owned()));
        }
        for call in delta.member("tool_calls").elements()? {
            self.call(&call, out)?;
        }
        match finish(choice.member("finish_reason").hint()) {
            Finish::Unsaid => {}
            Finish::Stop if self.calls > 0 => out.push(Delta::Finish(Finish::ToolCalls)),
            finish => out.push(Delta::Finish(finish)),
        }
        Ok(())
    }

    /// A piece of a call. A new index begins one, and so does another id at the same: some servers number none.
    fn call(&mut self, piece: &At<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let theirs = piece.member("index").count();
        let id = piece.member("id").text()?.unwrap_or_default();
        let function = piece.member("function");
        let index = match self.known(theirs, id) {
            Some(index) => index,
            None => {
                let index = self.calls;
                self.calls += 1;
                let id = match id {
                    "" => made_up_id(index),
                    id => id.to_owned(),
                };
                if let Some((index, id)) = self.newest.insert(theirs, (index, id.clone())) {
                    self.older.insert((theirs, id), index);
                }
                out.push(Delta::ToolCall {
                    index,
                    id,
                    name: function.member("name").owned_text()?,
                    signature: None,
                });
                index
            }
        };
        if let Some(text) = function
            .member("arguments")
            .text()?
            .filter(|text| !text.is_empty())
        {
            out.push(Delta::Arguments {
                index,
                text: text.to_owned(),
            });
        }
        Ok(())
    }

    /// Our index of a call that began, of which this is a piece: of the newest one, where it has no id.
    fn known(&self, theirs: u64, id: &str) -> Option<usize> {
        let (index, newest) = self.newest.get(&theirs)?;
        if id.is_empty() || newest == id {
            return Some(*index);
        }
        self.older.get(&(theirs, id.to_owned())).copied()
    }
}
