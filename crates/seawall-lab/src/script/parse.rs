//! From pieces to steps. One function per rule of the grammar, top down.

use super::lex::{Kind, Token, tokens};
use super::{
    ACTION_NAMES, Action, After, BODY_BYTES_MAX, Body, Cut, Deed, End, ErrorCode, Reply, SCRIPT_BYTES_MAX,
    STEPS_MAX, Step, Stream, StreamEnd, Wording,
};
use crate::error::{ScriptError, Source, shown};
use seawall_core::time::Duration;
use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::str::FromStr;

/// What may begin a step, for errors.
const ACTION_EXPECTED: &str = "a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, \
                               apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, \
                               goaway, rst-stream";
/// What a length of time looks like, for errors.
const LENGTH_EXPECTED: &str = "500ms, 30s, 2m or 1h30m";
/// What is wrong with a second body, for errors.
const BODY_TWICE: &str =
    "an answer has one body: body=, text=, json=, or the dialect's with code= and retry-in=";
/// Headers that the mock makes itself: wrong ones are faults of their own, with names of their own.
const FRAMING_HEADERS: [&str; 4] = [
    "content-length",
    "transfer-encoding",
    "connection",
    "x-seawall-fault",
];

/// The steps, the end, and where each action stood.
pub(super) type Parsed<A = Action> = (Vec<Step<A>>, End, Vec<Range<usize>>);

/// Reads a whole script.
pub(super) fn script(source: Source<'_>, span: Range<usize>) -> Result<Parsed, ScriptError> {
    steps(source, span, ACTION_EXPECTED, |parser| {
        parser.action(Nesting::Outer)
    })
}

/// Reads steps whose actions `read` knows; `expected` says what may begin one.
pub(super) fn steps<A>(
    source: Source<'_>,
    span: Range<usize>,
    expected: &'static str,
    read: fn(&mut Parser<'_>) -> Result<A, ScriptError>,
) -> Result<Parsed<A>, ScriptError> {
    let mut parser = Parser::new(source, span, expected)?;
    let (mut steps, mut spans) = (Vec::new(), Vec::new());
    loop {
        if let Some(stop) = parser.word_if("stop") {
            return match parser.peek() {
                None if steps.is_empty() => {
                    Err(source.error(stop, "`stop` ends a script, and there is nothing before it"))
                }
                None => Ok((steps, End::Stop, spans)),
                Some(_) => Err(source.error(stop, "`stop` stands at the end of a script")),
            };
        }
        let step = parser.step(&mut spans, read)?;
        if let Some(earlier) = last_at(&steps).filter(|earlier| step.at.is_some_and(|at| at < *earlier)) {
            let span = spans.pop().expect("a parsed step has a place");
            let message = format!("this step begins before the one at {earlier}; steps stand in time order");
            return Err(source.error(span, message));
        }
        steps.push(step);
        if steps.len() > STEPS_MAX {
            let span = spans.pop().expect("a parsed step has a place");
            return Err(source.error(span, format!("a script has at most {STEPS_MAX} steps")));
        }
        match parser.next() {
            None => return Ok((steps, End::Repeat, spans)),
            Some(token) => parser.expect_comma(&token)?,
        }
    }
}

/// Reads one action and nothing else.
pub(super) fn action(source: Source<'_>, span: Range<usize>) -> Result<Action, ScriptError> {
    let mut parser = Parser::new(source, span, ACTION_EXPECTED)?;
    let action = parser.action(Nesting::Outer)?;
    match parser.next() {
        None => Ok(action),
        Some(token) => Err(source.error(token.span, "one action was expected, and it ends before this")),
    }
}

fn last_at<A>(steps: &[Step<A>]) -> Option<Duration> {
    steps.iter().rev().find_map(|step| step.at)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Outer,
    AfterApply,
}

/// The pieces of a script that are still to be read.
pub(super) struct Parser<'a> {
    pub(super) source: Source<'a>,
    tokens: std::iter::Peekable<std::vec::IntoIter<Token<'a>>>,
    // What may begin an action, for errors.
    expected: &'static str,
    // Where the text ends: the place of what is missing.
    end: usize,
}

impl<'a> Parser<'a> {
    fn new(source: Source<'a>, span: Range<usize>, expected: &'static str) -> Result<Self, ScriptError> {
        if span.len() > SCRIPT_BYTES_MAX {
            let message = format!(
                "the script is {} bytes long; the most is {SCRIPT_BYTES_MAX}",
                span.len()
            );
            return Err(source.error(span.start..span.start, message));
        }
        let end = span.start + source.text[span.clone()].trim_end().len();
        Ok(Self {
            source,
            tokens: tokens(source, span)?.into_iter().peekable(),
            expected,
            end,
        })
    }

