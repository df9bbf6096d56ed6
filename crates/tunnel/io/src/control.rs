//! Messages from other threads to the driver's thread: a request, and a waker.

use crate::Error;
use crate::egress::Egress;
use crate::rates::Rate;
use crate::reactor::Waker;
use crate::sniffer::Heard;
use crate::tap::Tap;
use node::{NetworkKey, Node, PublicKey, Roster};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// The most waiting requests; more are refused.
const REQUESTS: usize = 64;

/// Counts of the system's refusals while the node runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Datagrams larger than the outgoing interface's MTU. The node fragments none.
    pub datagrams_too_large: u64,
    /// Datagrams refused for lack of a route, or by a firewall.
    pub datagrams_refused: u64,
    /// Packets, or groups of packets, that the kernel refused from the tunnel, for example while the
    /// interface is down.
    pub packets_refused: u64,
    /// TCP SYNs with a lowered maximum segment size.
    pub segment_sizes_clamped: u64,
    /// Packets and datagrams that another thread was too busy to take.
    pub handed_over_lost: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        let Counters {
            datagrams_too_large,
            datagrams_refused,
            packets_refused,
            segment_sizes_clamped,
            handed_over_lost,
        } = other;
        self.datagrams_too_large += datagrams_too_large;
        self.datagrams_refused += datagrams_refused;
        self.packets_refused += packets_refused;
        self.segment_sizes_clamped += segment_sizes_clamped;
        self.handed_over_lost += handed_over_lost;
    }
}

/// The state of a running node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// The state of the node and its peers.
    pub node: node::Status,
    /// Packets that the system refused, or that the node changed at its edge.
    pub io: Counters,
    /// Received frames for other nodes. None without `[overhear] interface`.
    pub overheard: Option<Heard>,
}

pub(crate) enum Request {
    Status(SyncSender<Snapshot>),
    Rates(Vec<Rate>),
    NextHops(Vec<Option<usize>>),
    Capture(Tap),
    Revoke(PublicKey, SyncSender<bool>),
    NetworkKeys(NetworkKey, Option<NetworkKey>, SyncSender<()>),
    Adopt(Arc<Roster>, SyncSender<Result<(), Error>>),
    Memory(usize, SyncSender<()>),
    Stop,
}

/// The other threads' end. It is cheap to clone.
#[derive(Clone)]
pub struct Control {
    drivers: Vec<Driver>,
}

/// Channels to one driver.
#[derive(Clone)]
struct Driver {
    requests: SyncSender<Request>,
    waker: Waker,
}

/// The part of a driver's machine that requests concern beside its node.
pub(crate) trait Surroundings {
    /// Counters of overhearing.
    fn overheard(&mut self) -> Option<Heard> {
        None
    }

    /// Takes over the peers of a roster before the node does, or changes nothing.
    fn adopt(&mut self, _: &Roster) -> Result<(), Error> {
        Ok(())
    }
}

/// None.
impl Surroundings for () {}

/// The driver's end.
pub struct Inbox {
    pub(crate) requests: Receiver<Request>,
    pub(crate) waker: Waker,
}

impl Inbox {
    /// Answers the other threads for a node, its egress and what surrounds it. Returns `false` after a stop
    /// request.
    pub(crate) fn answer(
        &self,
        now: Duration,
        node: &mut Node,
        egress: &mut Egress,
        around: &mut impl Surroundings,
    ) -> bool {
        for request in self.requests.try_iter() {
            match request {
                // The requester may have timed out.
                Request::Status(answer) => {
                    let (node, io) = (node.status(now), egress.counters);
                    let _ = answer.try_send(Snapshot { node, io, overheard: around.overheard() });
                }
                Request::Capture(tap) => egress.tap = Some(tap),
                Request::Rates(rates) => rates.iter().for_each(|(to, rate)| node.set_radio_rate(*to, *rate)),
                Request::NextHops(next_hops) => {
                    for (destination, next_hop) in next_hops.into_iter().enumerate() {
                        node.set_next_hop(now, destination, next_hop);
                    }
                }
                Request::Revoke(key, answer) => {
                    let _ = answer.try_send(node.revoke(now, &key));
                }
                Request::NetworkKeys(key, previous, answer) => {
                    node.set_network_keys(now, key, previous);
                    let _ = answer.try_send(());
                }
                Request::Adopt(roster, answer) => {
                    let adopted = around.adopt(&roster).map(|()| node.adopt(now, &roster));
                    let _ = answer.try_send(adopted);
                }
                Request::Memory(bytes, answer) => {
                    node.set_memory_bytes(now, bytes);
                    let _ = answer.try_send(());
                }
                Request::Stop => return false,
            }
        }
        true
    }
}

/// Both ends, for this number of drivers.
pub fn control(drivers: usize) -> Result<(Control, Vec<Inbox>), Error> {
    let mut control = Control { drivers: Vec::new() };
    let mut inboxes = Vec::new();
    for _ in 0..drivers.max(1) {
        let waker = Waker::new()?;
        let (sender, requests) = sync_channel(REQUESTS);
        control.drivers.push(Driver { requests: sender, waker: waker.clone() });
        inboxes.push(Inbox { requests, waker });
    }
    Ok((control, inboxes))
}

