//! How a provider is spoken to: which bytes a request is, and what the bytes of an answer say.
//!
//! What can go wrong: a translation that drops what it has no words for gives an answer to another question, and one
//! that guesses at what it cannot read gives none at all. So what cannot be said is refused, or told in
//! [`Encoded::changes`]; and an answer that is not what it should be is told with its place.

mod anthropic;
mod gemini;
mod notes;
mod openai;
mod others;
mod responses;
mod stream;
#[cfg(test)]
mod tests;

pub use anthropic::ANTHROPIC_MAX_TOKENS_DEFAULT;
pub use stream::{EventError, StreamDecoder, StreamState};

use super::answer::ChatAnswer;
use super::chat::Chat;
use super::codec::{DecodeError, EncodeError, Encoded};
use super::embed::{Embeddings, EmbeddingsAnswer};
use super::models::Models;
use super::responses::{Responses, ResponsesAnswer};
use seawall_core::profile::Provider;
use std::fmt;
use stream::{Speaker, parsed};

/// The language of a provider's API. Many servers speak OpenAI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI's chat completions, responses, embeddings and models.
    OpenAi,
    /// Anthropic's messages and models.
    Anthropic,
    /// Gemini's content, embeddings and models.
    Gemini,
}

/// How an answer is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In one piece.
    Whole,
    /// Piece by piece, as server-sent events.
    Stream,
}

