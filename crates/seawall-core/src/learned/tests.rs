use super::{Kind, Learned, Sight, Windows, Word};
use crate::rate::{Cost, Room};
use crate::time::{Duration, Instant};

const ONE: Cost = Cost::of(0, 0);

fn at(secs: u64) -> Instant {
    Instant::START.after(Duration::from_secs(secs))
}

fn requests(limit: u64, remaining: u64, resets_in: u64) -> Learned {
    Learned::NOTHING.with(
        Kind::Requests,
        Word {
            limit: Some(limit),
            remaining,
            resets_in: Some(Duration::from_secs(resets_in)),
        },
    )
}

/// Windows that one attempt at 0 s was told of.
fn told(learned: &Learned) -> Windows {
    let mut windows = Windows::new();
    windows.learn(at(0), &Sight::NONE, ONE, 0, learned);
    windows
}

#[test]
fn at_nothing_left_everybody_waits_until_the_window_is_full_again() {
    // Broken if only a throttle stopped the gate: that is one attempt too late.
    let mut windows = told(&requests(10, 2, 30));
    for ticket in 1..=2 {
        assert_eq!(windows.room(at(1), ONE), Room::Now);
        windows.send(at(1), ticket, ONE);
    }
    assert_eq!(windows.room(at(1), ONE), Room::At(at(30)));
    windows.land(at(2), ONE, ONE);
    for ticket in 3..=11 {
        assert_eq!(
            windows.room(at(30), ONE),
            Room::Now,
            "the stated limit, less the one that is out still"
        );
        windows.send(at(30), ticket, ONE);
    }
    assert_eq!(
        windows.room(at(30), ONE),
        Room::Later,
        "until one of those brings word"
    );
}

#[test]
fn what_was_sent_since_is_not_counted_as_left() {
    // Broken if an answer were believed as it stands: what is on its way has not been counted by the server.
    let mut windows = told(&requests(100, 90, 60));
    let sight = windows.send(at(1), 1, ONE);
    for ticket in 2..=5 {
        windows.send(at(2), ticket, ONE);
    }
    windows.learn(at(3), &sight, ONE, 0, &requests(100, 50, 57));
    assert_eq!(windows.left(at(3))[0], Some((46, Some(at(60)))));
}

#[test]
fn an_older_attempts_word_never_raises_what_a_newer_one_brought() {
    // Broken if the last to arrive won: it may have been counted long before.
    let mut windows = told(&requests(100, 90, 60));
    let old = windows.send(at(1), 1, ONE);
    let new = windows.send(at(2), 2, ONE);
    windows.learn(at(3), &new, ONE, 0, &requests(100, 10, 57));
    windows.land(at(3), ONE, ONE);
    windows.learn(at(4), &old, ONE, 0, &requests(100, 80, 56));
    assert_eq!(windows.left(at(4))[0], Some((9, Some(at(60)))));
}

#[test]
fn an_attempt_that_was_never_sent_gives_its_part_back() {
    // Broken if a refused connection used up the window: the server never saw it.
    let mut windows = told(&requests(10, 1, 30));
    windows.send(at(1), 1, ONE);
    assert_eq!(windows.room(at(1), ONE), Room::At(at(30)));
    windows.land(at(2), ONE, Cost::NOTHING);
    assert_eq!(windows.room(at(2), ONE), Room::Now);
}

#[test]
fn a_window_of_unknown_size_bounds_nothing_once_it_is_full_again() {
    // Broken if the last remainder were taken for the limit.
    let word = Word {
        limit: None,
        remaining: 0,
        resets_in: Some(Duration::from_secs(5)),
    };
    let windows = told(&Learned::NOTHING.with(Kind::Tokens, word));
    let cost = Cost::of(10, 10);
    assert_eq!(windows.room(at(4), cost), Room::At(at(5)));
    assert_eq!(windows.room(at(5), cost), Room::Now);
}

#[test]
fn with_nothing_left_and_no_time_one_goes_to_ask() {
    // Broken if everybody waited for word that nobody is out to bring: the gate would be shut for good.
    let word = Word {
        limit: Some(10),
        remaining: 0,
        resets_in: None,
    };
    let mut windows = told(&Learned::NOTHING.with(Kind::Requests, word));
    assert_eq!(windows.room(at(1), ONE), Room::Now);
    windows.send(at(1), 1, ONE);
    assert_eq!(windows.room(at(1), ONE), Room::Later);
    windows.land(at(2), ONE, ONE);
    assert_eq!(windows.room(at(2), ONE), Room::Now);
}

#[test]
fn an_estimate_above_the_stated_limit_waits_for_a_full_window_and_goes() {
    // Broken if it were refused: the estimate is ours, and the server may see it as less.
    let word = Word {
        limit: Some(100),
        remaining: 60,
        resets_in: Some(Duration::from_secs(9)),
    };
    let windows = told(&Learned::NOTHING.with(Kind::Tokens, word));
    assert_eq!(windows.room(at(0), Cost::of(500, 0)), Room::At(at(9)));
    assert_eq!(windows.room(at(9), Cost::of(500, 0)), Room::Now);
}

