//! A hop with its two ends, a receiver that acknowledges like TCP, and a sender that keeps its window full.

use etherparse::{PacketBuilder, TcpOptionElement};
use recovery::{History, Repair, Segment, Settings, Snoop, Undoes, Verdict};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use wire::coded::Coded;
use wire::inner::Inner;

pub const MS: Duration = Duration::from_millis(1);
/// One-way delay of the hop, and the spacing of packets on it.
const DELAY: Duration = Duration::from_millis(5);
const SPACING: Duration = Duration::from_millis(4);
/// Round trip from the access point to the sender.
const FAR: Duration = Duration::from_millis(50);

/// A segment from the sender. Its bytes follow from their position in the stream.
pub fn data(flow: &Flow, start: u32, bytes: usize) -> Vec<u8> {
    let payload: Vec<u8> = (0..bytes as u32).map(|at| byte_at(start.wrapping_add(at))).collect();
    let mut packet = Vec::new();
    let options = [TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(start, 7)];
    let tcp = |builder: etherparse::PacketBuilderStep<etherparse::IpHeaders>| {
        builder.tcp(80, flow.port, start, 1000).ack(1).options(&options).unwrap()
    };
    if flow.v6 {
        tcp(PacketBuilder::ip(v6([1; 16], [2; 16]))).write(&mut packet, &payload).unwrap();
    } else {
        tcp(PacketBuilder::ip(v4([10, 0, 0, 1], [10, 0, 0, 2]))).write(&mut packet, &payload).unwrap();
    }
    packet
}

fn v4(source: [u8; 4], destination: [u8; 4]) -> etherparse::IpHeaders {
    let header = etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, source, destination).unwrap();
    etherparse::IpHeaders::Ipv4(header, Default::default())
}

fn v6(source: [u8; 16], destination: [u8; 16]) -> etherparse::IpHeaders {
    let header = etherparse::Ipv6Header {
        source,
        destination,
        hop_limit: 64,
        next_header: etherparse::IpNumber::TCP,
        ..Default::default()
    };
    etherparse::IpHeaders::Ipv6(header, Default::default())
}

/// An acknowledgment from the station, with its blocks.
pub fn acknowledgment(flow: &Flow, number: u32, blocks: &[(u32, u32)]) -> Vec<u8> {
    let mut options = vec![TcpOptionElement::Noop, TcpOptionElement::Noop];
    if let Some((&first, rest)) = blocks.split_first() {
        let mut others = [None; 3];
        others.iter_mut().zip(rest).for_each(|(other, block)| *other = Some(*block));
        options.push(TcpOptionElement::SelectiveAcknowledgement(first, others));
    }
    let mut packet = Vec::new();
    let tcp = |builder: etherparse::PacketBuilderStep<etherparse::IpHeaders>| {
        builder.tcp(flow.port, 80, 1, 1000).ack(number).options(&options).unwrap()
    };
    if flow.v6 {
        tcp(PacketBuilder::ip(v6([2; 16], [1; 16]))).write(&mut packet, &[]).unwrap();
    } else {
        tcp(PacketBuilder::ip(v4([10, 0, 0, 2], [10, 0, 0, 1]))).write(&mut packet, &[]).unwrap();
    }
    packet
}

/// Parses a packet.
pub fn segment(packet: &[u8]) -> Segment {
    Segment::parse(packet, &Inner::parse(packet).unwrap()).unwrap()
}

pub fn byte_at(place: u32) -> u8 {
    (place.wrapping_mul(0x9e37_79b9) >> 24) as u8
}

/// Port, start of the stream, and protocol version of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Flow {
    pub port: u16,
    pub v6: bool,
    pub sack: bool,
    pub first: u32,
}

impl Default for Flow {
    fn default() -> Self {
        Flow { port: 4242, v6: false, sack: true, first: 1 }
    }
}

/// Traffic over the hop.
#[derive(Debug, Clone)]
enum Crossing {
    Packet(Vec<u8>),
    Coded(Vec<u8>),
    Acknowledgment(Vec<u8>),
    /// At the sender.
    Shown(Vec<u8>),
    /// At the access point, from the sender.
    Arrives(u32, usize),
}

