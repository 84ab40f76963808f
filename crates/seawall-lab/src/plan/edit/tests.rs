use super::*;
use crate::plan::StateFull;
use crate::script::Deed;
use seawall_core::time::Instant;

fn rule(text: &str) -> Rule {
    Rule::parse(text).unwrap()
}

fn pattern(text: &str) -> Pattern {
    rule(&format!("{text} = 200")).pattern
}

/// The status that the next attempt at this path meets.
fn meets(plan: &mut Plan, path: &str, state: &[u8]) -> Result<u16, StateFull> {
    let place = plan.matching("GET", path).expect("a rule matches");
    let turn = plan.turn(Instant::START, place, state)?;
    match &turn.action().expect("a script's step").deed {
        Deed::Status(reply) => Ok(reply.status),
        other => panic!("no status: {other:?}"),
    }
}

fn patterns(plan: &Plan) -> Vec<String> {
    plan.rules().map(|rule| rule.pattern.to_string()).collect()
}

#[test]
fn what_an_edit_does_not_name_goes_on_where_it_was() {
    // Could break if an edit built all rules anew: tests that run side by side would begin again.
    let mut plan = Plan::new(
        vec![rule("GET /a = 501, 502, 503"), rule("GET /b = 501, 502, 503")],
        0,
    );
    for _ in 0..2 {
        meets(&mut plan, "/a", b"").unwrap();
    }
    plan.put(vec![
        rule("GET /b = 429"),
        rule("GET /c = 418"),
        rule("* /* = 404"),
    ]);
    // New ones stand before all others, in their order; one that was there keeps its place.
    assert_eq!(patterns(&plan), ["GET /c", "* /*", "GET /a", "GET /b"]);
    assert_eq!(plan.take_out(&pattern("* /*")), 1);
    assert_eq!(plan.take_out(&pattern("* /*")), 0);
    assert_eq!(meets(&mut plan, "/a", b""), Ok(503));
    assert_eq!(meets(&mut plan, "/b", b""), Ok(429));
    assert_eq!(plan.take_out(&pattern("GET /c")), 1);
    assert_eq!(plan.matching("GET", "/c"), None);
}

#[test]
fn a_route_that_is_stated_begins_at_its_first_step() {
    // Could break if a route that says what it said before kept its place: the next attempt would meet something else
    // than whoever stated it wrote down.
    let mut plan = Plan::new(vec![rule("GET /a = 501, 502")], 0);
    assert_eq!(meets(&mut plan, "/a", b""), Ok(501));
    plan.put(vec![rule("GET /a = 501, 502")]);
    assert_eq!((plan.attempts(0), meets(&mut plan, "/a", b"")), (0, Ok(501)));
}

#[test]
fn one_state_value_begins_again_and_the_others_do_not() {
    // Could break if a reset took all values, or left its room taken: 16 MiB of resets later nothing would be kept apart.
    let mut plan = Plan::new(vec![rule("GET /a = 501, 502, 503")], 0);
    for state in [b"x", b"y"] {
        assert_eq!(meets(&mut plan, "/a", state), Ok(501));
    }
    let before = plan.parts[0].met.state_bytes;
    assert_eq!(plan.begin_state_again(0, b"x"), StateReset::Done);
    assert_eq!(plan.begin_state_again(0, b"x"), StateReset::NeverMet);
    assert!(plan.parts[0].met.state_bytes < before);
    assert_eq!(meets(&mut plan, "/a", b"x"), Ok(501));
    assert_eq!(meets(&mut plan, "/a", b"y"), Ok(502));
    assert_eq!(plan.parts[0].met.state_bytes, before);
    plan.begin_again(0);
    assert_eq!((plan.attempts(0), meets(&mut plan, "/a", b"y")), (0, Ok(501)));
}
