//! `[load]`: who calls, and when.

use super::Asked;
use super::generation::Recorded;
use crate::reader::{Reader, Value};
use crate::run::simulate::trace::{self, Form, TRACE_CALLS_MAX};
use crate::sim::luck::Length;
use crate::sim::model::{Arrival, Burst, Gaps, Load, Start};
use seawall_core::time::{Duration, Instant};
use std::ops::Range;
use toml::de::DeTable;

/// Every key of a load.
#[cfg(test)]
pub(super) const KEYS: [&[&str]; 4] = [&OPEN_KEYS, &POOL_KEYS, &CLOSED_KEYS, &TRACE_KEYS];
const OPEN_KEYS: [&str; 5] = ["rate", "gaps", "clients", "bursts", "tokens"];
const POOL_KEYS: [&str; 4] = ["connections", "rate", "gaps", "tokens"];
const CLOSED_KEYS: [&str; 5] = ["clients", "think", "start", "calls_each", "tokens"];
const TRACE_KEYS: [&str; 7] = [
    "trace",
    "format",
    "clients",
    "scale_rate",
    "loop",
    "window",
    "tokens",
];
const BURST_KEYS: [&str; 3] = ["at", "for", "factor"];
const RIGHT: &str = "rate = 1000 (open), clients = 50 with think = \"1s\" (closed), connections = 10 with rate = 100 \
     (a pool), or trace = \"calls.csv\" with format = \"azure\"";
/// More clients than these do not fit into any memory.
const CLIENTS_MAX: u64 = 100_000_000;
/// Calls a second.
const RATE_MAX: f64 = 1e9;

impl Asked {
    pub(super) fn load(
        &self,
        reader: &Reader<'_>,
        table: &DeTable<'_>,
        horizon: Option<Duration>,
    ) -> Option<Load> {
        let Some(value) = table.get("load") else {
            return reader.fault(
                reader
                    .error(0..0, "nobody calls in this simulation")
                    .expecting(RIGHT),
            );
        };
        let load = reader.table("load", value, RIGHT)?;
        let has = |key: &str| load.contains_key(key);
        if has("trace") {
            self.trace(reader, load, value, horizon)
        } else if has("connections") {
            pool(reader, load, value)
        } else if has("rate") {
            open(reader, load, horizon)
        } else if has("think") {
            closed(reader, load, value)
        } else {
            let mut known: Vec<&str> = Vec::new();
            for key in [&OPEN_KEYS[..], &POOL_KEYS, &CLOSED_KEYS, &TRACE_KEYS].concat() {
                if !known.contains(&key) {
                    known.push(key);
                }
            }
            reader.keys(load, &known, "a load");
            let error = reader.error(value.span(), "this does not say when somebody calls");
            reader.fault(error.expecting(RIGHT))
        }
    }

    fn trace(
        &self,
        reader: &Reader<'_>,
        load: &DeTable<'_>,
        value: &Value<'_>,
        horizon: Option<Duration>,
    ) -> Option<Load> {
        reader.keys(load, &TRACE_KEYS, "a load from a trace");
        let clients = clients(reader, load);
        let forms = Form::ALL.map(|form| (form.name(), form));
        let right = format!(
            "format = {}",
            Form::ALL.map(|form| format!("\"{}\"", form.name())).join(", ")
        );
        let format = reader
            .needed(load, "format", value, &right)
            .and_then(|value| reader.word("format", value, &forms));
        let factor = load
            .get("scale_rate")
            .map_or(Some(1.0), |value| reader.decimal("scale_rate", value, 1e-6, 1e6));
        let again = load
            .get("loop")
            .map_or(Some(false), |value| reader.truth("loop", value));
        let window = match load.get("window") {
            Some(value) => Some(window(reader, value)?),
            None => None,
        };
        let path = load.get("trace").and_then(|value| reader.string("trace", value));
        let ((path, span), format) = (path?, format?);
        let read = trace::read(&self.named(path), format).map_err(|why| (why, span.clone()));
        let reading = match read {
            Ok(reading) => reading,
            Err((why, span)) => return reader.fault(reader.error(span, why)),
        };
        if reading.skipped > 0 {
            self.note(format!(
                "{path}: {} rows are headings or of calls that nobody made, and were passed over",
                reading.skipped
            ));
        }
        if let Some(how) = format.times_are() {
            self.note(format!("{path}: {how}"));
        }
        let cut = trace::cut(&reading.calls, window.clone());
        self.recorded.replace(Some(Recorded {
            path: path.to_owned(),
            reading,
        }));
        if cut.is_empty() {
            return reader.fault(reader.error(span, "no call of this trace is in its window"));
        }
        let (factor, again, horizon) = (factor?, again?, horizon?);
        if let (true, Some(value)) = (again, load.get("loop"))
            && let Some(why) = cannot_loop(&cut, window.as_ref(), factor, horizon)
        {
            return reader.fault(
                reader
                    .error(value.span(), why)
                    .expecting("no `loop`, a longer window, a lower scale_rate, or a shorter horizon"),
            );
        }
        let all = cut.len();
        let calls = fitted(cut, window, factor, again, horizon);
        if calls.len() < all {
            let late = all - calls.len();
            self.note(format!(
                "{path}: {late} of its {all} calls are after the horizon, {horizon}, and are not made"
            ));
        }
        Some(Load::Trace {
            clients: clients?,
            calls: calls.into(),
        })
    }
}

