use super::*;
use proptest::prelude::*;

#[test]
fn an_idle_year_costs_no_more_than_an_idle_window() {
    // Trap V4.
    // Could break if turning walked every bucket that passed.
    let mut ring = Ring::<u64, 11>::new(Duration::from_secs(1));
    *ring.newest_mut() = 7;
    let year = Instant::START.after(Duration::from_secs(365 * 86_400));
    assert_eq!(ring.turn_to(year), 11);
    assert_eq!(ring.all(), &[0; 11]);
    assert_eq!(ring.turn_to(year), 0);
    assert_eq!(ring.turn_to(Instant::NEVER), 11);
    assert_eq!(ring.turn_to(Instant::NEVER), 0);
    assert_eq!(ring.turn_to(Instant::START), 0);
}

#[test]
fn an_entry_lives_as_long_however_often_the_ring_is_touched() {
    // Trap V5.
    // Could break if a turn began at the touch instead of at the bucket's own edge, and dropped the remainder.
    let window = Duration::from_secs(10);
    for step_ms in [1, 7, 990, 999, 1_000, 1_001, 1_300, 2_500, 9_999] {
        let mut ring = Ring::<u64, 10>::new(window);
        *ring.newest_mut() = 1;
        let mut now = Instant::START;
        while ring.all().iter().sum::<u64>() == 1 {
            now = now.after(Duration::from_millis(step_ms));
            ring.turn_to(now);
        }
        let lived = now.since(Instant::START);
        assert!(lived >= window, "touched each {step_ms}ms it lived {lived}");
        assert!(
            lived < window.plus(Duration::from_millis(step_ms)),
            "touched each {step_ms}ms it lived {lived}"
        );
    }
}

proptest! {
    /// Could break if a window that ten does not divide were cut into rounded buckets, or a far jump cleared the
    /// wrong places.
    #[test]
    fn a_ring_holds_exactly_the_entries_of_its_buckets(
        window in 1_000_000_000_u64..3_600_000_000_007,
        jumps in prop::collection::vec((0_u64..5_000, any::<bool>()), 1..80),
    ) {
        let mut ring = Ring::<u64, 11>::new(Duration::from_nanos(window));
        let number = |at: u64| u128::from(at) * 10 / u128::from(window);
        let (mut latest, mut entries) = (0_u64, alloc::vec::Vec::new());
        for (per_mille, back) in jumps {
            let jump = window / 1_000 * per_mille;
            let told = if back { latest.saturating_sub(jump) } else { latest + jump };
            latest = latest.max(told);
            ring.turn_to(Instant::from_nanos(told));
            *ring.newest_mut() += 1;
            entries.push(latest);
            let newest = number(latest);
            let held = entries.iter().filter(|at| number(**at) + 10 >= newest).count() as u64;
            prop_assert_eq!(ring.all().iter().sum::<u64>(), held);
            let oldest = entries.iter().filter(|at| number(**at) + 10 == newest).count() as u64;
            prop_assert_eq!(ring.oldest(), oldest);
            let turn = ring.next_turn().as_nanos();
            prop_assert_eq!(number(turn), newest + 1);
            prop_assert_eq!(number(turn - 1), newest);
        }
    }
}
