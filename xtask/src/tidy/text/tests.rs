use super::*;

#[test]
fn a_long_source_is_found_and_a_long_test_is_not() {
    // Could break if the limit were off by one, or a folder named like tests exempted a source.
    let long = "\n".repeat(LINES_MAX + 1);
    let full = "\n".repeat(LINES_MAX);
    assert!(size(&File::new("src/a.rs", &long)).is_some());
    assert!(size(&File::new("src/contests.rs", &long)).is_some());
    assert!(size(&File::new("src/a.rs", &full)).is_none());
    assert!(size(&File::new("src/a/tests.rs", &long)).is_none());
    assert!(size(&File::new("tests/it/a.rs", &long)).is_none());
    assert!(size(&File::new("a.jsonl", &long)).is_none());
}

#[test]
fn what_was_left_open_or_belongs_to_a_machine_is_found() {
    // Could break if a mark were looked for in one kind of file alone.
    for mark in UNFINISHED {
        assert_eq!(
            strange(&File::new("a.rs", &format!("x {mark}"))).len(),
            1,
            "{mark}"
        );
        assert_eq!(
            strange(&File::new("a.md", &format!("x {mark}"))).len(),
            1,
            "{mark}"
        );
        assert_eq!(strange(&File::new("a.jsonl", &format!("x {mark}"))), [], "{mark}");
    }
    for folder in MACHINE {
        assert_eq!(strange(&File::new("a.json", &format!("\"{folder}x\""))).len(), 1);
        assert_eq!(strange(&File::new("a.sh", &format!("target{folder}x"))), []);
    }
    for host in REGISTRIES {
        assert_eq!(strange(&File::new("a.md", &format!("https://{host}/x"))).len(), 1);
    }
}

#[test]
fn the_lock_file_may_name_the_registry() {
    // Could break if the exemption were lost: no repository with a lock file would pass.
    let text = format!("source = \"{}\"", REGISTRIES[0]);
    let repo = Repo::of(vec![File::new("Cargo.lock", &text), File::new("a.toml", &text)]);
    assert_eq!(strangers(&repo).expect("reads nothing else").len(), 1);
}

#[test]
fn an_exception_without_a_reason_is_found() {
    // Could break if a method named expect, or a reason in a comment, counted.
    let said = |text: &str| without_reason(&File::new("a.rs", text)).len();
    assert_eq!(said("#[expect(dead_code, reason = \"x\")] fn f() {}"), 0);
    assert_eq!(said("#![allow(\n  dead_code,\n  reason = \"x\"\n)]"), 0);
    assert_eq!(said("x.expect(\"y\"); v[expect(1)]"), 0);
    assert_eq!(said("#[allow(dead_code)] fn f() {}"), 1);
    assert_eq!(said("#[expect(dead_code /* reason */)] fn f() {}"), 1);
    assert_eq!(said("#[allow(a)]\n#[expect(b, reason = \"x\")]"), 1);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    // Could break if links were resolved from the root and not from their document.
    let page =
        "# F\n[a](b.md) [c](../README.md#x) [d](https://example.com) [e](#f)\n```\n[g](gone.md)\n```\n";
    let repo = |page: &str| {
        Repo::of(vec![
            File::new(
                "README.md",
                "## X\n```\n## Shell\n```\n## J to N: `#[all]`, of it\n",
            ),
            File::new("docs/a.md", page),
            File::new("docs/b.md", ""),
        ])
    };
    let said = |page: &str| links(&repo(page)).expect("reads nothing else");
    assert_eq!(said(page), []);
    assert_eq!(said("[x](README.md)").len(), 1);
    assert_eq!(said("[x](../../README.md)").len(), 1);
    assert_eq!(said("[x](../docs/) [y](.)"), []);
    // Or if a heading were taken for granted where its page is there.
    assert_eq!(said("[x](../README.md#j-to-n-all-of-it)"), []);
    assert_eq!(
        said("[x](../README.md#j) [y](../README.md#shell) [z](#z)").len(),
        3
    );
}

#[test]
fn a_line_that_only_rustdoc_hides_is_found_on_pages_alone() {
    // Could break if attributes counted, comments of a shell, or the pages that rustdoc renders.
    let said = |path: &str, text: &str| {
        let repo = Repo::of(vec![File::new(path, text)]);
        hidden(&repo).expect("reads nothing else").len()
    };
    let page = "# A page\n```sh\n# a comment\n```\n```rust,no_run\n#[tokio::main]\n    # let _ = x;\n# Ok(())\n```\n";
    assert_eq!(said("docs/guide/a.md", page), 2);
    assert_eq!(said("README.md", page), 2);
    assert_eq!(said("crates/seawall/src/lib.md", page), 0);
}
