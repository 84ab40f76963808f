//! `[[policy]]`: the policies side by side, each a `[policy]` table with a name.
//!
//! What can go wrong: a naive policy that is written with the words of a good one keeps the budget that the good one has
//! by default, and shows how harmless naive retries are. So `naive` takes all of that away and refuses keys of it.

use super::{Asked, Asserted, POLICIES_MAX};
use crate::reader::{Key, Reader, Value};
use crate::sim::model::{Contender, Fleet, Load};
use seawall_core::policy::{CallPolicy, Jitter, Policy, PolicyBuilder};
use seawall_core::time::Duration;
use toml::de::{DeTable, DeValue};

/// Keys of ours beside those of a `[policy]` table.
pub(super) const OUR_KEYS: [&str; 9] = [
    "name",
    "fleet",
    "naive",
    "wait",
    "fallbacks",
    "tries",
    "patience",
    "throttled_counts",
    "assert",
];
/// Those of them that a layer's policy has as well.
pub(in crate::run::simulate) const SHARED_KEYS: [&str; 6] = [
    "naive",
    "wait",
    "fallbacks",
    "tries",
    "patience",
    "throttled_counts",
];
const RIGHT_FLEET: &str = "fleet = \"client\" (each client has gates of its own), \"one\" (all share one), or { process = 1000 } (so many share one)";

/// A policy without anything that protects a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naive {
    /// One attempt.
    None,
    /// Again at once.
    Immediate,
    /// Again after the same wait.
    Fixed,
    /// Again after a wait that doubles.
    Exponential,
}

const NAIVE: [(&str, Naive); 4] = [
    ("none", Naive::None),
    ("immediate", Naive::Immediate),
    ("fixed", Naive::Fixed),
    ("exponential", Naive::Exponential),
];

impl Asked {
    pub(super) fn contenders(
        &self,
        reader: &Reader<'_>,
        table: &DeTable<'_>,
        load: Option<&Load>,
    ) -> Option<Vec<Asserted>> {
        let right = "[[policy]] with name = \"default\" and fleet = \"one\"";
        let Some(value) = table.get("policy") else {
            return reader.fault(
                reader
                    .error(0..0, "there is no policy to simulate")
                    .expecting(right),
            );
        };
        let Some(list) = value.get_ref().as_array() else {
            let error = reader.error(value.span(), "policies are compared, and written as a list");
            return reader.fault(error.expecting(right));
        };
        if list.is_empty() || list.len() > POLICIES_MAX {
            let message = format!("{} policies are none, or too many", list.len());
            let error = reader.error(value.span(), message);
            return reader.fault(error.expecting(format!("1 to {POLICIES_MAX}")));
        }
        let mut contenders: Vec<Option<Asserted>> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for value in list {
            let Some(table) = value.get_ref().as_table() else {
                let error = reader.error(value.span(), "this policy is no table");
                contenders.push(reader.fault(error.expecting(right)));
                continue;
            };
            let name = reader
                .needed(table, "name", value, "what reports call it: name = \"default\"")
                .and_then(|value| Some((reader.name(value)?.0, value)));
            if let Some((name, value)) = name {
                if names.contains(&name) {
                    let error = reader.error(value.span(), "two policies have this name");
                    reader.fault::<()>(error.expecting("a name for each"));
                }
                names.push(name);
            }
            contenders.push(self.contender(reader, value, table, name.map(|(name, _)| name), load));
        }
        contenders.into_iter().collect()
    }

    fn contender(
        &self,
        reader: &Reader<'_>,
        value: &Value<'_>,
        table: &DeTable<'_>,
        name: Option<&str>,
        load: Option<&Load>,
    ) -> Option<Asserted> {
        let fleet = reader
            .needed(table, "fleet", value, RIGHT_FLEET)
            .and_then(|value| fleet(reader, value, load));
        let policy = match reader.alone_of_list(value, table, &OUR_KEYS) {
            Some(toml) => self.parsed(reader, &toml),
            None => None,
        };
        let policy = self.with_ours(reader, table, policy);
        let asserts = table
            .get("assert")
            .map_or(Some(Vec::new()), |value| reader.asserts(value));
        Some(Asserted {
            contender: Contender {
                name: name?.to_owned(),
                policy: policy?,
                fleet: fleet?,
            },
            asserts: asserts?,
        })
    }

    /// The policy as it was read, with what keys of ours say beside.
    pub(super) fn with_ours(
        &self,
        reader: &Reader<'_>,
        table: &DeTable<'_>,
        policy: Option<Policy>,
    ) -> Option<Policy> {
        let policy = policy.and_then(|policy| counted(reader, table, policy));
        match table.get("naive") {
            Some(value) => {
                let naive = reader.word("naive", value, &NAIVE);
                self.naive(reader, value, table, naive?, policy?)
            }
            None => {
                if let Some(wait) = table.get("wait") {
                    let error = reader.error(wait.span(), "`wait` is of naive = \"fixed\" alone");
                    reader.fault::<()>(error.expecting("backoff.base"));
                }
                policy
            }
        }
    }

