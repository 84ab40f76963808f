//! `[server]` and `[[server]]`: what a server does with attempts.

use super::Asked;
use crate::file;
use crate::plan::Limit;
use crate::reader::{Reader, Value};
use crate::sim::luck::{Length, nanos, whole};
use crate::sim::model::{
    Capacity, Failures, Generation, Order, Orphans, Outage, Price, Renewal, Server, Trouble,
};
use seawall_core::time::Duration;
use toml::de::DeTable;

pub(super) const SERVER_KEYS: [&str; 15] = [
    "capacity",
    "workers",
    "slope",
    "latency",
    "overload",
    "queue",
    "order",
    "orphans",
    "failures",
    "limit",
    "outages",
    "renewal",
    "price",
    "reject_cost",
    "generation",
];
/// Keys of a queue in front of workers.
const QUEUE_KEYS: [&str; 5] = ["overload", "queue", "order", "orphans", "reject_cost"];
const LIMIT_KEYS: [&str; 5] = ["rpm", "tpm", "rps", "concurrency", "burst"];
const RIGHT: &str = "capacity = 1500 (a second), workers = 30 with latency = \"100ms\", slope = \"10ms\" with latency, \
     capacity = \"unbounded\" with latency, or capacity = \"optimistic-lock\"";
const SERVERS_MAX: usize = 10_000;

/// What becomes of an attempt that finds no worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overload {
    Queue,
    Shed,
}

impl Asked {
    pub(super) fn servers(
        &self,
        reader: &Reader<'_>,
        table: &DeTable<'_>,
        horizon: Option<Duration>,
    ) -> Option<Vec<Server>> {
        let Some(value) = table.get("server") else {
            let error = reader.error(0..0, "there is no server in this simulation");
            return reader.fault(error.expecting(format!("[server] with {RIGHT}")));
        };
        let tables = reader.tables("server", value)?;
        if tables.is_empty() || tables.len() > SERVERS_MAX {
            let message = format!("{} servers are none, or too many", tables.len());
            return reader.fault(
                reader
                    .error(value.span(), message)
                    .expecting("1 to 10000 servers"),
            );
        }
        let read: Vec<Option<Server>> = tables
            .into_iter()
            .map(|value| self.server(reader, value, horizon))
            .collect();
        read.into_iter().collect()
    }

    fn server(&self, reader: &Reader<'_>, value: &Value<'_>, horizon: Option<Duration>) -> Option<Server> {
        let table = value.get_ref().as_table()?;
        reader.keys(table, &SERVER_KEYS, "a server");
        let get = |key: &str| table.get(key);
        let work = self.work(reader, value, table);
        let queue = queue(reader, value, table, work.as_ref().map(|work| work.capacity));
        let reject_cost =
            get("reject_cost").map_or(Some(Duration::ZERO), |value| reader.length("reject_cost", value));
        let orders = [("fifo", Order::Fifo), ("lifo", Order::Lifo)];
        let order = get("order").map_or(Some(Order::Fifo), |value| reader.word("order", value, &orders));
        let failures = get("failures").map_or(Some(Failures::None), |value| self.failures(reader, value));
        let limit = match get("limit") {
            Some(value) => limit(reader, value).map(Some),
            None => Some(None),
        };
        let outages = match get("outages") {
            Some(value) => self.outages(reader, value, horizon),
            None => Some(Vec::new()),
        };
        let renewal = match (get("renewal"), get("outages")) {
            (Some(value), Some(_)) => {
                let error = reader.error(value.span(), "outages are given or by chance, not both");
                reader.fault(error.expecting("outages or renewal"))
            }
            (Some(value), None) => super::outages::renewal(reader, value).map(Some),
            (None, _) => Some(None),
        };
        if let (Some(Capacity::OptimisticLock), Some(outages), Some(renewal)) =
            (work.as_ref().map(|work| work.capacity), &outages, &renewal)
        {
            takes_no_time(reader, table, outages, renewal.as_ref())?;
        }
        let price = get("price").map_or(Some(Price::default()), |value| price(reader, value));
        let (work, (queue_max, orphans)) = (work?, queue?);
        Some(Server {
            capacity: work.capacity,
            service: work.service,
            order: order?,
            queue_max,
            orphans,
            reject_cost: reject_cost?,
            generation: work.generation,
            failures: failures?,
            limit: limit?,
            outages: outages?,
            renewal: renewal?,
            price: price?,
        })
    }
}

/// How much a server can do, and how long an attempt takes it.
struct Work {
    capacity: Capacity,
    service: Length,
    generation: Option<Generation>,
}

impl Asked {
    fn failures(&self, reader: &Reader<'_>, value: &Value<'_>) -> Option<Failures> {
        match value.get_ref().as_str() {
            Some(_) => {
                reader.word("failures", value, &[("trace", ())])?;
                self.recorded_failures(reader, value)
            }
            None => failures(reader, value),
        }
    }

