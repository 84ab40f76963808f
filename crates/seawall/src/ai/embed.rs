//! Texts as numbers.

use super::answer::Usage;
use super::chat::Extra;
use serde_json::Value;

/// Texts that are to become vectors.
///
/// ```
/// use seawall::ai::{Dialect, Embeddings};
/// let call = Embeddings::new("text-embedding-3-small", ["a wall", "the sea"]).dimensions(256);
/// let sent = Dialect::OpenAi.encode_embeddings(&call)?;
/// let answer = Dialect::OpenAi.decode_embeddings(br#"{"model":"text-embedding-3-small","data":[
///     {"index":1,"embedding":[0.5]},{"index":0,"embedding":[0.25]}],"usage":{"prompt_tokens":4}}"#)?;
/// assert_eq!(answer.vectors, [[0.25], [0.5]]);
/// # assert!(sent.changes.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Embeddings {
    /// The model.
    pub model: String,
    /// The texts.
    pub input: Vec<String>,
    /// How many numbers a vector has; the model's own count where nothing is said.
    pub dimensions: Option<u32>,
    /// How vectors come over the wire.
    pub packing: Packing,
    /// Members of the body that have no field here; see [`Chat::extra`](super::Chat::extra).
    pub extra: Vec<Extra>,
}

/// How vectors come over the wire. Both are read, whichever was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Packing {
    /// As numbers in JSON, which every server knows.
    #[default]
    Numbers,
    /// As base64 of their bits: a quarter of the size, where the server knows it (OpenAI).
    Base64,
}

impl Embeddings {
    /// These texts, by this model.
    pub fn new<T: Into<String>>(model: impl Into<String>, input: impl IntoIterator<Item = T>) -> Self {
        Self {
            model: model.into(),
            input: input.into_iter().map(Into::into).collect(),
            dimensions: None,
            packing: Packing::default(),
            extra: Vec::new(),
        }
    }

    /// How many numbers a vector has.
    #[must_use]
    pub const fn dimensions(mut self, dimensions: u32) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// How vectors come over the wire. Gemini has one way, and takes no notice.
    #[must_use]
    pub const fn packing(mut self, packing: Packing) -> Self {
        self.packing = packing;
        self
    }

    /// A member of the body; see [`Chat::extra`](super::Chat::extra).
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.push(Extra {
            dialect: None,
            key: key.into(),
            value: value.into(),
        });
        self
    }
}

/// The vectors of texts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EmbeddingsAnswer {
    /// The model; empty where the provider does not say.
    pub model: String,
    /// A vector for each text, in the texts' order.
    pub vectors: Vec<Vec<f32>>,
    /// What it took, where that is told.
    pub usage: Option<Usage>,
    /// The body without the vectors.
    pub raw: Value,
}
