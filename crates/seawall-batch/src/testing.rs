//! What the tests of several modules share.

use crate::caller::{Answer, Ended, Failure, Reach};
use bytes::Bytes;
use seawall::upstream::AttemptNote;
use seawall_core::outcome::Usage;
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A directory of its own that goes away with the test.
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new() -> Self {
        let name = format!(
            "seawall-batch-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn sent_first(outcome: &'static str) -> AttemptNote {
    AttemptNote {
        candidate: 0,
        sent_for: "first",
        outcome,
        status: None,
        resent: false,
        first_byte: None,
    }
}

/// A call that was answered at the first attempt with this body.
pub(crate) fn answered(body: &str) -> Ended {
    Ended {
        result: Ok(Answer {
            status: 200,
            request_id: Some("req-1".to_owned()),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }),
        attempts: vec![sent_first("answer")],
        waited: Vec::new(),
        usage: Usage {
            tokens_in: 7,
            tokens_out: 3,
        },
        cost_microusd: None,
        first_byte: Some(Duration::from_millis(20)),
        total: Duration::from_millis(25),
    }
}

/// A call that failed.
pub(crate) fn failed_with(
    reason: Reason,
    cause: Option<&'static str>,
    answer: Option<(u16, &[u8])>,
) -> Ended {
    let answer = answer.map(|(status, body)| Answer {
        status,
        request_id: None,
        body: Bytes::copy_from_slice(body),
    });
    Ended {
        result: Err(Failure {
            reason,
            cause,
            message: reason.to_string(),
            answer,
            unknown: None,
            reach: Reach::Row,
        }),
        attempts: vec![sent_first("failed")],
        waited: vec![("backing-off", Duration::from_millis(500))],
        usage: Usage::NONE,
        cost_microusd: None,
        first_byte: None,
        total: Duration::from_millis(900),
    }
}
