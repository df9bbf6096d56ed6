//! The messages that are written and read.

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NetlinkDeserializable, NetlinkHeader, NetlinkPayload,
    NetlinkSerializable, Parseable,
};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::neighbour::NeighbourMessage;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};
use netlink_packet_route::rule::RuleMessage;
use std::net::IpAddr;

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

    pub(crate) fn into_neighbour(self) -> Option<NeighbourMessage> {
        if let Message::Neighbour(message) = self { Some(message) } else { None }
    }

    pub(crate) fn into_route(self) -> Option<RouteMessage> {
        if let Message::Route(message) = self { Some(message) } else { None }
    }

    pub(crate) fn into_rule(self) -> Option<RuleMessage> {
        if let Message::Rule(message) = self { Some(message) } else { None }
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

/// A route to this prefix of which nothing else is said. It is also a question for the route to an address.
#[must_use]
pub fn route_to(address: IpAddr, prefix_length: u8) -> RouteMessage {
    let mut message = RouteMessage::default();
    let (family, destination) = match address {
        IpAddr::V4(address) => (AddressFamily::Inet, RouteAddress::Inet(address)),
        IpAddr::V6(address) => (AddressFamily::Inet6, RouteAddress::Inet6(address)),
    };
    message.header.address_family = family;
    message.header.destination_prefix_length = prefix_length;
    message.attributes.push(RouteAttribute::Destination(destination));
    message
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
        // Numbers of linux/if_link.h and linux/socket.h.
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
}

impl NetlinkSerializable for Request {
    fn message_type(&self) -> u16 {
        match self {
            Request::New(message) => message.number(),
            Request::Delete(message) => message.number() + 1,
            Request::Get(message) => message.number() + 2,
            Request::Set(_) => SET_LINK,
        }
    }

    fn buffer_len(&self) -> usize {
        match self {
            Request::New(message) | Request::Delete(message) | Request::Get(message) => {
                message.emitable().buffer_len()
            }
            Request::Set(change) => change.buffer_len(),
        }
    }

    fn serialize(&self, buffer: &mut [u8]) {
        match self {
            Request::New(message) | Request::Delete(message) | Request::Get(message) => {
                message.emitable().emit(buffer);
            }
            Request::Set(change) => change.emit(buffer),
        }
    }
}

/// What the kernel sends: an entry, if it is of a kind that is read here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer(pub Option<Message>);

impl NetlinkDeserializable for Answer {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        Ok(Answer(match header.message_type {
            NEIGHBOUR => Some(Message::Neighbour(NeighbourMessage::parse(payload)?)),
            ROUTE => Some(Message::Route(RouteMessage::parse(payload)?)),
            RULE => Some(Message::Rule(RuleMessage::parse(payload)?)),
            _ => None,
        }))
    }
}

impl From<Request> for NetlinkPayload<Request> {
    fn from(request: Request) -> Self {
        NetlinkPayload::InnerMessage(request)
    }
}
