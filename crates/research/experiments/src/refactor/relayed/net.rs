//! A run's nodes, and their handling of heard frames.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use air::LossConfig;
use air::loss::LossProcess;
use anyhow::{Context as _, Result, ensure};
use mesh::cope::PacketId;
use mesh::cope::window::Window;
use overhear::knowledge::OverheardFractions;
use overhear::{AirTime, Answer, Association, Gateway, PacketNumber, Received, Settings, Station, StationId};
use published::cope::frame::{Beside, Frame};
use published::cope::{Cope, Event, Form, Settings as CopeSettings};

use super::super::air_time::HEADER_SECONDS;
use super::super::as_printed::{self, Cache};
use super::super::codec::whole;
use super::super::overhearing::{FULL_PACKET_LOSS, bit_errors};
use super::super::run::CONTROL_BYTES;
use super::{AirSeconds, Known, Reduces, Relayed};
use crate::trace::{HEADER_BYTES, TracePacket};

const NETWORK_KEY: [u8; 32] = [7; 32];
const RELAY: u16 = 9;
/// The receivers, each with the source that it overhears.
const RECEIVERS: [(u16, u16); 2] = [(4, 2), (3, 1)];
/// Queue length at the relay from which sources pause: several objects for either receiver, so that natives
/// of similar length meet.
const BACKLOG: usize = 256;
/// A node's own natives that wait.
const SOURCE_BACKLOG: usize = 2;
/// Natives of which the relay remembers under which number it heard them.
const REMEMBERED: usize = 8192;
/// Length below which a native is small if packets may be reduced: a quarter of a full one.
const SMALL_BYTES: usize = 350;

struct Receiver {
    cope: Cope,
    station: Station,
    /// Natives that it overheard from the other source, if the relay has perfect knowledge of them.
    overheard: Option<Window>,
    from_source: LossProcess,
    from_relay: LossProcess,
}

/// The relay's record of a native that it forwards.
#[derive(Clone, Copy)]
struct Passed {
    heard: PacketNumber,
    sent: Option<PacketNumber>,
}

/// Sources, relay and receivers, and the air between them.
pub(super) struct Net<T> {
    run: Relayed,
    trace: T,
    sources: [Cope; 2],
    to_relay: [LossProcess; 2],
    from_relay_to_sources: [LossProcess; 2],
    /// Natives that must arrive.
    expected: BTreeMap<PacketId, Vec<u8>>,
    next: [u32; 2],
    is_over: bool,
    /// A packet that found its source's queue full.
    held_back: [VecDeque<TracePacket>; 2],
    relay: Cope,
    gateway: Gateway,
    passed: BTreeMap<PacketId, Passed>,
    receivers: [Receiver; 2],
    frames: u64,
    now: f64,
    air: AirSeconds,
    /// Since when nothing was sent.
    idle: u32,
}

/// The codec's; what receivers have is known or told, not guessed by rates.
fn settings(run: &Relayed) -> Settings {
    let ours = Settings { slot_bits: run.slot_bits, ..Settings::new(NETWORK_KEY) };
    if run.reduces != Some(Reduces::AsPrinted) {
        return ours;
    }
    let printed = as_printed::settings(NETWORK_KEY, Cache::of(run.slot_bits), OverheardFractions::default());
    Settings { knowledge: ours.knowledge, ..printed }
}

fn key(of: u16) -> [u8; 32] {
    [of as u8; 32]
}

/// The key of the MAC, which the paper's codec has not.
fn mac_key(run: &Relayed, of: u16) -> Option<[u8; 32]> {
    (run.reduces != Some(Reduces::AsPrinted)).then(|| key(of))
}

