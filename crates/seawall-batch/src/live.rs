//! The caller that makes real calls: rows through [`Upstream`]s.
//!
//! What can go wrong: a row that names another host takes the batch's credential there; one bad key fails every row
//! for good, so that a new key finds nothing left to do. So another host gets no credential, and a key that was
//! denied twice in a row stops the run with its rows still pending.

use crate::caller::{Answer, AttemptNote, Call, Caller, Ended, Failure, Reach, Stop, UnknownWrite, cause};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use seawall::upstream::{CallError, Upstream, UpstreamError};
use seawall_core::facts::BodyState;
use seawall_core::outcome::Cause;
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The status that speaks of the credential itself (rule H9).
const UNAUTHORIZED: u16 = 401;

/// Makes an upstream without a credential for a host that rows name by absolute URLs.
type MakeUpstream = Box<dyn Fn(&str) -> Result<Upstream, UpstreamError> + Send + Sync>;

/// Sends rows to one upstream, and those with absolute URLs where they say.
pub struct LiveCaller {
    upstream: Upstream,
    /// `scheme://host:port` of the upstream: absolute URLs there are its own.
    origin: String,
    headers: HeaderMap,
    elsewhere: Mutex<BTreeMap<String, Upstream>>,
    make: MakeUpstream,
}

impl LiveCaller {
    /// A caller for `upstream` at `base_url`. `headers` go with every row; `make` builds an upstream without a
    /// credential for other hosts, which only rows with absolute URLs reach.
    pub fn new(upstream: Upstream, base_url: &str, headers: HeaderMap, make: MakeUpstream) -> Self {
        let origin = base_url
            .parse::<Uri>()
            .ok()
            .and_then(|uri| origin(&uri))
            .unwrap_or_default();
        Self {
            upstream,
            origin,
            headers,
            elsewhere: Mutex::new(BTreeMap::new()),
            make,
        }
    }

    /// Where a row's path goes: the upstream, and the path there.
    fn place(&self, path: &str) -> Result<(Upstream, String), UpstreamError> {
        let absolute = path
            .parse::<Uri>()
            .ok()
            .and_then(|uri| Some((origin(&uri)?, uri)));
        let Some((origin, uri)) = absolute else {
            return Ok((self.upstream.clone(), path.to_owned()));
        };
        let below = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        if origin == self.origin {
            return Ok((self.upstream.clone(), below));
        }
        let mut elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = elsewhere.get(&origin) {
            return Ok((known.clone(), below));
        }
        let made = (self.make)(&origin)?;
        elsewhere.insert(origin, made.clone());
        Ok((made, below))
    }
}

impl Caller for LiveCaller {
    async fn call(&self, call: Call) -> Ended {
        let (upstream, path) = match self.place(&call.path) {
            Ok(place) => place,
            Err(error) => return unsendable(error.to_string()),
        };
        let Ok(method) = Method::from_bytes(call.method.as_bytes()) else {
            return unsendable(format!("{:?} is no method", call.method));
        };
        let mut live = seawall::upstream::Call::new(method, path).with_body(call.body);
        live = live.with_header(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        for (name, value) in &self.headers {
            live = live.with_header(name.clone(), value.clone());
        }
        let clock = upstream.hub().clock();
        let began = clock.now();
        let mut result = upstream.call(live.clone()).await;
        if matches!(&result, Err(error) if error.reason == (Reason::Denied { status: UNAUTHORIZED })) {
            // One stray 401 must not fail the row, nor the run. The second in a row latches the credential, and
            // that stops the run with its rows pending.
            result = upstream.call(live).await;
        }
        ended(result, began, clock.now())
    }

    fn in_flight(&self) -> Option<u64> {
        let elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        let upstreams = std::iter::once(&self.upstream).chain(elsewhere.values());
        Some(upstreams.map(Upstream::attempts_out).sum())
    }

    fn draining(&self) {
        self.upstream.drain();
        for upstream in self
            .elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
        {
            upstream.drain();
        }
    }
}

fn origin(uri: &Uri) -> Option<String> {
    Some(format!("{}://{}", uri.scheme()?, uri.authority()?))
}

/// A row that no request can be made of.
fn unsendable(message: String) -> Ended {
    let failure = Failure {
        reason: Reason::Refused { status: 0 },
        cause: Some(Cause::Request.name()),
        message,
        answer: None,
        unknown: None,
        reach: Reach::Row,
    };
    Ended {
        result: Err(failure),
        attempts: Vec::new(),
        waited: Vec::new(),
        usage: seawall_core::outcome::Usage::NONE,
        cost_microusd: None,
        first_byte: None,
        total: Duration::ZERO,
    }
}

fn ended(result: Result<seawall::upstream::Answer, Box<CallError>>, began: Instant, now: Instant) -> Ended {
    let (attempts, waited, usage) = match &result {
        Ok(answer) => (&answer.attempts, answer.waited.clone(), answer.usage),
        Err(error) => (&error.attempts, error.waited.clone(), error.usage),
    };
    let notes = attempts.iter().map(|note| AttemptNote {
        reason_code: note.sent_for,
        outcome: note.outcome,
    });
    Ended {
        attempts: notes.collect(),
        waited,
        usage,
        cost_microusd: None,
        first_byte: attempts.last().and_then(|note| note.first_byte),
        total: now.since(began),
        result: match result {
            Ok(answer) => Ok(answered(answer.status.as_u16(), &answer.headers, answer.body)),
            Err(error) => Err(failed(*error)),
        },
    }
}

fn failed(error: CallError) -> Failure {
    let message = error.to_string();
    let state = error.answer.as_ref().map(|answer| answer.state);
    let cause = match (state, error.cause) {
        (Some(BodyState::Empty), _) => Some(cause::EMPTY_BODY),
        (Some(BodyState::Truncated), _) => Some(cause::TRUNCATED),
        (_, Some(Cause::Timeout)) => Some(cause::TIMEOUT),
        (_, other) => other.map(Cause::name),
    };
    Failure {
        reason: error.reason,
        cause,
        message,
        answer: error
            .answer
            .map(|answer| answered(answer.status.as_u16(), &answer.headers, answer.body)),
        unknown: error.unknown.map(|unknown| UnknownWrite {
            upstream: unknown.upstream,
            method: unknown.method,
            path: unknown.path,
            key: unknown.key,
            outcome: unknown.outcome,
        }),
        reach: match error.reason {
            Reason::DeniedLatched { .. } => Reach::Run(Stop::Key),
            Reason::QuotaSpent | Reason::CostMax => Reach::Run(Stop::Money),
            _ => Reach::Row,
        },
    }
}

fn answered(status: u16, headers: &HeaderMap, body: Bytes) -> Answer {
    let names = [
        HeaderName::from_static("x-request-id"),
        HeaderName::from_static("request-id"),
    ];
    let request_id = names.iter().find_map(|name| headers.get(name)?.to_str().ok());
    Answer {
        status,
        request_id: request_id.map(str::to_owned),
        body,
    }
}
