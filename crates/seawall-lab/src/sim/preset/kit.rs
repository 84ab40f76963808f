//! What the presets are made of, beside plain worlds: their parts found again, references, and claims.

pub(super) use crate::sim::kit::*;
use crate::sim::luck::{nanos, whole};
use crate::sim::model::Contender;
use crate::sim::study::{Claim, Study};
use crate::sim::summary::float;
use crate::sim::tally::Tally;
use seawall_core::time::Duration;

/// The tallies of each contender of a study, in their order.
pub(super) fn by_contender<'a>(
    study: &'a Study,
    tallies: &'a [Tally],
) -> impl Iterator<Item = (&'a Contender, &'a [Tally])> {
    study.contenders.iter().zip(tallies.chunks(study.seeds as usize))
}

/// Each part of a preset with its study and that study's tallies, found by the study's name; one that was not run is left
/// out.
pub(super) fn found<'a, P>(
    parts: impl IntoIterator<Item = P>,
    name: impl Fn(&P) -> String,
    studies: &'a [Study],
    tallies: &'a [Vec<Tally>],
) -> Vec<(P, &'a Study, &'a [Tally])> {
    parts
        .into_iter()
        .filter_map(|part| {
            let name = name(&part);
            let at = studies.iter().position(|study| study.name == name)?;
            Some((part, &studies[at], tallies.get(at)?.as_slice()))
        })
        .collect()
}

/// The rows of a reference: comments and the line of names left out.
pub(super) fn rows(csv: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = csv.lines().filter(|line| !line.starts_with('#'));
    lines.skip(1).map(|line| line.split(',').collect())
}

/// A figure of a reference.
pub(super) fn number(field: &str) -> f64 {
    field.parse().expect("a reference holds numbers")
}

/// A time of a reference, in seconds, as a length.
pub(super) fn length(field: &str) -> Duration {
    whole(number(field) * 1e9)
}

pub(super) fn seconds(length: Duration) -> f64 {
    nanos(length) / 1e9
}

/// The mean of a figure over seeds.
pub(super) fn mean(tallies: &[Tally], figure: impl Fn(&Tally) -> f64) -> f64 {
    let all = tallies.iter().map(figure).sum::<f64>();
    all / float(tallies.len() as u64)
}

/// A count over all seeds.
pub(super) fn sum(tallies: &[Tally], count: impl Fn(&Tally) -> u64) -> u64 {
    tallies.iter().map(count).sum()
}

/// One count by another; 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Attempts that reached a server, for each call.
pub(super) fn load_of(tallies: &[Tally]) -> f64 {
    let calls = sum(tallies, |tally| tally.calls);
    ratio(sum(tallies, |tally| tally.arrivals), calls)
}

/// Answered calls, of all.
pub(super) fn success_of(tallies: &[Tally]) -> f64 {
    let calls = sum(tallies, |tally| tally.calls);
    ratio(sum(tallies, |tally| tally.succeeded), calls)
}

/// How far a measured figure may be from the published one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Within {
    /// This share of it, either way.
    Share(f64),
    /// This much, either way.
    Amount(f64),
    /// Any distance below it.
    AtMost,
    /// Any distance above it.
    AtLeast,
}

pub(super) fn claim(name: impl Into<String>, published: f64, measured: f64, within: Within) -> Claim {
    let off = (measured - published).abs();
    let holds = match within {
        Within::Share(share) => off <= share * published.abs(),
        Within::Amount(amount) => off <= amount,
        Within::AtMost => measured <= published,
        Within::AtLeast => measured >= published,
    };
    Claim {
        name: name.into(),
        published,
        measured,
        holds,
    }
}

/// To so many decimals: what a table shows, and the same bytes for every reader.
pub(super) fn rounded(value: f64, decimals: u32) -> f64 {
    let scale = libm::pow(10.0, f64::from(decimals));
    libm::round(value * scale) / scale
}
