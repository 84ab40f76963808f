//! What models cost and hold: a dated table that the crate carries, your own prices over it, and the cost of an answer.
//!
//! What can go wrong: a model that nobody knows costs "0" and the bill comes as a surprise, one seller's price is taken
//! for another's, a fraction of a cent is lost in each of a million calls, and a table of last year says nothing of its
//! age. So an unknown price is [`Cost::Unpriced`] and says why, a seller is part of a model's name, sums are whole
//! numbers that are rounded up once, and the table has a date. Not covered: what is sold by anything but tokens, prices
//! of a batch or of a faster line, discounts and taxes.

mod cost;
mod lookup;
mod order;
mod table;
#[cfg(test)]
mod tests;

pub use cost::{Billed, CACHE_WRITE_PER_MILLE, Cost, MicroUsd, Unpriced};
pub use lookup::seller_of_host;
pub use order::{Order, Quote};

use crate::config::{Config, ConfigErrors, ModelConfig, Written};
use std::collections::BTreeMap;

/// The prices and windows of models.
///
/// [`Prices::builtin`] is the table that the crate carries; [`with_config`](Self::with_config) puts the `[[model]]` tables
/// of a `seawall.toml` over it. Making one reads nothing; a look-up reads some ten lines of the table.
///
/// ```
/// use seawall::ai::prices::{Billed, Cost, Prices, Unpriced};
/// let prices = Prices::builtin();
/// let model = prices.find("openai/gpt-4.1").expect("the table has it");
/// assert_eq!(model.terms.window, Some(1_047_576));
/// let used = Billed { input: 1_000, output: 500, ..Billed::default() };
/// assert_eq!(model.cost(used).to_string(), "$0.006");
/// assert_eq!(prices.cost("openai/of-tomorrow", used), Cost::Unpriced(Unpriced::UnknownModel));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Prices {
    /// By `upstream/model`, in small letters.
    own: BTreeMap<String, Own>,
    /// At whose prices an upstream sells, both in small letters.
    sellers: BTreeMap<String, String>,
}

/// What a `[[model]]` table says.
#[derive(Clone, Copy, Debug)]
struct Own {
    input: Option<u64>,
    output: Option<u64>,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    long_cache_write: Option<u64>,
    window: Option<u64>,
}

/// A model at one seller, as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing<'p> {
    /// `seller/model`, or `upstream/model` where it is your own word: the row that answered.
    pub name: &'p str,
    /// Whose word it is.
    pub source: Source,
    /// What it says.
    pub terms: Terms,
}

/// Whose word a listing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The table's, as of [`Prices::date`].
    BuiltIn,
    /// A `[[model]]` table's, with the built-in one below it.
    Own,
}

/// What a model costs and holds. Prices are in millionths of a US dollar per million tokens; what is `None` is not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terms {
    /// For what is read.
    pub input: Option<u64>,
    /// For what is written.
    pub output: Option<u64>,
    /// For what is read from a cache; where it is not stated, that costs as much as any input.
    pub cached_input: Option<u64>,
    /// For what is written to a cache, where it is not [`CACHE_WRITE_PER_MILLE`] of the price of input.
    pub cache_write: Option<u64>,
    /// For a cache write that is kept for long; where it is not stated, the next says it.
    pub long_cache_write: Option<u64>,
    /// For a cache write that is kept for long, in thousandths of the price of input.
    pub long_write_per_mille: Option<u64>,
    /// Tokens that it takes.
    pub window: Option<u64>,
    /// Tokens that it writes at most.
    pub output_max: Option<u64>,
    /// The prices of a long prompt.
    pub above: Option<Above>,
}

/// The prices of a call that reads more than so many tokens. They hold for all of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Above {
    /// Tokens read, from a cache and into one with them.
    pub tokens: u64,
    /// For what is read.
    pub input: Option<u64>,
    /// For what is written.
    pub output: Option<u64>,
    /// For what is read from a cache.
    pub cached_input: Option<u64>,
}

impl Prices {
    /// The table that the crate carries, as of [`Prices::date`].
    pub fn builtin() -> Self {
        Self::default()
    }

