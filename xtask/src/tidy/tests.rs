use super::*;

#[test]
fn the_repository_keeps_its_rules() {
    // Could break with any change at all; that is its use.
    let repo = Repo::open().expect("the repository can be read");
    let mut said = Vec::new();
    for check in CHECKS {
        let findings = (check.run)(&repo).expect(check.name);
        said.extend(
            findings
                .iter()
                .map(|finding| format!("{}: {finding}", check.name)),
        );
    }
    assert!(said.is_empty(), "run `cargo xtask tidy`:\n{}", said.join("\n"));
}

#[test]
fn the_checks_see_the_sources() {
    // Could break if the list of files were empty: every check would hold, and none would look.
    let repo = Repo::open().expect("the repository can be read");
    for path in [
        "Cargo.lock",
        "crates/seawall-core/src/lib.rs",
        "xtask/src/tidy/tests.rs",
    ] {
        assert!(repo.text(path).is_ok_and(|text| !text.is_empty()), "{path}");
    }
}
