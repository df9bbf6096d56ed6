//! From the frames of the links below to the IP packets in them: Ethernet, 802.11 with and without radiotap,
//! and what captures have besides.
//!
//! A capture that is analysed and an interface that is listened on have the same frames. Packets are handed
//! on as parts of the frame.

mod cooked;
mod ethernet;
mod ieee80211;
mod radiotap;
mod retries;
pub mod survey;

use retries::RetryFilter;
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

/// Why a frame holds no IP packet for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Skipped {
    /// It carries something else: ARP, 802.11 management and control, spanning tree and so on.
    #[error("carries no IP")]
    Other,
    /// An 802.11 data frame that the radio encrypted.
    #[error("encrypted by the radio")]
    Protected,
    /// An 802.11 frame that repeats the one before because no acknowledgement came.
    #[error("sent again by the radio")]
    Retry,
    /// Its headers make no sense, or its check sequence failed.
    #[error("malformed")]
    Malformed,
    /// Frames of this link type are not known here.
    #[error("of an unknown link type")]
    UnknownLink,
}

/// Unpacks the frames of a link, one after the other; of those before it remembers what tells retries, within
/// a bound.
#[derive(Debug, Default)]
pub struct Unpacker {
    retries: RetryFilter,
}

impl Unpacker {
    /// Hands each IP packet in a frame to `each`: mostly one, several in an 802.11 A-MSDU. Some may have been
    /// handed on before the frame turns out to be malformed.
    pub fn unpack(
        &mut self,
        link_type: LinkType,
        frame: &[u8],
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Skipped> {
        match link_type {
            LinkType::ETHERNET => ethernet::unpack(frame, each),
            LinkType::LINUX_SLL => cooked::unpack_v1(frame, each),
            LinkType::LINUX_SLL2 => cooked::unpack_v2(frame, each),
            LinkType::NULL | LinkType::LOOP => loopback(frame, each),
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => ip(frame, each),
            other if LinkType::RAW_OLD.contains(&other) => ip(frame, each),
            LinkType::IEEE802_11 => ieee80211::unpack(frame, false, &mut self.retries, each),
            LinkType::IEEE802_11_RADIOTAP => {
                let radio = radiotap::parse(frame)?;
                ieee80211::unpack(radio.frame, radio.padded, &mut self.retries, each)
            }
            _ => Err(Skipped::UnknownLink),
        }
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
