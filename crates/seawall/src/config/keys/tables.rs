use super::{Key, Takes, Text, policy::LENGTH_MAX};
use seawall_core::time::Duration;

const LENGTH: Takes = Takes::Length {
    min: Duration::from_millis(1),
    max: LENGTH_MAX,
};
const LENGTH_OR_NONE: Takes = Takes::Length {
    min: Duration::ZERO,
    max: LENGTH_MAX,
};
const SIZE: Takes = Takes::Size { min: 1, max: 1 << 40 };
/// US dollars, to the millionth.
const PRICE: Takes = Takes::Decimal {
    places: 6,
    min: 0,
    max: 1_000_000_000_000,
    what: "US dollars such as 0.42",
};
const MONEY: Takes = Takes::Decimal {
    places: 6,
    min: 1,
    max: 1_000_000_000_000_000,
    what: "US dollars such as 50.0",
};
const PROVIDERS: Takes = Takes::Word(&[
    "openai",
    "anthropic",
    "azure",
    "gemini",
    "groq",
    "stripe",
    "github",
    "generic",
    "seawall",
]);
const CLASSES: Takes = Takes::Word(&["answer", "refused", "throttled", "failed", "denied"]);

const fn count(min: u64, max: u64) -> Takes {
    Takes::Count { min, max }
}

const fn text(text: Text) -> Takes {
    Takes::Text(text)
}

