//! The environment of one run: its namespaces, their interfaces, addresses and routes, and the radio between
//! them.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::time::Duration;

use air::LinkConfig;
use rustix::event::{PollFd, PollFlags, poll};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::channel::AirChannel;
use crate::congestion_control::{self, Leave};
use crate::error::{Doing, LabError};
use crate::ethernet::HEADER_BYTES;
use crate::namespace::{Namespace, ip_batch};
use crate::outcome::{ChannelOutcome, LinkOutcome};
use crate::program::timespec;
use crate::radio::{AirLink, Direction, Radio};
use crate::run::Run;
use crate::scenario::Scenario;
use crate::topology::{
    Channel, End, Medium, Place, Topology, ipv4_of, ipv6_of, mac_of, member_ipv4, station_ipv4,
    station_link_local, station_mac,
};
use crate::wi_fi::{Cells, MovedRadios, WiFi, move_radios};

/// Initial kernel parameters of every place. Only the traffic may cross a link, and no connection may use
/// state of an earlier one.
const PARAMETERS: [(&str, &str); 6] = [
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    // Reports of multicast groups joined come at once, not within seconds.
    ("net.ipv6.conf.default.mldv2_unsolicited_report_interval", "1"),
    ("net.ipv6.conf.default.mldv1_unsolicited_report_interval", "1"),
];

/// Octets of the MTU of channels.
const MTU_BYTES: u16 = 1500;

/// Time of silence of new interfaces before the air opens.
const SILENCE: Duration = Duration::from_millis(50);

/// The environment of a run. Dropping it removes everything.
pub(crate) struct Ground {
    // Dropped in this order, because the radio holds devices of the namespaces.
    radio: Radio,
    air: Vec<String>,
    channels: Vec<String>,
    networks: Vec<String>,
    moved: Option<MovedRadios>,
    places: Vec<(String, Namespace)>,
}

impl Ground {
    /// Creates the scenario's environment, with the air seeded by `seed`.
    pub(crate) fn lay(run: &Run, scenario: &Scenario, seed: u64) -> Result<Self, LabError> {
        let topology = &scenario.topology;
        let names: Vec<&str> = topology.places.iter().map(|place| place.name.as_str()).collect();
        let namespaces = Namespace::make(run, &names)?;
        let places: Vec<(String, Namespace)> =
            names.iter().map(|name| (*name).to_owned()).zip(namespaces).collect();
        let parameters = topology.places.iter().map(|place| &place.parameters).chain([&scenario.parameters]);
        let controls = parameters.filter_map(|parameters| parameters.get(congestion_control::PARAMETER));
        let leave = Leave::take(controls.map(String::as_str))?;
        for ((_, namespace), place) in places.iter().zip(&topology.places) {
            let said = scenario.parameters.iter().chain(&place.parameters);
            let said = said.map(|(name, value)| (name.as_str(), value.as_str()));
            let forwards = [("net.ipv4.ip_forward", "1"), ("net.ipv6.conf.all.forwarding", "1")];
            let forwards = forwards.into_iter().filter(|_| place.forwards);
            namespace.set_parameters(PARAMETERS.into_iter().chain(forwards).chain(said))?;
        }
        drop(leave);
        lay_cables(topology, &places)?;
        let links = raise_air(scenario, seed, &places)?;
        let channels = raise_channels(scenario, seed, &places)?;
        let (moved, cells) = raise_wi_fi(topology, seed, &places)?.unzip();
        for (place, (_, namespace)) in topology.places.iter().zip(&places) {
            namespace.ip(&address_lines(topology, place))?;
        }
        let air = links.iter().map(|(name, _)| name.clone()).collect();
        let links: Vec<AirLink> = links.into_iter().map(|(_, link)| link).collect();
        let taps = links.iter().flat_map(|link| &link.taps).chain(channels.iter().flat_map(|it| &it.taps));
        fall_silent(&taps.collect::<Vec<_>>())?;
        let names = topology.channels.iter().map(|channel| channel.name.clone()).collect();
        let networks = topology.wi_fi.iter().map(|network| network.name.clone()).collect();
        let radio = Radio::start(links, channels, cells)?;
        Ok(Self { radio, air, channels: names, networks, moved, places })
    }

