//! The fault catalogue: what each action is for and what a right client does, and from it the page that shows what a
//! raw client saw.

use super::frames::frames;
use super::seen::{GET, chat, see};
use crate::script::{Action, Script};
use expect_test::expect_file;

/// One action with one set of options.
pub(super) struct Entry {
    pub(super) script: &'static str,
    pub(super) spoken: Spoken,
    pub(super) asked: Asked,
    /// What it stands for in the world.
    purpose: &'static str,
    /// What a right client does.
    right: &'static str,
}

/// Which version of HTTP has the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    Both,
    Http1,
    Http2,
}

/// What a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// `GET /report`.
    Report,
    /// A chat, as a stream.
    Chat,
}

const fn entry(script: &'static str, purpose: &'static str, right: &'static str) -> Entry {
    Entry {
        script,
        spoken: Spoken::Both,
        asked: Asked::Report,
        purpose,
        right,
    }
}

const fn streamed(script: &'static str, purpose: &'static str, right: &'static str) -> Entry {
    Entry {
        asked: Asked::Chat,
        ..entry(script, purpose, right)
    }
}

const fn only(spoken: Spoken, entry: Entry) -> Entry {
    Entry { spoken, ..entry }
}

/// Every action, in the order of the page.
pub(super) const CATALOGUE: &[Entry] = &[
    entry(
        "503 retry-after=5",
        "An overloaded server that says when to come back. Any status from 200 to 999 goes, with headers and a body of \
         your own.",
        "waits at least as long as it was told, then tries again, within its budget and deadline (rules C2 and G1)",
    ),
    entry(
        "429 retry-after-ms=300",
        "A rate limit.",
        "waits as long as it was told, and holds its other calls to that server back as long (C6)",
    ),
    entry(
        "200 delay=2s",
        "A slow server: the answer is right, and late.",
        "waits within its own limit; a write whose limit ran out may have acted, and is repeated with its key or not at \
         all (E2)",
    ),
    entry(
        "error-in-200",
        "A proxy that answers 200 and puts the error into the body.",
        "reads the body before it calls it an answer (D)",
    ),
    entry(
        "reset",
        "A process that was killed, or a load balancer that lost its table.",
        "tries again where a repeat is safe: the request may have acted (E2)",
    ),
    entry(
        "reset after=5",
        "A server that dies while it answers.",
        "throws the part away, and tries again where a repeat is safe (E2)",
    ),
    entry(
        "close",
        "A server that closed an idle connection just as the request came, or ended without a word.",
        "tries again on a new connection where a repeat is safe; no answer proves nothing (D5, E2)",
    ),
    entry(
        "close after=5",
        "The same, in the middle of the answer.",
        "throws the part away, and tries again where a repeat is safe (E2)",
    ),
    entry(
        "hang",
        "A server that is stuck: it took the request and says nothing.",
        "has a limit for the first byte (F2); what it sent may have acted (E2)",
    ),
    entry(
        "hang after=5",
        "A server that is stuck in the middle of its answer.",
        "has a limit between two bytes as well (F2)",
    ),
    entry(
        "truncate at=50%",
        "A proxy that cuts an answer off.",
        "compares what came with what was promised; one that takes the half for the whole is the worst of all",
    ),
    entry(
        "drip bps=20",
        "A link or a server that is nearly dead: every byte comes before a limit between two bytes runs out.",
        "has a limit for the whole call, beside the one between two bytes (F1)",
    ),
    only(
        Spoken::Http1,
        entry(
            "slow-headers",
            "The same before the body: the head comes a byte at a time, ten a second.",
            "limits the time to the whole head, and the whole call (F1, F2)",
        ),
    ),
    entry(
        "garbage",
        "Something else listens there: another protocol, a wrong port.",
        "calls it a broken answer, never an empty one",
    ),
    entry(
        "wrong-length +5",
        "A server that promises more than it has.",
        "calls it cut off, as it does a truncated one",
    ),
    entry(
        "wrong-length -5",
        "A server that sends more than it promised.",
        "takes what was promised and never uses the connection again: what follows is no next answer",
    ),
    only(
        Spoken::Http1,
        entry(
            "bad-chunk",
            "A proxy that mangles chunks: after one good chunk, a length that is no number.",
            "calls it broken, though some of the body was right",
        ),
    ),
    entry(
        "half-close",
        "A server that ends its side after the head and goes on listening.",
        "sees that the body is missing, closes its own side, and tries again where a repeat is safe (E2)",
    ),
    entry(
        "bad-gzip",
        "A proxy that says gzip of what is none.",
        "calls it an undecodable body: it may have acted (D)",
    ),
    streamed(
        "stream events=2 gap=1s",
        "A model that answers event by event, in the dialect of the path. As many events as the script says, a second \
         apart.",
        "hands each event on as it comes, and takes the stream for whole only with its dialect's own end",
    ),
    streamed(
        "stream events=2 then=cut",
        "A proxy that cuts a stream: the chunked body has no last chunk.",
        "says that the answer is cut; what it has handed on cannot be taken back, so it does not begin again by itself",
    ),
    streamed(
        "stream events=2 then=error",
        "A provider that fails in the middle: an error as an event, in an answer that is a 200.",
        "reads every event for an error, and says that the answer is cut",
    ),
    streamed(
        "stream events=2 then=stall",
        "A provider that is stuck in the middle: the connection lives, and nothing comes.",
        "has a limit between two events (F2)",
    ),
    streamed(
        "stream events=2 then=bad-json",
        "A proxy that mangles an event.",
        "says so; it never skips what it cannot read",
    ),
    streamed(
        "stream events=2 then=no-done",
        "A provider whose process ended in the middle, behind a proxy that closes the body as if it were whole.",
        "misses the dialect's end (here `data: [DONE]`) and says that the answer is cut",
    ),
    only(
        Spoken::Http2,
        entry(
            "goaway",
            "A server that is about to restart: GOAWAY leaves the request out.",
            "sends it again on a new connection, a write too: the server says that it was not looked at (D)",
        ),
    ),
    only(
        Spoken::Http2,
        entry(
            "rst-stream error=refused-stream",
            "A server that has too much to do: the stream is refused before anything was done.",
            "sends it again, a write too (D)",
        ),
    ),
    only(
        Spoken::Http2,
        entry(
            "rst-stream",
            "A handler that died: RST_STREAM, `internal-error`. Other streams of the connection go on.",
            "tries again where a repeat is safe: the request may have acted (E2)",
        ),
    ),
    only(
        Spoken::Http2,
        entry(
            "rst-stream after=5",
            "The same in the middle of the answer.",
            "throws the part away, and tries again where a repeat is safe (E2)",
        ),
    ),
];

