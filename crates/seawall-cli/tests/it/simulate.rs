//! `seawall simulate`, as users run it.

use crate::{Folder, seawall_in, text};
use serde_json::Value;

/// A few seconds of a server that stalls.
const FILE: &str = r#"
horizon = "20s"
seeds = 2
load = { rate = 20 }
[server]
capacity = 30
orphans = "worked"
outages = [{ at = "2s", for = "1s", how = "503" }]
[[policy]]
name = "default"
fleet = "one"
assert = ["amplification < 1.5"]
"#;

#[test]
fn one_seed_gives_the_same_bytes_and_its_speed_goes_elsewhere() {
    // Could break by a figure of the machine in the report, or by threads that hand their tallies over as they end.
    let folder = Folder::new("simulate-bytes");
    let file = folder.file("stall.toml", FILE);
    let run = |threads: &str, seed: &str| {
        let output = seawall_in(
            &folder.0,
            &["simulate", &file, "--json", "--threads", threads, "--seed", seed],
        );
        assert!(output.status.success());
        assert!(text(output.stderr).contains("{\"events_per_cpu_s\":"));
        text(output.stdout)
    };
    let first = run("1", "7");
    assert_eq!(run("3", "7"), first);
    assert_ne!(run("3", "8"), first);
    let document: Value = serde_json::from_str(&first).expect("one JSON document");
    assert_eq!((&document["seed"], &document["seeds"]), (&7.into(), &2.into()));
    assert_eq!(document["asserts"][0]["holds"], true);
    assert_eq!(document["policies"][0]["name"], "default");
    assert_eq!(document["scenario"][0]["server"][0]["workers"], 1);
}

