//! One trace from all drivers, byte for byte: a bare heap of events, the live loop as tasks, the live loop on a thread
//! for each call, and calls of closures. What stands beside each script is what all of them print.

mod breaks;
mod closures;
mod draws;
mod heap;
mod hedges;
mod hints;
mod leaves;
mod limits;
mod live;
mod rates;
mod routes;
mod script;
mod writes;

use expect_test::Expect;
use script::Script;

/// Any other would do; with this one the drawn delays below were drawn.
const SEED: u64 = 42;

/// Could break if a driver asked in another order, at another time or once too often, or forgot to give back.
fn check(text: &str, expected: &Expect) {
    check_last(text, usize::MAX, expected);
}

/// The same, where only so many of the last lines are worth reading.
fn check_last(text: &str, lines: usize, expected: &Expect) {
    let script = Script::parse(text);
    let heap = heap::run(&script, SEED);
    let last = heap.len().saturating_sub(lines);
    expected.assert_eq(&format!("{}\n", heap[last..].join("\n")));
    let heap = heap.join("\n");
    assert_eq!(
        live::run_async(&script, SEED).join("\n"),
        heap,
        "the tasks' trace is the heap's"
    );
    assert_eq!(
        live::run_blocking(&script, SEED).join("\n"),
        heap,
        "the threads' trace is the heap's"
    );
    if let Some(closures) = live::run_closures(&script, SEED) {
        assert_eq!(closures.join("\n"), heap, "the closures' trace is the heap's");
    }
}
