//! The kernel's side of simulated radios: generic netlink, by the kernel's
//! `drivers/net/wireless/virtual/mac80211_hwsim.h`.
//!
//! A process that registers gets each frame that a radio sends, with the rates and tries of the radio's rate
//! control. It hands frames to receivers, and tells the sender how its frame ended.

use std::fmt;
use std::io;

use air::Bitrate;
use air::medium::Tries;
use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload, Nla as _, NlasIterator,
    Parseable as _, ParseableParametrized,
};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};
use rustix::fd::{AsFd as _, OwnedFd};

use super::daemons::MEGAHERTZ;
use crate::error::{Doing, LabError};

/// The power of the least frame of 6 Mbit/s that a radio receives (IEEE Std 802.11-2012, table 18-14), in
/// dBm.
pub(super) const LEAST_DBM: i32 = -82;

/// The name of the netlink family.
const FAMILY: &str = "MAC80211_HWSIM";
/// The bit of a radio's address by which netlink knows it.
const NETLINK_BIT: u8 = 0x40;
/// The longest message: a frame of 802.11 and its attributes.
const MESSAGE_BYTES: usize = 16_384;
/// Room for messages that wait.
const WAITING_BYTES: usize = 1 << 20;

/// The rates of the radios at 2.4 GHz in kbit/s, by index.
const RATES: [u64; 12] =
    [1_000, 2_000, 5_500, 11_000, 6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
/// The most rates of one frame (`IEEE80211_TX_MAX_RATES`).
const MOST_RATES: usize = 4;

mod command {
    pub(super) const REGISTER: u8 = 1;
    pub(super) const FRAME: u8 = 2;
    pub(super) const TX_INFO_FRAME: u8 = 3;
}

mod attribute {
    pub(super) const RECEIVER: u16 = 1;
    pub(super) const TRANSMITTER: u16 = 2;
    pub(super) const FRAME: u16 = 3;
    pub(super) const FLAGS: u16 = 4;
    pub(super) const RX_RATE: u16 = 5;
    pub(super) const SIGNAL: u16 = 6;
    pub(super) const TX_INFO: u16 = 7;
    pub(super) const COOKIE: u16 = 8;
    pub(super) const FREQUENCY: u16 = 19;
}

mod flag {
    /// The sender expects no acknowledgement.
    pub(super) const NO_ACK: u32 = 1 << 1;
    /// An acknowledgement came.
    pub(super) const ACKNOWLEDGED: u32 = 1 << 2;
}

/// A rate by its index, and its tries; a negative index ends a list.
type IndexedTries = (i8, u8);

/// A frame that a radio sends.
#[derive(Debug)]
pub(super) struct SentFrame {
    /// The radio's own address.
    pub(super) from: [u8; 6],
    /// The octets, with the header of 802.11 and without FCS.
    pub(super) octets: Vec<u8>,
    pub(super) megahertz: u32,
    pub(super) receipt: Receipt,
}

/// The part of a sent frame with which its end is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receipt {
    transmitter: [u8; 6],
    cookie: u64,
    flags: u32,
    rates: [IndexedTries; MOST_RATES],
}

impl Receipt {
    /// The tries that the radio wants.
    pub(super) fn tries(&self) -> Vec<Tries> {
        let wanted =
            self.rates.iter().map_while(|(index, count)| Some((usize::try_from(*index).ok()?, *count)));
        let known = wanted.filter_map(|(index, count)| Some((*RATES.get(index)?, count)));
        known
            .map(|(kilobits, count)| Tries { rate: Bitrate::from_kilobits_per_second(kilobits), count })
            .collect()
    }

    /// The rates of so many tries.
    fn used(&self, tries: usize) -> [IndexedTries; MOST_RATES] {
        let mut left = tries;
        self.rates.map(|(index, count)| {
            let used = left.min(usize::from(count));
            left -= used;
            if used == 0 { (-1, 0) } else { (index, used as u8) }
        })
    }
}

/// All simulated radios of this network namespace, for which this process is the air.
pub(super) struct KernelRadios {
    socket: Socket,
    family: u16,
    received: Vec<u8>,
}

impl KernelRadios {
    /// Registers as the air. The kernel ends that when the socket is closed.
    pub(super) fn register() -> Result<Self, LabError> {
        let doing = || "become the air between simulated radios (mac80211_hwsim)".to_owned();
        let mut socket = Socket::new(NETLINK_GENERIC).doing(doing)?;
        socket.bind_auto().doing(doing)?;
        socket.connect(&SocketAddr::new(0, 0)).doing(doing)?;
        socket.set_rx_buf_sz(WAITING_BYTES).doing(doing)?;
        let family = family(&socket).doing(doing)?;
        socket.set_non_blocking(true).doing(doing)?;
        let radios = Self { socket, family, received: Vec::with_capacity(MESSAGE_BYTES) };
        radios.send(command::REGISTER, Vec::new()).doing(doing)?;
        Ok(radios)
    }

