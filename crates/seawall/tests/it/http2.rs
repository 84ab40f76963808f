//! HTTP/2 against real sockets: servers of the `h2` crate, and servers that write their own frames to break them.

mod broken;
mod calls;
mod headers;
mod hostile;
mod limits;
mod negotiated;
mod real;
mod resent;
mod shared;
mod wire;

use seawall::http::{Attempted, Broken, Outgoing, Resend, Transport, Versions, Whole};

use crate::{LIMITS, post, soon};

/// A POST with prior knowledge.
fn post2(url: &str, body: &'static str) -> Outgoing {
    post(url, body).with_versions(Versions::Http2PriorKnowledge)
}

async fn attempt(transport: &Transport, url: &str) -> Attempted {
    soon(transport.attempt(&post2(url, "ping"), &LIMITS, Resend::Never)).await
}

/// The whole answer of an attempt, or what it broke on.
async fn whole(attempted: Attempted) -> Result<Whole, Broken> {
    soon(attempted.result?.collect(1 << 20)).await
}
