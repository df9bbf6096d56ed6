//! Two pairs behind a relay (COPE, Figure 1; REfactor, Figure 1d): transmissions are counted, and arrivals
//! equal the originals.

#![allow(clippy::unwrap_used)] // a harness fails by panicking

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mesh::cope::PacketId;
use overhear::address::Addresses;
use overhear::{AirTime, Answer, Association, Gateway, PacketNumber, Received, Station, StationId};
use proptest::prelude::*;
use published::cope::frame::{Beside, Frame};
use published::cope::{Cope, Event, Form, Settings};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wire::shim::slots::{MIN_SLOT_BITS, Run, Slots};

const RELAY: u16 = 9;
const HEAD_BYTES: usize = 40;

fn overhear_settings() -> overhear::Settings {
    overhear::Settings { slot_bits: 18, ..overhear::Settings::new([5; 32]) }
}

fn key(of: u16) -> [u8; 32] {
    [of as u8 + 50; 32]
}

fn association(of: u16) -> Association {
    Association {
        slot_bits: 18,
        rate_bits_per_second: 11_000_000,
        rate_is_known: false,
        air_time: AirTime::of_rate(11_000_000),
        mac_key: Some(key(of)),
    }
}

/// A payload without removal.
fn whole(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Slots { slot_bits: MIN_SLOT_BITS, mac: None, runs: &[], slots: &[] }.emit(&mut out);
    out.extend_from_slice(payload);
    out
}

/// A client: sends natives of its own, and gets others'.
struct Client {
    name: u16,
    cope: Cope,
    station: Station,
    sent: u32,
    got: Vec<(PacketId, Vec<u8>)>,
}

impl Client {
    fn new(name: u16, settings: Settings) -> Self {
        let mut cope = Cope::new(settings, name, 1);
        cope.set_key(RELAY, &key(name));
        let station = Station::new(overhear_settings(), StationId(name as u8), Some(key(name))).unwrap();
        Client { name, cope, station, sent: 0, got: Vec::new() }
    }

    fn send(&mut self, native: &[u8], now: Duration) -> PacketId {
        let id = PacketId { source: self.name, number: self.sent };
        self.sent += 1;
        self.station.keep_sent(&native[HEAD_BYTES..]);
        self.cope.send(id, native, native.len(), self.name, RELAY, now).unwrap();
        id
    }

    fn transmit(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        self.cope.poll_transmit(now, |_, _, _| None, out)
    }

    /// Handles arrivals, and requests missing chunks from the relay.
    fn take(&mut self, relay: &mut Relay, now: Duration) {
        while let Some(event) = self.cope.poll_event() {
            match event {
                Event::Arrived { id, native, .. } => {
                    self.station.keep_sent(&native[HEAD_BYTES..]);
                    self.got.push((id, native));
                }
                Event::ArrivedReduced { id, number, head, encoded, .. } => {
                    let number = PacketNumber(number.into());
                    let payload = match self.station.receive(number, u64::from(id.number), &encoded, now) {
                        Received::Restored(payload) => Some(payload.to_vec()),
                        Received::Held => self.ask(relay, now),
                        Received::Queued | Received::Refused(_) => None,
                    };
                    if let Some(payload) = payload {
                        relay.gateway.record_acknowledgment(self.station.id(), number, now);
                        let native = [head, payload].concat();
                        self.cope.keep_restored(id, &native, now);
                        self.got.push((id, native));
                    }
                }
                Event::Overheard { native, .. } => self.station.keep_sent(&native[HEAD_BYTES..]),
                Event::OverheardReduced { encoded, .. } => self.station.overhear(&encoded).unwrap(),
                Event::Reported { .. } | Event::Acknowledged { .. } | Event::GaveUp { .. } => {}
            }
        }
    }

    fn ask(&mut self, relay: &mut Relay, now: Duration) -> Option<Vec<u8>> {
        for _ in 0..2 {
            let (mut request, mut reply) = (Vec::new(), Vec::new());
            self.station.poll_request(now, &mut request)?;
            let answer = relay.gateway.answer_request(self.station.id(), &request, &mut reply);
            let Answer::Supplied { .. } = answer else { return None };
            self.station.receive_reply(&reply, now).ok()?;
            if let Some(delivered) = self.station.poll_deliver(now) {
                return Some(delivered.packet);
            }
        }
        None
    }
}

/// Forwards packets of others, without content that the receivers have.
struct Relay {
    cope: Cope,
    gateway: Gateway,
    /// The gateway's number of each heard native.
    heard: BTreeMap<PacketId, PacketNumber>,
    routes: BTreeMap<u16, u16>,
    reduces: bool,
}

