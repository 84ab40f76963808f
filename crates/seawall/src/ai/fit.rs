//! What fits a model's window: the newest of a conversation, by real counts, and never in silence.
//!
//! What can go wrong: a conversation is cut by characters and is over the window all the same, or at a quarter of it; a
//! letter or a family of emoji is cut in two; a tool's result is left without the call that it answers, which providers
//! refuse; the question goes and old small talk stays; and nobody hears that anything was left out. So each message is
//! counted once, by the model's own encoding or a bound with a name; turns go whole, oldest first, calls and their
//! results together; the system's messages, the last user's and the newest words of all stay; and [`Fitted`] says what
//! was dropped and cut. What a strategy may not do ends with an error that says by how much.

mod cut;
#[cfg(test)]
mod tests;
mod turns;

use super::prices::Prices;
use super::tokens::{Counted, CountedBy, Tokenizer};
use super::{Chat, Message, Tool};
use cut::Scissors;
use std::borrow::Cow;
use std::fmt;
use turns::{Turns, Unit};

/// Tokens that are left for the answer where nobody says how long it may be: 1 000, what hand-written clients ask for.
pub const DEFAULT_OUTPUT_TOKENS: u64 = 1_000;

/// Tokens that stay free beside that: 100, so that what a provider adds and nobody documents does not matter.
pub const DEFAULT_RESERVE_TOKENS: u64 = 100;

/// What stands where a text was cut, unless you say something else.
pub const DEFAULT_MARK: &str = "\n[... cut to fit]";

/// What becomes of a conversation that is too long.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// The oldest turns are dropped, each as a whole: what a user said, and all that followed until the next word of
    /// theirs. Of a last turn that is too long itself, the oldest rounds of tools are.
    KeepNewest,
    /// The same, but the oldest turn that is kept may be cut: its texts are, the longest first, each at its end. And what
    /// may not be dropped is cut where it is too long. Calls of tools, images and the system's messages never are.
    Cut {
        /// What is put where a text was cut.
        mark: Cow<'static, str>,
    },
    /// Nothing is changed: what is too long is an error that says by how much.
    Refuse,
}

impl Strategy {
    /// [`Strategy::Cut`] with [`DEFAULT_MARK`].
    pub const fn cut() -> Self {
        Self::Cut {
            mark: Cow::Borrowed(DEFAULT_MARK),
        }
    }
}

/// How much of a window a conversation may take, and what becomes of one that takes more.
///
/// Make one for a model, and fit as many conversations as you like; it holds no state.
///
/// ```
/// use seawall::ai::Message;
/// use seawall::ai::fit::{Fit, Strategy};
/// let fit = Fit::for_model("gpt-4o")?.window(1_200).max_tokens(1_000).strategy(Strategy::KeepNewest);
/// let mut conversation = vec![Message::system("Answer in one word.")];
/// for day in 1..40 {
///     conversation.push(Message::user(format!("What is day {day} of the year, a feast or not?")));
///     conversation.push(Message::assistant("Not."));
/// }
/// conversation.push(Message::user("And the last?"));
/// let fitted = fit.messages(conversation)?;
/// assert!(fitted.tokens <= fit.room());
/// assert_eq!(fitted.messages[0].text(), "Answer in one word.");
/// assert_eq!(fitted.messages.last().unwrap().text(), "And the last?");
/// assert_eq!(fitted.messages.len() + fitted.dropped, 80);
/// # Ok::<(), seawall::ai::fit::FitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fit {
    tokenizer: Tokenizer,
    window: u64,
    output: u64,
    reserve: u64,
    tools: Counted,
    strategy: Strategy,
}

/// A conversation that fits, and what that took.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Fitted {
    /// What is left of it, in order.
    pub messages: Vec<Message>,
    /// How many messages were dropped.
    pub dropped: usize,
    /// How many texts were cut; each bears the mark.
    pub cut: usize,
    /// Its tokens, tools and what is added around messages with them.
    pub tokens: u64,
    /// How those are known.
    pub by: CountedBy,
}

