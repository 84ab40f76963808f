//! Futures side by side, for whoever cranks a clock under them.
//!
//! What can go wrong: a future that is polled whenever any of them is woken always looks as if it might still move, and
//! the one who cranks never knows that nothing can. So each is polled only once it was woken itself, and a turn in which
//! nobody was says so.

use crate::sync::{Mutex, MutexGuard};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Something that is played: a call, most often.
pub type Act<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Several acts, each polled only when it was woken.
///
/// Call [`turn`](Self::turn) from a future's `poll` until [`all_ended`](Self::all_ended); between two turns that come to
/// [`Turn::Still`], a clock may be cranked.
///
/// ```
/// use seawall::clock::Clock as _;
/// use seawall::crank::{CrankedClock, Players, Turn};
/// use seawall_core::time::{Duration, Instant};
/// use std::task::{Context, Waker};
/// let (clock, mut context) = (CrankedClock::new(), Context::from_waker(Waker::noop()));
/// let hour = clock.sleep_until(Instant::START.after(Duration::from_secs(3_600)));
/// let mut players = Players::new(vec![hour]);
/// assert_eq!(players.turn(&mut context), Turn::Played);
/// assert_eq!(players.turn(&mut context), Turn::Still);
/// clock.step();
/// assert_eq!(players.turn(&mut context), Turn::Played);
/// assert_eq!(players.into_ends(), [()]);
/// ```
pub struct Players<'a, T> {
    players: Vec<Player<'a, T>>,
}

/// What came of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Somebody was woken, and played.
    Played,
    /// Nobody was woken since the last turn.
    Still,
}

impl<'a, T> Players<'a, T> {
    /// Acts that have not begun; the first turn polls each.
    pub fn new(acts: Vec<Act<'a, T>>) -> Self {
        Self {
            players: acts.into_iter().map(Player::new).collect(),
        }
    }

    /// Lets everybody who was woken play, in the order of the acts. The context's waker is woken once anybody is.
    pub fn turn(&mut self, context: &Context<'_>) -> Turn {
        let mut turn = Turn::Still;
        for player in &mut self.players {
            match player.poll(context) {
                Turn::Played => turn = Turn::Played,
                Turn::Still => {}
            }
        }
        turn
    }

    /// Whether every act is over.
    pub fn all_ended(&self) -> bool {
        self.players
            .iter()
            .all(|player| matches!(player.state, State::Ended(_)))
    }

    /// What the acts came to, in their order; of those only that are over.
    pub fn into_ends(self) -> Vec<T> {
        let ends = self.players.into_iter().filter_map(|player| match player.state {
            State::Ended(end) => Some(end),
            State::Playing(_) => None,
        });
        ends.collect()
    }
}

impl<T> std::fmt::Debug for Players<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Players")
            .field("count", &self.players.len())
            .finish_non_exhaustive()
    }
}

/// One act, and whether it was woken.
struct Player<'a, T> {
    state: State<'a, T>,
    call: Arc<Called>,
}

enum State<'a, T> {
    Playing(Act<'a, T>),
    Ended(T),
}

impl<'a, T> Player<'a, T> {
    fn new(act: Act<'a, T>) -> Self {
        Self {
            state: State::Playing(act),
            call: Arc::new(Called {
                woken: AtomicBool::new(true),
                stage: Mutex::new(None),
            }),
        }
    }

    fn poll(&mut self, context: &Context<'_>) -> Turn {
        let State::Playing(act) = &mut self.state else {
            return Turn::Still;
        };
        // Before it is asked whether it was woken: who is woken in between finds somebody to tell.
        *self.call.stage() = Some(context.waker().clone());
        if !self.call.woken.swap(false, Ordering::SeqCst) {
            return Turn::Still;
        }
        let waker = Waker::from(Arc::clone(&self.call));
        if let Poll::Ready(end) = act.as_mut().poll(&mut Context::from_waker(&waker)) {
            self.state = State::Ended(end);
        }
        Turn::Played
    }
}

/// Whether a player was woken, and whom to tell.
struct Called {
    woken: AtomicBool,
    stage: Mutex<Option<Waker>>,
}

impl Called {
    // A lock is poisoned only by a panic in an assignment; what it guards is whole either way.
    fn stage(&self) -> MutexGuard<'_, Option<Waker>> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        let stage = self.stage().take();
        if let Some(stage) = stage {
            stage.wake();
        }
    }
}

#[cfg(test)]
mod tests;
