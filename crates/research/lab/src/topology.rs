//! Places and links of a scenario, and their addresses.
//!
//! Link number `n` (in order) is `10.77.n.0/24` and `fd77:0:0:n::/64`. Its first end is host 1 and its second
//! end is host 2, and both interfaces have the link's name. Neighbour entries are permanent, so neither ARP
//! nor neighbour discovery crosses a link.
//!
//! Channel number `c` is `10.78.c.0/24`. Its stations are hosts 1, 2 and so on in order, and each interface
//! has the channel's name. A channel has no routes by default, because not all stations hear each other. The
//! scenario adds routes or a routing protocol.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use air::{LinkConfig, MediumConfig};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};

use crate::wi_fi::WiFi;

/// Octets of a link's MTU unless the scenario says otherwise.
const MTU_BYTES: u16 = 1500;

/// Places (network namespaces) joined by links.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// The places, by name: short, of letters and digits.
    pub places: Vec<Place>,
    /// The links between them.
    #[serde(default)]
    pub links: Vec<Link>,
    /// The channels that they share.
    #[serde(default)]
    pub channels: Vec<Channel>,
    /// The Wi-Fi networks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wi_fi: Vec<WiFi>,
}

/// A channel that places share by radio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// The channel's name, and its interfaces' (at most 15 letters and digits).
    pub name: String,
    /// The places, at most 254, in the order of the medium's stations.
    pub stations: Vec<String>,
    /// The medium between them.
    pub medium: MediumConfig,
}

impl Channel {
    /// The number of a place among the stations.
    pub fn station(&self, place: &str) -> Option<usize> {
        self.stations.iter().position(|station| station == place)
    }
}

/// One network namespace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Its name.
    pub name: String,
    /// Whether it forwards packets between its interfaces.
    #[serde(default)]
    pub forwards: bool,
    /// Further addresses beside those of its links, on loopback.
    #[serde(default)]
    pub addresses: Vec<IpNet>,
    /// Routes for destinations beyond its links.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Kernel parameters by dotted name (`net.ipv4.tcp_sack`), over those of the scenario.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
}

/// One route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The destination.
    pub to: IpNet,
    /// The next hop.
    pub via: IpAddr,
}

/// A link between two places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The link's name, and its interfaces' (at most 15 letters and digits).
    pub name: String,
    /// The two places.
    pub ends: [String; 2],
    /// The medium between them.
    pub medium: Medium,
    /// MTU of both interfaces.
    #[serde(default = "mtu_bytes")]
    pub mtu_bytes: u16,
}

const fn mtu_bytes() -> u16 {
    MTU_BYTES
}

/// What joins the two ends of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "a handful a scenario")]
pub enum Medium {
    /// A cable without delay or bound on rate: a veth pair.
    Cable,
    /// The emulated air (or a long wire): a TAP at each end, and one emulated link a direction.
    Air {
        /// From the first end to the second.
        forward: LinkConfig,
        /// From the second end to the first.
        backward: LinkConfig,
    },
}

impl Link {
    /// A link of the usual MTU.
    pub fn new(name: &str, first: &str, second: &str, medium: Medium) -> Self {
        let ends = [first.to_owned(), second.to_owned()];
        Self { name: name.to_owned(), ends, medium, mtu_bytes: MTU_BYTES }
    }
}

impl Topology {
    /// `gateway` and `station`, joined by the link `air` that goes forward from the gateway to the station.
    pub fn one_link(forward: LinkConfig, backward: LinkConfig) -> Self {
        let place = |name: &str| Place { name: name.to_owned(), ..Place::default() };
        let air = Link::new("air", "gateway", "station", Medium::Air { forward, backward });
        Self { places: vec![place("gateway"), place("station")], links: vec![air], ..Self::default() }
    }

    /// `server`, `gateway` and `station` in a row: the link `air` as in [`Topology::one_link`], and before it
    /// the link `wire`, forward from the server to the gateway. All places reach each other.
    pub fn behind_gateway(forward: LinkConfig, backward: LinkConfig, wire: Medium) -> Self {
        let mut row = Self::one_link(forward, backward);
        row.places.insert(0, Place { name: "server".to_owned(), ..Place::default() });
        row.links.push(Link::new("wire", "server", "gateway", wire));
        row.places[1].forwards = true;
        for (place, link) in [(0, "wire"), (2, "air")] {
            row.places[place].routes = row.default_routes(link, "gateway");
        }
        row
    }