    fn step<A>(
        &mut self,
        spans: &mut Vec<Range<usize>>,
        read: fn(&mut Parser<'_>) -> Result<A, ScriptError>,
    ) -> Result<Step<A>, ScriptError> {
        let count = self.count()?;
        let at = self.length("at")?;
        let length_place = self.place();
        let length = self.length("for")?;
        if length == Some(Duration::ZERO) {
            return Err(self.source.error(length_place, "a step for no time is never met"));
        }
        let start = self.place().start;
        let action = read(self)?;
        let end = self.place().start;
        let text = self.source.text[start..end].trim_end();
        spans.push(start..start + text.len());
        Ok(Step {
            count,
            at,
            length,
            action,
        })
    }

    /// `3x`.
    fn count(&mut self) -> Result<Option<NonZeroU32>, ScriptError> {
        let Some((word, span)) = self.peek_word() else {
            return Ok(None);
        };
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = word.split_at(digits);
        if number.is_empty() || !tail.starts_with('x') {
            return Ok(None);
        }
        if tail != "x" {
            let message = format!("`{}` runs two words together", shown(word));
            let right = format!("a space: `{number}x {}`", shown(&tail[1..]));
            return Err(self.source.error(span, message).expecting(right));
        }
        match number.parse::<u32>() {
            Ok(count) => match NonZeroU32::new(count) {
                Some(count) => {
                    self.next();
                    Ok(Some(count))
                }
                None => Err(self
                    .source
                    .error(span, "a step that is met 0 times can be left out")),
            },
            Err(_) => Err(self
                .source
                .error(span, format!("{number} is more than {}", u32::MAX))),
        }
    }

    /// `at 5s`, `for 5s`.
    fn length(&mut self, keyword: &str) -> Result<Option<Duration>, ScriptError> {
        if self.word_if(keyword).is_none() {
            return Ok(None);
        }
        let Some((word, span)) = self.peek_word() else {
            let place = self.place();
            return Err(self
                .source
                .error(place, format!("`{keyword}` has no length of time"))
                .expecting(LENGTH_EXPECTED));
        };
        let length = duration(self.source, word, span)?;
        self.next();
        Ok(Some(length))
    }

    fn action(&mut self, nesting: Nesting) -> Result<Action, ScriptError> {
        let (word, span) = self.action_word()?;
        match word {
            "apply" if nesting == Nesting::AfterApply => {
                Err(self.source.error(span, "`apply` stands once in a step"))
            }
            "apply" => self.apply(span),
            "wrong-length" => {
                let by = self.signed(&span)?;
                self.options(word, &span, Deed::WrongLength(by))
            }
            _ => {
                let deed = deed(self.source, word, &span)?;
                self.options(word, &span, deed)
            }
        }
    }

    /// The word that begins an action.
    pub(super) fn action_word(&mut self) -> Result<(&'a str, Range<usize>), ScriptError> {
        let Some(token) = self.next() else {
            return Err(self
                .source
                .error(self.end..self.end, "a step is missing")
                .expecting(self.expected));
        };
        match token.kind {
            Kind::Word(word) => Ok((word, token.span)),
            Kind::Comma => Err(self
                .source
                .error(token.span, "a step is missing before this comma")
                .expecting(self.expected)),
            Kind::Pair { key, .. } => {
                let message = format!("`{}=` is an option, and no action stands before it", shown(key));
                Err(self.source.error(token.span, message).expecting(self.expected))
            }
        }
    }

    fn apply(&mut self, span: Range<usize>) -> Result<Action, ScriptError> {
        if self.word_if("then").is_none() {
            let place = self.peek().map_or(span, |token| token.span.clone());
            return Err(self
                .source
                .error(place, "`apply` does the work and then does something else")
                .expecting("`apply then ACTION`"));
        }
        let then = self.action(Nesting::AfterApply)?;
        Ok(Action {
            deed: Deed::Apply(Box::new(then)),
            delay: Duration::ZERO,
        })
    }

    /// `+5`, `-3`.
    fn signed(&mut self, after: &Range<usize>) -> Result<i64, ScriptError> {
        let place = self.peek().map_or(after.clone(), |token| token.span.clone());
        let source = self.source;
        let error = |message: &str| {
            source
                .error(place.clone(), message)
                .expecting("+N or -N, as in `wrong-length +5`")
        };
        let Some((word, _)) = self.peek_word() else {
            return Err(error("`wrong-length` does not say by how much"));
        };
        let signed = word.starts_with(['+', '-']);
        let by = i64::from_str(word)
            .ok()
            .filter(|by| signed && *by != 0 && by.unsigned_abs() <= BODY_BYTES_MAX);
        let by = by.ok_or_else(|| error(&format!("`{}` is no difference in bytes", shown(word))))?;
        self.next();
        Ok(by)
    }

    fn options(&mut self, word: &str, span: &Range<usize>, deed: Deed) -> Result<Action, ScriptError> {
        let mut options = Options {
            source: self.source,
            word,
            seen: Vec::new(),
            action: Action {
                deed,
                delay: Duration::ZERO,
            },
        };
        while let Some((key, key_span, value, value_span)) = self.pair() {
            options.take(key, key_span, value, value_span)?;
        }
        options.finish(span)
    }

    /// The next option: its key, the key's place, its value, the value's place.
    pub(super) fn pair(&mut self) -> Option<(&'a str, Range<usize>, String, Range<usize>)> {
        let token = self
            .tokens
            .next_if(|token| matches!(token.kind, Kind::Pair { .. }))?;
        match token.kind {
            Kind::Pair {
                key,
                value,
                value_span,
            } => Some((
                key,
                token.span.start..token.span.start + key.len(),
                value,
                value_span,
            )),
            Kind::Comma | Kind::Word(_) => None,
        }
    }

    fn expect_comma(&self, token: &Token<'_>) -> Result<(), ScriptError> {
        let message = match &token.kind {
            Kind::Comma => return Ok(()),
            Kind::Word(word) => format!("`{}` does not follow an action", shown(word)),
            Kind::Pair { key, .. } => format!("`{}=` does not follow an action", shown(key)),
        };
        Err(self
            .source
            .error(token.span.clone(), message)
            .expecting("a comma before the next step, or key=value"))
    }

    fn next(&mut self) -> Option<Token<'a>> {
        self.tokens.next()
    }

