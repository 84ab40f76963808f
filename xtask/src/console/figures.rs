//! Pictures that pages show, held to the commands that draw them.
//!
//! What can go wrong: a picture is drawn once, by a command that nobody remembers, and goes on showing what was so then.
//! So a page shows `![what it is](figures/NAME/load.svg)`, and one of its blocks writes the folder `figures/NAME`; what
//! stands beside the page must be that, to the byte. Of what a block writes only what its page shows is kept.

use super::Block;
use crate::repo::{Error, Repo};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A picture that a block drew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Where it stands in the repository.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// The folder of pictures, beside a page and in that in which its blocks run.
const FOLDER: &str = "figures/";

/// The pictures that a page shows, as the page names them.
fn shown_by(markdown: &str) -> BTreeSet<&str> {
    let targets = markdown.split("](").skip(1);
    targets
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target)
        .filter(|target| target.starts_with(FOLDER) && !target.contains(".."))
        .collect()
}

/// What stands beside this page under this name, as a path of the repository.
fn beside(page: &str, target: &str) -> String {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    if folder.is_empty() {
        target.to_owned()
    } else {
        format!("{folder}/{target}")
    }
}

/// Every picture that some page shows.
fn shown(repo: &Repo) -> BTreeSet<String> {
    let pages = repo.files.iter().filter(|file| file.path.ends_with(".md"));
    pages
        .flat_map(|page| {
            let targets = shown_by(&page.text).into_iter();
            targets.map(|target| beside(&page.path, target))
        })
        .collect()
}

/// What a block has drawn into the folder in which it ran, of what its page shows.
pub(super) fn drawn(repo: &Repo, block: &Block, folder: &Path) -> Result<Vec<Drawn>, Error> {
    let mut all = Vec::new();
    let page = repo.files.iter().find(|file| file.path == block.path);
    for target in shown_by(page.map_or("", |page| &page.text)) {
        let path = folder.join(target);
        if path.is_file() {
            let text = fs::read_to_string(&path).map_err(|source| Error::Io { path, source })?;
            all.push(Drawn {
                path: beside(&block.path, target),
                text,
            });
        }
    }
    Ok(all)
}

/// Whether this is what stands in the repository.
pub fn stands(repo: &Repo, drawn: &Drawn) -> bool {
    repo.text(&drawn.path).is_ok_and(|text| text == drawn.text)
}

/// Pictures that pages show and no block drew, and pictures that no page shows.
pub fn left_over(repo: &Repo, drawn: &BTreeSet<String>) -> Vec<String> {
    let shown = shown(repo);
    let undrawn = shown.difference(drawn).map(|path| {
        format!("{path}: a page shows it, and no block of that page draws it (`seawall simulate … --svg`)")
    });
    let kept = repo.files.iter().map(|file| &file.path);
    let unseen = kept
        .filter(|path| path.starts_with("docs/") && path.contains(FOLDER) && !shown.contains(*path))
        .map(|path| format!("{path}: no page shows it"));
    undrawn.chain(unseen).collect()
}
