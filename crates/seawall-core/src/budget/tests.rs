use super::*;
use crate::policy::Policy;
use alloc::vec::Vec;
use proptest::prelude::*;

const W: Duration = Duration::from_secs(10);

fn policy(ratio_per_mille: u32, floor_milli: u64, window: Duration) -> BudgetPolicy {
    let policy = Policy::builder()
        .edit_budget(|budget| {
            budget
                .ratio_per_mille(ratio_per_mille)
                .floor_milli(floor_milli)
                .window(window)
        })
        .build()
        .unwrap();
    policy.gate.budget().unwrap()
}

fn at(millis: u64) -> Instant {
    Instant::START.after(Duration::from_millis(millis))
}

/// Charges until there is no room, and counts.
fn drain(budget: &mut Budget, now: Instant) -> Vec<Charge> {
    let mut charges = Vec::new();
    while budget.room(now).is_ok() {
        charges.push(budget.charge(now));
    }
    charges
}

#[test]
fn every_ratio_grants_exactly_what_it_says() {
    // Trap V3.
    // Could break as a truncated reciprocal does: 60 % becomes one per original.
    for percent in 1..=100 {
        let mut budget = Budget::new(&policy(percent * 10, 0, W));
        let mut granted = 0;
        for original in 0..1_000 {
            let now = at(original * 9);
            budget.original(now);
            granted += u32::try_from(drain(&mut budget, now).len()).unwrap();
            assert_eq!(granted, (u32::try_from(original).unwrap() + 1) * percent / 100);
        }
        assert_eq!(granted, percent * 10, "{percent} % of 1000 originals");
    }
}

#[test]
fn a_silent_gate_has_its_floor_and_no_burst_saved_up() {
    // Trap V3b.
    // Could break if the floor were a bucket that fills: an idle day would be paid out at once.
    let mut budget = Budget::new(&policy(100, 1_000, W));
    assert_eq!(drain(&mut budget, at(86_400_000)).len(), 10);
    let full = budget.room(at(86_401_000)).unwrap_err();
    assert_eq!((full.granted, full.allowed), (10, 10));
    assert_eq!(drain(&mut budget, at(86_400_000 + 11_000)).len(), 10);
}

#[test]
fn a_floor_below_one_a_second_is_paid_over_the_window() {
    // Could break if the floor were rounded per second or per bucket.
    assert_eq!(drain(&mut Budget::new(&policy(0, 150, W)), at(0)).len(), 1);
    assert_eq!(drain(&mut Budget::new(&policy(0, 99, W)), at(0)).len(), 0);
    let odd = Duration::from_nanos(3_333_333_333);
    assert_eq!(drain(&mut Budget::new(&policy(0, 300, odd)), at(0)).len(), 0);
    assert_eq!(drain(&mut Budget::new(&policy(0, 301, odd)), at(0)).len(), 1);
    // 0.999 of an extra from the floor and 0.001 from the ratio make one.
    let mut both = Budget::new(&policy(1, 999, Duration::from_secs(1)));
    assert_eq!(drain(&mut both, at(0)).len(), 0);
    both.original(at(0));
    assert_eq!(drain(&mut both, at(0)).len(), 1);
}

#[test]
fn an_extra_given_back_can_be_granted_again_while_its_bucket_counts() {
    // Could break if a refund went to the newest bucket: it would outlive the charge and allow two.
    let mut budget = Budget::new(&policy(0, 100, W));
    let charge = budget.charge(at(0));
    assert!(budget.room(at(5_000)).is_err());
    budget.give_back(at(5_000), charge);
    let second = budget.charge(at(5_000));
    assert!(budget.room(at(11_500)).is_err());
    // The second has left the ring by itself; giving it back must not free what was granted since.
    let third = drain(&mut budget, at(16_000));
    assert_eq!(third.len(), 1);
    budget.give_back(at(16_000), second);
    assert!(budget.room(at(16_000)).is_err());
}

#[test]
fn waiters_are_asked_again_when_room_can_come_back() {
    // Could break if the turn named were later than the instant at which the oldest bucket leaves.
    let mut budget = Budget::new(&policy(0, 100, W));
    let mut now = at(250);
    let _spent = budget.charge(now);
    let mut turns = 0;
    while budget.room(now).is_err() {
        now = budget.next_turn();
        turns += 1;
    }
    assert_eq!((turns, now), (11, at(11_000)));
}

