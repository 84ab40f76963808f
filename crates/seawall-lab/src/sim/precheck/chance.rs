//! Whether chance alone makes answers late.
//!
//! What can go wrong: a breaker ends an overload, and the load that comes back is so near to what the servers bear that the
//! next one begins by itself. Each ends, and for half of the time the servers are down; whoever calls that stable has
//! looked at one of them alone. So how often answers are late at the usual load is asked, too: of servers that slow down
//! by the spread of how many attempts are there (the linear noise of a birth and death process), of workers by the tail of
//! the wait in heavy traffic (Kingman's). Both are of servers that nothing is wrong with.

use super::forms::{coupled_late_share, seconds, turned_away};
use super::world::{Bears, Reckoned};
use super::{Code, Finding, percent, shown};
use crate::sim::luck::nanos;
use crate::sim::model::{Capacity, Gaps, Load, Server};
use seawall_core::policy::Mode;
use seawall_core::time::Instant;

/// Answers that are late by chance, of all, from which on that begins an overload: what is three deviations off.
const LATE_MAX: f64 = 0.00135;

/// The same where an overload ends by itself: more than these are no exception.
const OFTEN_LATE: f64 = 0.05;

/// That behind a breaker, which ends each overload, the usual attempts begin the next for no reason.
pub(super) fn begins(reckoned: &Reckoned<'_>, per_s: f64) -> Option<Finding> {
    finding(
        reckoned,
        per_s,
        LATE_MAX,
        "the breaker ends each overload, and chance alone begins the next",
    )
}

/// That the usual attempts are late much of the time, though an overload ends by itself.
pub(super) fn often(reckoned: &Reckoned<'_>, per_s: f64) -> Option<Finding> {
    finding(
        reckoned,
        per_s,
        OFTEN_LATE,
        "each overload ends, and chance alone begins the next",
    )
}

fn finding(reckoned: &Reckoned<'_>, per_s: f64, least: f64, what: &str) -> Option<Finding> {
    let late = match reckoned.bears {
        Bears::Coupled { alone_s, slope_s, .. } => {
            let patience_s = reckoned.patience_s - reckoned.on_the_way_s();
            coupled_late_share(alone_s, slope_s, per_s / reckoned.shards, patience_s)
        }
        Bears::PerSecond(bears) => {
            let each = reckoned
                .servers()
                .iter()
                .map(|server| late_share(reckoned, server, per_s, bears));
            each.fold(0.0, f64::max)
        }
        Bears::Anything | Bears::Unknown { .. } => return None,
    };
    (late > least).then(|| {
        let text = format!(
            "{what}: at {} attempts a second {} of them are answered later than the {} s that callers wait, or find the queue \
             full, with nothing wrong",
            shown(per_s),
            percent(late),
            shown(reckoned.patience_s)
        );
        let numbers = [
            ("attempts_per_s", per_s),
            ("late_share", late),
            ("patience_s", reckoned.patience_s),
        ];
        Finding::new(Code::ChanceBegins, text, numbers)
    })
}

/// Of attempts at one of the servers with workers, those whose wait is too long.
fn late_share(reckoned: &Reckoned<'_>, server: &Server, per_s: f64, bears: f64) -> f64 {
    let Capacity::Workers(workers) = server.capacity else {
        return 0.0;
    };
    let service_s = nanos(reckoned.model.service_mean(server)) / 1e9;
    if let Some(places) = server.queue_max {
        // Refusals that take less than an answer leave the servers their time.
        let load = per_s / bears * f64::from(workers);
        return match seconds(server.reject_cost) > service_s {
            true => turned_away(f64::from(workers), f64::from(places), load),
            false => 0.0,
        };
    }
    let left_s = reckoned.patience_s - reckoned.on_the_way_s() - service_s;
    let arrivals = match &reckoned.model.load {
        Load::Open { gaps, .. } | Load::Pool { gaps, .. } => match gaps {
            Gaps::Poisson => 1.0,
            Gaps::Constant => 0.0,
        },
        Load::Closed { .. } | Load::Trace { .. } => 1.0,
    };
    // How answers of a model vary is how their tokens do.
    let services = match server.generation {
        Some(_) => 1.0,
        None => server.service.squared_variation(),
    };
    let spread = arrivals + services;
    if left_s <= 0.0 {
        return 1.0;
    }
    if spread <= 0.0 {
        return 0.0;
    }
    let spare = (bears - per_s).max(0.0) / reckoned.shards;
    libm::exp(-2.0 * spare * left_s / spread)
}

/// How long a burst at servers that slow down leaves answers late, where the extras that it brings do not keep it alive.
pub(super) fn drain_of_bursts(reckoned: &Reckoned<'_>, per_s: f64) -> Vec<Finding> {
    let Bears::Coupled { alone_s, slope_s, .. } = reckoned.bears else {
        return Vec::new();
    };
    let Load::Open { bursts, .. } = &reckoned.model.load else {
        return Vec::new();
    };
    let patience_s = reckoned.patience_s - reckoned.on_the_way_s();
    let course = super::forms::Coupled {
        alone_s,
        slope_s,
        most: (patience_s - alone_s) / slope_s,
    };
    let each = |calls_per_s: f64| {
        let extra = reckoned.attempts_in_overload(calls_per_s);
        (calls_per_s / reckoned.shards, extra / reckoned.shards)
    };
    let drains = bursts.iter().filter_map(|burst| {
        let lasts_s = seconds(burst.lasts);
        let drain_s = course.drain_s(each(per_s), each(burst.factor * per_s), lasts_s)?;
        (drain_s > 0.0).then(|| {
            let mut text = format!(
                "a burst of {} s makes answers late for {} s more, with all extras",
                shown(lasts_s),
                shown(drain_s)
            );
            let over_s = seconds(burst.at.since(Instant::START)) + lasts_s;
            let left_s = (seconds(reckoned.model.horizon) - over_s).max(0.0);
            let breaker = reckoned.nearest().policy.gate.breaker();
            if let Some(breaker) = breaker.filter(|breaker| breaker.mode() == Mode::Auto) {
                let open_s = shown(seconds(breaker.open_for()));
                text += &format!(
                    "; where a breaker opens meanwhile, it turns calls away for {open_s} s and more"
                );
            }
            Finding::new(
                Code::Drain,
                text,
                [
                    ("lasts_s", lasts_s),
                    ("drain_with_extras_s", drain_s),
                    ("left_s", left_s),
                ],
            )
        })
    });
    drains.collect()
}
