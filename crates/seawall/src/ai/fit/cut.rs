//! Texts cut to a number of tokens.
//!
//! What can go wrong: a text is cut inside a letter; at so many tokens of the whole, which are more once what followed is
//! gone; or through a word, a family of emoji, a letter and its accent. So a place is found piece by piece, as encodings
//! read, moved back to where people see a letter end, and what comes out is counted again as a whole before it is
//! believed.

use super::turns::Unit;
use crate::ai::tokens::{Counted, Tokenizer};
use crate::ai::{Message, Part};
use unicode_segmentation::{GraphemeCursor, GraphemeIncomplete};

/// The least of a text that is worth keeping of a turn that might be dropped: 16 tokens, a short sentence.
pub(super) const WORTH_TOKENS: u64 = 16;

/// How texts are cut.
pub(super) struct Scissors<'m> {
    tokenizer: Tokenizer,
    mark: &'m str,
    /// With the mark and the least that is to be left.
    tokens_min: u64,
}

/// A text that was cut.
pub(super) struct Cut {
    pub(super) text: String,
    pub(super) kept_bytes: usize,
    pub(super) tokens: u64,
}

/// A unit that was cut.
pub(super) struct CutUnit {
    pub(super) counted: Counted,
    pub(super) texts: usize,
}

/// Where a text stands: its message, its part, and the part in that where it is a tool's result.
#[derive(Clone, Copy)]
struct Spot {
    message: usize,
    part: usize,
    inner: Option<usize>,
}

impl<'m> Scissors<'m> {
    pub(super) fn new(tokenizer: Tokenizer, mark: &'m str, worth: u64) -> Self {
        Self {
            tokenizer,
            mark,
            tokens_min: tokenizer.tokens(mark).saturating_add(worth),
        }
    }

    /// Cuts the texts of a unit that has `counted` tokens, the longest first, until it has `room`. `None`, and nothing
    /// is changed, where that is not to be had.
    pub(super) fn cut_unit(
        &self,
        unit: &Unit,
        messages: &mut [Message],
        mut counted: Counted,
        room: u64,
    ) -> Option<CutUnit> {
        let mut texts: Vec<(u64, Spot)> = spots(unit, messages)
            .map(|(spot, text)| (self.tokenizer.tokens(text), spot))
            .collect();
        // Of equal ones the older.
        texts.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
        let mut cuts = Vec::new();
        for (tokens, spot) in texts {
            let excess = counted.tokens.saturating_sub(room);
            if excess == 0 {
                break;
            }
            let target = tokens.saturating_sub(excess).max(self.tokens_min);
            if target >= tokens {
                continue;
            }
            let Some(cut) = self.cut(text_at(messages, spot)?, target) else {
                continue;
            };
            counted.tokens -= tokens - cut.tokens;
            cuts.push((spot, cut.text));
        }
        if counted.tokens > room {
            return None;
        }
        let texts = cuts.len();
        for (spot, text) in cuts {
            if let Some(place) = text_at_mut(messages, spot) {
                *place = text;
            }
        }
        Some(CutUnit { counted, texts })
    }

    /// The start of a text and the mark, in so many tokens. `None` where not even the least is left.
    pub(super) fn cut(&self, text: &str, tokens_max: u64) -> Option<Cut> {
        let mut budget = tokens_max.checked_sub(self.tokenizer.tokens(self.mark))?;
        while budget > 0 {
            let place = whole_letters(text, self.tokenizer.prefix(text, budget));
            let start = match (text[..place].trim_end(), &text[..place]) {
                (_, "") => return None,
                // A text that begins with more white space than there is room for is no reason to refuse it.
                ("", blank) => blank,
                (start, _) => start,
            };
            let text = format!("{start}{}", self.mark);
            let tokens = self.tokenizer.tokens(&text);
            if tokens <= tokens_max {
                return Some(Cut {
                    kept_bytes: start.len(),
                    text,
                    tokens,
                });
            }
            budget = budget.saturating_sub(tokens - tokens_max);
        }
        None
    }
}

/// The last place at or before this one where people see a letter end.
fn whole_letters(text: &str, place: usize) -> usize {
    let place = text.floor_char_boundary(place);
    let mut cursor = GraphemeCursor::new(place, text.len(), true);
    let before = |cursor: &mut GraphemeCursor| -> Result<usize, GraphemeIncomplete> {
        if cursor.is_boundary(text, 0)? {
            return Ok(place);
        }
        Ok(cursor.prev_boundary(text, 0)?.unwrap_or(0))
    };
    before(&mut cursor).expect("the cursor was given all of the text")
}

/// The texts of a unit that may be cut, in order.
fn spots<'t>(unit: &'t Unit, messages: &'t [Message]) -> impl Iterator<Item = (Spot, &'t str)> {
    unit.messages().flat_map(move |message| {
        let parts = messages[message].parts.iter().enumerate();
        parts.flat_map(move |(part, of)| {
            let whole = std::iter::once((None, of));
            let inside = parts_of(of)
                .iter()
                .enumerate()
                .map(|(inner, of)| (Some(inner), of));
            whole.chain(inside).filter_map(move |(inner, of)| {
                let spot = Spot { message, part, inner };
                text_of(of).map(|text| (spot, text))
            })
        })
    })
}

fn text_at(messages: &[Message], spot: Spot) -> Option<&str> {
    let part = messages.get(spot.message)?.parts.get(spot.part)?;
    match spot.inner {
        None => text_of(part),
        Some(inner) => text_of(parts_of(part).get(inner)?),
    }
}

fn text_at_mut(messages: &mut [Message], spot: Spot) -> Option<&mut String> {
    let part = messages.get_mut(spot.message)?.parts.get_mut(spot.part)?;
    let part = match (spot.inner, part) {
        (Some(inner), Part::ToolResult(result)) => result.parts.get_mut(inner)?,
        (None | Some(_), part) => part,
    };
    match part {
        Part::Text(text) => Some(text),
        Part::Image(_)
        | Part::Thinking(_)
        | Part::Refusal(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::Other(_) => None,
    }
}

/// The parts of a tool's result.
fn parts_of(part: &Part) -> &[Part] {
    match part {
        Part::ToolResult(result) => &result.parts,
        Part::Text(_)
        | Part::Image(_)
        | Part::Thinking(_)
        | Part::Refusal(_)
        | Part::ToolCall(_)
        | Part::Other(_) => &[],
    }
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        Part::Image(_)
        | Part::Thinking(_)
        | Part::Refusal(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::Other(_) => None,
    }
}
