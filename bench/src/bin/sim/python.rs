//! What is measured in Python, by an interpreter that is given.

use crate::shop::{
    BASE, BREAKER_FAILURES, BREAKER_OPEN, BREAKER_SPAN, BUDGET_PER_SECOND, BUDGET_RATIO, BUDGET_SECONDS, CAP,
    CLIENTS_EACH, Counts, FAIL, HOP, Measured, PER_SECOND, PROCESSES, RETRIES, SERVICE_MEAN, WORKERS,
};
use std::process::Command;

/// Names the interpreter; SimPy is installed for it.
pub const VARIABLE: &str = "SEAWALL_COMPARE_PYTHON";

/// So many seconds of the common world in SimPy; `None` where no interpreter is given.
pub fn shop(seconds: f64) -> Result<Option<Measured>, String> {
    let most = BUDGET_SECONDS * (BUDGET_PER_SECOND + BUDGET_RATIO * PER_SECOND / f64::from(PROCESSES));
    let options: [(&str, f64); 17] = [
        ("seconds", seconds),
        ("clients_each", f64::from(CLIENTS_EACH)),
        ("processes", f64::from(PROCESSES)),
        ("per_second", PER_SECOND),
        ("workers", f64::from(WORKERS)),
        ("service_mean", SERVICE_MEAN.as_secs_f64()),
        ("hop", HOP.as_secs_f64()),
        ("fail", FAIL),
        ("retries", f64::from(RETRIES)),
        ("base", BASE.as_secs_f64()),
        ("cap", CAP.as_secs_f64()),
        ("budget_ratio", BUDGET_RATIO),
        ("budget_per_second", BUDGET_PER_SECOND),
        ("budget_most", most),
        ("breaker_failures", f64::from(BREAKER_FAILURES)),
        ("breaker_span", BREAKER_SPAN.as_secs_f64()),
        ("breaker_open", BREAKER_OPEN.as_secs_f64()),
    ];
    let arguments: Vec<String> = options
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let Some(figures) = run(include_str!("shop.py"), &arguments)? else {
        return Ok(None);
    };
    let [calls, answered, arrivals, events, waited, cpu] = figures[..] else {
        return Err(format!("six figures were expected, and {} came", figures.len()));
    };
    let counts = Counts {
        calls: calls as u64,
        answered: answered as u64,
        arrivals: arrivals as u64,
        events: events as u64,
        waited,
    };
    Ok(Some(Measured { counts, cpu }))
}

/// The jitter experiment, `written` as a `loop` or in `objects`: mean writes, mean milliseconds to the end, seconds of the processor for each run; `None` where
/// no interpreter is given.
pub fn contention(written: &str, clients: u32, runs: u32) -> Result<Option<(f64, f64, f64)>, String> {
    let arguments = [written.to_owned(), clients.to_string(), runs.to_string()];
    let Some(figures) = run(include_str!("contention.py"), &arguments)? else {
        return Ok(None);
    };
    match figures[..] {
        [writes, done, cpu] => Ok(Some((writes, done, cpu))),
        _ => Err(format!("three figures were expected, and {} came", figures.len())),
    }
}

fn run(program: &str, arguments: &[String]) -> Result<Option<Vec<f64>>, String> {
    let Some(python) = std::env::var_os(VARIABLE) else {
        return Ok(None);
    };
    let done = Command::new(&python)
        .args(["-c", program])
        .args(arguments)
        .output()
        .map_err(|error| format!("{} does not start: {error}", python.display()))?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&done.stdout);
    let figures: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    figures.map(Some).map_err(|error| format!("no figures: {error}"))
}
