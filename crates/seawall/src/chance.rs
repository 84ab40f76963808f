//! Where chance comes from when nobody gave a seed, and the keys that are made of chance and a date.

use seawall_core::rng::Rng;
use seawall_core::time::Wall;
use std::hash::{BuildHasher as _, Hasher as _};

/// A seed that no two engines share, in this process or another.
pub(crate) fn entropy() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// The text of a key: as a header wants it.
pub(crate) type KeyText = [u8; uuid::fmt::Hyphenated::LENGTH];

/// An idempotency key (rule E3): a UUID of version 7, of this date and what `rng` draws. In digits and hyphens.
pub(crate) fn uuid7(date: Wall, mut rng: Rng) -> KeyText {
    let mut random = [0; 10];
    let drawn = [rng.next_u64().to_le_bytes(), rng.next_u64().to_le_bytes()];
    random.copy_from_slice(&drawn.as_flattened()[..10]);
    // A clock that stands before 1970 dates its keys from there.
    let unix_ms = u64::try_from(date.unix_ms).unwrap_or(0);
    let uuid = uuid::Builder::from_unix_timestamp_millis(unix_ms, &random).into_uuid();
    let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
    uuid.hyphenated().encode_lower(&mut text);
    text
}
