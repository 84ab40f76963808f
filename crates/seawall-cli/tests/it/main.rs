//! The program, run as users run it.

mod explain;
