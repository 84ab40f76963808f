//! Where an upstream's paths begin, and the addresses below it.

use super::build::AddressFault;
use http::Uri;
use std::sync::{Mutex, PoisonError};

/// Where an upstream's paths begin.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) scheme: http::uri::Scheme,
    pub(super) authority: http::uri::Authority,
    /// Without a slash at its end; empty for the root.
    pub(super) path: String,
    /// `api-version=…`, for every call that names none.
    version: Option<String>,
}

impl Base {
    pub(super) fn parse(url: &str) -> Result<Self, AddressFault> {
        // The parser drops a fragment without a word.
        if url.contains('#') {
            return Err(AddressFault::Query);
        }
        let uri: Uri = url.parse().map_err(|_| AddressFault::NoUrl)?;
        let (Some(scheme), Some(authority)) = (uri.scheme().cloned(), uri.authority().cloned()) else {
            return Err(AddressFault::NotAbsolute);
        };
        if scheme != http::uri::Scheme::HTTP && scheme != http::uri::Scheme::HTTPS {
            return Err(AddressFault::Scheme);
        }
        if authority.as_str().contains('@') {
            return Err(AddressFault::UserInfo);
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(AddressFault::NotAbsolute);
        }
        let port = authority.as_str().strip_prefix(host).unwrap_or_default();
        let port_fits = matches!(port, "" | ":") || authority.port_u16().is_some_and(|port| port > 0);
        if !port_fits {
            return Err(AddressFault::Port);
        }
        let version = match uri.query() {
            None => None,
            Some(query) if is_version(query) && !query.contains('&') => Some(query.to_owned()),
            Some(_) => return Err(AddressFault::Query),
        };
        let path = uri.path().trim_end_matches('/').to_owned();
        Ok(Self {
            scheme,
            authority,
            path,
            version,
        })
    }

    /// The address of `path` below this base.
    pub(super) fn join(&self, path: &str) -> Result<Uri, http::Error> {
        let slash = if path.starts_with('/') { "" } else { "/" };
        let path = format!("{slash}{path}");
        let path = match path.strip_prefix("/v1") {
            Some(rest) if self.is_deployment() && rest.starts_with('/') => rest,
            Some(_) | None => &path,
        };
        // The longest end of the base that the path repeats, in whole segments.
        let starts = self.path.match_indices('/').map(|(at, _)| at);
        let repeated = starts.into_iter().find(|at| {
            path.strip_prefix(&self.path[*at..])
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        });
        let base = &self.path[..repeated.unwrap_or(self.path.len())];
        let (mark, version) = match (&self.version, path.split_once('?')) {
            (Some(version), None) => ("?", version.as_str()),
            (Some(version), Some((_, query))) if !query.split('&').any(is_version) => ("&", version.as_str()),
            (Some(_) | None, _) => ("", ""),
        };
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(format!("{base}{path}{mark}{version}"))
            .build()
    }

    /// Whether it is a deployment of Azure, whose version is a query.
    fn is_deployment(&self) -> bool {
        self.path.contains("/openai/deployments/")
    }
}

/// Whether this part of a query says which version of an API is meant: the one thing of a query that is an upstream's,
/// and no secret.
fn is_version(pair: &str) -> bool {
    pair.starts_with("api-version=")
}

/// Paths that are kept with their addresses: more than an API has that is called again and again.
const KNOWN_MAX: usize = 16;
/// The longest path that is kept.
const KNOWN_BYTES_MAX: usize = 256;

/// Addresses that calls went to before. To join one takes memory, and most calls go where one went before them.
#[derive(Default)]
pub(super) struct Known {
    recent: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    addresses: Vec<(Box<str>, Uri)>,
    /// Which one goes next.
    oldest: usize,
}

impl Known {
    /// As [`Base::join`].
    pub(super) fn join(&self, base: &Base, path: &str) -> Result<Uri, http::Error> {
        // A query is a call's own, and may hold a secret.
        if path.len() > KNOWN_BYTES_MAX || path.contains('?') {
            return base.join(path);
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = recent.addresses.iter().find(|(other, _)| **other == *path) {
            return Ok(known.clone());
        }
        let joined = base.join(path)?;
        let entry = (Box::from(path), joined.clone());
        if recent.addresses.len() < KNOWN_MAX {
            recent.addresses.push(entry);
        } else {
            let oldest = recent.oldest;
            recent.addresses[oldest] = entry;
            recent.oldest = (oldest + 1) % KNOWN_MAX;
        }
        Ok(joined)
    }
}
