//! What one run counted.
//!
//! What can go wrong: two reports agree on a name and not on what it counts, and most disagreements between published
//! figures are of that kind. So each count is defined here, once:
//!
//! - an *arrival* is an attempt that reached a server; one that met a refused connection did not, nor one that reached
//!   a layer between;
//! - a call *succeeds* when it is answered before its own deadline;
//! - a latency counts from when the call was due, not from when it was sent, and is kept of failed calls too;
//! - *orphaned* work is time that a server spent on attempts whose caller had stopped waiting.
//!
//! Calls that were due before the warm-up ended count in the bins, which pictures show, and in nothing else.

use super::bounds::{BINS_MAX, Overrun};
use super::model::Price;
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;

/// The width of a bin: 100 ms.
pub const BIN: Duration = Duration::from_millis(100);

/// How many of them a second has.
pub const BINS_PER_SECOND: usize = 10;

/// What one run counted. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls of clients that have ended.
    pub calls: u64,
    /// Of them, those that were answered.
    pub succeeded: u64,
    /// Of the calls, those with more than one attempt.
    pub retried: u64,
    /// Arrivals for those calls, those of hedges and retries included.
    pub arrivals: u64,
    /// Arrivals that some retry or hedge brought, of a client or of a layer.
    pub extras: u64,
    /// Attempts that never reached a server.
    pub unreached: u64,
    /// Attempts for those calls that reached what each layer calls, the clients' first; the last are the arrivals.
    pub by_layer: Vec<u64>,
    /// Latencies of all calls.
    pub latency: Histogram,
    /// Latencies of those that were answered.
    pub latency_answered: Histogram,
    /// Latencies of those with more than one attempt.
    pub latency_retried: Histogram,
    /// How often each reason was told as an end or a wait, by its code.
    pub reasons: BTreeMap<&'static str, u64>,
    /// By 100 ms since the beginning.
    pub bins: Vec<Bin>,
    /// By the code of the reason that calls failed for: how many did in each second since the beginning. Calls from
    /// before the warm-up's end are here too, as they are in the bins.
    pub failures: BTreeMap<&'static str, Vec<u32>>,
    /// Time that workers worked.
    pub worked: Duration,
    /// Of that, on orphans.
    pub orphaned: Duration,
    /// Tokens that the servers read and billed.
    pub tokens_in: u64,
    /// Tokens that they wrote and billed.
    pub tokens_out: u64,
    /// What that cost, in millionths of a millionth of a dollar.
    pub cost_pico_dollars: u128,
    /// When the last call ended.
    pub ended_at: Instant,
    /// Things that happened to a call or an attempt: it was due, reached a server, was served, landed, ran into its
    /// limit, was asked about. Times that came too late for what they were meant for, and looks at gates, are none.
    pub events: u64,
    /// What the run had too much of, where it was cut short: then nothing here is a result.
    pub overran: Option<Overrun>,
    /// What `reasons` will be.
    pub(crate) told: ByCode<u64>,
    /// What `failures` will be.
    pub(crate) failed: ByCode<Vec<u32>>,
}

/// Something of each reason that was told, by its code. Calls are told few reasons, and a handful is found faster than
/// in a map: by where its code stands, of which the compiler may make several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByCode<T>(Vec<(&'static str, T)>);

