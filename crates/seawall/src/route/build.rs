use crate::upstream::{Made, ModelGate, Stop, Upstream};
use seawall_core::call;
use seawall_core::facts::Replay;
use seawall_core::policy::{PolicyBuilder, PolicyError, Preset};
use seawall_core::time::Duration;
use std::fmt;
use std::sync::Arc;

use super::Route;

/// One of a route's candidates: an upstream, the model there, and what is known of it.
///
/// An [`&Upstream`](Upstream) is one that says nothing else.
///
/// ```
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::route::{Candidate, Order, Price};
/// use seawall::{Route, Upstream};
///
/// let main = Upstream::builder("https://api.example.com/v1")?.build()?;
/// let route = Route::builder()
///     .to(Candidate::of(&main).model("big-1").window(200_000).price(Price::micro_usd(3_000_000, 15_000_000)))
///     .to(Candidate::of(&main).model("small-1").window(64_000).price(Price::micro_usd(420_000, 1_100_000)))
///     .order(Order::Cheapest)
///     .build()?;
/// # Ok(()) }
/// # example().unwrap();
/// ```
#[derive(Clone)]
#[must_use]
pub struct Candidate {
    pub(super) upstream: Upstream,
    pub(super) model: Option<Arc<str>>,
    pub(super) window: u32,
    pub(super) price: Option<Price>,
    key: Key,
    /// The gate of the model there; the upstream's until the route is built.
    gate: ModelGate,
}

/// Whether a candidate has the key that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// Or it needs none.
    Had,
    Missing,
}

/// What a model costs, in millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Of tokens sent.
    pub input_micro_usd: u64,
    /// Of tokens answered.
    pub output_micro_usd: u64,
}

impl Price {
    /// A price of so many millionths of a US dollar per million tokens sent, and per million answered: 0.42 USD are
    /// 420 000.
    pub const fn micro_usd(input: u64, output: u64) -> Self {
        Self {
            input_micro_usd: input,
            output_micro_usd: output,
        }
    }

    /// What a call of so many tokens costs, in millionths of a millionth of a US dollar.
    const fn of(self, tokens_in: u32, tokens_out: u32) -> u128 {
        let [input, output] = [self.input_micro_usd as u128, self.output_micro_usd as u128];
        input * tokens_in as u128 + output * tokens_out as u128
    }
}

impl Candidate {
    /// A candidate at this upstream, with the model that a call names itself.
    pub fn of(upstream: &Upstream) -> Self {
        Self {
            upstream: upstream.clone(),
            model: None,
            window: 0,
            price: None,
            key: Key::Had,
            gate: ModelGate::default(),
        }
    }

    /// With this model, whatever a call names.
    pub fn model(mut self, name: impl Into<Arc<str>>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// How many tokens it takes: a call that is longer by our estimate does not go there (rule K2). 0 is unknown.
    pub const fn window(mut self, tokens: u32) -> Self {
        self.window = tokens;
        self
    }

    /// What it costs, for [`Order::Cheapest`] and a file's `max_price`.
    pub const fn price(mut self, price: Price) -> Self {
        self.price = Some(price);
        self
    }

    /// It needs a key that nobody has: it stands in the route, and is never sent to (rule K2).
    pub(super) const fn without_its_key(mut self) -> Self {
        self.key = Key::Missing;
        self
    }

    /// Upstream and model as files name them.
    fn name(&self) -> String {
        match &self.model {
            Some(model) => format!("{}/{model}", self.upstream.name()),
            None => self.upstream.name().to_owned(),
        }
    }
}

impl From<&Upstream> for Candidate {
    fn from(upstream: &Upstream) -> Self {
        Self::of(upstream)
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// Which candidate comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// As they were written.
    #[default]
    Given,
    /// The one that is to cost least, by its price and our estimate of the call's tokens; those without a price come last,
    /// and what costs the same stays as it was written.
    Cheapest,
}

/// Describes a [`Route`].
#[derive(Clone, Debug)]
#[must_use]
pub struct RouteBuilder {
    candidates: Vec<Candidate>,
    order: Order,
    fallbacks: Option<u32>,
    tries: Option<u32>,
    patience: Option<Duration>,
    max_price: Option<u64>,
    replay: Option<Replay>,
}

/// A route that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// It leads nowhere.
    #[error("the route has no candidate; add one by .to(&upstream)")]
    Nowhere,
    /// One candidate stands in it twice.
    #[error("{candidate} stands in the route twice; take one of them out, or give it another model")]
    Twice {
        /// The candidate.
        candidate: String,
    },
    /// Two of its upstreams live in different engines, and no call can move between those.
    #[error("{other} is not beside {first}; build it by .beside(&upstream), with that one")]
    Apart {
        /// The first candidate.
        first: String,
        /// The one that is elsewhere.
        other: String,
    },
    /// A setting is out of its range.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl RouteBuilder {
    pub(super) const fn new() -> Self {
        Self {
            candidates: Vec::new(),
            order: Order::Given,
            fallbacks: None,
            tries: None,
            patience: None,
            max_price: None,
            replay: None,
        }
    }

