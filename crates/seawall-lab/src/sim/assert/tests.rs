use super::*;

fn read(text: &str) -> Result<Assert, String> {
    Assert::parse(text).map_err(|error| error.to_string())
}

fn summary() -> Summary {
    Summary {
        name: "default".to_owned(),
        amplification: 1.2,
        success_rate: 0.995,
        p_collapse: Some(0.0),
        p99_ms: Some(250.0),
        recovery_s: Some(3.0),
        calls: 1_000,
        ..Summary::default()
    }
}

#[test]
fn a_figure_is_compared_in_the_unit_that_the_bound_is_written_in() {
    // Could break by seconds that are compared with milliseconds, or a percentage with a share: then everything holds.
    for (text, holds) in [
        ("amplification < 1.2", false),
        ("amplification <= 1.2", true),
        ("amplification > 1.19", true),
        ("amplification >= 1.21", false),
        ("success_rate >= 99.5%", true),
        ("success_rate >= 0.996", false),
        ("success_rate > 99 %", true),
        ("p99 < 250ms", false),
        ("p99 <= 0.25s", true),
        ("recovery < 10s", true),
        ("recovery < 2999ms", false),
        ("calls>=1000", true),
        ("p_collapse <= 0", true),
    ] {
        let judged = read(text).expect(text).judge(&[summary()]);
        assert_eq!(judged.len(), 1);
        assert_eq!(judged[0].holds, holds, "{text}");
    }
}

#[test]
fn what_was_not_measured_holds_nothing() {
    // Could break by a `None` that counts as zero: a policy that never recovers would be the quickest.
    let never = Summary {
        recovery_s: None,
        p99_ms: None,
        ..summary()
    };
    for text in ["recovery < 10h", "recovery > 0s", "p99 < 10h", "mean >= 0s"] {
        let judged = read(text).expect(text).judge(std::slice::from_ref(&never));
        assert!(!judged[0].holds && judged[0].measured.is_none(), "{text}");
    }
    let silent = Summary {
        p_collapse: None,
        ..summary()
    };
    for text in ["p_collapse <= 0", "p_collapse > 0"] {
        let judged = read(text).expect(text).judge(std::slice::from_ref(&silent));
        assert!(!judged[0].holds && judged[0].measured.is_none(), "{text}");
    }
    let nobody = Summary::default();
    for text in [
        "peak_per_s < 9",
        "peak_per_100ms < 9",
        "cost_usd < 9",
        "amplification < 9",
        "p_collapse < 9%",
    ] {
        let judged = read(text).expect(text).judge(std::slice::from_ref(&nobody));
        assert!(!judged[0].holds && judged[0].measured.is_none(), "{text}");
    }
}

#[test]
fn what_cannot_be_missed_is_no_assert() {
    // Could break by a bound at the end of what a figure may be: the file is a test, and passes whatever happens.
    for text in [
        "success_rate >= 0",
        "success_rate <= 100%",
        "p_collapse <= 1",
        "amplification >= 0",
        "calls >= 0",
    ] {
        let why = read(text).expect_err(text);
        assert!(why.contains("this holds whatever happens"), "{why}");
    }
    for text in [
        "success_rate > 0",
        "p_collapse < 100%",
        "recovery >= 0s",
        "mean_retried >= 0s",
        "amplification <= 1",
    ] {
        assert!(read(text).is_ok(), "{text}");
    }
}

#[test]
fn what_cannot_be_kept_is_no_assert() {
    // Could break by a bound beyond what a figure may be: the file is a test that fails whatever happens, or by one that a
    // figure can still reach.
    for text in [
        "success_rate > 1",
        "success_rate > 100%",
        "p_collapse < 0",
        "p_collapse < 0%",
        "amplification < 0",
        "calls < 0",
        "p99 < 0s",
        "recovery < 0s",
    ] {
        let why = read(text).expect_err(text);
        assert!(why.contains("this cannot hold"), "{why}");
    }
    for text in [
        "success_rate >= 100%",
        "p_collapse <= 0",
        "p_collapse >= 1",
        "amplification > 1",
        "calls <= 0",
        "p99 <= 0s",
    ] {
        assert!(read(text).is_ok(), "{text}");
    }
}

#[test]
fn an_assert_of_one_policy_is_not_judged_of_another() {
    // Could break by an index that is not looked at: the naive policy beside a good one would fail the file.
    let mut assert = read("amplification < 1.3").expect("right");
    let naive = Summary {
        name: "naive".to_owned(),
        amplification: 4.0,
        ..Summary::default()
    };
    assert_eq!(assert.judge(&[summary(), naive.clone()]).len(), 2);
    assert.policy = Some(0);
    let judged = assert.judge(&[summary(), naive]);
    assert_eq!((judged.len(), judged[0].holds), (1, true));
}

#[test]
fn what_is_no_assert_is_told_at_its_word() {
    // Could break by a bound that is read as far as it goes, or by a name that matches its beginning.
    for (text, told) in [
        ("amplification", "this compares nothing"),
        ("amplifcation < 1.2", "did you mean `amplification`?"),
        ("amplification < 1,2", "`1,2` is no bound of amplification"),
        ("amplification < -1", "`-1` is no bound of amplification"),
        ("amplification < inf", "`inf` is no bound"),
        ("p99 < 250", "500ms, 30s, 2m or 1h30m"),
        ("recovery < soon", "`soon` is no bound of recovery"),
        ("success_rate > 101%", "`101%` is no bound of success_rate"),
        ("success_rate < 2", "`2` is no bound of success_rate"),
        (" < 2", "`` is no figure of a policy"),
        ("p50 == 2s", "this compares nothing"),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.contains(told), "{text}: {error}");
    }
}

#[test]
fn nothing_holds_of_a_policy_that_nobody_called() {
    // Could break by 0 for 0 / 0: a load that never comes would keep every promise of a test.
    let nobody = Summary::default();
    for text in ["amplification < 1.2", "success_rate > 0", "p_collapse <= 0"] {
        let judged = read(text).expect(text).judge(std::slice::from_ref(&nobody));
        assert!(!judged[0].holds && judged[0].measured.is_none(), "{text}");
    }
    let judged = read("calls <= 0").expect("right").judge(&[nobody]);
    assert!(judged[0].holds, "how many there were is known");
}
