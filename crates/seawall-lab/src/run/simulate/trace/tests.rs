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
    let plain = "\u{feff}{\"t\": 2.5, \"out\": 3}\r\n{\"t\": 1.0, \"in\": 9, \"took\": null}\r\n";
    let gateway = "{\"at\":\"2026-11-30T20:00:01.5Z\",\"status\":503,\"reason\":\"budget-empty\"}\n\
                   {\"at\":\"2026-11-30T21:00:00+01:00\",\"upstream\":\"main\",\"tokens_in\":20,\"tokens_out\":7,\"total_ms\":812.5}\n";
    for (form, text, expected) in [
        (Form::Gateway, gateway, vec![call(0, 20, 7), call(1_500, 0, 0)]),
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
            Form::Azure,
            "TIMESTAMP,ContextTokens,GeneratedTokens,TIMESTAMP\n2023-11-16 18:15:46,1,1,2023-11-17 18:15:46\n".to_owned(),
            ":1: the first line names the column `TIMESTAMP` twice; keep the one that is meant",
        ),
        (
            Form::BurstGpt,
            "Timestamp,Elapsed time,Elapsed time,Request tokens,Response tokens\n1,1,2,3,4\n".to_owned(),
            ":1: the first line names the column `Elapsed time` twice",
        ),
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
        (
            Form::Gateway,
            "{\"at\": \"2026-11-30T20:00:01Z\"}\n{\"at\": \"then\"}".to_owned(),
            ":2: `then` is no time",
        ),
        (Form::Gateway, "{\"t\": 1}".to_owned(), ":1: missing field `at`"),
        (
            Form::Gateway,
            "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326".to_owned(),
            ":1: ",
        ),
        (Form::Jsonl, "{\"t\": 1}\nt = 2".to_owned(), ":2: expected"),
        (Form::Jsonl, "[1, 2, 3, 4]".to_owned(), ":1: expected an object"),
        (Form::Mooncake, "[1, 2, 3]".to_owned(), ":1: expected an object"),
        (Form::Jsonl, "{\"t\": 1e300}".to_owned(), "is no time"),
        (
            Form::Jsonl,
            "{\"t\": 1}\n{\"t\": 2, \"inn\": 9}".to_owned(),
            ":2: unknown field `inn`, expected one of `t`, `in`",
        ),
        (
            Form::Gateway,
            "{\"at\":\"2026-11-30T20:00:01Z\",\"token_in\":9}".to_owned(),
            "`token_in` is nearly `tokens_in`",
        ),
    ] {
        let why = Written::new("wrong", &text).read(form).expect_err(&text);
        assert!(why.contains(told), "{text}: {why}");
    }
    let why = read(Path::new("/nowhere/at/all.csv"), Form::Azure).expect_err("no such file");
    assert!(why.starts_with("/nowhere/at/all.csv: "), "{why}");
}

#[test]
fn a_trace_that_is_still_packed_says_how_to_unpack_it() {
    // Could break by bytes that are called no text, which says nothing to who has just fetched them.
    let path = std::env::temp_dir().join(format!("seawall-trace-{}-packed.csv.gz", std::process::id()));
    std::fs::write(&path, [0x1f, 0x8b, 0x08, 0x00, 0xff, b'\n', 0xfe]).expect("a file");
    let packed = Written(path);
    for form in Form::ALL {
        let why = packed.read(form).expect_err("no text");
        assert!(
            why.ends_with(": this is gzip, and no text yet; unpack it first, with gunzip"),
            "{why}"
        );
    }
}

#[test]
fn a_window_keeps_what_is_in_it_and_counts_from_its_beginning() {
    // Could break by an end that is in, or by times of the whole trace.
    let calls = [call(0, 1, 1), call(1_000, 2, 2), call(2_000, 3, 3)];
    let window = Duration::from_millis(500)..Duration::from_millis(2_000);
    assert_eq!(cut(&calls, Some(window)), [call(500, 2, 2)]);
    assert_eq!(cut(&calls, None), calls);
}

