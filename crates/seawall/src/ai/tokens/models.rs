//! Which model reads by which encoding.
//!
//! What can go wrong: a name that begins like another's (`gpt-4` and `gpt-4o`, `ft:gpt-4` and `ft:gpt-4.1`) gets that
//! one's encoding, and counts that look right are off by a tenth. So starts are compared longest first, each ends at a
//! part of the name, and a model that OpenAI's tokenizer does not name is not guessed at.

use super::message::ImageTokens;
use super::{Encoding, Tokenizer};

/// Starts of names, as OpenAI's tokenizer has them (tiktoken 0.14.0, `tiktoken/model.py`); of starts that fit, the longest
/// holds. Fine-tuned models read as their base does.
const STARTS: [(&str, Encoding); 20] = [
    ("o1", Encoding::O200k),
    ("o3", Encoding::O200k),
    ("o4-mini", Encoding::O200k),
    ("gpt-5", Encoding::O200k),
    ("gpt-4.5", Encoding::O200k),
    ("gpt-4.1", Encoding::O200k),
    ("gpt-4o", Encoding::O200k),
    ("chatgpt-4o", Encoding::O200k),
    ("gpt-oss", Encoding::O200k),
    ("gpt-4", Encoding::Cl100k),
    ("gpt-3.5", Encoding::Cl100k),
    ("gpt-3.5-turbo", Encoding::Cl100k),
    ("gpt-35-turbo", Encoding::Cl100k),
    ("davinci-002", Encoding::Cl100k),
    ("babbage-002", Encoding::Cl100k),
    ("text-embedding-ada-002", Encoding::Cl100k),
    ("text-embedding-3-small", Encoding::Cl100k),
    ("text-embedding-3-large", Encoding::Cl100k),
    // Versions that are written with a point.
    ("gpt-5.", Encoding::O200k),
    ("gpt-4o-mini", Encoding::O200k),
];

pub(super) fn tokenizer(model: &str) -> Tokenizer {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let base = match name.strip_prefix("ft:") {
        Some(job) => job.split(':').next().unwrap_or(job),
        None => &name,
    };
    let start = STARTS
        .iter()
        .filter(|(start, _)| {
            base.strip_prefix(start)
                .is_some_and(|rest| start.ends_with('.') || ends(rest))
        })
        .max_by_key(|(start, _)| start.len());
    Tokenizer {
        encoding: start.map_or(Encoding::TwiceO200k, |(_, encoding)| *encoding),
        image: match start {
            Some(("gpt-4o-mini", _)) => ImageTokens::GPT_4O_MINI,
            Some(_) | None => ImageTokens::USUAL,
        },
    }
}

/// A name ends there, or a part of it does.
fn ends(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['-', '@'])
}
