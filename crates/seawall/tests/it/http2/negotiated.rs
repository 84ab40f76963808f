//! Which HTTP is spoken.

use h2::server::Builder;
use seawall::http::{Resend, Transport, Versions};
use seawall_core::facts::Broke;

use super::real::{Exchange, Real, tls};
use super::whole;
use crate::{LIMITS, post, soon};

async fn pong(mut exchange: Exchange) {
    exchange.body().await;
    exchange.answer("h2");
}

/// What a server that offers these protocols answers, by the HTTP that was picked.
async fn spoken(protocols: &[&str], versions: Versions) -> Result<String, Broke> {
    let (acceptor, pem) = tls(protocols);
    let server = Real::start(Builder::new(), Some(acceptor), pong).await;
    let transport = Transport::builder().extra_ca(pem).build().unwrap();
    let out = post(&server.url("https"), "ping").with_versions(versions);
    let attempted = soon(transport.attempt(&out, &LIMITS, Resend::Never)).await;
    let answered = whole(attempted).await.map_err(|broken| broken.broke)?;
    Ok(String::from_utf8(answered.body.to_vec()).unwrap())
}

#[tokio::test]
async fn alpn_picks_http2_where_the_server_speaks_it() {
    // Breaks when h2 is not offered, or what was picked is not looked at.
    let negotiated = Versions::Negotiated;
    assert_eq!(spoken(&["h2", "http/1.1"], negotiated).await.unwrap(), "h2");
    assert_eq!(spoken(&["h2"], negotiated).await.unwrap(), "h2");
    assert_eq!(spoken(&["http/1.1", "h2"], negotiated).await.unwrap(), "http/1.1");
    assert_eq!(spoken(&["http/1.1"], negotiated).await.unwrap(), "http/1.1");
    // A server that knows no ALPN speaks what was spoken before it.
    assert_eq!(spoken(&[], negotiated).await.unwrap(), "http/1.1");
}

#[tokio::test]
async fn only_what_was_asked_for_is_spoken() {
    // Breaks when a wish for one version is offered along with the other.
    let (http1, http2) = (Versions::Http1Only, Versions::Http2PriorKnowledge);
    assert_eq!(spoken(&["h2", "http/1.1"], http1).await.unwrap(), "http/1.1");
    assert_eq!(spoken(&["http/1.1", "h2"], http2).await.unwrap(), "h2");
    assert_eq!(spoken(&["http/1.1"], http2).await, Err(Broke::Tls));
    // A server without ALPN is taken at its operator's word, and is then no HTTP/2 server after all.
    assert_eq!(spoken(&[], http2).await, Err(Broke::Refused));
}

#[tokio::test]
async fn clear_text_speaks_http1_unless_it_was_told() {
    // Breaks when prior knowledge is assumed, or connections of both kinds are mixed up.
    let server = Real::start(Builder::new(), None, pong).await;
    let transport = Transport::builder().build().unwrap();
    let out = post(&server.url("http"), "ping").with_versions(Versions::Http2PriorKnowledge);
    let attempted = soon(transport.attempt(&out, &LIMITS, Resend::Never)).await;
    assert_eq!(whole(attempted).await.unwrap().body, "h2");
    assert_eq!(transport.idle_connections(), 1);
    let out = out.with_versions(Versions::Negotiated);
    let attempted = soon(transport.attempt(&out, &LIMITS, Resend::Never)).await;
    assert!(whole(attempted).await.is_err());
    assert_eq!(server.counts().requests, 1);
}
