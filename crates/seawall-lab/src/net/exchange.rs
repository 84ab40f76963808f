//! One attempt, whichever protocol it came by: entered in the journal, decided, and ended in every way there is.
//!
//! What can go wrong: an attempt that is dropped in the middle (the mock stops, a task panics, the client leaves)
//! stays open in the journal for ever, and whoever waits for quiet waits with it. So an exchange that is dropped
//! ends itself.

use super::Shared;
use super::dialect::{self, Answer, Ask, PartKind};
use super::journal::{Attempt, CALL_HEADER, Heard, Outcome, kept};
use super::score::{self, Good, Performer, Score};
use super::throttle::{self, Limited};
use super::work::{self, Worked};
use crate::findings::{Fingerprint, Word};
use crate::plan::{
    Answers, Dialect, Entry, Plan, Reach, Rule, Seat, Standing, State, StateFull, Ticket, Turn, Wanted,
};
use crate::script::Action;
use seawall_core::profile::Provider;
use seawall_core::time::Instant;
use std::borrow::Cow;
use std::sync::Arc;

/// The fault of a rule that cannot keep another state value apart.
const STATE_FULL: &str = "state-full";
/// How many routes an answer lists where none matches.
const ROUTES_TOLD_MAX: usize = 20;
/// The longest head of a request, in bytes.
pub(super) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The longest body of a request, in bytes.
pub(super) const BODY_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How much of a body is kept for the dialect to look at; the rest is read and let go.
pub(super) const BODY_KEPT_MAX: usize = 1024 * 1024;

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
    entry: Written,
    outcome: Outcome,
    /// Its key is in flight until this is handed back.
    ticket: Option<Ticket>,
    /// What it meets, where that was decided by somebody else than its rule.
    given: Option<Box<Action>>,
    /// Its places in the crowd of its rule and in that of its limit.
    seats: [Option<Seat>; 2],
}

/// What is decided about, once its rule is known.
struct Case<'a> {
    request: &'a Request,
    now: Instant,
    rule: Arc<Rule>,
    limited: Limited,
    ask: Ask<'a>,
}

impl<'a> Case<'a> {
    fn of(plan: &Plan, place: usize, request: &'a Request, body: &'a [u8], now: Instant) -> Self {
        let (rule, path) = (Arc::clone(plan.rule(place).0), request.path());
        Self {
            request,
            now,
            limited: Limited::of(&rule, path),
            rule,
            ask: Ask {
                method: &request.method,
                path,
                query: request.query(),
                credential: ["api-key", "authorization"]
                    .into_iter()
                    .find_map(|name| request.header(name)),
                key: request.header("idempotency-key"),
                body,
                rule: place,
                number: plan.attempts(place),
            },
        }
    }
}

/// How a rule was found.
#[derive(Clone, Copy)]
enum Found {
    /// By its pattern.
    Matched,
    /// By a path below that of its resource.
    Implied,
}

impl Found {
    /// The first rule by its pattern, else by its resource, with its place.
    fn of(plan: &Plan, request: &Request) -> Option<(Self, usize)> {
        let path = request.path();
        let matched = plan.matching(&request.method, path);
        matched
            .map(|place| (Self::Matched, place))
            .or_else(|| Some((Self::Implied, plan.implied(path)?)))
    }
}

/// How far its entry in the journal is.
#[derive(Debug)]
enum Written {
    /// To be entered with its turn, so that the journal's order is that of the turns.
    Not(Box<Attempt>),
    /// Entered under this number.
    As(u64),
}

impl<'s> Exchange<'s> {
    /// Begins an attempt whose head was read.
    pub(super) fn begin(shared: &'s Shared, request: &Request, connection: u64, on_connection: u64) -> Self {
        let attempt = Attempt {
            method: kept(request.method.as_bytes()),
            path: kept(request.path().as_bytes()),
            call: request.header(CALL_HEADER).map(kept),
            key: request.header("idempotency-key").map(kept),
            retry_count: request.header("x-stainless-retry-count").map(kept),
            ..unread(connection, on_connection, shared.pace.now())
        };
        Self::open(shared, attempt, request.bytes)
    }

