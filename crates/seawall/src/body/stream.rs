//! A stream of events that is read whole.
//!
//! What can go wrong is what goes wrong with any stream ([`Course`]), and is told of the whole: complete, cut short, an
//! error on the way, or a hole. What it does not cover: streams that are handed on as they come.

use super::OwnedBodyFacts;
use super::course::{Complete, Course, Word};
use super::sse::{Sse, TooLong};
use seawall_core::facts::BodyState;

/// What a whole stream at an inference endpoint says, with the facts of its error where it holds one.
pub(super) fn whole_stream(bytes: &[u8]) -> OwnedBodyFacts {
    let is = |state| OwnedBodyFacts {
        state,
        ..OwnedBodyFacts::default()
    };
    let (mut sse, mut course) = (Sse::new(usize::MAX), Course::default());
    let mut rest = bytes;
    while let Ok(Some(event)) = sse.read(&mut rest) {
        match course.hear(&event.name, &event.data) {
            Word::Greeting | Word::Content => {}
            Word::Error(error) => return *error,
            Word::Unreadable => return is(BodyState::Undecodable),
        }
    }
    if let Some(event) = sse.end() {
        match course.hear(&event.name, &event.data) {
            // What cannot be read here is an event that did not come whole.
            Word::Greeting | Word::Content | Word::Unreadable => {}
            Word::Error(error) => return *error,
        }
    }
    match course.complete() {
        Complete::Not => is(BodyState::Truncated),
        Complete::Answer | Complete::Whole => is(BodyState::WellFormed),
    }
}

/// The events of a stream that has come whole, each with its name and data.
pub(crate) struct Events<'a> {
    sse: Sse,
    rest: &'a [u8],
}

impl<'a> Events<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self {
            sse: Sse::new(usize::MAX),
            rest: bytes,
        }
    }
}

impl Iterator for Events<'_> {
    type Item = (String, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let event = match self.sse.read(&mut self.rest) {
            Ok(Some(event)) => Some(event),
            // Nothing follows.
            Ok(None) | Err(TooLong) => self.sse.end(),
        };
        event.map(|event| (event.name, event.data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_dialects_last_word_makes_a_stream_whole() {
        // Half an answer that is taken for a whole one is worse than none: nobody asks again.
        let delta = r#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":null}]}"#;
        for (events, state) in [
            (delta, BodyState::Truncated),
            (": ping", BodyState::Truncated),
            ("data: {\"choices\":[{\"finish_reason\":", BodyState::Undecodable),
            (
                "data: {\"type\":\"response.output_item.done\"}",
                BodyState::Truncated,
            ),
            ("data: {\"type\":\"content_block_stop\"}", BodyState::Truncated),
            ("data: [DONE]", BodyState::WellFormed),
            (
                "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}",
                BodyState::WellFormed,
            ),
            (
                "event: message_stop\r\ndata: {\"type\":\"message_stop\"}",
                BodyState::WellFormed,
            ),
            (
                "data: {\"type\":\"response.completed\",\"response\":{\"error\":null}}",
                BodyState::WellFormed,
            ),
            ("data: {\"type\":\"response.incomplete\"}", BodyState::WellFormed),
            (
                "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}",
                BodyState::WellFormed,
            ),
            (
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
                BodyState::ErrorInside,
            ),
        ] {
            let stream = format!("{delta}\n\n{events}\n\n");
            assert_eq!(whole_stream(stream.as_bytes()).state, state, "{events}");
        }
        assert_eq!(whole_stream(b"\xff\xfe\n\n").state, BodyState::Truncated);
    }

    #[test]
    fn an_error_on_the_way_is_told_even_where_the_stream_ends_well() {
        // A gateway that closes each stream with `[DONE]` would hide what went wrong before.
        let stream =
            b"data: {\"choices\":[]}\n\ndata: {\"error\":{\"code\":\"server_error\"}}\n\ndata: [DONE]\n\n";
        let facts = whole_stream(stream);
        assert_eq!(
            (facts.state, facts.code.as_deref()),
            (BodyState::ErrorInside, Some("server_error"))
        );
    }
}