impl Control {
    /// Requests the nodes' states, merges them, and waits at most `patience`.
    pub fn status(&self, patience: Duration) -> Result<Snapshot, Error> {
        let (mut nodes, mut io, mut overheard) = (Vec::new(), Counters::default(), None);
        for snapshot in self.ask(patience, Request::Status)? {
            nodes.push(snapshot.node);
            io += snapshot.io;
            overheard = overheard.or(snapshot.overheard);
        }
        Ok(Snapshot { node: node::merged(nodes).ok_or(Error::Stopped)?, io, overheard })
    }

    /// Revokes a peer's key and waits at most `patience`. Returns whether the key was a peer's.
    pub fn revoke(&self, key: PublicKey, patience: Duration) -> Result<bool, Error> {
        Ok(self.ask(patience, |answer| Request::Revoke(key, answer))?.contains(&true))
    }

    /// Sets the network's keys, and waits at most `patience` until all handshakes use them.
    pub fn set_network_keys(
        &self,
        key: &NetworkKey,
        previous: Option<&NetworkKey>,
        patience: Duration,
    ) -> Result<(), Error> {
        let request = |answer| Request::NetworkKeys(key.clone(), previous.cloned(), answer);
        self.ask(patience, request).map(drop)
    }

    /// Sets the budget of memory of all nodes together, in bytes, and waits at most `patience`.
    pub fn set_memory_bytes(&self, bytes: usize, patience: Duration) -> Result<(), Error> {
        self.ask(patience, |answer| Request::Memory(bytes, answer)).map(drop)
    }

    /// Makes the drivers take over the peers of `roster`, and waits at most `patience`. The first driver
    /// changes the routes. If the system refuses that, nothing changes.
    pub fn adopt(&self, roster: &Arc<Roster>, patience: Duration) -> Result<(), Error> {
        let end = Instant::now() + patience;
        let request = |answer| Request::Adopt(roster.clone(), answer);
        let (first, others) = self.drivers.split_at(self.drivers.len().min(1));
        for drivers in [first, others] {
            let left = end.saturating_duration_since(Instant::now());
            Self::ask_of(drivers, left, request)?.into_iter().collect::<Result<(), Error>>()?;
        }
        Ok(())
    }

    /// Sends a request to every driver, and waits at most `patience` for all answers.
    fn ask<T>(
        &self,
        patience: Duration,
        request: impl Fn(SyncSender<T>) -> Request,
    ) -> Result<Vec<T>, Error> {
        Self::ask_of(&self.drivers, patience, request)
    }

    fn ask_of<T>(
        drivers: &[Driver],
        patience: Duration,
        request: impl Fn(SyncSender<T>) -> Request,
    ) -> Result<Vec<T>, Error> {
        let end = Instant::now() + patience;
        let mut answers = Vec::new();
        for driver in drivers {
            let (answer, answered) = sync_channel(1);
            driver.requests.try_send(request(answer)).map_err(|_| Error::Stopped)?;
            driver.waker.wake();
            answers.push(answered);
        }
        let left = || end.saturating_duration_since(Instant::now());
        answers.into_iter().map(|it| it.recv_timeout(left()).map_err(|_| Error::Stopped)).collect()
    }

    /// Sends the radios' rates to the drivers. Returns `false` if they have stopped.
    pub(crate) fn rates(&self, rates: &[Rate]) -> bool {
        self.drivers.iter().all(|Driver { requests, waker }| {
            // A busy driver gets the next rates.
            let told = requests.try_send(Request::Rates(rates.to_vec()));
            waker.wake();
            !matches!(told, Err(TrySendError::Disconnected(_)))
        })
    }

    /// Sends the first driver the next hop of each of the node's destinations, in the configuration's order;
    /// `None` means no route. Only the first driver has destinations. Returns `false` if it is busy, so that
    /// the caller must repeat it, or has stopped.
    #[must_use]
    pub fn next_hops(&self, next_hops: &[Option<usize>]) -> bool {
        let Some(Driver { requests, waker }) = self.drivers.first() else { return false };
        let told = requests.try_send(Request::NextHops(next_hops.to_vec()));
        waker.wake();
        told.is_ok()
    }

    /// Captures the nodes' packets in place of an earlier capture, until the other end of `tap` is dropped.
    pub fn capture(&self, tap: &Tap) -> Result<(), Error> {
        for Driver { requests, waker } in &self.drivers {
            requests.try_send(Request::Capture(tap.clone())).map_err(|_| Error::Stopped)?;
            waker.wake();
        }
        Ok(())
    }

    /// Makes the drivers return. A call before their start is allowed.
    pub fn stop(&self) {
        for Driver { requests, waker } in &self.drivers {
            match requests.try_send(Request::Stop) {
                Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                // The thread wakes for the queued requests already. The driver stops after it has answered
                // them.
                Err(TrySendError::Full(request)) => drop(requests.send(request)),
            }
            waker.wake();
        }
    }
}
