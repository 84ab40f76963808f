//! What things are drawn in: a colour on paper and one in the dark.
//!
//! What can go wrong: a colour that tells two things apart for the one who chose it and for nobody else; a line that
//! vanishes on a dark page, or in print; a picture whose colours are variables, which half of all readers ignore. So
//! every colour is a literal that reads on white, another stands in a style for dark screens, every pair that must be
//! told apart is held to WCAG's contrast in a test, and nothing is told by colour alone: areas have patterns, lines
//! dashes, and both a word beside them. The hues are near those of Okabe and Ito, darkened until they show on white.

/// What something is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// The page.
    Surface,
    /// What must be read.
    Text,
    /// What may be read.
    Muted,
    /// Lines that only help the eye.
    Grid,
    /// Edges of plots.
    Axis,
    /// Load that reaches the servers.
    Load,
    /// The edge of that.
    LoadEdge,
    /// Answers, and in general what it is about.
    Answers,
    /// A time in which a server is not well.
    Outage,
    /// The edge of that.
    OutageEdge,
    /// One of [`KINDS`] kinds that are stacked or drawn over each other.
    Kind(usize),
}

/// How many kinds have a colour, a pattern and a dash of their own.
pub(super) const KINDS: usize = 6;

const KIND_ON_PAPER: [&str; KINDS] = ["#0068a6", "#b34700", "#00795a", "#9a4a86", "#8a6100", "#6e7781"];
const KIND_IN_THE_DARK: [&str; KINDS] = ["#56b4e9", "#f0883e", "#2fbf91", "#e29bc9", "#e3b341", "#9aa4af"];
const KIND_CLASS: [&str; KINDS] = ["k0", "k1", "k2", "k3", "k4", "k5"];
/// Dashes that belong to the kinds: lines are told apart by them where colours are not.
const KIND_DASH: [&str; KINDS] = ["", "7 3", "2 2.5", "9 3 2 3", "4 2", "1 3"];

impl Ink {
    pub(super) const PLAIN: [Self; 10] = [
        Self::Surface,
        Self::Text,
        Self::Muted,
        Self::Grid,
        Self::Axis,
        Self::Load,
        Self::LoadEdge,
        Self::Answers,
        Self::Outage,
        Self::OutageEdge,
    ];

    /// The dash of a kind; solid of everything else.
    pub(super) fn dash(self) -> &'static str {
        match self {
            Self::Kind(kind) => KIND_DASH[kind % KINDS],
            Self::Surface | Self::Text | Self::Muted | Self::Grid | Self::Axis => "",
            Self::Load | Self::LoadEdge | Self::Answers | Self::Outage | Self::OutageEdge => "",
        }
    }

    pub(super) fn on_paper(self) -> &'static str {
        match self {
            Self::Surface => "#ffffff",
            Self::Text => "#1b1f24",
            Self::Muted => "#545d67",
            Self::Grid => "#e4e7eb",
            Self::Axis => "#868e96",
            Self::Load => "#d3d8de",
            Self::LoadEdge => "#6e7781",
            Self::Answers => "#0068a6",
            Self::Outage => "#fbe9de",
            Self::OutageEdge => "#b34700",
            Self::Kind(kind) => KIND_ON_PAPER[kind % KINDS],
        }
    }

    pub(super) fn in_the_dark(self) -> &'static str {
        match self {
            Self::Surface => "#0d1117",
            Self::Text => "#e6edf3",
            Self::Muted => "#a3adb8",
            Self::Grid => "#21262d",
            Self::Axis => "#6e7681",
            Self::Load => "#343b44",
            Self::LoadEdge => "#8b949e",
            Self::Answers => "#56b4e9",
            Self::Outage => "#33210f",
            Self::OutageEdge => "#f0883e",
            Self::Kind(kind) => KIND_IN_THE_DARK[kind % KINDS],
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Surface => "page",
            Self::Text => "text",
            Self::Muted => "muted",
            Self::Grid => "grid",
            Self::Axis => "axis",
            Self::Load => "load",
            Self::LoadEdge => "loadedge",
            Self::Answers => "main",
            Self::Outage => "out",
            Self::OutageEdge => "outedge",
            Self::Kind(kind) => KIND_CLASS[kind % KINDS],
        }
    }

    /// The attributes of something filled with it.
    pub(super) fn fill(self) -> String {
        format!("class=\"f-{}\" fill=\"{}\"", self.class(), self.on_paper())
    }

    /// The attributes of something drawn with it, so many pixels wide.
    pub(super) fn stroke(self, width: &str) -> String {
        format!(
            "class=\"s-{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"",
            self.class(),
            self.on_paper()
        )
    }
}

/// What gives every colour its other one on dark screens. On paper, and where no style is read, the literals stand.
pub(super) fn dark_style() -> String {
    let all = Ink::PLAIN.into_iter().chain((0..KINDS).map(Ink::Kind));
    let rules: String = all
        .map(|ink| {
            let (class, colour) = (ink.class(), ink.in_the_dark());
            format!(".f-{class}{{fill:{colour}}}.s-{class}{{stroke:{colour}}}")
        })
        .collect();
    format!("@media screen and (prefers-color-scheme:dark){{{rules}}}")
}

#[cfg(test)]
mod tests;
