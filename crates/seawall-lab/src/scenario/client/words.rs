//! A command line into words, without a shell.
//!
//! What can go wrong: a command that one machine's shell reads differently from another's, and a `$(rm …)` in a file
//! that somebody was sent. So no shell is started: quotes group, a backslash takes the next character as it is, and what
//! only a shell could mean is an error that says how to ask for one.

use crate::error::{ScriptError, Source};
use std::ops::Range;

/// Splits a command into words.
pub(in crate::scenario) fn split(source: Source<'_>, span: Range<usize>) -> Result<Vec<String>, ScriptError> {
    let text = &source.text[span.clone()];
    let wrong = |at: usize, length: usize, message: &str, fix: &str| {
        let start = span.start + at;
        source
            .error(start..start + length, message)
            .expecting(fix.to_owned())
    };
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match signs.next() {
                        Some((_, '\'')) => break,
                        Some((_, c)) => word.push(c),
                        None => {
                            return Err(wrong(
                                at,
                                1,
                                "this quote is not closed",
                                "another ' where the word ends",
                            ));
                        }
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match signs.next() {
                        Some((_, '"')) => break,
                        Some((_, '\\')) => match signs.next() {
                            Some((_, c @ ('"' | '\\' | '$' | '`'))) => word.push(c),
                            Some((_, c)) => word.extend(['\\', c]),
                            None => {}
                        },
                        Some((at, '$' | '`')) => return Err(wrong(at, 1, NO_SHELL, SHELL_FIX)),
                        Some((_, c)) => word.push(c),
                        None => {
                            return Err(wrong(
                                at,
                                1,
                                "this quote is not closed",
                                "another \" where the word ends",
                            ));
                        }
                    }
                }
            }
            '\\' => match signs.next() {
                Some((_, c)) => word.get_or_insert_default().push(c),
                None => {
                    return Err(wrong(
                        at,
                        1,
                        "a backslash at the end takes nothing",
                        "nothing after the last word",
                    ));
                }
            },
            '|' | '&' | ';' | '<' | '>' | '$' | '`' => {
                return Err(wrong(at, sign.len_utf8(), NO_SHELL, SHELL_FIX));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match words.first().is_some_and(|program| !program.is_empty()) {
        true => Ok(words),
        false => Err(wrong(
            0,
            text.len(),
            "there is no program to run",
            "a program and its arguments",
        )),
    }
}

const NO_SHELL: &str = "no shell reads this command, so this sign means nothing in it";
const SHELL_FIX: &str =
    "the sign in single quotes, {url} for the mock's address, or a shell: run = [\"sh\", \"-c\", \"…\"]";
