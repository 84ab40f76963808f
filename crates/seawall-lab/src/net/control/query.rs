//! The parameters of a control request.

use crate::error::{nearest, shown};
use crate::net::dialect::{Answer, refusal};

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
            let (Some(name), Some(value)) = (decoded(name), decoded(value)) else {
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

/// `%2F` and `+`, as forms encode them; `None` where that gives no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}