    /// The policy without all that protects a server.
    fn naive(
        &self,
        reader: &Reader<'_>,
        value: &Value<'_>,
        table: &DeTable<'_>,
        naive: Naive,
        policy: Policy,
    ) -> Option<Policy> {
        self.no_others(reader, table, naive);
        if naive != Naive::None {
            reader.needed(
                table,
                "retries",
                value,
                "how often a naive client tries again: retries = 3",
            )?;
        }
        let bare = PolicyBuilder::from_policy(policy)
            .budget(None)
            .breaker(None)
            .backoff_min(Duration::ZERO)
            .jitter(Jitter::None);
        let built = |builder: PolicyBuilder, at: &Value<'_>| match builder.build() {
            Ok(policy) => Some(policy),
            Err(why) => reader.fault(reader.error(at.span(), why.to_string())),
        };
        match naive {
            Naive::None => built(bare.retries(0), value),
            Naive::Exponential => built(bare, value),
            Naive::Immediate => built(bare, value).map(|policy| Policy {
                call: CallPolicy::without_waits(policy.call),
                ..policy
            }),
            Naive::Fixed => {
                let at = reader.needed(table, "wait", value, "how long it waits each time: wait = \"1s\"")?;
                let wait = reader.some_time("wait", at)?;
                built(
                    bare.backoff_base(wait)
                        .backoff_cap(wait)
                        .backoff_factor_tenths(10),
                    at,
                )
            }
        }
    }

    /// Refuses keys that a naive policy has nothing of.
    fn no_others(&self, reader: &Reader<'_>, table: &DeTable<'_>, naive: Naive) {
        let refuse = |key: &Key<'_>, fix: &str| {
            let message = format!("a naive policy has no `{}`", key.get_ref());
            reader.fault::<()>(reader.error(key.span(), message).expecting(fix));
        };
        let off = "no `naive`; budget = \"off\" and breaker = \"off\" switch those off one by one";
        for (key, value) in table {
            match (key.get_ref().as_ref(), naive) {
                ("budget" | "breaker" | "limits" | "hedge" | "preset", _) => refuse(key, off),
                ("backoff", Naive::Exponential) => {
                    let inside = value.get_ref().as_table();
                    if let Some((key, _)) = inside.and_then(|inside| inside.get_key_value("jitter")) {
                        refuse(key, off);
                    }
                }
                ("backoff", Naive::None | Naive::Immediate) => {
                    refuse(key, "no waits, or naive = \"exponential\"")
                }
                ("backoff", Naive::Fixed) => refuse(key, "wait = \"1s\""),
                ("retries", Naive::None) => {
                    refuse(key, "naive = \"immediate\", \"fixed\" or \"exponential\"")
                }
                ("wait", Naive::None | Naive::Immediate | Naive::Exponential) => {
                    refuse(key, "naive = \"fixed\"")
                }
                (_, _) => {}
            }
        }
    }
}

/// What a `[policy]` table cannot say: how a call goes from one server of a route to the next, and what elsewhere
/// `preset = "batch"` alone says.
fn counted(reader: &Reader<'_>, table: &DeTable<'_>, policy: Policy) -> Option<Policy> {
    let mut builder = PolicyBuilder::from_policy(policy);
    if let Some(value) = table.get("fallbacks") {
        builder = builder.fallbacks(reader.count32("fallbacks", value, 0, 100)?);
    }
    if let Some(value) = table.get("tries") {
        builder = builder.tries(reader.count32("tries", value, 1, 100)?);
    }
    if let Some(value) = table.get("patience") {
        builder = builder.patience(reader.length("patience", value)?);
    }
    if let Some(value) = table.get("throttled_counts") {
        let Some(counts) = value.get_ref().as_bool() else {
            let error = reader.error(value.span(), "throttled_counts is neither true nor false");
            return reader.fault(error.expecting("true or false, without quotes"));
        };
        builder = builder.throttled_counts(counts);
    }
    match builder.build() {
        Ok(policy) => Some(policy),
        Err(why) => reader.fault(reader.error(0..0, why.to_string())),
    }
}

/// Who shares a gate.
fn fleet(reader: &Reader<'_>, value: &Value<'_>, load: Option<&Load>) -> Option<Fleet> {
    let fleet = match value.get_ref() {
        DeValue::String(_) => reader.word(
            "fleet",
            value,
            &[("client", Fleet::PerClient), ("one", Fleet::One)],
        )?,
        DeValue::Table(table) => {
            reader.keys(table, &["process"], "fleet");
            let clients = reader.needed(table, "process", value, RIGHT_FLEET)?;
            Fleet::PerProcess {
                clients: reader.count32("process", clients, 1, u64::MAX)?,
            }
        }
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_) => {
            return reader.fault(
                reader
                    .error(value.span(), "this is no fleet")
                    .expecting(RIGHT_FLEET),
            );
        }
    };
    match (fleet, load.map(Load::clients)) {
        (Fleet::PerClient | Fleet::PerProcess { .. }, Some(1)) => {
            let message = "there is one client, so this is the same as \"one\"";
            let error = reader.error(value.span(), message);
            reader.fault(error.expecting("fleet = \"one\", or more `clients` in [load]"))
        }
        (fleet, _) => Some(fleet),
    }
}
