//! An attacker has packets sent, sees the lengths of datagrams, and guesses a secret of another host at the
//! same station. Whole nodes run, under the defaults.
//!
//! The statistic: over all guesses of a next letter, what datagrams weigh, and when they leave, by guess.
//! Where no part of a guess gains anything, these are the same for the right letter and for every other one.
//! They are compared exactly, in virtual time; what a processor takes is not measured here.

use crate::pair::{GATEWAY, Pair, Road, STATION};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::{Parameters, Sharing};
use std::collections::BTreeSet;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
pub const HEX: &[u8] = b"0123456789abcdef";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes around a secret.
#[derive(Debug, Clone, Copy)]
pub enum Around {
    Headers,
    Page,
    Json,
}

/// Where a guess stands in its packet.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    AtEnd,
    Followed,
    PrecededByGuess,
}

impl Around {
    pub fn parts(self, alignment: usize) -> [Vec<u8>; 2] {
        let filler = "x".repeat(alignment);
        let (front, back) = match self {
            Around::Headers => (
                format!(
                    "GET /{filler} HTTP/1.1\r\nHost: bank.example\r\nUser-Agent: Browser/99.0 (X11; Linux)\r\n\
                         Accept: text/html,application/json;q=0.9\r\nAccept-Language: en-US,en;q=0.5\r\nCookie: session="
                ),
                "; theme=dark\r\nConnection: keep-alive\r\nAccept-Encoding: gzip, deflate\r\nDNT: 1\r\nX-Pad: 0123456789\r\n\r\n",
            ),
            Around::Page => (
                format!(
                    "<!DOCTYPE html><html lang=en><head><title>{filler}</title></head><body><form action=/pay \
                         method=post class=wide><input type=hidden name=csrf value=\""
                ),
                "\"><input type=submit value=\"Pay now\"></form><p class=footer>All rights are reserved, as ever.</p></body></html>",
            ),
            Around::Json => (
                format!(
                    "{{\"user\":{{\"name\":\"{filler}\",\"roles\":[\"reader\",\"writer\"],\"language\":\"en\",\"zone\":\"UTC\"}},\"token\":\""
                ),
                "\",\"expires\":\"2030-01-01T00:00:00Z\",\"scope\":[\"mail\",\"calendar\",\"contacts\",\"files\"],\"version\":17}",
            ),
        };
        [front.into_bytes(), back.as_bytes().to_vec()]
    }
}

fn udp(host: u8, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    etherparse::PacketBuilder::ipv4([10, 0, 0, host], [10, 0, 0, 2], 64)
        .udp(port, 443)
        .write(&mut packet, payload)
        .unwrap();
    packet
}

/// A pair whose nodes know how long things take.
pub fn pair(parameters: &Parameters, seed: u64) -> Pair {
    let mut pair = Pair::new(seed, Road::default(), parameters);
    pair.run(Duration::from_secs(1));
    pair.medium.recording = Some(Vec::new());
    pair
}

/// Sends a packet to the station: how long its datagrams are. Time passes, so that it is confirmed.
pub fn weigh(pair: &mut Pair, packet: &[u8]) -> Vec<usize> {
    pair.medium.recording = Some(Vec::new());
    pair.send(GATEWAY, packet);
    let sent = pair.medium.recording.iter().flatten().filter(|(from, _)| *from == GATEWAY);
    let lengths = sent.map(|(_, datagram)| datagram.len()).collect();
    pair.run(60 * MS);
    lengths
}

