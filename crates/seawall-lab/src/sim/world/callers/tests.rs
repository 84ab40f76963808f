use super::*;
use crate::sim::luck::{Luck, Purpose};

#[test]
fn no_attempt_is_taken_for_one_that_had_its_place_before() {
    // Could break where a place is taken more often than an event can tell apart: 24 bits of lives, two of each attempt.
    let mut attempts = Attempts::default();
    let attempt = Attempt {
        call: 0,
        number: 1,
        candidate: 0,
        until: Instant::START,
        fate: Fate::Failed,
    };
    let hops = Luck::new(1).of(Purpose::Hop, 0, 0);
    let mut taken = 0_u32;
    loop {
        let number = attempts.add(attempt, None, hops.clone());
        let life = Life::of(attempts.berth(number).life);
        assert!(attempts.is_out(number, life.number()));
        attempts.remove(number);
        assert!(!attempts.is_out(number, life.number()));
        if number != 0 {
            break;
        }
        taken += 1;
    }
    assert_eq!(
        taken,
        Life::END / 2,
        "the first place is given up once it has had all its lives"
    );
    let stale = Life::of(1);
    assert!(!attempts.is_out(0, stale.number()));
}
