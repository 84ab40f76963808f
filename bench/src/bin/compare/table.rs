//! The table of the page.

use crate::ask::{Cell, Peer};
use crate::checks::CHECKS;
use std::fmt::Write;
use std::process::ExitCode;

/// Where the table stands in the page.
const BEGIN: &str = "<!-- compare: written by `cargo run --release --bin compare` in bench/ -->";
const END: &str = "<!-- compare: end -->";

/// The table as the page has it: a row a check, a column a contestant.
pub fn markdown(peers: &[Peer], columns: &[Vec<Cell>]) -> String {
    let mut text = format!("{BEGIN}\n|");
    for peer in peers {
        let _ = write!(text, " | {}", peer.name);
    }
    text.push_str(" |\n|---|");
    text.push_str(&"---|".repeat(peers.len()));
    text.push('\n');
    for (nth, check) in CHECKS.iter().enumerate() {
        let _ = write!(text, "| {} |", check.promise);
        for cells in columns {
            let _ = write!(text, " {} |", word(&cells[nth]));
        }
        text.push('\n');
    }
    text.push_str("\n| | version | set up as |\n|---|---|---|\n");
    for peer in peers {
        let _ = writeln!(text, "| {} | {} | {} |", peer.name, peer.version, peer.set_up);
    }
    let _ = writeln!(text, "{END}");
    text
}

/// What stands in a cell of the page.
pub fn word(cell: &Cell) -> &'static str {
    match cell {
        Cell::Yes(_) => "**yes**",
        Cell::No(_) => "no",
        Cell::NotItsJob => "–",
        Cell::NotRun(_) => "not run",
    }
}

/// What the page says of this contestant and this promise.
pub fn stands<'p>(page: &'p str, peer: &str, promise: &str) -> Option<&'p str> {
    let cells = |line: &'p str| line.split('|').map(str::trim).collect::<Vec<_>>();
    let lines = page.split_once(BEGIN)?.1.lines();
    let mut rows = lines.filter(|line| line.starts_with('|')).map(cells);
    let column = rows.next()?.iter().position(|cell| *cell == peer)?;
    let row = rows.find(|row| row.get(1) == Some(&promise))?;
    row.get(column).copied()
}

/// Whether the page has this table; says where it differs. What could not run here is compared with nothing.
pub fn compare(table: &str, page: &str) -> ExitCode {
    let stands = page
        .split_once(BEGIN)
        .and_then(|(_, rest)| rest.split_once(END))
        .map_or("", |(table, _)| table);
    let cells = |text: &str| -> Vec<Vec<String>> {
        text.lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect())
            .collect()
    };
    let (made, stands) = (cells(table), cells(stands));
    let mut differ = 0;
    for (row, made) in made.iter().enumerate() {
        for (column, cell) in made.iter().enumerate() {
            let there = stands.get(row).and_then(|row| row.get(column));
            if cell != "not run" && there != Some(cell) {
                differ += 1;
                let there = there.map_or("nothing", String::as_str);
                println!(
                    "row {row}, column {column}: the page says {there}, seen was {cell} ({})",
                    made[1]
                );
            }
        }
    }
    if made.len() != stands.len() {
        differ += 1;
        println!("the page has {} rows, and {} were seen", stands.len(), made.len());
    }
    println!(
        "compare: {} rows, {differ} cells differ from the page",
        made.len()
    );
    if differ == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
