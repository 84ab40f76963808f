//! What a client that knows frames and nothing else sees of an action over HTTP/2, in one line.

use super::super::http2::{DATA, Frame, GOAWAY, HEADERS, RST_STREAM, Raw};
use super::super::*;
use seawall::crank::CrankedClock;

const PING: u8 = 6;
/// The codes of RFC 9113, 7, by their numbers.
const CODES: [&str; 14] = [
    "no-error",
    "protocol-error",
    "internal-error",
    "flow-control-error",
    "settings-timeout",
    "stream-closed",
    "frame-size-error",
    "refused-stream",
    "cancel",
    "compression-error",
    "connect-error",
    "enhance-your-calm",
    "inadequate-security",
    "http-1.1-required",
];

/// What came, in order, and what became of stream and connection.
pub(super) async fn frames(script: &str) -> String {
    let clock = CrankedClock::new();
    let mock = Mock::builder()
        .route("GET /after = 200")
        .route(format!("* /* = {script}"))
        .clock(Arc::new(clock.clone()));
    let mock = mock.start().await.unwrap();
    let mut raw = Raw::open(&mock, &[]).await;
    raw.get(1, "/report").await;
    tokio::time::timeout(PATIENCE, watch(&mut raw, &mock, &clock))
        .await
        .unwrap_or_else(|_| panic!("`{script}` comes to no end: {:?}", mock.journal()))
}

async fn watch(raw: &mut Raw, mock: &Mock, clock: &CrankedClock) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut body_bytes = 0;
    let (mut pings, mut acks) = (0, 0);
    loop {
        let next = tokio::select! {
            biased;
            next = raw.next() => next,
            () = silent(mock, clock), if pings == acks => {
                // What was sent before the mock fell silent may be on its way: the second answer comes behind it.
                pings += 1;
                raw.send(&Frame::new(PING, 0, 0, &[0; 8])).await;
                continue;
            }
        };
        if !next
            .as_ref()
            .is_ok_and(|frame| [DATA, PING].contains(&frame.kind))
        {
            said.extend((body_bytes > 0).then(|| format!("{body_bytes} bytes of DATA")));
            body_bytes = 0;
        }
        let end = match next {
            Ok(frame) => match frame.kind {
                HEADERS => {
                    said.push("HEADERS".to_owned());
                    frame.ends().then(|| "END_STREAM".to_owned())
                }
                DATA => {
                    body_bytes += frame.payload.len();
                    frame.ends().then(|| match std::mem::take(&mut body_bytes) {
                        0 => "END_STREAM".to_owned(),
                        bytes => format!("{bytes} bytes of DATA, END_STREAM"),
                    })
                }
                RST_STREAM => Some(format!("RST_STREAM {}", code(frame.number(0)))),
                GOAWAY => {
                    let (last, code) = (frame.number(0), code(frame.number(4)));
                    said.push(format!("GOAWAY {code}, last stream {last}"));
                    None
                }
                PING => {
                    acks += 1;
                    if acks == 2 {
                        said.extend((body_bytes > 0).then(|| format!("{body_bytes} bytes of DATA")));
                        said.push("silence".to_owned());
                        return said.join("; ");
                    }
                    None
                }
                other => panic!("a frame of kind {other}"),
            },
            Err((end, rest)) => {
                said.extend((!rest.is_empty()).then(|| format!("{} bytes that are no frame", rest.len())));
                said.push(match end {
                    End::Fin => "FIN of the connection".to_owned(),
                    End::Rst => "RST of the connection".to_owned(),
                });
                return said.join("; ");
            }
        };
        if let Some(end) = end {
            said.push(end);
            raw.get(3, "/after").await;
            raw.answer(3).await;
            return said.join("; ") + "; the connection goes on";
        }
    }
}

/// Turns the clock as long as the mock waits for it; ends where it waits for nothing but the client.
async fn silent(mock: &Mock, clock: &CrankedClock) {
    while mock.kept_waiting() == 0 || clock.step().is_some() {
        tokio::task::yield_now().await;
    }
}

fn code(number: u32) -> &'static str {
    let known = usize::try_from(number).ok().and_then(|place| CODES.get(place));
    known.copied().unwrap_or("a code that is none")
}
