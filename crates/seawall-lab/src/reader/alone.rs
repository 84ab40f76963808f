//! One policy of a file, for the product's own parser.
//!
//! What can go wrong: a second parser of policies that knows other keys than the first; or the first one, told a part of
//! the file, whose errors point at lines of that part. So it is told the whole file with all else blanked out: every
//! byte of a policy stands at its own line and column, under the name that a `seawall.toml` has for it.

use super::{Key, Reader, Value, in_order};
use crate::error::shown;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

impl Reader<'_> {
    /// The file with all but this policy blanked out, and of that all but the keys `ours`, which are no policy's.
    pub(crate) fn alone(
        &self,
        key: &Key<'_>,
        value: &Value<'_>,
        table: &DeTable<'_>,
        ours: &[&str],
    ) -> Option<String> {
        let mut kept = Vec::new();
        match self.form(value) {
            Form::Header => {
                kept.extend(self.header(value.span()));
                self.keep_but(ours, table, &mut kept);
            }
            Form::Inline => {
                let whole = key.span().start..value.span().end;
                return Some(self.blank(&self.without(whole, table, ours)));
            }
            Form::Dotted => self.keep_but(ours, table, &mut kept),
        }
        self.blanked(kept)
    }

    /// What is left of an inline table without the keys `ours`, each with the comma that parts it from the next.
    fn without(&self, whole: Range<usize>, table: &DeTable<'_>, ours: &[&str]) -> Vec<Range<usize>> {
        let text = self.source.text;
        let mut gone: Vec<Range<usize>> = Vec::new();
        let entries = in_order(table).into_iter();
        for (key, value) in entries.filter(|(key, _)| ours.contains(&key.get_ref().as_ref())) {
            let entry = self.key_start(key.span().start)..value.span().end;
            let rest = text[entry.end..].trim_start();
            if rest.starts_with(',') {
                gone.push(entry.start..text.len() - rest.len() + 1);
                continue;
            }
            // The last one: the comma is before it, and before those of ours that are between.
            let mut before = text[..entry.start].trim_end().len();
            while let Some(last) = gone.last().filter(|last| last.end == before) {
                before = text[..last.start].trim_end().len();
                gone.pop();
            }
            let from = before - usize::from(text[..before].ends_with(','));
            gone.push(from..entry.end);
        }
        let ends = gone.iter().map(|range| range.start).chain([whole.end]);
        let starts = [whole.start]
            .into_iter()
            .chain(gone.iter().map(|range| range.end));
        starts.zip(ends).map(|(start, end)| start..end).collect()
    }

    /// The file with all but one element of a list of policies blanked out, and of that all but the keys `ours`, which
    /// are no policy's.
    #[cfg(feature = "net")]
    pub(crate) fn alone_of_list(
        &self,
        value: &Value<'_>,
        table: &DeTable<'_>,
        ours: &[&str],
    ) -> Option<String> {
        let Form::Header = self.form(value) else {
            let error = self.error(value.span(), "a policy of several has a head of its own");
            return self.fault(error.expecting("[[policy]], and its keys on lines of their own"));
        };
        // `[[policy]]` without its outer brackets.
        let head = value.span();
        let mut kept: Vec<Range<usize>> = Vec::with_capacity(table.len() + 1);
        kept.push(head.start + 1..head.end - 1);
        for (key, value) in table {
            if !ours.contains(&key.get_ref().as_ref()) {
                self.keep(key, value, HeadOf::Policy, &mut kept);
            }
        }
        self.blanked(kept)
    }

    /// The file with all but these parts blanked out.
    fn blanked(&self, mut kept: Vec<Range<usize>>) -> Option<String> {
        kept.sort_by_key(|range: &Range<usize>| range.start);
        let text = self.source.text;
        for pair in kept.windows(2) {
            let [one, other] = [&pair[0], &pair[1]];
            let apart = text
                .get(one.end..other.start)
                .is_some_and(|between| between.contains('\n'));
            let one_header = text[one.clone()] == *"[";
            if !apart && !one_header {
                let what = shown(&text[other.clone()]);
                let message = format!("`{what}` stands on one line with another key of this policy");
                return self.fault(
                    self.error(other.clone(), message)
                        .expecting("policy = { … } with all of them, or a line for each"),
                );
            }
        }
        Some(self.blank(&kept))
    }

    /// The file with all but these parts, which are in order, blanked out.
    fn blank(&self, kept: &[Range<usize>]) -> String {
        let text = self.source.text;
        let end = kept.last().map_or(0, |range| range.end);
        let mut kept = kept.iter().peekable();
        let mut alone = String::with_capacity(end);
        for (at, sign) in text[..end].char_indices() {
            while kept.peek().is_some_and(|range| range.end <= at) {
                kept.next();
            }
            let keep = kept.peek().is_some_and(|range| range.contains(&at));
            alone.push(if keep || sign == '\n' || sign == '\r' {
                sign
            } else {
                ' '
            });
        }
        alone
    }

    fn keep_but(&self, ours: &[&str], table: &DeTable<'_>, kept: &mut Vec<Range<usize>>) {
        for (key, value) in table {
            if !ours.contains(&key.get_ref().as_ref()) {
                self.keep(key, value, HeadOf::Step, kept);
            }
        }
    }

    fn keep(&self, key: &Key<'_>, value: &Value<'_>, head: HeadOf, kept: &mut Vec<Range<usize>>) {
        match (value.get_ref(), self.form(value)) {
            (DeValue::Table(table), Form::Header) => {
                match head {
                    HeadOf::Step => kept.extend(self.header(value.span())),
                    #[cfg(feature = "net")]
                    HeadOf::Policy => kept.push(value.span()),
                }
                for (key, value) in table {
                    self.keep(key, value, head, kept);
                }
            }
            (DeValue::Table(table), Form::Dotted) => {
                for (key, value) in table {
                    self.keep(key, value, head, kept);
                }
            }
            _ => kept.push(self.key_start(key.span().start)..value.span().end),
        }
    }

    /// Where the whole of a dotted key begins: of several with the same beginning, only the first has its span told.
    fn key_start(&self, last_part: usize) -> usize {
        let before = &self.source.text[..last_part];
        let start = before.rfind(['\n', '{', ',']).map_or(0, |at| at + 1);
        let blanks = before[start..].len() - before[start..].trim_start().len();
        start + blanks
    }

    /// `[step.policy.backoff]` as `[     policy.backoff]`.
    fn header(&self, span: Range<usize>) -> [Range<usize>; 2] {
        let dot = self.source.text[span.clone()]
            .find('.')
            .map_or(span.start, |at| span.start + at);
        [span.start..span.start + 1, dot + 1..span.end]
    }

    fn form(&self, value: &Value<'_>) -> Form {
        let sign = self.source.text.as_bytes().get(value.span().start);
        match (value.get_ref().is_table(), sign) {
            (true, Some(b'[')) => Form::Header,
            (true, Some(b'{')) | (false, _) => Form::Inline,
            (true, Some(_) | None) => Form::Dotted,
        }
    }
}

/// How a table is written.
enum Form {
    /// `[step.policy]`
    Header,
    /// `policy = { retries = 3 }`
    Inline,
    /// `policy.retries = 3`
    Dotted,
}

/// Whose tables the heads name.
#[derive(Clone, Copy)]
enum HeadOf {
    /// `[step.policy.backoff]`
    Step,
    /// `[policy.backoff]`
    #[cfg(feature = "net")]
    Policy,
}
