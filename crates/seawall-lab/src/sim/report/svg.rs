//! A picture, written as SVG: text stays text, colours are literals, and no number is none.

use super::figures::{escaped, rounded};
use super::ink::{Ink, KINDS, dark_style};
use std::fmt::Write as _;

/// What letters are drawn with where the reader has them, and what else.
pub(super) const FONTS: &str = "Inter, 'Segoe UI', Helvetica, Arial, sans-serif";

/// Where a text is, from its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How large a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Heading,
    Name,
    Plain,
    Small,
}

/// A rectangle of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Frame {
    pub(super) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(super) fn right(&self) -> f64 {
        self.x + self.width
    }
}

/// A picture that stands alone, or inside a page that has the style for dark screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    File,
    Page,
}

/// A picture in the making.
#[derive(Debug)]
pub(super) struct Drawing {
    /// Makes ids differ between pictures of one page.
    id: String,
    body: String,
}

impl Drawing {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            body: String::new(),
        }
    }

    pub(super) fn rect(&mut self, frame: &Frame, ink: Ink) {
        let place = place(frame);
        let _infallible = writeln!(self.body, "<rect {place} {}/>", ink.fill());
    }

    /// A rectangle with the pattern of a kind.
    pub(super) fn patterned(&mut self, frame: &Frame, pattern: &Pattern) {
        let _infallible = writeln!(
            self.body,
            "<rect {} fill=\"{}\"/>",
            place(frame),
            self.filled(pattern)
        );
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64, dash: &str) {
        let path = format!("M{} {}L{} {}", px(from.0), px(from.1), px(to.0), px(to.1));
        self.path(&path, ink, width, dash);
    }

    /// A line through these points, in pieces where some are missing.
    pub(super) fn path(&mut self, path: &str, ink: Ink, width: f64, dash: &str) {
        let dash = match dash {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        let stroke = ink.stroke(&px(width));
        let _infallible = writeln!(
            self.body,
            "<path d=\"{path}\" {stroke}{dash} stroke-linejoin=\"round\"/>"
        );
    }

    /// What a path encloses, so opaque in thousandths.
    pub(super) fn area(&mut self, path: &str, ink: Ink, per_mille: u32) {
        let opacity = match per_mille {
            1_000 => String::new(),
            part => format!(" fill-opacity=\"{}\"", rounded(f64::from(part) / 1_000.0, 2)),
        };
        let _infallible = writeln!(self.body, "<path d=\"{path}\" {}{opacity}/>", ink.fill());
    }

    /// The same with a pattern.
    pub(super) fn patterned_area(&mut self, path: &str, pattern: &Pattern) {
        let _infallible = writeln!(
            self.body,
            "<path d=\"{path}\" fill=\"{}\"/>",
            self.filled(pattern)
        );
    }

    /// A mark of a kind: each has a shape of its own.
    pub(super) fn mark(&mut self, at: (f64, f64), kind: usize) {
        let (x, y) = at;
        let corner = |dx: f64, dy: f64| format!("{} {}", px(x + dx), px(y + dy));
        let corners: &[(f64, f64)] = match kind % KINDS {
            0 => &[(-2.8, -2.8), (2.8, -2.8), (2.8, 2.8), (-2.8, 2.8)],
            1 => &[(0.0, -4.0), (3.6, 2.8), (-3.6, 2.8)],
            2 => &[(0.0, -4.2), (4.2, 0.0), (0.0, 4.2), (-4.2, 0.0)],
            3 => &[(0.0, 4.0), (3.6, -2.8), (-3.6, -2.8)],
            4 => &[(-4.0, -1.5), (4.0, -1.5), (4.0, 1.5), (-4.0, 1.5)],
            _ => &[(-1.5, -4.0), (1.5, -4.0), (1.5, 4.0), (-1.5, 4.0)],
        };
        let corners: Vec<String> = corners.iter().map(|(dx, dy)| corner(*dx, *dy)).collect();
        self.area(&format!("M{}Z", corners.join("L")), Ink::Kind(kind), 1_000);
    }

    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, size: Size, ink: Ink, text: &str) {
        self.titled(at, anchor, size, ink, text, "");
    }

    /// A text that is short for a longer one, which a pointer or a reader's voice tells.
    pub(super) fn titled(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: Size,
        ink: Ink,
        text: &str,
        whole: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let size = match size {
            Size::Heading => "font-size=\"16\" font-weight=\"600\"",
            Size::Name => "font-size=\"13\" font-weight=\"600\"",
            Size::Plain => "font-size=\"12\"",
            Size::Small => "font-size=\"11\"",
        };
        let title = match whole {
            "" => String::new(),
            whole => format!("<title>{}</title>", escaped(whole)),
        };
        let _infallible = writeln!(
            self.body,
            "<text x=\"{}\" y=\"{}\" {size}{anchor} {}>{title}{}</text>",
            px(at.0),
            px(at.1),
            ink.fill(),
            escaped(text)
        );
    }

    fn filled(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Kind(kind) => format!("url(#{}-k{})", self.id, kind % KINDS),
            Pattern::Outage => format!("url(#{}-out)", self.id),
            Pattern::Never => format!("url(#{}-never)", self.id),
        }
    }

    /// The whole picture. `title` says what it shows, `about` what there is to see, for who cannot see it.
    pub(super) fn finish(
        self,
        width: f64,
        height: f64,
        title: &str,
        about: &str,
        setting: Setting,
    ) -> String {
        let Self { id, body } = self;
        let style = match setting {
            Setting::File => format!("<style>{}</style>\n", dark_style()),
            Setting::Page => String::new(),
        };
        let (width, height) = (px(width), px(height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-about\" font-family=\"{FONTS}\">\n\
             <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-about\">{}</desc>\n{style}{}\
             <rect width=\"{width}\" height=\"{height}\" {}/>\n{body}</svg>\n",
            escaped(title),
            escaped(about),
            patterns(&id, &body),
            Ink::Surface.fill(),
        )
    }
}

