//! One run: a trace through an access point, and what it took of the air.

use std::collections::VecDeque;
use std::time::Duration;

use air::LossConfig;
use anyhow::{Result, ensure};
use published::comparators::Ideal;

use super::air_time::{AirTimes, Clock};
use super::codec::{self, Codec, PacketNumber};
use super::medium::{Fate, Medium};
use super::overhearing::Radio;
use super::scheme::Scheme;
use super::tally::{StationTally, Tally};
use crate::trace::TracePacket;

/// What the network carries of a packet with removable payload beside it: the link sequence, by which
/// receivers and receipts name it.
pub const SEQUENCE_BYTES: usize = 3;
/// The length of each of several packets in a datagram.
const LENGTH_BYTES: usize = 2;
/// A datagram's most bytes.
const MTU_BYTES: usize = 1500;
/// Packets that wait at the access point, so that there is something to pack.
const BACKLOG_PACKETS: usize = 64;
/// IP and UDP headers of what gateway and stations say to each other.
pub const CONTROL_BYTES: usize = 28;
/// Stations tell after so many frames which of them they overheard: four bytes and a bit a frame, on packets
/// that they send anyway.
pub const RECEIPT_FRAMES: usize = 32;
pub const RECEIPT_BYTES: usize = 4 + RECEIPT_FRAMES / 8;

/// What is run.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The stations, in the order of the trace's clients.
    pub radios: &'a [Radio],
    /// What is done about redundancy.
    pub scheme: Scheme,
    /// What air time is reckoned by.
    pub clock: Clock,
    /// The caches have two to this many slots.
    pub slot_bits: u8,
    /// Of the losses.
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
            let mut frame = access_point.begin_frame(number, packet)?;
            if self.scheme.packs() {
                access_point.pack(&mut frame, &mut backlog)?;
            }
            access_point.send(&frame)?;
        }
        for station in 0..self.radios.len() {
            if let Some(packet) = access_point.carried[station].take() {
                let frame = Frame { number: packet.trace_number, to: station, packets: vec![packet] };
                access_point.send(&frame)?;
            }
        }
        Ok(access_point.tally)
    }
}

/// A packet as it is sent.
struct Coded {
    trace_number: u64,
    packet: TracePacket,
    /// The codec's; none where there is none.
    number: Option<PacketNumber>,
    encoded: Vec<u8>,
    removed_bytes: usize,
}

impl Coded {
    /// Its headers, its number and what is left of its payload.
    fn bytes(&self) -> usize {
        let sequence = if self.number.is_some() { SEQUENCE_BYTES } else { 0 };
        self.packet.payload_offset + sequence + self.encoded.len()
    }
}

struct Frame {
    /// By which the medium decides about it.
    number: u64,
    to: usize,
    packets: Vec<Coded>,
}

impl Frame {
    fn bytes(&self) -> usize {
        let lengths = if self.packets.len() > 1 { self.packets.len() * LENGTH_BYTES } else { 0 };
        self.packets.iter().map(Coded::bytes).sum::<usize>() + lengths
    }
}

/// Those of `count` stations whose bits are set.
fn stations(bits: u64, count: usize) -> impl Iterator<Item = usize> {
    (0..count).filter(move |station| bits >> station & 1 == 1)
}

enum Reduction {
    Nothing,
    Ideal(Box<Ideal>),
    /// One for each station, of what it has heard.
    Heard(Vec<Ideal>),
    Codec(Box<Codec>),
}

