//! What would count, bound or assert nothing.
//!
//! What can go wrong: an assert holds because there is nothing that it is about, and a test that cannot fail stands for years;
//! a price or a limit on tokens decides nothing, since no call has any. So what a file itself says is refused where it can do
//! nothing, and what a policy says that was pasted from elsewhere is told.

use super::{Asked, Simulation};
use crate::reader::{Reader, Value};
use crate::scenario::Written;
use crate::sim::assert::Assert;
use crate::sim::model::{AnswerIs, Contender, Model, Price, Server, Trouble};
use crate::sim::search::Objective;
use crate::sim::study::Study;
use crate::sim::summary::RECOVERY_SEEN_IN;
use crate::sim::weather::DRAWN_MAX;
use seawall_core::policy::Policy;
use std::fmt;
use toml::de::DeTable;

const TOKENS: &str = "tokens = { input = 1000, output = 150 } in [load]";

/// Why a figure is that of no run of a simulation, and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmeasured {
    why: String,
    right: String,
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.why, self.right)
    }
}

impl std::error::Error for Unmeasured {}

impl Simulation {
    /// Whether its runs have this figure, so that one policy can be better in it than another.
    ///
    /// # Errors
    /// A recovery where no given outage ends early enough, and money where nothing is paid for.
    pub fn measures(&self, figure: Objective) -> Result<(), Unmeasured> {
        match figure {
            Objective::Recovery => recovery(&self.study),
            Objective::Cost => cost(&self.study.model),
            Objective::Success | Objective::Collapse | Objective::P99 | Objective::Amplification => Ok(()),
        }
    }
}

impl Asked {
    /// Tells what of a file would do nothing.
    pub(super) fn nothing(
        &self,
        reader: &Reader<'_>,
        table: &DeTable<'_>,
        study: &Study,
        asserts: &[Written<Assert>],
    ) {
        unbilled(reader, table, &study.model);
        if !has_tokens(&study.model) {
            self.policies_without_tokens(study);
        }
        too_many_outages(reader, table, &study.model);
        self.silence(&study.model);
        for assert in asserts {
            let refuse = |measured: Result<(), Unmeasured>| {
                if let Err(Unmeasured { why, right }) = measured {
                    let error = reader.error(assert.at.span.clone(), why);
                    reader.fault::<()>(error.expecting(right));
                }
            };
            if assert.value.is_about_cost() {
                refuse(cost(&study.model));
            }
            if assert.value.is_about_recovery() {
                refuse(recovery(study));
            }
        }
    }

    /// Policies that bound tokens, where no call has any.
    fn policies_without_tokens(&self, study: &Study) {
        let contenders = study
            .contenders
            .iter()
            .map(|Contender { name, policy, .. }| (name, policy));
        let layers = study.model.layers.iter();
        let layers = layers.filter_map(|layer| Some((&layer.name, layer.policy.as_ref()?)));
        for (name, _) in contenders
            .chain(layers)
            .filter(|(_, policy)| bounds_tokens(policy))
        {
            self.note(format!(
                "{name}: its limits on tokens bound nothing, as no call here has any; give them {TOKENS}"
            ));
        }
    }

    /// Streams that may fall silent for as long as their callers wait for the whole of them.
    fn silence(&self, model: &Model) {
        let streams = |server: &&Server| {
            let sent = server.generation.map(|generation| generation.sent);
            sent == Some(AnswerIs::Streamed)
        };
        let keeps = |trouble: Trouble| match trouble {
            Trouble::Hang | Trouble::Slow { .. } => true,
            Trouble::FailFast | Trouble::Refuse | Trouble::Throttle { .. } | Trouble::Truncate => false,
        };
        let troubled = |server: &Server| {
            let given = server.outages.iter().map(|outage| outage.how);
            given.chain(server.renewal.map(|renewal| renewal.how)).any(keeps)
        };
        if model.servers.iter().filter(streams).any(troubled) {
            self.note(
                "a stream that falls silent in an outage is waited for up to timeouts.total: timeouts.idle, which would end it \
                 sooner, is not simulated"
                    .to_owned(),
            );
        }
    }
}

