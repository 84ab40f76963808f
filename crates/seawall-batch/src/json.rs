//! Reads JSON without changing a byte of it.
//!
//! What can go wrong: a parser that builds values rounds `18446744073709551616`, refuses `1e400`, rewrites
//! `\u00e9\/`, re-orders keys and folds duplicates, all without a word, and the upstream then sees another request
//! than the one in the file. So serde_json only *validates* here; what is sent on are slices of the line. The
//! walkers below trust that the text is valid, and stay in bounds where it is not.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// One member of an object: its key, decoded where that is possible, and the slices as they stand.
pub(crate) struct Member<'a> {
    pub(crate) key: Cow<'a, str>,
    pub(crate) raw_key: &'a str,
    pub(crate) value: &'a str,
}

/// Why a text is not one JSON value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// Broken at this byte.
    Broken { column: usize, message: String },
    /// A whole value, and something after it from this byte on.
    Trailing { column: usize },
}

/// Whether `text` is one JSON value with nothing after it. Has no depth limit of its own: see [`lint`].
pub(crate) fn validate(text: &str) -> Result<(), Invalid> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = <serde::de::IgnoredAny as serde::Deserialize>::deserialize(&mut reader);
    value.map_err(|error| Invalid::Broken {
        column: error.column(),
        message: bare_message(&error),
    })?;
    reader.end().map_err(|error| Invalid::Trailing {
        column: error.column(),
    })
}

/// What a decoder would do to a string or a key; nothing where it holds half of a surrogate pair.
pub(crate) fn decode(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// The members of a valid object, in order, duplicates included.
pub(crate) fn members(object: &str) -> Vec<Member<'_>> {
    let mut walk = Walk::new(object);
    let mut found = Vec::new();
    walk.skip_space();
    walk.pos += 1;
    loop {
        walk.skip_space();
        match walk.peek() {
            Some(b',') => walk.pos += 1,
            Some(b'"') => {
                let raw_key = walk.value();
                walk.skip_space();
                walk.pos += 1;
                walk.skip_space();
                let value = walk.value();
                let key = decode(raw_key).unwrap_or(Cow::Borrowed(raw_key));
                found.push(Member { key, raw_key, value });
            }
            _ => return found,
        }
    }
}

/// The elements of a valid array, in order.
pub(crate) fn elements(array: &str) -> Vec<&str> {
    let mut walk = Walk::new(array);
    let mut found = Vec::new();
    walk.skip_space();
    walk.pos += 1;
    loop {
        walk.skip_space();
        match walk.peek() {
            Some(b',') => walk.pos += 1,
            Some(b']') | None => return found,
            Some(_) => found.push(walk.value()),
        }
    }
}

/// What a valid text holds that some reader on the way may not take.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lint {
    /// The deepest nesting of arrays and objects.
    pub(crate) depth: usize,
    /// A key that stands twice in one object, as it stands.
    pub(crate) duplicate_key: Option<String>,
    /// Where in the text half of a surrogate pair is escaped.
    pub(crate) lone_surrogate_at: Option<usize>,
}

/// Walks a whole valid text once.
pub(crate) fn lint(text: &str) -> Lint {
    let mut walk = Walk::new(text);
    let mut lint = Lint::default();
    // One entry a level: the keys of an object so far, nothing for an array.
    let mut levels: Vec<Option<BTreeSet<Cow<'_, str>>>> = Vec::new();
    let mut key_next = false;
    while let Some(byte) = walk.peek() {
        match byte {
            b'{' | b'[' => {
                key_next = byte == b'{';
                levels.push(key_next.then(BTreeSet::new));
                lint.depth = lint.depth.max(levels.len());
                walk.pos += 1;
            }
            b'}' | b']' => {
                levels.pop();
                key_next = false;
                walk.pos += 1;
            }
            b',' => {
                key_next = levels.last().is_some_and(Option::is_some);
                walk.pos += 1;
            }
            b'"' => {
                let start = walk.pos;
                let raw = walk.value();
                if let Some(at) = lone_surrogate(raw) {
                    lint.lone_surrogate_at.get_or_insert(start + at);
                }
                if key_next && let Some(Some(keys)) = levels.last_mut() {
                    let key = decode(raw).unwrap_or(Cow::Borrowed(raw));
                    if !keys.insert(key) {
                        lint.duplicate_key.get_or_insert_with(|| raw.to_owned());
                    }
                }
                key_next = false;
            }
            _ => walk.pos += 1,
        }
    }
    lint
}

/// A valid text without the white space outside its strings, so that it fits on one line.
pub(crate) fn one_line(text: &str) -> String {
    let mut walk = Walk::new(text);
    let mut out = String::with_capacity(text.len());
    while let Some(byte) = walk.peek() {
        match byte {
            b'"' => out.push_str(walk.value()),
            b' ' | b'\t' | b'\n' | b'\r' => walk.pos += 1,
            _ => {
                let start = walk.pos;
                while walk
                    .peek()
                    .is_some_and(|b| !matches!(b, b'"' | b' ' | b'\t' | b'\n' | b'\r'))
                {
                    walk.pos += 1;
                }
                out.push_str(walk.slice(start));
            }
        }
    }
    out
}

/// Writes `text` as a JSON string, with U+2028 and U+2029 escaped: readers that split lines the JavaScript or the
/// Python way take them for line ends.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut utf8 = [0; 4];
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
            }
            _ => out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes()),
        }
    }
    out.push(b'"');
}

/// The place inside a raw string of an escape that is half of a surrogate pair.
fn lone_surrogate(raw: &str) -> Option<usize> {
    let bytes = raw.as_bytes();
    let unit = |at: usize| -> Option<u32> {
        let digits = raw.get(at + 2..at + 6)?;
        (bytes.get(at) == Some(&b'\\') && bytes.get(at + 1) == Some(&b'u'))
            .then(|| u32::from_str_radix(digits, 16).ok())
            .flatten()
    };
    let mut at = 0;
    while let Some(found) = raw.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        match unit(at) {
            Some(0xd800..=0xdbff) => match unit(at + 6) {
                Some(0xdc00..=0xdfff) => at += 12,
                Some(_) | None => return Some(at),
            },
            Some(0xdc00..=0xdfff) => return Some(at),
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    None
}

/// serde_json's message without its "at line 1 column 7": the caller knows the line, and it is another.
fn bare_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

struct Walk<'a> {
    text: &'a str,
    pos: usize,
}

impl<'a> Walk<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, pos: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn slice(&self, start: usize) -> &'a str {
        self.text.get(start..self.pos).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.pos += 1;
        }
    }

    fn value(&mut self) -> &'a str {
        let start = self.pos;
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'{' | b'[') => self.skip_nested(),
            Some(_) | None => {
                // One byte at the least, so that no text, valid or not, holds a walk up.
                self.pos += 1;
                while self
                    .peek()
                    .is_some_and(|b| !matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r'))
                {
                    self.pos += 1;
                }
            }
        }
        self.pos = self.pos.min(self.text.len());
        self.slice(start)
    }

    fn skip_string(&mut self) {
        self.pos += 1;
        while let Some(byte) = self.peek() {
            self.pos += 1;
            match byte {
                b'\\' => self.pos += 1,
                b'"' => return,
                _ => {}
            }
        }
    }

    fn skip_nested(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.pos += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
