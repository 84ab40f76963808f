use super::policy::{Draft, PolicyConfig};
use super::reader::{Reader, nearest, suggestion};
use super::section::{Section, shown};
use super::types::{
    AdminConfig, BatchConfig, ClientConfig, Credential, LogForm, ModelConfig, ProgressForm, ServeConfig,
    Speaks, TlsConfig, UpstreamConfig, Written,
};
use super::{Config, Layer, route, text};
use seawall_core::classify::{Class, Override};
use seawall_core::policy::Concurrency;
use seawall_core::profile::Provider;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::Spanned;
use toml::de::DeTable;

const PROVIDERS: [(&str, Speaks); 9] = [
    ("openai", Speaks::Provider(Provider::OpenAi)),
    ("anthropic", Speaks::Provider(Provider::Anthropic)),
    ("azure", Speaks::Provider(Provider::Azure)),
    ("gemini", Speaks::Provider(Provider::Gemini)),
    ("groq", Speaks::Provider(Provider::Groq)),
    ("stripe", Speaks::Provider(Provider::Stripe)),
    ("github", Speaks::Provider(Provider::GitHub)),
    ("generic", Speaks::Provider(Provider::Generic)),
    ("seawall", Speaks::Seawall),
];
const LOGS: [(&str, LogForm); 3] = [
    ("text", LogForm::Text),
    ("json", LogForm::Json),
    ("none", LogForm::Off),
];
const PROGRESS: [(&str, ProgressForm); 3] = [
    ("bar", ProgressForm::Bar),
    ("json", ProgressForm::Json),
    ("none", ProgressForm::Off),
];
/// The header of idempotency keys where none is named.
const KEY_HEADER: &str = "Idempotency-Key";
/// What is missing for an upstream that is another gateway of ours.
const NO_SEAWALL: &str = "it is called like any HTTP server; its retries are not told from calls";

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
        .filter_map(|table| upstream(table, &ground))
        .collect();
    unique(
        reader,
        upstreams.iter().map(|upstream| &upstream.name),
        "upstream",
    );
    alone(reader, &upstreams);
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
        .map(|table| serve(&table, &upstreams))
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
    let policy = policy(&file(reader, document), &mut Draft::default());
    reader.refuse_later();
    policy
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

fn upstream(table: &Section<'_>, ground: &Draft) -> Option<UpstreamConfig> {
    table.missing("name");
    table.missing("base_url");
    let provider = table.word("provider", &PROVIDERS);
    if let Some(Written {
        value: Speaks::Seawall,
        at,
        key,
    }) = &provider
    {
        let (value, missing) = ("seawall", NO_SEAWALL);
        table
            .reader
            .later(super::Later { key, value, missing }, at.span.clone());
    }
    let credential = credential(table);
    let idempotency = table.section("idempotency").map(|table| {
        let (value, at, key) = (KEY_HEADER.to_owned(), table.at(), "upstream.idempotency");
        table.text("header").unwrap_or(Written { value, at, key })
    });
    let classify = table.sections("classify").iter().filter_map(classify).collect();
    let mut own = ground.clone();
    let span = match table.section("policy") {
        Some(table) => {
            own.read(&table, Layer::Upstream);
            table.span()
        }
        None => table.span(),
    };
    let policy = own.build(table.reader, span);
    let [quota, parent, dedup] = ["quota", "parent", "dedup"].map(|name| table.text(name));
    let (name, base_url) = (table.text("name"), table.text("base_url"));
    Some(UpstreamConfig {
        at: table.at(),
        name: name?,
        base_url: base_url?,
        provider,
        credential,
        quota,
        parent,
        dedup,
        idempotency,
        classify,
        policy,
    })
}

fn credential(table: &Section<'_>) -> Option<Written<Credential>> {
    let (key, value) = table.find("credential")?;
    if value.get_ref().as_str().is_some() {
        table.reader.secret(value.span());
        let message = "a credential never stands in this file, which is copied, committed and shown";
        let help = "write { env = \"MAIN_API_KEY\" } or { file = \"PATH\" }, and take back the one that stood here if the file \
                    was ever shared";
        table.reader.error(value.span(), message, help);
        return None;
    }
    let section = table.section("credential")?;
    let (env, file) = (section.text("env"), section.text("file"));
    match (env, file) {
        (Some(_), Some(file)) => {
            let message = "a credential has one source: `env` or `file`";
            table.reader.error(file.at.span, message, "take one of them out");
            None
        }
        (Some(env), None) => Some(table.written(key, value, Credential::Env(env.value))),
        (None, Some(file)) => Some(table.written(key, value, Credential::File(file.value))),
        (None, None) if section.is_empty() => {
            let message = "this credential names no source";
            table.reader.error(
                value.span(),
                message,
                format!("write it as in credential = {}", key.example),
            );
            None
        }
        (None, None) => None,
    }
}

fn classify(table: &Section<'_>) -> Option<Override> {
    table.missing("as");
    let (status, code) = (table.count("status"), table.text("code"));
    let class = table.word("as", &Class::ALL.map(|class| (class.name(), class)))?;
    let narrowed = match &status {
        Some(status) => Some(u16::try_from(status.value).ok()?),
        None => None,
    };
    let is_any = status.is_none() && code.is_none();
    if is_any && table.find("status").is_none() && table.find("code").is_none() {
        let message = "this names no status and no code, so every answer would be one";
        table.reader.error(
            table.span(),
            message,
            "write status = 446 or code = \"overloaded\"",
        );
        return None;
    }
    Some(Override {
        status: narrowed,
        code: code.map(|code| code.value),
        class: class.value,
    })
}

