//! `seawall tune`, as users run it.

use crate::{Folder, seawall_in, text};
use serde_json::Value;

/// Half a minute of a server that is down for three seconds, which one retry does not outlast.
const FILE: &str = r#"
horizon = "30s"
seeds = 2
load = { rate = 20, clients = 4 }
assert = ["amplification < 1.3"]
[server]
capacity = 30
orphans = "worked"
outages = [{ at = "5s", for = "3s", how = "503" }]
[[policy]]
name = "ours"
fleet = "one"
retries = 1
deadline = "15s"
[[policy]]
name = "at once"
naive = "immediate"
retries = 3
fleet = "one"
deadline = "15s"
timeouts = { first_byte = "1s" }
"#;

fn document(output: std::process::Output) -> Value {
    serde_json::from_str(&text(output.stdout)).expect("one JSON document")
}

#[test]
fn one_seed_finds_the_same_bytes_on_any_number_of_threads() {
    // Could break by results that are told as they are ready, by a seed that is not told on, or by a time in the report.
    let folder = Folder::new("tune-bytes");
    let file = folder.file("stall.toml", FILE);
    let run = |threads: &str, seed: &str| {
        let words = [
            "tune",
            &file,
            "--json",
            "--budget-runs",
            "60",
            "--threads",
            threads,
            "--seed",
            seed,
        ];
        let output = seawall_in(&folder.0, &words);
        assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
        text(output.stdout)
    };
    let first = run("1", "7");
    assert_eq!(run("3", "7"), first);
    assert_ne!(run("3", "8"), first);
}

#[test]
fn the_document_has_what_other_programs_read() {
    // Could break by a name that is changed, or by a figure that is left out where there is none.
    let folder = Folder::new("tune-json");
    let file = folder.file("stall.toml", FILE);
    let words = ["tune", &file, "--json", "--budget-runs", "60", "--quiet"];
    let output = seawall_in(&folder.0, &words);
    assert!(output.stderr.is_empty(), "{}", text(output.stderr));
    let found = document(output);
    let keys = |value: &Value| {
        let mut keys: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
        keys.sort_unstable();
        keys.join(" ")
    };
    assert_eq!(
        keys(&found),
        "candidates complete constraints front given name notes precheck proof rounds runs seed seeds stability winner"
    );
    assert_eq!(
        keys(&found["winner"]),
        "amplification answered_99_ms breaks ci cost_usd held_out name p99_ms p_collapse recovery_s seeds success_rate \
         toml unmet"
    );
    assert_eq!(found["winner"], found["front"][0]);
    assert_eq!(
        keys(&found["winner"]["held_out"]),
        "amplification answered_99_ms ci cost_usd p99_ms p_collapse recovery_s seeds success_rate unmet"
    );
    assert_eq!(
        keys(&found["constraints"][0]),
        "binds name refused set_aside text"
    );
    assert_eq!((&found["name"], &found["seeds"]), (&"stall".into(), &2.into()));
    assert_eq!(
        (&found["proof"]["seed"], &found["proof"]["seeds"]),
        (&2.into(), &2.into())
    );
    assert_eq!(found["constraints"][2]["name"], "amplification < 1.3");
    assert_eq!(
        found["given"][1]["breaks"][0], "headroom",
        "closed forms know the naive one"
    );
    assert!(found["runs"].as_u64().is_some_and(|runs| runs <= 60));
}

#[test]
fn the_one_is_a_file_that_is_right_and_does_what_was_told() {
    // Could break by a setting that the table leaves out: what users paste would be another policy than the one that ran.
    let folder = Folder::new("tune-pasted");
    let file = folder.file("stall.toml", FILE);
    let words = [
        "tune",
        &file,
        "--json",
        "--budget-runs",
        "60",
        "-o",
        "policy.toml",
    ];
    let found = document(seawall_in(&folder.0, &words));
    let checked = seawall_in(&folder.0, &["check", "policy.toml"]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(checked.stderr));

    let written = std::fs::read_to_string(folder.0.join("policy.toml")).expect("it is written");
    let (world, _) = FILE.split_once("[[policy]]").expect("it has policies");
    let pasted = written.replacen("[policy]", "[[policy]]\nname = \"found\"\nfleet = \"one\"", 1);
    let pasted = folder.file("pasted.toml", format!("{world}{pasted}"));
    for (from, told) in [(0, &found["winner"]), (2, &found["winner"]["held_out"])] {
        let seed = from.to_string();
        let simulated = document(seawall_in(
            &folder.0,
            &["simulate", &pasted, "--json", "--seed", &seed],
        ));
        let simulated = &simulated["policies"][0];
        for figure in [
            "success_rate",
            "amplification",
            "p99_ms",
            "recovery_s",
            "p_collapse",
            "cost_usd",
            "ci",
        ] {
            assert_eq!(simulated[figure], told[figure], "{figure} from seed {from}");
        }
    }
}