/// A text that fits, and what that took.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct FittedText {
    /// What is left of it, with the mark where it was cut.
    pub text: String,
    /// How many of its bytes were cut off; 0 where it is whole.
    pub cut_bytes: usize,
    /// Its tokens.
    pub tokens: u64,
    /// How those are known.
    pub by: CountedBy,
}

/// Why a conversation cannot be made to fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FitError {
    /// Nobody says how much the model takes: give a [`window`](Fit::window).
    UnknownWindow {
        /// The model.
        model: String,
    },
    /// The answer and the reserve leave nothing of the window.
    NoRoom {
        /// The model's window.
        window: u64,
        /// What is left for the answer.
        output: u64,
        /// What stays free.
        reserve: u64,
    },
    /// What the strategy may not drop or cut is too long.
    TooLong {
        /// Its tokens.
        counted: Counted,
        /// How many there is room for.
        room: u64,
    },
}

/// The newest of a conversation that fits the model's window, with [`DEFAULT_OUTPUT_TOKENS`] left for its answer.
///
/// Windows are those of the built-in table; [`Fit`] takes any other, and longer answers.
///
/// # Errors
/// As [`Fit::for_model`] and [`Fit::messages`].
///
/// ```
/// use seawall::ai::Message;
/// use seawall::ai::fit::{Strategy, fit};
/// let fitted = fit(vec![Message::user("Hello")], "gpt-4o", Strategy::Refuse)?;
/// assert_eq!((fitted.tokens, fitted.by.name(), fitted.dropped), (8, "o200k", 0));
/// # Ok::<(), seawall::ai::fit::FitError>(())
/// ```
pub fn fit(messages: Vec<Message>, model: &str, strategy: Strategy) -> Result<Fitted, FitError> {
    Fit::for_model(model)?.strategy(strategy).messages(messages)
}

/// As much of a text as fits the model's window: all of it, its start with a mark, or an error.
///
/// # Errors
/// As [`Fit::for_model`] and [`Fit::text`].
///
/// ```
/// use seawall::ai::fit::{Fit, Strategy};
/// let fit = Fit::for_model("gpt-4o")?.window(120).max_tokens(0).strategy(Strategy::cut());
/// let fitted = fit.text(&"The tide comes in twice a day. ".repeat(50))?;
/// assert!(fitted.tokens <= 20 && fitted.cut_bytes > 0);
/// assert!(fitted.text.starts_with("The tide comes in") && fitted.text.ends_with("[... cut to fit]"));
/// # Ok::<(), seawall::ai::fit::FitError>(())
/// ```
pub fn fit_text(text: &str, model: &str, strategy: Strategy) -> Result<FittedText, FitError> {
    Fit::for_model(model)?.strategy(strategy).text(text)
}

impl Fit {
    /// For a model that the built-in table has the window of: [`Strategy::KeepNewest`], with
    /// [`DEFAULT_OUTPUT_TOKENS`] left for the answer and [`DEFAULT_RESERVE_TOKENS`] free.
    ///
    /// # Errors
    /// [`FitError::UnknownWindow`]: use [`with_window`](Self::with_window).
    pub fn for_model(model: &str) -> Result<Self, FitError> {
        Self::priced(model, &Prices::builtin())
    }

    /// The same, with windows of your own `[[model]]` tables.
    ///
    /// # Errors
    /// [`FitError::UnknownWindow`].
    pub fn priced(model: &str, prices: &Prices) -> Result<Self, FitError> {
        match prices.find(model).and_then(|listing| listing.terms.window) {
            Some(window) => Ok(Self::with_window(model, window)),
            None => Err(FitError::UnknownWindow {
                model: model.to_owned(),
            }),
        }
    }

    /// For a model that takes so many tokens.
    pub fn with_window(model: &str, window: u64) -> Self {
        let tokenizer = Tokenizer::for_model(model);
        Self {
            tokenizer,
            window,
            output: DEFAULT_OUTPUT_TOKENS,
            reserve: DEFAULT_RESERVE_TOKENS,
            tools: tokenizer.count(""),
            strategy: Strategy::KeepNewest,
        }
    }