/// Actions without an entry, and why.
const ELSEWHERE: [(&str, &str); 1] = [("apply", "on the wire it is the action that it holds")];
/// The longest line of the page's bytes, in characters, and how much of its end is shown.
const LINE_CHARS_MAX: usize = 100;
const LINE_END_CHARS: usize = 24;

/// What each client made of each entry, as `clients` saw it.
fn seen_by_clients() -> Vec<Vec<&'static str>> {
    let lines = include_str!("clients/seen.txt").lines().skip(1);
    lines.map(|line| line.split(" | ").collect()).collect()
}

fn row_of(script: &str) -> Vec<&'static str> {
    let rows = seen_by_clients();
    let row = rows.into_iter().find(|row| row[0] == script);
    row.unwrap_or_else(|| panic!("run `UPDATE_EXPECT=1 cargo test` twice: no client has met `{script}`"))
}

/// The same with the middle of long lines left out.
fn abridged(wire: &str) -> String {
    let lines = wire.lines().map(|line| {
        // What a socket saw is escaped, so every character is a byte.
        match line.len() > LINE_CHARS_MAX {
            true => {
                let (begin, end) = (LINE_CHARS_MAX - LINE_END_CHARS, line.len() - LINE_END_CHARS);
                format!("{} ... {}\n", &line[..begin], &line[end..])
            }
            false => format!("{line}\n"),
        }
    });
    lines.collect()
}

