//! Probes: datagrams of a size that is to be tried on the path, and the token by which their answers are
//! known.

use super::Packed;
use crate::peer::Peer;
use rand::Rng;
use std::net::SocketAddr;
use std::time::Duration;
use wire::frame::{self, FrameType};
use wire::unit::{TAG_BYTES, emit_header};

/// The part of a ping's token that says when it left.
const TOKEN_MICROS: u64 = (1 << 48) - 1;

/// Token of a ping: its departure in microseconds, below the size of its probe in bytes, 0 for none.
pub(super) fn token(now: Duration, probe_bytes: usize) -> [u8; 8] {
    let micros = now.as_micros() as u64 & TOKEN_MICROS; // nine years
    ((probe_bytes as u64) << TOKEN_MICROS.count_ones() | micros).to_be_bytes()
}

/// When the ping with this token left, and how large a probe it was.
pub(super) fn read_token(token: [u8; 8]) -> (Duration, usize) {
    let token = u64::from_be_bytes(token);
    (Duration::from_micros(token & TOKEN_MICROS), (token >> TOKEN_MICROS.count_ones()) as usize)
}

impl Peer {
    /// A probe to an address where the peer may be, if one is to be asked, and that address.
    pub(crate) fn pack_question(
        &mut self,
        now: Duration,
        rng: &mut impl Rng,
        out: &mut Vec<u8>,
    ) -> Option<(SocketAddr, Packed)> {
        self.endpoint.ask_at().filter(|&at| at <= now && self.link.is_some())?;
        let session = self.sessions.sending(now)?;
        let (to, token) = self.endpoint.ask(now, rng)?;
        let seal = session.next_seal();
        out.clear();
        emit_header(session.unit_kind(&seal), session.remote_id, None, out);
        frame::emit_sequence(0, out);
        // a ping's unit would take the sequence in front of it
        frame::emit(FrameType::Probe, &token, out);
        Some((to, Packed { seal, class: 0, lane: 0 }))
    }

    /// A datagram of the size that is to be tried on the path, if one is. Its token says when it left and how
    /// large it was; the ping that follows tells a path that is too narrow from one that is cut.
    pub(super) fn pack_probe(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<Packed> {
        self.link.as_ref()?;
        let bytes = self.path.has_probe().then(|| self.path.take_probe(now))??;
        let session = self.sessions.sending(now)?;
        let seal = session.next_seal();
        out.clear();
        emit_header(session.unit_kind(&seal), session.remote_id, None, out);
        frame::emit_sequence(0, out);
        frame::emit_last(FrameType::Probe, out);
        out.extend_from_slice(&token(now, bytes));
        out.resize(bytes - TAG_BYTES, 0);
        self.ping_at = Some(now);
        Some(Packed { seal, class: 0, lane: 0 })
    }
}
