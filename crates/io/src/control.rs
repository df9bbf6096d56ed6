//! How other threads talk to the one that drives the node: a request, and a bell.

use crate::Error;
use crate::ear::Heard;
use crate::rates::Rate;
use crate::reactor::Bell;
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Requests that may wait; more are refused.
const REQUESTS: usize = 64;

/// What the system refused while the node ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Datagrams larger than the outgoing interface's MTU; none may be fragmented.
    pub datagrams_too_large: u64,
    /// Datagrams that could not be sent for want of a route, or because a firewall forbade it.
    pub datagrams_refused: u64,
    /// Packets, or several put together, that the kernel did not take from the tunnel, as when the interface is down.
    pub packets_refused: u64,
    /// TCP SYNs whose maximum segment size was lowered.
    pub segment_sizes_clamped: u64,
}

/// The state of a running node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// What the node says.
    pub node: node::Status,
    /// What the system refused.
    pub io: Counters,
    /// What was sent to others and heard, where the node listens.
    pub overheard: Option<Heard>,
}

pub(crate) enum Request {
    Status(SyncSender<Snapshot>),
    Rates(Vec<Rate>),
    Stop,
}

/// The other threads' end. Cheap to clone.
#[derive(Clone)]
pub struct Control {
    requests: SyncSender<Request>,
    bell: Bell,
}

/// The driver's end.
pub struct Inbox {
    pub(crate) requests: Receiver<Request>,
    pub(crate) bell: Bell,
    /// The other end of it, for who is started with the driver.
    pub(crate) control: Control,
}

/// Both ends.
pub fn control() -> Result<(Control, Inbox), Error> {
    let bell = Bell::new()?;
    let (sender, requests) = sync_channel(REQUESTS);
    let control = Control { requests: sender, bell: bell.clone() };
    Ok((control.clone(), Inbox { requests, bell, control }))
}

impl Control {
    /// Asks for the node's state and waits for it, `patience` at most.
    pub fn status(&self, patience: Duration) -> Result<Snapshot, Error> {
        let (answer, answered) = sync_channel(1);
        self.requests.try_send(Request::Status(answer)).map_err(|_| Error::Stopped)?;
        self.bell.ring();
        answered.recv_timeout(patience).map_err(|_| Error::Stopped)
    }

    /// Tells the driver at which rates radios send. `false`: it has stopped.
    pub(crate) fn rates(&self, rates: Vec<Rate>) -> bool {
        // a driver that is behind hears of the next ones
        let told = self.requests.try_send(Request::Rates(rates));
        self.bell.ring();
        !matches!(told, Err(TrySendError::Disconnected(_)))
    }

    /// Makes the driver return. May be called at any time, also before the driver has begun.
    pub fn stop(&self) {
        match self.requests.try_send(Request::Stop) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(request)) => drop(self.requests.send(request)),
        }
        self.bell.ring();
    }
}
