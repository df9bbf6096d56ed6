//! Ethernet, with VLAN tags, MPLS labels and PPPoE between it and IP.

use super::{Skipped, ip};
use etherparse::{Ethernet2HeaderSlice, SingleVlanHeaderSlice};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE_SESSION: u16 = 0x8864;
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// More tags than this do not occur.
const MAX_TAGS: usize = 8;

/// An Ethernet frame.
pub(super) fn unpack(frame: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), Skipped> {
    let header = Ethernet2HeaderSlice::from_slice(frame).map_err(|_| Skipped::Malformed)?;
    payload(header.ether_type().0, &frame[header.slice().len()..], each)
}

/// Passes the payload behind an EtherType to `each`.
pub(super) fn payload(
    mut ether_type: u16,
    mut bytes: &[u8],
    each: &mut dyn FnMut(&[u8]),
) -> Result<(), Skipped> {
    for _ in 0..MAX_TAGS {
        match ether_type {
            IPV4 | IPV6 => return ip(bytes, each),
            tag if VLAN.contains(&tag) => {
                let header = SingleVlanHeaderSlice::from_slice(bytes).map_err(|_| Skipped::Malformed)?;
                ether_type = header.ether_type().0;
                bytes = &bytes[header.slice().len()..];
            }
            label if MPLS.contains(&label) => {
                let (entry, rest) = bytes.split_first_chunk::<4>().ok_or(Skipped::Malformed)?;
                bytes = rest;
                let bottom_of_stack = entry[2] & 1 == 1;
                if bottom_of_stack {
                    // MPLS does not say what it carries.
                    return ip(bytes, each);
                }
            }
            PPPOE_SESSION => {
                // Version and type, code, session, length; then PPP's protocol.
                let (header, rest) = bytes.split_first_chunk::<8>().ok_or(Skipped::Malformed)?;
                return match u16::from_be_bytes([header[6], header[7]]) {
                    PPP_IPV4 | PPP_IPV6 => ip(rest, each),
                    _ => Err(Skipped::Other),
                };
            }
            _ => return Err(Skipped::Other),
        }
    }
    Err(Skipped::Malformed)
}
