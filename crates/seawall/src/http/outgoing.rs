//! What one attempt sends, and the secrets in it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::{PathAndQuery, Scheme};
use http::{Method, Request, Uri};
use http_body_util::Full;
use seawall_core::profile::Provider;

use super::secrecy::is_secret;
use super::versions::Versions;

/// Headers about an HTTP/1.1 connection, which no HTTP/2 request may have (RFC 9113 8.2.2).
const HOP_HEADERS: [&str; 6] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "upgrade",
];

/// A header value that cannot be printed: a credential.
///
/// ```
/// let secret = seawall::http::Secret::bearer("sk-very-secret").unwrap();
/// assert_eq!(format!("{secret:?}"), "***");
/// ```
#[derive(Clone)]
pub struct Secret(HeaderValue);

/// What is shorter is not looked for in texts.
const SECRET_BYTES_MIN: usize = 8;

impl Secret {
    /// The whole value of a header.
    ///
    /// # Errors
    /// Bytes that no header can carry; the error does not repeat them.
    pub fn new(value: impl AsRef<[u8]>) -> Result<Self, RequestError> {
        let mut value = HeaderValue::from_bytes(value.as_ref()).map_err(|_| RequestError::SecretValue)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    /// `Bearer` and a token, for `Authorization`.
    ///
    /// # Errors
    /// As [`Secret::new`].
    pub fn bearer(token: &str) -> Result<Self, RequestError> {
        Self::new(format!("Bearer {token}"))
    }

    /// A token in the header that this provider asks for.
    ///
    /// # Errors
    /// As [`Secret::new`].
    pub fn for_provider(provider: Provider, token: &str) -> Result<(HeaderName, Self), RequestError> {
        let own = |header| Ok((HeaderName::from_static(header), Self::new(token)?));
        match provider {
            Provider::Anthropic => own("x-api-key"),
            Provider::Azure => own("api-key"),
            Provider::Gemini => own("x-goog-api-key"),
            Provider::OpenAi | Provider::Groq | Provider::Stripe | Provider::GitHub | Provider::Generic => {
                Ok((header::AUTHORIZATION, Self::bearer(token)?))
            }
        }
    }

    /// The value as a header, marked as sensitive: the one way in which a secret leaves.
    pub fn to_value(&self) -> HeaderValue {
        self.0.clone()
    }

    /// The text with this secret blotted out, wherever it stands in it: the whole value, or what follows its scheme.
    pub(crate) fn blotted(&self, text: String) -> String {
        let Ok(value) = std::str::from_utf8(self.0.as_bytes()) else {
            return text;
        };
        let bare = value.split_once(' ').map_or(value, |(_, token)| token.trim());
        // A short one would take words out of sentences, and is no key that anybody gives out.
        if bare.len() < SECRET_BYTES_MIN || !text.contains(bare) {
            return text;
        }
        text.replace(bare, "***")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A request as it leaves, once for each send: the body is one buffer, so a clone is cheap and every send carries
/// the same bytes.
///
/// `Host` comes from the address and `Content-Length` from the body; whatever the headers say about those two, or
/// about `Transfer-Encoding`, is not sent. Over HTTP/2 the headers about a connection (`Connection` and what it names,
/// `Keep-Alive`, `Upgrade`, `TE` but for `trailers`) are not sent either. All else is sent as it stands.
/// `Debug` prints neither credentials, nor query values, nor the body.
#[derive(Clone)]
pub struct Outgoing {
    /// The method; not CONNECT.
    pub method: Method,
    /// The absolute address, http or https.
    pub url: Uri,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, empty for none.
    pub body: Bytes,
    /// Which HTTP it may be sent in.
    pub versions: Versions,
    /// Sent in place of any header of that name: an upstream's own, which no call's headers are copied for.
    pub(crate) credential: Option<(HeaderName, HeaderValue)>,
}

impl Outgoing {
    /// A request without headers and body.
    pub fn new(method: Method, url: Uri) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            versions: Versions::default(),
            credential: None,
        }
    }

    /// Adds a header.
    ///
    /// # Errors
    /// A name or a value that no header can have. It names the header, never its value.
    pub fn with_header(mut self, name: &str, value: impl AsRef<[u8]>) -> Result<Self, RequestError> {
        let name = header_name(name)?;
        let value = HeaderValue::from_bytes(value.as_ref()).map_err(|_| RequestError::HeaderValue {
            name: name.as_str().to_owned(),
        })?;
        self.headers.append(name, value);
        Ok(self)
    }

    /// Sets a credential in place of any header of that name.
    ///
    /// # Errors
    /// A name that no header can have.
    pub fn with_secret(mut self, name: &str, secret: Secret) -> Result<Self, RequestError> {
        self.headers.insert(header_name(name)?, secret.0);
        Ok(self)
    }

    /// Sets the body.
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Says which HTTP it may be sent in, where that is not left to TLS to negotiate.
    pub fn with_versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// Where this goes; refuses whatever cannot be sent.
    pub(super) fn target(&self) -> Result<Target, RequestError> {
        if self.method == Method::CONNECT {
            return Err(RequestError::Method);
        }
        let scheme = match self.url.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => Protocol::Plain,
            Some(scheme) if *scheme == Scheme::HTTPS => Protocol::Tls,
            Some(other) => {
                return Err(RequestError::Scheme {
                    scheme: other.as_str().to_owned(),
                });
            }
            None => return Err(RequestError::NotAbsolute),
        };
        let authority = self.url.authority().ok_or(RequestError::NotAbsolute)?;
        // A name and password before the host would travel in clear text in `Host`, and into logs from there.
        if authority.as_str().contains('@') {
            return Err(RequestError::UserInfo);
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(RequestError::NotAbsolute);
        }
        // `Authority` reads a port that is out of range as none at all, which would send to the default one.
        let port = match authority.as_str().strip_prefix(host) {
            Some("" | ":") => scheme.default_port(),
            Some(_) | None => authority.port_u16().ok_or(RequestError::Port)?,
        };
        let shown = if port == scheme.default_port() {
            HeaderValue::from_str(host)
        } else {
            HeaderValue::from_str(&format!("{host}:{port}"))
        };
        Ok(Target {
            place: Arc::new(Place {
                protocol: scheme,
                versions: self.versions,
                host: host
                    .trim_start_matches('[')
                    .trim_end_matches(']')
                    .to_ascii_lowercase(),
                port,
            }),
            host_header: shown.map_err(|_| RequestError::NotAbsolute)?,
            path: self
                .url
                .path_and_query()
                .cloned()
                .unwrap_or(PathAndQuery::from_static("/")),
        })
    }

