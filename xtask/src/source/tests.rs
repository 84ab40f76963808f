use super::*;

fn texts(source: &str) -> String {
    let code = code_only(source);
    let words: Vec<&str> = words(&code).iter().map(|word| word.text).collect();
    words.join(" ")
}

#[test]
fn what_a_comment_or_a_literal_says_is_not_code() {
    // Could break if a check read `std::time` in a comment as a use of it, or lost the code after a literal.
    for (source, code) in [
        ("a // std::time\nb", "a b"),
        ("a /* x /* y */ std */ b", "a b"),
        ("f(\"std::time \\\" x\") + b", "f ( ) + b"),
        ("r#\"a \" std\"# + b", "+ b"),
        ("br\"std\" + b", "+ b"),
        ("bar\"std\"", "bar"),
        ("'\"' + 'x' + '\\'' + b", "+ + + b"),
        ("&'a str 'outer: loop", "& ' a str ' outer : loop"),
        ("core::time::X", "core :: time :: X"),
        ("\"never closed", ""),
        ("/* never closed", ""),
        ("r#\"never closed\"", ""),
        ("'é' + é", "+ é"),
    ] {
        assert_eq!(texts(source), code, "{source}");
    }
}

#[test]
fn a_word_keeps_its_line() {
    // Could break if a comment or a string over several lines swallowed its line ends.
    let code = code_only("/* a\nb */\n\"c\nd\"\nstd");
    assert_eq!(words(&code), [Word { line: 5, text: "std" }]);
}
