//! Frames of an interface as they are, in both directions: a live capture by AF_PACKET.

use crate::Error;
use crate::sniffer::packet_socket::{FRONT_BYTES, PacketSocket};
use nix::sys::socket::{MsgFlags, recv};
use socket2::SockFilter;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use wire::link::LinkType;

/// The longest super-segment with headers: 65,535 bytes behind the headers of IPv6 and Ethernet, with tags.
const FRAME_BYTES: usize = 66 << 10;

/// Kinds of interfaces (ARPHRD, linux/if_arp.h).
const ETHERNET: u16 = 1;
const RAW_IP: u16 = 519;
const LOOPBACK: u16 = 772;
const IEEE802_11: u16 = 801;
const RADIOTAP: u16 = 803;
const NONE: u16 = 0xfffe;

/// Instructions of the kernel's filter (classic BPF).
const LOAD_WORD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;
/// Offset of a frame's packet type: `SKF_AD_OFF + SKF_AD_PKTTYPE`.
const PACKET_TYPE: u32 = (-0x1000_i32 + 4) as u32;
const OUTGOING: u32 = 4;
/// More than any frame's length.
const WHOLE: u32 = 1 << 18;

/// An open interface.
pub struct Frames {
    socket: PacketSocket,
    link_type: LinkType,
    buffer: Vec<u8>,
}

impl Frames {
    /// Listens to all frames that this host sends and receives on `interface`.
    ///
    /// # Errors
    ///
    /// [`Error::NoPacketRight`], [`Error::NoInterface`], or [`Error::CannotCapture`] for an interface whose
    /// frames have an unknown form.
    pub fn open(interface: &str) -> Result<Self, Error> {
        let (socket, hardware) = PacketSocket::on(interface)?;
        let Some(link_type) = link_type(hardware) else {
            return Err(Error::CannotCapture { interface: interface.to_owned(), hardware });
        };
        socket.listen(&filter(hardware)).map_err(Error::call("listen on an interface"))?;
        Ok(Frames { socket, link_type, buffer: vec![0; FRAME_BYTES] })
    }

    /// The type of the frames.
    #[must_use]
    pub fn link_type(&self) -> LinkType {
        self.link_type
    }

    /// The next frame; `None` if there is none now. An error concerns the interface (down or gone).
    pub fn next_frame(&mut self) -> io::Result<Option<&[u8]>> {
        match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(length) => Ok(Some(self.buffer.get(FRONT_BYTES..length).unwrap_or_default())),
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Frames dropped by a full buffer since the last call.
    pub fn dropped(&self) -> io::Result<u64> {
        self.socket.dropped()
    }
}

impl AsFd for Frames {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The link type of an interface's kind.
fn link_type(hardware: u16) -> Option<LinkType> {
    match hardware {
        ETHERNET | LOOPBACK => Some(LinkType::ETHERNET),
        RAW_IP | NONE => Some(LinkType::RAW),
        IEEE802_11 => Some(LinkType::IEEE802_11),
        RADIOTAP => Some(LinkType::IEEE802_11_RADIOTAP),
        _ => None,
    }
}

/// Everything passes. On the loopback interface each frame is there twice, and the sent one is dropped.
fn filter(hardware: u16) -> Vec<SockFilter> {
    let all = SockFilter::new(RETURN, 0, 0, WHOLE);
    match hardware {
        LOOPBACK => vec![
            SockFilter::new(LOAD_WORD, 0, 0, PACKET_TYPE),
            SockFilter::new(IF_EQUAL, 0, 1, OUTGOING),
            SockFilter::new(RETURN, 0, 0, 0),
            all,
        ],
        _ => vec![all],
    }
}
