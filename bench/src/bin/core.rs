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

/// One line of the table: what is done, and the measurement of it.
type Row = (&'static str, fn() -> Cost);

const ROWS: [Row; 8] = [
    ("Instant::now, for scale", clock),
    (SUCCESS, || success(Recording::Off)),
    ("success, recording, drained", || success(Recording::On)),
    (BEGIN_END, begin_and_end),
    ("poll of a call that waits", wait_again),
    ("failure: begin, poll, settle(failed), poll, end", || {
        failure(Recording::Off)
    }),
    ("failure, recording, drained", || failure(Recording::On)),
    ("retry: failure, then poll, settle(answer), poll, end", || {
        retried(Recording::Off)
    }),
];
const SUCCESS: &str = "success: begin, poll, settle(answer), poll, end";
const BEGIN_END: &str = "begin, end";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let checked = arguments.iter().any(|argument| argument == "--check");
    let wanted = |row: &&Row| {
        let mut names = arguments.iter().filter(|argument| !argument.starts_with("--"));
        names.clone().next().is_none() || names.any(|name| row.0.starts_with(name.as_str()))
    };
    println!("{:<54} {:>8} {:>8} {:>12}", "ns", "p10", "p50", "allocations");
    let (mut code, mut whole_ns, mut ends_ns) = (ExitCode::SUCCESS, None, None);
    for (name, run) in ROWS.iter().filter(wanted) {
        let Cost {
            p10_ns,
            p50_ns,
            allocations,
        } = run();
        println!("{name:<54} {p10_ns:>8.1} {p50_ns:>8.1} {allocations:>12}");
        if checked && allocations > 0 {
            eprintln!("{name}: {allocations} allocations once warm; none is allowed");
            code = ExitCode::FAILURE;
        }
        match *name {
            SUCCESS => whole_ns = Some(p50_ns),
            BEGIN_END => ends_ns = Some(p50_ns),
            _ => {}
        }
    }
    if let (Some(whole_ns), Some(ends_ns)) = (whole_ns, ends_ns) {
        let name = "success without begin and end, by difference";
        println!("{name:<54} {:>8} {:>8.1}", "", whole_ns - ends_ns);
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

/// A call cannot be begun twice, but one that waits can be asked for ever.
fn wait_again() -> Cost {
    let mut bed = Bed::new(Recording::Off);
    let call = bed.begin();
    let permit = bed.send(call);
    bed.engine.settle(bed.now, permit, Report::of(FAILED));
    measure(move || {
        let verdict = bed.engine.poll(bed.now, call);
        assert!(matches!(verdict.action, Action::Wait(_)));
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
