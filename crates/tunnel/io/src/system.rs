//! The machine's part of a node, set up as a whole or not at all.

use crate::Error;
use crate::netlink::Netlink;
use crate::ports::Ports;
use crate::routes::{Plan, Routes};
use crate::sniffer::Sniffer;
use crate::tun::Tun;
use ipnet::IpNet;
use node::Roster;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// Parameters of the set-up.
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
    /// Whether an unreachable peer's routes are withdrawn.
    pub open_when_down: bool,
    /// The peers' known outer addresses.
    pub endpoints: Vec<IpAddr>,
    /// The address to listen on; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Number of source ports: the listening port and the ones after it.
    pub source_ports: usize,
    /// The interface for overhearing.
    pub overhear: Option<Overhear>,
    /// Whether TCP's maximum segment size is clamped to the MTU.
    pub mss_clamp: bool,
    /// Congestion control of this host's TCP connections through the tunnel; `None` for the default.
    pub congestion_control: Option<String>,
}

/// Parameters of overhearing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overhear {
    /// The interface to listen on.
    pub interface: String,
    /// The ports of other nodes. Our own port is added, because other gateways usually use it as well.
    pub ports: Vec<u16>,
}

/// The result of the set-up. Dropping it removes everything: first the rules, then the device with its
/// addresses and routes.
pub struct System {
    // The fields are dropped in this order.
    pub(crate) routes: Option<Routes>,
    /// The inner addresses of each peer, by place.
    pub(crate) allowed_ips: Vec<Vec<IpNet>>,
    /// Whether an unreachable peer's routes are withdrawn.
    pub(crate) open_when_down: bool,
    /// The reachable peers, if reachability matters.
    pub(crate) reachable: BTreeSet<usize>,
    pub(crate) tun: Tun,
    pub(crate) ports: Ports,
    pub(crate) sniffer: Option<Sniffer>,
    pub(crate) mss_clamp: Option<u16>,
}

impl System {
    /// Sets everything up. After an error nothing remains.
    pub fn set_up(settings: &Settings) -> Result<Self, Error> {
        // The socket comes first: it affects no other program, and it has the most frequent errors.
        let ports = Ports::bind(settings.listen, settings.source_ports)?;
        let sniffer = match &settings.overhear {
            Some(overhear) => {
                let mut to_hear = [overhear.ports.as_slice(), &[ports.local().port()]].concat();
                to_hear.sort_unstable();
                to_hear.dedup();
                Some(Sniffer::open(&overhear.interface, &to_hear)?)
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
        // The routes are installed first even so, to report an obstacle now and not at a peer's arrival.
        if let Some(routes) = routes.as_ref().filter(|_| settings.open_when_down) {
            let mut going = settings.allowed_ips.concat();
            going.sort_unstable();
            going.dedup();
            routes.withdraw(&going)?;
        }
        Ok(System {
            routes,
            allowed_ips: settings.allowed_ips.clone(),
            open_when_down: settings.open_when_down,
            reachable: BTreeSet::new(),
            tun,
            ports,
            sniffer,
            mss_clamp,
        })
    }

    /// Updates the routes after a change of the tunnel's state.
    pub(crate) fn follow(&mut self, event: &node::Event) {
        let (index, up) = match event {
            node::Event::Reachable { index, .. } => (*index, true),
            node::Event::Unreachable { index, .. } => (*index, false),
            _ => return,
        };
        let System { routes: Some(routes), allowed_ips, open_when_down: true, reachable, .. } = self else {
            return;
        };
        let Some(nets) = allowed_ips.get(index) else { return };
        reachable.remove(&index);
        // Gateways of one operator share routes: the first reachable one adds them, and the last one to leave
        // withdraws them.
        let others: Vec<&Vec<IpNet>> = reachable.iter().filter_map(|other| allowed_ips.get(*other)).collect();
        let alone: Vec<IpNet> =
            nets.iter().filter(|net| !others.iter().any(|other| other.contains(net))).copied().collect();
        if up {
            reachable.insert(index);
        }
        if let Err(error) = if up { routes.lead(&alone) } else { routes.withdraw(&alone) } {
            tracing::warn!("{error}");
        }
    }

    /// Changes the routes to those of the peers of `roster`, or changes nothing.
    pub(crate) fn adopt(&mut self, roster: &Roster) -> Result<(), Error> {
        let next: Vec<Vec<IpNet>> = roster.allowed_ips().map(<[IpNet]>::to_vec).collect();
        let is_free = |place: &usize| roster.places().get(*place).is_none_or(Option::is_none);
        let reachable: BTreeSet<usize> = self.reachable.iter().copied().filter(|at| !is_free(at)).collect();
        let before = self.led(&self.allowed_ips, &self.reachable);
        let after = self.led(&next, &reachable);
        if let Some(routes) = &mut self.routes {
            let endpoints: Vec<IpAddr> = roster.endpoints().collect();
            routes.change(Plan::new(&next.concat(), &endpoints), &before, &after)?;
        }
        (self.allowed_ips, self.reachable) = (next, reachable);
        Ok(())
    }

    /// The prefixes that lead into the tunnel.
    fn led(&self, allowed_ips: &[Vec<IpNet>], reachable: &BTreeSet<usize>) -> BTreeSet<IpNet> {
        let is_led = |(place, _): &(usize, &Vec<IpNet>)| !self.open_when_down || reachable.contains(place);
        allowed_ips.iter().enumerate().filter(is_led).flat_map(|(_, nets)| nets).map(IpNet::trunc).collect()
    }

    /// The socket's address.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        self.ports.local()
    }
}
