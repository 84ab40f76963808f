//! What cases say in words (`rule`), each as a run of its own.

use super::expected::{Ask, holds};
use super::setup;
use super::{Case, Ended, Ran, act, play, stage};
use crate::stage::Stage;
use seawall::clock::Clock as _;
use seawall::upstream::Call;
use seawall_core::policy::Policy;
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

type Checked = Result<(), String>;

/// Whether the case's rule holds; else what does not.
pub(super) async fn check(case: &Case, policy: Policy) -> Checked {
    match case.id.as_str() {
        "RC-013" => a_stated_cool_down_is_kept(case, policy).await,
        "RC-014" => two_caps(case, policy).await,
        "RC-030" => a_past_date_is_no_hint(case, policy).await,
        "RC-038" => a_hint_is_a_floor(case, policy).await,
        "RC-039" => a_hint_is_never_jittered_down(case, policy).await,
        "RC-081" | "RC-109" => a_stale_connection_is_told_apart(case, policy).await,
        "RC-108" => the_last_answer_is_unchanged(case, policy).await,
        "RC-121" => a_body_that_is_not_kept_goes_once(case, policy).await,
        "RC-145" => an_error_inside_a_stream_is_no_part_of_an_answer(case, policy).await,
        "RC-150" => calls_that_fail_together_do_not_return_together(case, policy).await,
        "RC-151" => gaps_grow(case, policy).await,
        "RC-161" => two_limits_have_two_names(case, policy).await,
        "RC-162" => nothing_starts_after_the_deadline(case, policy).await,
        "RC-173" => a_limit_is_retried_and_a_leaver_is_not(case, policy).await,
        id => Err(format!("nobody checks the rule of {id}: {}", case.then["rule"])),
    }
}

async fn played(case: &Case, script: Vec<Value>, policy: Policy, seed: u64) -> Ran {
    let stage = stage(case, script, policy, seed).await;
    play(case, &stage, policy).await.remove(0)
}

/// One more call on a stage, and everything that its server has seen.
async fn next(stage: &Stage, call: Call, policy: Policy) -> Ran {
    let (ended, took) = stage.run(act(stage, call, None)).await;
    Ran {
        policy,
        requests: stage.server.requests(),
        ended,
        took,
    }
}

fn code(ran: &Ran) -> &'static str {
    match &ran.ended {
        Ended::Answered(_) => "succeeded",
        Ended::Failed(error) => error.reason.code(),
        Ended::Left => "cancelled",
    }
}

fn all(ran: &Ran, asks: &[Ask]) -> Checked {
    match asks.iter().find(|ask| !holds(**ask, ran)) {
        Some(ask) => Err(format!("{ask:?} does not hold; it was {ran}")),
        None => Ok(()),
    }
}

async fn a_stated_cool_down_is_kept(case: &Case, policy: Policy) -> Checked {
    let stage = stage(case, case.script(), policy, 1).await;
    let first = next(&stage, setup::call(case, 0), policy).await;
    all(&first, &[Ask::N(1), Ask::Status(429), Ask::RetryAfter(7_999)])?;
    // A quarter of an hour is where the client that failed began to probe.
    for seconds in [1, 900, 3_600, 7_900] {
        stage.clock.advance(left_until(&stage, seconds));
        let ran = next(&stage, setup::call(case, 0), policy).await;
        ran.is(
            |ran| ran.requests.len() == 1 && code(ran) == "cooling-down",
            "no probe in a cool-down",
        )?;
    }
    // One that need not wait for long waits, and is sent when the server said and not before.
    stage.clock.advance(left_until(&stage, 7_998));
    let ran = next(&stage, setup::call(case, 0), policy).await;
    let sent_at = ran.requests.get(1).map(|request| request.at);
    ran.is(
        |_| sent_at == Some(Instant::START.after(Duration::from_secs(7_999))),
        "the next request comes with the end of the cool-down",
    )
}

fn left_until(stage: &Stage, seconds: u64) -> Duration {
    Instant::START
        .after(Duration::from_secs(seconds))
        .since(stage.clock.now())
}

