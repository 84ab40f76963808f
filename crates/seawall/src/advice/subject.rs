use super::{Advice, Code, Figure, Rate, Traffic};
use crate::config::{Config, Place, PolicyConfig, Speaks, UpstreamConfig};
use http::Uri;
use seawall_core::load;
use seawall_core::policy::{CallPolicy, GatePolicy, Policy};
use seawall_core::profile::Provider;
use seawall_core::time::Duration;
use seawall_core::verdict::Endpoint;

/// What calls an upstream is for, as far as its dialect says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Serves {
    /// No model.
    NoModels,
    /// Models.
    Models,
    /// Whatever its calls' paths say.
    Anything,
}

/// An upstream with its policy and its traffic; for a file without any, its `[policy]`.
pub(super) struct Subject<'a> {
    upstream: Option<&'a UpstreamConfig>,
    config: &'a PolicyConfig,
    pub(super) serves: Serves,
    /// Calls a second that come in, where they were said.
    pub(super) calls: Option<Rate>,
    /// Attempts a second that it takes, where that was said.
    pub(super) capacity: Option<Rate>,
    pub(super) processes: u32,
    /// Models that are said to be there.
    pub(super) models: u64,
}

impl<'a> Subject<'a> {
    /// Those of a file.
    pub(super) fn all(config: &'a Config, traffic: &Traffic) -> Vec<Self> {
        match config.upstreams.as_slice() {
            [] => vec![Self::of_file(config, traffic)],
            upstreams => upstreams
                .iter()
                .map(|upstream| Self::of_upstream(config, traffic, upstream))
                .collect(),
        }
    }

    fn of_file(config: &'a Config, traffic: &Traffic) -> Self {
        Self {
            upstream: None,
            config: &config.policy,
            serves: Serves::Anything,
            calls: traffic.calls_of(None),
            capacity: traffic.capacity_of(None),
            processes: traffic.process_count(),
            models: 0,
        }
    }

    fn of_upstream(config: &'a Config, traffic: &Traffic, upstream: &'a UpstreamConfig) -> Self {
        let name = &upstream.name.value;
        let here = config.models.iter().filter(|model| model.upstream.value == *name);
        Self {
            upstream: Some(upstream),
            config: &upstream.policy,
            serves: serves(upstream),
            calls: traffic.calls_of(Some(name)),
            capacity: traffic.capacity_of(Some(name)),
            models: here.count() as u64,
            ..Self::of_file(config, traffic)
        }
    }

    pub(super) fn policy(&self) -> &'a Policy {
        self.config.policy()
    }

    pub(super) fn call(&self) -> &'a CallPolicy {
        &self.config.policy().call
    }

    pub(super) fn gate(&self) -> &'a GatePolicy {
        &self.config.policy().gate
    }

    /// Whether the user wrote this key.
    pub(super) fn wrote(&self, key: &str) -> Option<&'a Place> {
        self.config.place(key)
    }

    /// The endpoints that its calls may go to.
    pub(super) fn endpoints(&self) -> &'static [Endpoint] {
        match self.serves {
            Serves::NoModels => &[Endpoint::General],
            Serves::Models | Serves::Anything => &[Endpoint::General, Endpoint::Inference],
        }
    }

    /// The longest that a call may take.
    pub(super) fn deadline_longest(&self) -> Duration {
        let deadlines = self
            .endpoints()
            .iter()
            .map(|endpoint| self.call().deadline_for(*endpoint));
        deadlines.max().unwrap_or(self.call().deadline())
    }

    /// The most attempts of one call here.
    pub(super) fn attempts_max(&self) -> u64 {
        load::attempts_max(self.call())
    }

    /// A piece of advice about it; `keys` are those that may decide it, the first that was written is pointed at.
    pub(super) fn advice<const N: usize>(
        &self,
        code: Code,
        keys: &[&str],
        text: String,
        numbers: [(&'static str, Figure); N],
    ) -> Advice {
        Advice {
            code,
            upstreams: self
                .upstream
                .iter()
                .map(|upstream| upstream.name.value.clone())
                .collect(),
            at: keys.iter().find_map(|key| self.wrote(key)).cloned(),
            text,
            numbers: numbers.to_vec(),
        }
    }
}

/// Whose dialect an upstream speaks, written or inferred as for its calls.
pub(super) fn speaks(upstream: &UpstreamConfig) -> Speaks {
    match &upstream.provider {
        Some(written) => written.value,
        None => {
            let url = upstream.base_url.value.parse::<Uri>().ok();
            let host = url.as_ref().and_then(Uri::host);
            let path = url.as_ref().map_or("", Uri::path);
            Speaks::Provider(Provider::inferred(host, path))
        }
    }
}

/// What an upstream is for.
pub(super) fn serves(upstream: &UpstreamConfig) -> Serves {
    match speaks(upstream) {
        Speaks::Provider(Provider::Stripe | Provider::GitHub) => Serves::NoModels,
        Speaks::Provider(Provider::Generic) | Speaks::Seawall => Serves::Anything,
        Speaks::Provider(
            Provider::OpenAi | Provider::Anthropic | Provider::Azure | Provider::Gemini | Provider::Groq,
        ) => Serves::Models,
    }
}
