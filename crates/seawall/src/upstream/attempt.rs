//! One attempt of a call: over the transport, and its facts through the classification table.

use super::end::AttemptNote;
use super::head::{Again, Head, Headed, head};
use super::hold::{Held, read_whole};
use super::{Prepared, Shared};
use crate::body::{self, Counts, OwnedBodyFacts, Wire};
use crate::http::{Broken, HeaderFacts};
use crate::hub::{Landed, Leave};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use seawall_core::classify::{Classified, classify};
use seawall_core::facts::{BodyState, Broke, Facts, NoHeaders};
use seawall_core::outcome::{Outcome, Report, Usage};
use seawall_core::time::{Duration, Instant};

/// What one attempt brought home.
pub(super) struct Brought {
    pub(super) note: AttemptNote,
    pub(super) judged: Judged,
}

/// What the classification table made of an attempt.
pub(super) struct Judged {
    /// Its usage is what limits count of it.
    pub(super) report: Report,
    /// All that it used.
    pub(super) used: Usage,
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

/// An attempt that is over, and when its answer began.
pub(super) struct Flown {
    pub(super) judged: Judged,
    pub(super) first_byte: Option<Duration>,
}

impl Flown {
    /// Nothing was sent: there is no credential to send it with.
    pub(super) fn nothing(why: &str) -> Self {
        Self {
            judged: Judged {
                report: Report::of(Outcome::Denied { latches: false }),
                used: Usage::NONE,
                heard: None,
                detail: Some(format!("nothing was sent: {why}")),
            },
            first_byte: None,
        }
    }

    /// It ends, and this is what it brought.
    pub(super) fn lands(self, leave: Leave<'_>) -> Landed<'_, Brought> {
        let Self { judged, first_byte } = self;
        let note = AttemptNote {
            candidate: leave.candidate(),
            sent_for: leave.role().reason().code(),
            outcome: judged.report.outcome.name(),
            status: judged.heard.as_ref().map(|heard| heard.status.as_u16()),
            resent: judged.report.resent,
            first_byte,
        };
        let report = Report {
            first_byte,
            ..judged.report
        };
        leave.landed(report, Brought { note, judged })
    }
}

/// Sends one attempt that the engine permitted, and reads its answer whole.
pub(super) async fn attempt<'h>(
    shared: &Shared,
    prepared: &Prepared,
    mut leave: Leave<'h>,
) -> Landed<'h, Brought> {
    let by = ends_by(shared, &leave);
    let flown = match head(shared, prepared, by, &mut leave).await {
        Headed::Head(head) => read_to_end(shared, prepared, head, &mut leave).await,
        Headed::Over(flown) => flown,
    };
    flown.lands(leave)
}

/// When an attempt that begins now must have ended, or brought content.
pub(super) fn ends_by(shared: &Shared, leave: &Leave<'_>) -> Instant {
    let (now, limits) = (shared.hub.clock().now(), leave.limits());
    now.after(limits.total.min(limits.deadline.since(now)))
}

/// Reads the whole of an answer, and judges it.
pub(super) async fn read_to_end(
    shared: &Shared,
    prepared: &Prepared,
    head: Head,
    leave: &mut Leave<'_>,
) -> Flown {
    let (version, again, first_byte) = (head.version, head.again, head.first_byte);
    let (heard, broken) = match head.result {
        Ok(mut answer) => {
            let mut held = Held::nothing(&shared.answers);
            let (body, broken) =
                read_whole(&mut answer.body, shared.answer_bytes_max, &mut held, leave).await;
            let (status, headers) = (answer.status, answer.headers);
            let heard = Heard {
                status,
                headers,
                body,
                state: BodyState::WellFormed,
                _held: held,
            };
            (Some(heard), broken)
        }
        Err(broken) => (None, Some(broken)),
    };
    let judged = judge(shared, prepared, heard, broken, again);
    Head::note_outcome(shared, version, &judged.report.outcome);
    Flown { judged, first_byte }
}

/// Puts the facts of an attempt through the table.
pub(super) fn judge(
    shared: &Shared,
    prepared: &Prepared,
    mut heard: Option<Heard>,
    broken: Option<Broken>,
    again: Again,
) -> Judged {
    let mut said = OwnedBodyFacts::default();
    if let Some(heard) = &heard
        && (broken.is_none() || heard.status.as_u16() >= 400)
    {
        let wire = wire(prepared, heard.status, &heard.headers);
        said = body::read_whole(&wire, &heard.body);
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
    (report.resent, report.earlier) = (again.resent, again.earlier);
    let mut counts = Counts::NONE;
    if let Some(heard) = &mut heard {
        counts = Counts::of_body(&heard.body);
        heard.state = state;
    }
    report.usage = counts.limited();
    Judged {
        report,
        used: counts.used(),
        heard,
        detail: broken.map(|broken| broken.detail).or_else(|| spoilt(state)),
    }
}

/// What is known of a body before it is read.
pub(super) fn wire<'a>(prepared: &'a Prepared, status: StatusCode, headers: &'a HeaderMap) -> Wire<'a> {
    let said = |name| headers.get(name).map(HeaderValue::as_bytes);
    Wire {
        endpoint: prepared.endpoint,
        method: prepared.out.method.as_str(),
        status: status.as_u16(),
        content_type: said(header::CONTENT_TYPE),
        content_encoding: said(header::CONTENT_ENCODING),
    }
}

/// Whether an answer with these headers is events that can be read.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let said = |name| headers.get(name).map(HeaderValue::as_bytes);
    body::is_event_stream(said(header::CONTENT_TYPE), said(header::CONTENT_ENCODING))
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
