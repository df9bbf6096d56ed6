//! A station's end: opens traffic to the group, restores its own packets, learns from all packets.

use super::heard::Untold;
use super::others::Others;
use super::pieces::Pieces;
use crate::session::keyring::{OfPeer, ReceiveKind};
use crate::session::replay::{ReplayWindow, WINDOW};
use crate::session::seal::TrafficKey;
use crate::session::transport::OpenError;
use overhear::{Delivered, MissBounds, PacketNumber, Received, Settings, Station, StationId};
use re::literals::Expander;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::frame::FrameType;
use wire::group::{Joined, KEY_BYTES, Membership, OtherGroup, Shared};
use wire::number::{COUNTER_BITS, SEQUENCE_BITS, widen};
use wire::shim::MAX_RESTORED_BYTES;

/// Distance by which overheard numbers may be ahead of those to this member.
const MOST_AHEAD: u64 = 1 << 22;
/// A group's key gives way to the next before this many units: the sent bits of a counter then give all of
/// it, whatever was heard before.
const FIRST_HALF: u64 = (1 << (COUNTER_BITS - 1)) - 1;
/// Packets that wait for chunks at once, and are known here.
const MAX_WAITING: usize = 128;

/// One key of the group, with a window for each way: an overheard unit may also be sent to us, and either may
/// be lost. Any member can seal units under any counter. So only proven units move the first window, and the
/// second one decides nothing.
pub(super) struct Keys {
    key_id: u32,
    key: TrafficKey,
    proven: ReplayWindow,
    overheard: ReplayWindow,
}

/// A packet's frame of which chunks are missing.
pub(crate) struct Waiting {
    pub sequence: u64,
    pub frame_type: FrameType,
    pub front: Vec<u8>,
    pub session: u32,
    pub ecn: u8,
    until: Duration,
}

/// A membership.
pub(crate) struct Listener {
    membership: Membership,
    /// The newest key, and the one before.
    keys: [Option<Keys>; 2],
    station: Station,
    untold: Untold,
    /// One past the newest number of what was sent to this member, and so is proven: any member can write
    /// numbers that are only overheard.
    proven_next: u64,
    /// Groups of other gateways.
    others: Others,
    /// Of what was cut, overheard.
    pub pieces: Pieces,
    waiting: BTreeMap<u64, Waiting>,
    /// The answer to a membership that is to be given.
    answer: Option<Joined>,
    misses: MissBounds,
    expander: Expander,
    /// Key id of the last opened unit.
    opened_under: u32,
}

/// Fate of a packet's rest.
pub(crate) enum Rest {
    /// It was appended to the front.
    Whole(Vec<u8>),
    /// It waits for chunks.
    Waits,
    /// It is dropped.
    Refused,
}

impl Listener {
    /// Bytes of memory of the cache, once it is full.
    pub fn memory_bytes(&self) -> usize {
        self.station.cache_bytes()
    }

    /// A member with an empty cache of at most 2^`slot_bits` slots. `None`: the membership makes no sense.
    pub fn new(membership: Membership, slot_bits: u8) -> Option<Self> {
        let slot_bits = slot_bits.min(membership.slot_bits);
        let settings = Settings { slot_bits, ..Settings::new(membership.address_key) };
        let misses = settings.misses;
        let station = Station::new(settings, StationId(membership.member), Some(membership.mac_key)).ok()?;
        let keys = [Some(Keys::of(&membership)), None];
        let answer = Some(Joined { key_id: membership.key_id, slot_bits, keeps_cache: false });
        let (untold, waiting) = (Untold::default(), BTreeMap::new());
        let others = Others::default();
        let proven_next = 0;
        let expander = Expander::new();
        Some(Listener {
            membership,
            keys,
            station,
            untold,
            proven_next,
            others,
            pieces: Pieces::default(),
            waiting,
            answer,
            misses,
            expander,
            opened_under: 0,
        })
    }

    /// Whether this is the same membership, but for the group's key. If so, that is taken over.
    pub fn renew(&mut self, membership: &Membership) -> bool {
        let same = |key: fn(&Membership) -> &[u8; KEY_BYTES]| key(&self.membership) == key(membership);
        if !same(|membership| &membership.address_key)
            || !same(|membership| &membership.mac_key)
            || (self.membership.member, self.membership.slot_bits)
                != (membership.member, membership.slot_bits)
        {
            return false;
        }
        let slot_bits = self.station.slot_bits();
        self.answer = Some(Joined { key_id: membership.key_id, slot_bits, keeps_cache: true });
        if self.membership.key_id != membership.key_id {
            self.keys.swap(0, 1);
            self.keys[0] = Some(Keys::of(membership));
            self.membership = membership.clone();
        }
        true
    }

