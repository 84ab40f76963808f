use super::{Advice, Code, Figure, Rate, Traffic};
use crate::config::{Config, Place, PolicyConfig, Speaks, UpstreamConfig};
use http::Uri;
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

/// Upstreams that one policy and one traffic hold for; for a file without any, its `[policy]`.
pub(super) struct Subject<'a> {
    upstreams: Vec<&'a UpstreamConfig>,
    config: &'a PolicyConfig,
    pub(super) serves: Serves,
    /// Calls a second that come in, where they were said.
    pub(super) calls: Option<Rate>,
    /// Attempts a second that it takes, where that was said.
    pub(super) capacity: Option<Rate>,
    pub(super) processes: u32,
    /// Names of models that are said to be there.
    pub(super) models: Vec<&'a str>,
}

impl<'a> Subject<'a> {
    /// Those of a file; what would be said of several alike is said once.
    pub(super) fn all(config: &'a Config, traffic: &Traffic) -> Vec<Self> {
        let mut subjects: Vec<Self> = Vec::new();
        for upstream in &config.upstreams {
            let of = config
                .models
                .iter()
                .filter(|model| model.upstream.value == upstream.name.value);
            let subject = Self {
                upstreams: vec![upstream],
                config: &upstream.policy,
                serves: serves(upstream),
                models: of.map(|model| model.name.value.as_str()).collect(),
                ..Self::of_file(config, traffic, Some(&upstream.name.value))
            };
            match subjects.iter_mut().find(|known| known.is_like(&subject)) {
                Some(known) => known.upstreams.push(upstream),
                None => subjects.push(subject),
            }
        }
        if subjects.is_empty() {
            subjects.push(Self::of_file(config, traffic, None));
        }
        subjects
    }

    fn of_file(config: &'a Config, traffic: &Traffic, upstream: Option<&str>) -> Self {
        Self {
            upstreams: Vec::new(),
            config: &config.policy,
            serves: Serves::Anything,
            calls: traffic.calls_of(upstream),
            capacity: traffic.capacity_of(upstream),
            processes: traffic.process_count(),
            models: Vec::new(),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.policy() == other.policy()
            && self.serves == other.serves
            && (self.calls, self.capacity) == (other.calls, other.capacity)
            && self.models.len() == other.models.len()
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

    /// The most attempts of one call here: itself and its retries, each of them hedged once where hedges are on.
    pub(super) fn attempts_max(&self) -> u64 {
        let each = if self.call().hedge().is_some() { 2 } else { 1 };
        each * (1 + u64::from(self.call().retries()))
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
                .upstreams
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
