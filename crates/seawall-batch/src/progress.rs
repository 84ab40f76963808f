//! What people see while a batch runs.
//!
//! What can go wrong: a bar at 100 % while rows are missing, a rate that counts rows of an earlier run, an ETA drawn
//! from nothing, a log of a million lines. So the rate is that of the last minute of this run, an ETA appears once
//! the rate is known, the oldest call in flight is named, and nothing is drawn more than ten times a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use seawall_core::engine::Waits;
use seawall_core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::Write;
use tokio::time::Instant;

/// How often a snapshot is shown at the most: 10 Hz.
pub const SHOWN_EVERY: core::time::Duration = core::time::Duration::from_millis(100);
/// How often a plain line is written: no log fills up in an hour.
pub const LINE_EVERY: core::time::Duration = core::time::Duration::from_secs(10);
/// How often a JSON line is written.
pub const JSON_EVERY: core::time::Duration = core::time::Duration::from_secs(1);
/// What the rate looks back on.
pub const RATE_WINDOW: core::time::Duration = core::time::Duration::from_secs(60);
/// Least time and rows from which a rate is told.
const RATE_KNOWN_AFTER: core::time::Duration = core::time::Duration::from_secs(2);
const RATE_KNOWN_ROWS: u64 = 5;

/// A run at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Rows that have ended, those of earlier runs included.
    pub done: u64,
    /// Rows in all.
    pub total: u64,
    /// Of those that have ended: failed.
    pub failed: u64,
    /// Attempts out at the upstream.
    pub in_flight: u64,
    /// Calls begun that wait: for a place, a time, a breaker, a budget.
    pub waiting: u64,
    /// What they wait for, as far as the caller knows.
    pub waits: Waits,
    /// Age of the oldest of them.
    pub oldest: Duration,
    /// Rows a second over the last minute of this run, once known.
    pub rate_per_s: Option<f64>,
    /// Time to go at that rate, once known.
    pub eta: Option<Duration>,
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{} done, {} failed, {} in flight",
            self.done, self.total, self.failed, self.in_flight
        )?;
        if self.waiting > 0 {
            write!(f, ", {} waiting", self.waiting)?;
        }
        for (nth, (code, count)) in self.waits.counted().enumerate() {
            let before = if nth == 0 { ": " } else { ", " };
            write!(f, "{before}{count} {code}")?;
        }
        if self.in_flight + self.waiting > 0 {
            write!(f, " (oldest {})", Duration::from_secs(self.oldest.as_secs()))?;
        }
        if let Some(rate) = self.rate_per_s {
            write!(f, ", {rate:.1}/s")?;
        }
        if let Some(eta) = self.eta {
            write!(f, ", {} to go", Duration::from_secs(eta.as_secs()))?;
        }
        Ok(())
    }
}

/// Whoever shows a run. Called from the run's own loop: it must not block.
pub trait Ui: Send {
    /// The run now; at most ten times a second.
    fn show(&mut self, snapshot: &Snapshot);
    /// Something that a person should know.
    fn note(&mut self, text: &str);
    /// The run is over.
    fn finish(&mut self, snapshot: &Snapshot);
}

/// `--progress`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// A bar on a terminal, a plain line now and then elsewhere.
    #[default]
    Bar,
    /// JSON lines.
    Json,
    /// Notes alone.
    Nothing,
}

/// Where it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// A terminal, which can be drawn on.
    Terminal,
    /// A pipe or a file.
    Pipe,
}

/// Shows a run on a stream, usually stderr. An error of that stream is passed over: a closed pager must not end a
/// paid run.
pub struct Progress {
    out: Box<dyn Write + Send>,
    style: Style,
}

enum Style {
    Bar(ProgressBar),
    Plain(Paced),
    Json(Paced),
    Nothing,
}

struct Paced {
    every: core::time::Duration,
    last: Option<Instant>,
}

impl Paced {
    fn due(&mut self) -> bool {
        let now = crate::clock::now();
        let due = self
            .last
            .is_none_or(|last| now.duration_since(last) >= self.every);
        if due {
            self.last = Some(now);
        }
        due
    }
}

