//! One attempt of a call: over the transport, and its facts through the classification table.

use super::credential::Badge;
use super::end::AttemptNote;
use super::hold::{Held, read_whole};
use super::refresh::Refresher;
use super::{Prepared, Shared, usage};
use crate::body::{OwnedBodyFacts, Wire};
use crate::http::{AttemptLimits, Broken, HeaderFacts, Outgoing};
use crate::hub::{Landed, Leave};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode, header};
use seawall_core::classify::{Classified, classify};
use seawall_core::facts::{BodyFacts, BodyState, Broke, Facts, NoHeaders};
use seawall_core::hint;
use seawall_core::learned::Learned;
use seawall_core::outcome::{Outcome, Report};
use seawall_core::time::{Duration, Instant};

/// What one attempt brought home.
pub(super) struct Brought {
    pub(super) note: AttemptNote,
    pub(super) judged: Judged,
}

/// What the classification table made of an attempt.
pub(super) struct Judged {
    pub(super) report: Report,
    pub(super) heard: Option<Heard>,
    pub(super) detail: Option<String>,
}

/// An answer, whole or as much of it as came.
pub(super) struct Heard {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) state: BodyState,
    /// For as long as the call keeps the body.
    pub(super) _held: Held,
}

/// Sends one attempt that the engine permitted, and reads its answer whole.
pub(super) async fn attempt<'h>(
    shared: &Shared,
    prepared: &Prepared,
    mut leave: Leave<'h>,
) -> Landed<'h, Brought> {
    let now = shared.hub.clock().now();
    let limits = leave.limits();
    let by = now.after(limits.total.min(limits.deadline.since(now)));
    let sent_for = leave.role().reason().code();
    let Flown { judged, first_byte } = match &shared.badge {
        Badge::Lasting(_) => send_once(shared, prepared, &prepared.out, by, &mut leave).await,
        Badge::Ending(header, refresher) => {
            send_renewed(shared, prepared, (header, refresher), by, &mut leave).await
        }
    };
    let note = AttemptNote {
        candidate: leave.candidate(),
        sent_for,
        outcome: judged.report.outcome.name(),
        status: judged.heard.as_ref().map(|heard| heard.status.as_u16()),
        resent: judged.report.resent,
        first_byte,
    };
    leave.landed(judged.report, Brought { note, judged })
}

/// What an attempt met, or one send of it.
pub(super) struct Flown {
    pub(super) judged: Judged,
    pub(super) first_byte: Option<Duration>,
}

impl Flown {
    /// Nothing was sent: there is no credential to send it with.
    fn nothing(why: &str) -> Self {
        Self {
            judged: Judged {
                report: Report::of(Outcome::Denied { latches: false }),
                heard: None,
                detail: Some(format!("nothing was sent: {why}")),
            },
            first_byte: None,
        }
    }

    /// Whether a new version of the credential is what this answer asks for (rule D6).
    fn asks_for_a_new_credential(&self) -> bool {
        let denied = matches!(self.judged.report.outcome, Outcome::Denied { latches: true });
        denied && self.judged.report.status == StatusCode::UNAUTHORIZED.as_u16()
    }
}

/// Sends with the newest version of the credential; where that is denied, once more with a newer one (rule D6).
async fn send_renewed(
    shared: &Shared,
    prepared: &Prepared,
    (header, refresher): (&HeaderName, &Refresher),
    by: Instant,
    leave: &mut Leave<'_>,
) -> Flown {
    let clock = shared.hub.clock();
    let mut out = prepared.out.clone();
    let version = match refresher.version(by).await {
        Ok(version) => version,
        Err(why) => return Flown::nothing(&why),
    };
    leave.renew(version.number);
    out.headers.insert(header.clone(), version.secret.to_value());
    let mut flown = send_once(shared, prepared, &out, by, leave).await;
    if !flown.asks_for_a_new_credential() {
        note_accepted(refresher, version.number, &flown);
        return flown;
    }
    leave.sent_back();
    let version = match refresher.newer_than(version.number, by).await {
        Ok(version) if clock.now() < by => version,
        Ok(_) => {
            flown.judged.detail = Some("no time was left to send it with a new one".to_owned());
            return flown;
        }
        Err(why) => {
            flown.judged.detail = Some(why.to_string());
            return flown;
        }
    };
    // Before the second answer is held: the first has served its turn.
    drop(flown);
    leave.renew(version.number);
    out.headers.insert(header.clone(), version.secret.to_value());
    let mut flown = send_once(shared, prepared, &out, by, leave).await;
    flown.judged.report.resent = true;
    note_accepted(refresher, version.number, &flown);
    flown
}

