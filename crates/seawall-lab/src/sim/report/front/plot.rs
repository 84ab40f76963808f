//! The front, two figures at a time.

use crate::sim::report::axis::Axis;
use crate::sim::report::chart::panels::{WIDTH, count, recovery, whole};
use crate::sim::report::figures::{dollars, length, number, percent, shortened, times};
use crate::sim::report::ink::Ink;
use crate::sim::report::svg::{Anchor, Drawing, Frame, Setting, Size, px};
use crate::sim::search::{Figures, Found, Row};

const EDGE: f64 = 16.0;
const LABELS: f64 = 60.0;
/// Where the first panel begins, and how tall it and the others are.
const TOP: f64 = 116.0;
const TALL: f64 = 250.0;
const SMALL: f64 = 150.0;
/// Between a panel and the next below it: figures of the axis, and a heading.
const BETWEEN: f64 = 74.0;
const GAP: f64 = 28.0;
/// Small panels beside each other.
const ABREAST: usize = 4;
/// What never came stands to the right of all that came, from here on.
const CAME: f64 = 0.88;
/// Names beside marks are at most so long, in letters, each so wide.
const NAME_LETTERS: usize = 22;
const LETTER: f64 = 6.3;
const BOLD_LETTER: f64 = 8.2;

/// Marks, by their kind: each has a colour and a shape.
const FRONT: usize = 0;
const GIVEN: usize = 1;
const CHOSEN: usize = 2;

/// Draws it; `None` where nothing ran.
pub(super) fn write(found: &Found, setting: Setting) -> Option<String> {
    let marked = marked(found);
    if marked.is_empty() {
        return None;
    }
    let y = upwards(&marked);
    let mut drawing = Drawing::new("front");
    let heading = format!("What nothing beats: {}", found.name);
    let at = (EDGE, 30.0);
    let words = shortened(&heading, 96);
    drawing.text(at, Anchor::Start, Size::Heading, Ink::Text, &words);
    legend(&mut drawing);
    let mut panels = panels(found, &marked).into_iter();
    let mut bottom = TOP;
    let mut beyond = 0;
    if let Some(panel) = panels.next() {
        let plot = Frame {
            x: EDGE + LABELS,
            y: TOP,
            width: WIDTH - 2.0 * EDGE - LABELS,
            height: TALL,
        };
        beyond = draw(&mut drawing, found, &marked, &panel, y, &plot, Side::Labelled);
        bottom = plot.bottom();
    }
    let rest: Vec<Panel> = panels.collect();
    let columns = rest.len().min(ABREAST);
    let width =
        (WIDTH - 2.0 * EDGE - LABELS - GAP * count(columns.saturating_sub(1))) / count(columns.max(1));
    let below = bottom + BETWEEN;
    for (place, panel) in rest.iter().enumerate() {
        let plot = Frame {
            x: EDGE + LABELS + count(place) * (width + GAP),
            y: below,
            width,
            height: SMALL,
        };
        let side = if place == 0 { Side::Labelled } else { Side::Bare };
        draw(&mut drawing, found, &marked, panel, y, &plot, side);
        bottom = plot.bottom();
    }
    let mut reading = "less is better both ways; the front is of all figures together".to_owned();
    if beyond > 0 {
        reading.push_str(&format!(
            "; {beyond} of the policies that ran lie beyond the edges of the first"
        ));
    }
    drawing.text((EDGE, 50.0), Anchor::Start, Size::Plain, Ink::Muted, &reading);
    Some(drawing.finish(WIDTH, bottom + 44.0, &heading, &about(found), setting))
}

/// A policy that has a mark of its own.
struct Marked<'a> {
    row: &'a Row,
    kind: usize,
}

/// Those, the chosen one last, so that nothing covers it.
fn marked(found: &Found) -> Vec<Marked<'_>> {
    let is_chosen = |row: &Row| {
        found
            .winner
            .as_ref()
            .is_some_and(|winner| winner.name == row.name)
    };
    let given = found.given.iter().map(|row| Marked { row, kind: GIVEN });
    let own = |row: &Row| found.given.iter().any(|given| given.name == row.name);
    let front = found.front.iter().filter(|row| !own(row));
    let front = front.map(|row| Marked { row, kind: FRONT });
    let (mut all, chosen): (Vec<_>, Vec<_>) = given.chain(front).partition(|marked| !is_chosen(marked.row));
    all.extend(chosen.into_iter().map(|marked| Marked {
        kind: CHOSEN,
        ..marked
    }));
    all
}

