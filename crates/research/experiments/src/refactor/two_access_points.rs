//! Section 5.5.1's setting: C1 and C2 at one access point, C3 at another, and C2 overhears both.
//!
//! The access points hear each other and take turns, or they are hidden from each other. In the latter case
//! simultaneous frames collide at C2. The collision rate then follows from the other's load and the lengths
//! of frames, because its frames begin at random times.

use std::time::Duration;

use air::loss::LossProcess;
use anyhow::{Result, ensure};
use overhear::knowledge::OverheardFractions;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::air_time::{AirTimes, Clock};
use super::codec::{self, Codec, PacketNumber};
use super::overhearing::{Overhearing, Radio};
use super::run::{CONTROL_BYTES, RECEIPT_FRAMES, Run, SEQUENCE_BYTES, receipt_bytes};
use super::scheme::Scheme;
use super::tally::{StationTally, Tally};
use crate::trace::TracePacket;

/// C1, C2 and C3, by their numbers in a trace.
pub const CLIENTS: usize = 3;
const C2: usize = 1;
/// C2's place among the stations of either access point.
const PLACE_OF_C2: usize = 1;
/// No setting comes near.
const MOST_TRIES: u8 = 60;

/// What of the other access point bears on what C2 is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heard {
    /// Nothing is removed at all.
    NoRe,
    /// What C2 overhears of its own access point.
    OwnAccessPoint,
    /// Both: the access points hear each other, as the paper's do, and C2 reports packets overheard from
    /// either to its own.
    Both,
    /// Of both: the access points do not hear each other, and one names to the other, over the wire, what C2
    /// overheard.
    BothByName,
}

/// One run.
#[derive(Debug, Clone, Copy)]
pub struct TwoAccessPoints {
    /// Where C2 stands.
    pub overhearing: Overhearing,
    /// Handling of overheard frames.
    pub heard: Heard,
    /// The paper's codec as printed, or ours by receipts.
    pub scheme: Scheme,
    /// Whether the access points are hidden from each other.
    pub hidden: bool,
    /// The caches have two to this many slots.
    pub slot_bits: u8,
    /// Seed of the losses.
    pub seed: u64,
}

impl TwoAccessPoints {
    /// Carries a trace to its end.
    ///
    /// # Errors
    ///
    /// When a packet does not come out as it was.
    pub fn of(&self, trace: impl Iterator<Item = TracePacket>) -> Result<Tally> {
        let mut network = Network::new(self)?;
        for (number, packet) in trace.enumerate() {
            network.carry(number as u64, &packet)?;
        }
        let wrong = network.codecs[0].wrong_packets();
        network.tally.stations[C2].wrong = wrong[PLACE_OF_C2];
        Ok(network.tally)
    }
}

/// How long an access point has been sending, and in how many frames.
#[derive(Debug, Clone, Copy, Default)]
struct Activity {
    seconds: f64,
    frames: f64,
}

struct Network {
    heard: Heard,
    scheme: Scheme,
    hidden: bool,
    /// By Table 1, whether C2 more likely overhears the other access point's frames than not.
    overhears_likely: bool,
    codecs: [Codec; 2],
    /// By client.
    air_times: Vec<AirTimes>,
    to_c2: LossProcess,
    /// What C2 loses of what either access point sends to others.
    overhearing: [LossProcess; 2],
    activity: [Activity; 2],
    collisions: ChaCha8Rng,
    /// What C2 has overheard of either and not told.
    untold: [Vec<PacketNumber>; 2],
    /// What the first access point heard last of the other.
    last_heard: Option<PacketNumber>,
    frames: usize,
    tally: Tally,
}

/// A frame's fate.
struct Fate {
    overheard: bool,
}

