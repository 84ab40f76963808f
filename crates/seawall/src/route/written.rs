//! The upstreams and routes that a `seawall.toml` describes, live.
//!
//! What can go wrong: a file that bounds what may be spent is obeyed but for that bound; a key that is missing for the
//! spare stops a program that would have run on the main one, or stops nobody and is found out in the outage; and two
//! readers of one file disagree on who takes a call. So what nothing obeys is refused, a candidate without its key is
//! none and is named, and the first route that matches takes the call.

use super::{Candidate, Order, Price, Route, RouteError};
use crate::config::{self, Config, ConfigErrors, Match, NotEnforced, Place, RouteConfig, UpstreamConfig};
use crate::upstream::{Upstream, UpstreamBuilder, UpstreamError};
use http::HeaderMap;
use std::collections::BTreeMap;
use std::fmt;

/// Most bytes of a file that holds a key: 64 KiB, above any token.
const KEY_BYTES_MAX: u64 = 64 * 1024;

/// The upstreams and routes of a file, all in one engine.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::config::Config;
/// use seawall::route::{Asked, Routes};
///
/// let text = std::fs::read_to_string("seawall.toml")?;
/// let routes = Routes::of(&Config::parse("seawall.toml", &text)?)?;
/// let asked = Asked::path("/v1/chat/completions").model("big-1");
/// let route = routes.route_for(&asked).ok_or("no route takes this call")?;
/// let answer = route.call(seawall::Call::post_json("/v1/chat/completions", r#"{"model":"big-1"}"#)).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Routes {
    upstreams: BTreeMap<String, Upstream>,
    routes: Vec<(Match, Route)>,
    missing: Vec<MissingKey>,
}

/// An upstream whose key the file names and nobody has: no call goes there along a route.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingKey {
    /// The upstream's name.
    pub upstream: String,
    /// What is the matter with its key; never the key.
    pub why: String,
}

/// What is known of a call before it is routed.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Asked<'a> {
    path: &'a str,
    model: Option<&'a str>,
    task: Option<&'a str>,
    headers: Option<&'a HeaderMap>,
}

impl<'a> Asked<'a> {
    /// A call to this path, of which nothing else is known.
    pub const fn path(path: &'a str) -> Self {
        Self {
            path,
            model: None,
            task: None,
            headers: None,
        }
    }

    /// The model that it names.
    pub const fn model(mut self, model: &'a str) -> Self {
        self.model = Some(model);
        self
    }

    /// What it is for, as its caller says (rule K6).
    pub const fn task(mut self, task: &'a str) -> Self {
        self.task = Some(task);
        self
    }

    /// Its headers.
    pub const fn headers(mut self, headers: &'a HeaderMap) -> Self {
        self.headers = Some(headers);
        self
    }
}

/// A file that is right, and cannot be made live.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RoutesError {
    /// It says something that nothing obeys yet, and that its calls would go by.
    #[error("{0}")]
    NotObeyed(ConfigErrors),
    /// One of its upstreams cannot be.
    #[error("upstream {name}: {why}")]
    Upstream {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        why: UpstreamError,
    },
    /// One of its routes cannot be.
    #[error("the route of line {line}: {why}")]
    Route {
        /// Where it stands.
        line: usize,
        /// Why.
        #[source]
        why: RouteError,
    },
}

impl Routes {
    /// The file's upstreams and routes. Keys are read here, from the environment and the files that it names.
    ///
    /// # Errors
    /// [`RoutesError`]: a setting of policies or routes that nothing obeys yet, or an upstream that cannot be. A key that
    /// is not there is none: see [`missing_keys`](Self::missing_keys).
    pub fn of(config: &Config) -> Result<Self, RoutesError> {
        Self::with(config, |first| first, read_key)
    }

