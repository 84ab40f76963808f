//! What HTTP/2's errors mean for an attempt.
//!
//! | met before the head                                | is                | the server |
//! |----------------------------------------------------|-------------------|------------|
//! | anything before its SETTINGS                        | `Refused`         | saw nothing |
//! | RST_STREAM with REFUSED_STREAM                      | `RefusedStream`   | did not look at it |
//! | GOAWAY with a last stream below ours                | `GoAway`          | did not look at it |
//! | RST_STREAM with anything else                       | `Reset`, `Closed` where it is no error | may have acted |
//! | frames that HTTP/2 forbids                          | `Protocol`        | may have acted |
//! | the connection's end, no byte after our send        | `ReusedClosed` on a shared one | may have acted |
//! | the connection's end, else                          | `Reset`, `Closed` | may have acted |
//!
//! After the head nothing proves any more that the server did not act, whatever it says. A stream at or below a
//! GOAWAY's last goes on, and hears nothing of it. Reference: RFC 9113 6.8, 8.7.

use h2::{Error, Reason};
use seawall_core::facts::{BodyState, Broke};

use super::super::broken::{Broken, chain, is_malformed};
use super::super::line::Met;
use super::super::outgoing::Place;
use super::lease::Lease;
use super::unopened;

/// An error before the server's SETTINGS had come.
pub(super) fn unopened_by(error: &Error, place: &Place) -> Broken {
    if error.is_io() {
        return closed_unopened(place);
    }
    unopened(
        place,
        &format!("answered with something other than HTTP/2: {}", told(error)),
    )
}

/// A close before the server's SETTINGS had come.
pub(super) fn closed_unopened(place: &Place) -> Broken {
    unopened(place, "closed it before its HTTP/2 settings")
}

/// What ended an exchange that has no whole head yet.
pub(super) fn before_head(error: &Error, lease: &Lease) -> Met {
    let place = lease.place();
    let broken = |broke, detail| Broken::headless(broke, lease.sent_bytes(), detail);
    let code = error.reason().unwrap_or(Reason::NO_ERROR);
    let silent = lease.answer_bytes() == 0;
    let (broke, detail) = if error.is_go_away() && error.is_remote() {
        let detail = format!("{place} closed the connection without looking at this request: {code}");
        let away = broken(Broke::GoAway, detail);
        // With an error the server is in trouble, and the engine's own wait is due.
        return match code {
            Reason::NO_ERROR => Met::TurnedAway(away),
            _ => Met::Broke(away),
        };
    } else if error.is_reset() && error.is_remote() {
        match code {
            Reason::REFUSED_STREAM => (
                Broke::RefusedStream,
                format!("{place} refused the stream without looking at this request"),
            ),
            Reason::NO_ERROR => (
                Broke::Closed,
                format!("{place} closed the stream before a whole head"),
            ),
            _ => (
                Broke::Reset,
                format!("{place} reset the stream before a whole head: {code}"),
            ),
        }
    } else if error.is_library() || error.get_io().is_some_and(|error| is_malformed(error)) {
        (
            Broke::Protocol,
            format!(
                "{place} answered with something that HTTP/2 forbids: {}",
                chain(error)
            ),
        )
    } else if !error.is_io() {
        (
            Broke::Request,
            format!("the request cannot be sent: {}", chain(error)),
        )
    } else if silent && lease.sent_bytes() == 0 {
        let detail = format!("{place} closed the connection before anything was sent");
        return Met::NeverSent(broken(Broke::Refused, detail));
    } else if silent && lease.reused() {
        (
            Broke::ReusedClosed,
            format!("{place} closed a shared connection before any byte of an answer"),
        )
    } else if lease.was_reset() {
        (
            Broke::Reset,
            format!("{place} reset the connection before a whole head"),
        )
    } else {
        (
            Broke::Closed,
            format!("{place} closed the connection before a whole head"),
        )
    };
    Met::Broke(broken(broke, detail))
}

/// What ended a request that the connection did not take.
pub(super) fn not_taken(error: &Error, lease: &Lease) -> Met {
    let place = lease.place();
    let (broke, detail) = if error.is_go_away() && error.is_remote() {
        (
            Broke::GoAway,
            format!("{place} had closed the connection before anything was sent"),
        )
    } else if error.is_io() || error.is_go_away() || !lease.link_is_usable() {
        (
            Broke::Refused,
            format!("{place} had closed the connection before anything was sent"),
        )
    } else {
        let detail = format!("the request cannot be sent: {}", chain(error));
        return Met::Broke(Broken::unsent(Broke::Request, detail));
    };
    Met::NeverSent(Broken::unsent(broke, detail))
}

/// What ended a body.
pub(super) fn inside(error: &Error, lease: &Lease, received_bytes: u64) -> Broken {
    let place = lease.place();
    let code = error.reason().unwrap_or(Reason::NO_ERROR);
    let after = format!("after {received_bytes} bytes of the body");
    let (broke, state, detail) =
        if error.is_library() || error.get_io().is_some_and(|error| is_malformed(error)) {
            let state = if lease.promised_more_than(received_bytes) {
                BodyState::Truncated
            } else {
                BodyState::WellFormed
            };
            let detail = format!("{place} broke HTTP/2 {after}: {}", told(error));
            (Broke::Protocol, state, detail)
        } else if !error.is_io() && code != Reason::NO_ERROR {
            let detail = format!("{place} reset the stream {after}: {code}");
            (Broke::Reset, BodyState::Truncated, detail)
        } else if !error.is_io() {
            let detail = format!("{place} closed the stream {after}");
            (Broke::Closed, BodyState::Truncated, detail)
        } else if lease.was_reset() {
            let detail = format!("{place} reset the connection {after}");
            (Broke::Reset, BodyState::Truncated, detail)
        } else {
            let detail = format!("{place} closed the connection {after}");
            (Broke::Closed, BodyState::Truncated, detail)
        };
    Broken::inside(broke, state, lease.sent_bytes(), received_bytes, detail)
}

/// An error for people. Of what the peer wrote the code alone: its debug data may be anything.
fn told(error: &Error) -> String {
    match error.reason() {
        Some(code) if error.is_remote() => format!("it says {code}"),
        Some(_) | None => chain(error),
    }
}
