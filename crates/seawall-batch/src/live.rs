//! The caller that makes real calls: rows through [`Upstream`]s.
//!
//! What can go wrong: a row that names another host takes the batch's credential there; one bad key, or an empty
//! account, fails every row for good, so that a new key finds nothing left to do; an address that redirects fills the
//! output with answers that are none. So another host gets no credential; a key (or the lack of one) that was denied
//! twice in a row, and a 402, stop the run with its rows still pending; a redirect is a failure that names its target.

use crate::caller::{Answer, Call, Caller, Ended, Failure, Line, Reach, Stop, cause};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use seawall::upstream::{Attempts, CallError, Upstream, UpstreamError};
use seawall_core::engine::Waits;
use seawall_core::facts::BodyState;
use seawall_core::outcome::{Cause, Usage};
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Denials without another answer in between that stop the run, as many as latch a credential (rule H9).
const DENIALS_MAX: u32 = 2;
/// The account has no money, whatever the body says.
const PAYMENT_REQUIRED: u16 = 402;

/// Makes an upstream without a credential for a host that rows name by absolute URLs.
type MakeUpstream = Box<dyn Fn(&str) -> Result<Upstream, UpstreamError> + Send + Sync>;

/// Sends rows to one upstream, and those with absolute URLs where they say.
pub struct LiveCaller {
    upstream: Upstream,
    /// `scheme://host:port` of the upstream: absolute URLs there are its own.
    origin: String,
    headers: HeaderMap,
    /// Denials of the upstream's credential, or of the lack of one, since the last other answer. The engine's latch
    /// counts the same, but only where there is a credential, and tells only the next call.
    denials: AtomicU32,
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
            denials: AtomicU32::new(0),
            elsewhere: Mutex::new(BTreeMap::new()),
            make,
        }
    }

    /// Where a row's path goes: the upstream, the path there, and whose upstream it is.
    fn place(&self, path: &str) -> Result<(Upstream, String, Whose), UpstreamError> {
        let absolute = path
            .parse::<Uri>()
            .ok()
            .and_then(|uri| Some((origin(&uri)?, uri)));
        let Some((origin, uri)) = absolute else {
            return Ok((self.upstream.clone(), path.to_owned(), Whose::Batch));
        };
        let below = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        if origin == self.origin {
            return Ok((self.upstream.clone(), below, Whose::Batch));
        }
        let mut elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = elsewhere.get(&origin) {
            return Ok((known.clone(), below, Whose::Row));
        }
        let made = (self.make)(&origin)?;
        elsewhere.insert(origin, made.clone());
        Ok((made, below, Whose::Row))
    }

    /// Folds over all upstreams that rows go to.
    fn over_all<T>(&self, first: T, fold: impl FnMut(T, &Upstream) -> T) -> T {
        let elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(&self.upstream)
            .chain(elsewhere.values())
            .fold(first, fold)
    }

    /// What a call's end says about the batch's credential.
    fn credential_after(&self, result: &CallResult) -> Credential {
        let denied = matches!(result, Err(error) if speaks_of_the_credential(error.reason));
        if denied {
            // Saturating: a wrap would forget a whole run of denials.
            let before = self
                .denials
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                    Some(n.saturating_add(1))
                });
            return match before.unwrap_or_else(|n| n).saturating_add(1) {
                n if n >= DENIALS_MAX => Credential::Refused,
                _ => Credential::Doubted,
            };
        }
        let answered = match result {
            Ok(_) => true,
            Err(error) => error.answer.is_some() && !matches!(error.reason, Reason::DeniedLatched { .. }),
        };
        if answered {
            self.denials.store(0, Ordering::Relaxed);
        }
        Credential::Unharmed
    }
}

type CallResult = Result<seawall::upstream::Answer, Box<CallError>>;

/// Who chose an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The batch: every row without an address of its own goes there.
    Batch,
    /// A row, by an absolute URL.
    Row,
}

/// What is known of the batch's credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Credential {
    /// Nothing new.
    Unharmed,
    /// It was denied once, which may be one server's mistake.
    Doubted,
    /// It was denied again, with no other answer in between.
    Refused,
}

/// Whether a denial is of the credential itself: 403 and 407 are about one request and about a proxy (rule H9).
const fn speaks_of_the_credential(reason: Reason) -> bool {
    match reason {
        Reason::Denied { status } => status != 403 && status != 407,
        _ => false,
    }
}

