//! TLS: one place that picks the cryptography and the trust.

use std::io;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use seawall_core::facts::Broke;

use super::outgoing::{Place, RequestError};
use super::transport::TransportError;

/// The one choice of cryptography: ring, as fast here as aws-lc and half the build.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The client's side of TLS: the public roots and `extra_cas`, each PEM (any number of certificates) or DER (one).
pub(super) fn client_config(extra_cas: &[Vec<u8>]) -> Result<ClientConfig, TransportError> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    for (nth, bytes) in extra_cas.iter().enumerate() {
        let bad = |why: String| TransportError::Ca { nth: nth + 1, why };
        for certificate in certificates(bytes).map_err(&bad)? {
            roots.add(certificate).map_err(|error| bad(error.to_string()))?;
        }
    }
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| TransportError::Tls {
            why: error.to_string(),
        })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
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
