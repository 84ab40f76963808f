//! What a server keeps: the objects that its writes made, and the idempotency keys that they came with.
//!
//! What can go wrong: the dearest bug of a client is the write that it does twice, and a mock that answers without
//! doing anything cannot show it: both attempts look well. So an attempt that gets to the work (see [`Reach`]) does
//! it here, once, when it is read and matched, whether or not anyone waits for the answer. And a server that takes
//! keys must be wrong in none of the ways in which such servers differ: here the script decides whether an attempt
//! gets to the work, and then the key decides what the work is. The first attempt with a key does it and its answer
//! is kept, whole, however that attempt ends; a repeat gets that answer and nothing is done; a repeat that asks for
//! something else is refused; one that comes while the first is still being answered is told so. An error is never
//! kept: it leaves the key free. Nothing is forgotten before its time: where there is no room the newcomer is refused.
//! (The words are those of the IETF's draft on the `Idempotency-Key` header, the numbers those of the payment APIs.)
//!
//! Time is an argument, and everything happens in one call, so that no other attempt can come between the question and
//! the deed. What this does not cover: work that takes time, or that is half done when something breaks.
//!
//! ```
//! use seawall_core::time::Instant;
//! use seawall_lab::plan::{Headers, Idempotency, Job, Making, Rule, Shape, Store, Work};
//! let mut rule = Rule::parse("POST /v1/payments = 200").unwrap();
//! rule.resource = Some("payments".to_owned());
//! rule.idempotency = Some(Idempotency::default());
//! let headers: Headers<'_> = &|name| (name == "idempotency-key").then_some(&b"k1"[..]);
//! let job = Job {
//!     rule: &rule,
//!     shape: Shape { id_prefix: "payments_", kind: "payments", base: None, making: Making::Body },
//!     method: "POST",
//!     path: "/v1/payments",
//!     query: "",
//!     headers,
//!     body: br#"{"amount":5}"#,
//! };
//! let mut store: Store<String> = Store::default();
//! let first = store.work(Instant::START, &job, |effect| Ok(effect.to_json().unwrap_or_default()));
//! let Work::Done { ticket: Some(ticket), .. } = first else { panic!("the first attempt does the work") };
//! store.finished(ticket);
//! let again = store.work(Instant::START, &job, |_| unreachable!("it is done already"));
//! assert!(matches!(again, Work::Replayed(answer) if answer.starts_with(r#"{"id":"payments_1""#)));
//! assert_eq!(store.count("payments"), 1);
//! ```

mod effect;
mod fields;
mod keys;
mod object;
mod refusal;

pub use effect::Effect;
pub use keys::Ticket;
pub use object::{Making, Object, Page, Shape};
pub use refusal::{About, Refusal};

#[cfg(doc)]
use super::Reach;
use super::Rule;
use keys::{Keys, Known, Name, Print};
use object::Collection;
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most that one mock keeps, objects, keys and answers together: 256 MiB.
pub const STORE_BYTES_MAX: usize = 256 * 1024 * 1024;
/// The longest idempotency key, in bytes (Stripe's limit).
pub const KEY_BYTES_MAX: usize = 255;
/// How long a key is known when nobody says: 24 h (Stripe's time).
pub const DEFAULT_KEY_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// The header that carries keys when nobody says, in lower case.
pub const DEFAULT_KEY_HEADER: &str = "idempotency-key";
/// How many objects a list holds when nobody says.
pub const DEFAULT_LIST_LIMIT: usize = 100;
/// The most objects that one list holds.
pub const LIST_LIMIT_MAX: usize = 1_000;
/// The longest name of a resource, in bytes.
pub const RESOURCE_NAME_BYTES_MAX: usize = 64;

/// How a route takes idempotency keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The header that carries them, in lower case.
    pub header: String,
    /// How long a key is known, from its first use; one in flight has no end.
    pub ttl: Duration,
    /// How far a key reaches.
    pub scope: Scope,
    /// What becomes of a write without one.
    pub unkeyed: Unkeyed,
}

impl Default for Idempotency {
    fn default() -> Self {
        Self {
            header: DEFAULT_KEY_HEADER.to_owned(),
            ttl: DEFAULT_KEY_TTL,
            scope: Scope::Route,
            unkeyed: Unkeyed::Done,
        }
    }
}

/// How far a key reaches: the same key in two scopes is two keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The route.
    Route,
    /// The route and the value of this header, such as the account's `authorization`; attempts without it share one.
    Header(String),
}

/// What becomes of a write without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unkeyed {
    /// It is done, each time.
    Done,
    /// It is refused with 400.
    Refused,
}

/// What an answer weighs, so that what is kept has a bound.
pub trait Weigh {
    /// The bytes that keeping it costs.
    fn bytes(&self) -> usize;
}

