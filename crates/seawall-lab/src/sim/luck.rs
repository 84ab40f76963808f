//! Chance by name: every draw of a run is a function of the seed, of whom it is for and of what for.
//!
//! What can go wrong: one generator is shared, and then a client more, a thread more or a policy that asks once more
//! often moves every later draw; two policies that are compared have met two different worlds, and most of the
//! difference between them is chance. So nothing is drawn from a stream that somebody else draws from: a draw is named
//! by (seed, purpose, client, number), costs no memory, and is the same whoever else is there.
//!
//! Each name is the start of a SplitMix64 sequence (Steele, Lea and Flood, 2014). Logarithms and the like are those of
//! the crate `libm`, which gives the same bits on every machine; the host's own library need not.

use seawall_core::time::Duration;

/// What is drawn. The numbers are part of every result: add, never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Gaps between arrivals.
    Arrival = 1,
    /// Which client an arrival belongs to.
    Client = 2,
    /// How long a client thinks between two calls.
    Think = 3,
    /// How long an attempt takes at its server.
    Service = 4,
    /// Whether an attempt fails of itself.
    Failure = 5,
    /// Whether an attempt is among those that an outage hits.
    Severity = 6,
    /// How long a message is on its way.
    Hop = 7,
    /// Which shard a call belongs to.
    Shard = 8,
    /// The seed of a process's engine.
    Engine = 9,
    /// When outages come and go.
    Outage = 10,
    /// How many tokens a call reads and writes.
    Tokens = 11,
    /// Which replicates a bootstrap takes.
    Bootstrap = 12,
    /// Which policies a search tries.
    Search = 20,
}

/// All chance of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Luck {
    seed: u64,
}

impl Luck {
    /// The luck of this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The draws for `purpose` that belong to the `nth` thing of `who`.
    #[inline]
    pub const fn of(self, purpose: Purpose, who: u64, nth: u64) -> Draws {
        let start = mix(self.seed ^ ((purpose as u64) << 56));
        let start = mix(start ^ who.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Draws {
            state: mix(start ^ nth.wrapping_mul(0xd1b5_4a32_d192_ed03)),
        }
    }

    /// The draws for the `attempt`-th send of the `nth` call of `who`, from 1: the same whatever the policy.
    #[inline]
    pub const fn of_attempt(self, purpose: Purpose, who: u64, nth: u64, attempt: u32) -> Draws {
        self.of(purpose, who, (nth << 16) ^ attempt as u64)
    }
}

/// What the call that an attempt becomes in the next layer is named by: different for every attempt, however deep.
#[inline]
pub(super) const fn name_of_attempt(nth: u64, attempt: u32) -> u64 {
    // Names are shifted once more for the attempts of that call.
    mix(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ attempt as u64) >> 16
}

/// A short sequence of draws.
#[derive(Clone, Debug)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// 64 bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number above 0 and at most 1, in steps of 2⁻⁵³: its logarithm always has an end.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something of this chance, 0 to 1, comes to pass.
    #[inline]
    pub fn happens(&mut self, chance: f64) -> bool {
        chance > 0.0 && self.unit() <= chance
    }

    /// A whole number below `count`, which is not 0.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the high half of a product of 32 and 64 bits"
    )]
    pub fn below(&mut self, count: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u32
    }

    /// From the exponential distribution of mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit())
    }

    /// From the normal distribution of mean 0 and deviation 1 (Box and Muller).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        // A root is exact on every machine, unlike a logarithm.
        let radius = (-2.0 * libm::log(self.unit())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }
}

/// The 99th percentile of the standard normal distribution.
const Z_P99: f64 = 2.326_347_874_040_840_8;

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Always this long.
    Fixed(Duration),
    /// Evenly between the two.
    Uniform {
        /// The least.
        shortest: Duration,
        /// The most.
        longest: Duration,
    },
    /// Exponential, of this mean.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// The magnitude of a normal distribution: what the published jitter experiment draws its messages from.
    FoldedNormal {
        /// Its mean before it is folded.
        mean: Duration,
        /// Its deviation before it is folded.
        deviation: Duration,
    },
    /// Log-normal, by two of its percentiles: what servers' latencies look like.
    LogNormal {
        /// Half take at most this.
        p50: Duration,
        /// 99 of 100 take at most this.
        p99: Duration,
    },
    /// Exponential, of one mean mostly and of another sometimes.
    Bimodal {
        /// The mean of most.
        mean: Duration,
        /// The mean of the rest.
        rare_mean: Duration,
        /// How large the rest is, 0 to 1.
        rare: f64,
    },
}

impl Length {
    /// No time at all.
    pub const ZERO: Self = Self::Fixed(Duration::ZERO);

    /// One length, to the nanosecond.
    #[inline]
    pub fn draw(self, draws: &mut Draws) -> Duration {
        match self {
            Self::Fixed(length) => length,
            Self::Uniform { shortest, longest } => {
                let span = nanos(longest) - nanos(shortest);
                whole(nanos(shortest) + span * draws.unit())
            }
            Self::Exponential { mean } => whole(nanos(mean) * draws.exponential()),
            Self::FoldedNormal { mean, deviation } => {
                whole((nanos(mean) + nanos(deviation) * draws.normal()).abs())
            }
            Self::LogNormal { p50, p99 } => {
                let (middle, high) = (libm::log(nanos(p50)), libm::log(nanos(p99)));
                whole(libm::exp(middle + (high - middle) / Z_P99 * draws.normal()))
            }
            Self::Bimodal {
                mean,
                rare_mean,
                rare,
            } => {
                let mean = if draws.happens(rare) { rare_mean } else { mean };
                whole(nanos(mean) * draws.exponential())
            }
        }
    }

