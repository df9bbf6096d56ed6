//! Gateways of one operator whose stations hear several of them (REfactor, sections 2.2.2 and 3.4).
//!
//! ```text
//! station ─ reports ─▶ its gateway ─ Overhears, Heard ─▶ neighbour: notes what it heard there
//!                                  ◀─ Named ──────────── and names the chunks
//! ```
//!
//! A station reports the packets of other gateways to its own gateway. From time to time that gateway tells
//! each of the others that the station overhears it, at which rate the station is sent to, and which packets
//! it heard. The neighbour notes the station in a column of its own, and names the chunks back. Notes that
//! are not repeated expire. A failed or restarted neighbour therefore costs only its knowledge, and so does
//! one that lies ([`crate::Gateway::learn_named`]).
//!
//! Relays have their stations in common, and each relay receives their reports itself. They tell each other
//! their members, and each one names the members' chunks unasked ([`Neighbourhood::of_relay`]).
//!
//! A neighbour is believed only about its own stations that are not associated here. Its messages come over a
//! channel that authenticates the sender.

use crate::gateway::Gateway;
use crate::names::{AirTime, PacketNumber, StationId};
use crate::settings::Association;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use wire::Malformed;
use wire::named_chunks::{self, NamedChunk, NamedChunks};
use wire::neighbours::{MAX_BITMAP_BYTES, Message, Said, StationName, heard};
use wire::number::{SEQUENCE_BITS, widen};

/// Another gateway, by the number of its channel here.
pub type Neighbour = u16;

/// Bounds and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The most stations of other gateways.
    pub foreign_stations: usize,
    /// Interval of the messages that a station overhears a neighbour.
    pub say_every: Duration,
    /// Time without such a message after which a station of another gateway is forgotten.
    pub forget_after: Duration,
    /// Interval of names of chunks.
    pub name_every: Duration,
    /// The most messages that wait; beyond that the oldest one is dropped.
    pub waiting_messages: usize,
    /// The most chunks named in one message, except that one packet's chunks stay together. A chunk takes at
    /// most 6 bytes.
    pub chunks_a_message: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            foreign_stations: 32,
            say_every: Duration::from_secs(5),
            forget_after: Duration::from_secs(16),
            name_every: Duration::from_millis(200),
            waiting_messages: 256,
            chunks_a_message: 150,
        }
    }
}

/// A station of this gateway that overhears others.
#[derive(Debug)]
struct Own {
    id: StationId,
    rate_kilobits_per_second: u32,
    /// The overheard neighbours, and the time of the next message to each. Without reports the messages end.
    overhears: BTreeMap<Neighbour, Overheard>,
}

#[derive(Debug)]
struct Overheard {
    say_at: Duration,
    reported_at: Duration,
}

/// A station of another gateway that overhears this one.
#[derive(Debug)]
struct Foreign {
    id: StationId,
    said_at: Duration,
}

/// Knowledge about other gateways and their stations.
#[derive(Debug)]
pub struct Neighbourhood {
    settings: Settings,
    boot: u32,
    slot_bits: u8,
    own: BTreeMap<StationName, Own>,
    foreign: BTreeMap<(Neighbour, StationName), Foreign>,
    /// The neighbours' latest boots.
    boots: BTreeMap<Neighbour, u32>,
    /// The other relays, if this is a relay.
    relays: Vec<Neighbour>,
    /// This relay's stations that are also members of another relay, and the time of its message.
    common: BTreeMap<(Neighbour, StationName), Duration>,
    /// The time of the next message to relays about members here.
    say_at: Duration,
    name_at: Duration,
    messages: VecDeque<(Neighbour, Vec<u8>)>,
    named: Vec<NamedChunk>,
}

/// The most messages that name a station's chunks at once; the rest waits for the next turn.
const MOST_MESSAGES_A_STATION: usize = 32;
/// The most neighbours.
const MOST_NEIGHBOURS: usize = 64;

