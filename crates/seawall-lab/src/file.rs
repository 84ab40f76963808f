//! Mock files: rules in TOML, with the place of every mistake.
//!
//! ```toml
//! listen = "127.0.0.1:9000"
//! seed = 42
//! [[route]]
//! match = "POST /v1/payments"
//! script = "2x 503, 429 retry-after=5, 200"
//! state = "header:x-test-id"
//! resource = "payments"
//! idempotency = { header = "Idempotency-Key", ttl = "24h" }
//! [[route]]
//! match = "POST /v1/chat/completions"
//! dialect = "openai"
//! mix = { "200" = 0.9, "503" = 0.05, "truncate at=50%" = 0.05 }
//! latency = { p50 = "120ms", p99 = "2s" }
//! limit = { key = "header:authorization", rpm = 60, tpm = 10000 }
//! ```
//! A key that this version does not know is an error, never ignored: a limit that is not there tests nothing.

mod limit;

use crate::error::{ScriptError, Source, shown};
use crate::listener::{self, HttpVersions, Listener, Security};
use crate::passage::{Passage, TimeScale, TimeScaleError};
use crate::plan::{
    Answers, Idempotency, Latency, Mix, RESOURCE_NAME_BYTES_MAX, Rule, Scope, State, Unkeyed, dialect_named,
    pattern_in,
};
use crate::script::listener::ListenerScript;
use crate::script::{Action, Script};
use seawall_core::time::Duration;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

/// The longest mock file, in bytes.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The JSON Schema (2020-12) of a mock file, for editors; what it cannot say (the grammar of scripts, that shares add
/// up to 1) only [`MockFile::parse`] does.
pub const SCHEMA: &str = include_str!("file/schema.json");
/// How far the shares of a mix may be from 1 together, in parts of [`Mix::WHOLE`]: three thirds of 0.333 pass.
const MIX_SLACK: u64 = Mix::WHOLE / 500;

const TOP_KEYS: [&str; 6] = ["listen", "seed", "time_scale", "clock", "listener", "route"];
const LISTENER_KEYS: [&str; 3] = ["script", "tls", "http"];
const ROUTE_KEYS: [&str; 9] = [
    "match",
    "script",
    "mix",
    "latency",
    "dialect",
    "state",
    "limit",
    "resource",
    "idempotency",
];
const IDEMPOTENCY_KEYS: [&str; 4] = ["header", "ttl", "scope", "required"];

/// What a mock file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MockFile {
    /// Where to listen, `ADDRESS:PORT`.
    pub listen: Option<String>,
    /// The seed of every chance.
    pub seed: Option<u64>,
    /// How its time passes.
    pub passage: Option<Passage>,
    /// How connections are met.
    pub listener: Listener,
    /// The routes in order.
    pub rules: Vec<Rule>,
}

impl MockFile {
    /// Reads a mock file. `name` is what errors call it.
    ///
    /// # Errors
    /// The first thing that cannot be right, with file, line and column; unknown keys, and keys and actions that the mock
    /// does not serve yet, are among them.
    ///
    /// ```
    /// let file = seawall_lab::file::MockFile::parse("mock.toml", "[[route]]\nmatch = \"GET /x\"\nscript = \"503\"");
    /// assert_eq!(file.unwrap().rules.len(), 1);
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let reader = Reader::of(name, text);
        let document = reader.document()?;
        Self::read(reader.source, document.get_ref(), "a mock file")
    }

    /// Reads the tables of a mock file where they stand in another one; `what` is how errors call their owner.
    pub(crate) fn read(source: Source<'_>, table: &DeTable<'_>, what: &str) -> Result<Self, ScriptError> {
        let mut reader = Reader {
            source,
            http: HttpVersions::Auto,
        };
        reader.keys(table, &TOP_KEYS, what)?;
        let listen = match table.get("listen") {
            Some(value) => Some(reader.string("listen", value)?.0.to_owned()),
            None => None,
        };
        let seed = match table.get("seed") {
            Some(value) => Some(reader.seed(value)?),
            None => None,
        };
        let passage = reader.passage(table)?;
        let listener = match table.get("listener") {
            Some(value) => reader.listener(value)?,
            None => Listener::default(),
        };
        reader.http = listener.http;
        let rules = match table.get("route") {
            Some(value) => reader.routes(value)?,
            None => Vec::new(),
        };
        Ok(Self {
            listen,
            seed,
            passage,
            listener,
            rules,
        })
    }
}

