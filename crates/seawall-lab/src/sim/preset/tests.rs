//! Each preset in small: few seeds, the same claims.

use super::*;
use crate::sim::tally::{Bin, bin_of};
use seawall_core::time::{Duration, Instant};

/// Runs a preset on this thread.
fn run(name: &str, seeds: u32) -> Findings {
    let preset = named(name).expect("a preset of this name");
    findings_of(preset, &(preset.parts)(&Scale { seed: 1, seeds }))
}

/// Every claim holds, and there are as many as expected: none was lost on the way.
fn all_hold(findings: &Findings, count: usize) {
    let failed: Vec<&Claim> = findings.claims.iter().filter(|claim| !claim.holds).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(findings.claims.len(), count);
}

#[test]
fn every_preset_is_found_by_its_name_alone() {
    // Could break by two presets of one name, of which one would never run.
    for preset in ALL {
        let found = named(preset.name).expect("it is there");
        assert_eq!(found.about, preset.about);
    }
    assert!(named("no-such").is_none());
}

/// Runs those parts of a preset that `keeps` keeps, which may cut them short.
fn run_some(name: &str, seeds: u32, keeps: impl FnMut(&mut Study) -> bool) -> Findings {
    let preset = named(name).expect("a preset of this name");
    let mut studies = (preset.parts)(&Scale { seed: 1, seeds });
    studies.retain_mut(keeps);
    findings_of(preset, &studies)
}

fn findings_of(preset: &Preset, studies: &[Study]) -> Findings {
    let tallies: Vec<Vec<Tally>> = studies
        .iter()
        .map(|study| study.jobs().map(|job| study.run(job)).collect())
        .collect();
    (preset.findings)(studies, &tallies)
}

/// Claims whose measured figure is further than this share from the published one.
fn far_off(findings: &Findings, share: f64) -> Vec<&Claim> {
    let claims = findings.claims.iter();
    claims
        .filter(|claim| {
            let off = (claim.measured - claim.published).abs();
            !claim.holds && off > share * claim.published.abs()
        })
        .collect()
}

#[test]
fn a_budget_of_ten_percent_makes_a_load_of_eleven_tenths() {
    // Could break by an extra that is not charged, an original that is counted twice, or an attempt that is not seen.
    all_hold(&run("google-budget", 1), 2 * 3 + 3 * 6 + 3);
}

/// The row of a preset's table that has these values.
fn row<'a>(findings: &'a Findings, wanted: &[(&str, serde_json::Value)]) -> &'a serde_json::Value {
    let rows = findings
        .table
        .as_ref()
        .and_then(|table| table.as_array())
        .expect("rows");
    let fits = |row: &&serde_json::Value| wanted.iter().all(|(key, value)| row[key] == *value);
    rows.iter()
        .find(fits)
        .unwrap_or_else(|| panic!("{wanted:?} is among {rows:#?}"))
}

#[test]
fn a_burst_brings_down_for_good_what_three_attempts_keep_down() {
    // Could break by work that is dropped with its caller, or by an end that is measured in the middle of the retries.
    let found = run("collapse", 8);
    let share = |per_second: f64, strategy: &str| {
        let row = row(
            &found,
            &[("calls_per_s", per_second.into()), ("strategy", strategy.into())],
        );
        row["p_collapse"].as_f64().expect("a share")
    };
    assert!(share(20.0, "three attempts") < 0.01);
    assert!((0.2..1.0).contains(&share(40.0, "three attempts")));
    assert!(share(60.0, "three attempts") > 0.99);
    let backoff = "three attempts, backoff up to 20 s and 40 s";
    assert!(share(40.0, backoff) < 0.2 && share(60.0, backoff) > 0.9);
    for per_second in [20.0, 30.0, 40.0, 50.0] {
        assert!(share(per_second, "three attempts, 10 % budget") < 0.01);
        assert!(share(per_second, "seawall's default") < 0.01);
    }
    // Of eight seeds the shares are as far off as that allows; what closed forms say is exact.
    let analytic = &found.claims[..2];
    assert!(analytic.iter().all(|claim| claim.holds), "{analytic:#?}");
    assert_eq!(found.claims.len(), 12);
}

#[test]
fn no_more_than_three_are_let_in_when_a_breaker_tries_again() {
    // Could break by a probe that is counted after it was let in.
    all_hold(&run("half-open-herd", 1), 4);
}

