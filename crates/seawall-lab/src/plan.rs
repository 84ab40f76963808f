//! What the n-th attempt at a route meets: decided here, without a socket, a clock or entropy.
//!
//! What can go wrong: a mock whose faults depend on how connections interleave shows a failure once and never
//! again; one seeded by the shape of the request fails the retry exactly as it failed the first attempt. So chance
//! is a function of (seed, rule, how many attempts the rule had), and a position moves when the request is matched,
//! not when it is answered: a client that gives up and comes back meets the next step.
//! A probability of 0 is never, not seldom: weights are integers.

mod edit;
mod latency;
pub mod limit;
mod pattern;
mod position;
mod profile;
mod reach;
mod store;
mod weather;

pub use edit::StateReset;
pub use latency::Latency;
pub use limit::{Admission, Bound, Form, Limit, LimitKey, Meter, Rate, Seat, Standing, Wait, Window};
pub use pattern::{MethodPattern, PathPattern, Pattern};
pub use profile::Profile;
pub use reach::Reach;
pub use store::{
    About, DEFAULT_KEY_HEADER, DEFAULT_KEY_TTL, DEFAULT_LIST_LIMIT, Effect, Headers, Idempotency, Job,
    KEY_BYTES_MAX, LIST_LIMIT_MAX, Making, Object, Page, RESOURCE_NAME_BYTES_MAX, Refusal, STORE_BYTES_MAX,
    Scope, Shape, Store, Ticket, Unkeyed, Weigh, Work,
};
pub use weather::{STORM_ROOM, STORM_WAIT, Weather};

use crate::error::{ScriptError, Source, shown};
use crate::script::{Action, Deed, Reply, Script, Stream, StreamEnd};
use limit::Crowd;
use position::Position;
use seawall_core::profile::Provider;
use seawall_core::rng::Rng;
use seawall_core::time::{Duration, Instant};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use weather::Storm;

/// The most bytes of state values (`state = "header:..."`) that one rule keeps apart, 16 MiB.
pub const STATE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a mock does with the attempts that match one pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which attempts.
    pub pattern: Pattern,
    /// What they meet.
    pub answers: Answers,
    /// How long every answer takes, beside an action's own delay.
    pub latency: Latency,
    /// Whose bodies and errors.
    pub dialect: Dialect,
    /// Whose position in the script it is.
    pub state: State,
    /// What it admits, before anything else is looked at.
    pub limit: Option<Limit>,
    /// The resource that keeps what its attempts make, by name; `None` keeps nothing.
    pub resource: Option<String>,
    /// How it takes idempotency keys; `None` does not look at them.
    pub idempotency: Option<Idempotency>,
}

impl Rule {
    /// Reads `METHOD PATH = SCRIPT`, the form of `seawall mock --route`. `*` is any method; a path that ends in `*`
    /// is every path that begins so. The dialect is that of each attempt's path.
    ///
    /// # Errors
    /// Points into the text.
    ///
    /// ```
    /// use seawall_lab::plan::Rule;
    /// assert!(Rule::parse("POST /v1/payments = 2x 503, 200").is_ok());
    /// assert!(Rule::parse("* /v1/* = reset").is_ok());
    /// ```
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let source = Source::bare(text);
        let (pattern, pattern_end) = pattern::read(source, 0..text.len())?;
        let rest = &text[pattern_end..];
        let equals = pattern_end + (rest.len() - rest.trim_start().len());
        if !text[equals..].starts_with('=') {
            let end = text.trim_end().len();
            let place = equals.min(end)..end;
            return Err(source
                .error(place, "a route has no script")
                .expecting("`METHOD PATH = SCRIPT`"));
        }
        let script = Script::parse_in(source, equals + 1..text.len())?;
        Ok(Self::new(pattern, Answers::Script(script)))
    }

    /// A rule without latency, with the dialect of the path and one position for everybody.
    pub fn new(pattern: Pattern, answers: Answers) -> Self {
        Self {
            pattern,
            answers,
            latency: Latency::None,
            dialect: Dialect::ByPath,
            state: State::Route,
            limit: None,
            resource: None,
            idempotency: None,
        }
    }

    /// Whether its attempts' work leaves anything behind: an object, or a key and its answer.
    pub fn keeps(&self) -> bool {
        self.resource.is_some() || self.idempotency.is_some()
    }

    /// The rule that answers everything, at once and well: what a mock does that was told nothing.
    pub fn plain() -> Self {
        Self::new(Pattern::any(), Answers::Plain)
    }
}

