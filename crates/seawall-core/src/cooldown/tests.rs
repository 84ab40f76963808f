use super::*;
use crate::policy::{Policy, Preset};

fn at(ms: u64) -> Instant {
    Instant::START.after(Duration::from_millis(ms))
}

#[test]
fn what_was_in_flight_together_is_throttled_once() {
    // Sixty-four calls that meet the same second of throttling would cool the gate for base × 2^61, which is the cap.
    let backoff = Policy::preset(Preset::Default).call.backoff();
    let mut cooldown = Cooldown::default();
    for _ in 0..64 {
        assert_eq!(cooldown.silent(at(100), at(50), &backoff), Cooled::Not);
    }
    assert_eq!(cooldown.silent(at(300), at(200), &backoff), Cooled::Not);
    assert_eq!(
        cooldown.silent(at(310), at(210), &backoff),
        Cooled::Not,
        "this one began before the second"
    );
    assert_eq!(cooldown.silent(at(500), at(400), &backoff), Cooled::Began);
    assert_eq!(cooldown.left(at(500)), backoff.base());
}

#[test]
fn what_began_in_the_moment_that_a_throttle_was_counted_in_is_no_later_attempt() {
    // Breaks where a server answers without time passing, as on a cranked clock: twenty calls made at once would be
    // twenty throttles in a row, and all of them would wait out the cap together.
    let backoff = Policy::preset(Preset::Default).call.backoff();
    let mut cooldown = Cooldown::default();
    for _ in 0..20 {
        assert_eq!(cooldown.silent(at(7), at(7), &backoff), Cooled::Not);
    }
}

#[test]
fn each_further_silent_throttle_doubles_up_to_the_cap_and_an_answer_ends_the_row() {
    let backoff = Policy::preset(Preset::Default).call.backoff();
    let mut cooldown = Cooldown::default();
    let mut now = 0;
    for doubling in [
        None,
        None,
        Some(1),
        Some(2),
        Some(4),
        Some(8),
        Some(16),
        Some(32),
        Some(64),
        Some(128),
    ] {
        now += 60_000;
        let cooled = cooldown.silent(at(now), at(now - 10), &backoff);
        match doubling {
            None => assert_eq!(cooled, Cooled::Not),
            Some(times) => assert_eq!(
                cooldown.left(at(now)),
                backoff.base().times(times).min(backoff.cap())
            ),
        }
    }
    cooldown.answered();
    assert_eq!(
        cooldown.silent(at(now + 60_000), at(now + 59_000), &backoff),
        Cooled::Not
    );
}

#[test]
fn a_stated_time_is_believed_to_the_day_and_never_shortened_by_a_later_one() {
    let hints = Policy::preset(Preset::Default).call.hints();
    let mut cooldown = Cooldown::default();
    assert_eq!(
        cooldown.hint(at(0), Duration::from_secs(7_200), &hints),
        Cooled::Began
    );
    assert_eq!(
        cooldown.hint(at(1), Duration::from_secs(1), &hints),
        Cooled::WentOn
    );
    assert_eq!(cooldown.not_before(), at(7_200_000));
    cooldown.hint(at(2), Duration::from_secs(1_000_000), &hints);
    assert_eq!(cooldown.left(at(2)), Duration::from_secs(86_400));
}
