//! What the bytes of an answer say, as they come.
//!
//! What can go wrong: whoever hands bytes on without reading them learns of an error inside a stream, of its usage and of
//! its end from nobody. So bytes are read on the side and never changed (rule L4); events that cannot be read, errors and
//! an event without an end stop the reading, in the order in which they stand.

use crate::body::{
    Complete, Counts, Course, EVENT_BYTES_MAX, OwnedBodyFacts, RawEvent, ServerEvent, Sse, Word,
};
use std::collections::VecDeque;

/// Reads the events of an answer.
#[derive(Debug)]
pub(super) struct Watch {
    sse: Sse,
    /// `None` where events are somebody's own, and no dialect says what they mean.
    course: Option<Course>,
    content: Content,
    used: Counts,
    events: u64,
    kept: Kept,
    fault: Option<Fault>,
}

/// Whether any content has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    None,
    Some,
}

/// What is kept of events for who wants them.
#[derive(Debug)]
enum Kept {
    Events(VecDeque<ServerEvent>),
    Nothing,
}

/// Why a stream is not read further.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server failed, in its own words.
    Error(Box<OwnedBodyFacts>),
    /// An event is not what its dialect's events are.
    Unreadable,
    /// An event is longer than [`EVENT_BYTES_MAX`].
    TooLong,
}

/// What the user makes of an error inside a stream.
pub(super) enum Verdict {
    /// What it is.
    Failure,
    /// Content like any other (`classify`).
    Content,
}

impl Watch {
    /// Of a model's events, or of events that mean what their reader makes of them.
    pub(super) fn new(course: Option<Course>) -> Self {
        Self {
            sse: Sse::new(EVENT_BYTES_MAX),
            course,
            content: Content::None,
            used: Counts::NONE,
            events: 0,
            kept: Kept::Events(VecDeque::new()),
            fault: None,
        }
    }

    /// Reads these bytes, which follow those before.
    pub(super) fn hear(&mut self, mut bytes: &[u8], judge: impl Fn(&OwnedBodyFacts) -> Verdict) {
        while self.fault.is_none() {
            match self.sse.read(&mut bytes) {
                Ok(Some(event)) => self.fault = self.take(event, &judge),
                Ok(None) => return,
                Err(_) => self.fault = Some(Fault::TooLong),
            }
        }
    }

    /// No bytes follow.
    pub(super) fn end(&mut self, judge: impl Fn(&OwnedBodyFacts) -> Verdict) {
        if self.fault.is_some() {
            return;
        }
        let Some(event) = self.sse.end() else {
            return;
        };
        self.fault = match self.take(event, &judge) {
            // It is an event that did not come whole: the stream was cut short, which is told.
            Some(Fault::Unreadable | Fault::TooLong) | None => None,
            error @ Some(Fault::Error(_)) => error,
        };
    }

    fn take(&mut self, event: RawEvent, judge: impl Fn(&OwnedBodyFacts) -> Verdict) -> Option<Fault> {
        let word = match &mut self.course {
            Some(course) => course.hear(&event.name, &event.data),
            None => Word::Content,
        };
        match word {
            Word::Greeting => {}
            Word::Content => self.content = Content::Some,
            Word::Error(error) => match judge(&error) {
                Verdict::Failure => return Some(Fault::Error(error)),
                Verdict::Content => self.content = Content::Some,
            },
            Word::Unreadable => return Some(Fault::Unreadable),
        }
        self.used.hear(&event.data);
        let is_last_mark = self.course.is_some() && event.data.trim_ascii() == b"[DONE]";
        if !is_last_mark {
            self.events += 1;
            if let Kept::Events(events) = &mut self.kept {
                events.push_back(event.into());
            }
        }
        None
    }

    /// From here nobody wants events.
    pub(super) fn keep_nothing(&mut self) {
        self.kept = Kept::Nothing;
    }

    /// The next event that was read.
    pub(super) fn event(&mut self) -> Option<ServerEvent> {
        match &mut self.kept {
            Kept::Events(events) => events.pop_front(),
            Kept::Nothing => {
                self.kept = Kept::Events(VecDeque::new());
                None
            }
        }
    }

    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    pub(super) const fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    pub(super) const fn content(&self) -> Content {
        self.content
    }

    /// How complete the stream is; `None` where only the connection knows.
    pub(super) fn complete(&self) -> Option<Complete> {
        self.course.as_ref().map(Course::complete)
    }

    /// What the answer has used by now, as it says.
    pub(super) const fn used(&self) -> &Counts {
        &self.used
    }

    pub(super) const fn events(&self) -> u64 {
        self.events
    }

    /// Bytes that it keeps of events that have not come whole.
    pub(super) fn kept_bytes(&self) -> usize {
        self.sse.kept_bytes()
    }
}
