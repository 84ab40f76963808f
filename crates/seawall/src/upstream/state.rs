//! How an upstream stands now, for people, pages and programs.
//!
//! What can go wrong: a page that asks every gate at another moment shows sums that never were; one that names limits
//! without saying who is held up by which is no help in an outage. So all is read under one lock, at one moment, and
//! who waits is counted by what it waits for.

use super::Upstream;
use super::keys::Door;
use seawall_core::breaker::View;
use seawall_core::engine::{BudgetState, GateState, RateState, Waits};
use seawall_core::learned::Kind;
use seawall_core::policy::Mode;
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};
use std::fmt;

/// How an [`Upstream`] stands at one moment. `Display` is a page for people, [`to_json`](Self::to_json) for programs.
/// See [`Upstream::state`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamState {
    /// The upstream's name.
    pub name: String,
    /// Of a keyed upstream: its key, and whether there is a gate for it.
    pub key: Option<KeyState>,
    /// The moment, on the upstream's own clock: what the times below are to be measured from.
    pub at: Instant,
    /// The gate that its calls come to first.
    pub gate: GateState,
    /// Who waits there and below it, by the code of the reason.
    pub waits: Waits,
    /// The upstream's gate, where a key has one of its own before it.
    pub above: Option<GateState>,
    /// How many gates of keys there are.
    pub keys: KeysState,
}

/// What there is for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyState {
    /// The key.
    pub key: String,
    /// Whether it has a gate of its own; where there was no room for one, its calls pass the upstream's alone.
    pub has_gate: bool,
}

/// How many gates of keys an upstream has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeysState {
    /// Those that are there.
    pub kept: usize,
    /// How many there may be.
    pub max: usize,
    /// How often a key was asked for that got none, since the upstream was built.
    pub without_gate: u64,
}

impl Upstream {
    /// How it stands now: what is in flight, who waits for what, and what breaker, budget, limits and the server's own
    /// word leave. Of a [`keyed`](Self::keyed) one, its own gate and the upstream's.
    ///
    /// For pages and logs; it looks at every call that is alive. Changes nothing.
    pub fn state(&self) -> UpstreamState {
        let shared = &*self.shared;
        let base = shared.candidate.gate;
        let own = self.door.gate();
        let (at, gate, above, waits, count) = shared.hub.with(|engine, now| {
            let state = |gate| engine.state(now, gate).expect("a handle holds its gate");
            let (gate, above) = (own.unwrap_or(base), own.map(|_| state(base)));
            (now, state(gate), above, engine.waits(gate), shared.keys.count())
        });
        let (key, has_gate) = match &self.door {
            Door::Base => (None, false),
            Door::Own(own) => (Some(&own.key), true),
            Door::None(key) => (Some(key), false),
        };
        UpstreamState {
            name: shared.name.to_string(),
            key: key.map(|key| KeyState {
                key: key.to_string(),
                has_gate,
            }),
            at,
            gate,
            waits,
            above,
            keys: KeysState {
                kept: count.kept,
                max: count.max,
                without_gate: count.without,
            },
        }
    }
}

impl UpstreamState {
    /// One JSON object: `name`, `key`, `gate`, `above`, `waiting` (by reason code) and `keys`. A gate is `in_flight`,
    /// `places`, `gradient` (of a limit by first-byte times: `base_ms` and `mean_ms`), `queued`, `saving`, `cools_ms`,
    /// `mode`, `breaker`, `budget` and `rates` (by kind); what there is not is null.
    pub fn to_json(&self) -> Value {
        let key = self
            .key
            .as_ref()
            .map(|key| json!({ "key": key.key, "has_gate": key.has_gate }));
        let waiting: serde_json::Map<_, _> = self
            .waits
            .counted()
            .map(|(code, count)| (code.to_owned(), count.into()))
            .collect();
        json!({
            "name": self.name,
            "key": key,
            "gate": gate_json(&self.gate, self.at),
            "above": self.above.as_ref().map(|gate| gate_json(gate, self.at)),
            "waiting": waiting,
            "keys": {
                "kept": self.keys.kept,
                "max": self.keys.max,
                "without_gate": self.keys.without_gate,
            },
        })
    }
}

fn gate_json(gate: &GateState, now: Instant) -> Value {
    let load = &gate.load;
    let breaker = gate.breaker.map(|view| {
        json!({
            "state": view.state,
            "since_ms": now.since(view.since).as_millis(),
            "succeeded": view.counts.successes,
            "failed": view.counts.failures,
            "slow": view.slow,
            "ramp": view.ramp_per_mille.map(|per_mille| f64::from(per_mille) / 1_000.0),
            "probes": view.probes,
            "flapping": view.flapping,
        })
    });
    let budget = gate
        .budget
        .map(|budget| json!({ "granted": budget.granted, "allowed": budget.allowed }));
    let rates: serde_json::Map<_, _> = known_rates(gate)
        .map(|(kind, rate)| {
            let rate = json!({
                "per_minute": rate.per_minute,
                "left": rate.left,
                "told": rate.told,
                "full_in_ms": rate.full_at.map(|at| at.since(now).as_millis()),
            });
            (kind.name().to_owned(), rate)
        })
        .collect();
    json!({
        "in_flight": load.in_flight,
        "places": gate.places,
        "gradient": gate.gradient.map(|gradient| {
            json!({ "base_ms": gradient.base.as_millis(), "mean_ms": gradient.mean.as_millis() })
        }),
        "queued": load.queued,
        "saving": load.saving,
        "cools_ms": load.not_before.since(now).as_millis(),
        "mode": mode(gate.mode),
        "breaker": breaker,
        "budget": budget,
        "rates": rates,
    })
}