#[test]
fn every_action_is_in_the_catalogue() {
    // Could break with the next action: a fault without a proof on the wire.
    let error = Action::parse("?").expect_err("no action").to_string();
    let (_, known) = error.split_once("one of ").expect("it lists what it knows");
    for name in known.split(", ").map(str::trim) {
        let in_catalogue = |entry: &&Entry| entry.script.split(' ').next() == Some(name);
        let elsewhere = ELSEWHERE.iter().any(|(other, _)| *other == name);
        assert!(
            CATALOGUE.iter().any(|entry| in_catalogue(&entry)) || elsewhere,
            "`{name}` has no entry"
        );
    }
    for entry in CATALOGUE {
        assert!(Script::parse(entry.script).is_ok(), "{}", entry.script);
    }
}

#[tokio::test]
async fn the_page_shows_what_a_raw_client_saw() {
    // Could break if the page were written by hand: it would show what was meant, not what is sent.
    let mut overview = String::new();
    let mut sections = String::new();
    for entry in CATALOGUE {
        let script = entry.script;
        let anchor: String = script
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == ' ')
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        sections += &format!("\n## `{script}`\n\n{}\n", entry.purpose);
        if entry.spoken != Spoken::Http2 {
            overview += &format!(
                "| [`{script}`](#{anchor}) | {} |\n",
                row_of(script)[1..].join(" | ")
            );
            let request = match entry.asked {
                Asked::Report => GET.to_owned(),
                Asked::Chat => chat(),
            };
            let seen = see(script, &request, 1).await;
            sections += &format!("\n```text\n{}```\n", abridged(&seen.wire()));
        }
        if entry.spoken != Spoken::Http1 {
            sections += &format!("\nOver HTTP/2: {}.\n", frames(script).await);
        }
        sections += &format!("\nA right client {}.\n", entry.right);
    }
    let page = format!("{HEAD}{overview}{sections}");
    expect_file!["../../../../../../docs/reference/faults.md"].assert_eq(&page);
}

const HEAD: &str = "\
# Faults

<!-- Made from what a raw client saw. After a change: `UPDATE_EXPECT=1 cargo test -p seawall-lab --features net faults`,
twice. -->

What each action of a [script](script-grammar.md) is on the wire of HTTP/1.1. A plain socket sends `GET /report`, or for
streams a chat as OpenAI's, and reads to the end; every byte below came in a test (of long lines the middle is left out
here). Times are the mock's, to the millisecond: the test turns that clock by hand.

*FIN* is an orderly end of the server's side, *RST* an error to the client (`ECONNRESET`). *Silence* is no byte and no end until
the client leaves. Where the connection goes on, the next request on it is answered. A fault that has a head names itself
there (`x-seawall-fault`), and the mock's journal names each. With `after=` and `at=` in bytes, a body that is too short is
padded with spaces. `apply then ACTION` is on the wire what ACTION is; the work is done before.

*Over HTTP/2* are the frames that come on the stream, for `GET /report` always, and what becomes of stream and connection. A
fault that takes the connection takes every stream on it. The last four actions are of HTTP/2 alone.

## What clients make of them

A number under curl is its exit code. A status with a size is an answer that the client took for whole: look where that
is wrong. What is silent (`hang`, `stall`) ended by a limit that the client was given; without one, curl and Python wait for
ever. Names under Python and Node are those of the exception or of its code.

| script | curl 7.88 | Python 3.11 `http.client` | Node 20 `http` | Node 20 `fetch` |
|---|---|---|---|---|
";