/// What is asked for, as far as addresses go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation<'a> {
    /// An answer to a chat.
    Chat {
        /// The model; Gemini has it in the address.
        model: &'a str,
        /// How the answer is delivered; Gemini has that in the address too.
        delivery: Delivery,
    },
    /// Texts as numbers.
    Embeddings {
        /// The model.
        model: &'a str,
    },
    /// OpenAI's Responses.
    Responses,
    /// What models there are.
    Models,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Gemini];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The dialect of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// The dialect of an upstream: its provider's, and OpenAI's where the provider has none of its own. Gemini speaks
    /// OpenAI's too, at base addresses with a segment `openai`.
    ///
    /// ```
    /// use seawall::ai::Dialect;
    /// use seawall_core::profile::Provider;
    /// assert_eq!(Dialect::of(Provider::Anthropic, "/"), Dialect::Anthropic);
    /// assert_eq!(Dialect::of(Provider::Gemini, "/v1beta/openai"), Dialect::OpenAi);
    /// assert_eq!(Dialect::of(Provider::Generic, "/v1"), Dialect::OpenAi);
    /// ```
    pub fn of(provider: Provider, base_path: &str) -> Self {
        match provider {
            Provider::Anthropic => Self::Anthropic,
            Provider::Gemini if !segments(base_path).any(|segment| segment == "openai") => Self::Gemini,
            Provider::Gemini
            | Provider::OpenAi
            | Provider::Azure
            | Provider::Groq
            | Provider::Stripe
            | Provider::GitHub
            | Provider::Generic => Self::OpenAi,
        }
    }

    /// The provider whose dialect it is.
    pub const fn provider(self) -> Provider {
        match self {
            Self::OpenAi => Provider::OpenAi,
            Self::Anthropic => Provider::Anthropic,
            Self::Gemini => Provider::Gemini,
        }
    }

    /// Where the provider itself is.
    pub const fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }

    /// The path, and the query where there is one, to put behind a base address whose own path is `base_path`.
    ///
    /// As each provider's libraries have it: OpenAI's base addresses end in their version (`…/v1`) and nothing is added
    /// there; to Anthropic's and Gemini's, `/v1` and `/v1beta` are, unless the path has a segment that is a version
    /// already. Nothing for what the dialect does not have: Responses are OpenAI's, and Anthropic has no embeddings.
    ///
    /// ```
    /// use seawall::ai::{Delivery, Dialect, Operation};
    /// let chat = Operation::Chat { model: "m", delivery: Delivery::Stream };
    /// assert_eq!(Dialect::OpenAi.path("/v1", chat).as_deref(), Some("/chat/completions"));
    /// assert_eq!(Dialect::Anthropic.path("/", chat).as_deref(), Some("/v1/messages"));
    /// assert_eq!(Dialect::Anthropic.path("/proxy/v1", chat).as_deref(), Some("/messages"));
    /// assert_eq!(
    ///     Dialect::Gemini.path("", chat).as_deref(),
    ///     Some("/v1beta/models/m:streamGenerateContent?alt=sse")
    /// );
    /// assert_eq!(Dialect::Anthropic.path("", Operation::Responses), None);
    /// ```
    pub fn path(self, base_path: &str, operation: Operation<'_>) -> Option<String> {
        let path = match (self, operation) {
            (Self::OpenAi, Operation::Chat { .. }) => "/chat/completions".to_owned(),
            (Self::OpenAi, Operation::Embeddings { .. }) => "/embeddings".to_owned(),
            (Self::OpenAi, Operation::Responses) => "/responses".to_owned(),
            (Self::Anthropic, Operation::Chat { .. }) => "/messages".to_owned(),
            (Self::Anthropic, Operation::Embeddings { .. } | Operation::Responses) => return None,
            (Self::Gemini, Operation::Chat { model, delivery }) => {
                let verb = match delivery {
                    Delivery::Whole => "generateContent",
                    Delivery::Stream => "streamGenerateContent?alt=sse",
                };
                format!("/{}:{verb}", gemini_model(model))
            }
            (Self::Gemini, Operation::Embeddings { model }) => {
                format!("/{}:batchEmbedContents", gemini_model(model))
            }
            (Self::Gemini, Operation::Responses) => return None,
            (Self::OpenAi | Self::Anthropic | Self::Gemini, Operation::Models) => "/models".to_owned(),
        };
        Some(format!("{}{path}", self.version(base_path)))
    }

    /// The version that the provider's own libraries put between base address and path.
    fn version(self, base_path: &str) -> &'static str {
        let version = match self {
            Self::OpenAi => "",
            Self::Anthropic => "/v1",
            Self::Gemini => "/v1beta",
        };
        match segments(base_path).any(is_version) {
            true => "",
            false => version,
        }
    }

    /// Headers that every call carries, beside the credential: names in small letters, and values.
    pub const fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::OpenAi | Self::Gemini => &[],
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
        }
    }

    /// The header that carries the key.
    pub const fn key_header(self) -> KeyHeader {
        match self {
            Self::OpenAi => KeyHeader::Bearer,
            Self::Anthropic => KeyHeader::Named("x-api-key"),
            Self::Gemini => KeyHeader::Named("x-goog-api-key"),
        }
    }

    /// The body of a chat.
    ///
    /// # Errors
    ///
    /// The dialect has no words for something in it, or must have something that it lacks.
    pub fn encode(self, chat: &Chat, delivery: Delivery) -> Result<Encoded, EncodeError> {
        match self {
            Self::OpenAi => openai::encode(chat, delivery),
            Self::Anthropic => anthropic::encode(chat, delivery),
            Self::Gemini => gemini::encode(chat, delivery),
        }
    }

    /// The answer that a whole body is.
    ///
    /// # Errors
    ///
    /// The body is not JSON, or no answer to a chat.
    pub fn decode(self, body: &[u8]) -> Result<ChatAnswer, DecodeError> {
        let raw = parsed(body)?;
        match self {
            Self::OpenAi => openai::decode(raw),
            Self::Anthropic => anthropic::decode(raw),
            Self::Gemini => gemini::decode(raw),
        }
    }

    /// Reads an answer that is streamed; one decoder for each stream.
    ///
    /// ```
    /// use seawall::ai::{Assembly, Dialect, Finish};
    /// let mut stream = Dialect::Gemini.stream();
    /// let mut assembly = Assembly::new();
    /// for data in [
    ///     r#"{"candidates":[{"content":{"parts":[{"text":"A sea"}]}}]}"#,
    ///     r#"{"candidates":[{"content":{"parts":[{"text":"wall."}]},"finishReason":"STOP"}]}"#,
    /// ] {
    ///     for delta in stream.event("", data.as_bytes())? {
    ///         assembly.push(delta);
    ///     }
    /// }
    /// let answer = assembly.into_answer();
    /// assert_eq!((answer.text().as_ref(), &answer.finish), ("A seawall.", &Finish::Stop));
    /// # Ok::<(), seawall::ai::EventError>(())
    /// ```
    pub fn stream(self) -> StreamDecoder {
        StreamDecoder::new(match self {
            Self::OpenAi => Speaker::Chat(Default::default()),
            Self::Anthropic => Speaker::Anthropic(Default::default()),
            Self::Gemini => Speaker::Gemini(Default::default()),
        })
    }

    /// The body of a call of Responses.
    ///
    /// # Errors
    ///
    /// The dialect is not OpenAI's, or has no words for something in the call.
    pub fn encode_responses(self, call: &Responses, delivery: Delivery) -> Result<Encoded, EncodeError> {
        match self {
            Self::OpenAi => responses::encode(call, delivery),
            Self::Anthropic | Self::Gemini => Err(EncodeError::Unsupported {
                dialect: self,
                what: "Responses",
                instead: "make it a chat",
            }),
        }
    }

    /// The response that a whole body is. In OpenAI's words, whichever the dialect: no other has them.
    ///
    /// # Errors
    ///
    /// The body is not JSON, or no response.
    pub fn decode_responses(self, body: &[u8]) -> Result<ResponsesAnswer, DecodeError> {
        responses::decode(parsed(body)?)
    }

    /// Reads a response that is streamed. In OpenAI's words, whichever the dialect: no other has them.
    pub fn stream_responses(self) -> StreamDecoder {
        StreamDecoder::new(Speaker::Responses(Default::default()))
    }

    /// The body of a call for embeddings.
    ///
    /// # Errors
    ///
    /// There is no text, or the dialect has no embeddings (Anthropic).
    pub fn encode_embeddings(self, call: &Embeddings) -> Result<Encoded, EncodeError> {
        others::encode_embeddings(self, call)
    }

    /// The vectors that a body holds, as numbers or packed.
    ///
    /// # Errors
    ///
    /// The body is not JSON, or holds no vectors.
    pub fn decode_embeddings(self, body: &[u8]) -> Result<EmbeddingsAnswer, DecodeError> {
        others::decode_embeddings(self, parsed(body)?)
    }

    /// The models that a body lists.
    ///
    /// # Errors
    ///
    /// The body is not JSON, or lists no models.
    pub fn decode_models(self, body: &[u8]) -> Result<Models, DecodeError> {
        others::decode_models(self, &parsed(body)?)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a key is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyHeader {
    /// `authorization: Bearer KEY`.
    Bearer,
    /// In a header of this name, as it is.
    Named(&'static str),
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    let path = path.split(['?', '#']).next().unwrap_or("");
    path.split('/').filter(|segment| !segment.is_empty())
}

/// `v1`, `v1beta`, `v2`.
fn is_version(segment: &str) -> bool {
    let mut bytes = segment.bytes();
    bytes.next() == Some(b'v') && bytes.next().is_some_and(|byte| byte.is_ascii_digit())
}

/// Whether what follows a slash leads elsewhere, and names nothing.
fn is_a_step(rest: &str) -> bool {
    matches!(rest.split('/').next(), Some("." | ".."))
}

/// `models/NAME`, with what would end a path percent-encoded; tuned models and Vertex's have a folder of their own.
fn gemini_model(model: &str) -> String {
    let folders = [
        "models/",
        "tunedModels/",
        "publishers/",
        "projects/",
        "endpoints/",
    ];
    let has_folder = folders.iter().any(|folder| model.starts_with(folder));
    let mut path = if has_folder {
        String::new()
    } else {
        "models/".to_owned()
    };
    for (place, byte) in model.bytes().enumerate() {
        match byte {
            // Out of its folder leads no name.
            b'/' if has_folder && !is_a_step(&model[place + 1..]) => path.push('/'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b'@' => {
                path.push(char::from(byte));
            }
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}