    /// When the built-in table was true: a year and a month, `2026-11`.
    pub fn date() -> &'static str {
        table::stated("date")
    }

    /// Where the built-in table comes from.
    pub fn source() -> &'static str {
        table::stated("source")
    }

    /// These, with the `[[model]]` tables of a `seawall.toml` over them.
    ///
    /// What such a table does not say is taken from the table below, but for what belongs to a price that it replaces: with
    /// an input of your own, cached input that you do not state costs as much, and with any price of your own, long
    /// prompts cost no more than others. Its upstreams sell at the prices of their host, where the host is a
    /// seller's ([`seller_of_host`]).
    ///
    /// # Errors
    /// Everything that is wrong in the file, as [`Config::parse`] says it.
    ///
    /// ```
    /// use seawall::ai::prices::{Billed, Prices};
    /// let prices = Prices::builtin().with_overrides("seawall.toml", r#"
    ///     [[upstream]]
    ///     name = "main"
    ///     base_url = "https://ai.example.com/v1"
    ///     [[model]]
    ///     name = "small-1"
    ///     upstream = "main"
    ///     input = 0.42
    ///     output = 1.10
    ///     window = 64000
    /// "#)?;
    /// let used = Billed { input: 1_000_000, output: 0, ..Billed::default() };
    /// assert_eq!(prices.cost("main/small-1", used).to_string(), "$0.42");
    /// # Ok::<(), seawall::config::ConfigErrors>(())
    /// ```
    pub fn with_overrides(self, file: &str, text: &str) -> Result<Self, ConfigErrors> {
        Ok(self.with_config(&Config::parse(file, text)?))
    }

    /// As [`with_overrides`](Self::with_overrides), of a file that was read.
    pub fn with_config(mut self, config: &Config) -> Self {
        for upstream in &config.upstreams {
            let host = upstream
                .base_url
                .value
                .parse::<::http::Uri>()
                .ok()
                .and_then(|uri| uri.host().map(str::to_owned));
            if let Some(seller) = host.as_deref().and_then(seller_of_host) {
                self = self.with_seller(&upstream.name.value, seller);
            }
        }
        for ModelConfig {
            upstream,
            name,
            input,
            output,
            cached_input,
            cache_write,
            long_cache_write,
            window,
            ..
        } in &config.models
        {
            let said = |written: &Option<Written<u64>>| written.as_ref().map(|written| written.value);
            let own = Own {
                input: said(input),
                output: said(output),
                cached_input: said(cached_input),
                cache_write: said(cache_write),
                long_cache_write: said(long_cache_write),
                window: said(window),
            };
            let key = format!("{}/{}", upstream.value, name.value);
            self.own.insert(key.to_ascii_lowercase(), own);
        }
        self
    }

    /// These, with an upstream of yours that sells at a seller's prices: a proxy, a private address.
    pub fn with_seller(mut self, upstream: &str, seller: &str) -> Self {
        self.sellers
            .insert(upstream.to_ascii_lowercase(), seller.to_ascii_lowercase());
        self
    }

    /// The model of this name, and `None` where nobody says anything of it.
    ///
    /// A name is `upstream/model` or `seller/model`; a bare one is looked for at its makers: OpenAI, Anthropic, Gemini,
    /// Mistral, xAI, DeepSeek, Cohere. Your own word comes first. Where a seller has no such row, the name is tried
    /// without what is put around names: a leading `models/`, the job of a fine-tuned model (`ft:gpt-4o:team::id`), and a
    /// date at its end (`-2025-04-14`, `-20250929`, `@20250929`). The letters' case is nothing. A deployment's name says
    /// nothing of its model: write a `[[model]]` for it.
    pub fn find(&self, name: &str) -> Option<Listing<'_>> {
        lookup::find(self, name)
    }

    /// The model of this name at an upstream: your own word on it, else that of the seller that the upstream was said to
    /// be, else that of the host's.
    pub fn find_at(&self, upstream: &str, host: &str, model: &str) -> Option<Listing<'_>> {
        lookup::find_at(self, upstream, host, model)
    }

    /// What a call cost, with the model found by [`find`](Self::find).
    pub fn cost(&self, name: &str, used: impl Into<Billed>) -> Cost {
        match self.find(name) {
            Some(listing) => listing.cost(used),
            None => Cost::Unpriced(Unpriced::UnknownModel),
        }
    }
}

impl Listing<'_> {
    /// What a call cost.
    pub fn cost(&self, used: impl Into<Billed>) -> Cost {
        self.terms.cost(used)
    }
}

impl Terms {
    /// What a call cost under these terms.
    ///
    /// Each token counts once; the sum is rounded up to a whole millionth of a dollar. What was used and has no price
    /// makes the call unpriced; what has none and was not used does not. A call that reads more than
    /// [`Above::tokens`] is charged by those prices as a whole.
    pub fn cost(&self, used: impl Into<Billed>) -> Cost {
        cost::of(self, used.into())
    }
}

impl Own {
    /// This word, over what the table says.
    fn over(self, below: Terms) -> Terms {
        let prices = [
            self.input,
            self.output,
            self.cached_input,
            self.cache_write,
            self.long_cache_write,
        ];
        let is_priced_anew = prices.iter().any(Option::is_some);
        let cached_below = below.cached_input.filter(|_| self.input.is_none());
        Terms {
            input: self.input.or(below.input),
            output: self.output.or(below.output),
            cached_input: self.cached_input.or(cached_below),
            cache_write: self.cache_write.or(below.cache_write),
            long_cache_write: self.long_cache_write.or(below.long_cache_write),
            window: self.window.or(below.window),
            above: if is_priced_anew { None } else { below.above },
            ..below
        }
    }
}