    fn peek(&mut self) -> Option<&Token<'a>> {
        self.tokens.peek()
    }

    /// Where the next piece stands, or where it is missing.
    fn place(&mut self) -> Range<usize> {
        let end = self.end;
        self.peek().map_or(end..end, |token| token.span.clone())
    }

    fn peek_word(&mut self) -> Option<(&'a str, Range<usize>)> {
        match self.tokens.peek() {
            Some(Token {
                kind: Kind::Word(word),
                span,
            }) => Some((word, span.clone())),
            Some(_) | None => None,
        }
    }

    fn word_if(&mut self, keyword: &str) -> Option<Range<usize>> {
        let found = self
            .tokens
            .next_if(|token| matches!(token.kind, Kind::Word(word) if word == keyword));
        found.map(|token| token.span)
    }
}

fn deed(source: Source<'_>, word: &str, span: &Range<usize>) -> Result<Deed, ScriptError> {
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        if word.ends_with('x') {
            let message = format!("`{}` stands first in its step", shown(word));
            return Err(source
                .error(span.clone(), message)
                .expecting("COUNT, `at`, `for`, ACTION, in this order, as in `2x at 5s for 1s 503`"));
        }
        let status = word.parse().ok().filter(|status| (200..=999).contains(status));
        return match status {
            Some(status) => Ok(Deed::Status(Reply {
                status,
                headers: Vec::new(),
                body: Body::Dialect,
            })),
            None => Err(source
                .error(span.clone(), format!("`{}` is no final status", shown(word)))
                .expecting("200 to 999")),
        };
    }
    match word {
        "error-in-200" => Ok(Deed::ErrorIn200),
        "stream" => Ok(Deed::Stream(Stream {
            events: None,
            gap: Duration::ZERO,
            then: StreamEnd::Done,
        })),
        "reset" => Ok(Deed::Reset(After::Nothing)),
        "close" => Ok(Deed::Close(After::Nothing)),
        "hang" => Ok(Deed::Hang(After::Nothing)),
        // What these need stands in an option; `Options::finish` refuses them without it.
        "truncate" => Ok(Deed::Truncate(Cut::Percent(0))),
        "drip" => Ok(Deed::Drip(NonZeroU64::MIN)),
        "garbage" => Ok(Deed::Garbage),
        "bad-chunk" => Ok(Deed::BadChunk),
        "half-close" => Ok(Deed::HalfClose),
        "slow-headers" => Ok(Deed::SlowHeaders),
        "bad-gzip" => Ok(Deed::BadGzip),
        "goaway" => Ok(Deed::Goaway(Deed::DEFAULT_GOAWAY)),
        "rst-stream" => Ok(Deed::RstStream(After::Nothing, Deed::DEFAULT_RST_STREAM)),
        "stop" => Err(source.error(
            span.clone(),
            "`stop` is no action: it stands alone, at the end of a script",
        )),
        _ => {
            let message = format!("`{}` is no action", shown(word));
            Err(source
                .error(span.clone(), message)
                .near(word, &ACTION_NAMES)
                .expecting(ACTION_EXPECTED))
        }
    }
}

