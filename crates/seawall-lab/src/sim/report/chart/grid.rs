//! A preset's own grid as lines: what grows with what, a line a strategy.
//!
//! Not every grid is one: it takes a column of numbers that come again and again, as what a grid is made over does, and
//! another to draw over it. Lines have a colour, a dash and a mark each; of more than there are of those nothing is
//! drawn, for nobody could tell them apart.

use super::panels::{WIDTH, count, whole};
use crate::sim::report::axis::Axis;
use crate::sim::report::figures::{number, shortened};
use crate::sim::report::ink::{Ink, KINDS};
use crate::sim::report::svg::{Anchor, Drawing, Frame, Setting, Size, px};
use serde_json::{Map, Value};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Pictures of one grid at the most.
const PICTURES_MAX: usize = 6;

/// A row of a grid.
type Row = Map<String, Value>;

/// Every picture that a grid makes: the file's name of each without its ending, and the picture.
pub(in crate::sim::report) fn all(table: &Value, setting: Setting) -> Vec<(String, String)> {
    let rows: Vec<&Row> = table
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .collect();
    let Some(shape) = Shape::of(&rows) else {
        return Vec::new();
    };
    let mut pictures = Vec::new();
    for value in &shape.values {
        for sheet in names(&rows, &shape.sheets) {
            let number = pictures.len() + 1;
            let own: Vec<&Row> = rows
                .iter()
                .copied()
                .filter(|row| name(row, &shape.sheets) == sheet)
                .collect();
            pictures.push((
                format!("grid-{number}"),
                draw(&own, &shape, value, &sheet, number, setting),
            ));
        }
    }
    pictures.truncate(PICTURES_MAX);
    pictures
}

/// What the columns of a grid are, by what their values are like.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// What runs from left to right.
    pub(super) x: String,
    /// Whose values together name a line.
    pub(super) lines: Vec<String>,
    /// Whose values together name a picture.
    pub(super) sheets: Vec<String>,
    /// What is drawn, a picture each.
    pub(super) values: Vec<String>,
}

impl Shape {
    pub(super) fn of(rows: &[&Row]) -> Option<Self> {
        let keys: BTreeSet<&str> = rows
            .iter()
            .flat_map(|row| row.keys().map(String::as_str))
            .collect();
        let is_number = |key: &&str| rows.iter().all(|row| row.get(*key).is_some_and(Value::is_number));
        let (numbers, words): (Vec<&str>, Vec<&str>) = keys.into_iter().partition(is_number);
        let kinds = |key: &str| {
            let bits = rows
                .iter()
                .filter_map(|row| row.get(key)?.as_f64().map(f64::to_bits));
            bits.collect::<BTreeSet<_>>().len()
        };
        // What a grid is made over comes as often with each of its values.
        let is_made =
            |key: &str| (2..rows.len()).contains(&kinds(key)) && rows.len().is_multiple_of(kinds(key));
        let made: Vec<&str> = numbers.iter().copied().filter(|key| is_made(key)).collect();
        let x = made.iter().copied().min_by_key(|key| Reverse(kinds(key)))?;
        let others = made
            .iter()
            .filter(|key| **key != x)
            .map(|key| (*key).to_owned())
            .collect();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let (lines, sheets) = match words.is_empty() {
            true => (others, Vec::new()),
            false => (words, others),
        };
        let is_value = |key: &&str| !made.contains(key) && !key.starts_with("sd_") && kinds(key) > 1;
        let values: Vec<String> = numbers
            .iter()
            .copied()
            .filter(is_value)
            .map(str::to_owned)
            .collect();
        let told_apart = (1..=KINDS).contains(&names(rows, &lines).len());
        (told_apart && !values.is_empty()).then(|| Self {
            x: x.to_owned(),
            lines,
            sheets,
            values,
        })
    }
}

