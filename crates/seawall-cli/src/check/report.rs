use super::keys::Tried;
use crate::failure::Failure;
use seawall::advice::{Advice, Figure};
use seawall::config::{
    Config, ConfigErrors, Credential, Layer, NotEnforced, Origin, Place, Remark, Setting, Settings, Speaks,
    Written,
};
use serde::Serialize;
use serde_json::Map;
use std::fmt;

/// What was found in a file that is right.
pub(super) struct Report<'a> {
    pub(super) config: &'a Config,
    pub(super) findings: Vec<Finding>,
    /// What came of the keys, where they were tried.
    pub(super) keys: Option<&'a [Tried]>,
    /// Empty where they were not asked for.
    pub(super) settings: Vec<Settings<'a>>,
}

/// Something that the writer of a right file should know.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    severity: &'static str,
    code: &'static str,
    /// The upstreams that it is about; none where it is about the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    upstreams: Vec<String>,
    /// Where it stands; nothing where that is a default.
    #[serde(flatten)]
    at: Option<Spot>,
    text: String,
    /// The numbers of the text, by name.
    #[serde(skip_serializing_if = "Map::is_empty")]
    numbers: Map<String, serde_json::Value>,
}

#[derive(Debug, Serialize)]
struct Spot {
    line: usize,
    column: usize,
}

impl From<&Place> for Spot {
    fn from(at: &Place) -> Self {
        Self {
            line: at.line,
            column: at.column,
        }
    }
}

impl Finding {
    /// A key that nothing obeys yet.
    pub(super) fn not_enforced(later: &NotEnforced) -> Self {
        Self {
            severity: "warning",
            code: "not-enforced",
            upstreams: Vec::new(),
            at: Some(Spot::from(&later.at)),
            text: format!(
                "{} is read, and not enforced yet: {}",
                later.what, later.what.missing
            ),
            numbers: Map::new(),
        }
    }

    /// What was probably not meant.
    pub(super) fn remark(remark: &Remark) -> Self {
        Self {
            severity: "warning",
            code: "likely-misspelt",
            upstreams: Vec::new(),
            at: Some(Spot::from(&remark.at)),
            text: remark.text.clone(),
            numbers: Map::new(),
        }
    }

    /// What a right file may still do.
    pub(super) fn advice(advice: &Advice) -> Result<Self, Failure> {
        let number = |(name, figure): &(&str, Figure)| {
            let number = serde_json::from_str(&figure.to_string());
            let number =
                number.map_err(|error| Failure::internal(format!("{name} is no number: {error}")))?;
            Ok(((*name).to_owned(), number))
        };
        Ok(Self {
            severity: advice.severity().name(),
            code: advice.code.name(),
            upstreams: advice.upstreams.clone(),
            at: advice.at.as_ref().map(Spot::from),
            text: advice.text.clone(),
            numbers: advice
                .numbers
                .iter()
                .map(number)
                .collect::<Result<_, Failure>>()?,
        })
    }
}

impl Report<'_> {
    pub(super) fn json(&self) -> Result<String, Failure> {
        let effective = (!self.settings.is_empty()).then(|| self.settings.iter().map(Table::of).collect());
        to_json(&Document {
            file: self.config.file(),
            ok: true,
            errors: Vec::new(),
            findings: &self.findings,
            keys: self.keys,
            effective,
        })
    }

    fn overview(&self) -> Vec<[String; 4]> {
        let config = self.config;
        let upstreams = config.upstreams.iter().map(|upstream| {
            let provider = match upstream.provider.as_ref().map(|provider| provider.value) {
                Some(Speaks::Provider(provider)) => provider.name(),
                Some(Speaks::Seawall) => "seawall",
                None => "inferred",
            };
            let key = match upstream.credential.as_ref().map(|credential| &credential.value) {
                Some(Credential::Env(name)) => format!("key from ${name}"),
                Some(Credential::File(name)) => format!("key from {name}"),
                None => "no key".to_owned(),
            };
            let Written { value: base_url, .. } = &upstream.base_url;
            [
                upstream.name.value.clone(),
                base_url.clone(),
                provider.to_owned(),
                key,
            ]
        });
        upstreams.collect()
    }
}

