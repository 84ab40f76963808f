//! Each preset in small: few seeds, the same claims.

use super::*;

/// Runs a preset on this thread.
fn run(name: &str, seeds: u32) -> Findings {
    let preset = named(name).expect("a preset of this name");
    let studies = (preset.parts)(&Scale { seed: 1, seeds });
    let tallies: Vec<Vec<Tally>> = studies
        .iter()
        .map(|study| study.jobs().map(|job| study.run(job)).collect())
        .collect();
    (preset.findings)(&studies, &tallies)
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

#[test]
fn a_budget_of_ten_percent_makes_a_load_of_eleven_tenths() {
    // Could break by an extra that is not charged, an original that is counted twice, or an attempt that is not seen.
    all_hold(&run("google-budget", 1), 2 * 3 + 3 * 6 + 3);
}
