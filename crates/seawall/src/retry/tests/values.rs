//! Answers that are rejected, keys, limits of one call, and functions as calls.

use super::*;
use seawall_core::policy::Preset;
use seawall_core::reason::Reason;
use std::collections::BTreeSet;

/// A call on its own under `policy`, whose attempts bring one after another.
fn calls<T: Clone>(answers: &[T]) -> impl FnMut() -> std::future::Ready<Result<T, Failure>> {
    let mut answers = answers.iter().cloned();
    move || std::future::ready(answers.next().ok_or(Failure::permanent()))
}

#[test]
fn an_answer_that_is_rejected_is_a_failure_to_everybody() {
    // Could break if the attempt ahead of the engine, or a later one, were taken at its word; or if the gate learned that
    // all is well.
    let clock = CrankedClock::new();
    let gate = gate(&policy(), &clock);
    let answer = run(
        &clock,
        retry(calls(&[0, 0, 7]), &gate).reject(|answer| *answer == 0),
    );
    assert_eq!(answer, Ok(7));
    let met: Vec<_> = lines(gate.hub())
        .into_iter()
        .filter(|line| line.contains(" met "))
        .collect();
    assert_eq!(
        met.iter().filter(|line| line.contains("met failed")).count(),
        2,
        "{met:#?}"
    );

    let policy = policy();
    let alone = || Alone::by(&policy).clock(Arc::new(clock.clone()));
    let answer = run(
        &clock,
        retry(calls(&[0, 7]), alone()).reject(|answer| *answer == 0),
    );
    assert_eq!(answer, Ok(7));
    let answer = run(&clock, retry(calls(&[7]), alone()).reject(|answer| *answer == 0));
    assert_eq!(answer, Ok(7));
}

#[test]
fn who_is_rejected_to_the_end_has_the_last_answer() {
    // Could break if the answer that came last were lost, or given out as one.
    let clock = CrankedClock::new();
    let policy = policy();
    let alone = || Alone::by(&policy).clock(Arc::new(clock.clone()));
    let call = retry(calls(&[1, 2, 3]), alone()).retries_max(1).reject(|_| true);
    let error = run(&clock, call).unwrap_err();
    assert_eq!(error.reason, Reason::AttemptsSpent { sends: 2 });
    assert_eq!(error.into_last(), Some(Unmet::Rejected(2)));

    let call = retry(calls(&[1]), alone()).classify_ok(|_| Some(Failure::permanent()));
    let error = run(&clock, call).unwrap_err();
    assert_eq!((error.attempts, error.reason.code()), (1, "refused"));

    // An error after it is the last word.
    let error = run(&clock, retry(calls(&[1]), alone()).reject(|_| true)).unwrap_err();
    assert_eq!(error.into_last(), Some(Unmet::Failed(Failure::permanent())));
}

#[test]
fn an_answer_says_how_long_to_wait() {
    // Could break if what an answer says were only whether, and not what.
    let clock = CrankedClock::new();
    let policy = policy();
    let alone = Alone::by(&policy).clock(Arc::new(clock.clone()));
    let wait = Duration::from_secs(9);
    let call = retry(calls(&[0, 7]), alone)
        .classify_ok(|answer| (*answer == 0).then_some(Failure::throttled().retry_after(wait)));
    assert_eq!(run(&clock, call), Ok(7));
    assert_eq!(clock.now().since(seawall_core::time::Instant::START), wait);
}

