//! Chance as an argument: one stream per call, split from the engine's seed (rule A3).
//!
//! What can go wrong: two calls that share a stream wait in lockstep and hit a recovering server together; a
//! generator read from the environment makes a failure impossible to replay. So the seed comes from the driver,
//! every call draws from its own stream, and a stream that is never drawn from costs one number.
//! The generator is xoshiro256++ 1.0, seeded by SplitMix64, both by Blackman and Vigna
//! (<https://prng.di.unimi.it>): named, so that a seed means the same sequence in every version.

use crate::time::Duration;

/// A stream of random numbers. Not for secrets.
#[derive(Clone, Debug)]
pub struct Rng {
    seed: u64,
    stream: u64,
    // All zero until the first draw: a call that succeeds at once never pays for the seeding.
    state: [u64; 4],
}

impl Rng {
    /// The stream `stream` of `seed`. Different streams of one seed share no state; the same pair is always the
    /// same sequence.
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self {
            seed,
            stream,
            state: [0; 4],
        }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        if self.state == [0; 4] {
            self.start();
        }
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number drawn evenly from `0..=most`.
    pub fn up_to(&mut self, most: u64) -> u64 {
        let Some(range) = most.checked_add(1) else {
            return self.next_u64();
        };
        // Lemire's method: the high half of a product, with the few draws that would make it uneven thrown away.
        let mut product = u128::from(self.next_u64()) * u128::from(range);
        if low(product) < range {
            let uneven = range.wrapping_neg() % range;
            while low(product) < uneven {
                product = u128::from(self.next_u64()) * u128::from(range);
            }
        }
        high(product)
    }

    /// A number drawn evenly from `least..=most`, in either order.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        let (least, most) = if least <= most {
            (least, most)
        } else {
            (most, least)
        };
        least + self.up_to(most - least)
    }

    /// A length drawn evenly from `shortest..=longest`, to the nanosecond.
    pub fn length_between(&mut self, shortest: Duration, longest: Duration) -> Duration {
        Duration::from_nanos(self.between(shortest.as_nanos(), longest.as_nanos()))
    }

    fn start(&mut self) {
        let mut mixer = SplitMix(split(self.seed) ^ split(self.stream ^ 0x6a09_e667_f3bc_c909));
        self.state = [mixer.next(), mixer.next(), mixer.next(), mixer.next()];
        if self.state == [0; 4] {
            self.state[0] = 1;
        }
    }
}

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        let result = split(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        result
    }
}

const fn split(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
const fn low(product: u128) -> u64 {
    product as u64
}

const fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

#[cfg(test)]
mod tests;
