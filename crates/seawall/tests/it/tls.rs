//! TLS: trust, and breaks inside the handshake.

use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use seawall::http::{Connected, Resend, Transport, TransportError};
use seawall_core::facts::Broke;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::server::{Server, answer};
use crate::{LIMITS, post, soon, transport};

/// A server for this name, and its certificate in PEM.
pub(crate) async fn server(name: &str) -> (Server, String) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    (
        Server::start_tls(acceptor, |_| answer(200, "ok")).await,
        cert.pem(),
    )
}

fn url(server: &Server) -> String {
    format!("https://{}/", server.address)
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted() {
    // Breaks when extra authorities replace the rest or are not read.
    let (server, pem) = server("127.0.0.1").await;
    let transport = Transport::builder().extra_ca(pem).build().unwrap();
    for expected in [Connected::Fresh, Connected::Reused] {
        let attempted = soon(transport.attempt(&post(&url(&server), "x"), &LIMITS, Resend::Never)).await;
        assert_eq!(attempted.connected, expected);
        assert_eq!(
            soon(attempted.result.unwrap().collect(2)).await.unwrap().body,
            "ok"
        );
    }
    drop(transport);
    soon(server.is_alone()).await;
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_the_callers_to_mend() {
    // Breaks when a bad certificate is told as a cut handshake: it would then be retried (rule D4).
    let (server, _) = server("127.0.0.1").await;
    let attempted = soon(transport().attempt(&post(&url(&server), "x"), &LIMITS, Resend::StaleOnce)).await;
    let broken = attempted.result.unwrap_err();
    assert_eq!(
        (broken.broke, broken.sent_bytes),
        (Broke::BadCertificate, 0),
        "{broken}"
    );
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_certificate_for_another_name_is_bad() {
    // Breaks when trust in the authority stands in for the name.
    let (server, pem) = server("elsewhere.example").await;
    let transport = Transport::builder().extra_ca(pem).build().unwrap();
    let attempted = soon(transport.attempt(&post(&url(&server), "x"), &LIMITS, Resend::StaleOnce)).await;
    assert_eq!(attempted.result.unwrap_err().broke, Broke::BadCertificate);
}

#[tokio::test]
async fn a_handshake_that_is_cut_was_not_sent() {
    // Breaks when a cut handshake is told as a close after sending.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let out = post(&format!("https://{}/", listener.local_addr().unwrap()), "x");
    let cut = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
    };
    let transport = transport();
    let (attempted, ()) =
        soon(async { tokio::join!(transport.attempt(&out, &LIMITS, Resend::StaleOnce), cut) }).await;
    let broken = attempted.result.unwrap_err();
    assert_eq!((broken.broke, broken.sent_bytes), (Broke::Tls, 0), "{broken}");
}

#[test]
fn an_authority_that_cannot_be_read_is_named() {
    // Breaks when junk is skipped: trust would then be missing without a word.
    let built = Transport::builder().extra_ca("junk").build();
    assert!(matches!(built, Err(TransportError::Ca { nth: 1, .. })));
    let no_certificate = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    assert!(Transport::builder().extra_ca(no_certificate).build().is_err());
}
