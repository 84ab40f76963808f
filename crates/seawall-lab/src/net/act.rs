//! Doing what was decided: whole answers, and faults that are on the wire what their names say.
//!
//! | fault | the client sees |
//! |---|---|
//! | `reset` | RST, with `after=N` once the head and N body bytes are delivered |
//! | `close`, `stop` | FIN without a byte, with `after=N` after the head and N body bytes |
//! | `hang` | nothing (or the head and N body bytes, then nothing) until it leaves |
//! | `truncate` | the whole body's length in the head, a part of the body, FIN |
//!
//! A body is padded with spaces where a fault asks for more bytes than it has: it is always cut short of its end.

use super::dialect::{self, Answer, Ask};
use super::journal::Outcome;
use super::pace::DELIVERY_PAUSE;
use super::wire::{Ending, Waited, Wire};
use super::{Shared, conn};
use crate::plan::{Choice, Dialect, Turn};
use crate::script::{Action, After, Body, Cut, Deed, Reply};

/// The fault of a rule that cannot keep another state value apart.
pub(super) const STATE_FULL: &str = "state-full";

/// What becomes of a connection.
pub(super) enum Then {
    /// It takes the next request.
    Next(Wire),
    /// It is gone.
    Gone,
}

/// How a cut answer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fall {
    Reset,
    Close,
    Hang,
}

/// Everything it takes to answer one attempt.
pub(super) struct Performance<'a> {
    pub(super) shared: &'a Shared,
    pub(super) number: u64,
    pub(super) ask: Ask<'a>,
    pub(super) dialect: Dialect,
    pub(super) ending: Ending,
    pub(super) outcome: Outcome,
}

