//! What models a provider has.

use serde_json::Value;

/// A page of models.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Models {
    /// The models of this page.
    pub models: Vec<Model>,
    /// The query that asks for the next page (`after_id=…`, `pageToken=…`); nothing where this is the last.
    pub next: Option<String>,
}

/// A model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// The name that a chat is made with.
    pub id: String,
    /// The name for people, where it has one.
    pub name: Option<String>,
    /// The most tokens that it reads, where that is told.
    pub input_max: Option<u64>,
    /// The most tokens that it writes, where that is told.
    pub output_max: Option<u64>,
    /// All that is told of it.
    pub raw: Value,
}
