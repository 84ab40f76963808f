use super::*;
use crate::error::Source;
use std::collections::BTreeMap;

fn filled(text: &str) -> String {
    let captured = BTreeMap::from([
        ("id".to_owned(), "7".to_owned()),
        ("a-b_1".to_owned(), "{{id}}".to_owned()),
    ]);
    match Template::read(Source::bare(text), 0..text.len()) {
        Ok((template, names)) => {
            // Every name is told with its own place.
            assert!(
                names
                    .iter()
                    .all(|(name, at)| text[at.clone()].contains(name.as_str()))
            );
            template
                .fill(&captured)
                .unwrap_or_else(|name| format!("no {name}"))
        }
        Err(error) => error.message().to_owned(),
    }
}

#[test]
fn a_template_puts_in_what_was_captured_and_nothing_else() {
    // Could break if a captured text were read as a template again, or JSON's own braces as a place.
    for (text, expected) in [
        ("", ""),
        ("/p/{{id}}/x?{{ id }}", "/p/7/x?7"),
        ("{{a-b_1}}", "{{id}}"),
        ("{{gone}}", "no gone"),
        (r#"{"a":{"b":{}}}"#, r#"{"a":{"b":{}}}"#),
        (r"\{{id}} {{id}}", "{{id}} 7"),
        (r"\\{{id}}", r"\{{id}}"),
        ("é{{id}}é", "é7é"),
        ("{{id", "`{{` is not closed"),
        ("{{}}", "`` is no name"),
        ("{{a b}}", "`a b` is no name"),
        ("{{{id}}}", "`{id` is no name"),
    ] {
        assert_eq!(filled(text), expected, "{text}");
    }
}

#[test]
fn a_path_finds_one_value_as_it_stands_or_says_what_stands_in_the_way() {
    // Could break if an index counted from the wrong end, or a value went through a number or a text on its way.
    let body = r#" {"a":[{"id":"x\u00e9"},{"id": 1.50e1 }],"b c":{"":null},"n":18446744073709551616} "#;
    let find = |path: &str| match JsonPath::parse(path) {
        Ok(path) => path
            .find(body.as_bytes())
            .map(str::to_owned)
            .unwrap_or_else(|why| why),
        Err(error) => error.message().to_owned(),
    };
    for (path, expected) in [
        ("$.a[0].id", r#""x\u00e9""#),
        ("$.a[1].id", "1.50e1"),
        ("$.a[-2]['id']", r#""x\u00e9""#),
        ("$['b c']['']", "null"),
        ("$[\"n\"]", "18446744073709551616"),
        ("$.a[2]", "`$.a` has 2 elements, none at 2"),
        ("$.a[-3]", "`$.a` has 2 elements, none at -3"),
        ("$.a.id", "`$.a` is no object"),
        ("$.n[0]", "`$.n` is no list"),
        ("$['b c'].x", "`$['b c']` has no `x`; it has "),
        ("$.x", "`$` has no `x`; it has a, b c, n"),
        ("a", "a path begins with `$`, the whole body"),
        ("$.", "a name follows the dot"),
        ("$.*", "`*` may find many values; a path names one"),
        ("$[?(@.x)]", "in brackets stands a number, or a name in quotes"),
        ("$['a", "this name is not closed"),
        ("$['a'x]", "a name in brackets ends with its quote and `]`"),
        ("$[0", "this bracket is not closed"),
        ("$a", "this is no step of a path"),
    ] {
        assert_eq!(find(path), expected, "{path}");
    }
    let path = JsonPath::parse("$.a[0].id").unwrap();
    assert_eq!(path.capture(body.as_bytes()).unwrap(), "xé");
    assert_eq!(JsonPath::parse("$").unwrap().find(b"[1]").unwrap(), "[1]");
    for (body, expected) in [
        (&b"\xff"[..], "the body is no UTF-8"),
        (b"<html>", "the body is no JSON: "),
        (b"", "the body is no JSON: "),
    ] {
        assert!(path.find(body).unwrap_err().starts_with(expected));
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(
        JsonPath::parse("$[0]")
            .unwrap()
            .find(deep.as_bytes())
            .unwrap()
            .len(),
        deep.len() - 2
    );
}
