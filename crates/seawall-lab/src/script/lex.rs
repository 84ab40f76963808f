//! Words, pairs and commas, each with its place.

use crate::error::{ScriptError, Source, shown};
use std::ops::Range;

/// One piece of a script.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    /// Where it stands in the source.
    pub(super) span: Range<usize>,
    /// What it is.
    pub(super) kind: Kind<'a>,
}

/// What a piece is.
#[derive(Clone, Debug)]
pub(super) enum Kind<'a> {
    /// `,`
    Comma,
    /// A word without `=`.
    Word(&'a str),
    /// `key=value`, the value without its quotes.
    Pair {
        /// The part before `=`.
        key: &'a str,
        /// The part after it.
        value: String,
        /// Where the value stands, quotes included.
        value_span: Range<usize>,
    },
}

/// Cuts the bytes `span` of `source` into pieces.
pub(super) fn tokens<'a>(source: Source<'a>, span: Range<usize>) -> Result<Vec<Token<'a>>, ScriptError> {
    let mut lexer = Lexer {
        source,
        at: span.start,
        end: span.end,
    };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    source: Source<'a>,
    at: usize,
    end: usize,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Result<Option<Token<'a>>, ScriptError> {
        self.skip(char::is_whitespace);
        let start = self.at;
        let Some(first) = self.peek() else {
            return Ok(None);
        };
        if first == ',' {
            self.at += 1;
            let span = start..self.at;
            return Ok(Some(Token {
                span,
                kind: Kind::Comma,
            }));
        }
        self.skip(|c| !ends_word(c) && c != '=');
        let key = &self.source.text[start..self.at];
        if self.peek() != Some('=') {
            let span = start..self.at;
            return Ok(Some(Token {
                span,
                kind: Kind::Word(key),
            }));
        }
        if key.is_empty() {
            return Err(self
                .source
                .error(start..start + 1, "`=` has no name before it")
                .expecting("key=value"));
        }
        self.at += 1;
        let value_start = self.at;
        let value = self.value(key)?;
        let value_span = value_start..self.at;
        Ok(Some(Token {
            span: start..self.at,
            kind: Kind::Pair {
                key,
                value,
                value_span,
            },
        }))
    }

    fn value(&mut self, key: &str) -> Result<String, ScriptError> {
        let start = self.at;
        let value = match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            Some('{' | '[') => self.bracketed()?,
            Some(_) | None => {
                self.skip(|c| !ends_word(c));
                self.source.text[start..self.at].to_owned()
            }
        };
        if self.at == start {
            let message = format!("{}= has no value", shown(key));
            return Err(self
                .source
                .error(start..start + 1, message)
                .expecting("a value, or \"\" for an empty one"));
        }
        match self.peek() {
            Some(c) if !ends_word(c) => {
                let message = "a value ends here, and something follows without a space".to_owned();
                Err(self.source.error(self.at..self.at + c.len_utf8(), message))
            }
            Some(_) | None => Ok(value),
        }
    }

    /// A double-quoted value knows escapes; in a single-quoted one a backslash is a backslash.
    fn quoted(&mut self, quote: char) -> Result<String, ScriptError> {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        while let Some(c) = self.peek() {
            let here = self.at;
            self.at += c.len_utf8();
            if c == quote {
                return Ok(value);
            }
            if c == '\\' && quote == '"' {
                value.push(self.escape(here)?);
            } else {
                value.push(c);
            }
        }
        let message = format!("this {quote} is never closed");
        Err(self.source.error(start..start + 1, message))
    }

    fn escape(&mut self, start: usize) -> Result<char, ScriptError> {
        let Some(c) = self.peek() else {
            return Err(self
                .source
                .error(start..start + 1, "the text ends inside an escape"));
        };
        self.at += c.len_utf8();
        let plain = match c {
            '"' | '\\' => Some(c),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => {
                let rest = &self.source.text[self.at..self.end];
                let code = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
                code.and_then(|(digits, _)| {
                    self.at += digits.len() + 2;
                    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
                })
            }
            _ => None,
        };
        plain.ok_or_else(|| {
            let message = format!("`\\{}` is no escape", shown(&c.to_string()));
            self.source
                .error(start..self.at, message)
                .expecting(r#"one of \" \\ \n \r \t \u{41}"#)
        })
    }

    /// JSON as it stands, up to the bracket that closes the first one. Brackets inside strings don't count.
    fn bracketed(&mut self) -> Result<String, ScriptError> {
        let start = self.at;
        let mut depth = 0_usize;
        let mut in_string = false;
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                '\\' if in_string => self.at += self.peek().map_or(0, char::len_utf8),
                '"' => in_string = !in_string,
                '{' | '[' if !in_string => depth += 1,
                '}' | ']' if !in_string => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(self.source.text[start..self.at].to_owned());
            }
        }
        Err(self
            .source
            .error(start..start + 1, "this bracket is never closed"))
    }

    fn peek(&self) -> Option<char> {
        self.source.text[self.at..self.end].chars().next()
    }

    fn skip(&mut self, within: impl Fn(char) -> bool) {
        while let Some(c) = self.peek().filter(|c| within(*c)) {
            self.at += c.len_utf8();
        }
    }
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || c == ','
}
