//! The loop between a node and the machine: one thread.

use crate::clock::Clock;
use crate::control::{Counters, Inbox, Request, Snapshot};
use crate::ear::Ear;
use crate::load::Load;
use crate::outbox::{Envelope, Outbox, Sent};
use crate::rates::Watch;
use crate::reactor::{Reactor, Ready};
use crate::tun::Tun;
use crate::{Error, System, mss};
use node::Node;
use std::os::fd::AsFd;
use std::time::Duration;

/// Packets read from the device before what became of them is sent, if they do not come in larger super-segments:
/// enough for a row of datagrams, few enough for the node's queue not to overflow while the socket is idle.
const PACKETS: usize = 16;
/// What a buffer for packets holds at first.
const PACKET_BYTES: usize = 2048;
/// Overhearing is shed first when the processor is short, which shows in the socket or the device having more to do
/// every time: after this many such turns in a row the ear waits for one in which they have not. Fewer would shed what
/// comes beside a short burst; at 32 packets a turn these are some 100 µs of work.
const BUSY_TURNS: u32 = 4;
/// How long a node that stops may wait for the socket to take its goodbyes.
const GOODBYE: Duration = Duration::from_millis(100);

/// Drives `node` on `system` until it is told to stop or the device goes away. `clock` is the one that `node` was
/// started by; `on_event` is given what the node tells.
pub fn drive(
    system: &mut System,
    node: &mut Node,
    clock: Clock,
    inbox: &Inbox,
    on_event: impl FnMut(node::Event),
) -> Result<(), Error> {
    let control = inbox.control.clone();
    // only who shares with several wants to know
    let _watch = if node.shares() { Some(Watch::begin(move |rates| control.rates(rates))?) } else { None };
    Driver {
        system,
        node,
        clock,
        counters: Counters::default(),
        outbox: Outbox::default(),
        blocked: None,
        busy_turns: 0,
        load: Load::default(),
        delivery: Vec::with_capacity(PACKET_BYTES),
        on_event,
    }
    .run(inbox)
}

struct Driver<'a, F> {
    system: &'a mut System,
    node: &'a mut Node,
    clock: Clock,
    counters: Counters,
    outbox: Outbox,
    /// The port whose socket was full when last asked.
    blocked: Option<usize>,
    /// Turns in a row in which the socket or the device had something to do.
    busy_turns: u32,
    load: Load,
    delivery: Vec<u8>,
    on_event: F,
}

