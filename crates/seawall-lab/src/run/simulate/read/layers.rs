//! `[[layer]]` and `[layers]`: callers between the clients and the servers.

use super::Asked;
use super::policy::SHARED_KEYS;
use crate::reader::{Key, Reader, Value};
use crate::scenario::PolicyAt;
use crate::sim::model::{Layer, Told};
use seawall::config::read_policy;
use seawall_core::policy::Policy;
use toml::de::DeTable;

/// Every key of layers.
#[cfg(test)]
pub(super) const KEYS: [&[&str]; 2] = [&LAYER_KEYS, &LAYERS_KEYS];
const LAYER_KEYS: [&str; 4] = ["name", "processes", "told", "policy"];
const LAYERS_KEYS: [&str; 4] = ["count", "processes", "told", "policy"];
const TOLD: [(&str, Told); 2] = [("nothing", Told::Nothing), ("attempts", Told::Attempts)];
/// The most layers: each may multiply the attempts.
const LAYERS_MAX: u64 = 20;
const PROCESSES_MAX: u64 = 1_000_000;

impl Asked {
    pub(super) fn layers(&self, reader: &Reader<'_>, table: &DeTable<'_>) -> Option<Vec<Layer>> {
        match (table.get("layer"), table.get("layers")) {
            (None, None) => Some(Vec::new()),
            (Some(value), None) => {
                let tables = reader.tables("layer", value)?;
                if tables.len() as u64 > LAYERS_MAX {
                    let error = reader.error(value.span(), format!("these are {} layers", tables.len()));
                    return reader.fault(error.expecting(format!("at most {LAYERS_MAX}")));
                }
                let numbered = tables.into_iter().enumerate();
                let read: Vec<Option<Layer>> = numbered
                    .map(|(number, value)| self.layer(reader, value, number + 1))
                    .collect();
                read.into_iter().collect()
            }
            (None, Some(value)) => {
                let right = "[layers] with count = 2, processes = 1 and told = \"nothing\"";
                let table = reader.table("layers", value, right)?;
                reader.keys(table, &LAYERS_KEYS, "layers");
                let count = reader
                    .needed(table, "count", value, right)
                    .and_then(|value| reader.count("count", value, 1, LAYERS_MAX));
                let one = self.layer_of(reader, value, table, String::new());
                let (count, one) = (count?, one?);
                let named = |number| Layer {
                    name: format!("layer {number}"),
                    ..one.clone()
                };
                Some((1..=count).map(named).collect())
            }
            (Some(_), Some(value)) => {
                let error = reader.error(value.span(), "layers are written one by one or by their number");
                reader.fault(error.expecting("[[layer]] or [layers]"))
            }
        }
    }

    fn layer(&self, reader: &Reader<'_>, value: &Value<'_>, number: usize) -> Option<Layer> {
        let table = value.get_ref().as_table()?;
        reader.keys(table, &LAYER_KEYS, "a layer");
        let name = match table.get("name") {
            Some(value) => reader.name(value)?.0.to_owned(),
            None => format!("layer {number}"),
        };
        self.layer_of(reader, value, table, name)
    }

    fn layer_of(
        &self,
        reader: &Reader<'_>,
        value: &Value<'_>,
        table: &DeTable<'_>,
        name: String,
    ) -> Option<Layer> {
        let processes = reader
            .needed(
                table,
                "processes",
                value,
                "processes = 1: how many share a layer's work, each with gates of its own",
            )
            .and_then(|value| reader.count32("processes", value, 1, PROCESSES_MAX));
        let told = reader
            .needed(
                table,
                "told",
                value,
                "told = \"nothing\", or \"attempts\" where callers and called tell each other",
            )
            .and_then(|value| reader.word("told", value, &TOLD));
        let policy = match table.get_key_value("policy") {
            Some((key, value)) => Some(self.policy_of_layer(reader, key, value)?),
            None => None,
        };
        Some(Layer {
            name,
            policy,
            processes: processes?,
            told: told?,
        })
    }

    /// A preset, or a table with all that a `[[policy]]` may have but its name, its fleet and its asserts.
    fn policy_of_layer(&self, reader: &Reader<'_>, key: &Key<'_>, value: &Value<'_>) -> Option<Policy> {
        match reader.policy(key, value, &SHARED_KEYS)? {
            PolicyAt::Preset(preset) => Some(Policy::preset(preset.value)),
            PolicyAt::Table { toml, .. } => {
                let policy = self.parsed(reader, &toml);
                self.with_ours(reader, value.get_ref().as_table()?, policy)
            }
            PolicyAt::Default => None,
        }
    }

    /// A policy that stands alone in `toml`, by the parser that reads all of them.
    pub(super) fn parsed(&self, reader: &Reader<'_>, toml: &str) -> Option<Policy> {
        match read_policy(reader.source.name.unwrap_or_default(), toml) {
            Ok(policy) => Some(policy),
            Err(errors) => {
                self.wrong_policy(&errors);
                None
            }
        }
    }
}
