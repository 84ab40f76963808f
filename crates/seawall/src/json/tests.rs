use super::*;
use proptest::prelude::*;

/// All that is told of these bytes, or nothing where they are given up.
fn told(bytes: &[u8]) -> Option<Vec<String>> {
    let mut all = Vec::new();
    walk(bytes, &mut |path, value, span| {
        let keys: Vec<String> = path.steps[..path.depth.min(LEVELS)]
            .iter()
            .map(|step| match step {
                Step::Key(text) => String::from_utf8(text.start(&mut [0; 64]).to_vec()).unwrap(),
                Step::Item => "*".to_owned(),
            })
            .collect();
        let shown = match value {
            Value::Text(text) => format!("{:?}", String::from_utf8_lossy(text.start(&mut [0; 64]))),
            Value::List | Value::Object => String::from_utf8_lossy(&bytes[span]).into_owned(),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                String::from_utf8_lossy(&bytes[span]).into_owned()
            }
        };
        all.push(format!("{}={shown}", keys.join(".")));
    })?;
    Some(all)
}

/// The same, of what the parser built.
fn built(value: &serde_json::Value, path: &mut Vec<String>, all: &mut Vec<String>) {
    let shown = match value {
        serde_json::Value::Object(_) => "{".to_owned(),
        serde_json::Value::Array(_) => "[".to_owned(),
        serde_json::Value::String(text) => {
            let cut = (0..=text.len().min(64))
                .rev()
                .find(|at| text.is_char_boundary(*at));
            format!("{:?}", &text[..cut.unwrap()])
        }
        other => other.to_string(),
    };
    all.push(format!("{}={shown}", path[..path.len().min(LEVELS)].join(".")));
    let mut inside = |key: String, value: &serde_json::Value| {
        path.push(key);
        built(value, path, all);
        path.pop();
    };
    match value {
        serde_json::Value::Object(members) => {
            members.iter().for_each(|(key, value)| inside(key.clone(), value));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|value| inside("*".to_owned(), value)),
        _ => {}
    }
}

#[test]
fn members_are_told_with_where_they_stand() {
    // Could break if the keys of one member stood for those of the next, or if a level were forgotten on the way out.
    let text = br#"{"a":[1,{"b":"x\u0041\/"}],"c":{"d":{"e":{"f":{"g":null}}}},"h":true}"#;
    assert_eq!(
        told(text).unwrap(),
        [
            "={",
            "a=[",
            "a.*=1",
            "a.*={",
            "a.*.b=\"xA/\"",
            "c={",
            "c.d={",
            "c.d.e={",
            "c.d.e.f={",
            "c.d.e.f=null",
            "h=true"
        ]
    );
}

#[test]
fn what_is_not_plainly_json_is_given_up() {
    // Could break if a reader that is laxer than the server's found a member that is none.
    for text in [
        "",
        "{",
        "{]",
        "[1,]",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "nul",
        "01",
        "1.",
        ".5",
        "1e",
        "+1",
        "- 1",
        "\"a",
        "\"\n\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\u00g0\"",
        "\"\\u+0ab\"",
        "1 2",
        "{}{}",
        "'a'",
        "1e999",
        "// a\n1",
        "NaN",
        "\u{feff}1",
    ] {
        assert_eq!(told(text.as_bytes()), None, "{text}");
    }
    assert_eq!(told(b"\"\xff\""), None);
    assert_eq!(told("[".repeat(100_000).as_bytes()), None);
    assert!(told(format!("{}{}", "[".repeat(100), "]".repeat(100)).as_bytes()).is_some());
}

#[test]
fn a_long_text_is_compared_by_its_start_and_its_length() {
    // Could break if the room that a text is read into made two texts equal that begin alike.
    let long = format!("\"{}\\n\"", "a".repeat(100));
    let mut seen = 0;
    walk(long.as_bytes(), &mut |_, value, _| {
        let Value::Text(text) = value else {
            panic!("a text")
        };
        assert_eq!(text.len(), 101);
        assert!(!text.is(&"a".repeat(64)));
        assert_eq!(text.start(&mut [0; 8]), b"aaaaaaaa");
        seen += 1;
    });
    assert_eq!(seen, 1);
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
        (-1e30..1e30).prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn all_that_is_json_is_told_as_the_parser_builds_it(value in any_json(), pretty in any::<bool>()) {
        // Could break wherever the two readers disagree on what a byte means.
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let mut all = Vec::new();
        built(&value, &mut Vec::new(), &mut all);
        // Keys beyond the room are cut on one side alone.
        prop_assume!(all.iter().all(|line| line.len() < 64));
        prop_assert_eq!(told(text.as_bytes()), Some(all));
    }

    #[test]
    fn what_is_accepted_is_json(bytes in prop::collection::vec(prop::sample::select(&b"{}[]\",:0123456789.eE+-truefalsn\\u \n"[..]), 0..40)) {
        // Could break if anything were accepted that the parser refuses: its reader would be told of a call that no
        // server sees.
        if told(&bytes).is_some() {
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        // Could break by a place beyond the end.
        let _given_up_or_not = told(&bytes);
    }
}
