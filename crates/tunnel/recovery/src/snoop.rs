//! Snoop: the end before the hop, for all flows over one link.

use crate::flow::Flow;
use crate::segment::Segment;
use crate::settings::{Coding, Replacement, Settings, Undoes};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use wire::coded::{Coded, MAX_HEADER_BYTES, MAX_OTHERS};
use wire::inner::{self, Inner};

/// The most flows that are watched; the one that was idle longest is dropped.
const MAX_FLOWS: usize = 2048;
/// The most bytes kept for all flows of a link. Beyond them, the flows that were idle longest lose their
/// buffers.
const MAX_BYTES: usize = 32 << 20;
/// Packets of a flow that a station keeps until their acknowledgment: those of a few round trips of its hop.
const NOTICED_PACKETS: usize = 64;

/// Handling of a packet from the station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It passes unchanged.
    Pass,
    /// It passes without its selective acknowledgment.
    Strip,
    /// It is dropped.
    Suppress,
}

/// Form of a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// The original packet.
    Packet,
    /// A combination with others: the body of a frame ([`wire::coded`]).
    Coded {
        /// The lost packet's traffic class.
        class: u8,
    },
}

/// Counts since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Segments retransmitted as originals.
    pub repairs: u64,
    /// Segments retransmitted in combination with others.
    pub coded_repairs: u64,
    /// Retransmissions after a timeout.
    pub timeouts: u64,
    /// Duplicate acknowledgments dropped.
    pub suppressed: u64,
    /// Acknowledgments passed without their selective acknowledgment.
    pub stripped: u64,
    /// Missing segments left to the sender.
    pub failures: u64,
    /// Segments that left for the station.
    pub segments: u64,
}

/// The end before the hop.
#[derive(Debug)]
pub struct Snoop {
    settings: Settings,
    undoes: Undoes,
    /// Index of each flow in `flows`.
    by_name: BTreeMap<inner::Flow, usize>,
    flows: Vec<Option<Flow>>,
    vacant: Vec<usize>,
    timers: BTreeSet<(Duration, usize)>,
    /// Flows with segments to retransmit.
    again: VecDeque<usize>,
    bytes: usize,
    hold_off: Duration,
    /// Whether notices report losses. Other losses in acknowledgments are then beyond the hop.
    heeds_notices: bool,
    /// Counts since the start.
    pub statistics: Statistics,
}

impl Snoop {
    /// Without flows, for another end with these abilities.
    #[must_use]
    pub fn new(settings: &Settings, undoes: Undoes) -> Self {
        let coding = match (settings.coding, undoes) {
            (_, Undoes::Nothing) => Coding::Off,
            (Coding::ReedSolomon, Undoes::Sums) => Coding::Adaptive,
            (coding, _) => coding,
        };
        Snoop {
            settings: Settings { coding, ..*settings },
            undoes,
            by_name: BTreeMap::new(),
            flows: Vec::new(),
            vacant: Vec::new(),
            timers: BTreeSet::new(),
            again: VecDeque::new(),
            bytes: 0,
            hold_off: Duration::ZERO,
            heeds_notices: false,
            statistics: Statistics::default(),
        }
    }

    /// The station's end: it keeps the station's segments and retransmits those in notices.
    #[must_use]
    pub fn heeding_notices() -> Self {
        let settings =
            Settings { buffer_packets: NOTICED_PACKETS, replacement: Replacement::Lru, coding: Coding::Off };
        Snoop { heeds_notices: true, ..Snoop::new(&settings, Undoes::Nothing) }
    }

    /// Handles a notice: the hop lost `length` bytes of this flow from this TCP sequence number on.
    pub fn handle_notice(&mut self, now: Duration, flow: &inner::Flow, start: u32, length: u32) {
        let Some(&index) = self.by_name.get(flow) else { return };
        let Some(flow) = &mut self.flows[index] else { return };
        flow.handle_notice(now, start, length);
        if flow.has_again() {
            self.again.push_back(index);
        }
    }

    /// Time that another mechanism has to repair a loss first.
    pub fn hold_off(&mut self, hold_off: Duration) {
        self.hold_off = hold_off;
    }

    /// Leaves all losses to another mechanism from now on, and drops the kept packets.
    pub fn stand_back(&mut self) {
        self.by_name.clear();
        self.flows.clear();
        self.vacant.clear();
        self.timers.clear();
        self.again.clear();
        self.bytes = 0;
    }

    /// Notes a packet that leaves for the station and is not a repair.
    pub fn handle_departure(&mut self, now: Duration, packet: &[u8], segment: &Segment) {
        if segment.syn || segment.reset {
            // The next packet belongs to another connection.
            self.forget(&segment.flow);
            return;
        }
        if segment.payload_bytes() == 0 || segment.payload_at > MAX_HEADER_BYTES {
            return;
        }
        let index = match self.by_name.get(&segment.flow) {
            Some(&index) => index,
            None => self.begin(segment),
        };
        let Some(flow) = &mut self.flows[index] else { return };
        self.statistics.segments += 1;
        let before = flow.buffer.bytes();
        flow.handle_departure(now, packet, segment, &self.settings, self.undoes);
        self.bytes = self.bytes + flow.buffer.bytes() - before;
        self.rearm(index);
        while self.bytes > MAX_BYTES && self.clear_oldest(index) {}
    }

