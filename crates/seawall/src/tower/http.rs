//! HTTP requests and responses, as far as any service around them has them.

use super::answers::{Answers, Met};
use super::error::Ended;
use super::grpc::GrpcAnswers;
use super::layer::SeawallLayer;
use super::requests::{Promise, Requests};
use crate::clock::Clock;
use crate::http::{HeaderFacts, learned};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use seawall_core::classify::classify;
use seawall_core::facts::{BodyFacts, Facts, Replay};
use seawall_core::learned::Learned;
use seawall_core::outcome::Report;
use seawall_core::profile::{KEY_HEADER, Provider, RequestFacts};
use seawall_core::time::Duration;
use seawall_core::verdict::Limits;

/// Responses judged by their heads: the status, and what the headers say of waiting, of another attempt and of limits.
/// Bodies decide nothing here.
#[derive(Clone, Copy, Debug)]
pub struct HttpAnswers {
    provider: Provider,
}

/// Requests that say by method and `idempotency-key` what a repeat would do (rule E1), and by [`PerCall`] what else their
/// caller wants.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequests<R> {
    whose: Whose,
    again: R,
}

#[derive(Clone, Copy, Debug)]
enum Whose {
    /// The address of each request says.
    ByAddress,
    Of(Provider),
}

/// What the caller of one request wants, in the request's extensions; it stands before what the layer says.
///
/// ```
/// use seawall::Duration;
/// use seawall::tower::PerCall;
///
/// let request = http::Request::get("http://127.0.0.1/things")
///     .extension(PerCall::default().deadline(Duration::from_secs(2)).retries_max(1))
///     .body(())?;
/// assert!(request.extensions().get::<PerCall>().is_some());
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct PerCall {
    pub(crate) replay: Option<Replay>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) retries_max: Option<u32>,
}

impl PerCall {
    /// What a repeat would do (rule E1).
    pub const fn replay(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// How long the call may take up to its response.
    pub const fn deadline(mut self, length: Duration) -> Self {
        self.deadline = Some(length);
        self
    }

    /// Fewer retries than the policy's.
    pub const fn retries_max(mut self, retries: u32) -> Self {
        self.retries_max = Some(retries);
        self
    }
}

impl<C, A, R> SeawallLayer<C, A, R> {
    /// For `http` requests and responses. Statuses and `Retry-After` in all its forms are judged as an
    /// [`Upstream`](crate::Upstream) judges them. A POST without a key is repeated only where it provably did not act: a
    /// layer sees no bodies, and a chat with a tool that acts differs from one without by its body alone. For a service
    /// whose calls change nothing say [`replay`](Self::replay)`(Replay::Declared)`. Whose dialect it is, each request's
    /// address says.
    ///
    /// A response that is a failure and has no better one after it is returned as it came, with [`Ended`] in its
    /// extensions. An attempt is cut where its head does not come within `connect` and `first_byte` of the policy.
    pub fn http(self) -> SeawallLayer<C, HttpAnswers, HttpRequests<R>> {
        self.map_requests(|again| HttpRequests {
            whose: Whose::ByAddress,
            again,
        })
        .answers(HttpAnswers::of(Provider::Generic))
    }

    /// As [`http`](Self::http), for this provider, whatever the address.
    pub fn http_of(self, provider: Provider) -> SeawallLayer<C, HttpAnswers, HttpRequests<R>> {
        self.map_requests(|again| HttpRequests {
            whose: Whose::Of(provider),
            again,
        })
        .answers(HttpAnswers::of(provider))
    }

    /// For gRPC channels, whose requests are `http` requests: a code in the head counts. Which methods may be repeated
    /// gRPC does not say; as for closures, all, unless [`replay`](Self::replay) says otherwise.
    pub fn grpc(self) -> SeawallLayer<C, GrpcAnswers, R> {
        self.answers(GrpcAnswers)
    }
}

impl HttpAnswers {
    /// Those of this provider.
    pub const fn of(provider: Provider) -> Self {
        Self { provider }
    }

    /// What a head is to the engine.
    pub(crate) fn judge(&self, status: StatusCode, headers: &HeaderMap, clock: &dyn Clock) -> Report {
        if status.as_u16() < 400 {
            return Report {
                status: status.as_u16(),
                ..Met::Answer.report()
            };
        }
        let headers = HeaderFacts(headers);
        let facts = Facts {
            status: Some(status.as_u16()),
            headers: &headers,
            body: BodyFacts::default(),
            broke: None,
            wall: clock.wall(),
        };
        classify(self.provider.profile(), &[], &facts).report
    }
}

/// A body that nobody looks at may ask for anything.
pub(crate) const UNSEEN: RequestFacts = RequestFacts {
    key: false,
    stream: false,
    conversation: false,
    background: true,
    acting_tool: true,
};

/// What an attempt may take up to its head.
pub(crate) fn head_limit(limits: &Limits) -> Duration {
    limits.total.min(limits.connect.plus(limits.first_byte))
}

/// What a request promises by its head.
pub(crate) fn promise(
    provider: Option<Provider>,
    method: &Method,
    (host, path): (Option<&str>, &str),
    headers: &HeaderMap,
    said: PerCall,
    body: RequestFacts,
) -> Promise {
    let provider = provider.unwrap_or_else(|| Provider::inferred(host, path));
    let request = RequestFacts {
        key: headers.contains_key(KEY_HEADER),
        ..body
    };
    let by_head = || provider.profile().replay_of(method.as_str(), path, request);
    Promise {
        deadline: said.deadline,
        retries_max: said.retries_max,
        ..Promise::of(said.replay.unwrap_or_else(by_head))
    }
}

impl<B> Answers<Response<B>> for HttpAnswers {
    fn report(&self, response: &Response<B>, clock: &dyn Clock) -> Report {
        self.judge(response.status(), response.headers(), clock)
    }

    fn learned(&self, response: &Response<B>, clock: &dyn Clock) -> Learned {
        learned(response.status(), response.headers(), clock.wall())
    }

    fn limit(&self, limits: &Limits) -> Duration {
        head_limit(limits)
    }

    fn ended(&self, response: &mut Response<B>, ended: Ended) {
        response.extensions_mut().insert(ended);
    }
}

impl<B, R: Requests<Request<B>>> Requests<Request<B>> for HttpRequests<R> {
    fn promise(&self, request: &Request<B>) -> Promise {
        let uri: &Uri = request.uri();
        let provider = match self.whose {
            Whose::ByAddress => None,
            Whose::Of(provider) => Some(provider),
        };
        let address = (uri.host(), uri.path());
        let said = request.extensions().get::<PerCall>().copied();
        let said = said.unwrap_or_default();
        promise(
            provider,
            request.method(),
            address,
            request.headers(),
            said,
            UNSEEN,
        )
    }

    fn again(&self, request: &Request<B>) -> Option<Request<B>> {
        self.again.again(request)
    }
}
