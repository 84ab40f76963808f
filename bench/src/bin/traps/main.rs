//! Runs each peer into the trap that `docs/reference/traps.md` names, and says what it did. Fails where a peer does not
//! fall into it any more, so that what we say of others stays true.

#[path = "../../virtual_time.rs"]
mod virtual_time;

mod breakers;
mod budgets;
mod delays;

use std::process::ExitCode;

/// What a peer did: `Ok` where it shows the fault, `Err` where it does not, each with what was seen.
type Seen = Result<String, String>;

/// One trap of one peer.
struct Trap {
    /// Its name in `docs/reference/traps.md`.
    id: &'static str,
    /// The crate and its version.
    peer: &'static str,
    /// What would be right.
    right: &'static str,
    run: fn() -> Seen,
}

const TOWER: &str = "tower 0.5.3";
const RESILIENCE: &str = "tower-resilience 0.14.0";
const BACKON: &str = "backon 1.6.0";
const FAILSAFE: &str = "failsafe 1.3.0";
const RECLOSER: &str = "recloser 1.4.0";
const RETRY_POLICIES: &str = "retry-policies 0.5.2";

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without threads and sockets asks nothing of the host");
    let _entered = runtime.enter();
    // Faults that end in a panic are caught; their messages would be noise.
    std::panic::set_hook(Box::new(|_| {}));
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let (mut shown, mut gone) = (0, 0);
    for trap in delays::TRAPS
        .iter()
        .chain(&budgets::TRAPS)
        .chain(&breakers::TRAPS)
    {
        if !wanted.is_empty() && !wanted.iter().any(|id| id == trap.id) {
            continue;
        }
        match (trap.run)() {
            Ok(seen) => {
                shown += 1;
                println!(
                    "{:<6} {}: shows the fault: {seen} (right: {})",
                    trap.id, trap.peer, trap.right
                );
            }
            Err(seen) => {
                gone += 1;
                println!("{:<6} {}: does NOT show the fault: {seen}", trap.id, trap.peer);
            }
        }
    }
    println!("{shown} shown, {gone} gone");
    if gone == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// `Ok` where `shows`.
fn seen(shows: bool, what: String) -> Seen {
    if shows { Ok(what) } else { Err(what) }
}
