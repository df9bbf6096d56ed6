//! Natives that share a frame: one written as if it were alone, and one taken out of a frame with others
//! ([`crate::group::coding`]).

use super::shared::unit_number;
use super::{GroupUnit, Packed, PendingControl};
use crate::context::Context;
use crate::group::coding::Form;
use crate::peer::Peer;
use crate::peer::link::Link;
use crate::session::keyring::ReceiveKind;
use crate::session::transport::Session;
use re::mac::PacketMac;
use recovery::xor;
use std::time::Duration;
use wire::frame::PACKET_MAC_BYTES;
use wire::group::Shared;
use wire::natives::{Component, Name, Natives};
use wire::shim::slots::Slots;

/// A packet that was written as if it were alone.
pub(crate) struct Native {
    pub packed: Packed,
    /// Its form in a coded frame, if it can share one.
    pub form: Option<Form>,
    /// Its link sequence.
    pub sequence: u64,
    /// The key for its MAC.
    pub mac: PacketMac,
    /// Version of the member's session.
    pub version: u8,
}

/// Keeps these MACs apart from those of units for one member.
const NATIVES: u64 = 1 << 62;

/// The MAC for one member of a unit with natives.
pub(crate) fn natives_mac(
    native: &Native,
    key_id: u32,
    counter: u64,
    bytes: &[u8],
) -> [u8; PACKET_MAC_BYTES] {
    native.mac.of(NATIVES | unit_number(native.version, key_id, counter), bytes)
}

impl Peer {
    /// Name of the next native for others, and the packet's length, if it may leave with those of others now.
    /// Where it is the peer's own turn, other messages go first.
    pub(crate) fn native_that_waits(
        &mut self,
        now: Duration,
        is_its_turn: bool,
        ctx: &Context,
    ) -> Option<(Name, usize)> {
        self.endpoint.address()?;
        self.sessions.sending(now)?;
        let is_quiet = !is_its_turn || self.is_quiet(now) && !self.path.has_probe();
        let is_free = is_quiet && !self.closing && self.is_shared(ctx);
        let link = self.link.as_mut().filter(|link| is_free && link.roles.separates())?;
        let is_unfinished = link.assembly.overflow().is_some() || link.assembly.has_partial();
        let member = link.roles.member_mut().filter(|_| !is_unfinished)?;
        if member.has_replies() {
            return None; // they go with the next packet
        }
        let waiting = self.queue.peek_name(now)?;
        member.natives.is_worth_trying().then_some(waiting)
    }

    /// Writes that packet as a datagram of its own.
    pub(crate) fn pack_native(
        &mut self,
        now: Duration,
        ctx: &mut Context,
        out: &mut Vec<u8>,
    ) -> Option<Native> {
        let (packed, form) = self.pack_shared(now, (&PendingControl::default(), true), ctx, out)?;
        let session = self.sessions.sending(now)?;
        let (mac, version) = (session.send_mac.clone(), session.version);
        let sequence = self.link.as_ref()?.arq.newest_sequence()?;
        Some(Native { packed, form, sequence, mac, version })
    }

    /// Takes what is for this node out of a unit with natives for several members.
    pub(super) fn take_natives(
        &mut self,
        now: Duration,
        unit: &GroupUnit,
        (member, mac): (u8, [u8; PACKET_MAC_BYTES]),
        plaintext: &[u8],
        ctx: &mut Context,
    ) {
        let &GroupUnit { way, key_id, counter, ecn, .. } = unit;
        let Some(Link { roles, arq, .. }) = &mut self.link else { return };
        let Some(listener) = roles.listener_mut() else { return };
        let (own_member, slot_bits) = (listener.member(), listener.slot_bits());
        let Ok(natives) = Natives::parse(member, plaintext) else {
            self.counters.bad_frames += 1;
            return;
        };
        let found = natives.components().enumerate().find(|(_, component)| component.member == own_member);
        // the addressee's comes by the socket, the others' by the ear: each once
        let Some((place, own)) = found.filter(|(place, _)| (*place == 0) == (way == ReceiveKind::Sent))
        else {
            self.counters.overheard_datagrams += u64::from(way == ReceiveKind::Overheard);
            return;
        };
        let mut proven = ctx.deliveries.buffer();
        proven.extend_from_slice(natives.proven);
        let literals_at = proven.len();
        proven.extend_from_slice(natives.xor);
        let coding = ctx.coding.as_deref();
        let mut take_out = |other: &Component<'_>| -> Option<()> {
            let native = coding?.native(self.index, own_member, &other.name)?;
            take_out(other, native, &mut proven[literals_at..])
        };
        let mut others = natives.components().enumerate().filter(|(at, _)| *at != place);
        let is_out = others.all(|(_, other)| take_out(&other).is_some());
        proven.truncate(literals_at + own.bytes);
        let mac = natives.mac(place).unwrap_or(mac);
        let proves = |session: &Session| {
            let number = NATIVES | unit_number(session.version, key_id, counter);
            session.receive_mac.verifies(number, &proven, mac)
        };
        let Some((session, mac)) = self.sessions.proving(proves).filter(|_| is_out) else {
            self.counters.natives_undecodable += 1;
            return;
        };
        if way == ReceiveKind::Sent {
            listener.prove(key_id, counter);
        }
        let sequence = arq.widen(own.sequence);
        if arq.holds(sequence) {
            return;
        }
        arq.arrive(now, sequence);
        self.counters.natives_decoded += 1;
        let mut rest = ctx.deliveries.buffer();
        match own.removed {
            Some(removed) => rest.extend_from_slice(removed.shim),
            None => Slots { slot_bits, mac: None, runs: &[], slots: &[] }.emit(&mut rest),
        }
        rest.extend_from_slice(&proven[literals_at..]);
        let Component { number, frame_type, front, .. } = own;
        let shared = Shared { number, frame_type, is_compressed: false, front, rest: &rest };
        if !self.take_expanded(now, sequence, (session, &mac), ecn, &shared, ctx) {
            self.counters.bad_frames += 1;
        }
        ctx.deliveries.recycle(rest);
        ctx.deliveries.recycle(proven);
        self.has_proven(now, unit, ctx);
    }
}

/// Takes what a component has in the XOR out of it. `None`: the native is not the one that is meant.
fn take_out(other: &Component<'_>, native: &[u8], sum: &mut [u8]) -> Option<()> {
    let mut at = 0;
    other.literals(native, |stretch| {
        xor::over(sum.get_mut(at..).unwrap_or_default(), stretch);
        at += stretch.len();
    })
}
