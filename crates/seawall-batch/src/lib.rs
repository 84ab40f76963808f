//! The batch runner of seawall: every row of JSONL files is answered once.
pub mod error;
pub mod input;
mod json;
#[cfg(test)]
mod testing;