/// What the attempts of a rule meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// 200 with the dialect's body.
    Plain,
    /// The steps of a script.
    Script(Script),
    /// One of several actions, by chance.
    Mix(Mix),
    /// One of several actions, by chance: of some where the answer is wanted whole, of others where it is wanted as a stream.
    Mixes {
        /// What an attempt meets that wants its answer in one piece.
        whole: Mix,
        /// What an attempt meets that wants a stream.
        stream: Mix,
    },
    /// 200, but for an outage of 20 s in each minute: see [`Profile::Outage`].
    Outage,
    /// 200, as slow as it is crowded, and 503 beyond [`STORM_ROOM`]: see [`Profile::Storm`].
    Storm,
}

/// Actions by chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    parts: Vec<(Action, u64)>,
    sum: u64,
}

impl Mix {
    /// One part in so many: the unit of weights.
    pub const WHOLE: u64 = 1_000_000_000;

    /// Actions with their weights in parts of [`Mix::WHOLE`]; a weight of 0 is never drawn. `None` where all are 0,
    /// or where they add up to more than a `u64`.
    pub fn new(parts: Vec<(Action, u64)>) -> Option<Self> {
        let sum = parts
            .iter()
            .try_fold(0_u64, |sum, (_, weight)| sum.checked_add(*weight))?;
        (sum > 0).then_some(Self { parts, sum })
    }

    /// The actions and their weights.
    pub fn parts(&self) -> &[(Action, u64)] {
        &self.parts
    }

    /// The place of the part that is drawn.
    fn draw(&self, rng: &mut Rng) -> usize {
        let mut drawn = rng.up_to(self.sum - 1);
        for (place, (_, weight)) in self.parts.iter().enumerate() {
            match drawn.checked_sub(*weight) {
                Some(rest) => drawn = rest,
                None => return place,
            }
        }
        unreachable!("a draw below the sum of the weights falls on one of them")
    }
}

/// Whose bodies, errors and headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Whatever the attempt's path speaks: the default.
    ByPath,
    /// OpenAI's.
    OpenAi,
    /// Anthropic's.
    Anthropic,
    /// Gemini's.
    Gemini,
    /// Azure OpenAI's: OpenAI's bodies, errors and waits of its own, and it asks for a key and an `api-version`.
    Azure,
    /// Groq's: OpenAI's bodies and errors, with the state of its limits in every answer.
    Groq,
    /// Payments after Stripe's fashion.
    Stripe,
    /// GitHub's: limits that are told as a 403.
    GitHub,
    /// Plain JSON.
    Generic,
}

impl Dialect {
    /// The dialects that a file may name.
    pub const NAMED: [Self; 8] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Gemini,
        Self::Azure,
        Self::Groq,
        Self::Stripe,
        Self::GitHub,
        Self::Generic,
    ];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ByPath => "by-path",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Azure => "azure",
            Self::Groq => "groq",
            Self::Stripe => "stripe",
            Self::GitHub => "github",
            Self::Generic => "generic",
        }
    }

    /// The dialect in which an attempt at this path is answered; never `ByPath`. A path alone speaks the dialect that
    /// the rest of seawall infers from it ([`Provider::inferred`]); beside that, lists that are no calls for inference
    /// are known by their ends. Groq's paths are also Azure's newer ones, and GitHub's anybody's: those two go by name.
    #[must_use]
    pub fn at(self, path: &str) -> Self {
        match self {
            Self::ByPath => match Provider::inferred(None, path) {
                Provider::OpenAi => Self::OpenAi,
                Provider::Anthropic => Self::Anthropic,
                Provider::Azure => Self::Azure,
                Provider::Gemini => Self::Gemini,
                Provider::Groq => Self::Groq,
                Provider::Stripe => Self::Stripe,
                Provider::GitHub => Self::GitHub,
                Provider::Generic => Self::of_list(path),
            },
            Self::OpenAi
            | Self::Anthropic
            | Self::Gemini
            | Self::Azure
            | Self::Groq
            | Self::Stripe
            | Self::GitHub
            | Self::Generic => self,
        }
    }

    /// Whose words its answers are; `None` where the path says.
    pub fn provider(self) -> Option<Provider> {
        match self {
            Self::ByPath => None,
            Self::OpenAi => Some(Provider::OpenAi),
            Self::Anthropic => Some(Provider::Anthropic),
            Self::Gemini => Some(Provider::Gemini),
            Self::Azure => Some(Provider::Azure),
            Self::Groq => Some(Provider::Groq),
            Self::Stripe => Some(Provider::Stripe),
            Self::GitHub => Some(Provider::GitHub),
            Self::Generic => Some(Provider::Generic),
        }
    }

    fn of_list(path: &str) -> Self {
        if path.ends_with("/v1beta/models") || path.contains("/v1beta/models/") {
            Self::Gemini
        } else if path.ends_with("/models") || path.contains("/v1/models/") || path.ends_with("/embeddings") {
            Self::OpenAi
        } else {
            Self::Generic
        }
    }
}

