use super::*;
use crate::repo::File;

#[test]
fn every_reason_has_its_row_on_the_page() {
    // Could break if a stage were added to the catalogue and not to the page.
    let page = reasons();
    for entry in CATALOGUE {
        assert!(page.contains(&format!("| `{}` |", entry.code)), "{}", entry.code);
    }
}

#[test]
fn a_page_that_is_stale_or_missing_is_found() {
    // Could break if a page that does not exist counted as in step.
    let page = pages().remove(0);
    let said = |files: Vec<File>| in_step(&Repo::of(files)).expect("reads nothing else").len();
    assert_eq!(said(vec![File::new(page.path, &page.text)]), 0);
    assert_eq!(said(vec![File::new(page.path, "old")]), 1);
    assert_eq!(said(Vec::new()), 1);
}

#[test]
fn a_readme_whose_first_block_is_another_is_found() {
    // Could break if the commands were accepted anywhere in the README: the first thing seen must be what CI runs.
    let said = |text: &str| {
        let repo = Repo::of(vec![File::new("README.md", text)]);
        first_block(&repo).expect("the file is there").len()
    };
    let block = "```sh\ncargo run --release -- batch x\ncargo test --workspace\n```\n";
    assert_eq!(said(&format!("# x\n\n{block}")), 0);
    assert_eq!(said(&format!("# x\n\n```sh\nls\n```\n{block}")), 2);
    assert_eq!(said("# x"), 2);
}

#[test]
fn a_feature_without_a_row_and_a_row_without_a_feature_are_found() {
    // Could break if the rows of one crate counted for another: their features share names.
    let said = |rows: &str| {
        let manifest = |features: &str| format!("[features]\n{features}");
        let page = format!("### `seawall`\n\n{rows}\n### `seawall-lab`\n\n| `net` |\n### `seawall-core`\n");
        let repo = Repo::of(vec![
            File::new("crates/seawall-core/Cargo.toml", ""),
            File::new(
                "crates/seawall/Cargo.toml",
                &manifest("default = [\"http\"]\nhttp = []"),
            ),
            File::new("crates/seawall-lab/Cargo.toml", &manifest("net = []")),
            File::new("docs/reference/features.md", &page),
        ]);
        features(&repo).expect("the files are there").len()
    };
    assert_eq!(said("| `http` | yes |\n"), 0);
    assert_eq!(said(""), 1);
    assert_eq!(said("| `http` | yes |\n| `net` |\n"), 1);
}