    /// Adds a candidate at the end. Calls are written for the first, and keep its call policy; the policy of another
    /// upstream bounds its gate, and each attempt there.
    pub fn to(mut self, candidate: impl Into<Candidate>) -> Self {
        self.candidates.push(candidate.into());
        self
    }

    /// Adds a model at an upstream.
    pub fn to_model(self, upstream: &Upstream, model: impl Into<Arc<str>>) -> Self {
        self.to(Candidate::of(upstream).model(model))
    }

    /// Which candidate comes first; as they are written unless it is given.
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Moves to a candidate that a call was not sent to before, 0 to 100; the call policy's unless it is given (2).
    pub const fn fallbacks(mut self, moves: u32) -> Self {
        self.fallbacks = Some(moves);
        self
    }

    /// Sends at one candidate while another could send now, 1 to 100; the call policy's unless it is given (2).
    pub const fn tries(mut self, sends: u32) -> Self {
        self.tries = Some(sends);
        self
    }

    /// The longest wait at one candidate while another could send now; the call policy's unless it is given (1 s).
    pub const fn patience(mut self, length: Duration) -> Self {
        self.patience = Some(length);
        self
    }

    /// The most that a candidate may cost, in millionths of a US dollar per million tokens answered: one whose price is
    /// above it is never sent to (rule K2). One without a price is.
    pub const fn max_price_micro_usd(mut self, most: u64) -> Self {
        self.max_price = Some(most);
        self
    }

    /// What a repeat of its calls would do, where a call does not say so itself, instead of what method, provider and key
    /// say (rule E1).
    pub const fn replay(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// The route.
    ///
    /// # Errors
    /// [`RouteError`]: no candidate, one that stands there twice, upstreams that are not beside each other, a setting out
    /// of its range.
    pub fn build(self) -> Result<Route, RouteError> {
        self.settings_in_range()?;
        let mut candidates = self.candidates;
        let first = candidates.first().ok_or(RouteError::Nowhere)?.clone();
        for (nth, candidate) in candidates.iter().enumerate() {
            if !candidate.upstream.is_beside(&first.upstream) {
                return Err(RouteError::Apart {
                    first: first.name(),
                    other: candidate.name(),
                });
            }
            let is_it = |other: &Candidate| {
                other.upstream.is_same_door(&candidate.upstream) && other.model == candidate.model
            };
            if candidates[..nth].iter().any(is_it) {
                let candidate = candidate.name();
                return Err(RouteError::Twice { candidate });
            }
        }
        for candidate in &mut candidates {
            if let Some(model) = &candidate.model {
                candidate.gate = candidate.upstream.gate_of_model(model);
            }
        }
        Ok(Route {
            inner: Arc::new(Inner {
                candidates,
                order: self.order,
                fallbacks: self.fallbacks,
                tries: self.tries,
                patience: self.patience,
                max_price: self.max_price,
                replay: self.replay,
            }),
        })
    }

    fn settings_in_range(&self) -> Result<(), PolicyError> {
        let mut builder = PolicyBuilder::from_preset(Preset::Default);
        if let Some(moves) = self.fallbacks {
            builder = builder.fallbacks(moves);
        }
        if let Some(sends) = self.tries {
            builder = builder.tries(sends);
        }
        if let Some(length) = self.patience {
            builder = builder.patience(length);
        }
        builder.build().map(drop)
    }
}

/// A route that is right.
pub(super) struct Inner {
    pub(super) candidates: Vec<Candidate>,
    order: Order,
    pub(super) fallbacks: Option<u32>,
    pub(super) tries: Option<u32>,
    pub(super) patience: Option<Duration>,
    max_price: Option<u64>,
    pub(super) replay: Option<Replay>,
}

impl Inner {
    /// Whether a candidate is none for any call: it lacks its key, or costs more than the route allows, as far as its
    /// price is known (rule K2).
    pub(super) fn cannot_serve(&self, nth: usize) -> bool {
        let candidate = &self.candidates[nth];
        let above = |most: u64| candidate.price.is_some_and(|price| price.output_micro_usd > most);
        candidate.key == Key::Missing || self.max_price.is_some_and(above)
    }

    /// Puts candidates into the order in which a call asks them, by what the first that is written is sent.
    pub(super) fn put_in_order(&self, stops: &mut [Stop<'_>], made: &Made) {
        match (self.order, made) {
            (Order::Given, _) | (Order::Cheapest, Err(_)) => {}
            (Order::Cheapest, Ok(prepared)) => {
                let (tokens_in, tokens_out) = prepared.tokens();
                let cost = |stop: &Stop<'_>| {
                    let price = self.candidates[stop.nth].price;
                    price.map_or(u128::MAX, |price| price.of(tokens_in, tokens_out))
                };
                stops.sort_by_key(cost);
            }
        }
    }

    /// The candidate as the engine knows it, for a call that begins now.
    pub(super) fn candidate(&self, stop: &Stop<'_>) -> call::Candidate {
        let candidate = &self.candidates[stop.nth];
        let mut known = candidate.upstream.candidate_at(&candidate.gate);
        known.window = candidate.window;
        known
    }
}
