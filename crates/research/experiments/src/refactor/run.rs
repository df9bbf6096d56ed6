//! One run: a trace through an access point, and its air time.

use std::collections::VecDeque;
use std::time::Duration;

use air::LossConfig;
use anyhow::{Result, ensure};

use super::air_time::{AirTimes, Clock};
use super::codec::{self, Exchange, PacketNumber};
use super::frame::{Coded, Frame};
use super::medium::{Fate, Medium};
use super::overhearing::Radio;
use super::reduction::Reduction;
use super::scheme::Scheme;
use super::tally::{StationTally, Tally};
use crate::trace::TracePacket;

/// What the network carries of a packet with removable payload beside it: the link sequence, by which
/// receivers and receipts name it.
pub const SEQUENCE_BYTES: usize = 3;
/// A datagram's most bytes.
const MTU_BYTES: usize = 1500;
/// Packets that wait at the access point, so that there is something to pack.
const BACKLOG_PACKETS: usize = 64;
/// IP and UDP headers of what gateway and stations say to each other.
pub const CONTROL_BYTES: usize = 28;
/// Frames between two receipts of a station. A receipt takes four bytes and a bit a frame, on a packet that
/// the station sends anyway, and is lost with it; the next one then tells of the frames of both.
pub const RECEIPT_FRAMES: usize = 32;
/// Bytes of a receipt for this many frames.
pub const fn receipt_bytes(frames: usize) -> usize {
    4 + frames.div_ceil(8)
}
/// Bytes of the packet that carries a receipt: an acknowledgment of TCP.
const CARRIER_BYTES: usize = 52;

/// Parameters of a run.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The stations, in the order of the trace's clients.
    pub radios: &'a [Radio],
    /// Handling of redundancy.
    pub scheme: Scheme,
    /// Method of computing air time.
    pub clock: Clock,
    /// The caches have two to this many slots.
    pub slot_bits: u8,
    /// Seed of the losses.
    pub seed: u64,
}

impl Run<'_> {
    /// Carries a trace to its end.
    ///
    /// # Errors
    ///
    /// When a packet does not come out as it was, or not at all.
    pub fn of(&self, trace: impl Iterator<Item = TracePacket>) -> Result<Tally> {
        let mut access_point = AccessPoint::new(self)?;
        let mut backlog = VecDeque::with_capacity(BACKLOG_PACKETS);
        let mut trace = trace.enumerate();
        loop {
            while backlog.len() < if self.scheme.packs() { BACKLOG_PACKETS } else { 1 } {
                let Some((number, packet)) = trace.next() else { break };
                backlog.push_back((number as u64, packet));
            }
            let Some((number, packet)) = backlog.pop_front() else { break };
            let mut frame = access_point.begin_frame(number, packet);
            if self.scheme.packs() {
                access_point.pack(&mut frame, &mut backlog);
            }
            access_point.send(&frame)?;
        }
        for station in 0..self.radios.len() {
            if let Some(packet) = access_point.carried[station].take() {
                let frame = Frame { number: packet.trace_number, to: station, packets: vec![packet] };
                access_point.send(&frame)?;
            }
        }
        if let Some(codec) = access_point.reduction.codec() {
            for (tally, wrong) in access_point.tally.stations.iter_mut().zip(codec.wrong_packets()) {
                tally.wrong = *wrong;
            }
        }
        Ok(access_point.tally)
    }
}

/// The stations, among `count`, whose bits are set.
fn stations(bits: u64, count: usize) -> impl Iterator<Item = usize> {
    (0..count).filter(move |station| bits >> station & 1 == 1)
}

struct AccessPoint {
    medium: Medium,
    air_times: Vec<AirTimes>,
    reduction: Reduction,
    tally: Tally,
    now: f64,
    /// A packet for each station that did not fit into its last datagram.
    carried: Vec<Option<Coded>>,
    /// What each overheard and has not told yet, and of how many frames.
    untold: Vec<(Vec<PacketNumber>, usize)>,
    frames: usize,
    tells: bool,
    proves: bool,
}

