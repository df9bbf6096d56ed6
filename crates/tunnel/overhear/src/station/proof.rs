//! Proof that a packet was restored exactly, by its MAC over the full number.
//!
//! Units carry the low 24 bits of a number. A station that joins after 2^24 packets cannot know the rest. The
//! first MAC that verifies tells it.

use crate::names::PacketNumber;
use re::mac::PacketMac;

/// The bits of a number that units carry.
const CARRIED_BITS: u32 = 24;
/// The most values of the higher bits that are tried: 2^36 packets, and about a millisecond for a full one.
const MOST_TURNS: u64 = 1 << 12;
/// The most packets for which they are tried. A peer whose MACs never verify costs no more.
const MOST_SEARCHES: u32 = 64;

/// The MAC key of an association, and the higher bits of its numbers.
#[derive(Debug)]
pub struct Proof {
    /// None without an agreed MAC: every packet then counts as proved.
    mac: Option<PacketMac>,
    /// To add to the caller's numbers.
    above: u64,
    /// Packets for which other values may still be tried. None once a MAC has verified.
    searches_left: u32,
}

impl Proof {
    /// With the key of the association.
    pub fn new(mac_key: Option<[u8; 32]>) -> Self {
        Proof { mac: mac_key.map(|key| PacketMac::new(&key)), above: 0, searches_left: MOST_SEARCHES }
    }

    /// Whether packets with removed chunks need a MAC.
    pub fn is_required(&self) -> bool {
        self.mac.is_some()
    }

    /// Whether the MAC proves the packet.
    pub fn holds(&mut self, of_packet: Option<[u8; 8]>, number: PacketNumber, packet: &[u8]) -> bool {
        let (mac, of_packet) = match (&self.mac, of_packet) {
            (Some(mac), Some(of_packet)) => (mac, of_packet),
            (Some(_), None) => return false,
            (None, _) => return true,
        };
        let turns = if self.searches_left > 0 { MOST_TURNS } else { 0 };
        let found = std::iter::once(self.above)
            .chain((1..turns).map(|turn| turn << CARRIED_BITS))
            .find(|above| mac.verifies(number.0.saturating_add(*above), packet, of_packet));
        (self.above, self.searches_left) = match found {
            Some(above) => (above, 0),
            None => (self.above, self.searches_left.saturating_sub(1)),
        };
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];
    const PACKET: &[u8] = b"a packet";

    fn mac(number: u64) -> Option<[u8; 8]> {
        Some(PacketMac::new(&KEY).of(number, PACKET))
    }

    #[test]
    fn the_first_mac_tells_a_late_station_the_higher_bits() {
        let mut proof = Proof::new(Some(KEY));
        let sent = (41 << 24) + 5;
        assert!(proof.holds(mac(sent), PacketNumber(5), PACKET));
        assert!(proof.holds(mac(sent + (1 << 24)), PacketNumber(5 + (1 << 24)), PACKET));
        // what is known does not change
        assert!(!proof.holds(mac(sent + (1 << 24)), PacketNumber(5), PACKET));
        assert!(!proof.holds(mac(5), PacketNumber(5), PACKET));
    }

    #[test]
    fn a_wrong_mac_proves_nothing_and_tells_nothing() {
        let mut proof = Proof::new(Some(KEY));
        assert!(!proof.holds(mac(6), PacketNumber(5), PACKET));
        assert!(!proof.holds(mac((MOST_TURNS << CARRIED_BITS) + 5), PacketNumber(5), PACKET));
        assert!(!proof.holds(None, PacketNumber(5), PACKET));
        assert!(proof.holds(mac(5), PacketNumber(5), PACKET));
    }

    #[test]
    fn macs_that_never_verify_end_the_search() {
        let mut proof = Proof::new(Some(KEY));
        for _ in 0..MOST_SEARCHES {
            assert!(!proof.holds(mac(6), PacketNumber(5), PACKET));
        }
        assert!(!proof.holds(mac((1 << CARRIED_BITS) + 5), PacketNumber(5), PACKET));
        assert!(proof.holds(mac(5), PacketNumber(5), PACKET));
    }

    #[test]
    fn without_a_key_every_packet_counts_as_proved() {
        assert!(Proof::new(None).holds(None, PacketNumber(0), PACKET));
    }
}
