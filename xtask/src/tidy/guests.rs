//! The guests: licences, sources and bans, as `deny.toml` states them.
//!
//! `cargo deny check bans licenses sources` reads the same file and sees more, but takes minutes to build; so CI
//! holds these three by what cargo itself tells (docs/decisions/003). Sources and bans are read from
//! the lock file, for every platform; licences from what this platform downloads.

use super::Finding;
use crate::repo::{Error, Repo};
use serde_json::Value;
use toml::Table;

const DENY: &str = "deny.toml";
const LOCK: &str = "Cargo.lock";
/// What the lock file says of a crate that comes from the public registry.
const REGISTRY: &str = concat!("registry+https://github.com/rust-lang/", "crates", ".io-index");

/// Every guest's licence can be met by licences that `deny.toml` allows.
pub fn licences(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let deny = repo.toml(DENY)?;
    let allowed = texts(&deny, &["licenses", "allow"]);
    let metadata = repo.metadata(&["--filter-platform", "host-tuple"])?;
    Ok(unlicensed(&metadata, &allowed))
}

fn unlicensed(metadata: &Value, allowed: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        let name = package["name"].as_str().unwrap_or("");
        let licence = package["license"].as_str().unwrap_or("");
        match Licence::read(licence) {
            Some(parsed) if parsed.met_by(allowed) => {}
            Some(_) => findings.push(Finding::in_file(
                LOCK,
                format!("{name} is under `{licence}`, which {DENY} does not allow"),
            )),
            None => findings.push(Finding::in_file(
                LOCK,
                format!("{name} states the licence `{licence}`, which cannot be read"),
            )),
        }
    }
    findings
}

/// Every crate comes from here or from the registry, and none is banned.
pub fn sources_and_bans(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let deny = repo.toml(DENY)?;
    let lock = repo.toml(LOCK)?;
    Ok(unwelcome(&lock, &banned(&deny)))
}

fn unwelcome(lock: &Table, banned: &[Banned<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let packages = lock.get("package").and_then(toml::Value::as_array);
    for package in packages.into_iter().flatten() {
        let field = |name: &str| package.get(name).and_then(toml::Value::as_str);
        let name = field("name").unwrap_or("");
        match field("source") {
            None | Some(REGISTRY) => {}
            Some(source) => findings.push(Finding::in_file(LOCK, format!("{name} comes from {source}"))),
        }
        let dependencies = package.get("dependencies").and_then(toml::Value::as_array);
        for dependency in dependencies.into_iter().flatten().filter_map(toml::Value::as_str) {
            // A crate that stands there twice is told with its version.
            let to = dependency.split(' ').next().unwrap_or("");
            let ban = banned.iter().find(|ban| ban.name == to);
            if ban.is_some_and(|ban| !ban.wrappers.contains(&name)) {
                findings.push(Finding::in_file(
                    LOCK,
                    format!("{name} brings {to}, which is banned by {DENY}; see why there"),
                ));
            }
        }
    }
    findings
}

fn texts<'a>(table: &'a Table, path: &[&str; 2]) -> Vec<&'a str> {
    let items = table
        .get(path[0])
        .and_then(|inner| inner.get(path[1]))
        .and_then(toml::Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_str)
        .collect()
}

/// A crate that is no guest here, but behind these.
struct Banned<'a> {
    name: &'a str,
    wrappers: Vec<&'a str>,
}

fn banned(deny: &Table) -> Vec<Banned<'_>> {
    let items = deny
        .get("bans")
        .and_then(|bans| bans.get("deny"))
        .and_then(toml::Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(|item| {
            let wrappers = item.get("wrappers").and_then(toml::Value::as_array);
            Some(Banned {
                name: item.get("crate").and_then(toml::Value::as_str)?,
                wrappers: wrappers
                    .into_iter()
                    .flatten()
                    .filter_map(toml::Value::as_str)
                    .collect(),
            })
        })
        .collect()
}

/// An SPDX expression: `MIT OR Apache-2.0`, `(A OR B) AND C`, `A WITH exception`, and the old `A/B`.
#[derive(Debug, PartialEq, Eq)]
enum Licence {
    One(String),
    All(Vec<Licence>),
    Any(Vec<Licence>),
}

impl Licence {
    fn read(text: &str) -> Option<Self> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
        let licence = Self::any(&mut words)?;
        words.is_empty().then_some(licence)
    }

    fn any(words: &mut Vec<&str>) -> Option<Self> {
        let mut parts = vec![Self::all(words)?];
        while words.pop_if(|word| *word == "OR").is_some() {
            parts.push(Self::all(words)?);
        }
        Some(Self::Any(parts))
    }

    fn all(words: &mut Vec<&str>) -> Option<Self> {
        let mut parts = vec![Self::one(words)?];
        while words.pop_if(|word| *word == "AND").is_some() {
            parts.push(Self::one(words)?);
        }
        Some(Self::All(parts))
    }

    fn one(words: &mut Vec<&str>) -> Option<Self> {
        let word = words.pop()?;
        if word == "(" {
            let inner = Self::any(words)?;
            return words.pop_if(|word| *word == ")").map(|_| inner);
        }
        if ["OR", "AND", "WITH", ")"].contains(&word) {
            return None;
        }
        if words.pop_if(|word| *word == "WITH").is_some() {
            return Some(Self::One(format!("{word} WITH {}", words.pop()?)));
        }
        Some(Self::One(word.to_owned()))
    }

    fn met_by(&self, allowed: &[&str]) -> bool {
        match self {
            Self::One(name) => allowed.contains(&name.as_str()),
            Self::All(parts) => parts.iter().all(|part| part.met_by(allowed)),
            Self::Any(parts) => parts.iter().any(|part| part.met_by(allowed)),
        }
    }
}

#[cfg(test)]
mod tests;
