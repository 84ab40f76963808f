//! Upstreams that are named, and what a `seawall.toml` says of them.

use crate::failure::Failure;
use seawall::config::{Config, ConfigErrors, NotEnforced, UpstreamConfig};

/// The file where none is named.
pub(crate) const FILE: &str = "seawall.toml";

/// Whether a destination is the name of an upstream, and no address.
pub(crate) fn is_name(to: &str) -> bool {
    !to.contains("://") && !to.starts_with("mock:")
}

/// The upstream of this name.
pub(crate) fn upstream<'c>(config: &'c Config, name: &str) -> Result<&'c UpstreamConfig, Failure> {
    if let Some(upstream) = config.upstream(name) {
        return Ok(upstream);
    }
    let names: Vec<&str> = config
        .upstreams
        .iter()
        .map(|upstream| upstream.name.value.as_str())
        .collect();
    let known = match names.as_slice() {
        [] => "it has none".to_owned(),
        names => format!("it has {}", names.join(", ")),
    };
    let file = config.file();
    Err(Failure::usage(format!(
        "--upstream {name}: {file} has no upstream of this name; {known}"
    )))
}

/// Refuses settings below these tables that nothing obeys yet: whoever acts on half of what is written does something
/// else than what is written, and a bound that does not bind is worse than none.
pub(crate) fn obeyed(config: &Config, tables: &[&str]) -> Result<(), Failure> {
    let counts = |later: &&NotEnforced| {
        let table = later.what.key.split('.').next().unwrap_or_default();
        later.what.key != table && tables.contains(&table)
    };
    match config.not_enforced.iter().find(counts) {
        None => Ok(()),
        Some(NotEnforced { what, at }) => {
            let message = format!(
                "{what} is not enforced yet: {}; take it out to run without it",
                what.missing
            );
            Err(Failure::Config(ConfigErrors::from(config.finding(at, message))))
        }
    }
}