impl Neighbourhood {
    /// The neighbourhood of a gateway with 2^`slot_bits` slots. `boot` must differ at each start.
    #[must_use]
    pub fn new(settings: Settings, boot: u32, slot_bits: u8) -> Self {
        Neighbourhood {
            settings,
            boot,
            slot_bits,
            own: BTreeMap::new(),
            foreign: BTreeMap::new(),
            boots: BTreeMap::new(),
            relays: Vec::new(),
            common: BTreeMap::new(),
            say_at: Duration::ZERO,
            name_at: Duration::ZERO,
            messages: VecDeque::new(),
            named: Vec::new(),
        }
    }

    /// The neighbourhood of a relay whose stations may be members of these other relays, too.
    #[must_use]
    pub fn of_relay(settings: Settings, boot: u32, slot_bits: u8, relays: &[Neighbour]) -> Self {
        Neighbourhood { relays: relays.to_vec(), ..Neighbourhood::new(settings, boot, slot_bits) }
    }

    /// Number of this relay's stations that are also members of `relay`.
    #[must_use]
    pub fn common_stations_with(&self, relay: Neighbour) -> usize {
        self.common.range((relay, 0)..=(relay, u64::MAX)).count()
    }

    /// Number of other gateways' stations.
    #[must_use]
    pub fn foreign_stations(&self) -> usize {
        self.foreign.len()
    }

    /// Number of this neighbour's stations that overhear this gateway.
    #[must_use]
    pub fn foreign_stations_of(&self, neighbour: Neighbour) -> usize {
        self.foreign.range((neighbour, 0)..=(neighbour, u64::MAX)).count()
    }

    /// Notes a station that associated here. Earlier messages of other gateways about it are void.
    pub fn add_station(
        &mut self,
        gateway: &mut Gateway,
        name: StationName,
        id: StationId,
        rate_bits_per_second: u64,
    ) {
        let said_of: Vec<(Neighbour, StationName)> =
            self.foreign.keys().filter(|(_, station)| *station == name).copied().collect();
        said_of.into_iter().for_each(|key| self.forget(gateway, key));
        if !self.relays.is_empty() {
            gateway.note_news(id);
            self.say_at = Duration::ZERO;
        }
        let rate_kilobits_per_second = u32::try_from(rate_bits_per_second / 1000).unwrap_or(u32::MAX);
        self.own.insert(name, Own { id, rate_kilobits_per_second, overhears: BTreeMap::new() });
    }

    /// Notes that a station has left.
    pub fn remove_station(&mut self, name: StationName) {
        let Some(own) = self.own.remove(&name) else { return };
        for neighbour in own.overhears.into_keys() {
            self.say(neighbour, name, Said::Gone);
        }
    }

    /// Notes a report by one of this gateway's stations about packets of a neighbour with this boot.
    pub fn record_report(
        &mut self,
        name: StationName,
        neighbour: Neighbour,
        boot: u32,
        newest: u64,
        bitmap: &[u8],
        now: Duration,
    ) {
        let say_every = self.settings.say_every;
        let Some(own) = self.own.get_mut(&name) else { return };
        if own.overhears.len() >= MOST_NEIGHBOURS && !own.overhears.contains_key(&neighbour) {
            return;
        }
        let overheard = own.overhears.entry(neighbour).or_insert(Overheard { say_at: now, reported_at: now });
        overheard.reported_at = now;
        let is_due = overheard.say_at <= now;
        if is_due {
            overheard.say_at = now + say_every;
        }
        let rate_kilobits_per_second = own.rate_kilobits_per_second;
        if is_due {
            self.say(neighbour, name, Said::Overhears { rate_kilobits_per_second });
        }
        let bitmap = &bitmap[..bitmap.len().min(MAX_BITMAP_BYTES)];
        self.say(neighbour, name, Said::Heard { boot, newest, bitmap });
    }

    fn say(&mut self, to: Neighbour, station: StationName, said: Said<'_>) {
        if self.messages.len() >= self.settings.waiting_messages {
            self.messages.pop_front();
        }
        let mut message = Vec::new();
        Message { boot: self.boot, station, said }.emit(&mut message);
        self.messages.push_back((to, message));
    }

