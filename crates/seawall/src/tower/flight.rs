//! One attempt of a call: an inner service that gets ready, and its response.

use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower_service::Service;

pin_project! {
    /// An attempt that is out.
    #[project = Step]
    pub(super) enum Flight<S, Req>
    where
        S: Service<Req>,
    {
        Readying { service: S, request: Option<Req> },
        Flying { #[pin] answer: S::Future },
    }
}

/// How an attempt failed by itself.
pub(super) enum Fault<E> {
    /// The service was not ready: nothing was sent.
    Unready(E),
    Failed(E),
}

impl<S: Service<Req>, Req> Flight<S, Req> {
    /// Through a service that is ready.
    pub(super) fn off(service: &mut S, request: Req) -> Self {
        Self::Flying {
            answer: service.call(request),
        }
    }

    /// Through a service that nobody has asked whether it is ready.
    pub(super) const fn when_ready(service: S, request: Req) -> Self {
        Self::Readying {
            service,
            request: Some(request),
        }
    }
}

impl<S: Service<Req>, Req> Future for Flight<S, Req> {
    type Output = Result<S::Response, Fault<S::Error>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let answer = match self.as_mut().project() {
                Step::Flying { answer } => return answer.poll(context).map_err(Fault::Failed),
                Step::Readying { service, request } => {
                    if let Err(error) = ready!(service.poll_ready(context)) {
                        return Poll::Ready(Err(Fault::Unready(error)));
                    }
                    service.call(request.take().expect("an attempt takes off once"))
                }
            };
            self.set(Self::Flying { answer });
        }
    }
}
