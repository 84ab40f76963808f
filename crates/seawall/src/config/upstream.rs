use super::Layer;
use super::policy::Draft;
use super::reader::{Reader, nearest};
use super::section::Section;
use super::types::{Credential, Later, Speaks, UpstreamConfig, Written};
use seawall_core::classify::{Class, Override};
use seawall_core::profile::Provider;
use std::collections::BTreeMap;

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
/// The header of idempotency keys where none is named.
const KEY_HEADER: &str = "Idempotency-Key";
/// What is missing for an upstream that is another gateway of ours.
const NO_SEAWALL: &str = "it is called like any HTTP server; its retries are not told from calls";

/// Reads one `[[upstream]]` over what `[policy]` says.
pub(super) fn read(table: &Section<'_>, ground: &Draft) -> Option<UpstreamConfig> {
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
        table.reader.later(Later { key, value, missing }, at.span.clone());
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

/// A name that upstreams may share.
type Shared = fn(&UpstreamConfig) -> &Option<Written<String>>;

/// A shared name that one upstream alone has, and that is nearly another's, shares nothing.
pub(super) fn alone(reader: &Reader<'_>, upstreams: &[UpstreamConfig]) {
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
