//! TLS: one place that picks the cryptography and the trust.

use std::io;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use seawall_core::facts::Broke;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::outgoing::{Place, RequestError};
use super::transport::TransportError;
use super::versions::Versions;

/// The one choice of cryptography: ring, as fast here as aws-lc and half the build.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// The client's side of TLS, once for each offer that ALPN can make. They share trust and sessions.
pub(super) struct Offers {
    negotiated: Arc<ClientConfig>,
    http1: Arc<ClientConfig>,
    http2: Arc<ClientConfig>,
}

impl Offers {
    /// Trusts the public roots and `extra_cas`, each PEM (any number of certificates) or DER (one).
    pub(super) fn new(extra_cas: &[Vec<u8>]) -> Result<Self, TransportError> {
        let config = client_config(extra_cas)?;
        let offering = |protocols: &[&[u8]]| {
            let mut config = config.clone();
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            Arc::new(config)
        };
        Ok(Self {
            negotiated: offering(&[HTTP2, HTTP1]),
            http1: offering(&[HTTP1]),
            http2: offering(&[HTTP2]),
        })
    }

    pub(super) fn of(&self, versions: Versions) -> &Arc<ClientConfig> {
        match versions {
            Versions::Negotiated => &self.negotiated,
            Versions::Http1Only => &self.http1,
            Versions::Http2PriorKnowledge => &self.http2,
        }
    }
}

/// Whether the server picked HTTP/2.
pub(super) fn picked_http2(stream: &TlsStream<TcpStream>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(HTTP2)
}

fn client_config(extra_cas: &[Vec<u8>]) -> Result<ClientConfig, TransportError> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for (nth, bytes) in extra_cas.iter().enumerate() {
        let bad = |why: String| TransportError::Ca { nth: nth + 1, why };
        for certificate in certificates(bytes).map_err(&bad)? {
            roots.add(certificate).map_err(|error| bad(error.to_string()))?;
        }
    }
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| TransportError::Tls {
            why: error.to_string(),
        })?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// The name that the server's certificate must be for.
pub(super) fn server_name(place: &Place) -> Result<ServerName<'static>, RequestError> {
    ServerName::try_from(place.host.clone()).map_err(|_| RequestError::HostName {
        host: place.host.clone(),
    })
}

/// Where a failed handshake broke: a certificate that is not valid will not be valid on the next try.
pub(super) fn broke(error: &io::Error) -> Broke {
    let tls = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Broke::BadCertificate
        }
        Some(_) | None => Broke::Tls,
    }
}

fn certificates(bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let is_pem = bytes.windows(10).any(|window| window == b"-----BEGIN");
    if !is_pem {
        return Ok(vec![CertificateDer::from(bytes.to_vec())]);
    }
    let found: Vec<_> = CertificateDer::pem_slice_iter(bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    if found.is_empty() {
        return Err("it holds no certificate".to_owned());
    }
    Ok(found)
}
