//! What errors say, through the engine's own table.

use super::*;
use seawall_core::facts::Broke;
use seawall_core::outcome::{Cause, Hint, HintSource, Outcome, Refusal, Sent};
use std::io;
use std::net::ToSocketAddrs as _;

fn outcome(failure: Failure) -> Outcome {
    failure.report().outcome
}

const fn failed(cause: Cause, sent: Sent) -> Outcome {
    Outcome::Failed {
        cause,
        sent,
        hint: None,
    }
}

const fn hint(ms: u64, cools: bool) -> Option<Hint> {
    Some(Hint {
        wait: Duration::from_millis(ms),
        cools,
        source: HintSource::RetryAfterMs,
    })
}

#[test]
fn what_an_error_says_is_read_by_the_one_table() {
    // Could break if a closure's 503 were something else than an upstream's.
    for (failure, expected) in [
        (Failure::transient(), failed(Cause::Cut, Sent::Maybe)),
        (Failure::permanent(), Outcome::Refused(Refusal::Caller)),
        (Failure::throttled(), Outcome::Throttled { hint: None }),
        (Failure::status(503), failed(Cause::Status, Sent::Maybe)),
        (Failure::status(404), Outcome::Refused(Refusal::Caller)),
        (Failure::status(401), Outcome::Denied { latches: true }),
        (Failure::status(200), failed(Cause::Malformed, Sent::Maybe)),
        (Failure::status(0), failed(Cause::Malformed, Sent::Maybe)),
        (Failure::status(u16::MAX), failed(Cause::Status, Sent::Maybe)),
        (Failure::broke(Broke::Refused), failed(Cause::Connect, Sent::No)),
        (Failure::broke(Broke::Request), failed(Cause::Request, Sent::No)),
    ] {
        assert_eq!(outcome(failure), expected, "{failure:?}");
    }
}

#[test]
fn a_word_on_waiting_means_what_the_header_would() {
    // Could break if a hint lost what it says of the gate, of the attempt, or a part of a millisecond.
    let second = Duration::from_secs(1);
    let throttled = Failure::status(429).retry_after(second);
    assert_eq!(
        outcome(throttled),
        Outcome::Throttled {
            hint: hint(1_000, true)
        }
    );
    let unavailable = Failure::status(503).retry_after(Duration::from_micros(1_500));
    let expected = Outcome::Failed {
        cause: Cause::Status,
        sent: Sent::NotDone,
        hint: hint(2, true),
    };
    assert_eq!(outcome(unavailable), expected);
    let cut = Failure::transient().retry_after(second);
    let expected = Outcome::Failed {
        cause: Cause::Cut,
        sent: Sent::Maybe,
        hint: hint(1_000, false),
    };
    assert_eq!(outcome(cut), expected);
    let nothing = Failure::status(503).retry_after(Duration::ZERO);
    assert_eq!(outcome(nothing), outcome(Failure::status(503)));
    let refused = Failure::permanent().retry_after(second);
    assert_eq!(outcome(refused), outcome(Failure::permanent()));
}

#[test]
fn a_word_on_waiting_is_never_an_answer_or_a_panic() {
    // Could break at lengths that do not fit where the table reads them.
    for wait in [Duration::from_nanos(1), Duration::MAX] {
        for failure in [Failure::status(429), Failure::status(200), Failure::transient()] {
            assert_ne!(outcome(failure.retry_after(wait)), Outcome::Answer);
        }
    }
}

#[test]
fn what_the_system_says_of_sockets_is_worth_another_attempt_and_of_files_not() {
    // Could break if a missing file were waited for, or a reset connection given up; and what never left must be told
    // from what may have acted.
    use io::ErrorKind as Kind;
    let of = |kind| outcome(io::Error::from(kind).classify());
    assert_eq!(of(Kind::ConnectionRefused), failed(Cause::Connect, Sent::No));
    for kind in [
        Kind::ConnectionReset,
        Kind::BrokenPipe,
        Kind::UnexpectedEof,
        Kind::NetworkDown,
        Kind::Interrupted,
    ] {
        assert_eq!(of(kind), failed(Cause::Cut, Sent::Maybe), "{kind}");
    }
    for kind in [Kind::TimedOut, Kind::WouldBlock] {
        assert_eq!(of(kind), failed(Cause::Timeout, Sent::Maybe), "{kind}");
    }
    for kind in [
        Kind::NotFound,
        Kind::PermissionDenied,
        Kind::InvalidInput,
        Kind::InvalidData,
        Kind::Other,
    ] {
        assert_eq!(of(kind).name(), "refused", "{kind}");
    }
}

#[test]
fn a_name_that_does_not_resolve_was_never_sent_to() {
    // The standard library has no kind for it, only words. A name with an empty label is refused by the resolver
    // itself, without a network.
    let error = "a..b:1".to_socket_addrs().unwrap_err();
    assert_eq!(
        outcome(error.classify()),
        failed(Cause::Connect, Sent::No),
        "{error}"
    );
}

#[cfg(feature = "http")]
#[test]
fn a_status_is_an_error_type_of_its_own() {
    // Could break if the status were lost on the way to the table.
    assert_eq!(::http::StatusCode::BAD_GATEWAY.classify(), Failure::status(502));
}
