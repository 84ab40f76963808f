use super::*;
use std::path::PathBuf;

/// A file of its own for one test, gone at its end.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("seawall-trace-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("a file");
        Self(path)
    }

    fn read(&self, form: Form) -> Result<Reading, String> {
        read(&self.0, form)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // One that is left behind harms nobody.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn call(ms: u64, tokens_in: u32, tokens_out: u32) -> Arrival {
    Arrival {
        at: Instant::START.after(Duration::from_millis(ms)),
        tokens_in,
        tokens_out,
    }
}

#[test]
fn each_writers_calls_are_read_as_meant() {
    // Could break by a column that is taken by its place, a unit, or a date.
    let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n\
                 2023-11-16 18:15:50.6805900,396,109\n";
    let burst = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
                 5,a,1.5,\"GPT-4, old\",472,18,490,API log\n9,b,2,ChatGPT,1087,0,1087,API log\n";
    let mooncake = "{\"timestamp\": 100, \"input_length\": 7, \"output_length\": 6, \"hash_ids\": [0]}\n\n\
                    {\"timestamp\": 140, \"input_length\": 8, \"output_length\": 4, \"hash_ids\": []}\n";
    let plain = "\u{feff}{\"t\": 2.5, \"out\": 3}\r\n{\"t\": 1.0, \"in\": 9, \"who\": \"x\"}\r\n";
    for (form, text, expected) in [
        (Form::Azure, azure, vec![call(0, 374, 44), call(4_000, 396, 109)]),
        (
            Form::BurstGpt,
            burst,
            vec![call(0, 472, 18), call(4_000, 1_087, 0)],
        ),
        (Form::Mooncake, mooncake, vec![call(0, 7, 6), call(40, 8, 4)]),
        (Form::Jsonl, plain, vec![call(0, 9, 0), call(1_500, 0, 3)]),
    ] {
        let file = Written::new(form.name(), text);
        let reading = file.read(form).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(reading.calls, expected, "{}", form.name());
    }
}

#[test]
fn a_row_that_cannot_be_read_is_told_with_its_line_and_never_passed_over() {
    // Could break by a row that is skipped: the load would be lighter than what was recorded.
    let head = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    for (form, text, told) in [
        (
            Form::Azure,
            format!("{head}2023-11-16 18:15:46,1"),
            ":2: this row has 2 cells, and column 3 is missing",
        ),
        (
            Form::Azure,
            format!("{head}yesterday,1,1"),
            ":2: `yesterday` is no time",
        ),
        (
            Form::Azure,
            format!("{head}2023-13-16 18:15:46,1,1"),
            "is no time",
        ),
        (
            Form::Azure,
            format!("{head}2023-11-16 18:15:46,-1,1"),
            "`-1` is no number of tokens",
        ),
        (
            Form::Azure,
            format!("{head}2023-11-16 18:15:46,1.5,1"),
            "`1.5` is no number of tokens",
        ),
        (Form::Azure, head.to_owned(), "no call is in this trace"),
        (
            Form::BurstGpt,
            head.to_owned(),
            ":1: the first line names no column `Timestamp`, so this is no burstgpt trace",
        ),
        (
            Form::Mooncake,
            "{\"timestamp\": 1}".to_owned(),
            ":1: missing field `input_length`",
        ),
        (Form::Jsonl, "{\"t\": 1}\nt = 2".to_owned(), ":2: expected"),
        (Form::Jsonl, "{\"t\": 1e300}".to_owned(), "is no time"),
    ] {
        let why = Written::new("wrong", &text).read(form).expect_err(&text);
        assert!(why.contains(told), "{text}: {why}");
    }
    let why = read(Path::new("/nowhere/at/all.csv"), Form::Azure).expect_err("no such file");
    assert!(why.starts_with("/nowhere/at/all.csv: "), "{why}");
}

#[test]
fn a_window_keeps_what_is_in_it_and_counts_from_its_beginning() {
    // Could break by an end that is in, or by times of the whole trace.
    let calls = [call(0, 1, 1), call(1_000, 2, 2), call(2_000, 3, 3)];
    let window = Duration::from_millis(500)..Duration::from_millis(2_000);
    assert_eq!(cut(&calls, Some(window)), [call(500, 2, 2)]);
    assert_eq!(cut(&calls, None), calls);
}
