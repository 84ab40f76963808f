//! What a mock says to a prompt, and how it is cut into the events of a stream.
//!
//! What can go wrong: a stream whose parts do not add up to the whole answer, or usage that nobody could have counted,
//! so that a client's own sums look wrong. So there is one text for one prompt, whichever way it is sent, and tokens
//! are counted from it alone: four characters each, which is what estimates without a tokeniser use.

use crate::fnv::hash;
use serde_json::Value;

/// How much of a prompt an answer quotes, in characters.
const QUOTED_CHARS_MAX: usize = 48;
/// How much of a stream its last events say once more, 1 MiB: a script may ask for four billion events.
const RETOLD_BYTES_MAX: usize = 1024 * 1024;

/// What is said to one prompt, and what it counts.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) prompt_tokens: u64,
}

impl Said {
    /// What is said to these texts, of which the last is answered; `body` where there are none.
    pub(super) fn to(texts: &[String], body: &[u8]) -> Self {
        let prompt = texts.last().map_or("", String::as_str);
        let seen = if texts.is_empty() { body } else { prompt.as_bytes() };
        let quoted: String = prompt.chars().take(QUOTED_CHARS_MAX).collect();
        Self {
            text: format!("mock answer {:016x} to: {quoted}", hash(seen)),
            prompt_tokens: texts.iter().map(|text| tokens(text)).sum(),
        }
    }

    /// The tokens of the whole answer.
    pub(super) fn completion_tokens(&self) -> u64 {
        tokens(&self.text)
    }

    /// The answer as the content of so many events; by default a word each.
    pub(super) fn pieces(&self, events: Option<u32>) -> Pieces {
        let words: Vec<String> = self.text.split_inclusive(' ').map(str::to_owned).collect();
        let natural = u32::try_from(words.len()).expect("a quoted answer has few words");
        Pieces {
            words,
            total: events.unwrap_or(natural),
            told: 0,
        }
    }
}

/// The content events of one stream: the words of its text, over and over where more are asked for.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    words: Vec<String>,
    total: u32,
    told: u32,
}

impl Pieces {
    /// How many were told.
    pub(super) fn told(&self) -> u32 {
        self.told
    }

    /// How many there are.
    pub(super) fn total(&self) -> u32 {
        self.total
    }

    /// The next piece and its place, counted from 0.
    pub(super) fn next(&mut self) -> Option<(u32, &str)> {
        if self.told == self.total {
            return None;
        }
        let nth = self.told;
        self.told += 1;
        Some((nth, self.word(nth)))
    }

    /// Everything that is said, as far as a last event repeats it.
    pub(super) fn retold(&self) -> String {
        let mut text = String::new();
        for nth in 0..self.total {
            if text.len() >= RETOLD_BYTES_MAX {
                break;
            }
            text.push_str(self.word(nth));
        }
        text
    }

    /// The tokens of everything that is said.
    pub(super) fn tokens(&self) -> u64 {
        let chars = |words: &[String]| words.iter().map(|word| word.chars().count() as u64).sum::<u64>();
        let all = self.words.len() as u64;
        let rest = usize::try_from(u64::from(self.total) % all).expect("less than the words");
        let sum = chars(&self.words) * (u64::from(self.total) / all) + chars(&self.words[..rest]);
        sum.div_ceil(4)
    }

    fn word(&self, nth: u32) -> &str {
        let nth = usize::try_from(nth).expect("an address has at least 32 bits");
        &self.words[nth % self.words.len()]
    }
}

/// The text of a content: a string, or the text parts of a list.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join(" ")
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}

/// The texts of a list of messages.
pub(super) fn texts_of(messages: &Value, content: &str) -> Vec<String> {
    let messages = messages.as_array().into_iter().flatten();
    messages.map(|message| text_of(&message[content])).collect()
}

/// The request as JSON; what cannot be read is nothing.
pub(super) fn request_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or(Value::Null)
}

/// The name under which a mock answers for a model.
pub(super) fn model_of(name: Option<&str>) -> String {
    match name {
        Some(mock) if mock.starts_with("mock:") => mock.to_owned(),
        Some(name) => format!("mock:{name}"),
        None => "mock:unnamed".to_owned(),
    }
}

/// Four characters a token.
pub(in crate::net) fn tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}
