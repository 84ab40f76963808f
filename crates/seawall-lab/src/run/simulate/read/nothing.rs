//! What would count, bound or assert nothing.
//!
//! What can go wrong: an assert holds because there is nothing that it is about, and a test that cannot fail stands for years;
//! a price or a limit on tokens decides nothing, since no call has any. So what a file itself says is refused where it can do
//! nothing, and what a policy says that was pasted from elsewhere is told.

use super::Asked;
use crate::reader::{Reader, Value};
use crate::scenario::Written;
use crate::sim::assert::Assert;
use crate::sim::model::{AnswerIs, Contender, Model, Price, Server, Trouble};
use crate::sim::study::Study;
use crate::sim::summary::RECOVERY_SEEN_IN;
use seawall_core::policy::Policy;
use toml::de::DeTable;

const TOKENS: &str = "tokens = { input = 1000, output = 150 } in [load]";

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
        self.silence(&study.model);
        for assert in asserts {
            let refuse = |message: &str, right: &str| {
                let error = reader.error(assert.at.span.clone(), message);
                reader.fault::<()>(error.expecting(right));
            };
            if assert.value.is_about_cost()
                && !study
                    .model
                    .servers
                    .iter()
                    .any(|server| bills(&study.model, server))
            {
                refuse(
                    "nothing that a call does has a price here, so that this cost is always 0",
                    &format!("price = {{ input = 0.42, output = 1.10 }} in [server], and {TOKENS}"),
                );
            }
            if assert.value.is_about_recovery() && study.recovers_from().is_none() {
                match study.outage_end() {
                    None => refuse(
                        "no given outage ends here: nothing recovers",
                        "outages = [{ at = \"10s\", for = \"5s\", how = \"503\" }]",
                    ),
                    Some(end) => refuse(
                        &format!(
                            "the last outage ends at {end}, and a recovery is seen in {RECOVERY_SEEN_IN}, which are not left \
                             before the horizon, {}",
                            study.model.horizon
                        ),
                        "a later horizon, or an earlier outage",
                    ),
                }
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

/// Prices that nothing is paid by, and limits on tokens where no call has any.
fn unbilled(reader: &Reader<'_>, table: &DeTable<'_>, model: &Model) {
    let Some(value) = table.get("server").map(Value::get_ref) else {
        return;
    };
    let several = value.as_array().map(|all| &all[..]).unwrap_or_default();
    let one = value.as_table().into_iter();
    let tables = one.chain(several.iter().filter_map(|server| server.get_ref().as_table()));
    let refuse = |value: &Value<'_>, message: &str| {
        let error = reader.error(value.span(), message);
        reader.fault::<()>(error.expecting(TOKENS));
    };
    let has_tokens = has_tokens(model);
    for (written, server) in tables.zip(&model.servers) {
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