/// For people: one line if all is well, then what is there, then what was found.
impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.config;
        let counts = [
            (config.upstreams.len(), "upstream"),
            (config.models.len(), "model"),
            (config.routes.len(), "route"),
        ];
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}{}", if n == 1 { "" } else { "s" }))
            .collect();
        let counts = if counts.is_empty() {
            "a policy alone".to_owned()
        } else {
            counts.join(", ")
        };
        writeln!(f, "{} is right: {counts}", config.file())?;
        columns(f, &self.overview())?;
        for finding in &self.findings {
            let Finding {
                severity,
                at,
                upstreams,
                text,
                ..
            } = finding;
            write!(f, "{severity}: {}", config.file())?;
            if let Some(Spot { line, column }) = at {
                write!(f, ":{line}:{column}")?;
            }
            if !upstreams.is_empty() {
                write!(f, ": {}", upstreams.join(", "))?;
            }
            writeln!(f, ": {text}")?;
        }
        if let Some(tried) = self.keys {
            writeln!(f, "\nkeys")?;
            columns(f, &tried.iter().map(Tried::row).collect::<Vec<_>>())?;
        }
        for Settings { table, settings } in &self.settings {
            writeln!(f, "\n{table}")?;
            let rows: Vec<[String; 4]> = settings.iter().map(|setting| self.row(table, setting)).collect();
            columns(f, &rows)?;
        }
        Ok(())
    }
}

impl Report<'_> {
    fn row(&self, table: &str, setting: &Setting<'_>) -> [String; 4] {
        let file = self.config.file();
        let origin = match setting.origin {
            Origin::Default => "default".to_owned(),
            Origin::Preset(preset) => format!("preset `{}`", preset.name()),
            Origin::Follows(key) => format!("follows {}", short(key)),
            Origin::Written { at, layer } => {
                let place = format!("{file}:{}:{}", at.line, at.column);
                match layer {
                    Layer::Policy if table != "[policy]" => format!("{place}, [policy]"),
                    Layer::Policy | Layer::Own => place,
                    Layer::Upstream => format!("{place}, its own policy"),
                }
            }
        };
        let note = match setting.note.as_str() {
            "" => String::new(),
            note => format!("({note})"),
        };
        [short(setting.key).to_owned(), setting.value.clone(), origin, note]
    }
}

/// A key as it stands in its own table.
fn short(key: &str) -> &str {
    key.split_once('.').map_or(key, |(_, key)| key)
}

/// Rows whose cells stand below each other.
fn columns(f: &mut fmt::Formatter<'_>, rows: &[[String; 4]]) -> fmt::Result {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let [first, second, third] = [width(0), width(1), width(2)];
    for [one, two, three, four] in rows {
        let line = format!("  {one:first$}  {two:second$}  {three:third$}  {four}");
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// What is printed with `--json`; the keys are a contract.
#[derive(Serialize)]
struct Document<'a> {
    file: &'a str,
    ok: bool,
    errors: Vec<Wrong<'a>>,
    findings: &'a [Finding],
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<&'a [Tried]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective: Option<Vec<Table<'a>>>,
}

#[derive(Serialize)]
struct Wrong<'a> {
    line: usize,
    column: usize,
    width: usize,
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    help: &'a str,
    text: &'a str,
}

#[derive(Serialize)]
struct Table<'a> {
    table: &'a str,
    settings: Vec<Value<'a>>,
}

#[derive(Serialize)]
struct Value<'a> {
    key: &'a str,
    value: &'a str,
    from: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'a str,
}

impl<'a> Table<'a> {
    fn of(settings: &'a Settings<'a>) -> Self {
        Self {
            table: &settings.table,
            settings: settings.settings.iter().map(Value::of).collect(),
        }
    }
}

impl<'a> Value<'a> {
    fn of(setting: &'a Setting<'a>) -> Self {
        let (from, preset, at) = match setting.origin {
            Origin::Default => ("default", None, None),
            Origin::Preset(preset) => ("preset", Some(preset.name()), None),
            Origin::Follows(_) => ("another-key", None, None),
            Origin::Written {
                at,
                layer: Layer::Policy,
            } => ("policy", None, Some(at)),
            Origin::Written {
                at,
                layer: Layer::Upstream,
            } => ("upstream-policy", None, Some(at)),
            Origin::Written {
                at,
                layer: Layer::Own,
            } => ("file", None, Some(at)),
        };
        Self {
            key: setting.key,
            value: &setting.value,
            from,
            preset,
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            note: &setting.note,
        }
    }
}

/// The document of a file that is not right.
pub(super) fn wrong(file: &str, errors: &ConfigErrors) -> Result<String, Failure> {
    let errors = errors.iter().map(|error| Wrong {
        line: error.line,
        column: error.column,
        width: error.width,
        message: &error.message,
        help: &error.help,
        text: &error.text,
    });
    to_json(&Document {
        file,
        ok: false,
        errors: errors.collect(),
        findings: &[],
        keys: None,
        effective: None,
    })
}

fn to_json(document: &Document<'_>) -> Result<String, Failure> {
    serde_json::to_string(document).map_err(|error| Failure::internal(error.to_string()))
}