/// In which way an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// In one piece.
    Whole,
    /// As a stream of events.
    Stream,
}

/// Whose position in the script it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// One for the whole rule.
    Route,
    /// One per value of this header; attempts without it share one.
    Header(String),
}

/// Rules, a seed, and how far each rule has come.
///
/// One value behind one lock: what a rule says and how often it was met change together, so that an edit while the
/// mock runs falls between two attempts and never into one.
#[derive(Clone, Debug)]
pub struct Plan {
    parts: Vec<Part>,
    seed: u64,
    next_id: u64,
}

impl Plan {
    /// Rules in order of precedence; the first that matches is taken.
    pub fn new(rules: Vec<Rule>, seed: u64) -> Self {
        let mut plan = Self {
            parts: Vec::new(),
            seed,
            next_id: 0,
        };
        plan.replace(rules);
        plan
    }

    /// Puts other rules in the place of all of them. A rule that stays as it was keeps how far it has come.
    pub fn replace(&mut self, rules: Vec<Rule>) {
        let mut before = std::mem::take(&mut self.parts);
        for rule in rules {
            let part = match before.iter().position(|part| *part.rule == rule) {
                Some(place) => before.remove(place),
                None => {
                    self.next_id += 1;
                    Part::new(self.next_id - 1, rule)
                }
            };
            self.parts.push(part);
        }
    }

    /// The rules in order.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Arc<Rule>> {
        self.parts.iter().map(|part| &part.rule)
    }

    /// The first rule that matches, by its place.
    pub fn matching(&self, method: &str, path: &str) -> Option<usize> {
        self.parts
            .iter()
            .position(|part| part.rule.pattern.matches(method, path))
    }

    /// The first rule to whose resource a path belongs ([`Rule::implies`]), by its place. Asked where none matches.
    pub fn implied(&self, path: &str) -> Option<usize> {
        self.parts.iter().position(|part| part.rule.implies(path))
    }

    /// The rule at this place, and what it is called.
    pub fn rule(&self, place: usize) -> (&Arc<Rule>, &Arc<str>) {
        let part = &self.parts[place];
        (&part.rule, &part.name)
    }

    /// Lets an attempt in at the rule at `place`, or not. Ask once per attempt, before its turn; one that is refused has
    /// no turn. `key` is the value of the limit's header, `tokens` what the attempt is charged of them.
    pub fn admit(&mut self, now: Instant, place: usize, key: &[u8], tokens: u64) -> Entry {
        let Part { rule, met, .. } = &mut self.parts[place];
        let Some(limit) = &rule.limit else {
            return Entry::Free(met.crowd.enter());
        };
        match met.meter.ask(limit, now, key, tokens) {
            Admission::Admitted(standing, seat) => Entry::Metered(standing, [met.crowd.enter(), seat]),
            Admission::Refused(refusal) => Entry::Refused(refusal),
            Admission::Full => Entry::Full,
        }
    }

    /// Takes the next turn of the rule at `place` for the position of `state`. Call it once per attempt, when the
    /// attempt is matched: it moves the position. `now` counts from the mock's start.
    ///
    /// # Errors
    /// The rule keeps too many state values apart.
    pub fn turn(&mut self, now: Instant, place: usize, state: &[u8]) -> Result<Turn, StateFull> {
        self.turn_as(now, place, state, Wanted::Whole)
    }

    /// The same for an attempt that wants its answer in this way.
    ///
    /// # Errors
    /// The rule keeps too many state values apart.
    pub fn turn_as(
        &mut self,
        now: Instant,
        place: usize,
        state: &[u8],
        wanted: Wanted,
    ) -> Result<Turn, StateFull> {
        let Part { id, rule, met, .. } = &mut self.parts[place];
        let seed = Rng::new(self.seed, *id).next_u64();
        let drawn = met.attempts.wrapping_mul(2);
        // A stream of its own: a script with more draws would otherwise shift every latency.
        let mut latency = rule.latency.draw(&mut Rng::new(seed, drawn.wrapping_add(1)));
        let choice = match &rule.answers {
            Answers::Plain => Choice::Plain,
            Answers::Script(script) => met.position(state, script, now)?.next(script, now),
            Answers::Mix(mix) => Choice::Part(mix.draw(&mut Rng::new(seed, drawn))),
            Answers::Mixes { whole, stream } => Choice::Part(match wanted {
                Wanted::Whole => whole.draw(&mut Rng::new(seed, drawn)),
                Wanted::Stream => whole.parts().len() + stream.draw(&mut Rng::new(seed, drawn)),
            }),
            Answers::Outage => match weather::outage(now) {
                Weather::Clear => Choice::Plain,
                trouble @ (Weather::Answers503 | Weather::Refuses) => {
                    latency = Duration::ZERO;
                    Choice::Part(weather::place(trouble))
                }
            },
            Answers::Storm => match weather::storm(latency, met.crowd.count()) {
                Storm::Answers(stretched) => {
                    latency = stretched;
                    Choice::Plain
                }
                Storm::Fails(wait) => {
                    latency = wait;
                    Choice::Part(weather::place(Weather::Answers503))
                }
            },
        };
        met.attempts += 1;
        Ok(Turn {
            number: met.attempts,
            rule: Arc::clone(rule),
            choice,
            latency,
        })
    }

    /// Whether the server listens at all, and when that may change: it is out where one of its rules is an outage.
    pub fn weather(&self, now: Instant) -> (Weather, Instant) {
        match self.rules().any(|rule| rule.answers == Answers::Outage) {
            true => (weather::outage(now), weather::outage_turns(now)),
            false => (Weather::Clear, Instant::NEVER),
        }
    }

    /// Begins every script again.
    pub fn reset(&mut self) {
        for part in &mut self.parts {
            part.met = Met::default();
        }
    }

    /// How many attempts the rule at `place` had.
    pub fn attempts(&self, place: usize) -> u64 {
        self.parts[place].met.attempts
    }

    /// The script step that each known state value of a rule is at, counted from 0; at most the first `most`.
    pub fn positions(&self, place: usize, most: usize) -> impl Iterator<Item = usize> + '_ {
        let positions = self.parts[place].met.positions.values();
        positions.map(Position::step).take(most)
    }
}

