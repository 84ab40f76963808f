use std::sync::Mutex;
use std::task::Waker;

use seawall_core::time::Wall;

use super::*;

/// A clock that stands still and counts the sleeps that it was asked for.
#[derive(Debug, Default)]
struct Still {
    now: Mutex<Instant>,
    sleeps: Mutex<Vec<Instant>>,
}

impl Clock for Still {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap()
    }

    fn wall(&self) -> Wall {
        Wall::default()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        self.sleeps.lock().unwrap().push(at);
        Box::pin(std::future::pending())
    }
}

const fn at(secs: u64) -> Instant {
    Instant::from_nanos(secs * 1_000_000_000)
}

#[test]
fn a_limit_that_moves_on_costs_no_new_timer() {
    // Breaks when every chunk of a stream allocates a sleep.
    let clock = Still::default();
    let mut timer = Timer::default();
    let mut cx = Context::from_waker(Waker::noop());
    for by in [at(10), at(11), at(12)] {
        assert!(timer.poll(&mut cx, &clock, by).is_pending());
    }
    assert_eq!(*clock.sleeps.lock().unwrap(), [at(10)]);
}

#[test]
fn a_limit_that_moves_nearer_is_held() {
    // Breaks when the old, later sleep is kept: the nearer limit would then pass unseen.
    let clock = Still::default();
    let mut timer = Timer::default();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(timer.poll(&mut cx, &clock, at(10)).is_pending());
    assert!(timer.poll(&mut cx, &clock, at(5)).is_pending());
    assert_eq!(*clock.sleeps.lock().unwrap(), [at(10), at(5)]);
    *clock.now.lock().unwrap() = at(5);
    assert!(timer.poll(&mut cx, &clock, at(5)).is_ready());
}

#[test]
fn what_is_ready_is_never_late() {
    // Breaks when the clock is asked before the phase: an answer in hand would be thrown away.
    let clock = Still::default();
    *clock.now.lock().unwrap() = at(60);
    let mut phase = pin!(within(&clock, at(1), std::future::ready(7)));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(phase.as_mut().poll(&mut cx), Poll::Ready(Ok(7))));
}
