//! `seawall check`, held to files that cannot be right and to its texts.

use crate::text;
use expect_test::expect_file;
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
