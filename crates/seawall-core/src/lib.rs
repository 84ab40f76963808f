//! The pure policy engine of seawall.
//!
//! It decides whether a call is sent, waits, is sent again, moves to another upstream or ends, and says why. It
//! never waits, sends, reads a clock or draws entropy: a driver tells it the time and what its attempts met, and
//! asks it what to do. The same code runs live, in the simulator and under the tests.
//!
//! Begin at [`engine::Engine`], whose example is a whole call; [`policy::Policy`] says how it decides, and
//! [`reason::Reason`] why it did. Most people want the crate `seawall`, which sends what this one permits.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod agenda;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod call;
pub mod caller;
pub mod classify;
mod cooldown;
pub mod engine;
pub mod facts;
pub mod gate;
mod hedging;
pub mod hint;
pub mod latch;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
pub mod learned;
mod limiter;
pub mod load;
pub mod outcome;
pub mod policy;
pub mod profile;
mod queue;
mod rate;
pub mod reason;
mod ring;
pub mod rng;
pub mod time;
mod times;
pub mod trace;
pub mod verdict;
pub mod wait;