    /// Begins an attempt whose head could not be read.
    pub(super) fn begin_unread(shared: &'s Shared, connection: u64, on_connection: u64) -> Self {
        Self::open(shared, unread(connection, on_connection, shared.pace.now()), 0)
    }

    fn open(shared: &'s Shared, attempt: Attempt, bytes_in: u64) -> Self {
        shared.log().begin();
        Self {
            shared,
            entry: Written::Not(Box::new(attempt)),
            outcome: Outcome {
                bytes_in,
                ..Outcome::default()
            },
            ticket: None,
            given: None,
            seats: [None, None],
        }
    }

    /// Enters the attempt in the journal, once; gives its number there.
    fn enter(&mut self) -> u64 {
        let number = match std::mem::replace(&mut self.entry, Written::As(0)) {
            Written::As(number) => number,
            Written::Not(attempt) => self.shared.log().enter(*attempt),
        };
        self.entry = Written::As(number);
        number
    }

    /// Counts body bytes that were read.
    pub(super) fn read(&mut self, bytes: u64) {
        self.outcome.bytes_in += bytes;
    }

    /// It meets this, whatever its rule says.
    pub(super) fn meets(&mut self, action: Box<Action>) {
        self.given = Some(action);
    }

    /// Decides what the attempt meets: under one lock, once, when the whole request is here.
    pub(super) fn decide(&mut self, request: &Request, body: &[u8], performer: Performer) -> Score {
        self.outcome.body = (!body.is_empty()).then(|| Fingerprint::of(body));
        let (score, dialect) = self.decided(request, body, performer);
        let provider = dialect.provider().unwrap_or(Provider::Generic);
        self.outcome.heard = Heard::of(&score.answer, provider, self.shared.pace.wall());
        score
    }

    /// What is to be sent, and in whose words.
    fn decided(&mut self, request: &Request, body: &[u8], performer: Performer) -> (Score, Dialect) {
        let shared = self.shared;
        let mut plan = shared.plan();
        self.enter();
        let Some((found, place)) = Found::of(&plan, request) else {
            return (Score::whole(no_route(&plan)), Dialect::Generic);
        };
        let mut case = Case::of(&plan, place, request, body, shared.pace.now());
        self.note_key(&case.rule, request);
        let turned = match found {
            // What a resource shows by itself is no attempt at its rule: no limit, no step.
            Found::Implied => Ok((Turn::implied(&case.rule), None)),
            Found::Matched => self.turn(&mut plan, &case),
        };
        let (turn, standing) = match turned {
            Ok(turned) => turned,
            Err(answer) => return (self.fault(answer), case.limited.dialect),
        };
        case.ask.number = turn.number;
        let dialect = case.limited.dialect;
        let worked = (case.rule.keeps() && Reach::of(&turn) == Reach::Work)
            // Still under the plan's lock: work is done in the order of the turns.
            .then(|| work::work(&mut shared.store(), case.now, &turn, dialect, &case.ask, request));
        drop(plan);
        let mut score = match worked {
            None => self.compose(&turn, dialect, &case.ask, performer, Good::Dialect),
            Some(worked) => {
                self.note(&worked);
                self.ticket = worked.ticket;
                case.ask.number = worked.number;
                self.compose(&turn, dialect, &case.ask, performer, Good::Of(&worked.answer))
            }
        };
        if let Some(standing) = standing {
            case.limited
                .tell(&mut score.answer, &turn, &standing, shared.pace.wall());
        }
        (score, dialect)
    }

