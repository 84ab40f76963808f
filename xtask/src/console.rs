//! The commands that the docs show, run.
//!
//! A fenced block marked `console` holds commands and what they print:
//!
//! ````text
//! ```console
//! $ seawall explain --status 429 --header 'Retry-After: 12'
//! the server asked for 12s; waiting 12s, and the whole gate with it
//! $ seawall check gone.toml
//! ? 2
//! [..]gone.toml[..]
//! ```
//! ````
//!
//! Lines that start with `$ ` are commands; a line that ends in `\` goes on in the next. `? N` right below states an
//! exit code other than 0. The rest is standard output, then standard error: `[..]` stands for any text within a
//! line, a line `...` for any lines. Commands that start with `seawall ` are run, in a fresh folder in which
//! `examples` is the repository's.
//!
//! A command that ends in ` &` is a server: the first line that it prints stands below it, and it goes on until the
//! block ends. `curl` commands that speak to such a server are run, too, where there is a curl, and so are `cat` and
//! `head` of files in the folder. Other commands are there for people and are not run; one that shows what it prints
//! is a failure, because nobody would check that.
//!
//! What a block draws into `figures/` is what the page shows from there, to the byte: see [`figures`].

mod beside;
pub mod figures;

use crate::repo::{Error, Repo};
use beside::Beside;
use figures::Drawn;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{fs, io, thread};

/// A command of the docs that prints nothing more and does not end for this long is stopped: far longer than the longest of
/// them takes on a busy machine, since all that is to be found by it is one that never ends.
const PATIENCE: Duration = Duration::from_secs(600);

/// One fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The document.
    pub path: String,
    /// The line of its fence, counted from 1.
    pub line: usize,
    /// Its commands, in order.
    pub steps: Vec<Step>,
}

/// One command and what it should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The command's line, counted from 1.
    pub line: usize,
    /// The command, on one line.
    pub command: String,
    /// The exit code that it should end with.
    pub exit: i32,
    /// What it should print.
    pub expected: String,
}

/// What became of a block.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Commands that were run.
    pub ran: usize,
    /// Commands that are not ours to run.
    pub skipped: usize,
    /// Those that did something else than the block says.
    pub failures: Vec<Failure>,
    /// The pictures that it drew, of those that its page shows.
    pub drawn: Vec<Drawn>,
}

/// A command that did something else than its block says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The command's line.
    pub line: usize,
    /// The command.
    pub command: String,
    /// What differs.
    pub detail: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: $ {}\n{}", self.line, self.command, self.detail)
    }
}

/// Every `console` block of README.md and docs/.
pub fn blocks_of(repo: &Repo) -> Result<Vec<Block>, Error> {
    let mut all = Vec::new();
    for file in &repo.files {
        let shown = file.path == "README.md" || file.path.starts_with("docs/");
        if shown && file.path.ends_with(".md") {
            all.extend(blocks(&file.path, &file.text)?);
        }
    }
    Ok(all)
}

/// The `console` blocks of one document. A block that starts with something else than a command, and one that is
/// never closed, are errors: they would otherwise be checked by nobody.
pub fn blocks(path: &str, markdown: &str) -> Result<Vec<Block>, Error> {
    let wrong = |line: usize, detail: &str| Error::Form {
        path: format!("{path}:{line}"),
        detail: detail.to_owned(),
    };
    let mut blocks = Vec::new();
    let mut lines = markdown.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        if ticks < 3 {
            continue;
        }
        let (fence, kind) = line.split_at(ticks);
        let mut inside = Vec::new();
        let closed = lines
            .by_ref()
            .take_while(|(_, line)| line.trim_end() != fence)
            .inspect(|line| inside.push(*line))
            .count();
        let ended = at + 1 + closed < markdown.lines().count();
        if kind.trim() != "console" {
            continue;
        }
        if !ended {
            return Err(wrong(at + 1, "the block is never closed"));
        }
        let steps = steps(&inside).map_err(|line| wrong(line, "output stands before the first `$ `"))?;
        blocks.push(Block {
            path: path.to_owned(),
            line: at + 1,
            steps,
        });
    }
    Ok(blocks)
}

