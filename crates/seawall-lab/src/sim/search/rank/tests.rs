use super::*;

fn runs(answered: &[(u64, u64)], failed: &[(u64, u64)]) -> Tally {
    let mut tally = Tally::default();
    for (count, ms) in answered {
        for _ in 0..*count {
            tally.latency.add(Duration::from_millis(*ms));
            tally.latency_answered.add(Duration::from_millis(*ms));
        }
    }
    for (count, ms) in failed {
        (0..*count).for_each(|_| tally.latency.add(Duration::from_millis(*ms)));
    }
    tally
}

const PATIENCE: Duration = Duration::from_secs(20);

fn score(tally: Tally, success_rate: f64, amplification: f64, changes: usize) -> Score {
    let summary = Summary {
        calls: 1_000,
        success_rate,
        amplification,
        ..Summary::default()
    };
    Score::of(&summary, Answered::of(&[tally], PATIENCE), 0, changes)
}

#[test]
fn who_refuses_calls_at_once_is_neither_fast_nor_sparing() {
    // Could break by a percentile of all calls: a tenth that is refused in no time makes the other nine tenths look
    // fast, and sends fewer attempts than there are calls.
    let refuses = score(runs(&[(900, 100)], &[(100, 0)]), 0.9, 0.9, 0);
    let answers = score(runs(&[(950, 100), (50, 4_800)], &[]), 1.0, 1.0, 0);
    assert!(answers.beats(&refuses) && !refuses.beats(&answers));
    let within = |tally| Answered::of(&[tally], PATIENCE).within_ms;
    assert_eq!(within(runs(&[(900, 100)], &[(100, 0)])), None);
    let slow = within(runs(&[(985, 100), (15, 4_800)], &[])).expect("99 of 100 are answered");
    assert!((4_700.0..=4_900.0).contains(&slow), "{slow}");
    let fast = within(runs(&[(991, 100)], &[(9, 19_000)])).expect("99 of 100 are answered");
    assert!(
        (99.0..=102.0).contains(&fast),
        "those that are not are later than all: {fast}"
    );
}

#[test]
fn of_those_that_are_not_answered_the_sooner_they_know_the_better() {
    // Could break by a failed call that is simply without end: then a call that hangs for a minute is as good as one
    // that ends at once.
    let soon = score(runs(&[(900, 100)], &[(100, 10)]), 0.9, 1.0, 0);
    let late = score(runs(&[(900, 100)], &[(100, 19_000)]), 0.9, 1.0, 0);
    assert!(soon.beats(&late));
}

#[test]
fn money_is_for_answers() {
    // Could break by a bill for each call: who answers half of them pays half.
    let of = |success_rate, cost_usd| {
        let summary = Summary {
            calls: 1_000,
            success_rate,
            cost_usd,
            amplification: 1.0,
            ..Summary::default()
        };
        Score::of(&summary, Answered::default(), 0, 0).figure(Objective::Cost)
    };
    assert!(of(0.5, 6.0) > of(1.0, 10.0));
    assert!(of(0.0, 6.0).is_infinite());
}

#[test]
fn of_policies_that_are_alike_the_one_that_changes_least_stands_for_all() {
    // Could break by the order in which they were drawn: what wins has settings that do nothing.
    let alike = |changes| score(runs(&[(1_000, 100)], &[]), 1.0, 1.0, changes);
    assert_eq!(front(&[alike(5), alike(2), alike(3)]), [1]);
}

#[test]
fn a_hair_is_no_half_of_anything() {
    // Could break by spans that blow up what differs by a step: 100 ms against 105 would weigh as much as a tenth of all
    // calls.
    let fast = score(runs(&[(900, 100)], &[(100, 100)]), 0.9, 1.0, 0);
    let sure = score(runs(&[(1_000, 106)], &[]), 1.0, 1.01, 0);
    assert_eq!(
        chosen(&[fast, sure], &front(&[fast, sure]), Prefers::Knee),
        Some(1)
    );
}
