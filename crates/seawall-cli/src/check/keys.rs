//! `seawall check --keys`: what each upstream says to its key.
//!
//! What can go wrong: a trial that costs money or changes something, one that sends a key where it does not belong, one
//! that hangs with its server, and one that prints the key or what a server made of it. So the calls are the library's
//! [trials](seawall::trial), each key goes to its own upstream alone, everything has one deadline, and what is printed
//! is a status and our own words.

use crate::failure::Failure;
use crate::files::read_key;
use seawall::config::{Config, Credential, UpstreamConfig};
use seawall::trial::{self, Found};
use seawall_core::time::Duration;
use serde::Serialize;
use std::process::ExitCode;
use tokio::task::JoinSet;

/// What came of one upstream's key.
#[derive(Debug, Serialize)]
pub(crate) struct Tried {
    upstream: String,
    /// Where the key is from; nothing where the upstream has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// The server took it.
    Accepted,
    /// The server did not, or there is none where one is named.
    Refused,
    /// Nobody knows: no answer, or one that is about something else.
    Unclear,
    /// There is no key, or no call that is known to change nothing.
    NotTried,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Unclear => "unclear",
            Self::NotTried => "not tried",
        }
    }
}

impl Tried {
    /// As the human report shows it.
    pub(super) fn row(&self) -> [String; 4] {
        let from = self.from.clone().unwrap_or_else(|| "no key".to_owned());
        [
            self.upstream.clone(),
            self.state.name().to_owned(),
            from,
            self.text.clone(),
        ]
    }
}

/// 77 where a key is refused, else 1 where one could not be tried, else 0.
pub(super) fn exit_code(tried: &[Tried]) -> ExitCode {
    let any = |state| tried.iter().any(|tried| tried.state == state);
    if any(State::Refused) {
        ExitCode::from(77)
    } else if any(State::Unclear) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Tries the keys of all upstreams at once, each within `limit`.
pub(super) fn try_all(config: &Config, limit: Duration) -> Result<Vec<Tried>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::io("the runtime of the trials", &error))?;
    runtime.block_on(async {
        let mut trials = JoinSet::new();
        let mut tried: Vec<(usize, Tried)> = Vec::new();
        for (nth, upstream) in config.upstreams.iter().enumerate() {
            let key = upstream
                .credential
                .as_ref()
                .map(|credential| read_key(&credential.value, config.file()));
            match key {
                Some(Ok((key, _))) => {
                    let upstream = upstream.clone();
                    trials.spawn(async move { (nth, one(&upstream, &key, limit).await) });
                }
                None => tried.push((nth, without(upstream, State::NotTried, "no credential is named"))),
                Some(Err(why)) => tried.push((nth, without(upstream, State::Refused, &why.to_string()))),
            }
        }
        while let Some(ended) = trials.join_next().await {
            tried.push(ended.map_err(|error| Failure::internal(format!("a trial broke: {error}")))?);
        }
        tried.sort_by_key(|(nth, _)| *nth);
        Ok(tried.into_iter().map(|(_, tried)| tried).collect())
    })
}

async fn one(upstream: &UpstreamConfig, key: &str, limit: Duration) -> Tried {
    let found = trial::of_key(upstream, key, limit).await;
    let (state, status) = match &found {
        Found::Accepted { status } => (State::Accepted, Some(*status)),
        Found::Refused { status } => (State::Refused, Some(*status)),
        Found::Unsendable => (State::Refused, None),
        Found::Unclear { status, .. } => (State::Unclear, *status),
        Found::NotTried => (State::NotTried, None),
    };
    Tried {
        status,
        ..without(upstream, state, &found.to_string())
    }
}

fn without(upstream: &UpstreamConfig, state: State, text: &str) -> Tried {
    let from = upstream
        .credential
        .as_ref()
        .map(|credential| match &credential.value {
            Credential::Env(name) => format!("${name}"),
            Credential::File(name) => name.clone(),
        });
    Tried {
        upstream: upstream.name.value.clone(),
        from,
        state,
        status: None,
        text: text.to_owned(),
    }
}
