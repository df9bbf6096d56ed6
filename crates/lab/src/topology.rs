//! Places and the links between them: what a scenario says, and the addresses that follow from it.
//!
//! Link number `n` (in the order written) is `10.77.n.0/24` and `fd77:0:0:n::/64`; its first end is host 1, its
//! second host 2, and the interface at both ends has the link's name. Neighbours are entered for good, so that neither
//! ARP nor neighbour discovery ever crosses a link.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use air::LinkConfig;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// Octets of a link's MTU unless the scenario says otherwise.
const MTU_BYTES: u16 = 1500;

/// Places (network namespaces) joined by links.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// The places, by name: short, of letters and digits.
    pub places: Vec<Place>,
    /// The links between them.
    pub links: Vec<Link>,
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
    /// Addresses of its own beside those of its links; they are put on loopback.
    #[serde(default)]
    pub addresses: Vec<IpNet>,
    /// Where it sends what is not for a link of its own.
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
    /// What is between them.
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

impl Topology {
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
