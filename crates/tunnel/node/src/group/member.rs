//! A station of the group, as its gateway sees it.

use super::Sharing;
use crate::group::coding::Separated;
use overhear::{Answer, PacketNumber, StationId};
use std::collections::VecDeque;
use std::time::Duration;
use wire::group::{Joined, KEY_BYTES, Membership, OtherGroup};

/// A station that does not answer is told again.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Replies that wait to be sent at once.
const MAX_REPLIES: usize = 32;
/// Packets whose numbers are remembered until they are confirmed.
const MAX_NUMBERS: usize = 4096;

/// One member.
pub(crate) struct Member {
    /// The member's number.
    pub id: u8,
    mac_key: [u8; KEY_BYTES],
    /// When it is to be told the key.
    tell_at: Option<Duration>,
    /// The key that it has.
    joined: Option<u32>,
    associated: bool,
    /// Link sequences, rising, and under which numbers they were shared.
    numbers: VecDeque<(u64, PacketNumber)>,
    replies: VecDeque<(PacketNumber, Vec<u8>)>,
    /// How it gets on with natives that share a frame.
    pub natives: Separated,
    /// Keys of other gateways' groups, and when it is to be told; none where it has said that it knows.
    others: Vec<(OtherGroup, Option<Duration>)>,
}

impl Member {
    /// A member that gets its key at once.
    pub fn new(id: u8, mac_key: [u8; KEY_BYTES], now: Duration) -> Self {
        Member {
            id,
            mac_key,
            tell_at: Some(now),
            joined: None,
            associated: false,
            numbers: VecDeque::new(),
            replies: VecDeque::new(),
            natives: Separated::default(),
            others: Vec::new(),
        }
    }

    /// Is told if there is another key than the one that it has.
    pub fn follow(&mut self, now: Duration, sharing: &Sharing) {
        if !self.has_key(sharing) {
            self.tell_at.get_or_insert(now);
        }
    }

    /// Is told of the groups that it may overhear beside its own, as far as it has not been.
    pub fn follow_others(&mut self, now: Duration, sharing: &Sharing) {
        let before = std::mem::take(&mut self.others);
        let told = |group: OtherGroup| {
            let known = before.iter().find(|(known, _)| *known == group);
            known.copied().unwrap_or((group, Some(now)))
        };
        self.others.extend(sharing.other_groups().map(told));
    }

    /// The next of them that it is to be told, if that is due.
    pub fn tell_other(&mut self, now: Duration) -> Option<OtherGroup> {
        self.joined?;
        let (group, tell_at) = self.others.iter_mut().find(|(_, at)| at.is_some_and(|at| at <= now))?;
        *tell_at = Some(now + TELL_AGAIN_AFTER);
        Some(*group)
    }

    /// It has the key of another group.
    pub fn has_other(&mut self, key_id: u32) {
        for (_, tell_at) in self.others.iter_mut().filter(|(group, _)| group.key_id == key_id) {
            *tell_at = None;
        }
    }

    /// When it is to be told a key.
    pub fn tell_at(&self) -> Option<Duration> {
        let others = self.others.iter().filter_map(|(_, at)| *at).min().filter(|_| self.joined.is_some());
        [self.tell_at, others].into_iter().flatten().min()
    }

    /// The membership message, if it is due.
    pub fn tell(&mut self, now: Duration, sharing: &Sharing) -> Option<Membership> {
        self.tell_at.filter(|&at| at <= now)?;
        self.tell_at = Some(now + TELL_AGAIN_AFTER);
        Some(sharing.membership(self.id, self.mac_key))
    }

    /// It says that it has a key.
    pub fn joined(&mut self, now: Duration, joined: &Joined, sharing: &mut Sharing) {
        if joined.key_id != sharing.key_id() {
            return; // an older one: it hears of the new one soon
        }
        if self.joined == Some(joined.key_id) {
            return; // its answer came twice
        }
        if !(joined.keeps_cache && self.associated) {
            self.numbers.clear();
            self.replies.clear();
            self.associated = sharing.join(now, self.id, joined.slot_bits, self.mac_key);
        }
        self.joined = self.associated.then_some(joined.key_id);
        self.tell_at = None;
        if !joined.keeps_cache {
            self.others.clear(); // it begins with nothing
        }
        self.follow_others(now, sharing);
    }

    /// Whether what is for it can be shared.
    pub fn has_key(&self, sharing: &Sharing) -> bool {
        self.joined == Some(sharing.key_id())
    }

    /// A packet was shared.
    pub fn shared(&mut self, sequence: u64, number: PacketNumber) {
        if self.numbers.len() == MAX_NUMBERS {
            self.numbers.pop_front();
        }
        self.numbers.push_back((sequence, number));
    }

    /// A packet goes out again under the member's own key: what its cache learns from is the shared one, and
    /// that may be lost.
    pub fn sent_apart(&mut self, sequence: u64) {
        if let Ok(at) = self.numbers.binary_search_by_key(&sequence, |(sequence, _)| *sequence) {
            self.numbers.remove(at);
        }
    }

    /// A packet is confirmed.
    pub fn confirmed(&mut self, now: Duration, sequence: u64, sharing: &mut Sharing) {
        if let Ok(at) = self.numbers.binary_search_by_key(&sequence, |(sequence, _)| *sequence)
            && let Some((_, number)) = self.numbers.get(at)
        {
            sharing.codec.record_acknowledgment(StationId(self.id), *number, now);
        }
    }

    /// It asks for chunks that it lacks. The link sequence of a packet that is to be sent again instead: a
    /// chunk that it was meant to have is gone here, too.
    pub fn requested(&mut self, request: &[u8], sharing: &mut Sharing) -> Option<u64> {
        if self.replies.len() >= MAX_REPLIES {
            return None;
        }
        let mut reply = Vec::new();
        match sharing.codec.answer_request(StationId(self.id), request, &mut reply) {
            Answer::Supplied { number, .. } => self.replies.push_back((number, reply)),
            Answer::Gone { number } => return self.sequence_of(number),
            Answer::Refused => {}
        }
        None
    }

    /// Link sequence of a packet, while it is remembered.
    fn sequence_of(&self, number: PacketNumber) -> Option<u64> {
        let at = self.numbers.binary_search_by_key(&number, |(_, number)| *number).ok()?;
        self.numbers.get(at).map(|(sequence, _)| *sequence)
    }

    /// Whether chunks wait to be sent.
    pub fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// The next chunks to be sent, and under which number, if they take at most `room` bytes.
    pub fn next_reply(&mut self, room: usize) -> Option<(PacketNumber, Vec<u8>)> {
        self.replies.front().filter(|(_, reply)| reply.len() <= room)?;
        self.replies.pop_front()
    }
}
