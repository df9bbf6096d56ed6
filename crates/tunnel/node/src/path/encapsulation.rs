//! Traffic class of the outer header from the packets inside, and of inner packets from the outer header (RFC
//! 6040).
//!
//! On the way out a datagram has the traffic class of its packets. It copies the ECN codepoint (RFC 6040,
//! normal mode), so that routers on the way may mark instead of drop. It copies the DSCP if the configuration
//! enables it. A datagram has one class and may hold several packets. The RFC does not define that case: only
//! packets of equal class share one. Any other rule would let a mark reach a packet whose sender does not
//! support it, or lose one. Control frames have no class and join any datagram. A datagram with control
//! frames only is not ECN-capable.
//!
//! On the way in the codepoint of the datagram and that of each packet become one by RFC 6040's table
//! (section 4.2). The DSCP inside stays: the way between two nodes is a pipe (RFC 2983, 3.1).

use crate::path::ecn::{self, CE, ECT_0, ECT_1, NOT_ECT};

/// The DSCP's part of a traffic class.
pub const DSCP: u8 = 0xfc;

/// The traffic class of the datagram that is being written.
#[derive(Debug, Clone, Copy)]
pub struct OuterClass {
    copies_dscp: bool,
    class: Option<u8>,
}

impl OuterClass {
    /// Of a datagram that holds no packet yet.
    #[must_use]
    pub fn new(copies_dscp: bool) -> Self {
        OuterClass { copies_dscp, class: None }
    }

    /// Whether a packet of this class may join those that the datagram holds. If it may, the datagram has it
    /// now.
    #[must_use]
    pub fn admit(&mut self, inner: u8) -> bool {
        let wanted = if self.copies_dscp { inner } else { inner & !DSCP };
        *self.class.get_or_insert(wanted) == wanted
    }

    /// For the outer header.
    #[must_use]
    pub fn octet(self) -> u8 {
        self.class.unwrap_or(NOT_ECT)
    }
}

/// Result of RFC 6040 for the codepoints of a packet and of its datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combined {
    /// The packet's from now on; `None`: the packet is dropped, for a router met congestion and its sender
    /// would not understand a mark.
    pub inner: Option<u8>,
    /// Whether a sender that follows RFC 6040 and routers that follow RFC 3168 make no such pair (the table's
    /// "!!!").
    pub odd: bool,
}

/// RFC 6040, figure 4.
#[must_use]
pub fn combine(inner: u8, outer: u8) -> Combined {
    let (inner, outer) = (inner & CE, outer & CE);
    let (after, odd) = match (inner, outer) {
        (_, NOT_ECT) => (Some(inner), false),
        (NOT_ECT, CE) => (None, true),
        (NOT_ECT, _) => (Some(NOT_ECT), true),
        (_, CE) => (Some(CE), false),
        (CE, ECT_1) => (Some(CE), true),
        (CE, _) => (Some(CE), false),
        (ECT_0, ECT_1) => (Some(ECT_1), false),
        (_, _) => (Some(inner), false),
    };
    Combined { inner: after, odd }
}

/// Gives a packet the codepoint that it has now, having come in a datagram with the codepoint `outer`.
#[must_use]
pub fn decapsulate(packet: &mut [u8], outer: u8) -> Combined {
    let before = ecn::codepoint(packet);
    let combined = combine(before, outer);
    if let Some(after) = combined.inner.filter(|after| *after != before)
        && !ecn::set_codepoint(packet, after)
    {
        return Combined { inner: Some(before), ..combined };
    }
    combined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_rfc() {
        const DROP: Option<u8> = None;
        let outers = [NOT_ECT, ECT_0, ECT_1, CE];
        let table = [
            (NOT_ECT, [Some(NOT_ECT), Some(NOT_ECT), Some(NOT_ECT), DROP], [false, true, true, true]),
            (ECT_0, [Some(ECT_0), Some(ECT_0), Some(ECT_1), Some(CE)], [false; 4]),
            (ECT_1, [Some(ECT_1), Some(ECT_1), Some(ECT_1), Some(CE)], [false; 4]),
            (CE, [Some(CE), Some(CE), Some(CE), Some(CE)], [false, false, true, false]),
        ];
        for (inner, after, odd) in table {
            for (at, outer) in outers.into_iter().enumerate() {
                let expected = Combined { inner: after[at], odd: odd[at] };
                assert_eq!(combine(inner, outer), expected, "{inner:02b} in {outer:02b}");
            }
        }
    }

    #[test]
    fn only_packets_of_one_class_share_a_datagram() {
        let (voice, bulk) = (46 << 2 | ECT_0, ECT_0);
        let mut outer = OuterClass::new(true);
        assert_eq!(outer.octet(), NOT_ECT, "nothing but control");
        assert!(outer.admit(voice) && outer.admit(voice));
        assert!(!outer.admit(bulk) && !outer.admit(46 << 2 | CE));
        assert_eq!(outer.octet(), voice, "what was not admitted changes nothing");
        let mut outer = OuterClass::new(false);
        assert!(outer.admit(voice) && outer.admit(bulk) && !outer.admit(CE));
        assert_eq!(outer.octet(), ECT_0, "the DSCP stays at home");
    }
}
