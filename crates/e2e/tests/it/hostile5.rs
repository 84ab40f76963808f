//! What peers and callers do that nobody should, against the library over real sockets.

mod peer;

mod secrets;
mod streams;