impl Progress {
    /// A progress of this kind; `out` gets the lines, a bar draws on stderr itself.
    pub fn new(shown: Shown, screen: Screen, out: Box<dyn Write + Send>) -> Self {
        let paced = |every| Paced { every, last: None };
        let style = match (shown, screen) {
            (Shown::Bar, Screen::Terminal) => Style::Bar(bar()),
            (Shown::Bar, Screen::Pipe) => Style::Plain(paced(LINE_EVERY)),
            (Shown::Json, Screen::Terminal | Screen::Pipe) => Style::Json(paced(JSON_EVERY)),
            (Shown::Nothing, Screen::Terminal | Screen::Pipe) => Style::Nothing,
        };
        Self { out, style }
    }

    fn line(&mut self, text: &str) {
        // The only error that is dropped on purpose: see the type.
        let _shown = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(10));
    match ProgressStyle::with_template("{wide_bar} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn json_line(event: &str, snapshot: &Snapshot) -> String {
    let waits: BTreeMap<_, _> = snapshot.waits.counted().collect();
    serde_json::json!({
        "event": event,
        "done": snapshot.done,
        "total": snapshot.total,
        "failed": snapshot.failed,
        "in_flight": snapshot.in_flight,
        "waiting": snapshot.waiting,
        "waiting_by": waits,
        "oldest_ms": snapshot.oldest.as_millis(),
        "rate_per_s": snapshot.rate_per_s,
        "eta_ms": snapshot.eta.map(Duration::as_millis),
    })
    .to_string()
}

impl Ui for Progress {
    fn show(&mut self, snapshot: &Snapshot) {
        match &mut self.style {
            Style::Bar(bar) => {
                bar.set_length(snapshot.total);
                bar.set_position(snapshot.done);
                bar.set_message(snapshot.to_string());
            }
            Style::Plain(paced) => {
                if paced.due() {
                    self.line(&snapshot.to_string());
                }
            }
            Style::Json(paced) => {
                if paced.due() {
                    self.line(&json_line("progress", snapshot));
                }
            }
            Style::Nothing => {}
        }
    }

    fn note(&mut self, text: &str) {
        match &self.style {
            Style::Bar(bar) => bar.println(text),
            Style::Json(_) => self.line(&serde_json::json!({ "event": "note", "text": text }).to_string()),
            Style::Plain(_) | Style::Nothing => self.line(text),
        }
    }

    fn finish(&mut self, snapshot: &Snapshot) {
        match &self.style {
            Style::Bar(bar) => bar.finish_and_clear(),
            Style::Plain(_) => self.line(&snapshot.to_string()),
            Style::Json(_) => self.line(&json_line("end", snapshot)),
            Style::Nothing => {}
        }
    }
}

/// The rate of the last minute.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    samples: VecDeque<(Instant, u64)>,
}

impl Rate {
    /// Takes a sample; tells rows a second once enough is known. `done` counts rows of this run alone.
    #[expect(clippy::cast_precision_loss, reason = "reported, never decided by")]
    pub(crate) fn sample(&mut self, now: Instant, done: u64) -> Option<f64> {
        let (from, done_then) = *self.samples.front().unwrap_or(&(now, done));
        // A sample a second is enough for a window of a minute.
        let last_is_old = self
            .samples
            .back()
            .is_none_or(|(at, _)| now.duration_since(*at) >= core::time::Duration::from_secs(1));
        if last_is_old {
            self.samples.push_back((now, done));
        }
        while self
            .samples
            .get(1)
            .is_some_and(|(at, _)| now.duration_since(*at) >= RATE_WINDOW)
        {
            self.samples.pop_front();
        }
        let length = now.duration_since(from);
        let rows = done.saturating_sub(done_then);
        (length >= RATE_KNOWN_AFTER && rows >= RATE_KNOWN_ROWS).then(|| rows as f64 / length.as_secs_f64())
    }
}

/// Time to go; none at a rate of nothing.
pub(crate) fn eta(left: u64, rate_per_s: f64) -> Option<Duration> {
    #[expect(clippy::cast_precision_loss, reason = "reported, never decided by")]
    let secs = left as f64 / rate_per_s;
    core::time::Duration::try_from_secs_f64(secs)
        .ok()
        .map(Duration::from)
}

#[cfg(test)]
mod tests;
