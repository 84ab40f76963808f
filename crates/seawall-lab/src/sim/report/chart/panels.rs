//! Small panels with the same axes, one a policy.

use super::{Part, Scene};
use crate::sim::report::axis::Axis;
use crate::sim::report::figures::{length, percent, shortened, times};
use crate::sim::report::ink::Ink;
use crate::sim::report::svg::{Anchor, Drawing, Frame, Pattern, Size};

/// How wide a picture is: what a page shows without scaling, and a paper holds.
pub(in crate::sim::report) const WIDTH: f64 = 960.0;
/// The edge at both sides.
const EDGE: f64 = 16.0;
/// What figures beside an axis take.
const LABELS: f64 = 56.0;
const GAP_X: f64 = 24.0;
const GAP_Y: f64 = 20.0;
/// A panel's plot, its two lines above and its axis below.
const PLOT: f64 = 116.0;
const ABOVE: f64 = 40.0;
const BELOW: f64 = 22.0;
/// One line of the legend, and one entry of it.
const KEY_LINE: f64 = 20.0;
const KEY: f64 = 186.0;
const KEYS_PER_LINE: usize = 5;
/// A panel alone is not wider: lines would be flat.
const PANEL_MAX: f64 = 560.0;

/// An entry of a legend.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) sample: Sample,
    pub(super) text: String,
}

/// What a legend shows beside its words.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sample {
    Line(Ink, &'static str),
    Area(Ink, Ink),
    Filled(Pattern),
    Outage,
}

/// An axis with the figures that stand beside it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ruler {
    pub(super) axis: Axis,
    pub(super) marks: Vec<(f64, String)>,
    /// What it counts, and in which unit.
    pub(super) unit: String,
}

/// What a picture of panels says around them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sheet<'a> {
    pub(super) name: &'a str,
    pub(super) heading: String,
    pub(super) reading: String,
    pub(super) keys: Vec<Key>,
    pub(super) x: Ruler,
    pub(super) y: Ruler,
    /// Which have a panel, in their order.
    pub(super) policies: Vec<usize>,
}

/// Draws a picture; `draw` fills the plot of each policy.
pub(super) fn write(
    scene: &Scene<'_>,
    sheet: &Sheet<'_>,
    mut draw: impl FnMut(&mut Drawing, usize, &Frame),
) -> String {
    let panels = sheet.policies.len();
    let columns = match panels {
        0..=3 => panels.max(1),
        4 => 2,
        _ => 3,
    };
    let mut drawing = Drawing::new(&scene.id(sheet.name));
    let top = legend(&mut drawing, sheet);
    let gaps = GAP_X * count(columns - 1);
    let width = ((WIDTH - 2.0 * EDGE - LABELS - gaps) / count(columns)).min(PANEL_MAX);
    let tall = ABOVE + PLOT + BELOW;
    for (panel, policy) in sheet.policies.iter().copied().enumerate() {
        let (row, column) = (panel / columns, panel % columns);
        let plot = Frame {
            x: EDGE + LABELS + count(column) * (width + GAP_X),
            y: top + count(row) * (tall + GAP_Y) + ABOVE,
            width,
            height: PLOT,
        };
        head(&mut drawing, scene.part, policy, &plot);
        let side = if column == 0 { Side::Labelled } else { Side::Bare };
        back(&mut drawing, sheet, &plot, side);
        draw(&mut drawing, policy, &plot);
        front(&mut drawing, sheet, &plot);
    }
    let rows = panels.div_ceil(columns);
    let height = top + count(rows) * tall + count(rows.saturating_sub(1)) * GAP_Y + 12.0;
    let about = about(scene.part);
    drawing.finish(WIDTH, height, &sheet.heading, &about, scene.setting)
}

/// Whether a panel has figures at its left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Labelled,
    Bare,
}

/// The figures of every policy in words: what somebody hears who cannot see a picture.
pub(super) fn about(part: &Part<'_>) -> String {
    let each = (0..part.policies())
        .map(|policy| format!("{}: {}.", part.summaries[policy].name, gist(part, policy)));
    each.collect::<Vec<_>>().join(" ")
}

/// A policy in three or four figures.
fn gist(part: &Part<'_>, policy: usize) -> String {
    let summary = &part.summaries[policy];
    if summary.calls == 0 {
        return "no calls".to_owned();
    }
    let mut parts = vec![
        format!("success {}", percent(summary.success_rate)),
        format!("load {}", times(summary.amplification)),
    ];
    let back = part.study.recovers_from().map(|_| match summary.recovery_s {
        Some(seconds) => format!("back in {}", recovery(seconds)),
        None => "never back".to_owned(),
    });
    match summary.p_collapse.filter(|share| *share > 0.0) {
        None => parts.extend(back),
        Some(all) if all >= 1.0 => parts.push("collapses".to_owned()),
        Some(some) => parts.push(format!("collapses in {}", percent(some))),
    }
    parts.join(" · ")
}

/// How long a recovery took.
pub(in crate::sim::report) fn recovery(seconds: f64) -> String {
    match seconds {
        at_once if at_once <= 0.0 => "0\u{a0}s".to_owned(),
        seconds => length(seconds * 1_000.0),
    }
}

