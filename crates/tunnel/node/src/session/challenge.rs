//! Challenges: sealed by the responder, opened by the initiator whose initiation they answer.

use crate::session::handshake::derive;
use crate::session::seal::TrafficKey;
use rand::Rng;
use wire::challenge::{Asks, COOKIE_BYTES, Challenge, SALT_BYTES};
use wire::handshake::MARK_BYTES;
use wire::unit::{Kind, TAG_BYTES, Unit, emit_header};

/// A unit that gives a cookie to a holder of the network's key.
#[must_use]
pub fn give_cookie(
    cookie_key: &[u8; 32],
    initiation: (u32, [u8; MARK_BYTES]),
    cookie: [u8; COOKIE_BYTES],
    rng: &mut impl Rng,
) -> Vec<u8> {
    emit(cookie_key, initiation, &cookie, Asks::Cookie, rng)
}

/// The unit that tells the newest number to the node with which `pair_key` is shared.
#[must_use]
pub fn tell_number(
    pair_key: &[u8; 32],
    initiation: (u32, [u8; MARK_BYTES]),
    newest: u64,
    rng: &mut impl Rng,
) -> Vec<u8> {
    emit(pair_key, initiation, &newest.to_be_bytes(), Asks::Number, rng)
}

fn emit<const PLAIN: usize, const SEALED: usize>(
    key: &[u8; 32],
    (key_id, mark): (u32, [u8; MARK_BYTES]),
    plain: &[u8; PLAIN],
    asks: fn([u8; SEALED]) -> Asks,
    rng: &mut impl Rng,
) -> Vec<u8> {
    const { assert!(PLAIN + TAG_BYTES == SEALED) };
    let mut salt = [0; SALT_BYTES];
    rng.fill_bytes(&mut salt);
    let mut letter = Vec::new();
    emit_header(Kind::Challenge, key_id, None, &mut letter);
    let mut sealed = [0; SEALED];
    let (text, tag) = sealed.split_at_mut(PLAIN);
    text.copy_from_slice(plain);
    tag.copy_from_slice(&once(key, mark, salt).seal_once(&letter, text));
    Challenge { salt, asks: asks(sealed) }.emit(&mut letter);
    letter
}

/// The demand of a challenge on the initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To show this cookie.
    Cookie([u8; COOKIE_BYTES]),
    /// To go on above this number.
    NumberAbove(u64),
}

/// The demand of a challenge to the initiation with `mark`; `None` for any other message.
#[must_use]
pub fn open(
    cookie_key: &[u8; 32],
    pair_key: &[u8; 32],
    mark: [u8; MARK_BYTES],
    unit: &Unit<'_>,
) -> Option<Asked> {
    let Challenge { salt, asks } = Challenge::parse(unit.body).ok()?;
    match asks {
        Asks::Cookie(mut sealed) => {
            once(cookie_key, mark, salt).open(0, unit.header, &mut sealed)?;
            Some(Asked::Cookie(*sealed.first_chunk()?))
        }
        Asks::Number(mut sealed) => {
            once(pair_key, mark, salt).open(0, unit.header, &mut sealed)?;
            Some(Asked::NumberAbove(u64::from_be_bytes(*sealed.first_chunk()?)))
        }
    }
}

/// The key for one challenge.
fn once(key: &[u8; 32], mark: [u8; MARK_BYTES], salt: [u8; SALT_BYTES]) -> TrafficKey {
    let mut label = [0; MARK_BYTES + SALT_BYTES];
    label[..MARK_BYTES].copy_from_slice(&mark);
    label[MARK_BYTES..].copy_from_slice(&salt);
    TrafficKey::new(&derive(key, &label))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha12Rng;

    #[test]
    fn a_challenge_is_read_by_whom_it_answers_and_by_nobody_else() {
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let (network, pair, mark) = ([1; 32], [2; 32], [3; 16]);
        let cookie = give_cookie(&network, (7, mark), [4; 16], rng);
        let number = tell_number(&pair, (7, mark), 1 << 40, rng);
        for (letter, asked) in [(cookie, Asked::Cookie([4; 16])), (number, Asked::NumberAbove(1 << 40))] {
            let unit = wire::unit::parse(&mut &letter[..]).unwrap();
            assert_eq!((unit.kind, unit.key_id), (Kind::Challenge, 7));
            assert_eq!(open(&network, &pair, mark, &unit), Some(asked));
            assert_eq!(open(&network, &pair, [5; 16], &unit), None, "another initiation's");
            assert_eq!(open(&[9; 32], &[9; 32], mark, &unit), None, "others' keys");
            for index in 1..letter.len() {
                let mut changed = letter.clone();
                changed[index] ^= 1;
                let unit = wire::unit::parse(&mut &changed[..]).unwrap();
                assert_eq!(open(&network, &pair, mark, &unit), None, "byte {index}");
            }
        }
    }
}