    /// As [`of`](Self::of). `engine` may give the first upstream what holds for all: a clock, a seed, a recording,
    /// connections. `keys` finds the keys, or says why there is none.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn with(
        config: &Config,
        engine: impl FnOnce(UpstreamBuilder) -> UpstreamBuilder,
        mut keys: impl FnMut(&config::Credential) -> Result<String, String>,
    ) -> Result<Self, RoutesError> {
        obeyed(config)?;
        let mut routes = Self {
            upstreams: BTreeMap::new(),
            routes: Vec::new(),
            missing: Vec::new(),
        };
        let mut engine = Some(engine);
        let mut first: Option<Upstream> = None;
        for written in &config.upstreams {
            let name = &written.name.value;
            let fails = |why| RoutesError::Upstream {
                name: name.clone(),
                why,
            };
            let builder = Upstream::builder(&written.base_url.value).map_err(fails)?;
            let mut builder = builder.as_written(written);
            match (&first, engine.take()) {
                (Some(first), _) => builder = builder.beside(first),
                (None, Some(engine)) => builder = engine(builder),
                (None, None) => {}
            }
            match credential(written, &mut keys) {
                Ok(None) => {}
                Ok(Some((header, secret))) => builder = builder.credential(header, secret),
                Err(why) => routes.missing.push(MissingKey {
                    upstream: name.clone(),
                    why,
                }),
            }
            let upstream = builder.build().map_err(fails)?;
            first.get_or_insert_with(|| upstream.clone());
            routes.upstreams.insert(name.clone(), upstream);
        }
        for written in &config.routes {
            let route = routes.route(config, written).map_err(|why| RoutesError::Route {
                line: written.at.line,
                why,
            })?;
            routes.routes.push((written.matches.clone(), route));
        }
        Ok(routes)
    }

    /// The upstream of this name.
    pub fn upstream(&self, name: &str) -> Option<&Upstream> {
        self.upstreams.get(name)
    }

    /// All upstreams, by name.
    pub fn upstreams(&self) -> impl Iterator<Item = (&str, &Upstream)> {
        self.upstreams
            .iter()
            .map(|(name, upstream)| (name.as_str(), upstream))
    }

    /// The first route of the file that takes this call.
    pub fn route_for(&self, asked: &Asked<'_>) -> Option<&Route> {
        let takes = |(matches, _): &&(Match, Route)| matches.takes(asked);
        self.routes.iter().find(takes).map(|(_, route)| route)
    }

    /// The upstreams whose keys are missing: their candidates are none (rule K2). Worth a look before the first call.
    pub fn missing_keys(&self) -> &[MissingKey] {
        &self.missing
    }

    fn route(&self, config: &Config, written: &RouteConfig) -> Result<Route, RouteError> {
        let mut builder = Route::builder();
        for target in &written.to {
            // The file was read: every name in it is that of one of its upstreams.
            let Some(upstream) = self.upstreams.get(&target.upstream) else {
                continue;
            };
            let mut candidate = Candidate::of(upstream);
            if self
                .missing
                .iter()
                .any(|missing| missing.upstream == target.upstream)
            {
                candidate = candidate.without_its_key();
            }
            if let Some(name) = &target.model {
                let is_it = |model: &&config::ModelConfig| {
                    model.name.value == *name && model.upstream.value == target.upstream
                };
                let model = config.models.iter().find(is_it);
                candidate = known_of(candidate.model(name.as_str()), model);
            }
            builder = builder.to(candidate);
        }
        builder = match written.order {
            config::Order::Given => builder.order(Order::Given),
            config::Order::Cheapest => builder.order(Order::Cheapest),
        };
        if let Some(moves) = &written.fallbacks {
            builder = builder.fallbacks(moves.value);
        }
        if let Some(sends) = &written.tries {
            builder = builder.tries(sends.value);
        }
        if let Some(length) = &written.patience {
            builder = builder.patience(length.value);
        }
        if let Some(most) = &written.max_price {
            builder = builder.max_price_micro_usd(most.value);
        }
        if let Some(replay) = &written.replay {
            builder = builder.replay(replay.value);
        }
        builder.build()
    }
}

