//! `tokens` of a load and `generation` of a server: calls of language models.
//!
//! What can go wrong: a model's times are guessed at, and every figure after that is a guess. So they may be fitted to calls
//! that somebody recorded with their times; what was fitted, and how much of the times it explains, is told.

use super::Asked;
use crate::reader::{Reader, Value};
use crate::run::simulate::fit::{Fit, fit};
use crate::run::simulate::trace::Reading;
use crate::sim::luck::{Amount, Length};
use crate::sim::model::{AnswerIs, Failures, Generation, Load, Server, Tokens};
use seawall_core::time::Duration;
use toml::de::DeTable;

const TOKENS_KEYS: [&str; 3] = ["input", "output", "output_max"];
const AMOUNT_KEYS: [&str; 4] = ["uniform", "exponential", "p50", "p99"];
const GENERATION_KEYS: [&str; 4] = ["input", "output", "fit", "stream"];
const AMOUNTS: &str = "1000, { p50 = 1000, p99 = 4000 }, { uniform = [10, 500] } or { exponential = 150 }";
const RIGHT_TOKENS: &str = "tokens = { input = { p50 = 1000, p99 = 4000 }, output = 150 }";
const RIGHT: &str = "generation = { input = \"0.2ms\", output = \"20ms\", stream = true } (for each token that is read, and \
     that is written), or { fit = \"trace\", stream = true }";
/// The longest time for a token.
const PER_TOKEN_MAX: Duration = Duration::from_secs(3_600);

/// What a trace says of its calls beside when they came.
pub(super) struct Recorded {
    pub(super) path: String,
    pub(super) reading: Reading,
}

impl Asked {
    /// How many tokens calls have, where no trace says it.
    pub(super) fn tokens(
        &self,
        reader: &Reader<'_>,
        table: &DeTable<'_>,
        load: Option<&Load>,
    ) -> Option<Tokens> {
        let Some(value) = table
            .get("load")
            .and_then(|load| load.get_ref().as_table()?.get("tokens"))
        else {
            return Some(Tokens::NONE);
        };
        let own = |calls: &[crate::sim::model::Arrival]| {
            calls
                .iter()
                .any(|call| (call.tokens_in, call.tokens_out) != (0, 0))
        };
        match load? {
            Load::Trace { calls, .. } if own(calls) => {
                let error = reader.error(value.span(), "the calls of this trace have tokens of their own");
                return reader.fault(error.expecting("no `tokens`"));
            }
            Load::Open { .. } | Load::Closed { .. } | Load::Pool { .. } | Load::Trace { .. } => {}
        }
        let table = reader.table("tokens", value, RIGHT_TOKENS)?;
        reader.keys(table, &TOKENS_KEYS, "tokens");
        let [read, written] = ["input", "output"].map(|key| {
            let amount = reader.needed(table, key, value, RIGHT_TOKENS)?;
            reader.amount(key, amount)
        });
        let written_max = match table.get("output_max") {
            Some(value) => Some(reader.count32("output_max", value, 1, u64::MAX)?),
            None => None,
        };
        Some(Tokens {
            read: read?,
            written: written?,
            written_max,
        })
    }

    /// What each token takes, and how long an attempt takes beside that.
    pub(super) fn generation(
        &self,
        reader: &Reader<'_>,
        value: &Value<'_>,
        server: &DeTable<'_>,
        latency: Option<Length>,
    ) -> Option<(Option<Length>, Generation)> {
        let table = reader.table("generation", value, RIGHT)?;
        reader.keys(table, &GENERATION_KEYS, "generation");
        let right =
            "stream = true (its caller has each token when it is written) or false (the answer comes whole)";
        let sent = reader
            .needed(table, "stream", value, right)
            .and_then(|value| reader.truth("stream", value))
            .map(|stream| {
                if stream {
                    AnswerIs::Streamed
                } else {
                    AnswerIs::Whole
                }
            });
        if let Some(fit) = table.get("fit") {
            for (key, other) in table {
                if ["input", "output"].contains(&key.get_ref().as_ref()) {
                    let error = reader.error(other.span(), "this is what is fitted");
                    return reader.fault(error.expecting("fit, or input and output"));
                }
            }
            if let Some(latency) = server.get("latency") {
                let error = reader.error(
                    latency.span(),
                    "how long an attempt takes beside its tokens is fitted, too",
                );
                return reader.fault(error.expecting("no `latency`"));
            }
            reader.word("fit", fit, &[("trace", ())])?;
            let Fit {
                latency,
                per_token_in,
                per_token_out,
            } = self.fitted(reader, fit)?;
            let generation = Generation {
                per_token_in,
                per_token_out,
                sent: sent?,
            };
            return Some((Some(latency), generation));
        }
        let [per_token_in, per_token_out] = ["input", "output"].map(|key| {
            let at = reader.needed(table, key, value, RIGHT)?;
            let length = reader.length(key, at)?;
            match length <= PER_TOKEN_MAX {
                true => Some(length),
                false => {
                    let error = reader.error(at.span(), format!("{length} is no time for one token"));
                    reader.fault(error.expecting("at most an hour"))
                }
            }
        });
        let generation = Generation {
            per_token_in: per_token_in?,
            per_token_out: per_token_out?,
            sent: sent?,
        };
        Some((latency, generation))
    }

