//! What a provider adds around what is said.
//!
//! What can go wrong: texts are counted to the token and the request is over the window by the words between them. OpenAI
//! says what it adds around plain messages; around tool calls, images and files nobody says it, and what is added here is
//! a bound from above that results name.

use super::{Counted, CountedBy, Tokenizer, upper};
use crate::ai::{Message, Part, Tool};
use serde_json::Value;

/// Tokens around a message of OpenAI's beside its role: 3, as its guide to counting tokens has it.
const MESSAGE_TOKENS: u64 = 3;

/// The most that other models' published templates put around a message, role and all, is 6; and before the first and
/// behind the last, 5.
const MESSAGE_TOKENS_MAX: u64 = 8;

/// A bound of what stands around a tool, its call and its result: what OpenAI's function format was measured to add, and
/// twice as many braces and quotes as their JSON has.
const PART_TOKENS: u64 = 16;

/// Tokens that OpenAI's models read behind the last message, where their answer begins: 3, as its guide to counting
/// tokens has it.
pub const REPLY_TOKENS: u64 = 3;

/// The most that one image is taken for where nothing is known of its size: 10 000, what the largest is cut into by the
/// models that look closest.
pub const IMAGE_TOKENS_MAX: u64 = 10_000;

/// What an image is at the most, looked at closely and not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ImageTokens {
    pub(super) low: u64,
    pub(super) high: u64,
}

impl ImageTokens {
    /// One tile of OpenAI's for detail `low`.
    pub(super) const USUAL: Self = Self {
        low: 85,
        high: IMAGE_TOKENS_MAX,
    };
    /// Thirty-three times as many for the same price: a tile is 2 833, and eight more are the most.
    pub(super) const GPT_4O_MINI: Self = Self {
        low: 2_833,
        high: 2_833 + 8 * 5_667,
    };
}

impl Tokenizer {
    /// The tokens of a message, with what is added around it.
    ///
    /// Exact for one text to a model of OpenAI's. Each text of several, a tool's call or result, an image and whatever has
    /// no name here makes the count a bound: images are taken for [`IMAGE_TOKENS_MAX`] unless their detail is `low` (for
    /// gpt-4o-mini's own most, which is more), and files for their bytes.
    pub fn count_message(self, message: &Message) -> Counted {
        let around = self.around(message.role.name());
        let mut counted = message
            .parts
            .iter()
            .fold(around, |sum, part| sum + self.part(part));
        if message.parts.len() > 1 {
            counted.by = counted.by.with_parts();
        }
        for (member, value) in &message.extra {
            counted += match (member.as_str(), value) {
                ("name", Value::String(name)) => Counted {
                    tokens: self.tokens(name).saturating_add(1),
                    by: self.by(),
                },
                (_, value) => self.bounded(self.opaque(&value.to_string())),
            };
        }
        counted
    }

    /// The tokens of a conversation, with what is added behind it.
    pub fn count_messages<'m>(self, messages: impl IntoIterator<Item = &'m Message>) -> Counted {
        messages.into_iter().fold(self.count_frame(), |sum, message| {
            sum + self.count_message(message)
        })
    }

    /// A bound of what tools add to a conversation.
    pub fn count_tools(self, tools: &[Tool]) -> Counted {
        let one = |tool: &Tool| {
            let texts = [
                tool.name.as_str(),
                tool.description.as_deref().unwrap_or(""),
                tool.parameters.text(),
            ];
            self.bounded(
                texts
                    .iter()
                    .fold(PART_TOKENS, |sum, text| sum.saturating_add(self.tokens(text))),
            )
        };
        tools.iter().fold(self.count(""), |sum, tool| sum + one(tool))
    }

    /// What is there before any message was said.
    pub(in crate::ai) fn count_frame(self) -> Counted {
        Counted {
            tokens: match self.by() {
                CountedBy::O200k | CountedBy::Cl100k => REPLY_TOKENS,
                CountedBy::UpperEstimate(_) => MESSAGE_TOKENS_MAX,
            },
            by: self.by(),
        }
    }

    fn around(self, role: &str) -> Counted {
        Counted {
            tokens: match self.by() {
                CountedBy::O200k | CountedBy::Cl100k => MESSAGE_TOKENS.saturating_add(self.tokens(role)),
                CountedBy::UpperEstimate(_) => MESSAGE_TOKENS_MAX,
            },
            by: self.by(),
        }
    }

    fn part(self, part: &Part) -> Counted {
        match part {
            Part::Text(text) => self.count(text),
            Part::Refusal(text) => self.bounded(self.tokens(text)),
            Part::Image(image) => self.bounded(match image.detail.as_deref() {
                Some("low") => self.image.low,
                Some(_) | None => self.image.high,
            }),
            Part::Thinking(thinking) => {
                let sealed = [&thinking.signature, &thinking.redacted];
                let sealed = sealed.into_iter().flatten().map(|text| self.opaque(text));
                self.bounded(sealed.fold(self.tokens(&thinking.text), u64::saturating_add))
            }
            Part::ToolCall(call) => {
                let texts = [&call.id, &call.name, &call.arguments];
                self.bounded(
                    texts
                        .iter()
                        .fold(PART_TOKENS, |sum, text| sum.saturating_add(self.tokens(text))),
                )
            }
            Part::ToolResult(result) => {
                let names = [Some(&result.id), result.name.as_ref()];
                let names = names.into_iter().flatten().map(|text| self.tokens(text));
                let around = self.bounded(names.fold(PART_TOKENS, u64::saturating_add));
                result
                    .parts
                    .iter()
                    .fold(around, |sum, part| sum + self.part(part))
            }
            // A text with something beside it, such as a mark for the cache.
            Part::Other(value) => self.bounded(match (&value["type"], &value["text"]) {
                (Value::String(kind), Value::String(text)) if kind == "text" => self.tokens(text),
                _ => self.opaque(&value.to_string()),
            }),
        }
    }

    fn bounded(self, tokens: u64) -> Counted {
        Counted {
            tokens,
            by: self.by().with_parts(),
        }
    }

    /// What nobody knows the reading of is its bytes at the most.
    fn opaque(self, text: &str) -> u64 {
        upper::bytes(text)
    }
}
