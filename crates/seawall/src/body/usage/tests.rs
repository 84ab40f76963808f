use super::*;
use proptest::prelude::*;

const fn usage(tokens_in: u64, tokens_out: u64) -> Usage {
    Usage {
        tokens_in,
        tokens_out,
    }
}

#[test]
fn junk_says_nothing_and_never_hides_what_is_said() {
    // Could break if junk made an answer unreadable, or if one count that is none took the others along.
    for body in [
        "",
        "<html>usage</html>",
        "[]",
        "\"usage\"",
        "{\"usage\":{\"prompt_tokens\":3",
        r#"{"usage":[{"prompt_tokens":3}]}"#,
        r#"{"choices":[{"usage":{"prompt_tokens":3}}]}"#,
        r#"{"usage":{"prompt_tokens":[3]}}"#,
        r#"{"usage":{"prompt_tokens":{"prompt_tokens":3}}}"#,
    ] {
        assert_eq!(Counts::of_body(body.as_bytes()), Counts::NONE, "{body}");
    }
    for body in [
        r#"{"message":"text","response":["list"],"usage":{"input_tokens":3,"output_tokens":5}}"#,
        r#"{"usage":{"prompt_tokens":3,"completion_tokens":5,"prompt_tokens_details":"none"}}"#,
        // A number that only the parser that builds takes for one.
        r#"{"usage":{"prompt_tokens":3,"completion_tokens":5,"cost":1e250}}"#,
        r#"{"usage":{"prompt_tokens":9},"usage":{"prompt_tokens":3,"completion_tokens":5}}"#,
    ] {
        assert_eq!(Counts::of_body(body.as_bytes()).used(), usage(3, 5), "{body}");
    }
}

#[test]
fn a_first_part_of_a_stream_says_what_it_has_said() {
    // Could break if a part were worth nothing, if half an event were read as a whole one, or if the part of a plain
    // answer, which is no stream, said anything.
    let stream = concat!(
        "event: message_start\n",
        r#"data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}"#,
        "\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","usage":{"output_tokens":15}}"#,
        "\n\n"
    );
    let half = &stream.as_bytes()[..stream.len() / 2 + 20];
    assert_eq!(Counts::of_part(half).used(), usage(25, 1));
    assert_eq!(Counts::of_body(stream.as_bytes()).used(), usage(25, 15));
    assert_eq!(Counts::of_part(br#"{"usage":{"prompt_tokens":3"#), Counts::NONE);
}

/// Values as servers should not send them, under the names that are read.
fn any_value() -> impl Strategy<Value = String> {
    let names = [
        "usage",
        "usageMetadata",
        "message",
        "response",
        "x_groq",
        "prompt_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "completion_tokens",
        "input_tokens",
        "input_tokens_details",
        "cache_read_input_tokens",
        "output_tokens",
        "thoughtsTokenCount",
        "else",
    ];
    let leaf = prop_oneof![
        (0..100_u64).prop_map(|count| count.to_string()),
        prop::sample::select(vec![
            "null",
            "true",
            "-1",
            "-0",
            "2.0",
            "1e3",
            "1e250",
            "18446744073709551615",
            "18446744073709551616",
            "\"3\"",
            "[]",
            "{}",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        let member = (prop::sample::select(names.to_vec()), inner.clone());
        prop_oneof![
            4 => prop::collection::vec(member, 0..6).prop_map(|members| {
                let members = members.iter().map(|(name, value)| format!("\"{name}\":{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
            1 => prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_looked_through_says_what_is_built_says(body in any_value()) {
        // Could break if limits, which look through bytes, and people, who are told of a value that was built, were told
        // of two sums: by a member that stands twice, a place that hides another, a number that is none.
        let built = serde_json::from_str::<Value>(&body).unwrap();
        let said = Counts::of_value(&built);
        prop_assert_eq!(Counts::of_body(body.as_bytes()), said, "{}", body);
        let mut heard = Counts::NONE;
        heard.hear(body.as_bytes());
        prop_assert_eq!(heard, said);
        prop_assert!(said.limited().tokens_in <= said.used().tokens_in);
        prop_assert_eq!(said.limited().tokens_out, said.used().tokens_out);
    }
}