impl Network {
    fn new(run: &TwoAccessPoints) -> Result<Self> {
        let [near, far] = run.overhearing.radios();
        let codec = || -> Result<Codec> {
            let radios = [near.clone(), far.clone()];
            let air_times = air_times(&radios)?;
            let run = Run {
                radios: &radios,
                scheme: run.scheme,
                clock: Clock::Paper,
                slot_bits: run.slot_bits,
                seed: run.seed,
            };
            Codec::new(&run, &air_times)
        };
        let seed = run.seed << 16;
        let [own, sent] = [&far, &near].map(|radio| radio.rate.bits_per_second());
        let by_table = OverheardFractions::default().probability(own, sent);
        let overhears = far.overhearing_loss.clone().unwrap_or_default();
        Ok(Self {
            heard: run.heard,
            scheme: run.scheme,
            hidden: run.hidden,
            overhears_likely: by_table > 0.5,
            codecs: [codec()?, codec()?],
            air_times: air_times(&[near.clone(), far.clone(), near])?,
            to_c2: LossProcess::new(&far.loss, seed),
            overhearing: [1, 2].map(|other| LossProcess::new(&overhears, seed | other)),
            activity: [Activity::default(); 2],
            collisions: ChaCha8Rng::seed_from_u64(seed | 3),
            untold: [Vec::new(), Vec::new()],
            last_heard: None,
            frames: 0,
            tally: Tally { stations: vec![StationTally::default(); CLIENTS] },
        })
    }

    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.tally.air_seconds())
    }

    /// Whether something of this length meets a frame of the other access point, at C2.
    fn collides(&mut self, from: usize, seconds: f64) -> bool {
        let other = self.activity[1 - from];
        if !self.hidden || other.frames == 0.0 {
            return false;
        }
        // the time in which all was sent is that of both together, as if they had shared the air
        let all = self.activity[0].seconds + self.activity[1].seconds;
        let busy = (other.seconds / all).min(1.0);
        let free = (1.0 - busy) * (-(other.frames / all) * seconds).exp();
        self.collisions.random::<f64>() >= free
    }

    /// Sends to a client until it has it.
    fn transmit(&mut self, from: usize, client: usize, number: u64, bytes: usize) -> Fate {
        let (bits, mut overheard) = (bytes as u64 * 8, false);
        for retry in 0..MOST_TRIES {
            let lost = client == C2 && self.to_c2.lose(number, retry, bits);
            let missed = client != C2 && self.overhearing[from].lose(number, retry, bits);
            let seconds = self.air_times[client].try_seconds(bytes, retry, !lost);
            let collides = self.collides(from, seconds);
            self.activity[from].seconds += seconds;
            self.activity[from].frames += 1.0;
            let is_hit = client == C2 && collides;
            let arrived = !lost && !is_hit;
            overheard |= !missed && !collides;
            let tally = &mut self.tally.stations[client];
            tally.air_seconds += seconds;
            tally.tries += 1;
            tally.lost += u64::from(!arrived);
            if arrived {
                break;
            }
        }
        Fate { overheard: overheard && client != C2 }
    }

    fn carry(&mut self, number: u64, packet: &TracePacket) -> Result<()> {
        let client = packet.client;
        let (from, place) = if client < 2 { (0, client) } else { (1, 0) };
        let now = self.now();
        let mut encoded = Vec::with_capacity(packet.bytes.len());
        let sent = match self.heard {
            Heard::NoRe => {
                encoded.extend_from_slice(packet.payload());
                None
            }
            _ => Some(self.codecs[from].encode(place, packet.payload(), now, &mut encoded)),
        };
        let is_numbered = sent.is_some() && self.scheme.has_mac();
        let sequence = if is_numbered { SEQUENCE_BYTES } else { 0 };
        let bytes = packet.payload_offset + sequence + encoded.len();
        let fate = self.transmit(from, client, number, bytes);
        let tally = &mut self.tally.stations[client];
        tally.packets += 1;
        tally.packet_bytes += packet.bytes.len() as u64;
        tally.payload_bytes += packet.payload().len() as u64;
        tally.encoded_bytes += encoded.len() as u64;
        let Some((sent, removed_bytes)) = sent else { return Ok(()) };
        tally.removed_bytes += removed_bytes as u64;
        self.hear(from, client, sent, &encoded, &fate)?;
        let now = self.now();
        if self.codecs[from].receive(place, sent, &encoded, packet.payload(), now)? {
            self.supply(from, client, number, sent, packet.payload())?;
        }
        self.flush();
        self.frames += 1;
        if self.scheme.needs_receipts() && self.frames.is_multiple_of(RECEIPT_FRAMES) {
            self.tell()?;
        }
        Ok(())
    }

    /// What others than its station hear of a frame.
    fn hear(
        &mut self,
        from: usize,
        client: usize,
        sent: PacketNumber,
        encoded: &[u8],
        fate: &Fate,
    ) -> Result<()> {
        let of_other = match self.heard {
            Heard::Both if from == 1 => Some(self.codecs[0].hear(encoded, self.last_heard)?),
            _ => None,
        };
        self.last_heard = of_other.or(self.last_heard);
        if let Some(of_other) = of_other.filter(|_| self.overhears_likely && !self.scheme.needs_receipts()) {
            self.codecs[0].told(PLACE_OF_C2, std::iter::once(of_other));
        }
        let listens = from == 0 || matches!(self.heard, Heard::Both | Heard::BothByName);
        if fate.overheard && listens {
            self.codecs[0].overhear(PLACE_OF_C2, encoded)?;
            // what its own access point heard of the other has a number there
            let untold = if of_other.is_some() { 0 } else { from };
            self.untold[untold].push(of_other.unwrap_or(sent));
        }
        if client == C2 {
            // C1 hears all of its access point
            self.codecs[0].overhear(0, encoded)?;
            if self.scheme.needs_receipts() {
                self.codecs[0].told(0, std::iter::once(sent));
            }
        }
        Ok(())
    }

    /// Requests a station's missing chunks.
    fn supply(
        &mut self,
        from: usize,
        client: usize,
        number: u64,
        sent: PacketNumber,
        payload: &[u8],
    ) -> Result<()> {
        let place = if client < 2 { client } else { 0 };
        self.tally.stations[client].requests += 1;
        for exchange in 0.. {
            let now = self.now();
            let at = number | (2 * exchange + 1) << 40;
            let Some(asked) = self.codecs[from].ask(place, sent, now)? else {
                let whole = codec::whole(payload);
                let bytes = CONTROL_BYTES + whole.len();
                let fate = self.transmit(from, client, number | 1 << 50, bytes);
                self.hear(from, client, sent, &whole, &fate)?;
                let now = self.now();
                let waits = self.codecs[from].receive(place, sent, &whole, payload, now)?;
                ensure!(!waits, "a packet that lacks nothing waits");
                return Ok(());
            };
            self.transmit(from, client, at, CONTROL_BYTES + asked.request_bytes);
            self.transmit(from, client, at + (1 << 40), CONTROL_BYTES + asked.reply.len());
            let now = self.now();
            if !self.codecs[from].supply(place, &asked, payload, now)? {
                break;
            }
        }
        Ok(())
    }

    /// Either access point's flush, if it is time for one: each of its stations is asked, and acknowledges.
    fn flush(&mut self) {
        for from in 0..2 {
            let now = self.now();
            let Some(flush) = self.codecs[from].flush_wanted(now) else { continue };
            let clients = if from == 0 { 0..2 } else { 2..CLIENTS };
            for (place, client) in clients.enumerate() {
                let number = 1 << 60 | u64::from(flush) << 32 | self.frames as u64;
                for number in [number, number | 1 << 59] {
                    self.transmit(from, client, number, CONTROL_BYTES + size_of_val(&flush));
                }
                let now = self.now();
                self.codecs[from].flush(place, flush, now);
            }
        }
    }

    /// C2 reports packets overheard from either.
    fn tell(&mut self) -> Result<()> {
        let seconds = receipt_bytes(RECEIPT_FRAMES) as f64 * self.air_times[C2].per_byte_seconds();
        let tally = &mut self.tally.stations[C2];
        tally.air_seconds += seconds;
        tally.receipt_seconds += seconds;
        let [own, other] = &mut self.untold;
        self.codecs[0].told(PLACE_OF_C2, own.drain(..));
        if self.heard == Heard::BothByName {
            let message = self.codecs[1].news(PLACE_OF_C2, other.drain(..));
            self.codecs[0].take_news(PLACE_OF_C2, &message)?;
        }
        Ok(())
    }
}

