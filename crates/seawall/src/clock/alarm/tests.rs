//! Waits on an executor that knows nothing of time.

use super::*;
use std::sync::Arc;
use std::task::Wake;

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// An executor that can wake and be woken, and no more.
fn bare<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_wait_ends_where_nobody_else_keeps_time_and_never_early() {
    // Would hang if nobody woke the task; could be early if the thread rounded down.
    let at = now() + Duration::from_millis(3);
    bare(Alarm::at(at));
    assert!(now() >= at);
    bare(Alarm::at(at));
}

#[test]
fn the_nearest_wait_is_kept_though_it_came_last() {
    // Would hang for an hour if the thread slept on for whom it first saw.
    let mut far = std::pin::pin!(Alarm::at(now() + Duration::from_secs(3_600)));
    let polled = far.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    bare(Alarm::at(now() + Duration::from_millis(2)));
}

#[test]
fn a_wait_that_is_dropped_keeps_no_task() {
    // Broken if the board kept a waker, and with it the task of a caller who left.
    let task = Arc::new(Unpark(thread::current()));
    let waker = Waker::from(Arc::clone(&task));
    let mut alarm = Box::pin(Alarm::at(now() + Duration::from_secs(3_600)));
    for _ in 0..2 {
        let polled = alarm.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    drop(waker);
    assert_eq!(Arc::strong_count(&task), 2);
    drop(alarm);
    assert_eq!(Arc::strong_count(&task), 1);
}

#[test]
fn a_waker_that_panics_takes_nobody_with_it() {
    // Would hang if the thread ended with the first waker that panics.
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("on purpose");
        }
    }
    let at = now() + Duration::from_millis(2);
    let waker = Waker::from(Arc::new(Panics));
    let mut alarm = std::pin::pin!(Alarm::at(at));
    let polled = alarm.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    bare(Alarm::at(at + Duration::from_millis(2)));
}
