//! What a client says to one server: a call in its dialect, at its paths.

use super::client::{Leg, Options};
use super::error::{Asked, Error};
use super::{Change, Chat, Delivery, Dialect, Embeddings, EncodeError, Encoded, Operation, Responses};
use crate::body::RequestBody;
use crate::upstream::Call;
use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use seawall_core::facts::Replay;
use seawall_core::profile::RequestFacts;
use seawall_core::verdict::Endpoint;
use std::borrow::Cow;

/// What goes to one server.
pub(super) struct Outbound {
    path: String,
    body: Option<Bytes>,
    headers: &'static [(&'static str, &'static str)],
    /// What a repeat does, where the path of every server does not say it.
    replay: Option<Replay>,
    pub(super) changes: Vec<Change>,
}

impl Outbound {
    pub(super) fn call(&self, options: Options) -> Call {
        let mut call = match &self.body {
            Some(body) => Call::post_json(self.path.as_str(), body.clone()),
            None => Call::get(self.path.as_str()),
        };
        for (name, value) in self.headers {
            let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
            call = call.with_header(name, value);
        }
        if let Some(replay) = self.replay {
            call = call.with_replay(replay);
        }
        if let Some(deadline) = options.deadline {
            call = call.with_deadline(deadline);
        }
        if let Some(retries) = options.retries_max {
            call = call.with_retries_max(retries);
        }
        call
    }
}

impl Leg {
    /// A chat as it goes to this server.
    pub(super) fn chat(&self, chat: &Chat, delivery: Delivery) -> Result<Outbound, Unsaid> {
        let chat = match &self.model {
            Some(model) => Cow::Owned(chat.clone().model(model)),
            None => Cow::Borrowed(chat),
        };
        let encoded = self.dialect.encode(&chat, delivery)?;
        let model = &chat.model;
        self.outbound("chats", Operation::Chat { model, delivery }, Some(encoded))
    }

    /// Texts to embed, as they go to this server.
    pub(super) fn embeddings(&self, embeddings: &Embeddings) -> Result<Outbound, Unsaid> {
        let mut embeddings = Cow::Borrowed(embeddings);
        if let Some(model) = &self.model {
            embeddings.to_mut().model.clone_from(model);
        }
        let encoded = self.dialect.encode_embeddings(&embeddings)?;
        let model = &embeddings.model;
        self.outbound("embeddings", Operation::Embeddings { model }, Some(encoded))
    }

    /// A call of Responses, as it goes to this server.
    pub(super) fn responses(&self, call: &Responses, delivery: Delivery) -> Result<Outbound, Unsaid> {
        let mut call = Cow::Borrowed(call);
        if let Some(model) = &self.model {
            call.to_mut().model.clone_from(model);
        }
        let encoded = self.dialect.encode_responses(&call, delivery)?;
        self.outbound("responses", Operation::Responses, Some(encoded))
    }

    /// The list of its models.
    pub(super) fn models(&self) -> Result<Outbound, Unsaid> {
        self.outbound("list of models", Operation::Models, None)
    }

    fn outbound(
        &self,
        what: &'static str,
        operation: Operation<'_>,
        encoded: Option<Encoded>,
    ) -> Result<Outbound, Unsaid> {
        let path = self.dialect.path(&self.base_path, operation);
        let (body, changes) = match encoded {
            Some(encoded) => (Some(encoded.body), encoded.changes),
            None => (None, Vec::new()),
        };
        let path = path.ok_or(Unsaid::Operation(what, self.dialect))?;
        Ok(Outbound {
            headers: self.dialect.headers(),
            replay: body
                .as_ref()
                .and_then(|body| self.replay_of(&path, operation, body)),
            path,
            body,
            changes,
        })
    }

    /// What a repeat does (rule E1), where the server's paths are not its provider's own: what is asked says it all the same.
    fn replay_of(&self, path: &str, operation: Operation<'_>, body: &Bytes) -> Option<Replay> {
        let profile = self.dialect.provider().profile();
        let whole = format!("{}{path}", self.base_path.trim_end_matches('/'));
        match profile.endpoint("POST", &whole, RequestFacts::default()) {
            Endpoint::Inference | Endpoint::InferenceStream => None,
            Endpoint::General => {
                let own = self.dialect.path(own_base(self.dialect), operation)?;
                let own = format!("{}{own}", own_base(self.dialect));
                Some(profile.replay_of("POST", &own, RequestBody::read(body).facts))
            }
        }
    }
}

/// The path of the provider's own base address.
fn own_base(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAi => "/v1",
        Dialect::Anthropic | Dialect::Gemini => "",
    }
}

/// Why something cannot be said to a server.
#[derive(Debug)]
pub(super) enum Unsaid {
    /// Something of it has no words in its dialect.
    Words(EncodeError),
    /// Its dialect has no such operation.
    Operation(&'static str, Dialect),
}

impl From<EncodeError> for Unsaid {
    fn from(error: EncodeError) -> Self {
        Self::Words(error)
    }
}

impl Unsaid {
    pub(super) fn told(self, asked: &Asked<'_>) -> Error {
        match self {
            Self::Words(error) => Error::inexpressible(error, asked),
            Self::Operation(what, dialect) => Error::no_such_operation(what, dialect, asked),
        }
    }
}
