//! tenacity, over requests: Python's usual pair, in one process that makes all calls of a check.

use crate::ask::{Ask, Calling, Client, Ended, Kind, Settings};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// Where a Python with tenacity and requests is; `python3` where nothing is said.
const PYTHON: &str = "SEAWALL_COMPARE_PYTHON";
const PROGRAM: &str = include_str!("tenacity_client.py");

/// Calls by number, until their line comes.
type Waiting = Arc<Mutex<BTreeMap<u64, oneshot::Sender<Ended>>>>;

struct Tenacity {
    child: Child,
    calls: Mutex<(u64, ChildStdin)>,
    waiting: Waiting,
}

pub fn client(settings: &Settings) -> Result<Box<dyn Client>, String> {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python)
        .args(["-c", "import requests, tenacity"])
        .stderr(Stdio::null())
        .status();
    if !found.is_ok_and(|status| status.success()) {
        return Err(format!(
            "{python} has no tenacity and requests; {PYTHON} names one that has"
        ));
    }
    let seconds = |length: std::time::Duration| length.as_secs_f64().to_string();
    let mut child = Command::new(&python)
        .args(["-c", PROGRAM, &settings.retries.to_string()])
        .args([settings.base, settings.cap, settings.attempt, settings.deadline].map(seconds))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let calls = child.stdin.take().expect("asked for above");
    let mut lines = BufReader::new(child.stdout.take().expect("asked for above")).lines();
    // Ready once it says so, so that no check measures how long an interpreter takes to begin.
    if !matches!(lines.next(), Some(Ok(_))) {
        return Err(format!("{python} did not begin"));
    }
    let waiting = Waiting::default();
    let told = Arc::clone(&waiting);
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let mut words = line.splitn(3, ' ');
            let (number, how, rest) = (words.next(), words.next(), words.next().unwrap_or(""));
            let waiter = number
                .and_then(|number| number.parse().ok())
                .and_then(|number: u64| told.lock().expect("nobody panics with it").remove(&number));
            let ended = match how {
                Some("ok") => rest.parse().map_err(|_| rest.to_owned()),
                _ => Err(rest.to_owned()),
            };
            // A call that its caller left has nobody to tell.
            let _ = waiter.map(|waiter| waiter.send(ended));
        }
    });
    Ok(Box::new(Tenacity {
        child,
        calls: Mutex::new((0, calls)),
        waiting,
    }))
}

impl Client for Tenacity {
    fn call(&self, ask: Ask) -> Calling<'_> {
        Box::pin(async move {
            let (tell, told) = oneshot::channel();
            let method = match ask.kind {
                Kind::Read => "GET",
                Kind::Write => "POST",
            };
            {
                let mut calls = self.calls.lock().expect("nobody panics with it");
                calls.0 += 1;
                let number = calls.0;
                self.waiting
                    .lock()
                    .expect("nobody panics with it")
                    .insert(number, tell);
                writeln!(calls.1, "{number} {method} {}", ask.url()).map_err(|error| error.to_string())?;
            }
            told.await
                .unwrap_or_else(|_| Err("the interpreter ended".to_owned()))
        })
    }
}

impl Drop for Tenacity {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
