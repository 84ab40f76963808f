use super::policy::{Draft, PolicyConfig};
use super::reader::{Reader, suggestion};
use super::section::{Section, shown};
use super::types::{BatchConfig, ModelConfig, ProgressForm, UpstreamConfig, Written};
use super::{Config, Layer, route, serve, upstream};
use seawall_core::policy::Concurrency;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::Spanned;
use toml::de::DeTable;

const PROGRESS: [(&str, ProgressForm); 3] = [
    ("bar", ProgressForm::Bar),
    ("json", ProgressForm::Json),
    ("none", ProgressForm::Off),
];
/// Reads a whole file.
pub(super) fn read<'s>(reader: &'s Reader<'s>, document: &'s Spanned<DeTable<'s>>) -> Config {
    let file = file(reader, document);
    let mut ground = Draft::default();
    let policy = policy(&file, &mut ground);
    let tables = file.sections("upstream");
    // Of broken upstreams, too: what refers to one is right.
    let names: BTreeSet<&str> = tables.iter().filter_map(|table| table.raw_text("name")).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let upstreams: Vec<UpstreamConfig> = tables
        .iter()
        .filter_map(|table| upstream::read(table, &ground))
        .collect();
    unique(
        reader,
        upstreams.iter().map(|upstream| &upstream.name),
        "upstream",
    );
    upstream::alone(reader, &upstreams);
    let models: Vec<ModelConfig> = file
        .sections("model")
        .iter()
        .filter_map(|table| model(table, &names))
        .collect();
    models_unique(reader, &models);
    let tables = file.sections("route");
    let routes = tables
        .iter()
        .filter_map(|table| route::read(table, &names, &models))
        .collect();
    let routes = route::reachable(reader, routes);
    let serve = file
        .section("serve")
        .map(|table| serve::read(&table, &upstreams))
        .unwrap_or_default();
    let batch = file
        .section("batch")
        .map(|table| batch(&table, &names))
        .unwrap_or_default();
    let found = reader.found();
    Config {
        source: found.source,
        seen: found.seen,
        policy,
        upstreams,
        models,
        routes,
        serve,
        batch,
        not_enforced: found.later,
        remarks: found.remarks,
    }
}

/// Reads the `[policy]` table alone, for somebody who acts on it.
pub(super) fn policy_alone<'s>(reader: &'s Reader<'s>, document: &'s Spanned<DeTable<'s>>) -> PolicyConfig {
    policy(&file(reader, document), &mut Draft::default())
}

fn file<'s>(reader: &'s Reader<'s>, document: &'s Spanned<DeTable<'s>>) -> Section<'s> {
    Section::new(
        reader,
        "",
        "the file".to_owned(),
        document.get_ref(),
        document.span(),
    )
}

fn policy(file: &Section<'_>, ground: &mut Draft) -> PolicyConfig {
    let span = match file.section("policy") {
        Some(table) => {
            ground.read(&table, Layer::Policy);
            table.span()
        }
        None => 0..0,
    };
    ground.build(file.reader, span)
}

fn model(table: &Section<'_>, upstreams: &[&str]) -> Option<ModelConfig> {
    table.missing("name");
    table.missing("upstream");
    let (input, output) = (table.decimal("input"), table.decimal("output"));
    let cached_input = table.decimal("cached_input");
    let cache_write = table.decimal("cache_write");
    let long_cache_write = table.decimal("long_cache_write");
    let window = table.count_wide("window");
    let (name, upstream) = (table.text("name"), table.text("upstream")?);
    known_upstream(table.reader, &upstream.value, upstream.at.span.clone(), upstreams);
    Some(ModelConfig {
        at: table.at(),
        name: name?,
        upstream,
        input,
        output,
        cached_input,
        cache_write,
        long_cache_write,
        window,
    })
}

/// Tells of a name that no upstream has.
pub(super) fn known_upstream(reader: &Reader<'_>, name: &str, span: Range<usize>, upstreams: &[&str]) {
    if upstreams.contains(&name) {
        return;
    }
    let name = shown(name);
    match upstreams {
        [] => {
            let message = format!("no upstream is called `{name}`: the file has none");
            reader.error(
                span,
                message,
                "add an [[upstream]] with this name and its base_url",
            );
        }
        some => {
            let message = format!("no upstream is called `{name}`; {}", suggestion(&name, some));
            reader.error(span, message, "");
        }
    }
}

pub(super) fn unique<'w>(reader: &Reader<'_>, names: impl Iterator<Item = &'w Written<String>>, what: &str) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for Written { value, at, .. } in names {
        if let Some(line) = seen.get(value.as_str()) {
            let message = format!("the {what} of line {line} is called `{value}`, too");
            reader.error(at.span.clone(), message, "give each a name of its own");
        } else {
            seen.insert(value, at.line);
        }
    }
}

fn models_unique(reader: &Reader<'_>, models: &[ModelConfig]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for model in models {
        let (upstream, name) = (&model.upstream.value, &model.name.value);
        // The letters' case is nothing where a price is looked for: the later of two would be the only one.
        let key = format!("{upstream}/{name}").to_ascii_lowercase();
        if let Some(line) = seen.get(&key) {
            let message = format!("line {line} says already what `{upstream}/{}` is", shown(name));
            reader.error(model.name.at.span.clone(), message, "join the two tables");
        } else {
            seen.insert(key, model.name.at.line);
        }
    }
}

fn batch(table: &Section<'_>, upstreams: &[&str]) -> BatchConfig {
    let upstream = table.text("upstream");
    if let Some(Written { value, at, .. }) = &upstream
        && !value.contains("://")
        && !value.starts_with("mock:")
    {
        known_upstream(table.reader, value, at.span.clone(), upstreams);
    }
    let concurrency = table
        .count_or("concurrency", "auto")
        .map(|Written { value, at, key }| Written {
            value: value.map_or(Concurrency::Auto, Concurrency::AtMost),
            at,
            key,
        });
    BatchConfig {
        upstream,
        model: table.text("model"),
        concurrency,
        rpm: table.count_wide("rpm"),
        tpm: table.count_wide("tpm"),
        cost_micro_usd_max: table.decimal("max_cost"),
        ordered: table.flag("ordered"),
        skip_invalid: table.flag("skip_invalid"),
        auto_id: table.flag("auto_id"),
        dedupe: table.flag("dedupe"),
        spool: table.flag("spool"),
        allow_absolute_url: table.flag("allow_absolute_url"),
        line_bytes_max: table.size("max_line"),
        progress: table.word("progress", &PROGRESS),
        extras: table.flag("extras"),
        journal: table.text("journal"),
        schema: table.text("schema"),
        report: table.text("report"),
    }
}
