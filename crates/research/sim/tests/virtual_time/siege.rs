//! Attackers on the path of a long day: all methods at once, at a low rate always and at a high rate for a
//! second a minute.

use crate::adversary::attacker::{Attacker, WEAPONS};
use crate::long_day::{Watch, day_of, delivered, offered, packets_wanted, seed_wanted, setup};
use crate::scenes::SECOND;
use node::NetworkKey;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::{Form, Policy};
use sim::{GATEWAY, Observation, Observer, Report, Simulation, down_link};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

/// Interval of their attacks.
const SLICE: Duration = Duration::from_millis(100);
/// Datagrams a second by each weapon, and by one of them for a second a minute.
const RATE: u32 = 2;
const RATE_OF_FLOOD: u32 = 200;
/// The most datagrams kept; at the bound half of them are dropped, except some handshake messages.
const MOST_KEPT: usize = 4096;
const MOST_HANDSHAKES_KEPT: usize = 512;
/// Bytes of the outer headers of a frame.
const OUTER_BYTES: usize = 28;

/// The attackers, and their recorded datagrams.
pub struct Siege {
    attackers: Vec<Attacker>,
    captured: Vec<(usize, Vec<u8>)>,
    rng: ChaCha12Rng,
    flood_at: Duration,
    ebb_at: Duration,
    /// Number of their datagrams.
    pub sent: u64,
}

impl Siege {
    /// Attackers with the network's key.
    pub fn new(network_key: &NetworkKey, seed: u64) -> Self {
        let attacker = |weapon| Attacker {
            weapon,
            rate: RATE,
            network_key: network_key.clone(),
            rng: ChaCha12Rng::seed_from_u64(seed ^ (weapon as u64) << 32),
            next: 0,
        };
        Siege {
            attackers: WEAPONS.map(attacker).into(),
            captured: Vec::new(),
            rng: ChaCha12Rng::seed_from_u64(seed),
            flood_at: SECOND,
            ebb_at: SECOND,
            sent: 0,
        }
    }

    /// Advances time until `until` with attacks.
    pub fn run_until(&mut self, simulation: &mut Simulation, until: Duration, watch: &mut dyn Observer) {
        while simulation.now() < until {
            let then = (simulation.now() + SLICE).min(until);
            simulation.run_until(then, &mut (&mut *watch, &mut *self)).unwrap();
            let now = simulation.now();
            if self.flood_at <= now {
                let which = self.rng.random_range(0..WEAPONS.len());
                self.attackers[which].rate = RATE_OF_FLOOD;
                self.flood_at = now + SECOND * self.rng.random_range(30..90);
                self.ebb_at = now + SECOND;
            } else if self.ebb_at <= now {
                self.attackers.iter_mut().for_each(|attacker| attacker.rate = RATE);
            }
            self.strike(simulation, watch);
        }
    }

    fn strike(&mut self, simulation: &mut Simulation, watch: &mut dyn Observer) {
        for which in 0..self.attackers.len() {
            for _ in 0..self.attackers[which].count(SLICE) {
                let attacker = &mut self.attackers[which];
                let Some((to, mut datagram)) = attacker.datagram(&self.captured) else { continue };
                let honest = simulation.address(1 - to).unwrap();
                let SocketAddr::V4(from) = attacker.address(honest.into()) else { continue };
                self.sent += 1;
                simulation.inject(to, from, &mut datagram, &mut (&mut *watch, &mut *self)).unwrap();
            }
        }
    }
}

impl Observer for Siege {
    fn see(&mut self, _now: Duration, sight: &Observation<'_>) {
        let Observation::Sent { link, frame } = *sight else { return };
        if self.captured.len() == MOST_KEPT {
            let mut handshakes = 0;
            let (old, new) = self.captured.split_at(MOST_KEPT / 2);
            let kept = old.iter().filter(|(_, datagram)| {
                handshakes += usize::from(datagram[0] & 7 != 0);
                datagram[0] & 7 != 0 && handshakes <= MOST_HANDSHAKES_KEPT
            });
            self.captured = kept.chain(new).cloned().collect();
        }
        let to = if link == down_link(1) { 1 } else { GATEWAY };
        self.captured.push((to, frame[OUTER_BYTES..].to_vec()));
    }
}

/// A long day with attackers; returns the number of their datagrams.
fn day_of_siege(packets: u64, seed: u64) -> (Report, u64) {
    let mut siege = Siege::new(&setup(seed, Policy::Acked, Form::Compact).network_key(), seed);
    let run = |simulation: &mut Simulation, until, watch: &mut Watch| {
        siege.run_until(simulation, until, watch);
    };
    (day_of(packets, seed, run, |_, _| {}), siege.sent)
}

#[test]
fn a_long_day_with_attackers_is_as_one_without() {
    let (_, sent) = day_of_siege(packets_wanted(30_000), seed_wanted(5));
    assert!(sent > 2000, "{sent} datagrams of attackers");
}

/// Packets of a day with attackers, one of many consecutive days.
const PACKETS_A_DAY: u64 = 1_000_000;

/// Runs `OVERHEARD_LONG_DAY_PACKETS` packets, day by day, each with other faults and attacks. Each day is a
/// row of `long_days.csv`, and a run continues behind the existing rows. With 0 packets it prints their
/// number.
#[test]
#[ignore = "a million packets take a minute, and there are a hundred millions"]
#[expect(clippy::disallowed_methods, reason = "it says how long a day takes")]
fn days_with_attackers_follow_each_other() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/virtual_time/long_days.csv");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    let mut packets: u64 =
        rows.iter().map(|row| row.split(',').nth(1).unwrap().parse::<u64>().unwrap()).sum();
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    if text.is_empty() {
        writeln!(file, "seed,offered,delivered,attackers,seconds").unwrap();
    }
    let all = packets_wanted(100 * PACKETS_A_DAY);
    let mut seed = rows.len() as u64;
    while packets < all {
        let start = std::time::Instant::now();
        let (report, sent) = day_of_siege(PACKETS_A_DAY, seed);
        let (seconds, offered) = (start.elapsed().as_secs(), offered(&report));
        writeln!(file, "{seed},{offered},{},{sent},{seconds}", delivered(&report)).unwrap();
        (packets, seed) = (packets + offered, seed + 1);
    }
    println!("{packets} packets in {seed} days");
}
