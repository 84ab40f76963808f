//! The callers of a twin: the load of a model, each call made by an upstream of the product.

use super::TwinError;
use super::booth::Name;
use crate::net::{CALL_HEADER, Mock};
use crate::run::stage::Act;
use crate::sim::luck::{Luck, Purpose};
use crate::sim::model::{Fleet, Load, Tokens};
use crate::sim::study::{Job, Study};
use crate::sim::tally::{CallEnd, Tally};
use crate::sim::world::sources::Source;
use http::{HeaderName, HeaderValue};
use seawall::clock::Clock;
use seawall::crank::Players;
use seawall::http::TransportBuilder;
use seawall::upstream::{Call, Upstream};
use seawall_core::profile::Provider;
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use tokio::sync::Semaphore;

/// Connections that are kept between attempts.
const IDLE_MAX: usize = 4_096;

/// Everybody who calls in one run.
pub(super) struct Troupe<'s> {
    load: &'s Load,
    tokens: &'s Tokens,
    fleet: Fleet,
    horizon: Duration,
    warmup: Duration,
    luck: Luck,
    clock: Arc<dyn Clock>,
    /// When the model's time began, by the clock.
    began: OnceLock<Instant>,
    /// One for each process.
    upstreams: Vec<Upstream>,
    connections: Option<Semaphore>,
    tally: Mutex<Tally>,
}

/// A call that is due.
#[derive(Clone, Copy)]
struct Due {
    client: u32,
    who: u64,
    nth: u64,
    tokens: (u32, u32),
    at: Instant,
}

impl<'s> Troupe<'s> {
    /// The callers of one run, who call this mock.
    pub(super) fn new(
        study: &'s Study,
        job: Job,
        clock: Arc<dyn Clock>,
        mock: &Mock,
        transport: TransportBuilder,
    ) -> Result<Self, TwinError> {
        let (model, contender) = (&study.model, &study.contenders[job.contender]);
        let luck = Luck::new(job.seed);
        let transport = transport
            .clock(Arc::clone(&clock))
            .seed(job.seed)
            .idle_per_place_max(IDLE_MAX)
            .build();
        let transport = transport.expect("a transport without certificates of its own can be built");
        let upstream = |process: u32| {
            let seed = luck.of(Purpose::Engine, u64::from(process) + 1, 0).bits();
            let builder = Upstream::builder(&mock.url()).expect("a mock's address is whole");
            builder
                .provider(Provider::Generic)
                .policy(contender.policy)
                .transport(transport.clone())
                .http1_only()
                .clock(Arc::clone(&clock))
                .seed(seed)
                .build()
                .map_err(TwinError::Upstream)
        };
        let processes = contender.fleet.processes(model.load.clients());
        let upstreams = (0..processes).map(upstream).collect::<Result<_, _>>()?;
        let connections = match &model.load {
            Load::Pool { connections, .. } => Some(Semaphore::new(*connections as usize)),
            Load::Open { .. } | Load::Closed { .. } | Load::Trace { .. } => None,
        };
        Ok(Self {
            load: &model.load,
            tokens: &model.tokens,
            fleet: contender.fleet,
            horizon: model.horizon,
            warmup: model.warmup,
            luck,
            began: OnceLock::new(),
            clock,
            upstreams,
            connections,
            tally: Mutex::new(Tally::default()),
        })
    }

    /// The model's time begins.
    pub(super) fn begins(&self) {
        self.began.get_or_init(|| self.clock.now());
    }

    pub(super) fn upstreams(&self) -> &[Upstream] {
        &self.upstreams
    }

    /// All calls; of a closed load an act for each client.
    pub(super) fn acts(&self) -> Vec<Act<'_, ()>> {
        let mut source = Source::new(self.load, self.tokens, self.luck, self.horizon);
        if let Load::Closed { clients, .. } = self.load {
            let acts = (0..*clients).map(|client| Box::pin(self.client(client)) as Act<'_, ()>);
            return acts.collect();
        }
        let mut calls = VecDeque::new();
        let mut nth = 0;
        while let Some(at) = source.next() {
            // A pool gives no connection away here: whoever calls takes one when he comes.
            let pooled = Due::pooled(nth, source.tokens_of(0, nth), at);
            let due = source.take().map_or(pooled, |next| Due {
                client: next.client,
                who: source.who(next.client),
                nth,
                tokens: next.tokens,
                at,
            });
            calls.push_back(due);
            nth += 1;
        }
        vec![Box::pin(self.arrivals(calls))]
    }

