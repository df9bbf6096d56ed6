//! Several threads that act as one node: each drives a shard of its peers.
//!
//! The first thread reads the device and the sockets. It passes other threads' packets to them, one system
//! call's batch at a time. Each thread itself reduces, seals, opens and restores, which take most of the
//! time, and writes the results.

use crate::Error;
use crate::clock::Clock;
use crate::control::Inbox;
use crate::egress::Egress;
use crate::load::Load;
use crate::reactor::{Reactor, Waker};
use crate::tap::{self, What};
use node::{Concerns, Event, Node, Roster, Shards};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::Duration;

/// The most batches that wait for a thread. Further ones are lost, as in a full queue.
const BATCHES: usize = 32;
/// The most waiting events.
const EVENTS: usize = 256;

/// Source of an item.
#[derive(Debug, Clone, Copy)]
enum Origin {
    Device,
    Socket { from: SocketAddr, ecn: u8 },
}

/// Packets and datagrams for one thread, in order of arrival.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// For each item, its source and its end.
    items: Vec<(Origin, usize)>,
}

impl Batch {
    fn push(&mut self, origin: Origin, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.items.push((origin, self.bytes.len()));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
    }

    fn drain(&mut self, mut take: impl FnMut(Origin, &mut [u8])) {
        let mut rest = self.bytes.as_mut_slice();
        let mut start = 0;
        for (origin, end) in self.items.drain(..) {
            let (item, behind) = rest.split_at_mut(end - start);
            take(origin, item);
            (rest, start) = (behind, end);
        }
        self.bytes.clear();
    }
}

/// The first thread's state of another thread.
struct WorkerHandle {
    batches: SyncSender<Batch>,
    /// Used batches, to be filled again.
    used: Receiver<Batch>,
    filling: Batch,
    waker: Waker,
    events: Receiver<Event>,
}

/// The first thread's state of the others, possibly none.
pub(crate) struct WorkerPool<'a> {
    shards: &'a mut Shards,
    handles: Vec<WorkerHandle>,
}

impl<'a> WorkerPool<'a> {
    /// A workers of the first thread alone.
    pub fn new(shards: &'a mut Shards) -> Self {
        WorkerPool { shards, handles: Vec::new() }
    }

    /// Adds the thread of the next shard, which runs [`Worker::work`].
    pub fn join<'n>(
        &mut self,
        node: &'n mut Node,
        inbox: Inbox,
        egress: Egress,
        clock: Clock,
        front: &Waker,
    ) -> Worker<'n> {
        let (batches, to_do) = sync_channel(BATCHES);
        let (back, used) = sync_channel(BATCHES);
        let (tell, events) = sync_channel(EVENTS);
        let filling = Batch::default();
        self.handles.push(WorkerHandle { batches, used, filling, waker: inbox.waker.clone(), events });
        Worker { node, inbox, egress, clock, to_do, back, tell, front: front.clone(), load: Load::default() }
    }

    /// Packets go by the peers of `roster` from now on.
    pub fn adopt(&mut self, roster: &Roster) {
        self.shards.adopt(roster);
    }

    /// Queues a packet of the device for another thread. Returns `false` if it is for the first one.
    pub fn takes_packet(&mut self, packet: &[u8]) -> bool {
        if self.handles.is_empty() {
            return false;
        }
        let handle =
            self.shards.of_packet(packet).checked_sub(1).and_then(|handle| self.handles.get_mut(handle));
        let taken = handle.map(|handle| handle.filling.push(Origin::Device, packet));
        taken.is_some()
    }

    /// Queues a datagram for a single other thread. Returns `false` if it also concerns the first one.
    pub fn takes_datagram(&mut self, from: SocketAddr, ecn: u8, datagram: &[u8]) -> bool {
        if self.handles.is_empty() {
            return false;
        }
        let origin = Origin::Socket { from, ecn };
        match self.shards.of_datagram(datagram) {
            Concerns::One(shard) => {
                let handle = shard.checked_sub(1).and_then(|handle| self.handles.get_mut(handle));
                handle.map(|handle| handle.filling.push(origin, datagram)).is_some()
            }
            Concerns::Every => {
                self.handles.iter_mut().for_each(|handle| handle.filling.push(origin, datagram));
                false
            }
        }
    }

    /// Passes the queued batches on. Returns the number of packets and datagrams lost because a thread was
    /// too busy.
    pub fn hand_over(&mut self) -> u64 {
        let mut lost = 0;
        for handle in self.handles.iter_mut().filter(|handle| !handle.filling.items.is_empty()) {
            let empty = handle.used.try_recv().unwrap_or_default();
            match handle.batches.try_send(std::mem::replace(&mut handle.filling, empty)) {
                Ok(()) => handle.waker.wake(),
                Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                    lost += batch.items.len() as u64;
                    handle.filling = batch;
                    handle.filling.clear();
                }
            }
        }
        lost
    }

    /// Events of the other threads' nodes, with the peers' indices in the whole configuration.
    pub fn events(&mut self) -> impl Iterator<Item = Event> + '_ {
        let shards = &*self.shards;
        let told = self.handles.iter().zip(1..);
        told.flat_map(move |(handle, shard)| {
            handle.events.try_iter().map(move |event| shards.told_by(shard, event))
        })
    }

    /// An event of the first thread's node, with the peer's index in the whole configuration.
    pub fn own(&self, event: Event) -> Event {
        self.shards.told_by(0, event)
    }
}

