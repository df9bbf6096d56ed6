//! This machine's own addresses. The kernel is asked each time, because addresses change. Its answer covers
//! every interface, networks routed to this machine, and anycast.

use super::Kind;
use ipnet::IpNet;
use route_netlink::packet::route::RouteType;
use route_netlink::{Connection, Error};
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
    match Connection::open()?.find_route(route_netlink::route_to(address, IpNet::from(address).prefix_len()))
    {
        Ok(route) => Ok(Some(route.header.kind)),
        // An answer as well: unreachable, prohibited.
        Err(Error::Refused(_)) => Ok(None),
        Err(Error::Failed(error)) => Err(error),
    }
}
