//! Perfect RE (section 5.3.1): no collisions, nothing forgotten, everybody hears everything.

use super::Counted;
use crate::address::{Address, Addresses};
use crate::boundaries::Boundaries;
use foldhash::fast::FixedState;
use std::collections::HashSet;
use wire::shim::slots::{Run, Slots};

/// Counts what would be sent.
#[derive(Debug)]
pub struct Ideal {
    boundaries: Boundaries,
    slot_bits: u8,
    addresses: Addresses,
    seen: HashSet<u64, FixedState>,
    of_packet: Vec<Address>,
}

impl Ideal {
    /// With references as long as slots of so many bits would be.
    #[must_use]
    pub fn new(boundaries: Boundaries, slot_bits: u8, network_key: &[u8; 32]) -> Self {
        let addresses = Addresses::new(network_key);
        Ideal { boundaries, slot_bits, addresses, seen: HashSet::default(), of_packet: Vec::new() }
    }

    /// A packet that is sent to somebody, with a MAC or without.
    pub fn encode(&mut self, packet: &[u8], with_mac: bool) -> Counted {
        let (mut runs, mut slots): (Vec<Run>, u32) = (Vec::new(), 0);
        let (mut literal_bytes, mut behind_slot, mut found_bytes) = (0, false, 0);
        self.of_packet.clear();
        for range in self.boundaries.chunks(packet) {
            let address = self.addresses.of(&packet[range.clone()]);
            self.of_packet.push(address);
            let found = self.seen.contains(&address.bits());
            match runs.last_mut() {
                Some(run) if found && behind_slot => run.slots += 1,
                _ if found => {
                    runs.push(Run { literal_bytes, slots: 1 });
                    literal_bytes = 0;
                }
                _ => literal_bytes += range.len() as u32,
            }
            behind_slot = found;
            slots += u32::from(found);
            found_bytes += if found { range.len() } else { 0 };
        }
        self.seen.extend(self.of_packet.iter().map(|address| address.bits()));
        let slots = vec![0; slots as usize];
        let mac = (with_mac && !slots.is_empty()).then_some([0; 8]);
        let shim_bytes = Slots { slot_bits: self.slot_bits, mac, runs: &runs, slots: &slots }.encoded_len();
        let encoded_bytes = packet.len() - found_bytes + shim_bytes;
        Counted {
            packet_bytes: packet.len() as u64,
            found_bytes: found_bytes as u64,
            sent_bytes: encoded_bytes.min(packet.len() + 1) as u64,
        }
    }
}
