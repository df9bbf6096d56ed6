//! The loop between a node and the machine, in one thread, or in several with a shard of the node's peers
//! each ([`crate::workers`]).

use crate::clock::Clock;
use crate::control::{Inbox, Surroundings};
use crate::egress::Egress;
use crate::load::Load;
use crate::rates::Watch;
use crate::reactor::{Reactor, Ready};
use crate::sniffer::{Heard, Sniffer};
use crate::tap::{self, What};
use crate::workers::WorkerPool;
use crate::{Control, Error, System, mss};
use node::{Node, Roster, Shards};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

/// Packets read from the device before their results are sent, if they do not come in larger super-segments.
/// The number fills a row of datagrams, and does not overflow the node's queue while the socket is idle.
const PACKETS: usize = 16;
/// When the processor is the bottleneck, overhearing stops first. After this many consecutive turns with work
/// at the socket or the device, the sniffer waits for a turn without. A smaller number would drop frames
/// beside a short burst. At 32 packets a turn these are some 100 µs of work.
const BUSY_TURNS: u32 = 4;
/// Longest wait of a stopping node for the socket to take its farewells.
const GOODBYE: Duration = Duration::from_millis(100);

/// Drives the nodes of `shards` on `system`, one thread each, until they are told to stop or the device is
/// gone. `clock` is the clock of their start. There are as many `inboxes` as nodes, and `control` reaches all
/// of them. `on_event` receives the nodes' events.
pub fn drive(
    system: &mut System,
    (shards, nodes): (&mut Shards, &mut [Node]),
    clock: Clock,
    (control, inboxes): (&Control, Vec<Inbox>),
    on_event: impl FnMut(node::Event),
) -> Result<(), Error> {
    // Only a node that shares content with several peers needs the rates.
    let shares = nodes.iter().any(Node::shares);
    let _watch = if shares {
        let control = control.clone();
        Some(Watch::begin(move |rates| control.rates(&rates))?)
    } else {
        None
    };
    let mut own_and_others = nodes.iter_mut().zip(inboxes);
    let Some((node, inbox)) = own_and_others.next() else { return Ok(()) };
    thread::scope(|scope| {
        let mut workers = WorkerPool::new(shards);
        let mut threads = Vec::new();
        for (index, (node, other)) in own_and_others.enumerate() {
            let egress = Egress::new(&system.tun, &system.ports);
            let worker = workers.join(node, other, egress, clock, &inbox.waker);
            let work = move || {
                let worked = worker.work();
                control.stop(); // no thread goes on alone
                worked
            };
            let thread =
                thread::Builder::new().name(format!("shard {}", index + 1)).spawn_scoped(scope, work);
            threads.push(thread.map_err(Error::call("start a thread"))?);
        }
        let egress = Egress::new(&system.tun, &system.ports);
        let (busy_turns, load) = (0, Load::default());
        let driver = Driver { system, node, workers, clock, egress, busy_turns, load, on_event };
        let driven = driver.run(&inbox);
        control.stop();
        let worked = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        worked.fold(driven, Result::and)
    })
}

/// What surrounds the first thread's node.
struct First<'a, 'b> {
    system: &'a mut System,
    workers: &'a mut WorkerPool<'b>,
}

impl Surroundings for First<'_, '_> {
    fn overheard(&mut self) -> Option<Heard> {
        self.system.sniffer.as_mut().map(Sniffer::heard)
    }

    fn adopt(&mut self, roster: &Roster) -> Result<(), Error> {
        self.system.adopt(roster)?;
        self.workers.adopt(roster);
        Ok(())
    }
}

struct Driver<'a, F> {
    system: &'a mut System,
    node: &'a mut Node,
    workers: WorkerPool<'a>,
    clock: Clock,
    egress: Egress,
    /// Consecutive turns with work at the socket or the device.
    busy_turns: u32,
    load: Load,
    on_event: F,
}

