//! What is made from the program's own description: completions and manual pages.

use crate::{Folder, seawall_in, text};

/// The commands that `--help` lists.
fn commands() -> Vec<String> {
    let help = text(seawall_in(".".as_ref(), &["--help"]).stdout);
    let (_, listed) = help.split_once("Commands:\n").expect("help lists commands");
    listed
        .lines()
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_shell_learns_every_command_and_flag() {
    // Completions of an older program offer what is gone and hide what is new.
    let commands = commands();
    assert!(commands.len() >= 6, "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = seawall_in(".".as_ref(), &["completions", shell]);
        assert!(output.status.success() && output.stderr.is_empty(), "{shell}");
        let script = text(output.stdout);
        for word in commands
            .iter()
            .map(String::as_str)
            .chain(["skip-invalid", "request-header"])
        {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    let unknown = seawall_in(".".as_ref(), &["completions", "tcsh"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn a_shell_takes_the_completions() {
    // A script that the shell itself refuses breaks every new terminal of the user.
    let folder = Folder::new("completions");
    let script = seawall_in(".".as_ref(), &["completions", "bash"]).stdout;
    let path = folder.file("seawall.bash", script);
    let asked = "source \"$1\" && COMP_WORDS=(seawall mo) COMP_CWORD=1 && _seawall seawall mo seawall && echo \"${COMPREPLY[@]}\"";
    let Ok(output) = std::process::Command::new("bash")
        .args(["-c", asked, "bash", &path])
        .output()
    else {
        // A machine without bash has nobody to complete for.
        return;
    };
    assert_eq!(text(output.stdout), "mock\n", "{}", text(output.stderr));
}

#[test]
fn every_command_has_a_manual_page_that_says_its_flags() {
    // A page that is missing, or that was written once and never again, is worse than `--help` alone.
    let folder = Folder::new("man");
    let output = seawall_in(&folder.0, &["man", "."]);
    assert!(output.status.success(), "{}", text(output.stderr));
    let written = text(output.stdout);
    let page = |name: &str| std::fs::read_to_string(folder.0.join(name)).expect(name);
    for command in commands() {
        let name = format!("seawall-{command}.1");
        assert!(written.contains(&name), "{name} is not told");
        let page = page(&name);
        assert!(
            page.contains(".TH seawall") && page.contains(".SH OPTIONS"),
            "{name}"
        );
    }
    assert!(page("seawall-batch.1").contains(r"\-\-skip\-invalid"));
    assert!(page("seawall.1").contains(".SH EXAMPLES\n.nf\nExamples:\n"));
    // The first page alone goes where it is asked for.
    assert_eq!(
        text(seawall_in(".".as_ref(), &["man"]).stdout).trim_end(),
        page("seawall.1").trim_end()
    );
    let nowhere = seawall_in(&folder.0, &["man", "missing"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(text(nowhere.stderr).contains("missing"), "it names the folder");
}
