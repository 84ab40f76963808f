//! What a test asks of a running mock: what came, other routes, another time.
//!
//! What can go wrong: a pattern that is misspelt matches nothing, and "no attempt came" is taken for the client's doing.
//! So whatever names a route is read like a route, and one that is not there is an error that names the nearest.

use super::dial::{ClockState, Turned};
use super::journal::Journal;
use super::pace::moment;
use super::{Attempt, Mock, Shared};
use crate::error::{ScriptError, Source, nearest};
use crate::listener::check_rules;
use crate::plan::{MethodPattern, Pattern, Rule, StateReset, pattern_in};
use seawall_core::time::{Duration, Instant};
use std::fmt;

/// How often others get a turn before a machine that is slow is given real time.
const TURNS: u32 = 64;
/// How long, in real time, one turn of the clock waits altogether for attempts that are on their way (a body that is still
/// being sent, a reset that lets its bytes arrive) before it goes on without them.
const SETTLE_MAX: Duration = Duration::from_millis(500);
/// How long whoever asks about attempts waits for those that are on their way, in real time.
const NOTED_MAX: Duration = Duration::from_millis(100);
/// How long it looks away at a time.
const GLANCE: Duration = Duration::from_millis(1);

impl Mock {
    /// The attempts so far at `METHOD PATH`, or at `PATH` by any method; `*` at the path's end takes all that begin so.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use seawall_lab::net::Mock;
    /// let mock = Mock::start("POST /v1/payments = 503, 200").await?;
    /// let call = format!("{}/v1/payments", mock.url());
    /// # let _ = call;
    /// assert_eq!(mock.attempts("POST /v1/*")?.len(), 0);
    /// assert!(mock.attempts("v1/payments").is_err(), "a path begins with a slash");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The text is no pattern.
    pub fn attempts(&self, pattern: &str) -> Result<Vec<Attempt>, ScriptError> {
        self.shared.attempts(pattern)
    }

    /// The journal as a table: what a test that fails prints.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use seawall_lab::net::Mock;
    /// let mock = Mock::start("GET /x = 200").await?;
    /// assert_eq!(mock.timeline(), "no attempt came");
    /// # Ok(())
    /// # }
    /// ```
    pub fn timeline(&self) -> String {
        self.journal().to_string()
    }

    /// Puts a route in while the mock runs, `METHOD PATH = SCRIPT`: in the place of the one with its pattern, else before
    /// all others. It begins at its first step; all others stay where they are.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use seawall_lab::net::Mock;
    /// let mock = Mock::start("GET /x = 200").await?;
    /// mock.route("GET /x = 503")?;
    /// mock.remove_route("GET /x")?;
    /// let error = mock.route("GET /x = 50").unwrap_err();
    /// assert!(error.to_string().starts_with("1:10: "));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The text is no route, or one with an action that no connection of this mock can meet.
    pub fn route(&self, text: &str) -> Result<(), ScriptError> {
        self.shared.put(vec![Rule::parse(text)?])
    }

    /// Takes the route with this pattern out while the mock runs.
    ///
    /// # Errors
    /// The text is no pattern, or no route has it.
    pub fn remove_route(&self, pattern: &str) -> Result<(), RouteError> {
        self.shared.take_out(pattern)
    }

    /// Begins one route again, for every state value, and forgets its objects and keys. The journal stays.
    ///
    /// # Errors
    /// The text is no pattern, or no route has it.
    pub fn reset_route(&self, pattern: &str) -> Result<(), RouteError> {
        self.shared.begin_again(pattern)
    }

    /// How the mock's clock stands.
    pub fn clock(&self) -> ClockState {
        self.shared.pace.dial().state()
    }

    /// Turns a manual clock on by this much. Whoever waits for a time on the way does its work at that time, in order.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use seawall_lab::net::Mock;
    /// use std::time::Duration;
    /// let mock = Mock::builder().route("GET /x = 200 delay=1h").manual_clock().start().await?;
    /// mock.advance(Duration::from_secs(5_400)).await?;
    /// assert_eq!(mock.clock().now.to_string(), "1h30m");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The clock runs by itself, or cannot go that far.
    pub async fn advance(&self, length: impl Into<Duration>) -> Result<(), ClockError> {
        self.shared.advance(length.into()).await
    }

