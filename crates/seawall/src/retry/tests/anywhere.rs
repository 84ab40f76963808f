//! Calls on an executor that knows nothing of time, by the clock of whoever was given none.

use super::*;
use std::thread::{Thread, current, park};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// An executor that can wake and be woken, and no more. There is no runtime here, of tokio or another.
fn bare<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => park(),
        }
    }
}

fn quick() -> Policy {
    Policy::builder()
        .retries(2)
        .backoff_base(Duration::from_millis(1))
        .build()
        .unwrap()
}

#[test]
fn a_call_waits_between_its_attempts_on_any_executor() {
    // Would panic in a timer of tokio's, or sleep for ever, where the call took for granted who runs it.
    let policy = quick();
    let gate = Gate::new(&policy);
    for rules in [Rules::from(&policy), Rules::from(&gate)] {
        let mut left = 3;
        let make = || {
            left -= 1;
            std::future::ready(if left == 0 {
                Ok(7)
            } else {
                Err(Failure::transient())
            })
        };
        assert_eq!(bare(retry(make, rules)), Ok(7));
    }
}

#[test]
fn an_attempt_is_cut_on_any_executor() {
    // Would hang if the deadline were kept by waits between attempts alone.
    let policy = quick();
    let call = retry(std::future::pending::<Result<(), Failure>>, &policy).deadline(Duration::from_millis(5));
    assert_eq!(bare(call).unwrap_err().reason.code(), "deadline-passed");
}

#[test]
fn a_clock_for_threads_serves_tasks_too() {
    // Would hang if its timers were a park's alone.
    let policy = quick();
    let clock = Arc::new(crate::clock::StdClock::new());
    let gate = Gate::builder(&policy).clock(clock).build();
    let error = bare(retry(async || Err::<(), _>(Failure::transient()), &gate)).unwrap_err();
    assert_eq!(error.attempts, 3);
}
