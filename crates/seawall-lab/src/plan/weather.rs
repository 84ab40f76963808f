//! Trouble of a whole server: an outage by the clock, and collapse under load.
//!
//! What can go wrong: an outage that is drawn by chance is never the same length, and hides whether a client came back
//! when the server did; overload that is drawn by chance teaches nothing either, for what makes real overload bad is that
//! clients cause it: those that send more because it is slow keep it slow. So an outage is a function of the time since the
//! mock's start, and a storm one of how many attempts are being answered; neither draws anything but the usual latency.
//!
//! **Outage**: of each minute, the 20 s from 0:10 to 0:30. In turns of 5 s connections are refused, then answered 503, then
//! both once more.
//!
//! **Storm**: a server with room for 50. With n attempts in it, the new one included, an answer takes 50 / (51 − n) times as
//! long as on an idle server, which is how waiting grows before a single counter (M/M/1): twice at 26, ten times at 46, fifty
//! times at 50. Who comes beyond that waits 10 s and gets a 503. While they wait they are in it too: as long as what fails is
//! sent again at once the crowd does not shrink and everybody fails, and it is over when clients hold back. A client that
//! leaves takes its work with it, which is kinder than many servers are.
//!
//! What this does not cover: a server that goes on working for clients that have left, and warming up after an outage.

use crate::script::Action;
use seawall_core::time::{Duration, Instant};
use std::sync::LazyLock;

const EVERY: Duration = Duration::from_secs(60);
const BEGINS: Duration = Duration::from_secs(10);
const TURN: Duration = Duration::from_secs(5);
const TURNS: u64 = 4;

/// How many attempts a storm's server has room for.
pub const STORM_ROOM: u64 = 50;
/// How long who finds no room waits for its 503.
pub const STORM_WAIT: Duration = Duration::from_secs(10);

/// What an outage is like at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Nothing is wrong.
    Clear,
    /// Every attempt is answered 503, at once.
    Answers503,
    /// Nobody listens: connections are refused, and those that are open are reset.
    Refuses,
}

/// What an outage is like, so long after the mock's start.
pub(super) fn outage(now: Instant) -> Weather {
    let of_minute = now.as_nanos() % EVERY.as_nanos();
    let Some(since) = of_minute.checked_sub(BEGINS.as_nanos()) else {
        return Weather::Clear;
    };
    let turn = since / TURN.as_nanos();
    match (turn < TURNS, turn % 2) {
        (false, _) => Weather::Clear,
        (true, 0) => Weather::Refuses,
        (true, _) => Weather::Answers503,
    }
}

/// When an outage's weather changes next.
pub(super) fn outage_turns(now: Instant) -> Instant {
    let of_minute = now.as_nanos() % EVERY.as_nanos();
    let minute = now.before(Duration::from_nanos(of_minute));
    let mut edges = (0..=TURNS).map(|turn| minute.after(BEGINS).after(TURN.times(turn)));
    let next = edges.find(|edge| *edge > now);
    next.unwrap_or_else(|| minute.after(EVERY).after(BEGINS))
}

/// What somebody meets in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storm {
    /// An answer, after so long.
    Answers(Duration),
    /// A 503, after so long.
    Fails(Duration),
}

/// What somebody meets whose answer an idle server would begin after `idle`. `in_flight` counts it too.
pub(super) fn storm(idle: Duration, in_flight: u64) -> Storm {
    match STORM_ROOM.checked_sub(in_flight.max(1)) {
        Some(free) => Storm::Answers(idle.times(STORM_ROOM).over(free + 1)),
        None => Storm::Fails(STORM_WAIT),
    }
}

/// What trouble answers: a 503, and a reset.
static ACTIONS: LazyLock<[Action; 2]> = LazyLock::new(|| {
    ["503", "reset"].map(|text| Action::parse(text).expect("a built-in action is well formed"))
});

/// The place of the action by which this weather shows.
pub(super) fn place(weather: Weather) -> usize {
    match weather {
        Weather::Clear | Weather::Answers503 => 0,
        Weather::Refuses => 1,
    }
}

/// The action at this place.
pub(super) fn action(place: usize) -> Option<&'static Action> {
    ACTIONS.get(place)
}

#[cfg(test)]
mod tests;
