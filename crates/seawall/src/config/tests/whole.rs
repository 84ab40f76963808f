use super::super::*;
use expect_test::{Expect, expect};
use seawall_core::classify::Class;
use seawall_core::facts::Replay;
use seawall_core::policy::{Concurrency, HedgeAfter};
use seawall_core::profile::Provider;
use seawall_core::time::Duration;

fn check_error(text: &str, expected: Expect) {
    let errors = Config::parse("seawall.toml", text).expect_err("a file that cannot be right");
    expected.assert_eq(&errors.to_string());
}

/// An upstream that others can be written around.
const MAIN: &str = "[[upstream]]\nname = \"main\"\nbase_url = \"https://api.example.com/v1\"\n";

pub(super) const WHOLE: &str = r#"
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
cached_input = 0.04
cache_write = 0.53
long_cache_write = 0.84
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
    let prices = [
        &model.input,
        &model.output,
        &model.cached_input,
        &model.cache_write,
        &model.long_cache_write,
        &model.window,
    ];
    let prices = prices.map(|it| it.as_ref().map(|it| it.value));
    assert_eq!(
        prices,
        [420_000, 1_100_000, 40_000, 530_000, 840_000, 64_000].map(Some)
    );

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
    assert_eq!(serve.admin.listen.as_ref().map(|it| it.at.line), Some(51));
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

