//! Servers in the docs: commands that end in `&` and go on beside the ones below them, until their block ends.
//!
//! The docs write a fixed address, which may be taken where they are checked. So a server is given a free one, and
//! whatever is said to it or printed by it is put into the other's words.

use super::{Done, PATIENCE, Receiver, channel, reader};
use crate::repo::Error;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;

/// The servers of one block. Dropped, they are stopped.
#[derive(Default)]
pub(super) struct Beside {
    running: Vec<Child>,
    addresses: Vec<Address>,
}

/// One server's address: as the docs write it, and as it is.
struct Address {
    written: String,
    real: String,
}

impl Beside {
    /// Starts a server and waits for the first line that it prints, or for its early end.
    pub(super) fn start(&mut self, bin: &Path, words: &[String], folder: &Path) -> Result<Done, Error> {
        let fail = |source: io::Error| Error::Io {
            path: bin.to_path_buf(),
            source,
        };
        let mut words = words.to_vec();
        let listen = words.iter().position(|word| word == "--listen").map(|at| at + 1);
        let written = listen
            .and_then(|at| words.get_mut(at))
            .map(|word| std::mem::replace(word, "127.0.0.1:0".to_owned()));
        let mut child = Command::new(bin)
            .args(words)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(fail)?;
        let first = child.stdout.take().map(first_line);
        let talk = reader(child.stderr.take());
        let line = first.map(|first| first.recv_timeout(PATIENCE));
        match line {
            Some(Ok(line)) if !line.is_empty() => {
                self.running.push(child);
                let real = address_in(&line);
                self.addresses
                    .extend(written.zip(real).map(|(written, real)| Address { written, real }));
                Ok(Done {
                    exit: Some(0),
                    printed: self.as_written(&line),
                })
            }
            Some(Err(RecvTimeoutError::Timeout)) => {
                super::stop(&mut child).map_err(fail)?;
                child.wait().map_err(fail)?;
                Ok(Done {
                    exit: None,
                    printed: said(&talk),
                })
            }
            Some(Ok(_) | Err(RecvTimeoutError::Disconnected)) | None => Ok(Done {
                exit: child.wait().map_err(fail)?.code(),
                printed: said(&talk),
            }),
        }
    }

    /// Whether a command speaks to one of these servers.
    pub(super) fn meets(&self, command: &str) -> bool {
        self.addresses
            .iter()
            .any(|address| command.contains(&address.written))
    }

    /// What the docs write, with the addresses that are.
    pub(super) fn as_is(&self, text: &str) -> String {
        self.addresses.iter().fold(text.to_owned(), |text, address| {
            text.replace(&address.written, &address.real)
        })
    }

    /// What was printed, with the addresses that the docs write.
    pub(super) fn as_written(&self, text: &str) -> String {
        self.addresses.iter().fold(text.to_owned(), |text, address| {
            text.replace(&address.real, &address.written)
        })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        for child in &mut self.running {
            // One that has ended by itself cannot be stopped, which is as good.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Gives the first line, empty where there is none; reads on, so that the server is never held up.
fn first_line(stdout: ChildStdout) -> Receiver<String> {
    let (give, take) = channel();
    thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        // A stream that breaks off has printed what it has.
        let _ = stdout.read_until(b'\n', &mut line);
        // Nobody listens only where the server was given up.
        let _ = give.send(String::from_utf8_lossy(&line).into_owned());
        let _ = io::copy(&mut stdout.by_ref(), &mut io::sink());
    });
    take
}

fn address_in(line: &str) -> Option<String> {
    let rest = ["http://", "https://"]
        .into_iter()
        .find_map(|scheme| line.split_once(scheme).map(|(_, rest)| rest))?;
    let address = rest.split(|c: char| c.is_whitespace() || c == '/').next()?;
    Some(address.to_owned())
}

fn said(talk: &Receiver<Vec<u8>>) -> String {
    String::from_utf8_lossy(&talk.recv().unwrap_or_default()).into_owned()
}
