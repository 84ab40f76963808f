//! Which model for which task, by a table that you write; and what a call's task is, where nobody says it.
//!
//! What can go wrong: a keyword is found inside another word ("unclassified"), or in the middle of the document that is to
//! be summarized; what costs most answers what the cheapest could; and a fallback goes to a dearer model, or to one that
//! the prompt does not fit. So what the caller says wins over words, words are whole and looked for where instructions
//! stand, at both ends of the last message of the user; of a task's models the cheapest comes first for what the call is
//! about to use; and those that follow it are the cheapest of all others.

#[cfg(test)]
mod tests;

use super::Chat;
use super::prices::{Billed, Order, Prices};
use std::borrow::Cow;
use std::fmt;

/// How often a call may move on to another model: twice, as routes do by default (rule K1).
pub const DEFAULT_FALLBACKS: usize = 2;

/// Characters at each end of a message that are taken for its instruction: 240, two or three sentences.
const INSTRUCTION_CHARS: usize = 240;

/// Words that name a task. Whole words, in small letters; of those that are found the first in the text decides.
const WORDS: [(&Task, &[&str]); 6] = [
    (
        &Task::SUMMARIZE,
        &[
            "summarize",
            "summarise",
            "summary",
            "summaries",
            "tldr",
            "tl;dr",
            "condense",
        ],
    ),
    (
        &Task::CLASSIFY,
        &[
            "classify",
            "classification",
            "categorize",
            "categorise",
            "categorization",
            "sentiment",
        ],
    ),
    (&Task::TRANSLATE, &["translate", "translation", "translations"]),
    (&Task::EXTRACT, &["extract", "extraction"]),
    (
        &Task::REWRITE,
        &["rewrite", "rephrase", "paraphrase", "proofread"],
    ),
    (&Task::EXPLAIN, &["explain", "explanation"]),
];

/// What a call is for: a word, such as `summarize`.
///
/// ```
/// use seawall::ai::{Chat, Task};
/// let chat = Chat::new("auto").user("Please summarize: the tide comes in twice a day.");
/// assert_eq!(Task::of_chat(&chat), Task::SUMMARIZE);
/// assert_eq!(Task::named("Triage").name(), "triage");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task(Cow<'static, str>);

impl Task {
    /// Says a long thing shortly.
    pub const SUMMARIZE: Self = Self(Cow::Borrowed("summarize"));
    /// Finds the kind of a thing.
    pub const CLASSIFY: Self = Self(Cow::Borrowed("classify"));
    /// Says a thing in another language.
    pub const TRANSLATE: Self = Self(Cow::Borrowed("translate"));
    /// Takes facts out of a text.
    pub const EXTRACT: Self = Self(Cow::Borrowed("extract"));
    /// Says a thing in other words.
    pub const REWRITE: Self = Self(Cow::Borrowed("rewrite"));
    /// Makes a thing understood.
    pub const EXPLAIN: Self = Self(Cow::Borrowed("explain"));
    /// Any other, and all that nobody knows.
    pub const OTHER: Self = Self(Cow::Borrowed("other"));

    /// The task of this name, as the caller says it (`x-seawall-task`) and as routes name it.
    pub fn named(name: &str) -> Self {
        Self(Cow::Owned(name.trim().to_ascii_lowercase()))
    }

    /// What the last message of the user asks for, by its words; [`Task::OTHER`] where none of them names a task.
    ///
    /// The words are English. They are looked for at the start of the message, then at its end.
    pub fn of_chat(chat: &Chat) -> Self {
        chat.last_user_text()
            .map_or(Self::OTHER, |text| Self::of_text(&text))
    }

