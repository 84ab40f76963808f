//! A server of the `h2` crate, in clear text or under TLS, where it answers HTTP/1.1 too.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, SendResponse};
use http::{HeaderMap, Request, Response};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) accepted: usize,
    pub(super) open: usize,
    pub(super) requests: usize,
    pub(super) in_flight: usize,
}

/// A listening server; its tasks end with the test's runtime.
#[derive(Clone)]
pub(super) struct Real {
    pub(super) address: SocketAddr,
    pub(super) counts: watch::Sender<Counts>,
}

/// One request to answer.
pub(super) struct Exchange {
    pub(super) nth: usize,
    pub(super) request: Request<RecvStream>,
    pub(super) respond: SendResponse<Bytes>,
}

impl Exchange {
    /// The request's body.
    pub(super) async fn body(&mut self) -> Vec<u8> {
        let stream = self.request.body_mut();
        let mut body = Vec::new();
        while let Some(data) = stream.data().await {
            let data = data.unwrap();
            stream.flow_control().release_capacity(data.len()).unwrap();
            body.extend_from_slice(&data);
        }
        body
    }

    pub(super) fn answer(&mut self, body: &'static str) {
        let mut stream = self.respond.send_response(Response::new(()), false).unwrap();
        stream
            .send_data(Bytes::from_static(body.as_bytes()), true)
            .unwrap();
    }

    /// A head, a body and trailers.
    pub(super) fn answer_with_trailers(&mut self, body: &'static str, trailers: HeaderMap) {
        let mut stream = self.respond.send_response(Response::new(()), false).unwrap();
        stream
            .send_data(Bytes::from_static(body.as_bytes()), false)
            .unwrap();
        stream.send_trailers(trailers).unwrap();
    }
}

impl Real {
    pub(super) async fn start<F>(
        builder: Builder,
        acceptor: Option<TlsAcceptor>,
        each: impl Fn(Exchange) -> F + Clone + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            counts: watch::Sender::new(Counts::default()),
        };
        let accepting = server.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                accepting.counts.send_modify(|counts| {
                    counts.accepted += 1;
                    counts.open += 1;
                });
                let (server, builder) = (accepting.clone(), builder.clone());
                let (acceptor, each) = (acceptor.clone(), each.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => server.serve(stream, &builder, each).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                                    server.serve(stream, &builder, each).await;
                                } else {
                                    old_times(stream).await;
                                }
                            }
                        }
                    }
                    server.counts.send_modify(|counts| counts.open -= 1);
                });
            }
        });
        server
    }

    pub(super) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/v1/x?q=1", self.address)
    }

    pub(super) fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    pub(super) async fn reaches(&self, what: impl Fn(&Counts) -> bool) {
        self.counts.subscribe().wait_for(what).await.unwrap();
    }

    async fn serve<F>(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        builder: &Builder,
        each: impl Fn(Exchange) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else {
            return;
        };
        while let Some(Ok((request, respond))) = connection.accept().await {
            let mut nth = 0;
            self.counts.send_modify(|counts| {
                nth = counts.requests;
                counts.requests += 1;
                counts.in_flight += 1;
            });
            let exchange = Exchange {
                nth,
                request,
                respond,
            };
            let (done, counts) = (each(exchange), self.counts.clone());
            tokio::spawn(async move {
                done.await;
                counts.send_modify(|counts| counts.in_flight -= 1);
            });
        }
    }
}

/// Answers HTTP/1.1, once.
pub(super) async fn old_times(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let text = b"HTTP/1.1 200 X\r\ncontent-length: 8\r\nconnection: close\r\n\r\nhttp/1.1";
    if stream.write_all(text).await.is_ok() && stream.shutdown().await.is_ok() {
        let mut rest = [0; 64];
        while let Ok(1..) = stream.read(&mut rest).await {}
    }
}

/// TLS for 127.0.0.1 that picks from these protocols, and its certificate in PEM.
pub(super) fn tls(protocols: &[&str]) -> (TlsAcceptor, String) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    (TlsAcceptor::from(Arc::new(config)), cert.pem())
}
