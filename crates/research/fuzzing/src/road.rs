//! What lies between a station and its gateway, for the targets that attack a whole node.

use crate::pair::{GATEWAY, STATION};
use node::Transmit;
use sim::Insider;
use sim::network::{Direct, Hearer, Medium, Sent};
use std::collections::BTreeMap;
use std::time::Duration;
use wire::unit::SEALED_HEADER_BYTES;

/// A road without delay or loss.
#[derive(Default)]
pub struct Road {
    /// The station's plaintexts before the seal, if recorded.
    pub plaintexts: Option<Vec<Vec<u8>>>,
    /// The longest datagram.
    pub longest_bytes: usize,
    /// The knowledge of a member of the gateway's group.
    pub insider: Insider,
    /// The gateway's latest plaintext under the group's key.
    pub words: Vec<u8>,
    /// Handshake messages, the newest of each kind.
    pub letters: BTreeMap<u8, Vec<u8>>,
    /// Nobody hears anything.
    pub is_broken: bool,
}

impl Medium for Road {
    fn before_seal(&mut self, from: usize, _: &Transmit, datagram: &mut Vec<u8>) {
        if let Some(plaintexts) = self.plaintexts.as_mut().filter(|_| from == STATION) {
            plaintexts.extend(datagram.get(SEALED_HEADER_BYTES..).map(<[u8]>::to_vec));
        }
        if from == GATEWAY {
            self.insider.learn(datagram);
        }
    }

    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
        self.longest_bytes = self.longest_bytes.max(sent.datagram.len());
        if let Some(opened) = self.insider.open(sent.datagram) {
            self.words = opened.plaintext;
        }
        match sent.datagram.first().map(|first| first & 7) {
            None | Some(0 | 4) => {}
            Some(kind) => drop(self.letters.insert(kind, sent.datagram.to_vec())),
        }
        if self.is_broken {
            return Duration::ZERO;
        }
        Direct.who_hears(sent, hearers)
    }
}
