use super::Fault;
use super::case::Case;
use seawall::body::{OwnedBodyFacts, Wire, read};
use seawall_core::classify::{Classified, classify};
use seawall_core::facts::{BodyState, Broke, Facts, Headers as _};

/// What the attempt met, as an adapter would tell the engine.
pub(super) fn meet(case: &Case) -> Classified {
    let (broke, spoilt) = match case.fault {
        Some(fault) => fault.parts(),
        None => (None, None),
    };
    let mut body = match &case.body {
        Some(bytes) => read_body(case, bytes),
        None => OwnedBodyFacts::default(),
    };
    body.state = spoilt.unwrap_or(body.state);
    let facts = Facts {
        status: case.status,
        headers: &case.headers,
        body: body.facts(),
        broke,
        wall: case.wall,
    };
    classify(case.profile, &case.overrides, &facts)
}

fn read_body(case: &Case, bytes: &[u8]) -> OwnedBodyFacts {
    let Some(status) = case.status else {
        return OwnedBodyFacts::default();
    };
    let wire = Wire {
        endpoint: case.endpoint,
        method: &case.method,
        status,
        content_type: case.headers.get("content-type"),
        content_encoding: case.headers.get("content-encoding"),
    };
    read(&wire, bytes)
}

impl Fault {
    /// Where it broke, or what became of the body.
    fn parts(self) -> (Option<Broke>, Option<BodyState>) {
        let broke = match self {
            Self::Truncated => return (None, Some(BodyState::Truncated)),
            Self::Empty => return (None, Some(BodyState::Empty)),
            Self::ErrorInside => return (None, Some(BodyState::ErrorInside)),
            Self::Dns => Broke::Dns,
            Self::Refused => Broke::Refused,
            Self::ConnectTimeout => Broke::ConnectTimeout,
            Self::Tls => Broke::Tls,
            Self::BadCert => Broke::BadCertificate,
            Self::Reset => Broke::Reset,
            Self::Closed => Broke::Closed,
            Self::ReusedClosed => Broke::ReusedClosed,
            Self::Timeout => Broke::Timeout,
            Self::Idle => Broke::Idle,
            Self::RefusedStream => Broke::RefusedStream,
            Self::GoAway => Broke::GoAway,
        };
        (Some(broke), None)
    }
}
