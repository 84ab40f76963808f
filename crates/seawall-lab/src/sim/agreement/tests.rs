use super::*;

fn figure(mean: f64, error: f64) -> Figure {
    Figure {
        mean,
        error: Some(error),
    }
}

/// Of one run.
fn alone(mean: f64) -> Figure {
    Figure { mean, error: None }
}

#[test]
fn a_figure_agrees_by_its_errors_and_a_difference_of_the_clock_is_told_apart() {
    // Could break by errors that are added instead of combined, by a clock that excuses everything, by a difference in every
    // run that is called none, or by two equal sums that differ in their last bit.
    for (simulated, live, each, grain, expected) in [
        (figure(1.0, 0.3), figure(1.99, 0.4), 0.99, 0.0, Accord::Agrees),
        (figure(1.0, 0.3), figure(2.01, 0.4), 1.01, 0.0, Accord::Differs),
        (
            figure(142.0, 0.0),
            figure(143.0, 0.0),
            1.0,
            1.1,
            Accord::WithinTheClock,
        ),
        (figure(142.0, 0.0), figure(143.2, 0.0), 1.2, 1.1, Accord::Differs),
        (figure(0.3, 0.1), figure(0.3, 0.1), 1e-17, 0.0, Accord::Equal),
        (figure(0.3, 0.1), figure(0.3001, 0.1), 1e-4, 0.0, Accord::Agrees),
    ] {
        let found = accord(simulated, live, figure(each, 0.0), grain);
        assert_eq!(found, expected, "{simulated:?} {live:?}");
    }
}

#[test]
fn one_run_has_no_standard_error_and_so_neither_agrees_nor_differs() {
    // Could break by an error of nothing: whatever is not equal to the last bit would differ, for who looks at one seed.
    assert_eq!(Figure::over(&[3.0]), alone(3.0));
    assert_eq!(Figure::over(&[3.0, 3.0]), figure(3.0, 0.0));
    for (simulated, live, grain, expected) in [
        (1.0, 1.0, 0.0, Accord::Equal),
        (0.3, 0.1 + 0.2, 0.0, Accord::Equal),
        (1.0, 1.001, 0.0, Accord::OneRun),
        (142.0, 143.0, 1.1, Accord::WithinTheClock),
        (142.0, 144.0, 1.1, Accord::OneRun),
    ] {
        let found = accord(alone(simulated), alone(live), alone(live - simulated), grain);
        assert_eq!(found, expected, "{simulated} {live}");
    }
    let json = serde_json::to_value(alone(3.0)).expect("JSON");
    assert_eq!(json["error"], serde_json::Value::Null);
    assert_eq!(
        serde_json::to_value(Accord::OneRun).expect("JSON"),
        serde_json::json!("one-run")
    );
}

#[test]
fn the_grain_grows_with_the_speed_and_a_clock_that_is_turned_has_none() {
    // Could break by a grain in real milliseconds: at twenty times, each is twenty.
    let speed = |text: &str| text.parse::<Speed>().expect("a speed");
    assert_eq!(speed("turned").grain_ms(), 0.0);
    assert_eq!(speed("20").grain_ms(), 40.0);
    assert_eq!(speed("0.5").grain_ms(), 1.0);
    assert!("fast".parse::<Speed>().is_err());
}

#[test]
fn every_figure_that_differs_is_named_and_the_others_are_counted() {
    // Could break by a difference that is counted and not named, or a clock's that counts as one.
    let one = |what, accord| Agreement {
        policy: "default".to_owned(),
        what,
        simulated: figure(1.0, 0.0),
        live: figure(1.0, 0.0),
        difference: figure(0.0, 0.0),
        accord,
    };
    let all = [
        one("success_rate", Accord::Agrees),
        one("mean_ms", Accord::WithinTheClock),
        one("amplification", Accord::Differs),
    ];
    assert_eq!(
        sentence(all.iter()),
        "1 of 3 figures agree within two standard errors, 1 within what the clock can tell at this speed; not so: \
         amplification of default"
    );
    assert_eq!(
        sentence(all[..1].iter()),
        "1 of 1 figures agree within two standard errors"
    );
    let alone = [one("mean_ms", Accord::OneRun), one("success_rate", Accord::Equal)];
    assert_eq!(
        sentence(alone.iter()),
        "1 of 2 figures agree within two standard errors, all of them equal, 1 of one run, which has no standard error"
    );
    let equal = [one("mean_ms", Accord::Equal), one("success_rate", Accord::Equal)];
    assert_eq!(
        sentence(equal.iter()),
        "2 of 2 figures agree within two standard errors, all of them equal"
    );
}