#[test]
fn the_exit_code_says_whether_what_was_asserted_holds() {
    // Could break by an assert that is told and does not count, or by a wrong file that counts as a miss.
    let folder = Folder::new("simulate-exits");
    for (file, code) in [
        (FILE.to_owned(), 0),
        (FILE.replace("amplification < 1.5", "amplification < 0.1"), 1),
        (FILE.replace("amplification < 1.5", "amplifcation < 1.5"), 2),
    ] {
        let file = folder.file("a.toml", file);
        let output = seawall_in(&folder.0, &["simulate", &file, "--quiet"]);
        assert_eq!(output.status.code(), Some(code), "{}", text(output.stderr));
        match code {
            2 => assert!(
                text(output.stderr).contains("did you mean `amplification`?") && output.stdout.is_empty()
            ),
            _ => assert!(output.stderr.is_empty() && text(output.stdout).contains("amplification < ")),
        }
    }
    for words in [
        &["simulate"][..],
        &["simulate", "no.toml"],
        &["simulate", "--preset", "nobodys"],
        &["simulate", "a.toml", "--seeds", "0"],
    ] {
        let output = seawall_in(&folder.0, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn a_page_and_pictures_are_written_where_it_was_asked() {
    // Could break by a page without figures, or by a folder that has to be there.
    let folder = Folder::new("simulate-pictures");
    let file = folder.file("stall.toml", FILE);
    let output = seawall_in(
        &folder.0,
        &["simulate", &file, "--html", "out.html", "--svg", "pictures/all"],
    );
    assert!(output.status.success(), "{}", text(output.stderr));
    let page = std::fs::read_to_string(folder.0.join("out.html")).expect("the page is there");
    assert!(
        page.contains("<svg")
            && page.contains("amplification &lt; 1.5")
            && page.contains("--seed 0 --seeds 2")
    );
    let pictures = std::fs::read_dir(folder.0.join("pictures/all")).expect("the folder is there");
    let names: Vec<_> = pictures
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert!(
        !names.is_empty() && names.iter().all(|name| name.to_string_lossy().ends_with(".svg")),
        "{names:?}"
    );
    let output = seawall_in(&folder.0, &["simulate", &file, "--html", "no/such/out.html"]);
    assert_eq!(output.status.code(), Some(74));
    assert!(text(output.stderr).contains("name a place in a folder that is there"));
}

#[test]
fn nothing_is_written_over_what_is_read_nor_half_and_a_wrong_place_is_told_at_once() {
    // Could break by a check that comes after a run of hours, by a second name of the same file, or by a page that is cut
    // off where the disk is full.
    let folder = Folder::new("simulate-places");
    let hours = FILE.replace("20s", "1000h");
    let file = folder.file("hours.toml", &hours);
    let other_name = folder.0.join("sub/../hours.toml").display().to_string();
    std::fs::create_dir(folder.0.join("sub")).expect("a folder");
    for (command, option, place, code, told) in [
        ("simulate", "--html", &file, 2, "the file that is read"),
        ("simulate", "--html", &other_name, 2, "the file that is read"),
        ("simulate", "--html", &"sub".to_owned(), 74, "name a place"),
        ("simulate", "--html", &"none/".to_owned(), 74, "name a place"),
        (
            "simulate",
            "--html",
            &"no/such/out.html".to_owned(),
            74,
            "name a place",
        ),
        (
            "simulate",
            "--html",
            &"hours.toml/out.html".to_owned(),
            74,
            "name a place",
        ),
        ("simulate", "--svg", &"hours.toml".to_owned(), 74, "name a place"),
        (
            "simulate",
            "--svg",
            &"hours.toml/sub".to_owned(),
            74,
            "name a place",
        ),
        ("tune", "-o", &file, 2, "the file that is read"),
        (
            "tune",
            "-o",
            &"no/such/policy.toml".to_owned(),
            74,
            "name a place",
        ),
    ] {
        let output = seawall_in(&folder.0, &[command, &file, option, place]);
        let said = text(output.stderr);
        assert_eq!(output.status.code(), Some(code), "{option} {place}: {said}");
        assert!(said.contains(told), "{option} {place}: {said}");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), hours);

    let short = folder.file("short.toml", FILE);
    for _ in 0..2 {
        let output = seawall_in(&folder.0, &["simulate", &short, "--html", "out.html", "--quiet"]);
        assert!(output.status.success(), "{}", text(output.stderr));
    }
    let names = std::fs::read_dir(&folder.0).expect("the folder is there");
    let mut names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["hours.toml", "out.html", "short.toml", "sub"],
        "and no part of one"
    );
    let output = seawall_in(
        &folder.0,
        &["simulate", &short, "--html", "/dev/stdout", "--quiet"],
    );
    assert!(!cfg!(unix) || text(output.stdout).starts_with("<!DOCTYPE html>"));
}

#[test]
fn the_files_that_a_scenario_names_are_not_written_over_either() {
    // Could break by a guard that knows the scenario alone, that looks for its files in the folder of the command, or that
    // forgets what a picture is called.
    let folder = Folder::new("simulate-named");
    std::fs::create_dir(folder.0.join("world")).expect("a folder");
    let named = FILE
        .replace("{ rate = 20 }", "{ trace = \"calls.svg\", format = \"jsonl\" }")
        .replace(
            "[{ at = \"2s\", for = \"1s\", how = \"503\" }]",
            "{ events = \"ups.csv\", service = \"x\", how = \"503\" }",
        );
    folder.file("world/named.toml", named);
    let calls = "{\"t\": 0}\n{\"t\": 1}\n{\"t\": 2}\n";
    let calls_file = folder.file("world/calls.svg", calls);
    let ups = "ts,service,state\n2024-10-30T00:00:00Z,x,up\n2024-10-30T00:00:02Z,x,down\n2024-10-30T00:00:03Z,x,up\n";
    let ups_file = folder.file("world/ups.csv", ups);
    for (command, option, place) in [
        ("simulate", "--html", "world/calls.svg"),
        ("simulate", "--html", "world/../world/ups.csv"),
        ("simulate", "--svg", "world"),
        ("tune", "--html", "world/ups.csv"),
        ("tune", "-o", "world/calls.svg"),
        ("tune", "--svg", "world/."),
    ] {
        let output = seawall_in(&folder.0, &[command, "world/named.toml", option, place]);
        let said = text(output.stderr);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{command} {option} {place}: {said}"
        );
        assert!(
            said.contains("the file that is read"),
            "{command} {option} {place}: {said}"
        );
    }
    let read = |file: &str| std::fs::read_to_string(file).expect("it is there");
    assert_eq!(
        (read(&calls_file), read(&ups_file)),
        (calls.to_owned(), ups.to_owned())
    );
    // A folder of its own takes them.
    let output = seawall_in(&folder.0, &["simulate", "world/named.toml", "--svg", "pictures"]);
    assert!(folder.0.join("pictures").is_dir(), "{}", text(output.stderr));
}

