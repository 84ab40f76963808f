//! Plays calls in virtual time: the clock turns only while nothing else can happen.
//!
//! What can go wrong: time that passes while bytes are on their way makes a prompt answer late, and a scenario fails on
//! a busy machine that passes on an idle one. So the clock turns only when nothing can move by itself: each call was
//! polled since it was last woken, every attempt that is out is one that the mock keeps waiting on purpose, and nothing
//! is on the wires. Nothing is timed and nothing sleeps; on a machine of any speed the same happens at the same points
//! in time. At a tie the caller's own limit comes before the server's answer. What can never move is an error, not a
//! hang. One thread only: between two turns of the clock the runtime lets everybody have their turn.

use crate::net::Mock;
use crate::net::moment;
pub(super) use seawall::crank::Act;
use seawall::crank::{CrankedClock, Players, Turn, Wires};
use seawall::upstream::Upstream;
use seawall_core::time::Duration;
use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;

/// How long, in real time, something may be on its way and not arrive: far beyond what any machine takes. Only what is
/// broken waits for it.
const ARRIVAL_MAX: Duration = Duration::from_secs(60);

/// A clock, a mock that lives by it, and the upstreams that call it.
pub(super) struct Stage {
    pub(super) clock: CrankedClock,
    pub(super) mock: Mock,
    wires: Wires,
    upstreams: RefCell<Vec<Upstream>>,
}

/// Why acts have no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    /// Nobody waits for any time to come, and nobody moves.
    Still,
    /// Something was sent and never arrived.
    OnItsWay,
}

impl Stage {
    /// The mock must have been started with this clock and these wires.
    pub(super) fn new(clock: CrankedClock, wires: Wires, mock: Mock) -> Self {
        Self {
            clock,
            mock,
            wires,
            upstreams: RefCell::default(),
        }
    }

    /// Counts what this upstream has out; its transport must have been given the wires.
    pub(super) fn enter(&self, upstream: Upstream) {
        self.upstreams.borrow_mut().push(upstream);
    }

    /// Plays acts side by side, all to their ends, in the order in which they are given.
    pub(super) async fn play<T>(&self, acts: Vec<Act<'_, T>>) -> Result<Vec<T>, Stuck> {
        let mut players = Players::new(acts);
        let mut patience = Box::pin(moment(ARRIVAL_MAX));
        let mut still_rounds = 0;
        let ended = poll_fn(|context| {
            let mut moved = players.turn(context) == Turn::Played;
            if players.all_ended() {
                return Poll::Ready(Ok(()));
            }
            // Watched before it is looked at, so that no news falls between the two.
            self.mock.watch(context.waker());
            self.wires.watch(context.waker());
            let quiet = !moved && self.is_quiet();
            still_rounds = if quiet { still_rounds + 1 } else { 0 };
            if quiet && still_rounds <= rounds_of_all() {
                // Not yet: whoever was woken and is nobody's attempt (a port that opens) has its turn first.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if quiet {
                still_rounds = 0;
                if self.clock.step().is_none() {
                    return Poll::Ready(Err(Stuck::Still));
                }
                // Whoever waits for the same time: a server that is due is not one that keeps waiting.
                self.clock.advance(Duration::ZERO);
                // At once, so that at a tie it does not depend on the wire who comes first.
                players.turn(context);
                moved = true;
            }
            if moved {
                patience.as_mut().set(moment(ARRIVAL_MAX));
                // Not in a loop here: the runtime must see its sockets and the mock's tasks between two turns.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            patience.as_mut().poll(context).map(|()| Err(Stuck::OnItsWay))
        });
        ended.await?;
        Ok(players.into_ends())
    }

    /// Plays one act to its end.
    pub(super) async fn play_one<T>(&self, act: impl Future<Output = T> + Send) -> Result<T, Stuck> {
        let ended = self.play(vec![Box::pin(act)]).await?;
        Ok(ended.into_iter().next().expect("one act has one end"))
    }

    /// Whether all that is in flight is kept waiting on purpose.
    fn is_quiet(&self) -> bool {
        let out: u64 = self.upstreams.borrow().iter().map(Upstream::attempts_out).sum();
        out == self.mock.kept_waiting() && self.wires.are_still()
    }
}

/// After how many turns of ours every task of the runtime has had one, too.
fn rounds_of_all() -> usize {
    // The runtime lets about sixty tasks run between two turns of the one that it blocks on.
    const TASKS_A_ROUND: usize = 32;
    2 + tokio::runtime::Handle::current().metrics().num_alive_tasks() / TASKS_A_ROUND
}

#[cfg(test)]
mod tests;
