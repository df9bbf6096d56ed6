//! Deltas back to headers.

use super::layout::{
    Layout, MAX_OPTION_BYTES, TCP_BYTES, ipv4, ipv6, read_u16, read_u32, tcp, udp, write_u16, write_u32,
};
use super::{ALL_OPTIONS, Context, MAX_SACK_BLOCKS, first, second, unfold};
use crate::shim::MAX_RESTORED_BYTES;
use crate::{Malformed, take, take_array, varint};

/// A header that still lacks what follows from the payload behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "lengths and checksums are still to be filled in"]
pub struct Unfinished {
    layout: Layout,
    /// How many payloads the TCP sequence has to be raised by.
    sequence_steps: u32,
    /// The transport's checksum is still to be computed.
    checksum_is_right: bool,
}

impl Unfinished {
    /// Bytes of the header.
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        self.layout.header_bytes
    }

    /// Fills in lengths, sequence and checksums. `packet` is the header, as [`expand_header`] appended it,
    /// with the whole payload behind it. Malformed if that is more than an IP packet can be; then nothing is
    /// changed.
    pub fn finish(self, packet: &mut [u8]) -> Result<(), Malformed> {
        let Unfinished { layout, sequence_steps, checksum_is_right } = self;
        let packet_bytes = packet.len();
        if !(layout.header_bytes..=MAX_RESTORED_BYTES).contains(&packet_bytes) {
            return Err(Malformed("header delta: packet length"));
        }
        let (header, payload) = packet.split_at_mut(layout.header_bytes);
        let ip_bytes = layout.ip_bytes();
        let behind_ip = (packet_bytes - ip_bytes) as u16;
        if layout.is_ipv6 {
            write_u16(header, ipv6::LENGTH, behind_ip);
        } else {
            write_u16(header, ipv4::LENGTH, packet_bytes as u16);
            write_u16(header, ipv4::CHECKSUM, Layout::ipv4_checksum(header));
        }
        if layout.is_tcp {
            let at = ip_bytes + tcp::SEQUENCE;
            let steps = sequence_steps.wrapping_mul(payload.len() as u32);
            write_u32(header, at, read_u32(header, at).wrapping_add(steps));
        } else {
            write_u16(header, ip_bytes + udp::LENGTH, behind_ip);
        }
        if checksum_is_right {
            write_u16(header, layout.checksum_at(), layout.transport_checksum(header, payload));
        }
        Ok(())
    }
}

/// Takes a delta off the front of `delta` and appends the packet to `out`: its header, got from the
/// context's, and its payload.
///
/// `context` has to start with the same header as it did for [`super::compress`]. All three inputs may be
/// anything; malformed if the context is no header, if the delta does not fit it, or if the packet would be
/// longer than an IP packet can be. Then `delta` and `out` are left as they were.
pub fn expand(
    context: &Context<'_>,
    delta: &mut &[u8],
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let (start, mut rest) = (out.len(), *delta);
    let unfinished = expand_header(context, &mut rest, out)?;
    if payload.len() > MAX_RESTORED_BYTES {
        out.truncate(start);
        return Err(Malformed("header delta: packet length"));
    }
    out.extend_from_slice(payload);
    let finished = unfinished.finish(&mut out[start..]);
    match finished {
        Ok(()) => *delta = rest,
        Err(_) => out.truncate(start),
    }
    finished
}

/// Takes a delta off the front of `delta` and appends the header to `out`, for a caller that then appends the
/// payload and finishes the packet: [`Unfinished::finish`]. Malformed as [`expand`] says; then `delta` and
/// `out` are left as they were.
pub fn expand_header(
    context: &Context<'_>,
    delta: &mut &[u8],
    out: &mut Vec<u8>,
) -> Result<Unfinished, Malformed> {
    let layout = Layout::of(context.header).ok_or(Malformed("header delta: context"))?;
    let start = out.len();
    out.extend_from_slice(&context.header[..layout.header_bytes]);
    let mut rest = *delta;
    let expanded = patch(context, layout, &mut rest, start, out);
    match expanded {
        Ok(_) => *delta = rest,
        Err(_) => out.truncate(start),
    }
    expanded
}

