//! The parameters of a control request.

use crate::error::{nearest, shown};
use crate::net::dialect::{Answer, refusal};
use crate::percent;

/// Parameters by name, decoded; each at most once.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `name=value&name=value`. A name that is not `known`, or that comes twice, is refused: it would do nothing.
    pub(super) fn read(text: &str, known: &[&str]) -> Result<Self, Answer> {
        let pairs = Self::pairs(text)?;
        match pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(refusal(400, &unknown(name, known))),
            None => Ok(Self(pairs)),
        }
    }

    /// The same with whatever names there are.
    pub(super) fn pairs(text: &str) -> Result<Vec<(String, String)>, Answer> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let exact = |text: &str| percent::decode(text.as_bytes()).exact();
            let (Some(name), Some(value)) = (exact(name), exact(value)) else {
                let message = format!("`{}` is not percent-encoded UTF-8", shown(pair));
                return Err(refusal(400, &message));
            };
            if pairs.iter().any(|(seen, _)| *seen == name) {
                let message = format!("the parameter `{}` comes twice", shown(&name));
                return Err(refusal(400, &message));
            }
            pairs.push((name, value));
        }
        Ok(pairs)
    }

    /// The value of this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        pairs
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    let takes = match known {
        [] => "none".to_owned(),
        known => known.join(", "),
    };
    let meant = match nearest(name, known) {
        Some(word) => format!("; did you mean `{word}`?"),
        None => String::new(),
    };
    format!(
        "there is no parameter `{}`; this takes {takes}{meant}",
        shown(name)
    )
}
