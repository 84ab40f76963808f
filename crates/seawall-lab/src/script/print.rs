//! Canonical text: one form for every script, which reads back as the same script.

use super::{Action, After, Body, Cut, Deed, End, ErrorCode, Reply, Script, Step, Stream, StreamEnd};
use seawall_core::time::Duration;
use std::fmt;

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        steps(f, &self.steps, self.end)
    }
}

/// Prints a whole script of any actions.
pub(super) fn steps<A: fmt::Display>(f: &mut fmt::Formatter<'_>, steps: &[Step<A>], end: End) -> fmt::Result {
    for (nth, step) in steps.iter().enumerate() {
        f.write_str(if nth == 0 { "" } else { ", " })?;
        write!(f, "{step}")?;
    }
    match end {
        End::Repeat => Ok(()),
        End::Stop => f.write_str(", stop"),
    }
}

impl<A: fmt::Display> fmt::Display for Step<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(count) = self.count {
            write!(f, "{count}x ")?;
        }
        if let Some(at) = self.at {
            write!(f, "at {} ", Exact(at))?;
        }
        if let Some(length) = self.length {
            write!(f, "for {} ", Exact(length))?;
        }
        self.action.fmt(f)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deed.fmt(f)?;
        if !self.delay.is_zero() {
            write!(f, " delay={}", Exact(self.delay))?;
        }
        Ok(())
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())?;
        match self {
            Self::Status(reply) => options(f, reply),
            Self::Stream(stream) => events(f, stream),
            Self::Apply(then) => write!(f, " then {then}"),
            Self::Reset(after) | Self::Close(after) | Self::Hang(after) => match after {
                After::Nothing => Ok(()),
                After::BodyBytes(bytes) => write!(f, " after={bytes}"),
            },
            Self::Truncate(Cut::Bytes(bytes)) => write!(f, " at={bytes}"),
            Self::Truncate(Cut::Percent(percent)) => write!(f, " at={percent}%"),
            Self::Drip(bytes_per_second) => write!(f, " bps={bytes_per_second}"),
            Self::WrongLength(by) => write!(f, " {by:+}"),
            Self::ErrorIn200
            | Self::Garbage
            | Self::BadChunk
            | Self::HalfClose
            | Self::SlowHeaders
            | Self::BadGzip => Ok(()),
            Self::Goaway(code) => error_code(f, *code, Self::DEFAULT_GOAWAY),
            Self::RstStream(after, code) => {
                if let After::BodyBytes(bytes) = after {
                    write!(f, " after={bytes}")?;
                }
                error_code(f, *code, Self::DEFAULT_RST_STREAM)
            }
        }
    }
}

fn options(f: &mut fmt::Formatter<'_>, reply: &Reply) -> fmt::Result {
    for (name, value) in &reply.headers {
        match name.as_str() {
            "retry-after" | "retry-after-ms" => write!(f, " {name}={}", Quoted(value))?,
            other => write!(f, " header.{other}={}", Quoted(value))?,
        }
    }
    match &reply.body {
        Body::Dialect => Ok(()),
        Body::Worded(wording) => {
            if let Some(code) = &wording.code {
                write!(f, " code={}", Quoted(code))?;
            }
            match wording.wait {
                Some(wait) => write!(f, " retry-in={}", Exact(wait)),
                None => Ok(()),
            }
        }
        Body::Raw(body) => write!(f, " body={}", Quoted(body)),
        Body::Text(body) => write!(f, " text={}", Quoted(body)),
        Body::Json(body) => write!(f, " json={}", Quoted(body)),
    }
}

fn error_code(f: &mut fmt::Formatter<'_>, code: ErrorCode, default: ErrorCode) -> fmt::Result {
    match code == default {
        true => Ok(()),
        false => write!(f, " error={}", code.name()),
    }
}

fn events(f: &mut fmt::Formatter<'_>, stream: &Stream) -> fmt::Result {
    if let Some(events) = stream.events {
        write!(f, " events={events}")?;
    }
    if !stream.gap.is_zero() {
        write!(f, " gap={}", Exact(stream.gap))?;
    }
    match stream.then {
        StreamEnd::Done => Ok(()),
        StreamEnd::Cut | StreamEnd::Error | StreamEnd::Stall | StreamEnd::BadJson | StreamEnd::NoDone => {
            write!(f, " then={}", stream.then.name())
        }
    }
}

/// A length that reads back as itself: the usual form rounds above a minute, which is right for people only.
pub(crate) struct Exact(pub(crate) Duration);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (secs, rest) = (self.0.as_secs(), self.0.as_nanos() % 1_000_000_000);
        if secs < 60 || rest == 0 {
            return self.0.fmt(f);
        }
        write!(f, "{secs}.{}s", format!("{rest:09}").trim_end_matches('0'))
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needs_none = |c: char| {
            !c.is_whitespace() && !c.is_control() && !matches!(c, ',' | '"' | '\'' | '\\' | '{' | '[')
        };
        if !self.0.is_empty() && self.0.chars().all(needs_none) {
            return f.write_str(self.0);
        }
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}
