//! The parts that the two nodes of a link have in each other's groups.

use super::coding::{Named, Reports};
use super::{Listener, Member, Sharing};
use crate::features::Overhearing;
use crate::session::keyring::OfPeer;
use std::time::Duration;
use wire::group::{Membership, Shared};
use wire::hello::{COMBINES, LISTENS, SEPARATES};
use wire::natives::Overheard;

/// The parts of both nodes.
#[derive(Default)]
pub(crate) struct Roles {
    /// The peer is a station of this node's group.
    member: Option<Overhearing<Member>>,
    /// This node is a station of the peer's group.
    listener: Option<Overhearing<Listener>>,
    /// The peer becomes a member of groups.
    listens: bool,
    /// The peer takes apart natives that share a frame.
    separates: bool,
    /// This node keeps its packets to the peer, and reports overheard packets, because the peer combines.
    tells_of_natives: bool,
    /// Unreported packets.
    reports: Reports,
    /// Names of the peer's packets for overhearers.
    named: Named,
}

impl Roles {
    /// Nobody is a member yet. `codes`: this node combines packets, or separates them.
    pub fn new(capabilities: u32, codes: bool) -> Self {
        Roles {
            listens: capabilities & LISTENS != 0,
            separates: capabilities & SEPARATES != 0,
            tells_of_natives: codes && capabilities & COMBINES != 0,
            ..Self::default()
        }
    }

    /// Whether the peer takes apart natives that share a frame.
    pub fn separates(&self) -> bool {
        self.separates
    }

    /// Whether the peer is told of overheard packets.
    pub fn tells_of_natives(&self) -> bool {
        self.tells_of_natives
    }

    /// The peer as a member of this node's group.
    pub fn member(&self) -> Option<&Member> {
        self.member.as_deref()
    }

    /// The same, to be changed.
    pub fn member_mut(&mut self) -> Option<&mut Member> {
        self.member.as_deref_mut()
    }

    /// This node as a member of the peer's group.
    pub fn listener(&self) -> Option<&Listener> {
        self.listener.as_deref()
    }

    /// The same, to be changed.
    pub fn listener_mut(&mut self) -> Option<&mut Listener> {
        self.listener.as_deref_mut()
    }

    /// The peer, of this number and boot, is to become a member, if it can and is none.
    pub fn begin_membership(&mut self, now: Duration, (id, boot): (u8, u64), sharing: &Sharing) {
        if self.listens && self.member.is_none() {
            self.member = Overhearing::of(|| Member::new(id, sharing.mac_key(id, boot), now));
        }
    }

    /// The peer is no member any more. Whether it was one.
    pub fn end_membership(&mut self, sharing: &mut Sharing) -> bool {
        let Some(member) = self.member.take() else { return false };
        sharing.leave(member.id);
        true
    }

    /// The peer names this node's membership. Which keys are this node's then; `None`: it makes no sense.
    pub fn join(&mut self, membership: Membership, slot_bits: u8) -> Option<OfPeer> {
        if !self.listener.as_mut().is_some_and(|listener| listener.renew(&membership)) {
            let listener = Listener::new(membership, slot_bits);
            self.listener = listener.and_then(|listener| Overhearing::of(|| listener));
        }
        self.listener().map(Listener::key_ids)
    }

    /// This node leaves the peer's group, and its cache is lost.
    pub fn leave(&mut self) {
        self.listener = None;
    }

    /// Notes the name of a packet from the peer's group.
    pub fn note_name(&mut self, sequence: u64, shared: &Shared<'_>) {
        if let Some(listener) = &self.listener {
            self.named.note(sequence, listener.opened_under(), shared);
        }
    }

    /// The name of the peer's packet `sequence` for overhearers.
    pub fn name_of(&self, sequence: u64, native_bytes: usize) -> Option<Overheard> {
        self.named.of(sequence, native_bytes)
    }

    /// The peer is to be told of an overheard packet, if it combines.
    pub fn note_overheard(&mut self, now: Duration, name: Overheard) {
        if self.tells_of_natives {
            self.reports.note(now, name);
        }
    }

    /// Appends the next report of overheard packets; `false`: there is none.
    pub fn report(&mut self, out: &mut Vec<u8>) -> bool {
        self.reports.tell(out)
    }

    /// When the peer is told something of groups, under keys that are the two nodes' own.
    pub fn tell_at(&self) -> Option<Duration> {
        let times = [
            self.member().and_then(Member::tell_at),
            self.listener().and_then(Listener::speaks_at),
            self.reports.tell_at(),
        ];
        times.into_iter().flatten().min()
    }
}
