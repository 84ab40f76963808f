//! What happens over time: load and answers, why calls fail, which breakers are not closed.

use super::Scene;
use super::panels::{self, Key, Ruler, Sample, Sheet, band};
use crate::sim::report::Seeds;
use crate::sim::report::axis::{self, Axis};
use crate::sim::report::course::{self, Course, Steps};
use crate::sim::report::figures::number;
use crate::sim::report::ink::{Ink, KINDS};
use crate::sim::report::svg::{Drawing, Frame, Pattern, px};
use std::collections::BTreeSet;

/// Outages that are drawn apart; of more, those that are nearest to each other are one band.
const BANDS_MAX: usize = 200;

/// Time from left to right.
fn time(steps: Steps) -> Ruler {
    Ruler {
        axis: Axis::up_to(steps.seconds()),
        marks: axis::moments(steps.seconds()),
        unit: String::new(),
    }
}

/// A count a second from the bottom up.
fn per_second(most: f64) -> Ruler {
    let axis = Axis::holding(most);
    let marks = axis.ticks().into_iter().map(|tick| (tick, number(tick)));
    Ruler {
        axis,
        marks: marks.collect(),
        unit: "per s".to_owned(),
    }
}

/// A share from the bottom up.
fn share() -> Ruler {
    Ruler {
        axis: Axis::up_to(1.0),
        marks: axis::shares(),
        unit: String::new(),
    }
}

/// The load that reaches the servers as an area, useful answers as a line, what is offered as a thin one.
pub(super) fn load(scene: &Scene<'_>) -> String {
    let steps = Steps::of(scene.part);
    let model = &scene.part.study.model;
    let courses: Vec<[Course; 3]> = (0..scene.part.policies())
        .map(|policy| {
            let runs = scene.part.lined(policy);
            [
                steps.per_second(runs, |bin| bin.arrivals),
                steps.per_second(runs, |bin| bin.answered),
                steps.per_second(runs, |bin| bin.due),
            ]
        })
        .collect();
    let capacity = course::capacity(model);
    let most = courses.iter().flatten().map(Course::most).fold(0.0, f64::max);
    let mut keys = vec![
        key(Sample::Area(Ink::Load, Ink::LoadEdge), "load at the servers"),
        key(Sample::Line(Ink::Answers, ""), "useful answers"),
        key(Sample::Line(Ink::Text, OFFERED), "calls offered"),
    ];
    if capacity.is_some_and(|capacity| capacity <= most) {
        keys.push(key(
            Sample::Line(Ink::OutageEdge, CAPACITY),
            "what the servers bear",
        ));
    }
    keys.extend(outage_key(scene));
    let sheet = Sheet {
        name: "load",
        heading: scene.heading("Load and answers"),
        reading: format!("calls and attempts a second, {}", scene.reading()),
        keys,
        x: time(steps),
        y: per_second(most),
        policies: (0..scene.part.policies()).collect(),
    };
    panels::write(scene, &sheet, |drawing, policy, plot| {
        let [load, answers, offered] = &courses[policy];
        let curve = Curve {
            steps,
            plot,
            y: sheet.y.axis,
        };
        bands(drawing, scene, steps, plot);
        drawing.area(&curve.area(&load.middle), Ink::Load, 1_000);
        drawing.path(&curve.line(&load.middle), Ink::LoadEdge, 1.0, "");
        if let Some(capacity) = capacity.filter(|capacity| *capacity <= most) {
            let y = curve.y(capacity);
            drawing.line((plot.x, y), (plot.right(), y), Ink::OutageEdge, 1.0, CAPACITY);
        }
        if scene.part.lined(policy).len() > 1 {
            drawing.area(&curve.between(&answers.low, &answers.high), Ink::Answers, 180);
        }
        drawing.path(&curve.line(&offered.middle), Ink::Text, 1.0, OFFERED);
        drawing.path(&curve.line(&answers.middle), Ink::Answers, 2.0, "");
    })
}

