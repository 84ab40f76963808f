//! The JSON Schemas, held to the parsers by a validator that is not ours.

use crate::{seawall_in, text};
use seawall_lab::file::MockFile;
use serde_json::Value;
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
    ] {
        MockFile::parse("mock.toml", file).expect_err(file);
        assert!(!schema.is_valid(&json(file)), "{file}");
    }
}
