//! The figures of all policies at a glance: a row a policy, a bar a figure, and on it from where to where the true
//! value is.

use super::Scene;
use super::panels::{WIDTH, about, count, recovery, whole};
use crate::sim::report::axis::Axis;
use crate::sim::report::figures::{length, percent, shortened, times};
use crate::sim::report::ink::Ink;
use crate::sim::report::svg::{Anchor, Drawing, Frame, Pattern, Size};
use crate::sim::stats::Interval;
use crate::sim::summary::Summary;

const EDGE: f64 = 16.0;
const NAMES: f64 = 190.0;
const GAP: f64 = 22.0;
const ROW: f64 = 44.0;
const TOP: f64 = 92.0;
const BAR: f64 = 9.0;

/// One column.
struct Column {
    heading: &'static str,
    axis: Axis,
    cells: Vec<Cell>,
}

/// What one policy has in it.
enum Cell {
    Value(f64, String, Option<Interval>),
    /// It never came to pass.
    Never,
    /// There was nothing to measure, and why.
    Nothing(&'static str),
}

/// Draws it.
pub(super) fn write(scene: &Scene<'_>) -> String {
    let summaries = &scene.part.summaries[..scene.part.policies()];
    let columns = columns(scene, summaries);
    let mut drawing = Drawing::new(&scene.id("glance"));
    let heading = scene.heading("At a glance");
    drawing.text(
        (EDGE, 30.0),
        Anchor::Start,
        Size::Heading,
        Ink::Text,
        &shortened(&heading, 96),
    );
    let reading = match scene.part.study.seeds {
        0 | 1 => "one seed: no line says how far a figure can be trusted".to_owned(),
        seeds => format!("{seeds} seeds; the true value is on the line at a bar's end 95 times of 100"),
    };
    drawing.text((EDGE, 50.0), Anchor::Start, Size::Plain, Ink::Muted, &reading);
    let width = (WIDTH - 2.0 * EDGE - NAMES - GAP * count(columns.len())) / count(columns.len());
    for (row, summary) in summaries.iter().enumerate() {
        let y = TOP + count(row) * ROW;
        let name = shortened(&summary.name, 26);
        let at = (EDGE, y + 24.0);
        drawing.titled(
            at,
            Anchor::Start,
            Size::Name,
            Ink::Text,
            &name,
            whole(&name, &summary.name),
        );
        drawing.line((EDGE, y), (WIDTH - EDGE, y), Ink::Grid, 1.0, "");
    }
    for (number, column) in columns.iter().enumerate() {
        let x = EDGE + NAMES + GAP + count(number) * (width + GAP);
        drawing.text(
            (x, TOP - 10.0),
            Anchor::Start,
            Size::Plain,
            Ink::Muted,
            column.heading,
        );
        for (row, cell) in column.cells.iter().enumerate() {
            let frame = Frame {
                x,
                y: TOP + count(row) * ROW,
                width,
                height: ROW,
            };
            draw(&mut drawing, column, cell, &frame);
        }
    }
    let height = TOP + count(summaries.len()) * ROW + 12.0;
    drawing.finish(WIDTH, height, &heading, &about(scene.part), scene.setting)
}

fn columns(scene: &Scene<'_>, summaries: &[Summary]) -> Vec<Column> {
    let ci = |summary: &Summary, name: &str| summary.ci.get(name).copied();
    let value =
        |summary: &Summary, value: f64, text: String, name: &str| Cell::Value(value, text, ci(summary, name));
    let each = |cell: &dyn Fn(&Summary) -> Cell| summaries.iter().map(cell).collect::<Vec<_>>();
    let success = |s: &Summary| value(s, s.success_rate, percent(s.success_rate), "success_rate");
    let load = |s: &Summary| value(s, s.amplification, times(s.amplification), "amplification");
    let p99 = |s: &Summary| match s.p99_ms {
        Some(p99) => value(s, p99, length(p99), "p99_ms"),
        None => Cell::Nothing("no calls"),
    };
    let collapse = |s: &Summary| match s.p_collapse {
        Some(share) => value(s, share, percent(share), "p_collapse"),
        None => Cell::Nothing("no calls at the end"),
    };
    let back = |s: &Summary| match s.recovery_s {
        Some(seconds) => value(s, seconds, recovery(seconds), "recovery_s"),
        None => Cell::Never,
    };
    let all = Axis::up_to(1.0);
    let mut columns = vec![
        column("success", Some(all), each(&success)),
        column("load, attempts a call", None, each(&load)),
        column("99 % take at most", None, each(&p99)),
        column("seeds that collapse", Some(all), each(&collapse)),
    ];
    if scene.part.study.recovers_from().is_some() {
        columns.push(column("recovery", None, each(&back)));
    }
    columns
}

/// A column on an axis that holds all its cells, or on this one.
fn column(heading: &'static str, axis: Option<Axis>, cells: Vec<Cell>) -> Column {
    let most = cells.iter().map(|cell| match cell {
        Cell::Value(value, _, interval) => {
            let high = interval.map_or(*value, |interval| interval.high);
            if high.is_finite() {
                high.max(*value)
            } else {
                *value
            }
        }
        Cell::Never | Cell::Nothing(_) => 0.0,
    });
    let most = most.fold(0.0, f64::max);
    Column {
        heading,
        axis: axis.unwrap_or_else(|| Axis::holding(most)),
        cells,
    }
}

fn draw(drawing: &mut Drawing, column: &Column, cell: &Cell, frame: &Frame) {
    let bar = Frame {
        y: frame.y + 26.0,
        height: BAR,
        ..*frame
    };
    let say = |drawing: &mut Drawing, text: &str| {
        drawing.text(
            (frame.x, frame.y + 19.0),
            Anchor::Start,
            Size::Plain,
            Ink::Text,
            text,
        );
    };
    match cell {
        Cell::Nothing(why) => say(drawing, why),
        Cell::Never => {
            say(drawing, "never");
            drawing.patterned(&bar, &Pattern::Never);
        }
        Cell::Value(value, text, interval) => {
            say(drawing, text);
            let filled = Frame {
                width: column.axis.at(*value) * bar.width,
                ..bar
            };
            drawing.rect(&bar, Ink::Grid);
            drawing.rect(&filled, Ink::Answers);
            if let Some(interval) = interval {
                whisker(drawing, column.axis, interval, &bar);
            }
        }
    }
}

/// From where to where the true value is, with an end on either side that is not beyond the column.
fn whisker(drawing: &mut Drawing, axis: Axis, interval: &Interval, bar: &Frame) {
    let x = |value: f64| match value {
        never if never == f64::INFINITY => bar.right(),
        value => bar.x + axis.at(value) * bar.width,
    };
    let (low, high, middle) = (x(interval.low), x(interval.high), bar.y + bar.height / 2.0);
    // A halo in the page's colour keeps the line apart from the bar that it lies on.
    drawing.line((low, middle), (high, middle), Ink::Surface, 3.6, "");
    drawing.line((low, middle), (high, middle), Ink::Text, 1.4, "");
    for end in [low, high] {
        drawing.line((end, bar.y - 1.0), (end, bar.bottom() + 1.0), Ink::Text, 1.4, "");
    }
}