/// Reads the routes of a text that says nothing else: what may change while a mock runs.
#[cfg(feature = "net")]
pub(crate) fn routes_alone(name: &str, text: &str) -> Result<Vec<Rule>, ScriptError> {
    let reader = Reader::of(name, text);
    let document = reader.document()?;
    let table = document.get_ref();
    reader.keys(table, &["route"], "a change of a running mock's routes")?;
    match table.get("route") {
        Some(value) => reader.routes(value),
        None => Err(reader
            .source
            .error(0..0, "there is no route here")
            .expecting("one [[route]] or more")),
    }
}

/// Reads the limit of a route where it stands in another file.
#[cfg(feature = "net")]
pub(crate) fn limit_in(
    source: Source<'_>,
    value: &Spanned<DeValue<'_>>,
) -> Result<crate::plan::Limit, ScriptError> {
    let http = HttpVersions::Auto;
    Reader { source, http }.limit(value)
}

type Value<'a> = Spanned<DeValue<'a>>;

struct Reader<'a> {
    source: Source<'a>,
    /// Which versions of HTTP the routes are for.
    http: HttpVersions,
}

impl<'a> Reader<'a> {
    fn of(name: &'a str, text: &'a str) -> Self {
        let name = Some(name);
        Self {
            source: Source { name, text },
            http: HttpVersions::Auto,
        }
    }

