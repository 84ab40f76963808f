//! One attempt from permit to head, with the one re-send that rule D5 allows.
//!
//! | met                                             | re-sent                           | told |
//! |--------------------------------------------------|-----------------------------------|------|
//! | a kept-alive connection died, nothing had left   | on a new connection               | no: it is the first send |
//! | a kept-alive connection died, no byte had come   | once, if [`Resend::StaleOnce`]    | yes  |
//! | 421 or 425                                       | once, on a new connection         | yes  |
//! | anything else                                    | never                             |      |
//!
//! Why "no byte had come" needs leave: the server may have acted and died before it answered (RFC 9110 9.2.2).

use http::StatusCode;
use seawall_core::facts::Broke;
use seawall_core::time::{Duration, Instant};

use super::answer::Answer;
use super::broken::Broken;
use super::conn::{Conn, Exchange};
use super::connect::connect;
use super::limits::{AttemptLimits, Late, within};
use super::outgoing::{Outgoing, Target};
use super::transport::Transport;

/// Whether a request may go out again, inside the attempt, when a kept-alive connection dies under it (rule D5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// Not unless nothing had left: for calls whose repeat may act twice.
    Never,
    /// Once: for `Idempotent`, `Keyed` and `Declared` calls.
    StaleOnce,
}

/// Where the attempt's last connection came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connected {
    /// None was had.
    No,
    /// It was opened for this attempt.
    Fresh,
    /// It was kept from an earlier attempt.
    Reused,
}

/// What an attempt met, and what it took.
#[derive(Debug)]
pub struct Attempted {
    /// The head and a body to be read, or where it broke.
    pub result: Result<Answer, Broken>,
    /// Whether the request went out twice (rule D5).
    pub resent: bool,
    /// Where the last connection came from.
    pub connected: Connected,
    /// From the start of the last send to its whole head, where one came.
    pub first_byte: Option<Duration>,
}

impl Transport {
    /// Sends `out` once and waits for the head of the answer.
    ///
    /// Any status is an [`Answer`]; redirects are not followed, and bodies are not decoded. Dropping the future, or
    /// later the answer, closes the connection at once. After a 408 or a break the connection is never used again,
    /// and after a 408 no other idle one to that place either, so that a retry meets a new one.
    pub async fn attempt(&self, out: &Outgoing, limits: &AttemptLimits, resend: Resend) -> Attempted {
        self.attempt_telling(out, limits, resend, || {}).await
    }

    /// As [`attempt`](Self::attempt), and calls `leaving` before any byte of the request can leave: an attempt that is
    /// dropped before that was never sent.
    pub async fn attempt_telling(
        &self,
        out: &Outgoing,
        limits: &AttemptLimits,
        resend: Resend,
        mut leaving: impl FnMut() + Send,
    ) -> Attempted {
        let mut told = Told {
            resent: false,
            connected: Connected::No,
            first_byte: None,
        };
        let result = self.send(out, limits, resend, &mut told, &mut leaving).await;
        Attempted {
            result,
            resent: told.resent,
            connected: told.connected,
            first_byte: told.first_byte,
        }
    }

    async fn send(
        &self,
        out: &Outgoing,
        limits: &AttemptLimits,
        resend: Resend,
        told: &mut Told,
        leaving: &mut (impl FnMut() + Send),
    ) -> Result<Answer, Broken> {
        let target = out.target()?;
        let clock = &*self.shared.clock;
        let total_by = limits
            .total
            .map_or(Instant::NEVER, |total| clock.now().after(total));
        let mut first_byte_by = None;
        let mut source = Source::KeptOrNew;
        loop {
            let by = first_byte_by.unwrap_or(total_by);
            let mut conn = self.connection(&target, limits, by, source, told).await?;
            let began = clock.now();
            let head_by = *first_byte_by.get_or_insert(total_by.min(began.after(limits.first_byte)));
            leaving();
            let sent = within(clock, head_by, conn.exchange(out.request(&target))).await;
            let again = match sent {
                Ok(Exchange::Head(response)) => {
                    told.first_byte = Some(clock.now().since(began));
                    let status = response.status();
                    if wants_another_connection(status) && !told.resent {
                        Again::Told
                    } else {
                        if status == StatusCode::REQUEST_TIMEOUT {
                            self.shared.pool.forget(&target.place);
                        }
                        return Answer::new(response, conn, &self.shared, limits.idle, total_by);
                    }
                }
                Ok(Exchange::NeverSent(error)) => Again::after_nothing_left(&error, &conn)?,
                Ok(Exchange::Broke(error)) => {
                    Again::after_break(Broken::from_exchange(&error, &conn), resend)?
                }
                Ok(Exchange::Silent) => Again::after_break(Broken::silent(&conn), resend)?,
                Err(Late) => return Err(late_head(&conn, limits, head_by, total_by)),
            };
            match again {
                Again::Told => told.resent = true,
                Again::Untold => {}
            }
            // Whatever ended one kept-alive connection may have ended them all, and a new one ends the doubt.
            source = Source::New;
        }
    }

    async fn connection(
        &self,
        target: &Target,
        limits: &AttemptLimits,
        by: Instant,
        source: Source,
        told: &mut Told,
    ) -> Result<Conn, Broken> {
        let now = self.shared.clock.now();
        let kept = match source {
            Source::KeptOrNew => self.shared.pool.take(&target.place, now),
            Source::New => None,
        };
        if let Some(conn) = kept {
            told.connected = Connected::Reused;
            return Ok(conn);
        }
        told.connected = Connected::No;
        let connect_by = by.min(now.after(limits.connect));
        let conn = connect(&self.shared, &target.place, connect_by, connect_by.since(now)).await?;
        told.connected = Connected::Fresh;
        Ok(conn)
    }
}

/// What an attempt tells beside its result.
struct Told {
    resent: bool,
    connected: Connected,
    first_byte: Option<Duration>,
}

/// Where a connection may come from.
#[derive(Clone, Copy)]
enum Source {
    KeptOrNew,
    New,
}

/// Leave to send again.
enum Again {
    /// The server may have seen the first send: told as `resent`.
    Told,
    /// It saw nothing of it.
    Untold,
}

impl Again {
    fn after_nothing_left(error: &hyper::Error, conn: &Conn) -> Result<Self, Broken> {
        if conn.reused() {
            Ok(Self::Untold)
        } else {
            Err(Broken::from_exchange(error, conn))
        }
    }

    // Once at most without counting: after it the connection is new, and a new one is never stale.
    fn after_break(broken: Broken, resend: Resend) -> Result<Self, Broken> {
        match resend {
            Resend::StaleOnce if broken.broke == Broke::ReusedClosed => Ok(Self::Told),
            Resend::StaleOnce | Resend::Never => Err(broken),
        }
    }
}

/// Whether the status asks for the same request on another connection (RFC 9110 15.5.20, RFC 8470 5.2).
fn wants_another_connection(status: StatusCode) -> bool {
    status == StatusCode::MISDIRECTED_REQUEST || status == StatusCode::TOO_EARLY
}

fn late_head(conn: &Conn, limits: &AttemptLimits, head_by: Instant, total_by: Instant) -> Broken {
    let limit = match limits.total {
        Some(total) if head_by == total_by => total,
        Some(_) | None => limits.first_byte,
    };
    let detail = format!(
        "{} sent no whole head within {}",
        conn.place(),
        limit.up_to_millis()
    );
    Broken::headless(Broke::Timeout, conn, detail)
}