async fn two_caps(case: &Case, policy: Policy) -> Checked {
    let ran = played(case, case.script(), policy, 1).await;
    all(&ran, &[Ask::N(1), Ask::Status(429), Ask::RetryAfter(3_600)])?;
    let ran = played(case, vec![json!({"s": 500})], policy, 1).await;
    let own = (0..).map_while(|i| ran.gap_ms(i));
    ran.is(
        |ran| ran.requests.len() > 3 && own.max() <= Some(2_000),
        "own waits keep to their own cap",
    )
}

async fn a_past_date_is_no_hint(case: &Case, policy: Policy) -> Checked {
    let ran = played(case, case.script(), policy, 1).await;
    all(
        &ran,
        &[
            Ask::Ok,
            Ask::N(2),
            Ask::Gap {
                i: 0,
                from_ms: 50,
                to_ms: 500,
            },
        ],
    )?;
    // Nothing of it is told to the caller either.
    let ran = played(case, case.script()[..1].to_vec(), policy, 1).await;
    let told = ran.ended.error().and_then(|error| error.retry_after);
    ran.is(
        |_| told.is_none_or(|after| after < Duration::from_secs(60)),
        "no wait of an hour is told",
    )
}

async fn a_hint_is_a_floor(case: &Case, policy: Policy) -> Checked {
    for seed in 1..=20 {
        let ran = played(case, case.script(), policy, seed).await;
        let exact = |i| Ask::Gap {
            i,
            from_ms: 1_000,
            to_ms: 1_000,
        };
        let third = Ask::Gap {
            i: 2,
            from_ms: 1_000,
            to_ms: 2_000,
        };
        all(&ran, &[Ask::Ok, Ask::N(4), exact(0), exact(1), third])?;
    }
    Ok(())
}

async fn a_hint_is_never_jittered_down(case: &Case, policy: Policy) -> Checked {
    for seed in 1..=20 {
        let ran = played(case, case.script(), policy, seed).await;
        all(
            &ran,
            &[
                Ask::Ok,
                Ask::Gap {
                    i: 0,
                    from_ms: 3_000,
                    to_ms: 3_300,
                },
            ],
        )?;
    }
    Ok(())
}

async fn a_stale_connection_is_told_apart(case: &Case, policy: Policy) -> Checked {
    // A keyless write: not sent again, and unknown.
    let stale = stage(case, case.script(), policy, 1).await;
    next(&stale, setup::call(case, 0), policy).await;
    let ran = next(&stale, setup::call(case, 0), policy).await;
    ran.is(
        |ran| ran.requests.len() == 2 && code(ran) == "may-have-acted",
        "a keyless write is sent once",
    )?;
    let reused = ran.requests[0].connection == ran.requests[1].connection;
    let unknown = ran.ended.error().is_some_and(|error| error.unknown.is_some());
    ran.is(
        |_| reused && unknown,
        "it went over the kept connection, and its outcome is unknown",
    )?;
    // What may be repeated is sent again inside its attempt, and that is told apart from a retry.
    let stale = stage(case, case.script(), policy, 1).await;
    next(&stale, Call::get("/v1/things"), policy).await;
    let ran = next(&stale, Call::get("/v1/things"), policy).await;
    let resent = match &ran.ended {
        Ended::Answered(answer) => answer.attempts.len() == 1 && answer.attempts[0].resent,
        Ended::Failed(_) | Ended::Left => false,
    };
    ran.is(
        |ran| resent && ran.requests.len() == 3,
        "a GET is sent again, once, inside its attempt",
    )?;
    let fresh = stage(case, case.script()[1..].to_vec(), policy, 1).await;
    let ran = next(&fresh, Call::get("/v1/things"), policy).await;
    let retried = match &ran.ended {
        Ended::Answered(answer) => {
            answer.attempts.len() == 2 && answer.attempts.iter().all(|note| !note.resent)
        }
        Ended::Failed(_) | Ended::Left => false,
    };
    ran.is(|_| retried, "over a fresh connection the same is a retry")?;
    // A connection is given up before its server does.
    let kept = json!({"s": 200, "b": "ok", "h": {"Keep-Alive": "timeout=5"}});
    let idle = stage(case, vec![kept], policy, 1).await;
    next(&idle, setup::call(case, 0), policy).await;
    idle.clock.advance(Duration::from_millis(4_500));
    let ran = next(&idle, setup::call(case, 0), policy).await;
    ran.is(
        |ran| ran.requests[0].connection != ran.requests[1].connection,
        "it is not kept for 5s",
    )
}

