//! A policy as the `[policy]` table of a file.
//!
//! What can go wrong: the table that is printed is not the policy that was run. So it holds every setting that differs
//! from its preset, what no such table can say stands in it as a comment, and a test reads it back.

use seawall_core::policy::{Policy, PolicyBuilder, Preset, Setting, SettingValue};
use seawall_core::time::Duration;
use std::fmt::Write as _;

/// Presets that a table may stand on: each says something that no key does. `off` does, too, but who reads it takes all
/// for off.
const GROUNDS: [Preset; 3] = [Preset::Default, Preset::Batch, Preset::Writes];
/// Settings that no `[policy]` table has a key for, and who says them.
const KEYLESS: [(&str, &str); 5] = [
    ("fallbacks", A_ROUTE),
    ("tries", A_ROUTE),
    ("patience", A_ROUTE),
    ("throttled_counts", "the file of a simulation"),
    ("declared_counts", "a preset"),
];
const A_ROUTE: &str = "a [[route]], or the file of a simulation,";
/// What a wait of no time, which no file can say, is written as.
const SHORTEST: Duration = Duration::from_millis(1);

/// The lines of a `[policy]` table that is this policy; each ends. What no such table can say (when a call moves on, a
/// policy without waits) is told by comments at its end.
pub fn policy_table(policy: &Policy) -> String {
    let grounds = GROUNDS.map(|ground| Written::over(ground, policy));
    let nearest = grounds.iter().min_by_key(|written| written.unsaid.len());
    nearest.expect("there are grounds").text()
}

/// A table, and what it cannot say.
#[derive(Default)]
struct Written {
    tables: Vec<Table>,
    unsaid: Vec<String>,
}

struct Table {
    name: String,
    lines: Vec<Line>,
}

struct Line {
    key: &'static str,
    value: Value,
}

enum Value {
    Plain(String),
    Inline(Vec<(&'static str, String)>),
}

impl Written {
    /// What differs from a preset.
    fn over(ground: Preset, policy: &Policy) -> Self {
        let mut written = Self::default();
        if ground != Preset::Default {
            written.put("preset", format!("\"{}\"", ground.name()));
        }
        let waits = waiting(policy);
        if waits != *policy {
            written.unsaid.push(
                "no wait between attempts; the file of a simulation can: naive = \"immediate\"".to_owned(),
            );
        }
        let (mine, usual) = (waits.settings(), Policy::preset(ground).settings());
        for Setting { key, value } in &mine {
            let usual = match *key {
                // Said in any case: it is what is looked for first.
                "retries" => None,
                // A file that says a base and no lower end means a tenth of it.
                "backoff.min" => Some(SettingValue::Length(waits.call.backoff().base().over(10))),
                key => of(&usual, key),
            };
            let keyless = KEYLESS.iter().find(|(keyless, _)| keyless == key);
            match keyless {
                _ if usual == Some(*value) => {}
                None => written.put(key, value.to_string()),
                Some((_, who)) => {
                    written.unsaid.push(format!("{key} = {value}; {who} can"));
                }
            }
        }
        let replaced = |key: &str| {
            mine.iter()
                .any(|mine| is_within(key, mine.key) || is_within(mine.key, key))
        };
        let lost = usual.iter().filter(|usual| !replaced(usual.key));
        let lost = lost.map(|usual| format!("{} of nothing", usual.key));
        written.unsaid.extend(lost);
        written
    }

    /// Adds a line to the table that it is of.
    fn put(&mut self, path: &'static str, value: String) {
        let (table, key) = path.split_once('.').unwrap_or(("", path));
        let name = match table {
            "" => "policy".to_owned(),
            table => format!("policy.{table}"),
        };
        if self.tables.last().is_none_or(|last| last.name != name) {
            let lines = Vec::new();
            self.tables.push(Table { name, lines });
        }
        let lines = &mut self.tables.last_mut().expect("it was added").lines;
        let Some((key, inner)) = key.split_once('.') else {
            return lines.push(Line {
                key,
                value: Value::Plain(value),
            });
        };
        if let Some(Line {
            key: last,
            value: Value::Inline(entries),
        }) = lines.last_mut()
            && *last == key
        {
            return entries.push((inner, value));
        }
        lines.push(Line {
            key,
            value: Value::Inline(vec![(inner, value)]),
        });
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for Table { name, lines } in &self.tables {
            if !text.is_empty() {
                text.push('\n');
            }
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[{name}]");
            for Line { key, value } in lines {
                let _ = match value {
                    Value::Plain(value) => writeln!(text, "{key} = {value}"),
                    Value::Inline(entries) => {
                        let entries: Vec<String> = entries
                            .iter()
                            .map(|(key, value)| format!("{key} = {value}"))
                            .collect();
                        writeln!(text, "{key} = {{ {} }}", entries.join(", "))
                    }
                };
            }
        }
        for what in &self.unsaid {
            let _ = writeln!(text, "# No [policy] table can say {what}.");
        }
        text
    }
}

/// The policy as far as a file can say it: with the shortest waits where it has none.
fn waiting(policy: &Policy) -> Policy {
    let backoff = policy.call.backoff();
    let builder = PolicyBuilder::from_policy(*policy)
        .backoff_base(backoff.base().max(SHORTEST))
        .backoff_cap(backoff.cap().max(SHORTEST));
    builder.build().expect("all else of it was built before")
}

fn of(settings: &[Setting], key: &str) -> Option<SettingValue> {
    let setting = settings.iter().find(|setting| setting.key == key);
    setting.map(|setting| setting.value)
}

/// Whether a setting is another, or one of the table that the other is.
fn is_within(key: &str, table: &str) -> bool {
    let rest = key.strip_prefix(table);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