#[test]
fn one_breaker_before_shards_refuses_what_is_well_and_one_before_each_does_not() {
    // Could break by a gate that all shards share where each should have its own.
    let mut found = run("sharded-breaker", 1);
    let count = 7 + 7 + 3 * 2 + 7;
    // A breaker that opens by chance, once a minute or so, needs more seeds than one.
    let by_chance = "share answered of 10 shards with one down, one breaker at 20 %";
    found.claims.retain(|claim| !claim.name.contains(by_chance));
    all_hold(&found, count - 1);
}

#[test]
fn failures_decide_what_a_way_of_retrying_is_worth() {
    // Could break by a wait that is not what the policy says, a pool that gives its connection back in between, an outage
    // that is met at another time, or a mean that leaves calls out.
    let findings = run("three-strategies", 12);
    all_hold(&findings, 6 + 4 + 2 + 6 + 4);
    let table = findings.table.expect("a grid");
    assert_eq!(table.as_array().map(Vec::len), Some(6 * 4));
    assert!(
        findings.notes[0].contains("cannot come from independent failures"),
        "{:?}",
        findings.notes
    );
}

#[test]
fn clients_that_write_one_row_need_the_calls_that_were_published() {
    // Could break by a strategy with another first exponent, a message too many, or a wait that is rounded and trebled.
    let mut findings = run("aws-contention", 2);
    // Times by times of two seeds are not as near as of two hundred.
    let by_time = ["takes at least so many times", "time without backoff"];
    findings
        .claims
        .retain(|claim| !by_time.iter().any(|name| claim.name.contains(name)));
    all_hold(&findings, 5 * 3 + 3);
    let Some(serde_json::Value::Array(rows)) = &findings.table else {
        panic!("a table of rows");
    };
    assert_eq!(rows.len(), 25 * 5);
}

#[test]
fn a_herd_comes_back_in_the_peaks_of_the_closed_form() {
    // Could break by a first bucket that begins elsewhere, by first attempts that are counted, or by jitter with a floor.
    let parts = ["base 0.1 s, down 1 s", "base 1 s, down 1 s"];
    let mut findings = run_some("herd", 2, |study| parts.contains(&study.name.as_str()));
    let peak = |what: &str| {
        let mut claims = findings.claims.iter();
        let found = claims.find(|claim| claim.name.contains(what));
        found.expect("a claim of this name").measured
    };
    assert!((peak("plain, base 0.1 s, down 1 s") - 5_000.0).abs() < 0.5);
    assert!(
        peak("full, base 0.1 s, down 1 s") > 5_000.0,
        "worse than no jitter"
    );
    assert!(peak("full, base 1 s, down 1 s") < 1_000.0);
    // Of two seeds not every figure is as near as of twenty.
    findings.claims.retain(|claim| !claim.name.contains("within 3 %"));
    assert_eq!(findings.claims.len(), 2 * 4 + 2);
    assert!(
        far_off(&findings, 0.06).is_empty(),
        "{:#?}",
        far_off(&findings, 0.06)
    );
}

#[test]
fn layers_multiply_unless_they_tell_each_other() {
    // Could break by an attempt of an inner layer that counts as a server's, or by a word that a layer does not hear.
    let findings = run("layers", 1);
    assert_eq!(findings.claims.len(), 8 + 2 * 2 + 2 * 3);
    assert!(
        far_off(&findings, 0.05).is_empty(),
        "{:#?}",
        far_off(&findings, 0.05)
    );
    let all_failing = findings
        .claims
        .iter()
        .filter(|claim| claim.name.contains("1 failing"));
    let measured: Vec<f64> = all_failing.map(|claim| claim.measured).collect();
    assert_eq!(measured, [243.0, 64.0]);
}

#[test]
fn a_storm_lasts_or_ends_as_published() {
    // Could break by work that is dropped with its caller, by a budget without a window, or by a breaker that lets through.
    // Every step of an engine with thousands of calls is checked against all of them here, so the runs are short, and
    // those naive policies are left out that differ in their waits alone.
    let left_out = [
        "3, exponential from 0.1 s",
        "3, full jitter from 0.1 s",
        "3, full jitter from 1 s",
        "3, full jitter, 10 % budget",
        "3, full jitter, budget and breaker",
    ];
    let some = |part: &'static str, horizon_s: u64| {
        run_some("retry-storm", 1, move |study| {
            study.model.horizon = Duration::from_secs(horizon_s);
            study
                .contenders
                .retain(|contender| !left_out.contains(&contender.name.as_str()));
            study.name == part
        })
    };
    all_hold(&some("fails fast, 1500 a second", 25), 2);
    let hanging = some("hangs, 1500 a second", 40);
    all_hold(&hanging, 7);
    let beside = hanging
        .notes
        .iter()
        .filter(|note| note.contains("a gate a client"));
    assert_eq!(beside.count(), 1, "with a gate a client beside it");
}

