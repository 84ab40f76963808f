//! What a small study looks like, to the byte.

use super::*;
use expect_test::{expect, expect_file};

fn report(parts: &[Part<'_>]) -> (Vec<(String, String)>, String, String) {
    let report = Report {
        title: "tiny",
        about: "A server fails for a second.",
        parts,
        ..Report::default()
    };
    (
        report.svgs(),
        report.sparklines(Glyphs::Blocks, 70),
        report.sparklines(Glyphs::Ascii, 70),
    )
}

#[test]
fn a_small_study_looks_like_this() {
    // Could break by any change of a picture: look at the file in a browser before you take it over.
    let ran = Ran::of(tiny());
    let parts = [ran.part()];
    let (svgs, blocks, ascii) = report(&parts);
    let names: Vec<&str> = svgs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "load.svg",
            "glance.svg",
            "latency.svg",
            "reasons.svg",
            "breakers.svg"
        ]
    );
    expect_file!["./golden/load.svg"].assert_eq(&svgs[0].1);
    expect_file!["./golden/glance.svg"].assert_eq(&svgs[1].1);
    expect![[r#"
                     load, to 30/s    answers, to 10/s  load   success
                          ▾▾▾              ▾▾▾
        no retry     ▃▃▃▃▃▃▂▂▃▃▃▃▃▃▃  ▇████  ▅███████  ×0.92  82.2 %
        two at once  ▃▃▃▃▃█▃▂▃▃▃▃▃▃▃  ▇████  ▅███████  ×1.09  82.2 %
        ▾ a server fails at once
    "#]]
    .assert_eq(&blocks);
    expect![[r#"
                     load, to 30/s    answers, to 10/s  load   success
                          vvv              vvv
        no retry     ------::-------  #@@@@  +@@@@@@@  x0.92  82.2 %
        two at once  -----@-:-------  #@@@@  +@@@@@@@  x1.09  82.2 %
        v a server fails at once
    "#]]
    .assert_eq(&ascii);
}

#[test]
fn a_page_has_every_switch_every_claim_and_how_to_have_it_again() {
    // Could break by a section that is left out, or a switch that has no row.
    let ran = Ran::of(tiny());
    let claims = [Claim {
        name: "a claim".to_owned(),
        published: 4_028.0,
        measured: 4_391.5,
        holds: false,
    }];
    let asserts = [Expected {
        text: "amplification < 1.2".to_owned(),
        measured: "1.04".to_owned(),
        holds: true,
    }];
    let table = serde_json::json!([
        {"n": 1, "how": "full", "peak": 5.5}, {"n": 2, "how": "full", "peak": 7.25},
        {"n": 1, "how": "plain", "peak": 9.5}, {"n": 2, "how": "plain", "peak": 11.5},
    ]);
    let html = Report {
        title: "tiny",
        about: "A server fails for a second.",
        parts: &[ran.part()],
        claims: &claims,
        asserts: &asserts,
        notes: &["a note".to_owned()],
        table: Some(&table),
        live: None,
        command: "seawall simulate --preset tiny --seeds 2",
        version: "seawall 0.1.0",
    }
    .html();
    let document = read(&html);
    let text: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    let whole = text.join(" ").replace('\u{a0}', " ");
    for told in [
        "A server fails for a second.",
        "a claim",
        "4028",
        "4392",
        "✗ does not hold",
        "amplification < 1.2",
        "✓ holds",
        "a note",
        "7.25",
        "Simulated by seawall 0.1.0 with the engine that runs live: 2 seeds.",
        "seawall simulate --preset tiny --seeds 2",
        "Seeds 1 to 2.",
        "load.rate",
        "server.latency",
        "50ms",
        "server.outages.at",
        "server.outages.how",
        "503",
        "breaker.consecutive",
        "Foreseen without a run",
    ] {
        assert!(whole.contains(told), "the page does not say: {told}\n{whole}");
    }
    assert_eq!(
        document
            .descendants()
            .filter(|node| node.has_tag_name((SVG, "svg")))
            .count(),
        6
    );
}

#[test]
fn a_line_is_a_run_that_was_and_not_a_mean_of_runs_that_differ() {
    // Could break by a mean: of three runs, of which two answer nothing, it would draw a third that none has answered.
    let mut study = tiny();
    study.seeds = 3;
    study.contenders.truncate(1);
    let run = |answered| {
        let mut tally = Tally::default();
        for tenth in 0..60 {
            let bin = tally.bin(Instant::START.after(Duration::from_millis(tenth * 100)));
            (bin.due, bin.answered) = (1, answered);
        }
        tally
    };
    let ran = Ran::with(study, vec![run(0), run(1), run(0)]);
    let steps = course::Steps::of(&ran.part());
    let course = steps.per_second(ran.part().runs(0), |bin| bin.answered);
    assert!(course.middle.iter().all(|per_second| *per_second == 0.0));
    assert!(course.high.iter().all(|per_second| *per_second == 10.0));
}

const SVG: &str = "http://www.w3.org/2000/svg";

pub(in crate::sim::report) fn read(text: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..roxmltree::ParsingOptions::default()
    };
    roxmltree::Document::parse_with_options(text, options).expect("what is written is well-formed")
}
