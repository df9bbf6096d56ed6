//! This machine's own addresses. The kernel is asked each time, because addresses change. Its answer covers
//! every interface, networks routed to this machine, and anycast.

use super::Kind;
use route_netlink::packet::AddressFamily;
use route_netlink::packet::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType};
use route_netlink::{Connection, Error, Message};
use std::io;
use std::net::IpAddr;

/// The address's kind by the kernel, if it is forbidden. Without the kernel's answer, any address may be this
/// machine's own.
pub(super) fn kind_of(address: IpAddr) -> Option<Kind> {
    match route_to(address) {
        Ok(Some(RouteType::Local | RouteType::Anycast)) => Some(Kind::Own),
        Ok(Some(RouteType::Broadcast | RouteType::Multicast)) => Some(Kind::Multicast),
        Ok(_) => None,
        Err(error) => {
            tracing::warn!("the kernel does not say whose address {address} is: {error}");
            Some(Kind::Own)
        }
    }
}

/// The type of the route to this address; `None` if there is no route.
fn route_to(address: IpAddr) -> io::Result<Option<RouteType>> {
    let mut question = RouteMessage::default();
    let (family, bits, to) = match address {
        IpAddr::V4(address) => (AddressFamily::Inet, 32, RouteAddress::Inet(address)),
        IpAddr::V6(address) => (AddressFamily::Inet6, 128, RouteAddress::Inet6(address)),
    };
    question.header.address_family = family;
    question.header.destination_prefix_length = bits;
    question.attributes.push(RouteAttribute::Destination(to));
    match Connection::open()?.find(Message::Route(question)) {
        Ok(Message::Route(route)) => Ok(Some(route.header.kind)),
        // An answer as well: unreachable, prohibited.
        Err(Error::Refused(_)) => Ok(None),
        Err(Error::Failed(error)) => Err(error),
        Ok(_) => Err(io::Error::other("the answer is no route")),
    }
}