    /// Handles a neighbour's message.
    ///
    /// # Errors
    ///
    /// If it is malformed; nothing changes then.
    pub fn handle_message(
        &mut self,
        gateway: &mut Gateway,
        from: Neighbour,
        message: &[u8],
        now: Duration,
    ) -> Result<(), Malformed> {
        let message = Message::parse(message)?;
        let named = match message.said {
            Said::Named(chunks) => Some(NamedChunks::parse(chunks)?),
            _ => None,
        };
        self.note_boot(gateway, from, message.boot);
        let key = (from, message.station);
        match message.said {
            Said::Overhears { rate_kilobits_per_second } => {
                self.note_foreign(gateway, key, rate_kilobits_per_second, now);
            }
            Said::Heard { boot, newest, bitmap } if boot == self.boot => {
                // A station reports the low bits, and its gateway knows only these.
                let next = gateway.next_number().0;
                let newest = widen(newest & ((1 << SEQUENCE_BITS) - 1), SEQUENCE_BITS, next);
                if let Some(foreign) = self.foreign.get(&key).filter(|_| newest < next) {
                    heard(newest, bitmap)
                        .for_each(|number| gateway.record_overheard(foreign.id, PacketNumber(number)));
                }
            }
            // Numbers before this gateway's start are unknown.
            Said::Heard { .. } => {}
            Said::Named(_) => {
                // Accepts only chunks of a station that the neighbour was told about, or of a common member
                // of both relays.
                let is_common = self.common.contains_key(&key);
                let own = self.own.get(&message.station);
                let own = own.filter(|own| is_common || own.overhears.contains_key(&from));
                if let Some((own, named)) = own.zip(named) {
                    gateway.learn_named(own.id, named.slot_bits, named.chunks());
                }
            }
            Said::Gone => self.forget(gateway, key),
            Said::Has if self.relays.contains(&from) && self.own.contains_key(&message.station) => {
                self.common.insert(key, now);
            }
            // The driver handles locations of stations and keys.
            Said::Has | Said::Group(_) => {}
        }
        Ok(())
    }

    /// Notes a neighbour's boot. After a restart it knows nothing, and its stations associate again.
    fn note_boot(&mut self, gateway: &mut Gateway, from: Neighbour, boot: u32) {
        if self.boots.len() >= MOST_NEIGHBOURS && !self.boots.contains_key(&from) {
            return;
        }
        if self.boots.insert(from, boot).is_none_or(|before| before == boot) {
            return;
        }
        let of_it: Vec<_> = self.foreign.range((from, 0)..=(from, u64::MAX)).map(|(key, _)| *key).collect();
        of_it.into_iter().for_each(|key| self.forget(gateway, key));
        self.common.retain(|(neighbour, _), _| *neighbour != from);
        self.say_at = Duration::ZERO;
        // Its overhearing stations are announced at once.
        for overheard in self.own.values_mut().filter_map(|own| own.overhears.get_mut(&from)) {
            overheard.say_at = Duration::ZERO;
        }
    }

    fn note_foreign(
        &mut self,
        gateway: &mut Gateway,
        key: (Neighbour, StationName),
        rate_kilobits_per_second: u32,
        now: Duration,
    ) {
        if let Some(foreign) = self.foreign.get_mut(&key) {
            foreign.said_at = now;
            return;
        }
        if self.own.contains_key(&key.1) || self.foreign.len() >= self.settings.foreign_stations {
            return;
        }
        let rate_bits_per_second = u64::from(rate_kilobits_per_second) * 1000;
        let association = Association {
            slot_bits: self.slot_bits,
            rate_bits_per_second,
            rate_is_known: true,
            air_time: AirTime::of_rate(rate_bits_per_second),
            mac_key: None,
        };
        // Numbers from the top, because this gateway's own stations are numbered from the bottom.
        let is_free = |id: &StationId| !gateway.is_associated(*id);
        let Some(id) = (0..=u8::MAX).rev().map(StationId).find(is_free) else { return };
        if gateway.join(id, association, now).is_ok() {
            gateway.accept_earlier_reports(id); // its first report is what made it known
            gateway.note_news(id);
            self.foreign.insert(key, Foreign { id, said_at: now });
        }
    }

