//! Chats, answers, embeddings and responses of AI providers, as values: one shape for all of them, and what each makes
//! of it on the wire.
//!
//! A [`Chat`] is what is asked, a [`ChatAnswer`] what comes back. Nothing here sends.

mod answer;
mod chat;
mod codec;
mod delta;
mod dialect;
mod message;
mod read;
mod tool;

pub use answer::{ChatAnswer, Choice, Finish, NotTheJson, Usage};
pub use chat::{Chat, Effort, Extra, Format, LimitKey, Unsupported};
pub use codec::{Change, DecodeError, EncodeError, Encoded};
pub use delta::{Assembly, Delta};
pub use dialect::{Delivery, Dialect, KeyHeader, Operation};
pub use message::{Image, ImageSource, Message, Part, Role, Thinking};
pub use tool::{Obedience, Schema, Tool, ToolCall, ToolChoice, ToolResult, ToolStatus, ToolTurns};
