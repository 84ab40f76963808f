use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn an_axis_holds_its_figures_and_has_a_few_marks(most in prop_oneof![1e-9_f64..1e12, Just(0.0), Just(f64::NAN), Just(f64::INFINITY)]) {
        // Could break by a step that is nothing, or by rounding that loses the last mark: then marks never end.
        let axis = Axis::holding(most);
        let ticks = axis.ticks();
        prop_assert!((3..=8).contains(&ticks.len()), "{ticks:?}");
        prop_assert!(ticks.iter().all(|tick| tick.is_finite()));
        prop_assert!((axis.at(*ticks.last().expect("some")) - 1.0).abs() < 1e-6);
        if most.is_finite() {
            prop_assert!(ticks.last().expect("some") * (1.0 + 1e-9) >= most);
        }
    }

    #[test]
    fn an_axis_of_times_begins_and_ends_at_a_power_of_ten(least in 1e-5_f64..1e6, factor in 1.0_f64..1e5) {
        // Could break by a time beyond its end, which would be drawn at it.
        let axis = Axis::of_times(least, least * factor);
        let ticks = axis.ticks();
        prop_assert!(ticks.len() >= 2 && ticks.len() <= 14, "{ticks:?}");
        prop_assert!(ticks[0] <= least * (1.0 + 1e-6));
        prop_assert!(*ticks.last().expect("some") >= least * factor * (1.0 - 1e-6));
        prop_assert!(axis.at(least) >= 0.0 && axis.at(least * factor) <= 1.0);
    }

    #[test]
    fn a_run_of_any_length_has_a_handful_of_moments(seconds in 0.1_f64..1e9) {
        // Could break by a step that no length in the list is long enough for.
        let moments = moments(seconds);
        prop_assert!((1..=6).contains(&moments.len()), "{moments:?}");
        prop_assert!(moments.iter().all(|(at, _)| *at <= seconds * (1.0 + 1e-9)));
        prop_assert!(seconds < 0.5 || moments.len() >= 2, "{moments:?}");
    }
}

#[test]
fn moments_are_written_in_the_unit_that_suits_them() {
    // Could break by a unit of the whole instead of the step's.
    let words = |seconds| {
        moments(seconds)
            .into_iter()
            .map(|(_, word)| word.replace('\u{a0}', " "))
            .collect::<Vec<_>>()
    };
    assert_eq!(words(180.0), ["0", "50 s", "100 s", "150 s"]);
    assert_eq!(words(600.0), ["0", "5 min", "10 min"]);
    assert_eq!(words(0.4), ["0", "0.1 s", "0.2 s", "0.3 s", "0.4 s"]);
    assert_eq!(words(86_400.0), ["0", "6 h", "12 h", "18 h", "24 h"]);
}
