//! `seawall check`, held to files that cannot be right and to its texts.

use crate::{Folder, text};
use expect_test::{Expect, expect, expect_file};
use std::path::{Path, PathBuf};
use std::process::Output;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/check")
}

/// The files with this ending below `tests/it/check`, in order.
fn files(below: &str, ending: &str) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder().join(below)).expect("the folder is there");
    let mut files: Vec<PathBuf> = listed.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == ending));
    files.sort();
    files
}

fn check(words: &[&str], dir: &Path) -> Output {
    let words: Vec<&str> = ["check"].iter().chain(words).copied().collect();
    crate::seawall_in(dir, &words)
}

#[test]
fn every_error_of_a_bad_file_is_told_with_its_line_and_what_to_do() {
    // The golden text beside each file: a message that loses its place, its line or its advice shows here.
    let files = files("bad", "toml");
    assert!(files.len() >= 12, "{}", files.len());
    for path in files {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let output = check(&[name], path.parent().expect("a folder"));
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(output.stdout.is_empty(), "{name}");
        expect_file![path.with_extension("txt")].assert_eq(&text(output.stderr));
    }
}

/// One file, checked with these words; what is printed on either side.
fn said(name: &str, file: &str, words: &[&str], code: i32, expected: Expect) {
    let folder = Folder::new(&format!("check-{name}"));
    folder.file("seawall.toml", file);
    let output = check(words, &folder.0);
    let both = format!("{}{}", text(output.stdout), text(output.stderr));
    expected.assert_eq(&both);
    assert_eq!(output.status.code(), Some(code), "{words:?}");
}

const PLAIN: &str = "[[upstream]]\nname = \"main\"\nbase_url = \"https://api.example.com/v1\"\n";

#[test]
fn a_right_file_says_what_is_in_it_and_what_is_not_enforced() {
    // A check that prints nothing leaves its reader wondering which file was read.
    let file = format!("{PLAIN}quota = \"team\"\n[serve]\nlog = \"json\"\n[batch]\nordered = true\n");
    let folder = Folder::new("check-right");
    folder.file("seawall.toml", &file);
    for words in [&[][..], &["seawall.toml"], &["-c", "seawall.toml"]] {
        let output = check(words, &folder.0);
        assert_eq!(output.status.code(), Some(0));
        let told = text(output.stdout);
        let first =
            "seawall.toml is right: 1 upstream\n  main  https://api.example.com/v1  inferred  no key\n";
        assert!(told.starts_with(first), "{told}");
        for line in [
            "warning: seawall.toml:4:1: `upstream.quota` is read, and not enforced yet: each command calls one upstream; the library's routes obey it\n",
            "warning: seawall.toml:5:2: [serve] is read, and not enforced yet: nothing serves\n",
            "warning: seawall.toml:8:1: `batch.ordered` is read, and not enforced yet: `seawall batch` cannot do this\n",
        ] {
            assert!(told.contains(line), "{told}");
        }
    }
}

#[test]
fn the_document_for_programs_is_right_or_wrong() {
    // A program that asked for JSON and gets words takes a wrong file for a broken tool.
    said(
        "json-wrong",
        "[policy]\nretries = 1000\n",
        &["--json"],
        2,
        expect![[r#"
            {"file":"seawall.toml","ok":false,"errors":[{"line":2,"column":11,"width":4,"message":"retries is 1000; it may be 0 to 100","help":"the default is 5","text":"retries = 1000"}],"findings":[]}
        "#]],
    );
    let folder = Folder::new("check-json");
    folder.file(
        "seawall.toml",
        format!("[policy]\npreset = \"interactive\"\nretries = 1\n{PLAIN}"),
    );
    let output = check(&["--json", "--effective"], &folder.0);
    assert_eq!(output.status.code(), Some(0));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["ok"], true);
    let tables = document["effective"].as_array().expect("tables");
    assert_eq!(
        (&tables[0]["table"], &tables[1]["table"]),
        (&"[policy]".into(), &"upstream main".into())
    );
    let setting = |table: usize, key: &str| {
        let settings = tables[table]["settings"].as_array().expect("settings");
        let found = settings.iter().find(|setting| setting["key"] == key);
        found.expect("it is there").to_string()
    };
    expect![[r#"{"column":11,"from":"policy","key":"policy.retries","line":3,"value":"1"}"#]]
        .assert_eq(&setting(1, "policy.retries"));
    expect![[r#"{"from":"preset","key":"policy.hints.max","preset":"interactive","value":"\"10s\""}"#]]
        .assert_eq(&setting(0, "policy.hints.max"));
    expect![[r#"{"column":12,"from":"file","key":"upstream.base_url","line":6,"value":"\"https://api.example.com/v1\""}"#]].assert_eq(&setting(1, "upstream.base_url"));
    expect![[r#"{"from":"default","key":"policy.backoff.cap","value":"\"30s\""}"#]]
        .assert_eq(&setting(1, "policy.backoff.cap"));
    // Without being asked it says nothing of values.
    let output = check(&["--json"], &folder.0);
    assert!(!text(output.stdout).contains("effective"));
}

#[test]
fn what_is_no_file_of_ours_is_told_in_a_line() {
    // A stack of errors about the bytes of a picture helps nobody.
    let folder = Folder::new("check-none");
    folder.file("utf16.toml", b"\xff\xfe[\0p\0o\0");
    folder.file("picture.toml", b"\x89PNG\r\n\x1a\n");
    folder.file("huge.toml", vec![b'#'; 10 << 20]);
    let mut told = String::new();
    for name in ["seawall.toml", ".", "utf16.toml", "picture.toml", "huge.toml"] {
        let output = check(&[name], &folder.0);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{name}"
        );
        told.push_str(&text(output.stderr));
    }
    expect![[r#"
        error: seawall.toml: no such file; name the one that you meant
        error: .: Is a directory (os error 21)
        error: utf16.toml:1:1: this file is UTF-16
          |
        1 | 
          | ^
          = save it as UTF-8
        error: picture.toml:1:1: the byte 0x89 here is no UTF-8 text
          |
        1 | 
          | ^
          = save the file as UTF-8, or name the file that you meant
        error: huge.toml: longer than 1048576 bytes, which is the most that is read
    "#]]
    .assert_eq(&told);
    // Nothing written is nothing wrong.
    folder.file("empty.toml", "");
    let output = check(&["empty.toml"], &folder.0);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(output.stdout).starts_with("empty.toml is right: a policy alone\n"));
}

#[test]
fn a_file_of_many_mistakes_says_how_many() {
    // Fifty are read; the rest is counted, so that nobody thinks it was all.
    let folder = Folder::new("check-many");
    let many: String = (0..200).map(|n| format!("k{n} = 1\n")).collect();
    folder.file("seawall.toml", many);
    let output = check(&[], &folder.0);
    let told = text(output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(told.matches("unknown key").count(), 50);
    assert!(told.ends_with("error: seawall.toml has 200 errors\n"), "{told}");
}

#[test]
fn a_file_with_carriage_returns_and_tabs_keeps_its_carets_under_its_words() {
    // An editor of another system, and a reader's caret three words to the left.
    said(
        "tabs",
        "[policy]\r\n\tretries =\t\"3\"\r\n",
        &[],
        2,
        expect![[r#"
            error: seawall.toml:2:12: expected a whole number, found a string
              |
            2 | 	retries =	"3"
              | 	         	^^^
              = write it as in retries = 3
        "#]],
    );
}