impl Caller for LiveCaller {
    async fn call(&self, call: Call) -> Ended {
        let (upstream, path, whose) = match self.place(&call.path) {
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
        // A row's answer is kept as text: without this word a server may pack it (RFC 9110 12.5.3).
        live = live.with_header(
            http::header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
        for (name, value) in &self.headers {
            live = live.with_header(name.clone(), value.clone());
        }
        let clock = upstream.hub().clock();
        let began = clock.now();
        let mut result = upstream.call(live.clone()).await;
        if whose == Whose::Row {
            return ended(result, began, clock.now());
        }
        let mut credential = self.credential_after(&result);
        if credential == Credential::Doubted {
            // One stray denial must fail neither the row nor the run.
            let first = result;
            result = upstream.call(live).await;
            credential = self.credential_after(&result);
            result = joined(first, result);
        }
        let mut ended = ended(result, began, clock.now());
        if let Err(failure) = &mut ended.result {
            failure.reach = reach(failure, credential);
        }
        ended
    }

    fn in_flight(&self) -> Option<u64> {
        Some(self.over_all(0, |sum, upstream| sum + upstream.attempts_out()))
    }

    fn line(&self) -> Option<Line> {
        let nobody = Line { begun: 0, queued: 0 };
        Some(self.over_all(nobody, |line, upstream| Line {
            begun: line.begun + upstream.calls_alive() as u64,
            queued: line.queued + u64::from(upstream.load().queued),
        }))
    }

    fn waits(&self) -> Waits {
        self.over_all(Waits::default(), |waits, upstream| {
            waits.and(upstream.state().waits)
        })
    }

    fn draining(&self) {
        self.over_all((), |(), upstream| upstream.drain());
    }
}

/// A call's end, with what the call before it took: one row made both.
fn joined(first: CallResult, second: CallResult) -> CallResult {
    let Err(first) = first else {
        return second;
    };
    let CallError {
        mut attempts,
        waited: waited_before,
        usage: before,
        ..
    } = *first;
    let join = |later: &mut Attempts, waited: &mut Vec<(&'static str, Duration)>, usage: &mut Usage| {
        attempts.extend(std::mem::take(later));
        *later = attempts;
        waited.extend(waited_before);
        *usage = usage.plus(before);
    };
    match second {
        Ok(mut answer) => {
            join(&mut answer.attempts, &mut answer.waited, &mut answer.usage);
            Ok(answer)
        }
        Err(mut error) => {
            join(&mut error.attempts, &mut error.waited, &mut error.usage);
            Err(error)
        }
    }
}

/// Whom a failure at the batch's own upstream concerns.
fn reach(failure: &Failure, credential: Credential) -> Reach {
    match (failure.reason, credential) {
        (Reason::DeniedLatched { .. }, _) | (_, Credential::Refused) => Reach::Run(Stop::Key),
        (
            Reason::QuotaSpent
            | Reason::CostMax
            | Reason::Refused {
                status: PAYMENT_REQUIRED,
            },
            Credential::Unharmed | Credential::Doubted,
        ) => Reach::Run(Stop::Money),
        (_, Credential::Unharmed | Credential::Doubted) => Reach::Row,
    }
}

fn origin(uri: &Uri) -> Option<String> {
    Some(format!("{}://{}", uri.scheme()?, uri.authority()?))
}

/// [`origin`] without the user name and password that an address may hold.
fn shown_origin(uri: &Uri) -> Option<String> {
    let authority = uri.authority()?.as_str();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    Some(format!("{}://{place}", uri.scheme()?))
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
        usage: Usage::NONE,
        cost_microusd: None,
        first_byte: None,
        total: Duration::ZERO,
    }
}

fn ended(result: CallResult, began: Instant, now: Instant) -> Ended {
    let (attempts, waited, usage, result) = match result {
        Ok(mut answer) => {
            let attempts = std::mem::take(&mut answer.attempts).into_vec();
            let waited = std::mem::take(&mut answer.waited);
            let (usage, fits) = (answer.usage, answer.status.is_success());
            let result = if fits {
                Ok(answered(answer.status.as_u16(), &answer.headers, answer.body))
            } else {
                Err(unfit(answer))
            };
            (attempts, waited, usage, result)
        }
        Err(mut error) => {
            let attempts = std::mem::take(&mut error.attempts).into_vec();
            let waited = std::mem::take(&mut error.waited);
            (attempts, waited, error.usage, Err(failed(*error)))
        }
    };
    Ended {
        result,
        waited,
        usage,
        cost_microusd: None,
        first_byte: attempts.last().and_then(|note| note.first_byte),
        attempts,
        total: now.since(began),
    }
}

/// A status below 400 that answers nothing: a redirect is not followed (it would take the body, and perhaps the
/// credential, elsewhere), and a switch of protocols was not asked for.
fn unfit(answer: seawall::upstream::Answer) -> Failure {
    let reason = Reason::AnswerUnfit;
    let target = answer
        .headers
        .get(http::header::LOCATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<Uri>().ok());
    let said = match (
        answer.status.is_redirection(),
        target.as_ref().and_then(shown_origin),
    ) {
        (true, Some(origin)) => format!("redirects to {origin}, which is not followed"),
        (true, None) => "redirects, which is not followed".to_owned(),
        (false, _) => format!(
            "answered with {}, which is no answer to a row",
            answer.status.as_u16()
        ),
    };
    Failure {
        reason,
        cause: None,
        message: format!(
            "{}: the upstream {said}; give the address that answers",
            reason.code()
        ),
        answer: Some(answered(answer.status.as_u16(), &answer.headers, answer.body)),
        unknown: None,
        reach: Reach::Row,
    }
}

fn failed(error: CallError) -> Failure {
    let message = error.to_string();
    let state = error.answer.as_ref().map(|answer| answer.state);
    let cause = match (state, error.cause) {
        // First: an answer that stalls is cut short too, but what to mend is a limit.
        (_, Some(Cause::Timeout)) => Some(cause::TIMEOUT),
        (Some(BodyState::Empty), _) => Some(cause::EMPTY_BODY),
        (Some(BodyState::Truncated), _) => Some(cause::TRUNCATED),
        (_, other) => other.map(Cause::name),
    };
    Failure {
        reason: error.reason,
        cause,
        message,
        answer: error
            .answer
            .map(|answer| answered(answer.status.as_u16(), &answer.headers, answer.body)),
        unknown: error.unknown,
        reach: Reach::Row,
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

#[cfg(test)]
mod tests;