    fn forget(&mut self, gateway: &mut Gateway, key: (Neighbour, StationName)) {
        if let Some(foreign) = self.foreign.remove(&key) {
            gateway.leave(foreign.id);
        }
    }

    /// Does the due work: names chunks, announces overhearing stations, and drops expired notes.
    pub fn handle_timeout(&mut self, gateway: &mut Gateway, now: Duration) {
        let forget_after = self.settings.forget_after;
        let old: Vec<_> = self
            .foreign
            .iter()
            .filter(|(_, foreign)| foreign.said_at + forget_after <= now)
            .map(|(key, _)| *key)
            .collect();
        old.into_iter().for_each(|key| self.forget(gateway, key));
        let mut due = Vec::new();
        for (name, own) in &mut self.own {
            own.overhears.retain(|_, overheard| overheard.reported_at + forget_after > now);
            let rate = own.rate_kilobits_per_second;
            for (neighbour, overheard) in own.overhears.iter_mut().filter(|(_, it)| it.say_at <= now) {
                overheard.say_at = now + self.settings.say_every;
                due.push((*neighbour, *name, rate));
            }
        }
        for (neighbour, name, rate_kilobits_per_second) in due {
            self.say(neighbour, name, Said::Overhears { rate_kilobits_per_second });
        }
        self.say_to_relays(now);
        if self.name_at <= now {
            self.name_at = now + self.settings.name_every;
            self.name(gateway);
        }
    }

    /// Announces members to the other relays, and drops expired members.
    fn say_to_relays(&mut self, now: Duration) {
        let (own, forget_after) = (&self.own, self.settings.forget_after);
        self.common.retain(|(_, name), said_at| *said_at + forget_after > now && own.contains_key(name));
        if self.relays.is_empty() || now < self.say_at {
            return;
        }
        self.say_at = now + self.settings.say_every;
        let names: Vec<StationName> = self.own.keys().copied().collect();
        for relay in self.relays.clone() {
            names.iter().for_each(|name| self.say(relay, *name, Said::Has));
        }
    }

    /// The stations whose chunks are named, with the receivers of the names.
    fn named_to(&self) -> Vec<(Vec<Neighbour>, StationName, StationId)> {
        let foreign = self.foreign.iter().map(|((to, name), foreign)| (vec![*to], *name, foreign.id));
        // A relay's own stations as well, even if no other relay has them: untaken news would be old by the
        // time one does.
        let own = self.own.iter().filter(|_| !self.relays.is_empty()).map(|(name, own)| {
            let others = self.relays.iter().filter(|relay| self.common.contains_key(&(**relay, *name)));
            (others.copied().collect(), *name, own.id)
        });
        foreign.chain(own).collect()
    }

    fn name(&mut self, gateway: &mut Gateway) {
        let mut named = std::mem::take(&mut self.named);
        for (neighbours, name, id) in self.named_to() {
            for _ in 0..MOST_MESSAGES_A_STATION {
                named.clear();
                gateway.take_news(id, self.settings.chunks_a_message, &mut named);
                named.truncate(named_chunks::MAX_CHUNKS);
                if named.is_empty() {
                    break;
                }
                let mut chunks = Vec::new();
                named_chunks::emit(self.slot_bits, &mut named, &mut chunks);
                neighbours.iter().for_each(|neighbour| self.say(*neighbour, name, Said::Named(&chunks)));
            }
        }
        self.named = named;
    }

    /// The next message and its receiver.
    pub fn poll_message(&mut self) -> Option<(Neighbour, Vec<u8>)> {
        self.messages.pop_front()
    }

    /// Time of the next call of [`handle_timeout`](Self::handle_timeout); `None` without neighbours.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        let to_say =
            self.own.values().flat_map(|own| own.overhears.values()).map(|overheard| overheard.say_at);
        let to_forget = self.foreign.values().map(|foreign| foreign.said_at + self.settings.forget_after);
        let is_relay = !self.relays.is_empty() && !self.own.is_empty();
        let to_name = (!self.foreign.is_empty() || is_relay).then_some(self.name_at);
        let to_relays = is_relay.then_some(self.say_at);
        to_say.chain(to_forget).chain(to_name).chain(to_relays).min()
    }
}