    /// Key of the chunks' addresses.
    pub fn address_key(&self) -> [u8; KEY_BYTES] {
        self.membership.address_key
    }

    /// This member's number.
    pub fn member(&self) -> u8 {
        self.membership.member
    }

    /// The ids of the keys under which units are opened here.
    pub fn key_ids(&self) -> OfPeer {
        let own = self.keys.iter().flatten().map(Keys::key_id).collect();
        OfPeer { own, others: self.others.key_ids().collect() }
    }

    /// Opens a unit in place: the bytes of its plaintext, and its counter. `None`: it is of another group.
    pub fn open(
        &mut self,
        key_id: u32,
        truncated: u32,
        way: ReceiveKind,
        header: &[u8],
        body: &mut [u8],
    ) -> Option<Result<(usize, u64), OpenError>> {
        self.opened_under = key_id;
        match self.keys.iter_mut().flatten().find(|keys| keys.key_id == key_id) {
            Some(keys) => Some(keys.open(truncated, way, header, body)),
            // what another gateway sends to this node it sends under their pairwise key
            None if way == ReceiveKind::Sent => None,
            None => self.others.open(key_id, truncated, header, body),
        }
    }

    /// A unit that was sent to this member is proven to be its gateway's: it does not come again.
    pub fn prove(&mut self, key_id: u32, counter: u64) {
        if let Some(keys) = self.keys.iter_mut().flatten().find(|keys| keys.key_id == key_id) {
            keys.proven.mark(counter);
        }
    }

    /// The key of another gateway's group, which may be overheard.
    pub fn learn_other(&mut self, group: &OtherGroup) {
        self.others.learn(group);
    }

    /// Appends what was heard of another gateway's group, if there is anything.
    pub fn tell_of_other(&mut self, out: &mut Vec<u8>) -> bool {
        self.others.tell(out)
    }

    /// A shared packet with its rest as it was before it was compressed, into `room`; `None`: it makes no
    /// sense.
    pub fn expand<'a>(&mut self, shared: Shared<'a>, room: &'a mut Vec<u8>) -> Option<Shared<'a>> {
        if !shared.is_compressed {
            return Some(shared);
        }
        self.expander.expand(shared.rest, MAX_RESTORED_BYTES, room).ok()?;
        Some(Shared { is_compressed: false, rest: room, ..shared })
    }

    /// A packet that was sent to this member in `session`: the frame's body that it was, if all of it is
    /// there.
    pub fn receive(
        &mut self,
        now: Duration,
        shared: &Shared<'_>,
        sequence: u64,
        session: u32,
        ecn: u8,
    ) -> Rest {
        let number = widen(shared.number.into(), SEQUENCE_BITS, self.proven_next);
        self.proven_next = self.proven_next.max(number + 1);
        self.untold.pass(number); // what is for us is told by receipts
        match self.station.receive(PacketNumber(number), number, shared.rest, now) {
            Received::Restored(rest) => {
                let mut body = shared.front.to_vec();
                body.extend_from_slice(rest);
                Rest::Whole(body)
            }
            Received::Held => {
                if self.waiting.len() >= MAX_WAITING {
                    return Rest::Refused;
                }
                let &Shared { frame_type, front, .. } = shared;
                let until = now + self.misses.held_for;
                let front = front.to_vec();
                self.waiting.insert(number, Waiting { sequence, frame_type, front, session, ecn, until });
                Rest::Waits
            }
            Received::Queued | Received::Refused(_) => Rest::Refused,
        }
    }

    /// A packet that was sent, in a unit under the key `key_id`, to another member of that group.
    pub fn overhear(&mut self, now: Duration, key_id: u32, shared: &Shared<'_>) -> bool {
        let learnt = self.station.overhear(shared.rest).is_ok();
        if learnt {
            self.note(now, key_id, shared.number);
        }
        learnt
    }

    /// Chunks that were so sent to another member under `number`.
    pub fn overhear_reply(&mut self, now: Duration, key_id: u32, number: u32, reply: &[u8]) -> bool {
        let learnt = self.station.overhear_reply(reply).is_ok();
        if learnt {
            self.note(now, key_id, number);
        }
        learnt
    }

    /// Keeps content that this node sent to its own group, or heard in another group.
    pub fn keep_sent(&mut self, encoded: &[u8]) {
        // it was made here, and makes sense
        let _ = self.station.overhear(encoded);
    }

    fn note(&mut self, now: Duration, key_id: u32, truncated: u32) {
        if self.is_of_other(key_id) {
            if let Some(untold) = self.others.untold(key_id) {
                let number = untold.widen(truncated);
                untold.note(now, number);
            }
            return;
        }
        let number = widen(truncated.into(), SEQUENCE_BITS, self.proven_next);
        if number < self.proven_next + MOST_AHEAD {
            self.untold.note(now, number);
        }
    }