pub struct Hop {
    pub now: Duration,
    pub snoop: Snoop,
    history: History,
    flow: Flow,
    events: BTreeMap<(Duration, u64), Crossing>,
    number: u64,
    /// Segments from the sender that wait to be forwarded.
    arrived: Vec<(u32, usize)>,
    free_at: Duration,
    /// The segments of the stream: relative start and length.
    segments: Vec<(u32, usize)>,
    /// The next segment to send, and the window in segments.
    next: usize,
    window: usize,
    /// Segments that the receiver has, by index.
    received: BTreeSet<usize>,
    recent: VecDeque<usize>,
    /// The highest acknowledgment by the receiver.
    pub told: u32,
    /// The latest acknowledgment that the sender saw, and the number of repetitions.
    pub shown: u32,
    pub repeated: usize,
    duplicates: usize,
    resent: BTreeSet<usize>,
    silent_since: Duration,
    crossings: usize,
    pub undecodable: usize,
}

impl Hop {
    /// A stream of segments of these lengths.
    pub fn new(
        settings: &Settings,
        flow: Flow,
        window: usize,
        lengths: impl IntoIterator<Item = usize>,
    ) -> Self {
        let mut at = 0;
        let segments = lengths.into_iter().map(|bytes| {
            at += bytes as u32;
            (at - bytes as u32, bytes)
        });
        Hop {
            now: Duration::ZERO,
            snoop: Snoop::new(settings, Undoes::Rows),
            history: History::default(),
            flow,
            events: BTreeMap::new(),
            number: 0,
            arrived: Vec::new(),
            free_at: Duration::ZERO,
            segments: segments.collect(),
            next: 0,
            window,
            received: BTreeSet::new(),
            recent: VecDeque::new(),
            told: 0,
            shown: 0,
            repeated: 0,
            duplicates: 0,
            resent: BTreeSet::new(),
            silent_since: Duration::ZERO,
            crossings: 0,
            undecodable: 0,
        }
    }

    fn at(&mut self, at: Duration, what: Crossing) {
        self.events.insert((at, self.number), what);
        self.number += 1;
    }

    fn end(&self) -> u32 {
        self.segments.last().map_or(0, |(start, bytes)| start + *bytes as u32)
    }

    /// Carries the stream; `lost` decides for every packet on the hop. Returns whether all segments arrived.
    pub fn carry(&mut self, mut lost: impl FnMut(usize) -> bool) -> bool {
        let end = self.end();
        self.fill_window();
        while self.shown < end {
            let event = self.events.keys().next().map(|key| key.0);
            let timeout = self.snoop.timeout();
            // The sender's own timeout is the last resort.
            let sender = self.silent_since + 400 * MS;
            let next = [event, timeout, Some(sender)].into_iter().flatten().min().unwrap();
            self.now = self.now.max(next);
            if self.now > Duration::from_secs(600) {
                return false;
            }
            if Some(next) == event {
                let (_, what) = self.events.pop_first().unwrap();
                self.happen(what);
            } else if Some(next) == timeout {
                self.snoop.handle_timeout(self.now);
            } else {
                self.silent_since = self.now;
                self.resent.clear();
                let first = self.segments.partition_point(|segment| segment.0 < self.shown);
                self.send(first, true);
            }
            self.repair(&mut lost);
        }
        true
    }

    fn fill_window(&mut self) {
        let first = self.segments.partition_point(|segment| segment.0 < self.shown);
        while self.next < self.segments.len() && self.next < first + self.window {
            self.send(self.next, false);
            self.next += 1;
        }
    }

    fn send(&mut self, index: usize, again: bool) {
        self.repeated += usize::from(again);
        let (start, bytes) = self.segments[index];
        self.at(self.now + FAR, Crossing::Arrives(start, bytes));
    }

    /// Sends a packet over the hop behind the ones before it.
    fn cross(&mut self, what: Crossing, lost: &mut impl FnMut(usize) -> bool) {
        self.free_at = self.free_at.max(self.now) + SPACING;
        let is_lost = lost(self.crossings);
        self.crossings += 1;
        if !is_lost {
            self.at(self.free_at + DELAY, what);
        }
    }

