//! Rust sources as words: comments and the insides of literals taken out, so that a check never takes what a
//! comment says for what the code does.

#[cfg(test)]
mod tests;

/// One word of a source: an identifier, `::`, or any other single character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// The line, counted from 1.
    pub line: usize,
    /// The word.
    pub text: &'a str,
}

/// The source with every comment and the inside of every literal blanked; lines stay where they were.
pub fn code_only(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut after_name = false;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = raw_string(rest, after_name) {
            length
        } else if first == '"' {
            quoted(rest, '"')
        } else if first == '\'' {
            char_literal(rest)
        } else {
            0
        };
        if skipped == 0 {
            out.push(first);
            after_name = is_name(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let (gone, tail) = rest.split_at(skipped);
            out.extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            after_name = false;
            rest = tail;
        }
    }
    out
}

/// The words of a source that [`code_only`] has been over.
pub fn words(code: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_name(first) {
                rest.find(|c: char| !is_name(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (text, tail) = rest.split_at(length);
            words.push(Word {
                line: number + 1,
                text,
            });
            rest = tail.trim_start();
        }
    }
    words
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a raw string at the start of `text`; `None` where there is none. An `r` inside a name begins none.
fn raw_string(text: &str, after_name: bool) -> Option<usize> {
    if after_name {
        return None;
    }
    let tail = ["br", "cr", "r"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))?;
    let hashes = tail.len() - tail.trim_start_matches('#').len();
    let body = tail[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let start = text.len() - body.len();
    Some(body.find(&end).map_or(text.len(), |at| start + at + end.len()))
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// The length of a character literal; 0 where the quote begins a lifetime or a label.
fn char_literal(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), Some(_)) => quoted(text, '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}
