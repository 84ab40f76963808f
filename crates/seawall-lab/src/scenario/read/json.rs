//! JSON written as TOML.

use super::{Reader, Value, in_order};
use crate::scenario::step::Names;
use crate::scenario::{JsonBody, Scalar, Template};
use std::ops::Range;
use toml::de::{DeInteger, DeValue};

impl Reader<'_> {
    /// TOML as JSON; tells each captured name that stands in it.
    pub(super) fn json(&self, value: &Value<'_>, names: &mut Names) -> Option<JsonBody> {
        match value.get_ref() {
            DeValue::String(text) => self.template(text, value.span(), names).map(JsonBody::Text),
            DeValue::Boolean(truth) => Some(JsonBody::Bool(*truth)),
            DeValue::Datetime(date) => self
                .template(&date.to_string(), value.span(), names)
                .map(JsonBody::Text),
            DeValue::Integer(_) | DeValue::Float(_) => self.number(value).map(JsonBody::Number),
            DeValue::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| self.json(item, names)).collect();
                items.into_iter().collect::<Option<Vec<_>>>().map(JsonBody::List)
            }
            DeValue::Table(table) => {
                let entries: Vec<_> = in_order(table)
                    .into_iter()
                    .map(|(key, value)| Some((key.get_ref().to_string(), self.json(value, names)?)))
                    .collect();
                entries
                    .into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(JsonBody::Table)
            }
        }
    }

    /// A value to compare with.
    pub(super) fn scalar(&self, value: &Value<'_>) -> Option<Scalar> {
        match value.get_ref() {
            DeValue::String(text) => Some(Scalar::Text(text.to_string())),
            DeValue::Boolean(truth) => Some(Scalar::Bool(*truth)),
            DeValue::Integer(_) | DeValue::Float(_) => self.number(value).map(Scalar::Number),
            DeValue::Datetime(date) => Some(Scalar::Text(date.to_string())),
            DeValue::Array(_) | DeValue::Table(_) => self.fault(
                self.error(value.span(), "a list or a table is compared with nothing")
                    .expecting("a text, a number, true or false; name what is inside by its path"),
            ),
        }
    }

    fn number(&self, value: &Value<'_>) -> Option<String> {
        let (text, number) = match value.get_ref() {
            DeValue::Integer(number) => (number.as_str(), decimal(number)),
            DeValue::Float(number) => (number.as_str(), finite(number.as_str())),
            DeValue::String(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => ("", None),
        };
        number.or_else(|| {
            let message = format!("JSON has no `{text}`");
            self.fault(self.error(value.span(), message).expecting("a number"))
        })
    }

    /// A text with places for captured values; tells their names.
    pub(super) fn template(&self, text: &str, span: Range<usize>, names: &mut Names) -> Option<Template> {
        let (template, found) = self.inside(text, span.clone(), Template::read)?;
        let stands = crate::file::unquoted(self.source, text, span.clone()).is_some();
        names.extend(
            found
                .into_iter()
                .map(|(name, at)| (name, if stands { at } else { span.clone() })),
        );
        Some(template)
    }
}

fn decimal(number: &DeInteger<'_>) -> Option<String> {
    let digits = number.as_str().replace('_', "");
    match number.radix() {
        10 => Some(digits.strip_prefix('+').unwrap_or(&digits).to_owned()),
        radix => u128::from_str_radix(&digits, radix)
            .ok()
            .map(|number| number.to_string()),
    }
}

fn finite(text: &str) -> Option<String> {
    let digits = text.replace('_', "");
    let digits = digits.strip_prefix('+').unwrap_or(&digits);
    let plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    plain.then(|| digits.to_owned())
}
