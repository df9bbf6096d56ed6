//! The few netlink requests about devices, addresses, routes and rules that a tunnel needs.

use crate::Error;
use ipnet::IpNet;
use route_netlink::packet::AddressFamily;
use route_netlink::packet::address::{AddressAttribute, AddressMessage};
use route_netlink::packet::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use route_netlink::packet::rule::RuleMessage;
use route_netlink::{Connection, IfExists, LinkChange, Message, route_to};
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{SocketFlags, SocketType, socket_with};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

/// A metric below that of the kernel's own routes for IPv6 addresses (256).
const BEFORE_CONNECTED: u32 = 128;
/// The number of UDP (IANA's protocol numbers).
const UDP: u8 = 17;

/// A route-netlink connection, in the network namespace of the thread that opened it.
pub struct Netlink {
    connection: Connection,
    /// For questions that need no list of all that the kernel knows of a device.
    socket: OwnedFd,
}

impl Netlink {
    /// Connects. Only the requests need rights.
    pub fn open() -> Result<Self, Error> {
        let connection = Connection::open().map_err(Error::call("open a netlink socket"))?;
        let family = rustix::net::AddressFamily::UNIX;
        let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .map_err(Error::call("open a socket"))?;
        Ok(Netlink { connection, socket })
    }

    /// The index of the interface called `name`; `None` if there is none.
    pub fn interface(&self, name: &str) -> Result<Option<u32>, Error> {
        match name_to_index(&self.socket, name) {
            Ok(index) => Ok(Some(index)),
            Err(Errno::NODEV) => Ok(None),
            Err(error) => {
                Err(Error::Netlink { what: format!("look up interface {name}"), source: error.into() })
            }
        }
    }

    /// Disables the link-local address of interface `index`, because router solicitations cost air time.
    pub fn quieten(&self, index: u32) {
        if let Err(error) = self.connection.change(LinkChange::without_link_local_address(index)) {
            // A kernel without IPv6 has no link-local address.
            tracing::debug!("interface {index} keeps its link-local address: {error}");
        }
    }

    /// Brings interface `index` up.
    pub fn bring_up(&self, index: u32) -> Result<(), Error> {
        self.connection
            .change(LinkChange::up(index))
            .map_err(|error| refused("bring the interface up".to_owned(), error))
    }