    /// Another file of the socket, to wait for frames.
    pub(super) fn watch(&self) -> io::Result<OwnedFd> {
        self.socket.as_fd().try_clone_to_owned()
    }

    /// The next frame that a radio sends, if one waits. Other messages are the kernel's errors for frames to
    /// radios that are off, which are losses like any other.
    pub(super) fn receive(&mut self) -> Option<SentFrame> {
        self.received.clear();
        self.socket.recv(&mut self.received, 0).ok()?;
        let message = NetlinkMessage::<GenlMessage<Message>>::deserialize(&self.received).ok()?;
        match message.payload {
            NetlinkPayload::InnerMessage(message) if message.header.cmd == command::FRAME => {
                SentFrame::parse(&message.payload)
            }
            _ => None,
        }
    }

    /// Hands a frame to a radio.
    pub(super) fn deliver(&self, to: [u8; 6], octets: Vec<u8>, rate: Bitrate, dbm: i32) {
        let kilobits = rate.bits_per_second() / 1_000;
        let index = RATES.iter().position(|known| *known == kilobits).unwrap_or_default() as u32;
        let attributes = vec![
            DefaultNla::new(attribute::RECEIVER, by_netlink(to).to_vec()),
            DefaultNla::new(attribute::FRAME, octets),
            DefaultNla::new(attribute::RX_RATE, index.to_ne_bytes().to_vec()),
            DefaultNla::new(attribute::SIGNAL, dbm.to_ne_bytes().to_vec()),
            DefaultNla::new(attribute::FREQUENCY, MEGAHERTZ.to_ne_bytes().to_vec()),
        ];
        // A radio that is off refuses it.
        let _ = self.send(command::FRAME, attributes);
    }

    /// Tells a radio how its frame ended.
    pub(super) fn conclude(&self, receipt: &Receipt, acknowledged: bool, tries: usize) {
        let is_acknowledged = acknowledged && receipt.flags & flag::NO_ACK == 0;
        let flags = receipt.flags | if is_acknowledged { flag::ACKNOWLEDGED } else { 0 };
        let used = receipt.used(tries).into_iter().flat_map(|(index, count)| [index as u8, count]);
        let attributes = vec![
            DefaultNla::new(attribute::TRANSMITTER, receipt.transmitter.to_vec()),
            DefaultNla::new(attribute::FLAGS, flags.to_ne_bytes().to_vec()),
            DefaultNla::new(attribute::SIGNAL, LEAST_DBM.to_ne_bytes().to_vec()),
            DefaultNla::new(attribute::TX_INFO, used.collect()),
            DefaultNla::new(attribute::COOKIE, receipt.cookie.to_ne_bytes().to_vec()),
        ];
        // The kernel drops the oldest frames of a radio that has too many. It knows their receipts no more.
        let _ = self.send(command::TX_INFO_FRAME, attributes);
    }

    fn send(&self, command: u8, attributes: Vec<DefaultNla>) -> io::Result<()> {
        let mut message = GenlMessage::from_payload(Message { command, attributes });
        message.set_resolved_family_id(self.family);
        transmit(&self.socket, NetlinkMessage::from(message))
    }
}

/// The address by which netlink knows a radio.
fn by_netlink(address: [u8; 6]) -> [u8; 6] {
    let [first, rest @ ..] = address;
    let [a, b, c, d, e] = rest;
    [first | NETLINK_BIT, a, b, c, d, e]
}

impl SentFrame {
    fn parse(message: &Message) -> Option<Self> {
        let transmitter = message.array::<6>(attribute::TRANSMITTER)?;
        let mut from = transmitter;
        from[0] &= !NETLINK_BIT;
        let mut rates = [(-1, 0); MOST_RATES];
        for (rate, pair) in rates.iter_mut().zip(message.value(attribute::TX_INFO)?.chunks_exact(2)) {
            *rate = (pair[0] as i8, pair[1]);
        }
        Some(Self {
            from,
            octets: message.value(attribute::FRAME)?,
            megahertz: u32::from_ne_bytes(message.array(attribute::FREQUENCY)?),
            receipt: Receipt {
                transmitter,
                cookie: u64::from_ne_bytes(message.array(attribute::COOKIE)?),
                flags: u32::from_ne_bytes(message.array(attribute::FLAGS)?),
                rates,
            },
        })
    }
}

