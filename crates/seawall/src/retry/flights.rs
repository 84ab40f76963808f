//! The attempts of one call that are out, each until it ends by itself or its time is over.

use crate::clock::{Clock, Sleep};
use pin_project_lite::pin_project;
use seawall_core::time::Instant;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// How an attempt ended.
pub(crate) enum Landed<T, E> {
    ByItself(Result<T, E>),
    /// Its time was over.
    Cut,
}

pin_project! {
    /// The attempts that are out. The first has its place here, without a box; a hedge is rare.
    pub(crate) struct Flights<F> {
        #[pin]
        first: Option<F>,
        cut: Cut,
        beside: Option<Box<(Option<Pin<Box<F>>>, Cut)>>,
    }
}

impl<F> Flights<F> {
    pub(crate) const fn none() -> Self {
        Self {
            first: None,
            cut: Cut::NEVER,
            beside: None,
        }
    }

    pub(crate) fn take_off(self: Pin<&mut Self>, place: usize, flight: F, cut_at: Instant) {
        let mut this = self.project();
        match place {
            0 => {
                this.first.set(Some(flight));
                *this.cut = Cut::at(cut_at);
            }
            _ => *this.beside = Some(Box::new((Some(Box::pin(flight)), Cut::at(cut_at)))),
        }
    }

    pub(crate) fn drop(self: Pin<&mut Self>, place: usize) {
        let mut this = self.project();
        match place {
            0 => this.first.set(None),
            _ => *this.beside = None,
        }
    }

    #[inline]
    pub(crate) fn poll<T, E>(
        self: Pin<&mut Self>,
        place: usize,
        clock: &dyn Clock,
        context: &mut Context<'_>,
    ) -> Poll<Landed<T, E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        let this = self.project();
        match (place, this.beside) {
            (0, _) => this.cut.poll(this.first, clock, context),
            (_, Some(beside)) => beside.1.poll(Pin::new(&mut beside.0), clock, context),
            (_, None) => Poll::Pending,
        }
    }
}

/// Until when an attempt may run, and the timer for it, which most attempts end before.
struct Cut {
    at: Instant,
    sleep: Option<Sleep>,
}

impl Cut {
    const NEVER: Self = Self::at(Instant::NEVER);

    const fn at(at: Instant) -> Self {
        Self { at, sleep: None }
    }

    /// Polls the attempt in `place`, which is empty once it has ended; a place that is empty never ends.
    #[inline]
    fn poll<F, T, E>(
        &mut self,
        mut place: Pin<&mut Option<F>>,
        clock: &dyn Clock,
        context: &mut Context<'_>,
    ) -> Poll<Landed<T, E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        let Some(flight) = place.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let landed = match flight.poll(context) {
            Poll::Ready(result) => Landed::ByItself(result),
            Poll::Pending => {
                ready!(self.poll_time(clock, context));
                Landed::Cut
            }
        };
        place.set(None);
        self.sleep = None;
        Poll::Ready(landed)
    }

    fn poll_time(&mut self, clock: &dyn Clock, context: &mut Context<'_>) -> Poll<()> {
        if self.at == Instant::NEVER {
            return Poll::Pending;
        }
        loop {
            let sleep = self.sleep.get_or_insert_with(|| clock.sleep_until(self.at));
            ready!(sleep.as_mut().poll(context));
            self.sleep = None;
            // Trust the clock, not the timer.
            if clock.now() >= self.at {
                return Poll::Ready(());
            }
        }
    }
}
