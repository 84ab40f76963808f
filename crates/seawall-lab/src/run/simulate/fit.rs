//! How long a model takes, fitted to calls that were recorded with their times.
//!
//! What can go wrong: times are fitted by what correlates, and a token comes out at less than nothing; a few calls that
//! waited for minutes decide the slope; and a fit is handed on without a word on how bad it is. So a token never takes less
//! than no time, what no token explains is kept as it was spread (its median and its 99th percentile, which become the
//! latency beside the tokens), and the share of the times' variance that tokens explain is told.
//!
//! Ordinary least squares of `time = a + b·read + c·written`, which is the usual model of such servers: the prompt is
//! read at one rate, the answer written at another.

use super::trace::Timed;
use crate::sim::luck::{Length, nanos, whole};
use crate::sim::summary::float;
use seawall_core::time::Duration;

/// The fewest calls that are fitted.
const CALLS_MIN: usize = 10;

/// What a model takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    /// Beside its tokens.
    pub(super) latency: Length,
    pub(super) per_token_in: Duration,
    pub(super) per_token_out: Duration,
}

/// Fits, and tells what came of it.
///
/// # Errors
/// What these calls lack.
pub(super) fn fit(calls: &[Timed]) -> Result<(Fit, String), String> {
    if calls.len() < CALLS_MIN {
        let count = calls.len();
        return Err(format!(
            "{count} of its calls say how long their answers took, and {CALLS_MIN} are the fewest to fit a model to"
        ));
    }
    let moments = Moments::of(calls);
    let (read, written) = moments.slopes();
    let rest = |call: &Timed| {
        nanos(call.took) - read * f64::from(call.tokens_in) - written * f64::from(call.tokens_out)
    };
    let mut rests: Vec<f64> = calls.iter().map(rest).collect();
    rests.sort_by(f64::total_cmp);
    let at = |per_mille: usize| rests[(rests.len() * per_mille / 1_000).min(rests.len() - 1)];
    let (p50, p99) = (whole(at(500)), whole(at(990)));
    let latency = match p50.is_zero() {
        // Tokens explain the half of the calls and more: nothing is left to spread.
        true => Length::ZERO,
        false => Length::LogNormal { p50, p99 },
    };
    let fit = Fit {
        latency,
        per_token_in: whole(read),
        per_token_out: whole(written),
    };
    let told = format!(
        "fitted to {} answers: {} for a token that is read, {} for one that is written, and beside them {p50} (p50) to {p99} \
         (p99); tokens explain {:.0} % of how their times differ",
        calls.len(),
        fit.per_token_in,
        fit.per_token_out,
        100.0 * moments.explained(read, written)
    );
    Ok((fit, told))
}

/// Means, and how far times and tokens vary with each other.
struct Moments {
    read_read: f64,
    written_written: f64,
    read_written: f64,
    read_time: f64,
    written_time: f64,
    time_time: f64,
}

impl Moments {
    fn of(calls: &[Timed]) -> Self {
        let count = float(calls.len() as u64);
        let mean = |of: fn(&Timed) -> f64| calls.iter().map(of).sum::<f64>() / count;
        let read = |call: &Timed| f64::from(call.tokens_in);
        let written = |call: &Timed| f64::from(call.tokens_out);
        let time = |call: &Timed| nanos(call.took);
        let (read_mean, written_mean, time_mean) = (mean(read), mean(written), mean(time));
        let together = |one: &dyn Fn(&Timed) -> f64, other: &dyn Fn(&Timed) -> f64| {
            calls.iter().map(|call| one(call) * other(call)).sum::<f64>() / count
        };
        let read = |call: &Timed| read(call) - read_mean;
        let written = |call: &Timed| written(call) - written_mean;
        let time = |call: &Timed| time(call) - time_mean;
        Self {
            read_read: together(&read, &read),
            written_written: together(&written, &written),
            read_written: together(&read, &written),
            read_time: together(&read, &time),
            written_time: together(&written, &time),
            time_time: together(&time, &time),
        }
    }

    /// Nanoseconds for each token that is read, and that is written: the best that are not below zero.
    fn slopes(&self) -> (f64, f64) {
        let alone = |with_time: f64, with_itself: f64| {
            if with_itself > 0.0 {
                (with_time / with_itself).max(0.0)
            } else {
                0.0
            }
        };
        let determinant = self.read_read * self.written_written - self.read_written * self.read_written;
        if determinant > 1e-9 * self.read_read * self.written_written {
            let read = self.read_time * self.written_written - self.written_time * self.read_written;
            let written = self.written_time * self.read_read - self.read_time * self.read_written;
            let (read, written) = (read / determinant, written / determinant);
            if read >= 0.0 && written >= 0.0 {
                return (read, written);
            }
        }
        // One of them is at its bound, or cannot be told from the other: whichever explains more stands alone.
        let read = (alone(self.read_time, self.read_read), 0.0);
        let written = (0.0, alone(self.written_time, self.written_written));
        if self.explained(read.0, read.1) > self.explained(written.0, written.1) {
            read
        } else {
            written
        }
    }

    /// The share of the variance of times that these slopes explain.
    fn explained(&self, read: f64, written: f64) -> f64 {
        if self.time_time <= 0.0 {
            return 0.0;
        }
        let left = self.time_time - 2.0 * (read * self.read_time + written * self.written_time)
            + read * read * self.read_read
            + 2.0 * read * written * self.read_written
            + written * written * self.written_written;
        1.0 - left / self.time_time
    }
}

#[cfg(test)]
mod tests;
