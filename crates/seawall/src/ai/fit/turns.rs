//! Where a conversation may be cut apart.
//!
//! What can go wrong: half a turn is left, and a conversation begins with an answer to nothing, which one provider refuses
//! and the others misread; or a call of a tool goes and its result stays, which all refuse. So a unit is a turn, from a
//! word of the user to before the next; in the last one it is a round, from a word of the model to before the next; and
//! units that a call and its result would span are one.

use crate::ai::{Message, Part, Role};
use std::collections::BTreeMap;

/// A conversation in units.
pub(super) struct Turns {
    pinned: Vec<usize>,
    required: Vec<Unit>,
    /// The newest first.
    optional: Vec<Unit>,
}

/// Messages that stay or go together, by their place.
#[derive(Clone, Debug, Default)]
pub(super) struct Unit {
    indices: Vec<usize>,
}

impl Unit {
    pub(super) fn all<'u>(units: impl IntoIterator<Item = &'u Self>) -> Self {
        Self {
            indices: units.into_iter().flat_map(Self::messages).collect(),
        }
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = usize> + '_ {
        self.indices.iter().copied()
    }
}

impl Turns {
    pub(super) fn of(messages: &[Message]) -> Self {
        let (pinned, said): (Vec<usize>, Vec<usize>) =
            (0..messages.len()).partition(|index| is_pinned(&messages[*index]));
        let asked = said.iter().rposition(|index| is_asked(&messages[*index]));
        // Whether a unit begins at each message that is not pinned.
        let mut begins: Vec<bool> = said
            .iter()
            .enumerate()
            .map(|(at, index)| {
                let message = &messages[*index];
                let is_round = asked.is_some_and(|asked| at > asked) && message.role == Role::Assistant;
                at == 0 || is_asked(message) || is_round
            })
            .collect();
        join_calls(messages, &said, &mut begins);
        let mut units: Vec<Unit> = Vec::new();
        let mut required = Vec::new();
        for (at, index) in said.iter().enumerate() {
            if begins[at] {
                units.push(Unit::default());
                required.push(false);
            }
            if let (Some(unit), Some(is_required)) = (units.last_mut(), required.last_mut()) {
                unit.indices.push(*index);
                *is_required |= asked == Some(at) || at + 1 == said.len();
            }
        }
        let mut turns = Self {
            pinned,
            required: Vec::new(),
            optional: Vec::new(),
        };
        for (unit, is_required) in units.into_iter().zip(required).rev() {
            if is_required {
                turns.required.push(unit);
            } else {
                turns.optional.push(unit);
            }
        }
        turns
    }

    /// The messages of the system.
    pub(super) fn pinned(&self) -> &[usize] {
        &self.pinned
    }

    /// What stays whatever comes.
    pub(super) fn required(&self) -> &[Unit] {
        &self.required
    }

    /// What may go, the newest first.
    pub(super) fn optional(&self) -> &[Unit] {
        &self.optional
    }
}

/// Makes one unit of all that lies between a call and its result. A result belongs to the last call of its name before
/// it, since some make names up anew in each answer.
fn join_calls(messages: &[Message], said: &[usize], begins: &mut [bool]) {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, index) in said.iter().enumerate() {
        let message = &messages[*index];
        for call in message.tool_calls() {
            calls.insert(&call.id, at);
        }
        let earliest = message
            .tool_results()
            .filter_map(|result| calls.get(result.id.as_str()))
            .min();
        if let Some(call) = earliest {
            begins[call + 1..=at].fill(false);
        }
    }
}

fn is_pinned(message: &Message) -> bool {
    match message.role {
        Role::System | Role::Developer => true,
        Role::User | Role::Assistant | Role::Tool => false,
    }
}

/// The user says something; in Anthropic's form results of tools stand in messages of theirs, too.
fn is_asked(message: &Message) -> bool {
    let is_result = |part: &Part| matches!(part, Part::ToolResult(_));
    message.role == Role::User && (message.parts.is_empty() || !message.parts.iter().all(is_result))
}