    fn document(&self) -> Result<Spanned<DeTable<'a>>, ScriptError> {
        let Source { text, .. } = self.source;
        if text.len() > FILE_BYTES_MAX {
            let message = format!(
                "the file is {} bytes long; the most is {FILE_BYTES_MAX}",
                text.len()
            );
            return Err(self.source.error(0..0, message));
        }
        DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = error.message().trim_end_matches('.').replace('\n', ", ");
            self.source.error(span, message)
        })
    }

    fn listener(&self, value: &Value<'_>) -> Result<Listener, ScriptError> {
        let Some(table) = value.get_ref().as_table() else {
            return Err(self
                .source
                .error(value.span(), "listener is no table")
                .expecting("[listener]"));
        };
        self.keys(table, &LISTENER_KEYS, "a listener")?;
        let security = match table.get("tls") {
            Some(value) => self.security(value)?,
            None => Security::Plain,
        };
        let http = match table.get("http") {
            Some(value) => self.http(value)?,
            None => HttpVersions::Auto,
        };
        let script = match table.get("script") {
            Some(value) => Some(self.inside("script", value, |source, span| {
                let script = ListenerScript::parse_in(source, span)?;
                match security {
                    Security::Plain => script.check_plain(source)?,
                    Security::Tls => {}
                }
                Ok(script)
            })?),
            None => None,
        };
        Ok(Listener {
            script,
            security,
            http,
        })
    }

    fn security(&self, value: &Value<'_>) -> Result<Security, ScriptError> {
        match value.get_ref().as_bool() {
            Some(true) => Ok(Security::Tls),
            Some(false) => Ok(Security::Plain),
            None => Err(self
                .source
                .error(value.span(), "tls is neither true nor false")
                .expecting("true or false")),
        }
    }

    fn http(&self, value: &Value<'_>) -> Result<HttpVersions, ScriptError> {
        let (name, span) = self.string("http", value)?;
        let found = HttpVersions::ALL
            .into_iter()
            .find(|versions| versions.name() == name);
        found.ok_or_else(|| {
            self.source
                .error(span, format!("`{}` is no choice of versions", shown(name)))
                .expecting_one_of(name, &HttpVersions::ALL.map(HttpVersions::name))
        })
    }

    fn passage(&self, table: &DeTable<'_>) -> Result<Option<Passage>, ScriptError> {
        let scale = match table.get("time_scale") {
            Some(value) => Some(self.time_scale(value)?),
            None => None,
        };
        let Some(clock) = table.get("clock") else {
            return Ok(scale.map(Passage::Runs));
        };
        match (self.string("clock", clock)?, scale) {
            (("manual", span), Some(_)) => Err(self
                .source
                .error(
                    span,
                    "a manual clock has no time_scale: it stands still until it is turned",
                )
                .expecting("one of the two")),
            (("manual", _), None) => Ok(Some(Passage::Stands)),
            ((other, span), _) => Err(self
                .source
                .error(span, format!("`{}` is no clock", shown(other)))
                .expecting_one_of(other, &["manual"])),
        }
    }

    fn time_scale(&self, value: &Value<'_>) -> Result<TimeScale, ScriptError> {
        decimal_text(value).parse().map_err(|TimeScaleError| {
            self.source
                .error(value.span(), "this is no scale of time")
                .expecting("a number from 0.001 to 100000, as in 10")
        })
    }

    fn routes(&self, value: &Value<'_>) -> Result<Vec<Rule>, ScriptError> {
        let expected = "one [[route]] or more";
        let routes: &DeArray<'_> = match value.get_ref().as_array() {
            Some(routes) => routes,
            None => {
                return Err(self
                    .source
                    .error(value.span(), "route is no list of tables")
                    .expecting(expected));
            }
        };
        routes
            .iter()
            .map(|route| match route.get_ref().as_table() {
                Some(table) => self.route(table, route.span()),
                None => Err(self
                    .source
                    .error(route.span(), "this route is no table")
                    .expecting(expected)),
            })
            .collect()
    }

    fn route(&self, table: &DeTable<'_>, span: Range<usize>) -> Result<Rule, ScriptError> {
        self.keys(table, &ROUTE_KEYS, "a route")?;
        let Some(pattern) = table.get("match") else {
            return Err(self
                .source
                .error(span, "this route does not say what it matches")
                .expecting("match = \"POST /v1/payments\""));
        };
        let pattern = self.inside("match", pattern, pattern_in)?;
        let answers = match (table.get("script"), table.get("mix")) {
            (Some(_), Some(mix)) => {
                return Err(self
                    .source
                    .error(mix.span(), "a route has a script or a mix, not both"));
            }
            (Some(script), None) => Answers::Script(self.inside("script", script, |source, span| {
                let script = Script::parse_in(source, span)?;
                listener::check_script(source, &script, self.http)?;
                Ok(script)
            })?),
            (None, Some(mix)) => Answers::Mix(self.mix(mix)?),
            (None, None) => Answers::Plain,
        };
        let mut rule = Rule::new(pattern, answers);
        if let Some(latency) = table.get("latency") {
            rule.latency = self.latency(latency)?;
        }
        if let Some(dialect) = table.get("dialect") {
            let (name, span) = self.string("dialect", dialect)?;
            rule.dialect = dialect_named(self.source, span, name)?;
        }
        if let Some(state) = table.get("state") {
            rule.state = self.state(state)?;
        }
        if let Some(resource) = table.get("resource") {
            rule.resource = Some(self.resource(resource)?);
        }
        if let Some(idempotency) = table.get("idempotency") {
            rule.idempotency = Some(self.idempotency(idempotency)?);
        }
        if let Some(limit) = table.get("limit") {
            rule.limit = Some(self.limit(limit)?);
        }
        Ok(rule)
    }

    fn mix(&self, value: &Value<'_>) -> Result<Mix, ScriptError> {
        let right = "mix = { \"200\" = 0.9, \"503\" = 0.1 }";
        let Some(table) = value.get_ref().as_table() else {
            return Err(self
                .source
                .error(value.span(), "mix is no table")
                .expecting(right));
        };
        let mut parts = Vec::with_capacity(table.len());
        for (key, share) in table {
            let action = self.inside_text(key.get_ref(), key.span(), |source, span| {
                let action = Action::parse_in(source, span.clone())?;
                listener::check_action(source, &action, span, self.http)?;
                Ok(action)
            })?;
            parts.push((action, self.share(share)?));
        }
        let sum: u64 = parts.iter().map(|(_, share)| *share).fold(0, u64::saturating_add);
        if sum.abs_diff(Mix::WHOLE) > MIX_SLACK {
            let (whole, part) = (sum / Mix::WHOLE, sum % Mix::WHOLE / 1_000_000);
            let message = format!("the shares of this mix add up to {whole}.{part:03}");
            return Err(self.source.error(value.span(), message).expecting("1 in all"));
        }
        Mix::new(parts).ok_or_else(|| self.source.error(value.span(), "nothing in this mix has a share"))
    }

    fn share(&self, value: &Value<'_>) -> Result<u64, ScriptError> {
        match decimal_text(value).parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(parts_of_whole(share)),
            Ok(_) | Err(_) => Err(self
                .source
                .error(value.span(), "a share is a number from 0 to 1")
                .expecting("0.02 for 2 %")),
        }
    }

    fn latency(&self, value: &Value<'_>) -> Result<Latency, ScriptError> {
        let right = "\"15s\", { p50 = \"120ms\", p99 = \"2s\" } or { uniform = [\"1s\", \"2s\"] }";
        let error = |message: &str| self.source.error(value.span(), message).expecting(right);
        let Some(table) = value.get_ref().as_table() else {
            return Ok(Latency::Fixed(self.length("latency", value)?));
        };
        self.keys(table, &["p50", "p99", "uniform"], "a latency")?;
        match (table.get("p50"), table.get("p99"), table.get("uniform")) {
            (Some(p50), Some(p99), None) => {
                let (p50, p99) = (self.length("p50", p50)?, self.length("p99", p99)?);
                match !p50.is_zero() && p50 <= p99 {
                    true => Ok(Latency::LogNormal { p50, p99 }),
                    false => Err(error("p50 is above 0 and not above p99")),
                }
            }
            (None, None, Some(uniform)) => match uniform.get_ref().as_array().map(|ends| &ends[..]) {
                Some([shortest, longest]) => {
                    let (shortest, longest) = (
                        self.length("uniform", shortest)?,
                        self.length("uniform", longest)?,
                    );
                    match shortest <= longest {
                        true => Ok(Latency::Uniform { shortest, longest }),
                        false => Err(error("the first length of uniform is not above the second")),
                    }
                }
                Some(_) | None => Err(error("uniform is a list of two lengths of time")),
            },
            _ => Err(error("this is no latency")),
        }
    }

    fn state(&self, value: &Value<'_>) -> Result<State, ScriptError> {
        let (text, span) = self.string("state", value)?;
        match header_named(text) {
            Some(name) => Ok(State::Header(name)),
            None => Err(self
                .source
                .error(span, format!("`{}` is no state", shown(text)))
                .expecting("\"header:NAME\"")),
        }
    }

    fn resource(&self, value: &Value<'_>) -> Result<String, ScriptError> {
        let (text, span) = self.string("resource", value)?;
        let right = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let fits = (1..=RESOURCE_NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(right);
        // It stands in the path of the control plane, and in front of every id.
        fits.then(|| text.to_owned()).ok_or_else(|| {
            self.source
                .error(span, format!("`{}` is no name of a resource", shown(text)))
                .expecting(format!(
                    "1 to {RESOURCE_NAME_BYTES_MAX} of a-z, A-Z, 0-9, `-`, `_` and `.`, as in \"payments\""
                ))
        })
    }

    fn idempotency(&self, value: &Value<'_>) -> Result<Idempotency, ScriptError> {
        let Some(table) = value.get_ref().as_table() else {
            return Err(self
                .source
                .error(value.span(), "idempotency is no table")
                .expecting("idempotency = { header = \"Idempotency-Key\", ttl = \"24h\" }"));
        };
        self.keys(table, &IDEMPOTENCY_KEYS, "idempotency")?;
        let mut idempotency = Idempotency::default();
        if let Some(header) = table.get("header") {
            let (name, span) = self.string("header", header)?;
            if !is_header_name(name) {
                return Err(self
                    .source
                    .error(span, format!("`{}` is no header", shown(name)))
                    .expecting("a header's name, as in \"Idempotency-Key\""));
            }
            idempotency.header = name.to_ascii_lowercase();
        }
        if let Some(ttl) = table.get("ttl") {
            idempotency.ttl = self.length("ttl", ttl)?;
            if idempotency.ttl.is_zero() {
                return Err(self
                    .source
                    .error(ttl.span(), "a key that is known for no time is none")
                    .expecting("a length of time above 0, as in \"24h\""));
            }
        }
        if let Some(scope) = table.get("scope") {
            idempotency.scope = self.scope(scope)?;
        }
        if let Some(required) = table.get("required") {
            idempotency.unkeyed = match required.get_ref().as_bool() {
                Some(true) => Unkeyed::Refused,
                Some(false) => Unkeyed::Done,
                None => {
                    return Err(self
                        .source
                        .error(required.span(), "required is no truth value")
                        .expecting("true or false"));
                }
            };
        }
        Ok(idempotency)
    }

    fn scope(&self, value: &Value<'_>) -> Result<Scope, ScriptError> {
        let (text, span) = self.string("scope", value)?;
        match (text, header_named(text)) {
            ("route", _) => Ok(Scope::Route),
            (_, Some(name)) => Ok(Scope::Header(name)),
            (_, None) => Err(self
                .source
                .error(span, format!("`{}` is no scope", shown(text)))
                .near(text, &["route"])
                .expecting("\"route\" or \"header:NAME\", as in \"header:authorization\"")),
        }
    }

    fn seed(&self, value: &Value<'_>) -> Result<u64, ScriptError> {
        self.integer(value).ok_or_else(|| {
            self.source
                .error(value.span(), "seed is no number")
                .expecting("a whole number from 0")
        })
    }

    fn integer(&self, value: &Value<'_>) -> Option<u64> {
        let number = value.get_ref().as_integer()?;
        u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
    }

    fn length(&self, key: &str, value: &Value<'_>) -> Result<Duration, ScriptError> {
        let (text, span) = self.string(key, value)?;
        Duration::parse_units(text).ok_or_else(|| {
            let message = format!("`{}` is no length of time", shown(text));
            self.source
                .error(span, message)
                .expecting("500ms, 30s, 2m or 1h30m")
        })
    }

    fn string<'v>(&self, key: &str, value: &'v Value<'_>) -> Result<(&'v str, Range<usize>), ScriptError> {
        match value.get_ref().as_str() {
            Some(text) => Ok((text, value.span())),
            None => Err(self
                .source
                .error(value.span(), format!("{key} is no text"))
                .expecting("a text in quotes")),
        }
    }

    /// Reads a text that has a grammar of its own.
    fn inside<T>(
        &self,
        key: &str,
        value: &Value<'_>,
        read: impl Fn(Source<'_>, Range<usize>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let (text, span) = self.string(key, value)?;
        self.inside_text(text, span, read)
    }

    fn inside_text<T>(
        &self,
        text: &str,
        span: Range<usize>,
        read: impl Fn(Source<'_>, Range<usize>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        match self.unquoted(text, span.clone()) {
            Some(inner) => read(self.source, inner),
            // An escaped text has no places of its own in the file: the whole of it is pointed at.
            None => {
                read(Source::bare(text), 0..text.len()).map_err(|error| error.moved_to(self.source, span))
            }
        }
    }

    fn unquoted(&self, text: &str, span: Range<usize>) -> Option<Range<usize>> {
        unquoted(self.source, text, span)
    }

    fn keys(&self, table: &DeTable<'_>, known: &[&str], what: &str) -> Result<(), ScriptError> {
        let key: Option<&Spanned<DeString<'_>>> = table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        let Some(key) = key else {
            return Ok(());
        };
        let name = key.get_ref().as_ref();
        let message = format!("{what} has no key `{}`", shown(name));
        let error = self.source.error(key.span(), message).near(name, known);
        Err(error.expecting(format!("one of {}", known.join(", "))))
    }
}

