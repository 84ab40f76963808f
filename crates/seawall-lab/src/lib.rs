//! The laboratory of seawall: scripts that say how a server fails.

pub mod error;
pub mod script;

pub use error::ScriptError;
pub use script::Script;
