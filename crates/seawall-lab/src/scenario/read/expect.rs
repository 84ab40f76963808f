//! `[expect]` and a step's `expect`.

mod schedule;

#[cfg(test)]
pub(super) use schedule::SCHEDULE_KEYS;

use super::{Key, Reader, Value, in_order};
use crate::error::{ScriptError, Source, shown};
use crate::findings::Rule;
use crate::plan::{Pattern, pattern_in};
use crate::scenario::expect::NoRange;
use crate::scenario::{
    BodyIs, CountRange, Elapsed, ExitIs, Expect, HeaderIs, JsonPath, LengthRange, Never, Observe, PathCount,
    StatusIs, StepExpect, Work, Written,
};
use seawall_core::reason::{CATALOGUE, Stage};
use toml::de::{DeTable, DeValue};

/// The keys of `[expect]`.
pub(in crate::scenario) const EXPECT_KEYS: [&str; 12] = [
    "attempts",
    "same_key",
    "same_body",
    "resources",
    "elapsed",
    "waits",
    "never",
    "exit",
    "stdout",
    "stderr",
    "schedule",
    "observe",
];
/// The keys of a step's `expect`.
pub(in crate::scenario) const STEP_EXPECT_KEYS: [&str; 8] = [
    "status", "reason", "attempts", "body", "header", "elapsed", "waits", "error",
];
/// Keys that only a client can answer to.
const CLIENT_ONLY: [&str; 4] = ["exit", "stdout", "stderr", "schedule"];
/// More attempts of one call than this are endless: twice the default policy's, and no SDK's default has as many.
pub const DEFAULT_ENDLESS: u32 = 10;

const COUNT_FORMS: &str = "3, \"2..=3\", \"2..\" or \"..=4\"";
const LENGTH_FORMS: &str = "\"1s..4s\", \"1s..\" or \"..4s\"";
const OBSERVES: [(&str, Observe); 2] = [("may", Observe::May), ("must", Observe::Must)];
const EXITS: [(&str, ExitIs); 2] = [("nonzero", ExitIs::NotZero), ("timeout", ExitIs::TimedOut)];

