//! Reads the file of a simulation, and tells all that is wrong with it at once.
//!
//! What can go wrong: a key that is skipped decides nothing, and the report is of another scenario than its author
//! thinks; a default that nobody saw decides everything. So a key that is not known is an error, what decides most (who
//! calls, what a server can do, who shares a gate, when it ends) has no default, and what has one stands in the report.
//!
//! Recorded calls and outages are in files of their own, whose paths count from this file's folder. A mistake in one of
//! them is told at the key that names it, with its own line.

mod generation;
mod layers;
mod load;
mod nothing;
mod outages;
mod policy;
mod server;
mod values;

pub use nothing::Unmeasured;
pub(super) use policy::SHARED_KEYS;

use crate::error::ScriptError;
use crate::reader::{self, Reader, Value, stem};
use crate::scenario::Written;
use crate::sim::agreement::Speed;
use crate::sim::assert::{Assert, Judged};
use crate::sim::bounds::HORIZON_MAX;
use crate::sim::document::{Document, Figures, Lived};
use crate::sim::luck::Length;
use crate::sim::model::{Contender, Model, Spread};
use crate::sim::report::harmless;
use crate::sim::study::Study;
use crate::sim::tally::Tally;
use generation::Recorded;
use seawall::config::{ConfigError, ConfigErrors};
use seawall_core::time::Duration;
use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// The longest file of a simulation, in bytes: 256 KiB, a hundred times what one takes.
pub const SCENARIO_BYTES_MAX: usize = 256 * 1024;
/// Seeds where a file says nothing.
const DEFAULT_SEEDS: u32 = 10;
/// The most seeds of one file.
const SEEDS_MAX: u64 = 1_000_000;
/// The most policies side by side.
const POLICIES_MAX: usize = 100;

const TOP_KEYS: [&str; 13] = [
    "name", "seed", "seeds", "horizon", "warmup", "hop", "spread", "load", "server", "policy", "layer",
    "layers", "assert",
];
const SPREADS: [(&str, Spread); 3] = [
    ("route", Spread::Route),
    ("shards-one-gate", Spread::ShardsOneGate),
    ("shards-own-gates", Spread::ShardsOwnGates),
];

/// What the file of a simulation says.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The world and its policies.
    pub study: Study,
    /// What must come of it.
    pub asserts: Vec<Assert>,
    /// What to know of the files that it names.
    pub notes: Vec<String>,
    /// The files that it names, whose calls and outages it has.
    pub files: Vec<PathBuf>,
}

impl Simulation {
    /// Reads the file of a simulation, and the files that it names. `file` is its path, and what errors call it.
    ///
    /// # Errors
    /// All that cannot be right, in the order of the file; of mistakes in TOML itself the first.
    ///
    /// ```
    /// use seawall_lab::run::simulate::Simulation;
    /// let text = r#"
    /// horizon = "1m"
    /// load = { rate = 100 }
    /// server = { capacity = 150, orphans = "worked" }
    /// [[policy]]
    /// name = "default"
    /// fleet = "one"
    /// "#;
    /// let simulation = Simulation::parse("minute.toml", text).unwrap();
    /// assert_eq!(simulation.study.contenders[0].name, "default");
    /// ```
    pub fn parse(file: &str, text: &str) -> Result<Self, SimulationErrors> {
        let asked = Asked {
            folder: folder_of(file),
            notes: RefCell::default(),
            files: RefCell::default(),
            policies: RefCell::default(),
            recorded: RefCell::default(),
        };
        let read = reader::read_by(file, text, SCENARIO_BYTES_MAX, |reader, table| {
            asked.simulation(reader, table)
        });
        let policies = asked.policies.into_inner();
        let mut errors: Vec<SimulationError> = policies.into_iter().map(SimulationError::Policy).collect();
        match read {
            Ok(simulation) if errors.is_empty() => {
                return Ok(Self {
                    notes: asked.notes.into_inner(),
                    files: asked.files.into_inner(),
                    ..simulation
                });
            }
            Ok(_) => {}
            Err(faults) => errors.extend(faults.into_iter().map(SimulationError::File)),
        }
        errors.sort_by_key(SimulationError::place);
        Err(SimulationErrors(errors))
    }