fn model(table: &Section<'_>, upstreams: &[&str]) -> Option<ModelConfig> {
    table.missing("name");
    table.missing("upstream");
    let (input, output, window) = (
        table.decimal("input"),
        table.decimal("output"),
        table.count_wide("window"),
    );
    let (name, upstream) = (table.text("name"), table.text("upstream")?);
    known_upstream(table.reader, &upstream.value, upstream.at.span.clone(), upstreams);
    Some(ModelConfig {
        at: table.at(),
        name: name?,
        upstream,
        input,
        output,
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

fn unique<'w>(reader: &Reader<'_>, names: impl Iterator<Item = &'w Written<String>>, what: &str) {
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
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for model in models {
        let key = (model.upstream.value.as_str(), model.name.value.as_str());
        if let Some(line) = seen.get(&key) {
            let message = format!("line {line} says already what `{}/{}` is", key.0, shown(key.1));
            reader.error(model.name.at.span.clone(), message, "join the two tables");
        } else {
            seen.insert(key, model.name.at.line);
        }
    }
}

/// A name that upstreams may share.
type Shared = fn(&UpstreamConfig) -> &Option<Written<String>>;

/// A shared name that one upstream alone has, and that is nearly another's, shares nothing.
fn alone(reader: &Reader<'_>, upstreams: &[UpstreamConfig]) {
    let of: [(&str, Shared); 3] = [
        ("quota", |upstream| &upstream.quota),
        ("parent", |upstream| &upstream.parent),
        ("dedup", |upstream| &upstream.dedup),
    ];
    for (what, read) in of {
        let all: Vec<&Written<String>> = upstreams
            .iter()
            .filter_map(|upstream| read(upstream).as_ref())
            .collect();
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        for name in &all {
            *uses.entry(&name.value).or_default() += 1;
        }
        for name in all {
            let shared: Vec<&str> = uses
                .iter()
                .filter(|(other, uses)| **other != name.value && **uses > 1)
                .map(|(other, _)| *other)
                .collect();
            if uses.get(name.value.as_str()) == Some(&1)
                && let Some(near) = nearest(&name.value, &shared)
            {
                let text = format!(
                    "no other upstream has the {what} `{}`; `{near}` is shared",
                    name.value
                );
                reader.remark(name.at.span.clone(), text);
            }
        }
    }
}

fn serve(table: &Section<'_>, upstreams: &[UpstreamConfig]) -> ServeConfig {
    let clients: Vec<ClientConfig> = table
        .sections("clients")
        .iter()
        .filter_map(|client| {
            client.missing("name");
            client.missing("token_hash");
            let (name, token_hash) = (client.text("name"), client.text("token_hash"));
            Some(ClientConfig {
                name: name?,
                token_hash: token_hash?,
            })
        })
        .collect();
    unique(table.reader, clients.iter().map(|client| &client.name), "client");
    let tls = table.section("tls").and_then(|tls| {
        tls.missing("cert");
        tls.missing("key");
        let (cert, key) = (tls.text("cert"), tls.text("key"));
        let (value, at, key) = (
            TlsConfig {
                cert: cert?.value,
                key: key?.value,
            },
            tls.at(),
            "serve.tls",
        );
        Some(Written { value, at, key })
    });
    let serve = ServeConfig {
        listen: table.text("listen"),
        admin: admin(table),
        tls,
        body_bytes_max: table.size("body_max"),
        hold_bytes_max: table.size("hold_bytes"),
        hold_max: table.length("hold_max"),
        heartbeat: table.length("heartbeat"),
        store: table.text("store"),
        store_bytes_max: table.size("store_max"),
        clients,
        allowed_hosts: table.texts("allowed_hosts"),
        allowed_origins: table.texts("allowed_origins"),
        drain: table.length("drain"),
        log: table.word("log", &LOGS),
    };
    open_doors(table, &serve, upstreams);
    serve
}

fn admin(table: &Section<'_>) -> AdminConfig {
    let Some((_, value)) = table.find("admin") else {
        return AdminConfig::default();
    };
    if value.get_ref().as_table().is_none() {
        let listen = table.text("admin");
        return AdminConfig {
            listen,
            token_hash: None,
        };
    }
    let section = table.section("admin");
    AdminConfig {
        listen: section.as_ref().and_then(|admin| admin.text("listen")),
        token_hash: section.as_ref().and_then(|admin| admin.text("token_hash")),
    }
}

/// What a gateway refuses to start with: strangers who spend somebody's key, or who turn the breakers.
fn open_doors(table: &Section<'_>, serve: &ServeConfig, upstreams: &[UpstreamConfig]) {
    let is_open = |listen: &Option<Written<String>>| {
        listen
            .as_ref()
            .filter(|listen| !text::is_loopback(&listen.value))
            .cloned()
    };
    let has_key = upstreams.iter().find(|upstream| upstream.credential.is_some());
    if let (Some(listen), Some(upstream), true) = (is_open(&serve.listen), has_key, serve.clients.is_empty())
        && table.find("clients").is_none()
    {
        let message = format!(
            "listening on {} without clients would let anybody spend the credential of upstream `{}`",
            listen.value, upstream.name.value
        );
        let help = "write clients = [{ name = \"web\", token_hash = \"sha256:…\" }], or listen on 127.0.0.1";
        table.reader.error(listen.at.span, message, help);
    }
    if let (Some(listen), None) = (is_open(&serve.admin.listen), &serve.admin.token_hash) {
        let message = format!(
            "listening on {} without a token would let anybody turn the breakers",
            listen.value
        );
        let help = "write admin = { listen = \"…\", token_hash = \"sha256:…\" }, or listen on 127.0.0.1";
        table.reader.error(listen.at.span, message, help);
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
