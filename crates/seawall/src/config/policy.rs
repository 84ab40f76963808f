use super::effective::{self, Layer, Origin};
use super::reader::Reader;
use super::section::Section;
use super::types::{Place, Written};
use seawall_core::policy::{
    BreakerEdit, BudgetEdit, Concurrency, DEFAULT_BREAKER_SLOW_PERCENT, HedgeAfter, Jitter, LongHint, Mode,
    OnEmpty, OnOpen, Policy, PolicyBuilder, PolicyError, Preset, SlowCall,
};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

const JITTERS: [(&str, Jitter); 5] = [
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
    ("decorrelated-aws", Jitter::DecorrelatedAws),
    ("none", Jitter::None),
];
const MODES: [(&str, Mode); 4] = [
    ("auto", Mode::Auto),
    ("open", Mode::Open),
    ("closed", Mode::Closed),
    ("observe", Mode::Observe),
];
const LONG_HINTS: [(&str, LongHint); 2] = [("stop", LongHint::Stop), ("clamp", LongHint::Clamp)];
const ON_EMPTY: [(&str, OnEmpty); 2] = [("stop", OnEmpty::Stop), ("wait", OnEmpty::Wait)];
const ON_OPEN: [(&str, OnOpen); 2] = [("fail", OnOpen::Fail), ("wait", OnOpen::Wait)];
const AUTOS: [(&str, Concurrency); 2] = [
    ("throttles", Concurrency::Auto),
    ("first-byte", Concurrency::Gradient),
];

/// A policy as a file says it: what holds, and where each value comes from.
#[derive(Clone, Debug)]
pub struct PolicyConfig {
    policy: Policy,
    preset: Preset,
    written: BTreeMap<&'static str, (Place, Layer)>,
}

impl PolicyConfig {
    /// The policy, as the engine takes it.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The preset that the other values stand on.
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// Where the value of a key comes from; keys are called as in [`keys`](super::keys), `policy.retries`.
    pub fn origin(&self, key: &str) -> Origin<'_> {
        if let Some((at, layer)) = self.written.get(key) {
            return Origin::Written { at, layer: *layer };
        }
        if key == "policy.backoff.min" && self.written.contains_key("policy.backoff.base") {
            return Origin::Follows("policy.backoff.base");
        }
        let of = |preset| effective::shown(key, &Policy::preset(preset));
        match self.preset {
            Preset::Default => Origin::Default,
            preset if of(preset) == of(Preset::Default) => Origin::Default,
            preset => Origin::Preset(preset),
        }
    }

    /// Where a key's value was written; nothing where a default holds.
    pub fn place(&self, key: &str) -> Option<&Place> {
        self.written.get(key).map(|(at, _)| at)
    }
}

/// Sets one value.
type Set = Rc<dyn Fn(PolicyBuilder) -> PolicyBuilder>;

