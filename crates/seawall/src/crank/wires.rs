//! What is on its way between two ends of a connection that live in one process.
//!
//! What can go wrong: a clock that is cranked while bytes are on their way makes a prompt answer late, and whether it
//! does depends on the machine. The system does not say what it still carries. So both ends count, and a connection is
//! still once what one end wrote the other has read, and both know whether it is open. What this does not cover: ends
//! in other processes, and what was read and not yet looked at; whoever cranks must let the tasks run first.

use crate::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::task::Waker;

/// The connections between a caller and a server in one process, counted at both ends. Clones are the same.
///
/// Give it to both (`TransportBuilder::wires`, and whatever the server takes), and crank a clock only while
/// [`are_still`](Self::are_still) says so.
///
/// ```
/// use seawall::crank::Wires;
/// let (wires, caller) = (Wires::new(), "127.0.0.1:40000".parse().unwrap());
/// let (here, there) = (wires.caller(caller), wires.server(caller));
/// here.wrote(3);
/// assert!(!wires.are_still());
/// there.read(3);
/// assert!(wires.are_still());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Wires {
    told: Arc<Mutex<Told>>,
}

#[derive(Debug, Default)]
struct Told {
    /// By the caller's address, which both ends know.
    wires: BTreeMap<SocketAddr, Wire>,
    watchers: Vec<Waker>,
    ends: u64,
}

/// One connection.
#[derive(Debug, Default)]
struct Wire {
    caller: Stand,
    server: Stand,
}

/// How one end stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stand {
    /// It has not opened yet.
    #[default]
    Ahead,
    Open {
        /// Which end that is, of all there ever were: the system gives an address again that one end has let go.
        serial: u64,
        read: u64,
        written: u64,
    },
    Gone,
}

#[derive(Clone, Copy, Debug)]
enum Side {
    Caller,
    Server,
}

/// One end of a connection; it is gone when this is dropped. Drop it after the socket.
#[derive(Debug)]
pub struct WireEnd {
    wires: Wires,
    address: SocketAddr,
    side: Side,
    serial: u64,
}

impl Wires {
    /// No connections yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The caller's end of a connection, by the caller's own address.
    pub fn caller(&self, address: SocketAddr) -> WireEnd {
        self.end(address, Side::Caller)
    }

    /// The server's end of a connection, by the caller's address as the server sees it.
    pub fn server(&self, address: SocketAddr) -> WireEnd {
        self.end(address, Side::Server)
    }

    fn end(&self, address: SocketAddr, side: Side) -> WireEnd {
        let mut told = self.told();
        told.ends += 1;
        let serial = told.ends;
        let (read, written) = (0, 0);
        *told.wires.entry(address).or_default().side(side) = Stand::Open {
            serial,
            read,
            written,
        };
        wake(told);
        WireEnd {
            wires: self.clone(),
            address,
            side,
            serial,
        }
    }

    /// Whether nothing is on its way: neither bytes nor the news that an end has opened or gone. A server that is gone
    /// is no news to a caller that keeps the connection and waits for nothing; one that waits for an answer is not
    /// still for another reason.
    pub fn are_still(&self) -> bool {
        self.told().wires.values().all(Wire::is_still)
    }

    /// Wakes this waker, once, at the next news of any end.
    pub fn watch(&self, waker: &Waker) {
        let mut told = self.told();
        if !told.watchers.iter().any(|known| known.will_wake(waker)) {
            told.watchers.push(waker.clone());
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens the lock, then wakes: whoever is woken may ask at once.
fn wake(mut told: MutexGuard<'_, Told>) {
    let watchers = std::mem::take(&mut told.watchers);
    drop(told);
    watchers.into_iter().for_each(Waker::wake);
}

impl Wire {
    fn side(&mut self, side: Side) -> &mut Stand {
        match side {
            Side::Caller => &mut self.caller,
            Side::Server => &mut self.server,
        }
    }

    fn is_still(&self) -> bool {
        match (self.caller, self.server) {
            (
                Stand::Open { read, written, .. },
                Stand::Open {
                    read: taken,
                    written: given,
                    ..
                },
            ) => (read, written) == (given, taken),
            // Whoever is gone before the other came: there is nobody to hear of it, or an attempt that is out says more.
            (Stand::Open { .. } | Stand::Ahead | Stand::Gone, Stand::Gone)
            | (Stand::Gone | Stand::Ahead, Stand::Ahead) => true,
            (Stand::Ahead | Stand::Gone, Stand::Open { .. }) | (Stand::Open { .. }, Stand::Ahead) => false,
        }
    }
}

impl WireEnd {
    /// Bytes were taken from the connection.
    pub fn read(&self, bytes: u64) {
        self.count(bytes, 0);
    }

    /// Bytes were given to the connection.
    pub fn wrote(&self, bytes: u64) {
        self.count(0, bytes);
    }

    fn count(&self, more_read: u64, more_written: u64) {
        self.tell(|stand| {
            if let Stand::Open { read, written, .. } = stand {
                *read += more_read;
                *written += more_written;
            }
        });
    }

    fn tell(&self, news: impl FnOnce(&mut Stand)) {
        let mut told = self.wires.told();
        let Some(wire) = told.wires.get_mut(&self.address) else {
            return;
        };
        match wire.side(self.side) {
            stand @ Stand::Open { .. } if stand.serial() == Some(self.serial) => news(stand),
            // The address has gone on to another connection.
            Stand::Open { .. } | Stand::Ahead | Stand::Gone => return,
        }
        if matches!((wire.caller, wire.server), (Stand::Gone, Stand::Gone)) {
            told.wires.remove(&self.address);
        }
        wake(told);
    }
}

impl Stand {
    fn serial(&self) -> Option<u64> {
        match self {
            Self::Open { serial, .. } => Some(*serial),
            Self::Ahead | Self::Gone => None,
        }
    }
}

impl Drop for WireEnd {
    fn drop(&mut self) {
        self.tell(|stand| *stand = Stand::Gone);
    }
}

#[cfg(test)]
mod tests;
