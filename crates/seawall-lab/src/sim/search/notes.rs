//! What to know beside the figures of a search.

use super::Task;
use crate::sim::model::{Capacity, Server};

/// Of a search that met so many points whose settings contradict each other.
pub(super) fn of(task: &Task, contradictions: u64) -> Vec<String> {
    let model = &task.study.model;
    let mut notes = task.notes.clone();
    if contradictions > 0 {
        notes.push(format!(
            "{contradictions} policies were drawn whose settings contradict each other, and left out"
        ));
    }
    let named = |own: bool| {
        let layers = model.layers.iter().filter(|layer| layer.policy.is_some() == own);
        let names: Vec<&str> = layers.map(|layer| layer.name.as_str()).collect();
        names.join(", ")
    };
    let (own, worn) = (named(true), named(false));
    if !worn.is_empty() {
        notes.push(format!(
            "the clients have the policy that is searched, and so have the layers without one of their own: {worn}"
        ));
    }
    if !own.is_empty() {
        notes.push(format!(
            "the clients have the policy that is searched; these layers keep their own: {own}"
        ));
    }
    if model.servers.iter().all(bears_all) {
        notes.push(
            "no server here is any slower under load, so that nothing but the load itself speaks against retries: give it \
             a capacity to see what they do to it"
                .to_owned(),
        );
    }
    notes
}

fn bears_all(server: &Server) -> bool {
    matches!(server.capacity, Capacity::Unbounded) && server.limit.is_none()
}