    /// Reads a file that may be no text: an editor's UTF-16, an archive, a picture.
    ///
    /// # Errors
    /// As [`Simulation::parse`], and bytes that are no UTF-8, at the first of them.
    pub fn from_bytes(file: &str, bytes: &[u8]) -> Result<Self, SimulationErrors> {
        let text = reader::text_of(file, bytes)
            .map_err(|error| SimulationErrors(vec![SimulationError::File(error)]))?;
        Self::parse(file, text)
    }

    /// The report, from the tallies of the study's jobs in their order.
    pub fn document(&self, tallies: &[Tally]) -> Document {
        let studies = std::slice::from_ref(&self.study);
        let mut document = Document::of(&self.study.name, studies, &[tallies.to_vec()]);
        document.asserts = self.judged(&document.policies);
        document.notes.clone_from(&self.notes);
        if document.policies.iter().all(|of| of.summary.calls == 0) {
            document.notes.push(
                "nobody called after the warm-up and before the horizon, so that nothing was measured"
                    .to_owned(),
            );
        }
        document
    }

    /// The same, with what a live twin of it came to: its tallies, too, in the order of the study's jobs.
    pub fn document_with_live(&self, tallies: &[Tally], lived: &[Tally], speed: Speed) -> Document {
        let studies = std::slice::from_ref(&self.study);
        let lived = Lived {
            tallies: &[lived.to_vec()],
            speed,
        };
        let document = self.document(tallies);
        let mut document = document.with_live(studies, &[tallies.to_vec()], lived);
        if let Some(live) = &mut document.live {
            live.asserts = self.judged(&live.policies);
        }
        document
    }

    fn judged(&self, policies: &[Figures]) -> Vec<Judged> {
        let summaries: Vec<_> = policies.iter().map(|of| of.summary.clone()).collect();
        let asserts = self.asserts.iter();
        asserts.flat_map(|assert| assert.judge(&summaries)).collect()
    }
}

/// What the reading of one file asks for beside the file.
struct Asked {
    folder: PathBuf,
    notes: RefCell<Vec<String>>,
    files: RefCell<Vec<PathBuf>>,
    policies: RefCell<Vec<ConfigError>>,
    /// The trace of its load.
    recorded: RefCell<Option<Recorded>>,
}

/// The policies of these, whose own asserts are put to the others.
fn contenders(asserted: Vec<Asserted>, asserts: &mut Vec<Written<Assert>>) -> Vec<Contender> {
    let of_own = |(number, one): (usize, Asserted)| {
        asserts.extend(one.asserts.into_iter().map(|mut assert| {
            assert.value.policy = Some(number);
            assert
        }));
        one.contender
    };
    asserted.into_iter().enumerate().map(of_own).collect()
}

/// A policy of the file.
struct Asserted {
    contender: Contender,
    asserts: Vec<Written<Assert>>,
}

impl Asked {
    fn simulation(&self, reader: &Reader<'_>, table: &DeTable<'_>) -> Option<Simulation> {
        reader.keys(table, &TOP_KEYS, "a simulation");
        let get = |key: &str| table.get(key);
        let name = get("name").and_then(|value| reader.name(value));
        let name = name.map_or_else(
            || harmless(&stem(reader.source.name.unwrap_or_default())),
            |(name, _)| name.to_owned(),
        );
        let seed = get("seed").map_or(Some(0), |value| reader.count("seed", value, 0, u64::MAX));
        let seeds = get("seeds").map_or(Some(DEFAULT_SEEDS), |value| {
            reader.count32("seeds", value, 1, SEEDS_MAX)
        });
        let horizon = self.horizon(reader, table);
        let warmup = get("warmup").map_or(Some(Duration::ZERO), |value| reader.length("warmup", value));
        let hop = get("hop").map_or(Some(Length::ZERO), |value| reader.distribution("hop", value));
        let load = self.load(reader, table, horizon);
        let tokens = self.tokens(reader, table, load.as_ref());
        let servers = self.servers(reader, table, horizon);
        let alike = servers
            .as_deref()
            .map(|servers| generation::alike(reader, table, servers));
        let spread = spread(reader, table, servers.as_ref().map_or(1, Vec::len));
        let layers = self.layers(reader, table);
        let asserted = self.contenders(reader, table, load.as_ref());
        let asserts = get("assert").map_or(Some(Vec::new()), |value| reader.asserts(value));
        let (asserted, mut asserts) = (asserted?, asserts?);
        if let (Some(warmup), Some(horizon), Some(value)) = (warmup, horizon, get("warmup"))
            && warmup >= horizon
        {
            let message = format!("warmup is {warmup}, and the horizon {horizon}: nothing would be measured");
            return reader.fault(
                reader
                    .error(value.span(), message)
                    .expecting("a warm-up below the horizon"),
            );
        }
        let model = Model {
            load: load?,
            tokens: tokens?,
            hop: hop?,
            layers: layers?,
            servers: alike?.and(servers)?,
            spread: spread?,
            horizon: horizon?,
            warmup: warmup?,
        };
        let study = Study {
            name,
            model,
            contenders: contenders(asserted, &mut asserts),
            seed: seed?,
            seeds: seeds?,
        };
        self.nothing(reader, table, &study, &asserts);
        Some(Simulation {
            study,
            asserts: asserts.into_iter().map(|assert| assert.value).collect(),
            notes: Vec::new(),
            files: Vec::new(),
        })
    }