/// Whether anything is paid for.
fn cost(model: &Model) -> Result<(), Unmeasured> {
    match model.servers.iter().any(|server| bills(model, server)) {
        true => Ok(()),
        false => Err(Unmeasured {
            why: "nothing that a call does has a price here, so that this cost is always 0".to_owned(),
            right: format!("price = {{ input = 0.42, output = 1.10 }} in [server], and {TOKENS}"),
        }),
    }
}

/// Whether a given outage ends, and early enough.
fn recovery(study: &Study) -> Result<(), Unmeasured> {
    if study.recovers_from().is_some() {
        return Ok(());
    }
    Err(match study.outage_end() {
        None => Unmeasured {
            why: "no given outage ends here: nothing recovers".to_owned(),
            right: "outages = [{ at = \"10s\", for = \"5s\", how = \"503\" }]".to_owned(),
        },
        Some(end) => Unmeasured {
            why: format!(
                "the last outage ends at {end}, and a recovery is seen in {RECOVERY_SEEN_IN}, which are not left before \
                 the horizon, {}",
                study.model.horizon
            ),
            right: "a later horizon, or an earlier outage".to_owned(),
        },
    })
}

/// Whether any call has a token.
fn has_tokens(model: &Model) -> bool {
    let tokens = model.mean_tokens();
    tokens.read > 0.0 || tokens.written > 0.0 || tokens.charged > 0.0
}

/// Whether a call at this server costs anything.
fn bills(model: &Model, server: &Server) -> bool {
    let tokens = model.mean_tokens();
    (server.price.per_million_in > 0 && tokens.read > 0.0)
        || (server.price.per_million_out > 0 && tokens.written > 0.0)
}

fn bounds_tokens(policy: &Policy) -> bool {
    let rates = policy.gate.limits().rates();
    let bounds = [
        rates.tokens_per_minute(),
        rates.tokens_in_per_minute(),
        rates.tokens_out_per_minute(),
    ];
    bounds.into_iter().flatten().next().is_some()
}

/// Each server that is written, with its table.
fn servers<'t>(table: &'t DeTable<'_>, model: &'t Model) -> Vec<(&'t DeTable<'t>, &'t Server)> {
    let value = table.get("server").map(Value::get_ref);
    let several = value
        .and_then(|value| value.as_array())
        .map(|all| &all[..])
        .unwrap_or_default();
    let one = value.and_then(|value| value.as_table()).into_iter();
    let tables = one.chain(several.iter().filter_map(|server| server.get_ref().as_table()));
    tables.zip(&model.servers).collect()
}

/// Outages by chance that come so often that a run would end up without them.
fn too_many_outages(reader: &Reader<'_>, table: &DeTable<'_>, model: &Model) {
    for (written, server) in servers(table, model) {
        let (Some(value), Some(renewal)) = (written.get("renewal"), server.renewal) else {
            continue;
        };
        let round = renewal.up.mean().plus(renewal.down.mean()).as_nanos().max(1);
        let expected = model.horizon.as_nanos() / round;
        // Chance makes more of them, but not twice as many.
        if expected > DRAWN_MAX / 2 {
            let message = format!(
                "some {expected} outages within the horizon, {}, are too many",
                model.horizon
            );
            let right = format!(
                "at most {}: longer times up and down, or a shorter horizon",
                DRAWN_MAX / 2
            );
            reader.fault::<()>(reader.error(value.span(), message).expecting(right));
        }
    }
}

/// Prices that nothing is paid by, and limits on tokens where no call has any.
fn unbilled(reader: &Reader<'_>, table: &DeTable<'_>, model: &Model) {
    let refuse = |value: &Value<'_>, message: &str| {
        let error = reader.error(value.span(), message);
        reader.fault::<()>(error.expecting(TOKENS));
    };
    let has_tokens = has_tokens(model);
    for (written, server) in servers(table, model) {
        // Who says that tokens cost nothing means it.
        let is_free = server.price == Price::default();
        if let Some(price) = written.get("price").filter(|_| !is_free && !bills(model, server)) {
            let message = match has_tokens {
                true => "no call here has tokens of the kind that this has a price for",
                false => "no call here has tokens, so that none is ever paid for",
            };
            refuse(price, message);
        }
        let limit = written.get("limit").and_then(|limit| limit.get_ref().as_table());
        if let Some(tpm) = limit.and_then(|limit| limit.get("tpm")).filter(|_| !has_tokens) {
            refuse(tpm, "no call here has tokens, so that this lets everything in");
        }
    }
}
