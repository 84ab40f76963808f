//! What stands in `examples/` is run as it stands there.

use super::root;
use crate::{Folder, seawall_in, text};
use std::process::Command;

#[test]
fn every_example_passes_with_any_seed() {
    // An example that fails, or passes by its seed alone, teaches the wrong thing.
    for words in [
        &["examples/scenarios"][..],
        &["examples/cases"],
        &["examples/scenarios", "--repeat", "5", "--seed", "77"],
    ] {
        let output = seawall_in(&root(), &[&["test", "--jobs", "8"], words].concat());
        let printed = text(output.stdout);
        assert_eq!(output.status.code(), Some(0), "{printed}");
        assert!(!printed.contains("not observable"), "{printed}");
    }
}

#[test]
fn the_steps_of_the_ci_file_run_as_they_stand() {
    // A workflow that nobody has run is copied, fails, and is blamed on seawall.
    let path = root().join("examples/ci/seawall-test.yml");
    let steps = steps(&std::fs::read_to_string(path).expect("the workflow is there"));
    assert!(steps.len() >= 4, "{steps:?}");
    let folder = Folder::new("test-ci");
    #[cfg(unix)]
    std::os::unix::fs::symlink(root().join("examples"), folder.0.join("examples")).expect("a link");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_seawall"));
    let bin = program.parent().expect("a program is in a folder");
    let paths = std::env::var("PATH").expect("there is a PATH");
    for step in steps {
        let output = Command::new("bash")
            .args(["-e", "-o", "pipefail", "-c", &step.run])
            .envs(step.env)
            .env("PATH", format!("{}:{paths}", bin.display()))
            .current_dir(&folder.0)
            .output()
            .expect("bash runs");
        let (printed, said) = (text(output.stdout), text(output.stderr));
        assert!(output.status.success(), "{}\n{printed}\n{said}", step.run);
    }
    for results in ["scenarios.xml", "clients.xml"] {
        assert!(
            folder.0.join(results).is_file(),
            "{results} is kept by the last step"
        );
    }
}

/// One `run:` of a workflow.
#[derive(Debug, Default)]
struct Step {
    run: String,
    env: Vec<(String, String)>,
}

/// The `run:` steps of a workflow: as much of YAML as ours is written in.
fn steps(workflow: &str) -> Vec<Step> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = workflow.lines().collect();
    let (mut steps, mut at) = (Vec::new(), 0);
    let mut env = Vec::new();
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        let word = line.trim_start().trim_start_matches("- ");
        let block: Vec<&str> = lines[at..]
            .iter()
            .copied()
            .take_while(|below| below.trim().is_empty() || depth(below) > depth(line))
            .collect();
        if line.trim_start().starts_with("- ") {
            env.clear();
        }
        match word.split_once(':') {
            Some(("env", _)) => {
                let pairs = block.iter().filter_map(|pair| pair.trim().split_once(": "));
                env = pairs
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect();
            }
            Some(("run", run)) => {
                let run = match run.trim() {
                    "|" => block.join("\n"),
                    run => run.to_owned(),
                };
                let env = std::mem::take(&mut env);
                steps.push(Step { run, env });
            }
            Some(_) | None => {}
        }
    }
    steps
}
