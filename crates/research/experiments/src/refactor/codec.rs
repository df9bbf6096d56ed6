//! The codec as a run drives it: one gateway, its stations, and what must come out at them.

use std::time::Duration;

use air::Bitrate;
use anyhow::{Context as _, Result, bail, ensure};
pub use overhear::PacketNumber;
use overhear::boundaries::Boundaries;
use overhear::knowledge::{KnowledgeKind, OverheardFractions};
use overhear::removal::Removal;
use overhear::{AirTime, Answer, Association, Gateway, MissBounds, Received, Settings, Station, StationId};
use published::comparators::Ideal;

use wire::chunk_reply::ChunkReply;
use wire::named_chunks::{self, NamedChunks};
use wire::shim::slots::{MIN_SLOT_BITS, Slots};

use super::air_time::AirTimes;
use super::as_printed::{self, Cache};
use super::medium::Medium;
use super::overhearing::FULL_PACKET_BYTES;
use super::run::Run;
use super::scheme::{Additions, Estimates, Scheme};

/// Keys of a run; nothing here is secret.
const NETWORK_KEY: [u8; 32] = [7; 32];

/// A gateway and its stations.
pub struct Codec {
    gateway: Gateway,
    stations: Vec<Station>,
    slot_bits: u8,
    proves: bool,
    /// By station.
    wrong_packets: Vec<u64>,
}

/// A request for missing chunks, and what the gateway answered.
pub struct Exchange {
    /// The request's length.
    pub request_bytes: usize,
    /// The reply.
    pub reply: Vec<u8>,
    /// Its number.
    pub number: PacketNumber,
}

impl Exchange {
    /// Bytes of the reply's chunks.
    ///
    /// # Errors
    ///
    /// When the reply is malformed.
    pub fn chunks_bytes(&self) -> Result<usize> {
        Ok(ChunkReply::parse(&self.reply)?.chunks().map(<[u8]>::len).sum())
    }
}

impl Codec {
    /// For a run's stations.
    ///
    /// # Errors
    ///
    /// When its settings make no sense.
    pub fn new(run: &Run<'_>, air_times: &[AirTimes]) -> Result<Self> {
        let estimate = estimate(run);
        let settings = settings(run, estimate);
        let mut gateway = Gateway::new(settings.clone())?;
        let mut stations = Vec::new();
        for (number, (radio, air_time)) in run.radios.iter().zip(air_times).enumerate() {
            let mac_key = run.scheme.has_mac().then_some([number as u8; 32]);
            let id = StationId(number as u8);
            let association = Association {
                slot_bits: run.slot_bits,
                rate_bits_per_second: match estimate {
                    Some(_) if number > 0 => FARTHER.bits_per_second(),
                    _ => radio.rate.bits_per_second(),
                },
                rate_is_known: true,
                air_time: AirTime {
                    header: air_time.header(),
                    per_byte_seconds: air_time.per_byte_seconds(),
                },
                mac_key,
            };
            gateway.join(id, association, Duration::ZERO)?;
            stations.push(Station::new(settings.clone(), id, mac_key)?);
        }
        let proves = run.scheme.has_mac();
        Ok(Self {
            gateway,
            stations,
            slot_bits: run.slot_bits,
            proves,
            wrong_packets: vec![0; run.radios.len()],
        })
    }

    /// Packets that each station restored to other bytes, where no MAC proves them.
    pub fn wrong_packets(&self) -> &[u64] {
        &self.wrong_packets
    }

    /// Counts a packet that came out wrong.
    ///
    /// # Errors
    ///
    /// When a MAC had proved it.
    fn count_wrong(&mut self, is_wrong: bool, at: usize, number: PacketNumber) -> Result<()> {
        ensure!(!(is_wrong && self.proves), "wrong bytes at station {at}, packet {number:?}");
        self.wrong_packets[at] += u64::from(is_wrong);
        Ok(())
    }

    /// Encodes a payload; returns under which number, and how many of its bytes are left out.
    pub fn encode(
        &mut self,
        to: usize,
        payload: &[u8],
        now: Duration,
        out: &mut Vec<u8>,
    ) -> (PacketNumber, usize) {
        let sent = self.gateway.encode(id(to), payload, now, out);
        (sent.number, sent.removed_bytes)
    }