/// One rule and how far it has come.
#[derive(Clone, Debug)]
struct Part {
    /// Stays with the rule wherever it is moved, so that its chances do.
    id: u64,
    rule: Arc<Rule>,
    /// The pattern as text: every attempt's journal entry holds it.
    name: Arc<str>,
    met: Met,
}

impl Part {
    fn new(id: u64, rule: Rule) -> Self {
        Self {
            id,
            name: rule.pattern.to_string().into(),
            rule: Arc::new(rule),
            met: Met::default(),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Met {
    attempts: u64,
    /// Those that are being answered.
    crowd: Crowd,
    meter: Meter,
    positions: BTreeMap<Box<[u8]>, Position>,
    state_bytes: usize,
}

impl Met {
    fn position(&mut self, state: &[u8], script: &Script, now: Instant) -> Result<&mut Position, StateFull> {
        if !self.positions.contains_key(state) {
            let bytes = self.state_bytes + Self::cost_of(state);
            if bytes > STATE_BYTES_MAX {
                return Err(StateFull);
            }
            self.state_bytes = bytes;
        }
        Ok(self
            .positions
            .entry(state.into())
            .or_insert_with(|| Position::new(script, now)))
    }

    /// What keeping a state value apart takes.
    fn cost_of(state: &[u8]) -> usize {
        state.len() + size_of::<Position>()
    }
}

/// A rule cannot keep another state value apart: forgetting an old one would begin its script again in silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateFull;

/// How an attempt comes in. The seats are its own until it ends.
#[derive(Debug)]
#[must_use]
pub enum Entry {
    /// Nothing limits the rule.
    Free(Seat),
    /// It is let in, and its limit stands so.
    Metered(Standing, [Seat; 2]),
    /// It is not let in.
    Refused(limit::Refusal),
    /// The rule cannot keep another key of its limit apart.
    Full,
}

/// What one attempt meets, and how long it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which attempt of its rule it is, counted from 1.
    pub number: u64,
    /// The rule as it was when the attempt was matched.
    pub rule: Arc<Rule>,
    /// What it meets.
    pub choice: Choice,
    /// How long the answer takes, beside the action's own delay.
    pub latency: Duration,
}

impl Turn {
    /// The turn of an attempt that a rule only implies: answered at once and well, and no position moves.
    pub fn implied(rule: &Arc<Rule>) -> Self {
        Self {
            number: 0,
            rule: Arc::clone(rule),
            choice: Choice::Plain,
            latency: Duration::ZERO,
        }
    }

    /// The same turn, which meets this and not what its rule says.
    #[cfg(feature = "net")]
    pub(crate) fn meeting(self, action: Action) -> Self {
        let mix = Mix::new(vec![(action, 1)]).expect("one part of weight one");
        let rule = Rule {
            answers: Answers::Mix(mix),
            ..Rule::clone(&self.rule)
        };
        Self {
            rule: Arc::new(rule),
            choice: Choice::Part(0),
            ..self
        }
    }

    /// The action that it meets, where there is one.
    pub fn action(&self) -> Option<&Action> {
        match (self.choice, &self.rule.answers) {
            (Choice::Step(step), Answers::Script(script)) => Some(&script.steps()[step].action),
            (Choice::Part(part), Answers::Mix(mix)) => Some(&mix.parts()[part].0),
            (Choice::Part(part), Answers::Mixes { whole, stream }) => whole
                .parts()
                .iter()
                .chain(stream.parts())
                .nth(part)
                .map(|(action, _)| action),
            (Choice::Part(part), Answers::Outage | Answers::Storm) => weather::action(part),
            (Choice::Plain | Choice::Stop | Choice::Step(_) | Choice::Part(_), _) => None,
        }
    }

    /// The injected fault's name; a good answer is none, unless it is made late.
    pub fn fault(&self) -> Option<Cow<'static, str>> {
        if self.choice == Choice::Stop {
            return Some(Cow::Borrowed("stop"));
        }
        self.action().and_then(fault_of)
    }
}

fn fault_of(action: &Action) -> Option<Cow<'static, str>> {
    match &action.deed {
        Deed::Status(Reply { status: ..400, .. })
        | Deed::Stream(Stream {
            then: StreamEnd::Done,
            ..
        }) => (!action.delay.is_zero()).then_some(Cow::Borrowed("delay")),
        // Which of its ends is the fault.
        Deed::Stream(stream) => Some(Cow::Owned(format!("stream then={}", stream.then.name()))),
        Deed::Apply(then) => match (&then.deed, fault_of(then)) {
            // Done and answered is no fault, and late no other one.
            (Deed::Status(reply), fault) if reply.status < 400 => fault,
            (_, fault) => fault.map(|fault| Cow::Owned(format!("apply then {fault}"))),
        },
        deed => Some(Cow::Owned(deed.name())),
    }
}