struct AccessPoint {
    medium: Medium,
    air_times: Vec<AirTimes>,
    reduction: Reduction,
    tally: Tally,
    now: f64,
    /// A packet for each station that did not fit into its last datagram.
    carried: Vec<Option<Coded>>,
    /// What each overheard and has not told yet.
    untold: Vec<Vec<PacketNumber>>,
    frames: usize,
    tells: bool,
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
            reduction: match run.scheme {
                Scheme::Nothing => Reduction::Nothing,
                Scheme::Perfect => Reduction::Ideal(Box::new(codec::ideal(run.scheme.min_chunk()))),
                Scheme::PerfectKnowledge => {
                    Reduction::Heard((0..count).map(|_| codec::ideal(run.scheme.min_chunk())).collect())
                }
                _ => Reduction::Codec(Box::new(Codec::new(run, &air_times)?)),
            },
            air_times,
            tally: Tally { stations: vec![StationTally::default(); count] },
            now: 0.0,
            carried: (0..count).map(|_| None).collect(),
            untold: vec![Vec::new(); count],
            frames: 0,
            tells: run.scheme.needs_receipts(),
        })
    }

    fn encode(&mut self, trace_number: u64, packet: TracePacket) -> Result<Coded> {
        let mut encoded = Vec::with_capacity(packet.bytes.len());
        let now = Duration::from_secs_f64(self.now);
        let mut count = |ideal: &mut Ideal| {
            let counted = ideal.encode(packet.payload(), true);
            // nobody has to decode it, so that only its length is made
            encoded.resize(counted.sent_bytes as usize, 0);
            (None, counted.found_bytes as usize)
        };
        let (number, removed_bytes) = match &mut self.reduction {
            Reduction::Nothing => {
                encoded.extend_from_slice(packet.payload());
                (None, 0)
            }
            Reduction::Ideal(ideal) => count(ideal),
            Reduction::Heard(ideals) => count(&mut ideals[packet.client]),
            Reduction::Codec(codec) => {
                let (number, removed_bytes) =
                    codec.encode(packet.client, packet.payload(), now, &mut encoded);
                (Some(number), removed_bytes)
            }
        };
        Ok(Coded { trace_number, packet, number, encoded, removed_bytes })
    }

    fn begin_frame(&mut self, number: u64, packet: TracePacket) -> Result<Frame> {
        let to = packet.client;
        let mut packets = Vec::new();
        packets.extend(self.carried[to].take());
        packets.push(self.encode(number, packet)?);
        let mut frame = Frame { number, to, packets };
        if frame.bytes() > MTU_BYTES && frame.packets.len() > 1 {
            self.carried[to] = frame.packets.pop();
        }
        Ok(frame)
    }

    /// Fills a datagram with what waits for its station.
    fn pack(&mut self, frame: &mut Frame, backlog: &mut VecDeque<(u64, TracePacket)>) -> Result<()> {
        while self.carried[frame.to].is_none() {
            let next = backlog.iter().position(|(_, packet)| packet.client == frame.to);
            let Some((number, packet)) = next.and_then(|next| backlog.remove(next)) else { return Ok(()) };
            let coded = self.encode(number, packet)?;
            frame.packets.push(coded);
            if frame.bytes() > MTU_BYTES {
                self.carried[frame.to] = frame.packets.pop();
            }
        }
        Ok(())
    }

    /// Sends to a station until it has it, and reckons the air.
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
            tally.encoded_bytes += coded.encoded.len() as u64;
            tally.removed_bytes += coded.removed_bytes as u64;
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
        if let Reduction::Heard(ideals) = &mut self.reduction {
            for station in stations(overheard_by, ideals.len()) {
                // kept as if it were sent there
                ideals[station].encode(coded.packet.payload(), true);
            }
        }
        let (Reduction::Codec(codec), Some(number)) = (&mut self.reduction, coded.number) else {
            return Ok(());
        };
        for station in stations(overheard_by, self.untold.len()) {
            codec.overhear(station, &coded.encoded)?;
            self.untold[station].push(number);
        }
        let now = Duration::from_secs_f64(self.now);
        let mut waits = codec.receive(to, number, &coded.encoded, coded.packet.payload(), now)?;
        let mut exchanges = 0;
        while waits {
            let now = Duration::from_secs_f64(self.now);
            let Reduction::Codec(codec) = &mut self.reduction else { return Ok(()) };
            let Some(exchange) = codec.ask(to, number, now)? else {
                return self.send_whole(to, coded, number);
            };
            // A place of its own for each, behind all packets of any trace.
            let place = coded.trace_number | (2 * exchanges + 1) << 40;
            self.transmit(to, place, CONTROL_BYTES + exchange.request_bytes);
            let fate = self.transmit(to, place + (1 << 40), CONTROL_BYTES + exchange.reply.len());
            let now = Duration::from_secs_f64(self.now);
            let Reduction::Codec(codec) = &mut self.reduction else { return Ok(()) };
            for station in stations(fate.overheard_by, self.untold.len()) {
                codec.overhear_reply(station, &exchange.reply)?;
                self.untold[station].push(exchange.number);
            }
            waits = codec.supply(to, &exchange, coded.packet.payload(), now)?;
            exchanges += 1;
        }
        self.tally.stations[to].requests += u64::from(exchanges > 0);
        Ok(())
    }

    /// What a packet lacks has been displaced meanwhile: it is sent again as it was.
    fn send_whole(&mut self, to: usize, coded: &Coded, number: PacketNumber) -> Result<()> {
        let whole = codec::whole(coded.packet.payload());
        let bytes = coded.packet.payload_offset + SEQUENCE_BYTES + whole.len();
        // it meets other air than the first time
        let fate = self.transmit(to, coded.trace_number | 1 << 50, bytes);
        let tally = &mut self.tally.stations[to];
        tally.requests += 1;
        tally.encoded_bytes += whole.len() as u64;
        let now = Duration::from_secs_f64(self.now);
        let Reduction::Codec(codec) = &mut self.reduction else { return Ok(()) };
        for station in stations(fate.overheard_by, self.untold.len()) {
            codec.overhear(station, &whole)?;
        }
        let waits = codec.receive(to, number, &whole, coded.packet.payload(), now)?;
        ensure!(!waits, "a packet that lacks nothing waits");
        Ok(())
    }

    /// Caches are flushed if it is time to (section 3.3): every station is asked, and acknowledges.
    fn flush(&mut self) {
        let now = Duration::from_secs_f64(self.now);
        let Reduction::Codec(codec) = &mut self.reduction else { return };
        let Some(flush) = codec.flush_wanted(now) else { return };
        for station in 0..self.untold.len() {
            let place = u64::from(flush) | 1 << 60;
            for place in [place, place | 1 << 59] {
                self.transmit(station, place, CONTROL_BYTES + size_of_val(&flush));
            }
            let now = Duration::from_secs_f64(self.now);
            let Reduction::Codec(codec) = &mut self.reduction else { return };
            codec.flush(station, flush, now);
        }
    }

    /// Stations say what they overheard.
    fn tell(&mut self) {
        for station in 0..self.untold.len() {
            let seconds = RECEIPT_BYTES as f64 * self.air_times[station].per_byte_seconds();
            self.spend(station, seconds);
            self.tally.stations[station].receipt_seconds += seconds;
            let Reduction::Codec(codec) = &mut self.reduction else { return };
            codec.told(station, self.untold[station].drain(..));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::refactor::overhearing::Overhearing;
    use crate::refactor::scheme::Estimates;
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
        schemes.push(Scheme::Model(Estimates::TrueAnd(-20.0)));
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
        }
    }

    #[test]
    fn air_time_is_never_less_than_the_ceilings_and_with_receipts_less_than_without_re() {
        for setting in [0, 4] {
            let air = |scheme| tally(scheme, setting, Clock::Standard).air_seconds();
            let (nothing, receipts) = (air(Scheme::Nothing), air(Scheme::Receipts));
            let (heard, perfect) = (air(Scheme::PerfectKnowledge), air(Scheme::Perfect));
            assert!(
                perfect < heard && heard < receipts && receipts < nothing,
                "{perfect} {heard} {receipts} {nothing}"
            );
        }
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
