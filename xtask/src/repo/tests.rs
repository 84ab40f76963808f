use super::*;

#[test]
fn a_cargo_below_cargo_builds_nothing_again() {
    // Could break if it were told of the package whose test this is: ring, whose build script asks for that, would be built
    // anew with all that stands on it, here and then once more by whoever builds next.
    let removed = |name: &str| {
        cargo()
            .get_envs()
            .any(|(key, value)| key == name && value.is_none())
    };
    for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO_PKG_VERSION_PRE"] {
        assert!(std::env::var_os(name).is_some(), "cargo tells its tests {name}");
        assert!(removed(name), "{name}");
    }
}
