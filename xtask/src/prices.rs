//! The table of prices that the library carries, made from a table of the world's.
//!
//! What can go wrong: a price of nothing is taken for a model that is free when it says that nobody knew, a float turns
//! into a price that is off by a hair, and a model that two rows are about gets the one that was read last. So a chat
//! model without a price stays without one, prices are whole millionths of a dollar per million tokens, and two rows
//! that contradict each other end the run.

use crate::repo::Error;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where the table stands.
pub const PATH: &str = "crates/seawall/src/ai/prices/table.tsv";

/// What the source calls a seller, what we do, and the start of the names there that says it again.
const SELLERS: [(&str, &str, &str); 13] = [
    ("anthropic", "anthropic", "anthropic/"),
    ("azure", "azure", "azure/"),
    ("cohere", "cohere", "cohere/"),
    ("cohere_chat", "cohere", "cohere_chat/"),
    ("deepseek", "deepseek", "deepseek/"),
    ("fireworks_ai", "fireworks", "fireworks_ai/"),
    ("gemini", "gemini", "gemini/"),
    ("groq", "groq", "groq/"),
    ("mistral", "mistral", "mistral/"),
    ("openai", "openai", "openai/"),
    ("together_ai", "together", "together_ai/"),
    ("vertex_ai-language-models", "vertex", "vertex_ai/"),
    ("xai", "xai", "xai/"),
];

/// The table, from the source's text. `date` is the day of the source, as the table will say it.
///
/// # Errors
/// A source that is no JSON object of objects, a seller that has no name here, a price that is no number or not whole
/// in our unit, two rows of one name that contradict each other.
pub fn table(source: &str, date: &str) -> Result<String, Error> {
    let Ok(Value::Object(models)) = serde_json::from_str(source) else {
        return Err(form("the source is no JSON object".into()));
    };
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for (key, model) in &models {
        let Value::Object(model) = model else {
            return Err(form(format!("`{key}` is no object")));
        };
        let (name, row) = Row::read(key, model)?;
        if row.is_empty() {
            continue;
        }
        match rows.get(&name) {
            Some(other) if other == &row || row.input.is_none() => {}
            Some(other) if other.input.is_some() => {
                return Err(form(format!("two rows of `{name}` contradict each other")));
            }
            // The other says no price, and this one does.
            Some(_) | None => {
                rows.insert(name, row);
            }
        }
    }
    let mut text = format!(
        "# Written by `cargo xtask prices`; change nothing here by hand.\n\
         # date: {date}\n\
         # source: litellm's model_prices_and_context_window.json (MIT, LICENSE-litellm beside this file)\n\
         # unit: millionths of a US dollar per million tokens; `-` is not stated\n\
         # columns: name, input, output, cached input, long cache write in thousandths of input, window, output at most; \
         above so many tokens read: input, output, cached input\n"
    );
    for (name, row) in &rows {
        row.write(name, &mut text);
    }
    Ok(text)
}

#[derive(Default, PartialEq)]
struct Row {
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
    long_write_per_mille: Option<u64>,
    window: Option<u64>,
    output_max: Option<u64>,
    above: Option<Above>,
}

#[derive(PartialEq)]
struct Above {
    tokens: u64,
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
}

impl Row {
    fn read(key: &str, model: &Map<String, Value>) -> Result<(String, Self), Error> {
        let seller = model.get("provider").and_then(Value::as_str).unwrap_or_default();
        let Some((_, ours, start)) = SELLERS.iter().find(|(theirs, _, _)| *theirs == seller) else {
            return Err(form(format!(
                "`{key}` is sold by `{seller}`, which has no name here"
            )));
        };
        let name = key.strip_prefix(start).unwrap_or(key).to_ascii_lowercase();
        let is_embedding = model.get("mode").and_then(Value::as_str) == Some("embedding");
        let none = Map::new();
        let tiers = model.get("tiers").and_then(Value::as_object).unwrap_or(&none);
        let input = stated(price(key, model, "input_per_token")?);
        let output = price(key, model, "output_per_token")?;
        let long = match price(key, tiers, "cache_creation_input_token_cost_above_1hr")? {
            Some(price) => Some(price),
            None => price(key, tiers, "cache_creation_input_token_cost_above_12hr")?,
        };
        let row = Self {
            input,
            // Who only reads writes nothing, and that costs nothing.
            output: if is_embedding { output } else { stated(output) },
            cached: stated(price(key, model, "cached_input_per_token")?),
            long_write_per_mille: long
                .zip(input)
                .map(|(long, input)| (long * 1_000).div_ceil(input)),
            window: count(model, "window"),
            output_max: count(model, "output_max"),
            above: if input.is_some() { above(key, tiers)? } else { None },
        };
        Ok((format!("{ours}/{name}"), row))
    }

    fn is_empty(&self) -> bool {
        self.input.is_none() && self.window.is_none()
    }

    fn write(&self, name: &str, text: &mut String) {
        text.push_str(name);
        let cells = [
            self.input,
            self.output,
            self.cached,
            self.long_write_per_mille,
            self.window,
            self.output_max,
        ];
        let above = self.above.as_ref();
        let more = above.map(|above| [Some(above.tokens), above.input, above.output, above.cached]);
        for cell in cells.into_iter().chain(more.into_iter().flatten()) {
            match cell {
                Some(number) => write!(text, "\t{number}").expect("a string takes what it is given"),
                None => text.push_str("\t-"),
            }
        }
        text.push('\n');
    }
}

/// The dearer prices of long prompts, where the source states them.
fn above(key: &str, tiers: &Map<String, Value>) -> Result<Option<Above>, Error> {
    let thousands = tiers.keys().find_map(|tier| {
        let from = tier.strip_prefix("input_cost_per_token_above_")?;
        from.strip_suffix("k_tokens")?.parse::<u64>().ok()
    });
    let Some(thousands) = thousands else {
        return Ok(None);
    };
    let at = |what: &str| price(key, tiers, &format!("{what}_above_{thousands}k_tokens")).map(stated);
    Ok(Some(Above {
        tokens: thousands * 1_000,
        input: at("input_cost_per_token")?,
        output: at("output_cost_per_token")?,
        cached: at("cache_read_input_token_cost")?,
    }))
}

/// Nothing is what the source says where it does not know.
fn stated(price: Option<u64>) -> Option<u64> {
    price.filter(|price| *price > 0)
}

fn count(model: &Map<String, Value>, field: &str) -> Option<u64> {
    model
        .get(field)
        .and_then(Value::as_u64)
        .filter(|count| *count > 0)
}

/// A price per token in dollars, as millionths of a dollar per million tokens.
fn price(key: &str, from: &Map<String, Value>, field: &str) -> Result<Option<u64>, Error> {
    let Some(value) = from.get(field) else {
        return Ok(None);
    };
    let wrong = |why: &str| Err(form(format!("`{field}` of `{key}` is {value}: {why}")));
    let Some(dollars) = value.as_f64() else {
        return wrong("no number");
    };
    let exact = dollars * 1e12;
    let whole = exact.round();
    if !(0.0..1e12).contains(&whole) {
        return wrong("out of range");
    }
    // A double holds fifteen digits, and the dearest price has nine in this unit.
    if (exact - whole).abs() > 1e-4 {
        return wrong("finer than a millionth of a dollar per million tokens");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole, and between 0 and 10^12"
    )]
    let whole = whole as u64;
    Ok(Some(whole))
}

fn form(detail: String) -> Error {
    Error::Form {
        path: "the source of prices".into(),
        detail,
    }
}

#[cfg(test)]
mod tests;
