//! The simulator: the engine that runs live, in virtual time, for as many clients as memory holds.
//!
//! Pure: it reads no clock, opens nothing, and from one seed gives the same figures on every machine.
//!
//! - [`model`] says what is simulated, and [`run`] runs it;
//! - [`tally`] is what comes out of one run, [`summary`] of many, and [`stats`] how far a figure can be trusted;
//! - [`study`] puts policies side by side, [`preset`] has published ones, [`assert`](mod@assert) says what must come of
//!   them, and [`document`] is the report;
//! - [`agreement`] is how far a live twin of it agrees;
//! - [`report`] is what it looks like;
//! - [`luck`] is where chance comes from, and [`agenda`] what happens next;
//! - [`bounds`] is how large a run may get.

pub mod agenda;
pub mod agreement;
pub mod assert;
pub mod bounds;
pub mod document;
pub(crate) mod kit;
pub mod luck;
pub mod model;
pub mod precheck;
pub mod preset;
pub mod report;
pub mod search;
pub(crate) mod server;
pub mod stats;
pub mod study;
pub mod summary;
pub mod tally;
pub(crate) mod weather;
pub(crate) mod world;

use agenda::Radix;
use bounds::HowFar;
use model::{Contender, Model};
use seawall_core::trace::{Event, Recording};
use tally::Tally;
use world::World;

/// One run of `contender` in `model`. The same seed gives the same arrivals and the same luck at the servers to every
/// contender, and the same tally on every machine.
///
/// A run that becomes larger than its [`bounds`] ends there, and its tally says so.
pub fn run(model: &Model, contender: &Contender, seed: u64) -> Tally {
    run_watched(model, contender, seed, |_far| {})
}

/// The same run; `watch` hears every quarter of a million steps how far it is.
pub fn run_watched(model: &Model, contender: &Contender, seed: u64, watch: impl FnMut(HowFar)) -> Tally {
    if let Some(overran) = bounds::overran_before(model, contender) {
        return Tally {
            overran: Some(overran),
            ..Tally::default()
        };
    }
    World::<Radix<_>>::new(model, contender, seed, Recording::Off).run(watch)
}

/// The same run, and beside its tally what the engines of it wrote down: for each process, the clients' first and then
/// those of the layers, its events in order. It keeps every event in memory, which is much for more than a few calls.
///
/// It is what the live loop writes down from the same seed on a cranked clock, line for line.
pub fn traced(model: &Model, contender: &Contender, seed: u64) -> (Tally, Vec<Vec<Event>>) {
    World::<Radix<_>>::new(model, contender, seed, Recording::On).run_traced()
}

#[cfg(test)]
mod tests;
