//! Whether a header, or a parameter of an address, holds a credential.
//!
//! What can go wrong: whoever keeps a list of names knows the headers of the providers that he thought of, and a key under
//! another name is printed, or goes to a stranger (rules K5 and M3); whoever takes every name that says "key" for a
//! credential keeps back idempotency keys and the tokens of pages. So a name is read by its words: one that ends as names
//! of credentials do is one, unless the word before says what else it is the key to. A value that begins as a credential
//! does is one under any name.
//!
//! What it does not cover: a credential under a name that says nothing (`code`) whose value says nothing. Who sends one
//! marks its header as sensitive.

use crate::config::looks_secret;
use http::{HeaderName, HeaderValue};
use std::borrow::Cow;

/// How a word ends that names a credential.
const CREDENTIALS: [&str; 15] = [
    "auth",
    "authentication",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "dpop",
    "jwt",
    "key",
    "passwd",
    "password",
    "pwd",
    "secret",
    "signature",
    "token",
];
/// Words of which only the whole names one.
const SHORT: [&str; 2] = ["sas", "sig"];
/// What makes of a key or a token something else.
const HARMLESS: [&str; 11] = [
    "cache",
    "continuation",
    "cursor",
    "idempotency",
    "next",
    "page",
    "partition",
    "routing",
    "shard",
    "sort",
    "sync",
];
/// What stands before a credential in a header.
const SCHEMES: [&str; 3] = ["basic ", "bearer ", "token "];

/// Whether a header holds a credential: by its mark, its name or its value.
pub(crate) fn is_secret(name: &HeaderName, value: &HeaderValue) -> bool {
    value.is_sensitive() || names_secret(name.as_str()) || value.to_str().is_ok_and(is_credential)
}

/// Whether the query of a path holds a credential, however its server may take it apart.
pub(crate) fn has_secret_query(path: &str) -> bool {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    query.split(['&', ';', '?', '#']).any(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        names_secret(&decoded(name)) || is_credential(&decoded(value))
    })
}

fn is_credential(value: &str) -> bool {
    let begins = |scheme: &&str| {
        value
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    SCHEMES.iter().any(begins) || looks_secret(value)
}

fn names_secret(name: &str) -> bool {
    let mut before = String::new();
    for word in words(name) {
        if SHORT.contains(&&*word) {
            return true;
        }
        if let Some(rest) = CREDENTIALS.iter().find_map(|end| word.strip_suffix(end)) {
            // In one word or in two: `pagetoken`, `page_token`.
            let of = if rest.is_empty() { &*before } else { rest };
            if !HARMLESS.iter().any(|harmless| of.ends_with(harmless)) {
                return true;
            }
        }
        before = word;
    }
    false
}

/// The words of `x-api-key`, `api_key` and `apiKey`, in small letters.
fn words(name: &str) -> impl Iterator<Item = String> {
    let runs = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    runs.flat_map(|run| {
        let mut words = Vec::new();
        let mut start = 0;
        for (at, pair) in run.as_bytes().windows(2).enumerate() {
            if pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase() {
                words.push(run[start..=at].to_ascii_lowercase());
                start = at + 1;
            }
        }
        words.push(run[start..].to_ascii_lowercase());
        words
    })
    .filter(|word| !word.is_empty())
}

/// A part of a query as its server reads it. What is no text then stays as it is: no credential is named by it.
fn decoded(part: &str) -> Cow<'_, str> {
    if !part.contains(['%', '+']) {
        return Cow::Borrowed(part);
    }
    let bytes = part.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let coded = match byte {
            b'%' => digit(at + 1).zip(digit(at + 2)),
            _ => None,
        };
        let (read, length) = match (coded, byte) {
            (Some((high, low)), _) => (u8::try_from(high * 16 + low).unwrap_or(b'%'), 3),
            (None, b'+') => (b' ', 1),
            (None, byte) => (*byte, 1),
        };
        plain.push(read);
        at += length;
    }
    String::from_utf8(plain).map_or(Cow::Borrowed(part), Cow::Owned)
}

#[cfg(test)]
mod tests;