/// A part of a trace by its own times.
fn window(reader: &Reader<'_>, value: &Value<'_>) -> Option<Range<Duration>> {
    let (from, to) = reader.pair("window", value)?;
    match from < to {
        true => Some(from..to),
        false => reader.fault(
            reader
                .error(value.span(), "this window ends before it begins")
                .expecting("window = [\"10m\", \"20m\"]"),
        ),
    }
}

/// How long one round of a trace takes, at its own rate: without a window, the next begins one mean gap after the last
/// call.
fn period(calls: &[Arrival], window: Option<&Range<Duration>>) -> Duration {
    let last = calls
        .last()
        .map_or(Duration::ZERO, |call| call.at.since(Instant::START));
    window.map_or_else(
        || last.plus(last.over((calls.len() as u64 - 1).max(1))),
        |window| window.end.minus(window.start),
    )
}

/// Why a trace cannot be made again and again up to the horizon.
fn cannot_loop(
    calls: &[Arrival],
    window: Option<&Range<Duration>>,
    factor: f64,
    horizon: Duration,
) -> Option<String> {
    let period = stretched(period(calls, window), factor);
    if period.is_zero() {
        return Some(
            "all calls of this trace are at one time, so nothing says when they come again".to_owned(),
        );
    }
    let rounds = horizon.as_nanos().div_ceil(period.as_nanos());
    let all = rounds.saturating_mul(calls.len() as u64);
    (all > TRACE_CALLS_MAX as u64).then(|| {
        format!(
            "{rounds} rounds of {} calls each, one every {period}, are more than {TRACE_CALLS_MAX} calls, which is the \
             most",
            calls.len()
        )
    })
}

/// A time of a trace at another rate.
fn stretched(length: Duration, factor: f64) -> Duration {
    crate::sim::luck::whole(crate::sim::luck::nanos(length) / factor)
}

/// The calls at another rate, again and again where that is wanted.
fn fitted(
    calls: Vec<Arrival>,
    window: Option<Range<Duration>>,
    factor: f64,
    again: bool,
    horizon: Duration,
) -> Vec<Arrival> {
    let stretch = |length| stretched(length, factor);
    let (period, mut rounds) = (stretch(period(&calls, window.as_ref())), 1);
    if again && !period.is_zero() {
        rounds = horizon.as_nanos().div_ceil(period.as_nanos()).max(1);
    }
    let all = (0..rounds).flat_map(|round| {
        let from = period.times(round);
        calls.iter().map(move |call| Arrival {
            at: Instant::START
                .after(from)
                .after(stretch(call.at.since(Instant::START))),
            ..*call
        })
    });
    let end = Instant::START.after(horizon);
    all.take_while(|call| call.at < end).collect()
}

fn open(reader: &Reader<'_>, load: &DeTable<'_>, horizon: Option<Duration>) -> Option<Load> {
    reader.keys(load, &OPEN_KEYS, "an open load");
    let per_second = rate(reader, load.get("rate")?);
    let (gaps, clients) = (gaps(reader, load), clients(reader, load));
    let bursts = load
        .get("bursts")
        .map_or(Some(Vec::new()), |value| bursts(reader, value, horizon));
    Some(Load::Open {
        clients: clients?,
        per_second: per_second?,
        gaps: gaps?,
        bursts: bursts?,
    })
}

