//! When a server is not well: times that are given, times by chance, or those that somebody wrote down.

use super::Asked;
use crate::reader::{Reader, Value};
use crate::run::simulate::events;
use crate::sim::model::{Outage, Renewal, Trouble};
use seawall_core::time::{Duration, Instant};
use toml::de::{DeTable, DeValue};

const GIVEN_KEYS: [&str; 6] = ["at", "for", "how", "factor", "retry_after", "share"];
const RENEWAL_KEYS: [&str; 6] = ["up", "down", "how", "factor", "retry_after", "share"];
const EVENT_KEYS: [&str; 7] = [
    "events",
    "service",
    "window",
    "how",
    "factor",
    "retry_after",
    "share",
];
const RIGHT: &str = "outages = [{ at = \"10s\", for = \"5s\", how = \"503\" }], or { events = \"events.csv\", service = \"x\", how = \"503\" }";

/// The words for what is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    FailFast,
    Refuse,
    Hang,
    Slow,
    Throttle,
    Truncate,
}

const HOWS: [(&str, How); 6] = [
    ("503", How::FailFast),
    ("refuse", How::Refuse),
    ("hang", How::Hang),
    ("slow", How::Slow),
    ("429", How::Throttle),
    ("truncate", How::Truncate),
];

impl Asked {
    pub(super) fn outages(
        &self,
        reader: &Reader<'_>,
        value: &Value<'_>,
        horizon: Option<Duration>,
    ) -> Option<Vec<Outage>> {
        match value.get_ref() {
            DeValue::Table(table) => self.recorded(reader, value, table, horizon),
            DeValue::Array(_) => given(reader, value, horizon),
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => reader.fault(
                reader
                    .error(value.span(), "these are no outages")
                    .expecting(RIGHT),
            ),
        }
    }

    /// Those of one service in a file of ups and downs.
    fn recorded(
        &self,
        reader: &Reader<'_>,
        value: &Value<'_>,
        table: &DeTable<'_>,
        horizon: Option<Duration>,
    ) -> Option<Vec<Outage>> {
        reader.keys(table, &EVENT_KEYS, "outages from a file");
        let trouble = trouble(reader, value, table);
        let window = match table.get("window") {
            Some(value) => Some(reader.pair("window", value)?),
            None => None,
        };
        let text = |key| reader.string(key, reader.needed(table, key, value, RIGHT)?);
        let (path, service) = (text("events"), text("service"));
        let ((path, span), (service, service_span)) = (path?, service?);
        let downs = match events::read(&self.named(path), service) {
            Ok(downs) => downs,
            Err(events::Failure::File(why)) => return reader.fault(reader.error(span, why)),
            Err(events::Failure::Service { known }) => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let error = reader.error(service_span, format!("{path} has no such service"));
                return reader.fault(
                    error
                        .near(service, &known)
                        .expecting(format!("one of its {} services", known.len())),
                );
            }
        };
        let (how, share) = trouble?;
        let (from, to) = window.unwrap_or((Duration::ZERO, Duration::MAX));
        let end = horizon?.min(to.minus(from));
        // Times are counted from the window's beginning, and what began before that began with it.
        let cut = downs.into_iter().filter_map(|(at, lasts)| {
            let over = lasts.map_or(Duration::MAX, |lasts| at.plus(lasts));
            let (starts, ends) = (at.max(from).minus(from), over.minus(from).min(end));
            (starts < ends).then(|| Outage {
                at: Instant::START.after(starts),
                lasts: ends.minus(starts),
                how,
                share,
            })
        });
        Some(cut.collect())
    }
}

/// Outages in order, one at a time.
fn given(reader: &Reader<'_>, value: &Value<'_>, horizon: Option<Duration>) -> Option<Vec<Outage>> {
    let mut all: Vec<Outage> = Vec::new();
    for value in reader.tables("outages", value)? {
        let Some(outage) = one(reader, value, horizon) else {
            continue;
        };
        if all
            .last()
            .is_some_and(|last| outage.at < last.at.after(last.lasts))
        {
            let message = "this outage begins before the one before it has ended";
            return reader.fault(
                reader
                    .error(value.span(), message)
                    .expecting("outages in order, one at a time"),
            );
        }
        all.push(outage);
    }
    Some(all)
}

