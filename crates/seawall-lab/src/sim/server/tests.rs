use super::*;
use crate::plan::Limit;
use crate::sim::luck::Length;
use crate::sim::model::Generation;
use std::num::NonZeroU32;

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::START.after(millis(n))
}

fn ticket(nth: u64, tokens: (u32, u32)) -> Ticket {
    Ticket {
        who: 0,
        nth,
        attempt: 1,
        tokens_in: tokens.0,
        tokens_out: tokens.1,
        is_counted: true,
        tokens_out_max: tokens.1,
        until: Instant::NEVER,
    }
}

fn workers(workers: u32) -> Server {
    Server {
        capacity: Capacity::Workers(workers),
        service: Length::Fixed(millis(100)),
        ..Server::default()
    }
}

#[test]
fn a_refusal_takes_a_worker_before_all_that_waits() {
    // Could break by a refusal that waits behind the queue that it is refused for, or by one that nobody works on.
    let server = Server {
        queue_max: Some(1),
        reject_cost: millis(10),
        ..workers(1)
    };
    let mut desk = Desk::new(&server, Vec::new(), Luck::new(1));
    let taken = [1, 2, 3].map(|nth| desk.take(at(0), nth, ticket(nth, (0, 0))));
    assert_eq!(
        taken,
        [
            Taken::Works {
                job: 0,
                until: at(100)
            },
            Taken::Waits { job: 1 },
            Taken::Waits { job: 2 }
        ]
    );
    let done = desk.finish(0);
    assert!(done.is_billed());
    let next = desk.start_next(at(100), |_| true);
    assert_eq!(next, Some((2, at(110))), "the refusal is next, and takes 10 ms");
    let refused = desk.finish(2);
    assert_eq!((refused.fate, refused.worked), (Fate::Shed, millis(10)));
    assert!(!refused.is_billed(), "nobody pays for a refusal");
    assert_eq!(desk.start_next(at(110), |_| true), Some((1, at(210))));
    let free = Server {
        reject_cost: Duration::ZERO,
        ..server
    };
    let mut desk = Desk::new(&free, Vec::new(), Luck::new(1));
    let taken = [1, 2, 3].map(|nth| desk.take(at(0), nth, ticket(nth, (0, 0))));
    assert_eq!(
        taken[2],
        Taken::Over(Fate::Shed),
        "of no cost, it is over at once"
    );
}

#[test]
fn a_limit_on_attempts_at_once_counts_those_that_are_worked_on() {
    // Could break by a seat that is given back when the attempt is let in: the limit would never refuse anybody.
    let limit = Limit {
        concurrency: NonZeroU32::new(2),
        ..Limit::default()
    };
    let server = Server {
        service: Length::Fixed(millis(100)),
        limit: Some(limit),
        ..Server::default()
    };
    let mut desk = Desk::new(&server, Vec::new(), Luck::new(1));
    let take = |desk: &mut Desk<&Server>, now, nth| desk.take(at(now), nth, ticket(nth, (0, 0)));
    assert!(matches!(take(&mut desk, 0, 1), Taken::Works { job: 0, .. }));
    assert!(matches!(take(&mut desk, 0, 2), Taken::Works { job: 1, .. }));
    let refused = Taken::Over(Fate::Throttled { retry_after: None });
    assert_eq!(take(&mut desk, 50, 3), refused);
    desk.finish(0);
    assert!(matches!(take(&mut desk, 100, 4), Taken::Works { .. }));
    assert_eq!(take(&mut desk, 100, 5), refused);
}