#[test]
fn how_long_answers_took_and_which_calls_had_none_is_known_where_it_was_recorded() {
    // Could break by a column that only later releases have, by a unit, or by a call of no answer whose time is fitted.
    let head = "Timestamp,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
    let burst = format!("{head}5,1.5,x,472,18,490,y\n9,60,x,1087,0,1087,y\n");
    let timed = |tokens_in, tokens_out, ms| Timed {
        tokens_in,
        tokens_out,
        took: Duration::from_millis(ms),
    };
    let reading = Written::new("elapsed", &burst)
        .read(Form::BurstGpt)
        .expect("right");
    assert_eq!(reading.timed, [timed(472, 18, 1_500)]);
    assert_eq!(reading.failed, Some(1));
    let first = burst
        .replace(",Elapsed time", "")
        .replace(",1.5", "")
        .replace(",60", "");
    let reading = Written::new("bare", &first).read(Form::BurstGpt).expect("right");
    assert_eq!((reading.timed, reading.failed), (Vec::new(), Some(1)));
    let plain = "{\"t\": 1, \"in\": 3, \"out\": 4, \"took\": 0.25}\n{\"t\": 2}\n";
    let reading = Written::new("took", plain).read(Form::Jsonl).expect("right");
    assert_eq!((reading.timed, reading.failed), (vec![timed(3, 4, 250)], None));
    let wrong = burst.replace(",1.5,", ",soon,");
    let why = Written::new("soon", &wrong)
        .read(Form::BurstGpt)
        .expect_err("no time");
    assert!(why.ends_with(":2: `soon` is no length of time"), "{why}");
}

/// A line of the answers of a batch.
fn answered(created: &str, usage: &str, extras: &str) -> String {
    format!(
        "{{\"id\":\"batch_req_1\",\"custom_id\":\"a\",\"response\":{{\"status_code\":200,\"request_id\":null,\"body\":{{{created}\"usage\":{{{usage}}}}}}},\"error\":null{extras}}}\n"
    )
}

#[test]
fn answers_of_a_batch_come_when_they_say_that_they_were_made() {
    // Could break by calls of one second that come all at once, by the tokens of another provider, or by an order.
    let openai = "\"prompt_tokens\":9,\"completion_tokens\":4";
    let extras = ",\"seawall\":{\"attempts\":1,\"reason\":\"succeeded\",\"first_byte_ms\":5,\"total_ms\":700,\"cost_usd\":null}";
    let text = [
        answered("\"created\":102,", openai, ""),
        answered("\"created\":100,", openai, extras),
        answered(
            "\"created_at\":100,",
            "\"input_tokens\":5,\"output_tokens\":6",
            "",
        ),
    ]
    .concat();
    let reading = Written::new("batch", &text).read(Form::Batch).expect("right");
    assert_eq!(reading.calls, [call(0, 9, 4), call(500, 5, 6), call(2_000, 9, 4)]);
    let took: Vec<Duration> = reading.timed.iter().map(|timed| timed.took).collect();
    assert_eq!(took, [Duration::from_millis(700)]);
}

#[test]
fn a_batch_without_times_says_what_it_lacks_and_what_it_is_good_for() {
    // Could break by calls that all come at once, as if that had been recorded.
    let anthropic = answered("", "\"input_tokens\":50,\"output_tokens\":60", "");
    let same = answered(
        "\"created\":100,",
        "\"prompt_tokens\":9,\"completion_tokens\":4",
        "",
    );
    let failed =
        "{\"custom_id\":\"a\",\"response\":null,\"error\":{\"code\":\"attempts-spent\"}}\n".to_owned();
    for (text, told) in [
        (
            format!("{anthropic}{anthropic}"),
            ":1: this answer does not say when it was made (`response.body.created`), and a batch's files hold no other time; \
             their tokens can be had with a rate of your own: tokens = { input = { p50 = 50, p99 = 50 }, output = { p50 = 60, \
             p99 = 60 } }",
        ),
        (format!("{same}{anthropic}"), ":2: this answer does not say when"),
        (
            format!("{same}{same}"),
            ": all answers say that they were made in one second",
        ),
        (failed, ":1: this row has no answer; a load is made of OUT.jsonl"),
        ("{\"id\":1}".to_owned(), ":1: missing field `custom_id`"),
    ] {
        let why = Written::new("timeless", &text)
            .read(Form::Batch)
            .expect_err(&text);
        assert!(why.contains(told), "{why}");
    }
    let why = read(&std::env::temp_dir(), Form::Batch).expect_err("a folder");
    assert!(
        why.contains("is a folder; the answers of a batch are in the file beside it"),
        "{why}"
    );
}
