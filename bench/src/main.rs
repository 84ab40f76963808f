//! All of it, or the sections that are named: `speed`, `wire`, `contended`, `window`, `memory`, `fit`, `mock`,
//! `behaviour`, `sim`, `traps`, `compare`.
//!
//! `--check` asserts what does not depend on the machine, and no time: what is allocated, what a gate takes, and that
//! each peer still does what we say of it.

use seawall_bench::allocations::Counting;
use seawall_bench::{cargo, contended, memory, speed, window, wire};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SECTIONS: [&str; 11] = [
    "speed",
    "wire",
    "contended",
    "window",
    "memory",
    "fit",
    "mock",
    "behaviour",
    "sim",
    "traps",
    "compare",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = arguments
        .iter()
        .find(|argument| *argument != "--check" && !SECTIONS.contains(&argument.as_str()))
    {
        eprintln!(
            "no section is called {unknown}; there are {}",
            SECTIONS.join(", ")
        );
        return ExitCode::from(2);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without threads and sockets asks nothing of the host");
    let _entered = runtime.enter();
    if arguments.iter().any(|argument| argument == "--check") {
        return check();
    }
    let mut code = ExitCode::SUCCESS;
    for section in SECTIONS {
        if !arguments.is_empty() && !arguments.iter().any(|argument| argument == section) {
            continue;
        }
        println!("\n== {section}");
        match section {
            "speed" => speed::print(),
            "wire" => wire::print(),
            "contended" => contended::print(),
            "window" => window::print(),
            "memory" => memory::print(),
            // These have another clock than this program, so they are programs of their own.
            other => {
                if !run(other, &[]) {
                    code = ExitCode::FAILURE;
                }
            }
        }
    }
    code
}

/// Says on its last line what did not hold, whatever else was printed before.
fn check() -> ExitCode {
    let mut broken: Vec<String> = Vec::new();
    for measured in speed::allocations() {
        println!("{}: {} allocations", measured.name, measured.allocations);
        if measured.allocations > 0.0 {
            broken.push(format!("{} allocates", measured.name));
        }
    }
    if !wire::check() {
        broken.push("Upstream::call allocates".to_owned());
    }
    let (gate, most) = (memory::gate(), memory::GATE_BYTES_MAX);
    println!("a gate takes {gate} bytes; {most} is the most");
    if gate > most {
        broken.push(format!("a gate takes {gate} bytes, and {most} is the most"));
    }
    let programs: [(&str, &[&str]); 5] = [
        ("fit", &["--check"]),
        ("mock", &["--check"]),
        ("sim", &["--check"]),
        ("traps", &[]),
        ("compare", &["--check"]),
    ];
    for (program, arguments) in programs {
        if !run(program, arguments) {
            broken.push(format!("the program {program} failed"));
        }
    }
    if broken.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("did not hold: {}", broken.join("; "));
    ExitCode::FAILURE
}

/// Builds and runs another program of this package, as this one was. Says whether it ended well.
fn run(program: &str, arguments: &[&str]) -> bool {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let profile = profile();
    let ended = cargo()
        .args(["run", "--quiet", "--locked", "--profile", &profile])
        .args(["--manifest-path", manifest, "--bin", program])
        .args(features(program, &profile))
        .arg("--")
        .args(arguments)
        .status();
    match ended {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo, which builds {program}, does not start: {error}");
            false
        }
    }
}

/// The profile that this program was built with: cargo puts what it builds into a folder of that name.
fn profile() -> String {
    let program = std::env::current_exe().ok();
    let folder = program.as_deref().and_then(std::path::Path::parent);
    let name = folder.and_then(std::path::Path::file_name);
    match name.and_then(std::ffi::OsStr::to_str) {
        Some("debug") => "dev".to_owned(),
        Some(name) => name.to_owned(),
        None => "release".to_owned(),
    }
}

/// What a program needs beside the default: `fit` brings the AI types, which nothing else here should be timed with.
fn features(program: &str, profile: &str) -> &'static [&'static str] {
    match (program, profile) {
        // Where nothing is timed, one build serves all.
        (_, "untimed") => &["--features", "fit,sim"],
        ("fit", _) => &["--no-default-features", "--features", "fit"],
        ("sim", _) => &["--no-default-features", "--features", "sim"],
        _ => &[],
    }
}
