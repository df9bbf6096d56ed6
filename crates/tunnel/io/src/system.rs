//! Everything a node needs of the machine, set up as a whole or not at all.

use crate::Error;
use crate::ear::Ear;
use crate::netlink::Netlink;
use crate::ports::Ports;
use crate::routes::{Plan, Routes};
use crate::tun::Tun;
use ipnet::IpNet;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// What is to be set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The TUN device's name.
    pub interface: String,
    /// Its addresses, with their prefixes.
    pub addresses: Vec<IpNet>,
    /// Its MTU in bytes.
    pub mtu: u16,
    /// Whether routes to `allowed_ips` are installed.
    pub routes: bool,
    /// The inner addresses of each peer, in the node's order.
    pub allowed_ips: Vec<Vec<IpNet>>,
    /// Whether a peer's routes are withdrawn while it is not reachable.
    pub open_when_down: bool,
    /// The peers' outer addresses, as far as they are known.
    pub endpoints: Vec<IpAddr>,
    /// Where to listen; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// From how many ports datagrams leave: the one that is listened on and those behind it.
    pub source_ports: usize,
    /// Where what is sent to others is heard.
    pub overhear: Option<Overhear>,
    /// Whether TCP's maximum segment size is clamped to the MTU.
    pub mss_clamp: bool,
    /// What TCP connections of this host use that go through the tunnel; the usual one for none.
    pub congestion_control: Option<String>,
}

/// Where what is sent to others is heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overhear {
    /// The interface that is listened on.
    pub interface: String,
    /// The ports of other nodes. Our own is listened for besides: a gateway's is mostly that of other
    /// gateways too.
    pub ports: Vec<u16>,
}

/// What was set up. Dropping it takes everything out again: rules first, then the device with its addresses
/// and routes.
pub struct System {
    // the order of the fields is the order in which they are dropped
    pub(crate) routes: Option<Routes>,
    /// Each peer's, where they come and go.
    pub(crate) going_routes: Vec<Vec<IpNet>>,
    /// The peers that are reachable, where that matters.
    pub(crate) reachable: BTreeSet<usize>,
    pub(crate) tun: Tun,
    pub(crate) ports: Ports,
    pub(crate) ear: Option<Ear>,
    pub(crate) mss_clamp: Option<u16>,
}

impl System {
    /// Sets everything up. On an error nothing stays behind.
    pub fn set_up(settings: &Settings) -> Result<Self, Error> {
        // The socket comes first: it changes nothing for others, and fails for the reason that is found last
        // when it comes last.
        let ports = Ports::bind(settings.listen, settings.source_ports)?;
        let ear = match &settings.overhear {
            Some(overhear) => {
                let mut to_hear = [overhear.ports.as_slice(), &[ports.local().port()]].concat();
                to_hear.sort_unstable();
                to_hear.dedup();
                Some(Ear::open(&overhear.interface, &to_hear)?)
            }
            None => None,
        };
        let netlink = Netlink::open()?;
        let tun = Tun::create(&netlink, &settings.interface, settings.mtu, &settings.addresses)?;
        let routes = if settings.routes {
            let plan = Plan::new(&settings.allowed_ips.concat(), &settings.endpoints);
            let control = settings.congestion_control.as_deref();
            let (interface, index) = (settings.interface.as_str(), tun.index());
            Some(Routes::install(netlink, interface, index, &plan, ports.numbers(), control)?)
        } else {
            None
        };
        let mss_clamp = settings.mss_clamp.then_some(settings.mtu);
        // They were put in first all the same: what stands in their way is told at once, and not when a peer
        // comes.
        let going_routes = if settings.open_when_down { settings.allowed_ips.clone() } else { Vec::new() };
        if let Some(routes) = &routes {
            let mut going = going_routes.concat();
            going.sort_unstable();
            going.dedup();
            routes.withdraw(&going)?;
        }
        Ok(System { routes, going_routes, reachable: BTreeSet::new(), tun, ports, ear, mss_clamp })
    }

    /// Does what the tunnel's state asks of the routes.
    pub(crate) fn follow(&mut self, event: &node::Event) {
        let (index, up) = match event {
            node::Event::Reachable { index, .. } => (*index, true),
            node::Event::Unreachable { index, .. } => (*index, false),
            _ => return,
        };
        let System { routes: Some(routes), going_routes, reachable, .. } = self else { return };
        let Some(nets) = going_routes.get(index) else { return };
        reachable.remove(&index);
        // gateways of one operator lead to the same: the first that comes leads there, and the last that goes
        // withdraws
        let others: Vec<&Vec<IpNet>> =
            reachable.iter().filter_map(|other| going_routes.get(*other)).collect();
        let alone: Vec<IpNet> =
            nets.iter().filter(|net| !others.iter().any(|other| other.contains(net))).copied().collect();
        if up {
            reachable.insert(index);
        }
        if let Err(error) = if up { routes.lead(&alone) } else { routes.withdraw(&alone) } {
            tracing::warn!("{error}");
        }
    }

    /// Where the socket is bound.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.ports.local()
    }
}
