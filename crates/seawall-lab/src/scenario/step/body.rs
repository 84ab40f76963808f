//! What a step sends: a text as it is written, or JSON made from TOML.

use super::Template;
use std::collections::BTreeMap;

/// The body of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Body {
    /// None.
    #[default]
    None,
    /// This text. What is captured stands in it as it is.
    Text(Template),
    /// This JSON; the runner says `content-type: application/json` where the step does not.
    Json(JsonBody),
}

/// JSON with places for captured values in its texts, where they are escaped as texts are.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonBody {
    /// A text.
    Text(Template),
    /// A number, digit by digit.
    Number(String),
    /// A truth.
    Bool(bool),
    /// A list.
    List(Vec<JsonBody>),
    /// A table, in the order in which TOML holds it.
    Table(Vec<(String, JsonBody)>),
}

impl Body {
    /// The bytes to send, with every place filled in; `None` where there is no body.
    ///
    /// # Errors
    /// The first name that nothing was captured for.
    pub fn fill(&self, captured: &BTreeMap<String, String>) -> Result<Option<String>, String> {
        match self {
            Self::None => Ok(None),
            Self::Text(text) => text.fill(captured).map(Some),
            Self::Json(json) => {
                let mut text = String::new();
                json.write(captured, &mut text)?;
                Ok(Some(text))
            }
        }
    }
}

impl JsonBody {
    fn write(&self, captured: &BTreeMap<String, String>, to: &mut String) -> Result<(), String> {
        match self {
            Self::Text(text) => to.push_str(&quoted(&text.fill(captured)?)),
            Self::Number(number) => to.push_str(number),
            Self::Bool(truth) => to.push_str(if *truth { "true" } else { "false" }),
            Self::List(items) => {
                to.push('[');
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        to.push(',');
                    }
                    item.write(captured, to)?;
                }
                to.push(']');
            }
            Self::Table(entries) => {
                to.push('{');
                for (place, (key, value)) in entries.iter().enumerate() {
                    if place > 0 {
                        to.push(',');
                    }
                    to.push_str(&quoted(key));
                    to.push(':');
                    value.write(captured, to)?;
                }
                to.push('}');
            }
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
