//! Ours as a tower layer, called as tower's own layers are.

use crate::ours::policy;
use crate::peers::layered::once;
use crate::peers::{Fault, answer, ready_now};
use seawall::Gate;
use seawall::tower::SeawallLayer;
use tower::{Layer as _, service_fn};

/// A call that is answered: budget, breaker, limit and deadline behind one gate.
pub fn success() -> impl FnMut() {
    let gate = Gate::new(&policy());
    let layer = SeawallLayer::new(&gate).when(|_: &Fault| true);
    let mut service = layer.layer(service_fn(|()| answer()));
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}