const ONE_BY_ONE: &str = "each command calls one upstream; the library's routes obey it";
const NO_PRICES: &str = "no command prices calls; the library's routes go by it";
const NO_COST: &str = "nothing prices calls";
const NO_ROUTER: &str = "no command routes calls; the library does, but for `money_max`, `cache` and `fit`";
const NO_GATEWAY: &str = "nothing serves";
const NOT_IN_BATCH: &str = "`seawall batch` cannot do this";

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    Key::new("upstream", Takes::Tables, "none", "[]", "", "a named server"),
    Key::new("upstream.name", text(Text::Name), "must be written", "\"main\"", "", "its name in routes, on the command line and in metrics"),
    Key::new("upstream.base_url", text(Text::Url), "must be written", "\"https://api.example.com/v1\"", "", "where its calls go"),
    Key::new("upstream.provider", PROVIDERS, "inferred from host and path", "\"openai\"", "rule D", "its dialect of headers, bodies and errors"),
    Key::new("upstream.credential", Takes::Table, "none", "{ env = \"MAIN_API_KEY\" }", "decision 012", "where its key is read from; the key itself is never in this file"),
    Key::new("upstream.credential.env", text(Text::Env), "none", "\"MAIN_API_KEY\"", "decision 012", "the environment variable that holds it"),
    Key::new("upstream.credential.file", text(Text::File), "none", "\"/run/secrets/main\"", "decision 012", "the file that holds it"),
    Key::new("upstream.quota", text(Text::Name), "its own", "\"main-team\"", "rule C6", "upstreams that share one quota share its cool-downs and limits").later(ONE_BY_ONE),
    Key::new("upstream.parent", text(Text::Name), "none", "\"all\"", "rule G7", "a named budget above several upstreams").later(ONE_BY_ONE),
    Key::new("upstream.dedup", text(Text::Name), "its own", "\"main\"", "rule E4", "upstreams that share one store of idempotency keys").later(ONE_BY_ONE),
    Key::new("upstream.idempotency", Takes::Table, "as the provider does", "{}", "rule E3", "that it honours idempotency keys: each write is given one"),
    Key::new("upstream.idempotency.header", text(Text::Header), "\"Idempotency-Key\"", "\"Idempotency-Key\"", "rule E3", "the header that carries them"),
    Key::new("upstream.classify", Takes::Tables, "none", "[]", "rule D", "your own word on its statuses and codes; the first that matches wins"),
    Key::new("upstream.classify.status", count(100, 999), "any", "446", "rule D", "the status that it is about"),
    Key::new("upstream.classify.code", text(Text::Any), "any", "\"overloaded\"", "rule D", "the provider's code or type that it is about"),
    Key::new("upstream.classify.as", CLASSES, "must be written", "\"failed\"", "rule D", "what such an answer is"),
    Key::new("upstream.policy", Takes::Policy, "as `[policy]`", "{}", "rule K1", "overrides of `[policy]`, the same keys"),
    Key::new("model", Takes::Tables, "none", "[]", "", "what a model costs and holds").later(NO_PRICES),
    Key::new("model.name", text(Text::Any), "must be written", "\"small-1\"", "", "the model's name, as calls say it"),
    Key::new("model.upstream", text(Text::Name), "must be written", "\"main\"", "", "the upstream that has it"),
    Key::new("model.input", PRICE, "unpriced", "0.42", "", "US dollars per million tokens sent"),
    Key::new("model.output", PRICE, "unpriced", "1.10", "", "US dollars per million tokens answered"),
    Key::new("model.cached_input", PRICE, "as much as input", "0.04", "", "US dollars per million tokens sent that are read from a cache"),
    Key::new("model.cache_write", PRICE, "1.25 times input", "0.53", "", "US dollars per million tokens sent that are written to a cache"),
    Key::new("model.long_cache_write", PRICE, "the table's share of input", "0.84", "", "the same, of a cache that is kept for long: an hour at Anthropic"),
    Key::new("model.window", count(1, 1_000_000_000), "unknown", "64000", "rule K2", "tokens that it takes"),
    Key::new("route", Takes::Tables, "none", "[]", "rule K1", "which upstreams may serve which calls").later(NO_ROUTER),
    Key::new("route.match", Takes::Table, "every call", "{}", "rule K1", "the calls that it is about; all that is written must match"),
    Key::new("route.match.path", text(Text::Path), "any", "\"/v1/chat/completions\"", "rule K1", "their path; `*` stands for anything"),
    Key::new("route.match.model", text(Text::Pattern), "any", "\"big-*\"", "rule K1", "their model; `*` stands for anything"),
    Key::new("route.match.task", Takes::Texts(Text::Name), "any", "[\"summarize\"]", "rule K6", "their task, one of these"),
    Key::new("route.match.header", Takes::Pairs, "any", "{ x-team = \"blue\" }", "rule K1", "headers that they have, with these values"),
    Key::new("route.to", Takes::Texts(Text::Target), "must be written", "[\"main/big-1\", \"main\"]", "rule K1", "the candidates in order: upstream, or upstream/model"),
    Key::new("route.order", Takes::Word(&["given", "cheapest"]), "\"given\"", "\"given\"", "rule K2", "which candidate comes first"),
    Key::new("route.fallbacks", count(0, 100), "2", "2", "rule K1", "moves to another upstream per call"),
    Key::new("route.tries", count(1, 100), "2", "2", "rule K1", "sends at one upstream while another could send now"),
    Key::new("route.patience", LENGTH_OR_NONE, "\"1s\"", "\"1s\"", "rule K1", "the longest wait at one upstream while another could send now"),
    Key::new("route.max_price", PRICE, "no bound", "10.0", "rule K2", "US dollars per million tokens answered that a candidate may cost"),
    Key::new("route.money_max", Takes::Table, "no bound", "{ usd = 50.0, per = \"1d\" }", "rule I5", "what the route may spend"),
    Key::new("route.money_max.usd", MONEY, "must be written", "50.0", "rule I5", "US dollars"),
    Key::new("route.money_max.per", LENGTH, "must be written", "\"1d\"", "rule I5", "in how long"),
    Key::new("route.replay", Takes::Word(&["declared", "unsafe"]), "as method, path and key say", "\"declared\"", "rule E1", "what a repeat of its calls may do"),
    Key::new("route.cache", Takes::Table, "off", "{ ttl = \"10m\" }", "", "answers that are given again without a call"),
    Key::new("route.cache.ttl", LENGTH, "must be written", "\"10m\"", "", "for how long"),
    Key::new("route.cache.only", Takes::Word(&["temperature=0"]), "every call", "\"temperature=0\"", "", "the calls that it is for"),
    Key::new("route.fit", Takes::Word(&["keep-newest"]), "off", "\"keep-newest\"", "", "how a conversation that is too long is cut"),
    Key::new("serve", Takes::Table, "as below", "{}", "", "the gateway").later(NO_GATEWAY),
    Key::new("serve.listen", text(Text::Listen), "\"127.0.0.1:8787\"", "\"127.0.0.1:8787\"", "", "where it listens"),
    Key::new("serve.admin", Takes::Either(&[text(Text::Listen), Takes::Table]), "\"127.0.0.1:8788\"", "\"127.0.0.1:8788\"", "", "where its metrics and its dashboard are"),
    Key::new("serve.admin.listen", text(Text::Listen), "\"127.0.0.1:8788\"", "\"127.0.0.1:8788\"", "", "the same, beside a token"),
    Key::new("serve.admin.token_hash", text(Text::Hash), "none", "\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"", "decision 012", "the hash of the token that the admin pages ask for"),
    Key::new("serve.tls", Takes::Table, "none", "{ cert = \"cert.pem\", key = \"key.pem\" }", "", "the certificate it answers with"),
    Key::new("serve.tls.cert", text(Text::File), "must be written", "\"cert.pem\"", "", "the file of its certificate"),
    Key::new("serve.tls.key", text(Text::File), "must be written", "\"key.pem\"", "", "the file of its key"),
    Key::new("serve.body_max", SIZE, "\"64MiB\"", "\"64MiB\"", "", "the largest body of a call"),
    Key::new("serve.hold_bytes", SIZE, "\"1MiB\"", "\"1MiB\"", "rule L1", "the largest plain answer that is held whole before any of it is handed on"),
    Key::new("serve.hold_max", LENGTH, "\"10s\"", "\"10s\"", "rule L1", "how long a stream is held before its first content"),
    Key::new("serve.heartbeat", LENGTH, "off", "\"15s\"", "rule L1", "how often a held stream says that it lives"),
    Key::new("serve.store", text(Text::File), "none", "\"seawall.store\"", "rule E7", "where keyed answers are kept"),
    Key::new("serve.store_max", SIZE, "\"1MiB\"", "\"1MiB\"", "rule E7", "the largest answer that is kept"),
    Key::new("serve.clients", Takes::Tables, "none", "[]", "", "who may call"),
    Key::new("serve.clients.name", text(Text::Name), "must be written", "\"web\"", "", "the client's name"),
    Key::new("serve.clients.token_hash", text(Text::Hash), "must be written", "\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"", "decision 012", "the hash of its token"),
    Key::new("serve.allowed_hosts", Takes::Texts(Text::Host), "the bound name", "[\"ai.example.com\"]", "", "hosts that it answers to"),
    Key::new("serve.allowed_origins", Takes::Texts(Text::Origin), "none", "[\"https://app.example.com\"]", "", "web pages that may call"),
    Key::new("serve.drain", LENGTH_OR_NONE, "\"30s\"", "\"30s\"", "", "how long calls may go on after it was told to stop"),
    Key::new("serve.log", Takes::Word(&["text", "json", "none"]), "\"text\"", "\"text\"", "decision 012", "how it writes its log"),
    Key::new("batch", Takes::Table, "as below", "{}", "", "defaults of `seawall batch`"),
    Key::new("batch.upstream", text(Text::Destination), "must be named", "\"main\"", "", "where rows go"),
    Key::new("batch.model", text(Text::Any), "none", "\"small-1\"", "", "the model of rows that name none"),
    Key::new("batch.concurrency", Takes::Either(&[count(1, 1_000_000), Takes::Word(&["auto"])]), "the policy's", "64", "rule I1", "attempts in flight at once"),
    Key::new("batch.rpm", count(1, 1_000_000_000), "the policy's", "600", "rule I2", "attempts per minute"),
    Key::new("batch.tpm", count(1, 1_000_000_000_000), "the policy's", "100000", "rule I2", "tokens per minute"),
    Key::new("batch.max_cost", MONEY, "no bound", "5.0", "rule I5", "US dollars that a run may cost").later(NO_COST),
    Key::new("batch.ordered", Takes::Flag, "false", "true", "", "answers stand in the order of the rows").later(NOT_IN_BATCH),
    Key::new("batch.skip_invalid", Takes::Flag, "false", "true", "", "leave out rows that cannot be sent"),
    Key::new("batch.auto_id", Takes::Flag, "false", "true", "", "number rows that lack an id").later(NOT_IN_BATCH),
    Key::new("batch.dedupe", Takes::Flag, "false", "true", "", "answer equal rows once").later(NOT_IN_BATCH),
    Key::new("batch.spool", Takes::Flag, "false", "true", "", "keep a copy of the input").later(NOT_IN_BATCH),
    Key::new("batch.allow_absolute_url", Takes::Flag, "false", "true", "", "let rows name whole addresses"),
    Key::new("batch.max_line", SIZE, "\"64MiB\"", "\"64MiB\"", "", "the longest line that is read"),
    Key::new("batch.progress", Takes::Word(&["bar", "json", "none"]), "\"bar\"", "\"bar\"", "", "how a run is shown"),
    Key::new("batch.extras", Takes::Flag, "false", "true", "", "add attempts and times to each output row"),
    Key::new("batch.journal", text(Text::File), "beside the output", "\"runs\"", "", "the folder of the state of a run").later(NOT_IN_BATCH),
    Key::new("batch.schema", text(Text::File), "none", "\"answer.schema.json\"", "", "the JSON Schema that answers must meet").later(NOT_IN_BATCH),
    Key::new("batch.report", text(Text::File), "none", "\"report.html\"", "", "where a report of the run goes").later(NOT_IN_BATCH),
];