#[test]
fn a_model_takes_time_for_every_token_and_speaks_when_it_has_read() {
    // Could break by a first byte that waits for the last, or by an outage that slows one half alone.
    let generation = Generation {
        per_token_in: millis(1),
        per_token_out: millis(20),
        sent: AnswerIs::Streamed,
    };
    let slow = Outage {
        at: at(10_000),
        lasts: millis(10_000),
        how: Trouble::Slow { factor: 2.0 },
        share: 1.0,
    };
    let server = Server {
        generation: Some(generation),
        ..workers(9)
    };
    let mut desk = Desk::new(&server, vec![slow], Luck::new(1));
    let whole = at(100 + 300 + 200);
    let taken = desk.take(at(0), 7, ticket(1, (300, 10)));
    assert_eq!(taken, Taken::Works { job: 0, until: whole });
    assert_eq!(desk.speaks_at(0, whole), Some((7, at(400))));
    let slowed = at(10_000 + 1_200);
    let taken = desk.take(at(10_000), 8, ticket(2, (300, 10)));
    assert_eq!(
        taken,
        Taken::Works {
            job: 1,
            until: slowed
        }
    );
    assert_eq!(desk.speaks_at(1, slowed), Some((8, at(10_000 + 800))));
    let whole = Server {
        generation: Some(Generation {
            sent: AnswerIs::Whole,
            ..generation
        }),
        ..workers(9)
    };
    let mut desk = Desk::new(&whole, Vec::new(), Luck::new(1));
    desk.take(at(0), 7, ticket(1, (300, 10)));
    assert_eq!(desk.speaks_at(0, at(600)), None, "its first byte is its last");
}

#[test]
fn a_limit_of_tokens_is_charged_the_most_that_a_call_lets_be_written() {
    // Could break by a charge of what is written in the end, which no server knows beforehand.
    let limit = Limit {
        tokens_per_minute: NonZeroU32::new(1_000),
        ..Limit::default()
    };
    let server = Server {
        limit: Some(limit),
        ..Server::default()
    };
    let mut desk = Desk::new(&server, Vec::new(), Luck::new(1));
    let ticket = |nth| Ticket {
        tokens_out_max: 400,
        ..ticket(nth, (100, 7))
    };
    assert!(matches!(desk.take(at(0), 1, ticket(1)), Taken::Works { .. }));
    assert!(matches!(desk.take(at(0), 2, ticket(2)), Taken::Works { .. }));
    // 1000 of 1000 are charged, and 500 run off in 30 s.
    let retry_after = Some(Duration::from_secs(30));
    assert_eq!(
        desk.take(at(0), 3, ticket(3)),
        Taken::Over(Fate::Throttled { retry_after })
    );
    assert!(matches!(desk.take(at(30_000), 4, ticket(4)), Taken::Works { .. }));
}

#[test]
fn a_row_is_written_by_what_is_answered_or_breaks_off_and_by_nothing_that_fails() {
    // Could break by failures that are read and drawn, and never told: a lock would answer all of them.
    let server = Server {
        capacity: Capacity::OptimisticLock,
        failures: Failures::Independent { chance: 1.0 },
        outages: Vec::new(),
        ..Server::default()
    };
    let breaks_off = Outage {
        at: at(10),
        lasts: millis(10),
        how: Trouble::Truncate,
        share: 1.0,
    };
    let mut desk = Desk::new(&server, vec![breaks_off], Luck::new(1));
    let read = |desk: &mut Desk<&Server>, now, nth| match desk.take(at(now), nth, ticket(nth, (0, 0))) {
        Taken::Read { job } => job,
        other => panic!("{other:?}"),
    };
    let (failing, before) = (read(&mut desk, 0, 1), read(&mut desk, 10, 2));
    assert_eq!(desk.write(failing).fate, Fate::Failed);
    assert_eq!(desk.write(before).fate, Fate::Truncated, "the row is what it was");
    let sound = Server {
        failures: Failures::None,
        ..server
    };
    let mut desk = Desk::new(&sound, vec![breaks_off], Luck::new(1));
    let (late, breaking) = (read(&mut desk, 0, 3), read(&mut desk, 10, 4));
    assert_eq!(desk.write(breaking).fate, Fate::Truncated);
    assert_eq!(
        desk.write(late).fate,
        Fate::Conflict,
        "what broke off was written"
    );
}
