use super::super::keys::{self, Held, Key, Takes};
use super::super::*;
use proptest::prelude::*;

/// What a table needs beside the key that is tested.
fn beside(table: &str) -> &'static str {
    match table {
        "upstream" => "name = \"main\"\nbase_url = \"https://api.example.com/v1\"\n",
        "upstream.classify" => "as = \"failed\"\nstatus = 446\n",
        "model" => "name = \"small-1\"\nupstream = \"main\"\n",
        "route" => "to = [\"main\"]\n",
        "route.money_max" => "usd = 1.0\nper = \"1h\"\n",
        "route.cache" => "ttl = \"1h\"\n",
        "serve.tls" => "cert = \"c\"\nkey = \"k\"\n",
        "serve.clients" => {
            "name = \"web\"\ntoken_hash = \"sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"\n"
        }
        "policy.breaker.slow_call" => "over = \"1s\"\n",
        "policy.hedge" => "after = \"1s\"\n",
        _ => "",
    }
}

/// A file in which this key has this value and all else is right, and the line that the value stands in.
fn file(key: &Key, value: &str) -> (String, usize) {
    let mut text = String::new();
    let upstream = "[[upstream]]\nname = \"main\"\nbase_url = \"https://api.example.com/v1\"\n";
    let root = key.path.split('.').next().expect("a path has a first part");
    if root != "upstream" && root != "policy" {
        text.push_str(upstream);
    }
    // Each table on the way, with what it needs.
    let mut path = String::new();
    for part in key.table().split('.').filter(|part| !part.is_empty()) {
        let dot = if path.is_empty() { "" } else { "." };
        path = format!("{path}{dot}{part}");
        match keys::find(&path).map(|key| key.takes) {
            Some(Takes::Tables) => text.push_str(&format!("[[{path}]]\n")),
            _ => text.push_str(&format!("[{path}]\n")),
        }
        for line in beside(&path).lines() {
            if line.split(" = ").next() != Some(key.name()) {
                text.push_str(&format!("{line}\n"));
            }
        }
    }
    let line = text.lines().count() + 1;
    text.push_str(&format!("{} = {value}\n", key.name()));
    (text, line)
}

#[test]
fn every_key_of_the_table_is_read_and_judged() {
    // A key that the table has and that no reader asks for is skipped in silence, whatever is written.
    for key in keys::all().filter(|key| !key.table().is_empty()) {
        let (text, line) = file(key, key.example);
        let config = Config::parse("f", &text).unwrap_or_else(|errors| panic!("{text}{errors}"));
        let told = config.not_enforced.iter().any(|later| later.at.line <= line);
        assert_eq!(told, matches!(key.holds(), Held::Later(_)), "{}", key.path);
        let (text, line) = file(key, "1979-05-27");
        let errors = Config::parse("f", &text).expect_err("a date is no value of any key");
        assert!(errors.iter().any(|error| error.line == line), "{text}{errors}");
    }
    for key in keys::within("") {
        let errors = Config::parse("f", &format!("{} = 1979-05-27", key.path)).expect_err("no table");
        assert_eq!((errors.first().line, errors.count()), (1, 1), "{errors}");
    }
}

#[test]
fn every_key_of_a_policy_is_obeyed() {
    // A limit that is accepted and not enforced is a promise broken in silence: a command that acts on a policy alone has
    // nobody to warn.
    let policy = |key: &&Key| key.path.starts_with("policy");
    for key in keys::all().filter(policy) {
        assert_eq!(key.holds(), Held::Today, "{}", key.path);
    }
}

#[test]
fn no_path_stands_twice_and_each_has_its_table() {
    // A second row of the same path is never looked at, and a row without its table is reached by nobody.
    let paths: Vec<&str> = keys::all().map(|key| key.path).collect();
    for (nth, path) in paths.iter().enumerate() {
        assert!(!paths[..nth].contains(path), "{path}");
        let table = keys::find(path).expect("it is there").table();
        assert!(table.is_empty() || paths.contains(&table), "{path}");
    }
}