    fn horizon(&self, reader: &Reader<'_>, table: &DeTable<'_>) -> Option<Duration> {
        let right = "horizon = \"5m\": no call begins after it";
        let Some(value) = table.get("horizon") else {
            return reader.fault(reader.error(0..0, "this simulation has no end").expecting(right));
        };
        let horizon = reader.length("horizon", value)?;
        if horizon > HORIZON_MAX {
            let message =
                format!("horizon is {horizon}, and what happens in each tenth of a second is written down");
            return reader.fault(
                reader
                    .error(value.span(), message)
                    .expecting(format!("at most {HORIZON_MAX}")),
            );
        }
        match horizon.is_zero() {
            true => reader.fault(
                reader
                    .error(value.span(), "horizon is no time at all")
                    .expecting(right),
            ),
            false => Some(horizon),
        }
    }

    /// What must be told of a file that was read.
    fn note(&self, note: String) {
        self.notes.borrow_mut().push(note);
    }

    /// The path of a file that this one names, counted from its folder: one of those that are read.
    fn named(&self, written: &str) -> PathBuf {
        let path = self.folder.join(written);
        self.files.borrow_mut().push(path.clone());
        path
    }

    fn wrong_policy(&self, errors: &ConfigErrors) {
        self.policies.borrow_mut().extend(errors.iter().cloned());
    }
}

/// Which server an attempt goes to; of one there is no question.
fn spread(reader: &Reader<'_>, table: &DeTable<'_>, servers: usize) -> Option<Spread> {
    match table.get("spread") {
        Some(value) => reader.word("spread", value, &SPREADS),
        None if servers > 1 => {
            let span = table.get("server").map_or(0..0, Value::span);
            let error = reader.error(
                span,
                format!("which of these {servers} servers does an attempt go to?"),
            );
            reader.fault(error.expecting("spread = \"route\", \"shards-one-gate\" or \"shards-own-gates\""))
        }
        None => Some(Spread::Route),
    }
}

/// The folder that a file's paths count from.
fn folder_of(file: &str) -> PathBuf {
    Path::new(file).parent().map(Path::to_owned).unwrap_or_default()
}

/// Something in the file of a simulation that cannot be right.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimulationError {
    /// What is about the simulation.
    File(ScriptError),
    /// What is about a policy, by the words of whoever reads all policies.
    Policy(ConfigError),
}

impl SimulationError {
    fn place(&self) -> (usize, usize) {
        match self {
            Self::File(error) => (error.line(), error.column()),
            Self::Policy(error) => (error.line, error.column),
        }
    }
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Policy(error) => error.fmt(f),
        }
    }
}

/// Everything that is wrong with the file of a simulation, in its order; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationErrors(Vec<SimulationError>);

impl SimulationErrors {
    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SimulationError> {
        self.0.iter()
    }
}

impl fmt::Display for SimulationErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.0.iter().enumerate() {
            let between = if place == 0 { "" } else { "\n" };
            write!(f, "{between}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SimulationErrors {}

#[cfg(test)]
mod tests;