/// One question for a next letter: whether the right one weighs, or leaves, otherwise than others do.
/// `plants` says that the guess is stored first and the secret is weighed; otherwise the other way round.
fn shows(
    sharing: Sharing,
    (around, place, plants): (Around, Place, bool),
    alignment: usize,
    (secret, known): (&[u8], usize),
    letters: &[u8],
) -> bool {
    let [front, back] = around.parts(alignment);
    let of_victim = udp(1, 5000, &[&front[..], secret, &back].concat());
    let guess_of = |letter: u8| {
        let guess = [&secret[..known], &[letter]].concat();
        let mut payload = match place {
            Place::PrecededByGuess => [&guess[..], b"|", &front, &guess].concat(),
            Place::AtEnd | Place::Followed => [&front[..], &guess].concat(),
        };
        if place == Place::Followed {
            payload.extend_from_slice(b"~~~~filler~~~~filler~~~~");
            payload.extend_from_slice(&back);
        }
        udp(3, 6000, &payload)
    };
    let mut seen = BTreeSet::new();
    for letter in letters.iter().copied().filter(|letter| *letter != secret[known]).take(3) {
        seen.insert(question(sharing, plants, &of_victim, &guess_of(letter)));
    }
    let right = question(sharing, plants, &of_victim, &guess_of(secret[known]));
    // letters' own compressibility may differ by a byte; what an attacker can know beforehand is no gain
    let own = |letter: u8| question(sharing, plants, &udp(1, 5000, b"-"), &guess_of(letter));
    let differs = !seen.contains(&right);
    let by_itself = !plants && own(secret[known]) == right;
    differs && !by_itself
}

/// The observation of one guess: sizes of datagrams, which leave at once.
fn question(sharing: Sharing, plants: bool, of_victim: &[u8], guess: &[u8]) -> Vec<usize> {
    let mut pair = pair(&Parameters { sharing, ..Parameters::default() }, 7);
    let (first, second) = if plants { (guess, of_victim) } else { (of_victim, guess) };
    weigh(&mut pair, first);
    weigh(&mut pair, second)
}

/// How many of so many letters of secrets show.
fn shown(sharing: Sharing, cases: usize) -> (usize, usize) {
    let rng = &mut ChaCha12Rng::seed_from_u64(11);
    let (mut shown, mut asked) = (0, 0);
    for case in 0..cases {
        let around = [Around::Headers, Around::Page, Around::Json][case % 3];
        let place = [Place::AtEnd, Place::Followed, Place::PrecededByGuess][case / 3 % 3];
        let letters = if case % 2 == 0 { HEX } else { BASE64 };
        let plants = case / 9 % 2 == 1;
        let secret: Vec<u8> = (0..24).map(|_| letters[rng.random_range(0..letters.len())]).collect();
        let known = rng.random_range(0..20);
        let alignment = rng.random_range(0..300);
        let what = (around, place, plants);
        shown += usize::from(shows(sharing, what, alignment, (&secret, known), letters));
        asked += 1;
    }
    (shown, asked)
}

#[test]
fn no_letter_of_another_hosts_secret_shows_by_how_long_datagrams_are() {
    let (shown, asked) = shown(Sharing::Station, 36);
    assert_eq!(shown, 0, "of {asked}");
}

/// The test sees what it is to see: where matches end at any byte, letters show.
#[test]
fn to_the_byte_letters_show() {
    let (shown, asked) = shown(Sharing::ToTheByte, 36);
    assert!(shown > asked / 6, "{shown} of {asked}");
}

#[test]
#[ignore = "takes minutes: 10,000 guesses"]
fn no_letter_shows_in_many_guesses() {
    let (shown, asked) = shown(Sharing::Station, 2000);
    assert_eq!(shown, 0, "of {asked}");
}

/// A secret that is guessed as a whole shows: that much remains, and the harness would see it.
#[test]
fn a_whole_guess_shows() {
    let [front, back] = Around::Headers.parts(10);
    let secret = b"0f1e2d3c4b5a69788796a5b4";
    let whole = |guess: &[u8]| udp(3, 6000, &[&front[..], guess, &back].concat());
    let of_victim = udp(1, 5000, &[&front[..], secret, &back].concat());
    let weight =
        |guess: &[u8]| question(Sharing::Station, false, &of_victim, &whole(guess)).iter().sum::<usize>();
    assert!(weight(secret) < weight(b"0f1e2d3c4b5a69788796a5b5"));
    assert_eq!(STATION, 1);
}
