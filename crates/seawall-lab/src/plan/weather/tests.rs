use super::*;
use std::collections::BTreeSet;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn an_outage_is_a_third_of_each_minute_to_the_nanosecond() {
    // Could break at the edges of its turns, and in the second minute.
    let at = |nanos: u64| outage(Instant::from_nanos(nanos));
    let second = 1_000_000_000;
    for minute in [0, 1, 59, 1_000_000] {
        let of = |secs: u64| (minute * 60 + secs) * second;
        for (from, until, weather) in [
            (0, 10, Weather::Clear),
            (10, 15, Weather::Refuses),
            (15, 20, Weather::Answers503),
            (20, 25, Weather::Refuses),
            (25, 30, Weather::Answers503),
            (30, 60, Weather::Clear),
        ] {
            assert_eq!((at(of(from)), at(of(until) - 1)), (weather, weather));
        }
    }
}

#[test]
fn the_weather_turns_exactly_when_it_is_said_to() {
    // Could break by a nanosecond, and a listener would close late, or look again at once for ever.
    let mut now = Instant::START;
    let mut turns = Vec::new();
    for _ in 0..10 {
        let next = outage_turns(now);
        assert!(next > now);
        let last = next.before(Duration::from_nanos(1));
        assert_eq!((outage(last), outage_turns(last)), (outage(now), next));
        assert_ne!(outage(next), outage(now));
        turns.push(next.since(Instant::START).as_secs());
        now = next;
    }
    assert_eq!(turns, [10, 15, 20, 25, 30, 70, 75, 80, 85, 90]);
}

#[test]
fn a_storm_is_as_slow_as_it_is_crowded() {
    // Could break by one at the last place, or if the attempt itself were not counted.
    let slow = |in_flight| storm(ms(60), in_flight);
    for (in_flight, answers_ms) in [(0, 60), (1, 60), (26, 120), (41, 300), (46, 600), (50, 3_000)] {
        assert_eq!(slow(in_flight), Storm::Answers(ms(answers_ms)), "{in_flight}");
    }
    assert_eq!(slow(51), Storm::Fails(STORM_WAIT));
    assert_eq!(slow(u64::MAX), Storm::Fails(STORM_WAIT));
    // An idle latency that no clock can count stays one.
    let Storm::Answers(longest) = storm(Duration::MAX, 50) else {
        panic!("an answer");
    };
    assert_eq!(longest, Duration::MAX);
}

/// How many answers `clients` get in the second minute, each of which sends again as soon as it is answered, and `pause`
/// after it failed.
fn answered(clients: u64, pause: impl Fn(u64) -> Duration) -> u64 {
    let mut arrivals: BTreeSet<(Instant, u64)> =
        (0..clients).map(|client| (Instant::START, client)).collect();
    let mut ends: BTreeSet<(Instant, u64)> = BTreeSet::new();
    let mut answers = 0;
    let end = Instant::START.after(Duration::from_secs(120));
    while let Some((now, client)) = arrivals.pop_first() {
        if now >= end {
            break;
        }
        ends = ends.split_off(&(now, u64::MAX));
        match storm(ms(60), ends.len() as u64 + 1) {
            Storm::Answers(length) => {
                let done = now.after(length);
                answers += u64::from(done.since(Instant::START) > EVERY);
                ends.insert((done, client));
                arrivals.insert((done, client));
            }
            Storm::Fails(length) => {
                let done = now.after(length);
                ends.insert((done, client));
                arrivals.insert((done.after(pause(client)), client));
            }
        }
    }
    answers
}

#[test]
fn a_storm_lasts_as_long_as_clients_do_not_hold_back() {
    // Could break if what fails left at once: then nothing would collapse, and a client that hammers would look as good as
    // one that backs off.
    assert_eq!(answered(80, |_| Duration::ZERO), 0, "everybody fails, for good");
    let backing_off = answered(80, |client| ms(500 * client));
    assert!(backing_off > 1_000, "{backing_off} answers");
    // Within its room it never fails anybody, however often they come.
    assert!(answered(50, |_| panic!("nobody fails")) > 0);
}
