//! A program under test: a process group with an end, and the last part of what it wrote.
//!
//! What can go wrong: a program that fills a pipe that nobody reads stops for ever; one that writes without an end fills
//! our memory; one that is killed leaves its children behind, which hold the pipes open and go on calling; a number of a
//! process that has been waited for may be another process's by the time that a signal is sent to it. So both outputs
//! are read as they come and their ends kept; the program is the head of a process group of its own; whatever is left of
//! the group when its head has ended is killed before the head is waited for, so that the number is still its own; and
//! who drops this kills the same. What this does not cover: children that leave the group (`setsid`) live on, and
//! without process groups (on Windows) so do all children.

use super::Halt;
use crate::net::moment;
use crate::scenario::{ClientSeen, End};
use seawall::clock::{Clock as _, TokioClock};
use seawall_core::time::Duration;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::sync::oneshot;

/// How much is kept of each of a program's outputs, 64 KiB: its end, where errors stand.
pub const TAIL_BYTES_MAX: usize = 64 * 1024;
/// How long a program has to end by itself when it is told to, before it is killed.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long what a program wrote may take to arrive after its end; somebody else may hold the pipe for ever.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);
/// How much is read at once.
const READ_STEP: usize = 8 * 1024;

/// How a program came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself, or because its time was over.
    Seen(ClientSeen),
    /// Because the run was stopped.
    Halted,
}

/// Why it ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Itself,
    Timeout,
    Halt,
}

/// Runs a program to its end, which comes after `timeout` at the latest, or when `halt` is pulled.
///
/// # Errors
/// It could not be started.
pub(super) async fn run(mut command: Command, timeout: Duration, halt: &Halt) -> io::Result<Ended> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let clock = TokioClock::new();
    let began = clock.now();
    let mut family = Family::start(command)?;
    let stdout = Tail::of(family.child.stdout.take());
    let stderr = Tail::of(family.child.stderr.take());
    let cause = tokio::select! {
        ended = family.head_ends() => { ended?; Cause::Itself }
        () = moment(timeout) => Cause::Timeout,
        () = halt.pulled() => Cause::Halt,
    };
    if cause != Cause::Itself {
        family.ask_to_end();
        tokio::select! {
            ended = family.head_ends() => ended?,
            () = moment(TERM_GRACE) => {}
        }
    }
    let status = family.end().await?;
    let took = clock.now().since(began);
    if cause == Cause::Halt {
        return Ok(Ended::Halted);
    }
    let outputs = async { (stdout.whole().await, stderr.whole().await) };
    tokio::select! {
        ((), ()) = outputs => {}
        () = moment(OUTPUT_GRACE) => {}
    }
    let end = match cause {
        Cause::Timeout => End::TimedOut,
        Cause::Itself | Cause::Halt => end_of(status),
    };
    Ok(Ended::Seen(ClientSeen {
        end,
        took,
        stdout: stdout.text(),
        stderr: stderr.text(),
    }))
}

#[cfg(unix)]
fn end_of(status: ExitStatus) -> End {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exit(code),
        (None, Some(signal)) => End::Signal(signal),
        (None, None) => unreachable!("a process that was waited for has exited or was killed"),
    }
}

#[cfg(not(unix))]
fn end_of(status: ExitStatus) -> End {
    End::Exit(status.code().unwrap_or(-1))
}

/// A program and its children. Dropped, all of them are killed.
struct Family {
    child: Child,
    /// Told once the head has ended; taken by the first who was told.
    #[cfg(unix)]
    ended: Option<oneshot::Receiver<io::Result<()>>>,
    waited: bool,
}

