//! A gateway's end: the group's key, and what is known of its members.

use super::Neighbours;
use super::balance::{Balance, Turn};
use crate::config::Group;
use crate::session::handshake::derive;
use crate::session::seal::{Seal, TrafficKey};
use overhear::{AirTime, Association, Gateway, PacketNumber, StationId};
use re::literals::Compressor;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use wire::group::{HeardOfOther, KEY_BYTES, Membership, OtherGroup};
use wire::unit::Kind;

/// A key is replaced when it is this old.
const REKEY_AFTER: Duration = Duration::from_secs(600);
/// ... or after so many units: members know a unit's counter by its low 24 bits.
const REKEY_AFTER_UNITS: u64 = 1 << 23;

/// The state that a gateway shares with the members of its group.
pub(crate) struct Sharing {
    /// Cuts and removes.
    pub codec: Gateway,
    group: Group,
    /// At which rates peers are sent to, as far as radios say, in bits a second; at most one a peer.
    rates: BTreeMap<u8, u64>,
    /// Secret for the derivation of every key.
    secret: [u8; KEY_BYTES],
    address_key: [u8; KEY_BYTES],
    epoch: u64,
    key_id: u32,
    key: Arc<TrafficKey>,
    next_counter: u64,
    rekey_at: Duration,
    /// Members have not been looked through since the key changed.
    is_new: bool,
    /// Makes the rest of shared packets shorter, if that is wanted.
    compressor: Option<Compressor>,
    /// Other gateways of the operator.
    pub neighbours: Option<Neighbours>,
    /// Whether sharing pays. `None` where that cannot be counted here: other gateways and relays use what
    /// this node shares.
    balance: Option<Balance>,
}

impl Sharing {
    /// Bytes of memory of the cache, once it is full.
    pub fn memory_bytes(&self) -> usize {
        self.codec.cache_bytes()
    }

    /// A group without members. `secret` is random and new with each boot. With neighbours there is an
    /// `address_key` that is theirs, too; without, none but this boot's members know it. `compresses`:
    /// whether what is shared is compressed. `counts`: sharing pauses where it does not pay.
    pub fn new(
        group: Group,
        (compresses, counts): (bool, bool),
        secret: [u8; KEY_BYTES],
        neighbours: Option<(Neighbours, [u8; KEY_BYTES])>,
        now: Duration,
    ) -> Result<Self, overhear::SettingsError> {
        let (neighbours, address_key) = neighbours.unzip();
        let address_key = address_key.unwrap_or_else(|| derive(&secret, b"overheard 1 slot addresses"));
        let mut sharing = Sharing {
            codec: Gateway::new(group.settings(address_key))?,
            group,
            rates: BTreeMap::new(),
            secret,
            address_key,
            epoch: 0,
            key_id: 0,
            key: Arc::new(TrafficKey::new(&secret)),
            next_counter: 0,
            rekey_at: now,
            is_new: true,
            compressor: compresses.then(Compressor::new),
            balance: (counts && neighbours.is_none()).then(|| Balance::new(group.slot_bits, now)),
            neighbours,
        };
        sharing.rekey(now);
        Ok(sharing)
    }

    /// The group begins anew, without members and with an empty cache. Only the radios' rates stay.
    pub fn begin_anew(
        &mut self,
        secret: [u8; KEY_BYTES],
        neighbours: (Neighbours, [u8; KEY_BYTES]),
        now: Duration,
    ) {
        let compresses = self.compressor.is_some();
        if let Ok(anew) = Sharing::new(self.group, (compresses, false), secret, Some(neighbours), now) {
            *self = Sharing { rates: std::mem::take(&mut self.rates), ..anew };
        }
    }

    /// Another key from now on: members are to be told.
    pub fn rekey(&mut self, now: Duration) {
        self.epoch += 1;
        self.key = Arc::new(TrafficKey::new(&self.traffic_key()));
        let [a, b, c, ..] = self.derived(b"overheard 1 group key id");
        self.key_id = u32::from_be_bytes([0, a, b, c]);
        self.next_counter = 0;
        self.rekey_at = now + REKEY_AFTER;
        self.is_new = true;
    }

    fn traffic_key(&self) -> [u8; KEY_BYTES] {
        self.derived(b"overheard 1 group traffic")
    }

    fn derived(&self, label: &[u8]) -> [u8; KEY_BYTES] {
        derive(&self.secret, &[label, &self.epoch.to_le_bytes()].concat())
    }

    /// When [`handle_timeout`](Sharing::handle_timeout) has something to do.
    pub fn timeout(&self) -> Duration {
        let neighbours = self.neighbours.as_ref().and_then(Neighbours::timeout);
        let balance = self.balance.as_ref().and_then(Balance::timeout);
        if self.is_new || self.next_counter >= REKEY_AFTER_UNITS {
            Duration::ZERO
        } else {
            [neighbours, balance].into_iter().flatten().fold(self.rekey_at, Duration::min)
        }
    }