const OFFERED: &str = "4 3";
const CAPACITY: &str = "1.5 2.5";

/// Why calls fail, stacked.
pub(super) fn reasons(scene: &Scene<'_>) -> String {
    let steps = Steps::of(scene.part);
    let failures = steps.failures(scene.part);
    let sums = failures
        .by_policy
        .iter()
        .flat_map(|stack| (0..steps.count()).map(|step| stack.iter().map(|kind| kind[step]).sum::<f64>()));
    let most = sums.fold(0.0, f64::max);
    let named = failures.names.iter().enumerate();
    let mut keys: Vec<Key> = named
        .map(|(kind, name)| key(Sample::Filled(Pattern::Kind(kind)), name))
        .collect();
    keys.extend(outage_key(scene));
    let sheet = Sheet {
        name: "reasons",
        heading: scene.heading("Why calls fail"),
        reading: match (scene.part.study.seeds, scene.part.lined_seeds()) {
            (0 | 1, _) | (_, Seeds::First) => {
                format!("failed calls a second, by reason; {}", scene.reading())
            }
            (seeds, Seeds::All) => format!("failed calls a second, by reason; the mean of {seeds} seeds"),
        },
        keys,
        x: time(steps),
        y: per_second(most),
        policies: (0..scene.part.policies()).collect(),
    };
    panels::write(scene, &sheet, |drawing, policy, plot| {
        let curve = Curve {
            steps,
            plot,
            y: sheet.y.axis,
        };
        bands(drawing, scene, steps, plot);
        let mut below = vec![0.0; steps.count()];
        for (kind, counts) in failures.by_policy[policy].iter().enumerate() {
            let above: Vec<f64> = below
                .iter()
                .zip(counts)
                .map(|(below, count)| below + count)
                .collect();
            if counts.iter().any(|count| *count > 0.0) {
                drawing.patterned_area(&curve.between(&below, &above), &Pattern::Kind(kind % KINDS));
                drawing.path(&curve.line(&above), Ink::Surface, 0.8, "");
            }
            below = above;
        }
    })
}

/// The share of gates that refuse or probe.
pub(super) fn breakers(scene: &Scene<'_>) -> String {
    let steps = Steps::of(scene.part);
    let study = scene.part.study;
    let mut keys = vec![key(Sample::Area(Ink::Load, Ink::LoadEdge), "gates not closed")];
    keys.extend(outage_key(scene));
    let gates = |policy: usize| course::breakers(&study.model, &study.contenders[policy]);
    let policies: Vec<usize> = (0..scene.part.policies())
        .filter(|policy| gates(*policy) > 0)
        .collect();
    let without = match scene.part.policies() - policies.len() {
        0 => String::new(),
        without => format!("; {without} without a breaker are left out"),
    };
    let sheet = Sheet {
        name: "breakers",
        heading: scene.heading("Breakers that are not closed"),
        reading: format!(
            "the share of all gates that refuse or probe, {}{without}",
            scene.reading()
        ),
        keys,
        x: time(steps),
        y: share(),
        policies,
    };
    panels::write(scene, &sheet, |drawing, policy, plot| {
        let gates = gates(policy);
        bands(drawing, scene, steps, plot);
        let open = steps.open_share(scene.part.lined(policy), gates);
        let curve = Curve {
            steps,
            plot,
            y: sheet.y.axis,
        };
        drawing.area(&curve.area(&open.middle), Ink::Load, 1_000);
        if scene.part.lined(policy).len() > 1 {
            drawing.area(&curve.between(&open.low, &open.high), Ink::Answers, 180);
        }
        drawing.path(&curve.line(&open.middle), Ink::LoadEdge, 1.5, "");
        let gates = match gates {
            1 => "one gate".to_owned(),
            gates => format!("{} gates", crate::sim::report::figures::count(gates)),
        };
        panels::remark(drawing, plot, &gates);
    })
}