    /// Lets the attempt in at the rule that matched and takes its turn there; or says why not.
    fn turn(&mut self, plan: &mut Plan, case: &Case<'_>) -> Result<(Turn, Option<Standing>), Answer> {
        let (rule, place) = (&case.rule, case.ask.rule);
        self.outcome.route = Some(Arc::clone(plan.rule(place).1));
        let (key, tokens) = Limited::charge(rule, case.request, case.ask.body);
        let standing = match plan.admit(case.now, place, key, tokens) {
            Entry::Free(seat) => {
                self.seats = [Some(seat), None];
                None
            }
            Entry::Metered(standing, seats) => {
                self.seats = seats.map(Some);
                Some(standing)
            }
            Entry::Refused(refusal) => {
                let wall = self.shared.pace.wall();
                return Err(case.limited.refused(&case.ask, &refusal, wall));
            }
            Entry::Full => return Err(throttle::full()),
        };
        let state = match &rule.state {
            State::Route => &[][..],
            State::Header(name) => case.request.header(name).unwrap_or_default(),
        };
        let wanted = match &rule.answers {
            Answers::Mixes { .. } => dialect::wanted(case.limited.dialect, &case.ask),
            Answers::Plain | Answers::Script(_) | Answers::Mix(_) | Answers::Outage | Answers::Storm => {
                Wanted::Whole
            }
        };
        match plan.turn_as(case.now, place, state, wanted) {
            Ok(turn) => match self.given.take() {
                Some(action) => Ok((turn.meeting(*action), standing)),
                None => Ok((turn, standing)),
            },
            Err(StateFull) => Err(state_full()),
        }
    }

    /// An answer of the mock's own, which is a fault by its name.
    fn fault(&mut self, answer: Answer) -> Score {
        self.outcome.fault.clone_from(&answer.fault);
        Score::whole(answer)
    }

    /// Before anything is decided: a key counts for whoever looks at the journal also where no work is done.
    fn note_key(&mut self, rule: &Rule, request: &Request) {
        let keys = rule.idempotency.as_ref();
        let key = keys.and_then(|keys| request.header(&keys.header));
        self.outcome.key = key.map(kept);
    }

    fn note(&mut self, worked: &Worked) {
        self.outcome.work = Some(worked.word);
        self.outcome.object.clone_from(&worked.object);
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

    /// A fault that no turn decided: the connection's, or that of a sibling which took the connection with it.
    pub(super) fn met(&mut self, fault: Cow<'static, str>) {
        self.outcome.fault.get_or_insert(fault);
    }

    /// The first byte of the answer is about to be sent.
    pub(super) fn answering(&mut self, status: Option<u16>) {
        self.settle();
        self.outcome.status = status;
        self.outcome.answered.get_or_insert(self.shared.pace.now());
    }

    /// The last bytes of the answer are about to be sent: who comes because of them must find the place free.
    pub(super) fn ending(&mut self) {
        self.seats = [None, None];
    }

    /// Counts bytes of the answer that were sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.outcome.bytes_out += bytes;
    }

    /// Counts a part of a stream that was sent.
    pub(super) fn said(&mut self, kind: PartKind) {
        let events = self.outcome.events.get_or_insert(0);
        *events += match kind {
            PartKind::Content => 1,
            PartKind::Frame => 0,
        };
    }

    /// The fault so far.
    pub(super) fn fault_name(&self) -> Option<Cow<'static, str>> {
        self.outcome.fault.clone()
    }

    /// Whether a byte of the answer was sent.
    pub(super) fn has_sent(&self) -> bool {
        self.outcome.bytes_out > 0
    }

    /// Shows the journal what is known so far: call it before a wait, so that whoever looks meanwhile sees what for.
    pub(super) fn show(&mut self) {
        let number = self.enter();
        self.shared.log().show(number, self.outcome.clone());
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
        // Before anybody is told that it has ended.
        self.seats = [None, None];
        let number = self.enter();
        self.shared.log().end(number, self.shared.pace.now(), outcome);
        self.shared.ended.notify_waiters();
    }
}

fn no_route(plan: &Plan) -> Answer {
    let some = plan.rules().take(ROUTES_TOLD_MAX);
    let known: Vec<String> = some.map(|rule| rule.pattern.to_string()).collect();
    let known = known.join(", ");
    dialect::refusal(404, &format!("no route of this mock matches; it knows: {known}"))
}

fn state_full() -> Answer {
    let mut answer = dialect::refusal(
        500,
        "this route keeps too many state values apart; reset the mock",
    );
    answer.fault = Some(STATE_FULL.into());
    answer
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
        call: None,
        body: None,
        key: None,
        retry_count: None,
        status: None,
        fault: None,
        work: None,
        object: None,
        hint: None,
        word: Word::None,
        at,
        answered: None,
        ended: None,
        client_left: None,
        events: None,
        bytes_in: 0,
        bytes_out: 0,
    }
}
