//! The layer, and the service that it makes.

use super::answers::{Answers, AnyAnswer, ByResponse, Met};
use super::calling::{Calling, Hand};
use super::error::Error;
use super::requests::{Again, Cloned, Once, Requests};
use crate::gate::Gate;
use crate::retry::{ByType, Classifier, Failure, Rules};
use seawall_core::facts::Replay;
use seawall_core::policy::Policy;
use seawall_core::time::Duration;
use std::fmt;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// Puts a gate in front of a service. See the [module](crate::tower).
///
/// All services that one layer makes, and all their clones, share the gate. Build it once for each thing that can fail
/// by itself.
///
/// ```
/// use seawall::tower::SeawallLayer;
/// use seawall::{Failure, Gate, Policy, Preset};
/// use std::io::{Error, ErrorKind};
///
/// let gate = Gate::new(&Policy::preset(Preset::Interactive));
/// let layer = SeawallLayer::new(&gate).classify(|error: &Error| match error.kind() {
///     ErrorKind::InvalidInput => Failure::permanent(),
///     _ => Failure::transient(),
/// });
/// # drop(layer);
/// ```
#[derive(Clone)]
#[must_use = "a layer does nothing before it is put around a service"]
pub struct SeawallLayer<C = ByType, A = AnyAnswer, R = Cloned> {
    say: Say<C, A, R>,
}

/// A service behind a gate. Made by a [`SeawallLayer`].
#[derive(Clone)]
pub struct Seawall<S, C = ByType, A = AnyAnswer, R = Cloned> {
    inner: S,
    say: Say<C, A, R>,
}

/// A closure says which errors are worth another attempt. See [`SeawallLayer::when`].
#[derive(Clone, Copy, Debug)]
pub struct When<W>(W);

impl<E, W: FnMut(&E) -> bool> Classifier<E> for When<W> {
    fn failure(&mut self, error: &E) -> Failure {
        if (self.0)(error) {
            Failure::transient()
        } else {
            Failure::permanent()
        }
    }
}

/// What is said of all calls.
#[derive(Clone)]
pub(crate) struct Say<C, A, R> {
    pub(crate) owner: Owner,
    pub(crate) classifier: C,
    pub(crate) answers: A,
    pub(crate) requests: R,
    pub(crate) said: Said,
}

/// What the layer says instead of what each request says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said {
    pub(crate) replay: Option<Replay>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) retries_max: Option<u32>,
}

/// Whose gate a layer's calls share.
#[derive(Clone, Debug)]
pub struct Owner(Of);

#[derive(Clone, Debug)]
enum Of {
    Gate(Gate),
    #[cfg(feature = "http")]
    Upstream(crate::Upstream),
}

impl Owner {
    pub(crate) fn rules(&self) -> Rules<'_> {
        match &self.0 {
            Of::Gate(gate) => gate.rules(),
            #[cfg(feature = "http")]
            Of::Upstream(upstream) => upstream.rules(),
        }
    }
}

impl From<Gate> for Owner {
    fn from(gate: Gate) -> Self {
        Self(Of::Gate(gate))
    }
}

impl From<&Gate> for Owner {
    fn from(gate: &Gate) -> Self {
        gate.clone().into()
    }
}

/// A gate is made for the layer: its services share a budget, a breaker and limits.
impl From<&Policy> for Owner {
    fn from(policy: &Policy) -> Self {
        Gate::new(policy).into()
    }
}

#[cfg(feature = "http")]
impl From<&crate::Upstream> for Owner {
    fn from(upstream: &crate::Upstream) -> Self {
        Self(Of::Upstream(upstream.clone()))
    }
}

impl SeawallLayer {
    /// A layer behind this gate: a [`&Gate`](Gate) or an [`&Upstream`](crate::Upstream) that others share as well, or a
    /// [`&Policy`](Policy), of which a gate is made for the services of this layer.
    ///
    /// Until something else is said, the error's type says which errors are worth another attempt
    /// ([`Classify`](crate::Classify)), every response is an answer, and requests are cloned.
    pub fn new(gate: impl Into<Owner>) -> Self {
        Self {
            say: Say {
                owner: gate.into(),
                classifier: ByType,
                answers: AnyAnswer,
                requests: Cloned,
                said: Said::default(),
            },
        }
    }
}

impl<C, A, R> SeawallLayer<C, A, R> {
    /// Retries errors for which `when` is true, and no others; instead of what their type says.
    pub fn when<E, W: FnMut(&E) -> bool>(self, when: W) -> SeawallLayer<When<W>, A, R> {
        self.classified(When(when))
    }

    /// Says what each error is, instead of what its type says.
    pub fn classify<E, F: FnMut(&E) -> Failure>(self, classify: F) -> SeawallLayer<F, A, R> {
        self.classified(classify)
    }