/// What one attempt meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// No step holds now: 200 with the dialect's body.
    Plain,
    /// This step of the script, counted from 0.
    Step(usize),
    /// This part of the mix, or of what trouble answers, counted from 0; of two mixes, those of the second come after those
    /// of the first.
    Part(usize),
    /// The script has stopped: accepted, then closed without a byte.
    Stop,
}

fn named<T: Copy>(
    source: Source<'_>,
    span: std::ops::Range<usize>,
    given: &str,
    what: &str,
    known: &[(&str, T)],
) -> Result<T, ScriptError> {
    known
        .iter()
        .find(|(name, _)| *name == given)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            source
                .error(span, format!("`{}` is no {what}", shown(given)))
                .expecting_one_of(given, &names)
        })
}

/// Reads a dialect's name.
pub(crate) fn dialect_named(
    source: Source<'_>,
    span: std::ops::Range<usize>,
    given: &str,
) -> Result<Dialect, ScriptError> {
    named(
        source,
        span,
        given,
        "dialect that this mock speaks",
        &Dialect::NAMED.map(|dialect| (dialect.name(), dialect)),
    )
}

/// Reads `METHOD PATH`.
pub(crate) fn pattern_in(source: Source<'_>, span: std::ops::Range<usize>) -> Result<Pattern, ScriptError> {
    let end = span.end;
    let (pattern, pattern_end) = pattern::read(source, span)?;
    let rest = source.text[pattern_end..end].trim();
    if rest.is_empty() {
        return Ok(pattern);
    }
    let start = end - source.text[pattern_end..end].trim_start().len();
    Err(source
        .error(start..start + rest.len(), "a pattern ends after its path")
        .expecting("`METHOD PATH`"))
}

#[cfg(test)]
mod tests;
