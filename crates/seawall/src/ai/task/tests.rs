use super::*;
use crate::ai::prices::Cost;

#[test]
fn a_task_is_named_by_a_whole_word_of_the_instruction() {
    // Broken if a word inside another named a task, or one in the middle of what the task is about.
    let document = "They translate and classify all day. ".repeat(40);
    for (text, task) in [
        ("Summarise this.", Task::SUMMARIZE),
        ("TL;DR", Task::SUMMARIZE),
        ("give me a tl;dr; thanks", Task::SUMMARIZE),
        ("What is the sentiment of: I like it", Task::CLASSIFY),
        ("Explain the translation of this poem", Task::EXPLAIN),
        ("translate to German: please explain", Task::TRANSLATE),
        ("proofread my letter", Task::REWRITE),
        ("Extract all dates", Task::EXTRACT),
        ("This file is unclassified; untranslated", Task::OTHER),
        ("write a program", Task::OTHER),
        ("", Task::OTHER),
        ("перевод 👩‍👩‍👧‍👦", Task::OTHER),
    ] {
        assert_eq!(Task::of_text(text), task, "{text}");
    }
    assert_eq!(
        Task::of_text(&format!("Condense this: {document}")),
        Task::SUMMARIZE
    );
    let neutral = "The tide comes in and goes out. ".repeat(30);
    assert_eq!(
        Task::of_text(&format!("{neutral}{document}{neutral}")),
        Task::OTHER
    );
    assert_eq!(
        Task::of_text(&format!("{neutral}{document}{neutral} Summarize the above.")),
        Task::SUMMARIZE
    );
    assert_eq!(Task::of_text(&"é".repeat(1_000)), Task::OTHER);
}

#[test]
fn the_last_word_of_the_user_decides_and_a_said_task_needs_no_words() {
    // Broken if an older question, or the model's own words, named the task.
    let chat = Chat::new("auto")
        .user("translate this")
        .assistant("I classify it")
        .user("and now summarize it");
    assert_eq!(Task::of_chat(&chat), Task::SUMMARIZE);
    assert_eq!(Task::of_chat(&Chat::new("auto").system("summarize")), Task::OTHER);
    assert_eq!(Task::named(" Summarize "), Task::SUMMARIZE);
}

#[test]
fn the_cheapest_of_the_task_comes_first_and_falls_back_to_the_cheapest_of_all() {
    // Broken if a small task went to a large model, if a fallback were dearer than it must be, or if there were a third.
    let models = ByTask::otherwise(["gpt-4.1", "o1-pro"])
        .when(["summarize", "classify"], ["gpt-4.1-nano", "gpt-4.1-mini"])
        .when(["explain"], ["gpt-4.1-mini", "mine"]);
    let prices = Prices::builtin();
    let used = Billed {
        input: 1_000,
        output: 100,
        ..Billed::default()
    };
    let names = |task: &Task| -> Vec<&str> {
        models
            .cheapest(task, used, &prices)
            .quotes
            .iter()
            .map(|quote| quote.name)
            .collect()
    };
    assert_eq!(
        names(&Task::SUMMARIZE),
        ["gpt-4.1-nano", "gpt-4.1-mini", "gpt-4.1"]
    );
    assert_eq!(names(&Task::EXPLAIN), ["gpt-4.1-mini", "gpt-4.1-nano", "gpt-4.1"]);
    assert_eq!(names(&Task::OTHER), ["gpt-4.1", "gpt-4.1-nano", "gpt-4.1-mini"]);
    let all = models.clone().fallbacks(9);
    let last = all.cheapest(&Task::OTHER, used, &prices).quotes.pop().unwrap();
    assert!(
        last.name == "mine" && matches!(last.cost, Cost::Unpriced(_)),
        "{last:?}"
    );
    let one = models.clone().fallbacks(0);
    assert_eq!(one.cheapest(&Task::OTHER, used, &prices).quotes.len(), 1);
}

#[test]
fn a_model_that_the_call_does_not_fit_is_left_out_and_named() {
    // Broken if the cheapest were called with a prompt that it must refuse, or if it were left out in silence.
    let models = ByTask::otherwise(["gpt-4.1"]).when(["summarize"], ["gpt-4"]);
    let used = Billed {
        input: 100_000,
        output: 1_000,
        ..Billed::default()
    };
    let prices = Prices::builtin();
    let chain = models.cheapest(&Task::SUMMARIZE, used, &prices);
    assert_eq!(
        chain.quotes.iter().map(|quote| quote.name).collect::<Vec<_>>(),
        ["gpt-4.1"]
    );
    assert_eq!(chain.too_small, ["gpt-4"]);
}
