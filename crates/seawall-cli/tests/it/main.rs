//! The program, run as users run it.

mod common;
mod explain;
mod mock;
