use super::*;
use crate::call::Candidate;
use crate::facts::Replay;
use crate::outcome::{Outcome, Report};
use crate::policy::PolicyBuilder;
use crate::time::Duration;
use alloc::string::{String, ToString};

fn codes(engine: &mut Engine) -> Vec<String> {
    engine.drain().map(|event| event.to_string()).collect()
}

#[test]
fn draining_ends_what_waits_and_lets_what_is_out_end() {
    // Could break if a queued call went on waiting for a place that nobody may use any more.
    let policy = PolicyBuilder::from_preset(Preset::Default)
        .concurrency(Some(1))
        .build()
        .unwrap();
    let mut engine = Engine::new(1, Recording::On);
    let now = Instant::START;
    let gate = engine
        .configure(now, GateKey(1), &policy.gate, &[], None)
        .unwrap();
    let route = [Candidate::at(gate)];
    let begin =
        |engine: &mut Engine| engine.begin(now, Spec::new(now, &route, &policy.call, Replay::Idempotent));
    let (out, queued) = (begin(&mut engine), begin(&mut engine));
    let Action::Send(permit) = engine.poll(now, out).action else {
        panic!("the gate is empty")
    };
    assert!(matches!(engine.poll(now, queued).action, Action::Park { .. }));
    engine.drain_calls(now);
    assert_eq!(engine.woken(now), Some(queued));
    assert_eq!(engine.poll(now, queued).reason, Reason::Draining);
    let late = begin(&mut engine);
    assert_eq!(engine.poll(now, late).reason, Reason::Draining);
    let now = now + Duration::from_millis(5);
    engine.settle(now, permit, Report::of(Outcome::Answer));
    assert_eq!(engine.poll(now, out).reason, Reason::Succeeded);
    for call in [out, queued, late] {
        engine.end(now, call);
    }
    assert_eq!(engine.load(gate).in_flight, 0);
    assert_eq!(codes(&mut engine).len(), 6);
}
