//! Server-sent events, however their bytes are cut.
//!
//! What can go wrong: a reader that takes a chunk for an event loses every event that a packet's end goes through, breaks
//! a character in two, or waits for the line feed after a carriage return that is the end of the line by itself; and one
//! that keeps what has no end fills the machine. So bytes are kept until their line is whole, a carriage return ends a
//! line at once, text is decoded line by line, and an event has a greatest length. What it does not cover: what events
//! mean ([`Course`](super::course::Course)). Reference: the HTML standard, 9.2.6.

use std::fmt;
use std::sync::Arc;

/// The longest event that is read: 16 MiB, above any picture that a provider sends inside one.
pub const EVENT_BYTES_MAX: usize = 16 << 20;

/// One event of a stream.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerEvent {
    /// Its name; empty where the server gave it none.
    pub name: String,
    /// Its data, of several lines with line feeds between them. Bytes that are no UTF-8 are replaced.
    pub data: String,
    /// The last id that the server gave, with this event or an earlier one; empty where it gave none. Shared by all events
    /// that have it.
    pub id: Arc<str>,
}

impl fmt::Debug for ServerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerEvent")
            .field("name", &self.name)
            .field("data_bytes", &self.data.len())
            .finish_non_exhaustive()
    }
}

/// One event as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawEvent {
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
    id: Arc<str>,
}

impl From<RawEvent> for ServerEvent {
    fn from(raw: RawEvent) -> Self {
        let data = String::from_utf8(raw.data)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Self {
            name: raw.name,
            data,
            id: raw.id,
        }
    }
}

/// An event is longer than its reader keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Reads events from bytes as they come.
#[derive(Debug)]
pub(crate) struct Sse {
    /// A line whose end has not come.
    line: Vec<u8>,
    lines: u64,
    /// A line feed that comes next belongs to the carriage return before it.
    after_return: bool,
    name: String,
    /// `None` before an event's first line of data: one with an empty line of it is an event all the same.
    data: Option<Vec<u8>>,
    id: Arc<str>,
    event_bytes_max: usize,
}

impl Sse {
    pub(crate) fn new(event_bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            lines: 0,
            after_return: false,
            name: String::new(),
            data: None,
            id: Arc::default(),
            event_bytes_max,
        }
    }

    /// Reads up to the end of the next event, and leaves what follows in `bytes`; `None` once they are used up.
    pub(crate) fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<RawEvent>, TooLong> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.has_room_for(bytes.len())?;
                self.line.extend_from_slice(bytes);
                *bytes = &[];
                return Ok(None);
            };
            let (line, rest) = bytes.split_at(end);
            self.after_return = rest[0] == b'\r';
            *bytes = &rest[1..];
            self.has_room_for(line.len())?;
            if let Some(event) = self.end_line(line) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// No bytes follow: the event that was not closed by an empty line, as some servers leave their last.
    pub(crate) fn end(&mut self) -> Option<RawEvent> {
        if !self.line.is_empty() {
            // It is not empty, so it dispatches nothing.
            self.end_line(b"");
        }
        self.dispatch()
    }

    /// Bytes that are kept: of an event until it is whole, and of the last id.
    #[cfg(feature = "http")]
    pub(crate) fn kept_bytes(&self) -> usize {
        self.event_bytes() + self.id.len()
    }

    fn event_bytes(&self) -> usize {
        self.line.len() + self.name.len() + self.data.as_ref().map_or(0, Vec::len)
    }

    fn has_room_for(&self, bytes: usize) -> Result<(), TooLong> {
        if self.event_bytes().saturating_add(bytes) > self.event_bytes_max {
            return Err(TooLong);
        }
        Ok(())
    }

    /// The line that was kept ends with this part.
    fn end_line(&mut self, part: &[u8]) -> Option<RawEvent> {
        if self.line.is_empty() {
            return self.take_line(part);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(part);
        let event = self.take_line(&line);
        // Its memory is used again, unless one long line had made it large.
        if line.capacity() <= 64 * 1024 {
            line.clear();
            self.line = line;
        }
        event
    }

    fn take_line(&mut self, line: &[u8]) -> Option<RawEvent> {
        let is_first = self.lines == 0;
        self.lines += 1;
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if is_first => rest,
            Some(_) | None => line,
        };
        if line.is_empty() {
            return self.dispatch();
        }
        match field(line) {
            (b"event", value) => self.name = String::from_utf8_lossy(value).into_owned(),
            (b"data", value) => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            (b"id", value) if !value.contains(&0) => self.id = String::from_utf8_lossy(value).into(),
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<RawEvent> {
        let name = std::mem::take(&mut self.name);
        let data = self.data.take()?;
        Some(RawEvent {
            name,
            data,
            id: Arc::clone(&self.id),
        })
    }
}

/// A line's field and its value; a comment is a field without a name.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let (field, value) = match line.iter().position(|byte| *byte == b':') {
        Some(colon) => (&line[..colon], &line[colon + 1..]),
        None => (line, b"".as_slice()),
    };
    (field, value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests;
