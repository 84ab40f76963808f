use super::*;
use expect_test::{Expect, expect};

fn check(deltas: impl IntoIterator<Item = Delta>, expected: Expect) {
    let mut assembly = Assembly::new();
    deltas.into_iter().for_each(|delta| assembly.push(delta));
    let half: Vec<_> = assembly.half_tool_calls().map(|call| call.id.clone()).collect();
    let parts: Vec<_> = assembly
        .message()
        .parts
        .iter()
        .map(|part| format!("{part:?}\n"))
        .collect();
    expected.assert_eq(&format!("{}half: {half:?}\n", parts.concat()));
}

fn call(index: usize, id: &str) -> Delta {
    Delta::ToolCall {
        index,
        id: id.to_owned(),
        name: "f".to_owned(),
        signature: None,
    }
}

fn arguments(index: usize, text: &str) -> Delta {
    Delta::Arguments {
        index,
        text: text.to_owned(),
    }
}

#[test]
fn pieces_of_calls_that_come_mixed_are_put_to_their_own() {
    // Joined in the order of their coming, two calls would be one with both arguments.
    check(
        [
            call(0, "a"),
            call(1, "b"),
            arguments(0, "{\"x\""),
            arguments(1, "{}"),
            arguments(0, ":1}"),
        ],
        expect![[r#"
            ToolCall(ToolCall { id: "a", name: "f", arguments: "{\"x\":1}", signature: None })
            ToolCall(ToolCall { id: "b", name: "f", arguments: "{}", signature: None })
            half: ["a", "b"]
        "#]],
    );
}

#[test]
fn a_half_call_is_known_as_half() {
    // `{"path":"/"` of `{"path":"/tmp/x"}` is no place to delete.
    check(
        [
            call(0, "a"),
            arguments(0, "{}"),
            Delta::PartEnded,
            call(1, "b"),
            arguments(1, "{\"pa"),
        ],
        expect![[r#"
            ToolCall(ToolCall { id: "a", name: "f", arguments: "{}", signature: None })
            ToolCall(ToolCall { id: "b", name: "f", arguments: "{\"pa", signature: None })
            half: ["b"]
        "#]],
    );
    check(
        [call(0, "a"), Delta::Finish(Finish::ToolCalls)],
        expect![[r#"
            ToolCall(ToolCall { id: "a", name: "f", arguments: "", signature: None })
            half: []
        "#]],
    );
}

#[test]
fn a_call_that_its_answers_length_cut_is_half() {
    // Breaks when the end of an answer makes whole what it cut: `{"path":"/` is still no place to delete.
    let cut = [
        call(0, "a"),
        arguments(0, "{}"),
        call(1, "b"),
        arguments(1, r#"{"path":"\"#),
    ];
    check(
        cut.into_iter()
            .chain([Delta::PartEnded, Delta::Finish(Finish::Length)]),
        expect![[r#"
            ToolCall(ToolCall { id: "a", name: "f", arguments: "{}", signature: None })
            ToolCall(ToolCall { id: "b", name: "f", arguments: "{\"path\":\"\\", signature: None })
            half: ["b"]
        "#]],
    );
}

#[test]
fn every_piece_costs_the_same_however_many_came_before() {
    // Breaks when each piece of one call looks through all others: a hundred thousand of them would take an hour.
    let mut assembly = Assembly::new();
    for index in 0..100_000 {
        assembly.push(call(index, "a"));
        assembly.push(Delta::PartEnded);
        assembly.push(arguments(index / 2, "1"));
        assembly.push(Delta::Finish(Finish::ToolCalls));
    }
    assert_eq!(assembly.message().parts.len(), 100_000);
}

#[test]
fn sources_stand_together_beside_the_answer() {
    // Breaks when a later source takes the place of those before it.
    let mut assembly = Assembly::new();
    for source in ["a", "b"] {
        assembly.push(Delta::Cited(source.into()));
    }
    let answer = assembly.into_answer();
    assert_eq!(answer.raw, serde_json::json!({ "citations": ["a", "b"] }));
}

#[test]
fn what_fits_to_nothing_is_kept() {
    // A server that forgets to begin a call, or seals a thought that it does not show.
    let (dialect, text) = (Dialect::Gemini, "seal".to_owned());
    check(
        [
            Delta::Text("a".to_owned()),
            arguments(4, "{"),
            Delta::Signature { dialect, text },
            Delta::PartEnded,
            Delta::PartEnded,
            Delta::Text("b".to_owned()),
        ],
        expect![[r#"
            Text("a")
            ToolCall(ToolCall { id: "", name: "", arguments: "{", signature: None })
            Thinking(Thinking { text: "", signature: Some("seal"), redacted: None, dialect: Some(Gemini) })
            Text("b")
            half: [""]
        "#]],
    );
}
