use super::*;
use crate::clock::Clock as _;
use crate::crank::CrankedClock;
use seawall_core::time::{Duration, Instant};
use std::future::poll_fn;
use std::sync::atomic::AtomicUsize;

/// Counts how often it was woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn only_who_was_woken_plays_and_the_stage_hears_of_it() {
    // Could break if all were polled at any wake: then nobody could tell that nothing moves. Or if a wake between two turns
    // told nobody: then the stage would sleep for ever.
    let (clock, polls) = (CrankedClock::new(), [const { AtomicUsize::new(0) }; 2]);
    let act = |which: usize| -> Act<'_, usize> {
        let mut sleep = clock.sleep_until(Instant::START.after(Duration::from_secs(1 + which as u64)));
        let polls = &polls[which];
        Box::pin(poll_fn(move |context| {
            polls.fetch_add(1, Ordering::SeqCst);
            sleep.as_mut().poll(context).map(|()| which)
        }))
    };
    let counts = || [&polls[0], &polls[1]].map(|polls| polls.load(Ordering::SeqCst));
    let mut players = Players::new(vec![act(0), act(1)]);
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let context = Context::from_waker(&waker);
    assert_eq!(players.turn(&context), Turn::Played);
    assert_eq!(players.turn(&context), Turn::Still);
    assert_eq!((counts(), bell.0.load(Ordering::SeqCst)), ([1, 1], 0));
    clock.step();
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    assert_eq!((players.turn(&context), counts()), (Turn::Played, [2, 1]));
    assert!(!players.all_ended());
    clock.step();
    assert_eq!((players.turn(&context), counts()), (Turn::Played, [2, 2]));
    assert!(players.all_ended());
    assert_eq!(players.turn(&context), Turn::Still);
    assert_eq!(players.into_ends(), [0, 1]);
}

#[test]
fn who_wakes_itself_plays_again() {
    // Could break if the mark of being woken were taken off after the poll: a wake from inside it would be lost.
    let mut left = 3;
    let act: Act<'_, ()> = Box::pin(poll_fn(move |context| {
        context.waker().wake_by_ref();
        left -= 1;
        if left == 0 { Poll::Ready(()) } else { Poll::Pending }
    }));
    let mut players = Players::new(vec![act]);
    let context = Context::from_waker(Waker::noop());
    let mut turns = 0;
    while players.turn(&context) == Turn::Played {
        turns += 1;
    }
    assert_eq!((turns, players.all_ended()), (3, true));
}