impl Relay {
    /// Between sources and where what they send goes to.
    fn new(routes: &[(u16, u16)], settings: Settings, reduces: bool) -> Self {
        let mut cope = Cope::new(settings, RELAY, 1);
        let mut gateway = Gateway::new(overhear_settings()).unwrap();
        let names: BTreeSet<u16> = routes.iter().flat_map(|(from, to)| [*from, *to]).collect();
        for name in names {
            cope.set_key(name, &key(name));
            gateway.join(StationId(name as u8), association(name), Duration::ZERO).unwrap();
        }
        Relay { cope, gateway, heard: BTreeMap::new(), routes: routes.iter().copied().collect(), reduces }
    }

    fn take(&mut self, now: Duration) {
        while let Some(event) = self.cope.poll_event() {
            match event {
                Event::Arrived { id, from, native } => {
                    let heard = self.gateway.hear(&whole(&native[HEAD_BYTES..]), None).unwrap();
                    self.gateway.record_held(StationId(from as u8), heard);
                    self.heard.insert(id, heard);
                    let to = self.routes[&id.source];
                    let mut expected_bytes = native.len();
                    if self.reduces {
                        let payload = &native[HEAD_BYTES..];
                        expected_bytes -= self.gateway.would_remove(StationId(to as u8), payload);
                    }
                    let _ = self.cope.send(id, &native, expected_bytes, from, to, now);
                }
                Event::Reported { by, source, window } => {
                    let of_source = self
                        .heard
                        .range(PacketId { source, number: 0 }..PacketId { source: source + 1, number: 0 });
                    let has: Vec<PacketNumber> = of_source
                        .filter(|(id, _)| window.holds(id.number, 32) == Some(true))
                        .map(|(_, number)| *number)
                        .collect();
                    has.into_iter().for_each(|number| self.gateway.record_held(StationId(by as u8), number));
                }
                _ => {}
            }
        }
    }

    fn transmit(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        let Relay { cope, gateway, reduces, .. } = self;
        let reduce = |_, native: &[u8], to: u16| {
            let (head, payload) = native.split_at(HEAD_BYTES);
            let mut encoded = Vec::new();
            if !*reduces {
                return None;
            }
            let sent = gateway.encode(StationId(to as u8), payload, now, &mut encoded);
            if sent.removed_bytes == 0 {
                return None;
            }
            let (shim, literals) = encoded.split_at(sent.shim_bytes);
            let mut beside = Vec::new();
            Beside::emit(sent.number.0 as u32, HEAD_BYTES, shim, gateway.removed_of_runs(), &mut beside);
            Some(Form { literals: [head, literals].concat(), beside })
        };
        cope.poll_transmit(now, reduce, out)
    }
}

fn random(rng: &mut ChaCha8Rng, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    rng.fill_bytes(&mut out);
    out
}

/// Everybody hears the relay, and C3 hears C1, and C4 hears C2.
struct Figure1d {
    clients: [Client; 4],
    relay: Relay,
    /// Transmissions, each counted by how much of a full native it is.
    transmissions: f64,
}

impl Figure1d {
    fn new(settings: Settings, reduces: bool) -> Self {
        let clients = [1, 2, 3, 4].map(|name| Client::new(name, settings));
        Figure1d { clients, relay: Relay::new(&[(1, 4), (2, 3)], settings, reduces), transmissions: 0.0 }
    }

    /// Sends the frame of a client, or of the relay for `None`; the count omits its own headers.
    fn transmit(&mut self, from: Option<usize>, of_bytes: usize) {
        let mut frame = Vec::new();
        let sends = match from {
            Some(client) => self.clients[client].transmit(Duration::ZERO, &mut frame),
            None => self.relay.transmit(Duration::ZERO, &mut frame),
        };
        if !sends {
            return;
        }
        let read = Frame::parse(&frame).unwrap();
        let shims: usize = read.components().filter_map(|it| it.beside).map(|it| it.removed.shim.len()).sum();
        self.transmissions += (read.xor.len() + shims) as f64 / of_bytes as f64;
        let heard_by: &[usize] = match from {
            Some(0) => &[2],
            Some(1) => &[3],
            Some(_) => &[],
            None => &[0, 1, 2, 3],
        };
        for client in heard_by {
            self.clients[*client].cope.handle_frame(&frame, Duration::ZERO).unwrap();
            self.clients[*client].take(&mut self.relay, Duration::ZERO);
        }
        if from.is_some() {
            self.relay.cope.handle_frame(&frame, Duration::ZERO).unwrap();
            self.relay.take(Duration::ZERO);
        }
        // C3 and C4 report their natives at once.
        for client in [2, 3] {
            let mut said = Vec::new();
            let later = Duration::from_secs(1);
            if self.clients[client].transmit(later, &mut said) {
                self.relay.cope.handle_frame(&said, Duration::ZERO).unwrap();
                self.relay.take(Duration::ZERO);
            }
        }
    }
}

