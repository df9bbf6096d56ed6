//! Other gateways of the operator, as far as they concern a gateway's group: the overhearing between their
//! stations.
//!
//! [`overhear::neighbourhood`] has the messages. Beside them gateways exchange the keys of their groups, and
//! pass them to their members.

use overhear::neighbourhood::{Neighbour, Neighbourhood, Settings};
use overhear::{Gateway, StationId};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::group::{HeardOfOther, OtherGroup};
use wire::neighbours::{Message, Said, StationName};

/// The key in use and the one before.
const KEYS_OF_A_GATEWAY: usize = 2;

/// A key of a neighbour's group, and the neighbour's boot, which says what its numbers are.
#[derive(Debug, Clone, Copy)]
struct Key {
    neighbour: Neighbour,
    boot: u32,
    group: OtherGroup,
}

/// A gateway's knowledge of its neighbours.
pub(crate) struct Neighbours {
    neighbourhood: Neighbourhood,
    boot: u32,
    /// By member.
    names: BTreeMap<u8, StationName>,
    /// The newest of a neighbour's last.
    keys: Vec<Key>,
}

impl Neighbours {
    /// None is known yet. `names` are those of all stations, by what they would be as members.
    /// `relays` are the other relays, where this node is one.
    pub fn new(boot: u32, slot_bits: u8, names: BTreeMap<u8, StationName>, relays: &[Neighbour]) -> Self {
        let neighbourhood = Neighbourhood::of_relay(Settings::default(), boot, slot_bits, relays);
        Neighbours { neighbourhood, boot, names, keys: Vec::new() }
    }

    /// A member has associated.
    pub fn associated(&mut self, codec: &mut Gateway, member: u8, rate_bits_per_second: u64) {
        if let Some(name) = self.names.get(&member) {
            self.neighbourhood.add_station(codec, *name, StationId(member), rate_bits_per_second);
        }
    }

    /// A member has left.
    pub fn left(&mut self, member: u8) {
        if let Some(name) = self.names.get(&member) {
            self.neighbourhood.remove_station(*name);
        }
    }

    /// A neighbour says what the key of its group is. Whether it is new.
    pub fn record_group(&mut self, neighbour: Neighbour, boot: u32, group: OtherGroup) -> bool {
        if self.keys.iter().any(|key| key.neighbour == neighbour && key.boot == boot && key.group == group) {
            return false;
        }
        let of_it = self.keys.iter().filter(|key| key.neighbour == neighbour).count();
        let oldest = self.keys.iter().position(|key| key.neighbour == neighbour);
        if let Some(oldest) = oldest.filter(|_| of_it >= KEYS_OF_A_GATEWAY) {
            self.keys.remove(oldest);
        }
        self.keys.push(Key { neighbour, boot, group });
        true
    }

    /// The groups that members may overhear.
    pub fn groups(&self) -> impl Iterator<Item = OtherGroup> {
        self.keys.iter().map(|key| key.group)
    }

    /// A member says what it heard of another group.
    pub fn heard_of_other(&mut self, now: Duration, member: u8, heard: &HeardOfOther<'_>) {
        // that it has the key is not yet that it hears anything
        if heard.bitmap.iter().all(|byte| *byte == 0) {
            return;
        }
        let key = self.keys.iter().find(|key| key.group.key_id == heard.key_id);
        if let (Some(key), Some(name)) = (key, self.names.get(&member)) {
            let (newest, bitmap) = (u64::from(heard.newest), heard.bitmap);
            self.neighbourhood.record_report(*name, key.neighbour, key.boot, newest, bitmap, now);
        }
    }

    /// Takes what a neighbour says of stations. `false`: it makes no sense.
    pub fn handle_message(
        &mut self,
        codec: &mut Gateway,
        from: Neighbour,
        message: &[u8],
        now: Duration,
    ) -> bool {
        self.neighbourhood.handle_message(codec, from, message, now).is_ok()
    }

    /// The message about this gateway's own group.
    pub fn own_group(&self, group: OtherGroup) -> Vec<u8> {
        let mut message = Vec::new();
        Message { boot: self.boot, station: 0, said: Said::Group(group) }.emit(&mut message);
        message
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, codec: &mut Gateway, now: Duration) {
        if self.timeout().is_some_and(|at| at <= now) {
            self.neighbourhood.handle_timeout(codec, now);
        }
    }

    /// When [`handle_timeout`](Neighbours::handle_timeout) has something to do.
    pub fn timeout(&self) -> Option<Duration> {
        self.neighbourhood.poll_timeout()
    }

    /// The next message, and to which peer.
    pub fn poll_message(&mut self) -> Option<(Neighbour, Vec<u8>)> {
        self.neighbourhood.poll_message()
    }

    /// How many stations of this neighbour's overhear this gateway, or are members of both relays.
    pub fn overheard_by(&self, neighbour: Neighbour) -> usize {
        self.neighbourhood.foreign_stations_of(neighbour) + self.neighbourhood.common_stations_with(neighbour)
    }
}