/// A thread other than the first one.
pub(crate) struct Worker<'n> {
    node: &'n mut Node,
    inbox: Inbox,
    egress: Egress,
    clock: Clock,
    to_do: Receiver<Batch>,
    back: SyncSender<Batch>,
    tell: SyncSender<Event>,
    front: Waker,
    load: Load,
}

impl Worker<'_> {
    /// Drives the shard's node until it is told to stop or the other end is gone.
    pub fn work(mut self) -> Result<(), Error> {
        let mut now = self.clock.now();
        let mut goes_on = true;
        while goes_on {
            self.egress.handle_timeout(self.node, now);
            self.egress.transmit(self.node, now)?;
            self.tell();
            let batch = self.to_do.try_recv();
            let patience = match batch {
                Ok(_) => Some(Duration::ZERO),
                Err(_) => self.egress.patience(self.node, now),
            };
            let before = self.clock.now();
            if self.wait(patience)? {
                self.egress.blocked = None;
            }
            now = self.clock.now();
            if let Some(is_short) = self.load.waited(before, now) {
                self.node.set_processor_short(is_short);
            }
            match batch {
                Ok(batch) => self.take(now, batch),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => goes_on = false,
            }
            goes_on &= self.inbox.answer(now, self.node, &mut self.egress, &mut ());
        }
        self.node.close();
        let now = self.clock.now();
        self.egress.transmit(self.node, now)?;
        self.tell();
        Ok(())
    }

    /// Waits for the waker, for the timeout, or for a full socket. Returns `true` if the socket takes
    /// datagrams again.
    fn wait(&self, patience: Option<Duration>) -> Result<bool, Error> {
        let Egress { ports, tun, blocked, .. } = &self.egress;
        let ready = Reactor {
            sockets: ports.sockets(),
            wants_out: *blocked,
            reads: false,
            device: tun,
            sniffer: None,
            waker: &self.inbox.waker,
        }
        .wait(patience)?;
        Ok(ready.socket_out)
    }

    fn take(&mut self, now: Duration, mut batch: Batch) {
        let Worker { node, egress, .. } = self;
        batch.drain(|origin, bytes| {
            match origin {
                Origin::Device => node.handle_packet(now, bytes),
                Origin::Socket { from, ecn } => {
                    let sealed = egress.tap.as_ref().map(|_| bytes.to_vec());
                    node.handle_datagram(now, from, ecn, bytes);
                    if let Some(sealed) = sealed {
                        let opened = tap::opened(&sealed, bytes);
                        tap::packet(&mut egress.tap, What::Received { from, ecn, opened }, &sealed);
                    }
                }
            }
            egress.deliver(node);
        });
        egress.flush();
        // As many batches return as were sent; a surplus one is freed.
        let _ = self.back.try_send(batch);
    }

    fn tell(&mut self) {
        let mut told = false;
        while let Some(event) = self.node.poll_event() {
            // The first thread and its receivers are gone.
            told |= self.tell.send(event).is_ok();
        }
        if told {
            self.front.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gives_back_what_was_put_in_and_is_empty_then() {
        let from = SocketAddr::from(([127, 0, 0, 1], 9));
        let mut batch = Batch::default();
        batch.push(Origin::Device, b"one");
        batch.push(Origin::Socket { from, ecn: 2 }, b"");
        batch.push(Origin::Device, b"three");
        let mut taken = Vec::new();
        batch.drain(|origin, bytes| taken.push((matches!(origin, Origin::Device), bytes.to_vec())));
        assert_eq!(taken, [(true, b"one".to_vec()), (false, Vec::new()), (true, b"three".to_vec())]);
        assert!(batch.bytes.is_empty() && batch.items.is_empty());
    }
}
