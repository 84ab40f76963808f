//! The picture of a front, held to what it tells.

use super::*;
use crate::sim::report::tests::golden::read;
use crate::sim::search::{Figures, Found, Limit, Row, Tells};
use seawall_core::policy::{Policy, Preset};

fn figures(success_rate: f64, within: Option<f64>, amplification: f64, recovery_s: Option<f64>) -> Figures {
    Figures {
        seeds: 4,
        success_rate,
        p_collapse: Some(0.0),
        p99_ms: within,
        answered_99_ms: within,
        amplification,
        recovery_s,
        cost_usd: 0.0,
        ci: Default::default(),
        unmet: Vec::new(),
    }
}

fn row(name: &str, figures: Figures) -> Row {
    Row {
        name: name.to_owned(),
        held_out: Some(figures.clone()),
        figures,
        breaks: Vec::new(),
        policy: Policy::preset(Preset::Default),
    }
}

fn found() -> Found {
    let winner = row("#7", figures(0.995, Some(900.0), 1.02, Some(1.0)));
    Found {
        name: "a world".to_owned(),
        seed: 0,
        seeds: 4,
        complete: true,
        runs: 100,
        candidates: 6,
        rounds: Vec::new(),
        constraints: vec![Limit {
            name: "amplification < 1.2".to_owned(),
            text: "an assert of the file".to_owned(),
            refused: 3,
            set_aside: false,
            binds: vec!["#3".to_owned()],
        }],
        front: vec![
            winner.clone(),
            row("#9", figures(0.999, Some(4_000.0), 1.1, Some(0.5))),
            row("#4", figures(0.97, None, 1.0, Some(4.0))),
        ],
        given: vec![
            row("ours", figures(0.96, None, 1.05, Some(6.0))),
            row("three at once", figures(0.2, None, 3.5, None)),
        ],
        winner: Some(winner),
        stability: None,
        precheck: Vec::new(),
        proof: None,
        notes: vec!["a note".to_owned()],
        beaten: vec![
            figures(0.98, None, 1.08, Some(3.0)),
            figures(0.1, None, 4.0, None),
        ],
        tells: Tells {
            recovery: true,
            cost: false,
        },
    }
}

fn drawn(found: &Found) -> String {
    let searched = Searched {
        found,
        command: "seawall tune a.toml",
        version: "seawall 0.1.0",
    };
    let svgs = searched.svgs();
    assert_eq!(svgs.len(), 1);
    assert_eq!(svgs[0].0, "front.svg");
    svgs[0].1.clone()
}

#[test]
fn the_front_and_the_files_own_have_marks_and_the_one_a_ring() {
    // Could break by a policy that is left out, or one that cannot be told from the others without its colour.
    let svg = drawn(&found());
    let document = read(&svg);
    let of_class = |class: &str| {
        let paths = document
            .descendants()
            .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "path")));
        paths
            .filter(|node| node.attribute("class") == Some(class))
            .count()
    };
    // Three panels (load, answers, recovery) and the legend: the winner, two others of the front, and of the file's own
    // the one that the axes hold.
    assert_eq!(of_class("f-k2"), 4, "the one");
    assert_eq!(of_class("s-k2"), 4, "its ring");
    assert_eq!(of_class("f-k0"), 7, "the rest of the front");
    assert_eq!(of_class("f-k1"), 4, "the file's own");
    assert_eq!(of_class("f-loadedge"), 4, "beaten, faint");
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    for told in ["#7", "#9", "#4", "ours", "never", "recovery", "the one"] {
        assert!(
            texts.contains(&told),
            "the picture does not say {told}: {texts:?}"
        );
    }
    assert!(svg.contains("2 of the policies that ran lie beyond the edges"));
}

#[test]
fn less_is_better_both_ways() {
    // Could break by an axis that grows the other way: the best would be in the worst corner.
    let svg = drawn(&found());
    let document = read(&svg);
    let at = |name: &str| {
        let mut texts = document
            .descendants()
            .filter(|node| node.text() == Some(name) && node.is_element());
        let text = texts.next().expect("it has a name");
        let number = |key: &str| text.attribute(key).and_then(|value| value.parse::<f64>().ok());
        (number("x").expect("a place"), number("y").expect("a place"))
    };
    let (sparing, sure) = (at("#4"), at("#9"));
    assert!(
        sparing.0 < sure.0,
        "less load is to the left: {sparing:?} {sure:?}"
    );
    assert!(sparing.1 < sure.1, "fewer lost is below: {sparing:?} {sure:?}");
}

#[test]
fn a_page_has_the_table_that_is_pasted_and_what_it_was_chosen_by() {
    // Could break by a section that is left out.
    let mut found = found();
    found.given[0].name = "<script>alert(1)</script>".to_owned();
    let html = Searched {
        found: &found,
        command: "seawall tune a.toml --seed 0",
        version: "seawall 0.1.0",
    }
    .html();
    assert!(!html.contains("<script"));
    let document = read(&html);
    let text: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    let whole = text.join(" ").replace('\u{a0}', " ");
    for told in [
        "The one: #7",
        "[policy]\nretries = 5",
        "99.50 %",
        "never",
        "amplification < 1.2",
        "kept out 3",
        "a note",
        "seawall tune a.toml --seed 0",
        "Searched by seawall 0.1.0",
    ] {
        assert!(whole.contains(told), "the page does not say: {told}\n{whole}");
    }
}

#[test]
fn worlds_in_which_nothing_differs_are_drawn() {
    // Could break by a span of nothing, by what never came for anybody, or by a search that was stopped at once.
    let none = Found {
        front: Vec::new(),
        given: Vec::new(),
        winner: None,
        beaten: Vec::new(),
        ..found()
    };
    let searched = Searched {
        found: &none,
        command: "",
        version: "",
    };
    assert!(searched.svgs().is_empty());
    read(&searched.html());
    for figures in [
        figures(1.0, Some(0.0), 1.0, Some(0.0)),
        figures(0.0, None, 0.0, None),
        figures(1.0, Some(f64::MAX), f64::INFINITY, Some(f64::INFINITY)),
    ] {
        let alike = Found {
            front: vec![row("#1", figures.clone())],
            given: vec![row("ours", figures.clone())],
            winner: Some(row("#1", figures.clone())),
            beaten: vec![figures],
            ..found()
        };
        let svg = drawn(&alike);
        read(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
