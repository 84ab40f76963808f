use super::*;
use expect_test::expect;

#[test]
fn a_price_of_nothing_is_no_price_and_prices_are_whole_numbers() {
    // Broken if a chat model that nobody has priced were free, or if a long prompt's prices were lost.
    let source = r#"{
        "gpt-x": {"provider":"openai","mode":"chat","input_per_token":1.71875e-06,"cached_input_per_token":1.71875e-07,
            "output_per_token":6e-4,"window":1000,"output_max":100,
            "tiers":{"input_cost_per_token_above_272k_tokens":2e-6,"output_cost_per_token_above_272k_tokens":7e-4,
                "cache_creation_input_token_cost_above_12hr":4.296875e-06,
                "input_cost_per_token_above_272k_tokens_priority":9e-6}},
        "gemini/free": {"provider":"gemini","mode":"chat","input_per_token":0,"output_per_token":0,"window":8192},
        "embed": {"provider":"openai","mode":"embedding","input_per_token":1e-7,"output_per_token":0.0},
        "openai/container": {"provider":"openai","mode":"chat"},
        "together_ai/Qwen/Q": {"provider":"together_ai","mode":"chat","input_per_token":1e-7,"output_per_token":0}
    }"#;
    let table = table(source, "2026-11").unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    expect![[r#"
        gemini/free	-	-	-	-	8192	-
        openai/embed	100000	0	-	-	-	-
        openai/gpt-x	1718750	600000000	171875	2500	1000	100	272000	2000000	700000000	-
        together/qwen/q	100000	-	-	-	-	-"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn what_cannot_be_a_table_is_refused_with_its_row() {
    // Broken if a new seller, a new unit or two answers to one question went into the table unseen.
    for (source, word) in [
        ("[]", "no JSON object"),
        (r#"{"m":3}"#, "`m` is no object"),
        (r#"{"m":{"provider":"new"}}"#, "sold by `new`"),
        (
            r#"{"m":{"provider":"openai","input_per_token":"1"}}"#,
            "no number",
        ),
        (
            r#"{"m":{"provider":"openai","input_per_token":-1}}"#,
            "out of range",
        ),
        (
            r#"{"m":{"provider":"openai","input_per_token":1.5e-12}}"#,
            "finer",
        ),
        (
            r#"{"m":{"provider":"openai","input_per_token":1e-6},"openai/m":{"provider":"openai","input_per_token":2e-6}}"#,
            "contradict",
        ),
    ] {
        let error = table(source, "2026-11").unwrap_err().to_string();
        assert!(error.contains(word), "{source}: {error}");
    }
}