#[cfg(unix)]
impl Family {
    fn start(mut command: Command) -> io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let child = command.process_group(0).spawn()?;
        let pid = rustix::process::Pid::from_child(&child);
        let (tell, ended) = oneshot::channel();
        let family = Self {
            child,
            ended: Some(ended),
            waited: false,
        };
        // A thread, since nothing else looks at a process without waiting for it; it ends when the process does.
        thread::Builder::new().spawn(move || {
            // Nobody listens any more where the run has been dropped.
            let _ = tell.send(until_ended(pid));
        })?;
        Ok(family)
    }

    /// Ends once the head has ended; its number stays its own until it is waited for.
    async fn head_ends(&mut self) -> io::Result<()> {
        let Some(ended) = &mut self.ended else {
            return Ok(());
        };
        let told = ended.await;
        self.ended = None;
        told.map_err(|_| io::Error::other("the thread that waits for a program is gone"))?
    }

    fn ask_to_end(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// Kills what is left, and waits for the head.
    async fn end(&mut self) -> io::Result<ExitStatus> {
        self.signal(rustix::process::Signal::KILL);
        self.head_ends().await?;
        // Again: one of the children may have been born between the first signal and the end of the head.
        self.signal(rustix::process::Signal::KILL);
        self.waited = true;
        self.child.wait()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if !self.waited {
            let pid = rustix::process::Pid::from_child(&self.child);
            // A group of which nobody is left hears nothing.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }
}

/// Waits for the end of a process without taking its number away.
#[cfg(unix)]
fn until_ended(pid: rustix::process::Pid) -> io::Result<()> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Ok(()),
        }
    }
}

#[cfg(not(unix))]
impl Family {
    fn start(mut command: Command) -> io::Result<Self> {
        Ok(Self {
            child: command.spawn()?,
            waited: false,
        })
    }

    async fn head_ends(&mut self) -> io::Result<()> {
        while self.child.try_wait()?.is_none() {
            moment(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    fn ask_to_end(&mut self) {
        // There is no other way to ask; one that has just ended hears nothing.
        let _ = self.child.kill();
    }

    async fn end(&mut self) -> io::Result<ExitStatus> {
        self.ask_to_end();
        self.waited = true;
        self.child.wait()
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if self.waited {
            return;
        }
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
        // What is left to do for one that cannot be killed or waited for, nobody can do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last part of what comes out of a pipe, read on a thread of its own.
struct Tail {
    kept: Arc<Mutex<Kept>>,
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    dropped: u64,
}

impl Tail {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (tell, ended) = oneshot::channel();
        let into = Arc::clone(&kept);
        if let Some(mut pipe) = pipe {
            // Where the machine has no thread left, the output is lost and its writer is not held up: the pipe is closed.
            let _thread = thread::Builder::new().spawn(move || {
                let mut step = [0; READ_STEP];
                loop {
                    match pipe.read(&mut step) {
                        Ok(0) => break,
                        Ok(bytes) => lock(&into).take_in(&step[..bytes]),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(_) => break,
                    }
                }
                // Nobody listens any more once the grace is over.
                let _ = tell.send(());
            });
        }
        Self {
            kept,
            ended: Mutex::new(Some(ended)),
        }
    }

    /// Ends once everything is read.
    async fn whole(&self) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(ended) = ended {
            // A thread that could not be started has nothing more to read, too.
            let _ = ended.await;
        }
    }

    /// What is kept, as text.
    fn text(&self) -> String {
        let kept = lock(&self.kept);
        let start = kept.bytes.len().saturating_sub(TAIL_BYTES_MAX);
        let dropped = kept.dropped + start as u64;
        let text = String::from_utf8_lossy(&kept.bytes[start..]);
        match dropped {
            0 => text.into_owned(),
            dropped => format!("[{dropped} bytes before this are not kept]\n{text}"),
        }
    }
}

impl Kept {
    fn take_in(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Seldom, so that moving the rest costs less than reading it did.
        if self.bytes.len() > 2 * TAIL_BYTES_MAX {
            let over = self.bytes.len() - TAIL_BYTES_MAX;
            self.bytes.drain(..over);
            self.dropped += over as u64;
        }
    }
}

// A lock is poisoned only by a panic between two plain assignments; what it guards is whole either way.
fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
