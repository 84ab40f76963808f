//! The batch runner of seawall: every row of JSONL files is answered once.
pub mod caller;
pub mod error;
pub mod input;
mod json;
pub mod output;

#[cfg(test)]
mod testing;
