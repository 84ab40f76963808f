//! TLS for the mock: an authority of its own, made when it starts and thrown away with it.
//!
//! What can go wrong: a key that is written somewhere outlives the test and is trusted by somebody; one that is compiled
//! in is everybody's. So the authority lives in memory, its key is dropped once it has signed, and only its certificate
//! is ever given out. What is wrong with a wrong certificate must be one thing alone: all are signed by the same authority
//! for the same key, and differ in the name or in the dates. They last for a year, because some clients refuse more.

use super::socket::Socket;
use crate::listener::{HttpVersions, Version};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use seawall::clock::{Clock, TokioClock};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// The name that a `bad-cert` is for; nobody's (RFC 2606).
const ANOTHER_NAME: &str = "another.invalid";
/// Before now by this much a certificate begins: a client's clock may be behind.
const SLACK: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a certificate lasts.
const LASTING: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The protocols of ALPN.
const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// Which certificate a connection is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// For the mock's names, today.
    Right,
    /// For another name.
    Misnamed,
    /// For the mock's names, until a day that is past.
    Expired,
}

/// What the mock proves its name with.
pub(super) struct Identity {
    ca_pem: String,
    right: TlsAcceptor,
    misnamed: TlsAcceptor,
    expired: TlsAcceptor,
}

/// Why there is no identity: a name that no certificate can be for, or no randomness for a key.
pub(super) type IdentityError = Box<dyn std::error::Error + Send + Sync>;

impl Identity {
    /// Makes an authority and has it sign for this machine's names and for `host`, where the mock was told to listen.
    pub(super) fn new(host: &str, address: SocketAddr, http: HttpVersions) -> Result<Self, IdentityError> {
        let mut names = vec![
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "::1".to_owned(),
            address.ip().to_string(),
        ];
        names.push(host.trim_start_matches('[').trim_end_matches(']').to_owned());
        names.retain(|name| !name.is_empty());
        names.sort();
        names.dedup();

        // A client looks at its own date, whatever clock the mock's delays follow.
        let unix_ms = u64::try_from(TokioClock::new().wall().unix_ms).unwrap_or(0);
        let now = date_time_ymd(1970, 1, 1) + Duration::from_millis(unix_ms);
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "seawall mock, thrown away with it");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.not_before = now - SLACK;
        params.not_after = now + LASTING;
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

        let key = KeyPair::generate()?;
        let acceptor = |names: Vec<String>, shown: Shown| -> Result<TlsAcceptor, IdentityError> {
            let mut params = CertificateParams::new(names)?;
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, "seawall mock");
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            params.use_authority_key_identifier_extension = true;
            (params.not_before, params.not_after) = match shown {
                Shown::Right | Shown::Misnamed => (now - SLACK, now + LASTING),
                Shown::Expired => (now - SLACK - LASTING, now - SLACK),
            };
            let certificate = params.signed_by(&key, &issuer)?;
            let key = PrivateKeyDer::try_from(key.serialize_der())?;
            let config = server(certificate.der().clone(), key, http)?;
            Ok(TlsAcceptor::from(Arc::new(config)))
        };
        Ok(Self {
            right: acceptor(names.clone(), Shown::Right)?,
            misnamed: acceptor(vec![ANOTHER_NAME.to_owned()], Shown::Misnamed)?,
            expired: acceptor(names, Shown::Expired)?,
            ca_pem: issuer.pem(),
        })
    }

    /// The authority's certificate, which clients are to trust.
    pub(super) fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// Does the handshake. A failed one has told the client why, where TLS has a word for it.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
        shown: Shown,
    ) -> io::Result<(Socket, Option<Version>)> {
        let acceptor = match shown {
            Shown::Right => &self.right,
            Shown::Misnamed => &self.misnamed,
            Shown::Expired => &self.expired,
        };
        let stream = acceptor.accept(stream).await?;
        let version = match stream.get_ref().1.alpn_protocol() {
            Some(HTTP2) => Some(Version::Http2),
            Some(HTTP1) => Some(Version::Http1),
            Some(_) | None => None,
        };
        Ok((Socket::Tls(Box::new(stream)), version))
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

fn server(
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    http: HttpVersions,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    let offered: &[&[u8]] = match http {
        HttpVersions::Auto => &[HTTP2, HTTP1],
        HttpVersions::Http1 => &[HTTP1],
        HttpVersions::Http2 => &[HTTP2],
    };
    config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}