impl<F: FnMut(node::Event)> Driver<'_, F> {
    /// The node gets the time once a turn: a turn takes microseconds, and no timer in it is shorter.
    fn run(mut self, inbox: &Inbox) -> Result<(), Error> {
        let mut now = self.clock.now();
        loop {
            self.egress.handle_timeout(self.node, now);
            self.egress.transmit(self.node, now)?;
            self.tell();
            let patience = self.egress.patience(self.node, now);
            let before = self.clock.now();
            let ready = self.wait(inbox, patience)?;
            now = self.clock.now();
            if let Some(is_short) = self.load.waited(before, now) {
                self.node.set_processor_short(is_short);
            }
            if ready.socket_out {
                self.egress.blocked = None;
            }
            if ready.socket_in {
                self.receive(now)?;
            }
            if ready.device_in {
                self.read_packets(now)?;
            }
            self.busy_turns =
                if ready.socket_in || ready.device_in { self.busy_turns.saturating_add(1) } else { 0 };
            if ready.heard && self.busy_turns <= BUSY_TURNS {
                self.overhear(now);
            }
            let Driver { system, workers, node, egress, .. } = &mut self;
            if ready.woken && !inbox.answer(now, node, egress, &mut First { system, workers }) {
                return self.say_goodbye(inbox);
            }
        }
    }

    fn wait(&self, inbox: &Inbox, patience: Option<Duration>) -> Result<Ready, Error> {
        let Egress { ports, tun, blocked, .. } = &self.egress;
        let (sockets, sniffer) = (ports.sockets(), self.system.sniffer.as_ref().map(AsFd::as_fd));
        Reactor { sockets, wants_out: *blocked, reads: true, device: tun, sniffer, waker: &inbox.waker }
            .wait(patience)
    }

    /// Reports the nodes' events.
    fn tell(&mut self) {
        while let Some(event) = self.node.poll_event() {
            let event = self.workers.own(event);
            self.system.follow(&event);
            (self.on_event)(event);
        }
        for event in self.workers.events() {
            self.system.follow(&event);
            (self.on_event)(event);
        }
    }

    /// Passes one system call's datagrams to the nodes, and this node's packets to the kernel.
    fn receive(&mut self, now: Duration) -> Result<(), Error> {
        let Driver { node, workers, egress, .. } = self;
        egress.receive(node, |node, received| {
            let is_for_others = workers.takes_datagram(received.from, received.ecn, received.datagram);
            if !is_for_others {
                node.handle_datagram(now, received.from, received.ecn, received.datagram);
            }
            !is_for_others
        })?;
        egress.counters.handed_over_lost += workers.hand_over();
        Ok(())
    }

    /// Reads one system call's overheard frames. A missing or inactive interface does not stop the driver,
    /// because the tunnel works without it.
    fn overhear(&mut self, now: Duration) {
        let Some(sniffer) = &mut self.system.sniffer else { return };
        let node = &mut *self.node;
        let heard =
            sniffer.receive(now, |overheard| node.handle_overheard(now, overheard.from, overheard.datagram));
        if let Err(error) = heard {
            tracing::warn!("nothing is overheard: {error}");
        }
    }

    /// Passes a few packets of the kernel to the nodes.
    fn read_packets(&mut self, now: Duration) -> Result<(), Error> {
        let Driver { node, workers, egress, system, .. } = self;
        let Egress { tun, counters, tap, .. } = &mut *egress;
        let mut packets = 0;
        while packets < PACKETS
            && tun.read(|packet| {
                packets += 1;
                if system.mss_clamp.is_some_and(|mtu| mss::clamp(packet, mtu)) {
                    counters.segment_sizes_clamped += 1;
                }
                if tap.is_some() {
                    tap::packet(tap, What::Offered, packet);
                }
                if !workers.takes_packet(packet) {
                    node.handle_packet(now, packet);
                }
            })?
        {}
        counters.handed_over_lost += workers.hand_over();
        // ICMP messages to the senders of packets that cannot be forwarded.
        egress.deliver(node);
        egress.flush();
        Ok(())
    }

    /// Sends farewells to the peers, so that they do not wait for this node.
    fn say_goodbye(mut self, inbox: &Inbox) -> Result<(), Error> {
        self.node.close();
        let end = self.clock.now() + GOODBYE;
        self.egress.transmit(self.node, self.clock.now())?;
        while self.egress.blocked.is_some() && self.clock.now() < end {
            let patience = end.saturating_sub(self.clock.now());
            if self.wait(inbox, Some(patience))?.socket_out {
                self.egress.blocked = None;
            }
            self.egress.transmit(self.node, self.clock.now())?;
        }
        self.tell();
        Ok(())
    }
}