    /// A station overhears what another is sent.
    ///
    /// # Errors
    ///
    /// When it cannot read it.
    pub fn overhear(&mut self, by: usize, encoded: &[u8]) -> Result<()> {
        self.stations[by].overhear(encoded).context("what was overheard is refused")
    }

    /// A station overhears a chunk reply.
    ///
    /// # Errors
    ///
    /// When it cannot read it.
    pub fn overhear_reply(&mut self, by: usize, reply: &[u8]) -> Result<()> {
        self.stations[by].overhear_reply(reply).context("an overheard reply is refused")
    }

    /// What another gateway sent was heard at this one, under a number of its own.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn hear(&mut self, encoded: &[u8], follows: Option<PacketNumber>) -> Result<PacketNumber> {
        self.gateway.hear(encoded, follows).context("what another gateway sent is refused")
    }

    /// Notes the packets that another gateway's station overheard here. Returns the message to the station's
    /// own gateway.
    pub fn news(&mut self, of: usize, numbers: impl Iterator<Item = PacketNumber>) -> Vec<u8> {
        self.gateway.note_news(id(of));
        numbers.for_each(|number| self.gateway.record_overheard(id(of), number));
        let (mut chunks, mut message) = (Vec::new(), Vec::new());
        self.gateway.take_news(id(of), named_chunks::MAX_CHUNKS, &mut chunks);
        named_chunks::emit(self.slot_bits, &mut chunks, &mut message);
        message
    }

    /// Another gateway tells what a station of this one overheard there.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn take_news(&mut self, of: usize, message: &[u8]) -> Result<()> {
        let named = NamedChunks::parse(message)?;
        self.gateway.learn_named(id(of), named.slot_bits, named.chunks());
        Ok(())
    }

    /// Notes the stations' reports on all packets so far.
    pub fn told(&mut self, by: usize, numbers: impl Iterator<Item = PacketNumber>) {
        for number in numbers {
            self.gateway.record_overheard(id(by), number);
        }
        self.gateway.settle_reports_until(id(by), PacketNumber(u64::MAX));
    }

    /// The number of a flush that stations are to be asked for now.
    pub fn flush_wanted(&mut self, now: Duration) -> Option<u32> {
        self.gateway.poll_flush(now)
    }

    /// A station flushes its cache, and the gateway knows.
    pub fn flush(&mut self, at: usize, flush: u32, now: Duration) {
        self.stations[at].flush(flush);
        self.gateway.record_flush(id(at), flush, now);
    }

    /// A packet arrives at its station. Returns whether it waits for chunks.
    ///
    /// # Errors
    ///
    /// When it is refused, or comes out other than it was.
    pub fn receive(
        &mut self,
        at: usize,
        number: PacketNumber,
        encoded: &[u8],
        payload: &[u8],
        now: Duration,
    ) -> Result<bool> {
        let (waits, is_wrong) = match self.stations[at].receive(number, number.0, encoded, now) {
            Received::Restored(restored) => (false, restored != payload),
            Received::Held => (true, false),
            Received::Queued => bail!("packet {number:?} waits behind another of a flow of its own"),
            Received::Refused(refusal) => bail!("packet {number:?} is refused: {refusal}"),
        };
        self.count_wrong(is_wrong, at, number)?;
        self.gateway.record_acknowledgment(id(at), number, now);
        Ok(waits)
    }

    /// A station asks for what a packet lacks, and the gateway answers; nothing if it has not got that any
    /// more either.
    ///
    /// # Errors
    ///
    /// When the station does not ask, or is not answered.
    pub fn ask(&mut self, by: usize, number: PacketNumber, now: Duration) -> Result<Option<Exchange>> {
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        let asked = self.stations[by].poll_request(now, &mut request);
        ensure!(asked == Some(number), "packet {number:?} waits, and {asked:?} is asked for");
        match self.gateway.answer_request(id(by), &request, &mut reply) {
            Answer::Supplied { number, .. } => {
                Ok(Some(Exchange { request_bytes: request.len(), reply, number }))
            }
            Answer::Gone { .. } => {
                // nothing else waits there, and this one waits in vain
                let given_up = now + MissBounds::default().held_for;
                ensure!(self.stations[by].poll_deliver(given_up).is_none(), "a packet waited unnoticed");
                Ok(None)
            }
            Answer::Refused => bail!("a request for packet {number:?} is refused"),
        }
    }

    /// The reply arrives. Returns whether the packet waits still.
    ///
    /// # Errors
    ///
    /// When the packet comes out other than it was.
    pub fn supply(&mut self, at: usize, exchange: &Exchange, payload: &[u8], now: Duration) -> Result<bool> {
        let station = &mut self.stations[at];
        station.receive_reply(&exchange.reply, now).context("a reply is refused")?;
        let delivered = station.poll_deliver(now);
        let is_wrong = delivered.as_ref().is_some_and(|delivered| delivered.packet != payload);
        self.count_wrong(is_wrong, at, exchange.number)?;
        self.gateway.record_acknowledgment(id(at), exchange.number, now);
        Ok(delivered.is_none())
    }
}

