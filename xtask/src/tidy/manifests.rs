//! The manifests: one place for versions and lints, and a reason for every guest.

use super::Finding;
use crate::repo::{Error, Repo};
use toml::{Table, Value};

const ROOT: &str = "Cargo.toml";

/// Every crate takes its dependencies, lints and common fields from the workspace.
pub fn check(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for file in &repo.files {
        let ours = file.path.starts_with("crates/") || file.path.starts_with("xtask/");
        if ours && file.path.ends_with("/Cargo.toml") {
            let manifest = repo.toml(&file.path)?;
            findings.extend(member(&file.path, &manifest));
        }
    }
    Ok(findings)
}

fn member(path: &str, manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !from_workspace(manifest.get("lints")) {
        findings.push(Finding::in_file(path, "must say `[lints] workspace = true`"));
    }
    for field in ["version", "edition", "rust-version", "license"] {
        let value = manifest.get("package").and_then(|package| package.get(field));
        if !from_workspace(value) {
            findings.push(Finding::in_file(
                path,
                format!("must say `{field}.workspace = true`"),
            ));
        }
    }
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table)
        .chain([manifest]);
    for table in tables {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let dependencies = table.get(kind).and_then(Value::as_table);
            for (name, value) in dependencies.into_iter().flatten() {
                if !from_workspace(Some(value)) {
                    findings.push(Finding::in_file(
                        path,
                        format!("{kind}: `{name}` must say `workspace = true`, its version stands in {ROOT}"),
                    ));
                }
            }
        }
    }
    findings
}

fn from_workspace(value: Option<&Value>) -> bool {
    value
        .and_then(|value| value.get("workspace"))
        .and_then(Value::as_bool)
        .unwrap_or(false)
}

/// Every crate from elsewhere has a comment on its line that says what it is for.
pub fn reasons(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let text = repo.text(ROOT)?;
    let manifest = repo.toml(ROOT)?;
    Ok(without_reason(text, &manifest))
}

fn without_reason(text: &str, manifest: &Table) -> Vec<Finding> {
    let dependencies = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"))
        .and_then(Value::as_table);
    let mut findings = Vec::new();
    for (name, value) in dependencies.into_iter().flatten() {
        if value.get("path").is_some() {
            continue;
        }
        let line = text.lines().enumerate().find(|(_, line)| {
            line.strip_prefix(name.as_str())
                .is_some_and(|tail| tail.trim_start().starts_with('='))
        });
        let Some((number, line)) = line else {
            findings.push(Finding::in_file(ROOT, format!("`{name}` must stand on one line")));
            continue;
        };
        let reason = line.rsplit_once(" # ").map_or("", |(_, reason)| reason.trim());
        if reason.is_empty() {
            findings.push(Finding::at(
                ROOT,
                number + 1,
                format!("`{name}` needs a comment on its line that says what it is for"),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
