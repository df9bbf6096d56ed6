//! The outputs of a node: its datagrams to the sockets, its packets to the device.

use crate::Error;
use crate::control::Counters;
use crate::outbox::{Envelope, Outbox, Sent};
use crate::ports::Ports;
use crate::tap::{self, Tap, What};
use crate::tun::Tun;
use node::Node;
use std::time::Duration;

/// Initial capacity of a packet buffer.
const PACKET_BYTES: usize = 2048;
/// Shortest wait of due work while a socket is full.
const FULL_FOR: Duration = Duration::from_millis(1);

/// The outputs.
pub(crate) struct Egress {
    pub tun: Tun,
    pub ports: Ports,
    pub counters: Counters,
    outbox: Outbox,
    /// The port whose socket was full at the last attempt.
    pub blocked: Option<usize>,
    /// The current capture.
    pub tap: Option<Tap>,
    delivery: Vec<u8>,
}

impl Egress {
    /// Outputs to this device and these sockets, which other threads may share.
    pub fn new(tun: &Tun, ports: &Ports) -> Self {
        Egress {
            tun: tun.share(),
            ports: ports.share(),
            counters: Counters::default(),
            outbox: Outbox::default(),
            blocked: None,
            tap: None,
            delivery: Vec::with_capacity(PACKET_BYTES),
        }
    }

    /// Does the due work, and passes the results to the kernel.
    pub fn handle_timeout(&mut self, node: &mut Node, now: Duration) {
        if node.poll_timeout().is_some_and(|at| at <= now) {
            node.handle_timeout(now);
            self.deliver(node);
            self.flush();
        }
    }

    /// Time until the next due work. While a socket is full, due work cannot leave, so it waits a moment and
    /// does not spin.
    pub fn patience(&self, node: &Node, now: Duration) -> Option<Duration> {
        let least = if self.blocked.is_some() { FULL_FOR } else { Duration::ZERO };
        node.poll_timeout().map(|at| at.saturating_sub(now).max(least))
    }

    /// Sends the node's datagrams as far as the sockets take them.
    pub fn transmit(&mut self, node: &mut Node, now: Duration) -> Result<(), Error> {
        if self.blocked.is_none() {
            let tap = &mut self.tap;
            let sent = self.outbox.send_all(&mut self.ports, &mut self.counters, |datagram| {
                let transmit = node.poll_transmit(now, datagram)?;
                let plain = tap.as_ref().map(|_| datagram.clone());
                transmit.seal(datagram);
                let node::Transmit { to, source_port, class, .. } = transmit;
                if let Some(plain) = plain {
                    let opened = tap::opened(datagram, &plain);
                    tap::packet(tap, What::Sent { to, source_port, class, opened }, datagram);
                }
                Some(Envelope { to, source_port, class })
            })?;
            for (to, bytes) in self.outbox.take_refused_sizes() {
                node.refuse_size(now, to, bytes);
            }
            self.blocked = match sent {
                Sent::All => None,
                Sent::Blocked { source_port } => Some(source_port),
            };
        }
        Ok(())
    }

    /// Passes one system call's datagrams to `take`, and the packets of its node to the kernel. `take`
    /// returns whether the datagram was for this node.
    pub fn receive(
        &mut self,
        node: &mut Node,
        mut take: impl FnMut(&mut Node, &mut crate::udp::Received<'_>) -> bool,
    ) -> Result<(), Error> {
        let Egress { tun, ports, counters, delivery, tap, .. } = self;
        ports
            .receive(|mut received| {
                let sealed = tap.as_ref().map(|_| received.datagram.to_vec());
                if take(node, &mut received)
                    && let Some(sealed) = sealed
                {
                    let crate::udp::Received { from, ecn, datagram } = received;
                    let opened = tap::opened(&sealed, datagram);
                    tap::packet(tap, What::Received { from, ecn, opened }, &sealed);
                }
                deliver(node, tun, counters, delivery, tap);
            })
            .map_err(Error::call("receive datagrams"))?;
        self.flush();
        Ok(())
    }

    /// Passes the node's restored packets to the device.
    pub fn deliver(&mut self, node: &mut Node) {
        deliver(node, &mut self.tun, &mut self.counters, &mut self.delivery, &mut self.tap);
    }

    /// Passes the device's delayed packets to the kernel.
    pub fn flush(&mut self) {
        count_refusal(self.tun.flush(), &mut self.counters);
    }
}

fn deliver(
    node: &mut Node,
    tun: &mut Tun,
    counters: &mut Counters,
    delivery: &mut Vec<u8>,
    tap: &mut Option<Tap>,
) {
    while node.poll_deliver(delivery) {
        if tap.is_some() {
            tap::packet(tap, What::Delivered, delivery);
        }
        count_refusal(tun.write(delivery), counters);
    }
}

fn count_refusal(written: std::io::Result<()>, counters: &mut Counters) {
    counters.packets_refused += u64::from(written.is_err());
}
