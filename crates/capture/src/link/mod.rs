//! From frames to the IP packets in them, for each kind of link.
//!
//! Whatever a frame holds, it ends as an IP packet or in a counter of [`FrameCounts`].

mod cooked;
mod ethernet;
mod ieee80211;
mod radiotap;
mod retries;

use crate::Frame;
use retries::RetryFilter;
use serde::Serialize;
use std::fmt;

/// The kind of link, by the number that both capture formats use
/// (<https://www.tcpdump.org/linktypes.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

#[allow(missing_docs)] // Their names are the registry's.
impl LinkType {
    pub const NULL: LinkType = LinkType(0);
    pub const ETHERNET: LinkType = LinkType(1);
    /// Raw IP as OpenBSD and the rest of the BSDs number it in files written before 101 was given out.
    pub const RAW_OLD: [LinkType; 2] = [LinkType(12), LinkType(14)];
    pub const RAW: LinkType = LinkType(101);
    pub const IEEE802_11: LinkType = LinkType(105);
    pub const LOOP: LinkType = LinkType(108);
    pub const LINUX_SLL: LinkType = LinkType(113);
    pub const IEEE802_11_RADIOTAP: LinkType = LinkType(127);
    pub const IPV4: LinkType = LinkType(228);
    pub const IPV6: LinkType = LinkType(229);
    pub const LINUX_SLL2: LinkType = LinkType(276);

    /// Whether frames of this kind are captured on all of a host's interfaces at once, so that a forwarded
    /// packet may stand in the capture twice.
    #[must_use]
    pub fn is_cooked(self) -> bool {
        matches!(self, LinkType::LINUX_SLL | LinkType::LINUX_SLL2)
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            LinkType::NULL | LinkType::LOOP => f.write_str("BSD loopback"),
            LinkType::ETHERNET => f.write_str("Ethernet"),
            LinkType::IEEE802_11 => f.write_str("802.11"),
            LinkType::IEEE802_11_RADIOTAP => f.write_str("802.11 with radiotap"),
            LinkType::LINUX_SLL => f.write_str("Linux cooked v1"),
            LinkType::LINUX_SLL2 => f.write_str("Linux cooked v2"),
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => f.write_str("raw IP"),
            other if LinkType::RAW_OLD.contains(&other) => f.write_str("raw IP"),
            LinkType(number) => write!(f, "link type {number}"),
        }
    }
}

/// What became of the frames of a capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FrameCounts {
    /// Frames in the capture.
    pub frames: u64,
    /// IP packets found in them.
    pub ip_packets: u64,
    /// Frames that carry something else: ARP, 802.11 management and control, spanning tree and so on.
    pub other_frames: u64,
    /// Frames that were captured in part only (a snap length).
    pub cut_frames: u64,
    /// 802.11 data frames that the radio encrypted, which say nothing to a monitor.
    pub protected_frames: u64,
    /// 802.11 frames that repeat the one before because no acknowledgement came.
    pub link_retries: u64,
    /// Frames whose headers make no sense.
    pub malformed_frames: u64,
    /// Frames of link types that are not known here.
    pub unknown_link_frames: u64,
}

/// Why a frame holds no IP packet for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skipped {
    Other,
    Protected,
    Retry,
    Malformed,
}

/// Unpacks frames and counts them.
#[derive(Debug, Default)]
pub struct LinkLayer {
    counts: FrameCounts,
    retries: RetryFilter,
}

impl LinkLayer {
    /// Hands each IP packet in a frame to `each`: mostly one, several in an 802.11 A-MSDU.
    pub fn unpack(&mut self, frame: &Frame<'_>, mut each: impl FnMut(&[u8])) {
        self.counts.frames += 1;
        self.counts.cut_frames += u64::from(frame.original_bytes > frame.bytes.len());
        let mut found = 0;
        let mut count_and_hand_on = |packet: &[u8]| {
            found += 1;
            each(packet);
        };
        let unpacked = match frame.link_type {
            LinkType::ETHERNET => ethernet::unpack(frame.bytes, &mut count_and_hand_on),
            LinkType::LINUX_SLL => cooked::unpack_v1(frame.bytes, &mut count_and_hand_on),
            LinkType::LINUX_SLL2 => cooked::unpack_v2(frame.bytes, &mut count_and_hand_on),
            LinkType::NULL | LinkType::LOOP => loopback(frame.bytes, &mut count_and_hand_on),
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => ip(frame.bytes, &mut count_and_hand_on),
            other if LinkType::RAW_OLD.contains(&other) => ip(frame.bytes, &mut count_and_hand_on),
            LinkType::IEEE802_11 => {
                ieee80211::unpack(frame.bytes, false, &mut self.retries, &mut count_and_hand_on)
            }
            LinkType::IEEE802_11_RADIOTAP => radiotap::parse(frame.bytes).and_then(|radio| {
                ieee80211::unpack(radio.frame, radio.padded, &mut self.retries, &mut count_and_hand_on)
            }),
            _ => {
                self.counts.unknown_link_frames += 1;
                return;
            }
        };
        self.counts.ip_packets += found;
        match unpacked {
            Ok(()) => {}
            Err(Skipped::Other) => self.counts.other_frames += 1,
            Err(Skipped::Protected) => self.counts.protected_frames += 1,
            Err(Skipped::Retry) => self.counts.link_retries += 1,
            Err(Skipped::Malformed) => self.counts.malformed_frames += 1,
        }
    }

    /// What became of the frames so far.
    #[must_use]
    pub fn counts(&self) -> &FrameCounts {
        &self.counts
    }
}

/// Hands on what should be an IP packet.
fn ip(packet: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), Skipped> {
    match packet.first().map(|first| first >> 4) {
        Some(4 | 6) => {
            each(packet);
            Ok(())
        }
        Some(_) => Err(Skipped::Other),
        None => Err(Skipped::Malformed),
    }
}

/// BSD loopback: 4 bytes of address family, whose number differs from system to system (and its byte order
/// from machine to machine); the IP version says it better.
fn loopback(frame: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<(), Skipped> {
    ip(frame.get(4..).ok_or(Skipped::Malformed)?, each)
}
