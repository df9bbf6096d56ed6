//! What passes a node, for whoever captures it: packets as the hosts see them, datagrams as the air does, and
//! what those said before they were sealed.
//!
//! While nobody captures, it costs one comparison a packet. While somebody does, the driver never waits for
//! him: what he is too slow for is lost to him, and counted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, SystemTime};
use wire::unit::{self, Kind, TAG_BYTES};

/// Packets and datagrams that may wait to be captured.
const WAITING: usize = 4096;

/// What passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A packet from the device, for the tunnel.
    Offered,
    /// A packet to the device, from the tunnel.
    Delivered,
    /// A datagram to a peer.
    Sent {
        /// Where it went.
        to: SocketAddr,
        /// Which of our ports it left from.
        source_port: usize,
        /// Its traffic class.
        class: u8,
        /// What it said.
        opened: Option<Opened>,
    },
    /// A datagram that arrived.
    Received {
        /// Where it came from.
        from: SocketAddr,
        /// The ECN bits of its outer header.
        ecn: u8,
        /// What it said, if it was believed.
        opened: Option<Opened>,
    },
}

/// What a sealed unit said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// What kind of unit it was.
    pub kind: Kind,
    /// Its header.
    pub header: Vec<u8>,
    /// What stood inside the seal.
    pub plaintext: Vec<u8>,
}

/// Something that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Since 1970, as far as this machine knows.
    pub at: Duration,
    /// What it was.
    pub what: What,
    /// The packet, or the UDP payload as it was on the air.
    pub bytes: Vec<u8>,
}

/// The driver's end.
#[derive(Debug, Clone)]
pub struct Tap {
    passed: SyncSender<Passed>,
    lost: Arc<AtomicU64>,
}

/// The other end. A driver stops tapping when it is dropped.
#[derive(Debug)]
pub struct Captured {
    /// What passed, in the order of each driver.
    pub passed: Receiver<Passed>,
    lost: Arc<AtomicU64>,
}

impl Captured {
    /// How much passed that could not be kept.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Both ends.
#[must_use]
pub fn tap() -> (Tap, Captured) {
    let (sender, passed) = sync_channel(WAITING);
    let lost = Arc::new(AtomicU64::new(0));
    (Tap { passed: sender, lost: lost.clone() }, Captured { passed, lost })
}

impl Tap {
    /// Keeps what passed. `false`: nobody captures any more.
    pub(crate) fn keep(&self, what: What, bytes: Vec<u8>) -> bool {
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        match self.passed.try_send(Passed { at, what, bytes }) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

/// Keeps a packet, where somebody captures.
pub(crate) fn packet(tap: &mut Option<Tap>, what: What, packet: &[u8]) {
    if tap.as_ref().is_some_and(|tap| !tap.keep(what, packet.to_vec())) {
        *tap = None;
    }
}

/// What `datagram` says, a single unit whose seal has been taken off in place or has not been put on yet;
/// none if it is no sealed unit. `sealed` is what it is on the air: where both are the same, nobody opened
/// it.
pub(crate) fn opened(sealed: &[u8], datagram: &[u8]) -> Option<Opened> {
    let mut rest = sealed;
    let unit = unit::parse(&mut rest).ok().filter(|_| rest.is_empty())?;
    if !matches!(unit.kind, Kind::Sealed { .. } | Kind::Group { .. }) {
        return None;
    }
    let (header, body) = datagram.split_at_checked(unit.header.len())?;
    let end = sealed.len().checked_sub(unit.header.len() + TAG_BYTES)?;
    let plaintext = body.get(..end).filter(|plaintext| *plaintext != &unit.body[..end])?;
    Some(Opened { kind: unit.kind, header: header.to_vec(), plaintext: plaintext.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_captures_too_slowly_loses_and_nobody_waits_for_him() {
        let (tap, captured) = tap();
        for _ in 0..WAITING + 7 {
            assert!(tap.keep(What::Offered, vec![1]));
        }
        assert_eq!((captured.lost(), captured.passed.iter().take(WAITING).count()), (7, WAITING));
        let mut tapped = Some(tap);
        drop(captured);
        packet(&mut tapped, What::Offered, &[1]);
        assert!(tapped.is_none(), "the driver stops when nobody captures");
    }

    #[test]
    fn what_nobody_opened_is_not_told() {
        let mut sealed = Vec::new();
        unit::emit_header(Kind::Sealed { version: 1, counter: 3 }, 9, None, &mut sealed);
        sealed.extend_from_slice(&[0xaa; 20 + TAG_BYTES]);
        assert_eq!(opened(&sealed, &sealed), None);
        let mut plain = sealed.clone();
        plain[7..27].fill(1);
        let told = opened(&sealed, &plain).unwrap();
        assert_eq!((told.plaintext, told.header.len()), (vec![1; 20], 7));
        // before it is sealed it has no tag
        assert_eq!(opened(&sealed, &plain[..27]).unwrap().plaintext, [1; 20]);
        assert_eq!(opened(&[0x11, 0, 0, 1, 5], &[0x11, 0, 0, 1, 6]), None, "a handshake");
        assert_eq!(opened(b"noise", b"noise"), None);
    }
}