/// The name in `header:NAME`, in lower case.
fn header_named(text: &str) -> Option<String> {
    let name = text.strip_prefix("header:")?;
    is_header_name(name).then(|| name.to_ascii_lowercase())
}

/// Whether this can be a header's name (RFC 9110, 5.6.2).
fn is_header_name(text: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(token)
}

/// The digits of a decimal number as TOML has them, with a point or without; empty where the value is none, which no
/// number is read from.
pub(crate) fn decimal_text(value: &Value<'_>) -> String {
    match value.get_ref() {
        DeValue::Float(number) => number.as_str().replace('_', ""),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => String::new(),
    }
}

/// Where a text itself stands in the file, where it stands there as it is: without its quotes.
pub(crate) fn unquoted(source: Source<'_>, text: &str, span: Range<usize>) -> Option<Range<usize>> {
    let raw = source.text.get(span.clone())?;
    let quotes = ["\"\"\"", "'''", "\"", "'", ""];
    let quote = quotes.into_iter().find(|quote| raw.starts_with(quote))?;
    let mut start = span.start + quote.len();
    if quote.len() == 3 {
        let rest = &source.text[start..];
        start += ["\r\n", "\n"]
            .into_iter()
            .find(|line| rest.starts_with(line))
            .map_or(0, str::len);
    }
    let inner = start..start + text.len();
    (source.text.get(inner.clone()) == Some(text)).then_some(inner)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share is checked to be 0 to 1"
)]
fn parts_of_whole(share: f64) -> u64 {
    (share * 1e9).round() as u64
}

#[cfg(test)]
mod tests;
