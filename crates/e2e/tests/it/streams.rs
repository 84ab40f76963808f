//! Streams over sockets, against the mock that users get, on a cranked clock: every fault before the first content and
//! after it, in every dialect.
//!
//! What can go wrong: half an answer passes for a whole one; what could have been asked again is the caller's to mend; what
//! was handed on is asked again all the same, and comes twice. So each test says what came, how it ended and how often the
//! server was asked.

mod blocking;
mod bytes;
mod ends;
mod held;
mod http2;
mod leaves;
mod routes;
mod stage;