/// The kinds of rates that somebody said something of.
fn known_rates(gate: &GateState) -> impl Iterator<Item = (Kind, &RateState)> {
    Kind::ALL
        .into_iter()
        .zip(&gate.rates)
        .filter(|(_, rate)| **rate != RateState::default())
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "auto",
        Mode::Open => "open",
        Mode::Closed => "closed",
        Mode::Observe => "observe",
    }
}

impl fmt::Display for UpstreamState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.key {
            Some(KeyState { key, has_gate: true }) => write!(f, ", key {key}")?,
            Some(KeyState { key, has_gate: false }) => write!(
                f,
                ", key {key} (no gate of its own: all {} are taken)",
                self.keys.max
            )?,
            None => {}
        }
        let gate = Page {
            gate: &self.gate,
            waits: Some(self.waits),
            now: self.at,
        };
        write!(f, "{gate}")?;
        if let Some(above) = &self.above {
            let page = Page {
                gate: above,
                waits: None,
                now: self.at,
            };
            write!(f, "\n{}, all keys{page}", self.name)?;
        }
        if self.key.is_none() && self.keys.kept > 0 {
            line(f, "keys")?;
            write!(f, "{} of {} have a gate", self.keys.kept, self.keys.max)?;
        }
        if self.keys.without_gate > 0 {
            line(f, "no gate")?;
            write!(f, "for a key, so far {}", self.keys.without_gate)?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, label: &str) -> fmt::Result {
    write!(f, "\n  {label:<12}")
}

/// One gate, line by line.
struct Page<'a> {
    gate: &'a GateState,
    /// Who waits, where that was counted.
    waits: Option<Waits>,
    now: Instant,
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gate = self.gate;
        line(f, "in flight")?;
        write!(f, "{}", gate.load.in_flight)?;
        if let Some(places) = gate.places {
            write!(f, " of {places}")?;
        }
        if let Some(gradient) = gate.gradient.filter(|gradient| !gradient.base.is_zero()) {
            let (mean, base) = (gradient.mean.up_to_millis(), gradient.base.up_to_millis());
            write!(f, ", first bytes take {mean}, uncrowded {base}")?;
        }
        line(f, "waiting")?;
        match self.waits {
            Some(waits) => by_cause(f, waits)?,
            None => write!(f, "{}", gate.load.queued.saturating_add(gate.load.saving))?,
        }
        match (&gate.breaker, gate.mode) {
            (Some(view), _) => {
                line(f, "breaker")?;
                breaker(f, view, self.now)?;
            }
            (None, Mode::Auto) => {}
            (None, forced @ (Mode::Open | Mode::Closed | Mode::Observe)) => {
                line(f, "breaker")?;
                write!(f, "{} by force (there is none)", mode(forced))?;
            }
        }
        if let Some(BudgetState { granted, allowed }) = gate.budget {
            line(f, "budget")?;
            write!(f, "{granted} of {allowed} extras granted in its window")?;
        }
        for (kind, state) in known_rates(gate) {
            line(f, kind.name())?;
            rate(f, state, self.now)?;
        }
        let cools = gate.load.not_before.since(self.now);
        if cools > Duration::ZERO {
            line(f, "cool-down")?;
            write!(f, "ends in {}", cools.up_to_millis())?;
        }
        Ok(())
    }
}

fn by_cause(f: &mut fmt::Formatter<'_>, waits: Waits) -> fmt::Result {
    write!(f, "{}", waits.sum())?;
    for (nth, (code, count)) in waits.counted().enumerate() {
        let before = if nth == 0 { ": " } else { ", " };
        write!(f, "{before}{count} {code}")?;
    }
    Ok(())
}

fn breaker(f: &mut fmt::Formatter<'_>, view: &View, now: Instant) -> fmt::Result {
    match view.mode {
        Mode::Auto => f.write_str(view.state)?,
        forced @ (Mode::Open | Mode::Closed | Mode::Observe) => {
            write!(f, "{} by force ({} by itself)", mode(forced), view.state)?;
        }
    }
    let counts = view.counts;
    write!(
        f,
        " for {}, {} of {} in its window failed",
        now.since(view.since).up_to_millis(),
        counts.failures,
        counts.failures.saturating_add(counts.successes)
    )?;
    if view.slow > 0 {
        write!(f, ", {} were slow", view.slow)?;
    }
    if let Some(per_mille) = view.ramp_per_mille {
        write!(f, ", {} of 1000 calls let in", per_mille)?;
    }
    if view.probes > 0 {
        write!(f, ", {} probing", view.probes)?;
    }
    if view.flapping {
        f.write_str(", flapping")?;
    }
    Ok(())
}

fn rate(f: &mut fmt::Formatter<'_>, rate: &RateState, now: Instant) -> fmt::Result {
    let ours = rate.left.zip(rate.per_minute);
    if let Some((left, per_minute)) = ours {
        write!(f, "{left} of {per_minute} a minute left")?;
    }
    if let Some(told) = rate.told {
        let between = if ours.is_some() { "; " } else { "" };
        write!(f, "{between}{told} left by the server's word")?;
        if let Some(full_at) = rate.full_at {
            write!(f, ", full again in {}", full_at.since(now).up_to_millis())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