impl<F: FnMut(node::Event)> Driver<'_, F> {
    /// Packets are told one time a turn: a turn takes microseconds, and nothing in it is due sooner.
    fn run(mut self, inbox: &Inbox) -> Result<(), Error> {
        let mut now = self.clock.now();
        loop {
            if self.node.poll_timeout().is_some_and(|at| at <= now) {
                self.node.handle_timeout(now);
                deliver(self.node, &mut self.system.tun, &mut self.counters, &mut self.delivery);
                flush(&mut self.system.tun, &mut self.counters);
            }
            self.transmit(now)?;
            while let Some(event) = self.node.poll_event() {
                self.system.follow(&event);
                (self.on_event)(event);
            }
            let patience = self.node.poll_timeout().map(|at| at.saturating_sub(now));
            let before = self.clock.now();
            let ready = self.wait(inbox, patience)?;
            now = self.clock.now();
            if let Some(is_short) = self.load.waited(before, now) {
                self.node.processor_is_short(is_short);
            }
            if ready.socket_out {
                self.blocked = None;
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
            if ready.woken && !self.answer(inbox, now) {
                return self.say_goodbye(inbox);
            }
        }
    }

    fn wait(&self, inbox: &Inbox, patience: Option<Duration>) -> Result<Ready, Error> {
        let System { ports, tun, ear, .. } = &*self.system;
        let (sockets, ear) = (ports.sockets(), ear.as_ref().map(AsFd::as_fd));
        Reactor { sockets, wants_out: self.blocked, device: tun, ear, bell: &inbox.bell }.wait(patience)
    }

    /// Sends what the node has, as far as the socket takes it.
    fn transmit(&mut self, now: Duration) -> Result<(), Error> {
        if self.blocked.is_none() {
            let node = &mut *self.node;
            let sent = self.outbox.send_all(&mut self.system.ports, &mut self.counters, |datagram| {
                let transmit = node.poll_transmit(now, datagram)?;
                transmit.seal(datagram);
                let node::Transmit { to, source_port, class, .. } = transmit;
                Some(Envelope { to, source_port, class })
            })?;
            self.blocked = match sent {
                Sent::All => None,
                Sent::Blocked { source_port } => Some(source_port),
            };
        }
        Ok(())
    }

    /// Hands the node one system call's worth of datagrams, and what it makes of each to the kernel.
    fn receive(&mut self, now: Duration) -> Result<(), Error> {
        let System { ports, tun, .. } = &mut *self.system;
        let (node, counters, delivery) = (&mut *self.node, &mut self.counters, &mut self.delivery);
        ports
            .receive(|received| {
                node.handle_datagram(now, received.from, received.ecn, received.datagram);
                deliver(node, tun, counters, delivery);
            })
            .map_err(Error::call("receive datagrams"))?;
        flush(tun, counters);
        Ok(())
    }

    /// Hears one system call's worth of what is sent to others. That its interface went away or down is no reason to stop:
    /// the tunnel works without.
    fn overhear(&mut self, now: Duration) {
        let Some(ear) = &mut self.system.ear else { return };
        let node = &mut *self.node;
        let heard =
            ear.receive(now, |overheard| node.handle_overheard(now, overheard.from, overheard.datagram));
        if let Err(error) = heard {
            tracing::warn!("nothing is overheard: {error}");
        }
    }

    /// Hands the node a few packets of the kernel's.
    fn read_packets(&mut self, now: Duration) -> Result<(), Error> {
        let System { tun, mss_clamp, .. } = &mut *self.system;
        let (node, counters) = (&mut *self.node, &mut self.counters);
        let mut packets = 0;
        while packets < PACKETS
            && tun.read(|packet| {
                packets += 1;
                if mss_clamp.is_some_and(|mtu| mss::clamp(packet, mtu)) {
                    counters.segment_sizes_clamped += 1;
                }
                node.handle_packet(now, packet);
            })?
        {}
        // what the senders of packets are told that cannot go on
        deliver(node, tun, counters, &mut self.delivery);
        flush(tun, counters);
        Ok(())
    }

    /// Answers the other threads. `false`: one of them said to stop.
    fn answer(&mut self, inbox: &Inbox, now: Duration) -> bool {
        for request in inbox.requests.try_iter() {
            match request {
                // whoever asked may have lost patience
                Request::Status(answer) => {
                    let overheard = self.system.ear.as_mut().map(Ear::heard);
                    let snapshot = Snapshot { node: self.node.status(now), io: self.counters, overheard };
                    let _ = answer.try_send(snapshot);
                }
                Request::Rates(rates) => {
                    rates.iter().for_each(|(to, rate)| self.node.radio_sends(now, *to, *rate));
                }
                Request::Stop => return false,
            }
        }
        true
    }

    /// Tells the peers that this node goes away, so that they do not wait for it.
    fn say_goodbye(mut self, inbox: &Inbox) -> Result<(), Error> {
        self.node.close();
        let end = self.clock.now() + GOODBYE;
        self.transmit(self.clock.now())?;
        while self.blocked.is_some() && self.clock.now() < end {
            let patience = end.saturating_sub(self.clock.now());
            if self.wait(inbox, Some(patience))?.socket_out {
                self.blocked = None;
            }
            self.transmit(self.clock.now())?;
        }
        while let Some(event) = self.node.poll_event() {
            (self.on_event)(event);
        }
        Ok(())
    }
}

/// Hands the device what the node has restored.
fn deliver(node: &mut Node, tun: &mut Tun, counters: &mut Counters, delivery: &mut Vec<u8>) {
    while node.poll_deliver(delivery) {
        count_refusal(tun.write(delivery), counters);
    }
}

/// Hands the kernel what the device holds back.
fn flush(tun: &mut Tun, counters: &mut Counters) {
    count_refusal(tun.flush(), counters);
}

fn count_refusal(written: std::io::Result<()>, counters: &mut Counters) {
    counters.packets_refused += u64::from(written.is_err());
}