#[test]
fn of_two_words_on_one_kind_the_lesser_remainder_holds() {
    // Broken if the last header won: a project's share may be spent while the organisation's is not.
    let learned = requests(100, 50, 10).with(
        Kind::Requests,
        Word {
            limit: Some(5),
            remaining: 1,
            resets_in: None,
        },
    );
    assert_eq!(learned.word(Kind::Requests).map(|word| word.remaining), Some(1));
    let learned = requests(5, 1, 10).with(
        Kind::Requests,
        Word {
            limit: Some(100),
            remaining: 50,
            resets_in: None,
        },
    );
    assert_eq!(learned.word(Kind::Requests).map(|word| word.remaining), Some(1));
}

#[test]
fn word_of_an_earlier_window_never_fills_a_later_one() {
    // Broken if the youngest attempt were always believed: it may have been served before the window turned.
    let mut windows = told(&requests(10, 9, 60));
    let served_late = windows.send(at(59), 1, ONE);
    let served_early = windows.send(at(59), 2, ONE);
    windows.learn(at(61), &served_late, ONE, 0, &requests(10, 2, 59));
    windows.land(at(61), ONE, ONE);
    assert_eq!(windows.left(at(61))[0], Some((1, Some(at(120)))));
    windows.learn(at(61), &served_early, ONE, 0, &requests(10, 9, 1));
    windows.land(at(61), ONE, ONE);
    assert_eq!(windows.left(at(63))[0], Some((1, Some(at(120)))));
}

#[test]
fn word_of_the_window_that_has_just_ended_does_not_fill_the_new_one_twice() {
    // Broken if what was served before the turn, and came after it, set a second turn: what went out between the two
    // would be counted by nobody.
    let mut windows = told(&requests(10, 9, 60));
    let served_before = windows.send(at(59), 1, ONE);
    for ticket in 2..=5 {
        windows.send(at(60), ticket, ONE);
        windows.land(at(60), ONE, ONE);
    }
    windows.learn(at(60), &served_before, ONE, 0, &requests(10, 8, 1));
    windows.land(at(60), ONE, ONE);
    assert_eq!(
        windows.left(at(62))[0],
        Some((5, None)),
        "one was out at the turn, and four have gone since"
    );
}

#[test]
fn a_window_that_lasts_for_ever_is_looked_at_again_after_a_day() {
    // Broken if the server's time were believed as it stands: one answer with a date that is off by a century would
    // close the gate until the process ends, as no attempt would ever bring better word.
    const DAY: u64 = 86_400;
    for secs in [DAY + 1, u64::MAX] {
        let mut windows = told(&requests(10, 0, secs));
        assert_eq!(windows.room(at(1), ONE), Room::At(at(DAY)));
        assert_eq!(windows.room(at(DAY), ONE), Room::Now);
        assert!(windows.bounds_nothing(at(DAY)));
        let sight = windows.send(at(DAY), 1, ONE);
        windows.learn(at(DAY), &sight, ONE, 0, &requests(10, 9, 60));
        assert_eq!(windows.room(at(DAY), ONE), Room::Now, "better word is heard");
    }
}

#[test]
fn a_call_larger_than_the_window_goes_while_that_is_untouched() {
    // Broken if it were held up for what no window ever has: our estimate may be too high, and the server's to refuse.
    let large = Cost::of(50, 0);
    let tokens = |remaining| {
        let word = Word {
            limit: Some(10),
            remaining,
            resets_in: Some(Duration::from_secs(30)),
        };
        told(&Learned::NOTHING.with(Kind::TokensIn, word))
    };
    assert_eq!(tokens(10).room(at(1), large), Room::Now);
    assert_eq!(tokens(9).room(at(1), large), Room::At(at(30)));
}

#[test]
fn a_limit_that_is_told_later_holds_from_there_on() {
    // Broken if the first word alone said how much a full window has: a plan that grows or shrinks would not be
    // noticed before the process ends.
    let word = |limit, remaining| {
        let resets_in = Some(Duration::from_secs(30));
        let word = Word {
            limit,
            remaining,
            resets_in,
        };
        Learned::NOTHING.with(Kind::Requests, word)
    };
    let full = |first, second| {
        let mut windows = told(&word(first, 5));
        windows.learn(at(0), &Sight::NONE, Cost::NOTHING, 0, &word(second, 4));
        windows.left(at(30))[Kind::Requests as usize].map(|(left, _)| left)
    };
    assert_eq!(full(None, Some(10)), Some(10));
    assert_eq!(full(Some(10), Some(8)), Some(8));
    assert_eq!(full(Some(10), None), Some(10), "what was said stays said");
    assert_eq!(full(None, None), None);
}
