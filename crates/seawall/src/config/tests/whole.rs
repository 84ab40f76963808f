use super::super::*;
use expect_test::{Expect, expect};
use seawall_core::classify::Class;
use seawall_core::facts::Replay;
use seawall_core::profile::Provider;

fn check_error(text: &str, expected: Expect) {
    let errors = Config::parse("seawall.toml", text).expect_err("a file that cannot be right");
    expected.assert_eq(&errors.to_string());
}

/// An upstream that others can be written around.
const MAIN: &str = "[[upstream]]\nname = \"main\"\nbase_url = \"https://api.example.com/v1\"\n";

const WHOLE: &str = r#"
[policy]
preset = "default"
retries = 5
deadline = "120s"

[[upstream]]
name = "main"
base_url = "https://api.example.com/v1"
provider = "openai"
credential = { env = "MAIN_API_KEY" }
quota = "main-team"
parent = "all"
dedup = "main"
idempotency = { header = "Idempotency-Key" }
classify = [{ status = 446, code = "x", as = "failed" }]
policy = { retries = 3 }

[[upstream]]
name = "spare"
base_url = "http://[::1]:8080"
provider = "seawall"
credential = { file = "/run/secrets/spare" }
parent = "all"

[[model]]
name = "small-1"
upstream = "main"
input = 0.42
output = 1.10
window = 64000

[[route]]
match = { path = "/v1/chat/completions", model = "big-*", task = ["summarize"], header = { X-Team = "blue" } }
to = ["main/big-1", "spare/org/big-1", "main/small-1", "spare"]
order = "cheapest"
fallbacks = 2
tries = 2
patience = "1s"
max_price = 10.0
money_max = { usd = 50.0, per = "1d" }
replay = "declared"
cache = { ttl = "10m", only = "temperature=0" }
fit = "keep-newest"

[serve]
listen = "0.0.0.0:8787"
admin = "127.0.0.1:8788"
tls = { cert = "c.pem", key = "k.pem" }
body_max = "8MiB"
hold_bytes = "64KiB"
hold_max = "5s"
heartbeat = "15s"
store = "answers"
store_max = "100B"
clients = [{ name = "web", token_hash = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" }]
allowed_hosts = ["ai.example.com:8443"]
allowed_origins = ["https://app.example.com"]
drain = "0s"
log = "json"

[batch]
upstream = "main"
model = "small-1"
concurrency = "auto"
rpm = 60
tpm = 10000
max_cost = 2.5
ordered = true
skip_invalid = true
auto_id = true
dedupe = true
spool = true
allow_absolute_url = true
max_line = "1MiB"
progress = "json"
extras = true
journal = "runs"
schema = "s.json"
report = "r.html"
"#;

#[test]
fn every_key_of_the_whole_file_reaches_its_field() {
    // A key that is read into the wrong field, or into none, holds something else than was written.
    let config = Config::parse("f", WHOLE).expect("a right file");
    let [main, spare] = &config.upstreams[..] else {
        panic!("two upstreams");
    };
    assert_eq!((main.name.value.as_str(), main.name.at.line), ("main", 8));
    assert_eq!(main.base_url.value, "https://api.example.com/v1");
    assert_eq!(
        main.provider.as_ref().map(|it| it.value),
        Some(Speaks::Provider(Provider::OpenAi))
    );
    assert_eq!(
        main.credential.as_ref().map(|it| it.value.clone()),
        Some(Credential::Env("MAIN_API_KEY".to_owned()))
    );
    assert_eq!(
        spare.credential.as_ref().map(|it| it.value.clone()),
        Some(Credential::File("/run/secrets/spare".to_owned()))
    );
    assert_eq!(spare.provider.as_ref().map(|it| it.value), Some(Speaks::Seawall));
    let shared = [&main.quota, &main.parent, &main.dedup, &main.idempotency];
    let shared = shared.map(|it| it.as_ref().map_or("", |it| it.value.as_str()));
    assert_eq!(shared, ["main-team", "all", "main", "Idempotency-Key"]);
    let [own] = &main.classify[..] else {
        panic!("one word of the user's own");
    };
    assert_eq!(
        (own.status, own.code.as_deref(), own.class),
        (Some(446), Some("x"), Class::Failed)
    );
    assert_eq!(main.policy.policy().call.retries(), 3);
    assert_eq!(spare.policy.policy().call.retries(), 5);

    let [model] = &config.models[..] else {
        panic!("one model");
    };
    let prices = [&model.input, &model.output, &model.window];
    let prices = prices.map(|it| it.as_ref().map(|it| it.value));
    assert_eq!(prices, [Some(420_000), Some(1_100_000), Some(64_000)]);

    let [route] = &config.routes[..] else {
        panic!("one route");
    };
    let to: Vec<_> = route
        .to
        .iter()
        .map(|it| (it.upstream.as_str(), it.model.as_deref()))
        .collect();
    assert_eq!(
        to,
        [
            ("main", Some("big-1")),
            ("spare", Some("org/big-1")),
            ("main", Some("small-1")),
            ("spare", None)
        ]
    );
    assert_eq!(route.order, Order::Cheapest);
    assert_eq!(route.matches.headers[0].0, "x-team");
    let money = route.money_max.as_ref().map(|it| it.value).expect("a bound");
    assert_eq!((money.micro_usd, money.per.as_secs()), (50_000_000, 86_400));
    assert_eq!(route.max_price.as_ref().map(|it| it.value), Some(10_000_000));
    assert_eq!(route.replay.as_ref().map(|it| it.value), Some(Replay::Declared));
    assert_eq!(
        route.cache.as_ref().map(|it| it.value.only),
        Some(Cached::TemperatureZero)
    );

    let serve = &config.serve;
    let sizes = [
        &serve.body_bytes_max,
        &serve.hold_bytes_max,
        &serve.store_bytes_max,
    ];
    let sizes = sizes.map(|it| it.as_ref().map(|it| it.value));
    assert_eq!(sizes, [Some(8 << 20), Some(64 << 10), Some(100)]);
    assert_eq!(serve.admin.listen.as_ref().map(|it| it.at.line), Some(48));
    assert_eq!(serve.log.as_ref().map(|it| it.value), Some(LogForm::Json));
    assert_eq!(serve.clients[0].name.value, "web");

    let batch = &config.batch;
    assert_eq!(
        batch.cost_micro_usd_max.as_ref().map(|it| it.value),
        Some(2_500_000)
    );
    let flags = [
        &batch.ordered,
        &batch.skip_invalid,
        &batch.auto_id,
        &batch.dedupe,
        &batch.spool,
        &batch.allow_absolute_url,
        &batch.extras,
    ];
    assert!(flags.iter().all(|it| it.as_ref().is_some_and(|it| it.value)));
    assert_eq!(batch.line_bytes_max.as_ref().map(|it| it.value), Some(1 << 20));
    assert_eq!(
        batch.progress.as_ref().map(|it| it.value),
        Some(ProgressForm::Json)
    );
}
