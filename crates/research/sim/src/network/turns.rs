//! The sequence of events in a network.

use super::{Arrival, Medium, Member, Network, SPARE_BUFFERS, Sent};
use std::net::SocketAddr;
use std::time::Duration;

/// Turns of one call beyond which it counts as an endless loop.
const MOST_TURNS: u32 = 1_000_000;

impl<M: Medium> Network<M> {
    /// Does a node's due work: sends until it has nothing more or is busy, delivers, and reports events.
    pub fn poll(&mut self, index: usize) {
        self.members[index].node.handle_timeout(self.now);
        while self.members[index].busy_until <= self.now && self.transmit(index) {}
        self.collect(index);
    }

    /// Sends one datagram of a node; returns whether it had one.
    pub fn transmit(&mut self, from: usize) -> bool {
        let mut datagram = self.spare.pop().unwrap_or_default();
        let Some(transmit) = self.members[from].node.poll_transmit(self.now, &mut datagram) else {
            self.keep(datagram);
            return false;
        };
        self.medium.before_seal(from, &transmit, &mut datagram);
        transmit.seal(&mut datagram);
        let own = self.members[from].address;
        let source = SocketAddr::new(own.ip(), own.port() + transmit.source_port as u16);
        let to = self.members.iter().position(|member| member.takes(transmit.to)).filter(|&to| to != from);
        let mut hearers = std::mem::take(&mut self.hearers);
        let sent = Sent { from, to, source, transmit: &transmit, datagram: &datagram };
        let busy = self.medium.who_hears(&sent, &mut hearers);
        if !busy.is_zero() {
            self.members[from].busy_until = self.now + busy;
        }
        let last = hearers.pop();
        for hearer in hearers.drain(..) {
            let mut copy = self.spare_buffer();
            copy.extend_from_slice(&datagram);
            self.carry(Arrival { hearer, source, datagram: copy });
        }
        match last {
            Some(hearer) => self.carry(Arrival { hearer, source, datagram }),
            None => self.keep(datagram),
        }
        self.hearers = hearers;
        true
    }

    /// Sends all of a node's datagrams, and delivers those without delay. Returns their number. No timer
    /// runs, and no node answers.
    pub fn hand_over(&mut self, from: usize) -> usize {
        let mut sent = 0;
        while self.transmit(from) {
            sent += 1;
            while self.in_flight.keys().next().is_some_and(|&(at, _)| at <= self.now) {
                if let Some(hearer) = self.arrive() {
                    self.collect(hearer);
                }
            }
        }
        self.collect(from);
        sent
    }

    /// Advances time.
    ///
    /// # Panics
    ///
    /// If time stands still because a node requests the same instant repeatedly.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut timers = std::mem::take(&mut self.timers);
        let mut turns = 0;
        loop {
            let arrival = self.in_flight.keys().next().map(|&(at, _)| at);
            timers.clear();
            timers.extend(self.members.iter().map(|member| member.timeout(self.now)));
            let next = timers.iter().copied().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|&next| next <= end) else { break };
            turns += 1;
            assert!(turns < MOST_TURNS, "a timer that is always due: {timers:?} at {:?}", self.now);
            self.now = self.now.max(next);
            if arrival == Some(next) {
                if let Some(hearer) = self.arrive() {
                    self.poll(hearer);
                }
            } else {
                for (index, timer) in timers.iter().enumerate() {
                    if *timer == Some(next) {
                        self.poll(index);
                    }
                }
            }
        }
        self.timers = timers;
        self.now = end;
    }

    fn carry(&mut self, mut arrival: Arrival) {
        if let Some(bit) = arrival.hearer.flipped_bit {
            arrival.datagram[bit / 8] ^= 1 << (bit % 8);
        }
        self.in_flight.insert((self.now + arrival.hearer.after, self.number), arrival);
        self.number += 1;
    }

    /// Delivers the next datagram; returns its receiver.
    fn arrive(&mut self) -> Option<usize> {
        let (_, Arrival { hearer, source, mut datagram }) = self.in_flight.pop_first()?;
        let node = &mut self.members[hearer.node].node;
        match hearer.overhears {
            true => node.handle_overheard(self.now, source, &mut datagram),
            false => node.handle_datagram(self.now, source, hearer.ecn, &mut datagram),
        }
        self.keep(datagram);
        Some(hearer.node)
    }

    /// Takes a node's deliveries and events, without sending.
    pub fn collect(&mut self, index: usize) {
        let mut packet = self.spare.pop().unwrap_or_default();
        let member = &mut self.members[index];
        while member.node.poll_deliver(&mut packet) {
            member.delivered.push(std::mem::replace(&mut packet, self.spare.pop().unwrap_or_default()));
        }
        while let Some(event) = member.node.poll_event() {
            self.events.push((self.now, index, event));
        }
        self.keep(packet);
    }

    pub(super) fn spare_buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    pub(super) fn keep(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(buffer);
        }
    }
}

impl Member {
    /// Whether a datagram to this address is for this node: it accepts all of its ports.
    fn takes(&self, to: SocketAddr) -> bool {
        let lane = to.port().checked_sub(self.address.port());
        self.address.ip() == to.ip() && lane.is_some_and(|lane| usize::from(lane) < node::MAX_LANES)
    }

    /// Time at which it wants to be polled.
    fn timeout(&self, now: Duration) -> Option<Duration> {
        // A sending node does nothing else.
        let until_free = (self.busy_until > now).then_some(self.busy_until);
        self.node.poll_timeout().map(|at| at.max(self.busy_until)).into_iter().chain(until_free).min()
    }
}
