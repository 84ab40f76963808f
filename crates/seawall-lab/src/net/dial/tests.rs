use super::*;
use proptest::prelude::*;
use seawall::crank::CrankedClock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn at(point: u64) -> Instant {
    Instant::START.after(secs(point))
}

fn times(scale: u32) -> Passage {
    Passage::Runs(TimeScale::from_per_mille(scale * 1_000).unwrap())
}

fn dial(passage: Passage) -> (CrankedClock, Dial) {
    let real = CrankedClock::new();
    // A host's clock is never at its start when a mock begins.
    real.advance(secs(1_000));
    (real.clone(), Dial::start(Arc::new(real), passage))
}

/// A sleeper that is polled only when it was woken, as a runtime does.
struct Sleeper {
    sleep: Option<Sleep>,
    woken: Arc<Flag>,
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Sleeper {
    fn new(dial: &Dial, until: Instant) -> Self {
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        let sleep = Some(dial.sleep_until(until));
        let mut sleeper = Self { sleep, woken };
        sleeper.is_over();
        sleeper
    }

    fn is_over(&mut self) -> bool {
        while self.woken.0.swap(false, Ordering::SeqCst) {
            let Some(sleep) = &mut self.sleep else {
                return true;
            };
            let waker = Waker::from(Arc::clone(&self.woken));
            if sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                self.sleep = None;
            }
        }
        self.sleep.is_none()
    }
}

#[test]
fn time_goes_on_from_where_it_is_when_its_speed_changes() {
    // Could break if the whole time line were computed anew by the new speed: it would jump, back even.
    let (real, dial) = dial(Passage::default());
    assert_eq!(dial.now(), at(0));
    real.advance(secs(10));
    assert_eq!(dial.now(), at(10));
    dial.pass(times(100));
    assert_eq!(dial.now(), at(10));
    real.advance(secs(1));
    assert_eq!(dial.now(), at(110));
    dial.pass(Passage::Stands);
    real.advance(secs(60));
    assert_eq!(dial.now(), at(110));
    dial.pass(times(2));
    real.advance(secs(5));
    assert_eq!(dial.now(), at(120));
    assert_eq!(dial.wall().unix_ms - dial.shared.wall_began.unix_ms, 120_000);
}

#[test]
fn who_waits_is_called_at_its_time_whatever_the_speed_has_become() {
    // Could break if a timer that was set by an old speed were kept: it ends at the wrong time, or never.
    let (real, dial) = dial(times(10));
    let mut sleeper = Sleeper::new(&dial, at(100));
    real.advance(secs(9));
    assert!(!sleeper.is_over());
    dial.pass(Passage::Stands);
    real.advance(secs(1_000));
    assert!(!sleeper.is_over());
    dial.pass(times(1));
    real.advance(secs(9));
    assert!(!sleeper.is_over());
    real.advance(secs(1));
    assert!(sleeper.is_over());
    assert_eq!(dial.now(), at(100));
}

#[test]
fn a_clock_that_stands_is_turned_from_one_waited_for_time_to_the_next() {
    // Could break if a turn went to its end at once: whoever waits twice on the way would wait once.
    let (_, dial) = dial(Passage::Stands);
    let mut sleepers = [at(5), at(2), at(2), at(60)].map(|until| Sleeper::new(&dial, until));
    assert_eq!((dial.state().waiting, dial.state().next), (4, Some(at(2))));
    assert_eq!(dial.turn(at(10)), Turned::To(at(2)));
    // Two are due until they have taken note.
    assert_eq!((dial.due(), dial.state().waiting), (2, 2));
    assert_eq!(
        sleepers.each_mut().map(Sleeper::is_over),
        [false, true, true, false]
    );
    assert_eq!(dial.due(), 0);
    assert_eq!(dial.turn(at(10)), Turned::To(at(5)));
    assert!(sleepers[0].is_over());
    assert_eq!((dial.turn(at(10)), dial.now()), (Turned::Nobody, at(10)));
    // A turn without an end leaves the time alone where nobody waits.
    let [.., last] = sleepers;
    drop(last);
    assert_eq!((dial.turn(Instant::NEVER), dial.now()), (Turned::Nobody, at(10)));
    assert_eq!(dial.state().waiting, 0);
}

