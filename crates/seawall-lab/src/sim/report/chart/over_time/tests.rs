use super::*;

#[test]
fn of_too_many_outages_the_nearest_are_one_band_and_none_is_left_out() {
    // Could break by bands that are drawn up to a number, and a second half in which all looks well.
    let apart = vec![(0.0, 1.0), (2.0, 3.0), (10.0, 11.0), (11.5, 12.0), (30.0, 31.0)];
    assert_eq!(at_most(5, apart.clone()), apart);
    assert_eq!(
        at_most(3, apart.clone()),
        [(0.0, 3.0), (10.0, 12.0), (30.0, 31.0)]
    );
    assert_eq!(at_most(1, apart), [(0.0, 31.0)]);
    // Gaps that are alike all close: fewer bands, and still every outage within one.
    let even: Vec<(f64, f64)> = (0..100).map(|n| (f64::from(n), f64::from(n) + 0.5)).collect();
    assert_eq!(at_most(9, even), [(0.0, 99.5)]);
    assert_eq!(at_most(9, Vec::new()), []);
}
