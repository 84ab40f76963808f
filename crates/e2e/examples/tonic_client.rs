//! A gRPC client behind a gate: UNAVAILABLE is retried, and a server's push-back is waited for.

use http::uri::PathAndQuery;
use seawall::tower::{HeldBody, HoldBodiesLayer, SeawallLayer};
use seawall::{Duration, Failure, Gate, Policy};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Context, Poll};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::{Service, ServiceBuilder};

/// What is said both ways; a build script would make this of a `.proto` file.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Text {
    #[prost(string, tag = "1")]
    text: String,
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let asked = Arc::new(AtomicU32::new(0));
    let channel = connected_to(Greeter(Arc::clone(&asked))).await?;

    let policy = Policy::builder().backoff_base(Duration::from_millis(1)).build()?;
    let gate = Gate::new(&policy);
    let layer = SeawallLayer::new(&gate)
        // The channel's own errors: it has no connection, or lost it.
        .classify(|_: &tonic::transport::Error| Failure::transient())
        // What the server answers: its code, and its push-back.
        .grpc()
        .again(HeldBody::again);
    let service = ServiceBuilder::new()
        // A message is a stream to tonic; in hand it can be sent again.
        .layer(HoldBodiesLayer::new(1 << 20))
        .layer(layer)
        .map_request(|request: http::Request<HeldBody<Body>>| request.map(Body::new))
        .service(channel);

    let mut client = tonic::client::Grpc::new(service);
    client.ready().await?;
    let hello = Text {
        text: "hello".to_owned(),
    };
    let path = PathAndQuery::from_static("/e2e.Greeter/Greet");
    let answer: Response<Text> = client
        .unary(Request::new(hello), path, ProstCodec::default())
        .await?;

    assert_eq!(answer.get_ref().text, "hello to you");
    // Once it was not available, once it asked for 20 ms.
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    assert_eq!(gate.attempts_out(), 0);
    Ok(())
}

/// A channel to a server that runs in a task, on a port of its own.
async fn connected_to(greeter: Greeter) -> Result<tonic::transport::Channel, Box<dyn Error>> {
    let incoming = tonic::transport::server::TcpIncoming::bind("127.0.0.1:0".parse()?)?;
    let address = incoming.local_addr()?;
    let server = tonic::transport::Server::builder().add_service(greeter);
    tokio::spawn(server.serve_with_incoming(incoming));
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}"))?;
    Ok(endpoint.connect().await?)
}

/// A service that answers the third time.
#[derive(Clone)]
struct Greeter(Arc<AtomicU32>);

impl tonic::server::NamedService for Greeter {
    const NAME: &'static str = "e2e.Greeter";
}

impl Service<http::Request<Body>> for Greeter {
    type Response = http::Response<Body>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let mut grpc = tonic::server::Grpc::new(ProstCodec::default());
        let greet = Greet(Arc::clone(&self.0));
        Box::pin(async move { Ok(grpc.unary(greet, request).await) })
    }
}

struct Greet(Arc<AtomicU32>);

impl tonic::server::UnaryService<Text> for Greet {
    type Response = Text;
    type Future = std::future::Ready<Result<Response<Text>, Status>>;

    fn call(&mut self, request: Request<Text>) -> Self::Future {
        std::future::ready(match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Err(Status::unavailable("not yet")),
            1 => {
                let mut status = Status::unavailable("in a moment");
                let pushback = tonic::metadata::MetadataValue::from_static("20");
                status.metadata_mut().insert("grpc-retry-pushback-ms", pushback);
                Err(status)
            }
            _ => Ok(Response::new(Text {
                text: format!("{} to you", request.get_ref().text),
            })),
        })
    }
}