    /// Turns a manual clock to the next time that somebody waits for; says which.
    ///
    /// # Errors
    /// The clock runs by itself, or nobody waits.
    pub async fn step(&self) -> Result<Instant, ClockError> {
        self.shared.step().await
    }
}

impl Shared {
    pub(super) fn attempts(&self, pattern: &str) -> Result<Vec<Attempt>, ScriptError> {
        let pattern = attempts_pattern(pattern)?;
        let Journal { mut attempts, .. } = self.log().journal();
        attempts.retain(|attempt| pattern.matches(&attempt.method, &attempt.path));
        Ok(attempts)
    }

    pub(super) fn put(&self, rules: Vec<Rule>) -> Result<(), ScriptError> {
        check_rules(&rules, self.setting.http)?;
        self.plan().put(rules);
        Ok(())
    }

    pub(super) fn take_out(&self, pattern: &str) -> Result<(), RouteError> {
        let read = route_pattern(pattern)?;
        let mut plan = self.plan();
        match plan.take_out(&read) {
            0 => Err(RouteError::unknown(&read, plan.rules().map(|rule| &rule.pattern))),
            _ => Ok(()),
        }
    }

    pub(super) fn begin_again(&self, pattern: &str) -> Result<(), RouteError> {
        let read = route_pattern(pattern)?;
        let mut plan = self.plan();
        match plan.place_of(&read) {
            Some(place) => {
                plan.begin_again(place);
                // A key that outlived its route's reset would replay the answer of the test before.
                self.store().clear_rule(plan.rule(place).0);
            }
            None => return Err(RouteError::unknown(&read, plan.rules().map(|rule| &rule.pattern))),
        }
        Ok(())
    }

    pub(super) fn begin_state_again(&self, pattern: &str, state: &str) -> Result<StateReset, RouteError> {
        let read = route_pattern(pattern)?;
        let mut plan = self.plan();
        match plan.place_of(&read) {
            Some(place) => Ok(plan.begin_state_again(place, state.as_bytes())),
            None => Err(RouteError::unknown(&read, plan.rules().map(|rule| &rule.pattern))),
        }
    }

    /// The pattern of a route that there is, or was when an attempt met it.
    pub(super) fn known_route(&self, pattern: &str) -> Result<Pattern, RouteError> {
        let read = route_pattern(pattern)?;
        let name = read.to_string();
        let met = |attempt: &Attempt| attempt.route.as_deref() == Some(&name);
        let plan = self.plan();
        if plan.place_of(&read).is_none() && !self.log().any(met) {
            return Err(RouteError::unknown(&read, plan.rules().map(|rule| &rule.pattern)));
        }
        drop(plan);
        Ok(read)
    }

    pub(super) async fn advance(&self, length: Duration) -> Result<(), ClockError> {
        let _turning = self.turning.lock().await;
        let end = self.pace.now().after(length);
        if end == Instant::NEVER {
            return Err(ClockError::TooFar);
        }
        let mut patience = SETTLE_MAX;
        // Whoever is about to wait must be waiting before its time goes by.
        self.settle(&mut patience).await;
        loop {
            match self.pace.dial().turn(end) {
                Turned::To(_) => self.settle(&mut patience).await,
                Turned::Nobody => return Ok(()),
                Turned::Runs => return Err(ClockError::Runs),
            }
        }
    }

    pub(super) async fn step(&self) -> Result<Instant, ClockError> {
        let _turning = self.turning.lock().await;
        match self.pace.dial().turn(Instant::NEVER) {
            Turned::To(at) => {
                self.settle(&mut { SETTLE_MAX }).await;
                Ok(at)
            }
            Turned::Nobody => Err(ClockError::NobodyWaits),
            Turned::Runs => Err(ClockError::Runs),
        }
    }

    /// Waits a moment for attempts whose last bytes are out and whose end is not in the journal yet: whoever asks about
    /// an answer has it before the mock has noted that it was sent.
    pub(super) async fn settled(&self) {
        self.settle(&mut { NOTED_MAX }).await;
    }

