//! Chats, answers, embeddings and responses of AI providers, as values: one shape for all of them, and what each makes
//! of it on the wire.
//!
//! A [`Chat`] is what is asked, a [`ChatAnswer`] what comes back, and a [`Dialect`] turns one into bytes and bytes into
//! the other; none of them sends, so that they can be used with any HTTP client. A [`Client`] sends, through the engine:
//! retries, limits, budget, breaker and fallbacks are its policy's.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use seawall::ai::{Chat, Client, Server};
//!
//! let client = Client::builder()
//!     .openai()
//!     .key_from_env("OPENAI_API_KEY")
//!     .fallback(Server::anthropic().key_from_env("ANTHROPIC_API_KEY").model("claude-haiku-4-5"))
//!     .build()?;
//! let answer = client.chat(Chat::new("gpt-5-mini").user("What is a seawall?").max_tokens(200)).await?;
//! println!("{}: {}", answer.upstream(), answer.text());
//! # Ok(()) }
//! ```
//!
//! ```
//! use seawall::ai::{Chat, Delivery, Dialect};
//! let chat = Chat::new("claude-sonnet-4-5").system("Be brief.").user("What is a seawall?").max_tokens(200);
//! let sent = Dialect::Anthropic.encode(&chat, Delivery::Whole)?;
//! assert!(sent.body.starts_with(br#"{"model":"claude-sonnet-4-5","max_tokens":200,"#));
//!
//! let answer = Dialect::Anthropic.decode(br#"{"type":"message","id":"msg_1","model":"claude-sonnet-4-5",
//!     "content":[{"type":"text","text":"A wall."}],"stop_reason":"end_turn",
//!     "usage":{"input_tokens":14,"output_tokens":5}}"#)?;
//! assert_eq!(answer.text(), "A wall.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod answered;
mod builder;
mod chat;
mod check;
mod client;
mod codec;
mod delta;
mod dialect;
mod embed;
mod error;
#[cfg(feature = "tokens")]
pub mod fit;
mod many;
mod message;
mod models;
mod node;
mod outbound;
pub mod prices;
mod provider;
mod read;
mod responses;
mod server;
mod stream;
mod task;
#[cfg(feature = "tokens")]
pub mod tokens;
mod tool;

pub use answer::{ChatAnswer, Choice, Finish, NotTheJson, Usage};
pub use answered::{Answered, Metered};
pub use builder::{BuildError, ClientBuilder};
pub use chat::{Chat, Effort, Extra, Format, LimitKey, Unsupported};
pub use check::KeyCheck;
pub use client::Client;
pub use codec::{Change, DecodeError, EncodeError, Encoded};
pub use delta::{Assembly, Delta};
pub use dialect::{
    ANTHROPIC_MAX_TOKENS_DEFAULT, Delivery, Dialect, EventError, KeyHeader, Operation, StreamDecoder,
    StreamState,
};
pub use embed::{Embeddings, EmbeddingsAnswer, Packing};
pub use error::{Error, ErrorKind, LimitedBy};
pub use many::{CONCURRENCY_DEFAULT, ChatMany, Progress};
pub use message::{Image, ImageSource, Message, Part, Role, Thinking};
pub use models::{Model, Models};
pub use provider::ProviderError;
pub use responses::{Place, ResponseStatus, Responses, ResponsesAnswer, Storage};
pub use server::{Key, KeyError, Server, ServerError};
pub use stream::ChatStream;
pub use task::{ByTask, DEFAULT_FALLBACKS, Task};
pub use tool::{Obedience, Schema, Tool, ToolCall, ToolChoice, ToolResult, ToolStatus, ToolTurns};
