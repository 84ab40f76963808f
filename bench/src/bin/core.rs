//! What the engine's own decisions cost, with the time given: nothing is sent and no clock is read.
//!
//! `--check` asserts that nothing is allocated once warm, and no time: times are for people.

use seawall_bench::{Cost, allocations::Counting, measure};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::GateKey;
use seawall_core::outcome::{Cause, Outcome, Report, Sent};
use seawall_core::policy::Policy;
use seawall_core::time::{Duration, Instant};
use seawall_core::trace::Recording;
use seawall_core::verdict::{Action, Permit};
use std::hint::black_box;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FAILED: Outcome = Outcome::Failed {
    cause: Cause::Status,
    sent: Sent::Maybe,
    hint: None,
};

fn main() -> ExitCode {
    let rows = [
        ("Instant::now, for scale", clock()),
        (
            "begin + poll + settle(answer) + poll + end",
            success(Recording::Off),
        ),
        ("the same, recording, drained", success(Recording::On)),
        ("begin + end", begin_and_end()),
        (
            "begin + poll + settle(failed) + poll (waits) + end",
            failure(Recording::Off),
        ),
        ("the same, recording, drained", failure(Recording::On)),
        (
            "begin, failed, waited, sent again, answered, end",
            retried(Recording::Off),
        ),
    ];
    println!("{:<52} {:>8} {:>8} {:>12}", "ns", "p10", "p50", "allocations");
    for (name, cost) in &rows {
        let Cost {
            p10_ns,
            p50_ns,
            allocations,
        } = cost;
        println!("{name:<52} {p10_ns:>8.1} {p50_ns:>8.1} {allocations:>12}");
    }
    let (whole, ends) = (rows[1].1.p50_ns, rows[3].1.p50_ns);
    println!(
        "{:<52} {:>8} {:>8.1}",
        "poll + settle(answer) + poll, by difference",
        "",
        whole - ends
    );
    if std::env::args().any(|argument| argument == "--check") {
        return check(&rows);
    }
    ExitCode::SUCCESS
}

fn check(rows: &[(&str, Cost)]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for (name, cost) in rows {
        if cost.allocations > 0 {
            eprintln!(
                "{name}: {} allocations once warm; none is allowed",
                cost.allocations
            );
            code = ExitCode::FAILURE;
        }
    }
    code
}

fn clock() -> Cost {
    measure(|| {
        black_box(std::time::Instant::now());
    })
}

fn success(recording: Recording) -> Cost {
    let mut bed = Bed::new(recording);
    measure(move || {
        let call = bed.begin();
        let permit = bed.send(call);
        bed.engine
            .settle(bed.now, permit, Report::of(black_box(Outcome::Answer)));
        let verdict = bed.engine.poll(bed.now, call);
        assert!(matches!(verdict.action, Action::Finish { .. }));
        bed.end(call);
    })
}

fn begin_and_end() -> Cost {
    let mut bed = Bed::new(Recording::Off);
    measure(move || {
        let call = bed.begin();
        bed.end(call);
    })
}

fn failure(recording: Recording) -> Cost {
    let mut bed = Bed::new(recording);
    let mut calls = 0_u64;
    measure(move || {
        calls += 1;
        // An answer now and then keeps the breaker closed.
        let outcome = if calls.is_multiple_of(256) {
            Outcome::Answer
        } else {
            FAILED
        };
        let call = bed.begin();
        let permit = bed.send(call);
        bed.engine.settle(bed.now, permit, Report::of(black_box(outcome)));
        let verdict = bed.engine.poll(bed.now, call);
        assert!(matches!(verdict.action, Action::Wait(_) | Action::Finish { .. }));
        bed.end(call);
    })
}

fn retried(recording: Recording) -> Cost {
    let mut bed = Bed::new(recording);
    measure(move || {
        let call = bed.begin();
        let permit = bed.send(call);
        bed.engine.settle(bed.now, permit, Report::of(black_box(FAILED)));
        let verdict = bed.engine.poll(bed.now, call);
        let Action::Wait(until) = verdict.action else {
            panic!("a budget of one extra per call allows this one");
        };
        bed.now = until;
        let permit = bed.send(call);
        bed.engine
            .settle(bed.now, permit, Report::of(black_box(Outcome::Answer)));
        let verdict = bed.engine.poll(bed.now, call);
        assert!(matches!(verdict.action, Action::Finish { .. }));
        bed.end(call);
    })
}

/// One engine with one gate on which everything is on, and time that passes.
struct Bed {
    engine: Engine,
    policy: Policy,
    route: [Candidate; 1],
    now: Instant,
}

impl Bed {
    fn new(recording: Recording) -> Self {
        // The default policy but for its bounds: what fails nearly every call must not trip what it measures.
        let policy = Policy::builder()
            .concurrency(Some(64))
            .edit_budget(|budget| budget.ratio_per_mille(1_000).floor_milli(1_000_000))
            .edit_breaker(|breaker| breaker.failure_per_mille(1_000))
            .build()
            .expect("the policy is in range");
        let mut engine = Engine::new(1, recording);
        let gate = engine
            .configure(Instant::START, GateKey(1), &policy.gate, &[], None)
            .expect("one gate has no parents");
        Self {
            engine,
            policy,
            route: [Candidate::at(gate)],
            now: Instant::START,
        }
    }

    fn begin(&mut self) -> seawall_core::verdict::CallId {
        // A thousand calls a second: windows turn as they would.
        self.now = self.now + Duration::from_millis(1);
        let spec = Spec::new(self.now, &self.route, &self.policy.call, Replay::Idempotent);
        self.engine.begin(self.now, black_box(spec))
    }

    fn send(&mut self, call: seawall_core::verdict::CallId) -> Permit {
        let Action::Send(permit) = self.engine.poll(self.now, call).action else {
            panic!("a free gate sends at once");
        };
        black_box(permit)
    }

    fn end(&mut self, call: seawall_core::verdict::CallId) {
        self.engine.end(self.now, call);
        for event in self.engine.drain() {
            black_box(event);
        }
    }
}