    /// The request in the form that travels over HTTP/1.1: origin-form, framed by us.
    pub(super) fn request(&self, target: &Target) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = Uri::from(target.path.clone());
        let mut headers = HeaderMap::with_capacity(self.headers.len() + 3);
        headers.insert(header::HOST, target.host_header.clone());
        self.copy_headers(&mut headers, |_| Travels::On);
        *request.headers_mut() = headers;
        request
    }

    /// The head in the form that travels over HTTP/2: an absolute address, from which scheme and authority are taken,
    /// and no header that is about an HTTP/1.1 connection (RFC 9113 8.2.2).
    pub(super) fn request_http2(&self, target: &Target) -> Result<Request<()>, RequestError> {
        let mut request = Request::new(());
        *request.version_mut() = http::Version::HTTP_2;
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = Uri::builder()
            .scheme(target.place.protocol.scheme())
            .authority(target.host_header.as_bytes())
            .path_and_query(target.path.clone())
            .build()
            .map_err(|_| RequestError::NotAbsolute)?;
        let named: Vec<&[u8]> = self
            .headers
            .get_all(header::CONNECTION)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .map(<[u8]>::trim_ascii)
            .collect();
        let mut headers = HeaderMap::with_capacity(self.headers.len() + 2);
        self.copy_headers(&mut headers, |name| {
            let is_named = named
                .iter()
                .any(|named| named.eq_ignore_ascii_case(name.as_str().as_bytes()));
            if is_named || HOP_HEADERS.contains(&name.as_str()) {
                Travels::NoFurther
            } else {
                Travels::On
            }
        });
        // The one word of TE that HTTP/2 has, and that gRPC servers ask for.
        let takes_trailers = self.headers.get_all(header::TE).iter().any(|value| {
            let mut words = value.as_bytes().split(|byte| *byte == b',');
            words.any(|word| word.trim_ascii().eq_ignore_ascii_case(b"trailers"))
        });
        if takes_trailers {
            headers.insert(header::TE, HeaderValue::from_static("trailers"));
        }
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// All headers but those that are ours to say, and the body's length.
    fn copy_headers(&self, headers: &mut HeaderMap, travels: impl Fn(&HeaderName) -> Travels) {
        for (name, value) in &self.headers {
            let ours = [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING].contains(name);
            match travels(name) {
                Travels::On if !ours => {
                    headers.append(name, value.clone());
                }
                Travels::On | Travels::NoFurther => {}
            }
        }
        if let Some((name, value)) = &self.credential {
            headers.insert(name.clone(), value.clone());
        }
        let takes_body = matches!(self.method, Method::POST | Method::PUT | Method::PATCH);
        if takes_body || !self.body.is_empty() {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        }
    }
}

