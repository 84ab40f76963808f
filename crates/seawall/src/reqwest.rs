//! A reqwest client behind gates: retries, `Retry-After`, budget, breaker and limits around the client that you have.
//!
//! What can go wrong with retries beside a client: a POST that broke off is sent again and acts twice; `Retry-After` is not
//! read; a body that is a stream is retried without its bytes; one host that is down uses up the retries of all. So
//! each host has a gate of its own unless you say otherwise, a write is repeated only where that is safe, the server's word
//! on waiting is kept, and a body that cannot be made again is sent once.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use seawall::reqwest::Client;
//! use seawall::{Policy, Preset};
//!
//! let client = Client::new(reqwest::Client::new(), &Policy::preset(Preset::Interactive));
//! let answer = client.get("https://api.example.com/v1/models").bearer_auth("token").send().await?;
//! println!("{} {}", answer.status(), answer.text().await?);
//! # Ok(()) }
//! ```
//!
//! TLS, proxies, redirects and cookies are your client's, which brings its own features. A redirect is followed inside an
//! attempt. The client's own retries of requests that a server did not look at stay inside an attempt as well.
//!
//! An attempt ends with the answer's head: a body that is cut after it is the caller's, unless the client
//! [holds](Client::hold) bodies. A status of failure that has no better one after it is `Ok`, as reqwest gives it, with
//! [`Ended`](crate::tower::Ended) in its extensions.
//!
//! With reqwest-middleware, [`Middleware`] does the same in a chain.

mod broken;
mod builder;
mod client;
mod hold;
mod middleware;

pub use builder::RequestBuilder;
pub use client::{Client, Error, Gating};
pub use middleware::Middleware;
