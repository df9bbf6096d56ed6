//! Capture of a node's traffic: packets as hosts see them, datagrams as on the air, and their plaintext.
//!
//! Without a capture, the cost is one comparison a packet. The driver never waits for the capturing thread.
//! Packets that it cannot take are lost to the capture, and counted.

use portable_atomic::{AtomicU64, Ordering};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, SystemTime};
use wire::unit::{self, Kind, TAG_BYTES};

/// The most packets and datagrams that wait to be captured.
const WAITING: usize = 4096;

/// A captured event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A packet from the device, for the tunnel.
    Offered,
    /// A packet to the device, from the tunnel.
    Delivered,
    /// A datagram to a peer.
    Sent {
        /// Its destination.
        to: SocketAddr,
        /// The index of our source port.
        source_port: usize,
        /// Its traffic class.
        class: u8,
        /// Its contents before the seal.
        opened: Option<Opened>,
    },
    /// A datagram that arrived.
    Received {
        /// Its sender.
        from: SocketAddr,
        /// The ECN bits of its outer header.
        ecn: u8,
        /// Its contents, if it was authenticated.
        opened: Option<Opened>,
    },
}

/// The contents of a sealed unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The unit's kind.
    pub kind: Kind,
    /// Its header.
    pub header: Vec<u8>,
    /// The plaintext inside the seal.
    pub plaintext: Vec<u8>,
}

/// A captured packet or datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Time since 1970, by this machine's clock.
    pub at: Duration,
    /// The kind of event.
    pub what: What,
    /// The packet, or the UDP payload as on the air.
    pub bytes: Vec<u8>,
}

/// The driver's end.
#[derive(Debug, Clone)]
pub struct Tap {
    passed: SyncSender<Passed>,
    lost: Arc<AtomicU64>,
}

/// The other end. Dropping it ends the capture.
#[derive(Debug)]
pub struct Captured {
    /// The captured events, in order for each driver.
    pub passed: Receiver<Passed>,
    lost: Arc<AtomicU64>,
}

impl Captured {
    /// Number of events lost to the capture.
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
    /// Passes an event on. Returns `false` if the capture has ended.
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

/// Captures a packet, if a capture is active.
pub(crate) fn packet(tap: &mut Option<Tap>, what: What, packet: &[u8]) {
    if tap.as_ref().is_some_and(|tap| !tap.keep(what, packet.to_vec())) {
        *tap = None;
    }
}

/// The contents of `datagram`, a single unit that is opened in place or not yet sealed; `None` if it is no
/// sealed unit. `sealed` is its form on the air. If both are equal, the unit was not opened.
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
        // Before sealing it has no tag.
        assert_eq!(opened(&sealed, &plain[..27]).unwrap().plaintext, [1; 20]);
        assert_eq!(opened(&[0x11, 0, 0, 1, 5], &[0x11, 0, 0, 1, 6]), None, "a handshake");
        assert_eq!(opened(b"noise", b"noise"), None);
    }
}