    /// Waits until whoever was woken has done its work and every attempt is kept waiting on purpose again, or has ended.
    async fn settle(&self, patience: &mut Duration) {
        let mut turns = 0;
        while self.pace.dial().due() > 0 || self.log().open() > self.pace.kept_waiting() {
            turns += 1;
            if turns <= TURNS {
                tokio::task::yield_now().await;
            } else if patience.is_zero() {
                return;
            } else {
                moment(GLANCE).await;
                *patience = patience.minus(GLANCE);
            }
        }
    }

    /// Prints the journal where a panic drops the mock: the history of a test that failed.
    pub(super) fn tell_if_panicking(&self) {
        if std::thread::panicking() {
            self.tell();
        }
    }

    #[expect(
        clippy::print_stderr,
        reason = "a failing test's history belongs where the harness collects what a test says"
    )]
    fn tell(&self) {
        eprintln!("what the mock saw:\n{}", self.log().journal());
    }
}

/// Reads `METHOD PATH`, or `PATH` for every method.
fn attempts_pattern(text: &str) -> Result<Pattern, ScriptError> {
    let bare = text.trim_start().starts_with('/');
    if !bare {
        return route_pattern(text);
    }
    // Read behind a method, so that errors still point into what was written: the method is taken off their place.
    let path = text.trim();
    let source = Source::bare(path);
    if let Some(at) = path.find(char::is_whitespace) {
        let error = source.error(at..path.len(), "a pattern ends after its path");
        return Err(error.expecting("`PATH` or `METHOD PATH`"));
    }
    let whole = format!("* {path}");
    pattern_in(Source::bare(&whole), 0..whole.len()).map_err(|error| error.moved_to(source, 0..path.len()))
}

fn route_pattern(text: &str) -> Result<Pattern, ScriptError> {
    pattern_in(Source::bare(text), 0..text.len())
}

/// Why no route was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouteError {
    /// You wrote what is no pattern.
    Script(ScriptError),
    /// No route has this pattern.
    Unknown {
        /// The pattern.
        pattern: String,
        /// The patterns that there are, as many as a message can hold.
        known: Vec<String>,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
}

/// How many patterns an error lists.
const KNOWN_MAX: usize = 20;

impl RouteError {
    fn unknown<'p>(pattern: &Pattern, rules: impl Iterator<Item = &'p Pattern>) -> Self {
        let all: Vec<&Pattern> = rules.collect();
        let known: Vec<String> = all.iter().map(|known| known.to_string()).collect();
        let words: Vec<&str> = known.iter().map(String::as_str).collect();
        let given = pattern.to_string();
        // The same path by another method is what was meant more often than a path that looks like it.
        let same_path = all
            .iter()
            .find(|known| known.path == pattern.path && known.method != MethodPattern::Any)
            .map(|known| known.to_string());
        Self::Unknown {
            nearest: same_path.or_else(|| nearest(&given, &words).map(str::to_owned)),
            pattern: given,
            known: known.into_iter().take(KNOWN_MAX).collect(),
        }
    }
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(error) => error.fmt(f),
            Self::Unknown {
                pattern,
                known,
                nearest,
            } => {
                write!(f, "no route is `{pattern}`")?;
                match known.as_slice() {
                    [] => f.write_str("; there is none")?,
                    known => write!(f, "; there are {}", known.join(", "))?,
                }
                match nearest {
                    Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for RouteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Script(error) => Some(error),
            Self::Unknown { .. } => None,
        }
    }
}

impl From<ScriptError> for RouteError {
    fn from(error: ScriptError) -> Self {
        Self::Script(error)
    }
}

/// Why a clock was not turned by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockError {
    /// It runs by itself.
    Runs,
    /// Nobody waits for a time to come.
    NobodyWaits,
    /// The time to turn to is beyond what a clock can show.
    TooFar,
}

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Runs => {
                "the mock's clock runs by itself; only a manual one is turned by hand (`--clock manual`, or {\"manual\":true})"
            }
            Self::TooFar => "a clock shows at most 584 years since the mock's start; advance by less",
            Self::NobodyWaits => "no attempt waits for a time to come, so there is nothing to step to; advance by a length instead",
        })
    }
}

impl std::error::Error for ClockError {}

#[cfg(test)]
mod tests;
