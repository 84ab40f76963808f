use super::reader::{Reader, nearest};
use super::section::{Section, shown};
use super::tables::known_upstream;
use super::text::is_header;
use super::types::{Cache, Cached, Fit, Match, ModelConfig, MoneyMax, Order, RouteConfig, Target, Written};
use seawall_core::facts::Replay;
use std::collections::BTreeSet;

const ORDERS: [(&str, Order); 2] = [("given", Order::Given), ("cheapest", Order::Cheapest)];
const REPLAYS: [(&str, Replay); 2] = [("declared", Replay::Declared), ("unsafe", Replay::Unsafe)];
const CACHED: [(&str, Cached); 1] = [("temperature=0", Cached::TemperatureZero)];
const FITS: [(&str, Fit); 1] = [("keep-newest", Fit::KeepNewest)];

/// Reads one `[[route]]`.
pub(super) fn read(table: &Section<'_>, upstreams: &[&str], models: &[ModelConfig]) -> Option<RouteConfig> {
    table.missing("to");
    let matches = table
        .section("match")
        .map(|section| matches(&section))
        .unwrap_or_default();
    let to = targets(table, upstreams, models);
    Some(RouteConfig {
        at: table.at(),
        matches,
        to,
        order: table
            .word("order", &ORDERS)
            .map(|order| order.value)
            .unwrap_or_default(),
        fallbacks: table.count("fallbacks"),
        tries: table.count("tries"),
        patience: table.length("patience"),
        max_price: table.decimal("max_price"),
        money_max: money_max(table),
        replay: table.word("replay", &REPLAYS),
        cache: cache(table),
        fit: table.word("fit", &FITS),
    })
}

fn matches(table: &Section<'_>) -> Match {
    let mut headers = Vec::new();
    for (name, value, span) in table.pairs("header") {
        if !is_header(&name) {
            let message = format!("`{}` is no header's name", shown(&name));
            table
                .reader
                .error(span, message, "a header's name is letters, digits and `-`");
            continue;
        }
        headers.push((name.to_ascii_lowercase(), value));
    }
    Match {
        path: table.text("path"),
        model: table.text("model"),
        tasks: table.texts("task"),
        headers,
    }
}

fn targets(table: &Section<'_>, upstreams: &[&str], models: &[ModelConfig]) -> Vec<Target> {
    let mut seen = BTreeSet::new();
    let mut targets = Vec::new();
    let written = table.texts("to");
    if written.is_empty()
        && let Some((key, value)) = table.find("to")
        && value.get_ref().as_array().is_some_and(|list| list.is_empty())
    {
        let message = "this route goes nowhere";
        table.reader.error(
            value.span(),
            message,
            format!("write it as in to = {}", key.example),
        );
    }
    for Written { value, at, .. } in written {
        let (upstream, model) = match value.split_once('/') {
            Some((upstream, model)) => (upstream, Some(model)),
            None => (value.as_str(), None),
        };
        known_upstream(table.reader, upstream, at.span.clone(), upstreams);
        if !seen.insert(value.clone()) {
            let message = format!("`{}` stands in this route twice", shown(&value));
            table
                .reader
                .error(at.span.clone(), message, "take one of them out");
        }
        if let Some(model) = model {
            near_model(table, &at.span, upstream, model, models);
        }
        targets.push(Target {
            upstream: upstream.to_owned(),
            model: model.map(str::to_owned),
            at,
        });
    }
    targets
}

/// A model that no `[[model]]` is about is right, but one that is nearly another's was probably misspelt.
fn near_model(
    table: &Section<'_>,
    span: &std::ops::Range<usize>,
    upstream: &str,
    model: &str,
    models: &[ModelConfig],
) {
    let there: Vec<&str> = models
        .iter()
        .filter(|known| known.upstream.value == upstream)
        .map(|known| known.name.value.as_str())
        .collect();
    if there.contains(&model) {
        return;
    }
    if let Some(near) = nearest(model, &there) {
        let text = format!(
            "no [[model]] is about `{upstream}/{}`; one is about `{near}`",
            shown(model)
        );
        table.reader.remark(span.clone(), text);
    }
}

fn money_max(table: &Section<'_>) -> Option<Written<MoneyMax>> {
    let section = table.section("money_max")?;
    section.missing("usd");
    section.missing("per");
    let (usd, per) = (section.decimal("usd"), section.length("per"));
    let value = MoneyMax {
        micro_usd: usd?.value,
        per: per?.value,
    };
    let (at, key) = (section.at(), "route.money_max");
    Some(Written { value, at, key })
}

fn cache(table: &Section<'_>) -> Option<Written<Cache>> {
    let section = table.section("cache")?;
    section.missing("ttl");
    let (ttl, only) = (section.length("ttl"), section.word("only", &CACHED));
    let value = Cache {
        ttl: ttl?.value,
        only: only.map_or(Cached::Every, |only| only.value),
    };
    let (at, key) = (section.at(), "route.cache");
    Some(Written { value, at, key })
}

/// Tells of routes that no call can reach, because an earlier one matches all that they match.
pub(super) fn reachable(reader: &Reader<'_>, routes: Vec<RouteConfig>) -> Vec<RouteConfig> {
    for (nth, route) in routes.iter().enumerate() {
        if let Some(earlier) = routes[..nth]
            .iter()
            .find(|earlier| earlier.matches.covers(&route.matches))
        {
            let message = format!(
                "no call reaches this route: the one of line {} takes them all",
                earlier.at.line
            );
            let help = "put the narrower one first, or take one out";
            reader.error(route.at.span.clone(), message, help);
        }
    }
    routes
}

impl Match {
    /// Whether every call that `other` matches is matched here, as far as that is plain: each condition here is one of
    /// `other`'s, word for word.
    fn covers(&self, other: &Self) -> bool {
        let same = |own: &Option<Written<String>>, its: &Option<Written<String>>| match own {
            None => true,
            Some(own) => its.as_ref().is_some_and(|its| its.value == own.value),
        };
        let task = |its: &Written<String>| self.tasks.iter().any(|own| own.value == its.value);
        let tasks = self.tasks.is_empty() || !other.tasks.is_empty() && other.tasks.iter().all(task);
        let header = |(name, value): &(String, Written<String>)| {
            other
                .headers
                .iter()
                .any(|(its, its_value)| its == name && its_value.value == value.value)
        };
        same(&self.path, &other.path)
            && same(&self.model, &other.model)
            && tasks
            && self.headers.iter().all(header)
    }
}
