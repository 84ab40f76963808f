//! What a server does with attempts: waits, works, refuses, breaks.
//!
//! What can go wrong: most simulated servers forget what makes outages last. Work goes on for callers that have left,
//! a refusal costs time as well, a queue that is full of the dead is still worked off, and a limit that refuses says
//! when to come back. Each of these is a switch of [`Server`], and none has a silent default in a file.
//!
//! It never touches the agenda: it says what becomes of an attempt and until when a worker is busy, and the world puts
//! that on the agenda.

use super::luck::{Draws, Luck, Purpose, nanos, whole};
use super::model::{AnswerIs, Capacity, Failures, Order, Orphans, Outage, Server, Trouble};
use crate::plan::{Admission, Meter, Seat, Wait};
use seawall_core::time::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// An answer.
    Answered,
    /// A failure status.
    Failed,
    /// No connection.
    Refused,
    /// 429.
    Throttled { retry_after: Option<Duration> },
    /// 503, because too many wait.
    Shed,
    /// An answer that breaks off.
    Truncated,
    /// 409: the row has another version by now.
    Conflict,
    /// The layer below gave up, and says not to repeat that.
    GivenUp,
}

/// Which send of which call, for whom: what chance is named by, and what a server knows of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    pub(crate) who: u64,
    pub(crate) nth: u64,
    pub(crate) attempt: u32,
    pub(crate) tokens_in: u32,
    pub(crate) tokens_out: u32,
    /// Whether its call was due after the warm-up.
    pub(crate) is_counted: bool,
    /// The most that the answer may have, which is charged to a limit before the work.
    pub(crate) tokens_out_max: u32,
    /// When its caller stops waiting.
    pub(crate) until: Instant,
}

impl Ticket {
    fn draws(&self, luck: Luck, purpose: Purpose) -> Draws {
        luck.of_attempt(purpose, self.who, self.nth, self.attempt)
    }
}

/// An attempt that a server has taken in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Names the attempt to the world.
    pub(crate) attempt: u64,
    pub(crate) ticket: Ticket,
    lasts: Duration,
    /// Of that, from the first byte of the answer on.
    speaks: Duration,
    fate: Fate,
    /// The version that it read.
    version: u64,
}

/// What a server does with an attempt that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is answered at once.
    Over(Fate),
    /// It is worked on until then.
    Works { job: u32, until: Instant },
    /// It waits for a worker.
    Waits { job: u32 },
    /// It has read a version; its write comes when the world brings it.
    Read { job: u32 },
}

impl Taken {
    /// The job that it became.
    const fn job(&self) -> Option<u32> {
        match self {
            Self::Over(_) => None,
            Self::Works { job, .. } | Self::Waits { job } | Self::Read { job } => Some(*job),
        }
    }
}

/// A job that a worker has finished with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) job: Job,
    pub(crate) fate: Fate,
    pub(crate) worked: Duration,
}

impl Done {
    /// Whether the work was done that is paid for: a refusal costs its server something, and its caller nothing.
    pub(crate) const fn is_billed(&self) -> bool {
        match self.fate {
            Fate::Answered | Fate::Failed | Fate::Truncated | Fate::Conflict | Fate::GivenUp => true,
            Fate::Refused | Fate::Shed | Fate::Throttled { .. } => false,
        }
    }
}

/// A server at work.
#[derive(Debug)]
pub(crate) struct Desk<S> {
    server: S,
    luck: Luck,
    jobs: Vec<Job>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    /// Attempts that are to be refused, and wait for a worker to do it.
    refusals: VecDeque<u32>,
    /// Whether it limits attempts at once.
    has_seats: bool,
    /// By job, the seats of that limit.
    seats: BTreeMap<u32, Seat>,
    /// Whether answers are heard before they are whole.
    streams: bool,
    working: u32,
    version: u64,
    meter: Meter,
    outages: Vec<Outage>,
    /// Outages before this one are over.
    next_outage: usize,
}

impl<S: Deref<Target = Server>> Desk<S> {
    pub(crate) fn new(server: S, outages: Vec<Outage>, luck: Luck) -> Self {
        let sent = server.generation.map(|generation| generation.sent);
        let limit = server.limit.as_ref();
        Self {
            has_seats: limit.is_some_and(|limit| limit.concurrency.is_some()),
            streams: sent == Some(AnswerIs::Streamed),
            server,
            luck,
            jobs: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            refusals: VecDeque::new(),
            seats: BTreeMap::new(),
            working: 0,
            version: 0,
            meter: Meter::default(),
            outages,
            next_outage: 0,
        }
    }

    /// What its work takes, that of callers that have left included.
    pub(super) fn bytes(&self) -> u64 {
        (self.jobs.len() * size_of::<Job>() + self.waiting.len() * size_of::<u32>()) as u64
    }

    /// When it is not well, in this run.
    pub(super) fn outages(&self) -> &[Outage] {
        &self.outages
    }

