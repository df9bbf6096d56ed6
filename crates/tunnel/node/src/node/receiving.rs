//! Receiving: the units of a datagram are opened and handed to their peer.

use super::Node;
use crate::peer::pack::GroupUnit;
use crate::session::keyring::ReceiveKind;
use crate::session::transport::OpenError;
use std::net::SocketAddr;
use std::time::Duration;
use wire::frame;
use wire::unit::{self, Kind, Unit, UnitError};

/// The bytes around the ciphertext of a sealed unit.
struct Sealed {
    from: SocketAddr,
    ecn: u8,
    key_id: u32,
    version: u8,
    counter: u32,
}

impl Node {
    /// Takes a datagram from the air, whose outer header had the codepoint `ecn` (0 where that is not known).
    /// Its bytes are decrypted in place.
    pub fn handle_datagram(&mut self, now: Duration, from: SocketAddr, ecn: u8, datagram: &mut [u8]) {
        let mut start = 0;
        for _ in 0..unit::MAX_UNITS {
            if start >= datagram.len() {
                break;
            }
            let mut rest = &datagram[start..];
            let unit = match unit::parse(&mut rest) {
                Ok(unit) => unit,
                Err(UnitError::OtherVersion(_)) => {
                    self.refused.other_version += 1;
                    break;
                }
                Err(UnitError::Malformed(_)) => {
                    self.refused.malformed += 1;
                    break;
                }
            };
            let (header_bytes, body_bytes) = (unit.header.len(), unit.body.len());
            let end = start + header_bytes + body_bytes;
            match unit.kind {
                Kind::Sealed { version, counter } => {
                    let arrival = Sealed { from, ecn, key_id: unit.key_id, version, counter };
                    let (header, body) = datagram[start..end].split_at_mut(header_bytes);
                    self.handle_sealed(now, &arrival, header, body);
                }
                Kind::Group { counter } => {
                    let arrival = Sealed { from, ecn, key_id: unit.key_id, version: unit::VERSION, counter };
                    let (header, body) = datagram[start..end].split_at_mut(header_bytes);
                    self.handle_group(now, &arrival, ReceiveKind::Sent, header, body);
                }
                Kind::Initiation | Kind::InitiationWithCookie => self.handle_initiation(now, from, &unit),
                Kind::Challenge => self.handle_challenge(now, &unit),
                Kind::Response => self.handle_response(now, from, &unit),
                Kind::Reset => self.handle_reset(now, &unit),
            }
            start = end;
        }
        self.follow_gateways(now);
    }

    fn handle_sealed(&mut self, now: Duration, arrival: &Sealed, header: &[u8], body: &mut [u8]) {
        let &Sealed { from, ecn, key_id, version, counter } = arrival;
        let Some(index) = self.ctx.keyring.owner(key_id) else {
            self.refused.unknown_key += 1;
            self.send_reset(now, from, key_id, header.len() + body.len());
            return;
        };
        let peer = &mut self.peers[index];
        let Some(session) = peer.sessions_mut().by_id(key_id) else {
            self.refused.unknown_key += 1; // a handshake of ours that waits for its response
            return;
        };
        if version != session.version {
            self.refused.other_version += 1;
            return;
        }
        let opened = match session.open(now, counter, header, body) {
            Ok(opened) => opened,
            Err(why) => {
                if why == OpenError::Replay {
                    peer.note_replay(now, from);
                }
                return self.refuse_unit(why);
            }
        };
        let (confirmed, mac, ends) = (session.confirmed, session.receive_mac.clone(), session.ends());
        let age = (session.established, opened.counter);
        let ctx = &mut self.ctx;
        let lane = frame::lane(&body[..opened.plain_bytes]).filter(|_| version != unit::PLAIN);
        let moved = match lane {
            Some(lane) => {
                peer.hear_lane(lane, from, age);
                None
            }
            None => Some(age),
        };
        peer.heard_from(now, from, moved, header.len() + body.len(), ctx);
        if !confirmed {
            peer.use_session(now, key_id, ctx);
        }
        if !peer.shares_link(ends) {
            self.refused.expired += 1;
            return;
        }
        peer.unpack(now, (Some(opened.counter), key_id), &mac, ecn, &body[..opened.plain_bytes], ctx);
    }

    /// Takes a datagram that was overheard on its way from `from` to another node. Only what is for a group
    /// of which this node is a member means anything here.
    pub fn handle_overheard(&mut self, now: Duration, from: SocketAddr, datagram: &mut [u8]) {
        let mut rest = &*datagram;
        let Ok(Unit { kind: Kind::Group { counter }, key_id, header, body }) = unit::parse(&mut rest) else {
            return;
        };
        let (header_bytes, end) = (header.len(), header.len() + body.len());
        let arrival = Sealed { from, ecn: 0, key_id, version: unit::VERSION, counter };
        let (header, body) = datagram[..end].split_at_mut(header_bytes);
        self.handle_group(now, &arrival, ReceiveKind::Overheard, header, body);
        self.settle(now);
    }

    fn handle_group(
        &mut self,
        now: Duration,
        arrival: &Sealed,
        way: ReceiveKind,
        header: &[u8],
        body: &mut [u8],
    ) {
        let &Sealed { from, ecn, key_id, counter, .. } = arrival;
        let member_of = self.ctx.keyring.groups.of_unit(key_id, way);
        let opened = member_of.and_then(|index| {
            Some((index, self.peers[index].open_group_unit((key_id, counter), way, header, body)?))
        });
        let Some((index, opened)) = opened else {
            // packets of others to their groups do not concern this node
            self.refused.unknown_key += u64::from(way == ReceiveKind::Sent);
            return;
        };
        let (plain_bytes, counter) = match opened {
            Ok(opened) => opened,
            Err(why) => return self.refuse_unit(why),
        };
        let peer = &mut self.peers[index];
        let ctx = &mut self.ctx;
        let unit = GroupUnit { way, key_id, counter, ecn, from, bytes: header.len() + body.len() };
        peer.unpack_group(now, &unit, &body[..plain_bytes], ctx);
        self.tell_of_natives(now);
    }

    fn refuse_unit(&mut self, why: OpenError) {
        match why {
            OpenError::Replay => self.refused.replay += 1,
            OpenError::Authentication => self.refused.authentication += 1,
            OpenError::Expired => self.refused.expired += 1,
        }
    }
}