    /// The key of the unit that was opened last.
    pub fn opened_under(&self) -> u32 {
        self.opened_under
    }

    /// How wide the slots are of what is sent to this group.
    pub fn slot_bits(&self) -> u8 {
        self.membership.slot_bits
    }

    /// Whether this is the key of another gateway's group.
    pub fn is_of_other(&self, key_id: u32) -> bool {
        let is_own = self.keys.iter().flatten().any(|keys| keys.key_id == key_id);
        !is_own && self.others.knows(key_id)
    }

    /// Takes chunks that this member requested. [`completed`](Listener::completed) gives the packets that
    /// they complete.
    pub fn supplied(&mut self, now: Duration, reply: &[u8]) {
        // late, or for what was given up: nothing to do
        let _ = self.station.receive_reply(reply, now);
    }

    /// The next packet that has waited and is whole: its record, and its frame's body.
    pub fn completed(&mut self, now: Duration) -> Option<(Waiting, Vec<u8>)> {
        while let Some(Delivered { number, packet }) = self.station.poll_deliver(now) {
            if let Some(mut waiting) = self.waiting.remove(&number.0) {
                let mut body = std::mem::take(&mut waiting.front);
                body.extend_from_slice(&packet);
                return Some((waiting, body));
            }
        }
        None
    }

    /// A packet comes again, whole: its chunks are not waited for any more.
    pub fn comes_again(&mut self, sequence: u64) {
        let Listener { waiting, station, .. } = self;
        waiting.retain(|number, waiting| {
            let stays = waiting.sequence != sequence;
            if !stays {
                station.cancel_request(PacketNumber(*number));
            }
            stays
        });
    }

    /// The next packet that has waited for too long: its link sequence.
    pub fn given_up(&mut self, now: Duration) -> Option<u64> {
        let number = *self.waiting.iter().find(|(_, waiting)| waiting.until <= now)?.0;
        self.waiting.remove(&number).map(|waiting| waiting.sequence)
    }

    /// Appends the next request for chunks; `false`: none is due.
    pub fn request(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        self.station.poll_request(now, out).is_some()
    }

    /// The answer to a membership, if one is to be given.
    pub fn answer(&mut self) -> Option<Joined> {
        self.answer.take()
    }

    /// Appends what was heard, if there is anything.
    pub fn tell(&mut self, out: &mut Vec<u8>) -> bool {
        let something = !self.untold.is_empty();
        if something {
            self.untold.tell(out);
        }
        something
    }

    /// When something is to be said.
    pub fn speaks_at(&self) -> Option<Duration> {
        let answer = self.answer.map(|_| Duration::ZERO);
        [answer, self.untold.tell_at(), self.others.tell_at(), self.station.poll_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    /// When something is given up.
    pub fn gives_up_at(&self) -> Option<Duration> {
        self.waiting.values().map(|waiting| waiting.until).min()
    }

    /// Its counters.
    pub fn statistics(&self) -> &overhear::StationStatistics {
        self.station.statistics()
    }
}

impl Keys {
    fn of(membership: &Membership) -> Self {
        Keys::new(membership.key_id, &membership.traffic_key)
    }

    /// Keys under which nothing was opened yet.
    pub fn new(key_id: u32, traffic_key: &[u8; KEY_BYTES]) -> Self {
        Keys {
            key_id,
            key: TrafficKey::new(traffic_key),
            proven: ReplayWindow::default(),
            overheard: ReplayWindow::default(),
        }
    }

    /// Id of the key in its units.
    pub fn key_id(&self) -> u32 {
        self.key_id
    }

    /// Opens a unit that was overheard.
    pub fn open_overheard(
        &mut self,
        truncated: u32,
        header: &[u8],
        body: &mut [u8],
    ) -> Result<(usize, u64), OpenError> {
        self.open(truncated, ReceiveKind::Overheard, header, body)
    }

    fn open(
        &mut self,
        truncated: u32,
        way: ReceiveKind,
        header: &[u8],
        body: &mut [u8],
    ) -> Result<(usize, u64), OpenError> {
        let Keys { key, proven, overheard, .. } = self;
        let counter = widen(u64::from(truncated), COUNTER_BITS, proven.next().max(FIRST_HALF));
        let is_fresh = match way {
            ReceiveKind::Sent => proven.is_fresh(counter),
            ReceiveKind::Overheard => counter + WINDOW >= proven.next() && !overheard.has_seen(counter),
        };
        if !is_fresh {
            return Err(OpenError::Replay);
        }
        let Some(plain_bytes) = key.open(counter, header, body) else {
            return Err(OpenError::Authentication);
        };
        if way == ReceiveKind::Overheard && overheard.is_fresh(counter) {
            overheard.mark(counter);
        }
        Ok((plain_bytes, counter))
    }
}
