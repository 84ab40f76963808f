//! Which HTTP is spoken.

/// Which versions of HTTP an attempt may be sent in. Connections are kept apart by it.
///
/// ```
/// use seawall::http::{Outgoing, Versions};
/// let out = Outgoing::new(http::Method::GET, "http://127.0.0.1:8080/".parse().unwrap())
///     .with_versions(Versions::Http2PriorKnowledge);
/// assert_eq!(out.versions, Versions::Http2PriorKnowledge);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Versions {
    /// Under TLS whichever of HTTP/2 and HTTP/1.1 the server picks (ALPN), in clear text HTTP/1.1.
    #[default]
    Negotiated,
    /// HTTP/1.1, whatever else the server could speak.
    Http1Only,
    /// HTTP/2 without asking: in clear text from the first byte (h2c, RFC 9113 3.3), under TLS as the only offer. A
    /// server that does not speak it refuses before anything of the request has left.
    Http2PriorKnowledge,
}
