//! An interrupt ends programs under test, and their children, before it ends us.

use crate::{Folder, tell, text};
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
        // Let it run: there is nothing here to be woken by.
        let _moment = Command::new("sleep").arg("0.01").status();
    }
    panic!("the program under test did not start");
}

fn lives(process: &str) -> bool {
    let listed = Command::new("ps")
        .args(["-o", "stat=", "-p", process])
        .output()
        .expect("ps runs");
    let state = text(listed.stdout);
    !state.trim().is_empty() && !state.trim_start().starts_with('Z')
}

#[test]
fn an_interrupt_leaves_no_process_behind() {
    // A client that outlives its test goes on calling whatever listens on that port next. This one has a child, and does
    // not hear the polite signal.
    let folder = Folder::new("test-stopped");
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
    tell(child.id(), "INT");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(
        text(output.stderr),
        "note: interrupted; nothing is left running\n"
    );
    for number in numbers {
        assert!(!lives(&number), "{number} lives on");
    }
}
