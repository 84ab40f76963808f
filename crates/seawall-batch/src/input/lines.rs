//! Framing: which bytes are one line.
//!
//! What can go wrong: U+2028, U+0085 or a CR inside a value must never split a row, a BOM must never become part of
//! an id, and one endless line must not fill the memory. LF alone separates; a file without any LF whose values
//! are separated by CR is read that way, and says so.

use std::io::{self, BufRead};

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    Lf,
    Cr,
}

impl Separator {
    const fn byte(self) -> u8 {
        match self {
            Self::Lf => b'\n',
            Self::Cr => b'\r',
        }
    }
}

/// One physical line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'b> {
    /// A whole line without its end.
    Whole {
        bytes: &'b [u8],
        place: Place,
        tail: Tail,
    },
    /// A line over the limit; its bytes were passed over.
    TooLong { length: u64, place: Place },
}

/// What follows a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Its separator.
    Separator,
    /// The end of the file, at once.
    Nothing,
}

/// Where a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Physical number, from 1.
    pub(crate) number: u64,
    /// Its first byte.
    pub(crate) offset: u64,
}

/// Reads a stream line by line into one buffer.
pub(crate) struct Lines<R> {
    reader: R,
    separator: Separator,
    length_max: u64,
    next: Place,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R, separator: Separator, length_max: u64) -> Self {
        Self {
            reader,
            separator,
            length_max,
            next: Place { number: 1, offset: 0 },
            buffer: Vec::new(),
        }
    }

    /// Bytes read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.next.offset
    }

    /// The next line; nothing at the end.
    pub(crate) fn read(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let mut length = 0_u64;
        let mut ended = false;
        while !ended {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            let end = chunk.iter().position(|b| *b == self.separator.byte());
            let part = &chunk[..end.unwrap_or(chunk.len())];
            length += part.len() as u64;
            if length <= self.length_max {
                self.buffer.extend_from_slice(part);
            }
            ended = end.is_some();
            let used = part.len() + usize::from(ended);
            self.next.offset += used as u64;
            self.reader.consume(used);
        }
        if length == 0 && !ended {
            return Ok(None);
        }
        let place = Place {
            number: self.next.number,
            offset: self.next.offset - length - u64::from(ended),
        };
        self.next.number += 1;
        if length > self.length_max {
            return Ok(Some(Line::TooLong { length, place }));
        }
        let bytes = match (self.separator, self.buffer.as_slice()) {
            (Separator::Lf, [line @ .., b'\r']) => line,
            (Separator::Lf | Separator::Cr, line) => line,
        };
        let tail = if ended { Tail::Separator } else { Tail::Nothing };
        Ok(Some(Line::Whole { bytes, place, tail }))
    }
}