    /// Default routes by way of `place` on `link`; none if it is not there.
    pub fn default_routes(&self, link: &str, place: &str) -> Vec<Route> {
        let everything = [IpNet::from(Ipv4Net::default()), IpNet::from(Ipv6Net::default())];
        let hops = [self.ipv4(link, place).map(IpAddr::from), self.ipv6(link, place).map(IpAddr::from)];
        let routes = everything.into_iter().zip(hops);
        routes.filter_map(|(to, via)| Some(Route { to, via: via? })).collect()
    }

    /// The number of the link of this name.
    pub fn link_number(&self, name: &str) -> Option<u8> {
        let number = self.links.iter().position(|link| link.name == name)?;
        u8::try_from(number).ok()
    }

    /// The IPv4 address of a place on a link.
    pub fn ipv4(&self, link: &str, place: &str) -> Option<Ipv4Addr> {
        let (number, end) = self.end(link, place)?;
        Some(ipv4_of(number, end))
    }

    /// The IPv6 address of a place on a link.
    pub fn ipv6(&self, link: &str, place: &str) -> Option<Ipv6Addr> {
        let (number, end) = self.end(link, place)?;
        Some(ipv6_of(number, end))
    }

    /// The address of a place on a channel.
    pub fn address_on(&self, channel: &str, place: &str) -> Option<Ipv4Addr> {
        let number = self.channels.iter().position(|other| other.name == channel)?;
        let station = self.channels[number].station(place)?;
        Some(station_ipv4(u8::try_from(number).ok()?, station))
    }

    /// Routes to these places on a channel, each of which is reached directly.
    pub fn routes_on<'a>(&self, channel: &str, places: impl IntoIterator<Item = &'a str>) -> Vec<Route> {
        let addresses = places.into_iter().filter_map(|place| self.address_on(channel, place));
        addresses.map(IpAddr::from).map(|via| Route { to: via.into(), via }).collect()
    }

    /// The address of a place on a Wi-Fi network.
    pub fn address_by_wi_fi(&self, network: &str, place: &str) -> Option<Ipv4Addr> {
        let number = self.wi_fi.iter().position(|other| other.name == network)?;
        let member = self.wi_fi[number].member(place)?;
        Some(member_ipv4(u8::try_from(number).ok()?, member))
    }

    fn end(&self, link: &str, place: &str) -> Option<(u8, End)> {
        let number = self.link_number(link)?;
        let [first, second] = &self.links[usize::from(number)].ends;
        let end = if place == first {
            End::First
        } else if place == second {
            End::Second
        } else {
            return None;
        };
        Some((number, end))
    }

    /// Whether there is a place of this name.
    pub fn has_place(&self, name: &str) -> bool {
        self.places.iter().any(|place| place.name == name)
    }
}

/// One of the two ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    First = 1,
    Second = 2,
}

impl End {
    pub(crate) const BOTH: [Self; 2] = [Self::First, Self::Second];

    pub(crate) fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

pub(crate) fn ipv4_of(link: u8, end: End) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, link, end as u8)
}

pub(crate) fn ipv6_of(link: u8, end: End) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, u16::from(link), 0, 0, 0, end as u16)
}

pub(crate) fn mac_of(link: u8, end: End) -> [u8; 6] {
    [0x02, 0x77, 0, 0, link, end as u8]
}

/// The address of a station of a channel; there are at most 254.
pub(crate) fn station_ipv4(channel: u8, station: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, channel, host(station))
}

/// The address of a member of a Wi-Fi network; there are at most 100.
pub(crate) fn member_ipv4(network: u8, member: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 79, network, host(member))
}

pub(crate) fn station_mac(channel: u8, station: usize) -> [u8; 6] {
    [0x02, 0x78, 0, 0, channel, host(station)]
}

/// The link-local address that follows from [`station_mac`] (RFC 4291, appendix A).
pub(crate) fn station_link_local(channel: u8, station: usize) -> Ipv6Addr {
    let [a, b, c, d, e, f] = station_mac(channel, station);
    Ipv6Addr::from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}

fn host(station: usize) -> u8 {
    u8::try_from(station + 1).unwrap_or(u8::MAX)
}
