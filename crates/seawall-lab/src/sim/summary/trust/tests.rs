use crate::sim::study::Study;
use crate::sim::summary::Summary;
use crate::sim::tally::Tally;
use crate::sim::{luck::Length, model};
use seawall_core::policy::Policy;
use seawall_core::time::{Duration, Instant};

/// A study of two policies, in which nothing need be run.
fn study(seeds: u32) -> Study {
    let contender = |name: &str| model::Contender {
        name: name.to_owned(),
        policy: Policy::builder().build().expect("a right policy"),
        fleet: model::Fleet::One,
    };
    Study {
        name: String::new(),
        model: model::Model {
            load: model::Load::Open {
                clients: 1,
                per_second: 1.0,
                gaps: model::Gaps::Constant,
                bursts: Vec::new(),
            },
            tokens: model::Tokens::NONE,
            hop: Length::ZERO,
            layers: Vec::new(),
            servers: vec![model::Server {
                outages: vec![model::Outage {
                    at: Instant::START,
                    lasts: Duration::from_secs(1),
                    how: model::Trouble::Hang,
                    share: 1.0,
                }],
                ..model::Server::default()
            }],
            spread: model::Spread::Route,
            horizon: Duration::from_secs(60),
            warmup: Duration::ZERO,
        },
        contenders: vec![contender("first"), contender("second")],
        seed: 1,
        seeds,
    }
}

/// A run with figures that no two seeds share.
fn run(seed: u64, extra: u64) -> Tally {
    let mut tally = Tally {
        calls: 1_000 + 37 * seed,
        succeeded: 900 + 31 * seed - extra,
        arrivals: 1_200 + 50 * seed + 100 * extra,
        cost_pico_dollars: u128::from(seed + 1) * 1_000_000_000_000,
        ..Tally::default()
    };
    for nth in 0..tally.calls {
        let length = Duration::from_millis(10 + nth % 90 + 5 * seed + extra);
        tally.latency.add(length);
        if nth % 10 == 0 {
            tally.latency_retried.add(length);
        }
    }
    for tenth in 0..600 {
        let bin = tally.bin(Instant::START.after(Duration::from_millis(tenth * 100)));
        (bin.due, bin.arrivals) = (10, 10 + u32::try_from(seed + extra).expect("small"));
        bin.answered = if tenth < 20 + 10 * seed { 0 } else { 10 };
    }
    tally
}

fn summaries(seeds: u32) -> Vec<Summary> {
    let runs = |extra| (0..u64::from(seeds)).map(move |seed| run(seed, extra));
    let tallies: Vec<Tally> = runs(0).chain(runs(3)).collect();
    study(seeds).summaries(&tallies)
}

#[test]
fn every_figure_has_an_interval_around_itself() {
    // Could break by an interval of another figure under its name, by a figure over calls and an interval over runs.
    for summary in summaries(9) {
        let figures = [
            ("success_rate", Some(summary.success_rate)),
            ("amplification", Some(summary.amplification)),
            ("p_collapse", summary.p_collapse),
            ("mean_ms", summary.mean_ms),
            ("mean_retried_ms", summary.mean_retried_ms),
            ("p50_ms", summary.p50_ms),
            ("p95_ms", summary.p95_ms),
            ("p99_ms", summary.p99_ms),
            ("peak_per_s", Some(summary.peak_per_s)),
            ("peak_per_100ms", Some(summary.peak_per_100ms)),
            ("recovery_s", summary.recovery_s),
            ("cost_usd", Some(summary.cost_usd)),
        ];
        assert_eq!(summary.ci.len(), figures.len());
        for (name, figure) in figures {
            let (figure, interval) = (figure.expect(name), summary.ci[name]);
            let slack = 1e-9 * figure.abs();
            assert!(
                interval.low - slack <= figure && figure <= interval.high + slack,
                "{name}: {figure} in {interval:?}"
            );
            let is_wide = interval.high > interval.low;
            assert!(is_wide, "{name} differs between seeds: {interval:?}");
        }
    }
}

#[test]
fn of_one_run_only_shares_have_an_interval() {
    // Could break by an interval of width nothing: it would say that one seed is certain.
    let summary = &summaries(1)[0];
    let names: Vec<&str> = summary.ci.keys().copied().collect();
    assert_eq!(names, ["p_collapse", "success_rate"]);
    assert_eq!(summary.beside, None);
    let collapse = summary.ci["p_collapse"];
    assert!(
        collapse.low == 0.0 && collapse.high > 0.7,
        "one seed that does not collapse says little"
    );
}

#[test]
fn a_policy_stands_beside_the_first_by_pairs_of_seeds() {
    // Could break by a difference of two intervals: what differs between seeds would hide that the second policy takes
    // 3 ms more on each.
    let summaries = summaries(9);
    assert_eq!(summaries[0].beside, None, "the first has nobody to stand beside");
    let beside = summaries[1].beside.as_ref().expect("nine seeds");
    assert_eq!(beside.than, "first");
    let mean = beside.differences["mean_ms"];
    assert!(
        (mean.mean - 3.0).abs() < 1e-3 && mean.ci.high - mean.ci.low < 1e-3,
        "{mean:?}"
    );
    let own = summaries[1].ci["mean_ms"];
    assert!(
        own.high - own.low > 10.0,
        "alone it is as wide as the days are: {own:?}"
    );
    let json = serde_json::to_value(&summaries[1]).expect("JSON");
    assert!(json["beside"]["mean_ms"]["ci"].is_array() && json["ci"]["p99_ms"].is_array());
}