    /// What a text asks for, as [`of_chat`](Self::of_chat) says it.
    pub fn of_text(text: &str) -> Self {
        let start_ends = text
            .char_indices()
            .nth(INSTRUCTION_CHARS)
            .map_or(text.len(), |(end, _)| end);
        let end_begins = text
            .char_indices()
            .rev()
            .nth(INSTRUCTION_CHARS - 1)
            .map_or(0, |(begin, _)| begin)
            .max(start_ends);
        let found = by_words(&text[..start_ends]).or_else(|| by_words(&text[end_begins..]));
        found.cloned().unwrap_or(Self::OTHER)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

fn by_words(text: &str) -> Option<&'static Task> {
    let is_edge = |letter: char| !letter.is_alphanumeric() && letter != ';';
    text.split(is_edge).find_map(|word| {
        let word = word.trim_matches(';').to_lowercase();
        let named = WORDS.iter().find(|(_, words)| words.contains(&word.as_str()));
        named.map(|(task, _)| *task)
    })
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which models may do which tasks: a table that you write once.
///
/// ```
/// use seawall::ai::prices::{Billed, Prices};
/// use seawall::ai::{ByTask, Task};
/// let models = ByTask::otherwise(["openai/gpt-4.1"])
///     .when(["summarize", "classify"], ["openai/gpt-4.1-nano"])
///     .when(["explain", "translate"], ["openai/gpt-4.1-mini", "gemini/gemini-2.5-flash"]);
/// let used = Billed { input: 2_000, output: 500, ..Billed::default() };
/// let chain = models.cheapest(&Task::EXPLAIN, used, &Prices::builtin());
/// let names: Vec<&str> = chain.quotes.iter().map(|quote| quote.name).collect();
/// assert_eq!(names, ["openai/gpt-4.1-mini", "openai/gpt-4.1-nano", "gemini/gemini-2.5-flash"]);
/// ```
#[derive(Clone, Debug)]
pub struct ByTask {
    rows: Vec<(Vec<Task>, Vec<String>)>,
    otherwise: Vec<String>,
    fallbacks: usize,
}

impl ByTask {
    /// The models of tasks that no row names. Names are those of [`Prices::find`].
    pub fn otherwise<N: Into<String>>(models: impl IntoIterator<Item = N>) -> Self {
        Self {
            rows: Vec::new(),
            otherwise: models.into_iter().map(Into::into).collect(),
            fallbacks: DEFAULT_FALLBACKS,
        }
    }

    /// A row: these tasks may be done by these models. Of two rows with one task the first holds.
    #[must_use]
    pub fn when<N: Into<String>>(
        mut self,
        tasks: impl IntoIterator<Item = impl AsRef<str>>,
        models: impl IntoIterator<Item = N>,
    ) -> Self {
        let tasks = tasks.into_iter().map(|task| Task::named(task.as_ref())).collect();
        self.rows
            .push((tasks, models.into_iter().map(Into::into).collect()));
        self
    }

    /// How many models may follow the first.
    #[must_use]
    pub const fn fallbacks(mut self, fallbacks: usize) -> Self {
        self.fallbacks = fallbacks;
        self
    }

    /// The models for a call of this task that is about to use so much, in the order in which to call them: the cheapest
    /// of the task's, then the cheapest of all others.
    ///
    /// Whose window is known to be too small is left out, and named. A model without a price comes after all that have
    /// one. Where none of the task's own models takes the call, the first is the cheapest of the others.
    pub fn cheapest(&self, task: &Task, used: impl Into<Billed>, prices: &Prices) -> Order<'_> {
        let used = used.into();
        let row = self.rows.iter().find(|(tasks, _)| tasks.contains(task));
        let own = row.map_or(&self.otherwise, |(_, models)| models);
        let mut chain = prices.order(own.iter().map(String::as_str), used);
        chain.quotes.truncate(1);
        let first = chain.quotes.first().map(|quote| quote.name);
        let every = self
            .rows
            .iter()
            .flat_map(|(_, models)| models)
            .chain(&self.otherwise);
        let mut names: Vec<&str> = Vec::new();
        for name in every.map(String::as_str) {
            if Some(name) != first && !names.contains(&name) && !chain.too_small.contains(&name) {
                names.push(name);
            }
        }
        let mut others = prices.order(names, used);
        others.quotes.truncate(if first.is_some() {
            self.fallbacks
        } else {
            self.fallbacks.saturating_add(1)
        });
        chain.quotes.append(&mut others.quotes);
        chain.too_small.append(&mut others.too_small);
        chain
    }
}
