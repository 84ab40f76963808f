//! `seawall demo`, with a clock that is turned: the same on every machine.

use crate::{seawall_in, text};
use std::path::Path;

#[test]
fn the_demonstration_says_the_same_to_people_and_to_programs() {
    // Could break by a figure that depends on the machine, talk on stdout, or a table that is no table in a pipe.
    let words = ["demo", "--speed", "turned"];
    let shown = seawall_in(Path::new("."), &words);
    assert_eq!(shown.status.code(), Some(0), "{}", text(shown.stderr));
    let shown = text(shown.stdout);
    let is_block = |letter: char| ('\u{2580}'..='\u{259f}').contains(&letter);
    assert!(
        !shown.contains(is_block),
        "a pipe gets lines of plain letters: {shown}"
    );
    assert_eq!(shown.matches("12 of 12 figures agree").count(), 2, "{shown}");
    let json = seawall_in(Path::new("."), &[&words[..], &["--json", "-q"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("one document");
    let name = json["models"][0]["live"][0]["name"].as_str().expect("a policy");
    assert!(shown.contains(name), "{shown}");
}

#[test]
fn a_speed_that_is_none_is_told_with_what_is_one() {
    // Could break by a word that is taken for a number, and time that never passes.
    let refused = seawall_in(Path::new("."), &["demo", "--speed", "fast"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(refused.stderr).contains("or `turned`"));
}