/// What these columns call a row.
fn name(row: &Row, columns: &[String]) -> String {
    let parts = columns.iter().filter_map(|column| match row.get(column)? {
        Value::String(text) => Some(text.clone()),
        other => Some(format!("{column} {other}")),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The names of all rows, each once.
fn names(rows: &[&Row], columns: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let name = name(row, columns);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn figure(row: &Row, key: &str) -> f64 {
    row.get(key).and_then(Value::as_f64).unwrap_or(0.0)
}

fn draw(rows: &[&Row], shape: &Shape, value: &str, sheet: &str, number: usize, setting: Setting) -> String {
    let plot = Frame {
        x: 72.0,
        y: 56.0,
        width: WIDTH - 72.0 - 230.0,
        height: 260.0,
    };
    let most = |key: &str| rows.iter().map(|row| figure(row, key)).fold(0.0, f64::max);
    let axes = (Axis::holding(most(&shape.x)), Axis::holding(most(value)));
    let heading = match sheet {
        "" => format!("{value} by {}", shape.x),
        sheet => format!("{value} by {}, {sheet}", shape.x),
    };
    let mut drawing = Drawing::new(&format!("grid{number}"));
    drawing.text(
        (16.0, 30.0),
        Anchor::Start,
        Size::Heading,
        Ink::Text,
        &shortened(&heading, 96),
    );
    back(&mut drawing, axes, &plot);
    let lines = names(rows, &shape.lines);
    for (kind, line) in lines.iter().enumerate() {
        let own = rows.iter().filter(|row| name(row, &shape.lines) == *line);
        let at = |row: &&Row| {
            let x = plot.x + axes.0.at(figure(row, &shape.x)) * plot.width;
            (x, plot.bottom() - axes.1.at(figure(row, value)) * plot.height)
        };
        let mut points: Vec<(f64, f64)> = own.map(at).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        stroke(&mut drawing, &points, kind);
        let (from, y) = (plot.right() + 24.0, plot.y + 10.0 + count(kind) * 22.0);
        stroke(&mut drawing, &[(from, y), (from + 30.0, y)], kind);
        let words = shortened(line, 26);
        let at = (from + 40.0, y + 4.0);
        drawing.titled(
            at,
            Anchor::Start,
            Size::Plain,
            Ink::Text,
            &words,
            whole(&words, line),
        );
    }
    let about = format!("{heading}; a line each for {}", lines.join("; "));
    drawing.finish(WIDTH, plot.bottom() + 32.0, &heading, &about, setting)
}

/// A line of a kind through points, with a mark at each.
fn stroke(drawing: &mut Drawing, points: &[(f64, f64)], kind: usize) {
    let ink = Ink::Kind(kind);
    let path: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{} {}", px(*x), px(*y)))
        .collect();
    drawing.path(&format!("M{}", path.join("L")), ink, 1.8, ink.dash());
    for point in points {
        drawing.mark(*point, kind);
    }
}

fn back(drawing: &mut Drawing, axes: (Axis, Axis), plot: &Frame) {
    for tick in axes.1.ticks() {
        let y = plot.bottom() - axes.1.at(tick) * plot.height;
        drawing.line((plot.x, y), (plot.right(), y), Ink::Grid, 1.0, "");
        drawing.text(
            (plot.x - 8.0, y + 4.0),
            Anchor::End,
            Size::Small,
            Ink::Muted,
            &number(tick),
        );
    }
    for tick in axes.0.ticks() {
        let x = plot.x + axes.0.at(tick) * plot.width;
        drawing.line((x, plot.bottom()), (x, plot.bottom() + 4.0), Ink::Axis, 1.0, "");
        drawing.text(
            (x, plot.bottom() + 17.0),
            Anchor::Middle,
            Size::Small,
            Ink::Muted,
            &number(tick),
        );
    }
    drawing.line(
        (plot.x, plot.bottom()),
        (plot.right(), plot.bottom()),
        Ink::Axis,
        1.0,
        "",
    );
}

#[cfg(test)]
mod tests;
