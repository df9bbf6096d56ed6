//! Several gateways of one operator: a node's actions on their messages and the stations'
//! ([`crate::roaming`]).

use super::Node;
use crate::config::{Config, Gateways, Group};
use crate::group::Neighbours;
use crate::keys::PublicKey;
use crate::peer::Peer;
use crate::roaming::{Change, Choice, Decision, Locations, Place, Roaming, Told};
use crate::session::handshake::derive;
use crate::status::PeerStatus;
use rand::RngExt;
use std::time::Duration;
use wire::group::KEY_BYTES;
use wire::inner::Inner;
use wire::neighbours::{Message, Said, StationName};

/// A station's name among gateways.
#[must_use]
pub fn station_name(key: &PublicKey) -> StationName {
    let [a, b, c, d, e, f, g, h, ..] = derive(key.as_bytes(), b"overheard 1 station name");
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// The peers that are stations, where this node is one of several gateways, and their names.
fn stations(config: &Config) -> impl Iterator<Item = (usize, StationName)> {
    let peers = config.peers.iter().enumerate();
    let stations = peers.filter(|(index, _)| !config.gateways.peers().contains(index));
    stations.map(|(index, peer)| (index, station_name(&peer.public_key)))
}

/// The state of a gateway's group towards others, and the common addresses of chunks.
pub(super) fn neighbours(config: &Config, group: &Group, boot: u64) -> Option<(Neighbours, [u8; KEY_BYTES])> {
    let Gateways::Neighbours(others) = &config.gateways else { return None };
    let names = stations(config).map(|(index, name)| (index as u8, name)).collect();
    let address_key = derive(config.network_key.as_bytes(), b"overheard 1 slot addresses");
    let relays = others.iter().filter(|_| config.mesh.forwards).map(|peer| *peer as u16);
    let relays: Vec<u16> = relays.collect();
    Some((Neighbours::new(boot as u32, group.slot_bits, names, &relays), address_key))
}

/// Where stations are, or which gateway a station uses.
pub(super) fn roaming(config: &Config, boot: u64, peers: &mut [Peer], now: Duration) -> Roaming {
    let roaming = match &config.gateways {
        Gateways::One => None,
        Gateways::Choice(gateways) => Choice::new(gateways, now).map(Roaming::Station),
        // a station is associated with every relay that it knows
        Gateways::Neighbours(neighbours) if config.mesh.forwards => Some(Roaming::Relay(neighbours.clone())),
        Gateways::Neighbours(neighbours) => {
            Locations::new(neighbours, boot as u32, stations(config), now).map(Roaming::Gateway)
        }
    };
    if let Some(Roaming::Station(choice)) = &roaming {
        for peer in peers {
            peer.associate(choice.association(peer.index()));
        }
    }
    roaming.unwrap_or(Roaming::Alone)
}

impl Node {
    /// Settles what peers brought about for others, and acts on what they have said of gateways and stations,
    /// and on their silence.
    pub(super) fn follow_gateways(&mut self, now: Duration) {
        let is_told = self.settle(now);
        match &self.ctx.roaming {
            Roaming::Alone => {}
            Roaming::Station(_) => self.choose(now),
            Roaming::Relay(_) => self.say_messages(Vec::new()),
            Roaming::Gateway(locations) => {
                if is_told || locations.timeout() <= now {
                    self.follow_stations(now);
                }
                self.say_to_neighbours(now);
            }
        }
    }

    /// A station goes to another gateway if that is to be.
    fn choose(&mut self, now: Duration) {
        let Roaming::Station(choice) = &mut self.ctx.roaming else { return };
        let before = match choice.follow(now, |peer| self.peers[peer].seen()) {
            Decision::Stay => return,
            Decision::Say => {
                self.peers[choice.current()].ping(now);
                return;
            }
            Decision::Move(before) => before,
        };
        for peer in &mut self.peers {
            peer.associate(choice.association(peer.index()));
        }
        let next = choice.way(before);
        // a new association begins with an empty cache
        self.peers[before].leave_group(&mut self.ctx);
        for peer in [before, next] {
            self.peers[peer].ping(now); // both are told with it
        }
        self.move_queue(now, before, next);
        let name = |peer: usize| self.peers[peer].name().to_owned();
        self.ctx.events.push(crate::Event::Moved { from: name(before), to: name(next) });
    }

    /// Moves one peer's waiting packets to another way.
    fn move_queue(&mut self, now: Duration, from: usize, to: usize) {
        while let Some(packet) = self.peers[from].take_packet(now) {
            if let Ok(inner) = Inner::parse(&packet) {
                self.peers[to].enqueue(now, &packet, &inner.flow, None);
            }
            self.peers[from].recycle(packet);
        }
    }

    /// A gateway takes what a peer said.
    pub(super) fn heed(&mut self, now: Duration, peer: usize, told: Told) {
        match (told, &mut self.ctx.roaming) {
            (Told::Message(message), roaming) if roaming.is_neighbour(peer) => {
                self.hear_neighbour(now, peer, &message);
            }
            (Told::Message(_), _) => self.peers[peer].counters_mut().bad_frames += 1,
            (Told::Started, Roaming::Gateway(locations)) => locations.record_start(now, peer),
            (Told::Associated(association), Roaming::Gateway(locations)) => {
                // a station that was away for an unnoticed moment has lost its cache as well
                if locations.record_association(now, peer, association) {
                    self.peers[peer].end_membership(&mut self.ctx);
                }
            }
            (Told::Started | Told::Associated(_), _) => {}
        }
    }

    fn hear_neighbour(&mut self, now: Duration, peer: usize, bytes: &[u8]) {
        let neighbours =
            self.ctx.sharing.as_deref_mut().and_then(|it| Some((&mut it.codec, it.neighbours.as_mut()?)));
        let counters = self.peers[peer].counters_mut();
        counters.neighbour_messages_received += 1;
        let locations = match &mut self.ctx.roaming {
            Roaming::Gateway(locations) => Some(locations),
            _ => None,
        };
        match (Message::parse(bytes), neighbours, locations) {
            (Ok(Message { station, said: Said::Has, .. }), _, Some(locations)) => {
                locations.record_claim(now, peer, station);
            }
            (Ok(_), None, _) => {} // without a group there is nothing to be made of it
            (Ok(Message { boot, said: Said::Group(group), .. }), Some((_, neighbours)), _) => {
                if neighbours.record_group(peer as u16, boot, group) {
                    self.tell_of_groups(now);
                }
            }
            (Ok(Message { said, .. }), Some((codec, neighbours)), _) => {
                if !neighbours.handle_message(codec, peer as u16, bytes, now) {
                    counters.bad_frames += 1;
                } else if let Said::Named(chunks) = said
                    && let Ok(named) = wire::named_chunks::NamedChunks::parse(chunks)
                {
                    counters.chunks_named += named.count as u64;
                }
            }
            (Err(_), ..) => counters.bad_frames += 1,
        }
    }

    /// Begins the group anew under the addresses that follow from the network's key, if other gateways share
    /// them. Members lose their caches.
    pub(super) fn renew_addresses(&mut self, now: Duration) {
        let Some(group) = self.ctx.config.sharing() else { return };
        let Some(neighbours) = neighbours(&self.ctx.config, &group, self.boot) else { return };
        let mut members = Vec::new();
        for peer in &mut self.peers {
            if peer.is_member() {
                members.push(peer.index());
                peer.end_membership(&mut self.ctx);
            }
        }
        if let Some(sharing) = &mut self.ctx.sharing {
            sharing.begin_anew(self.rng.random(), neighbours, now);
        }
        for peer in members {
            self.peers[peer].begin_membership(now, &mut self.ctx);
        }
    }

    /// Members are told of the groups that they may overhear.
    fn tell_of_groups(&mut self, now: Duration) {
        let Some(sharing) = &self.ctx.sharing else { return };
        self.peers.iter_mut().for_each(|peer| peer.follow_other_groups(now, sharing));
    }

    /// Stations that have come or gone.
    fn follow_stations(&mut self, now: Duration) {
        while let Roaming::Gateway(locations) = &mut self.ctx.roaming
            && let Some(Change { station, to }) = locations.follow(now, |peer| self.peers[peer].is_up())
        {
            let name = |peer: usize| self.peers[peer].name().to_owned();
            let at = match to {
                Place::Here => None,
                Place::There(gateway) => Some(name(gateway)),
            };
            let event = crate::Event::Associated { station: name(station), at };
            self.ctx.events.push(event);
            if let Place::There(gateway) = to {
                self.peers[station].end_membership(&mut self.ctx);
                self.move_queue(now, station, gateway);
            }
        }
        for index in 0..self.peers.len() {
            if self.ctx.roaming.is_associated(index) {
                self.peers[index].begin_membership(now, &mut self.ctx);
            }
        }
    }

    /// Other gateways are told what is due.
    fn say_to_neighbours(&mut self, now: Duration) {
        let Roaming::Gateway(locations) = &mut self.ctx.roaming else { return };
        let mut messages = Vec::new();
        if let Some(has) = locations.say(now, |peer| self.peers[peer].is_up()) {
            let group = self.ctx.sharing.as_deref();
            let group = group.and_then(|it| Some(it.neighbours.as_ref()?.own_group(it.group())));
            for message in has.into_iter().chain(group) {
                let to_each = locations.neighbours().iter().map(|neighbour| (*neighbour, message.clone()));
                messages.extend(to_each);
            }
        }
        self.say_messages(messages);
    }

    /// Sends these messages to other gateways, and those that the group has for them.
    fn say_messages(&mut self, mut messages: Vec<(usize, Vec<u8>)>) {
        if let Some(neighbours) =
            self.ctx.sharing.as_deref_mut().and_then(|sharing| sharing.neighbours.as_mut())
        {
            while let Some((neighbour, message)) = neighbours.poll_message() {
                messages.push((usize::from(neighbour), message));
            }
        }
        for (neighbour, message) in messages {
            let peer = &mut self.peers[neighbour];
            if peer.write_to(message) {
                peer.counters_mut().neighbour_messages_sent += 1;
            }
        }
    }

    /// Status of a peer, with its place.
    pub(super) fn status_of(&self, now: Duration, peer: &Peer) -> PeerStatus {
        let mut status = peer.status(now, self.ctx.sharing.as_deref());
        let network = peer.sessions().network();
        status.previous_network_key = network.is_some_and(|network| !self.identity.is_current(network));
        if let Roaming::Gateway(locations) = &self.ctx.roaming
            && let Some(Place::There(gateway)) = locations.place(peer.index())
        {
            status.associated_with = Some(self.peers[gateway].name().to_owned());
        }
        if self.ctx.roaming.is_neighbour(peer.index()) {
            let neighbours = self.ctx.sharing.as_deref().and_then(|sharing| sharing.neighbours.as_ref());
            status.overheard_by = neighbours.map(|it| it.overheard_by(peer.index() as u16));
        }
        status
    }

    /// When [`follow_gateways`](Node::follow_gateways) has something to do.
    pub(super) fn gateways_timeout(&self) -> Option<Duration> {
        match &self.ctx.roaming {
            Roaming::Alone | Roaming::Relay(_) => None,
            Roaming::Station(choice) => choice.timeout(|peer| self.peers[peer].seen()),
            Roaming::Gateway(locations) => Some(locations.timeout()),
        }
    }
}
