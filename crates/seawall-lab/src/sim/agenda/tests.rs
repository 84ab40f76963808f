use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn both_agendas_tell_the_same_story(
        steps in prop::collection::vec((0_u8..3, prop_oneof![0_u64..4, 0_u64..2_000, any::<u64>()]), 1..400),
    ) {
        // Could break by a bucket that is moved out of order, a tie that is turned round, or a time in the past.
        let (mut radix, mut heap) = (Radix::default(), Heap::default());
        let mut now = 0_u64;
        for (number, (what, ahead)) in steps.into_iter().enumerate() {
            if what == 0 {
                let given = radix.pop();
                prop_assert_eq!(given, heap.pop());
                now = given.map_or(now, |(at, _)| at.as_nanos());
            } else {
                // One in three is in the past, which is now.
                let at = if what == 1 { now.saturating_add(ahead) } else { now.saturating_sub(ahead) };
                radix.push(Instant::from_nanos(at), number);
                heap.push(Instant::from_nanos(at), number);
            }
            prop_assert_eq!(radix.len(), heap.len());
        }
        while !heap.is_empty() {
            prop_assert_eq!(radix.pop(), heap.pop());
        }
        prop_assert_eq!(radix.pop(), None);
    }
}

#[test]
fn events_of_one_time_keep_their_order_over_every_move_of_a_bucket() {
    // Could break where one of them was put in before time moved on, and the other after.
    let mut agenda = Radix::default();
    agenda.push(Instant::from_nanos(1_000), 'a');
    agenda.push(Instant::from_nanos(10), 'x');
    assert_eq!(agenda.pop(), Some((Instant::from_nanos(10), 'x')));
    agenda.push(Instant::from_nanos(1_000), 'b');
    agenda.push(Instant::from_nanos(999), 'y');
    assert_eq!(agenda.pop(), Some((Instant::from_nanos(999), 'y')));
    agenda.push(Instant::from_nanos(1_000), 'c');
    let rest: Vec<char> = std::iter::from_fn(|| agenda.pop())
        .map(|(_, event)| event)
        .collect();
    assert_eq!(rest, ['a', 'b', 'c']);
}

#[test]
fn what_came_together_goes_together_however_many_there_are() {
    // Could break where a bucket has more than one chunk: its chunks are moved out of order, or one is forgotten.
    let (mut radix, mut heap) = (Radix::default(), Heap::default());
    for number in 0..5_000_u64 {
        let at = Instant::from_nanos(1_000 + number % 7);
        radix.push(at, number);
        heap.push(at, number);
    }
    for _ in 0..5_000 {
        let given = radix.pop();
        assert_eq!(given, heap.pop());
        let (at, number) = given.expect("as many as were put in");
        if number % 3 == 0 {
            // Over the bits of a whole second, so that full chunks move more than once.
            let later = Instant::from_nanos(at.as_nanos() + (number * 1_000_003) % 1_000_000_000);
            radix.push(later, number);
            heap.push(later, number);
        }
    }
    while let Some(given) = heap.pop() {
        assert_eq!(radix.pop(), Some(given));
    }
    assert!(radix.is_empty());
    assert!(
        size_of::<(u64, super::super::world::Event)>() <= 16,
        "an event and its time"
    );
}
