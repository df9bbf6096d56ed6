//! The counts of what was refused.

use serde::{Deserialize, Serialize};

/// Datagrams and packets refused before they changed anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Datagrams without a unit of ours, or with a malformed one.
    pub malformed: u64,
    /// Units of an unknown version.
    pub other_version: u64,
    /// Units under an unknown key.
    pub unknown_key: u64,
    /// Units that failed authentication.
    pub authentication: u64,
    /// Units seen before, or too old.
    pub replay: u64,
    /// Units under an expired key.
    pub expired: u64,
    /// Handshakes without the mark of the network.
    pub handshake_mark: u64,
    /// Handshakes of nodes that are no peers.
    pub handshake_stranger: u64,
    /// Handshakes beyond the rate that the node answers.
    pub handshake_rate: u64,
    /// Handshake messages that came before, whether the node answered or refused them.
    pub handshake_repeated: u64,
    /// Handshakes beyond that rate, answered by a cookie.
    pub handshake_challenged: u64,
    /// Handshakes under a revoked key.
    #[serde(default)]
    pub handshake_revoked: u64,
    /// Responses under another pre-shared key.
    #[serde(default)]
    pub handshake_preshared_key: u64,
    /// Packets from the TUN device with an address of no peer.
    pub no_route: u64,
    /// Packets from the TUN device that are not IP.
    pub not_ip: u64,
}

impl std::ops::AddAssign for Refused {
    fn add_assign(&mut self, other: Self) {
        let Refused {
            malformed,
            other_version,
            unknown_key,
            authentication,
            replay,
            expired,
            handshake_mark,
            handshake_stranger,
            handshake_rate,
            handshake_repeated,
            handshake_challenged,
            handshake_revoked,
            handshake_preshared_key,
            no_route,
            not_ip,
        } = other;
        self.malformed += malformed;
        self.other_version += other_version;
        self.unknown_key += unknown_key;
        self.authentication += authentication;
        self.replay += replay;
        self.expired += expired;
        self.handshake_mark += handshake_mark;
        self.handshake_stranger += handshake_stranger;
        self.handshake_rate += handshake_rate;
        self.handshake_repeated += handshake_repeated;
        self.handshake_challenged += handshake_challenged;
        self.handshake_revoked += handshake_revoked;
        self.handshake_preshared_key += handshake_preshared_key;
        self.no_route += no_route;
        self.not_ip += not_ip;
    }
}
