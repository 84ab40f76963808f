//! Worlds in which nothing happens, figures that are none, and names that mean harm.

use super::golden::read;
use super::*;
use crate::sim::agreement::{Accord, Agreement, Figure, Speed};
use crate::sim::document::Agreed;
use std::collections::BTreeSet;

/// Everything that a report can be made into, all of which must stand.
fn check(report: &Report<'_>) {
    let html = report.html();
    assert_eq!(html, report.html(), "the same report gives the same bytes");
    harmless(&html, Holds::Page);
    let svgs = report.svgs();
    let names: BTreeSet<&str> = svgs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), svgs.len(), "two pictures have one name");
    for (name, svg) in &svgs {
        assert!(
            name.ends_with(".svg")
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)),
            "{name}"
        );
        harmless(svg, Holds::Picture);
    }
    for glyphs in [Glyphs::Blocks, Glyphs::Ascii] {
        for columns in [0, 20, 80, 500] {
            let lines = report.sparklines(glyphs, columns);
            assert!(!lines.contains("NaN") && !lines.contains("inf"), "{lines}");
            let bad = lines
                .chars()
                .find(|c| *c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(c)));
            assert_eq!(bad, None, "{lines:?}");
            assert!(glyphs == Glyphs::Blocks || lines.is_ascii(), "{lines}");
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Page,
    Picture,
}

/// Well-formed, nothing that runs or is fetched, every number one, every id once and every id that is meant there.
fn harmless(text: &str, holds: Holds) {
    let document = read(text);
    let (mut ids, mut meant) = (BTreeSet::new(), BTreeSet::new());
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        assert!(
            ![
                "script",
                "iframe",
                "image",
                "img",
                "use",
                "foreignObject",
                "a",
                "link"
            ]
            .contains(&name),
            "{name}"
        );
        for attribute in node.attributes() {
            let (key, value) = (attribute.name(), attribute.value());
            assert!(
                !key.starts_with("on") && !["style", "href", "src", "srcset"].contains(&key),
                "{key}={value}"
            );
            if key == "id" {
                assert!(ids.insert(value), "the id {value} is there twice");
            }
            if let Some(id) = value
                .strip_prefix("url(#")
                .and_then(|rest| rest.strip_suffix(')'))
            {
                meant.insert(id);
            }
            if key == "aria-labelledby" {
                meant.extend(value.split(' '));
            }
            if ["x", "y", "width", "height", "x1", "d", "stroke-width", "viewBox"].contains(&key)
                && holds == Holds::Picture
            {
                let numbers = value
                    .split([' ', 'M', 'L', 'H', 'V', 'Z'])
                    .filter(|part| !part.is_empty());
                for number in numbers {
                    let value: f64 = number.parse().unwrap_or_else(|_| panic!("{key}={value}"));
                    assert!(value.is_finite() && value.abs() < 100_000.0, "{key}={number}");
                }
            }
        }
    }
    assert!(
        meant.is_subset(&ids),
        "{:?} are meant and not there",
        meant.difference(&ids)
    );
    let said = document
        .descendants()
        .filter(|node| node.is_text())
        .filter_map(|node| node.text());
    for said in said.filter(|text| !text.contains("font")) {
        let bad = said
            .split_whitespace()
            .find(|word| word.contains("NaN") || *word == "inf" || word.contains("inf/"));
        assert_eq!(bad, None, "{said}");
    }
    let bad = text
        .chars()
        .find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
    assert_eq!(bad, None);
    let fetched = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    assert!(
        !fetched.contains("://") && !fetched.contains("@import"),
        "something is fetched"
    );
}