    /// As [`classify`](Self::classify), by a [`Classifier`] that is made of others.
    pub fn classified<D>(self, classifier: D) -> SeawallLayer<D, A, R> {
        let Say {
            owner,
            answers,
            requests,
            said,
            ..
        } = self.say;
        let say = Say {
            owner,
            classifier,
            answers,
            requests,
            said,
        };
        SeawallLayer { say }
    }

    /// Says which responses are failures. A call that ends with one of them returns it, `Ok` as the service did.
    pub fn classify_response<Res, F: Fn(&Res) -> Met>(
        self,
        classify: F,
    ) -> SeawallLayer<C, ByResponse<F>, R> {
        self.answers(ByResponse(classify))
    }

    /// As [`classify_response`](Self::classify_response), by something that knows responses.
    pub fn answers<B>(self, answers: B) -> SeawallLayer<C, B, R> {
        let Say {
            owner,
            classifier,
            requests,
            said,
            ..
        } = self.say;
        let say = Say {
            owner,
            classifier,
            answers,
            requests,
            said,
        };
        SeawallLayer { say }
    }

    /// Makes requests again by `again` instead of cloning them; one for which it has nothing is sent once.
    pub fn again<Req, F: Fn(&Req) -> Option<Req>>(self, again: F) -> SeawallLayer<C, A, Again<F>> {
        self.requests(Again(again))
    }

    /// Sends every request once: nothing is retried, the rest of the gate holds.
    pub fn once(self) -> SeawallLayer<C, A, Once> {
        self.requests(Once)
    }

    /// As [`again`](Self::again), by something that knows requests.
    pub fn requests<Q>(self, requests: Q) -> SeawallLayer<C, A, Q> {
        let Say {
            owner,
            classifier,
            answers,
            said,
            ..
        } = self.say;
        let say = Say {
            owner,
            classifier,
            answers,
            requests,
            said,
        };
        SeawallLayer { say }
    }

    #[cfg(feature = "http")]
    pub(super) fn map_requests<Q>(self, map: impl FnOnce(R) -> Q) -> SeawallLayer<C, A, Q> {
        let Say {
            owner,
            classifier,
            answers,
            requests,
            said,
        } = self.say;
        let requests = map(requests);
        let say = Say {
            owner,
            classifier,
            answers,
            requests,
            said,
        };
        SeawallLayer { say }
    }

    /// What a repeat of any call would do (rule E1), instead of what its request says. Unless it is said,
    /// [`Replay::Declared`]: whoever puts a layer that retries around a service says that it may be called again. Of
    /// HTTP requests the method and the key say it.
    pub fn replay(mut self, replay: Replay) -> Self {
        self.say.said.replay = Some(replay);
        self
    }

    /// How long a call may take up to its response, instead of the policy's deadline: waits and attempts together.
    pub fn deadline(mut self, length: Duration) -> Self {
        self.say.said.deadline = Some(length);
        self
    }

    /// Fewer retries than the policy's.
    pub fn retries_max(mut self, retries: u32) -> Self {
        self.say.said.retries_max = Some(retries);
        self
    }
}

impl<S, C: Clone, A: Clone, R: Clone> Layer<S> for SeawallLayer<C, A, R> {
    type Service = Seawall<S, C, A, R>;

    fn layer(&self, inner: S) -> Self::Service {
        let say = self.say.clone();
        Seawall { inner, say }
    }
}

impl<S, C, A, R> Seawall<S, C, A, R> {
    /// The service behind the gate.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service behind the gate, to be changed.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The service behind the gate, without the gate.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, Req, C, A, R> Service<Req> for Seawall<S, C, A, R>
where
    S: Service<Req> + Clone,
    C: Classifier<S::Error> + Clone,
    A: Answers<S::Response> + Clone,
    R: Requests<Req> + Clone,
{
    type Response = S::Response;
    type Error = Error<S::Error>;
    type Future = Calling<S, Req, C, A, R>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context).map_err(Error::Unready)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        // The one that was asked whether it is ready goes with the call; the clone that stays has to be asked anew.
        let clone = self.inner.clone();
        let ready = std::mem::replace(&mut self.inner, clone);
        let Say {
            owner,
            classifier,
            answers,
            requests,
            said,
        } = self.say.clone();
        Calling::new(
            ready,
            request,
            owner,
            said,
            Hand::new(classifier, answers, requests),
        )
    }
}

impl<C, A, R> fmt::Debug for SeawallLayer<C, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeawallLayer")
            .field("gate", &self.say.owner)
            .field("said", &self.say.said)
            .finish_non_exhaustive()
    }
}

impl<S: fmt::Debug, C, A, R> fmt::Debug for Seawall<S, C, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seawall")
            .field("inner", &self.inner)
            .field("gate", &self.say.owner)
            .finish_non_exhaustive()
    }
}
