//! The arrows between the crates.
//!
//! What can go wrong: a crate boundary stands where a permission changes (may it do IO? does it face strangers?
//! does it own files?), and one convenient dependency the wrong way joins two permissions for good. So every crate
//! has a row here, and a crate without a row is a finding: drawing a new arrow means to change this table.

use super::Finding;
use crate::repo::{Error, Repo};
use serde_json::Value;

/// What one crate of the workspace may depend on.
struct Row {
    name: &'static str,
    /// Always.
    may: &'static [&'static str],
    /// In its tests too.
    may_test: &'static [&'static str],
    /// Behind a feature that is off by default.
    by_feature: &'static [Gated],
    /// Whether it is ever published.
    reach: Reach,
}

struct Gated {
    feature: &'static str,
    name: &'static str,
}

#[derive(PartialEq, Eq)]
enum Reach {
    Published,
    Here,
}

const fn row(name: &'static str, may: &'static [&'static str], may_test: &'static [&'static str]) -> Row {
    Row {
        name,
        may,
        may_test,
        by_feature: &[],
        reach: Reach::Published,
    }
}

const ROWS: &[Row] = &[
    row("seawall-core", &[], &[]),
    // Never the lab, in tests neither: what runs live must not lean on what pretends. Socket tests live in e2e.
    row("seawall", &["seawall-core", "seawall-macros"], &[]),
    // At compile time only: it names what it expands to and depends on none of it, and reads names and lengths as the core
    // does.
    row("seawall-macros", &["seawall-core"], &[]),
    Row {
        by_feature: &[Gated {
            feature: "net",
            name: "seawall",
        }],
        ..row("seawall-lab", &["seawall-core"], &[])
    },
    row("seawall-gateway", &["seawall", "seawall-core"], &["seawall-lab"]),
    row("seawall-batch", &["seawall", "seawall-core"], &["seawall-lab"]),
    row(
        "seawall-cli",
        &[
            "seawall-gateway",
            "seawall-batch",
            "seawall-lab",
            "seawall",
            "seawall-core",
        ],
        &[],
    ),
    Row {
        reach: Reach::Here,
        ..row(
            "e2e",
            &[
                "seawall",
                "seawall-core",
                "seawall-lab",
                "seawall-batch",
                "seawall-gateway",
            ],
            &[],
        )
    },
    Row {
        reach: Reach::Here,
        ..row("xtask", &["seawall-core"], &[])
    },
];

/// Every crate depends only on what its row allows.
pub fn check(repo: &Repo) -> Result<Vec<Finding>, Error> {
    Ok(findings(&repo.metadata(&["--no-deps"])?))
}

fn findings(metadata: &Value) -> Vec<Finding> {
    let packages = list(&metadata["packages"]);
    let ours: Vec<&str> = packages.iter().map(|package| word(&package["name"])).collect();
    let mut findings = Vec::new();
    for package in packages {
        let name = word(&package["name"]);
        let Some(row) = ROWS.iter().find(|row| row.name == name) else {
            findings.push(Finding::in_file(
                name,
                "is a crate without a row in xtask/src/tidy/arrows.rs; say what it may depend on",
            ));
            continue;
        };
        let mut say = |text: String| findings.push(Finding::in_file(name, text));
        for dependency in list(&package["dependencies"]) {
            let to = word(&dependency["name"]);
            if ours.contains(&to) {
                arrow(row, dependency, to, &mut say);
            }
        }
        for gated in row.by_feature {
            gate(&package["features"], gated, &mut say);
        }
        let unpublished = package["publish"].as_array().is_some_and(Vec::is_empty);
        if row.reach == Reach::Here && !unpublished {
            say("must say `publish = false`".to_owned());
        }
    }
    findings
}

fn arrow(row: &Row, dependency: &Value, to: &str, say: &mut impl FnMut(String)) {
    let for_tests = word(&dependency["kind"]) == "dev";
    let optional = dependency["optional"].as_bool().unwrap_or(false);
    let gated = row.by_feature.iter().any(|gated| gated.name == to);
    if row.may.contains(&to) || (for_tests && row.may_test.contains(&to)) {
        return;
    }
    if gated && !for_tests {
        if !optional {
            say(format!("depends on {to} always; only a feature may bring it"));
        }
        return;
    }
    let place = if for_tests { ", not even in its tests" } else { "" };
    say(format!("may not depend on {to}{place}"));
}

/// Only the named feature brings the crate in, and the defaults do not bring the feature.
fn gate(features: &Value, gated: &Gated, say: &mut impl FnMut(String)) {
    let Some(features) = features.as_object() else {
        return;
    };
    let brings = |item: &str| {
        let (name, _) = item.split_once('/').unwrap_or((item, ""));
        name == gated.name || item.strip_prefix("dep:") == Some(gated.name)
    };
    for (feature, items) in features {
        if feature != gated.feature && list(items).iter().any(|item| brings(word(item))) {
            say(format!(
                "feature `{feature}` brings {}; only `{}` may",
                gated.name, gated.feature
            ));
        }
    }
    let mut open = vec!["default"];
    let mut seen: Vec<&str> = Vec::new();
    while let Some(feature) = open.pop() {
        if seen.contains(&feature) {
            continue;
        }
        seen.push(feature);
        if let Some(items) = features.get(feature) {
            open.extend(list(items).iter().map(word));
        }
    }
    if seen.contains(&gated.feature) {
        say(format!("feature `{}` must be off by default", gated.feature));
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

#[cfg(test)]
mod tests;
