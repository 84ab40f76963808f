use super::refresh::{Ask, Asking, CAUSE_CHARS_MAX, Refresher};
use crate::clock::Clock;
use crate::http::Secret;
use http::{HeaderName, HeaderValue};
use std::fmt;
use std::sync::Arc;

/// What an upstream's calls are let in by: a [`Secret`] that stays, or one that ends and is asked for anew.
///
/// Give it to [`UpstreamBuilder::credential`](super::UpstreamBuilder::credential). It never prints what it holds.
///
/// ```no_run
/// # async fn fetch_token() -> Result<String, std::io::Error> { Ok(String::new()) }
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::http::Secret;
/// use seawall::{Credential, Upstream};
///
/// let token = Credential::refreshing(|| async {
///     let token = fetch_token().await.map_err(|error| error.to_string())?;
///     Secret::bearer(&token).map_err(|error| error.to_string())
/// });
/// let upstream = Upstream::builder("https://api.example.com/v1")?
///     .credential(http::header::AUTHORIZATION, token)
///     .build()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Credential(Kind);

enum Kind {
    Lasting(Secret),
    Ending { first: Option<Secret>, ask: Ask },
}

/// A credential at its upstream.
pub(super) enum Badge {
    /// None, or one that every call was given when it was prepared.
    Lasting(Option<(HeaderName, Secret)>),
    /// One that each attempt is given.
    Ending(HeaderName, Refresher),
}

impl Badge {
    /// The header that every call is given when it is prepared, where there is one.
    pub(super) fn lasting(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Lasting(secret) => secret
                .as_ref()
                .map(|(name, secret)| (name.clone(), secret.to_value())),
            Self::Ending(_, _) => None,
        }
    }
}

impl Credential {
    /// A credential that ends. `refresh` gets a new one; it is asked before the first attempt, and again when the
    /// server answers 401 (rule D6).
    ///
    /// However many attempts are denied, one refresh is in flight, which all of them wait for; each is then sent once
    /// more, which is no retry: it is not charged, and told as `resent`. A second 401 is a denial as any other. Where
    /// a newer version is there already, a denied attempt takes it, and `refresh` is not asked. A version that was
    /// never accepted and is younger than a minute is not replaced: a server that takes no token would be sent twice
    /// as much, for ever.
    ///
    /// `refresh` is not asked twice at a time. Its future is polled by whoever waits for it and is dropped when nobody
    /// does; a caller that leaves takes nothing from the others. It has no more than 30 s, and none of its callers waits
    /// beyond its own attempt. Where it fails, panics, is late or brings the same again, it has for all attempts that had
    /// left by then: they end as `denied`, and the first attempt after them asks again. Its error is told in
    /// [`CallError::detail`](super::CallError::detail), so it must hold no secret. It must not call the upstream that it
    /// is for: that call would wait for itself.
    pub fn refreshing<F, A, E>(refresh: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<Secret, E>> + Send + 'static,
        E: fmt::Display,
    {
        let refresh = Arc::new(refresh);
        let ask = move || -> Asking {
            let refresh = Arc::clone(&refresh);
            // Made inside, so that a refresh that panics before its first wait panics where that is caught.
            Box::pin(async move { refresh().await.map_err(|error| shortened(&error)) })
        };
        Self(Kind::Ending {
            first: None,
            ask: Arc::new(ask),
        })
    }

    /// The same, with the first version in hand: nothing is asked before a server denies it. A credential that stays
    /// is replaced.
    #[must_use]
    pub fn beginning_with(self, first: Secret) -> Self {
        Self(match self.0 {
            Kind::Lasting(_) => Kind::Lasting(first),
            Kind::Ending { ask, .. } => Kind::Ending {
                first: Some(first),
                ask,
            },
        })
    }

    pub(super) fn at(self, header: HeaderName, clock: &Arc<dyn Clock>) -> Badge {
        match self.0 {
            Kind::Lasting(secret) => Badge::Lasting(Some((header, secret))),
            Kind::Ending { first, ask } => {
                Badge::Ending(header, Refresher::new(ask, first, Arc::clone(clock)))
            }
        }
    }
}

impl Badge {
    /// The text with what it holds blotted out, should a server repeat it.
    pub(super) fn blotted(&self, text: String) -> String {
        match self {
            Self::Lasting(None) => text,
            Self::Lasting(Some((_, secret))) => secret.blotted(text),
            Self::Ending(_, refresher) => {
                let secrets = refresher.secrets();
                secrets.iter().fold(text, |text, secret| secret.blotted(text))
            }
        }
    }
}

impl From<Secret> for Credential {
    fn from(secret: Secret) -> Self {
        Self(Kind::Lasting(secret))
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lasting(_) => "lasting ***",
            Self::Ending { .. } => "ending ***",
        })
    }
}

/// An error's text: a page that a server answered with may be in it.
fn shortened(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    match text.char_indices().nth(CAUSE_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
