//! Segments that did not reach the host.

use super::{Connection, interface};
use crate::tcp::State;
use crate::tcp::segment::ahead;
use crate::tcp::undelivered::{Obstacle, Undelivered};
use smoltcp::socket::tcp;
use std::time::Duration;

/// Every path takes IPv4 packets of this many bytes, for all that matters (Linux's `min_pmtu`).
const LEAST_IPV4_BYTES: usize = 576;
/// Every path takes IPv6 packets of this many bytes (RFC 8200, section 5).
const LEAST_IPV6_BYTES: usize = 1280;

impl Connection {
    /// Takes a message that a segment did not reach the host.
    ///
    /// An unreachable host refuses a connection that begins, as in Linux. A narrow path makes segments
    /// shorter from now on, and those under way leave again. Messages about anything that is not under way
    /// are ignored (RFC 5927, section 4.1).
    pub fn handle_undelivered(&mut self, now: Duration, message: &Undelivered) {
        self.now = self.now.max(now);
        let is_ours = (message.ours, message.host) == (self.ours, self.host);
        if !is_ours || !self.is_under_way(message.sequence) {
            return;
        }
        match message.obstacle {
            Obstacle::Unreachable if self.tcp().state() == tcp::State::SynSent => {
                self.state = State::Refused;
                self.is_at_rest = true;
            }
            Obstacle::Unreachable => {}
            Obstacle::Narrow(most) => {
                let least = if self.ours.is_ipv4() { LEAST_IPV4_BYTES } else { LEAST_IPV6_BYTES };
                let mtu = most.max(least);
                if mtu < self.mtu {
                    self.mtu = mtu;
                    // An interface keeps the first MTU that it saw.
                    self.interface = interface(self.now, self.ours, mtu, 0);
                    if let (Some(acknowledged), Some(window)) = (self.acknowledged, self.host_window) {
                        self.repeat_acknowledgment(acknowledged, window);
                    }
                }
            }
        }
    }

    /// Whether a segment with this sequence number left, and the host has not acknowledged it.
    fn is_under_way(&self, sequence: u32) -> bool {
        let Some(next) = self.sent.next.filter(|_| matches!(self.state, State::Opening | State::Open)) else {
            return false;
        };
        // Until the first acknowledgment, only the SYN is.
        let oldest = self.acknowledged.unwrap_or(next.wrapping_sub(1));
        ahead(sequence, next) < 0 && ahead(sequence, oldest) >= 0
    }
}
