//! What peers do that nobody should, against the library over real sockets.

mod many;
mod peer;
mod secrets;
mod streams;
