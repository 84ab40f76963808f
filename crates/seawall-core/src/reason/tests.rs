use super::*;
use alloc::collections::BTreeSet;

/// Every code that was ever given out. Lines are added here and never changed or taken away: logs, dashboards and
/// callers hold on to them.
const GIVEN_OUT: &[&str] = &[
    "first",
    "retry",
    "probe",
    "hedge",
    "fallback",
    "backing-off",
    "server-asked",
    "cooling-down",
    "queued",
    "breaker-wait",
    "budget-wait",
    "rate-wait",
    "succeeded",
    "refused",
    "denied",
    "denied-latched",
    "quota-spent",
    "context-too-long",
    "told-not-to",
    "may-have-acted",
    "attempts-spent",
    "budget-empty",
    "server-asked-too-long",
    "deadline-too-near",
    "deadline-passed",
    "breaker-open",
    "limiter-full",
    "body-too-large",
    "already-streaming",
    "cancelled",
    "no-candidate",
    "cost-max",
    "key-reused",
    "key-in-flight",
    "draining",
    "answer-unfit",
    "row-too-large",
];

/// The variant below this one; `None` below the last. Without a `_` arm, so that a new variant does not compile
/// until it stands here, and with that in the tests.
const fn below(reason: Reason) -> Option<Reason> {
    const D: Duration = Duration::from_secs(12);
    Some(match reason {
        Reason::First => Reason::Retry,
        Reason::Retry => Reason::Probe,
        Reason::Probe => Reason::Hedge,
        Reason::Hedge => Reason::Fallback,
        Reason::Fallback => Reason::BackingOff { wait: D },
        Reason::BackingOff { .. } => Reason::ServerAsked {
            asked: D,
            wait: D,
            cools: true,
        },
        Reason::ServerAsked { .. } => Reason::CoolingDown { left: D },
        Reason::CoolingDown { .. } => Reason::Queued { ahead: 3 },
        Reason::Queued { .. } => Reason::BreakerWait { left: D },
        Reason::BreakerWait { .. } => Reason::BudgetWait { left: D },
        Reason::BudgetWait { .. } => Reason::RateWait { left: D },
        Reason::RateWait { .. } => Reason::Succeeded,
        Reason::Succeeded => Reason::Refused { status: 400 },
        Reason::Refused { .. } => Reason::Denied { status: 401 },
        Reason::Denied { .. } => Reason::DeniedLatched { left: D },
        Reason::DeniedLatched { .. } => Reason::QuotaSpent,
        Reason::QuotaSpent => Reason::ContextTooLong,
        Reason::ContextTooLong => Reason::ToldNotTo,
        Reason::ToldNotTo => Reason::MayHaveActed,
        Reason::MayHaveActed => Reason::AttemptsSpent { sends: 6 },
        Reason::AttemptsSpent { .. } => Reason::BudgetEmpty {
            granted: 10,
            allowed: 10,
        },
        Reason::BudgetEmpty { .. } => Reason::ServerAskedTooLong { asked: D, max: D },
        Reason::ServerAskedTooLong { .. } => Reason::DeadlineTooNear { needs: D, left: D },
        Reason::DeadlineTooNear { .. } => Reason::DeadlinePassed { deadline: D },
        Reason::DeadlinePassed { .. } => Reason::BreakerOpen { retry_in: D },
        Reason::BreakerOpen { .. } => Reason::LimiterFull {
            full: Full::Queue { waiting: 1_000 },
        },
        Reason::LimiterFull { .. } => Reason::BodyTooLarge,
        Reason::BodyTooLarge => Reason::AlreadyStreaming,
        Reason::AlreadyStreaming => Reason::Cancelled,
        Reason::Cancelled => Reason::NoCandidate,
        Reason::NoCandidate => Reason::CostMax,
        Reason::CostMax => Reason::KeyReused,
        Reason::KeyReused => Reason::KeyInFlight,
        Reason::KeyInFlight => Reason::Draining,
        Reason::Draining => Reason::AnswerUnfit,
        Reason::AnswerUnfit => Reason::RowTooLarge,
        Reason::RowTooLarge => return None,
    })
}

