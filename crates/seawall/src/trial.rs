//! Whether an upstream takes its key, found out by one call that changes nothing.
//!
//! What can go wrong: a trial that is a real call costs money or leaves something behind, one without a deadline hangs
//! with its server, one that is retried locks an account, and a status that says nothing of the key is taken for a
//! yes. So a trial is the GET that each dialect has for itself (models, or what a key may do), sent once, through the
//! product's own [`Upstream`]; where no such call is known there is none; and only a good answer is a yes.

use crate::config::{Speaks, UpstreamConfig};
use crate::http::Secret;
use crate::upstream::{Call, Upstream};
use http::{HeaderName, HeaderValue, Uri};
use seawall_core::policy::{PolicyBuilder, Preset};
use seawall_core::profile::Provider;
use seawall_core::time::Duration;
use std::fmt;

/// The largest answer that is read: lists of models are long.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// What a trial found. Its `Display` holds no part of the key, and none of what the server wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The server took the key.
    Accepted {
        /// The status of its answer.
        status: u16,
    },
    /// The server knows the key or the account no more, or does not let it in here.
    Refused {
        /// The status of its answer.
        status: u16,
    },
    /// No header can carry the key.
    Unsendable,
    /// It is not known: no answer, or one that is about something else.
    Unclear {
        /// The status, where there was an answer.
        status: Option<u16>,
        /// What is known.
        why: String,
    },
    /// No call is known that changes nothing.
    NotTried,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted { status } => write!(f, "the server answered {status}"),
            Self::Refused { status: 403 } => {
                f.write_str("the server answered 403: the key is wrong, or may not do this")
            }
            Self::Refused { status } => write!(
                f,
                "the server answered {status}: the key is wrong or no longer valid"
            ),
            Self::Unsendable => f.write_str("it holds a character that no header can carry"),
            Self::Unclear {
                status: Some(status),
                why,
            } => write!(
                f,
                "the server answered {status}, which says nothing of the key: {why}"
            ),
            Self::Unclear { status: None, why } => write!(f, "no answer: {why}"),
            Self::NotTried => {
                f.write_str("no call is known that changes nothing; `provider` may name the dialect")
            }
        }
    }
}

/// Tries `key` at `upstream` by one GET, within `limit`.
///
/// It is sent once, to this upstream alone, in the header of its dialect. Needs a tokio runtime with time and IO.
pub async fn of_key(upstream: &UpstreamConfig, key: &str, limit: Duration) -> Found {
    let Some((provider, path)) = harmless(upstream) else {
        return Found::NotTried;
    };
    let Ok((header, secret)) = Secret::for_provider(provider, key) else {
        return Found::Unsendable;
    };
    let built = policy(limit).and_then(|policy| {
        let builder = Upstream::builder(&upstream.base_url.value).map_err(|error| error.to_string())?;
        let builder = builder
            .name(&upstream.name.value)
            .provider(provider)
            .policy(policy);
        let builder = builder
            .credential(header, secret)
            .answer_bytes_max(ANSWER_BYTES_MAX);
        builder.build().map_err(|error| error.to_string())
    });
    let live = match built {
        Ok(live) => live,
        Err(why) => return Found::Unclear { status: None, why },
    };
    let mut call = Call::get(path);
    if provider == Provider::Anthropic {
        let version = HeaderName::from_static("anthropic-version");
        call = call.with_header(version, HeaderValue::from_static("2023-06-01"));
    }
    match live.call(call).await {
        Ok(answer) if answer.status.is_success() => Found::Accepted {
            status: answer.status.as_u16(),
        },
        Ok(answer) => Found::Unclear {
            status: Some(answer.status.as_u16()),
            why: "it points elsewhere".to_owned(),
        },
        Err(error) => {
            let last = error.attempts.last();
            match last.and_then(|attempt| Some((attempt.outcome, attempt.status?))) {
                Some(("denied", status)) => Found::Refused { status },
                Some((_, status)) => Found::Unclear {
                    status: Some(status),
                    why: error.reason.code().to_owned(),
                },
                // Our own words about what broke: no part of what was sent or received.
                None => Found::Unclear {
                    status: None,
                    why: error
                        .cause
                        .map_or_else(|| error.reason.to_string(), |cause| cause.name().to_owned()),
                },
            }
        }
    }
}

/// One attempt, and no longer than that.
fn policy(limit: Duration) -> Result<seawall_core::policy::Policy, String> {
    let builder = PolicyBuilder::from_preset(Preset::Off).deadline(limit);
    let builder = builder.connect(limit).first_byte(limit).idle(limit);
    builder.build().map_err(|error| error.to_string())
}

/// The dialect to speak and the path to get, where one is known that changes nothing.
fn harmless(upstream: &UpstreamConfig) -> Option<(Provider, &'static str)> {
    let url: Uri = upstream.base_url.value.parse().ok()?;
    let provider = match upstream.provider.as_ref().map(|provider| provider.value) {
        Some(Speaks::Provider(provider)) => provider,
        // Another gateway of ours passes it on.
        Some(Speaks::Seawall) => Provider::OpenAi,
        None => Provider::inferred(url.host(), url.path()),
    };
    let base = url.path().trim_end_matches('/');
    let path = match provider {
        Provider::OpenAi | Provider::Anthropic => "/v1/models",
        Provider::Groq => "/openai/v1/models",
        Provider::Azure if base.ends_with("/v1") => "/models",
        Provider::Azure => "/openai/models?api-version=2024-10-21",
        Provider::Gemini if base.is_empty() => "/v1beta/models",
        Provider::Gemini => "/models",
        Provider::Stripe => "/v1/balance",
        Provider::GitHub => "/rate_limit",
        Provider::Generic => return None,
    };
    Some((provider, path))
}
