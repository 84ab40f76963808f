//! What a live twin came to, for people.

use super::{Document, line, mark, table};
use crate::scenario::Colour;
use crate::sim::agreement::{Agreement, Figure};
use crate::sim::assert::Judged;
use crate::sim::document::{Agreed, Live};
use crate::sim::report::figures::plain::{digits, length, percent};
use crate::sim::study::Claim;

pub(super) fn write(live: &Live) -> String {
    let passage = live.passage();
    let mut text = format!("\nlive, over sockets: {} runs, {passage}\n", live.runs);
    for agreed in live.agreement.chunk_by(|one, next| one.part == next.part) {
        if let Some(part) = agreed.first().and_then(|first| first.part.as_ref()) {
            text.push_str(&format!("\n{}\n", line(part)));
        }
        text.push_str(&both(agreed));
    }
    text.push_str(&format!("  {}\n", line(&live.sentence())));
    text
}

/// A row for each figure: simulated and lived, each with its standard error.
fn both(agreed: &[Agreed]) -> String {
    let head = ["policy", "figure", "simulated", "±", "live", "±", ""];
    let mut before = None;
    let rows = agreed.iter().map(|Agreed { agreement, .. }| {
        let Agreement {
            policy,
            what,
            simulated,
            live,
            accord,
            difference: _,
        } = agreement;
        let is_first = before.replace(policy) != Some(policy);
        let [(sim, sim_error), (live, live_error)] = [simulated, live].map(|figure| written(what, *figure));
        vec![
            if is_first { line(policy) } else { String::new() },
            heading(what).to_owned(),
            sim,
            sim_error,
            live,
            live_error,
            accord.name().to_owned(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    table(&head, &rows)
}

/// What a figure is called in the tables for people.
fn heading(what: &'static str) -> &'static str {
    match what {
        "success_rate" => "success",
        "amplification" => "attempts/call",
        "mean_ms" => "mean",
        other => other,
    }
}

/// A figure and its standard error, in its unit; one run has no error.
fn written(what: &str, figure: Figure) -> (String, String) {
    let Figure { mean, error } = figure;
    // What is left of a sum whose order differs is no error.
    let error = error.map(|error| if error <= 1e-9 * mean.abs() { 0.0 } else { error });
    let (mean, write): (String, fn(f64) -> String) = match what {
        "success_rate" => (percent(mean), |error| format!("{} %", two_digits(100.0 * error))),
        "mean_ms" => (length(mean), short_length),
        _ => (digits(mean, 4), two_digits),
    };
    (mean, error.map_or_else(|| "–".to_owned(), write))
}

/// Two digits that count, wherever they begin: an error that rounds to nothing would say that there is none.
fn two_digits(value: f64) -> String {
    // Nothing that a table shows begins later.
    const PLACES_MAX: usize = 20;
    if value == 0.0 || !value.is_finite() || value >= 10.0 {
        return digits(value, 2);
    }
    let (mut places, mut bound) = (1, 1.0);
    while value < bound && places < PLACES_MAX {
        bound /= 10.0;
        places += 1;
    }
    let text = format!("{value:.places$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A length in milliseconds that may be far below one.
fn short_length(millis: f64) -> String {
    let (value, unit) = match millis {
        none if none <= 0.0 => (0.0, "s"),
        millis if millis < 0.001 => (millis * 1e6, "ns"),
        millis if millis < 1.0 => (millis * 1e3, "us"),
        millis if millis < 1e3 => (millis, "ms"),
        millis => (millis / 1e3, "s"),
    };
    format!("{}{unit}", two_digits(value))
}

/// What became of this claim live.
pub(super) fn claim(document: &Document, place: usize, colour: Colour) -> String {
    let live = document.live.as_ref().and_then(|live| live.claims.get(place));
    live.map_or_else(String::new, |Claim { measured, holds, .. }| {
        format!(
            ", live {}{}",
            digits(*measured, 4),
            unless_it_holds(*holds, colour)
        )
    })
}

/// What became of this assert live.
pub(super) fn assert(document: &Document, place: usize, colour: Colour) -> String {
    judged(document, place).map_or_else(String::new, |judged| {
        let measured = super::measured(document, judged);
        format!(", live {measured}{}", unless_it_holds(judged.holds, colour))
    })
}

/// The same assert, judged by what was lived.
pub(in super::super) fn judged(document: &Document, place: usize) -> Option<&Judged> {
    document.live.as_ref()?.asserts.get(place)
}

fn unless_it_holds(holds: bool, colour: Colour) -> String {
    match holds {
        true => String::new(),
        false => format!(" {}", mark(false, colour)),
    }
}

#[cfg(test)]
mod tests;
