use super::*;

fn told(what: &str, mean: f64, error: Option<f64>) -> (String, String) {
    written(what, Figure { mean, error })
}

#[test]
fn an_error_that_is_some_is_never_shown_as_none() {
    // Could break by places that are counted from the point: 0.0053 beside 1.397 would read as certain.
    for (what, mean, error, shown) in [
        ("amplification", 1.397, 0.0053, ("1.397", "0.0053")),
        ("amplification", 1.397, 0.0588, ("1.397", "0.059")),
        ("amplification", 1.397, 0.5, ("1.397", "0.5")),
        ("amplification", 4.0, 1.44, ("4", "1.4")),
        ("amplification", 40.0, 14.4, ("40", "14")),
        ("amplification", 1.0, 0.0, ("1", "0")),
        ("amplification", 1.0, 1e-17, ("1", "0")),
        ("success_rate", 0.9, 0.012_34, ("90 %", "1.2 %")),
        ("success_rate", 0.9, 0.000_012_3, ("90 %", "0.0012 %")),
        ("mean_ms", 120.0, 0.000_45, ("120ms", "450ns")),
        ("mean_ms", 120.0, 0.045, ("120ms", "45us")),
        ("mean_ms", 120.0, 4.56, ("120ms", "4.6ms")),
        ("mean_ms", 12_000.0, 1_260.0, ("12s", "1.3s")),
        ("mean_ms", 120.0, 0.0, ("120ms", "0s")),
    ] {
        let (mean, error) = told(what, mean, Some(error));
        assert_eq!((mean.as_str(), error.as_str()), shown, "{what}");
    }
}

#[test]
fn one_run_has_no_error_to_show() {
    // Could break by a zero, which would say that one run is certain.
    for what in ["amplification", "success_rate", "mean_ms"] {
        assert_eq!(told(what, 1.0, None).1, "–", "{what}");
    }
}