fn of_parts(parts: &[Part<'_>]) {
    check(&Report {
        title: "degenerate",
        parts,
        ..Report::default()
    });
}

#[test]
fn a_world_in_which_nothing_happens_has_a_page() {
    // Could break by a quotient of nothing, a scale from nothing to nothing, an index into no run.
    check(&Report::default());
    let nothing = |seeds: u32, study: Study| {
        let runs = study.contenders.len() * seeds as usize;
        Ran::with(Study { seeds, ..study }, vec![Tally::default(); runs])
    };
    for seeds in [0, 1, 2, 7] {
        of_parts(&[nothing(seeds, tiny()).part()]);
    }
    let mut study = tiny();
    study.contenders.clear();
    of_parts(&[nothing(3, study).part()]);
    let mut study = tiny();
    study.model.horizon = Duration::ZERO;
    of_parts(&[Ran::of(study).part()]);
    let mut study = tiny();
    (study.model.horizon, study.seeds) = (Duration::from_millis(150), 1);
    study.model.servers[0].outages.clear();
    of_parts(&[Ran::of(study).part()]);
    // Tallies of half of the runs: whoever was interrupted may show what there is.
    let mut ran = Ran::of(tiny());
    ran.tallies.truncate(1);
    of_parts(&[ran.part()]);
    ran.summaries.truncate(1);
    of_parts(&[ran.part()]);
}

#[test]
fn a_figure_that_is_none_is_never_drawn() {
    // Could break by a summary or a grid that is taken at its word.
    let mut ran = Ran::of(tiny());
    for (nth, bad) in [f64::NAN, f64::INFINITY].into_iter().enumerate() {
        let summary = &mut ran.summaries[nth];
        (summary.amplification, summary.success_rate, summary.p_collapse) = (bad, bad, Some(bad));
        (summary.mean_ms, summary.p99_ms, summary.recovery_s) = (Some(bad), Some(bad), Some(bad));
        (summary.peak_per_s, summary.cost_usd) = (bad, bad);
        for interval in summary.ci.values_mut() {
            (interval.low, interval.high) = (bad, bad);
        }
    }
    let claims = [Claim {
        name: "none".to_owned(),
        published: f64::NAN,
        measured: f64::INFINITY,
        holds: false,
    }];
    for table in [
        serde_json::json!([{"n": 0, "v": 1e308}, {"n": 0, "v": -1e308}, {"n": 1, "v": null}, {"n": 1}, 7, "x"]),
        serde_json::json!([{"n": 1, "v": 1e308}, {"n": 1, "v": 5}, {"n": 2, "v": 1e-300}, {"n": 2, "v": -4.0}]),
        serde_json::json!({"a": [1]}),
        serde_json::json!([]),
        serde_json::Value::Null,
    ] {
        check(&Report {
            parts: &[ran.part()],
            claims: &claims,
            table: Some(&table),
            ..Report::default()
        });
    }
}

#[test]
fn a_name_that_means_harm_is_only_a_name() {
    // Could break by any place that writes a name as it is: markup runs, a mark of direction turns a page round, an
    // escape sequence reaches the terminal.
    let evil = "</title><script>alert(1)</script>\"' onload='x' & \u{202e}gnp\u{0}\u{1b}[31m]]>--> {x} https";
    let mut study = tiny();
    study.name = evil.to_owned();
    study.contenders[0].name = evil.to_owned();
    let ran = Ran::of(study);
    let evil = evil.to_owned();
    let claims = [Claim {
        name: evil.clone(),
        published: 1.0,
        measured: 1.0,
        holds: true,
    }];
    let asserts = [Expected {
        text: evil.clone(),
        measured: evil.clone(),
        holds: false,
    }];
    let table = serde_json::json!([{evil.clone(): 1, "how": evil, "v": 3.0}, {evil.clone(): 2, "how": evil, "v": 5.0},
        {evil.clone(): 1, "how": "b", "v": 4.0}, {evil.clone(): 2, "how": "b", "v": 6.0}]);
    let figure = Figure {
        mean: f64::NAN,
        error: Some(f64::INFINITY),
    };
    let live = Live {
        speed: Speed::Turned,
        runs: 1,
        policies: Vec::new(),
        agreement: vec![Agreed {
            part: Some(evil.clone()),
            agreement: Agreement {
                policy: evil.clone(),
                what: "mean_ms",
                simulated: figure,
                live: figure,
                difference: figure,
                accord: Accord::Differs,
            },
        }],
        claims: Vec::new(),
        asserts: Vec::new(),
    };
    check(&Report {
        title: &evil,
        about: &evil,
        parts: &[ran.part(), ran.part()],
        claims: &claims,
        asserts: &asserts,
        notes: std::slice::from_ref(&evil),
        table: Some(&table),
        live: Some(&live),
        command: &evil,
        version: &evil,
    });
}

#[test]
fn many_worlds_have_their_figures_and_the_first_ones_pictures() {
    // Could break by a page of a thousand pictures, or by worlds that are left out and not named.
    let ran = Ran::of(tiny());
    let many: Vec<Part<'_>> = (0..PICTURED_MAX + 5).map(|_| ran.part()).collect();
    let report = Report {
        parts: &many,
        ..Report::default()
    };
    check(&report);
    assert_eq!(report.svgs().len(), 5 * PICTURED_MAX);
    assert!(report.html().contains("5 more worlds"));
}
