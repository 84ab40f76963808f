//! One attempt up to the head of its answer, with a credential that is still good.

use super::attempt::{Flown, Judged, read_to_end};
use super::credential::Badge;
use super::refresh::Refresher;
use super::{Prepared, Shared};
use crate::http::{self, AttemptLimits, Broken, Outgoing};
use crate::hub::Leave;
use ::http::{HeaderName, StatusCode};
use seawall_core::outcome::{Outcome, Sent};
use seawall_core::time::{Duration, Instant};

/// How far an attempt came by its answer's head.
pub(super) enum Headed {
    /// There is a body to be read, or it broke before.
    Head(Head),
    /// It is over: what the head said was enough.
    Over(Flown),
}

/// Whether the request went out more than once (rules D5 and D6), and what a send before the last may have done.
#[derive(Clone, Copy)]
pub(super) struct Again {
    pub(super) resent: bool,
    pub(super) earlier: Sent,
}

/// The head of an answer, or where it broke.
pub(super) struct Head {
    pub(super) result: Result<http::Answer, Broken>,
    pub(super) again: Again,
    pub(super) first_byte: Option<Duration>,
    /// The version of the credential that it was sent with, where those end.
    pub(super) version: Option<u32>,
}

impl Head {
    /// A version of the credential that a server took is worth replacing when it is denied later.
    pub(super) fn note_outcome(shared: &Shared, version: Option<u32>, outcome: &Outcome) {
        if let (Badge::Ending(_, refresher), Some(number)) = (&shared.badge, version) {
            match outcome {
                Outcome::Answer | Outcome::Refused(_) => refresher.accepted(number),
                Outcome::Throttled { .. } | Outcome::Failed { .. } | Outcome::Denied { .. } => {}
            }
        }
    }
}

/// Sends what is prepared, by `by`, and waits for the head of its answer.
pub(super) async fn head(shared: &Shared, prepared: &Prepared, by: Instant, leave: &mut Leave<'_>) -> Headed {
    match &shared.badge {
        Badge::Lasting(_) => Headed::Head(send_once(shared, prepared, &prepared.out, by, leave).await),
        Badge::Ending(header, refresher) => {
            send_renewed(shared, prepared, (header, refresher), by, leave).await
        }
    }
}

/// Sends with the newest version of the credential; where that is denied, once more with a newer one (rule D6).
async fn send_renewed(
    shared: &Shared,
    prepared: &Prepared,
    (header, refresher): (&HeaderName, &Refresher),
    by: Instant,
    leave: &mut Leave<'_>,
) -> Headed {
    let clock = shared.hub.clock();
    let mut out = prepared.out.clone();
    let version = match refresher.version(by).await {
        Ok(version) => version,
        Err(why) => return Headed::Over(Flown::nothing(&why)),
    };
    leave.renew(version.number);
    out.headers.insert(header.clone(), version.secret.to_value());
    let mut head = send_once(shared, prepared, &out, by, leave).await;
    head.version = Some(version.number);
    let before = head.again.earlier;
    if !is_unauthorized(&head) {
        return Headed::Head(head);
    }
    let Flown {
        mut judged,
        first_byte,
    } = read_to_end(shared, prepared, head, leave).await;
    let over = |judged| Headed::Over(Flown { judged, first_byte });
    if !asks_for_a_new_credential(&judged) {
        return over(judged);
    }
    leave.sent_back();
    let version = match refresher.newer_than(&version, by).await {
        Ok(version) if clock.now() < by => version,
        Ok(_) => {
            judged.detail = Some("no time was left to send it with a new one".to_owned());
            return over(judged);
        }
        Err(why) => {
            judged.detail = Some(why.to_string());
            return over(judged);
        }
    };
    // Before the second answer is held: the first has served its turn.
    drop(judged);
    leave.renew(version.number);
    out.headers.insert(header.clone(), version.secret.to_value());
    let mut head = send_once(shared, prepared, &out, by, leave).await;
    head.version = Some(version.number);
    head.again.resent = true;
    if before == Sent::Maybe {
        head.again.earlier = before;
    }
    Headed::Head(head)
}

fn is_unauthorized(head: &Head) -> bool {
    let status = head.result.as_ref().map(|answer| answer.status);
    status.is_ok_and(|status| status == StatusCode::UNAUTHORIZED)
}

/// Whether a new version of the credential is what this answer asks for (rule D6).
fn asks_for_a_new_credential(judged: &Judged) -> bool {
    let denied = matches!(judged.report.outcome, Outcome::Denied { latches: true });
    denied && judged.report.status == StatusCode::UNAUTHORIZED.as_u16()
}

/// Sends `out`, with its one re-send (rule D5), and waits for the head of its answer.
async fn send_once(
    shared: &Shared,
    prepared: &Prepared,
    out: &Outgoing,
    by: Instant,
    leave: &mut Leave<'_>,
) -> Head {
    let limits = *leave.limits();
    let limits = AttemptLimits {
        connect: limits.connect,
        first_byte: limits.first_byte,
        idle: limits.idle,
        total: Some(by.since(shared.hub.clock().now())),
    };
    let attempted = shared
        .transport
        .attempt_telling(out, &limits, prepared.resend, || leave.leaving())
        .await;
    if let Ok(answer) = &attempted.result {
        let wall = shared.hub.clock().wall();
        leave.learned(&http::learned(answer.status, &answer.headers, wall));
    }
    Head {
        result: attempted.result,
        again: Again {
            resent: attempted.resent,
            earlier: attempted.earlier,
        },
        first_byte: attempted.first_byte,
        version: None,
    }
}