#[test]
fn a_changed_window_keeps_the_sums_and_lets_them_go_together() {
    // Could break if a reload forgot what was granted, or if the old extras left before the old originals.
    let mut budget = Budget::new(&policy(100, 0, W));
    for _ in 0..100 {
        budget.original(at(0));
    }
    let charges = drain(&mut budget, at(500));
    assert_eq!(charges.len(), 10);
    let longer = policy(100, 0, Duration::from_secs(100));
    budget.configure(at(1_000), &longer);
    assert_eq!(
        budget.room(at(1_000)),
        Err(Empty {
            granted: 10,
            allowed: 10
        })
    );
    budget.give_back(at(1_000), charges[0]);
    assert_eq!(drain(&mut budget, at(1_000)).len(), 1);
    assert_eq!(
        budget.room(at(10_000)),
        Err(Empty {
            granted: 10,
            allowed: 0
        })
    );
    assert_eq!(
        budget.room(at(20_000)),
        Err(Empty {
            granted: 1,
            allowed: 0
        })
    );
}

#[test]
fn a_charge_that_no_longer_counted_is_not_carried_into_another_window() {
    // Could break if every charge of the old window were looked for in the bucket that carries its sums.
    let mut budget = Budget::new(&policy(0, 100, W));
    let expired = budget.charge(at(0));
    let carried = budget.charge(at(15_000));
    budget.configure(at(20_000), &policy(0, 50, Duration::from_secs(20)));
    budget.give_back(at(20_000), expired);
    assert!(budget.room(at(20_000)).is_err());
    budget.give_back(at(20_000), carried);
    assert!(budget.room(at(20_000)).is_ok());
}

#[test]
fn a_charge_from_two_windows_ago_frees_nothing() {
    // Could break if a bucket's number were compared across windows that number differently.
    let mut budget = Budget::new(&policy(0, 100, W));
    let first = budget.charge(at(0));
    budget.configure(at(20_000), &policy(0, 50, Duration::from_secs(20)));
    let second = budget.charge(at(20_000));
    // The first had left the old ring before the change.
    budget.give_back(at(20_000), first);
    assert!(budget.room(at(20_000)).is_err());
    budget.configure(at(20_000), &policy(0, 100, W));
    budget.give_back(at(20_000), first);
    assert!(budget.room(at(20_000)).is_err());
    budget.give_back(at(20_000), second);
    assert!(budget.room(at(20_000)).is_ok());
}

#[test]
fn the_same_window_with_another_ratio_moves_nothing() {
    // Could break if every reload restarted the ring.
    let mut budget = Budget::new(&policy(100, 0, W));
    for _ in 0..100 {
        budget.original(at(0));
    }
    let charges = drain(&mut budget, at(0));
    budget.configure(at(0), &policy(200, 0, W));
    assert_eq!(drain(&mut budget, at(9_999)).len(), 10);
    budget.give_back(at(9_999), charges[0]);
    assert_eq!(drain(&mut budget, at(9_999)).len(), 1);
}

#[test]
fn what_a_bucket_cannot_count_is_not_granted() {
    // Could break if a full count were taken for the true one: what is granted beyond it would be free, for as long as
    // the bucket stands in the window.
    let mut budget = Budget::new(&policy(1_000, 1_000_000_000, W));
    budget.ring.newest_mut().originals = u32::MAX;
    budget.ring.newest_mut().extras = u32::MAX - 1;
    let last = budget.charge(at(0));
    let empty = budget.room(at(0)).unwrap_err();
    assert_eq!(empty.granted, u64::from(u32::MAX));
    assert!(empty.granted < empty.allowed, "the bound itself has room");
    // Nor is it true after one was given back, of a window's sum that was too much to be carried.
    budget.give_back(at(0), last);
    assert!(budget.room(at(0)).is_err());
    assert!(budget.room(at(10_999)).is_err());
    assert!(budget.room(at(11_000)).is_ok());
}

#[test]
fn originals_that_a_bucket_cannot_count_give_no_credit() {
    // Could break if the count began anew at nought, or if the sum of full buckets did.
    let mut budget = Budget::new(&policy(1_000, 0, W));
    for tenth in 0..3 {
        budget.original(at(tenth * 1_000));
        budget.ring.newest_mut().originals = u32::MAX;
        budget.original(at(tenth * 1_000));
        assert_eq!(budget.allowed(), (tenth + 1) * u64::from(u32::MAX));
    }
    budget.configure(at(2_500), &policy(1_000, 0, Duration::from_secs(20)));
    assert_eq!(budget.allowed(), u64::from(u32::MAX));
}