    /// For what a chat says of itself: its model, its longest answer, its tools.
    ///
    /// # Errors
    /// [`FitError::UnknownWindow`].
    pub fn for_chat(chat: &Chat) -> Result<Self, FitError> {
        let fit = Self::for_model(&chat.model)?.tools(&chat.tools);
        Ok(match chat.max_tokens {
            Some(tokens) => fit.max_tokens(u64::from(tokens)),
            None => fit,
        })
    }

    /// Another window.
    #[must_use]
    pub const fn window(mut self, tokens: u64) -> Self {
        self.window = tokens;
        self
    }

    /// How long the answer may be: as many tokens are left for it.
    #[must_use]
    pub const fn max_tokens(mut self, tokens: u64) -> Self {
        self.output = tokens;
        self
    }

    /// How many tokens stay free beside the answer's.
    #[must_use]
    pub const fn reserve(mut self, tokens: u64) -> Self {
        self.reserve = tokens;
        self
    }

    /// What becomes of what is too long.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The tools that are sent along. They take of the room.
    #[must_use]
    pub fn tools(mut self, tools: &[Tool]) -> Self {
        self.tools = self.tokenizer.count_tools(tools);
        self
    }

    /// Counts otherwise: by [`Tokenizer::UTF8_BYTES`], say, for a model of which nothing is known.
    ///
    /// Say it before [`tools`](Self::tools), which are counted when they are given.
    #[must_use]
    pub const fn tokenizer(mut self, tokenizer: Tokenizer) -> Self {
        self.tokenizer = tokenizer;
        self
    }

    /// How many tokens a conversation may have: the window without the answer and the reserve.
    pub const fn room(&self) -> u64 {
        self.window
            .saturating_sub(self.output)
            .saturating_sub(self.reserve)
    }

    /// What fits of a conversation.
    ///
    /// Kept whatever comes: the messages of the system, the last message of the user, and the newest message with the
    /// calls that it answers. What fits is not changed, so fitting twice is fitting once. Of what is dropped, no more
    /// is counted than it takes to know that it is too much.
    ///
    /// # Errors
    /// [`FitError::NoRoom`]; [`FitError::TooLong`] where that which must be kept does not fit, and with
    /// [`Strategy::Refuse`] where anything does not.
    pub fn messages(&self, mut messages: Vec<Message>) -> Result<Fitted, FitError> {
        let room = self.some_room()?;
        let turns = Turns::of(&messages);
        let mut kept = Kept::new(self.frame(), turns.pinned());
        for index in turns.pinned() {
            kept.counted += self.tokenizer.count_message(&messages[*index]);
        }
        for unit in turns.required() {
            kept.take(unit, self.count(unit, &messages));
        }
        if kept.counted.tokens > room {
            self.make_fit(&mut kept, &turns, &mut messages, room)?;
        }
        for unit in turns.optional() {
            let counted = self.count(unit, &messages);
            if kept.counted.tokens.saturating_add(counted.tokens) <= room {
                kept.take(unit, counted);
                continue;
            }
            match &self.strategy {
                Strategy::KeepNewest => {}
                Strategy::Cut { mark } => {
                    let scissors = Scissors::new(self.tokenizer, mark, cut::WORTH_TOKENS);
                    let left = room - kept.counted.tokens;
                    if let Some(cut) = scissors.cut_unit(unit, &mut messages, counted, left) {
                        kept.cut += cut.texts;
                        kept.take(unit, cut.counted);
                    }
                }
                Strategy::Refuse => return Err(self.too_long(&messages, room)),
            }
            break;
        }
        Ok(kept.finish(messages))
    }

