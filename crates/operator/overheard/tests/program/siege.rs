//! Real nodes under attack: a station connects and stays connected, whatever an attacker on its path and a
//! stranger beside it send. Virtual time tests hundreds of schedules (`sim`, `adversary`); here are real
//! sockets and processors.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::Site;
use crate::support::attacker::{Attack, Way};
use crate::support::delay::Delay;
use crate::support::namespaces::{Medium, Node, possible};
use crate::support::processor::ProcessorTime;
use crate::support::traffic::answers_in;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rustix::process::Signal;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One-way delay between station and gateway.
const ONE_WAY: Duration = Duration::from_millis(75);
/// The longest round trip of an echo.
const ROUND_TRIP: Duration = Duration::from_millis(400);
/// The time within which a station must connect.
const PATIENCE: Duration = Duration::from_secs(5);
/// Duration of the observation afterwards, and timeout of each echo.
const WATCHED: Duration = Duration::from_secs(4);
const ECHO: Duration = Duration::from_millis(800);
/// The largest processor time of a node in a second, in seconds.
const MOST_PROCESSOR: f64 = 0.5;
/// Boots of the station that the attacker has recorded.
const BOOTS: usize = 4;
/// First bytes of units (docs/wire-format.md).
const KINDS: [u8; 9] = [0x00, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x20];
/// First bytes of initiations, without and with a cookie.
const INITIATIONS: [u8; 2] = [0x11, 0x15];

/// A gateway, a station, an attacker between them and a stranger beside them, each on its own machine.
struct Siege {
    // Dropped first.
    gateway: Node,
    delay: Delay,
    stranger: Arc<UdpSocket>,
    medium: Medium,
    site: Site,
}

impl Siege {
    fn new() -> Self {
        let (medium, site) = (Medium::new(4), Site::tunnel("192.0.2.3:4780", r#"["10.98.0.0/24"]"#));
        let gateway = Node::start(&site, &medium.machines[0], "gateway");
        let [at, listens] = ["192.0.2.3:4780", "192.0.2.1:4780"].map(|it| it.parse().unwrap());
        let delay = Delay::new(&medium.machines[2], at, listens, ONE_WAY);
        let stranger = medium.machines[3].on(|| UdpSocket::bind("192.0.2.4:4780").unwrap());
        Siege { gateway, delay, stranger: Arc::new(stranger), medium, site }
    }

    fn station(&self) -> Node {
        Node::start(&self.site, &self.medium.machines[1], "station")
    }

    /// Restarts the gateway without its memory.
    fn restart_gateway(&mut self) {
        self.gateway.end(Signal::KILL);
        self.gateway = Node::start(&self.site, &self.medium.machines[0], "gateway");
    }

    fn echo(&self, patience: Duration) -> bool {
        let inside: IpAddr = "10.98.0.1".parse().unwrap();
        answers_in(&self.medium.machines[1], inside, 56, patience, ROUND_TRIP)
    }

    /// Ways to the gateway: from the stranger, and from the station's apparent address.
    fn ways_to_gateway(&self) -> Vec<Way> {
        let gateway: SocketAddr = "192.0.2.1:4780".parse().unwrap();
        let [_, as_station] = self.delay.sockets();
        vec![(Arc::clone(&self.stranger), gateway), (as_station, gateway)]
    }

    /// Restarts the station several times until it is connected. Returns its datagrams.
    fn recorded(&self) -> Vec<Vec<u8>> {
        for _ in 0..BOOTS {
            let mut station = self.station();
            assert!(self.echo(PATIENCE), "without an attack");
            station.end(Signal::KILL);
        }
        self.delay.heard()
    }

    /// A station starts under an attack: it connects, it stays, and neither node is overloaded.
    fn withstands(&self, name: &str, attack: &Attack, least_rate: f64) {
        let start = Instant::now();
        let gateway_time = ProcessorTime::of(self.gateway.id());
        let mut station = self.station();
        let station_time = ProcessorTime::of(station.id());
        let connected = self.echo(PATIENCE).then(|| start.elapsed()).filter(|after| *after < PATIENCE);
        let watched = Instant::now();
        let mut echoes = [0, 0];
        while connected.is_some() && watched.elapsed() < WATCHED {
            echoes[usize::from(self.echo(ECHO))] += 1;
            std::thread::sleep(Duration::from_millis(200));
        }
        let shares = [gateway_time.share(), station_time.share()];
        let refused = self.gateway.status()["node"]["refused"].clone();
        let [missed, answered] = echoes;
        println!(
            "{name}: {:.0} datagrams a second; connected after {connected:.2?}; {answered} echoes answered, {missed} \
             not; processor {:.2} at the gateway, {:.2} at the station",
            attack.rate(),
            shares[0],
            shares[1]
        );
        station.end(Signal::TERM);
        if attack.rate() < least_rate {
            // The attacker itself lacks processor time, and so do the nodes.
            return println!("left out: {name}: this machine is too busy to judge by the clock");
        }
        assert!(connected.is_some(), "{name}: it is connected; {refused:#}");
        assert!(start.elapsed() >= WATCHED && missed == 0 && answered > 0, "{name}: the session stays");
        assert!(shares.iter().all(|share| *share < MOST_PROCESSOR), "{name}: {shares:?}");
    }
}

/// A datagram that resembles a unit.
fn forged(rng: &mut ChaCha12Rng, captured: &[Vec<u8>]) -> Vec<u8> {
    let mut datagram = captured[rng.random_range(0..captured.len())].clone();
    let front = 7.min(datagram.len());
    rng.fill_bytes(&mut datagram[front..]);
    datagram[0] = KINDS[rng.random_range(0..KINDS.len())];
    datagram
}

#[test]
fn a_station_comes_in_and_stays_whatever_is_forged_and_replayed() {
    if !possible() {
        return;
    }
    let mut siege = Siege::new();
    let captured = siege.recorded();
    let initiations: Vec<Vec<u8>> =
        captured.iter().filter(|it| INITIATIONS.contains(&it[0])).cloned().collect();
    assert!(initiations.len() >= BOOTS, "one a boot at least");
    let station = siege.delay.station().unwrap();
    let mut rng = ChaCha12Rng::seed_from_u64(1);

    let attack = {
        let captured = captured.clone();
        Attack::begin(10_000, siege.ways_to_gateway(), move |_| forged(&mut rng, &captured))
    };
    siege.withstands("forged", &attack, 5_000.0);
    drop(attack);

    let attack = {
        let count = initiations.len() as u64;
        Attack::begin(100, siege.ways_to_gateway(), move |number| {
            initiations[(number % count) as usize].clone()
        })
    };
    siege.withstands("recorded initiations", &attack, 50.0);
    siege.restart_gateway();
    siege.withstands("the same, and the gateway has forgotten them", &attack, 50.0);
    drop(attack);

    let attack = {
        let [as_gateway, _] = siege.delay.sockets();
        let mut ways = siege.ways_to_gateway();
        ways.push((as_gateway, station));
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        Attack::begin(1_024, ways, move |number| {
            let mut datagram = vec![0; rng.random_range(1..300)];
            rng.fill_bytes(&mut datagram);
            datagram[0] = number as u8;
            datagram
        })
    };
    siege.withstands("each first byte", &attack, 512.0);
}
