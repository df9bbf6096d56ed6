//! Where a peer is.
//!
//! An attacker on the path can let any unit arrive first from its own address. So a node believes an address
//! only when the peer heard a message that was sent *there*: a probe with a token that went to no other
//! address (as QUIC validates paths, RFC 9000, section 8.2), or the response that made a session. It uses the
//! earlier address until then.

use rand::{Rng, RngExt};
use std::net::SocketAddr;
use std::time::Duration;

/// Addresses that are tried at once.
const MAX_CLAIMS: usize = 4;
/// How often each is asked, and how soon again.
const MOST_ASKED: u32 = 8;
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(300);
/// First bytes of these pings' tokens. Other pings have the size of a probe there.
const FRONT: [u8; 2] = [0xff; 2];

/// How new a unit is: when its session was established here, and its counter in that.
pub type Age = (Duration, u64);

/// Token of a probe to an address, which the answer repeats.
pub type Token = [u8; 8];

/// The address of one peer.
#[derive(Debug)]
pub struct Endpoint {
    address: Option<SocketAddr>,
    /// Whether the peer is known to hear what is sent there.
    is_proven: bool,
    /// Age of the newest unit with an address.
    newest: Age,
    claims: Vec<Claim>,
}

/// An address where the peer may be.
#[derive(Debug)]
struct Claim {
    address: SocketAddr,
    token: Token,
    asked: u32,
    ask_at: Duration,
}

impl Endpoint {
    /// Where the configuration says.
    #[must_use]
    pub fn new(configured: Option<SocketAddr>) -> Self {
        let is_proven = configured.is_some();
        Endpoint { address: configured, is_proven, newest: Age::default(), claims: Vec::new() }
    }

    /// The configuration says another address, or none any more. The age of the newest unit stays, so that
    /// nothing withheld says where the peer is.
    pub fn configure(&mut self, configured: Option<SocketAddr>) {
        *self = Endpoint { newest: self.newest, ..Endpoint::new(configured) };
    }

    /// The peer was at `address` before this node started, and nothing is known of it since.
    pub fn suppose(&mut self, address: SocketAddr) {
        if self.address.is_none() {
            *self = Endpoint { is_proven: false, ..Endpoint::new(Some(address)) };
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// An authentic unit of this age came from `from`. Whether that is now the address: where there was none.
    pub fn heard(&mut self, now: Duration, from: SocketAddr, age: Age) -> bool {
        if age < self.newest {
            return false; // withheld on its way
        }
        self.newest = age;
        let is_first = self.address.is_none();
        self.address.get_or_insert(from);
        if self.address == Some(from) && self.is_proven {
            self.claims.clear(); // it is still there
        } else {
            self.claim(now, from);
        }
        is_first
    }

    /// The peer may be at `address`: it is to be asked there.
    pub fn claim(&mut self, now: Duration, address: SocketAddr) {
        let is_known = self.claims.iter().any(|claim| claim.address == address);
        if is_known || self.is_proven && self.address == Some(address) {
            return;
        }
        if self.claims.len() == MAX_CLAIMS {
            let most = self.claims.iter().enumerate().max_by_key(|(_, claim)| claim.asked);
            self.claims.swap_remove(most.map_or(0, |(at, _)| at));
        }
        self.claims.push(Claim { address, token: Token::default(), asked: 0, ask_at: now });
    }

    /// Whether nothing shows yet that the peer hears what is sent to it.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        !self.is_proven
    }

    /// The next address that is to be asked now, and the token.
    pub fn ask(&mut self, now: Duration, rng: &mut impl Rng) -> Option<(SocketAddr, Token)> {
        self.claims.retain(|claim| claim.asked < MOST_ASKED || now < claim.ask_at);
        let claim = self.claims.iter_mut().find(|claim| claim.ask_at <= now)?;
        if claim.asked == 0 {
            claim.token = rng.random();
            claim.token[..FRONT.len()].copy_from_slice(&FRONT);
        }
        claim.asked += 1;
        claim.ask_at = now + ASK_AGAIN_AFTER * claim.asked;
        Some((claim.address, claim.token))
    }

    /// When one is to be asked.
    #[must_use]
    pub fn ask_at(&self) -> Option<Duration> {
        self.claims.iter().map(|claim| claim.ask_at).min()
    }

    /// Whether a pong answers a ping of this kind.
    #[must_use]
    pub fn is_token(token: &Token) -> bool {
        token.starts_with(&FRONT)
    }

    /// The peer says this token again: it heard what went to that address. The address before, if it is
    /// another one.
    pub fn answered(&mut self, token: &Token) -> Option<(Option<SocketAddr>, SocketAddr)> {
        let claim = self.claims.iter().find(|claim| claim.asked > 0 && claim.token == *token)?;
        let address = claim.address;
        self.prove(address)
    }

    /// The peer heard what went to `address`. The address before, if it is another one.
    pub fn prove(&mut self, address: SocketAddr) -> Option<(Option<SocketAddr>, SocketAddr)> {
        self.claims.clear();
        self.is_proven = true;
        let before = self.address.replace(address);
        (before != Some(address)).then_some((before, address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha12Rng;

    const NOW: Duration = Duration::from_secs(1);

    fn at(last: u8) -> SocketAddr {
        ([192, 0, 2, last], 4780).into()
    }

    #[test]
    fn an_address_is_believed_when_what_was_sent_there_comes_back() {
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let mut endpoint = Endpoint::new(Some(at(1)));
        assert!(!endpoint.heard(NOW, at(2), (NOW, 5)));
        assert_eq!(endpoint.address(), Some(at(1)));
        let (to, token) = endpoint.ask(NOW, rng).unwrap();
        assert_eq!(to, at(2));
        assert_eq!(endpoint.ask(NOW, rng), None);
        assert_eq!(endpoint.answered(&[7; 8]), None);
        assert_eq!(endpoint.answered(&token), Some((Some(at(1)), at(2))));
        assert_eq!(endpoint.address(), Some(at(2)));
        assert_eq!(endpoint.ask_at(), None);
    }

    #[test]
    fn what_was_withheld_claims_nothing_and_a_peer_that_is_still_there_ends_claims() {
        let mut endpoint = Endpoint::new(Some(at(1)));
        endpoint.heard(NOW, at(1), (NOW, 5));
        endpoint.heard(NOW, at(2), (NOW, 4));
        endpoint.heard(NOW, at(2), (Duration::ZERO, 1 << 40));
        assert_eq!(endpoint.ask_at(), None);
        endpoint.heard(NOW, at(2), (NOW, 6));
        assert!(endpoint.ask_at().is_some());
        endpoint.heard(NOW, at(1), (NOW, 7));
        assert_eq!(endpoint.ask_at(), None);
    }

    #[test]
    fn addresses_that_do_not_answer_are_asked_a_few_times_and_are_few() {
        let rng = &mut ChaCha12Rng::seed_from_u64(2);
        let mut endpoint = Endpoint::new(None);
        assert!(endpoint.heard(NOW, at(1), (NOW, 1)), "better than none");
        for last in 2..100 {
            endpoint.heard(NOW, at(last), (NOW, u64::from(last)));
        }
        assert_eq!(endpoint.claims.len(), MAX_CLAIMS);
        let mut asked = 0;
        for ms in 0..100_000 {
            asked += u32::from(endpoint.ask(NOW + Duration::from_millis(ms), rng).is_some());
        }
        assert_eq!((asked, endpoint.ask_at()), (MOST_ASKED * MAX_CLAIMS as u32, None));
        assert_eq!(endpoint.address(), Some(at(1)));
    }
}