    /// The mean, where the distribution has a plain one.
    pub fn mean(self) -> Duration {
        match self {
            Self::Fixed(length) => length,
            Self::Uniform { shortest, longest } => whole(f64::midpoint(nanos(shortest), nanos(longest))),
            Self::Exponential { mean } => mean,
            Self::FoldedNormal { mean, deviation } => {
                let (m, s) = (nanos(mean), nanos(deviation).max(f64::MIN_POSITIVE));
                let density = s * libm::sqrt(std::f64::consts::FRAC_2_PI) * libm::exp(-m * m / (2.0 * s * s));
                whole(density + m * libm::erf(m / (s * std::f64::consts::SQRT_2)))
            }
            Self::LogNormal { p50, p99 } => {
                let sigma = (libm::log(nanos(p99)) - libm::log(nanos(p50))) / Z_P99;
                whole(nanos(p50) * libm::exp(sigma * sigma / 2.0))
            }
            Self::Bimodal {
                mean,
                rare_mean,
                rare,
            } => whole(nanos(mean) * (1.0 - rare) + nanos(rare_mean) * rare),
        }
    }

    /// What about half of them do not exceed.
    pub(crate) fn about_half(self) -> Duration {
        match self {
            Self::Fixed(_) | Self::Uniform { .. } | Self::FoldedNormal { .. } => self.mean(),
            Self::LogNormal { p50, .. } => p50,
            Self::Exponential { mean } => whole(nanos(mean) * std::f64::consts::LN_2),
            Self::Bimodal {
                mean,
                rare_mean,
                rare,
            } => {
                let usual = if rare < 0.5 { mean } else { rare_mean };
                whole(nanos(usual) * std::f64::consts::LN_2)
            }
        }
    }

    /// The variance in squares of the mean: how much a queue behind it varies. 0 of what takes no time.
    pub(crate) fn squared_variation(self) -> f64 {
        let mean = nanos(self.mean());
        if mean <= 0.0 {
            return 0.0;
        }
        let variance = match self {
            Self::Fixed(_) => 0.0,
            Self::Uniform { shortest, longest } => {
                let wide = nanos(longest) - nanos(shortest);
                wide * wide / 12.0
            }
            Self::Exponential { .. } => mean * mean,
            Self::FoldedNormal { mean: m, deviation } => {
                let (m, s) = (nanos(m), nanos(deviation));
                m * m + s * s - mean * mean
            }
            Self::LogNormal { p50, .. } => {
                let above = mean / nanos(p50);
                mean * mean * (above * above - 1.0)
            }
            Self::Bimodal {
                mean: most,
                rare_mean,
                rare,
            } => {
                let (most, few) = (nanos(most), nanos(rare_mean));
                2.0 * (most * most * (1.0 - rare) + few * few * rare) - mean * mean
            }
        };
        (variance / (mean * mean)).max(0.0)
    }
}

/// How many of something there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Always as many.
    Fixed(u32),
    /// Evenly from the one to the other.
    Uniform {
        /// The least.
        least: u32,
        /// The most.
        most: u32,
    },
    /// Exponential, of this mean: many short ones, few long ones.
    Exponential {
        /// The mean.
        mean: u32,
    },
    /// Log-normal, by two of its percentiles: what prompts and answers look like.
    LogNormal {
        /// Half are at most this.
        p50: u32,
        /// 99 of 100 are at most this.
        p99: u32,
    },
}

impl Amount {
    /// One amount, to the nearest whole.
    #[inline]
    pub fn draw(self, draws: &mut Draws) -> u32 {
        match self {
            Self::Fixed(amount) => amount,
            Self::Uniform { least, most } => {
                least + draws.below(most.saturating_sub(least).saturating_add(1))
            }
            Self::Exponential { .. } | Self::LogNormal { .. } => {
                u32::try_from(self.as_length().draw(draws).as_nanos()).unwrap_or(u32::MAX)
            }
        }
    }

    /// The mean.
    pub fn mean(self) -> f64 {
        nanos(self.as_length().mean())
    }

    /// The same spread, a nanosecond for each.
    const fn as_length(self) -> Length {
        const fn of(amount: u32) -> Duration {
            Duration::from_nanos(amount as u64)
        }
        match self {
            Self::Fixed(amount) => Length::Fixed(of(amount)),
            Self::Uniform { least, most } => Length::Uniform {
                shortest: of(least),
                longest: of(most),
            },
            Self::Exponential { mean } => Length::Exponential { mean: of(mean) },
            Self::LogNormal { p50, p99 } => Length::LogNormal {
                p50: of(p50),
                p99: of(p99),
            },
        }
    }
}

/// The finaliser of SplitMix64.
#[inline]
const fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A length in nanoseconds, exact below 2⁵³ of them: 104 days.
#[expect(
    clippy::cast_precision_loss,
    reason = "a drawn length is exact to 53 bits only"
)]
pub(crate) const fn nanos(length: Duration) -> f64 {
    length.as_nanos() as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "saturates at both ends, which is meant"
)]
pub(crate) fn whole(nanos: f64) -> Duration {
    // Rounds half away from zero, as `round` does: what is cut off is exact.
    let floor = nanos as u64;
    let rest = nanos - floor as f64;
    Duration::from_nanos(floor.saturating_add(u64::from(rest >= 0.5)))
}

#[cfg(test)]
mod tests;
