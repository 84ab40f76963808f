//! How many candidates run how often: successive halving, twice.
//!
//! What can go wrong: every candidate runs so seldom that luck decides, or so often that there are few of them. So all run
//! with few seeds, the better third with three times as many, and so on up to the scenario's own number; once with
//! candidates from all over the grid, and once with the neighbours of the best of those.

/// Of so many candidates one goes on.
const KEEPS_ONE_IN: usize = 3;
/// No round ends with fewer.
const KEPT_MIN: usize = 4;

/// The rounds of one halving: how many candidates, and with how many seeds each has run at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rungs(pub(super) Vec<Rung>);

/// One round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rung {
    pub(super) candidates: usize,
    pub(super) seeds: u32,
}

impl Rungs {
    /// As many candidates as so many runs are enough for, beside `given` that stay to the end.
    pub(super) fn within(runs: u64, seeds: u32, given: usize) -> Self {
        let mut low = KEPT_MIN;
        let mut high = usize::try_from(runs).unwrap_or(usize::MAX).max(low);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if Self::from(middle, seeds).runs(given) <= runs {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Self::from(low, seeds)
    }

    fn from(candidates: usize, seeds: u32) -> Self {
        let mut ladder = vec![seeds];
        while let Some(last) = ladder.last().copied().filter(|last| *last > 2) {
            ladder.push(last.div_ceil(3));
        }
        let mut left = candidates;
        let rungs = ladder.into_iter().rev().map(|seeds| {
            let rung = Rung {
                candidates: left,
                seeds,
            };
            left = (left / KEEPS_ONE_IN).max(KEPT_MIN.min(candidates));
            rung
        });
        Self(rungs.collect())
    }

    /// How many runs it takes.
    pub(super) fn runs(&self, given: usize) -> u64 {
        let mut before = 0;
        let each = self.0.iter().map(|rung| {
            let more = u64::from(rung.seeds - before);
            before = rung.seeds;
            (rung.candidates + given) as u64 * more
        });
        each.sum()
    }
}