    fn work(&self, reader: &Reader<'_>, value: &Value<'_>, table: &DeTable<'_>) -> Option<Work> {
        let latency = match table.get("latency") {
            Some(value) => Some(reader.distribution("latency", value)?),
            None => None,
        };
        let (latency, generation) = match table.get("generation") {
            Some(at) => {
                let (service, generation) = self.generation(reader, at, table, latency)?;
                (service, Some(generation))
            }
            None => (latency, None),
        };
        let (capacity, service) = capacity(reader, value, table, latency)?;
        Some(Work {
            capacity,
            service,
            generation,
        })
    }
}

/// How much a server can do, where an attempt takes `latency` once it is worked on.
fn capacity(
    reader: &Reader<'_>,
    value: &Value<'_>,
    table: &DeTable<'_>,
    latency: Option<Length>,
) -> Option<(Capacity, Length)> {
    let needed = |capacity| {
        let latency = latency.or_else(|| {
            let error = reader.error(value.span(), "`latency` is missing here");
            reader
                .fault(error.expecting("how long an attempt takes once it is worked on: latency = \"100ms\""))
        });
        Some((capacity, latency?))
    };
    let get = |key: &str| table.get(key);
    match (get("capacity"), get("workers"), get("slope")) {
        (Some(value), None, None) if value.get_ref().is_str() => of_word(reader, value, table, needed),
        (Some(value), None, None) => match get("generation") {
            Some(generation) => {
                let message = "how many a second a model answers goes by their tokens";
                let error = reader.error(generation.span(), message);
                reader.fault(error.expecting("workers = 8, or capacity = \"unbounded\""))
            }
            None => of_rate(reader, value, latency),
        },
        (None, Some(value), None) => {
            let workers = reader.count32("workers", value, 1, u64::MAX)?;
            needed(Capacity::Workers(workers))
        }
        (None, None, Some(value)) => {
            let slope = reader.length("slope", value)?;
            needed(Capacity::Coupled { slope })
        }
        (None, None, None) => {
            let error = reader.error(value.span(), "this does not say how much the server can do");
            reader.fault(error.expecting(RIGHT))
        }
        (Some(_), _, _) | (None, Some(_), Some(_)) => {
            let message = "capacity, workers and slope each say how much the server can do";
            reader.fault(reader.error(value.span(), message).expecting("one of them"))
        }
    }
}

/// A capacity that is no number.
fn of_word(
    reader: &Reader<'_>,
    value: &Value<'_>,
    table: &DeTable<'_>,
    needed: impl Fn(Capacity) -> Option<(Capacity, Length)>,
) -> Option<(Capacity, Length)> {
    let known = [
        ("unbounded", Capacity::Unbounded),
        ("optimistic-lock", Capacity::OptimisticLock),
    ];
    let capacity = reader.word("capacity", value, &known)?;
    if capacity != Capacity::OptimisticLock {
        return needed(capacity);
    }
    match table.get("latency").or_else(|| table.get("generation")) {
        None => Some((capacity, Length::ZERO)),
        Some(time) => {
            let message = "an optimistic lock takes four hops and no time at the server";
            let error = reader.error(time.span(), message);
            reader.fault(error.expecting("`hop` at the head of the file in place of it"))
        }
    }
}

/// So many a second: by one worker, or by as many as it takes where an attempt takes a stated time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be from 1 to 2^32 - 1 before"
)]
fn of_rate(reader: &Reader<'_>, value: &Value<'_>, latency: Option<Length>) -> Option<(Capacity, Length)> {
    let per_second = reader.decimal("capacity", value, 1e-6, 1e9)?;
    let Some(latency) = latency else {
        return Some((Capacity::Workers(1), Length::Fixed(whole(1e9 / per_second))));
    };
    let workers = per_second * nanos(latency.mean()) / 1e9;
    let rounded = libm::round(workers);
    let off = (workers - rounded).abs() / rounded.max(1.0);
    if !(1.0..=4e9).contains(&rounded) || off > 0.001 {
        let mean = latency.mean();
        let message = format!("{per_second} a second at a mean latency of {mean} takes {workers:.3} workers");
        let error = reader.error(value.span(), message);
        return reader.fault(error.expecting("a whole number of them; or `workers` in place of `capacity`"));
    }
    Some((Capacity::Workers(rounded as u32), latency))
}

