use super::*;

fn read(text: &str) -> Table {
    text.parse().expect("the test's own manifest")
}

const GOOD: &str = "
[package]
name = 'x'
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
[dependencies]
a.workspace = true
b = { workspace = true, optional = true }
[lints]
workspace = true
";

#[test]
fn a_version_in_a_crate_is_found_wherever_it_stands() {
    // Could break if build, development or per-target tables were not looked at.
    assert_eq!(member("x", &read(GOOD)), []);
    for more in [
        "[build-dependencies]\nc = '1'",
        "[dev-dependencies]\nc = { version = '1' }",
        "[target.'cfg(unix)'.dependencies]\nc = { path = '../c' }",
        "[dependencies.c]\ngit = 'https://example.com'",
    ] {
        assert_eq!(member("x", &read(&format!("{GOOD}{more}"))).len(), 1, "{more}");
    }
}

#[test]
fn a_crate_without_the_common_lints_is_found() {
    // Could break if `workspace = false` counted.
    assert_eq!(
        member("x", &read(&GOOD.replace("[lints]\nworkspace = true", ""))).len(),
        1
    );
    assert_eq!(
        member(
            "x",
            &read(&GOOD.replace("[lints]\nworkspace = true", "[lints]\nworkspace = false"))
        )
        .len(),
        1
    );
    assert_eq!(
        member(
            "x",
            &read(&GOOD.replace("edition.workspace = true", "edition = '2021'"))
        )
        .len(),
        1
    );
}

#[test]
fn a_guest_without_a_reason_is_found() {
    // Could break if the comment of another line, or a `#` without words, counted.
    let check = |text: &str| without_reason(text, &read(text));
    let head = "[workspace.dependencies]\nours = { path = 'x' }\n";
    assert_eq!(check(&format!("{head}a = '1' # numbers\n")), []);
    assert_eq!(check(&format!("{head}a = '1'\nab = '1' # numbers\n"))[0].line, 3);
    assert_eq!(check(&format!("{head}a = '1' #\n")).len(), 1);
    assert_eq!(
        check("[workspace.dependencies.a]\nversion = '1' # numbers\n").len(),
        1
    );
}