/// A version that a server took is worth replacing when it is denied later.
fn note_accepted(refresher: &Refresher, number: u32, flown: &Flown) {
    match flown.judged.report.outcome {
        Outcome::Answer | Outcome::Refused(_) => refresher.accepted(number),
        Outcome::Throttled { .. } | Outcome::Failed { .. } | Outcome::Denied { .. } => {}
    }
}

/// Sends `out`, with its one re-send (rule D5), and reads the whole answer, by `by`.
async fn send_once(
    shared: &Shared,
    prepared: &Prepared,
    out: &Outgoing,
    by: Instant,
    leave: &mut Leave<'_>,
) -> Flown {
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
    let (heard, broken) = match attempted.result {
        Ok(mut answer) => {
            leave.learned(&learned(shared, answer.status, &answer.headers));
            let mut held = Held::nothing(&shared.answers);
            let (body, broken) =
                read_whole(&mut answer.body, shared.answer_bytes_max, &mut held, leave).await;
            let (status, headers) = (answer.status, answer.headers);
            (
                Some(Heard {
                    status,
                    headers,
                    body,
                    state: BodyState::WellFormed,
                    _held: held,
                }),
                broken,
            )
        }
        Err(broken) => (None, Some(broken)),
    };
    Flown {
        judged: judge(shared, prepared, heard, broken, attempted.resent),
        first_byte: attempted.first_byte,
    }
}

/// What an answer's head says of the limits in front of its server (rule I4).
fn learned(shared: &Shared, status: StatusCode, headers: &HeaderMap) -> Learned {
    hint::learned(&Facts {
        status: Some(status.as_u16()),
        headers: &HeaderFacts(headers),
        body: BodyFacts::default(),
        broke: None,
        wall: shared.hub.clock().wall(),
    })
}

/// Puts the facts of an attempt through the table.
fn judge(
    shared: &Shared,
    prepared: &Prepared,
    mut heard: Option<Heard>,
    broken: Option<Broken>,
    resent: bool,
) -> Judged {
    let mut said = OwnedBodyFacts::default();
    if let Some(heard) = &heard
        && (broken.is_none() || heard.status.as_u16() >= 400)
    {
        let wire = Wire {
            endpoint: prepared.endpoint,
            method: prepared.out.method.as_str(),
            status: heard.status.as_u16(),
            content_type: heard
                .headers
                .get(header::CONTENT_TYPE)
                .map(|value| value.as_bytes()),
            content_encoding: heard
                .headers
                .get(header::CONTENT_ENCODING)
                .map(|value| value.as_bytes()),
        };
        said = crate::body::read_whole(&wire, &heard.body);
    }
    let mut body = said.facts();
    let broke: Option<Broke> = broken.as_ref().map(|broken| broken.broke);
    if let Some(broken) = &broken {
        body.state = broken.body;
    }
    let headers = heard.as_ref().map(|heard| HeaderFacts(&heard.headers));
    let facts = Facts {
        status: heard.as_ref().map(|heard| heard.status.as_u16()),
        headers: headers.as_ref().map_or(&NoHeaders, |headers| headers),
        body,
        broke,
        wall: shared.hub.clock().wall(),
    };
    // A body that broke off is never whole for its reader, whatever the break was.
    let state = match (body.state, broke) {
        (BodyState::WellFormed, Some(_)) => BodyState::Truncated,
        (state, Some(_) | None) => state,
    };
    let Classified { mut report, .. } = classify(prepared.profile, &shared.overrides, &facts);
    report.resent = resent;
    if let Some(heard) = &mut heard {
        report.usage = usage::read(&heard.body);
        heard.state = state;
    }
    Judged {
        report,
        heard,
        detail: broken.map(|broken| broken.detail).or_else(|| spoilt(state)),
    }
}

/// What a whole answer lacks, for people.
fn spoilt(state: BodyState) -> Option<String> {
    let what = match state {
        BodyState::WellFormed => return None,
        BodyState::Empty => "the answer had no body",
        BodyState::Truncated => "the answer was shorter than it said",
        BodyState::Undecodable => "the answer's body was not what it said to be",
        BodyState::ErrorInside => "the answer's body was an error under a status of success",
    };
    Some(what.to_owned())
}
