use super::super::effective::shown;
use super::super::keys::{self, Held, Key, Takes};
use expect_test::expect_file;
use seawall_core::policy::{Policy, Preset};
use std::fmt::Write as _;

const HEAD: &str = "\
# seawall.toml

<!-- Held to the parser by a test. After a change of its keys: UPDATE_EXPECT=1 cargo test -p seawall --lib page -->

Every key of a `seawall.toml`. `seawall check` reads a file and tells all that is wrong with it, and
`seawall check --effective` what holds where nothing is written ([guide](../guide/check.md)).

- Times have a unit: `\"500ms\"`, `\"30s\"`, `\"2m\"`, `\"1h30m\"`, `\"1d\"`. Sizes too: `\"64KiB\"`, `\"1MiB\"`. Shares are decimals: `0.1`.
  Money is in US dollars.
- A key that is not here is an error, and so is a value out of its range.
- *Not yet* means that the key is read and checked, and that no command obeys it yet; `check` says so, and commands that act on
  a policy refuse one that has it. The library's [`Routes::of`](../guide/routes.md#from-a-file) obeys `[[model]]`, `[[route]]`,
  `quota`, `parent` and `dedup`, and refuses a route with `money_max`, `cache` or `fit`.
- The last column is where a key comes from: a [rule](rules.md), or a [decision](../README.md).
";

/// What no key says of the presets.
const PRESETS: &str = "\n\
Under `batch`, attempts that were throttled do not use up `retries`. Under `writes`, an upstream's or a caller's word that a
repeat is harmless is not taken: what may have acted goes again only by its method or by an idempotency key. `off` makes one
attempt, and its breaker counts and refuses nothing.
";

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn row(page: &mut String, key: &Key, table: &str) {
    let name = key
        .path
        .strip_prefix(table)
        .unwrap_or(key.path)
        .trim_start_matches('.');
    let held = match key.holds() {
        Held::Today => "",
        Held::Later(_) => " *Not yet.*",
    };
    let source = if key.source.is_empty() { "–" } else { key.source };
    let cells = [
        format!("`{name}`"),
        cell(&key.takes.to_string()),
        cell(key.default),
        format!("{}.{held}", cell(key.about)),
        source.to_owned(),
    ];
    writeln!(page, "| {} |", cells.join(" | ")).expect("writing to a string cannot fail");
}

/// The values in which presets differ.
fn presets(page: &mut String) {
    page.push_str("\n## Presets\n\nWhat `preset` stands for, where it is not the default's.\n\n| key |");
    for preset in Preset::ALL {
        write!(page, " `{}` |", preset.name()).expect("writing to a string cannot fail");
    }
    page.push_str("\n|---|---|---|---|---|---|\n");
    for key in keys::all().filter(|key| key.path.starts_with("policy.")) {
        let values = Preset::ALL.map(|preset| shown(key.path, &Policy::preset(preset)));
        if values.iter().all(|value| *value == values[0]) {
            continue;
        }
        let name = key.path.trim_start_matches("policy.");
        let cells = values.each_ref().map(|value| cell(value)).join(" | ");
        writeln!(page, "| `{name}` | {cells} |").expect("writing to a string cannot fail");
    }
    page.push_str(PRESETS);
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    presets(&mut page);
    for table in keys::within("") {
        let title = match table.takes {
            Takes::Tables => format!("[[{}]]", table.path),
            _ => format!("[{}]", table.path),
        };
        write!(page, "\n## `{title}`\n\n{}.", capital(table.about)).expect("writing to a string cannot fail");
        if let Held::Later(missing) = table.holds() {
            write!(page, " *Not yet: {missing}.*").expect("writing to a string cannot fail");
        }
        page.push_str("\n\n| key | takes | default | what it decides | source |\n|---|---|---|---|---|\n");
        let below = format!("{}.", table.path);
        for key in keys::all().filter(|key| key.path.starts_with(&below)) {
            row(&mut page, key, table.path);
        }
    }
    page
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[test]
fn the_page_of_keys_is_what_the_parser_reads() {
    // A key that is documented and not read, or the reverse, costs its reader an afternoon.
    expect_file!["../../../../../docs/reference/config.md"].assert_eq(&page());
}

#[test]
fn the_defaults_of_the_page_are_those_of_the_engine() {
    // A default that the page has alone is believed until the first outage.
    let default = Policy::preset(Preset::Default);
    let mut held = 0;
    for key in keys::all() {
        let shown = shown(key.path, &default);
        // Within a table that is none where it is left out.
        let is_asked_for = key.default == "must be written" && shown == "none";
        let is_switch = matches!(key.takes, Takes::Either([Takes::Table, ..]));
        if shown.is_empty() || is_switch || is_asked_for || key.path == "policy.backoff.min" {
            continue;
        }
        assert_eq!(key.default, shown, "{}", key.path);
        held += 1;
    }
    assert!(held > 30, "{held}");
}