#[test]
fn between_half_the_capacity_and_all_of_it_one_retry_is_for_good() {
    // Could break by work that is dropped with its caller, or by a budget that lets through more than it says.
    all_hold(&run("metastable", 1), 1 + 6 * 3 + 4 + 2);
}

#[test]
fn the_pieces_of_a_preset_have_names_of_their_own() {
    // Could break by a part or a policy that is added twice: then one picture is drawn over another.
    for preset in ALL {
        let studies = (preset.parts)(&Scale { seed: 1, seeds: 1 });
        for (nth, study) in studies.iter().enumerate() {
            assert!(studies[..nth].iter().all(|earlier| earlier.name != study.name));
            for (nth, contender) in study.contenders.iter().enumerate() {
                let earlier = &study.contenders[..nth];
                assert!(earlier.iter().all(|earlier| earlier.name != contender.name));
            }
        }
    }
}

#[test]
fn a_route_is_up_where_each_of_its_providers_is_down_at_times() {
    // Could break by an outage that is moved to another time than its calls, a spell that ends with its hour, a bill for
    // what was never answered, or a route that never moves.
    let findings = run("real-outage", 1);
    all_hold(&findings, 5);
    assert_eq!(
        findings.table.expect("a grid").as_array().map(Vec::len),
        Some(2 * 3)
    );
}

/// Claims that are of several parts: what they come to is of those that were run.
const OF_SEVERAL: [&str; 5] = [
    "within their tolerance",
    "within 3 %",
    "at least so many times as long",
    "every client writes in the end",
    "from which one retry does not recover",
];

/// What is claimed of runs in which other things happened in each study, whatever is really simulated.
fn claims_of_marked(preset: &Preset, studies: &[Study]) -> Vec<String> {
    let marked = |study: &Study| {
        let letters = study.name.bytes().map(u64::from);
        let mark = letters.fold(7, |mark, letter| (31 * mark + letter) % 1_009);
        let bin = Bin {
            due: 100,
            answered: u32::try_from(mark % 100).expect("below a hundred"),
            arrivals: u32::try_from(mark).expect("below a thousand"),
            extras: u32::try_from(mark).expect("below a thousand"),
            ..Bin::default()
        };
        let bins = bin_of(Instant::START.after(study.model.horizon)).min(10_000);
        let tally = Tally {
            calls: 2_000,
            succeeded: mark,
            arrivals: 2_000 + mark,
            ended_at: Instant::START.after(Duration::from_millis(mark)),
            bins: vec![bin; bins],
            ..Tally::default()
        };
        vec![tally; study.jobs().count()]
    };
    let tallies: Vec<Vec<Tally>> = studies.iter().map(marked).collect();
    let claims = (preset.findings)(studies, &tallies).claims;
    let mut claims: Vec<String> = claims.iter().map(|claim| format!("{claim:?}")).collect();
    claims.sort_unstable();
    claims
}

#[test]
fn of_parts_that_were_not_run_nothing_is_claimed() {
    // Could break by parts that are told apart by their place: one that is left out lends its claims to the next.
    for preset in ALL {
        let mut studies = (preset.parts)(&Scale { seed: 1, seeds: 1 });
        let whole = claims_of_marked(preset, &studies);
        let mut found = 0;
        for nth in 0..studies.len() {
            let some = claims_of_marked(preset, &studies[nth..=nth]);
            found += some.len();
            for claim in some {
                let is_of_several = OF_SEVERAL.iter().any(|name| claim.contains(name));
                assert!(
                    is_of_several || whole.contains(&claim),
                    "{}, {}: {claim} is not of {whole:#?}",
                    preset.name,
                    studies[nth].name
                );
            }
        }
        // A claim that compares two parts has nothing to say of one.
        assert!(found > 0 || preset.name == "real-outage", "{}", preset.name);
        studies.reverse();
        assert_eq!(claims_of_marked(preset, &studies), whole, "{}", preset.name);
    }
}
