//! A call of a service, as a future.
//!
//! The first attempt of a call that the gate lets go at once is made here, over a hold on the gate that borrows nothing
//! ([`Aloft`]): most calls need no more, and so no box. From its first failure or wait on, the loop of
//! [`drive`](crate::drive) decides, in a box that holds nothing of the caller's, and this future makes the attempts that
//! it orders over a [`Desk`].

use super::answers::Answers;
use super::error::{Ended, Error};
use super::flight::{Fault, Flight};
use super::layer::{Owner, Said};
use super::requests::{Promise, Requests};
use crate::clock::Clock;
use crate::drive::{Finished, Start, drive_from};
use crate::hub::{Aloft, Hub, Unborrowed};
use crate::retry::desk::{Change, Desk, Order, PLACES};
use crate::retry::flights::{Flights, Landed};
use crate::retry::{Classifier, Failure};
use pin_project_lite::pin_project;
use seawall_core::call::{Candidate, Spec};
use seawall_core::facts::Broke;
use seawall_core::learned::Learned;
use seawall_core::outcome::{Outcome, Report, Sent};
use seawall_core::policy::CallPolicy;
use seawall_core::reason::Reason;
use seawall_core::time::Instant;
use seawall_core::verdict::Limits;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tower_service::Service;

pin_project! {
    /// One call of a [`Seawall`](super::Seawall) service. It begins when it is first polled; dropping it at any point drops
    /// the attempt that is out and gives back what it held.
    #[must_use = "nothing is sent before this is polled"]
    pub struct Calling<S, Req, C, A, R>
    where
        S: Service<Req>,
    {
        // Before the stage: what is out goes first, then the hold on the gate.
        #[pin]
        flights: Flights<Flight<S, Req>>,
        stage: Stage<Req>,
        service: S,
        hand: Hand<Req, S::Response, S::Error, C, A, R>,
    }
}

/// How far a call is.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for every call, most of which end in the large one"
)]
enum Stage<Req> {
    Unbegun {
        request: Option<Req>,
        owner: Owner,
        said: Said,
    },
    /// The first attempt is out, and there is no loop yet.
    Ahead(Option<Aloft<Arc<Hub>>>, Terms),
    // In a box: most calls never come here.
    Driven(Box<Driven>),
    Over,
}

/// What a call goes by to its end.
#[derive(Clone, Copy)]
struct Terms {
    candidate: Candidate,
    policy: CallPolicy,
    promise: Promise,
    /// Whether its request can be made again.
    copies: Copies,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Copies {
    Any,
    One,
}

impl Terms {
    fn spec<'s>(&'s self, now: Instant, route: &'s [Candidate]) -> Spec<'s> {
        let whole = Spec::new(now, route, &self.policy, self.promise.replay);
        Spec {
            retries_max: self.promise.retries_max,
            deadline: self
                .promise
                .deadline
                .map_or(whole.deadline, |length| now.after(length)),
            once: self.copies == Copies::One,
            ..whole
        }
    }
}

struct Driven {
    driver: Pin<Box<dyn Future<Output = Finished> + Send>>,
    desk: Desk,
    hub: Arc<Hub>,
}

impl Driven {
    fn new(hub: Arc<Hub>, start: Start, terms: Terms) -> Self {
        let desk = Desk::new(None);
        let (loops, mut log) = ((Arc::clone(&hub), desk.clone()), desk.clone());
        let hedges = terms.policy.hedge().is_some();
        let driver = Box::pin(async move {
            let (hub, desk) = loops;
            let route = [terms.candidate];
            let spec = |began| terms.spec(began, &route);
            drive_from(&hub, start, hedges, spec, |leave| desk.order(leave), &mut log).await
        });
        Self { driver, desk, hub }
    }

    fn ended(&self, finished: Finished) -> Ended {
        let now = self.hub.clock().now();
        Ended {
            reason: finished.reason,
            attempts: finished.sends,
            waited: self.desk.waited(),
            retry_after: finished.retry_at.map(|at| at.since(now)),
            unknown: finished.unknown,
        }
    }
}

/// What is the caller's, and what its attempts brought.
pub(crate) struct Hand<Req, Res, E, C, A, R> {
    classifier: C,
    answers: A,
    requests: R,
    /// What further attempts are made of.
    kept: Option<Req>,
    answer: Option<Res>,
    /// The response of an attempt that failed with one, until the next attempt goes: its body may hold a connection.
    refused: Option<Res>,
    last: Option<E>,
}

impl<Req, Res, E, C, A, R> Hand<Req, Res, E, C, A, R> {
    pub(crate) const fn new(classifier: C, answers: A, requests: R) -> Self {
        Self {
            classifier,
            answers,
            requests,
            kept: None,
            answer: None,
            refused: None,
            last: None,
        }
    }

