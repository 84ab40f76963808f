use super::*;
use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::pin::pin;
use std::task::Waker;

/// A body that comes in pieces, the first of which are not there yet when it is first asked.
struct Pieces(VecDeque<Result<Frame<Bytes>, &'static str>>, bool);

impl Body for Pieces {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        if !std::mem::replace(&mut self.1, true) {
            return Poll::Pending;
        }
        Poll::Ready(self.0.pop_front())
    }
}

fn data(text: &'static str) -> Result<Frame<Bytes>, &'static str> {
    Ok(Frame::data(Bytes::from_static(text.as_bytes())))
}

/// Hands back what it is called with.
#[derive(Clone)]
struct Echo;

impl Service<Request<HeldBody<Pieces>>> for Echo {
    type Response = Request<HeldBody<Pieces>>;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<HeldBody<Pieces>>) -> Self::Future {
        ready(Ok(request))
    }
}

/// What the service within is called with, where up to eight bytes are held.
fn held(pieces: impl IntoIterator<Item = Result<Frame<Bytes>, &'static str>>) -> Request<HeldBody<Pieces>> {
    let mut service = HoldBodiesLayer::new(8).layer(Echo);
    let request = Request::post("/things")
        .header("x-one", "1")
        .body(Pieces(pieces.into_iter().collect(), false));
    let mut call = pin!(service.call(request.unwrap()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    match call.poll(&mut context) {
        Poll::Ready(Ok(request)) => request,
        Poll::Pending => panic!("its body is there"),
    }
}

/// All that a body says: its bytes, then how it ends.
fn said(request: Request<HeldBody<Pieces>>) -> (String, Option<&'static str>, Option<HeaderMap>) {
    let (mut bytes, mut broke, mut trailers) = (Vec::new(), None, None);
    let mut body = request.into_body();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(frame)) = Pin::new(&mut body).poll_frame(&mut context) {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => bytes.extend_from_slice(&data),
            Ok(Err(frame)) => trailers = frame.into_trailers().ok(),
            Err(error) => broke = Some(error),
        }
    }
    assert!(body.is_end_stream() || matches!(body.rest, Rest::More(_)));
    (String::from_utf8(bytes).unwrap(), broke, trailers)
}

#[test]
fn a_body_in_hand_is_sent_again_with_its_head_and_its_trailers() {
    // Breaks when a copy lacks what the first send had.
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", "8".parse().unwrap());
    let request = held([data("four"), data("more"), Ok(Frame::trailers(trailers.clone()))]);
    let again = HeldBody::again(&request).unwrap();
    assert_eq!(
        (again.method().as_str(), &again.headers()["x-one"]),
        ("POST", &"1".parse().unwrap())
    );
    assert_eq!(again.body().size_hint().exact(), Some(8));
    let whole = ("fourmore".to_owned(), None, Some(trailers));
    assert_eq!(said(again), whole);
    assert_eq!(said(request), whole);
}

#[test]
fn a_longer_body_passes_on_whole_and_is_sent_once() {
    // Breaks when the bound cuts a body, or lets a copy be made of a part of it.
    let request = held([data("four"), data("more5"), data("and the rest")]);
    assert!(HeldBody::again(&request).is_none());
    assert_eq!(said(request), ("fourmore5and the rest".to_owned(), None, None));
}

#[test]
fn a_body_that_breaks_is_told_after_what_came_and_is_sent_once() {
    // Breaks when a body that was cut goes out as a whole one.
    let request = held([data("four"), Err("cut")]);
    assert!(HeldBody::again(&request).is_none());
    assert_eq!(said(request), ("four".to_owned(), Some("cut"), None));
}