async fn the_last_answer_is_unchanged(case: &Case, policy: Policy) -> Checked {
    let mut first = case.script()[0].clone();
    first["h"] = json!({"X-Detail": "  one, \"two\"", "Retry-Count": "0"});
    let ran = played(case, vec![first], policy, 1).await;
    let answer = ran.ended.error().and_then(|error| error.answer.as_ref());
    let Some(answer) = answer else {
        return Err(format!("there is no answer; it was {ran}"));
    };
    let header = |name: &str| answer.headers.get(name).map(http::HeaderValue::as_bytes);
    ran.is(
        |_| {
            answer.status == 500
                && answer.body == "upstream detail"
                && header("x-detail") == Some(b"one, \"two\"")
                && header("retry-count") == Some(b"0")
                && header("content-type") == Some(b"text/plain")
        },
        "status, headers and body are the server's own",
    )
}

async fn a_body_that_is_not_kept_goes_once(case: &Case, policy: Policy) -> Checked {
    let ran = played(case, vec![json!({"s": 503})], policy, 1).await;
    all(&ran, &[Ask::N(1), Ask::Status(503), Ask::SameBody])?;
    ran.is(
        |ran| code(ran) == "body-too-large",
        "the reason is that the body cannot be sent again",
    )
}

/// By rule L1 what was handed to nobody may be asked for again; by L3 half a stream is never an answer.
async fn an_error_inside_a_stream_is_no_part_of_an_answer(case: &Case, policy: Policy) -> Checked {
    let ran = played(case, case.script(), policy, 1).await;
    all(&ran, &[Ask::N(2), Ask::Ok])?;
    let body = match &ran.ended {
        Ended::Answered(answer) => String::from_utf8_lossy(&answer.body).into_owned(),
        Ended::Failed(_) | Ended::Left => String::new(),
    };
    ran.is(
        |_| body.matches("[DONE]").count() == 1 && !body.contains("overloaded"),
        "the answer is the second stream alone",
    )?;
    let once = seawall_core::policy::PolicyBuilder::from_policy(policy).retries(0);
    let ran = played(case, case.script(), once.build().unwrap(), 1).await;
    let partial = ran.ended.error().and_then(|error| error.answer.as_ref());
    ran.is(
        |_| partial.is_some_and(|answer| answer.body.starts_with(b"data: {\"choices\"")),
        "without a retry, what came is in the error",
    )
}

/// By rule C6 the case's own twenty, all throttled at once, wait for one cool-down and come back in an order; the
/// spread that the case asks for is that of calls which no cool-down holds.
async fn calls_that_fail_together_do_not_return_together(case: &Case, policy: Policy) -> Checked {
    let mut gaps = Vec::new();
    for seed in 1..=20 {
        let stage = stage(case, case.script(), policy, seed).await;
        let pair = (0..2).map(|lane| act(&stage, setup::call(case, lane), None));
        stage.run_all(pair.collect()).await;
        for lane in ["0", "1"] {
            let requests = stage.server.requests();
            let at: Vec<Instant> = requests
                .iter()
                .filter(|request| request.lane() == lane)
                .map(|request| request.at)
                .collect();
            let [first, second] = at[..] else {
                return Err(format!("{} requests where two are due", at.len()));
            };
            gaps.push(second.since(first).as_millis());
        }
    }
    let n = u64::try_from(gaps.len()).unwrap();
    let mean = gaps.iter().sum::<u64>() / n;
    let variance = gaps.iter().map(|gap| gap.abs_diff(mean).pow(2)).sum::<u64>() / n;
    // The deviation is above a tenth of the mean, in integers.
    if variance * 100 <= mean * mean {
        return Err(format!("the gaps are too alike: {gaps:?}"));
    }
    at_most_half_return_at_once(case, policy).await
}