    /// When an attempt that begins now is cut.
    fn cut_at(&self, limits: &Limits, now: Instant) -> Instant
    where
        A: Answers<Res>,
    {
        limits.deadline.min(now.after(self.answers.limit(limits)))
    }

    /// Keeps what an attempt brought, and says what the engine is to make of it, and learns by it.
    fn met(&mut self, landed: Landed<Res, Fault<E>>, clock: &dyn Clock) -> (Report, Learned)
    where
        C: Classifier<E>,
        A: Answers<Res>,
    {
        let report = match landed {
            Landed::ByItself(Ok(response)) => {
                let report = self.answers.report(&response, clock);
                let learned = self.answers.learned(&response, clock);
                let place = match report.outcome {
                    Outcome::Answer => &mut self.answer,
                    Outcome::Refused(_)
                    | Outcome::Throttled { .. }
                    | Outcome::Failed { .. }
                    | Outcome::Denied { .. } => &mut self.refused,
                };
                *place = Some(response);
                return (report, learned);
            }
            Landed::ByItself(Err(Fault::Failed(error))) => self.failed(error),
            Landed::ByItself(Err(Fault::Unready(error))) => unsent(self.failed(error)),
            Landed::Cut => Failure::broke(Broke::Timeout).report(),
        };
        (report, Learned::NOTHING)
    }

    /// The request of the next attempt; none where whoever makes them again has made some, and makes no more.
    fn request(&mut self) -> Option<Req>
    where
        R: Requests<Req>,
    {
        let again = self.requests.again(self.kept.as_ref()?);
        let request = again.or_else(|| self.kept.take());
        self.refused = None;
        request
    }

    fn failed(&mut self, error: E) -> Report
    where
        C: Classifier<E>,
    {
        let report = self.classifier.failure(&error).report();
        self.last = Some(error);
        report
    }

    fn end(&mut self, ended: Ended) -> Result<Res, Error<E>>
    where
        A: Answers<Res>,
    {
        if ended.reason == Reason::Succeeded
            && let Some(answer) = self.answer.take()
        {
            return Ok(answer);
        }
        match self.refused.take() {
            Some(mut response) => {
                self.answers.ended(&mut response, ended);
                Ok(response)
            }
            None => Err(Error::of(self.last.take(), ended)),
        }
    }
}

/// The same failure, of an attempt of which nothing was sent.
fn unsent(mut report: Report) -> Report {
    match &mut report.outcome {
        Outcome::Failed { sent, .. } => *sent = Sent::No,
        Outcome::Answer | Outcome::Refused(_) | Outcome::Throttled { .. } | Outcome::Denied { .. } => {}
    }
    report
}

impl<S: Service<Req>, Req, C, A, R> Calling<S, Req, C, A, R> {
    /// A call through `service`, which is ready for it.
    pub(crate) const fn new(
        service: S,
        request: Req,
        owner: Owner,
        said: Said,
        hand: Hand<Req, S::Response, S::Error, C, A, R>,
    ) -> Self {
        Self {
            flights: Flights::none(),
            stage: Stage::Unbegun {
                request: Some(request),
                owner,
                said,
            },
            service,
            hand,
        }
    }
}

impl<S, Req, C, A, R> Calling<S, Req, C, A, R>
where
    S: Service<Req> + Clone,
    C: Classifier<S::Error>,
    A: Answers<S::Response>,
    R: Requests<Req>,
{
    /// Asks the gate, and sends the first attempt where that is the answer.
    fn begin(self: Pin<&mut Self>) {
        let mut this = self.project();
        let Stage::Unbegun { request, owner, said } = &mut *this.stage else {
            return;
        };
        let request = request.take().expect("a call begins once");
        let mut promise = this.hand.requests.promise(&request);
        promise.replay = said.replay.unwrap_or(promise.replay);
        promise.deadline = promise.deadline.or(said.deadline);
        promise.retries_max = promise.retries_max.or(said.retries_max);
        let rules = owner.rules();
        let (hub, candidate, policy) = rules.parts().expect("a layer's gate is shared");
        this.hand.kept = this.hand.requests.again(&request);
        let terms = Terms {
            candidate,
            policy: *policy,
            promise,
            copies: match &this.hand.kept {
                Some(_) => Copies::Any,
                None => Copies::One,
            },
        };
        let hub = Arc::clone(hub);
        let route = [candidate];
        let mut began = Instant::START;
        let spec = |now| {
            began = now;
            terms.spec(now, &route)
        };
        *this.stage = match Hub::open_unborrowed(Arc::clone(&hub), spec) {
            Unborrowed::Sent(aloft, limits) => {
                let cut_at = this.hand.cut_at(&limits, began);
                let flight = Flight::off(this.service, request);
                this.flights.as_mut().take_off(0, flight, cut_at);
                Stage::Ahead(Some(aloft), terms)
            }
            Unborrowed::Seated(begun) => {
                // It may wait, and what the service reserved for it is not to wait with it.
                *this.service = this.service.clone();
                this.hand.kept.get_or_insert(request);
                Stage::Driven(Box::new(Driven::new(hub, Start::Begun(begun), terms)))
            }
        };
    }
}

impl<S, Req, C, A, R> Future for Calling<S, Req, C, A, R>
where
    S: Service<Req> + Clone,
    C: Classifier<S::Error>,
    A: Answers<S::Response>,
    R: Requests<Req>,
{
    type Output = Result<S::Response, Error<S::Error>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.as_mut().begin();
        if let Some(answer) = self.as_mut().poll_ahead(context) {
            return Poll::Ready(Ok(answer));
        }
        let this = self.as_mut().project();
        let ended = match this.stage {
            Stage::Unbegun { .. } | Stage::Ahead(..) => return Poll::Pending,
            Stage::Driven(_) => ready!(self.as_mut().poll_driven(context)),
            Stage::Over => panic!("a call is not polled after its end"),
        };
        let mut this = self.project();
        // What is still out has lost.
        this.flights.set(Flights::none());
        *this.stage = Stage::Over;
        Poll::Ready(this.hand.end(ended))
    }
}

