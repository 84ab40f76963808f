//! What each client does at the wire, in its own usual set-up: the table of `docs/reference/comparison.md`.
//!
//! Every cell is a run against the lab's mock: a fault is played, and the mock's journal says what the client did. All
//! contestants are given the same settings as far as they can be told: [`Settings`]. What one needs code for that its
//! own documentation does not show counts as what it does without that code; the page says so.
//!
//! `compare` prints the table, `compare --check` compares it with the page, `compare NAME...` runs these contestants
//! alone and says what was seen.

mod ask;
mod checks;
mod peers;
mod table;
mod tenacity;

use ask::{Cell, Peer};
use checks::CHECKS;
use std::process::ExitCode;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/comparison.md");

/// How often a cell that differs from the page is looked at again.
const AGAIN: usize = 3;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread");
    let must_match = words.iter().any(|word| word == "--check");
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    let names: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let all = peers::all();
    if let Some(unknown) = names
        .iter()
        .find(|name| !all.iter().any(|peer| peer.name == **name))
    {
        let known: Vec<&str> = all.iter().map(|peer| peer.name).collect();
        eprintln!("nobody is called {unknown}; there are {}", known.join(", "));
        return ExitCode::from(2);
    }
    let chosen: Vec<_> = all
        .into_iter()
        .filter(|peer| names.is_empty() || names.contains(&peer.name))
        .collect();
    if must_match {
        let columns = runtime.block_on(again_where_it_differs(&page, &chosen));
        return table::compare(&table::markdown(&chosen, &columns), &page);
    }
    let mut columns = Vec::new();
    for peer in &chosen {
        let mut cells = Vec::new();
        for check in CHECKS {
            let cell = runtime.block_on(check.see(peer));
            if !names.is_empty() {
                println!("{:<14} {:<9} {cell}", peer.name, check.id);
            }
            cells.push(cell);
        }
        columns.push(cells);
    }
    if names.is_empty() {
        print!("{}", table::markdown(&chosen, &columns));
    }
    ExitCode::SUCCESS
}

/// The columns, each peer beside the others: most of the time they wait. Real time passes here, and a machine that is busy
/// for a moment is no finding, so what differs from the page is looked at again, alone.
///
/// We ourselves, first in the list, are looked at alone from the beginning: peers are pinned, but we change, and what a busy
/// machine does must not look like what we promise.
async fn again_where_it_differs(page: &str, peers: &[Peer]) -> Vec<Vec<Cell>> {
    let mut columns = vec![Vec::new(); peers.len()];
    let (ours, others) = peers.split_at(1.min(peers.len()));
    for check in CHECKS {
        let mut cells = check.see_all(ours).await;
        cells.extend(check.see_all(others).await);
        for ((peer, mut cell), column) in peers.iter().zip(cells).zip(&mut columns) {
            for _ in 0..AGAIN {
                if table::stands(page, peer.name, check.promise) == Some(table::word(&cell)) {
                    break;
                }
                cell = check.see(peer).await;
            }
            column.push(cell);
        }
    }
    columns
}
