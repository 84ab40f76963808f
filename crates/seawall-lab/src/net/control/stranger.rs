//! Who may not speak to the control plane: pages in a browser on the same machine.
//!
//! What can go wrong: any page can send a POST to `http://127.0.0.1:9000/__seawall/routes` without asking, and read the
//! answer, too, once its own name is made to point to loopback (DNS rebinding). Test programs send no `Origin`, and call a
//! mock by an address or by a name that only their own network gives out; pages cannot do without either. What this does
//! not keep out: other programs on the machine, which need no browser.

use crate::error::shown;
use crate::net::dialect::{Answer, refusal};
use crate::net::exchange::Request;
use std::net::IpAddr;

/// Ends of names that nobody can register: whoever is called so is called so by the reader's own network (RFC 6761,
/// and ICANN's reservation of `internal`).
const PRIVATE_ENDS: [&str; 3] = [".localhost", ".internal", ".test"];

/// Refuses what a page of another origin may have sent. `bound` is the name that the mock was told to listen at.
pub(super) fn refuse(bound: &str, request: &Request) -> Result<(), Answer> {
    let host = request.header("host").map(String::from_utf8_lossy);
    if let Some(host) = &host
        && !is_own(bound, host)
    {
        let message = format!(
            "the control plane is not called `{}`; use the address that the mock printed, or a name without a dot",
            shown(host)
        );
        return Err(refusal(403, &message));
    }
    let Some(origin) = request.header("origin").map(String::from_utf8_lossy) else {
        return Ok(());
    };
    let own = host.is_some_and(|host| {
        ["http://", "https://"].iter().any(|scheme| {
            origin.len() == scheme.len() + host.len()
                && origin.to_ascii_lowercase().starts_with(scheme)
                && origin[scheme.len()..].eq_ignore_ascii_case(&host)
        })
    });
    match own {
        true => Ok(()),
        false => {
            let message = format!(
                "the control plane takes nothing from pages of `{}`; call it from the test program, not from a page",
                shown(&origin)
            );
            Err(refusal(403, &message))
        }
    }
}

/// Whether this `Host` is an address, or a name that a stranger cannot have made point here.
fn is_own(bound: &str, host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.parse::<IpAddr>().is_ok()
        || !name.contains('.')
        || name == bound.to_ascii_lowercase()
        || PRIVATE_ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests;
