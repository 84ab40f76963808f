use super::*;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn json_says_in_toml_what_it_says() {
    // Could break if a top-level key slid below a table, or a key with a slash were written bare.
    let value = json!({
        "route": [
            { "match": "POST /x", "mix": { "200": 0.9, "503": 0.1 }, "latency": { "uniform": ["1s", "2s"] } },
            { "match": "GET /y", "script": "200 text=\"a\\nb\"" },
        ],
        "seed": 7,
        "fine": true,
    });
    let expected = "fine = true\nseed = 7\n[[\"route\"]]\nlatency = { uniform = [\"1s\", \"2s\"] }\nmatch = \"POST /x\"\n\
        mix = { 200 = 0.9, 503 = 0.1 }\n[[\"route\"]]\nmatch = \"GET /y\"\nscript = \"200 text=\\\"a\\\\nb\\\"\"\n";
    assert_eq!(toml(&value).as_deref(), Ok(expected));
    for (value, named) in [
        (json!({ "a": { "b": null } }), "`b` is null"),
        (json!([1]), "no object"),
    ] {
        assert!(toml(&value).unwrap_err().contains(named));
    }
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![any::<String>(), "[ -~\\x00-\\x20\\x7f\u{85}\u{2028}]{0,6}"];
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..4)
                .prop_map(|keys| Value::Object(keys.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_the_json_is_a_toml_reader_reads_the_same(keys in prop::collection::btree_map(any::<String>(), value(), 0..5)) {
        // Could break at any sign that one of the two languages has an escape for and the other has not.
        let value = Value::Object(keys.into_iter().collect());
        let text = toml(&value).unwrap();
        let read: Value = ::toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(read, value);
    }
}
