//! The event loop.

use crate::addresses::{GATEWAY, outer};
use crate::fault::{Fault, FaultRefused};
use crate::host::{Boot, Host};
use crate::ledger::Ledger;
use crate::observer::{Observation, Observer};
use crate::path::{Path, down_link, up_link};
use crate::report::{LinkReport, Report};
use crate::setup::{Purpose, Setup, SetupError, host_name};
use crate::sources::Sources;
use crate::traffic::{Passage, Source};
use air::Link;
use node::Node;
use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

/// Events at one instant beyond which it counts as an endless loop.
const MOST_TURNS: u32 = 1_000_000;
/// Datagrams of a node at once beyond which it counts as an endless loop.
const MOST_DATAGRAMS: u32 = 100_000;
/// Interval of samples of the hosts' queues.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// Buffers kept for reuse.
const SPARE_BUFFERS: usize = 256;

/// Time stands still: the same instant is requested repeatedly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at {at:?} time stands still: {who} is never done")]
pub struct Stuck {
    /// The instant.
    pub at: Duration,
    /// The requester.
    pub who: String,
}

/// A gateway, its stations and the air between them.
pub struct Simulation {
    now: Duration,
    hosts: Vec<Host>,
    paths: Vec<Path>,
    sources: Sources,
    mishaps: BTreeMap<(Duration, usize), Fault>,
    scheduled: usize,
    ledger: Ledger,
    unrecognised: u64,
    sample_at: Duration,
    turns: u32,
    datagram: Vec<u8>,
    packet: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, Copy)]
enum Due {
    Fault,
    Link(usize),
    Node(usize),
    Source(usize),
}

impl Simulation {
    /// The simulation of `setup`, at time 0.
    pub fn new(setup: &Setup) -> Result<Self, SetupError> {
        setup.validate()?;
        let mut paths = Vec::new();
        for (index, station) in setup.stations.iter().enumerate() {
            let number = index + 1;
            let down = Link::new(&station.down, setup.link_seed(down_link(number)))?;
            let up = Link::new(&station.up, setup.link_seed(up_link(number)))?;
            paths.extend([Path::new(GATEWAY, number, down), Path::new(number, GATEWAY, up)]);
        }
        let mut configs = setup.tunnel.as_ref().map(|tunnel| setup.configs(tunnel).into_iter());
        let mut hosts = Vec::new();
        for number in 0..=setup.stations.len() {
            let boot = match configs.as_mut().and_then(Iterator::next) {
                Some(config) => Some(Boot::new(config, setup.rng(Purpose::Boots(number)))?),
                None => None,
            };
            hosts.push(Host::new(number, outer(number), boot));
        }
        Ok(Simulation {
            now: Duration::ZERO,
            hosts,
            paths,
            sources: Sources::default(),
            mishaps: BTreeMap::new(),
            scheduled: 0,
            ledger: Ledger::default(),
            unrecognised: 0,
            sample_at: Duration::ZERO,
            turns: 0,
            datagram: Vec::new(),
            packet: Vec::new(),
            spare: Vec::new(),
        })
    }

    /// Adds a source; returns its number.
    pub fn add_source(&mut self, name: &str, source: Box<dyn Source>) -> usize {
        self.sources.add(name, source)
    }