/// The heading and what the lines mean; returns where the panels begin.
fn legend(drawing: &mut Drawing, sheet: &Sheet<'_>) -> f64 {
    drawing.text(
        (EDGE, 30.0),
        Anchor::Start,
        Size::Heading,
        Ink::Text,
        &shortened(&sheet.heading, 96),
    );
    drawing.text(
        (EDGE, 50.0),
        Anchor::Start,
        Size::Plain,
        Ink::Muted,
        &sheet.reading,
    );
    for (number, key) in sheet.keys.iter().enumerate() {
        let (line, place) = (number / KEYS_PER_LINE, number % KEYS_PER_LINE);
        let (x, y) = (EDGE + count(place) * KEY, 72.0 + count(line) * KEY_LINE);
        let sample = Frame {
            x,
            y: y - 9.0,
            width: 22.0,
            height: 10.0,
        };
        let middle = sample.y + 5.0;
        match &key.sample {
            Sample::Line(ink, dash) => {
                drawing.line((x, middle), (sample.right(), middle), *ink, 2.0, dash);
            }
            Sample::Area(fill, edge) => {
                drawing.rect(&sample, *fill);
                drawing.line((x, sample.y), (sample.right(), sample.y), *edge, 1.2, "");
            }
            Sample::Filled(pattern) => drawing.patterned(&sample, pattern),
            Sample::Outage => band(drawing, &sample),
        }
        let words = shortened(&key.text, 32);
        drawing.titled(
            (x + 29.0, y),
            Anchor::Start,
            Size::Plain,
            Ink::Text,
            &words,
            whole(&words, &key.text),
        );
    }
    let lines = sheet.keys.len().div_ceil(KEYS_PER_LINE);
    64.0 + count(lines) * KEY_LINE
}

/// The whole of a text that was cut; nothing of one that was not.
pub(in crate::sim::report) fn whole<'a>(words: &str, text: &'a str) -> &'a str {
    if words == text { "" } else { text }
}

fn head(drawing: &mut Drawing, part: &Part<'_>, policy: usize, plot: &Frame) {
    let summary = &part.summaries[policy];
    let letters = whole_number(plot.width / 8.0);
    let name = shortened(&summary.name, letters);
    drawing.titled(
        (plot.x, plot.y - 25.0),
        Anchor::Start,
        Size::Name,
        Ink::Text,
        &name,
        whole(&name, &summary.name),
    );
    drawing.text(
        (plot.x, plot.y - 9.0),
        Anchor::Start,
        Size::Small,
        Ink::Muted,
        &gist(part, policy),
    );
}

/// Lines that help the eye, and the figures beside the axes.
fn back(drawing: &mut Drawing, sheet: &Sheet<'_>, plot: &Frame, side: Side) {
    for (value, text) in &sheet.y.marks {
        let y = plot.bottom() - sheet.y.axis.at(*value) * plot.height;
        drawing.line((plot.x, y), (plot.right(), y), Ink::Grid, 1.0, "");
        if side == Side::Labelled {
            drawing.text(
                (plot.x - 8.0, y + 4.0),
                Anchor::End,
                Size::Small,
                Ink::Muted,
                text,
            );
        }
    }
    if side == Side::Labelled && !sheet.y.unit.is_empty() {
        drawing.text(
            (plot.x - 8.0, plot.y - 9.0),
            Anchor::End,
            Size::Small,
            Ink::Muted,
            &sheet.y.unit,
        );
    }
}

/// What lies over a plot: its lower edge, and the figures below.
fn front(drawing: &mut Drawing, sheet: &Sheet<'_>, plot: &Frame) {
    drawing.line(
        (plot.x, plot.bottom()),
        (plot.right(), plot.bottom()),
        Ink::Axis,
        1.0,
        "",
    );
    for (value, text) in &sheet.x.marks {
        let x = plot.x + sheet.x.axis.at(*value) * plot.width;
        drawing.line((x, plot.bottom()), (x, plot.bottom() + 4.0), Ink::Axis, 1.0, "");
        let anchor = match x {
            x if x - plot.x < 1.0 => Anchor::Start,
            x if plot.right() - x < 1.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        drawing.text((x, plot.bottom() + 16.0), anchor, Size::Small, Ink::Muted, text);
    }
}

/// An outage: a tint with hatches, and a bar above, which load cannot cover.
pub(super) fn band(drawing: &mut Drawing, frame: &Frame) {
    drawing.patterned(frame, &Pattern::Outage);
    let bar = Frame {
        y: frame.y - 3.0,
        height: 3.0,
        ..*frame
    };
    drawing.rect(&bar, Ink::OutageEdge);
}

#[expect(clippy::cast_precision_loss, reason = "a few panels")]
pub(in crate::sim::report) const fn count(of: usize) -> f64 {
    of as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "letters that fit a panel: a few dozen"
)]
fn whole_number(of: f64) -> usize {
    of.max(0.0) as usize
}

/// A word in the upper right corner of a plot.
pub(super) fn remark(drawing: &mut Drawing, plot: &Frame, text: &str) {
    drawing.text(
        (plot.right() - 4.0, plot.y + 13.0),
        Anchor::End,
        Size::Small,
        Ink::Muted,
        text,
    );
}

/// A word in the lower right corner of a plot.
pub(super) fn remark_below(drawing: &mut Drawing, plot: &Frame, text: &str) {
    drawing.text(
        (plot.right() - 4.0, plot.bottom() - 7.0),
        Anchor::End,
        Size::Small,
        Ink::Muted,
        text,
    );
}
