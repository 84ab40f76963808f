//! A stop that is asked for, once and twice. Who hears the signals of the system is not this crate's: it is told.

use tokio::sync::watch;

/// How hard a run was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Not at all.
    None,
    /// Begin no more rows, let those in flight end.
    Drain,
    /// Let go of everything at once.
    Abort,
}

/// Interrupts a run: once to stop beginning rows, twice to stop at once.
#[derive(Debug)]
pub struct Interrupter(watch::Sender<Level>);

/// A run's end of an [`Interrupter`].
#[derive(Clone, Debug)]
pub struct Interrupts(watch::Receiver<Level>);

/// Both ends.
pub fn interrupts() -> (Interrupter, Interrupts) {
    let (sender, receiver) = watch::channel(Level::None);
    (Interrupter(sender), Interrupts(receiver))
}

impl Interrupter {
    /// Asks the run to stop, harder each time.
    pub fn interrupt(&self) {
        self.0.send_modify(|level| {
            *level = match level {
                Level::None => Level::Drain,
                Level::Drain | Level::Abort => Level::Abort,
            }
        });
    }
}

impl Interrupts {
    /// The next, harder level; never where nobody can interrupt any more.
    pub(crate) async fn next(&mut self) -> Level {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            Err(_) => std::future::pending().await,
        }
    }
}
