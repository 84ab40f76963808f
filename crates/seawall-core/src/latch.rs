//! Credentials that were denied twice in a row are not used for a while (rule H9).
//!
//! What can go wrong: a revoked key turns every call into a failed one and may lock the account; one stray 401 must
//! not stop everything. So two in a row latch, for one version of one credential, and a renewed one is tried at once.

use crate::policy::CREDENTIAL_LATCH;
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

/// Denials in a row that latch.
const DENIALS: u32 = 2;

/// Names a credential; the driver keeps the secret itself. 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialId(pub u32);

impl CredentialId {
    /// No credential: never latches.
    pub const NONE: Self = Self(0);
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Latches(Vec<Latch>);

#[derive(Clone, Copy, Debug, Default)]
struct Latch {
    version: u32,
    denials: u32,
    until: Instant,
}

impl Latches {
    /// How long `credential` is still not used; zero where it is.
    pub(crate) fn left(&self, now: Instant, (id, version): (CredentialId, u32)) -> Duration {
        match self.0.get(id.0 as usize) {
            Some(latch) if latch.version == version => latch.until.since(now),
            Some(_) | None => Duration::ZERO,
        }
    }

    /// The credential itself was denied. Says until when it is latched, where this denial latched it.
    pub(crate) fn denied(&mut self, now: Instant, (id, version): (CredentialId, u32)) -> Option<Instant> {
        if id == CredentialId::NONE {
            return None;
        }
        let latch = self.of_version((id, version));
        if latch.version > version {
            // A denial of a version that was replaced since says nothing of the new one.
            return None;
        }
        latch.denials = latch.denials.saturating_add(1);
        if latch.denials < DENIALS {
            return None;
        }
        latch.denials = 0;
        latch.until = now.after(CREDENTIAL_LATCH);
        Some(latch.until)
    }

    /// The credential has this version now: what was held against older ones holds no longer.
    pub(crate) fn renewed(&mut self, credential: (CredentialId, u32)) {
        if credential.0 != CredentialId::NONE {
            self.of_version(credential);
        }
    }

    /// The credential was accepted.
    pub(crate) fn accepted(&mut self, (id, version): (CredentialId, u32)) {
        if let Some(latch) = self.0.get_mut(id.0 as usize)
            && latch.version == version
        {
            latch.denials = 0;
        }
    }

    /// The latch of this version, or of a newer one where that is known already.
    fn of_version(&mut self, (id, version): (CredentialId, u32)) -> &mut Latch {
        let index = id.0 as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, Latch::default());
        }
        let latch = &mut self.0[index];
        if latch.version < version {
            *latch = Latch {
                version,
                ..Latch::default()
            };
        }
        latch
    }
}
