use super::*;
use proptest::prelude::*;

fn any_value() -> impl Strategy<Value = Value> {
    let long = "[a-zA-Z0-9+/]{0,3}".prop_map(|text| Value::from(text.repeat(500)));
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..2_000_u64).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[a-z_\"\\\\é]{0,12}".prop_map(Value::from),
        prop::sample::select(&["function", "web_search_20250305", "mcp", "computer_use"])
            .prop_map(Value::from),
        Just(Value::from("data:image/png;base64,/\n".repeat(60))),
        long,
    ]
}

fn any_body() -> impl Strategy<Value = Value> {
    const NAMES: [&str; 16] = [
        "stream",
        "background",
        "conversation",
        "tools",
        "mcp_servers",
        "n",
        "best_of",
        "max_completion_tokens",
        "max_output_tokens",
        "max_tokens",
        "generationConfig",
        "maxOutputTokens",
        "candidateCount",
        "type",
        "messages",
        "x",
    ];
    let key = prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
    any_value().prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_body_says_the_same_whether_or_not_it_is_built(body in any_body(), pretty in any::<bool>()) {
        // Could break wherever the quick reader takes a member of one level for that of another: a call that acts would
        // be repeated, or one that does not would end at its first failure.
        let text = if pretty { serde_json::to_string_pretty(&body) } else { serde_json::to_string(&body) }.unwrap();
        let built = RequestBody::built(text.as_bytes());
        match scan::read(text.as_bytes()) {
            Some(scanned) => prop_assert_eq!(scanned, built),
            None => prop_assert!(!body.is_object()),
        }
    }
}

#[test]
fn a_member_is_found_however_it_is_written() {
    // Could break if a key with an escape in it went unseen here, and was obeyed by the server.
    let read = |text: &str| RequestBody::read(text.as_bytes());
    assert!(read(r#"{"backgr\u006fund":true}"#).facts.background);
    assert!(read(r#"{"tools":[{"type":"m\u0063p"}]}"#).facts.acting_tool);
    assert!(!read(r#"{"tools":[{"type":"f\u0075nction"}]}"#).facts.acting_tool);
    assert!(!read(r#"{"stream":true,"stream":false}"#).facts.stream);
    assert_eq!(read(r#"{"max_tokens":7,"max_tokens":8}"#).tokens_out_max, 8);
}

#[test]
fn a_body_that_is_no_object_says_nothing_but_its_length() {
    // Could break if a list of calls, or half an object, were read as one call.
    for text in [
        "",
        "[{\"stream\":true}]",
        "{\"stream\":true",
        "{\"stream\":true}x",
        "7",
    ] {
        let body = RequestBody::read(text.as_bytes());
        let expected = RequestBody {
            tokens_in: text_tokens(text.len()),
            ..RequestBody::default()
        };
        assert_eq!(body, expected, "{text}");
    }
}