struct Options<'a, 'w> {
    source: Source<'a>,
    word: &'w str,
    seen: Vec<String>,
    action: Action,
}

impl Options<'_, '_> {
    fn take(
        &mut self,
        key: &str,
        key_span: Range<usize>,
        value: String,
        at: Range<usize>,
    ) -> Result<(), ScriptError> {
        // Headers may repeat; everything else says one thing.
        if !key.starts_with("header.") && self.seen.iter().any(|seen| seen == key) {
            return Err(self
                .source
                .error(key_span, format!("{}= stands twice", shown(key))));
        }
        self.seen.push(key.to_owned());
        let source = self.source;
        if key == "delay" {
            self.action.delay = duration(source, &value, at)?;
            return Ok(());
        }
        match (&mut self.action.deed, key) {
            (Deed::Status(reply), _) => {
                if let Some(unknown) = status_option(source, reply, key, &key_span, value, at)? {
                    return Err(self.unknown(unknown, key_span));
                }
            }
            (Deed::Stream(stream), "events") => {
                stream.events = Some(number(source, key, &value, at, 0, u32::MAX.into())?)
            }
            (Deed::Stream(stream), "gap") => stream.gap = duration(source, &value, at)?,
            (Deed::Stream(stream), "then") => {
                let names = StreamEnd::ALL.map(StreamEnd::name);
                let found = StreamEnd::ALL.into_iter().find(|end| end.name() == value);
                stream.then = found.ok_or_else(|| {
                    let message = format!("a stream does not end with `{}`", shown(&value));
                    source.error(at, message).expecting_one_of(&value, &names)
                })?;
            }
            (Deed::Goaway(code) | Deed::RstStream(_, code), "error") => {
                let names = ErrorCode::ALL.map(ErrorCode::name);
                let found = ErrorCode::ALL.into_iter().find(|code| code.name() == value);
                *code = found.ok_or_else(|| {
                    let message = format!("HTTP/2 has no error code `{}`", shown(&value));
                    source.error(at, message).expecting_one_of(&value, &names)
                })?;
            }
            (
                Deed::Reset(after) | Deed::Close(after) | Deed::Hang(after) | Deed::RstStream(after, _),
                "after",
            ) => {
                *after = After::BodyBytes(number(source, key, &value, at, 0, BODY_BYTES_MAX)?);
            }
            (Deed::Truncate(cut), "at") => *cut = truncation(source, &value, at)?,
            (Deed::Drip(bytes_per_second), "bps") => {
                *bytes_per_second = number(source, key, &value, at, 1, u64::MAX)?;
            }
            _ => return Err(self.unknown(key, key_span)),
        }
        Ok(())
    }

    /// An action whose needed option is missing would do something nobody asked for.
    fn finish(self, span: &Range<usize>) -> Result<Action, ScriptError> {
        let lacks = |key: &str| !self.seen.iter().any(|seen| seen == key);
        let error =
            |message: &str, right: &str| Err(self.source.error(span.clone(), message).expecting(right));
        if matches!(self.action.deed, Deed::Truncate(_)) && lacks("at") {
            return error(
                "`truncate` does not say where",
                "`truncate at=50%` or `truncate at=100`",
            );
        }
        if matches!(self.action.deed, Deed::Drip(_)) && lacks("bps") {
            return error("`drip` does not say how fast", "`drip bps=20`, bytes a second");
        }
        Ok(self.action)
    }

    fn unknown(&self, key: &str, span: Range<usize>) -> ScriptError {
        let known: &[&str] = match &self.action.deed {
            Deed::Status(_) => &[
                "retry-after",
                "retry-after-ms",
                "retry-in",
                "code",
                "body",
                "text",
                "json",
                "header.NAME",
                "delay",
            ],
            Deed::Stream(_) => &["events", "gap", "then", "delay"],
            Deed::Reset(_) | Deed::Close(_) | Deed::Hang(_) => &["after", "delay"],
            Deed::Truncate(_) => &["at", "delay"],
            Deed::Drip(_) => &["bps", "delay"],
            Deed::ErrorIn200
            | Deed::Apply(_)
            | Deed::Garbage
            | Deed::WrongLength(_)
            | Deed::BadChunk
            | Deed::HalfClose
            | Deed::SlowHeaders
            | Deed::BadGzip => &["delay"],
            Deed::Goaway(_) => &["error", "delay"],
            Deed::RstStream(..) => &["after", "error", "delay"],
        };
        let message = format!("`{}` has no option `{}`", shown(self.word), shown(key));
        self.source.error(span, message).expecting_one_of(key, known)
    }
}

