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

/// A figure and its standard error, in its unit.
fn written(what: &str, figure: Figure) -> (String, String) {
    let Figure { mean, error } = figure;
    match what {
        "success_rate" => (percent(mean), percent(error)),
        "mean_ms" => (length(mean), length(error)),
        _ => (digits(mean, 4), digits(error, 2)),
    }
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
