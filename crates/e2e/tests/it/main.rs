//! The live library against real sockets, on a clock that is cranked.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod ai;
mod by_time;
mod cancel;
mod cases;
mod dialects;
mod ends;
mod hostile5;
mod limits;
mod mocked;
mod mocked_tls;
mod parity;
mod providers;
mod renewed;
mod reqwested;
mod routes;
mod server;
mod simulated;
mod stage;
mod streams;
mod tokens;
mod towered;
mod true_limits;
