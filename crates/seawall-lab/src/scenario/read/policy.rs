//! A policy as one value: a preset's name, or a table for the product's own parser.

use super::{Key, Reader, Value};
use crate::scenario::PolicyAt;
use seawall_core::policy::Preset;
use toml::de::DeValue;

const PRESETS: [(&str, Preset); 5] = [
    ("default", Preset::Default),
    ("interactive", Preset::Interactive),
    ("batch", Preset::Batch),
    ("writes", Preset::Writes),
    ("off", Preset::Off),
];

impl Reader<'_> {
    /// A policy; `ours` are keys of its table that are no policy's, and that its reader reads.
    pub(crate) fn policy(&self, key: &Key<'_>, value: &Value<'_>, ours: &[&str]) -> Option<PolicyAt> {
        match value.get_ref() {
            DeValue::String(_) => {
                let preset = self.word("policy", value, &PRESETS)?;
                Some(PolicyAt::Preset(self.written(key, value, preset)))
            }
            DeValue::Table(table) => {
                let toml = self.alone(key, value, table, ours)?;
                let at = self.written(key, value, ()).at;
                Some(PolicyAt::Table { toml, at })
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => self.fault(
                self.error(value.span(), "this is no policy")
                    .expecting("a preset such as \"writes\", or a table such as { retries = 3 }"),
            ),
        }
    }
}