async fn at_most_half_return_at_once(case: &Case, policy: Policy) -> Checked {
    let slow = vec![json!({"s": 429}), json!({"s": 200, "delay": "100ms"})];
    let stage = stage(case, slow, policy, 1).await;
    let ran = play(case, &stage, policy).await;
    let mut again: Vec<Instant> = ran
        .iter()
        .filter_map(|ran| Some(ran.requests.get(1)?.at))
        .collect();
    again.sort_unstable();
    let together = again.chunk_by(|one, other| one == other).map(<[Instant]>::len);
    let most = together.max().unwrap_or(0);
    if again.len() >= 10 && most * 2 <= ran.len() {
        Ok(())
    } else {
        Err(format!("of {} calls these came back: {again:?}", ran.len()))
    }
}

async fn gaps_grow(case: &Case, policy: Policy) -> Checked {
    const RUNS: u64 = 40;
    let mut sums = [0; 5];
    for seed in 1..=RUNS {
        let ran = played(case, case.script(), policy, seed).await;
        all(&ran, &[Ask::NAllowed, Ask::Status(429)])?;
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum += ran
                .gap_ms(i)
                .ok_or_else(|| format!("there is no gap {i}; it was {ran}"))?;
        }
    }
    // Each ceiling is twice the one before; so are the means, but for what 40 draws scatter.
    let grow = sums.windows(2).all(|pair| pair[1] * 2 > pair[0] * 3);
    if grow {
        Ok(())
    } else {
        Err(format!("the sums of {RUNS} gaps each are {sums:?}"))
    }
}

async fn two_limits_have_two_names(case: &Case, policy: Policy) -> Checked {
    let ran = played(case, case.script(), policy, 1).await;
    ran.is(
        |ran| code(ran) == "deadline-passed" && ran.took.as_secs() == 10,
        "the total limit is the deadline",
    )?;
    let short = seawall_core::policy::PolicyBuilder::from_policy(policy).first_byte(Duration::from_secs(2));
    let ran = played(case, case.script(), short.build().unwrap(), 1).await;
    let detail = ran
        .ended
        .error()
        .and_then(|error| error.detail.clone())
        .unwrap_or_default();
    ran.is(
        |ran| ran.requests.len() > 1 && ran.took <= Duration::from_secs(10) && detail.contains("within"),
        "the limit of one attempt is another, and the deadline holds over all of them",
    )
}

async fn nothing_starts_after_the_deadline(case: &Case, policy: Policy) -> Checked {
    for seed in 1..=20 {
        let ran = played(case, case.script(), policy, seed).await;
        let last = ran.requests.last().map(|request| request.at);
        let deadline = Instant::START.after(Duration::from_secs(10));
        ran.is(
            |_| last.is_some_and(|at| at < deadline),
            "no request after the deadline",
        )?;
        ran.is(
            |ran| ran.took <= Duration::from_secs(10),
            "no wait past the deadline",
        )?;
        all(&ran, &[Ask::Status(503)])?;
    }
    Ok(())
}

async fn a_limit_is_retried_and_a_leaver_is_not(case: &Case, policy: Policy) -> Checked {
    let ran = played(case, case.script(), policy, 1).await;
    all(&ran, &[Ask::Ok, Ask::N(2)])?;
    let stage = stage(case, case.script(), policy, 1).await;
    let leaves = Some(Duration::from_millis(500));
    let (ended, took) = stage.run(act(&stage, setup::call(case, 0), leaves)).await;
    stage.clock.advance(Duration::from_secs(1_000));
    let requests = stage.server.requests();
    let ran = Ran {
        policy,
        requests,
        ended,
        took,
    };
    ran.is(
        |ran| ran.requests.len() == 1 && code(ran) == "cancelled",
        "a caller that left is not retried",
    )
}
