use super::{DEFAULT_MARK, Fit, FitError, Strategy, fit};
use crate::ai::tokens::Tokenizer;
use crate::ai::{Image, Message, Part, Role, ToolCall, ToolResult};
use expect_test::{Expect, expect};
use proptest::prelude::{Just, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as Generator;
use std::collections::BTreeSet;

/// A conversation, a line a message: `s`, `u`, `a` and a text; `c` and ids of calls; `r` and an id and a text; `n` times a
/// word as `word*n`.
fn conversation(script: &str) -> Vec<Message> {
    let text = |words: &str| match words.split_once('*') {
        Some((word, times)) => format!("{word} ").repeat(times.parse().unwrap()),
        None => words.to_owned(),
    };
    let message = |line: &str| {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "s" => Message::system(text(rest)),
            "u" => Message::user(text(rest)),
            "a" => Message::assistant(text(rest)),
            "c" => Message::new(
                Role::Assistant,
                rest.split(' ').map(|id| ToolCall::new(id, "look", "{}").into()),
            ),
            "r" => {
                let (id, words) = rest.split_once(' ').unwrap();
                Message::tool(ToolResult::new(id, text(words)))
            }
            // A result as Anthropic has it.
            "ur" => {
                let (id, words) = rest.split_once(' ').unwrap();
                Message::new(Role::User, [ToolResult::new(id, text(words)).into()])
            }
            other => panic!("{other}"),
        }
    };
    script.split("; ").map(message).collect()
}

fn shown(messages: &[Message]) -> String {
    let part = |part: &Part| match part {
        Part::ToolCall(call) => format!("call {}", call.id),
        Part::ToolResult(result) => {
            let text = result.text();
            format!("result {} {}", result.id, clipped(&text))
        }
        Part::Text(text) => clipped(text),
        other => format!("{other:?}"),
    };
    messages
        .iter()
        .map(|message| {
            let parts: Vec<String> = message.parts.iter().map(part).collect();
            format!("{}: {}\n", message.role.name(), parts.join(", "))
        })
        .collect()
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(24) {
        Some((end, _)) => format!(
            "{:?} and {} bytes, ends {:?}",
            &text[..end],
            text.len() - end,
            &text[text.len() - 4..]
        ),
        None => format!("{text:?}"),
    }
}

fn check(room: u64, strategy: Strategy, script: &str, expected: Expect) {
    let fit = Fit::with_window("gpt-4o", room)
        .max_tokens(0)
        .reserve(0)
        .strategy(strategy);
    let told = match fit.messages(conversation(script)) {
        Ok(fitted) => {
            assert!(fitted.tokens <= room);
            assert_eq!(
                fitted.tokens,
                Tokenizer::O200K.count_messages(&fitted.messages).tokens
            );
            format!(
                "{}{} dropped, {} cut, {} tokens ({})\n",
                shown(&fitted.messages),
                fitted.dropped,
                fitted.cut,
                fitted.tokens,
                fitted.by
            )
        }
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&told);
}

