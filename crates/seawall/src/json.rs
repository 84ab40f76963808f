//! JSON that is looked through, and not built.
//!
//! What can go wrong: a call is held up, and memory is taken, to build a tree of a prompt of megabytes of which three
//! members are looked at; and a reader that is laxer than the server's finds a member that is none. So the bytes are
//! gone through once, nothing is allocated, and what is not plainly JSON is given up: then its reader asks the parser
//! that builds. What is accepted here is JSON there, with the same members; a test holds the two together.
//!
//! What it does not cover: members below the fourth level, of which only the values are told.

use std::ops::Range;

/// How deep a value may be: as for the parser that builds.
const DEPTH_MAX: usize = 127;
/// Levels whose keys are told.
const LEVELS: usize = 4;
/// Digits and exponents up to here are numbers to every parser; beyond, one that builds must say.
const DIGITS_MAX: usize = 100;
const EXPONENT_MAX: u32 = 200;

/// A value, or where one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'b> {
    Null,
    Bool(bool),
    /// A number, as it stands.
    Number(&'b [u8]),
    Text(Text<'b>),
    /// A list begins; its items follow.
    List,
    /// An object begins; its members follow.
    Object,
}

impl Value<'_> {
    /// The number, where it is a whole one that fits.
    pub(crate) fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(digits) if digits.iter().all(u8::is_ascii_digit) => {
                std::str::from_utf8(digits).ok()?.parse().ok()
            }
            Self::Number(_) | Self::Null | Self::Bool(_) | Self::Text(_) | Self::List | Self::Object => None,
        }
    }
}

/// A text as it stands between its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text<'b> {
    raw: &'b [u8],
    /// Bytes of the text itself, without escapes.
    len: usize,
}

impl<'b> Text<'b> {
    /// How many bytes the text itself has.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The beginning of the text itself, as much as there is room for.
    pub(crate) fn start<'t>(&self, room: &'t mut [u8]) -> &'t [u8]
    where
        'b: 't,
    {
        if self.len == self.raw.len() {
            let raw: &'t [u8] = self.raw;
            return &raw[..raw.len().min(room.len())];
        }
        let (mut filled, mut at) = (0, 0);
        while let Some(byte) = self.raw.get(at) {
            let mut plain = [0; 4];
            let part = if *byte == b'\\' {
                let (character, next) = escaped(self.raw, at).expect("an escape was read before");
                at = next;
                character.encode_utf8(&mut plain).as_bytes()
            } else {
                at += 1;
                std::slice::from_ref(byte)
            };
            let Some(place) = room.get_mut(filled..filled + part.len()) else {
                break;
            };
            place.copy_from_slice(part);
            filled += part.len();
        }
        &room[..filled]
    }

    /// Whether the text is this word, of at most 64 bytes.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.len == word.len() && self.start(&mut [0; 64]) == word.as_bytes()
    }
}

/// Where a value stands: the keys above it, the outermost first, and how many levels there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'b> {
    steps: [Step<'b>; LEVELS],
    depth: usize,
}

#[derive(Clone, Copy, Debug)]
enum Step<'b> {
    Key(Text<'b>),
    Item,
}

impl<'b> Path<'b> {
    /// The innermost key, where its level is told and it is no place of a list.
    pub(crate) fn last_key(&self) -> Option<Text<'b>> {
        self.key(self.depth.checked_sub(1)?)
    }

    /// The key at this level, 0 being the outermost, where it is told and is no place of a list.
    pub(crate) fn key(&self, level: usize) -> Option<Text<'b>> {
        let is_above = level < self.depth;
        match self.steps.get(level).filter(|_| is_above)? {
            Step::Key(key) => Some(*key),
            Step::Item => None,
        }
    }

    /// Whether the value is the member of these keys; `*` is an item of a list.
    pub(crate) fn is(&self, keys: &[&str]) -> bool {
        self.depth == keys.len() && self.is_under(keys)
    }

    /// Whether the value is the member of these keys, or inside it.
    pub(crate) fn is_under(&self, keys: &[&str]) -> bool {
        let same = |(step, key): (&Step<'_>, &&str)| match step {
            Step::Key(text) => text.is(key),
            Step::Item => *key == "*",
        };
        keys.len() <= self.depth.min(LEVELS) && self.steps.iter().zip(keys).all(same)
    }

    /// How many keys and places of lists are above the value.
    pub(crate) const fn depth(&self) -> usize {
        self.depth
    }
}

/// Goes through one JSON value and tells each value in it, with where it stands and which bytes it is (of a list or an
/// object, its first). `None` where the bytes are not plainly one JSON value; what was told by then is void.
pub(crate) fn walk<'b>(
    bytes: &'b [u8],
    tell: &mut impl FnMut(&Path<'b>, Value<'b>, Range<usize>),
) -> Option<()> {
    std::str::from_utf8(bytes).ok()?;
    let mut scan = Scan { bytes, at: 0 };
    let mut path = Path {
        steps: [Step::Item; LEVELS],
        depth: 0,
    };
    scan.value(&mut path, tell)?;
    scan.blanks();
    (scan.at == bytes.len()).then_some(())
}

struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Scan<'b> {
    fn value(
        &mut self,
        path: &mut Path<'b>,
        tell: &mut impl FnMut(&Path<'b>, Value<'b>, Range<usize>),
    ) -> Option<()> {
        self.blanks();
        let from = self.at;
        let value = match self.peek()? {
            b'{' => {
                tell(path, Value::Object, from..from + 1);
                return self.members(path, tell);
            }
            b'[' => {
                tell(path, Value::List, from..from + 1);
                return self.items(path, tell);
            }
            b'"' => Value::Text(self.text()?),
            b't' => self.word(b"true", Value::Bool(true))?,
            b'f' => self.word(b"false", Value::Bool(false))?,
            b'n' => self.word(b"null", Value::Null)?,
            _ => Value::Number(self.number()?),
        };
        tell(path, value, from..self.at);
        Some(())
    }

    fn members(
        &mut self,
        path: &mut Path<'b>,
        tell: &mut impl FnMut(&Path<'b>, Value<'b>, Range<usize>),
    ) -> Option<()> {
        self.at += 1;
        self.blanks();
        if self.eat(b'}').is_some() {
            return Some(());
        }
        self.deeper(path)?;
        loop {
            self.blanks();
            let key = Step::Key(self.text()?);
            self.blanks();
            self.eat(b':')?;
            self.step(path, key);
            self.value(path, tell)?;
            self.blanks();
            if self.eat(b',').is_none() {
                break;
            }
        }
        path.depth -= 1;
        self.eat(b'}')
    }

    fn items(
        &mut self,
        path: &mut Path<'b>,
        tell: &mut impl FnMut(&Path<'b>, Value<'b>, Range<usize>),
    ) -> Option<()> {
        self.at += 1;
        self.blanks();
        if self.eat(b']').is_some() {
            return Some(());
        }
        self.deeper(path)?;
        loop {
            self.step(path, Step::Item);
            self.value(path, tell)?;
            self.blanks();
            if self.eat(b',').is_none() {
                break;
            }
        }
        path.depth -= 1;
        self.eat(b']')
    }

    fn deeper(&self, path: &mut Path<'b>) -> Option<()> {
        path.depth += 1;
        (path.depth < DEPTH_MAX).then_some(())
    }

    fn step(&self, path: &mut Path<'b>, step: Step<'b>) {
        if let Some(place) = path.steps.get_mut(path.depth - 1) {
            *place = step;
        }
    }

    fn text(&mut self) -> Option<Text<'b>> {
        self.eat(b'"')?;
        let from = self.at;
        let mut len = 0;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    let (character, next) = escaped(self.bytes, self.at)?;
                    self.at = next;
                    len += character.len_utf8();
                }
                0..0x20 => return None,
                _ => {
                    self.at += 1;
                    len += 1;
                }
            }
        }
        let raw = &self.bytes[from..self.at];
        self.at += 1;
        Some(Text { raw, len })
    }

    fn number(&mut self) -> Option<&'b [u8]> {
        let from = self.at;
        let _sign = self.eat(b'-');
        let whole = self.digits();
        let leads_with_zero = self.bytes[self.at - whole..self.at].starts_with(b"0");
        if whole == 0 || (leads_with_zero && whole > 1) {
            return None;
        }
        let mut digits = whole;
        if self.eat(b'.').is_some() {
            let part = self.digits();
            digits += part;
            if part == 0 {
                return None;
            }
        }
        if self.eat(b'e').or_else(|| self.eat(b'E')).is_some() {
            let _sign = self.eat(b'+').or_else(|| self.eat(b'-'));
            let exponent = self.digits();
            let text = std::str::from_utf8(&self.bytes[self.at - exponent..self.at]).ok()?;
            if text.parse::<u32>().ok()? > EXPONENT_MAX {
                return None;
            }
        }
        (digits <= DIGITS_MAX).then_some(&self.bytes[from..self.at])
    }

    fn digits(&mut self) -> usize {
        let left = &self.bytes[self.at..];
        let digits = left.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        digits
    }

    fn word(&mut self, word: &[u8], value: Value<'b>) -> Option<Value<'b>> {
        let rest = self.bytes[self.at..].strip_prefix(word)?;
        self.at = self.bytes.len() - rest.len();
        Some(value)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

/// The character that the escape at `at` stands for, and where it ends.
fn escaped(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let character = match bytes.get(at + 1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(bytes, at),
        _ => return None,
    };
    Some((character, at + 2))
}

/// As [`escaped`], for four hexadecimal digits, or twice four of them that are one character.
fn unicode(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u32> {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(at)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, at + 6));
    }
    // Two units are one character; one of them alone is none.
    let second = unit(at + 6)?;
    let pair = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let mut characters = char::decode_utf16(pair);
    let character = characters.next()?.ok()?;
    characters.next().is_none().then_some((character, at + 12))
}

#[cfg(test)]
mod tests;
