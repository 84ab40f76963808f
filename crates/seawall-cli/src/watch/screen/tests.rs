use super::*;
use expect_test::expect;
use seawall_lab::sim::bounds::HowFar;

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn under_way(passed: Duration, steps: u64) -> UnderWay {
    UnderWay {
        far: HowFar {
            now: Instant::START.after(passed),
            steps,
        },
        horizon: secs(3_600),
    }
}

fn progress(done: usize, behind: Option<UnderWay>) -> Option<Progress> {
    Some(Progress { done, of: 20, behind })
}

#[test]
fn it_says_how_far_it_is_and_how_long_it_takes() {
    // Could break by a rest that counts runs that are done alone, by one of a share that is above all of it, or by a bound
    // that is told of a run that comes to its end.
    let texts = [
        sentence(None, "live runs", secs(5)),
        sentence(progress(0, None), "runs", secs(5)),
        sentence(progress(5, None), "runs", secs(15)),
        sentence(
            progress(1, Some(under_way(secs(1_800), 9_000_000))),
            "runs",
            secs(15),
        ),
        sentence(
            progress(0, Some(under_way(secs(4_000), 9_000_000))),
            "runs",
            secs(95),
        ),
        sentence(
            progress(0, Some(under_way(Duration::from_micros(271_828), 20_000_000))),
            "runs",
            secs(5),
        ),
        sentence(progress(20, None), "runs", secs(15)),
    ];
    expect![[r#"
        no live runs done after 5s
        0 of 20 runs, after 5s
        5 of 20 runs, after 15s; about 45s to go
        1 of 20 runs, one at 30m of 1h, after 15s; about 3m5s to go
        0 of 20 runs, one past its 1h, whose last calls end, after 1m35s; about 30m5s to go
        0 of 20 runs, one at 271ms of 1h, after 5s; days to go; at this pace that one ends at its bound of 10000 million steps, without a result: a longer time to think, fewer clients, a lower rate, or a shorter horizon make it smaller
        20 of 20 runs, after 15s
    "#]]
    .assert_eq(&(texts.join("\n") + "\n"));
}
