//! `seawall check --keys`, against a mock that takes a key, refuses it, or says nothing.

use crate::mock::Running;
use crate::{Folder, seawall_in, text};
use serde_json::Value;
use std::process::{Command, Output};

/// No server may see it but its own, and nobody may print it.
const SECRET: &str = "sk-do-not-print-0123456789";

fn upstream(name: &str, url: &str, rest: &str) -> String {
    format!("[[upstream]]\nname = \"{name}\"\nbase_url = \"{url}\"\n{rest}\n")
}

fn check(folder: &Folder, file: &str, more: &[&str]) -> Output {
    let path = folder.file("seawall.toml", file);
    Command::new(env!("CARGO_BIN_EXE_seawall"))
        .args(["check", &path, "--keys"])
        .args(more)
        .current_dir(&folder.0)
        .env("SEAWALL_TEST_KEY", SECRET)
        .env("SEAWALL_TEST_EMPTY", " ")
        .env_remove("SEAWALL_TEST_GONE")
        .output()
        .expect("the program starts")
}

/// What came of a key: upstream, state, status.
type Tried = (String, String, Option<u64>);

/// The exit code, and what came of each key.
fn tried(output: Output) -> (Option<i32>, Vec<Tried>) {
    let (said, errors) = (text(output.stdout), text(output.stderr));
    assert!(
        !said.contains(SECRET) && !errors.contains(SECRET),
        "{said}{errors}"
    );
    let document: Value =
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}{errors}"));
    let keys = document["keys"].as_array().expect("they were tried");
    let each = keys.iter().map(|key| {
        let word = |name: &str| key[name].as_str().expect(name).to_owned();
        (word("upstream"), word("state"), key["status"].as_u64())
    });
    (output.status.code(), each.collect())
}

const KEY: &str = "provider = \"openai\"\ncredential = { env = \"SEAWALL_TEST_KEY\" }";

#[test]
fn a_key_is_accepted_refused_or_unclear_by_what_the_server_says() {
    // A refused key that passes is found by the first customer; one that is unclear and passes, too.
    let folder = Folder::new("keys");
    let mock = Running::start(&[
        "--route",
        "GET /yes/v1/models = 200",
        "--route",
        "GET /no/v1/models = 401",
        "--route",
        "GET /never/v1/models = 403",
        "--route",
        "GET /gone/v1/models = 404",
        "--route",
        "GET /ill/v1/models = 503",
        "--route",
        "GET /hung/v1/models = hang",
        "--route",
        "GET /cut/v1/models = reset",
    ]);
    let at = |place: &str| format!("{}/{place}/v1", mock.url());
    let one = |place: &str| {
        // Only the one that hangs needs a short limit; a loaded machine gets time for the others.
        let limit = if place == "hung" { "500ms" } else { "10s" };
        let output = check(
            &folder,
            &upstream(place, &at(place), KEY),
            &["--json", "--timeout", limit],
        );
        let (code, mut tried) = tried(output);
        let (_, state, status) = tried.remove(0);
        (code, state, status)
    };
    let expected = |code, state: &str, status| (Some(code), state.to_owned(), status);
    assert_eq!(one("yes"), expected(0, "accepted", Some(200)));
    assert_eq!(one("no"), expected(77, "refused", Some(401)));
    assert_eq!(one("never"), expected(77, "refused", Some(403)));
    assert_eq!(one("gone"), expected(1, "unclear", Some(404)));
    assert_eq!(one("ill"), expected(1, "unclear", Some(503)));
    assert_eq!(one("hung"), expected(1, "unclear", None));
    assert_eq!(one("cut"), expected(1, "unclear", None));
    // Each was sent once: a trial that is retried can lock an account.
    let journal = mock.journal();
    assert_eq!(journal.matches("\"path\":\"/").count(), 7, "{journal}");
    assert!(!journal.contains(SECRET), "{journal}");
}

