use std::io;

/// Ctrl-C, the signal that asks a program to end, and the one that says that its terminal is gone.
#[derive(Debug)]
pub(crate) struct Interrupts {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    /// Nothing where whoever started us wants us to outlive the terminal.
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
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
            #[cfg(unix)]
            hang_up: match hang_ups() {
                HangUps::Heard => Some(signal(SignalKind::hangup())?),
                HangUps::Ignored => None,
            },
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
            () = hung_up(&mut self.hang_up) => {}
        }
    }

    /// Waits for the next one.
    #[cfg(windows)]
    pub(crate) async fn next(&mut self) {
        self.ctrl_c.recv().await;
    }
}

#[cfg(unix)]
async fn hung_up(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            let _told = signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// What becomes of us when the terminal goes.
#[cfg(unix)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HangUps {
    Heard,
    /// As under `nohup`: who listens nevertheless would end what was meant to go on.
    Ignored,
}

#[cfg(unix)]
fn hang_ups() -> HangUps {
    match std::fs::read_to_string("/proc/self/status") {
        Ok(status) => hang_ups_by(&status),
        // Nothing tells: then we leave it as it is.
        Err(_) => HangUps::Ignored,
    }
}

/// Reads what Linux says of a process: the first bit of what it ignores is the first signal, SIGHUP.
#[cfg(unix)]
fn hang_ups_by(status: &str) -> HangUps {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    match ignored.map(|mask| mask & 1) {
        Some(0) => HangUps::Heard,
        Some(_) | None => HangUps::Ignored,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn who_was_told_to_outlive_the_terminal_does() {
        // Under nohup, a listener would bring back the signal that was to be ignored.
        for (status, expected) in [
            (
                "Name:\tx\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n",
                HangUps::Heard,
            ),
            ("SigIgn:\t0000000000001001\n", HangUps::Ignored),
            ("SigIgn:\tzzz\n", HangUps::Ignored),
            ("", HangUps::Ignored),
        ] {
            assert_eq!(hang_ups_by(status), expected, "{status}");
        }
    }
}