    /// When a stall that is on at `now` ends.
    fn stalled_until(&mut self, now: Instant) -> Option<Instant> {
        self.outage(now)
            .filter(|outage| outage.how == Trouble::Hang)
            .map(|outage| outage.at.after(outage.lasts))
    }

    /// An attempt has come.
    pub(crate) fn take(&mut self, now: Instant, attempt: u64, ticket: Ticket) -> Taken {
        let hit = self.outage(now).filter(|outage| {
            outage.share >= 1.0 || ticket.draws(self.luck, Purpose::Severity).happens(outage.share)
        });
        let trouble = hit.map(|outage| outage.how);
        match trouble {
            Some(Trouble::FailFast) => return Taken::Over(Fate::Failed),
            Some(Trouble::Refuse) => return Taken::Over(Fate::Refused),
            Some(Trouble::Throttle { retry_after }) => return Taken::Over(Fate::Throttled { retry_after }),
            Some(Trouble::Hang | Trouble::Slow { .. } | Trouble::Truncate) | None => {}
        }
        let seat = match self.let_in(now, ticket) {
            Ok(seat) => seat,
            Err(fate) => return self.refuse(now, attempt, ticket, fate, trouble),
        };
        let fate = match trouble {
            Some(Trouble::Truncate) => Fate::Truncated,
            Some(
                Trouble::FailFast
                | Trouble::Refuse
                | Trouble::Hang
                | Trouble::Slow { .. }
                | Trouble::Throttle { .. },
            )
            | None => match self.fails(ticket) {
                true => Fate::Failed,
                false => Fate::Answered,
            },
        };
        let (lasts, speaks) = self.length(ticket, trouble);
        let job = Job {
            attempt,
            ticket,
            lasts,
            speaks,
            fate,
            version: self.version,
        };
        let taken = self.begin(now, job, trouble);
        self.seats.extend(taken.job().zip(seat));
        taken
    }

    fn begin(&mut self, now: Instant, job: Job, trouble: Option<Trouble>) -> Taken {
        match self.server.capacity {
            Capacity::OptimisticLock => Taken::Read { job: self.keep(job) },
            // What comes in a stall is begun when that is over.
            Capacity::Unbounded | Capacity::Coupled { .. } => {
                let from = self.stalled_until(now).unwrap_or(now);
                self.start(from, job)
            }
            Capacity::Workers(workers) => {
                if self.working < workers && !matches!(trouble, Some(Trouble::Hang)) {
                    return self.start(now, job);
                }
                let waiting = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
                if self.server.queue_max.is_some_and(|most| waiting >= most) {
                    return self.refuse(now, job.attempt, job.ticket, Fate::Shed, trouble);
                }
                let job = self.keep(job);
                self.waiting.push_back(job);
                Taken::Waits { job }
            }
        }
    }

    /// Refuses an attempt: at once, or where that takes a worker's time, when one has had it.
    #[inline(never)]
    fn refuse(
        &mut self,
        now: Instant,
        attempt: u64,
        ticket: Ticket,
        fate: Fate,
        trouble: Option<Trouble>,
    ) -> Taken {
        let Capacity::Workers(workers) = self.server.capacity else {
            return Taken::Over(fate);
        };
        if self.server.reject_cost.is_zero() {
            return Taken::Over(fate);
        }
        let job = Job {
            attempt,
            ticket,
            lasts: self.server.reject_cost,
            speaks: Duration::ZERO,
            fate,
            version: self.version,
        };
        if self.working < workers && !matches!(trouble, Some(Trouble::Hang)) {
            return self.start(now, job);
        }
        let job = self.keep(job);
        self.refusals.push_back(job);
        Taken::Waits { job }
    }

    /// The write of an attempt that read a version has come.
    pub(crate) fn write(&mut self, job: u32) -> Done {
        let job = self.let_go(job);
        let holds = job.version == self.version;
        let fate = match job.fate {
            Fate::Answered if !holds => Fate::Conflict,
            fate => fate,
        };
        // An answer that breaks off was written all the same.
        self.version += u64::from(holds && matches!(fate, Fate::Answered | Fate::Truncated));
        Done {
            job,
            fate,
            worked: Duration::ZERO,
        }
    }

    /// When a job that ends at `now` really ends: a stall holds up what is worked on.
    pub(crate) fn held_up(&mut self, now: Instant) -> Option<Instant> {
        let outage = self.outage(now)?;
        let done_of_stall = now.since(outage.at);
        (outage.how == Trouble::Hang).then(|| outage.at.after(outage.lasts).after(done_of_stall))
    }

    /// Whether nothing waits and nothing is worked on.
    #[cfg(feature = "net")]
    pub(crate) fn is_idle(&self) -> bool {
        self.working == 0 && self.waiting.is_empty() && self.refusals.is_empty()
    }

    /// A worker has finished.
    pub(crate) fn finish(&mut self, job: u32) -> Done {
        self.working -= 1;
        let job = self.let_go(job);
        Done {
            job,
            fate: job.fate,
            worked: job.lasts,
        }
    }

