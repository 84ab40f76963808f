//! Secrets in a line that an error quotes.
//!
//! What can go wrong: somebody writes a key into the file, which is an error, and the error prints it into a log. What
//! the reader knows to be a secret it blots out by its place. Where TOML itself is broken it knows no places, so a
//! line is looked at as a person would: what a known issuer's prefix begins, what stands between `//` and `@` or in an
//! address's query, and what stands, quoted or not, after a name that says credential, token, secret, password or key,
//! or means to. Blotting keeps every width, so that carets stay under their words.

use super::reader::distance;
use std::ops::Range;

/// What takes the place of each character of a secret.
const BLOT: char = '*';

/// Words that begin a value as an issuer made it.
const PREFIXES: [&str; 16] = [
    "sk-",
    "sk_",
    "rk_",
    "pk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "gsk_",
    "xai-",
    "hf_",
    "AIza",
    "AKIA",
    "xoxb-",
    "eyJ",
];
/// Names whose quoted value is a secret, unless they also say that it is only where one is.
const NAMES: [&str; 7] = [
    "credential",
    "token",
    "secret",
    "password",
    "passwd",
    "api_key",
    "apikey",
];
/// The last part of a name that says where a secret is.
const POINTERS: [&str; 3] = ["env", "file", "header"];
/// One letter in this many may be off in a name of [`NAMES`] that is still meant.
const LETTERS_A_TYPO: usize = 4;
/// How far before a value its name is looked for.
const NAME_BYTES_MAX: usize = 256;
/// A shorter word is no key of anybody.
const KEY_CHARS_MIN: usize = 8;

/// A line with its secrets blotted out. `known` are secrets by their place, in bytes of the line.
pub(super) fn line(text: &str, known: &[Range<usize>]) -> String {
    let mut spans = known.to_vec();
    spans.extend(prefixed(text));
    spans.extend(in_addresses(text));
    spans.extend(in_queries(text));
    spans.extend(named(text));
    spans.extend(named_bare(text));
    let mut hidden = vec![false; text.len()];
    for span in spans {
        hidden[span.start.min(text.len())..span.end.min(text.len())].fill(true);
    }
    text.char_indices()
        .map(|(at, c)| if hidden[at] { BLOT } else { c })
        .collect()
}

/// Whether a text looks like a secret of a known issuer.
pub(crate) fn is_secret(text: &str) -> bool {
    prefixed(text).next().is_some()
}

/// Words that begin as an issuer's keys do.
fn prefixed(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    words(text).filter(|word| {
        let word = &text[word.clone()];
        word.len() >= KEY_CHARS_MIN && PREFIXES.iter().any(|prefix| word.starts_with(prefix))
    })
}

/// Runs of characters that keys are made of.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '=' | '~');
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(is_word)?;
        let end = text[start..]
            .find(|c| !is_word(c))
            .map_or(text.len(), |at| start + at);
        from = end;
        Some(start..end)
    })
}

/// A user name and password between `//` and `@`; also where the `@` is missing, and what stands after the `:` is no
/// port.
fn in_addresses(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    text.match_indices("//").filter_map(move |(at, slashes)| {
        let start = at + slashes.len();
        let end = text[start..]
            .find(['/', '"', '\'', ' '])
            .map_or(text.len(), |end| start + end);
        let authority = &text[start..end];
        if let Some(at_sign) = authority.rfind('@') {
            return Some(start..start + at_sign);
        }
        let (name, port) = authority.split_once(':')?;
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        (!is_port && !name.starts_with('[')).then_some(start..end)
    })
}

/// The values in an address's query, but for the one that an address may have.
fn in_queries(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for (at, slashes) in text.match_indices("//") {
        let start = at + slashes.len();
        let end = text[start..]
            .find(['"', '\'', ' '])
            .map_or(text.len(), |end| start + end);
        let Some(query) = text[start..end].find('?').map(|mark| start + mark + 1) else {
            continue;
        };
        let mut from = query;
        for pair in text[query..end].split('&') {
            let value = pair.find('=').map_or(0, |equals| equals + 1);
            if &pair[..value] != "api-version=" {
                spans.push(from + value..from + pair.len());
            }
            from += pair.len() + 1;
        }
    }
    spans
}

/// What stands unquoted after a name that says that it is secret: quotes are forgotten, and lines are pasted from files
/// of another form.
fn named_bare(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for (at, joint) in text.match_indices(['=', ':']) {
        let after = &text[at + joint.len()..];
        let start = text.len() - after.trim_start().len();
        let value = text[start..]
            .split(['#', ',', '}', ']'])
            .next()
            .unwrap_or_default();
        let value = value.trim_end();
        let is_other = value.starts_with(['"', '\'', '{', '[', '=', ':'])
            || value.parse::<f64>().is_ok()
            || matches!(value, "" | "true" | "false");
        let near = text.floor_char_boundary(at.saturating_sub(NAME_BYTES_MAX));
        if !is_other && says_secret(&text[near..=at]) {
            spans.push(start..start + value.len());
        }
    }
    spans
}

/// What is quoted after a name that says that it is secret, to the end of the line where no quote closes it.
fn named(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut from = 0;
    while let Some(open) = text[from..].find(['"', '\'']).map(|at| from + at) {
        let quote = &text[open..=open];
        let start = open + 1;
        let end = text[start..].find(quote).map_or(text.len(), |at| start + at);
        let near = text.floor_char_boundary(open.saturating_sub(NAME_BYTES_MAX));
        if says_secret(&text[near..open]) {
            spans.push(start..end);
        }
        from = (end + 1).min(text.len());
    }
    spans
}

/// Whether what stands before a value names it a secret.
fn says_secret(before: &str) -> bool {
    let Some((names, _)) = before.rsplit_once(['=', ':']) else {
        return false;
    };
    let name = |text: &str| -> String {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let text = text.trim_end().trim_end_matches(['"', '\'']);
        let start = text.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
        text.get(start..).unwrap_or_default().to_lowercase()
    };
    let own = name(names);
    if POINTERS.contains(&own.rsplit('.').next().unwrap_or_default()) {
        return false;
    }
    let outer = names
        .split_once('=')
        .map(|(outer, _)| name(outer))
        .unwrap_or_default();
    let says = |name: &str| {
        let means =
            |secret: &str| name.contains(secret) || distance(name, secret) <= secret.len() / LETTERS_A_TYPO;
        NAMES.iter().any(|secret| means(secret)) && !name.starts_with("tokens")
    };
    let is_key = own == "key" || own.ends_with("_key") || own.ends_with("-key");
    says(&own) || is_key && !outer.contains("tls") || own.ends_with("authorization") || says(&outer)
}
