//! Ctrl-C, once and twice.

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

    /// Interrupts at every Ctrl-C, for ever: spawn it beside the run. Ends only with the error of a system that
    /// tells nobody about Ctrl-C.
    pub async fn on_ctrl_c(self) -> std::io::Error {
        loop {
            match tokio::signal::ctrl_c().await {
                Ok(()) => self.interrupt(),
                Err(error) => return error,
            }
        }
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
