//! FNV-1a, 64 bits: the same in every version and on every machine, and no match for anybody who means harm.

/// What has been written so far.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub(crate) fn sum(&self) -> u64 {
        self.0
    }
}

/// The sum of these bytes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut all = Fnv::default();
    all.write(bytes);
    all.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_that_others_know() {
        // Could break by one digit of a constant: then answers and fingerprints would change between two versions.
        for (text, sum) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(hash(text.as_bytes()), sum, "{text}");
        }
    }
}
