//! The program, run as users run it.

mod common;
mod docs;
mod explain;
mod mock;
