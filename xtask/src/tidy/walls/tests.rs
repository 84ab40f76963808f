use super::*;
use crate::repo::File;

#[test]
fn a_name_from_outside_is_found_however_it_is_written() {
    // Could break if only `use std::` were looked for, and a path in an expression went through.
    for source in [
        "use std::time::Instant;",
        "let now = std::time::Instant::now();",
        "let now = ::std::time::Instant::now();",
        "use rand;",
        "extern crate std;",
        "#[cfg(feature = \"std\")]\nextern crate std;",
        "let host = std :: env::var(\"X\");",
        "const V: &str = env!(\"V\");",
        "fn f() { tokio::spawn(x) }",
    ] {
        assert_eq!(outside("a.rs", source).len(), 1, "{source}");
    }
}

#[test]
fn what_only_looks_like_outside_is_left_alone() {
    // Could break if words in comments, own modules or `core::time` were taken for the outside.
    for source in [
        "// std::time::Instant\nuse core::time::Duration;",
        "let text = \"std::time\";",
        "#[cfg(test)]\nextern crate std;",
        "use crate::rand::Rng; let x = self.env(1);",
    ] {
        assert_eq!(outside("a.rs", source), [], "{source}");
    }
}

#[test]
fn a_core_with_a_guest_has_more_than_one_line() {
    // Could break if the crate's own line were not the one that is skipped.
    assert_eq!(tree_is_one_line("seawall-core v0.1.0 (here)\n"), []);
    assert_eq!(
        tree_is_one_line("seawall-core v0.1.0 (here)\nlibc v0.2.0\n").len(),
        1
    );
}

#[test]
fn a_root_that_only_mentions_no_std_does_not_say_it() {
    // Could break if a comment or a conditional attribute passed.
    let root = |text: &str| Repo::of(vec![File::new(LIB, text)]);
    let said = |text: &str| says_so(&root(text)).expect("the root is there").len();
    assert_eq!(said("#![no_std]\n#![forbid(unsafe_code)]"), 0);
    assert_eq!(said("// #![no_std]\n#![cfg_attr(x, no_std)]"), 2);
}

#[test]
fn a_crate_that_needs_std_does_not_compile_without_it() {
    // Could break if the bare folder held std after all: then the wall would hold nothing.
    let folder = crate::console::fresh_folder("walls-test").expect("a temporary folder");
    let check = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("the folder is ours");
        compile_bare(&path).expect("rustc runs")
    };
    assert_eq!(
        check(
            "good.rs",
            "#![no_std]\nextern crate alloc;\npub use alloc::vec::Vec;"
        ),
        Compiled::Yes
    );
    for bad in ["pub fn f() {}", "#![no_std]\nextern crate std;"] {
        let said = check("bad.rs", bad);
        assert!(
            matches!(&said, Compiled::No { detail } if detail.contains("std")),
            "{said:?}"
        );
    }
    std::fs::remove_dir_all(folder).expect("the folder is ours");
}
