//! The table as text, and how a row is found in it.
//!
//! What can go wrong: a thousand rows that are read at every start, for one that is asked for. So the rows are sorted,
//! and the one is found among them where they lie.

use super::{Above, Terms};
use std::cmp::Ordering;

const TABLE: &str = include_str!("table.tsv");

/// What the head of the table says of itself.
pub(super) fn stated(what: &str) -> &'static str {
    TABLE
        .lines()
        .filter_map(|line| line.strip_prefix("# ")?.strip_prefix(what)?.strip_prefix(": "))
        .next()
        .expect("the head of the table says its date and its source")
}

/// The row of this name, with the name as the table has it.
pub(super) fn row(name: &str) -> Option<(&'static str, Terms)> {
    let rows = rows().as_bytes();
    let (mut low, mut high) = (0, rows.len());
    while low < high {
        let middle = low.midpoint(high);
        let start = rows[low..middle]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(low, |at| low + at + 1);
        let end = rows[middle..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(rows.len(), |at| middle + at);
        let line = &rows[start..end];
        let name_ends = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
        match line[..name_ends].cmp(name.as_bytes()) {
            Ordering::Less => low = end + 1,
            Ordering::Greater => high = start,
            Ordering::Equal => return std::str::from_utf8(line).ok().map(read),
        }
    }
    None
}

/// The rows alone, sorted by name.
pub(super) fn rows() -> &'static str {
    let mut rest = TABLE;
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    rest
}

pub(super) fn read(line: &'static str) -> (&'static str, Terms) {
    let mut cells = line.split('\t');
    let name = cells.next().unwrap_or(line);
    let mut next = || cells.next().and_then(|cell| cell.parse().ok());
    let mut terms = Terms {
        input: next(),
        output: next(),
        cached_input: next(),
        cache_write: None,
        long_cache_write: None,
        long_write_per_mille: next(),
        window: next(),
        output_max: next(),
        above: None,
    };
    terms.above = next().map(|tokens| Above {
        tokens,
        input: next(),
        output: next(),
        cached_input: next(),
    });
    (name, terms)
}