/// The commands of a block; the error is the line of output that no command printed.
fn steps(lines: &[(usize, &str)]) -> Result<Vec<Step>, usize> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for (at, line) in lines {
        if goes_on {
            let step = steps.last_mut().expect("only a command goes on");
            goes_on = append(&mut step.command, line);
        } else if let Some(command) = line.strip_prefix("$ ") {
            let mut step = Step {
                line: at + 1,
                command: String::new(),
                exit: 0,
                expected: String::new(),
            };
            goes_on = append(&mut step.command, command);
            steps.push(step);
        } else {
            let step = steps.last_mut().ok_or(at + 1)?;
            let exit = line.strip_prefix("? ").and_then(|code| code.trim().parse().ok());
            match exit {
                Some(code) if step.expected.is_empty() => step.exit = code,
                _ => {
                    step.expected.push_str(line);
                    step.expected.push('\n');
                }
            }
        }
    }
    Ok(steps)
}

/// Adds a line to a command; whether the command goes on.
fn append(command: &mut String, line: &str) -> bool {
    match line.trim_end().strip_suffix('\\') {
        Some(part) => {
            command.push_str(part.trim());
            command.push(' ');
            true
        }
        None => {
            command.push_str(line.trim());
            false
        }
    }
}

/// The words of a command: spaces part them, `'…'` and `"…"` hold them together, `\` takes the next character as it
/// is outside of single quotes. `None` is a quote that is never closed. Nothing is expanded.
pub fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => word.push(chars.next()?),
                        inside => word.push(inside),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// Whether the text is what was expected, wildcards taken; trailing spaces and line ends at the end do not count.
pub fn fits(expected: &str, actual: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        text.trim_end()
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    let (expected, actual) = (lines(expected), lines(actual));
    // reach[i]: whether what was expected so far can be the first i lines of what came.
    let mut reach = vec![false; actual.len() + 1];
    reach[0] = true;
    for want in &expected {
        let mut next = vec![false; actual.len() + 1];
        if want == "..." {
            let first = reach.iter().position(|reached| *reached).unwrap_or(reach.len());
            next[first..].fill(true);
        } else {
            for (at, line) in actual.iter().enumerate() {
                next[at + 1] = reach[at] && line_fits(want, line);
            }
        }
        reach = next;
    }
    reach[actual.len()]
}

