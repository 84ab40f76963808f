//! A layer for tower services: retries, budget, breaker, limits, deadline and hedges as **one gate** and one decision.
//!
//! What can go wrong with a layer for each: their order decides in silence what they mean (a timeout around the retries
//! or inside them, a breaker that counts calls or attempts); a permit that is taken in `poll_ready` is kept by a clone
//! that nobody uses; a wait between attempts holds a place; each layer has an error type of its own. So there is one:
//! the inner service is what makes attempts, and the engine behind a [`Gate`](crate::Gate) says whether and when.
//! A policy that has the rest switched off is a layer that retries only, or limits only.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use seawall::tower::SeawallLayer;
//! use seawall::{Policy, Preset};
//! use tower_layer::Layer;
//! use tower_service::Service;
//! # #[derive(Clone)] struct Upper;
//! # impl Service<String> for Upper {
//! #     type Response = String;
//! #     type Error = std::io::Error;
//! #     type Future = std::future::Ready<Result<String, std::io::Error>>;
//! #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), std::io::Error>> { Ok(()).into() }
//! #     fn call(&mut self, request: String) -> Self::Future { std::future::ready(Ok(request.to_uppercase())) }
//! # }
//!
//! let layer = SeawallLayer::new(&Policy::preset(Preset::Interactive));
//! let mut service = layer.layer(Upper);
//! std::future::poll_fn(|context| service.poll_ready(context)).await?;
//! assert_eq!(service.call("text".to_owned()).await?, "TEXT");
//! # Ok(()) }
//! ```
//!
//! Tower's contract, and how it is kept:
//!
//! - `poll_ready` asks the inner service and nothing else: its back-pressure is passed on, its error too
//!   ([`Error::Unready`]). No permit of the gate is taken there, so clones that stand by starve nobody.
//! - The permit is taken when the call's future is first polled and kept to the end of the attempt, not over waits. Where
//!   the gate does not let the call go at once, what the inner service reserved for it is given back.
//! - Each further attempt goes through a clone of the inner service, once that is ready.
//! - Dropping the future at any point drops the attempt that is out and gives back what it held.
//! - The service is `Clone` and `Send` where the inner one is. Nothing is boxed before a first attempt has failed or was
//!   made to wait, and nothing of the caller's ever: the future is `Send` where its parts are.
//!
//! An attempt ends with the inner service's response. What comes after it, such as the body of an HTTP response, is the
//! caller's: it is covered by no limit of time, and a break in it is not retried.

mod answers;
mod calling;
mod error;
mod flight;
#[cfg(feature = "http")]
mod grpc;
#[cfg(feature = "http")]
mod held;
#[cfg(feature = "http")]
pub(crate) mod http;
mod layer;
mod requests;

pub use answers::{Answers, AnyAnswer, ByResponse, Met};
pub use calling::Calling;
pub use error::{Ended, Error};
#[cfg(feature = "http")]
pub use grpc::{GrpcAnswers, grpc_failure};
#[cfg(feature = "http")]
pub use held::{HeldBody, HoldBodies, HoldBodiesLayer, Holding};
#[cfg(feature = "http")]
pub use http::{HttpAnswers, HttpRequests, PerCall};
pub use layer::{Owner, Seawall, SeawallLayer, When};
pub use requests::{Again, Cloned, Once, Promise, Requests};

#[cfg(feature = "reqwest")]
pub(crate) use calling::Hand;
#[cfg(feature = "reqwest")]
pub(crate) use layer::Said;

#[cfg(test)]
mod tests;