/// A message of the family: its attributes without their meaning.
#[derive(Debug, Clone)]
struct Message {
    command: u8,
    attributes: Vec<DefaultNla>,
}

impl Message {
    fn value(&self, kind: u16) -> Option<Vec<u8>> {
        let attribute = self.attributes.iter().find(|attribute| attribute.kind() == kind)?;
        let mut value = vec![0; attribute.value_len()];
        attribute.emit_value(&mut value);
        Some(value)
    }

    fn array<const N: usize>(&self, kind: u16) -> Option<[u8; N]> {
        self.value(kind)?.try_into().ok()
    }
}

impl GenlFamily for Message {
    fn family_name() -> &'static str {
        FAMILY
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Message {
    fn buffer_len(&self) -> usize {
        self.attributes.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.attributes.as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Message {
    fn parse_with_param(octets: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        let attributes = NlasIterator::new(octets).map(|attribute| DefaultNla::parse(&attribute?));
        Ok(Self { command: header.cmd, attributes: attributes.collect::<Result<_, _>>()? })
    }
}

/// The number of the family.
fn family(socket: &Socket) -> io::Result<u16> {
    let name = GenlCtrlAttrs::FamilyName(FAMILY.to_owned());
    let wanted = GenlMessage::from_payload(GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas: vec![name] });
    transmit(socket, NetlinkMessage::from(wanted))?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<GenlMessage<GenlCtrl>>::deserialize(&answer).map_err(io::Error::other)?;
    let NetlinkPayload::InnerMessage(message) = answer.payload else {
        return Err(io::Error::other("the kernel has no mac80211_hwsim"));
    };
    let number = message.payload.nlas.iter().find_map(|attribute| match attribute {
        GenlCtrlAttrs::FamilyId(number) => Some(*number),
        _ => None,
    });
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn transmit<F: GenlFamily + Emitable + fmt::Debug>(
    socket: &Socket,
    mut message: NetlinkMessage<GenlMessage<F>>,
) -> io::Result<()> {
    message.header.flags = NLM_F_REQUEST;
    message.finalize();
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);
    socket.send(&octets, 0).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(rates: [IndexedTries; MOST_RATES]) -> Receipt {
        Receipt { transmitter: [0; 6], cookie: 1, flags: 0, rates }
    }

    #[test]
    fn tries_are_those_before_the_end_of_the_list() {
        let tries = receipt([(11, 2), (4, 3), (-1, 0), (8, 1)]).tries();
        let of = |rate, count| Tries { rate: Bitrate::from_megabits_per_second(rate), count };
        assert_eq!(tries, [of(54, 2), of(6, 3)]);
    }

    #[test]
    fn used_tries_are_counted_from_the_first_rate() {
        let receipt = receipt([(11, 2), (4, 3), (-1, 0), (-1, 0)]);
        assert_eq!(receipt.used(0), [(-1, 0); 4], "a refused frame tells rate control nothing");
        assert_eq!(receipt.used(1), [(11, 1), (-1, 0), (-1, 0), (-1, 0)]);
        assert_eq!(receipt.used(4), [(11, 2), (4, 2), (-1, 0), (-1, 0)]);
    }

    #[test]
    fn a_sent_frame_is_read_from_its_message() {
        let attributes = vec![
            DefaultNla::new(attribute::TRANSMITTER, vec![0x42, 0, 0, 0, 1, 0]),
            DefaultNla::new(attribute::FRAME, vec![8; 30]),
            DefaultNla::new(attribute::FLAGS, 1_u32.to_ne_bytes().to_vec()),
            DefaultNla::new(attribute::FREQUENCY, 2412_u32.to_ne_bytes().to_vec()),
            DefaultNla::new(attribute::TX_INFO, vec![11, 2, 4, 3, 255, 0, 255, 0]),
            DefaultNla::new(attribute::COOKIE, 77_u64.to_ne_bytes().to_vec()),
        ];
        let message = Message { command: command::FRAME, attributes };
        let mut octets = vec![0; message.buffer_len()];
        message.emit(&mut octets);
        let read =
            Message::parse_with_param(&octets, GenlHeader { cmd: command::FRAME, version: 1 }).unwrap();
        let frame = SentFrame::parse(&read).unwrap();
        assert_eq!((frame.from, frame.octets.len(), frame.megahertz), ([2, 0, 0, 0, 1, 0], 30, 2412));
        assert_eq!((frame.receipt.cookie, frame.receipt.tries().len()), (77, 2));
        let mut without = read.clone();
        without.attributes.pop();
        assert!(SentFrame::parse(&without).is_none());
    }
}