fn every_reason() -> impl Iterator<Item = Reason> {
    core::iter::successors(Some(Reason::First), |reason| below(*reason))
}

#[test]
fn a_code_that_was_given_out_is_never_taken_back() {
    // Could break if somebody found a better word for one: whoever greps for the old one finds nothing any more.
    let codes: BTreeSet<&str> = CATALOGUE.iter().map(|entry| entry.code).collect();
    for code in GIVEN_OUT {
        assert!(codes.contains(code), "{code} is gone from the catalogue");
    }
    assert_eq!(
        CATALOGUE.len(),
        GIVEN_OUT.len(),
        "a new code stands at the end of GIVEN_OUT too"
    );
}

#[test]
fn every_reason_is_in_the_catalogue_once() {
    // Could break if a variant were added without an entry, or two variants shared a code.
    let mut seen = BTreeSet::new();
    for reason in every_reason() {
        let entries = CATALOGUE.iter().filter(|entry| entry.code == reason.code());
        assert_eq!(entries.count(), 1, "{}", reason.code());
        assert!(seen.insert(reason.code()), "two reasons say {}", reason.code());
    }
    assert_eq!(seen.len(), CATALOGUE.len(), "an entry without a variant");
}

#[test]
fn a_code_is_a_word_that_headers_and_labels_take() {
    // Could break if a code held a capital, a space or an underscore: headers, labels and greps differ on those.
    for entry in CATALOGUE {
        let plain = |b: u8| b.is_ascii_lowercase() || b == b'-';
        assert!(entry.code.bytes().all(plain), "{}", entry.code);
        assert!(!entry.meaning.is_empty(), "{}", entry.code);
    }
}

#[test]
fn a_sentence_carries_its_numbers_and_has_no_full_stop() {
    // Could break if a sentence were built by hand at one place and lost the number that decided.
    use alloc::string::ToString;
    for reason in every_reason() {
        let said = reason.to_string();
        assert!(!said.is_empty() && !said.ends_with('.'), "{said}");
        let numbers = alloc::format!("{reason:?}").contains(|c: char| c.is_ascii_digit());
        assert_eq!(said.contains(|c: char| c.is_ascii_digit()), numbers, "{said}");
    }
}

#[test]
fn a_sentence_counts_as_people_do() {
    // Could break if a number were printed as it is kept: to the nanosecond, or one of something called several; or
    // if both sides of a comparison were rounded up and looked the same.
    use alloc::string::ToString;
    let odd = Duration::from_nanos(5_098_896_787);
    let least = Duration::from_nanos(5_098_896_786);
    let told = [
        (
            Reason::BackingOff { wait: odd },
            "waiting 5.099s before the next attempt",
        ),
        (
            Reason::DeadlineTooNear {
                needs: odd,
                left: least,
            },
            "the next attempt needs 5.099s, 5.098s is left",
        ),
        (
            Reason::ServerAskedTooLong {
                asked: odd,
                max: least,
            },
            "the server asked for 5.099s; the longest wait possible is 5.098s",
        ),
        (Reason::Queued { ahead: 1 }, "waiting for a place behind 1 other"),
        (
            Reason::LimiterFull {
                full: Full::Queue { waiting: 1 },
            },
            "1 call waits already",
        ),
        (
            Reason::LimiterFull {
                full: Full::Bucket {
                    needs: 12_000,
                    holds: 10_000,
                },
            },
            "the call needs 12000 of a limit that holds 10000",
        ),
        (
            Reason::LimiterFull {
                full: Full::Rate {
                    free_in: Duration::from_secs(43),
                    left: Duration::from_secs(30),
                },
            },
            "the rate limit has room in 43s, and the deadline leaves 30s",
        ),
        (
            Reason::BudgetEmpty {
                granted: 1,
                allowed: 1,
            },
            "the retry budget is empty: 1 extra in its window, 1 allowed",
        ),
        (
            Reason::AttemptsSpent { sends: 1 },
            "the one attempt that the policy allows was made",
        ),
    ];
    for (reason, sentence) in told {
        assert_eq!(reason.to_string(), sentence);
    }
}
