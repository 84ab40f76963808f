//! Tests of the whole product over real sockets; all of it stands in `tests/it`.
//!
//! What can go wrong where each part is tested alone: the engine waits as it should, and the loop around it sends a
//! byte too early; the adapter names each break, and the table reads another name. So here the live library calls
//! servers that fail on purpose, on one clock that is cranked: hours of waiting take no time, and no test sleeps.