fn one(reader: &Reader<'_>, value: &Value<'_>, horizon: Option<Duration>) -> Option<Outage> {
    let table = value.get_ref().as_table()?;
    reader.keys(table, &GIVEN_KEYS, "an outage");
    let [at, lasts] = ["at", "for"].map(|key| reader.needed(table, key, value, RIGHT));
    let begins = at.and_then(|value| reader.instant("at", value));
    let lasts = lasts.and_then(|value| reader.some_time("for", value));
    let trouble = trouble(reader, value, table);
    if let (Some(at), Some(horizon), Some(value)) = (begins, horizon, at)
        && at.since(Instant::START) >= horizon
    {
        let error = reader.error(
            value.span(),
            format!("the simulation ends at {horizon}, before this outage"),
        );
        return reader.fault(error.expecting("a time before the horizon"));
    }
    let ((how, share), at) = (trouble?, begins?);
    Some(Outage {
        at,
        lasts: lasts?,
        how,
        share,
    })
}

/// Outages by chance.
pub(super) fn renewal(reader: &Reader<'_>, value: &Value<'_>) -> Option<Renewal> {
    let right = "{ up = { exponential = \"1h\" }, down = { p50 = \"2m\", p99 = \"10m\" }, how = \"503\" }";
    let table = reader.table("renewal", value, right)?;
    reader.keys(table, &RENEWAL_KEYS, "renewal");
    let [up, down] = ["up", "down"].map(|key| reader.needed(table, key, value, right));
    let up = up.and_then(|value| reader.distribution("up", value));
    let down = down.and_then(|value| reader.distribution("down", value));
    let trouble = trouble(reader, value, table);
    let (up, down, (how, share)) = (up?, down?, trouble?);
    if up.mean().plus(down.mean()) < Duration::from_millis(1) {
        let error = reader.error(value.span(), "up and down together take no time");
        return reader.fault(error.expecting("a mean of 1ms or more"));
    }
    Some(Renewal { up, down, how, share })
}

/// What is wrong, and with how many attempts.
fn trouble(reader: &Reader<'_>, value: &Value<'_>, table: &DeTable<'_>) -> Option<(Trouble, f64)> {
    let share = table
        .get("share")
        .map_or(Some(1.0), |value| reader.share("share", value));
    let right = "how = \"503\", \"refuse\", \"hang\", \"slow\", \"429\" or \"truncate\"";
    let how = reader.needed(table, "how", value, right)?;
    let how = reader.word("how", how, &HOWS)?;
    for (key, of, word) in [
        ("factor", How::Slow, "slow"),
        ("retry_after", How::Throttle, "429"),
    ] {
        if let (Some(value), true) = (table.get(key), how != of) {
            let error = reader.error(value.span(), format!("`{key}` is of how = \"{word}\" alone"));
            return reader.fault(error.expecting(format!("no such key, or how = \"{word}\"")));
        }
    }
    if let (Some(value), How::Hang, Some(share)) = (table.get("share"), how, share)
        && share < 1.0
    {
        let error = reader.error(value.span(), "a server that works on nothing hits every attempt");
        return reader.fault(error.expecting("no share, or another `how`"));
    }
    if let (Some(value), Some(share)) = (table.get("share"), share)
        && share <= 0.0
    {
        let error = reader.error(value.span(), "an outage that hits no attempt is none");
        return reader.fault(error.expecting("a share above 0"));
    }
    let how = match how {
        How::FailFast => Trouble::FailFast,
        How::Refuse => Trouble::Refuse,
        How::Hang => Trouble::Hang,
        How::Truncate => Trouble::Truncate,
        How::Slow => {
            let factor = reader.needed(table, "factor", value, "how many times as slow: factor = 10")?;
            Trouble::Slow {
                factor: reader.decimal("factor", factor, 1e-3, 1e6)?,
            }
        }
        How::Throttle => Trouble::Throttle {
            retry_after: match table.get("retry_after") {
                Some(value) => Some(reader.length("retry_after", value)?),
                None => None,
            },
        },
    };
    Some((how, share?))
}