/// Bytes of `payload` that a receiver of `other` does not need, and bytes of the shim, by the sizes of
/// chunks.
fn removed(payload: &[u8], other: &[u8]) -> (usize, usize) {
    let boundaries = overhear_settings().boundaries;
    let known: BTreeSet<&[u8]> = boundaries.chunks(other).map(|chunk| &other[chunk]).collect();
    let addresses = Addresses::new(&overhear_settings().network_key);
    let same: Vec<_> =
        boundaries.chunks(payload).filter(|chunk| known.contains(&payload[chunk.clone()])).collect();
    let slots: Vec<u32> = same.iter().map(|chunk| addresses.of(&payload[chunk.clone()]).slot(18)).collect();
    let runs = [Run::of_whole(0, slots.len() as u32)];
    let shim = Slots { slot_bits: 18, mac: Some([0; 8]), runs: &runs, slots: &slots };
    (same.iter().map(|chunk| chunk.len()).sum(), shim.encoded_len())
}

#[test]
fn figure_1d_cope_alone_takes_three_transmissions_for_four() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let natives = [random(&mut rng, 1400), random(&mut rng, 1400)];
    for (most_components, expected) in [(1, 4.0), (8, 3.0)] {
        let mut net = Figure1d::new(Settings { most_components, ..Settings::default() }, false);
        for (client, native) in natives.iter().enumerate() {
            net.clients[client].send(native, Duration::ZERO);
            net.transmit(Some(client), 1400);
        }
        net.transmit(None, 1400);
        net.transmit(None, 1400);
        assert!((net.transmissions - expected).abs() < 1e-9, "{}", net.transmissions);
        assert_eq!(net.clients[3].got, [(PacketId { source: 1, number: 0 }, natives[0].clone())]);
        assert_eq!(net.clients[2].got, [(PacketId { source: 2, number: 0 }, natives[1].clone())]);
    }
}

#[test]
fn figure_1d_reduced_and_coded_it_takes_three_less_delta() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut native =
        |common: &[u8]| [&random(&mut rng, HEAD_BYTES), common, &random(&mut rng, 467)[..]].concat();
    let mut other = ChaCha8Rng::seed_from_u64(3);
    let (ab, xy) = (random(&mut other, 933), random(&mut other, 933));
    // C3 overhears abc and C4 xyz; then abd goes to C3's side and xyw to C4's: C2 sends abd, C1 sends xyw
    let [abc, xyz, abd, xyw] = [native(&ab), native(&xy), native(&ab), native(&xy)];
    let mut net = Figure1d::new(Settings::default(), true);
    for (client, first) in [(0, &abc), (1, &xyz)] {
        net.clients[client].send(first, Duration::ZERO);
        net.transmit(Some(client), 1440);
    }
    net.transmit(None, 1440);
    assert!((net.transmissions - 3.0).abs() < 1e-9, "nothing repeats yet: {}", net.transmissions);
    net.transmissions = 0.0;
    for (client, second) in [(0, &xyw), (1, &abd)] {
        net.clients[client].send(second, Duration::ZERO);
        net.transmit(Some(client), 1440);
    }
    net.transmit(None, 1440);
    // both are as long, so that the XOR is as long as what is left of one, and both shims come beside
    let (removed_bytes, shim_bytes) = removed(&abd[HEAD_BYTES..], &abc[HEAD_BYTES..]);
    let (other_bytes, other_shim_bytes) = removed(&xyw[HEAD_BYTES..], &xyz[HEAD_BYTES..]);
    let delta = (removed_bytes.min(other_bytes) - shim_bytes - other_shim_bytes) as f64 / 1440.0;
    let expected = 3.0 - delta;
    assert!((net.transmissions / expected - 1.0).abs() < 0.05, "{} for {expected}", net.transmissions);
    assert!(expected < 2.5, "{expected}");
    let last = |client: usize| net.clients[client].got.last().map(|(_, native)| native.clone());
    assert_eq!((last(3), last(2)), (Some(xyw), Some(abd)));
}

