//! `cargo xtask`: one line per check, exit 0 where all hold, 1 where one does not, 2 on wrong usage.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use xtask::console::figures;
use xtask::faults::{self, Suite};
use xtask::repo::{Error, Repo};
use xtask::{api, console, docs, prices, tidy};

const USAGE: &str = "usage:
  cargo xtask tidy                 check walls, arrows, guests, sizes, words and docs
  cargo xtask docs                 write the generated pages under docs/reference
  cargo xtask api [--check]        write what users of the libraries may name beside their manifests, or see that it is so
  cargo xtask console --bin PATH   run the ```console blocks of README.md and docs/ with that seawall, and see that the
                                   pictures which they draw are those beside the pages; --draw writes them there
  cargo xtask prices FILE DATE     write the library's table of prices from a table of the world's, as of DATE
  cargo xtask faults [SUITE...]    break a copy of the build on purpose, in every way of xtask/faults.toml, and see that
                                   a test notices; SUITE is core, live, live-it, e2e, batch, lab or loom
";

/// What the arguments ask for.
enum Task {
    Tidy,
    Docs,
    Api(Purpose),
    Console { bin: PathBuf, pictures: Purpose },
    Prices { source: PathBuf, date: String },
    Faults { suites: Vec<Suite> },
    Help,
    Unclear,
}

/// What is done with what the code makes.
enum Purpose {
    Write,
    Check,
}

/// Whether what was asked for holds.
enum Answer {
    Yes,
    No,
    Usage,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut out = io::stdout().lock();
    match run(&task(&words), &mut out) {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Ok(Answer::Usage) => ExitCode::from(2),
        Err(error) => {
            // A closed standard error leaves nobody to tell; the exit code still says it.
            let _ = writeln!(io::stderr(), "xtask: {error}");
            ExitCode::from(74)
        }
    }
}

fn task(words: &[String]) -> Task {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["tidy"] => Task::Tidy,
        ["docs"] => Task::Docs,
        ["api"] => Task::Api(Purpose::Write),
        ["api", "--check"] => Task::Api(Purpose::Check),
        ["console", "--bin", bin] => Task::Console {
            bin: PathBuf::from(bin),
            pictures: Purpose::Check,
        },
        ["console", "--bin", bin, "--draw"] => Task::Console {
            bin: PathBuf::from(bin),
            pictures: Purpose::Write,
        },
        ["prices", source, date] => Task::Prices {
            source: PathBuf::from(source),
            date: (*date).to_owned(),
        },
        ["faults", suites @ ..] => match suites.iter().map(|name| Suite::named(name)).collect() {
            Some(suites) => Task::Faults { suites },
            None => Task::Unclear,
        },
        ["help" | "--help" | "-h"] => Task::Help,
        _ => Task::Unclear,
    }
}

fn run(task: &Task, out: &mut impl Write) -> Result<Answer, Error> {
    match task {
        Task::Tidy => run_tidy(out),
        Task::Docs => run_docs(out),
        Task::Api(Purpose::Write) => write_api(out),
        Task::Api(Purpose::Check) => check_api(out),
        Task::Console { bin, pictures } => run_console(bin, pictures, out),
        Task::Prices { source, date } => run_prices(source, date, out),
        Task::Faults { suites } => run_faults(suites, out),
        Task::Help => {
            say(out, USAGE.trim_end())?;
            Ok(Answer::Yes)
        }
        Task::Unclear => {
            say(out, USAGE.trim_end())?;
            Ok(Answer::Usage)
        }
    }
}

fn run_tidy(out: &mut impl Write) -> Result<Answer, Error> {
    let repo = Repo::open()?;
    let mut answer = Answer::Yes;
    for check in tidy::CHECKS {
        let findings = (check.run)(&repo)?;
        if findings.is_empty() {
            say(out, &format!("ok    {}", check.name))?;
            continue;
        }
        answer = Answer::No;
        say(out, &format!("FAIL  {}: {} findings", check.name, findings.len()))?;
        for finding in findings {
            say(out, &format!("      {finding}"))?;
        }
    }
    Ok(answer)
}

fn run_docs(out: &mut impl Write) -> Result<Answer, Error> {
    let repo = Repo::open()?;
    for page in docs::pages() {
        repo.write(page.path, &page.text)?;
        say(out, &format!("wrote {}", page.path))?;
    }
    repo.write(faults::PAGE, &faults::page(&repo)?)?;
    say(out, &format!("wrote the faults of {}", faults::PAGE))?;
    Ok(Answer::Yes)
}

fn write_api(out: &mut impl Write) -> Result<Answer, Error> {
    let repo = Repo::open()?;
    for snapshot in api::snapshots(&repo)? {
        repo.write(&snapshot.path, &snapshot.text)?;
        say(out, &format!("wrote {}", snapshot.path))?;
    }
    Ok(Answer::Yes)
}

fn check_api(out: &mut impl Write) -> Result<Answer, Error> {
    let repo = Repo::open()?;
    let findings = api::in_step(&repo)?;
    for finding in &findings {
        say(out, &format!("FAIL  {finding}"))?;
    }
    if findings.is_empty() {
        say(
            out,
            &format!("ok    the public items of {}", api::CRATES.join(", ")),
        )?;
        return Ok(Answer::Yes);
    }
    Ok(Answer::No)
}

/// Plays the faults of these suites, or of all where none is named; suite by suite, so that each is built once.
fn run_faults(suites: &[Suite], out: &mut impl Write) -> Result<Answer, Error> {
    let repo = Repo::open()?;
    let mut all = faults::read(&repo)?;
    all.retain(|fault| suites.is_empty() || suites.contains(&fault.suite));
    all.sort_by_key(|fault| fault.suite);
    let mut answer = Answer::Yes;
    faults::play(&repo, &all, |fault, caught| {
        let mark = if caught.is_caught() { "ok   " } else { "FAIL " };
        if !caught.is_caught() {
            answer = Answer::No;
        }
        say(
            out,
            &format!(
                "{mark} {}: {} ({})\n      {}",
                fault.breaks,
                fault.what,
                fault.suite.name(),
                caught.said()
            ),
        )
    })?;
    say(out, &format!("{} faults", all.len()))?;
    // No faults are no proof.
    Ok(if all.is_empty() { Answer::No } else { answer })
}

fn run_prices(source: &Path, date: &str, out: &mut impl Write) -> Result<Answer, Error> {
    let repo = Repo::open()?;
    let text = std::fs::read_to_string(source).map_err(|error| Error::Io {
        path: source.to_owned(),
        source: error,
    })?;
    let table = prices::table(&text, date)?;
    let path = repo.root().join(prices::PATH);
    std::fs::write(&path, &table).map_err(|source| Error::Io { path, source })?;
    let rows = table.lines().filter(|line| !line.starts_with('#')).count();
    say(
        out,
        &format!("{}: {rows} models, {} bytes", prices::PATH, table.len()),
    )?;
    Ok(Answer::Yes)
}

fn run_console(bin: &Path, pictures: &Purpose, out: &mut impl Write) -> Result<Answer, Error> {
    let repo = Repo::open()?;
    let mut answer = Answer::Yes;
    let mut ran = 0;
    let mut drawn = BTreeSet::new();
    for block in console::blocks_of(&repo)? {
        let result = console::run(&repo, bin, &block)?;
        ran += result.ran;
        for picture in result.drawn {
            drawn.insert(picture.path.clone());
            match pictures {
                _ if figures::stands(&repo, &picture) => {}
                Purpose::Write => repo.write(&picture.path, &picture.text)?,
                Purpose::Check => {
                    answer = Answer::No;
                    say(
                        out,
                        &format!(
                            "FAIL  {}:{}: {} is not what the block draws; `cargo xtask console --bin PATH --draw` writes it",
                            block.path, block.line, picture.path
                        ),
                    )?;
                }
            }
        }
        if result.failures.is_empty() {
            say(
                out,
                &format!(
                    "ok    {}:{}: {} run, {} not ours",
                    block.path, block.line, result.ran, result.skipped
                ),
            )?;
            continue;
        }
        answer = Answer::No;
        for failure in result.failures {
            say(out, &format!("FAIL  {}:{failure}", block.path))?;
        }
    }
    for finding in figures::left_over(&repo, &drawn) {
        answer = Answer::No;
        say(out, &format!("FAIL  {finding}"))?;
    }
    say(
        out,
        &format!(
            "{ran} commands of the docs ran, and drew {} pictures",
            drawn.len()
        ),
    )?;
    // Docs without a command that runs are docs that nobody checks.
    Ok(if ran == 0 { Answer::No } else { answer })
}

fn say(out: &mut impl Write, line: &str) -> Result<(), Error> {
    writeln!(out, "{line}").map_err(|source| Error::Io {
        path: "standard output".into(),
        source,
    })
}
