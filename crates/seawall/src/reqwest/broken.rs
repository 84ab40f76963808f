//! What reqwest's errors are to the engine.
//!
//! What can go wrong: one kind, "error sending request", stands for a name that does not resolve and for a connection that
//! was reset after the request left. The first did not act, the second may have. The kinds that reqwest tells apart are
//! taken, and below them what the chain of sources says.

use crate::retry::{Classify, Failure};
use seawall_core::facts::Broke;
use std::error::Error;
use std::io;

/// What stands for a secret.
const BLOT: &str = "***";

impl Classify for ::reqwest::Error {
    fn classify(&self) -> Failure {
        if self.is_builder() {
            return Failure::broke(Broke::Request);
        }
        // A loop of redirects, or too many, is the same the next time.
        if self.is_redirect() {
            return Failure::permanent();
        }
        if let Some(status) = self.status() {
            return Failure::status(status.as_u16());
        }
        let broke = match (self.is_connect(), self.is_timeout()) {
            (true, true) => Broke::ConnectTimeout,
            (true, false) if self.is_dns() => Broke::Dns,
            (true, false) => connect(self),
            (false, true) => Broke::Timeout,
            (false, false) => cut(self),
        };
        Failure::broke(broke)
    }
}

/// Errors of middlewares further in are theirs to repeat, or nobody's.
impl Classify for ::reqwest_middleware::Error {
    fn classify(&self) -> Failure {
        match self {
            Self::Reqwest(error) => error.classify(),
            Self::Middleware(_) => Failure::permanent(),
        }
    }
}

/// The same error, whose address shows no secret: reqwest prints it, with its password and with the key that some APIs take
/// in the query.
pub(super) fn without_secrets(mut error: ::reqwest::Error) -> ::reqwest::Error {
    let Some(url) = error.url_mut() else {
        return error;
    };
    if url.password().is_some() {
        // Where there is one it can be set.
        let _set = url.set_password(Some(BLOT));
    }
    if url.query().is_some() {
        let names: Vec<_> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
        let mut query = url.query_pairs_mut();
        query.clear();
        for name in names {
            query.append_pair(&name, BLOT);
        }
    }
    error
}

/// What kept a connection from being made. Nothing was sent, whatever it was.
fn connect(error: &(dyn Error + 'static)) -> Broke {
    for cause in chain(error) {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return match tls {
                rustls::Error::InvalidCertificate(_) => Broke::BadCertificate,
                _ => Broke::Tls,
            };
        }
    }
    Broke::Refused
}

/// What ended a connection that the request may have left by.
fn cut(error: &(dyn Error + 'static)) -> Broke {
    for cause in chain(error) {
        if let Some(h2) = cause.downcast_ref::<h2::Error>()
            && h2.reason() == Some(h2::Reason::REFUSED_STREAM)
        {
            return Broke::RefusedStream;
        }
        if let Some(io) = cause.downcast_ref::<io::Error>()
            && matches!(
                io.kind(),
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
            )
        {
            return Broke::Reset;
        }
        if let Some(hyper) = cause.downcast_ref::<hyper::Error>()
            && hyper.is_parse()
        {
            return Broke::Protocol;
        }
    }
    Broke::Closed
}

/// An error and what it came of. An `io::Error` hides what is in it from its own sources.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let beneath = |error: &&'e (dyn Error + 'static)| -> Option<&'e (dyn Error + 'static)> {
        let error: &'e (dyn Error + 'static) = *error;
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inside) => Some(inside),
            None => error.source(),
        }
    };
    std::iter::successors(Some(error), beneath)
}