/// A figure that runs to the right.
struct Panel {
    heading: &'static str,
    axis: Axis,
    of: fn(&Figures) -> f64,
    words: fn(f64) -> String,
    /// Whether it never came for some that have a mark.
    some_never: bool,
}

/// A share beside an axis, whose figures are round.
fn share(of: f64) -> String {
    format!("{}\u{a0}%", number(100.0 * of))
}

fn unanswered(figures: &Figures) -> f64 {
    1.0 - figures.success_rate
}

/// What the axes hold: the front and the file's first policy.
fn held<'a>(marked: &'a [Marked<'_>], of: fn(&Figures) -> f64) -> impl Iterator<Item = f64> + 'a {
    let first = marked.iter().position(|marked| marked.kind == GIVEN);
    let numbered = marked.iter().enumerate();
    numbered
        .filter(move |(place, marked)| marked.kind != GIVEN || Some(*place) == first)
        .map(move |(_, marked)| of(&marked.row.figures))
}

fn upwards(marked: &[Marked<'_>]) -> Axis {
    Axis::holding(held(marked, unanswered).fold(0.001, f64::max))
}

/// The load first, then whatever else some policies differ in.
fn panels(found: &Found, marked: &[Marked<'_>]) -> Vec<Panel> {
    let finite = |of: fn(&Figures) -> f64| held(marked, of).filter(|value| value.is_finite());
    let most = |of: fn(&Figures) -> f64, least: f64| Axis::holding(finite(of).fold(least, f64::max));
    let extra = |figures: &Figures| (figures.amplification - 1.0).max(0.0);
    let within = |figures: &Figures| figures.answered_99_ms.unwrap_or(f64::INFINITY);
    let back = |figures: &Figures| figures.recovery_s.unwrap_or(f64::INFINITY);
    let times_of = |of: fn(&Figures) -> f64| {
        let least = finite(of).fold(f64::INFINITY, f64::min);
        Axis::of_times(least, finite(of).fold(0.0, f64::max))
    };
    let mut panels = vec![Panel {
        heading: "attempts for each call, beyond one",
        axis: most(extra, 0.1),
        of: extra,
        words: number,
        some_never: false,
    }];
    if finite(within).next().is_some() {
        panels.push(Panel {
            heading: "99 of 100 calls are answered within",
            axis: times_of(within),
            of: within,
            words: length,
            some_never: held(marked, within).any(f64::is_infinite),
        });
    }
    if found.tells.recovery {
        panels.push(Panel {
            heading: "recovery",
            axis: most(back, 1.0),
            of: back,
            words: recovery,
            some_never: held(marked, back).any(f64::is_infinite),
        });
    }
    // One whose end tells nothing has no place there.
    let collapse = |figures: &Figures| figures.p_collapse.unwrap_or(f64::NAN);
    if held(marked, collapse).any(|share| share > 0.0) {
        panels.push(Panel {
            heading: "seeds that collapse",
            axis: Axis::holding(1.0),
            of: collapse,
            words: share,
            some_never: false,
        });
    }
    if found.tells.cost {
        panels.push(Panel {
            heading: "cost",
            axis: most(|figures| figures.cost_usd, 0.0),
            of: |figures| figures.cost_usd,
            words: dollars,
            some_never: false,
        });
    }
    panels
}

/// Whether a panel has figures at its left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Labelled,
    Bare,
}

/// Draws a panel; says how many policies lie beyond its edges.
fn draw(
    drawing: &mut Drawing,
    found: &Found,
    marked: &[Marked<'_>],
    panel: &Panel,
    y: Axis,
    plot: &Frame,
    side: Side,
) -> usize {
    back(drawing, panel, y, plot, side);
    let place = |figures: &Figures| place(panel, y, plot, figures);
    let beaten: Vec<(f64, f64)> = found.beaten.iter().filter_map(place).collect();
    for at in &beaten {
        dot(drawing, *at);
    }
    let front = marked.iter().filter(|marked| marked.kind != GIVEN);
    stairs(
        drawing,
        front.filter_map(|marked| place(&marked.row.figures)).collect(),
    );
    let mut taken: Vec<Frame> = Vec::new();
    let mut drawn = beaten.len();
    let placed: Vec<(&Marked<'_>, (f64, f64))> = marked
        .iter()
        .filter_map(|marked| Some((marked, place(&marked.row.figures)?)))
        .collect();
    for (marked, at) in &placed {
        drawing.mark(*at, marked.kind);
        taken.push(around(*at, 5.0));
        drawn += 1;
    }
    // The chosen one's name first: it has its choice of places.
    for (marked, at) in placed.iter().rev() {
        if marked.kind == CHOSEN {
            ring(drawing, *at);
        }
        name(drawing, marked, *at, plot, &mut taken);
    }
    (found.beaten.len() + marked.len()).saturating_sub(drawn)
}

/// Where a policy stands; `None` beyond the edges.
fn place(panel: &Panel, y: Axis, plot: &Frame, figures: &Figures) -> Option<(f64, f64)> {
    let (right, up) = ((panel.of)(figures), unanswered(figures));
    let most = |axis: Axis| match axis {
        Axis::Even { most, .. } | Axis::Tenfold { most, .. } => most * (1.0 + 1e-9),
    };
    let share = match (right.is_finite(), panel.some_never) {
        (true, some_never) if right <= most(panel.axis) => {
            panel.axis.at(right) * if some_never { CAME } else { 1.0 }
        }
        (false, true) => 1.0,
        (true | false, _) => return None,
    };
    let is_within = up <= most(y);
    is_within.then(|| {
        let height = y.at(up) * plot.height;
        (plot.x + share * plot.width, plot.bottom() - height)
    })
}

fn back(drawing: &mut Drawing, panel: &Panel, y: Axis, plot: &Frame, side: Side) {
    let mut write = |at: (f64, f64), anchor: Anchor, size: Size, ink: Ink, text: &str| {
        drawing.text(at, anchor, size, ink, text);
    };
    write(
        (plot.x, plot.y - 14.0),
        Anchor::Start,
        Size::Name,
        Ink::Text,
        panel.heading,
    );
    if side == Side::Labelled {
        let at = (EDGE, plot.y - 14.0);
        write(at, Anchor::Start, Size::Small, Ink::Muted, "lost");
    }
    for tick in y.ticks() {
        let height = plot.bottom() - y.at(tick) * plot.height;
        drawing.line((plot.x, height), (plot.right(), height), Ink::Grid, 1.0, "");
        if side == Side::Labelled {
            let at = (plot.x - 8.0, height + 4.0);
            drawing.text(at, Anchor::End, Size::Small, Ink::Muted, &share(tick));
        }
    }
    drawing.line(
        (plot.x, plot.bottom()),
        (plot.right(), plot.bottom()),
        Ink::Axis,
        1.0,
        "",
    );
    let came = if panel.some_never { CAME } else { 1.0 };
    let ticks = panel.axis.ticks().into_iter();
    let ticks = ticks.map(|tick| (panel.axis.at(tick) * came, (panel.words)(tick)));
    // A figure beside "never" would touch it.
    let ticks = ticks.filter(|(share, _)| !panel.some_never || *share < CAME - 0.08);
    let never = panel.some_never.then(|| (1.0, "never".to_owned()));
    for (share, words) in ticks.chain(never) {
        let x = plot.x + share * plot.width;
        drawing.line((x, plot.bottom()), (x, plot.bottom() + 4.0), Ink::Axis, 1.0, "");
        let anchor = match share {
            share if share < 0.01 => Anchor::Start,
            share if share > 0.99 => Anchor::End,
            _ => Anchor::Middle,
        };
        let at = (x, plot.bottom() + 17.0);
        drawing.text(at, anchor, Size::Small, Ink::Muted, &words);
    }
}

/// What nothing beats in these two figures alone, from the left: a line that goes down by steps.
fn stairs(drawing: &mut Drawing, mut points: Vec<(f64, f64)>) {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let mut path = String::new();
    let mut lowest = f64::NEG_INFINITY;
    for (x, y) in points {
        // Pixels grow downwards: better is more.
        if y <= lowest {
            continue;
        }
        path.push_str(&match path.is_empty() {
            true => format!("M{} {}", px(x), px(y)),
            false => format!("H{}V{}", px(x), px(y)),
        });
        lowest = y;
    }
    if path.contains('H') {
        drawing.path(&path, Ink::Answers, 1.0, "3 3");
    }
}

fn dot(drawing: &mut Drawing, (x, y): (f64, f64)) {
    drawing.area(&circle(x, y, 2.4), Ink::LoadEdge, 350);
}

/// What tells the chosen one from afar.
fn ring(drawing: &mut Drawing, (x, y): (f64, f64)) {
    drawing.path(&circle(x, y, 9.0), Ink::Kind(CHOSEN), 2.0, "");
}

fn circle(x: f64, y: f64, radius: f64) -> String {
    let (r, across) = (px(radius), px(2.0 * radius));
    format!(
        "M{} {}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0 -{across} 0Z",
        px(x - radius),
        px(y)
    )
}

fn around((x, y): (f64, f64), reach: f64) -> Frame {
    Frame {
        x: x - reach,
        y: y - reach,
        width: 2.0 * reach,
        height: 2.0 * reach,
    }
}

/// A name beside its mark, where nothing is yet; none where there is no such place.
fn name(
    drawing: &mut Drawing,
    marked: &Marked<'_>,
    (x, y): (f64, f64),
    plot: &Frame,
    taken: &mut Vec<Frame>,
) {
    let words = shortened(&marked.row.name, NAME_LETTERS);
    let (off, letter) = match marked.kind {
        CHOSEN => (14.0, BOLD_LETTER),
        _ => (9.0, LETTER),
    };
    let width = count(words.chars().count()) * letter;
    let box_at = |x: f64, y: f64| Frame {
        x,
        y: y - 10.0,
        width,
        height: 13.0,
    };
    // The stairs come from above and leave to the right.
    let places = [
        (x - off - width, y + 4.0),
        (x - width / 2.0, y + off + 10.0),
        (x - width / 2.0, y - off - 1.0),
        (x + off, y + 4.0),
    ];
    let is_free = |at: &(f64, f64)| {
        let frame = box_at(at.0, at.1);
        let inside = frame.x >= plot.x && frame.right() <= plot.right() && frame.bottom() < plot.bottom();
        inside && frame.y > plot.y - 12.0 && taken.iter().all(|other| apart(&frame, other))
    };
    let Some(at) = places.into_iter().find(is_free) else {
        return;
    };
    let (size, ink) = match marked.kind {
        CHOSEN => (Size::Name, Ink::Text),
        _ => (Size::Small, Ink::Muted),
    };
    let long = whole(&words, &marked.row.name);
    drawing.titled(at, Anchor::Start, size, ink, &words, long);
    taken.push(box_at(at.0, at.1));
}

fn apart(a: &Frame, b: &Frame) -> bool {
    a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y
}

fn legend(drawing: &mut Drawing) {
    let mut x = EDGE + 9.0;
    let mut entry = |drawing: &mut Drawing, mark: Option<usize>, words: &str| {
        match mark {
            Some(kind) => drawing.mark((x, 72.0), kind),
            None => dot(drawing, (x, 72.0)),
        }
        if mark == Some(CHOSEN) {
            ring(drawing, (x, 72.0));
        }
        let at = (x + 14.0, 76.0);
        drawing.text(at, Anchor::Start, Size::Plain, Ink::Text, words);
        x += 48.0 + count(words.chars().count()) * LETTER;
    };
    entry(drawing, Some(CHOSEN), "the one");
    entry(drawing, Some(FRONT), "nothing beats it");
    entry(drawing, Some(GIVEN), "the file's own");
    entry(drawing, None, "beaten, or dropped after a few seeds");
}

/// The picture in words.
fn about(found: &Found) -> String {
    let Some(winner) = &found.winner else {
        return "No policy that ran meets every constraint.".to_owned();
    };
    let figures = &winner.figures;
    format!(
        "The one is {}: success {}, load {}, 99 of 100 calls answered {}. {} policies are beaten by none.",
        winner.name,
        percent(figures.success_rate),
        times(figures.amplification),
        figures
            .answered_99_ms
            .map_or_else(|| "never".to_owned(), |ms| format!("within {}", length(ms))),
        found.front.len()
    )
}
