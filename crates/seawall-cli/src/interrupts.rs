use std::io;

/// Ctrl-C, and the signal that asks a program to end.
#[derive(Debug)]
pub(crate) struct Interrupts {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    ctrl_c: tokio::signal::windows::CtrlC,
}

impl Interrupts {
    /// Listens from now on. Call it inside a tokio runtime with IO, before the user learns that there is something to
    /// interrupt.
    pub(crate) fn listen() -> io::Result<Self> {
        #[cfg(unix)]
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
            #[cfg(windows)]
            ctrl_c: tokio::signal::windows::ctrl_c()?,
        })
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for the next one.
    #[cfg(windows)]
    pub(crate) async fn next(&mut self) {
        self.ctrl_c.recv().await;
    }
}
