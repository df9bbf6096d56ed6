//! A session: the keys of one handshake, the counters under them, and when they were made.

use crate::session::handshake::{Keys, Network, derive};
use crate::session::replay::ReplayWindow;
use crate::session::seal::{Cipher, Seal, TrafficKey};
use re::mac::PacketMac;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use wire::hello::{COMPUTES_AES, Hello};
use wire::number::{COUNTER_BITS, widen};
use wire::unit::{Kind, PLAIN};
use zeroize::Zeroize;

/// The initiator makes new keys when the old ones are this old.
pub const REKEY_AFTER: Duration = Duration::from_secs(120);
/// Keys older than this are not used, neither to send nor to receive.
pub const REJECT_AFTER: Duration = Duration::from_secs(180);

/// The key of the MACs that prove packets under this traffic key.
pub fn mac_key(traffic_key: &[u8; 32]) -> [u8; 32] {
    derive(traffic_key, b"overheard 1 packet mac")
}

/// One session with a peer.
pub struct Session {
    /// Id of this session in the peer's units to us.
    pub local_id: u32,
    /// Id of this session in our units to the peer.
    pub remote_id: u32,
    /// When the handshake ended here.
    pub established: Duration,
    /// Whether this node began the handshake.
    pub initiator: bool,
    /// Whether the peer is known to have the keys: a repeated initiation never gets this far.
    pub confirmed: bool,
    /// Where the response went, of a session that the peer began.
    pub answered_to: Vec<SocketAddr>,
    /// The network under whose key the two agreed.
    pub network: Arc<Network>,
    /// The peer's announcements.
    pub hello: Hello,
    /// The boot that this node said.
    own_boot: u64,
    /// Version that both speak.
    pub version: u8,
    /// What its units are sealed with.
    pub cipher: Cipher,
    /// MACs for packets that go out.
    pub send_mac: PacketMac,
    /// MACs for packets that come in.
    pub receive_mac: PacketMac,
    send_key: Arc<TrafficKey>,
    receive_key: TrafficKey,
    next_counter: u64,
    window: ReplayWindow,
}

/// The two ends of a session: what both share belongs to these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The boot that this node said.
    pub own_boot: u64,
    /// The boot that the peer said.
    pub peer_boot: u64,
    /// The two have nothing in common but the plain tunnel.
    pub is_plain: bool,
}

/// Why a sealed unit is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenError {
    /// Seen before, or too old to tell.
    Replay,
    /// Not sealed by the peer.
    Authentication,
    /// The keys are too old.
    Expired,
}

/// Result of [`Session::open`].
#[derive(Debug, Clone, Copy)]
pub struct Opened {
    /// Bytes of plaintext at the front of the body.
    pub plain_bytes: usize,
    /// The unit's counter under this key.
    pub counter: u64,
}

impl Session {
    /// The session that a handshake gave, in which this node and the peer said these hellos.
    #[must_use]
    pub fn new(
        (mut keys, network): (Keys, Arc<Network>),
        local_id: u32,
        remote_id: u32,
        hellos: (&Hello, Hello),
        initiator: bool,
        now: Duration,
    ) -> Self {
        let (own, hello) = hellos;
        let version = own.common_version(&hello);
        // a plain tunnel knows no capabilities
        let compute_aes = version != PLAIN && own.capabilities & hello.capabilities & COMPUTES_AES != 0;
        let cipher = if compute_aes { Cipher::Aes256Gcm } else { Cipher::ChaCha20Poly1305 };
        let session = Session {
            version,
            local_id,
            remote_id,
            established: now,
            initiator,
            confirmed: initiator,
            answered_to: Vec::new(),
            network,
            hello: Hello { store_kib: own.store_kib.min(hello.store_kib), ..hello },
            own_boot: own.boot,
            send_mac: PacketMac::new(&mac_key(&keys.send)),
            receive_mac: PacketMac::new(&mac_key(&keys.receive)),
            cipher,
            send_key: Arc::new(TrafficKey::of(cipher, &keys.send)),
            receive_key: TrafficKey::of(cipher, &keys.receive),
            next_counter: 0,
            window: ReplayWindow::default(),
        };
        keys.send.zeroize();
        keys.receive.zeroize();
        session
    }

    /// Its two ends.
    #[must_use]
    pub fn ends(&self) -> Ends {
        Ends { own_boot: self.own_boot, peer_boot: self.hello.boot, is_plain: self.version == PLAIN }
    }

    /// Whether the keys may be used at `now`.
    #[must_use]
    pub fn is_usable(&self, now: Duration) -> bool {
        now < self.established + REJECT_AFTER && self.next_counter < self.cipher.most_units()
    }

    /// The seal for the next unit; every call gives another counter.
    pub fn next_seal(&mut self) -> Seal {
        let counter = self.next_counter;
        self.next_counter += 1;
        Seal::new(self.send_key.clone(), counter)
    }

    /// The kind of the unit that `seal` is for.
    #[must_use]
    pub fn unit_kind(&self, seal: &Seal) -> Kind {
        Kind::Sealed { version: self.version, counter: seal.counter() as u32 }
    }

    /// Opens a unit in place.
    pub fn open(
        &mut self,
        now: Duration,
        truncated: u32,
        header: &[u8],
        body: &mut [u8],
    ) -> Result<Opened, OpenError> {
        if now >= self.established + REJECT_AFTER {
            return Err(OpenError::Expired);
        }
        let counter = widen(u64::from(truncated), COUNTER_BITS, self.window.next());
        if !self.window.is_fresh(counter) {
            return Err(OpenError::Replay);
        }
        let plain_bytes = self.receive_key.open(counter, header, body).ok_or(OpenError::Authentication)?;
        self.window.mark(counter);
        Ok(Opened { plain_bytes, counter })
    }
}
