//! Wrong uses, and what is said of them and where.

use super::*;
use std::str::FromStr as _;

/// The function that the attribute is right for.
const RIGHT: &str = "async fn f(name: &str) -> Result<u32, RetryError<E>> { Ok(1) }";

/// What is said of it, each with the source under it.
fn refused(words: &str, function: &str) -> Vec<(String, String)> {
    let tokens = |text| TokenStream::from_str(text).expect("the test's source is Rust");
    let error = expanded(tokens(words), tokens(function)).err();
    error
        .into_iter()
        .flatten()
        .map(|error| (error.to_string(), error.span().source_text().unwrap_or_default()))
        .collect()
}

#[track_caller]
fn check(words: &str, function: &str, said: &str, at: &str) {
    assert_eq!(
        refused(words, function),
        [(said.to_owned(), at.to_owned())],
        "{words}: {function}"
    );
}

#[test]
fn right_words_are_taken() {
    // Could break if a word of the table were refused: the tests below would all pass.
    let words = [
        "policy = \"interactive\"",
        "policy = POLICY",
        "gate = self.gate()",
        "upstream = UPSTREAM, deadline = \"1m30s\", total = LIMIT, retries_max = 3, when = is_transient, \
         classify = |error| Failure::status(error.0), hint = hint, notify = log, replay = \"keyed\",",
    ];
    for words in words {
        assert_eq!(refused(words, RIGHT), [], "{words}");
    }
    for name in seawall_core::policy::Preset::ALL.map(seawall_core::policy::Preset::name) {
        assert_eq!(refused(&format!("policy = \"{name}\""), RIGHT), []);
    }
}

#[test]
fn what_the_attribute_says_wrong_is_told_at_the_word() {
    // Could break if a word that is not understood were left out in silence, or told at the whole attribute.
    for (words, said, at) in [
        (
            "policy = \"intractive\"",
            "there is no preset `intractive`; there are default, interactive, batch, writes, off",
            "\"intractive\"",
        ),
        (
            "policy = P, gate = G",
            "a function goes by one policy, gate or upstream",
            "gate",
        ),
        (
            "gate = \"main\"",
            "`gate` is an expression, as `gate = self.gate`; only presets have names",
            "\"main\"",
        ),
        (
            "policy = P, deadline = \"20\"",
            "`20` is no length of time, as `20s`, `500ms` or `1m30s`",
            "\"20\"",
        ),
        (
            "policy = P, deadline = \"0s\"",
            "`0s` is no time at all: no attempt would be made",
            "\"0s\"",
        ),
        (
            "policy = P, deadline = 20",
            "a length of time has a unit, as `\"20s\"` or `\"1m30s\"`",
            "20",
        ),
        (
            "policy = P, retries = 3",
            "a call makes no more retries than its policy; say `retries_max` for fewer",
            "retries",
        ),
        (
            "policy = P, tries = 3",
            "`tries` is no word of this attribute; there are policy, gate, upstream, deadline, total, replay, when, classify, \
             classify_by, hint, notify, retries_max",
            "tries",
        ),
        (
            "policy = P, replay = \"safe\"",
            "`safe` says nothing of a repeat; there are idempotent, keyed, declared, unsafe",
            "\"safe\"",
        ),
        ("policy = P, when = a, when = b", "`when` is said twice", "when"),
        (
            "policy = P, classify = a, classify_by = b",
            "`classify` and `classify_by` say the same thing: say one",
            "classify_by",
        ),
        ("policy", "`policy` says something: `policy = ..`", "policy"),
        (
            "policy = P, reject = is_empty",
            "`reject` changes what a call brings: use `seawall::retry(..).reject(..)`",
            "reject",
        ),
    ] {
        check(words, RIGHT, said, at);
    }
}

#[test]
fn nobody_is_taken_for_granted() {
    // Could break with a default: a function that shares nothing, and nobody who said so.
    let said = refused("", RIGHT);
    assert_eq!(said.len(), 1);
    assert!(
        said[0]
            .0
            .starts_with("say whose rules this function goes by: `policy"),
        "{said:?}"
    );
}

