#![cfg(unix)]

use super::*;
use std::path::Path;

/// Only a failing test waits for it.
const LONG: Duration = Duration::from_secs(600);
/// Long enough for a shell to begin, which takes an idle machine a few milliseconds: those whose time is over wait as long.
const START_MAX: Duration = Duration::from_secs(2);

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

async fn seen(script: &str, timeout: Duration) -> ClientSeen {
    match run(shell(script), timeout, &Halt::default()).await.unwrap() {
        Ended::Seen(seen) => seen,
        Ended::Halted => panic!("nobody stopped it"),
    }
}

/// Whether a process is there and has not ended.
fn lives(process: &str) -> bool {
    let process = process.trim();
    assert!(process.parse::<u32>().is_ok(), "no process: {process:?}");
    // A slim Linux has no `ps`. One that nobody has waited for is listed as a zombie, here and there.
    let state = if Path::new("/proc/self/stat").exists() {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .map_or_else(String::new, |(_, rest)| rest.to_owned())
    } else {
        let listed = Command::new("ps").args(["-o", "stat=", "-p", process]).output();
        String::from_utf8(listed.unwrap().stdout).unwrap()
    };
    !state.trim().is_empty() && !state.trim_start().starts_with('Z')
}

/// Whether it ends: who was killed has ended once it has had its turn, which on a busy machine is not at once.
async fn ends(process: &str) -> bool {
    for _ in 0..3_000 {
        if !lives(process) {
            return true;
        }
        moment(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn how_a_program_ends_is_what_is_told() {
    // An exit code that is lost on the way, or a signal that passes for a code, makes a broken client pass.
    assert_eq!(seen("exit 0", LONG).await.end, End::Exit(0));
    assert_eq!(seen("exit 7", LONG).await.end, End::Exit(7));
    assert_eq!(seen("kill -s SEGV $$", LONG).await.end, End::Signal(11));
    let spoke = seen("echo out; echo err >&2; cat", LONG).await;
    assert_eq!((spoke.stdout.as_str(), spoke.stderr.as_str()), ("out\n", "err\n"));
}

#[tokio::test]
async fn a_flood_of_output_holds_up_nobody_and_only_its_end_is_kept() {
    // A pipe that nobody reads stops its writer at 64 KiB; one that is kept whole fills our memory.
    let flood = "i=0; while [ $i -lt 300 ]; do printf '%01000d' 0; printf '%01000d' 1 >&2; i=$((i+1)); done; printf end";
    let seen = seen(flood, LONG).await;
    assert_eq!(seen.end, End::Exit(0));
    for (text, end) in [(&seen.stdout, "end"), (&seen.stderr, "1")] {
        assert!(text.ends_with(end));
        let (note, kept) = text.split_once('\n').unwrap();
        assert_eq!(kept.len(), TAIL_BYTES_MAX);
        assert!(note.ends_with(" bytes before this are not kept]"), "{note}");
    }
}

#[tokio::test]
async fn a_program_whose_time_is_over_goes_with_its_children() {
    // A child that is left behind goes on calling a mock that is gone, and holds the pipe that we read from. This one
    // does not hear the polite signal.
    let stubborn = "trap '' TERM; sleep 600 & echo $!; while :; do sleep 600; done";
    let seen = seen(stubborn, START_MAX).await;
    assert_eq!(seen.end, End::TimedOut);
    assert!(ends(&seen.stdout).await, "the child lives on");
}

#[tokio::test]
async fn a_program_may_say_goodbye_when_its_time_is_over() {
    // Killed at once, it could not tell what it was doing.
    let polite = "trap 'echo goodbye; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let seen = seen(polite, START_MAX).await;
    assert_eq!(
        (seen.end, seen.stdout.as_str()),
        (End::TimedOut, "ready\ngoodbye\n")
    );
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_ended_with_it() {
    // Waiting for the end of the pipe that the child holds would take ten minutes.
    let seen = seen("sleep 600 & echo $!", LONG).await;
    assert_eq!(seen.end, End::Exit(0));
    assert!(ends(&seen.stdout).await, "the child lives on");
}

#[tokio::test]
async fn a_stopped_run_leaves_no_process() {
    // An interrupt that only ends us leaves programs that nobody watches.
    let folder = std::env::temp_dir().join(format!("seawall-halt-{}", std::process::id()));
    let script = format!(
        "echo $$ > '{0}.new'; mv '{0}.new' '{0}'; sleep 600",
        folder.display()
    );
    let halt = Halt::default();
    let pulled = halt.clone();
    let path = folder.clone();
    let pull = async move {
        while !path.exists() {
            moment(Duration::from_millis(5)).await;
        }
        pulled.pull();
    };
    let (ended, ()) = tokio::join!(run(shell(&script), LONG, &halt), pull);
    assert_eq!(ended.unwrap(), Ended::Halted);
    let process = std::fs::read_to_string(&folder).unwrap();
    std::fs::remove_file(&folder).unwrap();
    assert!(!lives(&process));
}

#[tokio::test]
async fn a_dropped_run_leaves_no_process() {
    // A panic in the middle of a run must not leave a program behind, either.
    let mut family = Family::start({
        let mut command = shell("sleep 600");
        command.stdin(Stdio::null());
        command
    })
    .unwrap();
    let process = family.child.id().to_string();
    assert!(lives(&process));
    family.ended = None;
    drop(family);
    assert!(!lives(&process));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error() {
    // As a failed run it would look like a fault of the client.
    let error = run(Command::new("/no/such/program"), LONG, &Halt::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_is_kept_of_a_flood_has_a_bound_while_it_lasts() {
    // Could break if the end were cut off only when somebody asks for it: a flood would fill the memory first.
    let mut kept = Kept::default();
    for nth in 0..100_u8 {
        kept.take_in(&[nth; READ_STEP]);
        assert!(kept.bytes.len() <= 2 * TAIL_BYTES_MAX + READ_STEP, "{nth}");
    }
    let all = kept.dropped + kept.bytes.len() as u64;
    assert_eq!((all, kept.bytes.last()), (100 * READ_STEP as u64, Some(&99)));
}
