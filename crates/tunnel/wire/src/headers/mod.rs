//! Headers of the IP packets that are carried, as what differs from an earlier packet of the same flow.
//!
//! An IP and a TCP or UDP header have 40 to 72 bytes. Most repeat those of the flow's last packets, or follow
//! from the packet itself. The *context* is the header of an earlier packet that the receiver is known to
//! hold, so that no loss makes another packet unreadable. The caller names it by its own means. With it the
//! caller gives its *distance*: the number of packets since it left. If all of them were of this flow,
//! identification and sequence have advanced by as many steps, and need no bytes. Given the context, a header
//! becomes a *delta*:
//!
//! ```text
//! +-+-+-+-+-+-+-+-+   +---------------------------+   +-+-+-+-+-+-+-+-+   +------------------------------
//! |M|I|S|s|A|W|T|t|   | the fields that differ    |   |C|P|F|O|K|D|L|R|   | what seldom differs
//! +-+-+-+-+-+-+-+-+   +---------------------------+   +-+-+-+-+-+-+-+-+   +------------------------------
//!                                                     '------------------ if M is set ------------------'
//! ```
//!
//! | bit | field that differs | coded as |
//! |---|---|---|
//! | `I` | identification (IPv4) | signed difference of 16 bits from what the distance says (if the context's is not 0), varint |
//! | `S` | TCP sequence | difference in units of this packet's payload, signed, from what the distance says, varint |
//! | `s` | TCP sequence | signed difference, varint |
//! | `A` | TCP acknowledgment | difference, varint |
//! | `W` | TCP window | signed difference of 16 bits, varint |
//! | `T` | TCP timestamp | difference, varint |
//! | `t` | TCP timestamp echoed | difference, varint |
//! | `S` | for UDP: there is no checksum | |
//! | `C` | the transport's checksum is not right | itself, 16 bits |
//! | `P` | TCP's PSH flag | |
//! | `F` | other TCP flags, with the four reserved bits | themselves, 16 bits |
//! | `O` | TCP options behind the timestamps | length in 4 bytes (8 bits, or 16: all options), themselves |
//! | `K` | the same, if they are a selective acknowledgment | blocks (8 bits), edges as signed differences |
//! | `D` | traffic class | itself, 8 bits |
//! | `L` | time to live | itself, 8 bits |
//! | `R` | IPv4's *do not fragment*, or IPv6's flow label | itself, 8 or 24 bits |
//!
//! Differences are this header's number less the context's, modulo 2^32 (or 2^16). Signed ones are folded: 0,
//! -1, 1, -2 ... become 0, 1, 2, 3 ... Lengths, IPv4's checksum and a transport checksum that is right take
//! nothing.
//!
//! Restoration is exact to the bit for any field values. A header that cannot be coded is not compressed.

mod expand;
mod layout;
mod pass_over;

pub use expand::{Unfinished, expand, expand_header};
pub use pass_over::pass_over;

use crate::shim::MAX_RESTORED_BYTES;
use crate::varint;
use layout::{Layout, ipv4, ipv6, read_u16, read_u32, tcp, udp};

/// The bits of a delta's first byte.
mod first {
    pub(super) const MORE: u8 = 0x80;
    pub(super) const ID: u8 = 0x40;
    pub(super) const SEQUENCE_STEPS: u8 = 0x20;
    pub(super) const SEQUENCE: u8 = 0x10;
    pub(super) const ACK: u8 = 0x08;
    pub(super) const WINDOW: u8 = 0x04;
    pub(super) const TIMESTAMP: u8 = 0x02;
    pub(super) const ECHO: u8 = 0x01;
    /// For UDP.
    pub(super) const NO_CHECKSUM: u8 = 0x20;
}

/// The bits of its second one.
mod second {
    pub(super) const CHECKSUM: u8 = 0x80;
    pub(super) const PUSH: u8 = 0x40;
    pub(super) const FLAGS: u8 = 0x20;
    pub(super) const OPTIONS: u8 = 0x10;
    pub(super) const SACK: u8 = 0x08;
    pub(super) const CLASS: u8 = 0x04;
    pub(super) const TTL: u8 = 0x02;
    /// IPv4's flags or IPv6's flow label.
    pub(super) const LABEL: u8 = 0x01;
}

/// Added to the length of options that replace all of the context's, timestamps too.
const ALL_OPTIONS: u8 = 16;
/// The most blocks of a selective acknowledgment.
const MAX_SACK_BLOCKS: usize = 4;

/// An earlier packet of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context<'a> {
    /// Starts with its header; the following bytes do not matter.
    pub header: &'a [u8],
    /// How many packets ago it left, of this flow or any.
    pub distance: u32,
}

