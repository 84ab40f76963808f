//! Whether a client's servers take its keys, found out by one call each that changes nothing.
//!
//! What can go wrong: a key is tried by a chat, which costs money; a trial is retried, and locks the account; a server that
//! is down, or has no list of models, is taken for one that refuses. So a trial is the GET of the list of models, sent
//! once and not for long; only a good answer is a yes, only a denial a no.

use super::client::{Client, Leg};
use super::error::Error;
use seawall_core::time::Duration;
use std::fmt;

/// How long a trial may take: 10 s, as long as somebody looks at a program that starts.
const TRIAL_MAX: Duration = Duration::from_secs(10);

/// What came of trying a key. Its `Display` is for people, and says nothing of the key.
#[derive(Debug)]
#[non_exhaustive]
pub enum KeyCheck {
    /// The server took it.
    Valid,
    /// The server did not: it is wrong or no longer valid, or may not list models.
    Refused(Error),
    /// Nobody can tell: there was no answer, or one that is about something else.
    Unclear(Error),
}

impl KeyCheck {
    /// Whether the server took the key, for sure.
    pub const fn is_valid(&self) -> bool {
        matches!(self, Self::Valid)
    }
}

impl fmt::Display for KeyCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Valid => f.write_str("the key is valid"),
            Self::Refused(error) => write!(f, "{error}"),
            Self::Unclear(error) => write!(f, "whether the key is valid is not known: {error}"),
        }
    }
}

impl Client {
    /// Tries the key of its first server: one GET of the list of models, not repeated, within 10 s.
    ///
    /// ```no_run
    /// # async fn example(client: seawall::ai::Client) {
    /// let check = client.check_key().await;
    /// if !check.is_valid() {
    ///     eprintln!("{check}");
    /// }
    /// # }
    /// ```
    pub async fn check_key(&self) -> KeyCheck {
        self.try_key(&self.shared.legs[0]).await
    }

    /// Tries the keys of all its servers, one after the other; each with its server's name.
    pub async fn check_keys(&self) -> Vec<(String, KeyCheck)> {
        let mut checks = Vec::new();
        for leg in &self.shared.legs {
            checks.push((leg.upstream.name().to_owned(), self.try_key(leg).await));
        }
        checks
    }

    async fn try_key(&self, leg: &Leg) -> KeyCheck {
        let once = self.with_retries_max(0).with_deadline(TRIAL_MAX);
        match once.models_of(leg).await {
            Ok(_) => KeyCheck::Valid,
            Err(error) if error.root().is_a_denial() => KeyCheck::Refused(error),
            Err(error) => KeyCheck::Unclear(error),
        }
    }
}
