//! From a place to an open connection: name, address, TLS, and the HTTP that it picks.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use seawall_core::facts::Broke;
use seawall_core::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::broken::{Broken, chain};
use super::conn::Conn;
use super::http2::Link;
use super::limits::{Late, within};
use super::outgoing::{Place, Protocol};
use super::socket::{Socket, Stream};
use super::tls;
use super::transport::Shared;
use super::versions::Versions;
use crate::clock::Clock;

/// A connection that is open.
pub(super) enum Opened {
    One(Box<Conn>),
    Two(Link),
}

/// Opens a connection to `place` by `by`. `limit` is the length that `by` came from, for the message.
pub(super) async fn connect(
    shared: &Shared,
    place: &Arc<Place>,
    by: Instant,
    limit: Duration,
) -> Result<Opened, Broken> {
    let clock = &*shared.clock;
    let name = match place.protocol {
        Protocol::Plain => None,
        Protocol::Tls => Some(tls::server_name(place)?),
    };
    let late = |what: &str| {
        let detail = format!("{what} {place} took longer than {}", limit.up_to_millis());
        Broken::unsent(Broke::ConnectTimeout, detail)
    };
    let addresses = match shared.addresses.get(&place.host) {
        Some(address) => vec![*address],
        None => match within(clock, by, resolve(place)).await {
            Ok(found) => found?,
            Err(Late) => return Err(late("finding the address of")),
        },
    };
    let tcp = open(clock, place, &addresses, by, &late).await?;
    // Nagle's wait for more bytes costs a round trip on every small request.
    tcp.set_nodelay(true).map_err(|error| {
        Broken::unsent(
            Broke::Refused,
            format!("the connection to {place} failed: {error}"),
        )
    })?;
    let caller = tcp.local_addr().ok();
    let (stream, picked_http2) = match name {
        None => (Stream::Plain(tcp), false),
        Some(name) => {
            let connector = TlsConnector::from(Arc::clone(shared.tls.of(place.versions)));
            match within(clock, by, connector.connect(name, tcp)).await {
                Ok(Ok(stream)) => {
                    let picked_http2 = tls::picked_http2(&stream);
                    (Stream::Tls(Box::new(stream)), picked_http2)
                }
                Ok(Err(error)) => {
                    let detail = format!("the TLS handshake with {place} failed: {}", chain(&error));
                    return Err(Broken::unsent(tls::broke(&error), detail));
                }
                Err(Late) => return Err(late("the TLS handshake with")),
            }
        }
    };
    let end = shared.wires.as_ref().zip(caller);
    let socket = Socket::new(stream).told_to(end.map(|(wires, caller)| wires.caller(caller)));
    let place = Arc::clone(place);
    if picked_http2 || place.versions == Versions::Http2PriorKnowledge {
        return match within(clock, by, Link::open(socket, place, &shared.http2, &shared.clock)).await {
            Ok(opened) => opened.map(Opened::Two),
            Err(Late) => Err(late("the HTTP/2 settings of")),
        };
    }
    let conn = Conn::new(socket, Arc::clone(&place), &shared.http1).await;
    conn.map(|conn| Opened::One(Box::new(conn)))
        .map_err(|error| Broken::unsent(Broke::Closed, format!("{place}: {}", chain(&error))))
}

async fn resolve(place: &Place) -> Result<Vec<SocketAddr>, Broken> {
    if let Ok(address) = place.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, place.port)]);
    }
    let unknown = |why: &str| {
        let detail = format!("the name {} did not resolve: {why}", place.host);
        Broken::unsent(Broke::Dns, detail)
    };
    let found = tokio::net::lookup_host((place.host.as_str(), place.port))
        .await
        .map_err(|error| unknown(&error.to_string()))?;
    let addresses: Vec<_> = found.collect();
    if addresses.is_empty() {
        return Err(unknown("it has no address"));
    }
    Ok(addresses)
}

/// Tries the addresses in the resolver's order. Each gets an even share of the time left, so that one that drops
/// packets cannot use up the time of the next.
async fn open(
    clock: &dyn Clock,
    place: &Place,
    addresses: &[SocketAddr],
    by: Instant,
    late: &impl Fn(&str) -> Broken,
) -> Result<TcpStream, Broken> {
    let mut last = late("connecting to");
    let mut left = addresses.len() as u64;
    for address in addresses {
        let now = clock.now();
        if now >= by {
            return Err(late("connecting to"));
        }
        let share = now.after(by.since(now).over(left));
        left -= 1;
        last = match within(clock, share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => {
                let broke = match error.kind() {
                    std::io::ErrorKind::TimedOut => Broke::ConnectTimeout,
                    _ => Broke::Refused,
                };
                Broken::unsent(broke, format!("connecting to {place} failed: {error}"))
            }
            Err(Late) => late("connecting to"),
        };
    }
    Err(last)
}
