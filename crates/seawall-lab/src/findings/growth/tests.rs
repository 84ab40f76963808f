use crate::findings::tests::{LIMITS, log, runs, told};
use crate::findings::{Kind, Limits, Log, Rule, Timing, check};
use expect_test::expect;
use seawall_core::policy::{Jitter, Policy};
use seawall_core::rng::Rng;
use seawall_core::time::Duration;

/// Calls of one client whose waits are as given, each in a run of its own.
fn waiting(timing: Timing, calls: impl IntoIterator<Item = Vec<u64>>) -> Vec<Log> {
    let of_call = |waits: Vec<u64>| {
        let mut at = 0;
        let mut text = "0ms GET /p 503\n".to_owned();
        for wait in waits {
            at += 1 + wait;
            text.push_str(&format!("{at}ms GET /p 503\n"));
        }
        log(timing, &text)
    };
    calls.into_iter().map(of_call).collect()
}

fn kinds(rule: Rule, logs: &[Log]) -> Vec<Kind> {
    let findings = check(rule, LIMITS, &runs(logs));
    findings.into_iter().map(|finding| finding.kind).collect()
}

#[test]
fn growth_and_jitter_are_judged_by_many_calls_and_the_plainest_cases_by_one() {
    // Could break if one short draw were a loop, four equal waits a schedule, or too little to judge a pass.
    let real = |calls: Vec<Vec<u64>>| waiting(Timing::Real, calls);
    let told_of = |rule, logs: &[Log]| told(&check(rule, LIMITS, &runs(logs)));
    let at_once = real(vec![vec![1, 2, 40]]);
    let steady = real(vec![vec![1000, 1010, 1003, 1008, 1001]]);
    let few = real(vec![vec![3, 900, 20]]);
    let shrinking = real(
        (0..8)
            .map(|n| vec![400 + 10 * n, 700, 800, 500 + 60 * n])
            .collect(),
    );
    let doubling = real((0..8).map(|n| vec![100 + n, 200 + n, 400 + n, 800 + n]).collect());
    let all = [&at_once, &steady, &few, &shrinking, &doubling];
    let growth: String = all.iter().map(|logs| told_of(Rule::NoBackoff, logs)).collect();
    expect![[r#"
        expected a wait before each attempt but the first; seen 3 attempts came at once, after 40ms at the most
        run 1: waits 1ms, 2ms, 40ms
        expected waits that grow; seen 5 waits of 1s
        run 1: waits 1s, 1.01s, 1.003s, 1.008s, 1.001s
        not observable: growth takes 8 calls with four waits each; 0 had as many
        expected the fourth wait to be at least 3.0 times the first, on average; seen 8 calls waited 385ms first and 660ms at the fourth, on average
        run 1: waits 400ms, 700ms, 800ms, 500ms
        run 2: waits 410ms, 700ms, 800ms, 560ms
        run 3: waits 420ms, 700ms, 800ms, 620ms
        run 4: waits 430ms, 700ms, 800ms, 680ms
        run 5: waits 440ms, 700ms, 800ms, 740ms
        run 6: waits 450ms, 700ms, 800ms, 800ms
        run 7: waits 460ms, 700ms, 800ms, 860ms
        run 8: waits 470ms, 700ms, 800ms, 920ms
        held
    "#]].assert_eq(&growth);
    let jitter: String = all.iter().map(|logs| told_of(Rule::NoJitter, logs)).collect();
    expect![[r#"
        not observable: jitter takes 8 calls with a wait of 200ms or more; 1 waited
        not observable: jitter takes 8 calls with a wait of 200ms or more; 1 waited
        not observable: jitter takes 8 calls with a wait of 200ms or more; 1 waited
        expected waits that differ from call to call; seen wait 2 of 8 calls is 700ms, again and again
        run 1: waits 400ms, 700ms, 800ms, 500ms
        run 2: waits 410ms, 700ms, 800ms, 560ms
        run 3: waits 420ms, 700ms, 800ms, 620ms
        run 4: waits 430ms, 700ms, 800ms, 680ms
        run 5: waits 440ms, 700ms, 800ms, 740ms
        run 6: waits 450ms, 700ms, 800ms, 800ms
        run 7: waits 460ms, 700ms, 800ms, 860ms
        run 8: waits 470ms, 700ms, 800ms, 920ms
        expected waits that differ from call to call; seen wait 2 of 8 calls is 204ms, again and again
        run 1: waits 100ms, 200ms, 400ms, 800ms
        run 2: waits 101ms, 201ms, 401ms, 801ms
        run 3: waits 102ms, 202ms, 402ms, 802ms
        run 4: waits 103ms, 203ms, 403ms, 803ms
        run 5: waits 104ms, 204ms, 404ms, 804ms
        run 6: waits 105ms, 205ms, 405ms, 805ms
        run 7: waits 106ms, 206ms, 406ms, 806ms
        run 8: waits 107ms, 207ms, 407ms, 807ms
    "#]]
    .assert_eq(&jitter);
}

#[test]
fn eight_waits_alike_of_one_call_are_no_jitter_and_seven_prove_nothing() {
    // Could break if only calls side by side were compared: a client that is run once would never be found.
    let lone = |waits: Vec<u64>| kinds(Rule::NoJitter, &waiting(Timing::Real, [waits]));
    assert_eq!(lone(vec![1_000; 8]), [Kind::Broken]);
    assert_eq!(lone(vec![1_000; 7]), [Kind::NotObservable]);
    // Only the last eight are asked: what grows up to a cap is alike there.
    assert_eq!(
        lone(vec![100, 200, 400, 800, 800, 800, 800, 800, 800, 800, 800]),
        [Kind::Broken]
    );
    assert_eq!(lone((1..=8).map(|n| n * 300).collect()), []);
}

#[test]
fn a_hint_is_the_servers_and_no_part_of_a_clients_own_waits() {
    // A client that obeys a server which always says 1 s would otherwise neither grow nor jitter.
    let text: String = (0..12)
        .map(|n| format!("{}ms GET /p 429 hint=1s\n", n * 1001))
        .collect();
    let logs = [log(Timing::Real, &text)];
    assert_eq!(kinds(Rule::NoBackoff, &logs), [Kind::NotObservable]);
    assert_eq!(kinds(Rule::NoJitter, &logs), [Kind::NotObservable]);
}

#[test]
fn a_schedule_that_promises_less_growth_is_asked_for_less() {
    // 1.5 makes 3.4 of the first wait at the fourth, which by chance is often less than 3.
    let backoff = Policy::builder()
        .backoff_factor_tenths(15)
        .jitter(Jitter::None)
        .build()
        .unwrap()
        .call
        .backoff();
    let logs = waiting(Timing::Virtual, (0..8).map(|_| vec![500, 750, 1125, 1400]));
    let with = |promised| {
        check(
            Rule::NoBackoff,
            Limits {
                attempts_max: 9,
                promised,
            },
            &runs(&logs),
        )
        .len()
    };
    assert_eq!((with(None), with(Some(backoff))), (1, 0));
}

#[test]
fn a_client_that_draws_as_seawall_does_is_never_found_without_backoff_or_jitter() {
    // The means of eight calls lie within their bounds in all but a few of a thousand; these seeds are not those few.
    let policy = Policy::builder().build().unwrap();
    for seed in 0..50 {
        let mut rng = Rng::new(seed, 1);
        let calls = (0..8).map(|_| {
            let draw = |retries| {
                policy
                    .call
                    .backoff()
                    .draw(&mut rng, retries, Duration::ZERO, Duration::MAX)
            };
            (0..5)
                .map(draw)
                .map(|wait| wait.unwrap().as_millis_up())
                .collect()
        });
        let calls: Vec<Vec<u64>> = calls.collect();
        let logs = waiting(Timing::Real, calls);
        assert_eq!(kinds(Rule::NoBackoff, &logs), [], "seed {seed}");
        assert_eq!(kinds(Rule::NoJitter, &logs), [], "seed {seed}");
    }
}

#[test]
fn what_a_busy_machine_adds_to_every_wait_is_no_lack_of_growth() {
    // Forty milliseconds on top of 14 and 61 make of a fourfold wait one of twice the first. A client that does not grow must
    // not hide behind that.
    let slow = |grown: u64| {
        waiting(
            Timing::Real,
            (0..8).map(move |n| vec![41 + 4 * n, 130, 200, 41 + grown + 9 * n]),
        )
    };
    assert_eq!(kinds(Rule::NoBackoff, &slow(30)), []);
    assert_eq!(kinds(Rule::NoBackoff, &slow(0)), [Kind::Broken]);
}

#[test]
fn a_machine_that_stands_still_for_a_moment_makes_no_client_wrong() {
    // A stall of a second in one of ten first waits of 60 ms hides that the fourth is eight times as long, and in one that
    // came at once it hides that there is no backoff.
    let stalled = |call: u64, wait: u64| if call == 3 { wait + 1_000 } else { wait };
    let doubling = (0..10).map(|n| {
        vec![
            stalled(n, 55 + n),
            stalled(n + 2, 115 + n),
            240 + 2 * n,
            480 + 4 * n,
        ]
    });
    assert_eq!(kinds(Rule::NoBackoff, &waiting(Timing::Real, doubling)), []);
    let at_once = (0..10).map(|n| vec![stalled(n, 3), 4 + n, 3, stalled(n + 1, 5)]);
    assert_eq!(
        kinds(Rule::NoBackoff, &waiting(Timing::Real, at_once)),
        [Kind::Broken]
    );
    let flat = (0..10).map(|n| vec![stalled(n, 300 + 20 * n), 310, 350 + n, 400 - 10 * n]);
    assert_eq!(
        kinds(Rule::NoBackoff, &waiting(Timing::Real, flat)),
        [Kind::Broken]
    );
}

#[test]
fn jitter_of_a_fifth_and_draws_from_nothing_upwards_pass_whatever_is_drawn() {
    // With 20 ms for alike, waits of 100 ms with a fifth of jitter were a schedule by chance; so were four short draws.
    let (mut jitter, mut growth) = (0, 0);
    for seed in 0..500 {
        let mut rng = Rng::new(seed, 1);
        let mut spread = |from: u64, to: u64| from + rng.next_u64() % (to - from);
        let fifth: Vec<Vec<u64>> = (0..10)
            .map(|_| (0..4).map(|n| spread(80 << n, 120 << n)).collect())
            .collect();
        let full: Vec<Vec<u64>> = (0..10)
            .map(|_| (0..4).map(|n| spread(0, 50 << n)).collect())
            .collect();
        jitter += usize::from(!kinds(Rule::NoJitter, &waiting(Timing::Real, fifth)).is_empty());
        growth += usize::from(!kinds(Rule::NoBackoff, &waiting(Timing::Real, full)).is_empty());
    }
    assert!(
        jitter <= 5 && growth <= 5,
        "{jitter} and {growth} of 500 right clients were found"
    );
}

#[test]
fn waits_that_are_the_same_are_found_beside_what_a_machine_adds() {
    // Who asks for too much likeness finds no client without jitter on a machine that is not idle.
    let busy = (0..10).map(|n| vec![100 + n, 200 + 3 * n, 400 + n * n, 800 + 5 * n]);
    assert_eq!(
        kinds(Rule::NoJitter, &waiting(Timing::Real, busy)),
        [Kind::Broken]
    );
    let steady = waiting(Timing::Real, [vec![100, 112, 103, 119]]);
    assert_eq!(kinds(Rule::NoBackoff, &steady), [Kind::Broken]);
}