impl<T: Iterator<Item = TracePacket>> Net<T> {
    pub(super) fn new(run: &Relayed, trace: T) -> Result<Self> {
        let cope_settings = CopeSettings {
            small_bytes: SMALL_BYTES,
            acknowledges: run.known == Known::ByReports,
            queue_packets: 4 * BACKLOG,
            // what waits at the relay is overheard long before it is combined
            pool_bytes: 4 << 20,
            pool_for: Duration::from_secs(2),
            ..CopeSettings::default()
        };
        let cope = |name| Cope::new(cope_settings, name, 1);
        let mut relay = cope(RELAY);
        let mut gateway = Gateway::new(settings(run))?;
        let rate_bits_per_second = run.rate.bits_per_second();
        let seed = run.seed << 16;
        let links = match run.known {
            Known::Perfectly => LossConfig::None,
            Known::ByReports => bit_errors(*FULL_PACKET_LOSS),
        };
        let link = |number: u64| LossProcess::new(&links, seed | number);
        let mut receivers = Vec::new();
        for (at, (name, overhears)) in (0..).zip(RECEIVERS) {
            relay.set_key(name, &key(name));
            if run.known == Known::ByReports {
                relay.set_delivery(overhears, name, run.overheard);
            }
            let association = Association {
                slot_bits: run.slot_bits,
                rate_bits_per_second,
                // The relay knows the overheard natives, so it assumes none by rates.
                rate_is_known: false,
                air_time: AirTime::of_rate(rate_bits_per_second),
                mac_key: mac_key(run, name),
            };
            gateway.join(StationId(name as u8), association, Duration::ZERO)?;
            let mut its_cope = cope(name);
            its_cope.set_key(RELAY, &key(name));
            receivers.push(Receiver {
                cope: its_cope,
                station: Station::new(settings(run), StationId(name as u8), mac_key(run, name))?,
                overheard: None,
                from_source: LossProcess::new(&bit_errors(1.0 - run.overheard), seed | at),
                from_relay: link(2 + at),
            });
        }
        let Ok(receivers) = <[Receiver; 2]>::try_from(receivers) else { unreachable!("there are two") };
        Ok(Self {
            run: *run,
            trace,
            sources: [cope(1), cope(2)],
            to_relay: [link(4), link(5)],
            from_relay_to_sources: [link(6), link(7)],
            expected: BTreeMap::new(),
            next: [0; 2],
            is_over: false,
            held_back: Default::default(),
            relay,
            gateway,
            passed: BTreeMap::new(),
            receivers,
            frames: 0,
            now: 0.0,
            air: AirSeconds::default(),
            idle: 0,
        })
    }

    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.now)
    }

    /// The air time of something, which passes.
    fn spend(&mut self, bytes: usize) -> f64 {
        let seconds = *HEADER_SECONDS + bytes as f64 * 8.0 / self.run.rate.bits_per_second() as f64;
        self.now += seconds;
        seconds
    }

    /// Gives a source its next native, if there is room.
    fn feed(&mut self) -> Result<()> {
        let has_room = |net: &Self, source: usize| net.sources[source].waiting() < SOURCE_BACKLOG;
        loop {
            let waiting =
                (0..2).find(|source| !self.held_back[*source].is_empty() && has_room(self, *source));
            let packet = match waiting {
                Some(source) => self.held_back[source].pop_front(),
                None if self.held_back.iter().all(VecDeque::is_empty) => self.trace.next(),
                None => return Ok(()),
            };
            let Some(packet) = packet else {
                self.is_over = true;
                return Ok(());
            };
            let source = packet.client;
            if !has_room(self, source) {
                self.held_back[source].push_back(packet);
                return Ok(());
            }
            let id = PacketId { source: source as u16 + 1, number: self.next[source] };
            self.next[source] += 1;
            let now = self.now();
            self.sources[source].send(id, &packet.bytes, packet.bytes.len(), id.source, RELAY, now)?;
            self.expected.insert(id, packet.bytes);
        }
    }

    /// Every node in turn sends its frames; returns whether there are more.
    pub(super) fn step(&mut self) -> Result<bool> {
        let mut sent = false;
        if self.relay.waiting() < BACKLOG {
            self.feed()?;
            for source in 0..2 {
                let mut frame = Vec::new();
                if self.sources[source].poll_transmit(self.now(), |_, _, _| None, &mut frame) {
                    sent = true;
                    self.source_sends(source, &frame)?;
                }
            }
        }
        let mut frame = Vec::new();
        if (self.relay.waiting() >= BACKLOG || !sent) && self.relay_transmits(&mut frame) {
            sent = true;
            self.relay_sends(&frame)?;
            self.flush();
        }
        for at in 0..2 {
            let mut frame = Vec::new();
            if self.receivers[at].cope.poll_transmit(self.now(), |_, _, _| None, &mut frame) {
                sent = true;
                self.air.from_relay += self.spend(frame.len());
                self.frames += 1;
                if !self.receivers[at].from_relay.lose(self.frames, 0, frame.len() as u64 * 8) {
                    let now = self.now();
                    self.relay.handle_frame(&frame, now)?;
                    self.take_at_relay()?;
                }
            }
        }
        self.idle = if sent { 0 } else { self.idle + 1 };
        if !sent {
            self.now += 0.005;
        }
        Ok(!(self.is_over && self.idle > 100))
    }

    fn source_sends(&mut self, source: usize, frame: &[u8]) -> Result<()> {
        self.air.to_relay += self.spend(frame.len());
        self.frames += 1;
        let (number, bits, now) = (self.frames, frame.len() as u64 * 8, self.now());
        if !self.to_relay[source].lose(number, 0, bits) {
            self.relay.handle_frame(frame, now)?;
            self.take_at_relay()?;
        }
        // Reception at the other side is independent of the trace's order.
        let other = &mut self.receivers[1 - source];
        let id = Frame::parse(frame)?.components().next().map(|component| component.id);
        let by_number = id.map_or(number, |id| u64::from(id.number));
        if !other.from_source.lose(by_number, 0, bits) {
            other.cope.handle_frame(frame, now)?;
            if let Some(id) = id.filter(|_| self.run.known == Known::Perfectly) {
                let window = other.overheard.get_or_insert(Window::new(id.number));
                window.note(id.number, 32);
                let (name, window) = (RECEIVERS[1 - source].0, *window);
                self.relay.learn_held(name, id.source, window);
                if let Some(passed) = self.passed.get(&id) {
                    self.gateway.record_held(StationId(name as u8), passed.heard);
                }
            }
            self.take_at_receiver(1 - source)?;
        }
        Ok(())
    }

    fn relay_sends(&mut self, frame: &[u8]) -> Result<()> {
        self.air.from_relay += self.spend(frame.len());
        self.frames += 1;
        let (number, bits, now) = (self.frames, frame.len() as u64 * 8, self.now());
        let read = Frame::parse(frame)?;
        for source in 0..2 {
            if !self.from_relay_to_sources[source].lose(number, 0, bits) {
                self.sources[source].handle_frame(frame, now)?;
                while self.sources[source].poll_event().is_some() {}
            }
        }
        for (at, (name, _)) in RECEIVERS.into_iter().enumerate() {
            let is_addressed = read.components().any(|component| component.next_hop == name);
            if !(is_addressed || self.run.hears_relay) || self.receivers[at].from_relay.lose(number, 0, bits)
            {
                continue;
            }
            self.receivers[at].cope.handle_frame(frame, now)?;
            self.take_at_receiver(at)?;
            if self.run.known == Known::Perfectly && !is_addressed {
                for component in read.components() {
                    let number = match component.beside {
                        Some(beside) => Some(PacketNumber(beside.number.into())),
                        None => self.passed.get(&component.id).and_then(|passed| passed.sent),
                    };
                    if let Some(number) = number {
                        self.gateway.record_held(StationId(name as u8), number);
                    }
                }
            }
        }
        Ok(())
    }

    /// The relay's flush, if it is time for one: a broadcast, and an acknowledgment of each receiver.
    fn flush(&mut self) {
        let now = self.now();
        let Some(flush) = self.gateway.poll_flush(now) else { return };
        let bytes = CONTROL_BYTES + size_of_val(&flush);
        self.air.from_relay += self.spend(bytes);
        for at in 0..2 {
            self.air.from_relay += self.spend(bytes);
            let (now, station) = (self.now(), &mut self.receivers[at].station);
            station.flush(flush);
            self.gateway.record_flush(station.id(), flush, now);
        }
    }

    fn take_at_relay(&mut self) -> Result<()> {
        while let Some(event) = self.relay.poll_event() {
            match event {
                Event::Arrived { id, from, native } => self.pass_on(id, from, &native)?,
                // A receiver may have got its own native without the removed content.
                Event::Reported { by, source, window } if RECEIVERS.contains(&(by, source)) => {
                    let ids =
                        (0..=32).map(|back| PacketId { source, number: window.last.wrapping_sub(back) });
                    for id in ids.filter(|id| window.holds(id.number, 32) == Some(true)) {
                        if let Some(passed) = self.passed.get(&id) {
                            self.gateway.record_held(StationId(by as u8), passed.heard);
                        }
                    }
                }
                Event::Acknowledged { by, id } => self.arrived(by, id),
                _ => {}
            }
        }
        Ok(())
    }

    /// A receiver has a native.
    fn arrived(&mut self, by: u16, id: PacketId) {
        let sent = self.passed.get(&id).and_then(|passed| passed.sent);
        let now = self.now();
        if let Some(sent) = sent {
            self.gateway.record_acknowledgment(StationId(by as u8), sent, now);
        }
    }

    fn pass_on(&mut self, id: PacketId, from: u16, native: &[u8]) -> Result<()> {
        let payload = &native[HEADER_BYTES..];
        let to = RECEIVERS[usize::from(from) - 1].0;
        let (now, mut expected_bytes) = (self.now(), native.len());
        if self.run.reduces.is_some() {
            let before = id.number.checked_sub(1).map(|number| PacketId { number, ..id });
            let before = before.and_then(|before| self.passed.get(&before)).map(|passed| passed.heard);
            let heard = self.gateway.hear(&whole(payload), before)?;
            expected_bytes -= self.gateway.would_remove(StationId(to as u8), payload);
            self.passed.insert(id, Passed { heard, sent: None });
            if self.passed.len() > REMEMBERED {
                let oldest = self.passed.keys().find(|kept| kept.source == id.source).copied();
                oldest.map(|oldest| self.passed.remove(&oldest));
            }
        }
        self.relay.send(id, native, expected_bytes, from, to, now)?;
        Ok(())
    }

    /// The relay's next frame, if there is one: what leaves is reduced then.
    fn relay_transmits(&mut self, frame: &mut Vec<u8>) -> bool {
        let (now, reduces) = (self.now(), self.run.reduces.is_some());
        let Self { relay, gateway, passed, .. } = self;
        let reduce = |id: PacketId, native: &[u8], to: u16| {
            if !reduces {
                return None;
            }
            let (head, payload) = native.split_at(HEADER_BYTES);
            let mut encoded = Vec::with_capacity(native.len());
            let sent = gateway.encode(StationId(to as u8), payload, now, &mut encoded);
            if let Some(passed) = passed.get_mut(&id) {
                passed.sent = Some(sent.number);
            }
            if sent.removed_bytes == 0 {
                return None;
            }
            let (shim, literals) = encoded.split_at(sent.shim_bytes);
            let mut beside = Vec::new();
            Beside::emit(sent.number.0 as u32, head.len(), shim, gateway.removed_of_runs(), &mut beside);
            Some(Form { literals: [head, literals].concat(), beside })
        };
        relay.poll_transmit(now, reduce, frame)
    }

    fn take_at_receiver(&mut self, at: usize) -> Result<()> {
        while let Some(event) = self.receivers[at].cope.poll_event() {
            let now = self.now();
            match event {
                Event::Arrived { id, native, .. } => {
                    self.keep(at, &native);
                    self.deliver(at, id, &native)?;
                }
                Event::ArrivedReduced { id, number, head, encoded, .. } => {
                    let number = PacketNumber(number.into());
                    let station = &mut self.receivers[at].station;
                    let payload = match station.receive(number, u64::from(id.number), &encoded, now) {
                        Received::Restored(payload) => payload.to_vec(),
                        Received::Held => self.ask(at, id)?,
                        other => anyhow::bail!("{id:?} is {other:?}"),
                    };
                    let native = [head, payload].concat();
                    self.receivers[at].cope.keep_restored(id, &native, now);
                    self.deliver(at, id, &native)?;
                }
                Event::Overheard { native, .. } => self.keep(at, &native),
                Event::OverheardReduced { encoded, .. } => {
                    self.receivers[at].station.overhear(&encoded)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A receiver keeps the chunks of a native that it heard whole.
    fn keep(&mut self, at: usize, native: &[u8]) {
        if self.run.reduces.is_some() {
            self.receivers[at].station.keep_sent(&native[HEADER_BYTES..]);
        }
    }

    /// Requests missing content for a receiver; both directions count as the relay's air time. If the relay
    /// no longer has it, the native is sent again unchanged.
    fn ask(&mut self, at: usize, id: PacketId) -> Result<Vec<u8>> {
        for _ in 0..3 {
            let now = self.now();
            let (mut request, mut reply) = (Vec::new(), Vec::new());
            let receiver = &mut self.receivers[at];
            if receiver.station.poll_request(now, &mut request).is_none() {
                break;
            }
            let answer = self.gateway.answer_request(receiver.station.id(), &request, &mut reply);
            let Answer::Supplied { .. } = answer else { break };
            receiver.station.receive_reply(&reply, now).context("a reply is refused")?;
            let delivered = receiver.station.poll_deliver(now);
            self.air.from_relay += self.spend(CONTROL_BYTES + request.len());
            self.air.from_relay += self.spend(CONTROL_BYTES + reply.len());
            if let Some(delivered) = delivered {
                return Ok(delivered.packet);
            }
        }
        let native = self.expected.get(&id).context("a native that was never sent")?.clone();
        self.air.from_relay += self.spend(native.len());
        // The receiver also drops the request.
        let late = self.now() + Duration::from_secs(60);
        let _ = self.receivers[at].station.poll_deliver(late);
        Ok(native[HEADER_BYTES..].to_vec())
    }

    fn deliver(&mut self, at: usize, id: PacketId, native: &[u8]) -> Result<()> {
        let expected = self.expected.remove(&id).with_context(|| format!("{id:?} came twice"))?;
        ensure!(native == expected, "wrong bytes at C{}, {id:?}", RECEIVERS[at].0);
        self.air.arrived += 1;
        if self.run.known == Known::Perfectly {
            self.arrived(RECEIVERS[at].0, id);
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<AirSeconds> {
        let all = u64::from(self.next[0]) + u64::from(self.next[1]);
        let lost = all - self.air.arrived;
        let bound = if self.run.known == Known::Perfectly { 0 } else { all / 200 };
        ensure!(lost <= bound, "{lost} of {all} natives did not arrive");
        let counted = self.relay.statistics();
        self.air.coded_share = counted.coded_frames as f64 / counted.frames.max(1) as f64;
        Ok(self.air)
    }
}
