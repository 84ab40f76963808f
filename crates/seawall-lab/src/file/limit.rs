//! The `limit` of a route.

use super::{Reader, Value};
use crate::error::{ScriptError, shown};
use crate::plan::{Form, Limit, LimitKey};
use std::num::NonZeroU32;
use toml::de::DeTable;

/// The keys of a limit.
pub(super) const LIMIT_KEYS: [&str; 8] = [
    "key",
    "rpm",
    "tpm",
    "rps",
    "concurrency",
    "burst",
    "form",
    "window",
];
const RIGHT: &str = "limit = { key = \"header:authorization\", rpm = 60, tpm = 10000 }";
/// The one kind of window that there is.
const BUCKET: &str = "bucket";

impl Reader<'_> {
    pub(super) fn limit(&self, value: &Value<'_>) -> Result<Limit, ScriptError> {
        let error = |message: &str| self.source.error(value.span(), message).expecting(RIGHT);
        let Some(table) = value.get_ref().as_table() else {
            return Err(error("limit is no table"));
        };
        self.keys(table, &LIMIT_KEYS, "a limit")?;
        let limit = Limit {
            key: self.limit_key(table)?,
            requests_per_minute: self.count(table, "rpm")?,
            requests_per_second: self.count(table, "rps")?,
            tokens_per_minute: self.count(table, "tpm")?,
            concurrency: self.count(table, "concurrency")?,
            burst: self.count(table, "burst")?,
            form: self.form(table)?,
        };
        if let Some(window) = table.get("window") {
            self.bucket(window)?;
        }
        let requests = [limit.requests_per_minute, limit.requests_per_second];
        let others = [limit.tokens_per_minute, limit.concurrency];
        if requests.iter().chain(&others).all(Option::is_none) {
            return Err(error(
                "this limit limits nothing: it has no rpm, rps, tpm or concurrency",
            ));
        }
        match table.get("burst") {
            Some(burst) if requests.iter().all(Option::is_none) => Err(self
                .source
                .error(
                    burst.span(),
                    "burst is how many requests may come at once, and neither rpm nor rps says how often",
                )
                .expecting("rpm or rps beside burst")),
            Some(_) | None => Ok(limit),
        }
    }

    fn limit_key(&self, table: &DeTable<'_>) -> Result<LimitKey, ScriptError> {
        let Some(value) = table.get("key") else {
            return Ok(LimitKey::Route);
        };
        let (text, span) = self.string("key", value)?;
        match (text, super::header_named(text)) {
            ("route", _) => Ok(LimitKey::Route),
            (_, Some(name)) => Ok(LimitKey::Header(name)),
            (_, None) => Err(self
                .source
                .error(span, format!("`{}` is no key of a limit", shown(text)))
                .expecting("\"route\" or \"header:NAME\"")),
        }
    }

    fn form(&self, table: &DeTable<'_>) -> Result<Form, ScriptError> {
        let Some(value) = table.get("form") else {
            return Ok(Form::ByDialect);
        };
        let (text, span) = self.string("form", value)?;
        let known = Form::NAMED.into_iter().find(|form| form.name() == text);
        known.ok_or_else(|| {
            let message = format!("`{}` is no form of a limit", shown(text));
            let error = self.source.error(span, message);
            error.expecting_one_of(text, &Form::NAMED.map(Form::name))
        })
    }

    fn bucket(&self, value: &Value<'_>) -> Result<(), ScriptError> {
        let (text, span) = self.string("window", value)?;
        if text == BUCKET {
            return Ok(());
        }
        let message = format!("`{}` is no window that this mock has", shown(text));
        Err(self.source.error(span, message).expecting("\"bucket\""))
    }

    fn count(&self, table: &DeTable<'_>, key: &str) -> Result<Option<NonZeroU32>, ScriptError> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let number = self.integer(value).and_then(|number| u32::try_from(number).ok());
        match number.and_then(NonZeroU32::new) {
            Some(count) => Ok(Some(count)),
            None => Err(self
                .source
                .error(value.span(), format!("{key} is no number that limits"))
                .expecting(format!("a whole number from 1 to {}", u32::MAX))),
        }
    }
}