    /// The namespace of a place that the scenario's check has found to exist.
    pub(crate) fn place(&self, name: &str) -> Result<&Namespace, LabError> {
        let place = self.places.iter().find(|(place, _)| place == name);
        place.map(|(_, namespace)| namespace).ok_or_else(|| LabError::Scenario {
            name: name.to_owned(),
            detail: "there is no such place".to_owned(),
        })
    }

    /// Changes one direction of a link.
    pub(crate) fn configure(
        &self,
        link: &str,
        direction: Direction,
        config: &LinkConfig,
    ) -> Result<(), LabError> {
        let number = self.air.iter().position(|name| name == link).unwrap_or(usize::MAX);
        self.radio.configure(number, direction, &for_packets(config))
    }

    /// Counts of links, and of channels and Wi-Fi networks, so far.
    pub(crate) fn counts(&self) -> (Vec<LinkOutcome>, Vec<ChannelOutcome>) {
        let counts = self.radio.counts();
        let links = self.air.iter().cloned().zip(counts.links);
        let links = links.map(|(name, [forward, backward])| LinkOutcome { name, forward, backward });
        let shared = self.channels.iter().cloned().zip(counts.channels);
        let channels = shared.chain(self.networks.iter().cloned().zip(counts.cells));
        let channels = channels.map(|(name, stations)| ChannelOutcome { name, stations });
        (links.collect(), channels.collect())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.moved.iter().for_each(|moved| moved.take_back(&self.places));
    }
}

/// What seeds the air of one direction of a link. A run's seed is below 2^54, so that it never wraps.
fn link_seed(seed: u64, number: u8, direction: Direction) -> u64 {
    seed * 512 + u64::from(number) * 2 + direction as u64
}

/// What seeds a channel: no link of the same run has it. Seed 0 takes the channels of a seed that no run has,
/// because its own are those of its links.
fn channel_seed(seed: u64, number: u8) -> u64 {
    let seed = if seed == 0 { u64::MAX / 256 } else { seed };
    seed * 256 + u64::from(number)
}

/// What seeds a Wi-Fi network: no link and no channel of any run has it.
fn network_seed(seed: u64, number: u8) -> u64 {
    (1 << 63) + seed * 256 + u64::from(number)
}

/// Moves simulated radios into the places of Wi-Fi networks, and seeds the air between them.
fn raise_wi_fi(
    topology: &Topology,
    seed: u64,
    places: &[(String, Namespace)],
) -> Result<Option<(MovedRadios, Cells)>, LabError> {
    if topology.wi_fi.is_empty() {
        return Ok(None);
    }
    let radios = move_radios(&topology.wi_fi, places)?;
    let cells = Cells::between(&topology.wi_fi, &radios, |number| network_seed(seed, number))?;
    Ok(Some((radios, cells)))
}

/// Makes the veth pairs, each end in its place, with its own address.
fn lay_cables(topology: &Topology, places: &[(String, Namespace)]) -> Result<(), LabError> {
    let mut lines = String::new();
    let namespace = |place: &String| places.iter().find(|(name, _)| name == place).map(|(_, at)| at.name());
    for (number, link) in (0_u8..).zip(&topology.links) {
        let ([first, second], Medium::Cable) = (&link.ends, &link.medium) else { continue };
        if let (Some(first), Some(second)) = (namespace(first), namespace(second)) {
            let [here, there] = End::BOTH.map(|end| written(mac_of(number, end)));
            let (name, mtu) = (&link.name, link.mtu_bytes);
            let _ = writeln!(
                lines,
                "link add name {name} address {here} mtu {mtu} netns {first} type veth \
                 peer name {name} address {there} mtu {mtu} netns {second}"
            );
        }
    }
    if lines.is_empty() { Ok(()) } else { ip_batch(&lines) }
}