#[test]
fn a_function_that_cannot_be_called_again_is_told_so_where_it_says_that() {
    // Could break into an error in code that nobody wrote.
    for (function, said, at) in [
        (
            "async fn f(self) -> Result<(), E> { Ok(()) }",
            "the first attempt would take `self` with it: take `&self`",
            "self",
        ),
        (
            "async fn f(self: Arc<Self>) -> Result<(), E> { Ok(()) }",
            "the first attempt would take `self` with it: take `&self`",
            "self: Arc<Self>",
        ),
        (
            "async fn f(&mut self) -> Result<(), E> { Ok(()) }",
            "two attempts would share this `&mut self`: take `&self`",
            "&mut self",
        ),
        (
            "async fn f(log: &mut Log) -> Result<(), E> { Ok(()) }",
            "two attempts would share this `&mut`: take it by `&`, or use `seawall::retry`",
            "&mut Log",
        ),
        (
            "const fn f() -> Result<(), E> { Ok(()) }",
            "a `const fn` fails at once and for good: there is nothing to wait for",
            "const",
        ),
        (
            "fn f() {}",
            "returns nothing: what can be called again returns a `Result`",
            "f",
        ),
        (
            "fn f() -> impl Future<Output = Result<(), E>> { async { Ok(()) } }",
            "returns a future: write it as an `async fn`",
            "impl Future<Output = Result<(), E>>",
        ),
        (
            "fn f() -> Pin<Box<dyn Future<Output = Result<(), E>>>> { Box::pin(async { Ok(()) }) }",
            "returns a future: write it as an `async fn`",
            "Pin<Box<dyn Future<Output = Result<(), E>>>>",
        ),
        (
            "async fn f() -> Option<u32> { None }",
            "is no `Result`: nothing tells an attempt that failed from one that did not",
            "Option<u32>",
        ),
        (
            "fn f() -> () {}",
            "is no `Result`: nothing tells an attempt that failed from one that did not",
            "()",
        ),
    ] {
        check("policy = P", function, said, at);
    }
    for right in [
        "fn f(&mut self, log: &mut Log) -> Result<(), E> { Ok(()) }",
        "async fn f(self: &Arc<Self>) -> Result<(), E> { Ok(()) }",
    ] {
        assert_eq!(refused("policy = P", right), [], "{right}");
    }
}

#[test]
fn a_function_without_a_body_is_not_one() {
    // Could break with words of the parser's alone.
    let said = refused("policy = P", "struct S;");
    assert!(
        said[0]
            .0
            .starts_with("this attribute is for functions with a body: "),
        "{said:?}"
    );
}

#[test]
fn what_is_wrong_leaves_the_function_where_it_is() {
    // Could break if the function were gone: everybody who calls it would be told of that first.
    let tokens = |text| TokenStream::from_str(text).expect("the test's source is Rust");
    let said = expand(tokens("policy = \"none\""), tokens(RIGHT)).to_string();
    assert!(said.contains("compile_error"));
    assert!(said.ends_with(&tokens(RIGHT).to_string()));
}

#[test]
fn an_argument_that_only_the_attribute_uses_is_not_called_unused() {
    // Could break: the compiler would warn of an argument that the call goes by, or never of one that nothing uses.
    let function = "async fn f(gate: &Gate, spare: u32) -> Result<u32, RetryError<E>> { Ok(1) }";
    let tokens = |text| TokenStream::from_str(text).expect("the test's source is Rust");
    for (words, allowed) in [
        ("gate = (gate)", 1),
        ("policy = POLICY", 0),
        ("gate = g(spare, gate)", 2),
    ] {
        let code = expanded(tokens(words), tokens(function))
            .expect("it is right")
            .to_string();
        assert_eq!(code.matches("unused_variables").count(), allowed, "{words}");
    }
}
