//! Sizes, words and links: what can be seen without knowing what the text means.

use super::Finding;
use crate::repo::{Error, File, Repo};
use crate::source::{code_only, words};

/// A file of this many lines is read from top to bottom; a longer one is searched.
pub const LINES_MAX: usize = 800;

/// Marks of work that was left open. They are put together here so that this file does not hold them.
const UNFINISHED: &[&str] = &[
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// Folders of one machine, which mean nothing on another.
const MACHINE: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Hosts of package registries: tools know them, a repository need not.
const REGISTRIES: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("rubygems", ".org"),
    concat!("repo1.maven", ".org"),
];

/// No source above [`LINES_MAX`] lines, tests aside.
pub fn sizes(repo: &Repo) -> Result<Vec<Finding>, Error> {
    Ok(repo.files.iter().filter_map(size).collect())
}

fn size(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    (file.is_rust() && !file.is_test() && lines > LINES_MAX).then(|| {
        Finding::in_file(
            &file.path,
            format!("has {lines} lines; the most is {LINES_MAX}, aim at 400"),
        )
    })
}

/// No unfinished work in what people wrote; no machine paths or registry hosts anywhere but in the lock file.
pub fn strangers(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let files = repo
        .files
        .iter()
        .filter(|file| !file.path.ends_with("Cargo.lock"));
    Ok(files.flat_map(strange).collect())
}

fn strange(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let mut say = |text: String| findings.push(Finding::at(&file.path, number + 1, text));
        for mark in UNFINISHED {
            if file.is_written() && line.contains(mark) {
                say(format!(
                    "`{mark}` marks unfinished work; finish it or take it out"
                ));
            }
        }
        for folder in MACHINE {
            if starts_a_path(line, folder) {
                say(format!("`{folder}` is a folder of one machine"));
            }
        }
        for host in REGISTRIES {
            if line.contains(host) {
                say(format!("`{host}` is a registry's host; name the crate alone"));
            }
        }
    }
    findings
}

/// Whether the folder stands at the start of an absolute path: `http/work/` and `~/work/` are none.
fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~$}/*".contains(c))
    })
}

/// Every `#[allow]` and `#[expect]` says why.
pub fn exceptions(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let sources = repo.files.iter().filter(|file| file.is_rust());
    Ok(sources.flat_map(without_reason).collect())
}

fn without_reason(file: &File) -> Vec<Finding> {
    let code = code_only(&file.text);
    let words = words(&code);
    let mut findings = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_exception = (word.text == "allow" || word.text == "expect")
            && at >= 2
            && words[at - 1].text == "["
            && matches!(words[at - 2].text, "#" | "!");
        if !is_exception {
            continue;
        }
        let inside = words[at..].iter().take_while(|word| word.text != "]");
        if !inside.clone().any(|word| word.text == "reason") {
            findings.push(Finding::at(
                &file.path,
                word.line,
                format!("`#[{}]` without `reason = \"..\"`", word.text),
            ));
        }
    }
    findings
}

/// Every relative link in a document leads to a file or folder of the repository, and to a heading there where it names
/// one.
pub fn links(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let documents = repo.files.iter().filter(|file| file.path.ends_with(".md"));
    Ok(documents.flat_map(|file| dead_links(repo, file)).collect())
}

fn dead_links(repo: &Repo, file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut fenced = false;
    for (number, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for part in line.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or("");
            let outside = target.contains("://") || target.starts_with("mailto:");
            if !outside && !leads_somewhere(repo, file, target) {
                findings.push(Finding::at(
                    &file.path,
                    number + 1,
                    format!("the link to {target} leads nowhere"),
                ));
            }
        }
    }
    findings
}

fn leads_somewhere(repo: &Repo, from: &File, target: &str) -> bool {
    let (place, heading) = target.split_once('#').unwrap_or((target, ""));
    let Some(path) = resolved(&from.path, place) else {
        return false;
    };
    match repo.files.iter().find(|file| file.path == path) {
        // What a host makes of the headings of other files is not known here.
        Some(file) => heading.is_empty() || !path.ends_with(".md") || has_heading(file, heading),
        None => {
            let folder = format!("{path}/");
            path.is_empty() || repo.files.iter().any(|file| file.path.starts_with(&folder))
        }
    }
}

/// The path in the repository that a link from `from` means; `None` where it leaves the repository.
fn resolved(from: &str, place: &str) -> Option<String> {
    if place.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in place.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn has_heading(file: &File, anchor: &str) -> bool {
    let mut fenced = false;
    file.text.lines().any(|line| {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        !fenced && line.starts_with('#') && anchor_of(line.trim_start_matches('#').trim()) == anchor
    })
}

/// What a heading is linked to by, as GitHub makes it: small letters, digits, hyphens and underscores; a space is a hyphen.
fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Rust on pages that are read as they stand has no lines that only rustdoc hides: whoever pastes it pastes those too.
pub fn hidden(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let is_a_page = |file: &&File| file.path == "README.md" || file.path.starts_with("docs/");
    let pages = repo.files.iter().filter(is_a_page);
    Ok(pages
        .filter(|file| file.path.ends_with(".md"))
        .flat_map(hides)
        .collect())
}

fn hides(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rust = false;
    for (number, line) in file.text.lines().enumerate() {
        if let Some(language) = line.strip_prefix("```") {
            rust = language.starts_with("rust");
        } else if rust && (line.trim() == "#" || line.trim_start().starts_with("# ")) {
            let message = "this line is hidden by rustdoc alone; show it, or do without it".to_owned();
            findings.push(Finding::at(&file.path, number + 1, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