/// Takes an option of a status; hands the key back where it is none.
fn status_option<'k>(
    source: Source<'_>,
    reply: &mut Reply,
    key: &'k str,
    key_span: &Range<usize>,
    value: String,
    at: Range<usize>,
) -> Result<Option<&'k str>, ScriptError> {
    let name = match key {
        "retry-after" | "retry-after-ms" => Some(key),
        _ => key.strip_prefix("header."),
    };
    if let Some(name) = name {
        header_name(source, name, key_span.clone())?;
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(source.error(at, format!("a value of {name} cannot hold control characters")));
        }
        reply.headers.push((name.to_owned(), value));
        return Ok(None);
    }
    if matches!(key, "code" | "retry-in") {
        let wording = wording(source, reply, key, key_span)?;
        match key {
            "code" if value.is_empty() => return Err(source.error(at, "an empty code names nothing")),
            "code" => wording.code = Some(value),
            _ => wording.wait = Some(duration(source, &value, at)?),
        }
        return Ok(None);
    }
    let body = match key {
        "body" => Body::Raw(value),
        "text" => Body::Text(value),
        "json" => Body::Json(value),
        _ => return Ok(Some(key)),
    };
    if reply.body != Body::Dialect {
        return Err(source.error(key_span.clone(), BODY_TWICE));
    }
    reply.body = body;
    Ok(None)
}

/// What the dialect's error says: a body of its own has no say in it, and an answer that is no error has no words for it.
fn wording<'r>(
    source: Source<'_>,
    reply: &'r mut Reply,
    key: &str,
    key_span: &Range<usize>,
) -> Result<&'r mut Wording, ScriptError> {
    if reply.status < 400 {
        let message = format!("`{key}=` words an error, and {} is none", reply.status);
        return Err(source
            .error(key_span.clone(), message)
            .expecting("it at a status of 400 or above"));
    }
    if reply.body == Body::Dialect {
        reply.body = Body::Worded(Wording::default());
    }
    match &mut reply.body {
        Body::Worded(wording) => Ok(wording),
        Body::Dialect | Body::Raw(_) | Body::Text(_) | Body::Json(_) => {
            Err(source.error(key_span.clone(), BODY_TWICE))
        }
    }
}

fn header_name(source: Source<'_>, name: &str, span: Range<usize>) -> Result<(), ScriptError> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(source.error(span, format!("`{}` is no header name", shown(name))));
    }
    if FRAMING_HEADERS
        .iter()
        .any(|framing| name.eq_ignore_ascii_case(framing))
    {
        let message = format!("`{}` is written by the mock itself", shown(name));
        return Err(source
            .error(span, message)
            .expecting("a fault such as truncate, wrong-length, bad-chunk or close"));
    }
    Ok(())
}

fn truncation(source: Source<'_>, value: &str, at: Range<usize>) -> Result<Cut, ScriptError> {
    match value.strip_suffix('%') {
        Some(percent) => {
            let percent = percent.parse().ok().filter(|percent| *percent <= 99);
            percent.map(Cut::Percent).ok_or_else(|| {
                let message = format!("`{}` is no part of a body", shown(value));
                source
                    .error(at, message)
                    .expecting("0% to 99%, or a number of bytes")
            })
        }
        None => number(source, "at", value, at, 0, BODY_BYTES_MAX).map(Cut::Bytes),
    }
}

fn number<N: TryFrom<u64>>(
    source: Source<'_>,
    key: &str,
    value: &str,
    at: Range<usize>,
    min: u64,
    max: u64,
) -> Result<N, ScriptError> {
    let digits = value.bytes().all(|b| b.is_ascii_digit());
    let number = value
        .parse()
        .ok()
        .filter(|number| digits && (min..=max).contains(number));
    number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| {
        let message = format!("{key}= is `{}`", shown(value));
        source
            .error(at, message)
            .expecting(format!("a whole number, {min} to {max}"))
    })
}

pub(super) fn duration(source: Source<'_>, text: &str, at: Range<usize>) -> Result<Duration, ScriptError> {
    Duration::parse_units(text).ok_or_else(|| {
        let message = format!("`{}` is no length of time", shown(text));
        source.error(at, message).expecting(LENGTH_EXPECTED)
    })
}