fn key(sample: Sample, text: &str) -> Key {
    Key {
        sample,
        text: text.to_owned(),
    }
}

/// What the bands mean, where there are some.
fn outage_key(scene: &Scene<'_>) -> Option<Key> {
    let outages = course::outages(scene.part);
    let kinds: BTreeSet<String> = outages.iter().map(|outage| course::trouble(outage.how)).collect();
    let text = match kinds.len() {
        0 => return None,
        1 | 2 => format!("a server {}", kinds.into_iter().collect::<Vec<_>>().join(" or ")),
        _ => "a server is not well".to_owned(),
    };
    Some(key(Sample::Outage, &text))
}

/// No more than so many of these, in their order: those that are nearest to each other become one.
fn at_most(most: usize, apart: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let mut gaps: Vec<f64> = apart.windows(2).map(|pair| pair[1].0 - pair[0].1).collect();
    gaps.sort_by(|a, b| b.total_cmp(a));
    // The widest gaps stay, one fewer than bands.
    let Some(widest) = gaps.get(most.saturating_sub(1)).copied() else {
        return apart;
    };
    let mut bands: Vec<(f64, f64)> = Vec::new();
    for (from, to) in apart {
        match bands.last_mut().filter(|last| from - last.1 <= widest) {
            Some(last) => last.1 = to,
            None => bands.push((from, to)),
        }
    }
    bands
}

/// The times in which a server is not well.
fn bands(drawing: &mut Drawing, scene: &Scene<'_>, steps: Steps, plot: &Frame) {
    let pixels = plot.width / steps.seconds();
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for outage in course::outages(scene.part) {
        let from = course::seconds(outage.at) * pixels;
        let to = (from + (course::length(outage.lasts) * pixels).max(1.5)).min(plot.width);
        match joined.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = last.1.max(to),
            None if from < plot.width => joined.push((from, to)),
            None => {}
        }
    }
    for (from, to) in at_most(BANDS_MAX, joined) {
        let frame = Frame {
            x: plot.x + from,
            width: to - from,
            ..*plot
        };
        band(drawing, &frame);
    }
}

/// From steps and figures to a path in a plot.
struct Curve<'a> {
    steps: Steps,
    plot: &'a Frame,
    y: Axis,
}

impl Curve<'_> {
    fn x(&self, step: usize) -> f64 {
        self.plot.x + self.steps.middle(step) / self.steps.seconds() * self.plot.width
    }

    fn y(&self, value: f64) -> f64 {
        self.plot.bottom() - self.y.at(value) * self.plot.height
    }

    /// Through the middles of the steps, from edge to edge.
    fn points(&self, values: &[f64]) -> Vec<(f64, f64)> {
        let Some((first, last)) = values.first().zip(values.last()) else {
            return Vec::new();
        };
        let inner = values.iter().enumerate();
        let mut points = vec![(self.plot.x, self.y(*first))];
        points.extend(inner.map(|(step, value)| (self.x(step), self.y(*value))));
        points.push((self.plot.right(), self.y(*last)));
        points
    }

    fn line(&self, values: &[f64]) -> String {
        through(&self.points(values))
    }

    fn area(&self, values: &[f64]) -> String {
        self.between(&vec![0.0; values.len()], values)
    }

    fn between(&self, low: &[f64], high: &[f64]) -> String {
        let back = self.points(low).into_iter().rev();
        let around: Vec<(f64, f64)> = self.points(high).into_iter().chain(back).collect();
        format!("{}Z", through(&around))
    }
}

/// A path through points; those that lie on a level line between their neighbours are left out.
pub(super) fn through(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let level = |other: Option<&(f64, f64)>| other.is_some_and(|other| px(other.1) == px(*y));
        if at > 0 && level(points.get(at - 1)) && level(points.get(at + 1)) {
            continue;
        }
        path.push(if at == 0 { 'M' } else { 'L' });
        path.push_str(&format!("{} {}", px(*x), px(*y)));
    }
    path
}

#[cfg(test)]
mod tests;