#[test]
fn the_oldest_turns_go_whole_and_the_system_stays() {
    // Broken if an answer were left without its question, or if the system's word went because it is the oldest.
    check(
        40,
        Strategy::KeepNewest,
        "s brief; u one; a 1; u two*20; a 2; u three; a 3; u four",
        expect![[r#"
        system: "brief"
        user: "three"
        assistant: "3"
        user: "four"
        4 dropped, 0 cut, 23 tokens (o200k)
    "#]],
    );
}

#[test]
fn what_fits_is_not_touched() {
    // Broken if a conversation of exactly the room, or of less, were changed.
    check(
        23,
        Strategy::Refuse,
        "s brief; u one; a 1; u two",
        expect![[r#"
        system: "brief"
        user: "one"
        assistant: "1"
        user: "two"
        0 dropped, 0 cut, 23 tokens (o200k)
    "#]],
    );
    check(
        22,
        Strategy::Refuse,
        "s brief; u one; a 1; u two",
        expect![[r#"
        23 tokens (o200k), and there is room for 22: 1 too many
    "#]],
    );
}

#[test]
fn a_call_and_its_results_stay_or_go_together() {
    // Broken if a round were cut between its parallel results, or if a result stayed whose call went.
    let script = "u go; c a b; r a x*10; r b y*10; c c; r c z*10; a done; u and";
    check(
        40,
        Strategy::KeepNewest,
        script,
        expect![[r#"
        user: "and"
        7 dropped, 0 cut, 8 tokens (o200k)
    "#]],
    );
    let rounds = "u old; a 1; u go; c a b; r a x*10; r b y*10; c c; r c z*10";
    check(
        80,
        Strategy::KeepNewest,
        rounds,
        expect![[r#"
        user: "go"
        assistant: call c
        tool: result c "z z z z z z z z z z "
        5 dropped, 0 cut, 63 tokens (o200k, and bounds of what is no text)
    "#]],
    );
    check(
        80,
        Strategy::KeepNewest,
        "u go; c a; ur a x*10; c b; ur b y*10",
        expect![[r#"
        user: "go"
        assistant: call b
        user: result b "y y y y y y y y y y "
        2 dropped, 0 cut, 63 tokens (o200k, and bounds of what is no text)
    "#]],
    );
    // The user speaks between a call and its result: all of it is one.
    check(
        60,
        Strategy::KeepNewest,
        "u go; c a; u wait; r a x*10; a done; u and",
        expect![[r#"
        user: "and"
        5 dropped, 0 cut, 8 tokens (o200k)
    "#]],
    );
}

#[test]
fn what_must_stay_is_cut_with_a_mark_or_refused_with_a_number() {
    // Broken if the last question were dropped, cut in silence, or cut through a word.
    let script = "s brief; u old; a 1; u please read*100";
    check(
        40,
        Strategy::KeepNewest,
        script,
        expect![[r#"
        213 tokens (o200k), and there is room for 40: 173 too many
    "#]],
    );
    check(
        40,
        Strategy::cut(),
        script,
        expect![[r#"
        system: "brief"
        user: "please read please read " and 119 bytes, ends "fit]"
        2 dropped, 1 cut, 40 tokens (o200k)
    "#]],
    );
    check(
        12,
        Strategy::cut(),
        script,
        expect![[r#"
        213 tokens (o200k), and there is room for 12: 201 too many
    "#]],
    );
    check(
        60,
        Strategy::cut(),
        "u go; c a; r a x*200",
        expect![[r#"
        user: "go"
        assistant: call a
        tool: result a "x\n[... cut to fit]"
        0 dropped, 1 cut, 60 tokens (o200k, and bounds of what is no text)
    "#]],
    );
}

#[test]
fn white_space_that_has_no_room_is_cut_as_well() {
    // Broken if a text that begins with more blanks than there is room for were refused, where cutting is allowed.
    for blank in [" ", "\n", "\r\n", "\u{3000}"] {
        let text = format!("{}after", blank.repeat(20_000));
        let fit = Fit::with_window("gpt-4o", 100).max_tokens(0).reserve(0);
        let cut = fit.strategy(Strategy::cut()).text(&text).unwrap();
        assert!(cut.text.ends_with(DEFAULT_MARK) && cut.cut_bytes > 0, "{blank:?}");
        assert!(cut.tokens <= 100, "{blank:?}: {}", cut.tokens);
    }
}

#[test]
fn the_oldest_turn_that_is_kept_may_be_cut() {
    // Broken if a turn of one long text went whole where its start has room, or if a start of two words were kept.
    let script = "u first; a word*100; u two; a 2; u three";
    check(
        70,
        Strategy::cut(),
        script,
        expect![[r#"
        user: "first"
        assistant: "word word word word word" and 172 bytes, ends "fit]"
        user: "two"
        assistant: "2"
        user: "three"
        0 dropped, 1 cut, 70 tokens (o200k)
    "#]],
    );
    check(
        40,
        Strategy::cut(),
        script,
        expect![[r#"
        user: "two"
        assistant: "2"
        user: "three"
        2 dropped, 0 cut, 18 tokens (o200k)
    "#]],
    );
    let mark = Strategy::Cut {
        mark: " [...]".into(),
    };
    check(
        70,
        mark,
        script,
        expect![[r#"
        user: "first"
        assistant: "word word word word word" and 191 bytes, ends "...]"
        user: "two"
        assistant: "2"
        user: "three"
        0 dropped, 1 cut, 70 tokens (o200k)
    "#]],
    );
}

#[test]
fn an_image_takes_its_bound_and_is_never_cut() {
    // Broken if an image counted as nothing, or as the base64 of its bytes.
    let image = Message::user("what is this?").with(Image::base64("image/png", "A".repeat(400_000)).into());
    let fit = Fit::with_window("gpt-4o", 20_000).strategy(Strategy::cut());
    let fitted = fit.messages(vec![Message::user("old"), image.clone()]).unwrap();
    assert_eq!(
        (fitted.dropped, fitted.by.name()),
        (0, "o200k, and bounds of what is no text")
    );
    assert!((10_000..10_100).contains(&fitted.tokens), "{}", fitted.tokens);
    let refused = fit.window(10_500).messages(vec![image]).unwrap_err();
    assert!(
        matches!(refused, FitError::TooLong { room: 9_400, .. }),
        "{refused}"
    );
}

#[test]
fn an_error_says_what_to_do_and_by_how_much() {
    // Broken if an unknown window were taken for none or for all, or if the number were left out.
    let told = |error: FitError| error.to_string();
    expect!["nobody says how many tokens mine takes; give its window, or write a [[model]] for it"]
        .assert_eq(&told(fit(Vec::new(), "mine", Strategy::Refuse).unwrap_err()));
    expect!["a window of 1000 tokens has no room beside 1000 for the answer and 100 in reserve"].assert_eq(
        &told(
            Fit::with_window("gpt-4o", 1_000)
                .messages(Vec::new())
                .unwrap_err(),
        ),
    );
    let text = "word ".repeat(100);
    let short = Fit::with_window("claude-opus-5", 50).max_tokens(0).reserve(0);
    expect!["at most 202 tokens (twice o200k), and there is room for 50: 152 too many"]
        .assert_eq(&told(short.text(&text).unwrap_err()));
    assert_eq!(fit(Vec::new(), "gpt-4o", Strategy::Refuse).unwrap().messages, []);
}

#[test]
fn a_text_is_cut_where_a_letter_ends_for_people() {
    // Broken if a family of emoji, a flag, a letter with its accents or a syllable were cut in two.
    use unicode_segmentation::UnicodeSegmentation;
    for letter in ["👩‍👩‍👧‍👦", "🇳🇴", "e\u{301}\u{327}", "क्षि", "각", "👍🏽", "\r\n", "é", "𝔘"]
    {
        let text = letter.repeat(60);
        for model in ["gpt-4o", "gpt-4", "claude-opus-5"] {
            for room in 12..60 {
                let fit = Fit::with_window(model, room).max_tokens(0).reserve(0);
                let Ok(fitted) = fit.strategy(Strategy::Cut { mark: "|".into() }).text(&text) else {
                    continue;
                };
                let Some(start) = fitted.text.strip_suffix('|') else {
                    continue;
                };
                assert!(fitted.tokens <= room);
                assert!(
                    start.graphemes(true).all(|whole| whole == letter),
                    "{model} {room} {start:?}"
                );
            }
        }
    }
}

#[test]
fn a_long_run_without_a_word_is_cut_in_time() {
    // Broken if a piece of a megabyte were counted again for each place where it might be cut: minutes.
    let text = "a".repeat(1_000_000);
    for model in ["gpt-4o", "claude-opus-5"] {
        let fit = Fit::with_window(model, 10_000)
            .max_tokens(0)
            .reserve(0)
            .strategy(Strategy::cut());
        let fitted = fit.text(&text).unwrap();
        assert!(
            (9_000..=10_000).contains(&fitted.tokens),
            "{model} {}",
            fitted.tokens
        );
    }
}

#[derive(Clone, Debug)]
enum Said {
    System(String),
    User(String),
    Assistant(String),
    Tools(Vec<String>),
}

fn said() -> impl Generator<Value = Said> {
    let text = prop_oneof![
        "[a-z ,.]{0,120}",
        "\\PC{0,60}",
        "[\u{4e00}-\u{4e80}]{0,60}",
        "[\u{1f300}-\u{1f640}\u{200d}\u{fe0f}]{0,40}",
        "[0-9 \n\t]{0,80}",
        (1..400_usize).prop_map(|times| "ab".repeat(times)),
    ];
    let text = text.boxed();
    prop_oneof![
        1 => text.clone().prop_map(Said::System),
        4 => text.clone().prop_map(Said::User),
        4 => text.clone().prop_map(Said::Assistant),
        3 => prop::collection::vec(text, 1..4).prop_map(Said::Tools),
    ]
}

fn messages_of(said: Vec<Said>) -> Vec<Message> {
    let mut messages = Vec::new();
    for (at, said) in said.into_iter().enumerate() {
        match said {
            Said::System(text) => messages.push(Message::system(text)),
            Said::User(text) => messages.push(Message::user(text)),
            Said::Assistant(text) => messages.push(Message::assistant(text)),
            Said::Tools(results) => {
                // Every third answer makes its names up anew.
                let id = |nth: usize| {
                    if at % 3 == 0 {
                        format!("{nth}")
                    } else {
                        format!("{at}.{nth}")
                    }
                };
                let calls = (0..results.len()).map(|nth| ToolCall::new(id(nth), "look", "{}").into());
                messages.push(Message::new(Role::Assistant, calls));
                for (nth, text) in results.into_iter().enumerate() {
                    messages.push(Message::tool(ToolResult::new(id(nth), text)));
                }
            }
        }
    }
    messages
}

/// Every result stands behind its call, and every call before its result.
fn is_paired(messages: &[Message]) -> bool {
    let mut open = BTreeSet::new();
    let (calls, results) = messages.iter().fold((0, 0), |(calls, results), message| {
        (
            calls + message.tool_calls().count(),
            results + message.tool_results().count(),
        )
    });
    calls == results
        && messages.iter().all(|message| {
            open.extend(message.tool_calls().map(|call| call.id.clone()));
            message.tool_results().all(|result| open.contains(&result.id))
        })
}

proptest! {
    #[test]
    fn it_is_never_over_the_window_and_twice_is_once(
        said in prop::collection::vec(said(), 0..24),
        room in 10..600_u64,
        model in prop_oneof![Just("gpt-4o"), Just("gpt-4"), Just("claude-opus-5")],
        cuts in any::<bool>(),
    ) {
        let messages = messages_of(said);
        let strategy = if cuts { Strategy::cut() } else { Strategy::KeepNewest };
        let fit = Fit::with_window(model, room).max_tokens(0).reserve(0).strategy(strategy);
        let Ok(fitted) = fit.messages(messages.clone()) else {
            return Ok(());
        };
        let counted = Tokenizer::for_model(model).count_messages(&fitted.messages);
        prop_assert_eq!(counted.tokens, fitted.tokens);
        prop_assert!(counted.tokens <= room);
        prop_assert!(is_paired(&fitted.messages));
        prop_assert_eq!(fitted.messages.len() + fitted.dropped, messages.len());
        if !cuts {
            prop_assert_eq!(fitted.cut, 0);
        }
        // The system's words are all there, and so is the last of the user, whole or marked.
        let system = |all: &[Message]| all.iter().filter(|one| one.role == Role::System).cloned().collect::<Vec<_>>();
        prop_assert_eq!(system(&messages), system(&fitted.messages));
        let last = |all: &[Message]| all.iter().rfind(|one| one.role == Role::User).map(|one| one.text().into_owned());
        if let (Some(before), after) = (last(&messages), last(&fitted.messages)) {
            let after = after.unwrap_or_default();
            let start = after.strip_suffix(DEFAULT_MARK).unwrap_or(&after);
            prop_assert!(before.starts_with(start), "{before:?} became {after:?}");
        }
        let again = fit.messages(fitted.messages.clone()).unwrap();
        prop_assert_eq!((again.dropped, again.cut, &again.messages), (0, 0, &fitted.messages));
    }

    #[test]
    fn a_text_is_cut_to_its_room_and_nothing_more(text in "\\PC{0,400}", room in 1..200_u64) {
        // Broken if a place that was found by pieces were believed: the start of a text may have a token more than it has
        // within the whole.
        for model in ["gpt-4o", "gpt-4", "claude-opus-5"] {
            let fit = Fit::with_window(model, room).max_tokens(0).reserve(0).strategy(Strategy::cut());
            match fit.text(&text) {
                Ok(fitted) => {
                    prop_assert!(fitted.tokens <= room);
                    prop_assert_eq!(fitted.tokens, Tokenizer::for_model(model).count(&fitted.text).tokens);
                    let start = fitted.text.strip_suffix(DEFAULT_MARK).unwrap_or(&fitted.text);
                    prop_assert_eq!(start, &text[..text.len() - fitted.cut_bytes]);
                    let again = fit.text(&fitted.text).unwrap();
                    prop_assert_eq!((again.text, again.cut_bytes), (fitted.text, 0));
                }
                Err(FitError::TooLong { counted, .. }) => prop_assert!(counted.tokens > room),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }
}
