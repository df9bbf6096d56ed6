//! Gateways of one operator, whose stations hear several of them (REfactor, sections 2.2.2 and 3.4).
//!
//! ```text
//! station ─ reports ─▶ its gateway ─ Overhears, Heard ─▶ neighbour: notes what it heard there
//!                                  ◀─ Named ──────────── and names the chunks
//! ```
//!
//! A station tells its own gateway what it overheard of others. That gateway tells each of those that the
//! station overhears it and at which rate it sends to it, from time to time, and which packets it heard. The
//! neighbour notes it like a station of its own, in a column of its own, and names the chunks in question
//! back. What is not said again ages out: a neighbour that dies, or starts again, costs what it knew and
//! nothing else. So does one that lies ([`crate::Gateway::learn_named`]).
//!
//! Relays have their stations in common, and each of them gets those's reports itself. They tell each other
//! which stations are members, and each names, unasked, what those have of it ([`Neighbourhood::of_relay`]).
//!
//! A neighbour is only believed about stations that are not associated here, and only about those of its own;
//! its messages come over a channel that says for certain who sent them.

use crate::gateway::Gateway;
use crate::names::{AirTime, PacketNumber, StationId};
use crate::settings::Association;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use wire::Malformed;
use wire::named_chunks::{self, NamedChunk, NamedChunks};
use wire::neighbours::{MAX_BITMAP_BYTES, Message, Said, StationName, heard};
use wire::number::{SEQUENCE_BITS, widen};

/// Another gateway, by the number that its channel has here.
pub type Neighbour = u16;

/// Bounds and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Stations of other gateways that are noted at most.
    pub foreign_stations: usize,
    /// How often it is said that a station overhears.
    pub say_every: Duration,
    /// After so long without that, a station of another gateway is forgotten.
    pub forget_after: Duration,
    /// How often chunks are named.
    pub name_every: Duration,
    /// Messages that wait to be sent; beyond that the oldest is dropped.
    pub waiting_messages: usize,
    /// Chunks that are named in one message at most, but for those of one packet: at most 6 bytes each.
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

/// A station of this gateway's that overhears others.
#[derive(Debug)]
struct Own {
    id: StationId,
    rate_kilobits_per_second: u32,
    /// Which, and when that is to be said again; after a while without a report it is not.
    overhears: BTreeMap<Neighbour, Overheard>,
}

#[derive(Debug)]
struct Overheard {
    say_at: Duration,
    reported_at: Duration,
}

/// A station of another gateway's that overhears this one.
#[derive(Debug)]
struct Foreign {
    id: StationId,
    said_at: Duration,
}

/// What is known of the other gateways and their stations.
#[derive(Debug)]
pub struct Neighbourhood {
    settings: Settings,
    boot: u32,
    slot_bits: u8,
    own: BTreeMap<StationName, Own>,
    foreign: BTreeMap<(Neighbour, StationName), Foreign>,
    /// The neighbours' boots, as they said them last.
    boots: BTreeMap<Neighbour, u32>,
    /// The other relays, where this is one.
    relays: Vec<Neighbour>,
    /// Which of this relay's stations are members of another one's, too, and when it said so.
    common: BTreeMap<(Neighbour, StationName), Duration>,
    /// When the other relays are told again who is a member here.
    say_at: Duration,
    name_at: Duration,
    messages: VecDeque<(Neighbour, Vec<u8>)>,
    named: Vec<NamedChunk>,
}

/// The most messages that name a station's chunks at once; the rest has time until the next turn.
const MOST_MESSAGES_A_STATION: usize = 32;
/// The most neighbours.
const MOST_NEIGHBOURS: usize = 64;

impl Neighbourhood {
    /// For a gateway whose cache has 2^`slot_bits` slots. `boot` is to differ from one start to the next.
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

    /// The same for a relay, whose stations may be members of these other relays' groups, too.
    #[must_use]
    pub fn of_relay(settings: Settings, boot: u32, slot_bits: u8, relays: &[Neighbour]) -> Self {
        Neighbourhood { relays: relays.to_vec(), ..Neighbourhood::new(settings, boot, slot_bits) }
    }

    /// How many of this relay's stations are members of that one's group, too.
    #[must_use]
    pub fn common_stations_with(&self, relay: Neighbour) -> usize {
        self.common.range((relay, 0)..=(relay, u64::MAX)).count()
    }

    /// How many stations of others are noted.
    #[must_use]
    pub fn foreign_stations(&self) -> usize {
        self.foreign.len()
    }

    /// How many of this neighbour's stations overhear this gateway.
    #[must_use]
    pub fn foreign_stations_of(&self, neighbour: Neighbour) -> usize {
        self.foreign.range((neighbour, 0)..=(neighbour, u64::MAX)).count()
    }

    /// A station has associated here. Whatever another gateway said of it before is not believed any more.
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

    /// A station has left.
    pub fn remove_station(&mut self, name: StationName) {
        let Some(own) = self.own.remove(&name) else { return };
        for neighbour in own.overhears.into_keys() {
            self.say(neighbour, name, Said::Gone);
        }
    }

    /// A station of this gateway's reports which packets it heard of a neighbour that says this boot in its
    /// frames.
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

    /// Takes a message of a neighbour's.
    ///
    /// # Errors
    ///
    /// When it is none; nothing changes then.
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
                // a station tells the low bits, and its gateway knows no more
                let next = gateway.next_number().0;
                let newest = widen(newest & ((1 << SEQUENCE_BITS) - 1), SEQUENCE_BITS, next);
                if let Some(foreign) = self.foreign.get(&key).filter(|_| newest < next) {
                    heard(newest, bitmap)
                        .for_each(|number| gateway.record_overheard(foreign.id, PacketNumber(number)));
                }
            }
            // of numbers before this gateway's start nothing is known
            Said::Heard { .. } => {}
            Said::Named(_) => {
                // only what the neighbour was told that the station hears there, or that is said of a member
                // of both relays
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
            // whoever drives this sees to where stations are and to keys
            Said::Has | Said::Group(_) => {}
        }
        Ok(())
    }

    /// A neighbour that has started again knows nothing, and its stations associate anew.
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
        // it is told at once who overhears it
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
        // names from the top: stations of this gateway's own are numbered from below
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

    /// Does what is due: names chunks, says again who overhears, and forgets what was not said again.
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

    /// Tells the other relays who is a member here, and forgets what they have not said again.
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

    /// The stations of which chunks are named, and to whom.
    fn named_to(&self) -> Vec<(Vec<Neighbour>, StationName, StationId)> {
        let foreign = self.foreign.iter().map(|((to, name), foreign)| (vec![*to], *name, foreign.id));
        // a relay's own, also where no other one has it: what is not taken now is old when one does
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

    /// The next message, and to whom.
    pub fn poll_message(&mut self) -> Option<(Neighbour, Vec<u8>)> {
        self.messages.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; none while there is nobody to speak
    /// to.
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