    /// What fits of a text that is sent as the only message, without what is added around one.
    ///
    /// [`Strategy::KeepNewest`] has nothing to drop here, and refuses.
    ///
    /// # Errors
    /// [`FitError::NoRoom`]; [`FitError::TooLong`] where it does not fit and is not to be cut, or where not even its first
    /// word and the mark fit.
    pub fn text(&self, text: &str) -> Result<FittedText, FitError> {
        let room = self.some_room()?;
        let counted = self.tokenizer.count(text);
        if counted.tokens <= room {
            return Ok(FittedText {
                text: text.to_owned(),
                cut_bytes: 0,
                tokens: counted.tokens,
                by: counted.by,
            });
        }
        let cut = match &self.strategy {
            Strategy::Cut { mark } => Scissors::new(self.tokenizer, mark, 1).cut(text, room),
            Strategy::KeepNewest | Strategy::Refuse => None,
        };
        match cut {
            Some(cut) => Ok(FittedText {
                cut_bytes: text.len() - cut.kept_bytes,
                text: cut.text,
                tokens: cut.tokens,
                by: counted.by,
            }),
            None => Err(FitError::TooLong { counted, room }),
        }
    }

    fn some_room(&self) -> Result<u64, FitError> {
        match self.room() {
            0 => Err(FitError::NoRoom {
                window: self.window,
                output: self.output,
                reserve: self.reserve,
            }),
            room => Ok(room),
        }
    }

    /// What is there before any message.
    fn frame(&self) -> Counted {
        self.tools + self.tokenizer.count_frame()
    }

    fn count(&self, unit: &Unit, messages: &[Message]) -> Counted {
        unit.messages()
            .map(|index| self.tokenizer.count_message(&messages[index]))
            .fold(self.tokenizer.count(""), |sum, counted| sum + counted)
    }

    /// Cuts what must be kept, if it may be.
    fn make_fit(
        &self,
        kept: &mut Kept,
        turns: &Turns,
        messages: &mut [Message],
        room: u64,
    ) -> Result<(), FitError> {
        let Strategy::Cut { mark } = &self.strategy else {
            return Err(match self.strategy {
                Strategy::Refuse => self.too_long(messages, room),
                Strategy::KeepNewest | Strategy::Cut { .. } => FitError::TooLong {
                    counted: kept.counted,
                    room,
                },
            });
        };
        let whole = kept.counted;
        let scissors = Scissors::new(self.tokenizer, mark, 1);
        let required = Unit::all(turns.required());
        match scissors.cut_unit(&required, messages, whole, room) {
            Some(cut) => {
                kept.counted = cut.counted;
                kept.cut = cut.texts;
                Ok(())
            }
            None => Err(FitError::TooLong { counted: whole, room }),
        }
    }

    /// The error that says how long the whole is.
    fn too_long(&self, messages: &[Message], room: u64) -> FitError {
        let counted = messages
            .iter()
            .map(|message| self.tokenizer.count_message(message))
            .fold(self.frame(), |sum, counted| sum + counted);
        FitError::TooLong { counted, room }
    }
}

/// What was decided to keep.
struct Kept {
    counted: Counted,
    indices: Vec<usize>,
    cut: usize,
}

impl Kept {
    fn new(frame: Counted, pinned: &[usize]) -> Self {
        Self {
            counted: frame,
            indices: pinned.to_vec(),
            cut: 0,
        }
    }

    fn take(&mut self, unit: &Unit, counted: Counted) {
        self.counted += counted;
        self.indices.extend(unit.messages());
    }

    fn finish(mut self, messages: Vec<Message>) -> Fitted {
        let all = messages.len();
        self.indices.sort_unstable();
        let mut keep = self.indices.iter().copied().peekable();
        let messages: Vec<Message> = messages
            .into_iter()
            .enumerate()
            .filter_map(|(index, message)| keep.next_if_eq(&index).map(|_| message))
            .collect();
        Fitted {
            dropped: all - messages.len(),
            messages,
            cut: self.cut,
            tokens: self.counted.tokens,
            by: self.counted.by,
        }
    }
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownWindow { model } => write!(
                f,
                "nobody says how many tokens {model} takes; give its window, or write a [[model]] for it"
            ),
            Self::NoRoom {
                window,
                output,
                reserve,
            } => write!(
                f,
                "a window of {window} tokens has no room beside {output} for the answer and {reserve} in reserve"
            ),
            Self::TooLong { counted, room } => write!(
                f,
                "{counted}, and there is room for {room}: {} too many",
                counted.tokens.saturating_sub(*room)
            ),
        }
    }
}

impl std::error::Error for FitError {}