impl<T> Default for ByCode<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> ByCode<T> {
    #[inline]
    fn of(&mut self, code: &'static str) -> &mut T {
        let place = self.0.iter().position(|(known, _)| std::ptr::eq(*known, code));
        let place = place.unwrap_or_else(|| {
            self.0.push((code, T::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }
}

/// What happened in 100 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Calls of clients that were due.
    pub due: u32,
    /// Calls that were answered.
    pub answered: u32,
    /// Calls that ended without.
    pub failed: u32,
    /// Attempts that reached a server.
    pub arrivals: u32,
    /// Of them, those that some retry or hedge brought.
    pub extras: u32,
    /// Gates whose breaker was not closed when the bin began.
    pub open_gates: u32,
}

/// How a client's call ended.
pub(crate) struct CallEnd<'a> {
    pub(crate) due: Instant,
    pub(crate) at: Instant,
    pub(crate) reason: &'a Reason,
    /// Its attempts.
    pub(crate) sends: u32,
}

impl Tally {
    /// Nothing counted yet, of so many layers.
    pub(super) fn of_layers(layers: usize) -> Self {
        Self {
            by_layer: vec![0; layers],
            ..Self::default()
        }
    }

    /// The bin of this time.
    #[inline]
    pub fn bin(&mut self, at: Instant) -> &mut Bin {
        let mut number = bin_of(at);
        if number >= self.bins.len() {
            if number >= BINS_MAX {
                // What it says there is no result, so any bin will do.
                self.overran = Some(Overrun::Time);
                number = self.bins.len().saturating_sub(1);
            }
            self.bins.resize(number + 1, Bin::default());
        }
        &mut self.bins[number]
    }

    /// A client's call has ended. Whatever was due before the warm-up ended counts in the bins alone.
    pub(crate) fn call_ends(&mut self, end: &CallEnd<'_>, warmup: Duration) {
        let answered = *end.reason == Reason::Succeeded;
        let bin = self.bin(end.at);
        bin.answered += u32::from(answered);
        bin.failed += u32::from(!answered);
        if !answered {
            self.failed(end.at, end.reason);
        }
        if end.due < Instant::START.after(warmup) {
            return;
        }
        let took = end.at.since(end.due);
        self.calls += 1;
        self.told(end.reason);
        self.latency.add(took);
        if answered {
            self.succeeded += 1;
            self.latency_answered.add(took);
        }
        if end.sends > 1 {
            self.retried += 1;
            self.latency_retried.add(took);
        }
    }

    /// A server has worked, and wants to be paid.
    pub(crate) fn bill(&mut self, price: Price, tokens_in: u32, tokens_out: u32) {
        let (read, written) = (u64::from(tokens_in), u64::from(tokens_out));
        self.tokens_in += read;
        self.tokens_out += written;
        self.cost_pico_dollars += u128::from(read) * u128::from(price.per_million_in)
            + u128::from(written) * u128::from(price.per_million_out);
    }

    /// A call failed for this reason.
    fn failed(&mut self, at: Instant, reason: &Reason) {
        let second = bin_of(at).min(BINS_MAX) / BINS_PER_SECOND;
        let seconds = self.failed.of(reason.code());
        if second >= seconds.len() {
            seconds.resize(second + 1, 0);
        }
        seconds[second] += 1;
    }

    /// A reason was told.
    #[inline]
    pub(super) fn told(&mut self, reason: &Reason) {
        *self.told.of(reason.code()) += 1;
    }

    /// What it takes of the memory, roughly.
    #[cfg(feature = "net")]
    pub(crate) fn bytes(&self) -> u64 {
        let failures = self.failures.values().map(Vec::len).sum::<usize>() * size_of::<u32>();
        let histograms = [&self.latency, &self.latency_answered, &self.latency_retried];
        let histograms = histograms.map(|of| of.counts.len()).iter().sum::<usize>() * size_of::<u64>();
        super::bounds::bins_bytes(self.bins.len()) + (size_of::<Self>() + failures + histograms) as u64
    }

    /// The run is over: what was counted in passing gets its place, and room that nothing was counted in is given back, as
    /// a study keeps the tallies of tens of thousands of runs.
    pub(crate) fn sum_up(&mut self) {
        self.bins.shrink_to_fit();
        for histogram in [
            &mut self.latency,
            &mut self.latency_answered,
            &mut self.latency_retried,
        ] {
            histogram.counts.shrink_to_fit();
        }
        for (code, count) in std::mem::take(&mut self.told).0 {
            *self.reasons.entry(code).or_insert(0) += count;
        }
        for (code, counts) in std::mem::take(&mut self.failed).0 {
            let seconds = self.failures.entry(code).or_default();
            seconds.resize(seconds.len().max(counts.len()), 0);
            for (sum, count) in seconds.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }
}

/// The number of the bin that this time is in.
#[expect(
    clippy::cast_possible_truncation,
    reason = "runs of 2^32 bins, 13 years, do not fit in memory"
)]
pub const fn bin_of(at: Instant) -> usize {
    (at.as_nanos() / BIN.as_nanos()) as usize
}

/// Bits of precision within a power of two: 1/64, so that a percentile is at most 1.6 % off.
const FINE_BITS: u32 = 6;

/// How often each length was seen, in buckets that grow with it: 1.6 % wide at the most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The bucket that `counts` begins with: a study may keep tens of thousands of these, each with a few lengths.
    first: usize,
    counts: Vec<u64>,
    count: u64,
    sum_nanos: u128,
    max: Duration,
}

