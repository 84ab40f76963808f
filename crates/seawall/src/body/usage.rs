//! What an answer says that it used: one table of words and one reader, for limits and for people.
//!
//! What can go wrong: one and the same answer is counted in two ways, so that what people are told is not what a limit is
//! settled with; what a dialect counts apart (Gemini its thinking and what its tools read, Anthropic its cache) is left
//! out, and a limit is settled too low; what it counts inside is added once more, and a limit is settled too high. And a
//! stream says its usage in pieces (Anthropic what was read at its start and what was written at its end, OpenAI all in a
//! last event, Gemini a running sum in each), while an answer that is given up on the way was paid for as far as it came.
//! So each event is read, of each count the greatest holds, and only what stands in one dialect's words is added up.
//!
//! A number that is no count (below nothing, with a part, beyond 64 bits) is not said; the others beside it are. Not
//! covered: whether what a server says is true. What of it a limit counts is decision 035.

use super::Events;
use crate::json::{self, Path};
use seawall_core::outcome::Usage;
use serde_json::Value;

/// The longest part of a broken-off answer that is searched for its usage: 1 MiB, above any stream's.
const PART_BYTES_MAX: usize = 1 << 20;

/// Where a body or an event says what it used: the first of these that says a count is believed.
const PLACES: [&[&str]; 5] = [
    &["usage"],
    &["usageMetadata"],
    // Anthropic's first event.
    &["message", "usage"],
    // The last event of OpenAI's Responses.
    &["response", "usage"],
    // The end of a stream of Groq's.
    &["x_groq", "usage"],
];

/// Whose words a count is said in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// OpenAI's chats and embeddings.
    Chat,
    /// Anthropic's messages and OpenAI's Responses, which share their first two.
    Messages,
    Gemini,
}

/// In the order in which they are believed. Some servers say a count in several: those of a chat mean the whole, whoever
/// says them.
const ALL_WORDS: [Words; 3] = [Words::Chat, Words::Messages, Words::Gemini];

/// What a count is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Input,
    /// Beside the input.
    ByTools,
    /// Of the input.
    Cached,
    CacheWritten,
    /// Beside the input.
    CachedApart,
    CacheWrittenApart,
    /// Of what was written to a cache.
    ForAnHour,
    Output,
    /// Of the output.
    Thinking,
    /// Beside the output.
    ThinkingApart,
}

/// A count, and where it stands in the object that says what was used.
struct Row {
    words: Words,
    part: Part,
    keys: &'static [&'static str],
}

const fn row(words: Words, part: Part, keys: &'static [&'static str]) -> Row {
    Row { words, part, keys }
}

/// Every word that is read. Of two rows of the same part the first that is said holds.
const ROWS: [Row; 19] = [
    row(Words::Chat, Part::Input, &["prompt_tokens"]),
    row(
        Words::Chat,
        Part::Cached,
        &["prompt_tokens_details", "cached_tokens"],
    ),
    row(
        Words::Chat,
        Part::CacheWritten,
        &["prompt_tokens_details", "cache_write_tokens"],
    ),
    row(Words::Chat, Part::Output, &["completion_tokens"]),
    row(
        Words::Chat,
        Part::Thinking,
        &["completion_tokens_details", "reasoning_tokens"],
    ),
    row(Words::Messages, Part::Input, &["input_tokens"]),
    row(
        Words::Messages,
        Part::Cached,
        &["input_tokens_details", "cached_tokens"],
    ),
    row(
        Words::Messages,
        Part::CacheWritten,
        &["input_tokens_details", "cache_write_tokens"],
    ),
    row(Words::Messages, Part::CachedApart, &["cache_read_input_tokens"]),
    row(
        Words::Messages,
        Part::CacheWrittenApart,
        &["cache_creation_input_tokens"],
    ),
    row(
        Words::Messages,
        Part::ForAnHour,
        &["cache_creation", "ephemeral_1h_input_tokens"],
    ),
    row(Words::Messages, Part::Output, &["output_tokens"]),
    row(
        Words::Messages,
        Part::Thinking,
        &["output_tokens_details", "reasoning_tokens"],
    ),
    row(
        Words::Messages,
        Part::Thinking,
        &["output_tokens_details", "thinking_tokens"],
    ),
    row(Words::Gemini, Part::Input, &["promptTokenCount"]),
    row(Words::Gemini, Part::ByTools, &["toolUsePromptTokenCount"]),
    row(Words::Gemini, Part::Cached, &["cachedContentTokenCount"]),
    row(Words::Gemini, Part::Output, &["candidatesTokenCount"]),
    row(Words::Gemini, Part::ThinkingApart, &["thoughtsTokenCount"]),
];

/// What an answer, or as much of it as was read, says that it used: each count as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts([Option<u64>; ROWS.len()]);

/// What was used, counted alike for every dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// All that was read.
    pub(crate) input: u64,
    /// All that was written.
    pub(crate) output: u64,
    /// Of the input: read from a cache.
    pub(crate) cached: u64,
    /// Of the input: written to a cache.
    pub(crate) cache_written: u64,
    /// Of what was written to a cache: for an hour.
    pub(crate) cache_written_1h: u64,
    /// Of the output: thinking.
    pub(crate) thinking: u64,
    /// Of the input: what limits of a minute count (decision 035).
    pub(crate) limited_input: u64,
}

impl Counts {
    /// Nothing is said.
    pub(crate) const NONE: Self = Self([None; ROWS.len()]);

