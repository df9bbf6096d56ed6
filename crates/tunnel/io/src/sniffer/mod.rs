//! Overhearing: UDP payloads of other hosts' frames, read from an interface by AF_PACKET.
//!
//! On a Wi-Fi interface in monitor mode, the frames are 802.11's, with or without radiotap. On an
//! Ethernet-like interface they are those of a shared medium, a hub or a flooding bridge. This host's own
//! datagrams arrive by the socket. The kernel's [`filter`] drops them by packet type if the link has one, and
//! [`own_addresses`] finds the rest.
//!
//! The sniffer does not authenticate datagrams. It passes them on unchanged, and the node authenticates them
//! when it opens them.

mod filter;
mod own_addresses;
pub(crate) mod packet_socket;

use crate::Error;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg};
use own_addresses::OwnAddresses;
use packet_socket::{FRONT_BYTES, PacketSocket};
use serde::{Deserialize, Serialize};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;
use wire::link::{Skipped, Unpacker};
use wire::udp::Datagram;

pub use wire::link::LinkType;

/// Frames read with one system call.
const BATCH: usize = 16;
/// The longest super-segment with headers: 65,535 bytes behind the headers of IPv6 and Ethernet, with tags.
const ROW_BYTES: usize = 66 << 10;
/// The most packets taken from one 802.11 aggregate. A valid one of 11,454 bytes has fewer.
const MAX_PACKETS: usize = 256;

/// Counts since the sniffer was opened. `frames` counts every frame that passed the kernel's filter. A frame
/// is also in another counter unless all its datagrams were delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Frames that passed the kernel's filter. A frame may have several datagrams, where the sender's kernel
    /// leaves them to its device (segmentation offload).
    pub frames: u64,
    /// Datagrams delivered to the node.
    pub datagrams: u64,
    /// Bytes of these datagrams.
    pub datagram_bytes: u64,
    /// Frames without a datagram for these ports.
    pub not_ours: u64,
    /// Datagrams to or from this host.
    pub own: u64,
    /// 802.11 frames under the radio's encryption (WPA). Only their receiver can read them.
    pub protected: u64,
    /// 802.11 frames that repeat the previous frame.
    pub retries: u64,
    /// Damaged or malformed frames and packets.
    pub malformed: u64,
    /// Frames dropped because the buffer was full.
    pub dropped: u64,
}

/// State of overhearing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// The name of the interface.
    pub interface: String,
    /// The type of its frames.
    pub link: String,
    /// The counts.
    #[serde(flatten)]
    pub counters: Counters,
}

/// A datagram to another host.
#[derive(Debug)]
pub struct Overheard<'a> {
    /// Its sender.
    pub from: SocketAddr,
    /// Its payload.
    pub datagram: &'a mut [u8],
}

/// An open interface. Closing it ends the promiscuous mode that it requested.
pub struct Sniffer {
    socket: PacketSocket,
    interface: String,
    link_type: LinkType,
    ports: Vec<u16>,
    unpacker: Unpacker,
    own: OwnAddresses,
    buffer: Vec<u8>,
    found: Vec<(SocketAddr, Range<usize>)>,
    counters: Counters,
}

impl Sniffer {
    /// Listens on `interface` for UDP from or to one of `ports`. Without ports it listens for all UDP.
    pub fn open(interface: &str, ports: &[u16]) -> Result<Self, Error> {
        let (socket, hardware) = PacketSocket::on(interface)?;
        let Some(link_type) = link_type(hardware) else {
            return Err(Error::CannotOverhear { interface: interface.to_owned(), hardware });
        };
        if link_type == LinkType::ETHERNET {
            socket.join_all().map_err(Error::call("listen to what is for others"))?;
        }
        socket.listen(&filter::program(link_type, ports)).map_err(Error::call("listen on an interface"))?;
        Ok(Sniffer {
            socket,
            interface: interface.to_owned(),
            link_type,
            ports: ports.to_vec(),
            unpacker: Unpacker::default(),
            own: OwnAddresses::default(),
            buffer: vec![0; BATCH * ROW_BYTES],
            found: Vec::new(),
            counters: Counters::default(),
        })
    }