impl Context<'_> {
    /// By how much the identification has likely moved on. One that is 0 stays so (RFC 6864).
    fn id_steps(&self, id: u16) -> u16 {
        if id == 0 { 0 } else { self.distance as u16 }
    }
}

/// A packet whose header can be compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split<'a> {
    layout: Layout,
    /// IP and transport header.
    pub header: &'a [u8],
    /// The transport's payload, which reaches to the packet's end.
    pub payload: &'a [u8],
}

/// Splits a packet behind its headers, if they can be compressed: IPv4 or IPv6 without options, extension
/// headers or fragments, then TCP without urgent data or UDP; lengths that agree with the packet's, and for
/// IPv4 a checksum that is right. Whatever else there is has to be sent as it is.
#[must_use]
#[inline] // a result in memory would wait there for all writes before it
pub fn split(packet: &[u8]) -> Option<Split<'_>> {
    let layout = Layout::of(packet)?;
    let (header, payload) = packet.split_at_checked(layout.header_bytes)?;
    let ip_bytes = layout.ip_bytes();
    let length_by_ip = if layout.is_ipv6 {
        ip_bytes + usize::from(read_u16(header, ipv6::LENGTH))
    } else {
        usize::from(read_u16(header, ipv4::LENGTH))
    };
    let length_by_udp = || ip_bytes + usize::from(read_u16(header, ip_bytes + udp::LENGTH));
    let consistent = packet.len() <= MAX_RESTORED_BYTES
        && length_by_ip == packet.len()
        && (layout.is_tcp || length_by_udp() == packet.len())
        && (layout.is_ipv6 || Layout::ipv4_checksum(header) == read_u16(header, ipv4::CHECKSUM));
    consistent.then_some(Split { layout, header, payload })
}

/// The timestamp of a TCP segment and the one that it echoes (RFC 7323), if its options begin with them, as
/// nearly all do.
#[must_use]
pub fn timestamps(packet: &[u8]) -> Option<(u32, u32)> {
    let layout = Layout::of(packet).filter(|layout| layout.is_tcp)?;
    let at = layout.options_at() + tcp::TIMESTAMPS.len();
    layout.has_timestamps(packet).then(|| (read_u32(packet, at), read_u32(packet, at + 4)))
}

/// Appends to `out` the delta by which [`expand()`] gets the packet's header from the context's; it is always
/// shorter than the header.
///
/// `None` if the context's is no header of the same flow; then `out` is left as it was.
pub fn compress(context: &Context<'_>, packet: &Split<'_>, out: &mut Vec<u8>) -> Option<()> {
    let old_layout = Layout::of(context.header)?;
    let old = &context.header[..old_layout.header_bytes];
    let Split { layout, header: new, payload } = *packet;
    let same_flow = (old_layout.is_ipv6, old_layout.is_tcp) == (layout.is_ipv6, layout.is_tcp)
        && old_layout.flow(old) == layout.flow(new);
    if !same_flow {
        return None;
    }
    let start = out.len();
    out.push(0);
    let mut bits = 0;
    let mut put = |bit: u8, value: u32, out: &mut Vec<u8>| {
        if value != 0 {
            bits |= bit;
            varint::emit(value, out);
        }
    };
    if !layout.is_ipv6 {
        let id = |header| read_u16(header, ipv4::ID);
        let difference = id(new).wrapping_sub(id(old)).wrapping_sub(context.id_steps(id(old)));
        put(first::ID, fold_u16(difference), out);
    }
    let all_options = old_layout.has_timestamps(old) && !layout.has_timestamps(new);
    if layout.is_tcp {
        let at = layout.ip_bytes();
        let difference = |at| read_u32(new, at).wrapping_sub(read_u32(old, at));
        let sequence = difference(at + tcp::SEQUENCE);
        match steps(sequence, payload.len(), context.distance) {
            Some(steps) => put(first::SEQUENCE_STEPS, steps, out),
            None => put(first::SEQUENCE, fold(sequence), out),
        }
        put(first::ACK, difference(at + tcp::ACK), out);
        let window = |header| read_u16(header, at + tcp::WINDOW);
        put(first::WINDOW, fold_u16(window(new).wrapping_sub(window(old))), out);
        if old_layout.has_timestamps(old) && !all_options {
            put(first::TIMESTAMP, difference(layout.options_at() + 4), out);
            put(first::ECHO, difference(layout.options_at() + 8), out);
        }
    }
    let checksum = read_u16(new, layout.checksum_at());
    let no_checksum = !layout.is_tcp && checksum == 0;
    if no_checksum {
        bits |= first::NO_CHECKSUM;
    }

    let second_at = out.len();
    out.push(0);
    let mut more = 0;
    if !no_checksum && checksum != layout.transport_checksum(new, payload) {
        more |= second::CHECKSUM;
        out.extend_from_slice(&checksum.to_be_bytes());
    }
    if layout.is_tcp {
        more |= compress_flags(&old[layout.ip_bytes()..], &new[layout.ip_bytes()..], out);
        let shared = if old_layout.has_timestamps(old) && !all_options { tcp::TIMESTAMPS_BYTES } else { 0 };
        let options_at = layout.options_at() + shared;
        let options = &new[options_at..];
        if all_options || options != &old[options_at..] {
            let ack = read_u32(new, layout.ip_bytes() + tcp::ACK);
            more |= compress_options(options, all_options, ack, out);
        }
    }
    if class(layout, new) != class(layout, old) {
        more |= second::CLASS;
        out.push(class(layout, new));
    }
    if new[layout.ttl_at()] != old[layout.ttl_at()] {
        more |= second::TTL;
        out.push(new[layout.ttl_at()]);
    }
    let label = if layout.is_ipv6 { label(new) } else { [0, 0, new[ipv4::FRAGMENT]] };
    let old_label = if layout.is_ipv6 { self::label(old) } else { [0, 0, old[ipv4::FRAGMENT]] };
    if label != old_label {
        more |= second::LABEL;
        out.extend_from_slice(if layout.is_ipv6 { &label } else { &label[2..] });
    }
    if more == 0 {
        out.truncate(second_at);
    } else {
        bits |= first::MORE;
        out[second_at] = more;
    }
    out[start] = bits;
    Some(())
}