#[test]
fn what_nothing_obeys_yet_is_told_once_for_each_table() {
    // A setting that is accepted in silence and does nothing is a promise broken.
    let config = Config::parse("f", WHOLE).expect("a right file");
    let told: Vec<String> = config
        .not_enforced
        .iter()
        .map(|later| format!("{}: {}", later.at.line, later.what))
        .collect();
    expect![[r#"
        12: `upstream.quota`
        13: `upstream.parent`
        14: `upstream.dedup`
        22: `upstream.provider = "seawall"`
        24: `upstream.parent`
        26: [[model]]
        36: [[route]]
        49: [serve]
        71: `batch.max_cost`
        72: `batch.ordered`
        74: `batch.auto_id`
        75: `batch.dedupe`
        76: `batch.spool`
        81: `batch.journal`
        82: `batch.schema`
        83: `batch.report`"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn what_is_slow_ramped_and_hedged_is_what_the_file_says() {
    // A key that is read and reaches no policy looks obeyed, and does nothing.
    let text = "[policy.breaker]\nslow_call = { over = '2s' }\nramp = '10s'\n[policy.hedge]\nafter = 'p99.9'\nat_most = 0.05\n\
                [policy.limits]\nconcurrency = { auto = 'first-byte' }";
    let config = Config::parse("f", text).expect("a right file");
    assert!(config.not_enforced.is_empty());
    let policy = config.policy.policy();
    let breaker = policy.gate.breaker().expect("it has one");
    let slow = breaker.slow_call().expect("it is written");
    assert_eq!((slow.over, slow.per_mille), (Duration::from_secs(2), 500));
    assert_eq!(breaker.ramp(), Some(Duration::from_secs(10)));
    let hedge = policy.call.hedge().expect("it is written");
    assert_eq!(hedge.after(), HedgeAfter::Percentile { per_mille: 999 });
    assert_eq!(hedge.at_most_per_mille(), Some(50));
    assert_eq!(policy.gate.limits().concurrency(), Concurrency::Gradient);
}

#[test]
fn a_share_of_hedges_without_a_hedge_is_told_at_its_line() {
    // Accepted in silence it bounds nothing, and whoever wrote it believes that calls are hedged.
    let errors = Config::parse("f", "[policy.hedge]\nat_most = 0.05").expect_err("no hedge");
    expect![[r#"
        f:2:11: hedge.at_most bounds nothing: no hedge is sent without hedge.after; set it too
          |
        2 | at_most = 0.05
          |           ^^^^"#]]
    .assert_eq(&errors.to_string());
    for wrong in ["p49", "p100", "p95.55", "p", "p9", "median"] {
        let errors = Config::parse("f", &format!("[policy.hedge]\nafter = '{wrong}'")).expect_err(wrong);
        assert!(errors.to_string().contains("\"p50\" to \"p99.9\""), "{errors}");
    }
}

#[test]
fn an_upstreams_own_policy_stands_over_the_common_one() {
    // One that starts anew forgets what the file says for all; one that changes the common one changes its neighbours.
    let text = format!(
        "[policy]\nretries = 4\nbackoff = {{ base = '100ms' }}\nbudget = 'off'\n{MAIN}policy = {{ backoff = {{ cap = '1s' }} }}\n\
         [[upstream]]\nname = 'anew'\nbase_url = 'http://a'\npolicy = {{ preset = 'interactive', budget = {{ ratio = 0.2 }} }}\n\
         [[upstream]]\nname = 'again'\nbase_url = 'http://a'\npolicy = {{ budget = {{}} }}\n"
    );
    let config = Config::parse("f", &text).expect("a right file");
    let policy = |name: &str| *config.upstream(name).expect("it is there").policy.policy();
    let (main, anew, again) = (policy("main"), policy("anew"), policy("again"));
    assert_eq!((main.call.retries(), main.gate.budget()), (4, None));
    assert_eq!(main.call.backoff().base().as_millis(), 100);
    assert_eq!(main.call.backoff().cap().as_millis(), 1_000);
    // A preset is a new ground: nothing of [policy] holds on it.
    assert_eq!(
        (anew.call.retries(), anew.call.backoff().base().as_millis()),
        (2, 500)
    );
    assert_eq!(
        anew.gate.budget().map(|budget| budget.ratio_per_mille()),
        Some(200)
    );
    assert!(again.gate.budget().is_some());
    let common = config.policy.policy();
    assert_eq!(
        (common.call.backoff().cap().as_secs(), common.gate.budget()),
        (30, None)
    );
}

#[test]
fn every_value_says_where_it_comes_from() {
    // A figure without its source is one more thing to search for.
    let text = format!(
        "[policy]\npreset = 'interactive'\ndeadline = '3s'\nbackoff = {{ base = '2s' }}\n{MAIN}policy = {{ retries = 1 }}\n"
    );
    let config = Config::parse("f", &text).expect("a right file");
    let of = |key: &str| {
        let main = &config.upstream("main").expect("it is there").policy;
        match main.origin(key) {
            Origin::Written { at, layer } => format!("{}:{} {layer:?}", at.line, at.column),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(of("policy.retries"), "8:22 Upstream");
    assert_eq!(of("policy.deadline"), "3:12 Policy");
    assert_eq!(of("policy.backoff.min"), "Follows(\"policy.backoff.base\")");
    assert_eq!(of("policy.backoff.cap"), "Default");
    assert_eq!(of("policy.hints.max"), "Preset(Interactive)");
    let settings = config.settings();
    let [_, main] = &settings[..] else {
        panic!("[policy] and one upstream");
    };
    let first_byte = main
        .settings
        .iter()
        .find(|setting| setting.key == "policy.timeouts.first_byte");
    let first_byte = first_byte.expect("it is shown");
    assert_eq!(first_byte.value, "\"3s\"");
    assert_eq!(
        first_byte.note,
        "lowered from 1m and inference 5m to the deadline"
    );
    let connect = main
        .settings
        .iter()
        .find(|setting| setting.key == "policy.timeouts.connect");
    assert_eq!(
        connect.map(|it| it.note.as_str()),
        Some("lowered from 5s to the deadline")
    );
}

#[test]
fn every_value_of_the_engine_is_shown() {
    // A preset that differs where nothing is shown differs in secret.
    let config = Config::parse("f", "").expect("a right file");
    let shown: Vec<&str> = config.settings()[0]
        .settings
        .iter()
        .map(|setting| setting.key)
        .collect();
    for key in keys::all().filter(|key| key.path.starts_with("policy.")) {
        let is_group = matches!(
            key.takes,
            keys::Takes::Table | keys::Takes::Either([keys::Takes::Table, ..])
        );
        let is_part = key.table() == "policy.backoff.jitter" || key.table() == "policy.limits.concurrency";
        let is_held = key.holds() == keys::Held::Today;
        assert_eq!(
            shown.contains(&key.path),
            !is_group && !is_part && is_held,
            "{}",
            key.path
        );
    }
}

#[test]
fn a_shared_name_that_nobody_shares_is_remarked_on() {
    // `quota = "temm"` shares nothing, and cools the team's other upstreams never.
    let upstream = |name: &str, quota: &str| {
        format!("[[upstream]]\nname = '{name}'\nbase_url = 'http://a'\nquota = '{quota}'\n")
    };
    let text = [
        upstream("a", "team"),
        upstream("b", "team"),
        upstream("c", "taem"),
        upstream("d", "other"),
    ]
    .concat();
    let config = Config::parse("f", &text).expect("a right file");
    let remarks: Vec<(usize, &str)> = config
        .remarks
        .iter()
        .map(|remark| (remark.at.line, remark.text.as_str()))
        .collect();
    assert_eq!(
        remarks,
        [(12, "no other upstream has the quota `taem`; `team` is shared")]
    );
}

#[test]
fn a_name_that_a_broken_upstream_has_is_known() {
    // One mistake must not make ten errors.
    check_error(
        "[[upstream]]\nname = 'main'\nbase_url = 3\n[[route]]\nto = ['main', 'mein']\n",
        expect![[r#"
            seawall.toml:3:12: expected a text in quotes, found an integer
              |
            3 | base_url = 3
              |            ^
              = write it as in base_url = "https://api.example.com/v1"

            seawall.toml:5:15: no upstream is called `mein`; the nearest known is `main`
              |
            5 | to = ['main', 'mein']
              |               ^^^^^^"#]],
    );
}