    /// Passes one system call's datagrams to `each`. Returns `false` if there was none. An error concerns the
    /// interface (down or gone), and a later call may succeed.
    pub fn receive(&mut self, now: Duration, mut each: impl FnMut(Overheard<'_>)) -> io::Result<bool> {
        let Some((lengths, count)) = self.read()? else { return Ok(false) };
        self.own.refresh(now);
        let mut buffer = std::mem::take(&mut self.buffer);
        for (row, length) in buffer.chunks_exact_mut(ROW_BYTES).zip(lengths).take(count) {
            self.counters.frames += 1;
            match row.get_mut(..length).and_then(|row| row.split_first_chunk_mut::<FRONT_BYTES>()) {
                Some((front, frame)) => self.hear(segment_bytes(front), frame, &mut each),
                None => self.counters.malformed += 1,
            }
        }
        self.buffer = buffer;
        Ok(true)
    }

    /// The lengths of the frames read into the buffer's rows, and their number. A length above a row's marks
    /// a truncated frame.
    fn read(&mut self) -> io::Result<Option<([usize; BATCH], usize)>> {
        let mut rows = self.buffer.chunks_exact_mut(ROW_BYTES);
        let mut slices: [[IoSliceMut<'_>; 1]; BATCH] =
            std::array::from_fn(|_| [IoSliceMut::new(rows.next().unwrap_or(&mut []))]);
        let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
        // The length of the whole frame, even if the row is shorter.
        let flags = MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT;
        let messages = match recvmmsg(self.socket.as_raw_fd(), &mut headers, slices.iter_mut(), flags, None) {
            Ok(messages) => messages,
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (mut lengths, mut count) = ([0; BATCH], 0);
        for (message, length) in messages.zip(&mut lengths) {
            *length = message.bytes;
            count += 1;
        }
        Ok(Some((lengths, count)))
    }

    fn hear(&mut self, segment_bytes: usize, frame: &mut [u8], each: &mut impl FnMut(Overheard<'_>)) {
        let Sniffer { unpacker, found, counters, ports, own, .. } = self;
        let frame_start = frame.as_ptr() as usize;
        let (mut packets, mut held) = (0, false);
        found.clear();
        let unpacked = unpacker.unpack(self.link_type, frame, &mut |packet| {
            packets += 1;
            let datagram = match Datagram::parse(packet) {
                _ if packets > MAX_PACKETS => return,
                Ok(Some(datagram)) if ports.is_empty() || datagram.concerns(ports) => datagram,
                Ok(_) => return,
                Err(_) => return counters.malformed += 1,
            };
            held = true;
            if own.contains(datagram.source.ip()) || own.contains(datagram.destination.ip()) {
                counters.own += 1;
                return;
            }
            let start = datagram.payload.as_ptr() as usize - frame_start;
            found.push((datagram.source, start..start + datagram.payload.len()));
        });
        match unpacked {
            Ok(()) if held => {}
            Ok(()) | Err(Skipped::Other | Skipped::UnknownLink) => counters.not_ours += 1,
            Err(Skipped::Protected) => counters.protected += 1,
            Err(Skipped::Retry) => counters.retries += 1,
            Err(Skipped::Malformed) => counters.malformed += 1,
        }
        for (from, place) in found.drain(..) {
            let Some(payload) = frame.get_mut(place) else { continue };
            for datagram in payload.chunks_mut(segment_bytes) {
                counters.datagrams += 1;
                counters.datagram_bytes += datagram.len() as u64;
                each(Overheard { from, datagram });
            }
        }
    }

    /// State of overhearing since the sniffer was opened.
    pub fn heard(&mut self) -> Heard {
        // The call succeeds on an open socket.
        self.counters.dropped += self.socket.dropped().unwrap_or(0);
        Heard { interface: self.interface.clone(), link: self.link_type.to_string(), counters: self.counters }
    }
}

impl AsFd for Sniffer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The link type of an interface's kind (ARPHRD, linux/if_arp.h). `None` if its frames are not others'
/// frames.
#[must_use]
pub fn link_type(hardware: u16) -> Option<LinkType> {
    match hardware {
        1 => Some(LinkType::ETHERNET),
        801 => Some(LinkType::IEEE802_11),
        803 => Some(LinkType::IEEE802_11_RADIOTAP),
        _ => None,
    }
}

/// Length of each datagram in a frame behind this `virtio_net_hdr`. It is the payload's length, unless the
/// frame is an uncut super-segment of the sender's kernel (virtual devices pass these on).
///
/// ```text
/// | flags 1 | kind 1: 5 is UDP | header length 2 | segment size 2 | checksum start 2 | checksum offset 2 |
/// ```
///
/// Source: VIRTIO 1.2, section 5.1.6. Numbers are in the machine's byte order.
fn segment_bytes(front: &[u8; FRONT_BYTES]) -> usize {
    const UDP: u8 = 5;
    const ECN: u8 = 0x80;
    let size = usize::from(u16::from_ne_bytes([front[4], front[5]]));
    if front[1] & !ECN == UDP && size > 0 { size } else { usize::MAX }
}
