//! The simulator beside others, in processor's time: what it does in a second, what a client takes, and the same world
//! as a plain loop, in NeXosim and in SimPy; and the published jitter experiment in plain Python.
//!
//! What can go wrong: events are counted by each as suits it, and a loop without a policy is compared with a product. So
//! all simulate one world, with a policy, print what it came to, and count what happened to a call or an attempt;
//! nothing else is an event. Ratios are of one run of this program, ours and the loop's figures the faster of two; the
//! clock is the processor's.
//!
//! `sim [--check]`; SimPy and the experiment are run by the Python that `SEAWALL_COMPARE_PYTHON` names, and left out
//! where it names none. `--check` asserts no time, but the bytes of a client, and that equal seeds and other
//! threads come to the same.

mod bare;
mod ours;
mod peer;
mod python;
mod shop;

use ours::Callers;
use seawall_lab::sim::tally::Tally;
use shop::{Counts, Measured};
use std::process::{Command, ExitCode};

/// The most that one of a million clients may take.
const CLIENT_BYTES_MAX: u64 = 200;
/// Seconds that the compiled ones simulate, and SimPy.
const SECONDS: f64 = 100.0;
const SECONDS_PYTHON: f64 = 10.0;
/// Runs of the jitter experiment.
const CONTENTIONS: u32 = 400;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => print(),
        ["--check"] => check(),
        // A child, of which the host tells how much memory it took.
        ["million", callers, around, outage] => million(callers, around, outage),
        _ => {
            eprintln!("usage: sim [--check]");
            ExitCode::from(2)
        }
    }
}

