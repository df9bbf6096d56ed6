//! The ground of one run: its namespaces, their interfaces, addresses and routes, and the radio between them.

use std::fmt::Write as _;
use std::os::fd::AsFd;
use std::time::Duration;

use air::LinkConfig;
use rustix::event::{PollFd, PollFlags, poll};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::congestion_control::{self, Leave};
use crate::error::{Doing, LabError};
use crate::ethernet::HEADER_BYTES;
use crate::namespace::{Namespace, ip_batch};
use crate::outcome::LinkOutcome;
use crate::program::timespec;
use crate::radio::{AirLink, Direction, Radio};
use crate::run::Run;
use crate::scenario::Scenario;
use crate::topology::{End, Link, Medium, Place, Topology, ipv4_of, ipv6_of, mac_of};

/// Kernel parameters that every place gets first. Nothing may cross a link but the traffic, and no connection may
/// profit from what an earlier one learnt.
const PARAMETERS: [(&str, &str); 6] = [
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    // Reports of multicast groups joined come at once, not within seconds.
    ("net.ipv6.conf.default.mldv2_unsolicited_report_interval", "1"),
    ("net.ipv6.conf.default.mldv1_unsolicited_report_interval", "1"),
];

/// For how long new interfaces must be silent before the air opens.
const SILENCE: Duration = Duration::from_millis(50);

/// Everything that a run stands on. Dropped, all of it goes.
pub(crate) struct Ground {
    // In order of dropping: the radio holds devices of the namespaces.
    radio: Radio,
    air: Vec<String>,
    places: Vec<(String, Namespace)>,
}

impl Ground {
    /// Lays everything that `scenario` says, with the air seeded by `seed`.
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
        for (place, (_, namespace)) in topology.places.iter().zip(&places) {
            namespace.ip(&address_lines(topology, place))?;
        }
        let air = links.iter().map(|(name, _)| name.clone()).collect();
        let links: Vec<AirLink> = links.into_iter().map(|(_, link)| link).collect();
        fall_silent(&links)?;
        Ok(Self { radio: Radio::start(links)?, air, places })
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

    /// What crossed the air so far.
    pub(crate) fn counts(&self) -> Vec<LinkOutcome> {
        let counts = self.radio.counts();
        let names = self.air.iter().cloned();
        let both = names.zip(counts);
        both.map(|(name, [forward, backward])| LinkOutcome { name, forward, backward }).collect()
    }
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
            match places.iter().find(|(name, _)| name == place) {
                Some((_, namespace)) => namespace.enter(|| open_tap(link, number, end))?,
                None => Err(LabError::Scenario {
                    name: scenario.name.clone(),
                    detail: format!("there is no place `{place}`"),
                }),
            }
        };
        let seeded = |config, direction: Direction| {
            let stream = seed.wrapping_mul(512).wrapping_add(u64::from(number) * 2 + direction as u64);
            air::Link::new(&for_packets(config), stream).map_err(|error| LabError::Scenario {
                name: scenario.name.clone(),
                detail: format!("the link `{}`: {error}", link.name),
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

fn open_tap(link: &Link, number: u8, end: End) -> Result<SyncDevice, LabError> {
    let tap = DeviceBuilder::new()
        .name(link.name.clone())
        .layer(Layer::L2)
        .mac_addr(mac_of(number, end))
        .mtu(link.mtu_bytes)
        .enable(false)
        .build_sync()
        .doing(|| format!("make the TAP `{}`", link.name))?;
    tap.set_nonblocking(true).doing(|| format!("unblock the TAP `{}`", link.name))?;
    Ok(tap)
}

/// The air takes the frames of an 802.11 link for Ethernet's and is given packets here: the header's octets are made up.
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
    for route in &place.routes {
        let _ = writeln!(lines, "route add {} via {}", route.to, route.via);
    }
    lines
}

/// Discards what new interfaces say of their own accord (reports of multicast groups), until they say no more.
fn fall_silent(links: &[AirLink]) -> Result<(), LabError> {
    let taps: Vec<&SyncDevice> = links.iter().flat_map(|link| &link.taps).collect();
    let mut watched: Vec<PollFd<'_>> =
        taps.iter().map(|tap| PollFd::from_borrowed_fd(tap.as_fd(), PollFlags::IN)).collect();
    let mut frame = [0; 2048];
    while poll(&mut watched, Some(&timespec(SILENCE))).doing(|| "watch the TAPs".to_owned())? > 0 {
        for tap in &taps {
            while tap.recv(&mut frame).is_ok() {}
        }
    }
    Ok(())
}

fn written(mac: [u8; 6]) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}
