//! The client: whose gate a request goes through, and how its call ends.

use super::broken::without_secrets;
use super::builder::RequestBuilder;
use super::hold::{Hold, Sender};
use crate::body::RequestBody;
use crate::gate::Gate;
use crate::gates::Gates;
use crate::retry::{ByType, Classify};
use crate::tower::http::{UNSEEN, promise};
use crate::tower::{self, Answers, Calling, Hand, HttpAnswers, Owner, PerCall, Promise, Requests, Said};
use ::reqwest::{IntoUrl, Method, Request, Response, Url};
use seawall_core::policy::Policy;
use seawall_core::profile::{Provider, RequestFacts};
use std::fmt;
use tower_service::Service;

/// How a call ended without a response: reqwest's own error, and why there was no other attempt.
pub type Error = tower::Error<::reqwest::Error>;

/// Which gate a request goes through.
#[derive(Clone, Debug)]
pub struct Gating(By);

#[derive(Clone, Debug)]
enum By {
    PerHost(Gates),
    One(Owner),
}

/// One for each host and port.
impl From<&Policy> for Gating {
    fn from(policy: &Policy) -> Self {
        Gates::new(policy).into()
    }
}

/// One for each host and port, of these.
impl From<Gates> for Gating {
    fn from(gates: Gates) -> Self {
        Self(By::PerHost(gates))
    }
}

/// One for all hosts.
impl From<&Gate> for Gating {
    fn from(gate: &Gate) -> Self {
        Self(By::One(gate.into()))
    }
}

/// The upstream's, for all hosts.
impl From<&crate::Upstream> for Gating {
    fn from(upstream: &crate::Upstream) -> Self {
        Self(By::One(upstream.into()))
    }
}

impl Gating {
    fn of(&self, url: &Url) -> Owner {
        match &self.0 {
            By::One(owner) => owner.clone(),
            By::PerHost(gates) => {
                let host = url.host_str().unwrap_or_default();
                let port = url.port_or_known_default().unwrap_or_default();
                gates.gate(&format!("{host}:{port}")).into()
            }
        }
    }

    /// One call of `service`, which makes attempts.
    pub(super) fn calling<S>(
        &self,
        service: S,
        request: Request,
        per_call: PerCall,
    ) -> Calling<S, Request, ByType, HttpAnswers, Whole>
    where
        S: Service<Request>,
        S::Error: Classify,
        HttpAnswers: Answers<S::Response>,
    {
        let url = request.url();
        let provider = Provider::inferred(url.host_str(), url.path());
        let owner = self.of(url);
        let hand = Hand::new(ByType, HttpAnswers::of(provider), Whole { per_call });
        Calling::new(service, request, owner, Said::default(), hand)
    }
}

/// Requests of reqwest: their bodies are looked at, and made again where they are no streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    per_call: PerCall,
}

impl Requests<Request> for Whole {
    fn promise(&self, request: &Request) -> Promise {
        let url = request.url();
        let body = match request.body().map(::reqwest::Body::as_bytes) {
            Some(Some(bytes)) if *request.method() == Method::POST => RequestBody::read(bytes).facts,
            Some(Some(_)) | None => RequestFacts::default(),
            Some(None) => UNSEEN,
        };
        let address = (url.host_str(), url.path());
        promise(
            None,
            request.method(),
            address,
            request.headers(),
            self.per_call,
            body,
        )
    }

    fn again(&self, request: &Request) -> Option<Request> {
        request.try_clone()
    }
}

/// A reqwest client behind gates. Cheap to clone; clones share connections and gates.
///
/// What reqwest's `Client` has, it has: `get`, `post`, `request`, `execute`. See the [module](crate::reqwest).
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::reqwest::Client;
/// use seawall::{Policy, Preset};
///
/// // A gate for each host; a `&Gate` in the policy's place is one gate for all.
/// let client = Client::new(reqwest::Client::new(), &Policy::preset(Preset::Interactive));
/// let answer = client.get("https://api.example.com/v1/models").send().await?;
/// println!("{}", answer.status());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    sender: Sender,
    gating: Gating,
}

impl Client {
    /// Puts `client` behind gates: a [`&Policy`](Policy) makes one for each host and port, as do [`Gates`] of your own;
    /// a [`&Gate`](Gate) or an [`&Upstream`](crate::Upstream) is the one for all requests.
    pub fn new(client: ::reqwest::Client, gating: impl Into<Gating>) -> Self {
        Self {
            sender: Sender {
                client,
                hold: Hold::Head,
            },
            gating: gating.into(),
        }
    }

    /// Reads each body inside its attempt, so that one that is cut is retried as any other failure; at most `bytes_max` of
    /// it: the rest of a longer one is handed over as it comes.
    #[must_use]
    pub const fn hold(mut self, bytes_max: usize) -> Self {
        self.sender.hold = Hold::Whole { bytes_max };
        self
    }

    /// The client without its gates.
    pub const fn inner(&self) -> &::reqwest::Client {
        &self.sender.client
    }

    /// Begins a GET.
    pub fn get<U: IntoUrl>(&self, url: U) -> RequestBuilder {
        self.request(Method::GET, url)
    }

    /// Begins a POST.
    pub fn post<U: IntoUrl>(&self, url: U) -> RequestBuilder {
        self.request(Method::POST, url)
    }

    /// Begins a PUT.
    pub fn put<U: IntoUrl>(&self, url: U) -> RequestBuilder {
        self.request(Method::PUT, url)
    }

    /// Begins a PATCH.
    pub fn patch<U: IntoUrl>(&self, url: U) -> RequestBuilder {
        self.request(Method::PATCH, url)
    }

    /// Begins a DELETE.
    pub fn delete<U: IntoUrl>(&self, url: U) -> RequestBuilder {
        self.request(Method::DELETE, url)
    }

    /// Begins a HEAD.
    pub fn head<U: IntoUrl>(&self, url: U) -> RequestBuilder {
        self.request(Method::HEAD, url)
    }

    /// Begins a request with this method.
    pub fn request<U: IntoUrl>(&self, method: Method, url: U) -> RequestBuilder {
        RequestBuilder::new(self.clone(), self.sender.client.request(method, url))
    }

    /// Makes one call of a request that is built. Dropping the future cancels it.
    ///
    /// # Errors
    /// [`Error`]: no response came, and why there was no other attempt.
    pub async fn execute(&self, request: Request) -> Result<Response, Error> {
        self.execute_as(request, PerCall::default()).await
    }

    pub(super) async fn execute_as(&self, request: Request, per_call: PerCall) -> Result<Response, Error> {
        let ended = self.gating.calling(self.sender.clone(), request, per_call).await;
        ended.map_err(|error| error.map(without_secrets))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("gating", &self.gating)
            .finish_non_exhaustive()
    }
}
