//! `[[step]]`.

use super::{Key, Reader, Value, in_order};
use crate::error::shown;
use crate::scenario::step::{Names, SENDS_MAX, is_name};
use crate::scenario::{Body, Capture, JsonPath, PolicyAt, Send, Sends, Step, StepExpect, Template};
use seawall_core::facts::Replay;
use seawall_core::time::Duration;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::de::DeTable;

/// The most steps of a scenario.
const STEPS_MAX: usize = 1_000;
/// The keys of a step.
pub(in crate::scenario) const STEP_KEYS: [&str; 14] = [
    "name", "send", "headers", "body", "json", "policy", "deadline", "key", "replay", "times", "together",
    "after", "capture", "expect",
];
const REPLAYS: [(&str, Replay); 2] = [("declared", Replay::Declared), ("unsafe", Replay::Unsafe)];
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

impl Reader<'_> {
    pub(super) fn steps(&self, value: &Value<'_>) -> Option<Vec<Step>> {
        let right = "one [[step]] or more";
        let Some(steps) = value.get_ref().as_array() else {
            return self.fault(
                self.error(value.span(), "step is no list of tables")
                    .expecting(right),
            );
        };
        if steps.is_empty() || steps.len() > STEPS_MAX {
            let message = format!("a scenario has 1 to {STEPS_MAX} steps, not {}", steps.len());
            return self.fault(self.error(value.span(), message).expecting(right));
        }
        let mut known = BTreeSet::new();
        let mut read = Vec::with_capacity(steps.len());
        for step in steps.iter() {
            read.push(
                self.table("a step", step, right)
                    .and_then(|table| self.step(table, step.span(), &mut known)),
            );
        }
        read.into_iter().collect()
    }

    fn step(&self, table: &DeTable<'_>, span: Range<usize>, known: &mut BTreeSet<String>) -> Option<Step> {
        self.keys(table, &STEP_KEYS, "a step");
        let mut names = Names::new();
        let name = table.get("name").and_then(|value| self.string("name", value));
        let send = self.send(table, span.clone(), &mut names);
        let headers = self.headers(table, &mut names);
        let body = self.body(table, &mut names);
        let policy = match table.get_key_value("policy") {
            Some((key, value)) => self.policy(key, value, &[]),
            None => Some(PolicyAt::Default),
        };
        let key = self.optional(table, "key", |value| {
            let (text, span) = self.string("key", value)?;
            self.template(text, span, &mut names)
        });
        let sends = self.sends(table);
        let expect = match table.get_key_value("expect") {
            Some((_, value)) => self.step_expect(value),
            None => Some(StepExpect::default()),
        };
        self.known(names, known);
        let captures = self.captures(table, known);
        let deadline = self.optional(table, "deadline", |value| self.length("deadline", value));
        let replay = self.optional(table, "replay", |value| self.word("replay", value, &REPLAYS));
        let after = self.optional(table, "after", |value| self.length("after", value));
        Some(Step {
            name: name.map(|(name, _)| name.to_owned()),
            at: self.place(span),
            send: send?,
            headers: headers?,
            body: body?,
            policy: policy?,
            deadline: deadline?,
            key: key?,
            replay: replay?,
            sends: sends?,
            after: after?.unwrap_or(Duration::ZERO),
            captures: captures?,
            expect: expect?,
        })
    }

    /// A key that need not be there; `None` where it is and cannot be read.
    #[expect(clippy::option_option, reason = "a fault and an absence are two things")]
    pub(super) fn optional<T>(
        &self,
        table: &DeTable<'_>,
        key: &str,
        read: impl FnOnce(&Value<'_>) -> Option<T>,
    ) -> Option<Option<T>> {
        match table.get(key) {
            Some(value) => read(value).map(Some),
            None => Some(None),
        }
    }

    fn send(&self, table: &DeTable<'_>, span: Range<usize>, names: &mut Names) -> Option<Send> {
        let right = "send = \"POST /v1/payments\"";
        let Some((key, value)) = table.get_key_value("send") else {
            return self.fault(
                self.error(span, "this step does not say what it sends")
                    .expecting(right),
            );
        };
        let (text, span) = self.string("send", value)?;
        let (method, target, found) = self.inside(text, span.clone(), |source, span| {
            let text = &source.text[span.clone()];
            let method = text.split_whitespace().next().unwrap_or_default();
            let start = span.start + (text.len() - text.trim_start().len());
            let method_end = start + method.len();
            let rest = &source.text[method_end..span.end];
            let target =
                method_end + (rest.len() - rest.trim_start().len())..span.start + text.trim_end().len();
            let target = target.start.min(target.end)..target.end;
            if method.is_empty() || target.is_empty() {
                return Err(source
                    .error(span, "a send is a method and a path")
                    .expecting(right));
            }
            if !method
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'-')
            {
                let message = format!("`{}` is no method; methods are in capitals", shown(method));
                let error = source.error(start..method_end, message);
                return Err(error.near(&method.to_uppercase(), &METHODS).expecting(right));
            }
            let path = &source.text[target.clone()];
            if !path.starts_with('/') && !path.starts_with("{{") {
                let message = format!(
                    "`{}` is no path; a step is sent to the scenario's mock",
                    shown(path)
                );
                return Err(source
                    .error(target, message)
                    .expecting("a path that begins with `/`"));
            }
            let (template, found) = Template::read(source, target)?;
            Ok((method.to_owned(), template, found))
        })?;
        names.extend(found);
        Some(Send {
            method,
            target,
            at: self.written(key, value, ()).at,
        })
    }

    fn headers(&self, table: &DeTable<'_>, names: &mut Names) -> Option<Vec<(String, Template)>> {
        let Some(value) = table.get("headers") else {
            return Some(Vec::new());
        };
        let table = self.table("headers", value, "headers = { x-team = \"blue\" }")?;
        let headers: Vec<_> = in_order(table)
            .into_iter()
            .map(|(key, value)| {
                let name = self.header_name(key);
                let (text, span) = self.string(key.get_ref(), value)?;
                Some((name?, self.template(text, span, names)?))
            })
            .collect();
        headers.into_iter().collect()
    }

    /// A header's name, in small letters.
    pub(super) fn header_name(&self, key: &Key<'_>) -> Option<String> {
        let name = key.get_ref();
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if !name.is_empty() && name.bytes().all(token) {
            return Some(name.to_ascii_lowercase());
        }
        let message = format!("`{}` is no header's name", shown(name));
        self.fault(self.error(key.span(), message).expecting("letters, digits and -"))
    }

    fn body(&self, table: &DeTable<'_>, names: &mut Names) -> Option<Body> {
        match (table.get("body"), table.get_key_value("json")) {
            (None, None) => Some(Body::None),
            (Some(value), None) => {
                let (text, span) = self.string("body", value)?;
                self.template(text, span, names).map(Body::Text)
            }
            (None, Some((_, value))) => self.json(value, names).map(Body::Json),
            (Some(_), Some((key, _))) => {
                let message = "a step has a body or json, not both";
                let fix = "body for a text as it is, json for TOML as JSON";
                self.fault(self.error(key.span(), message).expecting(fix))
            }
        }
    }

    fn sends(&self, table: &DeTable<'_>) -> Option<Sends> {
        let times = self.optional(table, "times", |value| {
            self.count("times", value, 1, u64::from(SENDS_MAX))
        });
        let together = self.optional(table, "together", |value| self.truth("together", value));
        let times = times?.map(|times| u32::try_from(times).unwrap_or(SENDS_MAX));
        match (times, together?) {
            (None, None | Some(false)) => Some(Sends::Once),
            (Some(times), Some(true)) => Some(Sends::Together(times)),
            (Some(times), None | Some(false)) => Some(Sends::InTurn(times)),
            (None, Some(true)) => {
                let span = table.get("together").map_or(0..0, |value| value.span());
                let message = "one send has nothing to be together with";
                self.fault(self.error(span, message).expecting("times = 3 beside it"))
            }
        }
    }

    /// Every name that a step asks for was captured before.
    fn known(&self, names: Names, known: &BTreeSet<String>) {
        for (name, span) in names.into_iter().filter(|(name, _)| !known.contains(name)) {
            let message = format!("no step before this one captures `{}`", shown(&name));
            let words: Vec<&str> = known.iter().map(String::as_str).collect();
            let error = self.error(span, message);
            self.fault::<()>(match words.is_empty() {
                true => error.expecting(format!(
                    "capture = {{ {name} = \"$.{name}\" }} in an earlier step"
                )),
                false => error.expecting_one_of(&name, &words),
            });
        }
    }

    fn captures(&self, table: &DeTable<'_>, known: &mut BTreeSet<String>) -> Option<Vec<Capture>> {
        let Some(value) = table.get("capture") else {
            return Some(Vec::new());
        };
        let table = self.table("capture", value, "capture = { id = \"$.id\" }")?;
        let captures: Vec<_> = in_order(table)
            .into_iter()
            .map(|(key, value)| {
                let name = key.get_ref();
                // Known even where its path is wrong: one mistake is told once.
                known.insert(name.to_string());
                if !is_name(name) {
                    let message = format!("`{}` is no name", shown(name));
                    let error = self
                        .error(key.span(), message)
                        .expecting("letters, digits, _ and -");
                    return self.fault(error);
                }
                let (text, span) = self.string(name, value)?;
                let path = self.inside(text, span, JsonPath::read)?;
                Some(Capture {
                    name: name.to_string(),
                    path,
                    at: self.written(key, value, ()).at,
                })
            })
            .collect();
        captures.into_iter().collect()
    }
}