impl Histogram {
    /// One more of this length.
    #[inline]
    pub fn add(&mut self, length: Duration) {
        *self.bucket_mut(bucket_of(length)) += 1;
        self.count += 1;
        self.sum_nanos += u128::from(length.as_nanos());
        self.max = self.max.max(length);
    }

    /// All of another.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in (other.first..).zip(&other.counts) {
            if *count > 0 {
                *self.bucket_mut(bucket) += count;
            }
        }
        self.count += other.count;
        self.sum_nanos += other.sum_nanos;
        self.max = self.max.max(other.max);
    }

    /// How many.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The mean; `None` of nothing.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum_nanos.checked_div(u128::from(self.count))?;
        Some(Duration::from_nanos(
            u64::try_from(mean).expect("a mean is within what it is of"),
        ))
    }

    /// The longest.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// The length that so many of a thousand do not exceed, at the upper edge of its bucket; `None` of nothing.
    pub fn percentile(&self, per_mille: u32) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        self.at_rank((self.count * u64::from(per_mille)).div_ceil(1_000))
    }

    /// The length that so many do not exceed, at the upper edge of its bucket; `None` where there are fewer.
    pub fn at_rank(&self, rank: u64) -> Option<Duration> {
        if rank > self.count {
            return None;
        }
        let mut seen = 0;
        let mut buckets = self.buckets();
        let found = buckets.find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map(|(edge, _)| edge.min(self.max))
    }

    /// Every bucket that is not empty: its upper edge, and how many are in it.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let all = (self.first..).zip(&self.counts);
        all.filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (upper_edge(bucket), *count))
    }

    /// The count of a bucket, made where there is none yet.
    #[inline]
    fn bucket_mut(&mut self, bucket: usize) -> &mut u64 {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let missing = self.first - bucket;
            self.counts.splice(..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let place = bucket - self.first;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        &mut self.counts[place]
    }
}

/// Lengths below 2^`FINE_BITS` have a bucket each; above, each power of two has as many.
#[expect(clippy::cast_possible_truncation, reason = "at most 64 times 64 buckets")]
const fn bucket_of(length: Duration) -> usize {
    let nanos = length.as_nanos();
    let high = u64::BITS - nanos.leading_zeros();
    if high <= FINE_BITS {
        return nanos as usize;
    }
    let shift = high - FINE_BITS - 1;
    let fine = (nanos >> shift) - (1 << FINE_BITS);
    ((((shift + 1) as u64) << FINE_BITS) + fine) as usize
}

const fn upper_edge(bucket: usize) -> Duration {
    let bucket = bucket as u64;
    let (row, fine) = (bucket >> FINE_BITS, bucket & ((1 << FINE_BITS) - 1));
    if row == 0 {
        return Duration::from_nanos(fine);
    }
    let shift = row - 1;
    let lower = (fine + (1 << FINE_BITS)) << shift;
    Duration::from_nanos(lower + ((1 << shift) - 1))
}

#[cfg(test)]
mod tests;