impl Reader<'_> {
    pub(super) fn expect(&self, value: &Value<'_>, work: Option<&Work>) -> Option<Expect> {
        let table = self.table("expect", value, "[expect] with attempts, never, …")?;
        self.keys(table, &EXPECT_KEYS, "[expect]");
        self.answerable(table, work);
        self.expect_in(table, work)
    }

    /// Reads a table whose keys are known to be right.
    pub(super) fn expect_in(&self, table: &DeTable<'_>, work: Option<&Work>) -> Option<Expect> {
        let attempts = self.attempts(table);
        let same_key = self.at(table, "same_key", |key, value| self.flag(key, value));
        let same_body = self.at(table, "same_body", |key, value| self.flag(key, value));
        let resources = self.resources(table);
        let elapsed = self.at(table, "elapsed", |key, value| self.elapsed(key, value));
        let waits = self.at(table, "waits", |key, value| self.waits(key, value));
        let never = self.never(table);
        let exit = self.at(table, "exit", |key, value| self.exit(key, value));
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| self.texts(table, name));
        let schedule = self.at(table, "schedule", |key, value| self.schedule(key, value));
        let observe = self.optional(table, "observe", |value| self.word("observe", value, &OBSERVES));
        let (elapsed, schedule) = (elapsed?, schedule?);
        if let (Some(Work::Client(_)), Some(written), None) = (work, &elapsed, &schedule)
            && written.value == Elapsed::Backoff
        {
            let message = "nothing says what this client promises about its waits";
            let error = self.error(written.at.span.clone(), message);
            self.fault::<()>(
                error.expecting("schedule = { base = \"500ms\", cap = \"8s\" } beside it, or \"1s..4s\""),
            );
        }
        Some(Expect {
            attempts: attempts?,
            same_key: same_key?,
            same_body: same_body?,
            resources: resources?,
            elapsed,
            waits: waits?,
            never: never?,
            exit: exit?,
            stdout: stdout?,
            stderr: stderr?,
            schedule,
            observe: observe?.unwrap_or_default(),
        })
    }

    pub(super) fn step_expect(&self, value: &Value<'_>) -> Option<StepExpect> {
        let table = self.table("expect", value, "expect = { status = 200 }")?;
        self.keys(table, &STEP_EXPECT_KEYS, "a step's expect");
        let status = self.at(table, "status", |key, value| self.status(key, value));
        let reason = self.at(table, "reason", |key, value| self.reason(key, value));
        let attempts = self.at(table, "attempts", |key, value| {
            Some(self.written(key, value, self.count_range("attempts", value)?))
        });
        let body = self.body_is(table);
        let headers = self.headers_are(table);
        let elapsed = self.at(table, "elapsed", |key, value| self.elapsed(key, value));
        let waits = self.at(table, "waits", |key, value| self.waits(key, value));
        let error = self.at(table, "error", |key, value| {
            let (text, _) = self.string("error", value)?;
            Some(self.written(key, value, text.to_owned()))
        });
        Some(StepExpect {
            status: status?,
            reason: reason?,
            attempts: attempts?,
            body: body?,
            headers: headers?,
            elapsed: elapsed?,
            waits: waits?,
            error: error?,
        })
    }

    /// A key that need not be there, with itself; `None` where it is and cannot be read.
    #[expect(clippy::option_option, reason = "a fault and an absence are two things")]
    fn at<T>(
        &self,
        table: &DeTable<'_>,
        name: &str,
        read: impl FnOnce(&Key<'_>, &Value<'_>) -> Option<T>,
    ) -> Option<Option<T>> {
        match table.get_key_value(name) {
            Some((key, value)) => read(key, value).map(Some),
            None => Some(None),
        }
    }

    /// What only a client can answer to is asked of a client.
    fn answerable(&self, table: &DeTable<'_>, work: Option<&Work>) {
        if !matches!(work, Some(Work::Steps(_))) {
            return;
        }
        for (key, _) in CLIENT_ONLY.iter().filter_map(|name| table.get_key_value(*name)) {
            let name = key.get_ref();
            let message = format!("`{name}` is about a client, and this scenario has steps");
            let fix = match name.as_ref() {
                "schedule" => "nothing: a step's policy says what its waits may be",
                _ => "expect = { status = 200 } in a step",
            };
            self.fault::<()>(self.error(key.span(), message).expecting(fix));
        }
    }

    fn attempts(&self, table: &DeTable<'_>) -> Option<Vec<Written<PathCount>>> {
        let Some((key, value)) = table.get_key_value("attempts") else {
            return Some(Vec::new());
        };
        let Some(paths) = value.get_ref().as_table() else {
            let (pattern, count) = (Pattern::any(), self.count_range("attempts", value)?);
            return Some(vec![self.written(key, value, PathCount { pattern, count })]);
        };
        let paths: Vec<_> = in_order(paths)
            .into_iter()
            .map(|(key, value)| {
                let pattern = self.inside(key.get_ref(), key.span(), path_or_pattern);
                let count = self.count_range(key.get_ref(), value)?;
                let pattern = pattern?;
                Some(self.written(key, value, PathCount { pattern, count }))
            })
            .collect();
        paths.into_iter().collect()
    }

    fn resources(&self, table: &DeTable<'_>) -> Option<Vec<Written<(String, CountRange)>>> {
        let Some(value) = table.get("resources") else {
            return Some(Vec::new());
        };
        let table = self.table("resources", value, "resources = { payments = 1 }")?;
        let resources: Vec<_> = in_order(table)
            .into_iter()
            .map(|(key, value)| {
                let count = self.count_range(key.get_ref(), value)?;
                Some(self.written(key, value, (key.get_ref().to_string(), count)))
            })
            .collect();
        resources.into_iter().collect()
    }

    fn count_range(&self, what: &str, value: &Value<'_>) -> Option<CountRange> {
        match value.get_ref() {
            DeValue::String(text) => match CountRange::read(text) {
                Ok(range) => Some(range),
                Err(why) => {
                    let message = format!("{what}: `{}` {}", shown(text), why_not(why, "range of counts"));
                    self.fault(self.error(value.span(), message).expecting(COUNT_FORMS))
                }
            },
            DeValue::Integer(_) => self.count(what, value, 0, u64::MAX).map(CountRange::exactly),
            DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => self.fault(
                self.error(value.span(), format!("{what} is no count"))
                    .expecting(COUNT_FORMS),
            ),
        }
    }

    fn length_range(&self, what: &str, value: &Value<'_>) -> Option<LengthRange> {
        let (text, span) = self.string(what, value)?;
        match LengthRange::read(text) {
            Ok(range) => Some(range),
            Err(why) => {
                let message = format!(
                    "{what}: `{}` {}",
                    shown(text),
                    why_not(why, "range of lengths of time")
                );
                self.fault(self.error(span, message).expecting(LENGTH_FORMS))
            }
        }
    }

    fn elapsed(&self, key: &Key<'_>, value: &Value<'_>) -> Option<Written<Elapsed>> {
        let elapsed = match value.get_ref().as_str() {
            Some("backoff") => Elapsed::Backoff,
            Some(word) if !word.contains("..") => {
                let message = format!("elapsed: `{}` is no range of lengths of time", shown(word));
                let error = self.error(value.span(), message).near(word, &["backoff"]);
                return self.fault(error.expecting(format!("\"backoff\", or {LENGTH_FORMS}")));
            }
            Some(_) | None => Elapsed::Within(self.length_range("elapsed", value)?),
        };
        Some(self.written(key, value, elapsed))
    }

    fn waits(&self, key: &Key<'_>, value: &Value<'_>) -> Option<Written<Vec<LengthRange>>> {
        let Some(list) = value.get_ref().as_array() else {
            let error = self.error(value.span(), "waits is no list");
            return self.fault(error.expecting("waits = [\"5s..6s\", \"1s..\"]"));
        };
        let waits: Vec<_> = list
            .iter()
            .map(|wait| self.length_range("a wait", wait))
            .collect();
        let waits = waits.into_iter().collect::<Option<Vec<_>>>()?;
        Some(self.written(key, value, waits))
    }

    fn never(&self, table: &DeTable<'_>) -> Option<Vec<Written<Never>>> {
        let Some((key, value)) = table.get_key_value("never") else {
            return Some(Vec::new());
        };
        let Some(rules) = value.get_ref().as_array() else {
            let error = self.error(value.span(), "never is no list");
            return self.fault(error.expecting("never = [\"retry-before-hint\", \"overlap\"]"));
        };
        let rules: Vec<_> = rules.iter().map(|rule| self.rule(key, rule)).collect();
        rules.into_iter().collect()
    }

    fn rule(&self, never: &Key<'_>, value: &Value<'_>) -> Option<Written<Never>> {
        let known = Rule::ALL.map(|rule| (rule.name(), rule));
        let mut attempts_max = DEFAULT_ENDLESS;
        let rule = match value.get_ref().as_table() {
            None => self.word("a rule", value, &known)?,
            Some(table) => {
                self.keys(table, &["rule", "over"], "a rule");
                let Some(name) = table.get("rule") else {
                    let error = self.error(value.span(), "this does not say which rule");
                    return self.fault(error.expecting("{ rule = \"endless\", over = 20 }"));
                };
                let rule = self.word("a rule", name, &known)?;
                if let Some((key, over)) = table.get_key_value("over") {
                    if rule != Rule::Endless {
                        let message = format!("`{rule}` has no limit of its own");
                        let error = self.error(key.span(), message);
                        return self.fault(error.expecting("over beside rule = \"endless\""));
                    }
                    let over = self.count("over", over, 1, u64::from(u32::MAX))?;
                    attempts_max = u32::try_from(over).unwrap_or(u32::MAX);
                }
                rule
            }
        };
        let mut written = self.written(never, value, Never { rule, attempts_max });
        written.at = self.place(value.span());
        Some(written)
    }

    fn exit(&self, key: &Key<'_>, value: &Value<'_>) -> Option<Written<ExitIs>> {
        let exit = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse().ok().map(ExitIs::Code),
            DeValue::String(_) => return Some(self.written(key, value, self.word("exit", value, &EXITS)?)),
            DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        match exit {
            Some(exit) => Some(self.written(key, value, exit)),
            None => self.fault(
                self.error(value.span(), "exit is no exit code")
                    .expecting("0, 3, \"nonzero\" or \"timeout\""),
            ),
        }
    }

    fn texts(&self, table: &DeTable<'_>, name: &str) -> Option<Vec<Written<String>>> {
        let Some((key, value)) = table.get_key_value(name) else {
            return Some(Vec::new());
        };
        let Some(list) = value.get_ref().as_array() else {
            let (text, _) = self.string(name, value)?;
            return Some(vec![self.written(key, value, text.to_owned())]);
        };
        let texts: Vec<_> = list
            .iter()
            .map(|value| {
                let (text, _) = self.string(name, value)?;
                Some(self.written(key, value, text.to_owned()))
            })
            .collect();
        texts.into_iter().collect()
    }

    fn status(&self, key: &Key<'_>, value: &Value<'_>) -> Option<Written<StatusIs>> {
        let one = |value: &Value<'_>| {
            let text = value.get_ref().as_integer()?.as_str().to_owned();
            text.parse::<u16>()
                .ok()
                .filter(|status| (100..1_000).contains(status))
        };
        let class = |text: &str| {
            let class = text.strip_suffix("xx")?.parse::<u16>().ok()?;
            (1..=9).contains(&class).then_some(StatusIs::Class(class))
        };
        let status = match value.get_ref() {
            DeValue::Integer(_) => one(value).map(|status| StatusIs::OneOf(vec![status])),
            DeValue::String(text) if text == "none" => Some(StatusIs::None),
            DeValue::String(text) => class(text),
            DeValue::Array(list) if !list.is_empty() => list
                .iter()
                .map(one)
                .collect::<Option<Vec<_>>>()
                .map(StatusIs::OneOf),
            DeValue::Array(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_) => None,
        };
        match status {
            Some(status) => Some(self.written(key, value, status)),
            None => self.fault(
                self.error(value.span(), "this is no status")
                    .expecting("200, [200, 201], \"2xx\", or \"none\" where no answer comes"),
            ),
        }
    }

    fn reason(&self, key: &Key<'_>, value: &Value<'_>) -> Option<Written<String>> {
        let (text, span) = self.string("reason", value)?;
        // These two make a call wait, and end one that cannot wait so long.
        let ends = |code: &str, stage: Stage| {
            stage == Stage::End || code == "cooling-down" || code == "breaker-open"
        };
        let known: Vec<&str> = CATALOGUE
            .iter()
            .filter(|entry| ends(entry.code, entry.stage))
            .map(|entry| entry.code)
            .collect();
        if known.contains(&text) {
            return Some(self.written(key, value, text.to_owned()));
        }
        let message = format!("no call ends for the reason `{}`", shown(text));
        self.fault(self.error(span, message).expecting_one_of(text, &known))
    }

    fn body_is(&self, table: &DeTable<'_>) -> Option<Vec<Written<BodyIs>>> {
        let Some((key, value)) = table.get_key_value("body") else {
            return Some(Vec::new());
        };
        if let Some(text) = value.get_ref().as_str() {
            return Some(vec![self.written(key, value, BodyIs::Has(text.to_owned()))]);
        }
        let table = self.table(
            "body",
            value,
            "body = { \"$.id\" = \"pay_1\" }, or a text that it has in it",
        )?;
        let paths: Vec<_> = in_order(table)
            .into_iter()
            .map(|(key, value)| {
                let path = self.inside(key.get_ref(), key.span(), JsonPath::read);
                let scalar = self.scalar(value)?;
                Some(self.written(key, value, BodyIs::At(path?, scalar)))
            })
            .collect();
        paths.into_iter().collect()
    }

    fn headers_are(&self, table: &DeTable<'_>) -> Option<Vec<Written<HeaderIs>>> {
        let Some(value) = table.get("header") else {
            return Some(Vec::new());
        };
        let table = self.table("header", value, "header = { retry-after = \"5\" }")?;
        let headers: Vec<_> = in_order(table)
            .into_iter()
            .map(|(key, value)| {
                let name = self.header_name(key);
                let (text, _) = self.string(key.get_ref(), value)?;
                let (name, value_is) = (name?, text.to_owned());
                Some(self.written(
                    key,
                    value,
                    HeaderIs {
                        name,
                        value: value_is,
                    },
                ))
            })
            .collect();
        headers.into_iter().collect()
    }
}

/// `/v1/payments`, of any method, or `POST /v1/payments`.
fn path_or_pattern(source: Source<'_>, span: std::ops::Range<usize>) -> Result<Pattern, ScriptError> {
    let text = &source.text[span.clone()];
    if !text.starts_with('/') {
        return pattern_in(source, span);
    }
    let whole = format!("* {text}");
    pattern_in(Source::bare(&whole), 0..whole.len()).map_err(|error| error.moved_to(source, span))
}

fn why_not(why: NoRange, what: &str) -> String {
    match why {
        NoRange::Form => format!("is no {what}"),
        NoRange::Backwards => "ends before it begins".to_owned(),
        NoRange::Anything => "is true of anything".to_owned(),
        NoRange::Ambiguous => "does not say whether it has its last number in it".to_owned(),
    }
}