/// Opens the TAPs and seeds the air between them, each direction with a seed of its own.
fn raise_air(
    scenario: &Scenario,
    seed: u64,
    places: &[(String, Namespace)],
) -> Result<Vec<(String, AirLink)>, LabError> {
    let mut links = Vec::new();
    for (number, link) in (0_u8..).zip(&scenario.topology.links) {
        let Medium::Air { forward, backward } = &link.medium else { continue };
        let open = |end: End| {
            let place = &link.ends[end as usize - 1];
            open_tap(scenario, places, place, &link.name, mac_of(number, end), link.mtu_bytes)
        };
        let seeded = |config, direction: Direction| {
            air::Link::new(&for_packets(config), link_seed(seed, number, direction)).map_err(|error| {
                LabError::Scenario {
                    name: scenario.name.clone(),
                    detail: format!("the link `{}`: {error}", link.name),
                }
            })
        };
        let air = AirLink {
            taps: [open(End::First)?, open(End::Second)?],
            macs: End::BOTH.map(|end| mac_of(number, end)),
            links: [seeded(forward, Direction::Forward)?, seeded(backward, Direction::Backward)?],
        };
        links.push((link.name.clone(), air));
    }
    Ok(links)
}

/// Opens the TAPs of channels and seeds the air between them.
fn raise_channels(
    scenario: &Scenario,
    seed: u64,
    places: &[(String, Namespace)],
) -> Result<Vec<AirChannel>, LabError> {
    let mut channels = Vec::new();
    for (number, channel) in (0_u8..).zip(&scenario.topology.channels) {
        let medium = air::Medium::new(&channel.medium, channel_seed(seed, number));
        let medium = medium.map_err(|error| LabError::Scenario {
            name: scenario.name.clone(),
            detail: format!("the channel `{}`: {error}", channel.name),
        })?;
        let macs: Vec<_> = (0..channel.stations.len()).map(|station| station_mac(number, station)).collect();
        let taps = channel.stations.iter().zip(&macs);
        let taps = taps.map(|(place, mac)| open_tap(scenario, places, place, &channel.name, *mac, MTU_BYTES));
        channels.push(AirChannel { taps: taps.collect::<Result<_, _>>()?, macs, medium });
    }
    Ok(channels)
}

fn open_tap(
    scenario: &Scenario,
    places: &[(String, Namespace)],
    place: &str,
    name: &str,
    mac: [u8; 6],
    mtu_bytes: u16,
) -> Result<SyncDevice, LabError> {
    let found = places.iter().find(|(other, _)| other == place);
    let (_, namespace) = found.ok_or_else(|| LabError::Scenario {
        name: scenario.name.clone(),
        detail: format!("there is no place `{place}`"),
    })?;
    namespace.enter(|| {
        let tap = DeviceBuilder::new()
            .name(name)
            .layer(Layer::L2)
            .mac_addr(mac)
            .mtu(mtu_bytes)
            .enable(false)
            .build_sync()
            .doing(|| format!("make the TAP `{name}`"))?;
        tap.set_nonblocking(true).doing(|| format!("unblock the TAP `{name}`"))?;
        Ok(tap)
    })?
}

/// Adapts an 802.11 link's configuration, which expects Ethernet frames, to packets: the header's octets are
/// added.
fn for_packets(config: &LinkConfig) -> LinkConfig {
    let header_bytes = if config.radio.is_some() { HEADER_BYTES } else { 0 };
    LinkConfig { overhead_bytes: config.overhead_bytes + header_bytes, ..config.clone() }
}

