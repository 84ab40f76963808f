//! Request bodies in hand, so that a request can be made again.
//!
//! What can go wrong: the bodies of servers and of gRPC clients are streams, which are gone once they were sent; a layer
//! that retries such a request sends it without its bytes, and one that keeps every body fills the machine. So a body is
//! read up to a bound before its call begins. One that is longer passes on as it comes, and its request is sent once.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request};
use hyper::body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower_layer::Layer;
use tower_service::Service;

/// Reads request bodies up to a bound before the service within sees them. It stands outside of a
/// [`SeawallLayer`](super::SeawallLayer), which makes requests again by [`HeldBody::again`].
///
/// The time that a body takes to come belongs to no call, and to no deadline.
#[derive(Clone, Copy, Debug)]
pub struct HoldBodiesLayer {
    bytes_max: usize,
}

impl HoldBodiesLayer {
    /// Holds bodies of up to this many bytes.
    pub const fn new(bytes_max: usize) -> Self {
        Self { bytes_max }
    }
}

impl<S> Layer<S> for HoldBodiesLayer {
    type Service = HoldBodies<S>;

    fn layer(&self, inner: S) -> HoldBodies<S> {
        let bytes_max = self.bytes_max;
        HoldBodies { inner, bytes_max }
    }
}

/// A service whose requests come with their bodies in hand. Made by a [`HoldBodiesLayer`].
#[derive(Clone, Debug)]
pub struct HoldBodies<S> {
    inner: S,
    bytes_max: usize,
}

impl<S, B> Service<Request<B>> for HoldBodies<S>
where
    S: Service<Request<HeldBody<B>>> + Clone,
    B: Body<Data = Bytes> + Unpin,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Holding<S, B>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Holding<S, B> {
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        let (head, body) = request.into_parts();
        Holding::Reading {
            service,
            head: Some(Request::from_parts(head, ())),
            body: Some(body),
            held: BytesMut::new(),
            bytes_max: self.bytes_max,
        }
    }
}

pin_project! {
    /// One call of [`HoldBodies`]: first its body is read, then the service within is called.
    #[project = Step]
    pub enum Holding<S, B>
    where
        S: Service<Request<HeldBody<B>>>,
        B: Body,
    {
        /// Its body is coming.
        #[doc(hidden)]
        Reading { service: S, head: Option<Request<()>>, body: Option<B>, held: BytesMut, bytes_max: usize },
        /// It is out.
        #[doc(hidden)]
        Calling { #[pin] answer: S::Future },
    }
}

impl<S, B> Future for Holding<S, B>
where
    S: Service<Request<HeldBody<B>>>,
    B: Body<Data = Bytes> + Unpin,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let answer = match self.as_mut().project() {
                Step::Calling { answer } => return answer.poll(context),
                Step::Reading {
                    service,
                    head,
                    body,
                    held,
                    bytes_max,
                } => {
                    let body = ready!(poll_body(body, held, *bytes_max, context));
                    let head = head.take().expect("a body is read once");
                    service.call(head.map(|()| body))
                }
            };
            self.set(Self::Calling { answer });
        }
    }
}

/// Reads on until the body ends, breaks or is too long.
fn poll_body<B: Body<Data = Bytes> + Unpin>(
    place: &mut Option<B>,
    held: &mut BytesMut,
    bytes_max: usize,
    context: &mut Context<'_>,
) -> Poll<HeldBody<B>> {
    let mut trailers = None;
    let rest = loop {
        let body = place.as_mut().expect("a body is read once");
        if held.len() > bytes_max {
            break place.take().map_or(Rest::Nothing, Rest::More);
        }
        match ready!(Pin::new(body).poll_frame(context)) {
            None => break Rest::Nothing,
            Some(Err(error)) => break Rest::Broke(Some(error)),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => held.extend_from_slice(&data),
                Err(frame) => trailers = frame.into_trailers().ok(),
            },
        }
    };
    let held = std::mem::take(held).freeze();
    Poll::Ready(HeldBody { held, trailers, rest })
}

/// A request's body: whole in hand, or as much of it as was held and the rest as it comes.
pub struct HeldBody<B: Body> {
    held: Bytes,
    trailers: Option<HeaderMap>,
    rest: Rest<B>,
}

enum Rest<B: Body> {
    Nothing,
    More(B),
    /// It broke while it was read: whoever reads it is told after what came.
    Broke(Option<B::Error>),
}

impl<B: Body> HeldBody<B> {
    /// A request made again, where its body is whole in hand: what [`SeawallLayer::again`](super::SeawallLayer::again) asks
    /// for.
    pub fn again(request: &Request<Self>) -> Option<Request<Self>> {
        let body = request.body();
        match &body.rest {
            Rest::More(_) | Rest::Broke(_) => None,
            Rest::Nothing => Some(head_of(request).map(|()| Self {
                held: body.held.clone(),
                trailers: body.trailers.clone(),
                rest: Rest::Nothing,
            })),
        }
    }
}

/// A request's head once more.
fn head_of<B>(request: &Request<B>) -> Request<()> {
    let mut head = Request::new(());
    head.method_mut().clone_from(request.method());
    head.uri_mut().clone_from(request.uri());
    *head.version_mut() = request.version();
    head.headers_mut().clone_from(request.headers());
    head.extensions_mut().clone_from(request.extensions());
    head
}

impl<B: Body<Data = Bytes> + Unpin> Body for HeldBody<B>
where
    B::Error: Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        if !this.held.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut this.held)))));
        }
        match &mut this.rest {
            Rest::Nothing => Poll::Ready(this.trailers.take().map(|trailers| Ok(Frame::trailers(trailers)))),
            Rest::More(body) => Pin::new(body).poll_frame(context),
            Rest::Broke(error) => Poll::Ready(error.take().map(Err)),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_empty()
            && match &self.rest {
                Rest::Nothing => self.trailers.is_none(),
                Rest::More(body) => body.is_end_stream(),
                Rest::Broke(error) => error.is_none(),
            }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.rest {
            Rest::Nothing => SizeHint::with_exact(self.held.len() as u64),
            Rest::More(_) | Rest::Broke(_) => SizeHint::new(),
        }
    }
}

impl<B: Body> fmt::Debug for HeldBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldBody")
            .field("held_bytes", &self.held.len())
            .finish_non_exhaustive()
    }
}

impl<S: Service<Request<HeldBody<B>>>, B: Body> fmt::Debug for Holding<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holding").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