fn air_times(radios: &[Radio]) -> Result<Vec<AirTimes>> {
    radios.iter().map(|radio| AirTimes::new(Clock::Paper, radio)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::trace::{Composer, Fresh, Kind, Mix};

    fn goodput(heard: Heard, hidden: bool, place: usize) -> f64 {
        of(Scheme::Receipts, heard, hidden, place).goodput()
    }

    fn of(scheme: Scheme, heard: Heard, hidden: bool, place: usize) -> StationTally {
        let fresh = Arc::new(Fresh::random(1));
        let trace = Composer::among(CLIENTS, fresh, Mix::High, Kind::Whole, 3 << 20, 3);
        let overhearing = Overhearing::PAPER[place];
        let run = TwoAccessPoints { overhearing, heard, scheme, hidden, slot_bits: 17, seed: 5 };
        run.of(trace).unwrap().stations[C2]
    }

    #[test]
    fn c2_gains_from_the_other_access_point_whether_they_hear_each_other_or_name_what_it_heard() {
        let (nothing, own) = (goodput(Heard::NoRe, false, 0), goodput(Heard::OwnAccessPoint, false, 0));
        let (both, by_name) = (goodput(Heard::Both, false, 0), goodput(Heard::BothByName, false, 0));
        assert!(nothing < own && own < by_name && own < both, "{nothing} {own} {by_name} {both}");
        // Neighbours of a named chunk are unknown, so nothing beside it is removed.
        assert!(both / by_name < 1.12, "{by_name} {both}");
    }

    #[test]
    fn the_papers_gains_from_the_other_access_point_and_restores_nothing_wrong() {
        let of = |heard| of(Scheme::PAPER, heard, false, 0);
        let (own, both) = (of(Heard::OwnAccessPoint), of(Heard::Both));
        assert!(own.goodput() < both.goodput(), "{own:?} {both:?}");
        assert_eq!((own.wrong, both.wrong), (0, 0));
    }

    #[test]
    fn hidden_terminals_cost_but_what_is_left_to_overhear_still_gains() {
        let hidden = |heard| goodput(heard, true, 1);
        assert!(hidden(Heard::Both) < goodput(Heard::Both, false, 1));
        assert!(hidden(Heard::OwnAccessPoint) < hidden(Heard::BothByName));
    }
}
