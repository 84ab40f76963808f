use super::*;

const TESTS: &str = "
#[test]
fn it_holds() {
    // Traps V1, A2.
    // Could break if.
}

fn over_lines(
    seed: u64,
) {
    // Trap V2.
}

#[test]
fn silent() {
    let it = 1;
}
";

fn said(row: &str) -> Option<String> {
    let page = format!("# Traps\n\n| trap | what | seen in | held here by |\n|---|---|---|---|\n{row}\n");
    let repo = Repo::of(vec![File::new(PAGE, &page), File::new("a/tests.rs", TESTS)]);
    let findings = check(&repo).unwrap();
    assert!(findings.len() <= 1, "{findings:?}");
    findings.into_iter().next().map(|finding| finding.text)
}

#[test]
fn a_row_and_its_test_say_the_same() {
    // Could break if a test that was renamed, or moved, left its row behind.
    assert_eq!(said("| V1, A2 | x | y | [`it_holds`](../../a/tests.rs) |"), None);
    assert_eq!(said("| V2 | x | y | [`over_lines`](../../a/tests.rs) |"), None);
    for (row, word) in [
        ("| V1, A3 | x | y | [`it_holds`](../../a/tests.rs) |", "A3"),
        ("| V | x | y | [`it_holds`](../../a/tests.rs) |", "trap V"),
        ("| V1 | x | y | [`gone`](../../a/tests.rs) |", "gone"),
        ("| V1 | x | y | [`silent`](../../a/tests.rs) |", "silent"),
        ("| V1 | x | y | [`it_holds`](../../b.rs) |", "b.rs"),
    ] {
        let said = said(row).expect(row);
        assert!(said.contains(word), "{said}");
    }
}
