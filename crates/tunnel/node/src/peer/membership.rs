//! The peer and groups: it is a member of this node's, or this node of its.

use super::Peer;
use crate::context::Context;
use crate::group::{Listener, Sharing};
use crate::session::keyring::ReceiveKind;
use crate::session::transport::OpenError;
use std::time::Duration;
use wire::group::KEY_BYTES;
use wire::inner::Inner;
use wire::natives::Overheard;

impl Peer {
    /// It is to become a member of the group, if there is one and it can.
    pub(crate) fn begin_membership(&mut self, now: Duration, ctx: &mut Context) {
        if let (Some(link), Some(sharing)) = (&mut self.link, ctx.sharing.as_deref()) {
            let boot = link.peer_boot();
            link.roles.begin_membership(now, (self.index as u8, boot), sharing);
        }
    }

    /// It is associated with another gateway.
    pub(crate) fn end_membership(&mut self, ctx: &mut Context) {
        if let (Some(link), Some(sharing)) = (&mut self.link, ctx.sharing.as_deref_mut()) {
            link.roles.end_membership(sharing);
        }
    }

    /// Whether it is a member of this node's group.
    pub(crate) fn is_member(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.roles.member().is_some())
    }

    /// A member is told of the group's key, if that has changed.
    pub(crate) fn follow_group(&mut self, now: Duration, sharing: &Sharing) {
        if let Some(member) = self.link.as_mut().and_then(|link| link.roles.member_mut()) {
            member.follow(now, sharing);
        }
    }

    /// A member is told of the groups that it may overhear.
    pub(crate) fn follow_other_groups(&mut self, now: Duration, sharing: &Sharing) {
        if let Some(member) = self.link.as_mut().and_then(|link| link.roles.member_mut()) {
            member.follow_others(now, sharing);
        }
    }

    /// This node is no member of the peer's group any more, and has lost its cache.
    pub(crate) fn leave_group(&mut self, ctx: &mut Context) {
        if let Some(link) = &mut self.link {
            link.roles.leave();
            ctx.keyring.groups.remove(self.index);
        }
    }

    /// Opens a unit of the peer's group in place: the bytes of its plaintext, and its counter. `None`: it is
    /// of another group.
    pub(crate) fn open_group_unit(
        &mut self,
        (key_id, counter): (u32, u32),
        way: ReceiveKind,
        header: &[u8],
        body: &mut [u8],
    ) -> Option<Result<(usize, u64), OpenError>> {
        self.link.as_mut()?.roles.listener_mut()?.open(key_id, counter, way, header, body)
    }

    /// The key of the addresses in the peer's group, of which this node is a member.
    pub(crate) fn address_key(&self) -> Option<[u8; KEY_BYTES]> {
        self.link.as_ref()?.roles.listener().map(Listener::address_key)
    }

    /// Puts the rest of a shared packet that was sent here into the cache for the peer's group.
    pub(crate) fn keep_sent(&mut self, rest: &[u8]) {
        if let Some(listener) = self.link.as_mut().and_then(|link| link.roles.listener_mut()) {
            listener.keep_sent(rest);
        }
    }

    /// The peer is to be told of an overheard packet, if it combines.
    pub(crate) fn note_overheard(&mut self, now: Duration, name: Overheard) {
        if let Some(link) = &mut self.link {
            link.roles.note_overheard(now, name);
        }
    }

    /// By what overhearers know the peer's packet `sequence`; the second: whether anybody may know it.
    pub(crate) fn name_of(&self, sequence: u64, inner: &Inner) -> Option<(Option<Overheard>, bool)> {
        let roles = &self.link.as_ref()?.roles;
        let overheard = roles.name_of(sequence, inner.payload_bytes());
        Some((overheard, roles.separates() || overheard.is_some()))
    }

    /// A native left in a frame with others.
    pub(crate) fn note_native(&mut self, sequence: u64) {
        self.counters.natives_sent += 1;
        if let Some(member) = self.link.as_mut().and_then(|link| link.roles.member_mut()) {
            member.natives.sent(sequence);
        }
    }
}