    /// What a whole answer says, JSON or a stream of events; nothing where it says nothing, or is something else.
    pub(crate) fn of_body(body: &[u8]) -> Self {
        if !may_say(body) {
            return Self::NONE;
        }
        Self::of_json(body).unwrap_or_else(|| Self::of_events(body))
    }

    /// What the first part of an answer says. Only a stream says it before its end.
    pub(crate) fn of_part(bytes: &[u8]) -> Self {
        Self::of_events(&bytes[..bytes.len().min(PART_BYTES_MAX)])
    }

    /// What a body or an event says that was built.
    pub(crate) fn of_value(value: &Value) -> Self {
        let said = PLACES.iter().map(|place| {
            let used = member(value, place);
            Self(ROWS.each_ref().map(|row| member(used?, row.keys)?.as_u64()))
        });
        said.into_iter().find(Self::says).unwrap_or_default()
    }

    /// One more event of a stream.
    pub(crate) fn hear(&mut self, data: &[u8]) {
        // Most events are content.
        if may_say(data)
            && let Some(said) = Self::of_json(data)
        {
            self.grow(&said);
        }
    }

    /// Of each count the greatest.
    pub(crate) fn grow(&mut self, said: &Self) {
        for (count, said) in self.0.iter_mut().zip(said.0) {
            *count = (*count).max(said);
        }
    }

    /// All that was used, in one dialect's words; nothing where nothing is said.
    pub(crate) fn tokens(&self) -> Option<Tokens> {
        let says = |words: &Words| {
            let mut parts = [Part::Input, Part::Output].into_iter();
            parts.any(|part| self.count(*words, part).is_some())
        };
        let words = ALL_WORDS.into_iter().find(says)?;
        let count = |part| self.count(words, part);
        let or_none = |part| count(part).unwrap_or(0);
        // Whoever says both means the same tokens.
        let apart = |inside, beside| match count(inside) {
            Some(_) => 0,
            None => or_none(beside),
        };
        let cached_apart = apart(Part::Cached, Part::CachedApart);
        let written_apart = apart(Part::CacheWritten, Part::CacheWrittenApart);
        // What Anthropic had from a cache is all that no limit counts.
        let limited_input = [or_none(Part::ByTools), written_apart]
            .into_iter()
            .fold(or_none(Part::Input), u64::saturating_add);
        let thinking_apart = apart(Part::Thinking, Part::ThinkingApart);
        Some(Tokens {
            input: limited_input.saturating_add(cached_apart),
            output: or_none(Part::Output).saturating_add(thinking_apart),
            cached: or_none(Part::Cached).max(cached_apart),
            cache_written: or_none(Part::CacheWritten).max(written_apart),
            cache_written_1h: or_none(Part::ForAnHour),
            thinking: or_none(Part::Thinking).max(thinking_apart),
            limited_input,
        })
    }

    /// All that was read and written, as people are told.
    pub(crate) fn used(&self) -> Usage {
        self.tokens().map_or(Usage::NONE, |tokens| Usage {
            tokens_in: tokens.input,
            tokens_out: tokens.output,
        })
    }

    /// The part of it that limits of a minute count (decision 035).
    pub(crate) fn limited(&self) -> Usage {
        self.tokens().map_or(Usage::NONE, |tokens| Usage {
            tokens_in: tokens.limited_input,
            tokens_out: tokens.output,
        })
    }

    fn of_json(bytes: &[u8]) -> Option<Self> {
        let mut heard = [Self::NONE; PLACES.len()];
        let walked = json::walk(bytes, &mut |path, value, _| {
            note(&mut heard, path, value.as_u64())
        });
        match walked {
            Some(()) => Some(heard.into_iter().find(Self::says).unwrap_or_default()),
            // What is not plainly JSON may still be JSON to the parser that builds.
            None => serde_json::from_slice(bytes)
                .ok()
                .map(|value| Self::of_value(&value)),
        }
    }

    fn of_events(bytes: &[u8]) -> Self {
        let mut counts = Self::NONE;
        Events::of(bytes).for_each(|(_, data)| counts.hear(&data));
        counts
    }

    fn says(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    fn count(&self, words: Words, part: Part) -> Option<u64> {
        let mut rows = ROWS.iter().zip(self.0);
        rows.find_map(|(row, count)| count.filter(|_| row.words == words && row.part == part))
    }
}

/// Notes a value at each place that it stands at, in or above. A member that stands twice is the last of the two, as for
/// the parser that builds: so whatever stands above a count takes it back.
fn note(heard: &mut [Counts; PLACES.len()], path: &Path<'_>, count: Option<u64>) {
    for (place, counts) in PLACES.iter().zip(heard) {
        let shared = path.depth().min(place.len());
        if !path.is_under(&place[..shared]) {
            continue;
        }
        let below = path.depth() - shared;
        for (row, said) in ROWS.iter().zip(&mut counts.0) {
            let is_on_the_way = below <= row.keys.len()
                && row.keys[..below]
                    .iter()
                    .enumerate()
                    .all(|(nth, key)| path.key(shared + nth).is_some_and(|said| said.is(key)));
            if is_on_the_way {
                *said = count.filter(|_| below == row.keys.len());
            }
        }
    }
}

/// The member of a member.
fn member<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter()
        .try_fold(value, |value, key| value.as_object()?.get(*key))
}

/// Whether these bytes may say what was used: each place has this word in its name.
fn may_say(bytes: &[u8]) -> bool {
    bytes.windows(5).any(|word| word == b"usage")
}

#[cfg(test)]
mod tests;
