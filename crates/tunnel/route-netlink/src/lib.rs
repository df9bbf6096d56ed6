//! A connection with the kernel's route-netlink (RFC 3549, rtnetlink(7)). Each request waits for its answer,
//! which the kernel prepares at once.
//!
//! The messages are those of `netlink-packet-route`. Only the kinds of [`Message`] have a reader and a writer
//! here: those of all other kinds would be a tenth of a program for routers.

#![forbid(unsafe_code)]

mod message;

pub use message::{LinkChange, Message, route_to};
pub use netlink_packet_route as packet;

use message::{Answer, Request};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkBuffer,
    NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::neighbour::NeighbourMessage;
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::rule::RuleMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::cell::Cell;
use std::io;
use std::time::Duration;

/// The kernel answers before the request returns. Only an emulator can fail to pass the answer on.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request without its result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refuses.
    #[error("{0}")]
    Refused(io::Error),
    /// The request did not reach the kernel, or its answer has not come or has another form.
    #[error("{0}")]
    Failed(io::Error),
}

impl Error {
    /// The kernel's reason, if it refused.
    #[must_use]
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Error::Refused(why) => Errno::from_io_error(why),
            Error::Failed(_) => None,
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(why) | Error::Failed(why) => why,
        }
    }
}

/// The behaviour where an equal entry exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// The request is refused with [`Errno::EXIST`].
    Refuse,
    /// The new entry takes its place.
    Replace,
}

/// A connection, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    sequence_number: Cell<u32>,
}

impl Connection {
    /// Connects. Only requests need rights.
    ///
    /// # Errors
    ///
    /// The system's refusal of a socket.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Connection { socket, sequence_number: Cell::new(0) })
    }

    /// All routes of a family.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn routes(&self, family: AddressFamily) -> Result<Vec<RouteMessage>, Error> {
        let mut which = RouteMessage::default();
        which.header.address_family = family;
        let listed = self.list(Message::Route(which))?;
        Ok(listed.into_iter().filter_map(Message::into_route).collect())
    }

    /// All rules of a family.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn rules(&self, family: AddressFamily) -> Result<Vec<RuleMessage>, Error> {
        let mut which = RuleMessage::default();
        which.header.family = family;
        let listed = self.list(Message::Rule(which))?;
        Ok(listed.into_iter().filter_map(Message::into_rule).collect())
    }

    /// All neighbours.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn neighbours(&self) -> Result<Vec<NeighbourMessage>, Error> {
        let listed = self.list(Message::Neighbour(NeighbourMessage::default()))?;
        Ok(listed.into_iter().filter_map(Message::into_neighbour).collect())
    }

    /// The route that answers the question, as [`route_to`] begins one.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn find_route(&self, question: RouteMessage) -> Result<RouteMessage, Error> {
        let found = self.ask(Request::Get(Message::Route(question)), 0)?.pop().and_then(Message::into_route);
        found.ok_or_else(|| Error::Failed(io::Error::other("the kernel's answer is no route")))
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn add(&self, entry: Message, if_exists: IfExists) -> Result<(), Error> {
        let flag = match if_exists {
            IfExists::Refuse => NLM_F_EXCL,
            IfExists::Replace => NLM_F_REPLACE,
        };
        self.ask(Request::New(entry), NLM_F_ACK | NLM_F_CREATE | flag).map(drop)
    }

    /// Removes an entry.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn remove(&self, entry: Message) -> Result<(), Error> {
        self.ask(Request::Delete(entry), NLM_F_ACK).map(drop)
    }

    /// Changes a device.
    ///
    /// # Errors
    ///
    /// [`Error`].
    pub fn change(&self, change: LinkChange) -> Result<(), Error> {
        self.ask(Request::Set(change), NLM_F_ACK).map(drop)
    }

    fn list(&self, which: Message) -> Result<Vec<Message>, Error> {
        self.ask(Request::Get(which), NLM_F_DUMP)
    }

    fn ask(&self, request: Request, flags: u16) -> Result<Vec<Message>, Error> {
        let number = self.sequence_number.get().wrapping_add(1);
        self.sequence_number.set(number);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = number;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map_err(Error::Failed)?;
        self.answer(number, flags & NLM_F_DUMP == NLM_F_DUMP)
    }

    /// The messages that answer request `number`, up to the last of a list, or to the only one.
    fn answer(&self, number: u32, is_list: bool) -> Result<Vec<Message>, Error> {
        let mut found = Vec::new();
        loop {
            let (bytes, _) = self.socket.recv_from_full().map_err(Error::Failed)?;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let (message, length) = read(rest)?;
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
                // An earlier request's answer, which came after the patience ended.
                if message.header.sequence_number != number {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::Error(answer) if answer.code.is_some() => {
                        return Err(Error::Refused(answer.to_io()));
                    }
                    NetlinkPayload::Done(end) if end.code < 0 => {
                        return Err(Error::Refused(io::Error::from_raw_os_error(-end.code)));
                    }
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(found),
                    NetlinkPayload::InnerMessage(Answer(entry)) => found.extend(entry),
                    _ => {}
                }
                if !is_list && !found.is_empty() {
                    return Ok(found);
                }
            }
        }
    }
}

/// The first message, and its octets.
fn read(bytes: &[u8]) -> Result<(NetlinkMessage<Answer>, usize), Error> {
    let malformed = |why: netlink_packet_core::DecodeError| Error::Failed(io::Error::other(why.to_string()));
    let length = NetlinkBuffer::new_checked(&bytes).map_err(malformed)?.length();
    Ok((
        NetlinkMessage::deserialize(bytes).map_err(malformed)?,
        usize::try_from(length).unwrap_or(bytes.len()),
    ))
}

#[cfg(test)]
mod tests;
