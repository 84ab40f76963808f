//! Texts with places for captured values: `/v1/payments/{{id}}`.

use crate::error::{ScriptError, Source, shown};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Names of captured values, and where each stands.
pub(in crate::scenario) type Names = Vec<(String, Range<usize>)>;

/// A text with places for what earlier steps captured.
///
/// `{{id}}` stands for the captured value; blanks inside the braces do not count. `\{{` is two braces and no place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Name(String),
}

impl Template {
    /// The text with every place filled in, as it was captured: nothing is escaped.
    ///
    /// # Errors
    /// The first name that nothing was captured for.
    pub fn fill(&self, captured: &BTreeMap<String, String>) -> Result<String, String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Name(name) => text.push_str(captured.get(name).ok_or_else(|| name.clone())?),
            }
        }
        Ok(text)
    }

    /// The names of its places, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Name(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Reads a template; says with each name where it stands.
    pub(in crate::scenario) fn read(
        source: Source<'_>,
        span: Range<usize>,
    ) -> Result<(Self, Names), ScriptError> {
        let (mut parts, mut names, mut text) = (Vec::new(), Vec::new(), String::new());
        let mut at = span.start;
        while let Some(open) = source.text[at..span.end].find("{{").map(|found| at + found) {
            if let Some(before) = source.text[at..open].strip_suffix('\\') {
                text.push_str(before);
                text.push_str("{{");
                at = open + 2;
                continue;
            }
            text.push_str(&source.text[at..open]);
            let inside = open + 2;
            let Some(close) = source.text[inside..span.end]
                .find("}}")
                .map(|found| inside + found)
            else {
                return Err(source
                    .error(open..span.end, "`{{` is not closed")
                    .expecting("{{name}} for what an earlier step captured; \\{{ for two braces"));
            };
            let name = source.text[inside..close].trim();
            if !is_name(name) {
                return Err(source
                    .error(open..close + 2, format!("`{}` is no name", shown(name)))
                    .expecting("letters, digits, _ and -; \\{{ for two braces that mean nothing"));
            }
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(Part::Name(name.to_owned()));
            names.push((name.to_owned(), open..close + 2));
            at = close + 2;
        }
        text.push_str(&source.text[at..span.end]);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok((Self { parts }, names))
    }
}

/// Whether something may name a captured value.
pub(in crate::scenario) fn is_name(name: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.bytes().all(rest)
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Name(name) => write!(f, "{{{{{name}}}}}"),
        })
    }
}