impl<S, Req, C, A, R> Calling<S, Req, C, A, R>
where
    S: Service<Req> + Clone,
    C: Classifier<S::Error>,
    A: Answers<S::Response>,
    R: Requests<Req>,
{
    /// The answer of a call whose first attempt brings one while it is ahead of the loop. Where it brings none, the loop
    /// comes in.
    fn poll_ahead(self: Pin<&mut Self>, context: &mut Context<'_>) -> Option<S::Response> {
        let mut this = self.project();
        let Stage::Ahead(aloft, terms) = &mut *this.stage else {
            return None;
        };
        let hub = Arc::clone(
            aloft
                .as_ref()
                .expect("an attempt that is out has not landed")
                .hub(),
        );
        let clock = &**hub.clock();
        let Poll::Ready(landed) = this.flights.as_mut().poll(0, clock, context) else {
            return None;
        };
        let (report, learned) = this.hand.met(landed, clock);
        let mut aloft = aloft.take().expect("an attempt lands once");
        aloft.learned(&learned);
        let terms = *terms;
        if let Some(answer) = this.hand.answer.take() {
            *this.stage = Stage::Over;
            aloft.answered(&report);
            return Some(answer);
        }
        let driven = Driven::new(hub, Start::Landed(aloft, report), terms);
        *this.stage = Stage::Driven(Box::new(driven));
        None
    }

    /// Attempts first, then the loop, then what it ordered; until nobody has anything to say.
    fn poll_driven(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let mut this = self.project();
        let Stage::Driven(driven) = this.stage else {
            return Poll::Pending;
        };
        let hub = Arc::clone(&driven.hub);
        let clock = &**hub.clock();
        loop {
            for place in 0..PLACES {
                if let Poll::Ready(landed) = this.flights.as_mut().poll(place, clock, context) {
                    let (report, learned) = this.hand.met(landed, clock);
                    driven.desk.land_telling(place, report, learned);
                }
            }
            if let Poll::Ready(finished) = driven.driver.as_mut().poll(context) {
                return Poll::Ready(driven.ended(finished));
            }
            let mut changed = false;
            for place in 0..PLACES {
                match driven.desk.change(place) {
                    Change::Nothing => continue,
                    Change::Drop => this.flights.as_mut().drop(place),
                    Change::Make(Order { limits, .. }) => match this.hand.request() {
                        Some(request) => {
                            let flight = Flight::when_ready(this.service.clone(), request);
                            let cut_at = this.hand.cut_at(&limits, clock.now());
                            this.flights.as_mut().take_off(place, flight, cut_at);
                        }
                        None => driven.desk.land(place, Failure::broke(Broke::Request).report()),
                    },
                }
                changed = true;
            }
            if !changed {
                return Poll::Pending;
            }
        }
    }
}

impl<S: Service<Req>, Req, C, A, R> fmt::Debug for Calling<S, Req, C, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::Unbegun { .. } => "unbegun",
            Stage::Ahead(..) => "ahead",
            Stage::Driven(_) => "driven",
            Stage::Over => "over",
        };
        f.debug_struct("Calling")
            .field("stage", &stage)
            .finish_non_exhaustive()
    }
}
