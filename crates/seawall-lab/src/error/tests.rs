use super::*;

#[test]
fn a_slip_of_the_finger_finds_its_word_and_a_stranger_finds_none() {
    // Could break if a swap counted twice, or if any word were near enough to anything.
    let known = ["reset", "close", "hang", "truncate", "stream", "GET"];
    for (given, meant) in [
        ("rest", Some("reset")),
        ("rseet", Some("reset")),
        ("Close", Some("close")),
        ("hnag", Some("hang")),
        ("get", Some("GET")),
        ("trunkate", Some("truncate")),
        ("banana", None),
        ("", None),
        ("x", None),
    ] {
        assert_eq!(nearest(given, &known), meant, "{given:?}");
    }
    assert_eq!(nearest(&"reset".repeat(1_000), &known), None);
}

#[test]
fn an_error_in_a_megabyte_line_quotes_only_what_stands_around_it() {
    // Could break if the quoted line were the whole line, or the caret counted bytes.
    let text = format!("{}é!{}", "é".repeat(500_000), "x".repeat(500_000));
    let at = text.find('!').expect("the mark stands in the text");
    let printed = Source::bare(&text).error(at..at + 1, "here").to_string();
    assert!(printed.len() < 1_000, "{} bytes", printed.len());
    let mut lines = printed.lines().skip(1);
    let (quoted, carets) = (lines.next().unwrap(), lines.next().unwrap());
    let caret_column = carets.chars().count() - 1;
    assert_eq!(quoted.chars().nth(caret_column), Some('!'), "{printed}");
}

#[test]
fn a_place_outside_the_text_or_inside_a_letter_is_no_panic() {
    // Could break if a span from another parser were trusted.
    let source = Source::bare("é\n");
    for span in [0..9, 1..1, 1..9, 7..9, 2..3, 3..3] {
        assert!(!source.error(span, "x").to_string().is_empty());
    }
}
