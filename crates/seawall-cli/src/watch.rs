//! Work of minutes on a thread of its own, while this one shows how far it is and listens.
//!
//! What can go wrong: a run that Ctrl-C does not end, a line of progress that stays on the terminal, or a thread that is
//! waited for after everybody left. So there is one loop, whatever runs.

mod screen;

use crate::common::Common;
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use screen::Screen;
use seawall::clock::{Clock as _, TokioClock};
use seawall_core::time::Duration;
use seawall_lab::run::Halt;
use seawall_lab::run::simulate::Progress;
use std::num::NonZeroUsize;
use std::thread;
use tokio::sync::{oneshot, watch};

/// How work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended<T> {
    /// It came to its end, with this.
    OfItself(T),
    /// It had no more time.
    AfterItsTime,
    Interrupted,
}

/// How many runs side by side: as many as were asked for, or one for each core.
pub(crate) fn threads(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.unwrap_or_else(|| {
        // A machine that does not say has one core.
        thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
    })
}

/// What listens while work is done.
pub(crate) struct Watch {
    interrupts: Interrupts,
    screen: Screen,
}

impl Watch {
    /// Listens from now on; `what` is what the work counts.
    pub(crate) fn begin(common: Common, what: &'static str) -> Result<Self, Failure> {
        Ok(Self {
            interrupts: Interrupts::listen().map_err(|error| Failure::io("signals", &error))?,
            screen: Screen::new(common, what),
        })
    }

    /// Does it, for so long at the most. What has begun when somebody stops it is not waited for: it ends with the process.
    pub(crate) async fn over<T: Send + 'static>(
        mut self,
        time: Option<Duration>,
        work: impl FnOnce(&Halt, &(dyn Fn(Progress) + Sync)) -> T + Send + 'static,
    ) -> Result<Ended<T>, Failure> {
        let halt = Halt::default();
        let (tell, mut told) = watch::channel(None);
        let (end, mut over) = oneshot::channel();
        let pulled = halt.clone();
        // A thread that nobody waits for: a runtime would wait for its own.
        thread::Builder::new()
            .spawn(move || {
                let result = work(&pulled, &|progress| {
                    tell.send_replace(Some(progress));
                });
                // Nobody listens after an interrupt.
                let _ = end.send(result);
            })
            .map_err(|error| Failure::io("a thread for the runs", &error))?;
        let clock = TokioClock::new();
        let mut alarm = clock.sleep_until(clock.now().after(time.unwrap_or(Duration::ZERO)));
        let ended = loop {
            tokio::select! {
                over = &mut over => break over.map(Ended::OfItself),
                Ok(()) = told.changed() => self.screen.show(*told.borrow_and_update()),
                () = self.screen.next_look() => self.screen.look(),
                () = &mut alarm, if time.is_some() => break Ok(Ended::AfterItsTime),
                () = self.interrupts.next() => break Ok(Ended::Interrupted),
            }
        };
        halt.pull();
        self.screen.clear();
        ended.map_err(|_dropped| Failure::internal("a run has panicked"))
    }
}