#[test]
fn a_clock_that_runs_is_not_turned_by_hand() {
    // Could break if a turn moved a running clock: it would be ahead of its own timers.
    let (_, dial) = dial(times(3));
    assert_eq!((dial.turn(at(10)), dial.now()), (Turned::Runs, at(0)));
}

#[test]
fn a_wait_without_an_end_has_none_and_one_that_is_past_has_ended() {
    // Could break by an overflow at the end of time, or by a timer for a time that is past.
    for passage in [times(1), times(100_000), Passage::Stands] {
        let (real, dial) = dial(passage);
        let mut never = Sleeper::new(&dial, Instant::NEVER);
        let mut far = Sleeper::new(&dial, Instant::from_nanos(u64::MAX - 1));
        assert!(Sleeper::new(&dial, at(0)).is_over());
        real.advance(secs(1));
        assert!(!never.is_over() && !far.is_over());
        assert_eq!(
            dial.state().waiting,
            1,
            "whoever waits for nothing is not waited for"
        );
    }
}

#[derive(Clone, Debug)]
enum Event {
    Real(u64),
    Pass(Passage),
    Turn(u64),
    Sleep(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let passage = prop_oneof![
        Just(Passage::Stands),
        (1..=TimeScale::PER_MILLE_MAX)
            .prop_map(|scale| Passage::Runs(TimeScale::from_per_mille(scale).unwrap())),
        (1_u32..20_000).prop_map(|scale| Passage::Runs(TimeScale::from_per_mille(scale).unwrap())),
    ];
    prop_oneof![
        (0_u64..5_000_000_000).prop_map(Event::Real),
        passage.prop_map(Event::Pass),
        (0_u64..5_000_000_000).prop_map(Event::Turn),
        (0_u64..20_000_000_000).prop_map(Event::Sleep),
    ]
}

proptest! {
    #[test]
    fn no_history_takes_time_back_or_leaves_a_sleeper_behind(events in prop::collection::vec(event(), 1..40)) {
        // Could break in any order of changes, turns and waits that the examples do not have.
        let (real, dial) = dial(Passage::default());
        let mut sleepers: Vec<(Instant, Sleeper)> = Vec::new();
        let mut last = dial.now();
        for event in events {
            match event {
                Event::Real(nanos) => {
                    real.advance(Duration::from_nanos(nanos));
                }
                Event::Pass(passage) => {
                    dial.pass(passage);
                    prop_assert_eq!(dial.now(), last);
                }
                Event::Turn(nanos) => {
                    let end = last.after(Duration::from_nanos(nanos));
                    let mut turned = dial.turn(end);
                    while let Turned::To(now) = turned {
                        prop_assert!(now <= end);
                        sleepers.retain_mut(|(_, sleeper)| !sleeper.is_over());
                        prop_assert_eq!(dial.due(), 0);
                        turned = dial.turn(end);
                    }
                    if turned == Turned::Nobody {
                        prop_assert_eq!(dial.now(), end);
                    }
                }
                Event::Sleep(nanos) => {
                    let until = last.after(Duration::from_nanos(nanos));
                    sleepers.push((until, Sleeper::new(&dial, until)));
                }
            }
            let now = dial.now();
            prop_assert!(now >= last);
            last = now;
            for (until, sleeper) in &mut sleepers {
                prop_assert_eq!(sleeper.is_over(), *until <= now);
            }
            sleepers.retain_mut(|(_, sleeper)| !sleeper.is_over());
            prop_assert_eq!(dial.state().waiting, sleepers.len());
        }
    }
}