fn line_fits(want: &str, line: &str) -> bool {
    let mut parts = want.split("[..]");
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Runs one block with this `seawall`.
pub fn run(repo: &Repo, bin: &Path, block: &Block) -> Result<Ran, Error> {
    let bin = fs::canonicalize(bin).map_err(|source| Error::Io {
        path: bin.to_path_buf(),
        source,
    })?;
    let folder = fresh_folder("console")?;
    copy_examples(repo, &folder)?;
    let mut result = Ran::default();
    let mut beside = Beside::default();
    for step in &block.steps {
        let fail = |detail: String| Failure {
            line: step.line,
            command: step.command.clone(),
            detail,
        };
        let program = match program(&step.command, &bin, &beside) {
            Whose::Ours(program) => program,
            Whose::Missing => {
                result.skipped += 1;
                continue;
            }
            Whose::People => {
                result.skipped += 1;
                if !step.expected.is_empty() {
                    result
                        .failures
                        .push(fail("is not run, so nobody checks what it prints".to_owned()));
                }
                continue;
            }
        };
        result.ran += 1;
        let (command, goes_on) = match step.command.strip_suffix(" &") {
            Some(command) => (command, true),
            None => (step.command.as_str(), false),
        };
        let Some(words) = split(&beside.as_is(command)) else {
            result.failures.push(fail("a quote is never closed".to_owned()));
            continue;
        };
        let done = if goes_on {
            beside.start(&program, &words[1..], &folder)?
        } else {
            let mut done = execute(&program, &words[1..], &folder)?;
            done.printed = beside.as_written(&done.printed);
            done
        };
        if let Some(detail) = difference(step, &done) {
            result.failures.push(fail(detail));
        }
    }
    drop(beside);
    result.drawn = figures::drawn(repo, block, &folder)?;
    // A folder left behind in the temporary folder harms nobody.
    let _ = fs::remove_dir_all(&folder);
    Ok(result)
}

/// Whose a command is.
enum Whose {
    /// This program runs it.
    Ours(PathBuf),
    /// It would be run, but its program is not installed.
    Missing,
    /// It is there for people.
    People,
}

/// What runs a command. A curl that could reach another server than ours, and a reader of files elsewhere, are not run.
fn program(command: &str, bin: &Path, beside: &Beside) -> Whose {
    let (name, words) = command.split_once(' ').unwrap_or((command, ""));
    match name {
        "seawall" => Whose::Ours(bin.to_path_buf()),
        "curl" if beside.meets(command) && curl_is_here() => Whose::Ours(PathBuf::from("curl")),
        "curl" if beside.meets(command) => Whose::Missing,
        "cat" | "head" if stays_inside(words) => Whose::Ours(PathBuf::from(name)),
        _ => Whose::People,
    }
}

/// Whether these words name no file outside of the folder.
fn stays_inside(words: &str) -> bool {
    !words
        .split_whitespace()
        .any(|word| word.starts_with(['/', '~']) || word.contains(".."))
}

fn curl_is_here() -> bool {
    Command::new("curl")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// How a command ended.
struct Done {
    /// The exit code; `None` where it was stopped.
    exit: Option<i32>,
    printed: String,
}

fn difference(step: &Step, done: &Done) -> Option<String> {
    let Some(exit) = done.exit else {
        return Some(format!("did not end by itself; printed:\n{}", done.printed));
    };
    if exit != step.exit {
        return Some(format!(
            "ended with {exit}, not {}; printed:\n{}",
            step.exit, done.printed
        ));
    }
    let expected = &step.expected;
    (!fits(expected, &done.printed))
        .then(|| format!("--- the docs say\n{expected}--- it prints\n{}", done.printed))
}

fn execute(bin: &Path, words: &[String], folder: &Path) -> Result<Done, Error> {
    let fail = |source: io::Error| Error::Io {
        path: bin.to_path_buf(),
        source,
    };
    let mut child = Command::new(bin)
        .args(words)
        .current_dir(folder)
        // A proxy of the machine must not stand between curl and a server of the docs.
        .env("no_proxy", "*")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fail)?;
    let out = reader(child.stdout.take());
    let err = reader(child.stderr.take());
    let mut printed = String::new();
    let mut in_time = true;
    for stream in [out, err] {
        // A stream ends when the command does: waiting for both is waiting for it, with a limit.
        match stream.recv_timeout(PATIENCE) {
            Ok(bytes) => printed.push_str(&String::from_utf8_lossy(&bytes)),
            Err(_) => {
                in_time = false;
                stop(&mut child).map_err(fail)?;
                let rest = stream.recv().unwrap_or_default();
                printed.push_str(&String::from_utf8_lossy(&rest));
            }
        }
    }
    let status = child.wait().map_err(fail)?;
    Ok(Done {
        exit: status.code().filter(|_| in_time),
        printed,
    })
}

fn stop(child: &mut Child) -> io::Result<()> {
    match child.kill() {
        // It ended between the look and the kill.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

fn reader(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (give, take) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // What was read before an error is still what was printed.
            let _ = stream.read_to_end(&mut bytes);
        }
        // Nobody listens only where the command was given up.
        let _ = give.send(bytes);
    });
    take
}

fn copy_examples(repo: &Repo, folder: &Path) -> Result<(), Error> {
    let to = folder.join("examples");
    for file in repo
        .files
        .iter()
        .filter(|file| file.path.starts_with("examples/"))
    {
        let fail = |source| Error::Io {
            path: to.clone(),
            source,
        };
        let copy = folder.join(&file.path);
        if let Some(above) = copy.parent() {
            fs::create_dir_all(above).map_err(fail)?;
        }
        fs::copy(repo.root().join(&file.path), copy).map_err(fail)?;
    }
    Ok(())
}

/// A new empty folder below the system's temporary folder.
pub(crate) fn fresh_folder(purpose: &str) -> Result<PathBuf, Error> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("seawall-xtask-{purpose}-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    // One left over from an earlier program of the same number is not empty.
    if path.exists() {
        fs::remove_dir_all(&path).map_err(|source| Error::Io {
            path: path.clone(),
            source,
        })?;
    }
    fs::create_dir_all(&path).map_err(|source| Error::Io {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests;