/// An optimistic lock takes no time at the server, which can neither hang nor be slow.
fn takes_no_time(
    reader: &Reader<'_>,
    table: &DeTable<'_>,
    outages: &[Outage],
    renewal: Option<&Renewal>,
) -> Option<()> {
    let of_time = |how: Trouble| match how {
        Trouble::Hang | Trouble::Slow { .. } => true,
        Trouble::FailFast | Trouble::Refuse | Trouble::Throttle { .. } | Trouble::Truncate => false,
    };
    let mut hows = outages
        .iter()
        .map(|outage| outage.how)
        .chain(renewal.map(|renewal| renewal.how));
    if !hows.any(of_time) {
        return Some(());
    }
    let at = table.get("outages").or_else(|| table.get("renewal"))?;
    let message = "an optimistic lock takes no time at the server, which can neither hang nor be slow";
    let error = reader.error(at.span(), message);
    reader.fault(error.expecting("how = \"503\", \"refuse\", \"429\" or \"truncate\""))
}

/// How many may wait for a worker, and what becomes of them when their callers leave.
fn queue(
    reader: &Reader<'_>,
    value: &Value<'_>,
    table: &DeTable<'_>,
    capacity: Option<Capacity>,
) -> Option<(Option<u32>, Orphans)> {
    match capacity {
        Some(Capacity::Workers(_)) => {}
        None => return None,
        Some(Capacity::Unbounded | Capacity::Coupled { .. } | Capacity::OptimisticLock) => {
            for key in QUEUE_KEYS {
                if let Some(value) = table.get(key) {
                    let message = format!("`{key}` is about waiting for a worker, and this server has none");
                    reader.fault::<()>(
                        reader
                            .error(value.span(), message)
                            .expecting("workers, or capacity as a number"),
                    );
                }
            }
            return Some((None, Orphans::Worked));
        }
    }
    let known = [("queue", Overload::Queue), ("shed", Overload::Shed)];
    let overload = match table.get("overload") {
        Some(value) => Some((reader.word("overload", value, &known)?, value)),
        None => None,
    };
    let most = match table.get("queue") {
        Some(value) if value.get_ref().as_str() == Some("unbounded") => None,
        Some(value) => Some(reader.count32("queue", value, 0, u64::MAX)?),
        None => None,
    };
    let most = match (overload, most) {
        (Some((Overload::Shed, _)), None) if table.contains_key("queue") => {
            let error = reader.error(
                table.get("queue")?.span(),
                "nothing is shed where any number may wait",
            );
            return reader.fault(error.expecting("a number of attempts, or overload = \"queue\""));
        }
        (Some((Overload::Shed, _)), None) => Some(0),
        (Some((Overload::Queue, value)), Some(most)) => {
            let message = format!("what finds {most} waiting is shed, and this says that it queues");
            return reader.fault(
                reader
                    .error(value.span(), message)
                    .expecting("overload = \"shed\""),
            );
        }
        (_, most) => most,
    };
    let known = [("worked", Orphans::Worked), ("dropped", Orphans::Dropped)];
    let right = "orphans = \"worked\" (what callers have left is worked on) or \"dropped\" (it is taken out of the queue)";
    let orphans = reader.needed(table, "orphans", value, right)?;
    Some((most, reader.word("orphans", orphans, &known)?))
}

fn failures(reader: &Reader<'_>, value: &Value<'_>) -> Option<Failures> {
    let Some(table) = value.get_ref().as_table() else {
        return Some(match reader.share("failures", value)? {
            0.0 => Failures::None,
            chance => Failures::Independent { chance },
        });
    };
    reader.keys(table, &["first", "again"], "failures");
    let right = "0.1, or { first = 0.1, again = 0.5 } where what failed once fails more often";
    let [first, again] = ["first", "again"].map(|key| reader.needed(table, key, value, right));
    let first = first.and_then(|value| reader.share("first", value));
    let again = again.and_then(|value| reader.share("again", value));
    Some(Failures::Sticky {
        first: first?,
        again: again?,
    })
}

fn limit(reader: &Reader<'_>, value: &Value<'_>) -> Option<Limit> {
    let table = reader.table("limit", value, "limit = { rpm = 60, tpm = 10000 }")?;
    let known = |key: &str| LIMIT_KEYS.contains(&key);
    if table.keys().any(|key| !known(key.get_ref())) {
        reader.keys(table, &LIMIT_KEYS, "the limit of a simulation");
        return None;
    }
    match file::limit_in(reader.source, value) {
        Ok(limit) => Some(limit),
        Err(error) => reader.fault(error),
    }
}

fn price(reader: &Reader<'_>, value: &Value<'_>) -> Option<Price> {
    let right = "dollars for a million tokens: { input = 0.42, output = 1.10 }";
    let table = reader.table("price", value, right)?;
    reader.keys(table, &["input", "output"], "price");
    let read = |key| {
        let value = reader.needed(table, key, value, right)?;
        let dollars = reader.decimal(key, value, 0.0, 1e6)?;
        Some(whole(dollars * 1e6).as_nanos())
    };
    let (per_million_in, per_million_out) = (read("input"), read("output"));
    Some(Price {
        per_million_in: per_million_in?,
        per_million_out: per_million_out?,
    })
}