impl Performance<'_> {
    /// Does what the turn says.
    pub(super) async fn turn(mut self, mut wire: Wire, turn: Turn<'_>) -> Then {
        // The rule's own count: it names an answer, and begins again with a reset.
        self.ask.number = turn.number;
        let delay = match turn.choice {
            Choice::Stop => return self.fall_silent(wire, Fall::Close).await,
            Choice::Plain => turn.latency,
            Choice::Action(action) => turn.latency.plus(action.delay),
        };
        if wire.wait(delay).await == Waited::ClientLeft {
            return self.client_left();
        }
        match turn.choice {
            Choice::Stop => Then::Gone,
            Choice::Plain => {
                let answer = dialect::answer(self.dialect, &self.ask);
                self.whole(wire, answer).await
            }
            Choice::Action(action) => self.deed(wire, &turn, action).await,
        }
    }

    /// No rule matched. That is no fault of the script, and says so.
    pub(super) async fn no_route(self, wire: Wire) -> Then {
        let known: Vec<String> = self
            .shared
            .plan
            .rules()
            .iter()
            .take(20)
            .map(|rule| rule.pattern.to_string())
            .collect();
        let message = format!("no route of this mock matches; it knows: {}", known.join(", "));
        self.whole(wire, dialect::refusal(404, &message)).await
    }

    /// The rule keeps too many state values.
    pub(super) async fn state_full(self, wire: Wire) -> Then {
        let mut answer = dialect::refusal(
            500,
            "this route keeps too many state values apart; reset the mock",
        );
        answer.fault = Some(STATE_FULL.into());
        self.whole(wire, answer).await
    }

    async fn deed(self, wire: Wire, turn: &Turn<'_>, action: &Action) -> Then {
        let fault = conn::fault_of(turn);
        let plain = || dialect::answer(self.dialect, &self.ask);
        let (mut answer, cut, fall) = match &action.deed {
            Deed::Status(reply) => {
                let mut answer = self.reply(reply);
                answer.fault = answer.fault.or(fault);
                return self.whole(wire, answer).await;
            }
            Deed::ErrorIn200 => {
                let mut answer = dialect::error(self.dialect, 500, &self.ask, &[]);
                answer.status = 200;
                answer.fault = fault;
                return self.whole(wire, answer).await;
            }
            Deed::Reset(After::Nothing) => return self.fall_silent(wire, Fall::Reset).await,
            Deed::Close(After::Nothing) => return self.fall_silent(wire, Fall::Close).await,
            Deed::Hang(After::Nothing) => return self.fall_silent(wire, Fall::Hang).await,
            Deed::Reset(After::BodyBytes(bytes)) => (plain(), Cut::Bytes(*bytes), Fall::Reset),
            Deed::Close(After::BodyBytes(bytes)) => (plain(), Cut::Bytes(*bytes), Fall::Close),
            Deed::Hang(After::BodyBytes(bytes)) => (plain(), Cut::Bytes(*bytes), Fall::Hang),
            Deed::Truncate(cut) => (plain(), *cut, Fall::Close),
            Deed::Stream(_)
            | Deed::Apply(_)
            | Deed::Drip(_)
            | Deed::Garbage
            | Deed::WrongLength(_)
            | Deed::BadChunk
            | Deed::HalfClose
            | Deed::SlowHeaders
            | Deed::BadGzip
            | Deed::Goaway
            | Deed::RstStream => {
                // Rules made in code pass no loader; the answer says what is missing.
                let mut answer = dialect::refusal(
                    500,
                    &format!("this mock does not serve `{}` yet", action.deed.name()),
                );
                answer.fault = Some(dialect::NOT_SERVED.into());
                return self.whole(wire, answer).await;
            }
        };
        answer.fault = fault;
        self.part(wire, answer, cut, fall).await
    }

    fn reply(&self, reply: &Reply) -> Answer {
        let mut answer = match reply.status {
            200..300 => dialect::answer(self.dialect, &self.ask),
            300..400 => Answer::empty(reply.status),
            _ => dialect::error(self.dialect, reply.status, &self.ask, &reply.headers),
        };
        if reply.status < 300 && answer.status >= 400 && answer.fault.is_none() {
            // The dialect refuses what was asked, whatever a right request would have met.
            return answer;
        }
        let (content_type, body) = match &reply.body {
            Body::Dialect => (answer.content_type, None),
            Body::Raw(body) => (None, Some(body)),
            Body::Text(body) => (Some("text/plain; charset=utf-8"), Some(body)),
            Body::Json(body) => (Some("application/json"), Some(body)),
        };
        if let Some(body) = body {
            answer = Answer::empty(reply.status);
            answer.body = body.clone().into_bytes();
        } else if answer.fault.is_none() {
            // What the mock cannot serve keeps its own status.
            answer.status = reply.status;
        }
        answer.content_type = content_type;
        answer.headers = dialect::headers(self.dialect, reply.status, &self.ask, &reply.headers);
        answer
    }

    /// Sends an answer to its end.
    async fn whole(mut self, mut wire: Wire, answer: Answer) -> Then {
        let bytes = answer.encode(self.ask.method, self.ending);
        self.outcome.status = Some(answer.status);
        if answer.fault.as_deref() == Some(dialect::NOT_SERVED) {
            self.outcome.fault = Some(dialect::NOT_SERVED);
        }
        if !self.send(&mut wire, &bytes).await {
            return self.client_left();
        }
        conn::end(self.shared, self.number, self.outcome);
        match self.ending {
            Ending::KeepAlive => Then::Next(wire),
            Ending::Close => {
                wire.close().await;
                Then::Gone
            }
        }
    }

    /// Promises a whole answer and sends a part of it.
    async fn part(mut self, mut wire: Wire, mut answer: Answer, cut: Cut, fall: Fall) -> Then {
        let whole = answer.body.len() as u64;
        let sent = match cut {
            Cut::Bytes(bytes) => bytes,
            Cut::Percent(percent) => whole * u64::from(percent) / 100,
        };
        let sent = usize::try_from(sent).expect("a script counts at most 64 MiB of body");
        if answer.body.len() <= sent {
            answer.body.resize(sent + 1, b' ');
        }
        let mut bytes = answer.encode(self.ask.method, self.ending);
        // An answer to HEAD has no body to cut.
        let missing = if self.ask.method == "HEAD" {
            0
        } else {
            answer.body.len() - sent
        };
        bytes.truncate(bytes.len() - missing);
        self.outcome.status = Some(answer.status);
        if !self.send(&mut wire, &bytes).await {
            return self.client_left();
        }
        if fall == Fall::Reset {
            self.shared.pace.pause(DELIVERY_PAUSE).await;
        }
        self.fall_silent(wire, fall).await
    }

    /// Ends the connection without another byte.
    async fn fall_silent(mut self, mut wire: Wire, fall: Fall) -> Then {
        match fall {
            Fall::Reset => {
                // A peer that is already gone cannot be reset, which is all that may fail here.
                let reset = wire.reset();
                self.outcome.client_left = reset.is_err().then(|| self.shared.pace.now());
                conn::end(self.shared, self.number, self.outcome);
            }
            Fall::Close => {
                conn::end(self.shared, self.number, self.outcome);
                wire.close().await;
            }
            Fall::Hang => {
                wire.until_left().await;
                return self.client_left();
            }
        }
        Then::Gone
    }

    async fn send(&mut self, wire: &mut Wire, bytes: &[u8]) -> bool {
        let answered = self.shared.pace.now();
        let sent = wire.send(bytes).await.is_ok();
        if sent {
            self.outcome.answered = Some(answered);
            self.outcome.bytes_out = bytes.len() as u64;
        }
        sent
    }

    fn client_left(mut self) -> Then {
        self.outcome.client_left = Some(self.shared.pace.now());
        conn::end(self.shared, self.number, self.outcome);
        Then::Gone
    }
}
