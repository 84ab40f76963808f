//! Axes: from figures to pixels, and which figures stand beside them.

use super::figures::number;

/// From figures to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Axis {
    /// From nothing to `most`, evenly, with a mark at every `step`.
    Even { most: f64, step: f64 },
    /// From `least` to `most`, each tenfold alike.
    Tenfold { least: f64, most: f64 },
}

impl Axis {
    /// From nothing to this.
    pub(super) const fn up_to(most: f64) -> Self {
        Self::Even { most, step: most }
    }

    /// From nothing to a round figure that holds this one.
    pub(super) fn holding(most: f64) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let step = step(most);
        Self::Even {
            most: libm::ceil(most / step - 1e-9) * step,
            step,
        }
    }

    /// Of times in milliseconds, the least of which and the most are these.
    pub(super) fn of_times(least: f64, most: f64) -> Self {
        let sane = |value: f64| {
            if value.is_finite() {
                value.clamp(1e-6, 1e12)
            } else {
                1.0
            }
        };
        let (least, most) = (sane(least), sane(most));
        let least = libm::pow(10.0, libm::floor(libm::log10(least) + 1e-9));
        let most = libm::pow(10.0, libm::ceil(libm::log10(most.max(least * 10.0)) - 1e-9));
        Self::Tenfold { least, most }
    }

    /// How far along, 0 to 1; what is beyond an end is at it.
    pub(super) fn at(self, value: f64) -> f64 {
        let at = match self {
            Self::Even { most, .. } => value / most,
            Self::Tenfold { least, most } => libm::log(value.max(least) / least) / libm::log(most / least),
        };
        if at.is_finite() { at.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The figures to write.
    pub(super) fn ticks(self) -> Vec<f64> {
        match self {
            Self::Even { most, step } => {
                let mut ticks = vec![0.0];
                while let Some(last) = ticks
                    .last()
                    .copied()
                    .filter(|last| last + step < most * (1.0 + 1e-9))
                {
                    ticks.push(last + step);
                }
                ticks
            }
            Self::Tenfold { least, most } => {
                let mut ticks = vec![least];
                while let Some(last) = ticks.last().copied().filter(|last| *last < most / 2.0) {
                    ticks.push(last * 10.0);
                }
                ticks
            }
        }
    }
}

/// The round step, 1, 2 or 5 of some power of ten, that makes three to five parts.
fn step(most: f64) -> f64 {
    let rough = most / 4.0;
    let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
    let factor = match rough / power {
        part if part < 1.5 => 1.0,
        part if part < 3.5 => 2.0,
        part if part < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// Seconds of a run that are written beside its axis, each with its words: a few, however long the run is.
pub(super) fn moments(seconds: f64) -> Vec<(f64, String)> {
    const STEPS: [f64; 22] = [
        0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0,
        3_600.0, 7_200.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 604_800.0,
    ];
    if !seconds.is_finite() || seconds <= 0.0 {
        return vec![(0.0, "0".to_owned())];
    }
    let step = STEPS.into_iter().find(|step| seconds / step <= 4.5);
    let step = step.unwrap_or_else(|| libm::ceil(seconds / 604_800.0 / 4.0) * 604_800.0);
    let (unit, word) = match step {
        s if s < 120.0 => (1.0, "s"),
        s if s < 3_600.0 => (60.0, "min"),
        s if s < 86_400.0 => (3_600.0, "h"),
        _ => (86_400.0, "d"),
    };
    let mut moments = vec![(0.0, "0".to_owned())];
    let mut at = step;
    while at <= seconds * (1.0 + 1e-9) {
        moments.push((at, format!("{}\u{a0}{word}", number(at / unit))));
        at += step;
    }
    moments
}

/// Shares that are written beside an axis of them.
pub(super) fn shares() -> Vec<(f64, String)> {
    let percent = |share: f64| format!("{}\u{a0}%", number(share * 100.0));
    [0.0, 0.25, 0.5, 0.75, 1.0]
        .map(|share| (share, percent(share)))
        .into()
}

#[cfg(test)]
mod tests;
