//! What one call costs on one thread: answered, failed, and failed once and then answered.

use crate::calls;
use crate::layer;
use crate::ours::{Core, Jumping, Live, lenient, policy};
use crate::peers::{breakers, layered, resilience, retries};
use crate::rounds::{self, Measured, Subject};
use seawall_core::time::Duration;
use std::hint::black_box;

const LIVE: &str = "seawall live: Hub and drive, no-op transport";
const LAYER: &str = "seawall tower: one layer, a gate";
const TOWER: &str = "tower: retry + budget > concurrency > timeout";
const TOWER_SHARED: &str = "tower: the same, a clone a call";
const RESILIENCE: &str = "tower-resilience: retry + bucket > breaker > bulkhead > limiter";
const RESILIENCE_SHARED: &str = "tower-resilience: the same, a clone a call";

/// What a call allocates once warm, in each way that it can go, ours alone.
pub fn allocations() -> Vec<Measured> {
    let (mut well, mut failed, mut back) = (core(), Core::new(lenient(), STEP), Core::new(lenient(), STEP));
    let live = Live::new(policy());
    rounds::measure(vec![
        Subject::new("core: a call that is answered", move || well.success()),
        Subject::new("core: a call that fails", move || failed.failure()),
        Subject::new("core: a call that fails and is answered", move || back.recovery()),
        Subject::new("live: a call that is answered", move || live.success()),
        Subject::new("a closure on its own that is answered", calls::alone()),
        Subject::new("a closure that knows its attempt", calls::alone_with()),
        Subject::new("a closure on a thread", calls::alone_blocking()),
        Subject::new("a closure at a gate", calls::at_a_gate()),
        Subject::new("a closure at an upstream's gate", calls::at_an_upstream()),
        Subject::new("a closure at a gate, on a thread", calls::at_a_gate_blocking()),
        Subject::new("tower layer: a call that is answered", layer::success()),
    ])
}

/// Prints the three tables. The runtime's context must be entered: peers make timers.
pub fn print() {
    for settings in [
        crate::ours::SETTINGS,
        layered::SETTINGS,
        resilience::SETTINGS,
        retries::SETTINGS,
        breakers::SETTINGS,
    ] {
        println!("# {settings}");
    }
    let measured = rounds::measure(successes());
    rounds::print("a call that is answered at once", &measured);
    ratios(&measured);
    let measured = rounds::measure(closures());
    rounds::print("a closure that succeeds at once", &measured);
    println!();
    rounds::print_ratio(&measured, ALONE, BACKON);
    rounds::print_ratio(&measured, ALONE_BLOCKING, BACKON_BLOCKING);
    rounds::print_difference(&measured, ALONE, &[BACKON, CLOCK]);
    rounds::print_difference(&measured, ALONE_BLOCKING, &[BACKON_BLOCKING, CLOCK]);
    let measured = rounds::measure(parts());
    rounds::print("the same, part by part", &measured);
    println!(
        "\n# Failures: bounds widened in all, so that nothing trips; tower-resilience's breaker in manual mode."
    );
    let measured = rounds::measure(failures());
    rounds::print(
        "a call that fails; dropped once it waits to be sent again",
        &measured,
    );
    ratios(&measured);
    println!("\n# Waits jumped over. tower-resilience sleeps on the runtime's timer inside: no row.");
    let measured = rounds::measure(recoveries());
    rounds::print("a call that fails once and then is answered", &measured);
    ratios(&measured);
}

/// A thousand calls a second, where the time is given: windows turn as they would.
const STEP: Duration = Duration::from_millis(1);

fn ratios(measured: &[Measured]) {
    println!();
    for ours in [LIVE, LAYER, AT_A_GATE] {
        for theirs in [TOWER, TOWER_SHARED, RESILIENCE, RESILIENCE_SHARED] {
            rounds::print_ratio(measured, ours, theirs);
        }
    }
}

fn core() -> Core {
    Core::new(policy(), STEP)
}

fn successes() -> Vec<Subject> {
    let mut core = core();
    let live = Live::new(policy());
    vec![
        Subject::new(CLOCK, || {
            black_box(std::time::Instant::now());
        }),
        Subject::new("seawall core: time given, begin to end", move || core.success()),
        Subject::new(LIVE, move || live.success()),
        Subject::new(LAYER, layer::success()),
        Subject::new(AT_A_GATE, calls::at_a_gate()),
        Subject::new(TOWER, layered::success()),
        Subject::new(TOWER_SHARED, layered::success_shared()),
        Subject::new(RESILIENCE, resilience::success()),
        Subject::new(RESILIENCE_SHARED, resilience::success_shared()),
    ]
}

const CLOCK: &str = "Instant::now, for scale";
const BACKON: &str = "backon: async";
const BACKON_BLOCKING: &str = "backon: blocking";
const ALONE: &str = "seawall::retry alone";
const AT_A_GATE: &str = "seawall::retry with a Gate";
const ALONE_BLOCKING: &str = "seawall::blocking::retry alone";

fn closures() -> Vec<Subject> {
    vec![
        Subject::new(CLOCK, || {
            black_box(std::time::Instant::now());
        }),
        Subject::new(BACKON, retries::success()),
        Subject::new(ALONE, calls::alone()),
        Subject::new("seawall::retry_with alone", calls::alone_with()),
        Subject::new(AT_A_GATE, calls::at_a_gate()),
        Subject::new("seawall::retry with an Upstream", calls::at_an_upstream()),
        Subject::new(BACKON_BLOCKING, retries::success_blocking()),
        Subject::new(ALONE_BLOCKING, calls::alone_blocking()),
        Subject::new(
            "seawall::blocking::retry with a Gate",
            calls::at_a_gate_blocking(),
        ),
    ]
}

fn parts() -> Vec<Subject> {
    vec![
        Subject::new("the bare service", layered::bare()),
        Subject::new(BACKON, retries::success()),
        Subject::new(BACKON_BLOCKING, retries::success_blocking()),
        Subject::new("failsafe: default", breakers::failsafe_default()),
        Subject::new("failsafe: 5 in a row", breakers::failsafe_consecutive()),
        Subject::new("recloser: default", breakers::recloser_default()),
        Subject::new("governor: one check", breakers::governor_check()),
        Subject::new("tower: retry + budget", layered::retry_alone()),
        Subject::new("tower: concurrency limit", layered::concurrency_alone()),
        Subject::new("tower: timeout", layered::timeout_alone()),
        Subject::new("tower-resilience: retry + bucket", resilience::retry_alone()),
        Subject::new("tower-resilience: breaker", resilience::breaker_alone()),
        Subject::new("tower-resilience: bulkhead", resilience::bulkhead_alone()),
        Subject::new("tower-resilience: time limiter", resilience::limiter_alone()),
    ]
}

fn failures() -> Vec<Subject> {
    let mut core = Core::new(lenient(), STEP);
    let live = Live::new(lenient());
    vec![
        Subject::new("seawall core: time given, begin to end", move || core.failure()),
        Subject::new(LIVE, move || live.failure()),
        Subject::new("backon: async", retries::failure()),
        Subject::new(TOWER, layered::failure()),
        Subject::new(RESILIENCE, resilience::failure()),
    ]
}

fn recoveries() -> Vec<Subject> {
    let mut core = Core::new(lenient(), STEP);
    let live = Live::on(lenient(), Jumping::new());
    vec![
        Subject::new("seawall core: time given, begin to end", move || core.recovery()),
        Subject::new(LIVE, move || live.recovery()),
        Subject::new("backon: async", retries::recovery()),
        Subject::new(TOWER, layered::recovery()),
    ]
}
