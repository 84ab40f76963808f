//! An interrupt ends programs under test, and their children, before it ends us.

use crate::{Folder, tell, text};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Waits for a process to say its number; only a failing test waits long.
fn number_in(path: &Path) -> String {
    for _ in 0..2_000 {
        if let Ok(number) = std::fs::read_to_string(path)
            && number.ends_with('\n')
        {
            return number.trim().to_owned();
        }
        wait_a_moment();
    }
    panic!("the program under test did not start");
}

fn lives(process: &str) -> bool {
    // A slim Linux has no `ps`. One that nobody has waited for is listed as a zombie, here and there.
    let state = if Path::new("/proc/self/stat").exists() {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .map_or_else(String::new, |(_, rest)| rest.to_owned())
    } else {
        let listed = Command::new("ps").args(["-o", "stat=", "-p", process]).output();
        text(listed.expect("ps runs").stdout)
    };
    !state.trim().is_empty() && !state.trim_start().starts_with('Z')
}

/// Whether it ends: who was killed has ended once it has had its turn, which on a busy machine is not at once.
fn ends(process: &str) -> bool {
    (0..2_000).any(|_| !lives(process) || wait_a_moment())
}

/// Lets others run, where there is nothing to be woken by. Never true: nothing has come of it.
fn wait_a_moment() -> bool {
    let _moment = Command::new("sleep").arg("0.01").status();
    false
}

#[test]
fn an_interrupt_leaves_no_process_behind() {
    // A client that outlives its test goes on calling whatever listens on that port next. This one has a child, and does
    // not hear the polite signal.
    stopped_by("INT");
    stopped_by("TERM");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    // Whoever runs the tests may not want to hear it, and then nor do we.
    if !is_deaf_to_hang_ups(&status) {
        stopped_by("HUP");
    }
}

fn is_deaf_to_hang_ups(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_none_or(|mask| !mask.ends_with(['0', '2', '4', '6', '8', 'a', 'c', 'e']))
}

#[test]
fn a_pipe_that_nobody_writes_into_can_be_given_up() {
    // Signals that are heard before the files are read are heard by nobody until they are.
    let folder = Folder::new("test-pipe");
    let pipe = folder.0.join("pipe.toml");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo runs")
            .success()
    );
    let child = Command::new(env!("CARGO_BIN_EXE_seawall"))
        .arg("test")
        .arg(&pipe)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // It opens when the program has, and reads.
    let writer = std::fs::File::options()
        .write(true)
        .open(&pipe)
        .expect("a pipe opens");
    tell(child.id(), "TERM");
    drop(writer);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.signal(), Some(15), "{}", text(output.stdout));
}

fn stopped_by(signal: &str) {
    let folder = Folder::new(&format!("test-stopped-by-{signal}"));
    folder.file(
        "hangs.toml",
        "client = { run = [\"sh\", \"-c\", \"trap '' TERM; echo $$ > head; sleep 600 & echo $! > child; wait; sleep 600\"], \
         timeout = \"10m\" }\n[[mock.route]]\nmatch = \"GET /x\"\n",
    );
    let child = Command::new(env!("CARGO_BIN_EXE_seawall"))
        .args(["test", "hangs.toml"])
        .current_dir(&folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let numbers = ["head", "child"].map(|name| number_in(&folder.0.join(name)));
    assert!(numbers.iter().all(|number| lives(number)));
    tell(child.id(), signal);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(
        text(output.stderr),
        "note: interrupted; nothing is left running\n"
    );
    for number in numbers {
        assert!(ends(&number), "{number} lives on");
    }
}
