//! Somebody who decides, in chance's place, what attempts meet and when: the server of a simulation, for one.

use super::exchange::Request;
use super::pace::Pace;
use crate::script::Action;
use std::fmt;
use std::pin::Pin;

/// Where attempts are served: what each meets is decided here, whatever its rule says.
pub(crate) trait Counter: fmt::Debug + Send + Sync + 'static {
    /// An attempt has come whose [`CALL_HEADER`](super::CALL_HEADER) says this. Ends when its answer is due, with
    /// what it meets; is dropped where the client leaves before. Whoever waits in it says so to the
    /// pace.
    fn serve(&self, call: Option<&[u8]>, pace: &Pace) -> Service;
}

/// An attempt that is being served. What it meets is boxed: a connection that waits is to take little room.
pub(crate) type Service = Pin<Box<dyn Future<Output = Box<Action>> + Send>>;

/// The service of this attempt, where somebody serves.
pub(super) fn service(counter: Option<&dyn Counter>, request: &Request, pace: &Pace) -> Option<Service> {
    counter.map(|counter| counter.serve(request.header(super::CALL_HEADER), pace))
}
