//! The fault catalogue: what each action is for and what a right client does, and from it the page that shows what a
//! raw client saw.

use super::seen::{GET, see};
use crate::script::{Action, Script};
use expect_test::expect_file;

/// One action with one set of options.
pub(super) struct Entry {
    pub(super) script: &'static str,
    /// What it stands for in the world.
    purpose: &'static str,
    /// What a right client does.
    right: &'static str,
}

const fn entry(script: &'static str, purpose: &'static str, right: &'static str) -> Entry {
    Entry {
        script,
        purpose,
        right,
    }
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
    entry(
        "slow-headers",
        "The same before the body: the head comes a byte at a time, ten a second.",
        "limits the time to the whole head, and the whole call (F1, F2)",
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
    entry(
        "bad-chunk",
        "A proxy that mangles chunks: after one good chunk, a length that is no number.",
        "calls it broken, though some of the body was right",
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
];

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

#[test]
fn every_action_that_is_served_is_in_the_catalogue() {
    // Could break with the next action: a fault without a proof on the wire.
    let error = Action::parse("?").expect_err("no action").to_string();
    let (_, known) = error.split_once("one of ").expect("it lists what it knows");
    for name in known.split(", ").map(str::trim) {
        let in_catalogue = |entry: &&Entry| entry.script.split(' ').next() == Some(name);
        if CATALOGUE.iter().find(in_catalogue).is_some() {
            continue;
        }
        let served = ["", " then 200", " then reset"]
            .iter()
            .any(|rest| crate::plan::Rule::parse(&format!("GET /x = {name}{rest}")).is_ok());
        assert!(!served, "`{name}` is served and has no entry");
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
        let seen = see(entry.script, GET, 1).await;
        let clients = row_of(entry.script);
        let script = entry.script;
        let anchor: String = script
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == ' ')
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        overview += &format!("| [`{script}`](#{anchor}) | {} |\n", clients[1..].join(" | "));
        sections += &format!(
            "\n## `{script}`\n\n{}\n\n```text\n{}```\n\nA right client {}.\n",
            entry.purpose,
            seen.wire(),
            entry.right
        );
    }
    let page = format!("{HEAD}{overview}{sections}");
    expect_file!["../../../../../../docs/reference/faults.md"].assert_eq(&page);
}

const HEAD: &str = "\
# Faults

<!-- Made from what a raw client saw. After a change: `UPDATE_EXPECT=1 cargo test -p seawall-lab --features net faults`,
twice. -->

What each action of a [script](script-grammar.md) is on the wire of HTTP/1.1. A plain socket sends `GET /report` and reads to
the end; every byte below came in a test. Times are the mock's, to the millisecond: the test turns that clock by hand.

*FIN* is an orderly end of the server's side, *RST* an error to the client (`ECONNRESET`). *Silence* is no byte and no end until
the client leaves. Where the connection goes on, the next request on it is answered. A fault that has a head names itself
there (`x-seawall-fault`), and the mock's journal names each. With `after=` and `at=` in bytes, a body that is too short is
padded with spaces.

## What clients make of them

A number under curl is its exit code. A status with a size is an answer that the client took for whole: look where that
is wrong. The two hangs ended by a limit that the client was given; without one, curl and Python wait for ever.

| script | curl 7.88 | Python 3.11 `http.client` | Node 20 `http` | Node 20 `fetch` |
|---|---|---|---|---|
";
