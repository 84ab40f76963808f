//! One attempt from permit to head, with the one re-send that rule D5 allows.
//!
//! | met                                             | re-sent                           | told |
//! |--------------------------------------------------|-----------------------------------|------|
//! | a kept-alive connection died, nothing had left   | on a new connection               | no: it is the first send |
//! | a kept-alive connection died, no byte had come   | once, if [`Resend::StaleOnce`]    | yes  |
//! | a shared connection said goodbye (GOAWAY without an error), our stream above its last | once, on a newer connection | yes |
//! | 421 or 425                                       | once, on a new connection         | yes  |
//! | anything else                                    | never                             |      |
//!
//! Why "no byte had come" needs leave: the server may have acted and died before it answered (RFC 9110 9.2.2). Above a
//! GOAWAY's last stream it says itself that it did not (RFC 9113 6.8), so that needs none. A stream that was refused
//! was not looked at either, but by a server that has too much to do: the engine waits before it asks again.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use http::StatusCode;
use seawall_core::facts::Broke;
use seawall_core::outcome::Sent;
use seawall_core::time::{Duration, Instant};

use super::answer::Answer;
use super::broken::Broken;
use super::connect::{Opened, connect};
use super::limits::{AttemptLimits, Late, within};
use super::line::{Line, Met, Source};
use super::outgoing::{Outgoing, Place};
use super::pool::Taken;
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
    /// It was kept from an earlier attempt, or is shared with another.
    Reused,
}

/// What an attempt met, and what it took.
#[derive(Debug)]
pub struct Attempted {
    /// The head and a body to be read, or where it broke.
    pub result: Result<Answer, Broken>,
    /// Whether the request went out twice (rule D5).
    pub resent: bool,
    /// What a send before the last may have done: [`Sent::Maybe`] where a kept-alive connection closed under it, which
    /// proves nothing; [`Sent::No`] where there was none, or the server turned it away.
    pub earlier: Sent,
    /// Where the last connection came from.
    pub connected: Connected,
    /// From the start of the last send to its whole head, where one came.
    pub first_byte: Option<Duration>,
}

impl Transport {
    /// Sends `out` once and waits for the head of the answer.
    ///
    /// Any status is an [`Answer`]; redirects are not followed, and bodies are not decoded. Dropping the future, or
    /// later the answer, closes the connection at once, or over HTTP/2 resets its stream. After a 408 or a break the
    /// connection is never used again, and after a 408 no other idle one to that place either, so that a retry meets a
    /// new one. A shared connection goes on after the break of a stream, unless it was silent all the while.
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
            earlier: Sent::No,
            moved: false,
            connected: Connected::No,
            first_byte: None,
        };
        let result = self.send(out, limits, resend, &mut told, &mut leaving).await;
        Attempted {
            result,
            resent: told.resent,
            earlier: told.earlier,
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
            let mut line = self.line(&target.place, limits, by, source, told).await?;
            let began = clock.now();
            let head_by = *first_byte_by.get_or_insert(total_by.min(began.after(limits.first_byte)));
            leaving();
            let again = match within(clock, head_by, line.exchange(out, &target)).await {
                Ok(Met::Head(head)) => {
                    told.first_byte = Some(clock.now().since(began));
                    if wants_another_connection(head.status) && told.sends_left() {
                        Again::Told(Sent::No)
                    } else {
                        if head.status == StatusCode::REQUEST_TIMEOUT {
                            self.shared.pool.forget(&target.place);
                        }
                        return Answer::new(head, line, &self.shared, limits.idle, total_by);
                    }
                }
                Ok(Met::NeverSent(broken)) => Again::after_nothing_left(broken, &line, told)?,
                Ok(Met::TurnedAway(broken)) => Again::after_turned_away(broken, &line, told)?,
                Ok(Met::Broke(broken)) => Again::after_break(broken, resend, told)?,
                Err(Late) => return Err(late_head(&line, limits, head_by, total_by)),
            };
            match again {
                Again::Told(earlier) => (told.resent, told.earlier) = (true, earlier),
                Again::Untold => told.moved = true,
            }
            // Whatever ended one kept-alive connection may have ended them all, and a new one ends the doubt.
            source = line.elsewhere();
        }
    }

    /// A line to `place`: one that is there, one that somebody else is opening, or a new one.
    async fn line(
        &self,
        place: &Arc<Place>,
        limits: &AttemptLimits,
        by: Instant,
        source: Source,
        told: &mut Told,
    ) -> Result<Line, Broken> {
        let shared = &*self.shared;
        let began = shared.clock.now();
        let connect_by = by.min(began.after(limits.connect));
        told.connected = Connected::No;
        if shared.pool.is_due(began) {
            // A runtime that slept, as it does for callers who block on one call at a time, has not heard of closes.
            // Its turn comes before a kept connection is trusted.
            a_turn().await;
        }
        loop {
            match shared.pool.take(place, source, &shared.clock) {
                Taken::Line(line) => {
                    told.connected = Connected::Reused;
                    return Ok(line);
                }
                Taken::Wait(dial) => match within(&*shared.clock, connect_by, dial.over()).await {
                    Ok(over) => over?,
                    Err(Late) => return Err(late_dial(place, connect_by.since(began))),
                },
                Taken::Dial(dialing) => {
                    let opened = connect(shared, place, connect_by, connect_by.since(began)).await;
                    let line = match opened {
                        Ok(Opened::One(conn)) => {
                            dialing.keeps(shared.clock.now());
                            Line::One(conn)
                        }
                        Ok(Opened::Two(link)) => Line::Two(Box::new(dialing.shares(link, &shared.clock))),
                        Err(broken) => {
                            dialing.broke(&broken);
                            return Err(broken);
                        }
                    };
                    told.connected = Connected::Fresh;
                    return Ok(line);
                }
            }
        }
    }
}