fn pool(reader: &Reader<'_>, load: &DeTable<'_>, value: &Value<'_>) -> Option<Load> {
    reader.keys(load, &POOL_KEYS, "a pool of connections");
    let connections = reader.count32("connections", load.get("connections")?, 1, CLIENTS_MAX);
    let per_second = reader
        .needed(load, "rate", value, "rate = 100")
        .and_then(|value| rate(reader, value));
    let gaps = gaps(reader, load);
    Some(Load::Pool {
        connections: connections?,
        per_second: per_second?,
        gaps: gaps?,
    })
}

fn closed(reader: &Reader<'_>, load: &DeTable<'_>, value: &Value<'_>) -> Option<Load> {
    reader.keys(load, &CLOSED_KEYS, "a closed load");
    let starts = [("together", Start::Together), ("spread", Start::Spread)];
    let think: Option<Length> = reader.distribution("think", load.get("think")?);
    let clients = reader
        .needed(load, "clients", value, "clients = 50")
        .and_then(|value| reader.count32("clients", value, 1, CLIENTS_MAX));
    let start = reader
        .needed(load, "start", value, "start = \"together\" or \"spread\"")
        .and_then(|value| reader.word("start", value, &starts));
    let calls_each = match load.get("calls_each") {
        Some(value) => Some(reader.count32("calls_each", value, 1, u64::MAX)?),
        None => None,
    };
    if let (Some(think), None) = (think, calls_each)
        && think.mean().is_zero()
    {
        let message = "clients that do not think and whose calls are not counted may never let time pass";
        let error = reader.error(load.get("think")?.span(), message);
        return reader.fault(error.expecting("a time to think, or calls_each"));
    }
    Some(Load::Closed {
        clients: clients?,
        think: think?,
        start: start?,
        calls_each,
    })
}

fn rate(reader: &Reader<'_>, value: &Value<'_>) -> Option<f64> {
    reader.decimal("rate", value, 1e-6, RATE_MAX)
}

fn gaps(reader: &Reader<'_>, load: &DeTable<'_>) -> Option<Gaps> {
    let known = [("poisson", Gaps::Poisson), ("constant", Gaps::Constant)];
    load.get("gaps")
        .map_or(Some(Gaps::Poisson), |value| reader.word("gaps", value, &known))
}

fn clients(reader: &Reader<'_>, load: &DeTable<'_>) -> Option<u32> {
    load.get("clients")
        .map_or(Some(1), |value| reader.count32("clients", value, 1, CLIENTS_MAX))
}

fn bursts(reader: &Reader<'_>, value: &Value<'_>, horizon: Option<Duration>) -> Option<Vec<Burst>> {
    let mut all: Vec<Burst> = Vec::new();
    for value in reader.tables("bursts", value)? {
        let burst = one_burst(reader, value)?;
        if all
            .last()
            .is_some_and(|last| burst.at < last.at.after(last.lasts))
        {
            let message = "this burst begins before the one before it has ended";
            return reader.fault(
                reader
                    .error(value.span(), message)
                    .expecting("bursts in order, one at a time"),
            );
        }
        if let Some(end) = horizon.filter(|end| burst.at >= Instant::START.after(*end)) {
            let message = format!("the simulation ends at {end}, before this burst");
            return reader.fault(
                reader
                    .error(value.span(), message)
                    .expecting("a time before the horizon"),
            );
        }
        all.push(burst);
    }
    Some(all)
}

fn one_burst(reader: &Reader<'_>, value: &Value<'_>) -> Option<Burst> {
    let right = "{ at = \"20s\", for = \"5s\", factor = 2 }";
    let table = reader.table("a burst", value, right)?;
    reader.keys(table, &BURST_KEYS, "a burst");
    let [at, lasts, factor] = BURST_KEYS.map(|key| reader.needed(table, key, value, right));
    let at = at.and_then(|value| reader.instant("at", value));
    let lasts = lasts.and_then(|value| reader.some_time("for", value));
    let factor = factor.and_then(|value| reader.decimal("factor", value, 1e-3, 1e6));
    Some(Burst {
        at: at?,
        lasts: lasts?,
        factor: factor?,
    })
}
