//! Outages that come by chance: whose are drawn, and beside whose lines.

use super::*;
use crate::sim::luck::Luck;
use crate::sim::model::Renewal;
use expect_test::expect;

/// Ten calls a second for 24 seconds, at a server that fails every few seconds for a while.
fn weather(seeds: u32) -> Ran {
    let mut study = tiny();
    let server = &mut study.model.servers[0];
    server.outages.clear();
    server.renewal = Some(Renewal {
        up: Length::Exponential {
            mean: Duration::from_secs(5),
        },
        down: Length::Exponential {
            mean: Duration::from_secs(3),
        },
        how: Trouble::FailFast,
        share: 1.0,
    });
    study.model.horizon = Duration::from_secs(24);
    study.contenders.truncate(1);
    study.contenders[0].policy.gate = Policy::builder()
        .breaker(None)
        .budget(None)
        .build()
        .expect("a right policy")
        .gate;
    study.seeds = seeds;
    Ran::of(study)
}

#[test]
fn a_band_is_of_the_run_that_the_line_beside_it_shows() {
    // Could break by bands of one seed beside the median of all, by a luck that is another than the run's, or by no band.
    let ran = weather(5);
    let report = Report {
        parts: &[ran.part()],
        ..Report::default()
    };
    expect![[r#"
                  load, to 10/s             answers, to 10/s          load   success
                   vvvvv     vv   vvvvvvvv   vvvvv     vv   vvvvvvvv
        no retry  @@@@@@@@@@@@@@@@@@@@@@@@  @.   *@@@@@*@@@@*@*       x1.00  59.6 %
        v a server fails at once, by chance; lines are of seed 1 alone
    "#]]
    .assert_eq(&report.sparklines(Glyphs::Ascii, 80));
    let drawn = ran.study.model.servers[0].outages_in(Luck::new(1), 0, ran.study.model.horizon);
    assert_eq!(course::outages(&ran.part()), drawn);
    for (name, svg) in report.svgs() {
        let over_time = ["load.svg", "reasons.svg"].contains(&name.as_str());
        assert_eq!(
            svg.contains("seed 1 alone: outages come by chance"),
            over_time,
            "{name}"
        );
        assert_eq!(svg.contains("-out\""), over_time, "{name}");
    }
}

#[test]
fn one_seed_is_shown_as_one_seed_whatever_its_outages_are() {
    // Could break by a word about other seeds where there are none.
    let ran = weather(1);
    let report = Report {
        parts: &[ran.part()],
        ..Report::default()
    };
    assert!(
        report
            .sparklines(Glyphs::Ascii, 80)
            .ends_with("v a server fails at once\n")
    );
    assert!(!report.html().contains("alone"));
    assert!(report.html().contains("a server fails at once"));
}

#[test]
fn a_picture_ends_where_nothing_happens_any_more_though_outages_go_on() {
    // Could break by outages up to a horizon that nobody lives to see: the picture would be a line at its left edge.
    let mut ran = weather(1);
    let ends = course::Steps::of(&ran.part()).seconds();
    ran.study.model.horizon = Duration::from_secs(100_000);
    assert_eq!(course::Steps::of(&ran.part()).seconds(), ends);
    assert!(course::outages(&ran.part()).len() > 1_000);
}
