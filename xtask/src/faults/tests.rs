use super::*;
use crate::repo::File;

const ROW: &str = r#"
[[fault]]
breaks = "law 1"
what = "one more than there may be"
file = "a.rs"
old = "a < b"
new = "a <= b"
suite = "core"
tests = ["bound::tests"]
"#;

fn repo(source: &str, table: &str) -> Repo {
    let page = format!("before\n{BEGIN}\n{END}\nafter\n");
    let files = [("a.rs", source), (TABLE, table), (PAGE, &page)];
    let mut repo = Repo::of(files.map(|(path, text)| File::new(path, text)).to_vec());
    let whole = super::page(&repo).unwrap();
    repo.files[2].text = whole;
    repo
}

#[test]
fn a_fault_has_its_place_once() {
    // Could break if a fault that changes nothing, or two things, were played: whoever fails would fail by another.
    let found = |source: &str| in_place(&repo(source, ROW)).unwrap().len();
    assert_eq!(found("if a < b {}"), 0);
    assert_eq!(found("if a > b {}"), 1);
    assert_eq!(found("if a < b {} if a < b {}"), 1);
}

#[test]
fn the_page_lists_the_faults_as_they_are() {
    // Could break if the table of the page were written by hand once more.
    let mut repo = repo("if a < b {}", ROW);
    let row = "| law 1 | one more than there may be | core: `bound::tests` |\n";
    assert!(repo.text(PAGE).unwrap().contains(row));
    repo.files[2].text = repo.files[2].text.replace("law 1", "law 2");
    assert_eq!(in_place(&repo).unwrap().len(), 1);
}

#[test]
fn a_fault_that_names_no_test_or_no_suite_is_an_error() {
    // Could break if a row with a slip were played as one that nobody need notice.
    for (from, to) in [
        ("[\"bound::tests\"]", "[]"),
        ("\"core\"", "\"gore\""),
        ("new =", "now ="),
    ] {
        let repo = Repo::of(vec![File::new(TABLE, &ROW.replace(from, to))]);
        assert!(read(&repo).is_err(), "{to}");
    }
}

#[test]
fn only_a_test_that_failed_is_a_catch() {
    // Could break if a compile error, or a test that is not there, passed for a proof.
    assert!(Caught::By("a".to_owned()).is_caught());
    for other in [
        Caught::Nobody,
        Caught::Misplaced { times: 0 },
        Caught::Unbuilt {
            detail: String::new(),
        },
        Caught::Untested { test: String::new() },
    ] {
        assert!(!other.is_caught(), "{other:?}");
    }
}

#[test]
fn faults_are_told_in_the_order_of_their_table() {
    // Could break if a copy that is done early were told before the one that began earlier, or one were left out.
    let told = |endings: [(usize, &'static str); 4]| {
        let mut told = Vec::new();
        in_order(endings, |nth, name| {
            told.push((nth, name));
            Ok(())
        })
        .unwrap();
        told
    };
    let table = [(0, "a"), (1, "b"), (2, "c"), (3, "d")];
    assert_eq!(told(table), table);
    assert_eq!(told([(1, "b"), (0, "a"), (3, "d"), (2, "c")]), table);
    assert_eq!(told([(3, "d"), (2, "c"), (1, "b"), (0, "a")]), table);
}

#[test]
fn only_a_suite_without_sockets_is_broken_in_copies_at_once() {
    // Could break if a suite of sockets were played beside a build: a test that fails for want of time is no catch.
    for suite in Suite::ALL {
        assert!(suite.copies() == 1 || suite == Suite::Core, "{}", suite.name());
    }
}

#[test]
fn every_fault_is_taken_once() {
    // Could break if two copies took the same fault, or none took the last one.
    let repo = Repo::of(vec![File::new(TABLE, &ROW.repeat(3))]);
    let (faults, next) = (read(&repo).unwrap(), AtomicUsize::new(0));
    let numbers: Vec<usize> = std::iter::from_fn(|| taken(&faults, &next))
        .map(|(nth, _)| nth)
        .collect();
    assert_eq!(numbers, [0, 1, 2]);
}