/// Makes the copy of the context's header that stands in `out` from `start` on the packet's header.
fn patch(
    context: &Context<'_>,
    mut layout: Layout,
    delta: &mut &[u8],
    start: usize,
    out: &mut Vec<u8>,
) -> Result<Unfinished, Malformed> {
    let [bits] = take_array(delta, "header delta")?;
    let header = &mut out[start..];
    let unknown = match (layout.is_ipv6, layout.is_tcp) {
        (true, true) => first::ID,
        (false, true) => 0,
        (true, false) => !(first::MORE | first::NO_CHECKSUM),
        (false, false) => !(first::MORE | first::NO_CHECKSUM | first::ID),
    };
    if bits & unknown != 0 {
        return Err(Malformed("header delta: bits"));
    }
    if !layout.is_ipv6 {
        let more = if bits & first::ID != 0 { narrow(varint::parse(delta)?)? } else { 0 };
        let steps = context.id_steps(read_u16(header, ipv4::ID));
        add_u16(header, ipv4::ID, steps.wrapping_add(unfold(u32::from(more)) as u16));
    }
    let mut sequence_steps = 0;
    let has_timestamps = layout.has_timestamps(header);
    if layout.is_tcp {
        let at = layout.ip_bytes();
        if bits & first::SEQUENCE == 0 {
            let more = if bits & first::SEQUENCE_STEPS != 0 { unfold(varint::parse(delta)?) } else { 0 };
            sequence_steps = context.distance.wrapping_add(more);
        } else if bits & first::SEQUENCE_STEPS != 0 {
            return Err(Malformed("header delta: sequence"));
        } else {
            add_u32(header, at + tcp::SEQUENCE, unfold(varint::parse(delta)?));
        }
        if bits & first::ACK != 0 {
            add_u32(header, at + tcp::ACK, varint::parse(delta)?);
        }
        if bits & first::WINDOW != 0 {
            let folded = narrow(varint::parse(delta)?)?;
            add_u16(header, at + tcp::WINDOW, unfold(u32::from(folded)) as u16);
        }
        for (bit, at) in [(first::TIMESTAMP, 4), (first::ECHO, 8)] {
            if bits & bit != 0 {
                let difference = varint::parse(delta)?;
                if !has_timestamps {
                    return Err(Malformed("header delta: timestamps"));
                }
                add_u32(header, layout.options_at() + at, difference);
            }
        }
    }
    let no_checksum = !layout.is_tcp && bits & first::NO_CHECKSUM != 0;
    if no_checksum {
        write_u16(header, layout.checksum_at(), 0);
    }
    let mut checksum_is_right = !no_checksum;
    if bits & first::MORE != 0 {
        let [more] = take_array(delta, "header delta")?;
        let allowed =
            if layout.is_tcp { !0 } else { second::CHECKSUM | second::CLASS | second::TTL | second::LABEL };
        if more == 0 || more & !allowed != 0 || no_checksum && more & second::CHECKSUM != 0 {
            return Err(Malformed("header delta: bits"));
        }
        if more & second::CHECKSUM != 0 {
            write_u16(
                header,
                layout.checksum_at(),
                u16::from_be_bytes(take_array(delta, "header delta: checksum")?),
            );
            checksum_is_right = false;
        }
        patch_flags(more, delta, &mut header[layout.ip_bytes()..])?;
        if more & (second::OPTIONS | second::SACK) != 0 {
            let timestamps_differ = bits & (first::TIMESTAMP | first::ECHO) != 0;
            patch_options(more, has_timestamps, timestamps_differ, delta, layout, start, out)?;
            layout.header_bytes = out.len() - start;
        }
        patch_ip(more, delta, layout, &mut out[start..])?;
    }
    Ok(Unfinished { layout, sequence_steps, checksum_is_right })
}