    fn repair(&mut self, lost: &mut impl FnMut(usize) -> bool) {
        let mut out = Vec::new();
        while let Some(repair) = self.snoop.poll_repair(self.now, &mut out) {
            let out = std::mem::take(&mut out);
            let what = match repair {
                Repair::Packet => Crossing::Packet(out),
                Repair::Coded { .. } => Crossing::Coded(out),
            };
            self.cross(what, lost);
        }
        // Segments from the sender follow.
        for (start, bytes) in std::mem::take(&mut self.arrived) {
            let packet = data(&self.flow, self.flow.first.wrapping_add(start), bytes);
            self.snoop.handle_departure(self.now, &packet, &segment(&packet));
            self.cross(Crossing::Packet(packet), lost);
        }
    }

    fn happen(&mut self, what: Crossing) {
        match what {
            Crossing::Arrives(start, bytes) => self.arrived.push((start, bytes)),
            Crossing::Packet(packet) => self.arrive(&packet),
            Crossing::Coded(body) => {
                let coded = Coded::parse(&body).unwrap();
                let mut packet = Vec::new();
                match self.history.restore(&coded, &mut packet) {
                    Ok(()) => self.arrive(&packet),
                    Err(_) => self.undecodable += 1,
                }
                self.arrive_late();
            }
            Crossing::Acknowledgment(mut packet) => {
                let segment = segment(&packet);
                if self.snoop.handle_arrival(self.now, &mut packet, &segment) != Verdict::Suppress {
                    self.at(self.now + FAR, Crossing::Shown(packet));
                }
            }
            Crossing::Shown(packet) => self.show(&packet),
        }
    }

    /// Delivers packets that later packets completed.
    fn arrive_late(&mut self) {
        while let Some(packet) = self.history.poll_restored() {
            self.arrive(&packet);
        }
    }

    /// Delivers a packet to the receiver, which answers at once.
    fn arrive(&mut self, packet: &[u8]) {
        let inner = Inner::parse(packet).unwrap();
        self.history.record_delivery(packet, &inner);
        self.arrive_late();
        let sequence = inner.tcp_sequence.unwrap();
        let start = sequence.wrapping_sub(self.flow.first);
        let payload = &packet[inner.payload_offset..inner.total_bytes];
        let right = (0u32..).zip(payload).all(|(at, &byte)| byte == byte_at(sequence.wrapping_add(at)));
        assert!(right, "wrong bytes");
        let index =
            self.segments.binary_search_by_key(&start, |segment| segment.0).expect("a segment's start");
        assert_eq!(payload.len(), self.segments[index].1);
        self.received.insert(index);
        self.recent.retain(|&other| other != index);
        self.recent.push_front(index);
        self.recent.truncate(8);
        let first_missing = (0..).find(|index| !self.received.contains(index)).unwrap();
        self.told = self.segments.get(first_missing).map_or(self.end(), |segment| segment.0);
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for &index in self.recent.iter().filter(|&&index| self.flow.sack && index > first_missing) {
            let first = (0..=index).rev().find(|index| !self.received.contains(index)).unwrap() + 1;
            let last = (index..).find(|index| !self.received.contains(index)).unwrap() - 1;
            let (end, bytes) = self.segments[last];
            let block =
                [self.segments[first].0, end + bytes as u32].map(|edge| self.flow.first.wrapping_add(edge));
            if !blocks.contains(&block.into()) && blocks.len() < 3 {
                blocks.push(block.into());
            }
        }
        let packet = acknowledgment(&self.flow, self.flow.first.wrapping_add(self.told), &blocks);
        self.at(self.now + DELAY, Crossing::Acknowledgment(packet));
    }

    fn show(&mut self, packet: &[u8]) {
        let sliced = etherparse::LaxSlicedPacket::from_ip(packet).unwrap();
        let Some(etherparse::TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };
        let number = tcp.acknowledgment_number().wrapping_sub(self.flow.first);
        assert!(number <= self.told, "nothing is acknowledged on the receiver's behalf");
        self.silent_since = self.now;
        if number > self.shown {
            self.shown = number;
            self.duplicates = 0;
            self.resent.clear();
        } else if number == self.shown && number < self.end() {
            let first = self.segments.partition_point(|segment| segment.0 < self.shown);
            self.duplicates += 1;
            if self.duplicates == 3 && self.resent.insert(first) {
                self.send(first, true);
            }
        }
        self.fill_window();
    }
}