/// What an attempt tells beside its result.
struct Told {
    resent: bool,
    earlier: Sent,
    /// Whether a send that never left was made again elsewhere.
    moved: bool,
    connected: Connected,
    first_byte: Option<Duration>,
}

impl Told {
    /// Whether the one re-send is still to be had.
    fn sends_left(&self) -> bool {
        !self.resent
    }
}

/// Leave to send again.
enum Again {
    /// The server may have seen the first send, and may have done this: told as `resent`.
    Told(Sent),
    /// It saw nothing of it.
    Untold,
}

impl Again {
    // Once: a server that closes each connection before anything leaves would keep the attempt going for ever.
    fn after_nothing_left(broken: Broken, line: &Line, told: &Told) -> Result<Self, Broken> {
        if line.reused() && !told.moved {
            Ok(Self::Untold)
        } else {
            Err(broken)
        }
    }

    // Whatever a repeat may do: the server's word is that there is nothing to repeat. On a new connection it has no
    // reason to say goodbye, and the engine waits before it asks again.
    fn after_turned_away(broken: Broken, line: &Line, told: &Told) -> Result<Self, Broken> {
        if line.reused() && told.sends_left() {
            Ok(Self::Told(Sent::No))
        } else {
            Err(broken)
        }
    }

    fn after_break(broken: Broken, resend: Resend, told: &Told) -> Result<Self, Broken> {
        match resend {
            Resend::StaleOnce if broken.broke == Broke::ReusedClosed && told.sends_left() => {
                Ok(Self::Told(Sent::Maybe))
            }
            Resend::StaleOnce | Resend::Never => Err(broken),
        }
    }
}

/// Lets whoever runs this task look at its sockets. Not tokio's own `yield_now`: in a call that blocks inside a task that
/// waits for the runtime whose very thread is blocked.
async fn a_turn() {
    let mut given = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut given, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Whether the status asks for the same request on another connection (RFC 9110 15.5.20, RFC 8470 5.2).
fn wants_another_connection(status: StatusCode) -> bool {
    status == StatusCode::MISDIRECTED_REQUEST || status == StatusCode::TOO_EARLY
}

fn late_head(line: &Line, limits: &AttemptLimits, head_by: Instant, total_by: Instant) -> Broken {
    line.was_late();
    let limit = match limits.total {
        Some(total) if head_by == total_by => total,
        Some(_) | None => limits.first_byte,
    };
    let detail = format!(
        "{} sent no whole head within {}",
        line.place(),
        limit.up_to_millis()
    );
    Broken::headless(Broke::Timeout, line.sent_bytes(), detail)
}

fn late_dial(place: &Place, limit: Duration) -> Broken {
    let detail = format!(
        "the connection to {place} that another attempt was opening took longer than {}",
        limit.up_to_millis()
    );
    Broken::unsent(Broke::ConnectTimeout, detail)
}
