//! The JSON Schemas, held to the parsers by a validator that is not ours.

use crate::{seawall_in, text};
use seawall::config::keys::{Key, Takes};
use seawall::config::{Config, keys};
use seawall_lab::file::MockFile;
use seawall_lab::run::simulate::Simulation;
use seawall_lab::scenario::Scenario;
use serde_json::{Map, Value, json};
use std::path::Path;

/// What the program prints as the schema of these files, ready to judge.
fn schema(of: &str) -> jsonschema::Validator {
    let output = seawall_in(".".as_ref(), &["schema", of]);
    assert!(output.status.success() && output.stderr.is_empty(), "{of}");
    let schema: Value = serde_json::from_str(&text(output.stdout)).expect("a schema is JSON");
    jsonschema::meta::validate(&schema).expect("a schema is a schema");
    jsonschema::validator_for(&schema).expect("every reference is there")
}

fn json(toml: &str) -> Value {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{error}: {toml}"))
}

/// The TOML blocks of a page.
fn blocks(page: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let page = std::fs::read_to_string(path).expect("the page is there");
    let blocks = page.split("```toml\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap_or("").to_owned())
        .collect()
}

#[test]
fn a_mock_file_that_the_mock_takes_is_taken_by_its_schema() {
    // An editor that underlines what works teaches people to ignore it.
    let schema = schema("script");
    let mut files = blocks("docs/guide/mock.md");
    files.extend(blocks("docs/reference/script-grammar.md"));
    files.extend(blocks("docs/reference/limit.md"));
    files.extend(blocks("docs/guide/shell.md"));
    assert!(files.len() >= 2);
    files.push(
        "seed = 1\n[[route]]\nmatch = \"* /*\"\nlatency = { uniform = [\"1s\", \".5m\"] }\nstate = \"header:x\"\n"
            .to_owned(),
    );
    files.push(String::new());
    for file in files {
        MockFile::parse("mock.toml", &file).unwrap_or_else(|error| panic!("{error}"));
        let fault = schema.validate(&json(&file)).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{file}");
    }
}

#[test]
fn a_mock_file_with_a_wrong_name_type_or_word_fails_its_schema_too() {
    // A schema that lets everything through underlines nothing.
    let schema = schema("script");
    for file in [
        "lisen = \"127.0.0.1:0\"",
        "seed = \"7\"",
        "seed = -1",
        "route = 1",
        "[[route]]\nscript = \"200\"",
        "[[route]]\nmatch = \"post /x\"",
        "[[route]]\nmatch = \"GET x\"",
        "[[route]]\nmatch = \"GET /x?y\"",
        "[[route]]\nmatch = \"GET /x\"\nscrip = \"200\"",
        "[[route]]\nmatch = \"GET /x\"\nscript = \"200\"\nmix = { 200 = 1 }",
        "[[route]]\nmatch = \"GET /x\"\nmix = { 200 = 2 }",
        "[[route]]\nmatch = \"GET /x\"\nlatency = \"2\"",
        "[[route]]\nmatch = \"GET /x\"\nlatency = { p50 = \"2s\" }",
        "[[route]]\nmatch = \"GET /x\"\nlatency = { uniform = [\"2s\"] }",
        "[[route]]\nmatch = \"GET /x\"\ndialect = \"klingon\"",
        "[[route]]\nmatch = \"GET /x\"\nstate = \"cookie:x\"",
        "[[route]]\nmatch = \"GET /x\"\nresource = \"my payments\"",
        "[[route]]\nmatch = \"GET /x\"\nidempotency = true",
        "[[route]]\nmatch = \"GET /x\"\nidempotency = { key = \"x\" }",
        "[[route]]\nmatch = \"GET /x\"\nidempotency = { scope = \"account\" }",
        "[[route]]\nmatch = \"GET /x\"\nidempotency = { required = 1 }",
    ] {
        MockFile::parse("mock.toml", file).expect_err(file);
        assert!(!schema.is_valid(&json(file)), "{file}");
    }
}

#[test]
fn a_simulation_that_is_read_is_taken_by_its_schema_and_a_wrong_one_is_not() {
    // An editor that underlines what runs, or nothing at all, helps nobody.
    let schema = schema("simulation");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = |name: &str| {
        let path = root.join("examples/simulations").join(name);
        std::fs::read_to_string(path).expect("the file is there")
    };
    let mut files = blocks("docs/reference/simulation.md");
    files.extend(["stall.toml", "budget.toml", "limited.toml"].map(example));
    for file in &files {
        Simulation::parse("a.toml", file).unwrap_or_else(|errors| panic!("{errors}"));
        let fault = schema.validate(&json(file)).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{file}");
    }
    for (right, wrong) in [
        ("horizon =", "horizn ="),
        ("rate = 100", "rate = \"100\""),
        ("capacity = 150", ""),
        ("orphans = \"worked\"", "orphans = \"eaten\""),
        ("how = \"hang\"", "how = \"hung\""),
        ("naive = \"immediate\"", "naive = \"quick\""),
        ("retries = 3", "retrys = 3"),
        ("fleet = \"one\"", ""),
        ("fleet = \"one\"", "fleet = { process = 0 }"),
    ] {
        let file = files[0].replace(right, wrong);
        assert_ne!(file, files[0], "{right}");
        Simulation::parse("a.toml", &file).expect_err(&file);
        assert!(!schema.is_valid(&json(&file)), "{file}");
    }
}

#[test]
fn a_scenario_that_is_read_is_taken_by_its_schema_and_a_wrong_one_is_not() {
    let schema = schema("scenario");
    let mut files = blocks("docs/guide/scenarios.md");
    files.extend(blocks("docs/reference/scenario-file.md"));
    assert!(files.len() >= 4);
    for file in files {
        Scenario::parse("scenario.toml", &file).unwrap_or_else(|errors| panic!("{errors}"));
        let fault = schema.validate(&json(&file)).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{file}");
    }
    let step = "mock = \"m.toml\"\n[[step]]\nsend = \"GET /x\"\n";
    let client = "mock = \"m.toml\"\nclient = { run = \"x\" }\n";
    assert!(schema.is_valid(&json(step)) && schema.is_valid(&json(client)));
    for file in [
        "mock = \"m.toml\"".to_owned(),
        format!("{step}[client]\nrun = \"x\""),
        "[[step]]\nsend = \"GET /x\"".to_owned(),
        step.replace("\"m.toml\"", "{ listen = \"127.0.0.1:9\" }"),
        step.replace("\"m.toml\"", "{ route = [{ match = \"GET x\" }] }"),
        step.replace("GET /x", "get /x"),
        format!("{step}polcy = \"writes\""),
        format!("{step}policy = \"write\""),
        format!("{step}body = \"a\"\njson = 1"),
        format!("{step}times = 0"),
        format!("{step}capture = {{ id = \"id\" }}"),
        format!("{step}expect = {{ status = \"2x\" }}"),
        format!("{step}expect = {{ attempts = \"2..3\" }}"),
        format!("{step}expect = {{ elapsed = \"4s\" }}"),
        format!("{client}[expect]\nnever = [\"overlaps\"]"),
        format!("{client}[expect]\nnever = [{{ over = 3 }}]"),
        format!("{client}[expect]\nsame_key = false"),
        format!("{client}[expect]\nexit = \"zero\""),
        format!("{client}[expect]\nschedule = {{ base = 1 }}"),
        client.replace("\"x\"", "[]"),
        client.replace("\"x\"", "\"x\", runs = 0"),
    ] {
        Scenario::parse("scenario.toml", &file).expect_err(&file);
        assert!(!schema.is_valid(&json(&file)), "{file}");
    }
}

/// A file in which this key has this value, and every key without which the file means nothing its example.
fn file_with(key: &Key, value: Value) -> Value {
    let mut file = Map::new();
    let mut into = &mut file;
    let mut path = String::new();
    for (nth, name) in key.path.split('.').enumerate() {
        if nth > 0 {
            path.push('.');
        }
        path.push_str(name);
        if path == key.path {
            into.insert(name.to_owned(), value);
            break;
        }
        let table = keys::find(&path).expect("every table is a key");
        let is_list = matches!(table.takes, Takes::Tables);
        let inner = json!(required(&path));
        into.insert(name.to_owned(), if is_list { json!([inner]) } else { inner });
        let slot = into.get_mut(name).expect("it was put there");
        let slot = if is_list { &mut slot[0] } else { slot };
        into = slot.as_object_mut().expect("a table");
    }
    file.into()
}

/// The keys of this table that must be written, with their examples.
fn required(table: &str) -> Map<String, Value> {
    let must = keys::within(table).filter(|key| key.default == "must be written");
    must.map(|key| (key.name().to_owned(), example(key))).collect()
}

fn example(key: &Key) -> Value {
    let file = json(&format!("example = {}", key.example));
    file["example"].clone()
}

#[test]
fn every_key_of_a_config_is_known_to_its_schema_and_no_other_is() {
    // An editor would underline a key that is read, or miss a typing mistake in one.
    let schema = schema("config");
    let mut keys_seen = 0;
    for key in keys::all() {
        let is_list = matches!(key.takes, Takes::Tables);
        let good = if is_list {
            json!([required(key.path)])
        } else {
            example(key)
        };
        let good = if matches!(key.takes, Takes::Table) {
            json!(required(key.path))
        } else {
            good
        };
        let file = file_with(key, good.clone());
        let fault = schema.validate(&file).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{}: {file}", key.path);
        // No key takes a list of lists.
        assert!(
            !schema.is_valid(&file_with(key, json!([[1]]))),
            "{} takes anything",
            key.path
        );
        let misspelt = Key {
            path: Box::leak(format!("{}x", key.path).into_boxed_str()),
            ..*key
        };
        assert!(
            !schema.is_valid(&file_with(&misspelt, good)),
            "{}x is a key",
            key.path
        );
        keys_seen += 1;
    }
    assert!(keys_seen > 100, "{keys_seen}");
}

#[test]
fn a_config_that_is_read_is_taken_by_its_schema() {
    // The files of the guide, which people copy into their editors.
    let schema = schema("config");
    let mut files = blocks("docs/guide/explain.md");
    files.extend(blocks("docs/guide/check.md"));
    assert!(files.len() >= 4);
    files.push(String::new());
    files.push(WHOLE.to_owned());
    for file in files {
        Config::parse("seawall.toml", &file).unwrap_or_else(|errors| panic!("{errors}"));
        let fault = schema.validate(&json(&file)).err().map(|error| error.to_string());
        assert_eq!(fault, None, "{file}");
    }
}

const WHOLE: &str = r#"
[policy]
preset = "interactive"
backoff = { base = "250ms", factor = 1.5, jitter = { proportional = 0.5 } }
budget = "off"
limits = { concurrency = { auto = "first-byte" }, requests_per_minute = 60 }
breaker = { slow_call = { over = "10s", rate = 0.5 }, ramp = "10s" }
hedge = { after = "p95", at_most = 0.05 }
[[upstream]]
name = "main"
base_url = "https://api.example.com/v1"
credential = { env = "MAIN_API_KEY" }
classify = [{ status = 446, as = "failed" }]
policy = { retries = 3, breaker = { window = "1m" } }
[[upstream]]
name = "azure"
base_url = "https://a.openai.azure.com?api-version=2024-10-21"
policy = { hints = { cooldown_max = "1d12h" } }
[[model]]
name = "small-1"
upstream = "main"
input = 0.42
[[route]]
match = { path = "/v1/*", model = "big-*", task = ["summarize"], header = { x-team = "blue" } }
to = ["main/small-1", "main"]
money_max = { usd = 50.0, per = "1d" }
[serve]
admin = { listen = "127.0.0.1:0" }
body_max = "64KiB"
[batch]
concurrency = 8
ordered = true
"#;

#[test]
fn a_config_with_a_wrong_name_type_or_word_fails_its_schema_too() {
    // What the parser refuses for its form must be underlined while it is written.
    let schema = schema("config");
    let upstream = "[[upstream]]\nname = \"a\"\nbase_url = \"https://a.example\"\n";
    let below = |rest: &str| format!("{upstream}{rest}");
    for file in [
        "polcy = {}".to_owned(),
        "policy = { retries = -1 }".to_owned(),
        "policy = { retries = 101 }".to_owned(),
        "policy = { retries = \"5\" }".to_owned(),
        "policy = { deadline = 30 }".to_owned(),
        "policy = { deadline = \"30\" }".to_owned(),
        "policy = { deadline = \"\" }".to_owned(),
        "policy = { deadline = \"d\" }".to_owned(),
        "policy = { preset = \"careful\" }".to_owned(),
        "policy = { backoff = { factor = 11 } }".to_owned(),
        "policy = { backoff = { jitter = \"some\" } }".to_owned(),
        "policy = { budget = \"on\" }".to_owned(),
        "policy = { limits = { concurrency = 0 } }".to_owned(),
        "[[upstream]]\nname = \"a\"".to_owned(),
        "[[upstream]]\nname = \"a b\"\nbase_url = \"https://a.example\"".to_owned(),
        "[[upstream]]\nname = \"a\"\nbase_url = \"ftp://a.example\"".to_owned(),
        below("credential = \"sk-live\""),
        below("credential = { env = \"not a name\" }"),
        below("policy = { retires = 3 }"),
        below("[serve]\nbody_max = 65536"),
        below("[[route]]\nto = \"a\""),
        below("[[route]]\nto = [\"a\"]\nreplay = \"idempotent\""),
    ] {
        Config::parse("seawall.toml", &file).expect_err(&file);
        assert!(!schema.is_valid(&json(&file)), "{file}");
    }
}