#[test]
fn a_count_out_of_range_is_told_the_range() {
    // Could break by the words of whoever reads numbers, "zero for non-zero type", which say nothing of what may be written.
    for (command, option, count, most) in [
        ("simulate", "--seeds", "0", "1000000"),
        ("simulate", "--seeds", "99999999999", "1000000"),
        ("simulate", "--threads", "0", "1000000"),
        ("tune", "--seeds", "0", "1000000"),
        ("tune", "--threads", "1e3", "1000000"),
        ("tune", "--budget-runs", "0", "1000000"),
        ("tune", "--seconds", "0", "18446744073"),
        ("test", "--repeat", "0", "100000"),
        ("test", "--jobs", "0", "100000"),
    ] {
        let output = seawall_in(".".as_ref(), &[command, "a.toml", option, count]);
        let said = text(output.stderr);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{command} {option} {count}: {said}"
        );
        let told = format!("write a whole number from 1 to {most}\n");
        assert!(said.contains(&told), "{command} {option} {count}: {said}");
    }
}

#[test]
fn what_no_machine_holds_is_refused_and_said() {
    // Could break by a list of runs that is made before they are counted, or by a queue that grows until the system ends
    // the program, which says nothing then.
    let folder = Folder::new("simulate-bounds");
    let file = folder.file("small.toml", FILE);
    let two = format!("{FILE}[[policy]]\nname = \"another\"\nfleet = \"one\"\n");
    let two = folder.file("two.toml", two);
    let many = ["simulate", &two, "--seeds", "1000000"];
    let search = ["tune", &file, "--seeds", "1000000"];
    let endless = ["tune", &file, "--budget-runs", "18446744073709551615"];
    let wide = FILE
        .replace("rate = 20", "rate = 20, clients = 100000000")
        .replace("fleet = \"one\"", "fleet = \"client\"");
    let wide = folder.file("wide.toml", wide);
    let wide = ["simulate", &wide];
    for (args, told) in [
        (&many[..], "runs are too many"),
        (&search, "fewer --seeds"),
        (&endless, "from 1 to 1000000"),
        (&wide, "the most of one run"),
    ] {
        let output = seawall_in(&folder.0, args);
        let said = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(
            said.contains(told) && !said.contains("panicked"),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn a_preset_has_its_published_figures_beside_ours() {
    // Could break by a preset that runs and finds nothing.
    let output = seawall_in(
        ".".as_ref(),
        &[
            "simulate",
            "--preset",
            "sharded-breaker",
            "--seeds",
            "1",
            "--json",
        ],
    );
    let document: Value = serde_json::from_str(&text(output.stdout)).expect("one JSON document");
    assert_eq!(document["preset"], "sharded-breaker");
    let claims = document["claims"].as_array().expect("claims");
    assert!(
        claims
            .iter()
            .all(|claim| claim["published"].is_number() && claim["measured"].is_number())
            && !claims.is_empty()
    );
}

#[test]
fn what_was_lived_stands_beside_what_was_simulated() {
    // Could break by a twin that meets other calls, by a column of one that is printed as the other's, or by a figure of the
    // machine where time is turned.
    let folder = Folder::new("simulate-live");
    let file = folder.file("stall.toml", FILE);
    let run = |words: &[&str]| {
        let output = seawall_in(&folder.0, &[&["simulate", &file, "--live"], words].concat());
        assert!(output.status.success(), "{}", text(output.stderr));
        (text(output.stdout), text(output.stderr))
    };
    let (first, said) = run(&["--json", "--threads", "1"]);
    assert!(said.contains("2 runs live, over real sockets"), "{said}");
    assert_eq!(run(&["--json", "--threads", "3"]).0, first);
    let document: Value = serde_json::from_str(&first).expect("one JSON document");
    let live = &document["live"];
    assert_eq!((&live["speed"], &live["runs"]), (&"turned".into(), &2.into()));
    for figure in [
        "calls",
        "attempts",
        "success_rate",
        "mean_ms",
        "p99_ms",
        "peak_per_s",
        "recovery_s",
    ] {
        assert_eq!(
            live["policies"][0][figure], document["policies"][0][figure],
            "{figure}"
        );
    }
    let verdicts = live["agreement"].as_array().expect("figures of both");
    assert!(
        verdicts.len() == 3 && verdicts.iter().all(|one| one["verdict"] == "equal"),
        "{live}"
    );
    assert_eq!(live["asserts"][0]["holds"], true);
    let (shown, _) = run(&["--html", "out.html"]);
    for told in [
        "live, over sockets: 2 runs, time passed whenever nothing could move",
        "3 of 3 figures agree",
        ", live 1.",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let page = std::fs::read_to_string(folder.0.join("out.html")).expect("the page is there");
    assert!(page.contains("<h2>Live</h2>") && page.contains("✓ equal"));
}

#[test]
fn an_assert_that_does_not_hold_live_is_a_no_as_well() {
    // Could break by a twin whose asserts are told and do not count. At this speed a microsecond of the machine's is a tenth of
    // a second, and no machine answers within ten.
    let folder = Folder::new("simulate-live-missed");
    let file = folder.file("a.toml", FILE.replace("amplification < 1.5", "mean < 1s"));
    let run = |words: &[&str]| {
        seawall_in(
            &folder.0,
            &[&["simulate", &file, "--seeds", "2", "--quiet"], words].concat(),
        )
    };
    assert_eq!(run(&[]).status.code(), Some(0));
    let output = run(&["--live", "--speed", "100000"]);
    let shown = text(output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("MISSED") && shown.contains("differs"), "{shown}");
}

#[test]
fn what_has_no_twin_is_refused_by_name_before_anything_runs() {
    // Could break by a switch that is left out without a word, or by a refusal after a run of minutes.
    let folder = Folder::new("simulate-no-twin");
    let file = folder.file("refuse.toml", FILE.replace("\"503\"", "\"refuse\""));
    for (words, told) in [
        (
            &["simulate", &file, "--live"][..],
            "outages that refuse connections",
        ),
        (
            &["simulate", "--preset", "aws-contention", "--live"],
            "optimistic lock",
        ),
        (&["simulate", "--preset", "layers", "--live"], "layers: "),
        (&["simulate", &file, "--speed", "5"], "--live"),
        (&["simulate", &file, "--live", "--speed", "fast"], "or `turned`"),
    ] {
        let output = seawall_in(&folder.0, words);
        let said = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(
            said.contains(told) && output.stdout.is_empty(),
            "{words:?}: {said}"
        );
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_twin_that_lives_for_hours_at_once() {
    // Could break by a run in real time that is waited for.
    use std::process::{Command, Stdio};
    let folder = Folder::new("simulate-live-interrupt");
    let file = folder.file(
        "long.toml",
        FILE.replace("20s", "1h").replace("rate = 20", "rate = 1"),
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_seawall"))
        .args(["simulate", &file, "--live", "--speed", "1"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let stderr = child.stderr.take().expect("it is piped");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    // It says so once it listens.
    let said = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("2 runs live")));
    said.expect("it says that it lives").expect("a line");
    crate::tell(child.id(), "INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_of_hours_at_once() {
    // Could break by a runtime that waits for its threads.
    use std::process::{Command, Stdio};
    let folder = Folder::new("simulate-interrupt");
    let file = folder.file("long.toml", FILE.replace("20s", "1000h"));
    let child = Command::new(env!("CARGO_BIN_EXE_seawall"))
        .args(["simulate", &file, "--verbose"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut child = child;
    let stderr = child.stderr.take().expect("it is piped");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    // It says so once it listens.
    let said = lines.next().expect("it says something").expect("a line");
    assert!(said.contains("4 runs") || said.contains("2 runs"), "{said}");
    crate::tell(child.id(), "INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}
