//! Several subjects measured in turns, batch by batch, in several rounds.
//!
//! What can go wrong: what runs first meets a cold machine and what runs last a hot or a busy one, and the ratio says
//! more of the hour than of the code. So every batch of one subject has a batch of each other beside it, and a ratio
//! is told per round: rounds that disagree say that the machine was busy.

use crate::allocations;
use std::fmt::Write as _;
use std::time::Instant;

/// Iterations of one batch.
const ITERATIONS: u32 = 1_000;
/// Batches per round of each subject.
const BATCHES: usize = 150;
/// Rounds.
const ROUNDS: usize = 5;

/// One thing to measure.
pub struct Subject {
    /// What is printed.
    pub name: &'static str,
    /// Runs this many iterations.
    pub batch: Box<dyn FnMut(u32) -> Batch>,
}

/// What a batch took, all its iterations together.
pub struct Batch {
    took_ns: f64,
    allocated: u64,
}

impl Batch {
    fn of(work: impl FnOnce()) -> Self {
        let allocated_before = allocations::count();
        let began = Instant::now();
        work();
        Self {
            took_ns: began.elapsed().as_nanos() as f64,
            allocated: allocations::count() - allocated_before,
        }
    }
}

/// One subject's figures.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was measured.
    pub name: &'static str,
    /// Nanoseconds per iteration in the batch that a tenth of all batches were faster than.
    pub p10_ns: f64,
    /// Nanoseconds per iteration in the middle batch of all.
    pub p50_ns: f64,
    /// Allocations per iteration.
    pub allocations: f64,
    /// The middle batch of each round.
    pub rounds_ns: [f64; ROUNDS],
}

impl Subject {
    /// A subject that does `iteration` again and again.
    pub fn new(name: &'static str, mut iteration: impl FnMut() + 'static) -> Self {
        Self {
            name,
            batch: Box::new(move |iterations| {
                Batch::of(|| {
                    for _ in 0..iterations {
                        iteration();
                    }
                })
            }),
        }
    }

    /// A subject whose iterations each take something that was made before the batch began.
    pub fn prepared<T>(
        name: &'static str,
        mut make: impl FnMut() -> T + 'static,
        mut iteration: impl FnMut(T) + 'static,
    ) -> Self {
        Self {
            name,
            batch: Box::new(move |iterations| {
                let made: Vec<T> = (0..iterations).map(|_| make()).collect();
                Batch::of(|| made.into_iter().for_each(&mut iteration))
            }),
        }
    }
}

/// Measures all of them in turns.
pub fn measure(subjects: Vec<Subject>) -> Vec<Measured> {
    measure_in(subjects, ITERATIONS, BATCHES)
}

/// As [`measure`], in so many batches per round of so many iterations: of what takes longer, fewer.
pub fn measure_in(mut subjects: Vec<Subject>, iterations: u32, batches_of_round: usize) -> Vec<Measured> {
    let mut batches: Vec<Vec<f64>> = subjects
        .iter()
        .map(|_| Vec::with_capacity(ROUNDS * batches_of_round))
        .collect();
    let mut allocated = vec![0_u64; subjects.len()];
    for subject in &mut subjects {
        (subject.batch)(2 * iterations);
    }
    for _ in 0..ROUNDS * batches_of_round {
        for (place, subject) in subjects.iter_mut().enumerate() {
            // The first of a batch brings back what the batch of another pushed out of the caches.
            (subject.batch)(iterations / 20);
            let Batch {
                took_ns,
                allocated: of_batch,
            } = (subject.batch)(iterations);
            allocated[place] += of_batch;
            batches[place].push(took_ns / f64::from(iterations));
        }
    }
    subjects
        .iter()
        .zip(batches)
        .zip(allocated)
        .map(|((subject, batches), allocated)| {
            let all = (ROUNDS * batches_of_round) as f64 * f64::from(iterations);
            let mut rounds_ns = [0.0; ROUNDS];
            for (round, of_round) in rounds_ns.iter_mut().zip(batches.chunks(batches_of_round)) {
                *round = quantile(of_round, 0.5);
            }
            Measured {
                name: subject.name,
                p10_ns: quantile(&batches, 0.1),
                p50_ns: quantile(&batches, 0.5),
                allocations: allocated as f64 / all,
                rounds_ns,
            }
        })
        .collect()
}

/// The value below which this part of `values` lies.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((last as f64 * part).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// Prints a table of what was measured.
pub fn print(title: &str, measured: &[Measured]) {
    println!(
        "\n{title:<62} {:>8} {:>8} {:>12}",
        "p10 ns", "p50 ns", "allocations"
    );
    for Measured {
        name,
        p10_ns,
        p50_ns,
        allocations,
        ..
    } in measured
    {
        println!("{name:<62} {p10_ns:>8.1} {p50_ns:>8.1} {allocations:>12.2}");
    }
}

/// Prints how one compares with another: the whole, then round by round.
pub fn print_ratio(measured: &[Measured], ours: &str, theirs: &str) {
    let find = |name: &str| measured.iter().find(|other| other.name == name);
    let (Some(ours), Some(theirs)) = (find(ours), find(theirs)) else {
        return;
    };
    let mut rounds = String::new();
    for (one, other) in ours.rounds_ns.iter().zip(&theirs.rounds_ns) {
        let _ = write!(rounds, " {:.2}", one / other);
    }
    let whole = ours.p50_ns / theirs.p50_ns;
    println!("{} / {}: {whole:.2} (by round:{rounds})", ours.name, theirs.name);
}

/// Prints what ours takes over the sum of others, which are one bound together.
pub fn print_difference(measured: &[Measured], ours: &str, theirs: &[&str]) {
    let find = |name: &&str| measured.iter().find(|other| other.name == *name);
    let sum: f64 = theirs.iter().filter_map(find).map(|other| other.p50_ns).sum();
    if let Some(ours) = find(&ours) {
        let more = ours.p50_ns - sum;
        println!("{} - ({}): {more:+.1} ns", ours.name, theirs.join(" + "));
    }
}
