use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_length_is_within_its_bucket_and_the_bucket_is_narrow(nanos in prop_oneof![0_u64..300, any::<u64>()]) {
        // Could break by an edge that is off by one at a power of two: then percentiles are double or half.
        let edge = upper_edge(bucket_of(Duration::from_nanos(nanos))).as_nanos();
        prop_assert!(edge >= nanos);
        prop_assert!(edge - nanos <= nanos >> FINE_BITS, "{} is at most 1/64 above {}", edge, nanos);
        if nanos > 0 {
            prop_assert!(bucket_of(Duration::from_nanos(nanos - 1)) <= bucket_of(Duration::from_nanos(nanos)));
        }
    }
}

#[test]
fn percentiles_are_those_of_the_sorted_list() {
    // Could break by a rank that is off by one.
    let mut histogram = Histogram::default();
    for millis in 1..=60 {
        histogram.add(Duration::from_nanos(millis));
    }
    assert_eq!(histogram.percentile(500), Some(Duration::from_nanos(30)));
    assert_eq!(histogram.percentile(1_000), Some(Duration::from_nanos(60)));
    assert_eq!(histogram.percentile(0), Some(Duration::from_nanos(1)));
    assert_eq!(histogram.mean(), Some(Duration::from_nanos(30)));
    assert_eq!(Histogram::default().percentile(500), None);
}

#[test]
fn the_order_in_which_lengths_come_does_not_matter() {
    // Could break by a histogram that begins at its first length and loses what is shorter, alone or when two are merged.
    let lengths = [70_u64, 5, 1_000_000, 70, 3, 40_000];
    let of = |lengths: &[u64]| {
        let mut histogram = Histogram::default();
        lengths
            .iter()
            .for_each(|nanos| histogram.add(Duration::from_nanos(*nanos)));
        histogram
    };
    let mut sorted = lengths;
    sorted.sort_unstable();
    assert_eq!(of(&lengths), of(&sorted));
    for cut in 0..lengths.len() {
        let mut merged = of(&lengths[..cut]);
        merged.merge(&of(&lengths[cut..]));
        assert_eq!(merged, of(&sorted), "merged at {cut}");
    }
    let buckets: Vec<u64> = of(&lengths).buckets().map(|(_, count)| count).collect();
    assert_eq!(buckets, [1, 1, 2, 1, 1]);
}
