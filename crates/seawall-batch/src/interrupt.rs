//! Ctrl-C or SIGTERM, once and twice.

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

    /// Interrupts at every Ctrl-C, and at every SIGTERM where there is one: what ends a container or a service, and
    /// would lose the paid answers in flight. For ever: spawn it beside the run. Ends only with the error of a system
    /// that tells nobody about signals.
    pub async fn on_ctrl_c(self) -> std::io::Error {
        let mut terminations = match Terminations::listen() {
            Ok(terminations) => terminations,
            Err(error) => return error,
        };
        loop {
            let met = tokio::select! {
                met = tokio::signal::ctrl_c() => met,
                () = terminations.next() => Ok(()),
            };
            match met {
                Ok(()) => self.interrupt(),
                Err(error) => return error,
            }
        }
    }
}

/// SIGTERM, as often as it comes.
#[cfg(unix)]
struct Terminations(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Terminations {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::terminate()).map(Self)
    }

    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

/// There is no SIGTERM here.
#[cfg(not(unix))]
struct Terminations;

#[cfg(not(unix))]
impl Terminations {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "where there are signals, listening can fail"
    )]
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        std::future::pending().await
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