/// What an area is told apart by, besides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One of the kinds.
    Kind(usize),
    /// A time in which a server is not well.
    Outage,
    /// A bar that has no end.
    Never,
}

/// The patterns that a picture uses.
fn patterns(id: &str, body: &str) -> String {
    let surface = |d: &str, width: &str| format!("<path d=\"{d}\" {}/>", Ink::Surface.stroke(width));
    let marks = [
        String::new(),
        surface("M-1 1L1 -1M0 6L6 0M5 7L7 5", "1.4"),
        format!("<circle cx=\"3\" cy=\"3\" r=\"1.1\" {}/>", Ink::Surface.fill()),
        surface("M-1 5L1 7M0 0L6 6M5 -1L7 1", "1.4"),
        surface("M0 3H6", "1.2"),
        surface("M3 0V6", "1.2"),
    ];
    let mut all: Vec<(String, Ink, String)> = marks
        .into_iter()
        .enumerate()
        .map(|(kind, mark)| (format!("{id}-k{kind}"), Ink::Kind(kind), mark))
        .collect();
    let hatch = format!(
        "<path d=\"M-1 1L1 -1M0 6L6 0M5 7L7 5\" {}/>",
        Ink::OutageEdge.stroke("0.6")
    );
    all.push((format!("{id}-out"), Ink::Outage, hatch.clone()));
    all.push((
        format!("{id}-never"),
        Ink::OutageEdge,
        surface("M-1 1L1 -1M0 6L6 0M5 7L7 5", "1.8"),
    ));
    let used: String = all
        .into_iter()
        .filter(|(name, _, _)| body.contains(&format!("url(#{name})")))
        .map(|(name, ink, mark)| {
            format!(
                "<pattern id=\"{name}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
                 <rect width=\"6\" height=\"6\" {}/>{mark}</pattern>\n",
                ink.fill()
            )
        })
        .collect();
    match used.is_empty() {
        true => used,
        false => format!("<defs>\n{used}</defs>\n"),
    }
}

fn place(frame: &Frame) -> String {
    format!(
        "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        px(frame.x),
        px(frame.y),
        px(frame.width.max(0.0)),
        px(frame.height.max(0.0))
    )
}

/// A length in pixels, to a tenth.
pub(super) fn px(value: f64) -> String {
    let text = rounded(value, 1);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
