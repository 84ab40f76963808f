//! `METHOD PATH`: which attempts a rule takes.

use crate::error::{ScriptError, Source, shown};
use std::fmt;
use std::ops::Range;

/// Which attempts a rule takes. Queries are not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Which methods.
    pub method: MethodPattern,
    /// Which paths.
    pub path: PathPattern,
}

impl Pattern {
    /// Every attempt: `* /*`.
    pub fn any() -> Self {
        Self {
            method: MethodPattern::Any,
            path: PathPattern::Prefix("/".to_owned()),
        }
    }

    /// Whether an attempt with this method and path (without its query) is taken.
    pub fn matches(&self, method: &str, path: &str) -> bool {
        let method = match &self.method {
            MethodPattern::Any => true,
            MethodPattern::Is(name) => name == method,
        };
        method
            && match &self.path {
                PathPattern::Is(text) => text == path,
                PathPattern::Prefix(prefix) => path.starts_with(prefix.as_str()),
            }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.method {
            MethodPattern::Any => f.write_str("*")?,
            MethodPattern::Is(name) => f.write_str(name)?,
        }
        match &self.path {
            PathPattern::Is(text) => write!(f, " {text}"),
            PathPattern::Prefix(prefix) => write!(f, " {prefix}*"),
        }
    }
}

/// Which methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodPattern {
    /// All of them: `*`.
    Any,
    /// This one.
    Is(String),
}

/// Which paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPattern {
    /// This one.
    Is(String),
    /// All that begin so: `/v1/*`.
    Prefix(String),
}

impl PathPattern {
    /// The path, or what it must begin with.
    pub fn text(&self) -> &str {
        match self {
            Self::Is(text) | Self::Prefix(text) => text,
        }
    }
}

/// Reads a pattern from the front of `span`; says where it ends.
pub(super) fn read(source: Source<'_>, span: Range<usize>) -> Result<(Pattern, usize), ScriptError> {
    let text = &source.text[..span.end];
    let word = |from: usize| {
        let start = from + (text[from..].len() - text[from..].trim_start().len());
        let end = text[start..]
            .find(char::is_whitespace)
            .map_or(text.len(), |at| start + at);
        start..end
    };
    let method_span = word(span.start);
    let path_span = word(method_span.end);
    let (method, path) = (&text[method_span.clone()], &text[path_span.clone()]);
    let right = "`METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`";
    if method.is_empty() || path.is_empty() || path.starts_with('=') {
        let place = if path.is_empty() { method_span } else { path_span };
        return Err(source.error(place, "a route has no path").expecting(right));
    }
    let method = match method {
        "*" => MethodPattern::Any,
        name if name.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') => {
            MethodPattern::Is(name.to_owned())
        }
        other => {
            let message = format!("`{}` is no method; methods are in capitals", shown(other));
            let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
            return Err(source
                .error(method_span, message)
                .near(&other.to_uppercase(), &known)
                .expecting(right));
        }
    };
    if !path.starts_with('/') {
        let message = format!("`{}` is no path", shown(path));
        return Err(source
            .error(path_span, message)
            .expecting("a path that begins with `/`"));
    }
    if let Some(at) = path.find('?') {
        let place = path_span.start + at..path_span.end;
        return Err(source.error(place, "a pattern has no query; every query matches"));
    }
    let path = match path.strip_suffix('*') {
        Some(prefix) => PathPattern::Prefix(prefix.to_owned()),
        None => PathPattern::Is(path.to_owned()),
    };
    if let Some(at) = path.text().find('*') {
        let place = path_span.start + at..path_span.start + at + 1;
        return Err(source.error(place, "`*` stands at the end of a path"));
    }
    Ok((Pattern { method, path }, path_span.end))
}
