//! How far a simulation, a search or a twin is.
//!
//! What can go wrong: a run of minutes that says nothing is taken for one that hangs; one that says too much fills a log. So
//! a terminal has one line that is drawn anew, and a pipe, as with `seawall batch`, a note after five seconds and then
//! every ten. What takes less says nothing there. `--quiet` says nothing anywhere.

use crate::common::Common;
use crate::talk::Talk;
use seawall::clock::{Clock as _, TokioClock};
use seawall_core::time::{Duration, Instant};
use seawall_lab::run::simulate::{Progress, UnderWay};
use seawall_lab::sim::bounds::STEPS_MAX;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

/// How often the line of a terminal is drawn at the most.
const DRAWN_EVERY: Duration = Duration::from_millis(100);
/// Of the line of a terminal so much is shown: what fits into any.
const LINE_MAX: usize = 79;
/// After how long a pipe is told something.
const NOTED_AFTER: Duration = Duration::from_secs(5);
/// How often from there on.
const NOTED_EVERY: Duration = Duration::from_secs(10);
/// How long nothing need happen until it is looked whether something is to be said.
const LOOKED_EVERY: Duration = Duration::from_millis(500);
/// From how long on a rest is foretold: before, what is known is too little.
const FORETOLD_AFTER: Duration = Duration::from_secs(2);
/// The longest rest that is foretold; what is longer is long.
const FORETOLD_MAX: Duration = Duration::from_secs(7 * 86_400);

/// Tells how far it is.
pub(super) struct Screen {
    clock: TokioClock,
    began: Instant,
    /// When it was last told.
    told_at: Option<Instant>,
    shows: Shows,
    talk: Talk,
    /// What is counted.
    what: &'static str,
    progress: Option<Progress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// A line that is drawn anew.
    Line,
    /// Notes.
    Notes,
    Nothing,
}

impl Screen {
    pub(super) fn new(common: Common, what: &'static str) -> Self {
        let clock = TokioClock::new();
        let shows = match (common.is_quiet(), std::io::stderr().is_terminal()) {
            (true, _) => Shows::Nothing,
            (false, true) => Shows::Line,
            (false, false) => Shows::Notes,
        };
        Self {
            began: clock.now(),
            clock,
            told_at: None,
            shows,
            talk: common.talk(),
            what,
            progress: None,
        }
    }

    /// Passes when it is time to look whether something is to be said, though nothing has happened.
    pub(super) fn next_look(&self) -> impl Future<Output = ()> + use<> {
        self.clock.sleep_until(self.clock.now().after(LOOKED_EVERY))
    }

    pub(super) fn show(&mut self, progress: Option<Progress>) {
        self.progress = progress.or(self.progress);
        self.look();
    }

    /// Says what is to be said by now.
    pub(super) fn look(&mut self) {
        let now = self.clock.now();
        let due = match (self.shows, self.told_at) {
            (Shows::Nothing, _) => return,
            (Shows::Line, None) => self.began,
            (Shows::Line, Some(at)) => at.after(DRAWN_EVERY),
            (Shows::Notes, None) => self.began.after(NOTED_AFTER),
            (Shows::Notes, Some(at)) => at.after(NOTED_EVERY),
        };
        if now < due {
            return;
        }
        self.told_at = Some(now);
        let text = sentence(self.progress, self.what, now.since(self.began));
        match self.shows {
            // Who cannot see it misses nothing.
            Shows::Line => {
                // One that wraps could not be drawn anew.
                let text: String = text.chars().take(LINE_MAX).collect();
                drop(write!(std::io::stderr(), "\r\x1b[K{text}"));
            }
            Shows::Notes => self.talk.note(text),
            Shows::Nothing => {}
        }
    }

    pub(super) fn clear(&self) {
        if self.told_at.is_some() && self.shows == Shows::Line {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// How far it is after so long.
fn sentence(progress: Option<Progress>, what: &str, after: Duration) -> String {
    let Some(Progress { done, of, behind }) = progress else {
        return format!("no {what} done after {}", whole_seconds(after));
    };
    let mut text = format!("{done} of {of} {what}");
    if let Some(run) = behind {
        let passed = run.far.now.since(Instant::START);
        // Writing to a string has no end but success.
        let _ = match passed < run.horizon {
            true => write!(text, ", one at {} of {}", rounded(passed), run.horizon),
            false => write!(text, ", one past its {}, whose last calls end", run.horizon),
        };
    }
    let _ = write!(text, ", after {}", whole_seconds(after));
    match rest(done, of, behind, after) {
        Rest::Unknown => {}
        Rest::About(rest) => {
            let _ = write!(text, "; about {} to go", whole_seconds(rest));
        }
        Rest::Long => text.push_str("; days to go"),
    }
    if behind.is_some_and(|run| run.steps_expected().is_some_and(|steps| steps > float(STEPS_MAX))) {
        let _ = write!(
            text,
            "; at this pace that one ends at its bound of {} million steps, without a result: a longer time to think, fewer \
             clients, a lower rate, or a shorter horizon make it smaller",
            STEPS_MAX / 1_000_000
        );
    }
    text
}

/// How long it still takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Unknown,
    About(Duration),
    Long,
}

/// As long for each run as those took that are done, and the part that is known of one under way: an estimate, as runs
/// side by side are seldom equally far.
fn rest(done: usize, of: usize, behind: Option<UnderWay>, after: Duration) -> Rest {
    let part = float(done as u64) + behind.map_or(0.0, |run| run.share());
    let left = float(of as u64) - part;
    if after < FORETOLD_AFTER || part <= 0.0 || left <= 0.0 {
        return Rest::Unknown;
    }
    let rest_s = float(after.as_nanos()) / 1e9 * left / part;
    if rest_s > float(FORETOLD_MAX.as_nanos()) / 1e9 {
        return Rest::Long;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between nothing and a week"
    )]
    Rest::About(Duration::from_secs(rest_s as u64))
}

/// To the second, and never less than one.
fn whole_seconds(length: Duration) -> Duration {
    Duration::from_secs((length.as_nanos() / 1_000_000_000).max(1))
}

/// To the second where it has some, else as it is to three digits.
fn rounded(length: Duration) -> Duration {
    match length.as_nanos() {
        nanos if nanos >= 10_000_000_000 => Duration::from_secs(nanos / 1_000_000_000),
        nanos => {
            let digits = nanos.checked_ilog10().unwrap_or(0);
            let unit = 10_u64.pow(digits.saturating_sub(2));
            Duration::from_nanos(nanos / unit * unit)
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "what is told is rounded")]
const fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