    /// Reads a packet from the station. It removes selective acknowledgment of losses that are repaired here.
    pub fn handle_arrival(&mut self, now: Duration, packet: &mut [u8], segment: &Segment) -> Verdict {
        let name = segment.flow.reversed();
        let Some(&index) = self.by_name.get(&name) else { return Verdict::Pass };
        if segment.syn || segment.reset {
            self.forget(&name);
            return Verdict::Pass;
        }
        let Some(flow) = &mut self.flows[index] else { return Verdict::Pass };
        let before = flow.buffer.bytes();
        let verdict = flow.handle_acknowledgment(now, segment, self.hold_off, &mut self.statistics);
        self.bytes = self.bytes + flow.buffer.bytes() - before;
        if flow.has_again() {
            self.again.push_back(index);
        }
        self.rearm(index);
        if verdict == Verdict::Strip {
            segment.strip_sack(packet);
        }
        self.statistics.suppressed += u64::from(verdict == Verdict::Suppress);
        self.statistics.stripped += u64::from(verdict == Verdict::Strip);
        verdict
    }

    /// Appends the next segment to retransmit to `out`. Call it after [`Snoop::handle_arrival`] and
    /// [`Snoop::handle_timeout`] until it returns `None`, and send its results before any later packet.
    pub fn poll_repair(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<Repair> {
        loop {
            let index = *self.again.front()?;
            let Some(flow) = &mut self.flows[index] else {
                self.again.pop_front();
                continue;
            };
            let Some((slot, start)) = flow.poll_again(now) else {
                self.again.pop_front();
                self.rearm(index);
                continue;
            };
            let Some(kept) = flow.buffer.get(slot, start) else { continue };
            if kept.other_count() == 0 {
                out.extend_from_slice(kept.header);
                out.extend_from_slice(kept.payload);
                self.statistics.repairs += 1;
                return Some(Repair::Packet);
            }
            let class = Inner::parse(kept.header).map_or(0, |inner| inner.traffic_class);
            let mut others = [(0, 0); MAX_OTHERS];
            let count = kept.other_count().min(MAX_OTHERS);
            for (other, (begins, scale)) in others.iter_mut().zip(kept.others()) {
                *other = (begins.wrapping_sub(start) as i32, scale);
            }
            let (others, digest) = (others[..count].iter().copied(), kept.digest);
            match kept.scale() {
                None => Coded::emit(digest, kept.header, others.map(|(at, _)| at), kept.payload, out),
                Some(scale) => Coded::emit_scaled(digest, kept.header, scale, others, kept.payload, out),
            }
            flow.buffer.advance_row(slot);
            self.statistics.coded_repairs += 1;
            return Some(Repair::Coded { class });
        }
    }

    /// Time of the next call of [`Snoop::handle_timeout`].
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timers.first().map(|&(at, _)| at)
    }

    /// Does the due work.
    pub fn handle_timeout(&mut self, now: Duration) {
        while let Some(&(at, index)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            let Some(flow) = &mut self.flows[index] else { continue };
            flow.timer = None;
            let before = flow.buffer.bytes();
            flow.handle_timeout(now, &mut self.statistics);
            self.bytes = self.bytes + flow.buffer.bytes() - before;
            if flow.has_again() {
                self.again.push_back(index);
            }
            self.rearm(index);
        }
    }

    /// Number of watched flows.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.by_name.len()
    }

    /// Bytes of kept packets and headers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Numbers of kept packets and of rows.
    #[must_use]
    pub fn packets(&self) -> (usize, usize) {
        let flows = self.flows.iter().flatten().map(|flow| flow.buffer.packets());
        flows.fold((0, 0), |(packets, slots), flow| (packets + flow.0, slots + flow.1))
    }

    /// The hop's loss rate for segments of the most recent flow.
    #[must_use]
    pub fn loss(&self) -> Option<f32> {
        let newest = self.flows.iter().flatten().max_by_key(|flow| flow.last_use)?;
        Some(newest.loss())
    }

    fn begin(&mut self, segment: &Segment) -> usize {
        if self.by_name.len() == MAX_FLOWS {
            let silent =
                |&(_, &index): &(&inner::Flow, &usize)| self.flows[index].as_ref().map(|flow| flow.last_use);
            if let Some(name) = self.by_name.iter().min_by_key(silent).map(|(&name, _)| name) {
                self.forget(&name);
            }
        }
        let flow = Some(Flow::new(&self.settings, segment.sequence, self.heeds_notices));
        let index = match self.vacant.pop() {
            Some(index) => {
                self.flows[index] = flow;
                index
            }
            None => {
                self.flows.push(flow);
                self.flows.len() - 1
            }
        };
        self.by_name.insert(segment.flow, index);
        index
    }

    fn forget(&mut self, name: &inner::Flow) {
        let Some(index) = self.by_name.remove(name) else { return };
        if let Some(flow) = self.flows[index].take() {
            self.bytes -= flow.buffer.bytes();
            if let Some(at) = flow.timer {
                self.timers.remove(&(at, index));
            }
        }
        self.again.retain(|&other| other != index);
        self.vacant.push(index);
    }

    /// Clears the buffer of the flow that was idle longest. Returns `false` if only `except` has one.
    fn clear_oldest(&mut self, except: usize) -> bool {
        let others = self.flows.iter_mut().enumerate().filter(|(index, _)| *index != except);
        let with_buffers =
            others.filter_map(|(_, flow)| flow.as_mut()).filter(|flow| flow.buffer.bytes() > 0);
        let Some(oldest) = with_buffers.min_by_key(|flow| flow.last_use) else { return false };
        self.bytes -= oldest.buffer.bytes();
        oldest.buffer.clear();
        true
    }

    fn rearm(&mut self, index: usize) {
        let Some(flow) = &mut self.flows[index] else { return };
        let at = flow.timeout();
        if at != flow.timer {
            if let Some(before) = flow.timer {
                self.timers.remove(&(before, index));
            }
            if let Some(at) = at {
                self.timers.insert((at, index));
            }
            flow.timer = at;
        }
    }
}
