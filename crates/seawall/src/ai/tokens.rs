//! How many tokens a text is, to a given model.
//!
//! What can go wrong: characters are taken for tokens and a prompt is cut to a quarter, or not at all; one model's
//! encoding is taken for another's and the count is a tenth short, which no test in English shows; a guess looks like a
//! count. So OpenAI's encodings are counted exactly; of any other model a bound from above is told, and it has a name in
//! every result ([`CountedBy`]). What a provider adds around messages is not public but for OpenAI's plain ones; elsewhere
//! it is bounded from above, too.

mod message;
mod models;
mod prefix;
#[cfg(test)]
mod tests;
mod upper;

pub use message::{IMAGE_TOKENS_MAX, REPLY_TOKENS};

use std::fmt;
use std::ops::{Add, AddAssign};

/// Counts the tokens of texts and messages as one model's encoding does.
///
/// It is a name, so copies cost nothing. The first count of a process reads the encoding's table, which takes a few tens
/// of milliseconds; [`warm`](Self::warm) does it before.
///
/// ```
/// use seawall::ai::tokens::{CountedBy, Tokenizer};
/// let counted = Tokenizer::for_model("gpt-4.1").count("tiktoken is great!");
/// assert_eq!((counted.tokens, counted.by), (6, CountedBy::O200k));
/// let counted = Tokenizer::for_model("claude-opus-5").count("tiktoken is great!");
/// assert_eq!(counted.to_string(), "at most 12 tokens (twice o200k)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokenizer {
    encoding: Encoding,
    image: message::ImageTokens,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    O200k,
    Cl100k,
    TwiceO200k,
    Utf8Bytes,
}

/// So many tokens, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Counted {
    /// How many; at most so many where [`by`](Self::by) is an upper estimate.
    pub tokens: u64,
    /// How that is known.
    pub by: CountedBy,
}

/// How a number of tokens is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CountedBy {
    /// Exactly, by OpenAI's `o200k_base`.
    O200k,
    /// Exactly, by OpenAI's `cl100k_base`.
    Cl100k,
    /// It is not known; it is this at the most.
    UpperEstimate(Upper),
}

/// A bound from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Upper {
    /// Texts are counted exactly by `o200k_base`; what stands beside them (tools, images, files) is bounded.
    O200kWithParts,
    /// Texts are counted exactly by `cl100k_base`; what stands beside them is bounded.
    Cl100kWithParts,
    /// Twice the tokens of `o200k_base`, and one for each digit, for each byte beyond ASCII and for each white space
    /// after another; and never more than [`Upper::Utf8Bytes`]. No text was found of which Claude's published tokenizer,
    /// DeepSeek V3's, Gemma 3's, Llama 2's, Llama 3.1's or Qwen 3's makes more.
    TwiceO200k,
    /// One for each byte of UTF-8, ligatures and the like written out (NFKD), and one: no tokenizer makes more that knows
    /// each byte, and changes nothing else of what it reads.
    Utf8Bytes,
}

impl Tokenizer {
    /// OpenAI's `o200k_base`: the models of GPT-4o, 4.1, 4.5, 5, o1, o3, o4-mini, gpt-oss.
    pub const O200K: Self = Self::new(Encoding::O200k);
    /// OpenAI's `cl100k_base`: the models of GPT-4, GPT-3.5 and the embeddings.
    pub const CL100K: Self = Self::new(Encoding::Cl100k);
    /// A bound for models whose encoding is not public: [`Upper::TwiceO200k`].
    pub const TWICE_O200K: Self = Self::new(Encoding::TwiceO200k);
    /// The bound that is proven and wide: [`Upper::Utf8Bytes`].
    pub const UTF8_BYTES: Self = Self::new(Encoding::Utf8Bytes);

