//! Any bytes at all, read as what callers, servers and time do to an engine: no law may break.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(law) = seawall_core::laws::check(bytes) {
        panic!("{law}");
    }
});
