//! Where chance comes from when nobody gave a seed.

use std::hash::{BuildHasher as _, Hasher as _};

/// A seed that no two engines share, in this process or another.
pub(crate) fn entropy() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}
