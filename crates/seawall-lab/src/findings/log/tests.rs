use super::*;
use crate::plan::{Plan, Rule};
use crate::script::{Deed, StreamEnd};

/// Whether a client has no whole answer of this. Exhaustive, so that a new action is decided here before it compiles.
fn is_broken(deed: &Deed) -> bool {
    match deed {
        Deed::Status(_) | Deed::Drip(_) | Deed::SlowHeaders => false,
        Deed::Apply(then) => is_broken(&then.deed),
        Deed::Stream(stream) => match stream.then {
            StreamEnd::Done => false,
            StreamEnd::Cut | StreamEnd::Error | StreamEnd::Stall | StreamEnd::BadJson | StreamEnd::NoDone => {
                true
            }
        },
        Deed::ErrorIn200
        | Deed::Reset(_)
        | Deed::Close(_)
        | Deed::Hang(_)
        | Deed::Truncate(_)
        | Deed::Garbage
        | Deed::WrongLength(_)
        | Deed::BadChunk
        | Deed::HalfClose
        | Deed::BadGzip
        | Deed::Goaway(_)
        | Deed::RstStream(..) => true,
    }
}

#[test]
fn every_action_by_its_name_alone_is_a_whole_answer_or_a_broken_one() {
    // Breaks where an action is renamed, or one is added: the words of faults would not know it, and half an answer would
    // count as a whole one.
    let actions = "200; 200 delay=1s; 503; error-in-200; reset; reset after=1; close; hang; truncate at=1; drip bps=1; garbage; \
                   wrong-length +1; bad-chunk; half-close; slow-headers; bad-gzip; goaway; rst-stream; stream; \
                   stream then=cut; stream then=error; stream then=stall; stream then=bad-json; stream then=no-done; \
                   apply then reset; apply then 503; apply then 200; apply then stream then=cut";
    for action in actions.split(';') {
        let rule = Rule::parse(&format!("GET /x = {action}")).expect("every action of the grammar");
        let turn = Plan::new(vec![rule], 0)
            .turn(Instant::START, 0, b"")
            .expect("a first turn");
        let attempt = Attempt {
            status: Some(200),
            fault: turn.fault(),
            ended: Some(Instant::START),
            ..Attempt::default()
        };
        let deed = &turn.action().expect("a step holds").deed;
        assert_eq!(attempt.met() == Met::Broken, is_broken(deed), "{action}");
    }
}