/// The paper's perfect RE, or the chunks and parts of our codec: without bounds and collisions.
#[must_use]
pub fn ideal(boundaries: Boundaries, with_parts: bool) -> Ideal {
    Ideal::new(boundaries, Settings::new(NETWORK_KEY).slot_bits, &NETWORK_KEY, with_parts)
}

/// A payload from which nothing is removed.
#[must_use]
pub fn whole(payload: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(payload.len() + 1);
    Slots { slot_bits: MIN_SLOT_BITS, mac: None, runs: &[], slots: &[] }.emit(&mut encoded);
    encoded.extend_from_slice(payload);
    encoded
}

fn id(station: usize) -> StationId {
    StationId(station as u8)
}

/// How likely the farther station overhears a full packet to the nearer, where the model is not told by Table
/// 1.
fn estimate(run: &Run<'_>) -> Option<f64> {
    /// Number of full packets for learning.
    const LEARNT_OF: u64 = 512;
    let Scheme::AsPrinted(estimates) = run.scheme else { return None };
    let farther = run.radios.get(1)?;
    let loss = farther.overhearing_loss.as_ref().unwrap_or(&farther.loss);
    let probability = match estimates {
        Estimates::TableOne => return None,
        Estimates::TrueAnd(points) => 1.0 - loss.mean_loss(FULL_PACKET_BYTES) + points / 100.0,
        Estimates::Learnt => {
            // other packets than those of the run
            let mut medium = Medium::new(run.radios, !run.seed);
            let overheard =
                |number: &u64| medium.send(0, *number, FULL_PACKET_BYTES).overheard_by & 0b10 != 0;
            (0..LEARNT_OF).filter(overheard).count() as f64 / LEARNT_OF as f64
        }
    };
    Some(probability.clamp(0.0, OverheardFractions::NEARER))
}

/// The rate with which the farther station associates if an estimate is given, so that the formula of rates
/// (section 3.2.1) yields that estimate. Its air time is set separately.
const FARTHER: Bitrate = Bitrate::from_megabits_per_second(36);

fn settings(run: &Run<'_>, estimate: Option<f64>) -> Settings {
    let additions = run.scheme.additions().unwrap_or(Additions::NONE);
    let table_one = OverheardFractions::default();
    let fractions = match estimate {
        Some(share) => OverheardFractions { at_36_mbit: 1.0, at_54_mbit: share, ..table_one },
        None => table_one,
    };
    let cache = Cache::of(run.slot_bits);
    let (paper, ours) = (as_printed::settings(NETWORK_KEY, cache, fractions), Settings::new(NETWORK_KEY));
    let choose = |ours_is_used: bool| if ours_is_used { &ours } else { &paper };
    let min_chunk = run.scheme.min_chunk();
    Settings {
        boundaries: Boundaries { min_chunk, ..choose(additions.gear).boundaries },
        collisions: choose(additions.replaces).collisions,
        knowledge: match run.scheme {
            Scheme::PerfectOverhearing => KnowledgeKind::Everything,
            _ => choose(additions.receipts).knowledge,
        },
        removal: match run.scheme {
            Scheme::Greedy | Scheme::GreedyAsPrinted | Scheme::PerfectOverhearing => Removal::Greedy,
            _ => choose(additions.adapts).removal,
        },
        parts: additions.parts,
        ..paper.clone()
    }
}