    /// Adds an address to interface `index`, with the connected route of its prefix.
    pub fn add_address(&self, index: u32, address: IpNet) -> Result<(), Error> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.index = index;
        message.header.prefix_len = address.prefix_len();
        message.attributes =
            vec![AddressAttribute::Address(address.addr()), AddressAttribute::Local(address.addr())];
        // Shorter prefixes have a broadcast address (RFC 3021).
        if let IpNet::V4(net) = address
            && net.prefix_len() < 31
        {
            message.attributes.push(AddressAttribute::Broadcast(net.broadcast()));
        }
        let added = self.connection.add(Message::Address(message), IfExists::Refuse);
        added.map_err(|error| match error.errno() {
            Some(Errno::ACCESS | Errno::OPNOTSUPP) if address.addr().is_ipv6() => Error::NoIpv6(address),
            _ => refused(format!("give the interface the address {address}"), error),
        })
    }

    /// Adds a route to `net` through interface `index`, in `table` or the main table. Its TCP connections use
    /// `congestion_control`. An existing equal route is no error; one through another interface is
    /// [`Error::RouteTaken`].
    pub fn add_route(
        &self,
        index: u32,
        net: IpNet,
        table: Option<u32>,
        congestion_control: Option<&str>,
    ) -> Result<(), Error> {
        let mut message = route(index, net, table);
        if let Some(name) = congestion_control {
            let metrics = vec![RouteMetric::CcAlgo(name.to_owned())];
            message.attributes.push(RouteAttribute::Metrics(metrics));
            if matches!(net, IpNet::V6(_)) {
                // It precedes the connected route of the same prefix, which has no congestion control.
                message.attributes.push(RouteAttribute::Priority(BEFORE_CONNECTED));
            }
        }
        let add = |if_exists| self.connection.add(Message::Route(message.clone()), if_exists);
        match add(IfExists::Refuse) {
            Ok(()) => Ok(()),
            Err(error) if error.errno() == Some(Errno::EXIST) => {
                let ours = self.routes(family(net))?.iter().any(|route| {
                    route.header.destination_prefix_length == net.prefix_len()
                        && destination(&message) == destination(route)
                        && output_interface(route) == Some(index)
                });
                match (ours, congestion_control) {
                    (false, _) => Err(Error::RouteTaken(net)),
                    (true, None) => Ok(()),
                    (true, Some(_)) => add(IfExists::Replace)
                        .map_err(|error| refused(format!("replace the route to {net}"), error)),
                }
            }
            Err(error) => Err(refused(format!("add a route to {net}"), error)),
        }
    }

    /// Removes a route of [`Netlink::add_route`]. A missing route is no error.
    pub fn remove_route(&self, index: u32, net: IpNet, table: Option<u32>) -> Result<(), Error> {
        match self.connection.remove(Message::Route(route(index, net, table))) {
            Ok(()) => Ok(()),
            Err(error) if error.errno() == Some(Errno::SRCH) => Ok(()),
            Err(error) => Err(refused(format!("remove the route to {net}"), error)),
        }
    }

    /// All routes of a family.
    pub fn routes(&self, family: AddressFamily) -> Result<Vec<RouteMessage>, Error> {
        self.connection.routes(family).map_err(|error| refused("list the routes".to_owned(), error))
    }

    /// The interface of UDP datagrams that this host sends from `source_port` to `to`; `None` if the route
    /// has none. An error means that there is no route.
    pub fn way(&self, to: SocketAddr, source_port: u16) -> Result<Option<u32>, Error> {
        let mut question = route_to(to.ip(), IpNet::from(to.ip()).prefix_len());
        if let SocketAddr::V6(to) = to
            && to.scope_id() != 0
        {
            question.attributes.push(RouteAttribute::Oif(to.scope_id()));
        }
        question.attributes.extend([
            RouteAttribute::IpProto(UDP),
            RouteAttribute::Sport(source_port),
            RouteAttribute::Dport(to.port()),
        ]);
        let answer = self.connection.find_route(question);
        let answer = answer.map_err(|error| refused(format!("find the route to {to}"), error))?;
        Ok(output_interface(&answer))
    }

    /// All rules of a family; none if the system has no policy routing.
    pub fn rules(&self, family: AddressFamily) -> Result<Vec<RuleMessage>, Error> {
        match self.connection.rules(family) {
            Ok(rules) => Ok(rules),
            Err(error) if matches!(error.errno(), Some(Errno::OPNOTSUPP | Errno::AFNOSUPPORT)) => {
                Ok(Vec::new())
            }
            // As under an emulator that does not translate the request.
            Err(route_netlink::Error::Failed(why)) => {
                tracing::info!("routing rules of an earlier run stay: this system does not list them: {why}");
                Ok(Vec::new())
            }
            Err(error) => Err(refused("list the routing rules".to_owned(), error)),
        }
    }

    /// Adds a rule.
    pub fn add_rule(&self, rule: &RuleMessage) -> Result<(), Error> {
        self.connection
            .add(Message::Rule(rule.clone()), IfExists::Refuse)
            .map_err(|error| refused("add a routing rule".to_owned(), error))
    }

    /// Removes a rule.
    pub fn remove_rule(&self, rule: &RuleMessage) -> Result<(), Error> {
        self.connection
            .remove(Message::Rule(rule.clone()))
            .map_err(|error| refused("remove a routing rule".to_owned(), error))
    }
}

/// The route to `net` through interface `index`, in `table` or the main table.
fn route(index: u32, net: IpNet, table: Option<u32>) -> RouteMessage {
    let mut message = route_to(net.network(), net.prefix_len());
    message.header.kind = RouteType::Unicast;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = if matches!(net, IpNet::V4(_)) { RouteScope::Link } else { RouteScope::Universe };
    message.header.table = if table.is_none() { RouteHeader::RT_TABLE_MAIN } else { 0 };
    message.attributes.push(RouteAttribute::Oif(index));
    message.attributes.extend(table.map(RouteAttribute::Table));
    message
}

/// The interface of a route.
pub fn output_interface(route: &RouteMessage) -> Option<u32> {
    route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(index) => Some(*index),
        _ => None,
    })
}

/// The table of a route.
pub fn table(route: &RouteMessage) -> u32 {
    let wide = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Table(table) => Some(*table),
        _ => None,
    });
    wide.unwrap_or_else(|| u32::from(route.header.table))
}

fn destination(route: &RouteMessage) -> Option<&RouteAttribute> {
    route.attributes.iter().find(|attribute| matches!(attribute, RouteAttribute::Destination(_)))
}

fn family(net: IpNet) -> AddressFamily {
    match net {
        IpNet::V4(_) => AddressFamily::Inet,
        IpNet::V6(_) => AddressFamily::Inet6,
    }
}

fn refused(what: String, error: route_netlink::Error) -> Error {
    Error::Netlink { what, source: error.into() }
}
