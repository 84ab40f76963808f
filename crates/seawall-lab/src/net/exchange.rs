//! One attempt, whichever protocol it came by: entered in the journal, decided, and ended in every way there is.
//!
//! What can go wrong: an attempt that is dropped in the middle (the mock stops, a task panics, the client leaves)
//! stays open in the journal for ever, and whoever waits for quiet waits with it. So an exchange that is dropped
//! ends itself.

use super::Shared;
use super::dialect::{self, Ask};
use super::journal::{Attempt, Outcome, kept};
use super::score::{self, Good, Performer, Score};
use super::work::{self, Worked};
use crate::plan::{Dialect, Reach, Rule, State, StateFull, Ticket, Turn};
use seawall_core::time::Instant;
use std::borrow::Cow;

/// The fault of a rule that cannot keep another state value apart.
const STATE_FULL: &str = "state-full";

/// A request without its body, whichever protocol it came by.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// Path and query, without scheme and host.
    pub(super) target: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, Vec<u8>)>,
    /// What the head took on the wire.
    pub(super) bytes: u64,
}

impl Request {
    /// The path without its query.
    pub(super) fn path(&self) -> &str {
        self.target.split(['?', '#']).next().unwrap_or_default()
    }

    /// What stands after the path's question mark.
    pub(super) fn query(&self) -> &str {
        let before_fragment = self.target.split('#').next().unwrap_or_default();
        before_fragment.split_once('?').map_or("", |(_, query)| query)
    }

    /// The first value of this lower-case header.
    pub(super) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_slice())
    }
}

/// One attempt from its head to its end.
#[derive(Debug)]
pub(super) struct Exchange<'s> {
    shared: &'s Shared,
    number: u64,
    outcome: Outcome,
    /// Its key is in flight until this is handed back.
    ticket: Option<Ticket>,
}

impl<'s> Exchange<'s> {
    /// Enters an attempt whose head was read.
    pub(super) fn begin(shared: &'s Shared, request: &Request, connection: u64, on_connection: u64) -> Self {
        let attempt = Attempt {
            method: kept(request.method.as_bytes()),
            path: kept(request.path().as_bytes()),
            key: request.header("idempotency-key").map(kept),
            retry_count: request.header("x-stainless-retry-count").map(kept),
            ..unread(connection, on_connection, shared.pace.now())
        };
        Self::enter(shared, attempt, request.bytes)
    }

    /// Enters an attempt whose head could not be read.
    pub(super) fn begin_unread(shared: &'s Shared, connection: u64, on_connection: u64) -> Self {
        Self::enter(shared, unread(connection, on_connection, shared.pace.now()), 0)
    }

    fn enter(shared: &'s Shared, attempt: Attempt, bytes_in: u64) -> Self {
        Self {
            number: shared.log().begin(attempt),
            shared,
            outcome: Outcome {
                bytes_in,
                ..Outcome::default()
            },
            ticket: None,
        }
    }

    /// Counts body bytes that were read.
    pub(super) fn read(&mut self, bytes: u64) {
        self.outcome.bytes_in += bytes;
    }

