//! What a client written by hand has already: one request, and errors that are types. Rows about functions use it.
use seawall::{Classify, Failure};
use std::error::Error;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

#[derive(Debug)]
pub enum ApiError {
    Status(u16),
    Unreachable(Box<dyn Error + Send + Sync>),
}

/// One GET.
pub async fn get(url: &str) -> Result<String, ApiError> {
    let unreachable = |error: reqwest::Error| ApiError::Unreachable(error.into());
    let answer = reqwest::get(url).await.map_err(unreachable)?;
    match answer.status().as_u16() {
        200 => answer.text().await.map_err(unreachable),
        status => Err(ApiError::Status(status)),
    }
}

/// The same on a thread.
pub fn get_blocking(url: &str) -> Result<String, ApiError> {
    let (host, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .unwrap_or((url, ""));
    let exchange = || {
        let mut server = TcpStream::connect(host)?;
        write!(
            server,
            "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        server.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer: String = exchange().map_err(|error: std::io::Error| ApiError::Unreachable(error.into()))?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    match (status, answer.split_once("\r\n\r\n")) {
        (Some(200), Some((_, body))) => Ok(body.to_owned()),
        (status, _) => Err(ApiError::Status(status.unwrap_or(0))),
    }
}

impl Classify for ApiError {
    fn classify(&self) -> Failure {
        match self {
            Self::Status(status) => Failure::status(*status),
            Self::Unreachable(_) => Failure::transient(),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::Unreachable(_) => f.write_str("the server could not be reached"),
        }
    }
}

impl Error for ApiError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Status(_) => None,
            Self::Unreachable(error) => Some(&**error),
        }
    }
}
