use super::*;
use proptest::prelude::*;

/// Any text, and one of signs that no text is made of: by itself the generator makes none of those.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[ -~\\x00-\\x20\\x7f\u{85}\u{2028}]{0,12}"]
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        text().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            proptest::collection::btree_map(text(), inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    // Could break: a brace or a quote inside a string taken for structure.
    #[test]
    fn the_walkers_agree_with_a_parser(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(validate(&text), Ok(()));
            let flat = one_line(&text);
            prop_assert!(!flat.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&flat).unwrap(), value.clone());
            if let Some(object) = value.as_object() {
                let found = members(&text);
                prop_assert_eq!(found.len(), object.len());
                for member in found {
                    let parsed: serde_json::Value = serde_json::from_str(member.value).unwrap();
                    prop_assert_eq!(Some(&parsed), object.get(member.key.as_ref()));
                }
            }
            if let Some(array) = value.as_array() {
                let found: Vec<serde_json::Value> =
                    elements(&text).into_iter().map(|e| serde_json::from_str(e).unwrap()).collect();
                prop_assert_eq!(&found, array);
            }
            prop_assert_eq!(lint(&text).duplicate_key, None);
            prop_assert_eq!(lint(&text).lone_surrogate_at, None);
        }
    }

    // Could break: an index past the end, or a walk that does not move.
    #[test]
    fn no_text_stops_a_walker(text in text(), nested in "[\\[\\]{}\",:\\\\u0-9a-f ]{0,40}") {
        for text in [text, nested] {
            let _ = (members(&text).len(), elements(&text).len(), lint(&text), one_line(&text), lone_surrogate(&text));
        }
    }

    // Could break: an escape that is not JSON, or one that loses the character.
    #[test]
    fn a_written_string_reads_back_and_stays_on_its_line(text in text()) {
        let mut out = Vec::new();
        write_string(&mut out, &format!("{text}\u{2028}\u{2029}\u{1}"));
        let out = String::from_utf8(out).unwrap();
        let splits = out.contains(['\n', '\r', '\u{2028}', '\u{2029}']);
        prop_assert!(!splits);
        prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), format!("{text}\u{2028}\u{2029}\u{1}"));
    }
}

#[test]
fn half_a_surrogate_pair_is_found_and_a_whole_one_is_not() {
    // Could break: an escaped backslash before a "u" taken for an escape.
    assert_eq!(lone_surrogate(r#""\ud83d\ude00""#), None);
    assert_eq!(lone_surrogate(r#""\\ud800""#), None);
    assert_eq!(lone_surrogate(r#""a\ud800""#), Some(2));
    assert_eq!(lone_surrogate(r#""\ude00\ud83d""#), Some(1));
    assert_eq!(lone_surrogate(r#""\ud83d\u0041""#), Some(1));
}

#[test]
fn depth_and_doubled_keys_are_found_wherever_they_stand() {
    // Could break: keys of sibling objects mixed up, or an escaped spelling of the same key missed.
    assert_eq!(lint(r#"[{"a":1},{"a":2}]"#).duplicate_key, None);
    assert_eq!(
        lint(r#"{"a":{"b":1,"\u0062":2}}"#).duplicate_key.as_deref(),
        Some(r#""\u0062""#)
    );
    assert_eq!(lint(&"[".repeat(200_000)).depth, 200_000);
}