    const fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            image: message::ImageTokens::USUAL,
        }
    }

    /// The one of this model: exact for OpenAI's models that OpenAI's own tokenizer names, [`TWICE_O200K`](Self::TWICE_O200K)
    /// for every other. What stands before a `/` is no part of the name, nor is the job of a fine-tuned model.
    pub fn for_model(model: &str) -> Self {
        models::tokenizer(model)
    }

    /// How its counts are known, of texts.
    pub const fn by(self) -> CountedBy {
        match self.encoding {
            Encoding::O200k => CountedBy::O200k,
            Encoding::Cl100k => CountedBy::Cl100k,
            Encoding::TwiceO200k => CountedBy::UpperEstimate(Upper::TwiceO200k),
            Encoding::Utf8Bytes => CountedBy::UpperEstimate(Upper::Utf8Bytes),
        }
    }

    /// The tokens of a text. What looks like a special token (`<|endoftext|>`) is text.
    pub fn count(self, text: &str) -> Counted {
        Counted {
            tokens: self.tokens(text),
            by: self.by(),
        }
    }

    /// Reads the table, so that the first count need not.
    pub fn warm(self) {
        let _ = self.tokens("a");
    }

    /// A place in a text before which there are about so many tokens, at the end of a word where words are short.
    pub(super) fn prefix(self, text: &str, tokens: u64) -> usize {
        match self.encoding {
            Encoding::O200k => prefix::exact(bpe_openai::o200k_base(), text, tokens),
            Encoding::Cl100k => prefix::exact(bpe_openai::cl100k_base(), text, tokens),
            Encoding::TwiceO200k => prefix::twice(bpe_openai::o200k_base(), text, tokens),
            Encoding::Utf8Bytes => prefix::bytes(text, tokens),
        }
    }

    pub(super) fn tokens(self, text: &str) -> u64 {
        match self.encoding {
            Encoding::O200k => exact(bpe_openai::o200k_base(), text),
            Encoding::Cl100k => exact(bpe_openai::cl100k_base(), text),
            Encoding::TwiceO200k => upper::twice(exact(bpe_openai::o200k_base(), text), text),
            Encoding::Utf8Bytes => upper::bytes(text),
        }
    }
}

fn exact(encoding: &bpe_openai::Tokenizer, text: &str) -> u64 {
    u64::try_from(encoding.count(text)).unwrap_or(u64::MAX)
}

impl CountedBy {
    /// Its name: `o200k`, `cl100k`, or that of the estimate.
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k",
            Self::Cl100k => "cl100k",
            Self::UpperEstimate(upper) => upper.name(),
        }
    }

    /// How the sum of two counts is known: as the less certain of both is.
    const fn with(self, other: Self) -> Self {
        use Upper::{Cl100kWithParts, O200kWithParts, TwiceO200k, Utf8Bytes};
        match (self, other) {
            (Self::O200k, Self::O200k) => Self::O200k,
            (Self::Cl100k, Self::Cl100k) => Self::Cl100k,
            (Self::UpperEstimate(Utf8Bytes), _) | (_, Self::UpperEstimate(Utf8Bytes)) => {
                Self::UpperEstimate(Utf8Bytes)
            }
            (Self::UpperEstimate(TwiceO200k), _) | (_, Self::UpperEstimate(TwiceO200k)) => {
                Self::UpperEstimate(TwiceO200k)
            }
            (Self::O200k | Self::UpperEstimate(O200kWithParts), _) => Self::UpperEstimate(O200kWithParts),
            (Self::Cl100k | Self::UpperEstimate(Cl100kWithParts), _) => Self::UpperEstimate(Cl100kWithParts),
        }
    }

    /// The same of a text that something stands beside whose tokens are only bounded.
    const fn with_parts(self) -> Self {
        match self {
            Self::O200k => Self::UpperEstimate(Upper::O200kWithParts),
            Self::Cl100k => Self::UpperEstimate(Upper::Cl100kWithParts),
            Self::UpperEstimate(upper) => Self::UpperEstimate(upper),
        }
    }
}

impl Upper {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200kWithParts => "o200k, and bounds of what is no text",
            Self::Cl100kWithParts => "cl100k, and bounds of what is no text",
            Self::TwiceO200k => "twice o200k",
            Self::Utf8Bytes => "bytes",
        }
    }
}

impl Add for Counted {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            by: self.by.with(other.by),
        }
    }
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for CountedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Upper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.by {
            CountedBy::O200k | CountedBy::Cl100k => write!(f, "{} tokens ({})", self.tokens, self.by),
            CountedBy::UpperEstimate(upper) => write!(f, "at most {} tokens ({upper})", self.tokens),
        }
    }
}
