//! What is simulated: who calls, through which layers, and what the servers do. Every switch that decides an outcome is
//! here, so that a scenario file and a report can name it.

use super::luck::{Amount, Draws, Length, Luck, Purpose, nanos, whole};
use crate::plan::Limit;
use seawall_core::policy::Policy;
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::Endpoint;
use std::sync::Arc;

/// One scenario, without the policies that are compared in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Who calls, and when.
    pub load: Load,
    /// How many tokens its calls have, where no trace says it.
    pub tokens: Tokens,
    /// How long a message is on its way, each way.
    pub hop: Length,
    /// Callers between the clients and the servers, the nearest to the clients first. Empty: the clients call the servers.
    pub layers: Vec<Layer>,
    /// The servers that the last layer calls: candidates of its route, or shards.
    pub servers: Vec<Server>,
    /// Which of the servers an attempt goes to.
    pub spread: Spread,
    /// No call begins after this; those that are there go on to their ends.
    pub horizon: Duration,
    /// What begins before this counts for nothing but the pictures.
    pub warmup: Duration,
}

impl Model {
    /// The servers that attempts go to while all is well: the others of a route are for when its first is not.
    pub fn serving(&self) -> &[Server] {
        match self.spread {
            Spread::Route => &self.servers[..self.servers.len().min(1)],
            Spread::ShardsOneGate | Spread::ShardsOwnGates => &self.servers,
        }
    }

    /// What kind of calls these are: it decides the limits that a policy leaves open (rules F1 and F2).
    pub fn endpoint(&self) -> Endpoint {
        let generated = self.servers.iter().filter_map(|server| server.generation);
        let mut kinds = generated.map(|generation| match generation.sent {
            AnswerIs::Whole => Endpoint::Inference,
            AnswerIs::Streamed => Endpoint::InferenceStream,
        });
        // All servers of a model answer alike: a file that says otherwise is refused.
        kinds.next_back().unwrap_or(Endpoint::General)
    }

    /// How many tokens a call reads, writes, and has charged to a limit before it is worked on: the means.
    pub(crate) fn mean_tokens(&self) -> MeanTokens {
        match &self.load {
            Load::Trace { calls, .. } if self.tokens == Tokens::NONE => {
                let mean = |count: fn(&Arrival) -> u32| {
                    let sum: f64 = calls.iter().map(|call| f64::from(count(call))).sum();
                    sum / crate::sim::summary::float(calls.len().max(1) as u64)
                };
                let (read, written) = (mean(|call| call.tokens_in), mean(|call| call.tokens_out));
                MeanTokens {
                    read,
                    written,
                    charged: read + written,
                }
            }
            Load::Open { .. } | Load::Closed { .. } | Load::Pool { .. } | Load::Trace { .. } => MeanTokens {
                read: self.tokens.read.mean(),
                written: self.tokens.written.mean(),
                charged: self.tokens.charged_mean(),
            },
        }
    }

    /// How long a server of this model takes for an attempt, in the mean, where nothing is wrong.
    pub(crate) fn service_mean(&self, server: &Server) -> Duration {
        let plain = server.service.mean();
        let Some(generation) = server.generation else {
            return plain;
        };
        let MeanTokens { read, written, .. } = self.mean_tokens();
        let reads = nanos(generation.per_token_in) * read;
        plain.plus(whole(reads + nanos(generation.per_token_out) * written))
    }
}

/// How many tokens calls have in the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanTokens {
    pub(crate) read: f64,
    pub(crate) written: f64,
    pub(crate) charged: f64,
}

/// How many tokens a call has: drawn for it once, so that each of its attempts has the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tokens {
    /// Of its prompt.
    pub read: Amount,
    /// Of its answer.
    pub written: Amount,
    /// The most that the call lets be written, which limits are charged before the work; an answer ends there. `None`:
    /// callers foretell their answers to the token.
    pub written_max: Option<u32>,
}

impl Tokens {
    /// None at all.
    pub const NONE: Self = Self {
        read: Amount::Fixed(0),
        written: Amount::Fixed(0),
        written_max: None,
    };

    /// Those of the `nth` call of `who`: read, and written.
    pub(crate) fn of_call(&self, luck: Luck, who: u64, nth: u64) -> (u32, u32) {
        let mut draws: Draws = luck.of(Purpose::Tokens, who, nth);
        let read = self.read.draw(&mut draws);
        let written = self.written.draw(&mut draws);
        (read, written.min(self.written_max.unwrap_or(u32::MAX)))
    }

