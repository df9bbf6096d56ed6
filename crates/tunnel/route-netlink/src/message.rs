//! The messages that are written and read.

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NetlinkDeserializable, NetlinkHeader, NetlinkPayload,
    NetlinkSerializable, Parseable,
};
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::neighbour::NeighbourMessage;
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::rule::RuleMessage;

/// Numbers of messages (rtnetlink(7)): of an entry that is new; the next ones delete it and ask for it.
const ADDRESS: u16 = 20;
const ROUTE: u16 = 24;
const NEIGHBOUR: u16 = 28;
const RULE: u16 = 32;
const SET_LINK: u16 = 19;

/// An entry of one of the kernel's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// An address of a device. It is only added or removed.
    Address(AddressMessage),
    /// A neighbour's link-layer address.
    Neighbour(NeighbourMessage),
    /// A route.
    Route(RouteMessage),
    /// A rule that says which table a packet's route is in.
    Rule(RuleMessage),
}

impl Message {
    fn number(&self) -> u16 {
        match self {
            Message::Address(_) => ADDRESS,
            Message::Neighbour(_) => NEIGHBOUR,
            Message::Route(_) => ROUTE,
            Message::Rule(_) => RULE,
        }
    }

    fn emitable(&self) -> &dyn Emitable {
        match self {
            Message::Address(message) => message,
            Message::Neighbour(message) => message,
            Message::Route(message) => message,
            Message::Rule(message) => message,
        }
    }
}

/// What changes of a device: `struct ifinfomsg` and its attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkChange {
    index: u32,
    is_up: bool,
    attributes: Vec<DefaultNla>,
}

impl LinkChange {
    /// The device with this index comes up.
    #[must_use]
    pub fn up(index: u32) -> Self {
        LinkChange { index, is_up: true, attributes: Vec::new() }
    }

    /// The device with this index gets no link-local address of IPv6.
    #[must_use]
    pub fn without_link_local_address(index: u32) -> Self {
        /// Numbers of linux/if_link.h.
        const IFLA_AF_SPEC: u16 = 26;
        const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
        const IN6_ADDR_GEN_MODE_NONE: u8 = 1;
        const AF_INET6: u16 = 10;
        let mode = DefaultNla::new(IFLA_INET6_ADDR_GEN_MODE, vec![IN6_ADDR_GEN_MODE_NONE]);
        let family = DefaultNla::new(AF_INET6, bytes(&mode));
        let attributes = vec![DefaultNla::new(IFLA_AF_SPEC, bytes(&family))];
        LinkChange { index, is_up: false, attributes }
    }
}

fn bytes(nla: &DefaultNla) -> Vec<u8> {
    let mut bytes = vec![0; nla.buffer_len()];
    nla.emit(&mut bytes);
    bytes
}

/// Octets of `struct ifinfomsg`.
const LINK_HEADER: usize = 16;
const IFF_UP: u32 = 1;

impl Emitable for LinkChange {
    fn buffer_len(&self) -> usize {
        LINK_HEADER + self.attributes.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        let (header, attributes) = buffer.split_at_mut(LINK_HEADER);
        let flags = if self.is_up { IFF_UP } else { 0 }.to_ne_bytes();
        // No family, and no type of device.
        let parts = [[0; 4], self.index.to_ne_bytes(), flags, flags];
        for (place, part) in header.chunks_exact_mut(4).zip(parts) {
            place.copy_from_slice(&part);
        }
        self.attributes.as_slice().emit(attributes);
    }
}

/// A message with its verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    New(Message),
    Delete(Message),
    Get(Message),
    Set(LinkChange),
    /// A message of a kind that nobody here asks for.
    Other(u16),
}

impl NetlinkSerializable for Request {
    fn message_type(&self) -> u16 {
        match self {
            Request::New(message) => message.number(),
            Request::Delete(message) => message.number() + 1,
            Request::Get(message) => message.number() + 2,
            Request::Set(_) => SET_LINK,
            Request::Other(number) => *number,
        }
    }

    fn buffer_len(&self) -> usize {
        match self {
            Request::New(message) | Request::Delete(message) | Request::Get(message) => {
                message.emitable().buffer_len()
            }
            Request::Set(change) => change.buffer_len(),
            Request::Other(_) => 0,
        }
    }

    fn serialize(&self, buffer: &mut [u8]) {
        match self {
            Request::New(message) | Request::Delete(message) | Request::Get(message) => {
                message.emitable().emit(buffer);
            }
            Request::Set(change) => change.emit(buffer),
            Request::Other(_) => {}
        }
    }
}

impl NetlinkDeserializable for Request {
    type Error = DecodeError;

    /// Only entries come from the kernel.
    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let message = match header.message_type {
            NEIGHBOUR => Message::Neighbour(NeighbourMessage::parse(payload)?),
            ROUTE => Message::Route(RouteMessage::parse(payload)?),
            RULE => Message::Rule(RuleMessage::parse(payload)?),
            other => return Ok(Request::Other(other)),
        };
        Ok(Request::New(message))
    }
}

impl From<Request> for NetlinkPayload<Request> {
    fn from(request: Request) -> Self {
        NetlinkPayload::InnerMessage(request)
    }
}