#[derive(Clone, Debug)]
enum Step {
    Pass { per_mille_of_window: u64 },
    Original { caller: usize },
    Extra { caller: usize },
    GiveBack { caller: usize, which: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => prop_oneof![8 => 0_u64..200, 1 => 900_u64..1_200, 1 => 0_u64..1_000_000]
            .prop_map(|per_mille_of_window| Step::Pass { per_mille_of_window }),
        4 => (0_usize..3).prop_map(|caller| Step::Original { caller }),
        6 => (0_usize..3).prop_map(|caller| Step::Extra { caller }),
        1 => (0_usize..3, 0_usize..64).prop_map(|(caller, which)| Step::GiveBack { caller, which }),
    ];
    prop::collection::vec(step, 1..300)
}

/// Every event in a list, each rule as it is written.
#[derive(Default)]
struct Model {
    originals: Vec<u64>,
    extras: Vec<(u64, Charge)>,
}

impl Model {
    fn counted(&self, newest: u128, number: impl Fn(u64) -> u128) -> (u64, u64) {
        let originals = self.originals.iter().filter(|at| number(**at) + 9 >= newest);
        let extras = self.extras.iter().filter(|(at, _)| number(*at) + 10 >= newest);
        (originals.count() as u64, extras.count() as u64)
    }
}

proptest! {
    /// Could break through a wrong bucket, a rounded width, a clock told backwards by one of several callers, a
    /// refund that counts twice, or a jump that clears too little.
    #[test]
    fn no_schedule_of_callers_is_granted_more_than_the_bound(
        ratio in 0_u32..=2_000,
        floor in 0_u64..=3_000,
        window in 1_000_000_000_u64..20_000_000_007,
        skews in prop::array::uniform3(0_u64..3_000_000_000),
        steps in steps(),
    ) {
        // Trap V10.
        let mut budget = Budget::new(&policy(ratio, floor, Duration::from_nanos(window)));
        let number = |at: u64| u128::from(at) * 10 / u128::from(window);
        let within = |originals: u64, extras: u64| {
            u128::from(extras) * 1_000_000_000_000
                <= u128::from(floor) * u128::from(window) + u128::from(ratio) * u128::from(originals) * 1_000_000_000
        };
        let (mut clock, mut latest) = (3_000_000_000_u64, 0_u64);
        let mut model = Model::default();
        for step in steps {
            // Each caller read the clock at another moment before it got the lock.
            let told = |caller: usize| clock - skews[caller];
            match step {
                Step::Pass { per_mille_of_window } => clock += window / 1_000 * per_mille_of_window,
                Step::Original { caller } => {
                    latest = latest.max(told(caller));
                    budget.original(Instant::from_nanos(told(caller)));
                    model.originals.push(latest);
                }
                Step::Extra { caller } => {
                    let now = Instant::from_nanos(told(caller));
                    latest = latest.max(told(caller));
                    let (originals, extras) = model.counted(number(latest), number);
                    let room = budget.room(now);
                    prop_assert_eq!(room.is_ok(), within(originals, extras + 1));
                    if let Err(empty) = room {
                        prop_assert_eq!(empty.granted, extras);
                        prop_assert!(within(originals, empty.allowed) && !within(originals, empty.allowed + 1));
                        continue;
                    }
                    model.extras.push((latest, budget.charge(now)));
                    // The exact window, both ends against the budget: extras at its very edge count, originals
                    // there do not.
                    let young = model.originals.iter().filter(|at| **at + window > latest).count();
                    let recent = model.extras.iter().filter(|(at, _)| *at + window >= latest).count();
                    prop_assert!(within(young as u64, recent as u64));
                }
                Step::GiveBack { caller, which } => {
                    if model.extras.is_empty() {
                        continue;
                    }
                    latest = latest.max(told(caller));
                    let index = which % model.extras.len();
                    let (granted_at, charge) = model.extras[index];
                    budget.give_back(Instant::from_nanos(told(caller)), charge);
                    if number(granted_at) + 10 >= number(latest) {
                        let _gone = model.extras.remove(index);
                    }
                }
            }
        }
    }
}
