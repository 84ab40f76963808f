//! `client = { run = "python3 pay.py" }`.

use super::{Key, Reader, Value, in_order};
use crate::error::shown;
use crate::scenario::client::{DEFAULT_CLIENT_TIMEOUT, RUNS_MAX, split};
use crate::scenario::{Client, Command, Grouping, Written};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The keys of a client.
pub(in crate::scenario) const CLIENT_KEYS: [&str; 6] = ["run", "timeout", "runs", "env", "dir", "calls"];
const GROUPINGS: [(&str, Grouping); 2] = [("one", Grouping::One), ("many", Grouping::ByLikeness)];

impl Reader<'_> {
    pub(super) fn client(&self, key: &Key<'_>, value: &Value<'_>) -> Option<Client> {
        let table = self.table("client", value, "client = { run = \"python3 pay.py\" }")?;
        self.keys(table, &CLIENT_KEYS, "a client");
        let command = self.command(table, key.span());
        let timeout = self.optional(table, "timeout", |value| match self.length("timeout", value)? {
            length if length.is_zero() => self.fault(
                self.error(value.span(), "no program ends in no time")
                    .expecting("60s"),
            ),
            length => Some(length),
        });
        let runs = self.optional(table, "runs", |value| {
            self.count("runs", value, 1, u64::from(RUNS_MAX))
        });
        let calls = self.optional(table, "calls", |value| self.word("calls", value, &GROUPINGS));
        let env = self.env(table);
        let dir = match table.get_key_value("dir") {
            Some((key, value)) => self
                .string("dir", value)
                .map(|(dir, _)| Some(self.written(key, value, dir.to_owned()))),
            None => Some(None::<Written<String>>),
        };
        Some(Client {
            command: command?,
            timeout: timeout?.unwrap_or(DEFAULT_CLIENT_TIMEOUT),
            runs: runs?.map_or(1, |runs| u32::try_from(runs).unwrap_or(RUNS_MAX)),
            env: env?,
            dir: dir?,
            grouping: calls?.unwrap_or_default(),
            at: self.written(key, value, ()).at,
        })
    }

    fn command(&self, table: &DeTable<'_>, span: Range<usize>) -> Option<Command> {
        let right = "run = \"python3 pay.py --amount 5\", or a list of words";
        let Some(value) = table.get("run") else {
            return self.fault(
                self.error(span, "this client does not say what to run")
                    .expecting(right),
            );
        };
        let words = match value.get_ref() {
            DeValue::String(text) => self.inside(text, value.span(), split)?,
            DeValue::Array(words) => {
                let words: Vec<_> = words
                    .iter()
                    .map(|word| self.string("a word", word).map(|(word, _)| word.to_owned()))
                    .collect();
                words.into_iter().collect::<Option<Vec<_>>>()?
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_) => Vec::new(),
        };
        match words.first().is_some_and(|program| !program.is_empty()) {
            true => Some(Command { words }),
            false => self.fault(self.error(value.span(), "this is no command").expecting(right)),
        }
    }

    fn env(&self, table: &DeTable<'_>) -> Option<Vec<(String, String)>> {
        let Some(value) = table.get("env") else {
            return Some(Vec::new());
        };
        let table = self.table("env", value, "env = { PAY_RETRIES = \"3\" }")?;
        let env: Vec<_> = in_order(table)
            .into_iter()
            .map(|(key, value)| {
                let name = key.get_ref();
                if name.is_empty() || name.contains(['=', '\0']) {
                    let message = format!("`{}` is no variable's name", shown(name));
                    let error = self.error(key.span(), message).expecting("a name without `=`");
                    return self.fault(error);
                }
                let (text, _) = self.string(name, value)?;
                Some((name.to_string(), text.to_owned()))
            })
            .collect();
        env.into_iter().collect()
    }
}
