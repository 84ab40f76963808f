//! How long to wait before the next attempt: our own guess, the server's word, and the time that is left.
//!
//! What can go wrong: a hint is undercut, so that the limit is re-armed; a hint is obeyed past the deadline, so that
//! a call sleeps for a day; a wait ends with no time left for the attempt that it was for. So the server's word is a
//! floor under our own draw (rule C2), too long a word ends the call (C4), and the range that is drawn from ends
//! early enough for one more attempt (F3).

use crate::outcome::Hint;
use crate::policy::{CallPolicy, LongHint};
use crate::reason::Reason;
use crate::rng::Rng;
use crate::time::Duration;

/// Most of a hint that is added to it, as a divisor: a tenth (rule C2).
const SPREAD_DIVISOR: u64 = 10;
/// The longest such addition: 1 s (rule C2).
const SPREAD_MAX: Duration = Duration::from_secs(1);

/// What the next wait may be.
///
/// ```
/// use seawall_core::{policy::Policy, time::Duration, wait::WaitPlan};
/// let policy = Policy::builder().build()?;
/// let plan = WaitPlan::new(&policy.call, 0, Duration::ZERO, None, Duration::from_secs(10)).unwrap();
/// assert_eq!((plan.shortest(), plan.longest()), (Duration::from_millis(50), Duration::from_millis(500)));
/// # Ok::<(), seawall_core::policy::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WaitPlan {
    policy: crate::policy::Backoff,
    retries_made: u32,
    previous: Duration,
    floor: Duration,
    asked: Option<(Duration, bool)>,
    spread: Duration,
    room: Duration,
    shortest: Duration,
    longest: Duration,
}

/// What was drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    /// How long to wait.
    pub(crate) wait: Duration,
    /// The same before it was rounded and spread. What the next draw trebles is this: with a base of a few milliseconds,
    /// the rounding of each wait would grow by half with every retry.
    pub(crate) follows: Duration,
}

impl WaitPlan {
    /// Plans the wait after `retries_made` retries, the last of which waited `previous`, where the server said
    /// `hint` and `left` remains before the deadline.
    ///
    /// # Errors
    /// `server-asked-too-long` or `deadline-too-near`, with the numbers that decided.
    pub fn new(
        policy: &CallPolicy,
        retries_made: u32,
        previous: Duration,
        hint: Option<Hint>,
        left: Duration,
    ) -> Result<Self, Reason> {
        let hints = policy.hints();
        let min_attempt = policy.timeouts().min_attempt();
        let room = left.minus(min_attempt);
        let hint = hint.map(|hint| match hints.long() {
            LongHint::Stop => hint,
            LongHint::Clamp => Hint {
                wait: hint.wait.min(hints.max()),
                ..hint
            },
        });
        let floor = hint.map_or(Duration::ZERO, |hint| hint.wait);
        let max = hints.max().min(left);
        if floor > max {
            return Err(Reason::ServerAskedTooLong { asked: floor, max });
        }
        let range = policy.backoff().range(retries_made, previous);
        let least = range.shortest.max(floor);
        if least > room || left < min_attempt {
            return Err(Reason::DeadlineTooNear {
                needs: least.plus(min_attempt),
                left,
            });
        }
        let spread = match hint {
            Some(Hint {
                cools: false, wait, ..
            }) => wait.over(SPREAD_DIVISOR).min(SPREAD_MAX),
            Some(_) | None => Duration::ZERO,
        };
        let shortest = least.up_to_millis().min(room);
        let longest = range.longest.max(floor).up_to_millis().plus(spread).min(room);
        let asked = hint.map(|hint| (hint.wait, hint.cools));
        let policy = policy.backoff();
        Ok(Self {
            policy,
            retries_made,
            previous,
            floor,
            asked,
            spread,
            room,
            shortest,
            longest,
        })
    }

    /// The shortest wait that can be drawn.
    pub const fn shortest(&self) -> Duration {
        self.shortest
    }

    /// The longest wait that can be drawn.
    pub const fn longest(&self) -> Duration {
        self.longest
    }

    /// Draws the wait: our own guess or the hint, whichever is longer, in whole milliseconds, and a hint's spread.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        self.drawn(rng).wait
    }

    /// Draws the wait, and says what the next decorrelated draw follows.
    pub(crate) fn drawn(&self, rng: &mut Rng) -> Drawn {
        let guess = self
            .policy
            .draw(rng, self.retries_made, self.previous, self.room)
            .expect("the shortest draw was checked to fit when the plan was made");
        let follows = guess.max(self.floor);
        let wait = follows.up_to_millis().min(self.room);
        let spread = self.spread.min(self.room.minus(wait));
        let wait = wait
            .plus(rng.length_between(Duration::ZERO, spread))
            .min(self.room);
        Drawn { wait, follows }
    }

    /// Why a call waits `wait` by this plan.
    pub const fn reason(&self, wait: Duration) -> Reason {
        match self.asked {
            Some((asked, cools)) => Reason::ServerAsked { asked, wait, cools },
            None => Reason::BackingOff { wait },
        }
    }
}

#[cfg(test)]
mod tests;
