//! One stream: a request is read, decided, and played.

use super::play::{Played, Player};
use super::{Demand, Fate, Order, Parting};
use crate::net::exchange::{BODY_BYTES_MAX, BODY_KEPT_MAX, Exchange, Request};
use crate::net::score::{Performer, Score};
use crate::net::{Shared, control, dialect};
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use std::borrow::Cow;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// Which stream it is.
pub(super) struct Place {
    pub(super) shared: Arc<Shared>,
    pub(super) connection: u64,
    pub(super) on_connection: u64,
    pub(super) stream: u32,
}

/// Why there is no body.
enum Unread {
    ClientLeft,
    TooLarge,
}

impl Place {
    /// Whether it is the control plane's.
    pub(super) fn is_control(&self, request: &http::Request<RecvStream>) -> bool {
        control::is_control(request.uri().path())
    }

    /// Enters a stream that came too late, and looks no further at it.
    pub(super) fn refuse(
        self,
        request: &http::Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        fault: Cow<'static, str>,
    ) {
        if !self.is_control(request) {
            let request = read_head(request);
            let mut exchange = Exchange::begin(&self.shared, &request, self.connection, self.on_connection);
            exchange.met(fault);
        }
        respond.send_reset(Reason::REFUSED_STREAM);
    }
}

/// Serves one stream to its end; gives its number.
pub(super) async fn run(
    place: Place,
    incoming: http::Request<RecvStream>,
    respond: SendResponse<Bytes>,
    fate: watch::Receiver<Fate>,
    demands: mpsc::UnboundedSender<Demand>,
) -> u32 {
    let stream = place.stream;
    let request = read_head(&incoming);
    let mut body = incoming.into_body();
    let mut player = Player::new(&place.shared.pace, respond);
    if control::is_control(request.path()) {
        let served = serve_control(&place.shared, &request, &mut body, &mut player);
        tokio::select! {
            () = served => {}
            _fell = fallen(fate, stream) => {}
        }
        return stream;
    }
    let mut exchange = Exchange::begin(&place.shared, &request, place.connection, place.on_connection);
    let playing = serve(&request, &mut body, &mut player, &mut exchange);
    let played = tokio::select! {
        played = playing => played,
        fell = fallen(fate, stream) => match fell {
            None => Played::ClientLeft,
            Some(fault) => {
                exchange.met(fault);
                Played::Whole
            }
        },
    };
    match played {
        Played::Whole => drop(exchange),
        Played::ClientLeft => exchange.left(),
        Played::Reset(code) => {
            // The library throws away what it holds of a stream that is reset.
            let parting = match exchange.has_sent() {
                true => ask(&demands, stream, Order::Flush, &exchange).await,
                false => Parting::Done,
            };
            player.reset(code);
            end(exchange, parting);
        }
        Played::Falls(order) => {
            let parting = ask(&demands, stream, order, &exchange).await;
            end(exchange, parting);
        }
    }
    stream
}

async fn serve(
    request: &Request,
    body: &mut RecvStream,
    player: &mut Player<'_>,
    exchange: &mut Exchange<'_>,
) -> Played {
    let score = match read_body(body, |bytes| exchange.read(bytes)).await {
        Ok(body) => exchange.decide(request, &body, Performer::Http2),
        Err(Unread::ClientLeft) => return Played::ClientLeft,
        Err(Unread::TooLarge) => Score::whole(dialect::refusal(413, "the body is too large")),
    };
    player.play(score, &request.method, exchange).await
}

/// Asks the connection's task. One that is gone has had a reason, which the journal has.
async fn ask(
    demands: &mpsc::UnboundedSender<Demand>,
    stream: u32,
    order: Order,
    exchange: &Exchange<'_>,
) -> Parting {
    let (told, answer) = oneshot::channel();
    let demand = Demand {
        stream,
        order,
        fault: exchange.fault_name().unwrap_or(Cow::Borrowed("close")),
        told,
    };
    match demands.send(demand) {
        Ok(()) => answer.await.unwrap_or(Parting::Done),
        Err(_) => Parting::Done,
    }
}

fn end(exchange: Exchange<'_>, parting: Parting) {
    match parting {
        Parting::Done => drop(exchange),
        Parting::ClientLeft => exchange.left(),
    }
}

/// Waits until the stream falls with its connection: to a fault, or because the client left.
async fn fallen(mut fate: watch::Receiver<Fate>, stream: u32) -> Option<Cow<'static, str>> {
    let fell = fate
        .wait_for(|fate| match fate {
            Fate::Served => false,
            Fate::ClientLeft => true,
            Fate::Fell { above, .. } => stream > *above,
        })
        .await;
    match fell.as_deref() {
        Ok(Fate::Fell { fault, .. }) => Some(fault.clone()),
        Ok(Fate::ClientLeft | Fate::Served) | Err(_) => None,
    }
}

async fn serve_control(shared: &Shared, request: &Request, body: &mut RecvStream, player: &mut Player<'_>) {
    if let Ok(body) = read_body(body, |_| ()).await {
        let answer = control::answer(shared, request, &body).await;
        player.answer(&answer, &request.method).await;
    }
}

/// The request's head. What it takes on the wire nobody knows before compression: its names and values are counted.
fn read_head(incoming: &http::Request<RecvStream>) -> Request {
    let uri = incoming.uri();
    let host = uri.authority().map(|authority| authority.as_str().as_bytes());
    let host = host.filter(|_| !incoming.headers().contains_key("host"));
    let headers: Vec<(String, Vec<u8>)> = incoming
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .chain(host.map(|host| ("host".to_owned(), host.to_vec())))
        .collect();
    let target = uri
        .path_and_query()
        .map_or("/", |target| target.as_str())
        .to_owned();
    let method = incoming.method().as_str().to_owned();
    let counted: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    Request {
        bytes: (counted + method.len() + target.len()) as u64,
        method,
        target,
        headers,
    }
}

/// Reads the body to its end; keeps as much of it as anybody looks at.
async fn read_body(body: &mut RecvStream, mut counted: impl FnMut(u64)) -> Result<Vec<u8>, Unread> {
    let (mut kept, mut length) = (Vec::new(), 0_u64);
    while let Some(piece) = body.data().await {
        let piece = piece.map_err(|_| Unread::ClientLeft)?;
        counted(piece.len() as u64);
        length += piece.len() as u64;
        if length > BODY_BYTES_MAX {
            return Err(Unread::TooLarge);
        }
        let room = BODY_KEPT_MAX - kept.len();
        kept.extend_from_slice(&piece[..piece.len().min(room)]);
        // Only a stream that is gone refuses it.
        body.flow_control()
            .release_capacity(piece.len())
            .map_err(|_| Unread::ClientLeft)?;
    }
    Ok(kept)
}