fn patch_flags(more: u8, delta: &mut &[u8], header: &mut [u8]) -> Result<(), Malformed> {
    if more & second::PUSH != 0 {
        header[tcp::FLAGS] ^= tcp::PUSH;
    }
    if more & second::FLAGS != 0 {
        let [reserved, flags] = take_array(delta, "header delta: flags")?;
        if reserved > 0x0f || flags & tcp::URG != 0 {
            return Err(Malformed("header delta: flags"));
        }
        header[tcp::OFFSET] = header[tcp::OFFSET] & 0xf0 | reserved;
        header[tcp::FLAGS] = flags;
    }
    Ok(())
}

/// Puts other options in the place of those at the end of `out`, and says so in the header's length.
fn patch_options(
    more: u8,
    has_timestamps: bool,
    timestamps_differ: bool,
    delta: &mut &[u8],
    layout: Layout,
    start: usize,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let malformed = Malformed("header delta: options");
    let [length] = take_array(delta, malformed.0)?;
    let is_sack = more & second::SACK != 0;
    let all_options = !is_sack && length & ALL_OPTIONS != 0;
    if is_sack && more & second::OPTIONS != 0 || all_options && (timestamps_differ || !has_timestamps) {
        return Err(malformed);
    }
    let shared = if has_timestamps && !all_options { tcp::TIMESTAMPS_BYTES } else { 0 };
    let tcp_at = start + layout.ip_bytes();
    out.truncate(tcp_at + TCP_BYTES + shared);
    if is_sack {
        let blocks = usize::from(length);
        if !(1..=MAX_SACK_BLOCKS).contains(&blocks) || shared + 4 + 8 * blocks > MAX_OPTION_BYTES {
            return Err(malformed);
        }
        let mut edge = read_u32(out, tcp_at + tcp::ACK);
        out.extend_from_slice(&tcp::SACK);
        out.push(2 + 8 * length);
        for _ in 0..2 * blocks {
            edge = edge.wrapping_add(unfold(varint::parse(delta)?));
            out.extend_from_slice(&edge.to_be_bytes());
        }
    } else {
        let option_bytes = usize::from(length & !ALL_OPTIONS) * 4;
        if shared + option_bytes > MAX_OPTION_BYTES {
            return Err(malformed);
        }
        out.extend_from_slice(take(delta, option_bytes, malformed.0)?);
    }
    let words = ((out.len() - tcp_at) / 4) as u8;
    out[tcp_at + tcp::OFFSET] = words << 4 | out[tcp_at + tcp::OFFSET] & 0x0f;
    Ok(())
}

/// Applies changes of the seldom changed fields in the IP header.
fn patch_ip(more: u8, delta: &mut &[u8], layout: Layout, header: &mut [u8]) -> Result<(), Malformed> {
    if more & second::CLASS != 0 {
        let [class] = take_array(delta, "header delta: traffic class")?;
        if layout.is_ipv6 {
            write_u16(header, 0, read_u16(header, 0) & 0xf00f | u16::from(class) << 4);
        } else {
            header[ipv4::CLASS] = class;
        }
    }
    if more & second::TTL != 0 {
        [header[layout.ttl_at()]] = take_array(delta, "header delta: time to live")?;
    }
    if more & second::LABEL != 0 && layout.is_ipv6 {
        let [high, middle, low] = take_array(delta, "header delta: flow label")?;
        if high > 0x0f {
            return Err(Malformed("header delta: flow label"));
        }
        header[1] = header[1] & 0xf0 | high;
        header[2] = middle;
        header[3] = low;
    } else if more & second::LABEL != 0 {
        let [flags] = take_array(delta, "header delta: fragments")?;
        if flags & !ipv4::FLAGS != 0 {
            return Err(Malformed("header delta: fragments"));
        }
        header[ipv4::FRAGMENT] = flags;
    }
    Ok(())
}

fn narrow(value: u32) -> Result<u16, Malformed> {
    u16::try_from(value).map_err(|_| Malformed("header delta: 16-bit difference"))
}

fn add_u16(bytes: &mut [u8], at: usize, difference: u16) {
    write_u16(bytes, at, read_u16(bytes, at).wrapping_add(difference));
}

fn add_u32(bytes: &mut [u8], at: usize, difference: u32) {
    write_u32(bytes, at, read_u32(bytes, at).wrapping_add(difference));
}