    /// Schedules a fault at a time (now, if that is past).
    pub fn schedule(&mut self, at: Duration, mishap: Fault) -> Result<(), FaultRefused> {
        mishap.validate(self.hosts.len(), self.paths.len())?;
        self.mishaps.insert((at, self.scheduled), mishap);
        self.scheduled += 1;
        Ok(())
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// A host's node; `None` in the bare run.
    #[must_use]
    pub fn node(&self, host: usize) -> Option<&Node> {
        Some(&self.hosts.get(host)?.tunnel.as_ref()?.node)
    }

    /// A host's current address.
    #[must_use]
    pub fn address(&self, host: usize) -> Option<SocketAddrV4> {
        Some(self.hosts.get(host)?.address)
    }

    /// Passes a datagram from any address to a host's node, past the links. No effect in the bare run.
    pub fn inject(
        &mut self,
        host: usize,
        from: SocketAddrV4,
        datagram: &mut [u8],
        observer: &mut dyn Observer,
    ) -> Result<(), Stuck> {
        match self.hosts.get_mut(host).and_then(|host| host.tunnel.as_mut()) {
            Some(boot) => boot.node.handle_datagram(self.now, from.into(), 0, datagram),
            None => return Ok(()),
        }
        self.drain(host, observer)
    }

    /// A link.
    #[must_use]
    pub fn link(&self, number: usize) -> Option<&Link> {
        Some(&self.paths.get(number)?.link)
    }

    /// Advances time until `until`.
    pub fn run_until(&mut self, until: Duration, observer: &mut dyn Observer) -> Result<(), Stuck> {
        while self.turn(until, observer)? {}
        self.now = self.now.max(until);
        Ok(())
    }

    /// Advances time until every source is complete, or until `limit`. Returns whether all are.
    pub fn run_until_complete(
        &mut self,
        limit: Duration,
        observer: &mut dyn Observer,
    ) -> Result<bool, Stuck> {
        loop {
            if self.sources.are_complete() {
                return Ok(true);
            }
            if !self.turn(limit, observer)? {
                self.now = self.now.max(limit);
                return Ok(self.sources.are_complete());
            }
        }
    }

    /// The current report.
    #[must_use]
    pub fn report(&self) -> Report {
        let link = |path: &Path| LinkReport {
            from: host_name(path.from),
            to: host_name(path.to),
            counters: path.link.counters().clone(),
            refused: path.refused,
            most_held_bytes: path.most_held_bytes,
        };
        Report {
            seconds: self.now.as_secs_f64(),
            sources: self.sources.report(),
            hosts: self.hosts.iter().map(|host| host.report(self.now)).collect(),
            links: self.paths.iter().map(link).collect(),
            unrecognised: self.unrecognised,
            remembered_packets: self.ledger.len(),
        }
    }

    /// Processes the next event up to `until`; returns `false` if there is none.
    fn turn(&mut self, until: Duration, observer: &mut dyn Observer) -> Result<bool, Stuck> {
        let Some((at, due)) = self.next().filter(|&(at, _)| at <= until) else { return Ok(false) };
        self.turns = if at > self.now { 0 } else { self.turns + 1 };
        self.now = self.now.max(at);
        if self.turns > MOST_TURNS {
            return Err(Stuck { at: self.now, who: format!("{due:?}") });
        }
        if self.now >= self.sample_at {
            self.sample_at = self.now + SAMPLE_EVERY;
            self.hosts.iter_mut().for_each(|host| host.sample(self.now));
        }
        match due {
            Due::Fault => {
                if let Some((_, mishap)) = self.mishaps.pop_first() {
                    self.happen(&mishap, observer)?;
                }
            }
            Due::Link(link) => {
                while let Some(frame) = self.paths[link].link.poll_deliver(self.now) {
                    self.arrive(link, frame, observer)?;
                }
            }
            Due::Node(host) => {
                if let Some(boot) = &mut self.hosts[host].tunnel {
                    boot.node.handle_timeout(self.now);
                }
                self.drain(host, observer)?;
            }
            Due::Source(source) => {
                let mut packet = std::mem::take(&mut self.packet);
                packet.clear();
                while let Some(passage) = self.sources.poll_packet(source, self.now, &mut packet) {
                    self.enter(source, passage, &packet, observer)?;
                    packet.clear();
                }
                self.packet = packet;
            }
        }
        Ok(true)
    }

    /// The next event; simultaneous ones have this order.
    fn next(&self) -> Option<(Duration, Due)> {
        let mishap = self.mishaps.keys().next().map(|&(at, _)| (at, Due::Fault));
        let links = self.paths.iter().map(|path| path.link.poll_timeout()).enumerate();
        let links = links.filter_map(|(number, at)| Some((at?, Due::Link(number))));
        let nodes = self.hosts.iter().map(|host| host.tunnel.as_ref()?.node.poll_timeout()).enumerate();
        let nodes = nodes.filter_map(|(number, at)| Some((at?, Due::Node(number))));
        let sources = self.sources.timeouts().map(|(number, at)| (at, Due::Source(number)));
        // `min_by_key` returns the first of equals.
        let late = |&(at, _): &(Duration, Due)| at.max(self.now);
        mishap.into_iter().chain(links).chain(nodes).chain(sources).min_by_key(late)
    }

    fn happen(&mut self, mishap: &Fault, observer: &mut dyn Observer) -> Result<(), Stuck> {
        observer.see(self.now, &Observation::Fault(mishap));
        match *mishap {
            Fault::Reboot { host } => {
                if let Some(boot) = &mut self.hosts[host].tunnel {
                    boot.reboot(self.now);
                }
                self.drain(host, observer)
            }
            Fault::Forget { host, peer, sent, received } => {
                if let Some(boot) = &mut self.hosts[host].tunnel {
                    let peer_index = if host == GATEWAY { peer - 1 } else { 0 };
                    boot.node.forget(peer_index, sent, received);
                }
                self.drain(host, observer)
            }
            Fault::Move { host, to } => {
                self.hosts[host].address = to;
                Ok(())
            }
            Fault::LinkDown { link } => {
                self.paths[link].down = true;
                Ok(())
            }
            Fault::LinkUp { link } => {
                self.paths[link].down = false;
                Ok(())
            }
            Fault::Conditions { link, ref config } => {
                // Events before now happen under the old conditions.
                while let Some(frame) = self.paths[link].link.poll_deliver(self.now) {
                    self.arrive(link, frame, observer)?;
                }
                let changed = self.paths[link].link.set_config(config);
                debug_assert!(changed.is_ok(), "conditions are looked at when they are scheduled");
                Ok(())
            }
        }
    }

    /// Passes a source's packet to a host.
    fn enter(
        &mut self,
        source: usize,
        passage: Passage,
        packet: &[u8],
        observer: &mut dyn Observer,
    ) -> Result<(), Stuck> {
        let Passage { from, to } = passage;
        self.sources.record_offer(source, to, packet.len());
        self.ledger.offer(self.now, source, to, packet);
        observer.see(self.now, &Observation::Offered { source, host: from, packet });
        match &mut self.hosts[from].tunnel {
            Some(boot) => {
                boot.node.handle_packet(self.now, packet);
                self.drain(from, observer)
            }
            None => {
                let mut frame = self.spare.pop().unwrap_or_default();
                frame.clear();
                frame.extend_from_slice(packet);
                self.send(from, Some(to), frame, observer);
                Ok(())
            }
        }
    }

    /// Handles a frame that leaves a link.
    fn arrive(&mut self, link: usize, mut frame: Vec<u8>, observer: &mut dyn Observer) -> Result<(), Stuck> {
        observer.see(self.now, &Observation::Arrived { link, frame: &frame });
        let host = &mut self.hosts[self.paths[link].to];
        let number = host.number;
        match &mut host.tunnel {
            None => self.come_out(number, &frame, observer),
            Some(boot) => match crate::outer::unwrap(host.address, &mut frame) {
                Some((from, ecn, datagram)) => {
                    boot.node.handle_datagram(self.now, from.into(), ecn, datagram);
                    self.drain(number, observer)?;
                }
                None => host.not_taken.add(frame.len()),
            },
        }
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(frame);
        }
        Ok(())
    }

