//! Clients that all fail at once, and come back.

use super::forms::{BUCKET_S, herd_base_s, herd_peak, seconds};
use super::world::{Comes, Reckoned};
use super::{Code, Finding, shown};
use seawall_core::policy::Jitter;

pub(super) fn of(reckoned: &Reckoned<'_>, findings: &mut Vec<Finding>) {
    let Comes::Closed { callers, .. } = reckoned.comes else {
        return;
    };
    let call = &reckoned.callers[0].policy.call;
    if call.retries() == 0 {
        return;
    }
    let backoff = call.backoff();
    let peak = if backoff.base().is_zero() {
        callers
    } else {
        herd_peak(callers, backoff)
    };
    let mut text = format!(
        "{} clients that fail at once come back at up to {} within 100 ms",
        shown(callers),
        shown(peak)
    );
    let mut numbers = vec![("clients", callers), ("peak_per_100ms", peak)];
    if let Some(bears) = reckoned.bears.per_s().filter(|bears| *bears > 0.0) {
        let base_s = herd_base_s(callers, bears);
        text += &match backoff.jitter() {
            Jitter::None => format!(
                ", and the servers bear {}: without jitter no base makes that less; full jitter with a base of {} s does",
                shown(bears * BUCKET_S),
                shown(base_s)
            ),
            Jitter::Full
            | Jitter::Equal
            | Jitter::Decorrelated
            | Jitter::DecorrelatedAws
            | Jitter::Proportional { .. } => format!(
                ", and the servers bear {}: full jitter keeps to that with a base of {} s or more, and the base is {} s",
                shown(bears * BUCKET_S),
                shown(base_s),
                shown(seconds(backoff.base()))
            ),
        };
        numbers.extend([("borne_per_100ms", bears * BUCKET_S), ("base_least_s", base_s)]);
    }
    findings.push(Finding {
        numbers: numbers
            .into_iter()
            .map(|(name, number)| (name, super::rounded(number)))
            .collect(),
        ..Finding::new(Code::Herd, text, [])
    });
}
