//! A station that shakes hands with its gateway, and a member of the network that forges handshake messages:
//! records, each behind its length in two bytes.
//!
//! ```text
//! | how (8) | kind of unit (8) | body ... |
//! ```
//!
//! How, by bits: 1 it is for the station, 2 it has the network's mark, 4 it is the newest message of that
//! kind, with these bytes XORed to it, 8 it comes from the other one's address and not from a stranger's.

use crate::Seed;
use crate::pair::{GATEWAY, Pair, STATION, packet, push_record, records};
use blake2::Blake2sMac;
use blake2::digest::consts::{U16, U32};
use blake2::digest::{KeyInit, Mac};
use std::net::SocketAddr;
use std::time::Duration;
use wire::challenge::{Asks, Challenge};
use wire::handshake::{Initiation, InitiationWithCookie, Response};
use wire::reset;
use wire::unit::{self, Kind};

const FOR_THE_STATION: u8 = 1;
const MARKED: u8 = 2;
const SENT_BEFORE: u8 = 4;
const OF_THE_OTHER: u8 = 8;

/// More would only take time.
const MAX_FORGERIES: usize = 32;
/// Between forgeries.
const PAUSE: Duration = Duration::from_millis(30);
/// Within this time the station is connected once its datagrams pass.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes before the mark, and of it.
const HEADER_BYTES: usize = 4;
const MARK_BYTES: usize = 16;

/// During forgeries no honest datagram arrives. Afterwards the station connects within five seconds, and only
/// its packets are delivered.
pub fn check(bytes: &[u8]) -> bool {
    let mut pair = Pair::strangers();
    let sent = packet(0);
    pair.network.medium.is_broken = true;
    pair.network.send(STATION, &sent);
    let mark = Mark::of_network();
    let before = pair.network.status(GATEWAY).refused.handshake_mark;
    let mut forged = 0;
    for record in records(bytes).take(MAX_FORGERIES) {
        forged += u64::from(forge(&mut pair, &mark, record));
        pair.network.run(PAUSE);
    }
    let strange = pair.network.status(GATEWAY).refused.handshake_mark - before;
    pair.network.medium.is_broken = false;
    let end = pair.network.now() + PATIENCE;
    while pair.network.delivered(GATEWAY).is_empty() && pair.network.now() < end {
        // A datagram that left without a receiver is lost.
        pair.network.send(STATION, &sent);
        pair.network.run(PAUSE);
    }
    let delivered = pair.network.delivered(GATEWAY);
    assert!(!delivered.is_empty(), "the station is not connected within {PATIENCE:?}");
    assert!(delivered.iter().all(|packet| *packet == sent), "delivered what nobody sent");
    let sessions = [STATION, GATEWAY].map(|node| pair.network.status(node).peers[0].session_age_seconds);
    assert!(sessions.iter().all(Option::is_some), "{sessions:?}");
    forged > strange
}

/// One forgery arrives. Whether there was one.
fn forge(pair: &mut Pair, mark: &Mark, record: &[u8]) -> bool {
    let Some((&[how, kind], body)) = record.split_first_chunk() else { return false };
    let mut datagram = match pair.network.medium.letters.get(&(kind & 7)) {
        Some(letter) if how & SENT_BEFORE != 0 => {
            let mut letter = letter.clone();
            letter.iter_mut().zip(body).for_each(|(byte, body)| *byte ^= body);
            letter
        }
        _ => [&[0x10 | kind & 7], body].concat(),
    };
    if how & MARKED != 0 {
        mark.set(&mut datagram);
    }
    let to = if how & FOR_THE_STATION == 0 { GATEWAY } else { STATION };
    let stranger = SocketAddr::from(([203, 0, 113, 66], 6666));
    let from = if how & OF_THE_OTHER == 0 { stranger } else { pair.network.address(1 - to) };
    pair.network.inject(to, from, 0, &datagram);
    !datagram.is_empty()
}

/// The mark of the network's members (docs/wire-format.md, "Handshake").
struct Mark([u8; 32]);

impl Mark {
    fn of_network() -> Self {
        let key = Pair::network_key();
        let mut key = <Blake2sMac<U32> as KeyInit>::new(key.as_bytes().into());
        key.update(b"overheard 1 handshake mark");
        Mark(key.finalize().into_bytes().into())
    }

    /// Writes it at its offset in an initiation.
    fn set(&self, datagram: &mut [u8]) {
        let Some((front, behind)) = datagram.split_at_mut_checked(HEADER_BYTES + MARK_BYTES) else { return };
        let mut mac = <Blake2sMac<U16> as KeyInit>::new(&self.0.into());
        mac.update(&front[..HEADER_BYTES]);
        mac.update(behind);
        front[HEADER_BYTES..].copy_from_slice(&mac.finalize().into_bytes());
    }
}

/// Every kind of message: nothing behind it, and the newest one again.
pub fn seeds() -> Vec<Seed> {
    let forged = |how: u8, kind: Kind, body: &dyn Fn(&mut Vec<u8>), out: &mut Vec<u8>| {
        let mut unit = Vec::new();
        unit::emit_header(kind, 1, None, &mut unit);
        body(&mut unit);
        unit[0] &= 7;
        unit.insert(0, how);
        push_record(&unit, out);
    };
    let again = |how: u8, kind: u8, change: &[u8], out: &mut Vec<u8>| {
        push_record(&[&[how | SENT_BEFORE, kind], change].concat(), out);
    };
    vec![
        Seed::of("initiations", |out| {
            let initiation = |out: &mut Vec<u8>| Initiation { mark: [1; 16], noise: &[2; 136] }.emit(out);
            for _ in 0..4 {
                forged(MARKED, Kind::Initiation, &initiation, out);
                again(0, 1, &[], out);
                again(MARKED, 1, &[0, 1], out);
                again(MARKED | OF_THE_OTHER, 1, &[0; 40], out);
            }
        }),
        Seed::of("initiation-with-cookie", |out| {
            let initiation = InitiationWithCookie { mark: [1; 16], cookie_mark: [5; 16], noise: &[2; 136] };
            forged(MARKED, Kind::InitiationWithCookie, &|out| initiation.emit(out), out);
            forged(MARKED | OF_THE_OTHER, Kind::InitiationWithCookie, &|out| initiation.emit(out), out);
        }),
        Seed::of("challenges", |out| {
            for asks in [Asks::Cookie([7; 32]), Asks::Number([8; 24])] {
                let challenge = Challenge { salt: [6; 16], asks };
                forged(FOR_THE_STATION | OF_THE_OTHER, Kind::Challenge, &|out| challenge.emit(out), out);
            }
        }),
        Seed::of("responses", |out| {
            let response = |out: &mut Vec<u8>| {
                Response { key_id: 2, mark: [3; 16], noise: &[4; 88] }.emit(out);
            };
            forged(FOR_THE_STATION | MARKED, Kind::Response, &response, out);
            again(0, 1, &[], out);
            again(FOR_THE_STATION | OF_THE_OTHER, 2, &[0, 0, 0, 0, 1], out);
            again(FOR_THE_STATION, 2, &[0; 1], out);
        }),
        Seed::of("reset", |out| {
            forged(FOR_THE_STATION, Kind::Reset, &|out| reset::emit([9; 16], out), out);
            again(FOR_THE_STATION, 2, &[0; 30], out);
        }),
    ]
}
