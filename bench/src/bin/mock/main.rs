//! The mock as a server: plain answers beside nginx's static one, ten thousand connections that hang, ten thousand
//! callers at once with a thousand keys, and how soon a started mock answers.
//!
//! What can go wrong: requests per second of two servers that share a machine with their client say who was scheduled,
//! not who is cheaper. So what is compared is requests per second of the *server's own* CPU time, in rounds that
//! alternate within one run. nginx is Debian's; where it is not installed its rows are "not run".
//!
//! `--check` asserts the memory of hanging connections and the number of payments, which no scheduler changes; times are
//! only printed.

mod load;
mod payments;
mod server;

use load::Load;
use server::{Server, nginx};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Rounds of the comparison; the ratio is the median of theirs.
const ROUNDS: usize = 5;
/// How long each server is loaded in a round.
const ROUND: Duration = Duration::from_secs(2);
/// Connections that each keep one request in flight.
const CONNECTIONS: usize = 32;
/// Connections that hang.
const HANGING: usize = 10_000;
/// The most that a mock with all of them may take: 200 MiB.
const HANGING_BYTES_MAX: u64 = 200 * 1024 * 1024;
/// How often a mock is started for the first answer's time.
const STARTS: usize = 21;
/// What both servers answer with.
pub(crate) const BODY: &str = r#"{"attempt":1,"model":"mock:generic","ok":true}"#;

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let Some(program) = server::program() else {
        return ExitCode::from(2);
    };
    if let Err(error) = server::allow_open_files() {
        eprintln!("the limit of open files cannot be raised: {error}");
        return ExitCode::from(2);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime needs a poller and a timer, which every host of this benchmark has");
    let bytes = runtime.block_on(hanging(&program));
    println!(
        "{HANGING} hanging connections: {:.1} MiB resident, {} bytes each",
        bytes as f64 / 1_048_576.0,
        bytes / HANGING as u64
    );
    let counted = runtime.block_on(payments::storm(&program));
    println!(
        "{} callers at once, each with a socket and one of {} keys: {} payments made, by {} attempts",
        payments::CALLERS,
        payments::KEYS,
        counted.made,
        counted.attempts
    );
    if check {
        return match bytes <= HANGING_BYTES_MAX && counted.made == payments::KEYS {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        };
    }
    starts(&runtime, &program);
    plain(&runtime, &program);
    ExitCode::SUCCESS
}

async fn hanging(program: &std::path::Path) -> u64 {
    let server = Server::mock(program, "* /* = hang");
    let connections = load::hang(&server.address, HANGING).await;
    server.wait_for_open(HANGING).await;
    let bytes = server.resident_bytes();
    drop(connections);
    bytes
}

/// From the start of the process to the first whole answer.
fn starts(runtime: &tokio::runtime::Runtime, program: &std::path::Path) {
    let mut times: Vec<Duration> = (0..STARTS)
        .map(|_| {
            let began = Instant::now();
            let server = Server::mock(program, "* /* = 200");
            runtime.block_on(load::one(&server.address));
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!(
        "start to first answer: {:.1} ms p50, {:.1} ms at most, of {STARTS}",
        times[STARTS / 2].as_secs_f64() * 1e3,
        times[STARTS - 1].as_secs_f64() * 1e3
    );
}

/// Plain answers, ours and nginx's by turns.
fn plain(runtime: &tokio::runtime::Runtime, program: &std::path::Path) {
    let ours = Server::mock(program, &format!("* /* = 200 json={BODY}"));
    let theirs = nginx();
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let our_rate = rate(runtime, &ours);
        print!("round {round}: mock {:.0} requests per CPU-second", our_rate);
        match &theirs {
            Some(nginx) => {
                let their_rate = rate(runtime, nginx);
                ratios.push(our_rate / their_rate);
                println!(", nginx {their_rate:.0}, ratio {:.2}", our_rate / their_rate);
            }
            None => println!(", nginx not run"),
        }
    }
    ratios.sort_by(f64::total_cmp);
    match ratios.get(ratios.len() / 2) {
        Some(median) => {
            println!("plain 200, {CONNECTIONS} connections: {median:.2} of nginx, the median of {ROUNDS}")
        }
        None => println!("plain 200: not run beside nginx, which is not installed"),
    }
}

fn rate(runtime: &tokio::runtime::Runtime, server: &Server) -> f64 {
    let before = server.cpu();
    let answered = runtime.block_on(Load::new(&server.address, CONNECTIONS).run(ROUND));
    answered as f64 / (server.cpu() - before).as_secs_f64()
}