    /// Makes another key when it is time. Whether members are to be told.
    pub fn handle_timeout(&mut self, now: Duration) -> bool {
        if self.rekey_at <= now || self.next_counter >= REKEY_AFTER_UNITS {
            self.rekey(now);
        }
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.handle_timeout(&mut self.codec, now);
        }
        std::mem::take(&mut self.is_new)
    }

    /// Pauses sharing where it does not pay, and tries it again.
    pub fn weigh(&mut self, now: Duration) -> Option<Turn> {
        self.balance.as_mut().and_then(|balance| balance.step(now))
    }

    /// Whether packets are shared now.
    pub fn shares(&self) -> bool {
        self.balance.as_ref().is_none_or(Balance::shares)
    }

    /// Whether sharing pays, if that is counted.
    pub fn balance(&self) -> Option<&Balance> {
        self.balance.as_ref()
    }

    /// A packet to a member was shared: bytes that it has less, and more, than one that is not.
    pub fn note_packet(&mut self, member: u8, removed_bytes: usize, added_bytes: usize) {
        let (saved, spent) =
            (self.air_nanoseconds(member, removed_bytes), self.air_nanoseconds(member, added_bytes));
        if let Some(balance) = &mut self.balance {
            balance.note_packet(saved, spent);
        }
    }

    /// A message that sharing caused, of so many bytes, in a datagram of its own or not.
    pub fn note_message(&mut self, member: u8, bytes: usize, is_alone: bool) {
        let header = if is_alone { AirTime::of_rate(1).header.as_nanos() as u64 } else { 0 };
        let nanoseconds = header + self.air_nanoseconds(member, bytes);
        if let Some(balance) = &mut self.balance {
            balance.spend(nanoseconds);
        }
    }

    /// The group, as others are told of it.
    pub fn group(&self) -> OtherGroup {
        OtherGroup { key_id: self.key_id, traffic_key: self.traffic_key() }
    }

    /// Groups that members may overhear beside this one.
    pub fn other_groups(&self) -> impl Iterator<Item = OtherGroup> {
        self.neighbours.iter().flat_map(Neighbours::groups)
    }

    /// Id of the key.
    pub fn key_id(&self) -> u32 {
        self.key_id
    }

    /// The membership message for a member with the MAC key `mac_key`.
    pub fn membership(&self, member: u8, mac_key: [u8; KEY_BYTES]) -> Membership {
        Membership {
            member,
            slot_bits: self.group.slot_bits,
            key_id: self.key_id,
            traffic_key: self.traffic_key(),
            address_key: self.address_key,
            mac_key,
        }
    }

    /// A MAC key that only this member of this boot is told.
    pub fn mac_key(&self, member: u8, boot: u64) -> [u8; KEY_BYTES] {
        derive(&self.secret, &[&b"overheard 1 member mac"[..], &[member], &boot.to_le_bytes()].concat())
    }

    /// A member has an empty cache, of 2^`slot_bits` slots. `false`: there are as many members as can be.
    pub fn join(&mut self, now: Duration, member: u8, slot_bits: u8, mac_key: [u8; KEY_BYTES]) -> bool {
        let known = self.rates.get(&member).copied();
        let rate = known.unwrap_or(self.group.rate_bits_per_second);
        let association = Association {
            slot_bits,
            rate_bits_per_second: rate,
            rate_is_known: known.is_some(),
            air_time: AirTime::of_rate(rate),
            mac_key: Some(mac_key),
        };
        let joined = self.codec.join(StationId(member), association, now).is_ok();
        if let Some(neighbours) = self.neighbours.as_mut().filter(|_| joined) {
            neighbours.associated(&mut self.codec, member, rate);
        }
        joined
    }

    /// At which rate a member is sent to, in bits a second, as its radio says; `None`: no radio does.
    pub fn radio_rate(&self, member: u8) -> Option<u64> {
        self.rates.get(&member).copied()
    }

    /// The rest of a shared packet in compressed form, in place of what is in `out`; `false`: it would not be
    /// shorter.
    pub fn compress(&mut self, rest: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        self.compressor.as_mut().is_some_and(|compressor| compressor.compress(rest, out))
    }

    /// Air time in nanoseconds of so many bytes in a packet to a member.
    pub fn air_nanoseconds(&self, member: u8, bytes: usize) -> u64 {
        let rate = self.radio_rate(member).unwrap_or(self.group.rate_bits_per_second);
        (bytes as f64 * AirTime::of_rate(rate).per_byte_seconds * 1e9) as u64
    }

    /// A member is sent to at this rate, as its radio says.
    pub fn radio_sends(&mut self, member: u8, rate_bits_per_second: u64) {
        if self.rates.insert(member, rate_bits_per_second) != Some(rate_bits_per_second) {
            let air_time = AirTime::of_rate(rate_bits_per_second);
            self.codec.set_rate(StationId(member), rate_bits_per_second, air_time);
        }
    }

    /// A peer is one no more.
    pub fn forget(&mut self, member: u8) {
        self.leave(member);
        self.rates.remove(&member);
    }

    /// A member is gone.
    pub fn leave(&mut self, member: u8) {
        self.codec.leave(StationId(member));
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.left(member);
        }
    }

    /// A member says what it heard of another group.
    pub fn heard_of_other(&mut self, now: Duration, member: u8, heard: &HeardOfOther<'_>) {
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.heard_of_other(now, member, heard);
        }
    }

    /// The seal for the next unit, and what it is; every call gives another counter.
    pub fn next_seal(&mut self) -> (Kind, Seal) {
        let counter = self.next_counter;
        self.next_counter += 1;
        (Kind::Group { counter: counter as u32 }, Seal::new(self.key.clone(), counter))
    }

    /// A member says what it heard.
    pub fn heard(&mut self, member: u8, heard: &wire::group::Heard<'_>) {
        let sent = self.codec.next_number().0;
        let newest = wire::number::widen(heard.newest.into(), wire::number::SEQUENCE_BITS, sent);
        if newest >= sent {
            return; // what was never sent
        }
        for number in heard.back().filter_map(|back| newest.checked_sub(back)) {
            self.codec.record_overheard(StationId(member), PacketNumber(number));
        }
        self.codec.settle_reports_until(StationId(member), PacketNumber(newest + 1));
    }
}