    /// The next that waits, where a worker is free for it; `waits_for` says whether a caller still waits.
    pub(crate) fn start_next(
        &mut self,
        now: Instant,
        mut waits_for: impl FnMut(u64) -> bool,
    ) -> Option<(u32, Instant)> {
        let Capacity::Workers(workers) = self.server.capacity else {
            return None;
        };
        if self.working >= workers {
            return None;
        }
        loop {
            // Who is refused is refused before anybody is served: a server turns away at its door.
            let job = self.refusals.pop_front().or_else(|| match self.server.order {
                Order::Fifo => self.waiting.pop_front(),
                Order::Lifo => self.waiting.pop_back(),
            })?;
            let waiting = self.jobs[job as usize];
            if self.server.orphans == Orphans::Dropped
                && (waiting.ticket.until <= now || !waits_for(waiting.attempt))
            {
                self.let_go(job);
                continue;
            }
            self.working += 1;
            return Some((job, now.after(waiting.lasts)));
        }
    }

    fn start(&mut self, from: Instant, job: Job) -> Taken {
        self.working += 1;
        Taken::Works {
            until: from.after(job.lasts),
            job: self.keep(job),
        }
    }

    /// When the first byte of an answer leaves that is whole at `until`, and the name of its attempt; `None` where that
    /// is the same.
    #[inline]
    pub(crate) fn speaks_at(&self, job: u32, until: Instant) -> Option<(u64, Instant)> {
        if !self.streams {
            return None;
        }
        let job = &self.jobs[job as usize];
        matches!(job.fate, Fate::Answered | Fate::Truncated).then(|| (job.attempt, until.before(job.speaks)))
    }

    /// How long an attempt takes, and of that from its first byte on.
    fn length(&self, ticket: Ticket, trouble: Option<Trouble>) -> (Duration, Duration) {
        let plain = self
            .server
            .service
            .draw(&mut ticket.draws(self.luck, Purpose::Service));
        let plain = match self.server.capacity {
            Capacity::Coupled { slope } => plain.plus(slope.times(u64::from(self.working))),
            Capacity::Unbounded | Capacity::Workers(_) | Capacity::OptimisticLock => plain,
        };
        let (plain, speaks) = match self.server.generation {
            None => (plain, Duration::ZERO),
            Some(generation) => {
                let reads = generation.per_token_in.times(u64::from(ticket.tokens_in));
                let speaks = generation.per_token_out.times(u64::from(ticket.tokens_out));
                (plain.plus(reads).plus(speaks), speaks)
            }
        };
        match trouble {
            Some(Trouble::Slow { factor }) => (whole(nanos(plain) * factor), whole(nanos(speaks) * factor)),
            Some(
                Trouble::FailFast
                | Trouble::Refuse
                | Trouble::Hang
                | Trouble::Throttle { .. }
                | Trouble::Truncate,
            )
            | None => (plain, speaks),
        }
    }

    fn fails(&self, ticket: Ticket) -> bool {
        let chance = match self.server.failures {
            Failures::None => return false,
            Failures::Independent { chance } => chance,
            Failures::Sticky { first, again } => {
                if ticket.attempt == 1 {
                    first
                } else {
                    again
                }
            }
        };
        ticket.draws(self.luck, Purpose::Failure).happens(chance)
    }

    /// The seat of an attempt that is within the limit, where the limit has seats; or how it is refused.
    fn let_in(&mut self, now: Instant, ticket: Ticket) -> Result<Option<Seat>, Fate> {
        let Some(limit) = self.server.limit.as_ref() else {
            return Ok(None);
        };
        let tokens = u64::from(ticket.tokens_in) + u64::from(ticket.tokens_out_max);
        match self.meter.ask(limit, now, b"", tokens) {
            Admission::Admitted(_, seat) => Ok(self.has_seats.then_some(seat)),
            Admission::Full => Ok(None),
            Admission::Refused(refusal) => Err(Fate::Throttled {
                retry_after: match refusal.wait {
                    Wait::For(wait) => Some(wait.up_to_millis()),
                    Wait::UntilOneEnds | Wait::Never => None,
                },
            }),
        }
    }

    /// The outage that is on.
    fn outage(&mut self, now: Instant) -> Option<Outage> {
        while let Some(outage) = self.outages.get(self.next_outage) {
            if now < outage.at.after(outage.lasts) {
                return (now >= outage.at).then_some(*outage);
            }
            self.next_outage += 1;
        }
        None
    }

    fn keep(&mut self, job: Job) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.jobs[place as usize] = job;
                place
            }
            None => {
                self.jobs.push(job);
                u32::try_from(self.jobs.len() - 1).expect("jobs are counted in 32 bits")
            }
        }
    }

    fn let_go(&mut self, job: u32) -> Job {
        self.free.push(job);
        if self.has_seats {
            self.seats.remove(&job);
        }
        self.jobs[job as usize]
    }
}

#[cfg(test)]
mod tests;