/// A row of clients around one relay: each sends to the one opposite.
struct Ring {
    clients: Vec<Client>,
    relay: Relay,
    rng: ChaCha8Rng,
    loss: f64,
    /// Frames in flight, which may overtake each other: arrival time, sender, and frame.
    flying: Vec<(Duration, Option<usize>, Vec<u8>)>,
    sent: Vec<(PacketId, Vec<u8>)>,
    most_waiting: usize,
}

impl Ring {
    fn new(count: u16, loss: f64, seed: u64) -> Self {
        let settings =
            Settings { pool_bytes: 64 << 10, queue_packets: 64, small_bytes: 400, ..Settings::default() };
        let routes: Vec<(u16, u16)> = (0..count).map(|name| (name, (name + count / 2) % count)).collect();
        let mut relay = Relay::new(&routes, settings, true);
        for from in 0..count {
            for to in 0..count {
                relay.cope.set_delivery(from, to, 1.0 - loss);
            }
        }
        Ring {
            clients: (0..count).map(|name| Client::new(name, settings)).collect(),
            relay,
            rng: ChaCha8Rng::seed_from_u64(seed),
            loss,
            flying: Vec::new(),
            sent: Vec::new(),
            most_waiting: 0,
        }
    }

    fn step(&mut self, now: Duration) {
        for from in (0..self.clients.len()).map(Some).chain([None]) {
            let mut frame = Vec::new();
            let sends = match from {
                Some(client) => self.clients[client].transmit(now, &mut frame),
                None => self.relay.transmit(now, &mut frame),
            };
            if sends {
                let delay = Duration::from_millis(self.rng.random_range(1..12));
                self.flying.push((now + delay, from, frame));
            }
        }
        let arrive: Vec<_> = self.flying.extract_if(.., |(at, ..)| *at <= now).collect();
        for (_, from, frame) in arrive {
            for to in (0..self.clients.len()).filter(|to| Some(*to) != from) {
                if !self.rng.random_bool(self.loss) {
                    self.clients[to].cope.handle_frame(&frame, now).unwrap();
                    self.clients[to].take(&mut self.relay, now);
                }
            }
            if from.is_some() && !self.rng.random_bool(self.loss) {
                self.relay.cope.handle_frame(&frame, now).unwrap();
                self.relay.take(now);
            }
        }
        self.most_waiting = self.most_waiting.max(self.relay.cope.waiting());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// With coding, removal, loss, reordering and duplication: exact bytes or nothing, and most natives
    /// arrive, once each.
    #[test]
    fn what_comes_out_is_what_was_sent_whatever_the_air_does(seed: u64, loss in 0.0..0.35, pairs in 1..4u16) {
        let mut ring = Ring::new(2 * pairs, loss, seed);
        let mut rng = ChaCha8Rng::seed_from_u64(!seed);
        let objects: Vec<Vec<u8>> = (0..6).map(|_| random(&mut rng, 6000)).collect();
        let mut now = Duration::ZERO;
        for round in 0..400 {
            now += Duration::from_millis(3);
            if round < 200 && round % 2 == 0 {
                let client = rng.random_range(0..ring.clients.len());
                let object = &objects[rng.random_range(0..objects.len())];
                let start = rng.random_range(0..4500);
                let native = [
                    &random(&mut rng, HEAD_BYTES + 30)[..],
                    &object[start..start + rng.random_range(20..1400)],
                ]
                .concat();
                let id = ring.clients[client].send(&native, now);
                ring.sent.push((id, native));
            }
            ring.step(now);
        }
        let sent: BTreeMap<PacketId, &Vec<u8>> = ring.sent.iter().map(|(id, native)| (*id, native)).collect();
        let count = ring.clients.len();
        let mut arrived = 0;
        for (at, client) in ring.clients.iter().enumerate() {
            let mut once = BTreeSet::new();
            for (id, native) in &client.got {
                prop_assert_eq!(sent[id], native, "another packet than was sent");
                prop_assert!(once.insert(*id), "twice");
                prop_assert_eq!((usize::from(id.source) + count / 2) % count, at, "for another");
                arrived += 1;
            }
        }
        prop_assert!(arrived * 100 >= sent.len() * 90, "{arrived} of {}", sent.len());
        prop_assert!(ring.most_waiting <= 64);
        let coded = ring.relay.cope.statistics().coded_frames;
        prop_assert!(coded > 0 || loss > 0.2, "nothing was coded");
    }
}