/// A TCP sequence's difference in units of the payload, less the distance, folded; if that is no longer than
/// the difference itself, or the difference is none: without either bit the distance is meant.
fn steps(difference: u32, payload_bytes: usize, distance: u32) -> Option<u32> {
    let payload_bytes = payload_bytes as u32;
    let steps = difference.checked_div(payload_bytes)?;
    let folded = fold(steps.wrapping_sub(distance));
    let shorter = difference == 0 || varint::encoded_len(folded) <= varint::encoded_len(fold(difference));
    (shorter && steps * payload_bytes == difference).then_some(folded)
}

fn compress_flags(old_tcp: &[u8], new_tcp: &[u8], out: &mut Vec<u8>) -> u8 {
    let flags = |tcp: &[u8]| [tcp[tcp::OFFSET] & 0x0f, tcp[tcp::FLAGS]];
    let [old, new] = [flags(old_tcp), flags(new_tcp)];
    if new == old {
        0
    } else if new == [old[0], old[1] ^ tcp::PUSH] {
        second::PUSH
    } else {
        out.extend_from_slice(&new);
        second::FLAGS
    }
}

fn compress_options(options: &[u8], all_options: bool, ack: u32, out: &mut Vec<u8>) -> u8 {
    if !all_options && let Some(blocks) = sack_blocks(options) {
        out.push(blocks.len() as u8);
        let mut last = ack;
        for block in blocks {
            for at in [0, 4] {
                let edge = read_u32(block, at);
                varint::emit(fold(edge.wrapping_sub(last)), out);
                last = edge;
            }
        }
        return second::SACK;
    }
    out.push((options.len() / 4) as u8 | if all_options { ALL_OPTIONS } else { 0 });
    out.extend_from_slice(options);
    second::OPTIONS
}

/// The blocks of a selective acknowledgment that is aligned as usual, if the options are nothing else.
fn sack_blocks(options: &[u8]) -> Option<&[[u8; 8]]> {
    let (&length, blocks) = options.strip_prefix(&tcp::SACK)?.split_first()?;
    let (blocks, rest) = blocks.as_chunks::<8>();
    let usual = rest.is_empty()
        && (1..=MAX_SACK_BLOCKS).contains(&blocks.len())
        && usize::from(length) == 2 + 8 * blocks.len();
    usual.then_some(blocks)
}

/// The traffic class.
fn class(layout: Layout, header: &[u8]) -> u8 {
    if layout.is_ipv6 { (read_u16(header, 0) >> 4) as u8 } else { header[ipv4::CLASS] }
}

/// IPv6's flow label.
fn label(header: &[u8]) -> [u8; 3] {
    [header[1] & 0x0f, header[2], header[3]]
}

/// A signed difference as a number that is small if the difference is.
fn fold(difference: u32) -> u32 {
    difference << 1 ^ ((difference as i32) >> 31) as u32
}

/// The same of 16 bits.
fn fold_u16(difference: u16) -> u32 {
    u32::from(difference << 1 ^ ((difference as i16) >> 15) as u16)
}

/// The difference that was folded; modulo 2^16 also if it was of 16 bits.
fn unfold(folded: u32) -> u32 {
    folded >> 1 ^ (folded & 1).wrapping_neg()
}

#[cfg(test)]
mod tests;