impl Weigh for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl<T: Weigh> Weigh for Arc<T> {
    fn bytes(&self) -> usize {
        T::bytes(self)
    }
}

/// An attempt's headers: the first value of a name in lower case.
pub type Headers<'a> = &'a dyn Fn(&str) -> Option<&'a [u8]>;

/// An attempt that got to the work.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The rule that it met, or whose resource its path belongs to ([`Rule::implies`]).
    pub rule: &'a Rule,
    /// How an object looks that it makes.
    pub shape: Shape<'a>,
    /// The method.
    pub method: &'a str,
    /// The path without its query.
    pub path: &'a str,
    /// The query, without its question mark.
    pub query: &'a str,
    /// Its headers.
    pub headers: Headers<'a>,
    /// Its body, whole.
    pub body: &'a [u8],
}

/// What came of an attempt that got to the work.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Work<A> {
    /// It is done, and this is its answer.
    Done {
        /// What it gets.
        answer: A,
        /// What was done.
        effect: Effect,
        /// Where it came with a key: to be handed back when the attempt is over.
        ticket: Option<Ticket>,
    },
    /// It was done before; this is the answer that it got then. Nothing was done now.
    Replayed(A),
    /// The one who makes the answers refused it. Nothing was done, and its key is free.
    Declined {
        /// What it gets.
        answer: A,
        /// What would have been done.
        effect: Effect,
    },
    /// The store refused it. Nothing was done.
    Refused(Refusal),
}

/// Everything that a mock keeps.
#[derive(Clone, Debug)]
pub struct Store<A> {
    collections: BTreeMap<String, Collection>,
    keys: Keys<A>,
    bytes_max: usize,
}

impl<A: Clone + Weigh> Default for Store<A> {
    fn default() -> Self {
        Self::holding(STORE_BYTES_MAX)
    }
}

impl<A: Clone + Weigh> Store<A> {
    /// An empty store that keeps at most so many bytes.
    pub fn holding(bytes_max: usize) -> Self {
        Self {
            collections: BTreeMap::new(),
            keys: Keys::new(),
            bytes_max,
        }
    }

    /// Does the work of one attempt, or says why not. Call it once for each attempt that gets to the work
    /// ([`Reach::Work`]) of a rule that keeps something, when it is read and matched. `answer` is asked at most once
    /// what the attempt gets for an effect; with `Err` it refuses, and then nothing is done.
    pub fn work(
        &mut self,
        now: Instant,
        job: &Job<'_>,
        answer: impl FnOnce(&Effect) -> Result<A, A>,
    ) -> Work<A> {
        self.keys.expire(now);
        let keyed = match key_of(job) {
            Ok(keyed) => keyed,
            Err(refusal) => return Work::Refused(refusal),
        };
        if let Some(keyed) = &keyed {
            match self.keys.look(&keyed.name, keyed.print) {
                Known::New => {}
                Known::Other => return Work::Refused(Refusal::KeyReused),
                Known::InFlight => return Work::Refused(Refusal::KeyInFlight),
                Known::Answered(answer) => return Work::Replayed(answer),
            }
        }
        let effect = match self.effect(job) {
            Ok(effect) => effect,
            Err(refusal) => return Work::Refused(refusal),
        };
        let answer = match answer(&effect) {
            Ok(answer) => answer,
            Err(answer) => return Work::Declined { answer, effect },
        };
        match self.keep(now, job, &effect, keyed, &answer) {
            Ok(ticket) => Work::Done {
                answer,
                effect,
                ticket,
            },
            Err(refusal) => Work::Refused(refusal),
        }
    }

    /// An attempt with a key is over: answered, broken or left, it makes no difference. From here its key replays.
    pub fn finished(&mut self, ticket: Ticket) {
        self.keys.finish(ticket);
    }

    /// Forgets everything. Tickets that are out end nothing any more.
    pub fn clear(&mut self) {
        self.collections.clear();
        self.keys.clear();
    }

    /// Forgets the objects and the keys of one rule.
    pub fn clear_rule(&mut self, rule: &Rule) {
        if let Some(resource) = &rule.resource {
            self.collections.remove(resource);
        }
        self.keys.clear_route(&rule.pattern.to_string());
    }

    /// How many objects of a resource there are.
    pub fn count(&self, resource: &str) -> usize {
        self.collections.get(resource).map_or(0, Collection::len)
    }

    /// How many objects of a resource were ever made, those included that were removed.
    pub fn made(&self, resource: &str) -> u64 {
        self.collections.get(resource).map_or(0, Collection::made)
    }

    /// Objects of a resource in the order in which they were made: at most so many, after `since` (a page's `next`; 0
    /// for the beginning).
    pub fn page(&self, resource: &str, since: u64, most: usize) -> Page {
        match self.collections.get(resource) {
            Some(collection) => collection.page(since, most),
            None => Page {
                objects: Vec::new(),
                next: None,
            },
        }
    }