    /// What limits are charged for the answer of a call that is answered with so many.
    pub(crate) fn charged(&self, written: u32) -> u32 {
        self.written_max.map_or(written, |most| most.max(written))
    }

    /// The mean of what limits are charged for a call.
    pub(crate) fn charged_mean(&self) -> f64 {
        self.read.mean() + self.written_max.map_or(self.written.mean(), f64::from)
    }
}

/// How a policy is worn: by whom, and who shares its gates.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// What it is called in reports.
    pub name: String,
    /// The policy of the clients, and of every layer that has none of its own.
    pub policy: Policy,
    /// Who shares a gate.
    pub fleet: Fleet,
}

/// Who shares the gates of a policy: each group is an engine of its own, as a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fleet {
    /// Each client has its own.
    PerClient,
    /// So many clients have one.
    PerProcess {
        /// Clients in a process, at least one.
        clients: u32,
    },
    /// All have one.
    One,
}

impl Fleet {
    /// The process of a client.
    pub const fn process_of(self, client: u32) -> u32 {
        match self {
            Self::PerClient => client,
            Self::PerProcess { clients } => client / clients,
            Self::One => 0,
        }
    }

    /// How many processes so many clients have.
    pub const fn processes(self, clients: u32) -> u32 {
        match self {
            Self::PerClient => clients,
            Self::PerProcess { clients: each } => clients.div_ceil(each),
            Self::One => 1,
        }
    }
}

/// Who calls, and when.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Calls come whether or not the ones before them have ended.
    Open {
        /// How many clients there are; each call is one's, drawn evenly.
        clients: u32,
        /// Calls a second, all clients together.
        per_second: f64,
        /// How the gaps are spread.
        gaps: Gaps,
        /// When there are more or fewer.
        bursts: Vec<Burst>,
    },
    /// Each client calls, waits for the end, thinks, and calls again.
    Closed {
        /// How many.
        clients: u32,
        /// How long one thinks.
        think: Length,
        /// When the first calls begin: all at once, or each after one time of thinking.
        start: Start,
        /// How many calls each makes; `None` is up to the horizon.
        calls_each: Option<u32>,
    },
    /// Calls come as in `Open`, and each holds one of so many connections from its first attempt to its end, waits
    /// between attempts included; one that finds none waits for it, and its latency counts from when it came.
    Pool {
        /// How many connections.
        connections: u32,
        /// Calls a second.
        per_second: f64,
        /// How the gaps are spread.
        gaps: Gaps,
    },
    /// Calls that somebody recorded, in the order of their times.
    Trace {
        /// How many clients there are: a call is one's, in turn.
        clients: u32,
        /// The calls.
        calls: Arc<[Arrival]>,
    },
}

impl Load {
    /// How many clients there are.
    pub fn clients(&self) -> u32 {
        match self {
            Self::Open { clients, .. } | Self::Closed { clients, .. } | Self::Trace { clients, .. } => {
                *clients
            }
            Self::Pool { connections, .. } => *connections,
        }
    }
}

/// One recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Instant,
    /// Tokens that it sends.
    pub tokens_in: u32,
    /// Tokens that it is answered with.
    pub tokens_out: u32,
}

/// How the gaps between arrivals are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Exponential: independent callers.
    Poisson,
    /// All equal.
    Constant,
}

/// A time with more or fewer calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// From when.
    pub at: Instant,
    /// For how long.
    pub lasts: Duration,
    /// Times the usual rate.
    pub factor: f64,
}

/// When the first calls of a closed load begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// All at the beginning.
    Together,
    /// Each after one time of thinking.
    Spread,
}

/// A caller between clients and servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// What it is called.
    pub name: String,
    /// Its own policy; `None` is the contender's.
    pub policy: Option<Policy>,
    /// How many processes it has; a call goes to one, drawn evenly.
    pub processes: u32,
    /// Whether attempts are told across: the layer hears which attempt of its caller a call is (rule G3), and its caller
    /// hears not to repeat what the layer gave up (rule M2).
    pub told: Told,
}

/// Whether callers and called tell each other of their attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Each retries as if nobody else did.
    Nothing,
    /// The number of the attempt goes down, "do not retry" comes up.
    Attempts,
}

