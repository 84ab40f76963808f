use super::*;
use crate::rng::Rng;
use alloc::vec::Vec;
use proptest::prelude::*;

const LENGTH: Duration = Duration::from_secs(10);
const BEGAN: Instant = Instant::START;

const fn at(millis: u64) -> Instant {
    BEGAN.after(Duration::from_millis(millis))
}

const fn busy(waiting: u32) -> Crowd {
    Crowd {
        in_flight: 5,
        promised: 0,
        waiting,
    }
}

/// A call comes: lets it in, or turns it away.
fn offer(ramp: &mut Ramp, now: Instant) -> bool {
    let goes = ramp.newcomer(now, busy(0)).is_ok();
    if goes {
        ramp.let_in(now);
    } else {
        ramp.turn_away(now, busy(0));
    }
    goes
}

#[test]
fn the_share_that_is_let_in_grows_from_a_tenth_to_all() {
    // Could break if the whole load came back with the first call that is let in.
    let mut ramp = Ramp::new(BEGAN, LENGTH);
    let mut per_second = [0; 11];
    for millis in (0..11_000).step_by(10) {
        per_second[usize::try_from(millis / 1_000).unwrap()] += u32::from(offer(&mut ramp, at(millis)));
    }
    // A hundred calls a second; in each second the share of its middle.
    assert_eq!(per_second, [14, 23, 33, 41, 51, 59, 69, 77, 87, 95, 100]);
}

#[test]
fn who_is_turned_away_is_told_when_it_would_go_if_nobody_else_came() {
    // Could break if the time were the ramp's end: a caller that comes back then has waited for nothing.
    let mut ramp = Ramp::new(BEGAN, LENGTH);
    let mut told = at(0);
    for millis in (0..9_000).step_by(370) {
        if let Err(retry_at) = ramp.newcomer(at(millis), busy(0)) {
            assert!(retry_at > at(millis) && retry_at <= ramp.end());
            assert!(ramp.newcomer(retry_at, busy(0)).is_ok());
            let just_before = retry_at.before(Duration::from_micros(1));
            assert!(ramp.newcomer(just_before, busy(0)).is_err());
            told = told.max(retry_at);
        }
        offer(&mut ramp, at(millis));
    }
    assert!(told > at(0));
}

#[test]
fn one_call_at_a_time_is_always_let_in() {
    // Could break if a share of few calls were none: nobody would learn that the upstream is well.
    let ramp = Ramp::new(BEGAN, LENGTH);
    let alone = Crowd {
        in_flight: 0,
        promised: 0,
        waiting: 3,
    };
    assert!(ramp.newcomer(at(0), alone).is_ok());
    assert!(ramp.first_in_line(at(0), alone).is_ok());
    let promised = Crowd { promised: 1, ..alone };
    assert!(ramp.newcomer(at(0), promised).is_err());
}

#[test]
fn those_who_wait_go_one_by_one_along_the_line() {
    // Could break if they all waited for its end: what was to be spared the upstream would come at once, later.
    let mut ramp = Ramp::new(BEGAN, LENGTH);
    let mut went = Vec::new();
    for waiting in (1..=9).rev() {
        let crowd = busy(waiting);
        let goes_at = ramp.first_in_line(at(0), crowd).expect_err("nobody goes at once");
        assert!(ramp.first_in_line(goes_at, crowd).is_ok());
        ramp.release(crowd);
        went.push(goes_at.since(BEGAN).as_millis() / 100);
    }
    assert_eq!(went, [11, 22, 33, 44, 55, 66, 77, 88, 100]);
}

proptest! {
    #[test]
    fn who_was_let_in_is_never_a_whole_call_off_the_line(
        seed in any::<u64>(), gap_max in 1_u64..2_000, length in 1_u64..100_000
    ) {
        // Could break by a credit that is saved up or lost, at any pace of calls.
        let length = Duration::from_millis(length);
        let mut ramp = Ramp::new(BEGAN, length);
        let mut rng = Rng::new(seed, 0);
        let (mut now, mut line, mut let_in) = (BEGAN, 0_u64, 0_u64);
        while now < ramp.end() {
            now = now.after(Duration::from_micros(rng.between(0, gap_max * 1_000)));
            line += ramp.share(now);
            let_in += u64::from(offer(&mut ramp, now)) * WHOLE;
            prop_assert!(line.abs_diff(let_in) < WHOLE, "{} of {}", let_in, line);
        }
    }
}

#[test]
fn whoever_was_promised_to_go_comes_before_a_newcomer() {
    // Could break if a promise were no part of the line: the newcomer would go on the credit of whoever waits.
    let ramp = Ramp::new(BEGAN, LENGTH);
    let one = Crowd {
        promised: 1,
        ..busy(0)
    };
    assert_eq!(ramp.newcomer(at(10_000), busy(0)), Ok(()));
    assert!(ramp.newcomer(at(10_000), one).is_err());
}

#[test]
fn a_credit_lets_one_of_those_that_wait_go() {
    // Could break if who goes took nothing of it: all that wait would go on the credit of one.
    let mut ramp = Ramp::new(BEGAN, LENGTH);
    let now = at(5_000);
    ramp.turn_away(now, busy(0));
    ramp.turn_away(now, busy(1));
    assert_eq!(ramp.first_in_line(now, busy(2)), Ok(()));
    ramp.release(busy(2));
    assert!(ramp.first_in_line(now, busy(1)).is_err());
}