    /// The resources that were ever written, by name.
    pub fn resources(&self) -> impl Iterator<Item = &str> {
        self.collections.keys().map(String::as_str)
    }

    /// How many keys are known.
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// How many of them are in flight.
    pub fn keys_in_flight(&self) -> usize {
        self.keys.in_flight()
    }

    /// The bytes that are kept, as they are counted against the bound.
    pub fn bytes(&self) -> usize {
        self.keys.bytes() + self.collections.values().map(Collection::bytes).sum::<usize>()
    }

    fn keep(
        &mut self,
        now: Instant,
        job: &Job<'_>,
        effect: &Effect,
        keyed: Option<Keyed<'_>>,
        answer: &A,
    ) -> Result<Option<Ticket>, Refusal> {
        let key_bytes = keyed
            .as_ref()
            .map_or(0, |keyed| Keys::<A>::bytes_added(&keyed.name, answer.bytes()));
        let object_bytes = match effect {
            Effect::Created(object) | Effect::Changed(object) => self.bytes_added(job, object),
            Effect::Removed(_)
            | Effect::Nothing
            | Effect::Read(_)
            | Effect::Listed { .. }
            | Effect::Missing
            | Effect::NotAllowed => 0,
        };
        let added = key_bytes + object_bytes;
        // What adds nothing, as a read or a removal, has room in a store that is full.
        if added > 0 && self.bytes() + added > self.bytes_max {
            return Err(Refusal::Full {
                bytes_max: self.bytes_max,
            });
        }
        if let Some(resource) = &job.rule.resource {
            self.commit(resource, effect);
        }
        let begun = keyed.map(|keyed| {
            let ttl = keyed.idempotency.ttl;
            self.keys
                .begin(now, keyed.name, keyed.print, ttl, answer.clone(), answer.bytes())
        });
        Ok(begun)
    }

    fn bytes_added(&self, job: &Job<'_>, object: &Object) -> usize {
        let resource = job.rule.resource.as_deref().unwrap_or_default();
        match self.collections.get(resource) {
            Some(collection) => collection.bytes_added(object),
            None => Collection::default().bytes_added(object),
        }
    }

    fn commit(&mut self, resource: &str, effect: &Effect) {
        match effect {
            Effect::Created(object) | Effect::Changed(object) => {
                let collection = self.collections.entry(resource.to_owned()).or_default();
                collection.put(Arc::clone(object));
            }
            Effect::Removed(object) => {
                if let Some(collection) = self.collections.get_mut(resource) {
                    collection.remove(object.id());
                }
            }
            Effect::Nothing
            | Effect::Read(_)
            | Effect::Listed { .. }
            | Effect::Missing
            | Effect::NotAllowed => {}
        }
    }

    /// What the attempt would do; nothing is done yet.
    fn effect(&self, job: &Job<'_>) -> Result<Effect, Refusal> {
        let Some(resource) = &job.rule.resource else {
            return Ok(Effect::Nothing);
        };
        match self.collections.get(resource) {
            Some(kept) => effect::of_job(kept, job),
            None => effect::of_job(&Collection::default(), job),
        }
    }
}

/// A write's key, with what it stands for.
struct Keyed<'a> {
    idempotency: &'a Idempotency,
    name: Name,
    print: Print,
}

fn key_of<'a>(job: &Job<'a>) -> Result<Option<Keyed<'a>>, Refusal> {
    let Some(idempotency) = &job.rule.idempotency else {
        return Ok(None);
    };
    // A read has no effect that a key could hold to one.
    if matches!(job.method, "GET" | "HEAD" | "OPTIONS" | "TRACE") {
        return Ok(None);
    }
    let key = match ((job.headers)(&idempotency.header), idempotency.unkeyed) {
        (Some(key), _) => key,
        (None, Unkeyed::Done) => return Ok(None),
        (None, Unkeyed::Refused) => {
            let header = idempotency.header.clone();
            return Err(Refusal::KeyMissing { header });
        }
    };
    if key.is_empty() {
        return Err(Refusal::KeyEmpty);
    }
    if key.len() > KEY_BYTES_MAX {
        return Err(Refusal::KeyTooLong { bytes: key.len() });
    }
    let scope = match &idempotency.scope {
        Scope::Route => &[][..],
        Scope::Header(name) => (job.headers)(name).unwrap_or_default(),
    };
    Ok(Some(Keyed {
        idempotency,
        name: Name::new(&job.rule.pattern.to_string(), scope, key),
        print: Print::of([
            job.method.as_bytes(),
            job.path.as_bytes(),
            job.query.as_bytes(),
            job.body,
        ]),
    }))
}

#[cfg(test)]
mod tests;