impl AccessPoint {
    fn new(run: &Run<'_>) -> Result<Self> {
        let count = run.radios.len();
        let mut radios = run.radios.to_vec();
        if run.scheme == Scheme::PerfectOverhearing {
            radios.iter_mut().for_each(|radio| radio.overhearing_loss = Some(LossConfig::None));
        }
        let air_times =
            run.radios.iter().map(|radio| AirTimes::new(run.clock, radio)).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            medium: Medium::new(&radios, run.seed),
            reduction: Reduction::new(run, &air_times)?,
            air_times,
            tally: Tally { stations: vec![StationTally::default(); count] },
            now: 0.0,
            carried: (0..count).map(|_| None).collect(),
            untold: vec![Default::default(); count],
            frames: 0,
            tells: run.scheme.needs_receipts(),
            proves: run.scheme.has_mac(),
        })
    }

    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.now)
    }

    fn encode(&mut self, trace_number: u64, packet: TracePacket) -> Coded {
        let now = self.now();
        let encoded = self.reduction.encode(packet.client, packet.payload(), now);
        let is_numbered = encoded.number.is_some() && (self.proves || self.tells);
        Coded { trace_number, packet, encoded, sequence_bytes: if is_numbered { SEQUENCE_BYTES } else { 0 } }
    }

    fn begin_frame(&mut self, number: u64, packet: TracePacket) -> Frame {
        let to = packet.client;
        let mut packets = Vec::new();
        packets.extend(self.carried[to].take());
        packets.push(self.encode(number, packet));
        let mut frame = Frame { number, to, packets };
        if frame.bytes() > MTU_BYTES && frame.packets.len() > 1 {
            self.carried[to] = frame.packets.pop();
        }
        frame
    }

    /// Fills a datagram with what waits for its station.
    fn pack(&mut self, frame: &mut Frame, backlog: &mut VecDeque<(u64, TracePacket)>) {
        while self.carried[frame.to].is_none() {
            let next = backlog.iter().position(|(_, packet)| packet.client == frame.to);
            let Some((number, packet)) = next.and_then(|next| backlog.remove(next)) else { return };
            let coded = self.encode(number, packet);
            frame.packets.push(coded);
            if frame.bytes() > MTU_BYTES {
                self.carried[frame.to] = frame.packets.pop();
            }
        }
    }

    /// Sends to a station until it receives the frame, and adds the air time.
    fn transmit(&mut self, station: usize, number: u64, bytes: usize) -> Fate {
        let fate = self.medium.send(station, number, bytes);
        for retry in 0..fate.tries {
            let arrived = retry + 1 == fate.tries;
            self.spend(station, self.air_times[station].try_seconds(bytes, retry, arrived));
        }
        fate
    }

    fn spend(&mut self, station: usize, seconds: f64) {
        self.now += seconds;
        self.tally.stations[station].air_seconds += seconds;
    }

    fn send(&mut self, frame: &Frame) -> Result<()> {
        let fate = self.transmit(frame.to, frame.number, frame.bytes());
        let tally = &mut self.tally.stations[frame.to];
        tally.tries += u64::from(fate.tries);
        tally.lost += u64::from(fate.tries - 1);
        for coded in &frame.packets {
            tally.packets += 1;
            tally.packet_bytes += coded.packet.bytes.len() as u64;
            tally.payload_bytes += coded.packet.payload().len() as u64;
            tally.encoded_bytes += coded.encoded.bytes.len() as u64;
            tally.removed_bytes += coded.encoded.removed_bytes as u64;
        }
        for coded in &frame.packets {
            self.arrive(frame.to, coded, fate.overheard_by)?;
        }
        self.flush();
        self.frames += 1;
        if self.tells && self.frames.is_multiple_of(RECEIPT_FRAMES) {
            self.tell();
        }
        Ok(())
    }

    /// A packet is at its station, and at those that overheard it.
    fn arrive(&mut self, to: usize, coded: &Coded, overheard_by: u64) -> Result<()> {
        for station in stations(overheard_by, self.untold.len()) {
            self.reduction.note_overheard(station, coded.packet.payload());
        }
        let (now, payload) = (self.now(), coded.packet.payload());
        let (Some(codec), Some(number)) = (self.reduction.codec(), coded.encoded.number) else {
            return Ok(());
        };
        for station in stations(overheard_by, self.untold.len()) {
            codec.overhear(station, &coded.encoded.bytes)?;
            self.untold[station].0.push(number);
        }
        let mut waits = codec.receive(to, number, &coded.encoded.bytes, payload, now)?;
        let mut exchanges = 0;
        while waits {
            let now = self.now();
            let Some(codec) = self.reduction.codec() else { return Ok(()) };
            let Some(exchange) = codec.ask(to, number, now)? else {
                return self.send_whole(to, coded, number);
            };
            let [request_bytes, reply_bytes] = self.exchange_bytes(coded, &exchange)?;
            // A place of its own for each, behind all packets of any trace.
            let place = coded.trace_number | (2 * exchanges + 1) << 40;
            self.transmit(to, place, CONTROL_BYTES + request_bytes);
            let fate = self.transmit(to, place + (1 << 40), CONTROL_BYTES + reply_bytes);
            let now = self.now();
            let Some(codec) = self.reduction.codec() else { return Ok(()) };
            for station in stations(fate.overheard_by, self.untold.len()) {
                codec.overhear_reply(station, &exchange.reply)?;
                self.untold[station].0.push(exchange.number);
            }
            waits = codec.supply(to, &exchange, payload, now)?;
            exchanges += 1;
        }
        self.tally.stations[to].requests += u64::from(exchanges > 0);
        Ok(())
    }

    /// Bytes of a request and of its reply. The paper's name chunks by the packet's shim, both times.
    fn exchange_bytes(&self, coded: &Coded, exchange: &Exchange) -> Result<[usize; 2]> {
        if self.proves {
            return Ok([exchange.request_bytes, exchange.reply.len()]);
        }
        let shim_bytes = coded.shim_bytes();
        Ok([shim_bytes, shim_bytes + exchange.chunks_bytes()?])
    }

    /// What a packet lacks has been displaced meanwhile: it is sent again as it was.
    fn send_whole(&mut self, to: usize, coded: &Coded, number: PacketNumber) -> Result<()> {
        let whole = codec::whole(coded.packet.payload());
        let bytes = coded.packet.payload_offset + coded.sequence_bytes + whole.len();
        // it meets other air than the first time
        let fate = self.transmit(to, coded.trace_number | 1 << 50, bytes);
        let tally = &mut self.tally.stations[to];
        tally.requests += 1;
        tally.encoded_bytes += whole.len() as u64;
        let now = self.now();
        let Some(codec) = self.reduction.codec() else { return Ok(()) };
        for station in stations(fate.overheard_by, self.untold.len()) {
            codec.overhear(station, &whole)?;
        }
        let waits = codec.receive(to, number, &whole, coded.packet.payload(), now)?;
        ensure!(!waits, "a packet that lacks nothing waits");
        Ok(())
    }

    /// The three phases of a flush, if it is time for one (section 3.3): a broadcast that each station may
    /// lose, an acknowledgment of each that has emptied its cache, and the gateway's own cache.
    fn flush(&mut self) {
        let now = self.now();
        let Some(flush) = self.reduction.codec().and_then(|codec| codec.flush_wanted(now)) else { return };
        let (bytes, place) = (CONTROL_BYTES + size_of_val(&flush), 1 << 60 | u64::from(flush) << 32);
        let place = place | (self.frames as u64 & u64::from(u32::MAX));
        let seconds = |station: &usize| self.air_times[*station].try_seconds(bytes, 0, false);
        let slowest = (0..self.untold.len()).max_by(|one, other| seconds(one).total_cmp(&seconds(other)));
        let Some(slowest) = slowest else { return };
        let broadcast_seconds = seconds(&slowest);
        self.spend(slowest, broadcast_seconds);
        for station in 0..self.untold.len() {
            if !self.medium.once(station, place, bytes) {
                continue;
            }
            self.transmit(station, place | 1 << 59, bytes);
            let now = self.now();
            if let Some(codec) = self.reduction.codec() {
                codec.flush(station, flush, now);
            }
        }
    }

    /// Stations report overheard packets. The next report repeats a lost one.
    fn tell(&mut self) {
        for station in 0..self.untold.len() {
            let (overheard, frames) = &mut self.untold[station];
            *frames += RECEIPT_FRAMES;
            let bytes = receipt_bytes(*frames);
            let place = 1 << 61 | self.frames as u64;
            let arrives = self.medium.once(station, place, CARRIER_BYTES + bytes);
            if let Some(codec) = self.reduction.codec().filter(|_| arrives) {
                codec.told(station, overheard.drain(..));
                *frames = 0;
            }
            let seconds = bytes as f64 * self.air_times[station].per_byte_seconds();
            self.spend(station, seconds);
            self.tally.stations[station].receipt_seconds += seconds;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::refactor::overhearing::Overhearing;
    use crate::refactor::scheme::{Additions, Estimates};
    use crate::trace::{Composer, Fresh, Kind, Mix};

    fn tally(scheme: Scheme, setting: usize, clock: Clock) -> Tally {
        let fresh = Arc::new(Fresh::random(3));
        let trace = Composer::new(fresh, Mix::High, Kind::Whole, 3 << 20, 5);
        let radios = Overhearing::PAPER[setting].radios();
        Run { radios: &radios, scheme, clock, slot_bits: 17, seed: 5 }.of(trace).unwrap()
    }

    #[test]
    fn every_packet_comes_out_as_it_was_under_every_scheme() {
        let whole = tally(Scheme::Nothing, 2, Clock::Paper);
        let mut schemes = Scheme::OF_FIGURES.to_vec();
        schemes.push(Scheme::AsPrinted(Estimates::TrueAnd(-20.0)));
        schemes.extend((0..Additions::COUNT).map(|number| Scheme::With(Additions::ALL.switched(number))));
        for scheme in schemes {
            let tally = tally(scheme, 2, Clock::Paper);
            for (ours, plain) in tally.stations.iter().zip(&whole.stations) {
                assert_eq!(
                    (ours.packets, ours.packet_bytes),
                    (plain.packets, plain.packet_bytes),
                    "{scheme}"
                );
            }
            assert_eq!(scheme == Scheme::Nothing, tally.saved_share() <= 0.0, "{scheme}");
            assert_eq!(tally.stations.iter().map(|station| station.wrong).sum::<u64>(), 0, "{scheme}");
        }
    }

    #[test]
    fn air_time_is_never_less_than_the_ceilings_and_less_with_receipts_than_without_re() {
        for setting in [0, 4] {
            let air = |scheme| tally(scheme, setting, Clock::Standard).air_seconds();
            let (nothing, receipts) = (air(Scheme::Nothing), air(Scheme::Receipts));
            let (knowing, ceiling) = (air(Scheme::PerfectKnowledge), air(Scheme::MaxMatch));
            assert!(
                ceiling < knowing && knowing < receipts && receipts < nothing,
                "{ceiling} {knowing} {receipts} {nothing}"
            );
        }
    }

    #[test]
    fn the_papers_asks_less_often_than_the_greedy_one_and_has_no_receipts() {
        let (printed, greedy) =
            (tally(Scheme::PAPER, 2, Clock::Paper), tally(Scheme::GreedyAsPrinted, 2, Clock::Paper));
        let [c1, c2] = &greedy.stations[..] else { panic!("two stations") };
        assert!(c1.requests == 0 && c2.requests > 0, "{greedy:?}");
        assert!(printed.stations[1].requests < c2.requests);
        assert!(printed.stations.iter().all(|station| station.receipt_seconds == 0.0));
    }

    #[test]
    fn a_receipt_is_lost_with_its_packet() {
        let radios = Overhearing::PAPER[4].radios();
        let mut medium = Medium::new(&radios, 3);
        let lost =
            (0..5000).filter(|number| !medium.once(1, *number, CARRIER_BYTES + receipt_bytes(32))).count();
        assert!((5..60).contains(&lost), "{lost} of 5000");
        assert!((0..5000).all(|number| medium.once(0, number, 1400)), "C1 loses nothing");
    }

    #[test]
    fn packed_packets_share_transmissions() {
        let tries = |scheme| -> u64 {
            tally(scheme, 0, Clock::Paper).stations.iter().map(|station| station.tries).sum()
        };
        let (single, packed) = (tries(Scheme::Receipts), tries(Scheme::Packed));
        assert!(packed * 10 < single * 9, "{packed} of {single}");
    }

    #[test]
    fn equal_seeds_give_equal_tallies() {
        assert_eq!(tally(Scheme::Receipts, 1, Clock::Paper), tally(Scheme::Receipts, 1, Clock::Paper));
    }
}