#[test]
fn what_it_prints_ends_with_the_table_that_is_pasted() {
    // Could break by a report whose last lines are something else, or by an unreadable one.
    let folder = Folder::new("tune-text");
    let file = folder.file("stall.toml", FILE);
    let output = seawall_in(&folder.0, &["tune", &file, "--budget-runs", "60"]);
    let said = text(output.stdout);
    for line in [
        "stall: ",
        "answered",
        "recovery",
        "with 2 seeds from 2, which nothing was chosen by",
        "beside ours, seed by seed: answered ",
        "headroom: an overload that has begun ends by itself; kept out ",
        "amplification < 1.3: an assert of the file; kept out ",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let (_, table) = said.split_once("\n[policy]\n").expect("a table");
    folder.file("policy.toml", format!("[policy]\n{table}"));
    let checked = seawall_in(&folder.0, &["check", "policy.toml"]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(checked.stderr));
}

#[test]
fn a_page_and_a_picture_are_written_where_it_was_asked() {
    // Could break by a page without the picture, or by a folder that has to be there.
    let folder = Folder::new("tune-pictures");
    let file = folder.file("stall.toml", FILE);
    let output = seawall_in(
        &folder.0,
        &[
            "tune",
            &file,
            "--budget-runs",
            "60",
            "--html",
            "front.html",
            "--svg",
            "a/b",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
    let page = std::fs::read_to_string(folder.0.join("front.html")).expect("the page is there");
    assert!(page.contains("<svg") && page.contains("[policy]") && page.contains("--budget-runs 60 --seed 0"));
    let picture = std::fs::read_to_string(folder.0.join("a/b/front.svg")).expect("the picture is there");
    assert!(picture.starts_with("<svg") && picture.contains("ours"));

    // What cannot be written is told before minutes are spent on it, and never over what is read.
    for (words, code, told) in [
        (
            ["--html", "no/such/front.html"],
            74,
            "name a place in a folder that is there",
        ),
        (
            ["-o", "no/such/policy.toml"],
            74,
            "name a place in a folder that is there",
        ),
        (
            ["--svg", "front.html/pictures"],
            74,
            "name a place in a folder that is there",
        ),
        (["--html", "stall.toml"], 2, "this is the file that is read"),
    ] {
        let words = [&["tune", "stall.toml", "--budget-runs", "1000000"][..], &words].concat();
        let output = seawall_in(&folder.0, &words);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        assert!(
            output.stdout.is_empty() && text(output.stderr).contains(told),
            "{words:?}"
        );
    }
}

#[test]
fn the_exit_code_says_whether_there_is_one() {
    // Could break by a search that found nothing and calls that success, or by a wrong file that counts as a miss.
    let folder = Folder::new("tune-exits");
    for (file, code) in [
        (FILE.replace("amplification < 1.3", "amplification < 0.01"), 1),
        (FILE.replace("amplification < 1.3", "amplifcation < 1.3"), 2),
    ] {
        let file = folder.file("a.toml", file);
        let words = ["tune", &file, "--budget-runs", "30", "-o", "none.toml"];
        let output = seawall_in(&folder.0, &words);
        assert_eq!(output.status.code(), Some(code), "{}", text(output.stderr));
        match code {
            2 => assert!(
                text(output.stderr).contains("did you mean `amplification`?") && output.stdout.is_empty()
            ),
            _ => {
                assert!(text(output.stdout).contains("no winner: no policy that ran meets every constraint"))
            }
        }
        assert!(!folder.0.join("none.toml").exists(), "there is nothing to write");
    }
    folder.file("a.toml", FILE);
    for words in [
        &["tune"][..],
        &["tune", "no.toml"],
        &["tune", "."],
        &["tune", "a.toml", "--seeds", "0"],
        &["tune", "a.toml", "--budget-runs", "0"],
        &["tune", "a.toml", "--prefer", "beauty"],
        &["tune", "a.toml", "--seconds", "-1"],
        &["tune", "a.toml", "--threads", "0"],
    ] {
        let output = seawall_in(&folder.0, words);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{words:?}: {}",
            text(output.stderr)
        );
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn what_is_preferred_is_the_best_of_its_front() {
    // Could break by an option that is read and decides nothing.
    let folder = Folder::new("tune-prefer");
    let file = folder.file("stall.toml", FILE);
    for (figure, key) in [("success", "success_rate"), ("amplification", "amplification")] {
        let words = ["tune", &file, "--json", "--budget-runs", "60", "--prefer", figure];
        let found = document(seawall_in(&folder.0, &words));
        let of = |row: &Value| row[key].as_f64().expect("a figure");
        let won = of(&found["winner"]);
        for row in found["front"].as_array().expect("a front") {
            if row["unmet"].as_array().is_some_and(Vec::is_empty) {
                // To what matters: a thousandth of the calls, a hundredth of an attempt.
                match figure {
                    "success" => assert!(of(row) <= won + 0.001, "{row}"),
                    _ => assert!(of(row).max(1.0) >= won.max(1.0) - 0.01, "{row}"),
                }
            }
        }
    }
}

#[test]
fn what_is_preferred_is_measured_in_this_file() {
    // Could break by a wish that decides nothing: all are alike in a figure that none of them has.
    let folder = Folder::new("tune-unmeasured");
    folder.file("stall.toml", FILE);
    let calm = FILE.replace("outages = [{ at = \"5s\", for = \"3s\", how = \"503\" }]\n", "");
    assert_ne!(calm, FILE);
    folder.file("calm.toml", calm);
    folder.file("late.toml", FILE.replace("at = \"5s\"", "at = \"26s\""));
    for (file, figure, told) in [
        (
            "calm.toml",
            "recovery",
            "error: --prefer recovery: no given outage ends here: nothing recovers; expected outages = [",
        ),
        (
            "late.toml",
            "recovery",
            "error: --prefer recovery: the last outage ends at 29s, and a recovery is seen in ",
        ),
        (
            "stall.toml",
            "cost",
            "error: --prefer cost: nothing that a call does has a price here, so that this cost is always 0; expected price",
        ),
    ] {
        let words = ["tune", file, "--budget-runs", "1000000", "--prefer", figure];
        let output = seawall_in(&folder.0, &words);
        let said = text(output.stderr);
        assert_eq!(output.status.code(), Some(2), "{file}: {said}");
        assert!(
            output.stdout.is_empty() && said.starts_with(told),
            "{file}: {said}"
        );
    }
}

#[test]
fn no_output_is_written_over_another() {
    // Could break by a second name of one file, also of one that is not there yet, or by a picture that is called like a page.
    let folder = Folder::new("tune-outputs");
    folder.file("stall.toml", FILE);
    std::fs::create_dir(folder.0.join("a")).expect("a folder");
    for (words, told) in [
        (
            ["--html", "same.out", "-o", "a/../same.out"],
            "-o a/../same.out: this is the file of --html, too; name another one",
        ),
        (
            ["--html", "a/front.svg", "--svg", "a"],
            "--svg a: a picture there may be a/front.svg, the file of --html; name another folder",
        ),
        (
            ["-o", "b", "--svg", "b"],
            "--svg b: this is the file of -o, too; name another folder",
        ),
    ] {
        let words = [&["tune", "stall.toml", "--budget-runs", "1000000"][..], &words].concat();
        let output = seawall_in(&folder.0, &words);
        let said = text(output.stderr);
        assert_eq!(
            (output.status.code(), said),
            (Some(2), format!("error: {told}\n")),
            "{words:?}"
        );
    }
    if cfg!(unix) {
        // What is no file takes both.
        let words = [
            "tune",
            "stall.toml",
            "--budget-runs",
            "60",
            "--html",
            "/dev/null",
            "-o",
            "/dev/null",
        ];
        let output = seawall_in(&folder.0, &words);
        assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_the_best_so_far() {
    // Could break by a search that waits for runs of hours, or by one that ends with nothing.
    use std::process::{Command, Stdio};
    let folder = Folder::new("tune-interrupt");
    let file = folder.file("long.toml", FILE.replace("30s", "1000h"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_seawall"))
        .args(["tune", &file, "--json", "--verbose"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stderr = child.stderr.take().expect("it is piped");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    // It says so once it listens.
    let said = lines.next().expect("it says something").expect("a line");
    assert!(said.contains("up to 2000 runs"), "{said}");
    crate::tell(child.id(), "INT");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let found = document(output);
    assert_eq!(
        (&found["complete"], &found["winner"]),
        (&false.into(), &Value::Null)
    );
}
