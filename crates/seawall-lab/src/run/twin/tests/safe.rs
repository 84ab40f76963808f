//! Policies that the simulator calls safe, live: the files of `examples/simulations/safe`.

use super::*;
use crate::run::simulate::Simulation;
use crate::sim::precheck::{Stability, Weight, precheck};
use crate::sim::summary::Summary;
use std::path::PathBuf;

/// How far apart the attempts of a call may be, simulated and lived.
const APART_MAX: f64 = 0.05;

/// All of them, in the order of their names.
fn files() -> Vec<Simulation> {
    let folder = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/simulations/safe"
    ));
    let entries = std::fs::read_dir(&folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a file of ours");
        Simulation::parse(&path.display().to_string(), &text).unwrap_or_else(|errors| panic!("{errors}"))
    };
    paths.iter().map(read).collect()
}

/// What of a policy's figures is not safe; nothing of one that is.
fn unsafe_of(summary: &Summary) -> Option<String> {
    let Summary {
        amplification,
        p_collapse,
        ..
    } = summary;
    // Every file calls up to its end, where a collapse is seen.
    let p_collapse = p_collapse.expect("calls are due at the end");
    (*amplification > 1.2 || p_collapse > 0.0)
        .then(|| format!("{amplification} attempts a call, {p_collapse} of the runs collapsed"))
}

#[test]
fn what_the_simulator_calls_safe_is_safe_live() {
    // Could break by an engine that does live what it does not do in virtual time, by sockets and timers that bring attempts
    // of their own, or by a word of the server's that arrives as another.
    let files = files();
    assert_eq!(files.len(), 10);
    for file in &files {
        let study = &file.study;
        let name = &study.name;
        for contender in &study.contenders {
            let foreseen = precheck(&study.model, contender);
            let warned = foreseen
                .findings
                .iter()
                .any(|found| found.weight == Weight::Warning);
            assert!(
                foreseen.stability == Stability::Stable && !warned,
                "{name}: {foreseen:?}"
            );
        }
        let simulated: Vec<Tally> = study.jobs().map(|job| study.run(job)).collect();
        let lived = live(study, Speed::Turned, &Halt::default()).expect("a twin that lives");
        let lived = lived.expect("nobody halts it");
        let document = file.document_with_live(&simulated, &lived, Speed::Turned);
        assert_eq!(document.asserts_missed(), 0, "{name}: {:?}", document.live);
        let pairs = study
            .summaries(&simulated)
            .into_iter()
            .zip(study.summaries(&lived));
        for (simulated, live) in pairs {
            assert_eq!((unsafe_of(&simulated), unsafe_of(&live)), (None, None), "{name}");
            assert!(simulated.calls > 500, "{name}: only {} calls", simulated.calls);
            let apart = (live.amplification / simulated.amplification - 1.0).abs();
            assert!(apart <= APART_MAX, "{name}: {apart} apart");
        }
        for agreement in compare(study, &simulated, &lived, Speed::Turned) {
            assert!(
                matches!(agreement.accord, Accord::Equal | Accord::Agrees),
                "{name}: {agreement:?}"
            );
        }
    }
}
