//! One call, as it may go to another candidate than the one that it was written for.
//!
//! What can go wrong: a caller's own key leaves for a server that it was never meant for (rule K5); a prompt is parsed
//! and written anew, and is another one by a byte; a model's name that stands in the path stays the old one. So another
//! upstream gets no header that holds a credential, of a body nothing changes but the bytes of the model's name, and a
//! call whose address holds a key stays where it is.
//!
//! What it does not cover: dialects. A body that another provider would not read is for
//! [`Route::call_with`](crate::route::Route::call_with).

use super::Call;
use crate::http::{has_secret_query, is_secret};
use crate::json::{self, Value};
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use std::borrow::Cow;
use std::ops::Range;

/// What stands before a model's name in a path, and ends it.
const MODELS: &str = "/models/";

/// Whether a call holds a credential of its caller's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnCredential {
    None,
    /// In headers, which another upstream is not sent.
    InHeaders,
    /// In its address, without which it would be another call.
    InAddress,
}

impl Call {
    /// Where the caller's own credential is. `keyed_by` is the header of the idempotency key at the upstream that the call
    /// was written for, which lets nobody in whatever it is called.
    pub(crate) fn own_credential(&self, keyed_by: Option<&HeaderName>) -> OwnCredential {
        if has_secret_query(&self.path) {
            OwnCredential::InAddress
        } else if self.secret_headers(keyed_by).next().is_some() {
            OwnCredential::InHeaders
        } else {
            OwnCredential::None
        }
    }

    /// The same for another upstream: without the caller's own credential (rule K5).
    pub(crate) fn without_credential(mut self, keyed_by: Option<&HeaderName>) -> Self {
        let names: Vec<_> = self.secret_headers(keyed_by).cloned().collect();
        for name in names {
            self.headers.remove(name);
        }
        self
    }

    fn secret_headers(&self, keyed_by: Option<&HeaderName>) -> impl Iterator<Item = &HeaderName> {
        let is_key =
            move |name: &HeaderName, value: &HeaderValue| keyed_by == Some(name) && !value.is_sensitive();
        let secret = self
            .headers
            .iter()
            .filter(move |(name, value)| is_secret(name, value) && !is_key(name, value));
        secret.map(|(name, _)| name)
    }

    /// The same for this model: in the body where that is a JSON object, and in the path where that names one. No other
    /// byte of either changes.
    pub(crate) fn for_model(mut self, model: &str) -> Self {
        if let Cow::Owned(path) = path_of_model(&self.path, model) {
            // Where the path says it, the body does not.
            self.path = path;
        } else if let Some(body) = body_of_model(&self.body, model) {
            self.body = body;
        }
        self
    }
}

/// `/v1beta/models/OLD:generateContent` with another model.
fn path_of_model<'p>(path: &'p str, model: &str) -> Cow<'p, str> {
    let (place, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let named = place.rsplit_once(MODELS).and_then(|(before, rest)| {
        let (_, verb) = rest.split_once(':')?;
        (!verb.contains('/')).then(|| format!("{before}{MODELS}{model}:{verb}{query}"))
    });
    named.map_or(Cow::Borrowed(path), Cow::Owned)
}

/// The body with this model in place of its own, or beside its other members; nothing where it is no JSON object.
fn body_of_model(body: &Bytes, model: &str) -> Option<Bytes> {
    let (mut object, mut own) = (None, None);
    let mut is_empty = true;
    json::walk(body, &mut |path, value, span| {
        match (path.depth(), value) {
            (0, Value::Object) => object = Some(span.start),
            (1, _) => is_empty = false,
            _ => {}
        }
        // The last counts, as for parsers. Of a list or an object not all bytes are known: it stays.
        if path.is(&["model"]) {
            own = match value {
                Value::List | Value::Object => None,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Some(span),
            };
        }
    })?;
    let object = object?;
    let quoted = serde_json::Value::from(model).to_string();
    let (span, text): (Range<usize>, String) = match own {
        Some(span) => (span, quoted),
        None if is_empty => (object + 1..object + 1, format!(r#""model":{quoted}"#)),
        None => (object + 1..object + 1, format!(r#""model":{quoted},"#)),
    };
    Some(
        [&body[..span.start], text.as_bytes(), &body[span.end..]]
            .concat()
            .into(),
    )
}

#[cfg(test)]
mod tests;