    /// What was counted.
    pub(super) fn into_tally(self) -> Tally {
        let mut tally = self.tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        tally.sum_up();
        tally
    }

    /// All these calls, each begun when it is due. One act and not one for each: whoever plays looks at every act, and
    /// most calls are over or to come.
    async fn arrivals(&self, mut calls: VecDeque<Due>) {
        let mut wait_for = move || calls.pop_front().map(|due| (Box::pin(self.until(due.at)), due));
        let mut next = wait_for();
        let mut live: Vec<Players<'_, ()>> = Vec::new();
        poll_fn(|context| {
            while let Some((wait, due)) = &mut next {
                if wait.as_mut().poll(context).is_pending() {
                    break;
                }
                live.push(Players::new(vec![Box::pin(self.arrival(*due))]));
                next = wait_for();
            }
            // Only those that were woken: in a storm there are thousands, and each moves seldom.
            live.retain_mut(|call| {
                call.turn(context);
                !call.all_ended()
            });
            match (&next, live.is_empty()) {
                (None, true) => Poll::Ready(()),
                (Some(_), _) | (None, false) => Poll::Pending,
            }
        })
        .await;
    }

    async fn arrival(&self, due: Due) {
        let _connection = match &self.connections {
            Some(connections) => Some(connections.acquire().await.expect("nobody closes a pool")),
            None => None,
        };
        self.call(due).await;
    }

    async fn client(&self, client: u32) {
        let mut source = Source::new(self.load, self.tokens, self.luck, self.horizon);
        let mut next = source.first_of(client);
        while let Some((nth, at)) = next {
            self.until(at).await;
            let nth = source.number_of(client, nth);
            self.call(Due {
                client,
                who: u64::from(client),
                nth,
                tokens: source.tokens_of(client, nth),
                at,
            })
            .await;
            next = source.ended(client, nth, self.now());
        }
    }

    /// One call, from when it was due to its end.
    async fn call(&self, due: Due) {
        self.tally().bin(due.at).due += 1;
        let name = Name {
            who: due.who,
            nth: due.nth,
            tokens: due.tokens,
            counts: due.at.as_nanos() >= self.warmup.as_nanos(),
        };
        let name = HeaderValue::try_from(name.to_string()).expect("digits and dashes are a header");
        let call = Call::get("/").with_header(HeaderName::from_static(CALL_HEADER), name);
        let process = self.fleet.process_of(due.client) as usize;
        let (reason, sends) = match self.upstreams[process].call(call).await {
            Ok(answer) => (Reason::Succeeded, answer.attempts.len()),
            Err(error) => (error.reason, error.attempts.len()),
        };
        let end = CallEnd {
            due: due.at,
            at: self.now(),
            reason: &reason,
            sends: u32::try_from(sends).unwrap_or(u32::MAX),
        };
        self.tally().call_ends(&end, self.warmup);
    }

    /// The model's time.
    fn now(&self) -> Instant {
        Instant::START.after(self.clock.now().since(self.began()))
    }

    async fn until(&self, at: Instant) {
        let at = self.began().after(at.since(Instant::START));
        self.clock.sleep_until(at).await;
    }

    fn began(&self) -> Instant {
        *self.began.get().expect("nobody plays before time begins")
    }

    // What it guards is a count, whole after each statement.
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Due {
    const fn pooled(nth: u64, tokens: (u32, u32), at: Instant) -> Self {
        Self {
            client: 0,
            who: 0,
            nth,
            tokens,
            at,
        }
    }
}

/// Plays acts side by side, all to their ends, in real time.
pub(super) async fn all<T>(acts: Vec<Act<'_, T>>) -> Vec<T> {
    let mut players = Players::new(acts);
    poll_fn(|context| {
        players.turn(context);
        if players.all_ended() {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
    players.into_ends()
}
