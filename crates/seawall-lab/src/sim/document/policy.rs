//! Every setting of a policy as JSON, under the keys of a `[policy]` table.

use super::switches::{number, time};
use seawall_core::policy::{CallPolicy, Policy, SettingValue};
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::Endpoint;
use serde_json::{Value, json};

/// Settings that decide nothing in a simulation: it has no connections, no silence inside an answer, and its calls may all
/// be sent again.
const WITHOUT_USE: [&str; 3] = ["timeouts.connect", "timeouts.idle", "declared_counts"];

/// All settings that the simulator has a use for, those that nobody wrote included: limits that a policy leaves open are
/// those of calls of this kind.
pub(super) fn settings(policy: &Policy, endpoint: Endpoint) -> Value {
    let mut all = Value::Null;
    let listed = policy.settings();
    let used = listed
        .iter()
        .filter(|setting| !WITHOUT_USE.contains(&setting.key));
    let written = used.map(|setting| (setting.key, value(setting.value)));
    for (key, value) in written.chain(in_force(&policy.call, endpoint)) {
        let place = key.split('.').fold(&mut all, |table, name| &mut table[name]);
        *place = value;
    }
    all
}

/// The limits of a call of this kind, whoever set them.
fn in_force(call: &CallPolicy, endpoint: Endpoint) -> impl Iterator<Item = (&'static str, Value)> + use<> {
    let limits = call.limits_for(endpoint, Instant::START, Instant::NEVER);
    let total = Some(limits.total).filter(|total| *total != Duration::MAX);
    [
        ("deadline", Some(call.deadline_for(endpoint))),
        ("timeouts.first_byte", Some(limits.first_byte)),
        ("timeouts.total", total),
    ]
    .into_iter()
    .filter_map(|(key, length)| Some((key, time(length?))))
}

fn value(value: SettingValue) -> Value {
    match value {
        SettingValue::Count(count) => json!(count),
        SettingValue::Tenths(tenths) => parts(tenths, 10.0),
        SettingValue::Thousandths(thousandths) => parts(thousandths, 1_000.0),
        SettingValue::Length(length) => time(length),
        SettingValue::Word(word) => json!(word),
        SettingValue::Flag(flag) => json!(flag),
        SettingValue::Percentile { per_mille } if per_mille % 10 == 0 => {
            json!(format!("p{}", per_mille / 10))
        }
        SettingValue::Percentile { per_mille } => json!(format!("p{}.{}", per_mille / 10, per_mille % 10)),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "settings are far below 2^53 thousandths"
)]
fn parts(count: u64, of_one: f64) -> Value {
    number(count as f64 / of_one)
}
