//! The few netlink requests about devices, addresses, routes and rules that a tunnel needs. Each waits for
//! its answer.

use crate::Error;
use futures_util::TryStreamExt;
use ipnet::IpNet;
use rtnetlink::packet_route::AddressFamily;
use rtnetlink::packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute, LinkFlags, LinkMessage,
};
use rtnetlink::packet_route::route::{RouteAttribute, RouteMessage, RouteMetric, RouteProtocol, RouteScope};
use rtnetlink::packet_route::rule::RuleMessage;
use rtnetlink::{Handle, IpVersion, RouteMessageBuilder};
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{SocketFlags, SocketType, socket_with};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// A metric below that of the kernel's own routes for IPv6 addresses (256).
const BEFORE_CONNECTED: u32 = 128;
/// The number of UDP (IANA's protocol numbers).
const UDP: u8 = 17;

/// A route-netlink connection, in the network namespace of the thread that opened it.
pub struct Netlink {
    runtime: tokio::runtime::Runtime,
    handle: Handle,
    /// For questions that need no list of all that the kernel knows of a device.
    socket: OwnedFd,
}

impl Netlink {
    /// Connects. Only the requests need rights.
    pub fn open() -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(Error::call("start a runtime for netlink"))?;
        let entered = runtime.enter();
        let (connection, handle, _) =
            rtnetlink::new_connection().map_err(Error::call("open a netlink socket"))?;
        drop(entered);
        runtime.spawn(connection);
        let family = rustix::net::AddressFamily::UNIX;
        let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .map_err(Error::call("open a socket"))?;
        Ok(Netlink { runtime, handle, socket })
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
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![
            AfSpecInet6::AddrGenMode(In6AddrGenMode::None),
        ])]));
        if let Err(error) = self.runtime.block_on(self.handle.link().set(message).execute()) {
            // A kernel without IPv6 has no link-local address.
            tracing::debug!("interface {index} keeps its link-local address: {error}");
        }
    }

    /// Brings interface `index` up.
    pub fn bring_up(&self, index: u32) -> Result<(), Error> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        self.runtime
            .block_on(self.handle.link().set(message).execute())
            .map_err(|error| refused("bring the interface up".to_owned(), error))
    }

    /// Adds an address to interface `index`, with the connected route of its prefix.
    pub fn add_address(&self, index: u32, address: IpNet) -> Result<(), Error> {
        let request = self.handle.address().add(index, address.addr(), address.prefix_len());
        self.runtime.block_on(request.execute()).map_err(|error| match kind(&error) {
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
        let add = || self.handle.route().add(message.clone());
        match self.runtime.block_on(add().execute()) {
            Ok(()) => Ok(()),
            Err(error) if kind(&error) == Some(Errno::EXIST) => {
                let ours = self.routes(family(net))?.iter().any(|route| {
                    route.header.destination_prefix_length == net.prefix_len()
                        && destination(&message) == destination(route)
                        && output_interface(route) == Some(index)
                });
                match (ours, congestion_control) {
                    (false, _) => Err(Error::RouteTaken(net)),
                    (true, None) => Ok(()),
                    (true, Some(_)) => self
                        .runtime
                        .block_on(add().replace().execute())
                        .map_err(|error| refused(format!("replace the route to {net}"), error)),
                }
            }
            Err(error) => Err(refused(format!("add a route to {net}"), error)),
        }
    }

    /// Removes a route of [`Netlink::add_route`]. A missing route is no error.
    pub fn remove_route(&self, index: u32, net: IpNet, table: Option<u32>) -> Result<(), Error> {
        match self.runtime.block_on(self.handle.route().del(route(index, net, table)).execute()) {
            Ok(()) => Ok(()),
            Err(error) if kind(&error) == Some(Errno::SRCH) => Ok(()),
            Err(error) => Err(refused(format!("remove the route to {net}"), error)),
        }
    }

    /// All routes of a family.
    pub fn routes(&self, family: AddressFamily) -> Result<Vec<RouteMessage>, Error> {
        let mut message = RouteMessage::default();
        message.header.address_family = family;
        let routes = self.handle.route().get(message).execute();
        self.runtime
            .block_on(routes.try_collect())
            .map_err(|error| refused("list the routes".to_owned(), error))
    }

    /// The interface of UDP datagrams that this host sends from `source_port` to `to`; `None` if the route
    /// has none. An error means that there is no route.
    pub fn way(&self, to: SocketAddr, source_port: u16) -> Result<Option<u32>, Error> {
        let mut message = match to.ip() {
            IpAddr::V4(ip) => RouteMessageBuilder::<Ipv4Addr>::new().destination_prefix(ip, 32).build(),
            IpAddr::V6(ip) => RouteMessageBuilder::<Ipv6Addr>::new().destination_prefix(ip, 128).build(),
        };
        let header = &mut message.header;
        (header.table, header.protocol, header.kind, header.scope) = Default::default();
        if let SocketAddr::V6(to) = to
            && to.scope_id() != 0
        {
            message.attributes.push(RouteAttribute::Oif(to.scope_id()));
        }
        message.attributes.extend([
            RouteAttribute::IpProto(UDP),
            RouteAttribute::Sport(source_port),
            RouteAttribute::Dport(to.port()),
        ]);
        let mut routes = self.handle.route().get(message).execute();
        let route = self.runtime.block_on(routes.try_next());
        let route = route.map_err(|error| refused(format!("find the route to {to}"), error))?;
        Ok(route.as_ref().and_then(output_interface))
    }

    /// All rules of a family; none if the system has no policy routing.
    pub fn rules(version: IpVersion) -> Result<Vec<RuleMessage>, Error> {
        // A refusal to send a request ends its connection, as under an emulator that does not translate it.
        let apart = Netlink::open()?;
        let rules = apart.handle.rule().get(version).execute();
        match apart.runtime.block_on(rules.try_collect()) {
            Ok(rules) => Ok(rules),
            Err(error) if matches!(kind(&error), Some(Errno::OPNOTSUPP | Errno::AFNOSUPPORT)) => {
                Ok(Vec::new())
            }
            Err(rtnetlink::Error::RequestFailed) => {
                tracing::info!("routing rules of an earlier run stay: this system does not list them");
                Ok(Vec::new())
            }
            Err(error) => Err(refused("list the routing rules".to_owned(), error)),
        }
    }

    /// Adds a rule.
    pub fn add_rule(&self, rule: &RuleMessage) -> Result<(), Error> {
        let mut request = self.handle.rule().add();
        *request.message_mut() = rule.clone();
        self.runtime
            .block_on(request.execute())
            .map_err(|error| refused("add a routing rule".to_owned(), error))
    }

    /// Removes a rule.
    pub fn remove_rule(&self, rule: &RuleMessage) -> Result<(), Error> {
        self.runtime
            .block_on(self.handle.rule().del(rule.clone()).execute())
            .map_err(|error| refused("remove a routing rule".to_owned(), error))
    }
}

/// The route to `net` through interface `index`, in `table` or the main table.
fn route(index: u32, net: IpNet, table: Option<u32>) -> RouteMessage {
    let mut message = match net {
        IpNet::V4(net) => {
            RouteMessageBuilder::<Ipv4Addr>::new().destination_prefix(net.network(), net.prefix_len()).build()
        }
        IpNet::V6(net) => {
            RouteMessageBuilder::<Ipv6Addr>::new().destination_prefix(net.network(), net.prefix_len()).build()
        }
    };
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = if matches!(net, IpNet::V4(_)) { RouteScope::Link } else { RouteScope::Universe };
    message.attributes.push(RouteAttribute::Oif(index));
    if let Some(table) = table {
        message.header.table = 0;
        message.attributes.push(RouteAttribute::Table(table));
    }
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

fn kind(error: &rtnetlink::Error) -> Option<Errno> {
    match error {
        rtnetlink::Error::NetlinkError(message) => Errno::from_io_error(&message.to_io()),
        _ => None,
    }
}

fn refused(what: String, error: rtnetlink::Error) -> Error {
    let source = match error {
        rtnetlink::Error::NetlinkError(message) => message.to_io(),
        other => io::Error::other(other.to_string()),
    };
    Error::Netlink { what, source }
}