/// Which server an attempt goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// The servers are candidates of one route, in order, each behind a gate of its own.
    Route,
    /// The servers are shards; a call belongs to one, drawn evenly, and all are behind one gate.
    ShardsOneGate,
    /// The servers are shards, each behind a gate of its own.
    ShardsOwnGates,
}

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// How attempts are worked off.
    pub capacity: Capacity,
    /// How long an attempt takes once it is worked on.
    pub service: Length,
    /// Of attempts that wait for a worker: who is next.
    pub order: Order,
    /// How many may wait; `None` is any number.
    pub queue_max: Option<u32>,
    /// What becomes of work whose caller has stopped waiting.
    pub orphans: Orphans,
    /// How long a worker is busy with each attempt that finds the queue full or the limit used up: such work comes before
    /// all that waits. Zero: refusals cost nothing.
    pub reject_cost: Duration,
    /// What an attempt takes for each of its tokens, beside `service`; `None` is nothing.
    pub generation: Option<Generation>,
    /// What goes wrong of itself.
    pub failures: Failures,
    /// How many it lets in, and how it tells.
    pub limit: Option<Limit>,
    /// When it is not well: in the order of their times, none before the one before it has ended.
    pub outages: Vec<Outage>,
    /// Outages that come by chance, other ones with each seed, in place of given ones.
    pub renewal: Option<Renewal>,
    /// What a million tokens cost, read and written, in millionths of a dollar.
    pub price: Price,
}

impl Default for Server {
    /// One that answers at once and never fails.
    fn default() -> Self {
        Self {
            capacity: Capacity::Unbounded,
            service: Length::ZERO,
            order: Order::Fifo,
            queue_max: None,
            orphans: Orphans::Worked,
            reject_cost: Duration::ZERO,
            generation: None,
            failures: Failures::None,
            limit: None,
            outages: Vec::new(),
            renewal: None,
            price: Price::default(),
        }
    }
}

/// An answer that a language model makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// For each token that is read, before the first one is written.
    pub per_token_in: Duration,
    /// For each token that is written.
    pub per_token_out: Duration,
    /// How the answer is sent.
    pub sent: AnswerIs,
}

/// How an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerIs {
    /// In one piece when the last token is written: its first byte is its last.
    Whole,
    /// As it is written: its caller accepts it at the first token, and from there on sends it to nobody else.
    Streamed,
}

/// How attempts are worked off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// All at once.
    Unbounded,
    /// So many at a time; others wait.
    Workers(u32),
    /// All at once, each slower for those that were there when it came.
    Coupled {
        /// What each of them adds.
        slope: Duration,
    },
    /// One row that all want to write, optimistically: an attempt reads its version, and its write holds only where that
    /// is still the version. Takes four hops and no time at the server.
    OptimisticLock,
}

/// Who is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Who came first.
    Fifo,
    /// Who came last.
    Lifo,
}

/// What becomes of work whose caller has stopped waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphans {
    /// It is done all the same: nobody told the server.
    Worked,
    /// It is dropped where it still waits for a worker; what is worked on is finished.
    Dropped,
}

/// What goes wrong of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failures {
    /// Nothing.
    None,
    /// Each attempt alike.
    Independent {
        /// How many fail, 0 to 1.
        chance: f64,
    },
    /// An attempt after a failed one of its call fails more often.
    Sticky {
        /// How many first attempts fail, 0 to 1.
        first: f64,
        /// How many later ones do, 0 to 1.
        again: f64,
    },
}

/// A time in which a server is not well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outage {
    /// From when.
    pub at: Instant,
    /// For how long.
    pub lasts: Duration,
    /// What is wrong.
    pub how: Trouble,
    /// How many attempts it hits, 0 to 1.
    pub share: f64,
}

/// A server that is well for a time, then is not, and so on: each time is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Renewal {
    /// How long it is well.
    pub up: Length,
    /// How long it is not.
    pub down: Length,
    /// What is wrong then.
    pub how: Trouble,
    /// How many attempts that hits, 0 to 1.
    pub share: f64,
}

/// What is wrong with a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// It answers with a failure status at once.
    FailFast,
    /// Nothing connects: provably not sent.
    Refuse,
    /// It takes attempts and works on none; those that wait are worked on afterwards.
    Hang,
    /// Everything takes so many times as long.
    Slow {
        /// Times the usual.
        factor: f64,
    },
    /// It answers 429 at once.
    Throttle {
        /// With this wait, where it says one.
        retry_after: Option<Duration>,
    },
    /// It does the work, and its answer breaks off.
    Truncate,
}

/// What tokens cost, in millionths of a dollar for a million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// Read.
    pub per_million_in: u64,
    /// Written.
    pub per_million_out: u64,
}
