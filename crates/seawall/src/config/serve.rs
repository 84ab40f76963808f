use super::section::Section;
use super::tables::unique;
use super::text::is_loopback;
use super::types::{AdminConfig, ClientConfig, LogForm, ServeConfig, TlsConfig, UpstreamConfig, Written};

const LOGS: [(&str, LogForm); 3] = [
    ("text", LogForm::Text),
    ("json", LogForm::Json),
    ("none", LogForm::Off),
];

/// Reads `[serve]`.
pub(super) fn read(table: &Section<'_>, upstreams: &[UpstreamConfig]) -> ServeConfig {
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
            .filter(|listen| !is_loopback(&listen.value))
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
