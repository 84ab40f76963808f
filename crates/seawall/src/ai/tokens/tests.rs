use super::*;
use serde_json::Value;

#[test]
fn no_bound_is_passed_by_a_tokenizer_that_was_looked_at() {
    // Broken if digits, white space or a rare script were counted as the one public encoding happens to merge them: a
    // prompt that fits by the bound would be over another model's window.
    let mut seen = 0;
    for line in include_str!("other-tokenizers.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row["text"].as_str().unwrap();
        for name in ["claude", "deepseek", "gemma", "llama2", "llama3", "qwen"] {
            let theirs = row[name].as_u64().unwrap();
            for bound in [Tokenizer::TWICE_O200K, Tokenizer::UTF8_BYTES] {
                let ours = bound.count(text);
                assert!(
                    theirs <= ours.tokens,
                    "{name} makes {theirs} of {text:?}, and the bound is {ours}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 600, "{seen}");
}

#[test]
fn a_bound_is_no_wider_than_it_must_be() {
    // Broken if everything were counted by its bytes: a window would take a quarter of the English that it holds.
    let text = "The tide comes in twice a day, and nobody has to be told. ".repeat(20);
    let (exact, bound) = (Tokenizer::O200K.count(&text), Tokenizer::TWICE_O200K.count(&text));
    assert!(bound.tokens <= 2 * exact.tokens, "{bound} of {exact}");
    assert!(3 * bound.tokens < 2 * Tokenizer::UTF8_BYTES.count(&text).tokens);
    assert_eq!(Tokenizer::TWICE_O200K.count("").tokens, 0);
    assert_eq!(Tokenizer::UTF8_BYTES.count("").tokens, 0);
}

#[test]
fn a_model_has_the_encoding_that_its_maker_says() {
    // Broken if `gpt-4o` were read as a `gpt-4`, or if a model that came up last week were guessed at and called exact.
    use CountedBy::{Cl100k, O200k, UpperEstimate};
    let unknown = UpperEstimate(Upper::TwiceO200k);
    for (model, by) in [
        ("gpt-4o", O200k),
        ("gpt-4o-mini-2024-07-18", O200k),
        ("gpt-4.1", O200k),
        ("gpt-4.1-nano-2025-04-14", O200k),
        ("gpt-4.5-preview", O200k),
        ("gpt-5", O200k),
        ("gpt-5.4-mini", O200k),
        ("gpt-5-codex", O200k),
        ("GPT-5", O200k),
        ("o1", O200k),
        ("o3-mini-2025-01-31", O200k),
        ("o4-mini", O200k),
        ("chatgpt-4o-latest", O200k),
        ("groq/openai/gpt-oss-120b", O200k),
        ("ft:gpt-4o-2024-08-06:team::id", O200k),
        ("ft:gpt-4.1-2025-04-14:team::id", O200k),
        ("ft:gpt-4-0613:team::id", Cl100k),
        ("ft:gpt-3.5-turbo", Cl100k),
        ("gpt-4", Cl100k),
        ("gpt-4-32k-0314", Cl100k),
        ("gpt-4-turbo", Cl100k),
        ("gpt-3.5-turbo-0125", Cl100k),
        ("azure/gpt-35-turbo-16k", Cl100k),
        ("text-embedding-3-small", Cl100k),
        ("gpt-6-sol", unknown),
        ("gpt-4omega", unknown),
        ("gpt-50", unknown),
        ("o11", unknown),
        ("o4", unknown),
        ("claude-opus-5", unknown),
        ("gemini-2.5-pro", unknown),
        ("my-gpt-4o", unknown),
        ("ft:", unknown),
        ("", unknown),
    ] {
        assert_eq!(Tokenizer::for_model(model).by(), by, "{model}");
    }
}

#[test]
fn a_sum_is_as_certain_as_its_least_certain_part() {
    // Broken if a bound were called a count, once something exact was added to it.
    let exact = Tokenizer::O200K.count("tide");
    let other = Tokenizer::CL100K.count("tide");
    let bound = Tokenizer::TWICE_O200K.count("tide");
    let bytes = Tokenizer::UTF8_BYTES.count("tide");
    let parts = Counted {
        by: exact.by.with_parts(),
        ..exact
    };
    assert_eq!((exact + exact).by, CountedBy::O200k);
    assert_eq!((other + other).by, CountedBy::Cl100k);
    assert_eq!(
        (exact + parts).by,
        CountedBy::UpperEstimate(Upper::O200kWithParts)
    );
    assert_eq!(
        (other + parts).by,
        CountedBy::UpperEstimate(Upper::Cl100kWithParts)
    );
    for sum in [exact + bound, bound + exact, parts + bound, bound + bound] {
        assert_eq!(sum.by, CountedBy::UpperEstimate(Upper::TwiceO200k));
    }
    for sum in [exact + bytes, bytes + bound, bound + bytes] {
        assert_eq!(sum.by, CountedBy::UpperEstimate(Upper::Utf8Bytes));
    }
    let sum = exact.tokens + 5;
    assert_eq!(
        (exact + bytes).to_string(),
        format!("at most {sum} tokens (bytes)")
    );
}

#[test]
fn a_plain_message_is_counted_as_its_maker_says() {
    // Broken if what is added around messages were forgotten: each would be four short. The messages and the number are
    // those of OpenAI's guide to counting tokens.
    use crate::ai::{Message, Part, Role, ToolCall, ToolResult};
    let named = |name: &str, text: &str| {
        let mut message = Message::system(text);
        message.extra.insert("name".to_owned(), name.into());
        message
    };
    let messages = [
        Message::system(
            "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
        ),
        named("example_user", "New synergies will help drive top-line growth."),
        named(
            "example_assistant",
            "Things working well together will increase revenue.",
        ),
        named(
            "example_user",
            "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
        ),
        named(
            "example_assistant",
            "Let's talk later when we're less busy about how to do better.",
        ),
        Message::user(
            "This late pivot means we don't have time to boil the ocean for the client deliverable.",
        ),
    ];
    let told = |model: &str| Tokenizer::for_model(model).count_messages(&messages).to_string();
    assert_eq!(told("gpt-4"), "129 tokens (cl100k)");
    assert_eq!(told("gpt-4o"), "124 tokens (o200k)");
    assert!(told("claude-opus-5").starts_with("at most"));
    // What nobody documents is a bound, and says so.
    let call = Message::new(Role::Assistant, [ToolCall::new("c1", "look", "{}").into()]);
    let result = Message::tool(ToolResult::new("c1", "nothing"));
    let two = Message::user("one").with(Part::from("two"));
    for message in [call, result, two] {
        let counted = Tokenizer::O200K.count_message(&message);
        assert_eq!(
            counted.by,
            CountedBy::UpperEstimate(Upper::O200kWithParts),
            "{message:?}"
        );
    }
}
