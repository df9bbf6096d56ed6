//! What is sent to others: the UDP payloads of other hosts' frames, read from an interface by AF_PACKET.
//!
//! On a Wi-Fi interface in monitor mode the frames are 802.11's, with or without radiotap; on any other that
//! looks like Ethernet they are those that a shared medium, a hub or a bridge that floods brings by. What is
//! for this host comes by the socket: the kernel's [`filter`] drops it by its packet type where the link
//! tells that, and the [`own_addresses`] tell the rest.
//!
//! Nothing that arrives here is believed: it is handed on as it is, and whoever opens it authenticates it.

mod filter;
mod own_addresses;
mod packet_socket;

use crate::Error;
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg};
use own_addresses::OwnAddresses;
use packet_socket::{FRONT_BYTES, PacketSocket};
use rustix::io::Errno;
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
/// The longest super-segment with its headers: 65,535 bytes behind IPv6's header, tags and Ethernet's.
const ROW_BYTES: usize = 66 << 10;
/// More packets than this are not taken from one 802.11 aggregate; a true one of 11,454 bytes holds fewer.
const MAX_PACKETS: usize = 256;

/// What was heard, since the ear was opened. Every frame that passed the kernel's filter is in `frames`; it
/// is in another counter unless all its datagrams were handed on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Frames that passed the kernel's filter.
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

/// What was heard, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// The name of the interface.
    pub interface: String,
    /// The type of its frames.
    pub link: String,
    /// How much of what.
    #[serde(flatten)]
    pub counters: Counters,
}

/// A datagram that was sent to somebody else.
#[derive(Debug)]
pub struct Overheard<'a> {
    /// Who sent it.
    pub from: SocketAddr,
    /// What it said.
    pub datagram: &'a mut [u8],
}

/// An interface that is listened on. Closing it ends the promiscuity that it asked for.
pub struct Ear {
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

impl Ear {
    /// Listens on `interface` for UDP from or to one of `ports`; for all UDP if there are none.
    pub fn open(interface: &str, ports: &[u16]) -> Result<Self, Error> {
        let mut socket = PacketSocket::open().map_err(|source| match Errno::from_io_error(&source) {
            Some(Errno::PERM | Errno::ACCESS) => Error::NoPacketRight,
            _ => Error::Call { what: "open a packet socket", source },
        })?;
        if socket.choose(interface).map_err(Error::call("choose the interface to listen on"))?.is_none() {
            return Err(Error::NoInterface(interface.to_owned()));
        }
        let hardware = socket.hardware_type().map_err(Error::call("ask for the kind of an interface"))?;
        let Some(link_type) = link_type(hardware) else {
            return Err(Error::CannotOverhear { interface: interface.to_owned(), hardware });
        };
        if link_type == LinkType::ETHERNET {
            socket.join_all().map_err(Error::call("listen to what is for others"))?;
        }
        socket.listen(&filter::program(link_type, ports)).map_err(Error::call("listen on an interface"))?;
        Ok(Ear {
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

    /// Hands `each` what one system call brings. `false`: nothing was there. An error is about the interface
    /// (it is down, or gone), and the next call may be without.
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

    /// The lengths of what was read into the rows of the buffer, and how many; a length beyond a row is one
    /// of a frame that was cut.
    fn read(&mut self) -> io::Result<Option<([usize; BATCH], usize)>> {
        let mut rows = self.buffer.chunks_exact_mut(ROW_BYTES);
        let mut slices: [[IoSliceMut<'_>; 1]; BATCH] =
            std::array::from_fn(|_| [IoSliceMut::new(rows.next().unwrap_or(&mut []))]);
        let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
        // the length of the whole frame, even where the row is shorter
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
        let Ear { unpacker, found, counters, ports, own, .. } = self;
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

    /// What was heard since the ear was opened.
    pub fn heard(&mut self) -> Heard {
        // asked on a socket that is open, it answers
        self.counters.dropped += self.socket.dropped().unwrap_or(0);
        Heard { interface: self.interface.clone(), link: self.link_type.to_string(), counters: self.counters }
    }
}

impl AsFd for Ear {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The frames of an interface by its kind (ARPHRD, linux/if_arp.h). `None`: not frames that others send.
#[must_use]
pub fn link_type(hardware: u16) -> Option<LinkType> {
    match hardware {
        1 => Some(LinkType::ETHERNET),
        801 => Some(LinkType::IEEE802_11),
        803 => Some(LinkType::IEEE802_11_RADIOTAP),
        _ => None,
    }
}

/// How long each datagram is in a frame with this `virtio_net_hdr` before it: as long as the payload, unless
/// the frame is a super-segment that the sender's kernel has not cut (virtual devices hand these on as they
/// are).
///
/// ```text
/// | flags 1 | kind 1: 5 is UDP | header length 2 | segment size 2 | checksum start 2 | checksum offset 2 |
/// ```
///
/// VIRTIO 1.2, section 5.1.6; numbers in the machine's byte order.
fn segment_bytes(front: &[u8; FRONT_BYTES]) -> usize {
    const UDP: u8 = 5;
    const ECN: u8 = 0x80;
    let size = usize::from(u16::from_ne_bytes([front[4], front[5]]));
    if front[1] & !ECN == UDP && size > 0 { size } else { usize::MAX }
}