#[test]
fn a_call_has_one_key_and_no_two_calls_have_the_same() {
    // Could break with a key for each attempt: a server would do each of them.
    let clock = CrankedClock::new();
    let gate = gate(&policy(), &clock);
    let policy = policy();
    let mut keys = BTreeSet::new();
    for call in 0..8 {
        let mut seen = BTreeSet::new();
        let mut attempts = 0;
        let make = |attempt: Attempt| {
            attempts += 1;
            seen.insert(attempt.key().to_string());
            std::future::ready(if attempts == 3 {
                Ok(())
            } else {
                Err(Failure::transient())
            })
        };
        let alone = Alone::by(&policy).clock(Arc::new(clock.clone())).into();
        let rules: Rules<'_> = if call % 2 == 0 { (&gate).into() } else { alone };
        assert_eq!(run(&clock, retry_with(make, rules)), Ok(()));
        assert_eq!((attempts, seen.len()), (3, 1));
        let key = seen.pop_first().unwrap();
        let parsed = uuid::Uuid::parse_str(&key).unwrap();
        assert_eq!(parsed.get_version_num(), 7, "{key}");
        assert_eq!(parsed.get_variant(), uuid::Variant::RFC4122, "{key}");
        assert!(keys.insert(key));
    }
}

#[test]
fn a_callers_own_key_is_the_one_and_a_seed_draws_the_same() {
    // Could break if a key were made all the same, or if a replay of a test drew another.
    let clock = CrankedClock::new();
    let policy = policy();
    let seen = RefCell::new(Vec::new());
    let make = |attempt: Attempt| {
        seen.borrow_mut().push(attempt.key().as_str().to_owned());
        std::future::ready(Ok::<_, Failure>(()))
    };
    let alone = || Alone::by(&policy).clock(Arc::new(clock.clone())).seed(SEED);
    run(&clock, retry_with(make, alone()).key("order-7")).unwrap();
    run(&clock, retry_with(make, alone())).unwrap();
    run(&clock, retry_with(make, alone())).unwrap();
    let seen = seen.into_inner();
    assert_eq!(seen[0], "order-7");
    assert_eq!(seen[1], seen[2]);
}

#[test]
fn a_write_whose_key_is_honoured_is_repeated_though_it_may_have_acted() {
    // Could break if a key alone were believed, or the promise were not.
    let clock = CrankedClock::new();
    let policy = Policy::preset(Preset::Writes);
    let call = |replay| {
        let mut left = 2;
        let make = move |_: Attempt| {
            left -= 1;
            std::future::ready(if left == 0 {
                Ok(())
            } else {
                Err(Failure::transient())
            })
        };
        let alone = Alone::by(&policy).clock(Arc::new(clock.clone()));
        run(&clock, retry_with(make, alone).replay(replay)).map_err(|error| error.reason.code())
    };
    assert_eq!(call(Replay::Keyed), Ok(()));
    assert_eq!(call(Replay::Declared), Err("may-have-acted"));
}

#[test]
fn an_attempt_of_one_call_is_cut_where_that_call_says_and_never_later_than_its_policy() {
    // Could break if the limit of one call lengthened the policy's, or held for later attempts alone.
    let clock = CrankedClock::new();
    let policy = seawall_core::policy::PolicyBuilder::from_policy(policy())
        .total(Duration::from_secs(2))
        .build()
        .unwrap();
    for (own, cut) in [(1, 1), (5, 2)] {
        let gate = gate(&policy, &clock);
        let alone = Alone::by(&policy).clock(Arc::new(clock.clone())).into();
        for rules in [alone, Rules::from(&gate)] {
            let began = clock.now();
            let call = retry(std::future::pending::<Result<(), Failure>>, rules)
                .total(Duration::from_secs(own))
                .retries_max(0);
            let error = run(&clock, call).unwrap_err();
            assert_eq!(error.reason.code(), "attempts-spent");
            assert_eq!(clock.now().since(began), Duration::from_secs(cut));
        }
    }
}

#[test]
fn functions_are_calls() {
    // Could break if the method took closures alone, or a function by reference.
    async fn fetch() -> Result<u32, Failure> {
        Ok(7)
    }
    let clock = CrankedClock::new();
    let policy = policy();
    assert_eq!(run(&clock, fetch.retry(&policy)), Ok(7));
    let seven = 7;
    assert_eq!(
        run(&clock, (async || Ok::<_, Failure>(seven)).retry(&policy)),
        Ok(7)
    );
}