fn print() -> ExitCode {
    println!("\n# An open load under the default policy, in processes of 1000 clients, for a million calls");
    for clients in [1_000, 10_000, 100_000, 1_000_000] {
        let calm = || Measured::of(|| ours::counts(&ours::calm(clients)));
        row(&format!("seawall, {clients} clients"), &calm().or_faster(calm()));
    }
    println!("\n# A million clients, a call of each every 10 s, through an outage of 60 s");
    let mut well = true;
    for callers in ["open", "closed"] {
        match of_child(callers, 20.0, 60.0) {
            Ok(line) => println!("{line}"),
            Err(error) => {
                eprintln!("{error}");
                well = false;
            }
        }
    }
    println!(
        "\n# One world: 10000 clients, 10000 calls a second, one attempt in fifty fails; {SECONDS} s of it"
    );
    let shop = || Measured::of(|| ours::counts(&ours::shop(SECONDS)));
    let bare = || Measured::of(|| bare::run(SECONDS, ours::SEED));
    let (first_ours, first_bare) = (shop(), bare());
    let (ours, bare) = (first_ours.or_faster(shop()), first_bare.or_faster(bare()));
    row("seawall", &ours);
    row("a loop around a binary heap", &bare);
    let mut ratios = vec![("a loop around a binary heap", bare.speed())];
    let mut failed = None;
    let peer = Measured::of(|| {
        peer::run(SECONDS_PYTHON, ours::SEED).unwrap_or_else(|error| {
            failed = Some(error.to_string());
            Counts::default()
        })
    });
    if let Some(error) = failed {
        eprintln!("NeXosim: {error}");
        well = false;
    } else {
        row(&format!("NeXosim 1.0.0, {SECONDS_PYTHON} s"), &peer);
        ratios.push(("NeXosim", peer.speed()));
    }
    match python::shop(SECONDS_PYTHON) {
        Ok(Some(simpy)) => {
            row(&format!("SimPy, {SECONDS_PYTHON} s"), &simpy);
            ratios.push(("SimPy", simpy.speed()));
        }
        Ok(None) => println!("SimPy: not run ({} names no Python)", python::VARIABLE),
        Err(error) => {
            eprintln!("SimPy: {error}");
            well = false;
        }
    }
    for (name, speed) in ratios {
        println!(
            "seawall / {name}: {:.2} times the events a second",
            ours.speed() / speed
        );
    }
    well &= contention();
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn row(name: &str, measured: &Measured) {
    let counts = measured.counts;
    println!(
        "{name:<32} {:>9} calls {:>9} answered {:>9} attempts {:>7.1} ms mean {:>9} events {:>6.2} s CPU {:>6.2} M events/s",
        counts.calls,
        counts.answered,
        counts.arrivals,
        counts.waited / counts.calls as f64 * 1e3,
        counts.events,
        measured.cpu,
        measured.speed() / 1e6,
    );
}

/// The jitter experiment, ours and in Python.
fn contention() -> bool {
    println!(
        "\n# The jitter experiment of 2015, {} clients, full jitter; published: 796 writes, 4906 ms",
        ours::WRITERS
    );
    let began = shop::cpu();
    let runs: Vec<(u64, f64)> = (0..CONTENTIONS)
        .map(|run| ours::contention(u64::from(run) + 1))
        .collect();
    let cpu = (shop::cpu() - began) / f64::from(CONTENTIONS);
    let writes = runs.iter().map(|(writes, _)| *writes as f64).sum::<f64>() / f64::from(CONTENTIONS);
    let done = runs.iter().map(|(_, done)| done).sum::<f64>() / f64::from(CONTENTIONS);
    println!(
        "seawall: {writes:.0} writes, {done:.0} ms, {:.3} ms CPU for each of {CONTENTIONS} runs",
        cpu * 1e3
    );
    let mut well = true;
    for (written, how) in [
        ("loop", "one loop"),
        ("objects", "an object for each client and message"),
    ] {
        match python::contention(written, ours::WRITERS, CONTENTIONS) {
            Ok(Some((writes, done, theirs))) => println!(
                "Python, {how}: {writes:.0} writes, {done:.0} ms, {:.3} ms CPU for each; seawall is {:.1} times as fast",
                theirs * 1e3,
                theirs / cpu
            ),
            Ok(None) => println!("Python, {how}: not run ({} names no Python)", python::VARIABLE),
            Err(error) => {
                eprintln!("Python, {how}: {error}");
                well = false;
            }
        }
    }
    well
}

fn check() -> ExitCode {
    let mut well = true;
    match of_child("closed", 3.0, 3.0) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            eprintln!("{error}");
            well = false;
        }
    }
    let here: Tally = ours::shop(5.0);
    let there = std::thread::spawn(|| ours::shop(5.0)).join();
    let same = there.is_ok_and(|there| there == here) && ours::shop(5.0) == here;
    println!(
        "equal seeds come to {}",
        if same { "the same" } else { "something else" }
    );
    if well && same {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A large run in a process of its own, and what it says of itself.
fn of_child(callers: &str, around: f64, outage: f64) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program has no name: {error}"))?;
    let done = Command::new(program)
        .args(["million", callers, &around.to_string(), &outage.to_string()])
        .output()
        .map_err(|error| format!("this program does not start again: {error}"))?;
    let line = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    if done.status.success() {
        Ok(line)
    } else {
        Err(format!("{line}\nan {callers} load of a million did not end well"))
    }
}

fn million(callers: &str, around: &str, outage: &str) -> ExitCode {
    let callers = match callers {
        "open" => Callers::Open,
        _ => Callers::Closed,
    };
    let (Ok(around), Ok(outage)) = (around.parse(), outage.parse()) else {
        return ExitCode::from(2);
    };
    let measured = Measured::of(|| ours::counts(&ours::million(callers, around, outage)));
    row(&format!("seawall, {callers:?}"), &measured);
    let Some(peak) = peak_bytes() else {
        println!("bytes a client: this host does not tell");
        return ExitCode::SUCCESS;
    };
    let each = peak / u64::from(ours::MILLION);
    println!("{each} bytes a client at the peak; {CLIENT_BYTES_MAX} is the most");
    if each <= CLIENT_BYTES_MAX {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The most that this process has had in memory.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1_024)
}
