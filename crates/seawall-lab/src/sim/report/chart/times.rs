//! How soon calls are answered: for each time, the share of all calls that were answered within it.
//!
//! The line ends at the success rate and not at 100 %: a policy that gives up early has no fine latencies by that.

use super::over_time::through;
use super::panels::{self, Key, Ruler, Sample, Sheet};
use super::{Part, Scene};
use crate::sim::report::axis::{self, Axis};
use crate::sim::report::figures::length;
use crate::sim::report::ink::Ink;
use crate::sim::report::svg::{Frame, px};
use crate::sim::summary::{float, millis};
use crate::sim::tally::Histogram;

/// Draws it.
pub(super) fn write(scene: &Scene<'_>) -> String {
    let lines: Vec<Vec<(f64, f64)>> = (0..scene.part.policies())
        .map(|policy| within(scene.part, policy))
        .collect();
    let ends = lines.iter().flatten().map(|(millis, _)| *millis);
    let (least, most) = ends.fold((f64::INFINITY, 0.0_f64), |(low, high), at| {
        (low.min(at), high.max(at))
    });
    let axis = match most > 0.0 {
        true => Axis::of_times(least.max(0.001), most),
        false => Axis::of_times(1.0, 1_000.0),
    };
    let ticks = axis.ticks();
    // Tenfold marks are close on a scale from microseconds to hours.
    let every = ticks.len().div_ceil(5);
    let marks = ticks.into_iter().step_by(every).map(|tick| (tick, length(tick)));
    let mut keys = vec![Key {
        sample: Sample::Line(Ink::Answers, ""),
        text: "this policy".to_owned(),
    }];
    if scene.part.policies() > 1 {
        keys.push(Key {
            sample: Sample::Line(Ink::Axis, "2 2"),
            text: "the others".to_owned(),
        });
    }
    let sheet = Sheet {
        name: "latency",
        heading: scene.heading("Answered within"),
        reading:
            "the share of all calls that were answered within a time, from when they were due; all seeds"
                .to_owned(),
        keys,
        x: Ruler {
            axis,
            marks: marks.collect(),
            unit: String::new(),
        },
        y: Ruler {
            axis: Axis::up_to(1.0),
            marks: axis::shares(),
            unit: String::new(),
        },
        policies: (0..scene.part.policies()).collect(),
    };
    panels::write(scene, &sheet, |drawing, policy, plot| {
        let others = (0..lines.len()).filter(|other| *other != policy);
        for other in others {
            drawing.path(&stairs(&lines[other], axis, plot), Ink::Axis, 1.0, "2 2");
        }
        drawing.path(&stairs(&lines[policy], axis, plot), Ink::Answers, 2.0, "");
        let summary = &scene.part.summaries[policy];
        if let (Some(p50), Some(p99)) = (summary.p50_ms, summary.p99_ms) {
            let text = format!("p50 {} · p99 {}", length(p50), length(p99));
            panels::remark_below(drawing, plot, &text);
        } else {
            panels::remark_below(drawing, plot, "no calls");
        }
    })
}

/// Times in milliseconds, and the share of all calls that were answered within each.
fn within(part: &Part<'_>, policy: usize) -> Vec<(f64, f64)> {
    let mut answered = Histogram::default();
    let mut calls = 0;
    for tally in part.runs(policy) {
        answered.merge(&tally.latency_answered);
        calls += tally.calls;
    }
    let mut sum = 0;
    let buckets = answered.buckets().map(|(edge, count)| {
        sum += count;
        (millis(edge.min(answered.max())), float(sum) / float(calls.max(1)))
    });
    buckets.collect()
}

/// A line that rises at each time, one step a pixel at the most.
fn stairs(points: &[(f64, f64)], axis: Axis, plot: &Frame) -> String {
    let y = |share: f64| plot.bottom() - share * plot.height;
    let mut path = vec![(plot.x, y(0.0))];
    let mut last = (plot.x, 0.0);
    for (millis, share) in points {
        let x = plot.x + axis.at(*millis) * plot.width;
        if x - last.0 >= 1.0 || (share - last.1).abs() * plot.height >= 1.0 {
            path.push((x, y(last.1)));
            path.push((x, y(*share)));
            last = (x, *share);
        }
    }
    path.push((plot.right(), y(points.last().map_or(0.0, |(_, share)| *share))));
    path.dedup_by_key(|(x, y)| (px(*x), px(*y)));
    through(&path)
}
