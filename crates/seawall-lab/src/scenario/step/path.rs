//! Places in JSON: `$.data[0].id`, the part of RFC 9535 that names one value.
//!
//! What can go wrong: a reader that turns numbers into floats captures `18446744073709551616` as
//! `1.8446744073709552e19`, and the next step asks for what is not there. So what is found is the text that stood in the
//! body. Wildcards, slices and filters may find many values, or none; a path that has one is an error when it is read.

use crate::error::{ScriptError, Source};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The deepest path.
const STEPS_MAX: usize = 100;
/// The most names that an error lists.
const NAMES_SHOWN_MAX: usize = 8;

/// A place in JSON.
///
/// ```
/// use seawall_lab::scenario::JsonPath;
/// let path = JsonPath::parse("$.data[-1]['id']").expect("a path");
/// assert_eq!(path.find(br#"{"data":[{"id":1},{"id":18446744073709551616}]}"#).unwrap(), "18446744073709551616");
/// assert!(JsonPath::parse("$..id").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    /// Counted from the end where it is negative.
    Index(i64),
}

impl JsonPath {
    /// Reads a path: `$`, then `.name`, `['name']`, `["name"]`, `[0]` or `[-1]` as often as needed.
    ///
    /// # Errors
    /// Points into the text.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        Self::read(Source::bare(text), 0..text.len())
    }

    pub(in crate::scenario) fn read(source: Source<'_>, span: Range<usize>) -> Result<Self, ScriptError> {
        let right = "$.name, $.list[0].name, $['a name'] or $.list[-1]";
        let text = &source.text[..span.end];
        let wrong = |at: usize, message: &str| {
            let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
            source.error(at..end.max(at), message).expecting(right)
        };
        if !text[span.start..].starts_with('$') {
            return Err(wrong(span.start, "a path begins with `$`, the whole body"));
        }
        let (mut steps, mut at) = (Vec::new(), span.start + 1);
        while let Some(sign) = text[at..].chars().next() {
            if steps.len() == STEPS_MAX {
                return Err(wrong(at, "this path is too deep"));
            }
            let (step, length) = match sign {
                '.' => dotted(&text[at + 1..]).map_err(|message| wrong(at, message))?,
                '[' => bracketed(&text[at + 1..]).map_err(|message| wrong(at, message))?,
                _ => return Err(wrong(at, "this is no step of a path")),
            };
            steps.push(step);
            at += 1 + length;
        }
        Ok(Self { steps })
    }

    /// What stands there, as it stands there: `"abc"`, `5`, `{"a":1}`.
    ///
    /// # Errors
    /// Says what stands in the way.
    pub fn find<'j>(&self, body: &'j [u8]) -> Result<&'j str, String> {
        let body = std::str::from_utf8(body).map_err(|_| "the body is no UTF-8".to_owned())?;
        let mut here: &'j RawValue =
            serde_json::from_str(body).map_err(|error| format!("the body is no JSON: {error}"))?;
        for (depth, step) in self.steps.iter().enumerate() {
            let path = Shown(&self.steps[..depth]);
            here = match step {
                Step::Name(name) => {
                    let mut table: BTreeMap<String, &'j RawValue> =
                        serde_json::from_str(here.get()).map_err(|_| format!("`{path}` is no object"))?;
                    table.remove(name).ok_or_else(|| missing(&path, name, &table))?
                }
                Step::Index(index) => {
                    let list: Vec<&'j RawValue> =
                        serde_json::from_str(here.get()).map_err(|_| format!("`{path}` is no list"))?;
                    place(*index, list.len())
                        .map(|place| list[place])
                        .ok_or_else(|| format!("`{path}` has {} elements, none at {index}", list.len()))?
                }
            };
        }
        Ok(here.get())
    }

    /// What stands there, as a text to go into a template: a JSON text without its quotes and escapes, all else as it
    /// stands.
    ///
    /// # Errors
    /// Says what stands in the way.
    pub fn capture(&self, body: &[u8]) -> Result<String, String> {
        let found = self.find(body)?;
        Ok(serde_json::from_str::<String>(found).unwrap_or_else(|_| found.to_owned()))
    }
}

fn place(index: i64, length: usize) -> Option<usize> {
    let from_end = usize::try_from(index.unsigned_abs()).ok()?;
    match index {
        0.. => Some(from_end).filter(|place| *place < length),
        _ => length.checked_sub(from_end),
    }
}

fn missing(path: &Shown<'_>, name: &str, table: &BTreeMap<String, &RawValue>) -> String {
    let names: Vec<&str> = table.keys().take(NAMES_SHOWN_MAX).map(String::as_str).collect();
    match (names.is_empty(), table.len() > NAMES_SHOWN_MAX) {
        (true, _) => format!("`{path}` has no `{name}`: it is empty"),
        (false, false) => format!("`{path}` has no `{name}`; it has {}", names.join(", ")),
        (false, true) => format!("`{path}` has no `{name}`; it has {} and more", names.join(", ")),
    }
}

fn dotted(rest: &str) -> Result<(Step, usize), &'static str> {
    let end = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .unwrap_or(rest.len());
    match &rest[..end] {
        "" if rest.starts_with('.') => Err("`..` may find many values; a path names one"),
        "" if rest.starts_with('*') => Err("`*` may find many values; a path names one"),
        "" => Err("a name follows the dot"),
        name => Ok((Step::Name(name.to_owned()), end)),
    }
}

fn bracketed(rest: &str) -> Result<(Step, usize), &'static str> {
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
    if let Some(quote) = quote {
        let inside = &rest[1..];
        let end = inside.find(quote).ok_or("this name is not closed")?;
        return match inside[end + 1..].starts_with(']') {
            true => Ok((Step::Name(inside[..end].to_owned()), end + 3)),
            false => Err("a name in brackets ends with its quote and `]`"),
        };
    }
    let end = rest.find(']').ok_or("this bracket is not closed")?;
    match rest[..end].parse() {
        Ok(index) => Ok((Step::Index(index), end + 1)),
        Err(_) => Err("in brackets stands a number, or a name in quotes"),
    }
}

struct Shown<'a>(&'a [Step]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.0.iter().try_for_each(|step| match step {
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Name(name) if dotted(name).is_ok_and(|(_, end)| end == name.len()) => write!(f, ".{name}"),
            Step::Name(name) => write!(f, "['{name}']"),
        })
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(&self.steps).fmt(f)
    }
}