/// Whether a header goes with the request.
enum Travels {
    On,
    NoFurther,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("method", &self.method)
            .field("url", &ShownUrl(&self.url))
            .field("headers", &ShownHeaders(&self.headers))
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// Plain or TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Protocol {
    Plain,
    Tls,
}

impl Protocol {
    fn scheme(self) -> Scheme {
        match self {
            Self::Plain => Scheme::HTTP,
            Self::Tls => Scheme::HTTPS,
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Plain => 80,
            Self::Tls => 443,
        }
    }
}

/// What connections are pooled by: two requests with the same place may share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) protocol: Protocol,
    pub(super) versions: Versions,
    /// Lower case, IPv6 without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Place {
    /// Whether a connection to it could turn out to be one that attempts share.
    pub(super) fn may_speak_http2(&self) -> bool {
        match (self.protocol, self.versions) {
            (_, Versions::Http2PriorKnowledge) | (Protocol::Tls, Versions::Negotiated) => true,
            (_, Versions::Http1Only) | (Protocol::Plain, Versions::Negotiated) => false,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Where a request goes, checked.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) place: Arc<Place>,
    host_header: HeaderValue,
    path: PathAndQuery,
}

/// A request that cannot be sent: the caller's to mend (rule D4). Never repeats a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The address lacks a scheme or a host.
    #[error("the address is not absolute: it needs a scheme and a host, as in https://api.example.com/v1")]
    NotAbsolute,
    /// The scheme is neither http nor https.
    #[error("the address's scheme is {scheme}; http and https can be sent")]
    Scheme {
        /// The scheme that was given.
        scheme: String,
    },
    /// The port is not a number up to 65535.
    #[error("the address's port is not a number from 0 to 65535")]
    Port,
    /// The address holds a user name or password.
    #[error("the address holds a user name or password; send it as an authorization header")]
    UserInfo,
    /// The method asks for a tunnel.
    #[error("the method CONNECT asks for a tunnel, which is not a call")]
    Method,
    /// The host is not a name that a certificate can be for.
    #[error("the host {host} is no name or address that TLS can verify")]
    HostName {
        /// The host that was given.
        host: String,
    },
    /// A header's name has bytes that HTTP forbids.
    #[error("the header name `{name}` has characters that HTTP forbids")]
    HeaderName {
        /// The name that was given, escaped.
        name: String,
    },
    /// A header's value has bytes that HTTP forbids.
    #[error(
        "the value of the header {name} has bytes that HTTP forbids (a line break, or a control character)"
    )]
    HeaderValue {
        /// The header's name.
        name: String,
    },
    /// A credential has bytes that HTTP forbids.
    #[error("the credential has bytes that HTTP forbids (a line break at its end?)")]
    SecretValue,
}

fn header_name(name: &str) -> Result<HeaderName, RequestError> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| RequestError::HeaderName {
        name: name.escape_default().to_string(),
    })
}

/// An address whose query values are not printed: keys travel there.
struct ShownUrl<'a>(&'a Uri);

impl fmt::Debug for ShownUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.0.scheme_str() {
            write!(f, "{scheme}://")?;
        }
        if let Some(authority) = self.0.authority() {
            let shown = authority.as_str();
            match shown.rsplit_once('@') {
                Some((_, host)) => write!(f, "***@{host}")?,
                None => f.write_str(shown)?,
            }
        }
        f.write_str(self.0.path())?;
        let mut separator = '?';
        for pair in self.0.query().into_iter().flat_map(|query| query.split('&')) {
            match pair.split_once('=') {
                Some((key, _)) => write!(f, "{separator}{key}=***")?,
                None => write!(f, "{separator}***")?,
            }
            separator = '&';
        }
        Ok(())
    }
}

/// Headers whose secret values are not printed.
pub(super) struct ShownHeaders<'a>(pub(super) &'a HeaderMap);

impl fmt::Debug for ShownHeaders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (name, value) in self.0 {
            if is_secret(name, value) {
                map.entry(&name.as_str(), &format_args!("***"));
            } else {
                map.entry(&name.as_str(), value);
            }
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests;
