//! Answers that keep their place.

use super::*;
use proptest::prelude::*;

fn of_one(clock: &CrankedClock) -> Gate {
    let policy = seawall_core::policy::PolicyBuilder::from_policy(policy())
        .concurrency(Some(1))
        .build()
        .unwrap();
    gate(&policy, clock)
}

#[test]
fn a_stream_counts_until_it_is_dropped() {
    // Could break if the place went back when the stream begins: any number of streams under a limit of one.
    let clock = CrankedClock::new();
    let gate = of_one(&clock);
    let mut stream = run(&clock, retry(async || Ok::<_, Failure>(vec![1, 2]), &gate).hold()).unwrap();
    assert_eq!(gate.attempts_out(), 1);
    let mut next = pin!(retry(async || Ok::<_, Failure>(3), &gate));
    assert!(poll(next.as_mut()).is_pending());
    assert_eq!(
        (stream.pop(), stream.pop(), stream.pop()),
        (Some(2), Some(1), None)
    );
    assert!(poll(next.as_mut()).is_pending());
    drop(stream);
    assert_eq!(poll(next), Poll::Ready(Ok(3)));
    assert_nothing_is_held(&gate);
}

#[test]
fn the_gate_learns_of_a_stream_when_it_begins() {
    // Could break if a breaker heard of a stream's health only when it ends: hours later.
    let clock = CrankedClock::new();
    let gate = of_one(&clock);
    let stream = run(&clock, retry(async || Ok::<_, Failure>(()), &gate).hold()).unwrap();
    let told = lines(gate.hub());
    assert!(told.iter().any(|line| line.contains("committed")), "{told:#?}");
    drop(stream);
    let told = lines(gate.hub());
    assert!(told.iter().any(|line| line.contains("met answer")), "{told:#?}");
    assert!(told.last().unwrap().contains("succeeded"), "{told:#?}");
}

#[test]
fn what_is_inside_gives_its_place_back_when_it_is_taken_out() {
    // Could break if the place stayed with nobody.
    let clock = CrankedClock::new();
    let gate = of_one(&clock);
    let stream = run(&clock, retry(async || Ok::<_, Failure>(7), &gate).hold()).unwrap();
    assert_eq!(stream.into_inner(), 7);
    assert_nothing_is_held(&gate);
}

#[test]
fn on_its_own_a_stream_holds_nothing() {
    // Could break if what has no gate waited for one.
    let clock = CrankedClock::new();
    let policy = policy();
    let alone = || Alone::by(&policy).clock(Arc::new(clock.clone()));
    let stream = run(&clock, retry(async || Ok::<_, Failure>(7), alone()).hold()).unwrap();
    assert_eq!(*stream, 7);
    // One whose engine came in keeps that engine's place, which nobody else can want.
    let mut left = 2;
    let make = || {
        left -= 1;
        std::future::ready(if left == 0 {
            Ok(8)
        } else {
            Err(Failure::transient())
        })
    };
    let stream = run(&clock, retry(make, alone()).hold()).unwrap();
    assert_eq!(*stream, 8);
}

#[test]
fn a_stream_may_be_kept_anywhere() {
    // Could break if what holds the place were bound to a thread: no task could own a stream, and none share one.
    fn anywhere<T: Send + Sync + 'static>(held: T) -> T {
        held
    }
    let clock = CrankedClock::new();
    let gate = of_one(&clock);
    let stream = run(&clock, retry(async || Ok::<_, Failure>(7), &gate).hold()).unwrap();
    drop(gate);
    assert_eq!(*anywhere(stream), 7);
}

#[test]
fn the_hedge_that_lost_gives_its_place_back_while_the_stream_lives() {
    // Could break if the loser stayed out as long as the winner.
    let clock = CrankedClock::new();
    let policy = seawall_core::policy::PolicyBuilder::from_policy(policy())
        .hedge_after(Duration::from_millis(50))
        .build()
        .unwrap();
    let gate = gate(&policy, &clock);
    let make = |attempt: Attempt| {
        let clock = clock.clone();
        async move {
            if attempt.number() == 1 {
                std::future::pending::<()>().await;
            }
            clock
                .sleep_until(clock.now().after(Duration::from_millis(5)))
                .await;
            Ok::<_, Failure>(attempt.number())
        }
    };
    let stream = run(&clock, retry_with(make, &gate).hold()).unwrap();
    assert_eq!((*stream, gate.attempts_out()), (2, 1));
    drop(stream);
    assert_nothing_is_held(&gate);
}

proptest! {
    /// Could break in whatever state a stream, or a call on its way to one, is left.
    #[test]
    fn streams_and_callers_that_leave_at_any_point_hold_nothing(
        polls in 0..30_usize,
        drops in prop::collection::vec(0..3_usize, 0..6),
    ) {
        let clock = CrankedClock::new();
        let gate = of_one(&clock);
        let make = |attempt: Attempt| {
            let clock = clock.clone();
            async move {
                clock.sleep_until(clock.now().after(Duration::from_millis(20))).await;
                if attempt.number() == 1 { Err(Failure::transient()) } else { Ok(()) }
            }
        };
        let mut calls = [(); 3].map(|()| Some(Box::pin(retry_with(make, &gate).hold())));
        let mut streams = Vec::new();
        let mut drops = drops.into_iter();
        for turn in 0..polls {
            for place in &mut calls {
                if let Some(call) = place && let Poll::Ready(end) = poll(call.as_mut()) {
                    streams.extend(end.ok());
                    *place = None;
                }
            }
            prop_assert!(gate.attempts_out() <= 1);
            if turn % 4 == 3 {
                streams.pop();
                if let Some(drop) = drops.next() {
                    calls[drop] = None;
                }
            }
            clock.step();
        }
        drop((calls, streams));
        assert_nothing_is_held(&gate);
    }
}
