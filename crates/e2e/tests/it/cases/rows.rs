//! The same bug reports as single outcomes: the rows of `seawall explain`'s own table.

use super::Case;
use std::collections::BTreeSet;

const ROWS: &str = include_str!("../../../../seawall-cli/tests/it/explain.rows");

/// Cases that are not about what one outcome means.
const MORE_THAN_ONE_OUTCOME: &[(&str, &str)] = &[
    ("RC-134", "about a local file"),
    ("RC-140", "about the end of a stream"),
    ("RC-142", "about the end of a stream"),
    ("RC-145", "about an error inside a stream"),
    ("RC-171", "about a caller that leaves"),
    ("RC-173", "about a caller that leaves"),
];

#[test]
fn every_bug_report_stands_in_the_table_of_explain() {
    // Breaks when a case is added and nobody asks `seawall explain` about it.
    let in_table: BTreeSet<&str> = ROWS
        .lines()
        .filter(|line| line.starts_with("RC-"))
        .map(|line| line.split([' ', '|']).next().unwrap())
        .collect();
    let elsewhere: BTreeSet<&str> = MORE_THAN_ONE_OUTCOME.iter().map(|(id, _)| *id).collect();
    let cases = Case::all();
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let wanted: BTreeSet<&str> = ids.difference(&elsewhere).copied().collect();
    assert_eq!(in_table, wanted);
    assert_eq!(ids.len(), 78);
}
