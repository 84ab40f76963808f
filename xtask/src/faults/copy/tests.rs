use super::*;

#[test]
fn what_libtest_prints_says_who_failed_first() {
    // Could break if a test that passed, or another line, were taken for one that failed, or if a failure were waited past.
    let first = |text: &str| first_failure(text.as_bytes()).unwrap();
    let text = "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest a::d ... FAILED\n\nfailures:\n    a::c\n";
    assert_eq!(first(text).as_deref(), Some("a::c"));
    assert_eq!(first("test a::b ... ok\n\ntest result: FAILED. 0 passed\n"), None);
    assert_eq!(first("test a::b ... "), None);
}

#[test]
fn cargo_names_the_program_of_the_tests() {
    // Could break if a library that the tests need, or an example beside them, were started in their place.
    let message = |is_test: bool, executable: &str| {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/r/c/Cargo.toml","profile":{{"test":{is_test}}},"executable":{executable}}}"#
        )
    };
    let found = program(&message(true, "\"/r/b/it\"")).unwrap();
    assert_eq!(
        (found.path.as_path(), found.folder.as_path()),
        (Path::new("/r/b/it"), Path::new("/r/c"))
    );
    assert!(program(&message(false, "\"/r/b/it\"")).is_none());
    assert!(program(&message(true, "null")).is_none());
    assert!(program(r#"{"reason":"build-finished","success":true}"#).is_none());
}

#[test]
fn a_copy_takes_over_builds_and_no_locks() {
    // Could break if two copies built under one lock, one after the other, or if one wrote into what the other reads.
    let folder = std::env::temp_dir().join(format!("seawall-copies-{}", std::process::id()));
    let (from, to) = (folder.join("from"), folder.join("to"));
    for path in [
        "debug/deps/liba.rlib",
        "debug/.fingerprint/a/lib",
        "debug/.cargo-lock",
        "debug/incremental/a/b",
    ] {
        let path = from.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    link_all(&from, &to).unwrap();
    let there = |path: &str| to.join(path).exists();
    assert!(there("debug/deps/liba.rlib") && there("debug/.fingerprint/a/lib"));
    assert!(!there("debug/.cargo-lock") && !there("debug/incremental/a/b"));
    fs::remove_dir_all(folder).unwrap();
}