#[test]
fn every_upstream_is_tried_and_a_key_that_is_not_there_is_refused() {
    // The first bad key of three hides the other two, and a variable that is not set looks like no key at all.
    let folder = Folder::new("keys-all");
    let mock = Running::start(&[
        "--route",
        "GET /v1/models = 200",
        "--route",
        "GET /rate_limit = 200",
    ]);
    let url = mock.url();
    let file = [
        upstream("good", url, KEY),
        upstream(
            "unset",
            url,
            "provider = \"openai\"\ncredential = { env = \"SEAWALL_TEST_GONE\" }",
        ),
        upstream(
            "empty",
            url,
            "provider = \"openai\"\ncredential = { env = \"SEAWALL_TEST_EMPTY\" }",
        ),
        upstream(
            "lost",
            url,
            "provider = \"openai\"\ncredential = { file = \"no-such-file\" }",
        ),
        upstream(
            "filed",
            url,
            "provider = \"github\"\ncredential = { file = \"key.txt\" }",
        ),
        upstream(
            "odd",
            url,
            "provider = \"generic\"\ncredential = { env = \"SEAWALL_TEST_KEY\" }",
        ),
        upstream("open", url, ""),
    ]
    .concat();
    folder.file("key.txt", format!("{SECRET}\n"));
    let (code, states) = tried(check(&folder, &file, &["--json"]));
    let expected = [
        ("good", "accepted", Some(200)),
        ("unset", "refused", None),
        ("empty", "refused", None),
        ("lost", "refused", None),
        ("filed", "accepted", Some(200)),
        ("odd", "not-tried", None),
        ("open", "not-tried", None),
    ];
    let expected = expected.map(|(name, state, status)| (name.to_owned(), state.to_owned(), status));
    assert_eq!((code, states.as_slice()), (Some(77), &expected[..]));
}

#[test]
fn people_read_what_came_of_each_key_and_never_the_key() {
    // The row of a key that fails is what somebody pastes into a chat.
    let folder = Folder::new("keys-text");
    let mock = Running::start(&["--route", "GET /v1/models = 401"]);
    let output = check(&folder, &upstream("main", mock.url(), KEY), &[]);
    let (said, errors) = (text(output.stdout), text(output.stderr));
    let (_, keys) = said
        .split_once("\nkeys\n")
        .unwrap_or_else(|| panic!("{said}{errors}"));
    assert_eq!(
        keys,
        "  main  refused  $SEAWALL_TEST_KEY  the server answered 401: the key is wrong or no longer valid\n"
    );
    assert!(!said.contains(SECRET) && !errors.contains(SECRET));
    // A key is asked about only where that was asked for.
    let path = folder.file("seawall.toml", upstream("main", mock.url(), KEY));
    let silent = seawall_in(&folder.0, &["check", &path]);
    assert_eq!(silent.status.code(), Some(0));
    assert_eq!(mock.journal().matches("\"path\":\"/").count(), 1);
}

#[test]
fn each_dialect_is_asked_for_what_costs_nothing_and_changes_nothing() {
    // A path that the provider does not have says nothing of the key; one that acts would be a call nobody asked for.
    let folder = Folder::new("keys-dialects");
    let mock = Running::start(&["--route", "* /* = 200"]);
    let asked = [
        ("openai", "/v1", "/v1/models"),
        ("openai", "", "/v1/models"),
        ("anthropic", "", "/v1/models"),
        ("groq", "/openai/v1", "/openai/v1/models"),
        ("azure", "/openai", "/openai/models"),
        ("azure", "/openai/v1", "/openai/v1/models"),
        ("gemini", "/v1beta", "/v1beta/models"),
        ("gemini", "", "/v1beta/models"),
        ("stripe", "/v1", "/v1/balance"),
        ("github", "", "/rate_limit"),
        ("seawall", "", "/v1/models"),
    ];
    for (provider, base, path) in asked {
        mock.ask("POST", "/__seawall/reset");
        let rest = format!("provider = \"{provider}\"\ncredential = {{ env = \"SEAWALL_TEST_KEY\" }}");
        let file = upstream("main", &format!("{}{base}", mock.url()), &rest);
        let (code, states) = tried(check(&folder, &file, &["--json"]));
        assert_eq!(
            (code, states[0].1.as_str()),
            (Some(0), "accepted"),
            "{provider}{base}"
        );
        let journal = mock.journal();
        let (_, journal) = journal.split_once("\r\n\r\n").expect("a body");
        let journal: Value = serde_json::from_str(journal).expect("the journal is JSON");
        let attempts = journal["attempts"].as_array().expect("a list");
        assert_eq!(attempts.len(), 1, "{provider}{base}");
        let seen = attempts[0]["path"].as_str().expect("a path");
        let seen = seen.split('?').next();
        assert_eq!(
            (attempts[0]["method"].as_str(), seen),
            (Some("GET"), Some(path)),
            "{provider}{base}"
        );
    }
}