/// What a `[[model]]` says of a candidate.
fn known_of(mut candidate: Candidate, model: Option<&config::ModelConfig>) -> Candidate {
    let Some(model) = model else { return candidate };
    if let Some(window) = &model.window {
        candidate = candidate.window(u32::try_from(window.value).unwrap_or(u32::MAX));
    }
    // A price of one half says nothing of the whole.
    if let (Some(input), Some(output)) = (&model.input, &model.output) {
        candidate = candidate.price(Price::micro_usd(input.value, output.value));
    }
    candidate
}

/// The key that the file names, in the header of the upstream's dialect.
fn credential(
    written: &UpstreamConfig,
    keys: &mut impl FnMut(&config::Credential) -> Result<String, String>,
) -> Result<Option<(http::HeaderName, crate::http::Secret)>, String> {
    let Some(credential) = &written.credential else {
        return Ok(None);
    };
    let key = keys(&credential.value)?;
    let header = written.key_header(&key);
    header.map(Some).map_err(|error| error.to_string())
}

/// Reads a key where the file says that it is.
fn read_key(credential: &config::Credential) -> Result<String, String> {
    let (text, from) = match credential {
        config::Credential::Env(name) => {
            let text = std::env::var(name).map_err(|_| format!("{name} is not set, or is no text"))?;
            (text, name)
        }
        config::Credential::File(name) => (read_file(name).map_err(|why| format!("{name}: {why}"))?, name),
    };
    match text.trim() {
        "" => Err(format!("{from} is empty")),
        key => Ok(key.to_owned()),
    }
}

fn read_file(name: &str) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let mut file = std::fs::File::open(name)?.take(KEY_BYTES_MAX);
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Refuses what nothing obeys yet: whoever acts on half of what is written does something else than what is written, and
/// a bound that does not bind is worse than none.
fn obeyed(config: &Config) -> Result<(), RoutesError> {
    let refuse = |at: &Place, message: String| {
        Err(RoutesError::NotObeyed(ConfigErrors::from(
            config.finding(at, message),
        )))
    };
    let in_policy = |later: &&NotEnforced| later.what.key.starts_with("policy.");
    if let Some(NotEnforced { what, at }) = config.not_enforced.iter().find(in_policy) {
        return refuse(
            at,
            format!("{what} is not enforced yet: {}; take it out", what.missing),
        );
    }
    for route in &config.routes {
        let money = route.money_max.as_ref().map(|it| (&it.at, "money_max"));
        let cache = route.cache.as_ref().map(|it| (&it.at, "cache"));
        let fit = route.fit.as_ref().map(|it| (&it.at, "fit"));
        if let Some((at, key)) = money.or(cache).or(fit) {
            return refuse(at, format!("nothing obeys a route's `{key}` yet; take it out"));
        }
    }
    Ok(())
}

impl Match {
    /// Whether a call is one of those that this is about: all that is written must match.
    fn takes(&self, asked: &Asked<'_>) -> bool {
        let like = |pattern: &Option<config::Written<String>>, text: Option<&str>| match pattern {
            None => true,
            Some(pattern) => text.is_some_and(|text| is_like(&pattern.value, text)),
        };
        let has = |(name, value): &(String, config::Written<String>)| {
            let headers = asked.headers.into_iter();
            let mut values = headers.flat_map(|headers| headers.get_all(name));
            values.any(|given| given.as_bytes() == value.value.as_bytes())
        };
        let is_task = |task: &config::Written<String>| asked.task == Some(task.value.as_str());
        // Whatever stands behind the path is the call's own.
        let path = asked.path.split('?').next();
        like(&self.path, path)
            && like(&self.model, asked.model)
            && (self.tasks.is_empty() || self.tasks.iter().any(is_task))
            && self.headers.iter().all(has)
    }
}

/// Whether the text is as the pattern says, in which `*` stands for anything.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        // The first place is the best: what comes later has the more left.
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl fmt::Display for MissingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "upstream {} has no key: {}", self.upstream, self.why)
    }
}

#[cfg(test)]
mod tests;
