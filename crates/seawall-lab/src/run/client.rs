//! A program under test: as often as the scenario says, each time against a fresh mock, in real time.

use super::mock::{MockPlan, folder};
use super::process::{self, Ended};
use super::{Halt, RunError};
use crate::findings::Timing;
use crate::net::{Mock, moment};
use crate::scenario::{Client, Evidence, Run, Scenario, URL_PLACE};
use seawall_core::time::Duration;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long the mock may take to notice that a client which has ended is gone.
const QUIET_MAX: Duration = Duration::from_secs(5);
/// Hosts that no proxy stands before: a mock is on this machine, and a proxy elsewhere would not find it.
const NO_PROXY: &str = "127.0.0.1,localhost,::1";

/// Where programs look for authorities to trust: ours, OpenSSL's, Node's, and those of Python's requests and curl.
const TRUST: [&str; 5] = [
    "SEAWALL_CA_FILE",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Runs a client, and tells what was seen of each run.
pub(super) async fn run(
    scenario: &Scenario,
    client: &Client,
    plan: &MockPlan<'_>,
    halt: &Halt,
) -> Result<Evidence, RunError> {
    let mut runs = Vec::new();
    for nth in 0..client.runs {
        if halt.is_pulled() {
            return Err(RunError::Halted);
        }
        let mock = plan.options(nth).start().await?;
        let authority = mock.ca_pem().map(Authority::write).transpose()?;
        let command = command(scenario, client, &mock, authority.as_ref());
        let ended = process::run(command, client.timeout, halt).await;
        let ended = ended.map_err(|error| {
            let program = &client.command.words[0];
            scenario.finding(&client.at, format!("`{program}` cannot be started: {error}"))
        })?;
        let Ended::Seen(client) = ended else {
            return Err(RunError::Halted);
        };
        tokio::select! {
            () = mock.quiet() => {}
            () = moment(QUIET_MAX) => {}
        }
        runs.push(Run {
            client: Some(client),
            ..mock.seen(Timing::Real)
        });
        mock.stop().await;
    }
    Ok(Evidence { runs })
}

fn command(scenario: &Scenario, client: &Client, mock: &Mock, authority: Option<&Authority>) -> Command {
    let url = mock.url();
    let words = client.command.at(&url);
    let mut dir = folder(scenario);
    if let Some(below) = &client.dir {
        dir.push(&below.value);
    }
    let mut command = Command::new(program(&words[0], &dir));
    command.args(&words[1..]).current_dir(&dir);
    for name in ["NO_PROXY", "no_proxy"] {
        let value = match std::env::var(name) {
            Ok(known) if !known.is_empty() => format!("{known},{NO_PROXY}"),
            Ok(_) | Err(_) => NO_PROXY.to_owned(),
        };
        command.env(name, value);
    }
    command
        .env("SEAWALL_URL", &url)
        // A name may hold what no variable can.
        .env("SEAWALL_CASE", scenario.name.replace('\0', "\u{fffd}"))
        .env("OPENAI_BASE_URL", format!("{url}/v1"))
        .env("ANTHROPIC_BASE_URL", &url);
    if let Some(Authority(path)) = authority {
        command.envs(TRUST.map(|name| (name, path)));
    }
    let own = client.env.iter();
    command.envs(own.map(|(name, value)| (name, value.replace(URL_PLACE, &url))));
    command
}

/// A file with the mock's own authority, gone with the run.
struct Authority(PathBuf);

impl Authority {
    fn write(pem: &str) -> Result<Self, RunError> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let nth = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let name = format!("seawall-ca-{}-{nth}.pem", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Never through what somebody else has put there.
        let written = File::create_new(&path).and_then(|mut file| file.write_all(pem.as_bytes()));
        written.map_err(|source| RunError::Machine {
            what: format!("{} cannot be written", path.display()),
            source,
        })?;
        Ok(Self(path))
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // It is no secret, and a drop has no one to tell.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A program that is named by a path counts from the folder that it runs in; one without is looked for where programs
/// are.
fn program(word: &str, dir: &Path) -> PathBuf {
    let path = Path::new(word);
    if path.is_absolute() || path.components().count() < 2 && !word.starts_with('.') {
        return path.to_owned();
    }
    // The system would count from one folder on one platform and from the other on the next.
    let whole = dir.join(path);
    std::path::absolute(&whole).unwrap_or(whole)
}
