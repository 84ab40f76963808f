//! The mock's own time, told and turned.

use super::{ms, not_turned, null_or};
use crate::error::{nearest, shown};
use crate::net::Shared;
use crate::net::dialect::{Answer, refusal};
use crate::passage::{Passage, TimeScale};
use seawall_core::time::Duration;
use serde_json::{Map, Value, json};

/// What can be told to a clock.
const KEYS: [&str; 4] = ["advance", "step", "scale", "manual"];
/// What a right body looks like.
const RIGHT: &str =
    "{\"advance\":\"5s\"}, {\"step\":true}, {\"scale\":10}, {\"manual\":true} or {\"manual\":false}";

/// How the clock stands.
pub(super) fn tell(shared: &Shared) -> Answer {
    let state = shared.pace.dial().state();
    let manual = match state.passage {
        Passage::Stands => true,
        Passage::Runs(_) => false,
    };
    Answer::json(
        200,
        &json!({
            "now_ms": ms(state.now.as_nanos()),
            "unix_ms": shared.pace.wall().unix_ms,
            "scale": number(state.scale),
            "manual": manual,
            "waiting": state.waiting,
            "next_ms": null_or(state.next.map(|next| ms(next.as_nanos()))),
        }),
    )
}

/// Turns it, and says how it stands then.
pub(super) async fn turn(shared: &Shared, body: &str) -> Result<Answer, Answer> {
    match read(body)? {
        Told::Advance(length) => shared.advance(length).await.map_err(not_turned)?,
        Told::Step => {
            shared.step().await.map_err(not_turned)?;
        }
        Told::Pass(passage) => shared.pace.dial().pass(passage),
        Told::RunAgain => {
            let scale = shared.pace.dial().state().scale;
            shared.pace.dial().pass(Passage::Runs(scale));
        }
    }
    Ok(tell(shared))
}

enum Told {
    Advance(Duration),
    Step,
    Pass(Passage),
    RunAgain,
}

fn read(body: &str) -> Result<Told, Answer> {
    let wrong = |what: &str| refusal(400, &format!("{what}; expected {RIGHT}"));
    let told: Map<String, Value> = match serde_json::from_str(body) {
        Ok(told) => told,
        Err(error) => return Err(wrong(&format!("the body is no JSON object: {error}"))),
    };
    if let Some(key) = told.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let meant = match nearest(key, &KEYS) {
            Some(word) => format!(" (did you mean `{word}`?)"),
            None => String::new(),
        };
        return Err(wrong(&format!("a clock has no key `{}`{meant}", shown(key))));
    }
    let mut told = told.iter();
    let (Some((key, value)), None) = (told.next(), told.next()) else {
        return Err(wrong("a clock is told one thing at a time"));
    };
    match (key.as_str(), value) {
        ("advance", Value::String(text)) => match Duration::parse_units(text) {
            Some(length) => Ok(Told::Advance(length)),
            None => Err(wrong(&format!("`{}` is no length of time", shown(text)))),
        },
        ("step", Value::Bool(true)) => Ok(Told::Step),
        ("scale", Value::Number(number)) => match number.to_string().parse::<TimeScale>() {
            Ok(scale) => Ok(Told::Pass(Passage::Runs(scale))),
            Err(error) => Err(wrong(&format!("{number} is no scale: {error}"))),
        },
        ("manual", Value::Bool(true)) => Ok(Told::Pass(Passage::Stands)),
        ("manual", Value::Bool(false)) => Ok(Told::RunAgain),
        (key, value) => Err(wrong(&format!("{key} cannot be {}", shown(&value.to_string())))),
    }
}

/// A whole number where it is one: 10, not 10.0.
fn number(scale: TimeScale) -> Value {
    match scale.per_mille() {
        whole if whole.is_multiple_of(1_000) => json!(whole / 1_000),
        per_mille => json!(f64::from(per_mille) / 1_000.0),
    }
}
