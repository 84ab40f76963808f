//! A request in the making, in reqwest's shape.

use super::client::{Client, Error};
use crate::tower::PerCall;
use ::reqwest::{Body, Request, Response, Version};
use http::{HeaderMap, HeaderName, HeaderValue};
use seawall_core::facts::Replay;
use seawall_core::profile::KEY_HEADER;
use seawall_core::time::Duration;
use serde::Serialize;
use std::fmt;

/// A request in the making. What reqwest's `RequestBuilder` has and this does not, such as forms and files, is reached by
/// [`with`](Self::with).
#[must_use = "nothing is sent before `.send()`"]
pub struct RequestBuilder {
    client: Client,
    inner: ::reqwest::RequestBuilder,
    per_call: PerCall,
}

impl RequestBuilder {
    pub(super) const fn new(client: Client, inner: ::reqwest::RequestBuilder) -> Self {
        Self {
            client,
            inner,
            per_call: PerCall {
                replay: None,
                deadline: None,
                retries_max: None,
            },
        }
    }

    /// Does to reqwest's own builder what only it can.
    ///
    /// ```
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use seawall::{Policy, Preset, reqwest::Client};
    /// let client = Client::new(reqwest::Client::new(), &Policy::preset(Preset::Default));
    /// let request = client
    ///     .get("http://127.0.0.1/things")
    ///     .with(|builder| builder.version(reqwest::Version::HTTP_11));
    /// # drop(request); Ok(()) }
    /// # example().unwrap();
    /// ```
    pub fn with(mut self, with: impl FnOnce(::reqwest::RequestBuilder) -> ::reqwest::RequestBuilder) -> Self {
        self.inner = with(self.inner);
        self
    }

    /// Adds a header.
    pub fn header<K, V>(self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K>,
        <HeaderName as TryFrom<K>>::Error: Into<http::Error>,
        HeaderValue: TryFrom<V>,
        <HeaderValue as TryFrom<V>>::Error: Into<http::Error>,
    {
        self.with(|inner| inner.header(name, value))
    }

    /// Adds headers, in place of those of the same names.
    pub fn headers(self, headers: HeaderMap) -> Self {
        self.with(|inner| inner.headers(headers))
    }

    /// HTTP's basic authentication.
    pub fn basic_auth<U: fmt::Display, P: fmt::Display>(self, user: U, password: Option<P>) -> Self {
        self.with(|inner| inner.basic_auth(user, password))
    }

    /// A bearer token.
    pub fn bearer_auth<T: fmt::Display>(self, token: T) -> Self {
        self.with(|inner| inner.bearer_auth(token))
    }

    /// The body. One that is a stream cannot be made again: the request is sent once.
    pub fn body(self, body: impl Into<Body>) -> Self {
        self.with(|inner| inner.body(body))
    }

    /// A body of JSON, with its content type unless one is set.
    ///
    /// # Errors
    /// What cannot be JSON fails on [`send`](Self::send), as reqwest's does; nothing is sent.
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Self {
        let body = serde_json::to_vec(value);
        self.with(|inner| match body {
            Ok(body) => inner
                .header(
                    http::header::CONTENT_TYPE,
                    HeaderValue::from_static("application/json"),
                )
                .body(body),
            // reqwest keeps the first error of a build and tells it on sending; a name of nothing is one.
            Err(_) => inner.header("", ""),
        })
    }

    /// reqwest's own limit of one attempt, its body included.
    pub fn timeout(self, length: std::time::Duration) -> Self {
        self.with(|inner| inner.timeout(length))
    }

    /// The version of HTTP.
    pub fn version(self, version: Version) -> Self {
        self.with(|inner| inner.version(version))
    }

    /// An idempotency key, the same for every attempt: a server that honours it makes a write safe to repeat.
    pub fn key(self, key: impl AsRef<str>) -> Self {
        let key = key.as_ref().to_owned();
        self.with(|inner| inner.header(KEY_HEADER, key))
    }

    /// What a repeat would do (rule E1), instead of what method, provider and key say.
    pub fn replay(mut self, replay: Replay) -> Self {
        self.per_call = self.per_call.replay(replay);
        self
    }

    /// How long the call may take up to its response, instead of the policy's deadline: waits and attempts together.
    pub fn deadline(mut self, length: Duration) -> Self {
        self.per_call = self.per_call.deadline(length);
        self
    }

    /// Fewer retries than the policy's.
    pub fn retries_max(mut self, retries: u32) -> Self {
        self.per_call = self.per_call.retries_max(retries);
        self
    }

    /// The request, to be looked at or [executed](Client::execute).
    ///
    /// # Errors
    /// An address, header or body that cannot be sent.
    pub fn build(self) -> Result<Request, ::reqwest::Error> {
        self.inner.build()
    }

    /// Makes one call, with whatever attempts and waits its policy allows. Dropping the future cancels it.
    ///
    /// # Errors
    /// [`Error`]: no response came, and why there was no other attempt. One that cannot be built is
    /// [`Error::Unready`]: nothing was begun.
    pub async fn send(self) -> Result<Response, Error> {
        let request = self.inner.build().map_err(Error::Unready)?;
        self.client.execute_as(request, self.per_call).await
    }
}

impl fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBuilder")
            .field("per_call", &self.per_call)
            .finish_non_exhaustive()
    }
}