    fn fitted(&self, reader: &Reader<'_>, at: &Value<'_>) -> Option<Fit> {
        let recorded = self.recorded.borrow();
        let Some(Recorded { path, reading }) = recorded.as_ref() else {
            let error = reader.error(at.span(), "there is no trace to fit times to");
            return reader.fault(error.expecting("[load] with trace and format"));
        };
        match fit(&reading.timed) {
            Ok((fit, told)) => {
                self.note(format!("{path}: {told}"));
                Some(fit)
            }
            Err(why) => {
                let error = reader.error(at.span(), format!("{path}: {why}"));
                reader.fault(error.expecting(
                    "a trace that says how long its answers took (`Elapsed time`, `total_ms`, `took`), or input and output",
                ))
            }
        }
    }

    /// How many of a trace's calls had no answer, as a share.
    pub(super) fn recorded_failures(&self, reader: &Reader<'_>, at: &Value<'_>) -> Option<Failures> {
        let recorded = self.recorded.borrow();
        let Some(Recorded { path, reading }) = recorded.as_ref() else {
            let error = reader.error(at.span(), "there is no trace to count failures in");
            return reader.fault(error.expecting("[load] with trace and format"));
        };
        let Some(failed) = reading.failed else {
            let error = reader.error(
                at.span(),
                format!("{path}: traces of this format do not say which calls failed"),
            );
            return reader.fault(error.expecting("format = \"burstgpt\", or a share such as 0.02"));
        };
        let all = reading.calls.len();
        let chance =
            crate::sim::summary::float(failed as u64) / crate::sim::summary::float(all.max(1) as u64);
        self.note(format!(
            "{path}: {failed} of {all} calls were answered with no token, and count as failed"
        ));
        match failed {
            0 => Some(Failures::None),
            _ => Some(Failures::Independent { chance }),
        }
    }
}

/// Servers whose answers are sent in two ways have no limits that are right for both.
pub(super) fn alike(reader: &Reader<'_>, table: &DeTable<'_>, servers: &[Server]) -> Option<()> {
    let sent = |server: &Server| server.generation.map(|generation| generation.sent);
    if servers.windows(2).all(|pair| sent(&pair[0]) == sent(&pair[1])) {
        return Some(());
    }
    let span = table.get("server").map_or(0..0, Value::span);
    let message = "some of these servers are models and others are not, or some stream and others do not";
    reader.fault(
        reader
            .error(span, message)
            .expecting("generation of all, with the same stream, or of none"),
    )
}

impl Reader<'_> {
    /// How many of something there are: always as many, or how amounts are spread.
    fn amount(&self, what: &str, value: &Value<'_>) -> Option<Amount> {
        let Some(table) = value.get_ref().as_table() else {
            return match value.get_ref().as_integer() {
                Some(_) => Some(Amount::Fixed(self.count32(what, value, 0, u64::MAX)?)),
                None => self.fault(
                    self.error(value.span(), format!("{what} is no number of tokens"))
                        .expecting(AMOUNTS),
                ),
            };
        };
        self.keys(table, &AMOUNT_KEYS, what);
        let count = |key: &str| self.count32(key, table.get(key)?, 1, u64::MAX);
        let wrong = |message: &str| {
            self.fault(
                self.error(value.span(), format!("{what}: {message}"))
                    .expecting(AMOUNTS),
            )
        };
        let known = AMOUNT_KEYS.iter().filter(|key| table.contains_key(**key));
        match known.copied().collect::<Vec<_>>().as_slice() {
            ["p50", "p99"] => match (count("p50")?, count("p99")?) {
                (p50, p99) if p50 <= p99 => Some(Amount::LogNormal { p50, p99 }),
                _ => wrong("p50 is above p99"),
            },
            ["exponential"] => Some(Amount::Exponential {
                mean: count("exponential")?,
            }),
            ["uniform"] => {
                let list = table.get("uniform")?.get_ref().as_array();
                let Some([least, most]) = list.map(|both| &both[..]) else {
                    return wrong("a uniform amount is a list of two");
                };
                let least = self.count32("uniform", least, 0, u64::MAX)?;
                let most = self.count32("uniform", most, 0, u64::MAX)?;
                match least <= most {
                    true => Some(Amount::Uniform { least, most }),
                    false => wrong("the first amount is above the second"),
                }
            }
            _ => wrong("these keys are no distribution together"),
        }
    }
}
