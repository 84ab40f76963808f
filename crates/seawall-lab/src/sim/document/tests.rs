use super::*;
use crate::sim::assert::Unit;
use crate::sim::kit::{self, secs};
use crate::sim::luck::Length;
use crate::sim::model::*;
use expect_test::expect;
use seawall_core::policy::{Policy, Preset as PolicyPreset};
use seawall_core::time::{Duration, Instant};

fn study() -> Study {
    let server = Server {
        capacity: Capacity::Workers(1),
        service: Length::Fixed(Duration::from_millis(10)),
        outages: vec![Outage {
            at: Instant::START.after(secs(5)),
            lasts: secs(2),
            how: Trouble::FailFast,
            share: 1.0,
        }],
        ..Server::default()
    };
    let load = Load::Open {
        clients: 1,
        per_second: 50.0,
        gaps: Gaps::Constant,
        bursts: Vec::new(),
    };
    let model = kit::plain(load, server, secs(20));
    let contender = |name: &str, preset| kit::contender(name, Policy::preset(preset), Fleet::One);
    Study {
        name: "short \u{1b}[2J outage".to_owned(),
        model,
        contenders: vec![
            contender("off", PolicyPreset::Off),
            contender("default", PolicyPreset::Default),
        ],
        seed: 3,
        seeds: 2,
    }
}

fn document() -> Document {
    let study = study();
    let tallies: Vec<Tally> = study.jobs().map(|job| study.run(job)).collect();
    let mut document = Document::of(&study.name, std::slice::from_ref(&study), &[tallies]);
    document.claims.push(Claim {
        name: "somebody's figure".to_owned(),
        published: 560.0,
        measured: 559.312,
        holds: true,
    });
    document.notes.push("made for a test".to_owned());
    document.asserts.push(Judged {
        assert: "recovery < 1s".to_owned(),
        policy: "off".to_owned(),
        measured: None,
        holds: false,
        unit: Unit::LongTime,
    });
    document
}

#[test]
fn people_read_the_scenario_the_figures_and_what_does_not_hold() {
    // Could break by a column that belongs to another head, a control sign that reaches a terminal, or a unit.
    expect![[r#"
        short �[2J outage: 2 seeds from 3
          all       horizon = "20s", hop = "0s", spread = "route", warmup = "0s"
          load      clients = 1, rate = 50, gaps = "constant", bursts = []
          server    workers = 1, latency = "10ms", order = "fifo", queue = "unbounded", orphans = "worked", failures = 0, outages = [{ at = "5s", for = "2s", how = "503", share = 1 … (all of it: --verbose)

        before any run
          off: stable
          default: stable

          policy   success  attempts/call     p50    p99  peak/s  recovery  collapsed
          off      89.99 %              1    10ms   10ms      50        0s        0 %
          default  85.64 %            0.9  10.1ms  516ms    62.5     800ms        0 %

        claims
          holds  somebody's figure: published 560, measured 559.3

        asserts
          MISSED recovery < 1s of off: never

        notes
          - made for a test
    "#]].assert_eq(&document().text(Wants::Figures, Colour::Plain));
}

#[test]
fn every_setting_of_every_policy_is_there_for_those_who_want_it() {
    // Could break by a setting that decides and stands nowhere.
    let text = document().text(Wants::Settings, Colour::Plain);
    for word in [
        "consecutive = 5",
        "ratio = 0.1",
        "throttled_counts = true",
        "mode = \"observe\"",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn the_keys_of_the_document_are_those_that_others_read() {
    // Could break by a field that is renamed: programs that read reports would see nothing.
    let document: Value = serde_json::from_str(&document().json()).expect("JSON");
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(
        keys(&document),
        [
            "asserts", "claims", "name", "notes", "policies", "precheck", "preset", "scenario", "seed",
            "seeds"
        ]
    );
    let policy = &document["policies"][0];
    for key in [
        "name",
        "calls",
        "attempts",
        "amplification",
        "success_rate",
        "p_collapse",
        "mean_ms",
        "mean_retried_ms",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "peak_per_s",
        "peak_per_100ms",
        "recovery_s",
        "cost_usd",
        "reasons",
        "events",
        "ci",
    ] {
        assert!(policy.get(key).is_some(), "{key}: {policy}");
    }
    assert!(policy.get("part").is_none(), "one study has no parts");
    assert_eq!(document["preset"], Value::Null);
}

#[test]
fn a_time_is_written_so_that_it_can_be_read_back() {
    // Could break above a minute, where the short form is in whole seconds.
    for nanos in [
        0,
        1,
        999,
        1_500,
        666_667,
        90_500_000_000,
        61_000_000_001,
        3_600_000_000_000,
        u64::MAX,
    ] {
        let length = Duration::from_nanos(nanos);
        let written = switches::written(length);
        assert_eq!(Duration::parse_units(&written), Some(length), "{written}");
    }
}

#[test]
fn what_is_almost_all_does_not_read_as_all() {
    // Could break by rounding: one call lost of a million would read as none.
    let shown = |share| {
        let mut document = document();
        document.policies[0].summary.success_rate = share;
        document.text(Wants::Figures, Colour::Plain)
    };
    assert!(shown(0.999_999).contains("> 99.99 %"));
    assert!(shown(0.000_001).contains("< 0.01 %"));
    assert!(shown(1.0).contains("100 %"));
}

#[test]
fn a_collapse_that_nothing_tells_of_is_no_share() {
    // Could break by a zero: calls that all came long before the end would read as none that collapsed.
    let mut document = document();
    document.policies[0].summary.p_collapse = None;
    let text = document.text(Wants::Figures, Colour::Plain);
    let row = text.lines().find(|line| line.starts_with("  off "));
    assert!(row.is_some_and(|row| row.ends_with("  –")), "{text}");
    let json: Value = serde_json::from_str(&document.json()).expect("JSON");
    assert_eq!(json["policies"][0]["p_collapse"], Value::Null);
    assert_eq!(json["policies"][1]["p_collapse"], json!(0.0));
}