/// Reads one section of a policy.
type ReadSection = fn(&mut Draft, &Section<'_>);

/// One value that was written.
#[derive(Clone)]
struct Edit {
    key: &'static str,
    at: Place,
    layer: Layer,
    set: Set,
}

/// A policy under way: a preset, and what was written over it.
#[derive(Clone, Default)]
pub(super) struct Draft {
    preset: Option<Preset>,
    edits: Vec<Edit>,
    layer: Layer,
}

impl Draft {
    /// Reads a table over what is there. An upstream's own preset is a new ground: nothing of `[policy]` holds on it.
    pub(super) fn read(&mut self, table: &Section<'_>, layer: Layer) {
        self.layer = layer;
        let preset = table.word("preset", &Preset::ALL.map(|preset| (preset.name(), preset)));
        if let Some(Written { value, at, key }) = preset {
            *self = Self {
                preset: Some(value),
                layer,
                ..Self::default()
            };
            self.edit(key, at, |builder| builder);
        }
        self.set(table.count("retries"), |to, n| to.retries(n));
        self.set(table.length("deadline"), |to, length| to.deadline(length));
        let sections: [(&str, ReadSection); 4] = [
            ("backoff", Self::backoff),
            ("hints", Self::hints),
            ("timeouts", Self::timeouts),
            ("limits", Self::limits),
        ];
        for (name, read) in sections {
            if let Some(section) = table.section(name) {
                read(self, &section);
            }
        }
        if let Some(section) = self.switch(
            table,
            "budget",
            |to| to.budget(None),
            |to| to.edit_budget(|same| same),
        ) {
            self.budget(&section);
        }
        if let Some(section) = self.switch(
            table,
            "breaker",
            |to| to.breaker(None),
            |to| to.edit_breaker(|same| same),
        ) {
            self.breaker(&section);
        }
        if let Some(section) = table.section("hedge") {
            self.hedge(&section);
        }
    }

    /// The policy, once no two values contradict each other. Each contradiction is told, and its value left out.
    pub(super) fn build(&mut self, reader: &Reader<'_>, table: Range<usize>) -> PolicyConfig {
        loop {
            let ground = PolicyBuilder::from_preset(self.preset.unwrap_or(Preset::Default));
            let builder = self
                .edits
                .iter()
                .fold(ground, |builder, edit| (edit.set)(builder));
            let error = match builder.build() {
                Ok(policy) => return self.of(policy),
                Err(error) => error,
            };
            let Some(guilty) = self.guilty(&error) else {
                reader.error(table, error.to_string(), "");
                return self.of(Policy::preset(self.preset.unwrap_or(Preset::Default)));
            };
            let edit = self.edits.remove(guilty);
            reader.error(edit.at.span, error.to_string(), self.other(edit.key, &error));
        }
    }

    /// The value to blame: of those that the error names, the upstream's own before `[policy]`'s.
    fn guilty(&self, error: &PolicyError) -> Option<usize> {
        let names = [Some(error.setting()), bound(error)];
        let named = |layer: Layer, name: Option<&str>| {
            self.edits
                .iter()
                .rposition(|edit| edit.layer == layer && setting(edit.key) == name)
        };
        let layers = [Layer::Upstream, Layer::Policy];
        layers.into_iter().find_map(|layer| {
            names
                .into_iter()
                .flatten()
                .find_map(|name| named(layer, Some(name)))
        })
    }

    /// Where the other of two values that contradict each other comes from.
    fn other(&self, blamed: &str, error: &PolicyError) -> String {
        let names = [Some(error.setting()), bound(error)];
        let other = names
            .into_iter()
            .flatten()
            .find(|name| setting(blamed) != Some(name));
        let Some(other) = other else {
            return String::new();
        };
        let written = self.edits.iter().rfind(|edit| setting(edit.key) == Some(other));
        match (written, self.preset) {
            (Some(edit), _) => format!("{other} stands in line {}; change either", edit.at.line),
            (None, Some(preset)) => {
                format!(
                    "{other} is from the preset `{}`; write both, or change this one",
                    preset.name()
                )
            }
            (None, None) => format!("{other} is the default; write both, or change this one"),
        }
    }

    fn of(&self, policy: Policy) -> PolicyConfig {
        let written = self
            .edits
            .iter()
            .map(|edit| (edit.key, (edit.at.clone(), edit.layer)));
        PolicyConfig {
            policy,
            preset: self.preset.unwrap_or(Preset::Default),
            written: written.collect(),
        }
    }

    fn edit(&mut self, key: &'static str, at: Place, set: impl Fn(PolicyBuilder) -> PolicyBuilder + 'static) {
        let (layer, set) = (self.layer, Rc::new(set));
        self.edits.push(Edit { key, at, layer, set });
    }

    fn set<T: Copy + 'static>(
        &mut self,
        read: Option<Written<T>>,
        set: impl Fn(PolicyBuilder, T) -> PolicyBuilder + 'static,
    ) {
        if let Some(Written { value, at, key }) = read {
            self.edit(key, at, move |builder| set(builder, value));
        }
    }

    fn set_budget<T: Copy + 'static>(
        &mut self,
        read: Option<Written<T>>,
        set: impl Fn(BudgetEdit, T) -> BudgetEdit + Copy + 'static,
    ) {
        self.set(read, move |to, value| to.edit_budget(|budget| set(budget, value)));
    }

    fn set_breaker<T: Copy + 'static>(
        &mut self,
        read: Option<Written<T>>,
        set: impl Fn(BreakerEdit, T) -> BreakerEdit + Copy + 'static,
    ) {
        self.set(read, move |to, value| {
            to.edit_breaker(|breaker| set(breaker, value))
        });
    }

    /// A section that may be "off" instead.
    fn switch<'s>(
        &mut self,
        table: &Section<'s>,
        name: &str,
        off: fn(PolicyBuilder) -> PolicyBuilder,
        on: fn(PolicyBuilder) -> PolicyBuilder,
    ) -> Option<Section<'s>> {
        let (key, value) = table.find(name)?;
        let at = table.reader.place(value.span());
        if table.is_word(name, "off") {
            // What was written of it before no longer holds, and must not be what an error blames.
            self.edits.retain(|edit| !edit.key.starts_with(key.path));
            self.edit(key.path, at, off);
            return None;
        }
        let section = table.section(name)?;
        self.edit(key.path, at, on);
        Some(section)
    }

    fn backoff(&mut self, table: &Section<'_>) {
        self.set(table.length("base"), |to, length| to.backoff_base(length));
        self.set(table.decimal_narrow("factor"), |to, tenths| {
            to.backoff_factor_tenths(tenths)
        });
        self.set(table.length("cap"), |to, length| to.backoff_cap(length));
        self.set(table.length("min"), |to, length| to.backoff_min(length));
        let Some((key, value)) = table.find("jitter") else {
            return;
        };
        if value.get_ref().as_str().is_some() {
            self.set(table.word("jitter", &JITTERS), |to, jitter| to.jitter(jitter));
            return;
        }
        let Some(section) = table.section("jitter") else {
            return;
        };
        section.missing("proportional");
        if let Some(share) = section.decimal_narrow("proportional") {
            let per_mille = share.value;
            let at = table.reader.place(value.span());
            self.edit(key.path, at, move |to| {
                to.jitter(Jitter::Proportional { per_mille })
            });
        }
    }

    fn hints(&mut self, table: &Section<'_>) {
        self.set(table.length("max"), |to, length| to.hints_max(length));
        self.set(table.word("long", &LONG_HINTS), |to, long| to.hints_long(long));
        self.set(table.length("cooldown_max"), |to, length| to.cooldown_max(length));
    }

    fn timeouts(&mut self, table: &Section<'_>) {
        self.set(table.length("connect"), |to, length| to.connect(length));
        self.set(table.length("first_byte"), |to, length| to.first_byte(length));
        self.set(table.length("idle"), |to, length| to.idle(length));
        self.set(table.length("total"), |to, length| to.total(length));
        self.set(table.length("min_attempt"), |to, length| to.min_attempt(length));
    }

    fn budget(&mut self, table: &Section<'_>) {
        self.set_budget(table.decimal_narrow("ratio"), |to, share| {
            to.ratio_per_mille(share)
        });
        self.set_budget(table.decimal("floor"), |to, milli| to.floor_milli(milli));
        self.set_budget(table.length("window"), |to, length| to.window(length));
        self.set_budget(table.word("on_empty", &ON_EMPTY), |to, what| to.on_empty(what));
    }

    fn breaker(&mut self, table: &Section<'_>) {
        self.set_breaker(table.count("consecutive"), |to, n| to.consecutive(n));
        self.set_breaker(table.decimal_narrow("failure_rate"), |to, share| {
            to.failure_per_mille(share)
        });
        self.set_breaker(table.length("window"), |to, length| to.window(length));
        self.set_breaker(table.count("min_calls"), |to, n| to.min_calls(n));
        self.set_breaker(table.length("open_for"), |to, length| to.open_for(length));
        self.set_breaker(table.length("open_max"), |to, length| to.open_max(length));
        self.set_breaker(table.count("probes"), |to, n| to.probes(n));
        self.set_breaker(table.count("probe_successes"), |to, n| to.probe_successes(n));
        self.set_breaker(table.word("on_open", &ON_OPEN), |to, what| to.on_open(what));
        self.set_breaker(table.word("mode", &MODES), |to, mode| to.mode(mode));
        self.set_breaker(table.length("ramp"), |to, length| to.ramp(Some(length)));
        if let Some(slow) = table.section("slow_call") {
            slow.missing("over");
            let per_mille = DEFAULT_BREAKER_SLOW_PERCENT * 10;
            self.set_breaker(slow.length("over"), move |to, over| {
                to.slow_call(Some(SlowCall { over, per_mille }))
            });
            self.set_breaker(slow.decimal_narrow("rate"), |to, per_mille| {
                to.slow_rate(per_mille)
            });
        }
    }

    fn limits(&mut self, table: &Section<'_>) {
        self.concurrency(table);
        self.set(table.count("queue"), |to, n| to.queue(n));
        self.set(table.count_wide("requests_per_minute"), |to, n| {
            to.requests_per_minute(Some(n))
        });
        self.set(table.count_wide("tokens_per_minute"), |to, n| {
            to.tokens_per_minute(Some(n))
        });
        self.set(table.count_wide("tokens_in_per_minute"), |to, n| {
            to.tokens_in_per_minute(Some(n))
        });
        self.set(table.count_wide("tokens_out_per_minute"), |to, n| {
            to.tokens_out_per_minute(Some(n))
        });
    }

    fn concurrency(&mut self, table: &Section<'_>) {
        let Some((key, value)) = table.find("concurrency") else {
            return;
        };
        if !value.get_ref().is_table() {
            let concurrency = table.count_or("concurrency", "auto");
            self.set(concurrency, |to, most| {
                to.concurrency(most.map_or(Concurrency::Auto, Concurrency::AtMost))
            });
            return;
        }
        let Some(section) = table.section("concurrency") else {
            return;
        };
        section.missing("auto");
        if let Some(auto) = section.word("auto", &AUTOS) {
            let at = table.reader.place(value.span());
            self.edit(key.path, at, move |to| to.concurrency(auto.value));
        }
    }

    fn hedge(&mut self, table: &Section<'_>) {
        self.set(table.length_or_percentile("after"), |to, after| match after {
            HedgeAfter::Fixed(length) => to.hedge_after(length),
            HedgeAfter::Percentile { per_mille } => to.hedge_after_percentile(per_mille),
        });
        self.set(table.decimal_narrow("at_most"), |to, share| {
            to.hedge_at_most_per_mille(share)
        });
    }
}

/// A key as the engine calls it.
fn setting(key: &str) -> Option<&str> {
    key.strip_prefix("policy.")
}

/// The other setting that an error is about.
fn bound(error: &PolicyError) -> Option<&'static str> {
    match error {
        PolicyError::Above { bound, .. } => Some(bound),
        PolicyError::WaitWithoutFloor => Some("budget.floor"),
        _ => None,
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in line {}", self.key, self.at.line)
    }
}