/// The lines of `ip -batch` that give a place its addresses, neighbours and routes.
fn address_lines(topology: &Topology, place: &Place) -> String {
    let mut lines = "link set lo up\n".to_owned();
    for address in &place.addresses {
        let _ = writeln!(lines, "addr add {address} dev lo");
    }
    for (number, link) in (0_u8..).zip(&topology.links) {
        let Some(end) = End::BOTH.into_iter().find(|end| link.ends[*end as usize - 1] == place.name) else {
            continue;
        };
        let (name, other) = (&link.name, end.other());
        let mac = written(mac_of(number, other));
        let _ = writeln!(lines, "link set {name} up");
        let _ = writeln!(lines, "addr add {}/24 dev {name}", ipv4_of(number, end));
        let _ = writeln!(lines, "addr add {}/64 dev {name} nodad", ipv6_of(number, end));
        let _ =
            writeln!(lines, "neigh replace {} lladdr {mac} dev {name} nud permanent", ipv4_of(number, other));
        let _ =
            writeln!(lines, "neigh replace {} lladdr {mac} dev {name} nud permanent", ipv6_of(number, other));
    }
    for (number, channel) in (0_u8..).zip(&topology.channels) {
        if let Some(station) = channel.station(&place.name) {
            lines += &channel_lines(number, channel, station);
        }
    }
    for (number, network) in (0_u8..).zip(&topology.wi_fi) {
        if let Some(member) = network.member(&place.name) {
            lines += &network_lines(network, &place.name, member_ipv4(number, member));
        }
    }
    for route in &place.routes {
        let over = topology.channels.iter().find(|channel| {
            let next = channel.stations.iter().filter_map(|other| topology.address_on(&channel.name, other));
            channel.station(&place.name).is_some() && next.into_iter().any(|next| next == route.via)
        });
        let over = over.map_or_else(String::new, |channel| format!(" dev {} onlink", channel.name));
        let _ = writeln!(lines, "route add {} via {}{over}", route.to, route.via);
    }
    lines
}

/// The same for a channel. There is a route for what is broadcast, and none for other stations.
fn channel_lines(number: u8, channel: &Channel, station: usize) -> String {
    let name = &channel.name;
    let mut lines = format!("link set {name} up\n");
    let own = station_ipv4(number, station);
    let everybody = Ipv4Addr::new(10, 78, number, 255);
    let _ = writeln!(lines, "addr add {own}/24 brd {everybody} dev {name} noprefixroute");
    for other in (0..channel.stations.len()).filter(|other| *other != station) {
        let mac = written(station_mac(number, other));
        for address in
            [IpAddr::from(station_ipv4(number, other)), IpAddr::from(station_link_local(number, other))]
        {
            let _ = writeln!(lines, "neigh replace {address} lladdr {mac} dev {name} nud permanent");
        }
    }
    lines
}

/// The same for a Wi-Fi network, whose neighbours ask for addresses by ARP.
fn network_lines(network: &WiFi, place: &str, address: Ipv4Addr) -> String {
    let name = &network.name;
    let mut lines = format!("link set {name} up\naddr add {address}/24 dev {name}\n");
    if network.has_monitor(place) {
        let _ = writeln!(lines, "link set {} up", network.monitor_name());
    }
    lines
}

/// Discards frames that new interfaces send themselves (multicast reports), until they are silent.
fn fall_silent(taps: &[&SyncDevice]) -> Result<(), LabError> {
    let mut watched: Vec<PollFd<'_>> =
        taps.iter().map(|tap| PollFd::from_borrowed_fd(tap.as_fd(), PollFlags::IN)).collect();
    let mut frame = [0; 2048];
    while poll(&mut watched, Some(&timespec(SILENCE))).doing(|| "watch the TAPs".to_owned())? > 0 {
        for tap in taps {
            while tap.recv(&mut frame).is_ok() {}
        }
    }
    Ok(())
}

fn written(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::check::SEEDS;

    #[test]
    fn no_links_channels_and_networks_of_a_run_share_their_randomness() {
        for seed in [0, 1, 2, 3, 1000, SEEDS - 1] {
            let links = (0..=u8::MAX).flat_map(|number| {
                [Direction::Forward, Direction::Backward].map(|direction| link_seed(seed, number, direction))
            });
            let channels = (0..=u8::MAX).map(|number| channel_seed(seed, number));
            let networks = (0..=u8::MAX).map(|number| network_seed(seed, number));
            let different: HashSet<u64> = links.chain(channels).chain(networks).collect();
            assert_eq!(different.len(), 4 * 256, "seed {seed}");
        }
    }

    #[test]
    fn two_seeds_have_different_links_and_different_channels() {
        let seeds = (0..5000).chain(SEEDS - 5000..SEEDS);
        let last: HashSet<u64> =
            seeds.clone().map(|seed| link_seed(seed, 255, Direction::Backward) / 512).collect();
        assert_eq!(last.len(), 10_000);
        let channels: HashSet<u64> = seeds.map(|seed| channel_seed(seed, 255) / 256).collect();
        assert_eq!(channels.len(), 10_000);
    }
}
