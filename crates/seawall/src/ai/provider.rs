//! What a provider says when it does not answer.

use crate::body::{OwnedBodyFacts, Wire, read};
use seawall_core::verdict::Endpoint;
use serde_json::Value;
use std::fmt;

/// An error of a provider's, in its own words.
///
/// ```
/// use seawall::ai::ProviderError;
/// let error = ProviderError::read(401, None, br#"{"error":{"message":"Incorrect API key.","code":"invalid_api_key"}}"#);
/// assert_eq!(error.code.as_deref(), Some("invalid_api_key"));
/// assert_eq!(error.to_string(), "Incorrect API key. (status 401, invalid_api_key)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct ProviderError {
    /// The answer's status; 200 where the error came inside a stream.
    pub status: u16,
    /// Its code: `insufficient_quota`, `RESOURCE_EXHAUSTED`.
    pub code: Option<String>,
    /// Its type: `rate_limit_error`.
    pub kind: Option<String>,
    /// What it says.
    pub message: Option<String>,
    /// The member of the request that it is about.
    pub param: Option<String>,
    /// The provider's name for the request, for its support.
    pub request_id: Option<String>,
}

impl ProviderError {
    /// Reads an error from an answer's status, its `x-request-id` or `request-id`, and its body. Never fails: a body that is
    /// no error of a known shape leaves the rest empty.
    pub fn read(status: u16, request_id: Option<&str>, body: &[u8]) -> Self {
        let wire = Wire {
            endpoint: Endpoint::Inference,
            method: "POST",
            status,
            content_type: Some(b"application/json"),
            content_encoding: None,
        };
        let value = serde_json::from_slice(body).unwrap_or_default();
        let mut error = Self::of_facts(read(&wire, body), &value);
        error.status = status;
        error.request_id = request_id.map(str::to_owned).or(error.request_id);
        error
    }

    /// From what the reader of bodies found, and the object that it found it in.
    pub(super) fn of_facts(facts: OwnedBodyFacts, body: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let param = body.pointer("/error/param").or_else(|| body.get("param"));
        Self {
            status: 200,
            code: facts.code,
            kind: facts.kind,
            message: facts.message,
            param: text(param),
            request_id: text(body.get("request_id")),
        }
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message.as_deref().unwrap_or("the provider did not say why");
        write!(f, "{message} (status {}", self.status)?;
        if let Some(word) = self.code.as_deref().or(self.kind.as_deref()) {
            write!(f, ", {word}")?;
        }
        if let Some(id) = &self.request_id {
            write!(f, ", request {id}")?;
        }
        f.write_str(")")
    }
}