    /// Decides what the attempt meets: under one lock, once, when the whole request is here.
    pub(super) fn decide(&mut self, request: &Request, body: &[u8], performer: Performer) -> Score {
        let (method, path) = (request.method.as_str(), request.path());
        let mut plan = self.shared.plan();
        let matched = plan.matching(method, path);
        let Some(place) = matched.or_else(|| plan.implied(path)) else {
            let known: Vec<String> = plan
                .rules()
                .take(20)
                .map(|rule| rule.pattern.to_string())
                .collect();
            drop(plan);
            let message = format!("no route of this mock matches; it knows: {}", known.join(", "));
            return Score::whole(dialect::refusal(404, &message));
        };
        let (rule, name) = plan.rule(place);
        let (rule, name) = (rule.clone(), name.clone());
        let state = match &rule.state {
            State::Route => &[][..],
            State::Header(name) => request.header(name).unwrap_or_default(),
        };
        let now = self.shared.pace.now();
        let turn = match matched {
            Some(place) => {
                self.outcome.route = Some(name);
                plan.turn(now, place, state)
            }
            None => Ok(Turn::implied(&rule)),
        };
        let turn = match turn {
            Ok(turn) => turn,
            Err(StateFull) => {
                self.outcome.fault = Some(Cow::Borrowed(STATE_FULL));
                let mut answer = dialect::refusal(
                    500,
                    "this route keeps too many state values apart; reset the mock",
                );
                answer.fault = Some(STATE_FULL.into());
                return Score::whole(answer);
            }
        };
        let ask = Ask {
            method,
            path,
            query: request.query(),
            credential: ["api-key", "authorization"]
                .into_iter()
                .find_map(|name| request.header(name)),
            key: request.header("idempotency-key"),
            body,
            rule: place,
            number: turn.number,
        };
        let dialect = rule.dialect.at(path);
        let worked = (rule.keeps() && Reach::of(&turn) == Reach::Work)
            // Still under the plan's lock: work is done in the order of the turns.
            .then(|| work::work(&mut self.shared.store(), now, &turn, dialect, &ask, request));
        drop(plan);
        match worked {
            None => self.compose(&turn, dialect, &ask, performer, Good::Dialect),
            Some(worked) => {
                self.note(&rule, request, &worked);
                self.ticket = worked.ticket;
                let ask = Ask {
                    number: worked.number,
                    ..ask
                };
                self.compose(&turn, dialect, &ask, performer, Good::Of(&worked.answer))
            }
        }
    }

    fn note(&mut self, rule: &Rule, request: &Request, worked: &Worked) {
        self.outcome.work = Some(worked.word);
        self.outcome.object.clone_from(&worked.object);
        let key = rule
            .idempotency
            .as_ref()
            .and_then(|keys| request.header(&keys.header));
        self.outcome.key = key.map(kept);
    }

    fn compose(
        &mut self,
        turn: &Turn,
        dialect: Dialect,
        ask: &Ask<'_>,
        performer: Performer,
        good: Good<'_>,
    ) -> Score {
        self.outcome.fault = turn.fault();
        let score = score::compose(turn, dialect, ask, performer, good);
        if score.fault() == Some(dialect::NOT_SERVED) {
            self.outcome.fault = Some(Cow::Borrowed(dialect::NOT_SERVED));
        }
        score
    }

    /// Its delays are over: whatever is sent now, or not, its key's answer stands and may be replayed. Before the first
    /// byte, so that a client that has its answer never finds its own key in flight.
    pub(super) fn settle(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.shared.store().finished(ticket);
        }
    }

    /// The first byte of the answer is about to be sent.
    pub(super) fn answering(&mut self, status: Option<u16>) {
        self.settle();
        self.outcome.status = status;
        self.outcome.answered.get_or_insert(self.shared.pace.now());
    }

    /// Counts bytes of the answer that were sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.outcome.bytes_out += bytes;
    }

    /// Whether a byte of the answer was sent.
    pub(super) fn has_sent(&self) -> bool {
        self.outcome.bytes_out > 0
    }

    /// Ends an attempt whose client left before it had the whole answer.
    pub(super) fn left(mut self) {
        self.outcome.client_left = Some(self.shared.pace.now());
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        self.settle();
        let outcome = std::mem::take(&mut self.outcome);
        self.shared
            .log()
            .end(self.number, self.shared.pace.now(), outcome);
        self.shared.ended.notify_waiters();
    }
}

/// An attempt of which nothing is known yet.
pub(super) fn unread(connection: u64, on_connection: u64, at: Instant) -> Attempt {
    Attempt {
        number: 0,
        connection,
        on_connection,
        method: String::new(),
        path: String::new(),
        route: None,
        key: None,
        retry_count: None,
        status: None,
        fault: None,
        work: None,
        object: None,
        at,
        answered: None,
        ended: None,
        client_left: None,
        bytes_in: 0,
        bytes_out: 0,
    }
}
