use super::*;
use serde_json::json;

#[test]
fn a_licence_is_met_only_by_what_is_allowed() {
    // Could break if AND were read as OR, or an exception were cut off its licence.
    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];
    for (text, met) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND ISC", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("MIT AND (GPL-3.0 OR LGPL-3.0)", false),
        ("GPL-3.0 AND ISC OR MIT", true),
        ("Apache-2.0", false),
        ("Apache-2.0 WITH LLVM-exception", true),
    ] {
        let licence = Licence::read(text).expect(text);
        assert_eq!(licence.met_by(&allowed), met, "{text}");
    }
}

#[test]
fn a_licence_that_cannot_be_read_is_not_a_licence() {
    // Could break if an empty or torn expression were met by everything.
    for text in ["", "MIT OR", "(MIT", "MIT)", "AND MIT", "MIT ISC", "MIT WITH"] {
        assert_eq!(Licence::read(text), None, "{text}");
    }
}

#[test]
fn a_guest_without_an_allowed_licence_is_found() {
    // Could break if crates of the house, which have no source, were asked, or guests were not.
    let metadata = json!({"packages": [
        {"name": "ours", "license": null, "source": null},
        {"name": "good", "license": "MIT", "source": REGISTRY},
        {"name": "bad", "license": "AGPL-3.0", "source": REGISTRY},
        {"name": "none", "license": null, "source": REGISTRY},
    ]});
    assert_eq!(unlicensed(&metadata, &["MIT"]).len(), 2);
}

#[test]
fn a_crate_from_elsewhere_or_banned_is_found() {
    // Could break if a git source, or another registry, passed for the registry; or if who may bring a banned crate let others bring it.
    let lock: Table = format!(
        "[[package]]\nname = 'ours'\n
         [[package]]\nname = 'good'\nsource = '{REGISTRY}'\ndependencies = ['bad 1.0.0', 'wrapped']\n
         [[package]]\nname = 'wrapper'\nsource = '{REGISTRY}'\ndependencies = ['wrapped']\n
         [[package]]\nname = 'git'\nsource = 'git+https://example.com/x'\n
         [[package]]\nname = 'other'\nsource = 'registry+https://example.com/index'\n
         [[package]]\nname = 'bad'\nsource = '{REGISTRY}'\n"
    )
    .parse()
    .expect("the test's own lock file");
    let deny: Table = "[bans]\ndeny = [{ crate = 'bad' }, { crate = 'wrapped', wrappers = ['wrapper'] }]"
        .parse()
        .expect("the test's own file");
    let said: Vec<String> = unwelcome(&lock, &banned(&deny))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(said.len(), 4, "{said:?}");
}