/// The ends of what a key takes, as they are written, and what lies just beyond each.
fn ends(takes: Takes) -> (Vec<String>, Vec<String>) {
    let length = |length: seawall_core::time::Duration| format!("\"{}ns\"", length.as_nanos());
    match takes {
        Takes::Length { min, max } => {
            let nano = seawall_core::time::Duration::from_nanos(1);
            let below = (!min.is_zero()).then(|| length(min.minus(nano)));
            let beyond = below.into_iter().chain([length(max.plus(nano))]).collect();
            (vec![length(min), length(max)], beyond)
        }
        Takes::Count { min, max } => {
            let below = min.checked_sub(1).map(|n| n.to_string());
            let beyond = below.into_iter().chain([(max + 1).to_string()]).collect();
            (vec![min.to_string(), max.to_string()], beyond)
        }
        Takes::Decimal { places, min, max, .. } => {
            let text = |units: u64| keys::decimal(units, places);
            let below = min.checked_sub(1).map(text);
            let beyond = below.into_iter().chain([text(max + 1)]).collect();
            (vec![text(min), text(max)], beyond)
        }
        Takes::Either([first, ..]) => ends(*first),
        Takes::Either([])
        | Takes::Size { .. }
        | Takes::Word(_)
        | Takes::Text(_)
        | Takes::Flag
        | Takes::Texts(_)
        | Takes::Table
        | Takes::Tables
        | Takes::Pairs
        | Takes::Policy => (Vec::new(), Vec::new()),
    }
}

#[test]
fn the_ranges_of_the_table_are_those_of_the_engine() {
    // A range that the table has alone lets a policy through that the engine refuses, or says a wrong one.
    let mut tried = 0;
    for key in keys::all() {
        let (within, beyond) = ends(key.takes);
        for value in within {
            let (text, _) = file(key, &value);
            if let Err(errors) = Config::parse("f", &text) {
                // Two values may contradict each other; that is no range.
                let said = errors.to_string();
                assert!(
                    said.contains("above") && !said.contains("it may be"),
                    "{text}{said}"
                );
            }
            tried += 1;
        }
        for value in beyond {
            let (text, line) = file(key, &value);
            let errors = Config::parse("f", &text).expect_err("beyond the range");
            let first = errors.first();
            assert!(
                first.line == line && first.message.contains("it may be"),
                "{text}{errors}"
            );
            assert_eq!(errors.count(), 1, "{errors}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

/// One letter put in, taken out, changed, or swapped with the next.
fn misspelt(word: &str, at: usize, letter: char, how: u8) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = at % letters.len();
    match how {
        0 => letters.insert(at, letter),
        1 => letters[at] = letter,
        2 if letters.len() > 1 => {
            letters.remove(at);
        }
        _ => {
            let next = (at + 1) % letters.len();
            letters.swap(at, next);
        }
    }
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_key_that_is_misspelt_by_one_letter_names_the_right_one(
        nth in any::<prop::sample::Index>(), at in 0_usize..32, letter in "[a-z_]", how in 0_u8..4
    ) {
        // "unknown key" alone sends people to the documentation.
        let all: Vec<&Key> = keys::all().filter(|key| !key.table().is_empty()).collect();
        let key = all[nth.index(all.len())];
        let letter = letter.chars().next().expect("a letter");
        let wrong = misspelt(key.name(), at, letter, how);
        let siblings: Vec<&str> = keys::within(key.table()).map(Key::name).collect();
        // The first letter of a word may be lost in a swap with its last; that is more than one slip.
        let is_one_slip = super::super::reader::distance(&wrong, key.name()) == 1;
        let is_as_near = |other: &&&str| {
            **other != key.name() && super::super::reader::distance(&wrong, other) <= 1
        };
        // A name that looks like an issuer's key is printed by nobody, and so is what is near it.
        prop_assume!(!super::super::blot::is_secret(&wrong));
        prop_assume!(is_one_slip && !siblings.contains(&wrong.as_str()) && siblings.iter().find(is_as_near).is_none());
        let (text, line) = file(key, key.example);
        let text = text.replacen(&format!("\n{} = {}", key.name(), key.example), &format!("\n{wrong} = {}", key.example), 1);
        let errors = Config::parse("f", &text).expect_err("no such key");
        let named = format!("the nearest known is `{}`", key.name());
        prop_assert!(errors.iter().any(|error| error.line == line && error.message.contains(&named)), "{text}{errors}");
    }
}