    /// Takes all outputs of a host's node.
    fn drain(&mut self, number: usize, observer: &mut dyn Observer) -> Result<(), Stuck> {
        let mut datagram = std::mem::take(&mut self.datagram);
        let mut left = MOST_DATAGRAMS;
        loop {
            let host = &mut self.hosts[number];
            let Some(boot) = &mut host.tunnel else { break };
            let transmit = boot.node.poll_transmit(self.now, &mut datagram);
            while let Some(boot) = &mut host.tunnel
                && let Some(event) = boot.node.poll_event()
            {
                observer.see(self.now, &Observation::Node { host: number, event: &event });
                host.note(&event);
            }
            let Some(transmit) = transmit else { break };
            left -= 1;
            if left == 0 {
                return Err(Stuck { at: self.now, who: format!("the node of {}", host_name(number)) });
            }
            transmit.seal(&mut datagram);
            let own = host.address;
            let mut frame = self.spare.pop().unwrap_or_default();
            let SocketAddr::V4(to) = transmit.to else { continue };
            if crate::outer::wrap(own, to, transmit.class, &datagram, &mut frame) {
                let receiver = self.hosts.iter().position(|host| host.address == to);
                self.send(number, receiver, frame, observer);
            }
        }
        self.datagram = datagram;
        let mut packet = self.spare.pop().unwrap_or_default();
        while let Some(boot) = &mut self.hosts[number].tunnel
            && boot.node.poll_deliver(&mut packet)
        {
            self.come_out(number, &packet, observer);
        }
        self.spare.push(packet);
        Ok(())
    }

    /// Sends a frame over the link between two hosts, if there is one and it is up.
    fn send(&mut self, from: usize, to: Option<usize>, frame: Vec<u8>, observer: &mut dyn Observer) {
        let link = match (from, to) {
            (GATEWAY, Some(station)) if station != GATEWAY => Some(down_link(station)),
            (station, Some(GATEWAY)) if station != GATEWAY => Some(up_link(station)),
            _ => None,
        };
        match link.map(|link| (link, &mut self.paths[link])) {
            Some((link, path)) if !path.down => {
                observer.see(self.now, &Observation::Sent { link, frame: &frame });
                path.link.send(self.now, frame);
                path.most_held_bytes = path.most_held_bytes.max(path.link.held().bytes);
            }
            other => {
                observer.see(self.now, &Observation::NotSent { host: from, frame: &frame });
                match other {
                    Some((_, path)) => path.refused.add(frame.len()),
                    None => self.hosts[from].not_sent.add(frame.len()),
                }
            }
        }
    }

    /// Handles a delivery at a host.
    fn come_out(&mut self, host: usize, packet: &[u8], observer: &mut dyn Observer) {
        let verdict = self.ledger.deliver(self.now, host, packet);
        let sight = self.sources.judge(verdict, self.now, host, packet);
        self.unrecognised += u64::from(matches!(sight, Observation::Unrecognised { .. }));
        observer.see(self.now, &sight);
    }
}
