//! The JSON Schema of files of simulations.

use serde_json::Value;

/// The JSON Schema (2020-12) of the file of a simulation, for editors; what it cannot say (which keys of a server go
/// together, what a naive policy has nothing of) only [`Simulation::parse`](super::Simulation::parse) does.
pub fn schema() -> Value {
    let read = include_str!("schema.json");
    let mut schema: Value = serde_json::from_str(read).expect("a schema of ours is JSON");
    // A policy's keys are those of whoever reads all policies.
    let config = seawall::config::schema().to_string();
    let config: Value = serde_json::from_str(&config.replace("\"#/$defs/", "\"#/$defs/config-"))
        .expect("what was JSON is JSON");
    for (name, def) in config["$defs"].as_object().into_iter().flatten() {
        schema["$defs"][format!("config-{name}")] = def.clone();
    }
    let keys = config["$defs"]["policy"].clone();
    for (name, key) in keys["properties"].as_object().into_iter().flatten() {
        schema["$defs"]["entrant"]["properties"][name] = key.clone();
    }
    schema["$defs"]["keys"] = keys;
    // A layer has those of ours, too, that are not of clients alone.
    for key in super::read::SHARED_KEYS {
        schema["$defs"]["keys"]["properties"][key] = schema["$defs"]["entrant"]["properties"][key].clone();
    }
    schema
}
