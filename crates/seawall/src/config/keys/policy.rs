use super::{Key, Takes, Text};
use seawall_core::time::Duration;

/// The longest length that a policy takes: ten years. A test holds it to the engine's own bound.
pub(super) const LENGTH_MAX: Duration = Duration::from_secs(10 * 365 * 86_400);
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

const LENGTH: Takes = Takes::Length {
    min: MS,
    max: LENGTH_MAX,
};
const LENGTH_OR_NONE: Takes = Takes::Length {
    min: Duration::ZERO,
    max: LENGTH_MAX,
};
const SHARE: Takes = share(1, 1_000);
const PER_MINUTE: Takes = count(1, 1_000_000_000_000);

const fn share(min: u64, max: u64) -> Takes {
    Takes::Decimal {
        places: 3,
        min,
        max,
        what: "a share such as 0.1",
    }
}

const fn count(min: u64, max: u64) -> Takes {
    Takes::Count { min, max }
}

const PRESETS: Takes = Takes::Word(&["default", "interactive", "batch", "writes", "off"]);
const JITTERS: Takes = Takes::Word(&["full", "equal", "decorrelated", "decorrelated-aws", "none"]);
const FACTOR: Takes = Takes::Decimal {
    places: 1,
    min: 10,
    max: 100,
    what: "a number",
};
const FLOOR: Takes = Takes::Decimal {
    places: 3,
    min: 0,
    max: 1_000_000_000,
    what: "extras per second",
};
const TABLE_OR_OFF: Takes = Takes::Either(&[Takes::Table, Takes::Word(&["off"])]);
const WINDOW_HOUR: Takes = Takes::Length {
    min: SECOND,
    max: Duration::from_secs(3_600),
};
const WINDOW_DAY: Takes = Takes::Length {
    min: SECOND,
    max: Duration::from_secs(86_400),
};

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    Key::new("policy", Takes::Table, "the preset `default`", "{}", "", "the default of every upstream"),
    Key::new("policy.preset", PRESETS, "\"default\"", "\"interactive\"", "", "the ground that all other keys stand on, wherever it is written"),
    Key::new("policy.retries", count(0, 100), "5", "3", "rule B4", "retries per call, over all upstreams"),
    Key::new("policy.deadline", LENGTH, "\"2m\", inference \"10m\"", "\"120s\"", "rule F1", "how long a call may take up to its first content, waits included"),
    Key::new("policy.backoff", Takes::Table, "as below", "{}", "rule B1", "our own guess at when to come back"),
    Key::new("policy.backoff.base", LENGTH, "\"500ms\"", "\"500ms\"", "rule B4", "the ceiling of the first delay"),
    Key::new("policy.backoff.factor", FACTOR, "2", "2.0", "rule B4", "growth of the ceiling per retry"),
    Key::new("policy.backoff.cap", LENGTH, "\"30s\"", "\"30s\"", "rule B4", "the longest delay of our own guess"),
    Key::new("policy.backoff.min", LENGTH_OR_NONE, "a tenth of `base`", "\"50ms\"", "rule B4", "the lower end of full jitter, at most `base`"),
    Key::new("policy.backoff.jitter", Takes::Either(&[JITTERS, Takes::Table]), "\"full\"", "\"full\"", "rule B2", "how a delay is drawn below its ceiling"),
    Key::new("policy.backoff.jitter.proportional", SHARE, "none", "0.5", "rule B2", "the share around the ceiling in which a delay is drawn"),
    Key::new("policy.hints", Takes::Table, "as below", "{}", "rule C1", "what a server's word about waiting is worth"),
    Key::new("policy.hints.max", LENGTH, "\"1m\"", "\"60s\"", "rule C4", "the longest wait that a server may ask for"),
    Key::new("policy.hints.long", Takes::Word(&["stop", "clamp"]), "\"stop\"", "\"stop\"", "rule C4", "what a longer one does: end the call, or wait `max` instead"),
    Key::new("policy.hints.cooldown_max", LENGTH, "\"24h\"", "\"24h\"", "rule C6", "how long a stated cool-down is believed"),
    Key::new("policy.timeouts", Takes::Table, "as below", "{}", "rule F2", "limits of one attempt"),
    Key::new("policy.timeouts.connect", LENGTH, "\"5s\"", "\"5s\"", "rule F2", "name look-up, connect and TLS together, at most the time left"),
    Key::new("policy.timeouts.first_byte", LENGTH, "\"1m\", inference \"5m\"", "\"60s\"", "rule F2", "from the last byte sent to the first byte of the answer, at most the time left"),
    Key::new("policy.timeouts.idle", LENGTH, "\"30s\", inference \"2m\"", "\"30s\"", "rule F2", "the longest silence inside an answer"),
    Key::new("policy.timeouts.total", LENGTH, "none, streams \"1h\"", "\"5m\"", "rule F2", "a whole attempt"),
    Key::new("policy.timeouts.min_attempt", LENGTH_OR_NONE, "\"100ms\"", "\"100ms\"", "rule F3", "what a wait must leave of the deadline"),
    Key::new("policy.budget", TABLE_OR_OFF, "as below", "{}", "rule G1", "how many extras (retries and hedges) an upstream gets; \"off\" bounds nothing"),
    Key::new("policy.budget.ratio", share(0, 10_000), "0.1", "0.1", "rule G1", "extras per call"),
    Key::new("policy.budget.floor", FLOOR, "1", "1", "rule G1", "extras per second whatever the traffic"),
    Key::new("policy.budget.window", WINDOW_HOUR, "\"10s\"", "\"10s\"", "rule G1", "over how long both are counted"),
    Key::new("policy.budget.on_empty", Takes::Word(&["stop", "wait"]), "\"stop\"", "\"stop\"", "rule G5", "what a call does that finds nothing left"),
    Key::new("policy.breaker", TABLE_OR_OFF, "as below", "{}", "rule H1", "when an upstream gets nothing for a while; \"off\" never stops a call"),
    Key::new("policy.breaker.consecutive", count(1, 1_000_000), "5", "5", "rule H1", "failures in a row that open it, once they span half a second"),
    Key::new("policy.breaker.failure_rate", SHARE, "0.5", "0.5", "rule H1", "the share of failures that opens it"),
    Key::new("policy.breaker.window", WINDOW_DAY, "\"30s\"", "\"30s\"", "rule H1", "over how long that share is counted"),
    Key::new("policy.breaker.min_calls", count(1, 1_000_000), "20", "20", "rule H1", "attempts below which a share says nothing; they must span a second, too"),
    Key::new("policy.breaker.slow_call", Takes::Table, "none", "{ over = \"10s\", rate = 0.5 }", "rule H1", "opens it by slow attempts, too; those that are out still count"),
    Key::new("policy.breaker.slow_call.over", LENGTH, "must be written", "\"10s\"", "rule H1", "an attempt is slow whose first content, or whole answer, takes longer"),
    Key::new("policy.breaker.slow_call.rate", SHARE, "0.5", "0.5", "rule H1", "the share of slow attempts that opens it"),
    Key::new("policy.breaker.open_for", LENGTH, "\"500ms\"", "\"500ms\"", "rule H3", "how long it stays open at first; half as long again each time that was not enough"),
    Key::new("policy.breaker.open_max", LENGTH, "\"5s\"", "\"5s\"", "rule H3", "how long at the most, not below `open_for`; as long, where that is longer and this is left out"),
    Key::new("policy.breaker.probes", count(1, 100), "3", "3", "rule H4", "probes in flight while it is half-open"),
    Key::new("policy.breaker.probe_successes", count(1, 1_000), "1", "1", "rule H4", "probes that must succeed to close it"),
    Key::new("policy.breaker.ramp", LENGTH, "none", "\"10s\"", "rule H5", "over how long the share that is let in grows after it closed, from a tenth to all"),
    Key::new("policy.breaker.on_open", Takes::Word(&["fail", "wait"]), "\"fail\"", "\"fail\"", "rule H10", "what a call does that finds it open"),
    Key::new("policy.breaker.mode", Takes::Word(&["auto", "open", "closed", "observe"]), "\"auto\"", "\"auto\"", "rule H8", "whether the automaton rules, or a latch outside it"),
    Key::new("policy.limits", Takes::Table, "as below", "{}", "rule I1", "how much at once, and how much per minute"),
    Key::new("policy.limits.concurrency", Takes::Either(&[count(1, 1_000_000), Takes::Word(&["auto"]), Takes::Table]), "no bound", "64", "rules I1 and I3", "attempts in flight at once; \"auto\" finds out by what the upstream throttles"),
    Key::new("policy.limits.concurrency.auto", Takes::Word(&["throttles", "first-byte"]), "\"throttles\"", "\"first-byte\"", "rule I3", "what the number is found out by: what the upstream throttles, or how long first bytes take, too"),
    Key::new("policy.limits.queue", count(0, 10_000_000), "1000", "1000", "rule I1", "calls that may wait at the gate"),
    Key::new("policy.limits.requests_per_minute", count(1, 1_000_000_000), "no bound", "60", "rule I2", "attempts per minute"),
    Key::new("policy.limits.tokens_per_minute", PER_MINUTE, "no bound", "10000", "rule I2", "tokens in and out per minute"),
    Key::new("policy.limits.tokens_in_per_minute", PER_MINUTE, "no bound", "8000", "rule I2", "tokens sent per minute"),
    Key::new("policy.limits.tokens_out_per_minute", PER_MINUTE, "no bound", "2000", "rule I2", "tokens answered per minute"),
    Key::new("policy.hedge", Takes::Table, "no hedge", "{}", "rule J1", "a second attempt beside a slow first one"),
    Key::new("policy.hedge.after", Takes::Either(&[LENGTH, Takes::Text(Text::Percentile)]), "never", "\"800ms\"", "rule J1", "how long the first attempt runs alone: a time, or as long as so many attempts of late took to their first byte"),
    Key::new("policy.hedge.at_most", SHARE, "as the budget allows", "0.05", "rule J1", "the largest share of calls that are hedged, over the budget's window"),
];
