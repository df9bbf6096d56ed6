//! A run's nodes, and how a batch gets from the source to its destination.

use std::collections::BTreeMap;
use std::time::Duration;

use air::Bitrate;
use air::timing::{ETHERNET_TO_MPDU_BYTES, Standard, Timing};
use anyhow::{Context as _, Result, ensure};
use overhear::boundaries::MinChunk;
use overhear::knowledge::OverheardFractions;
use overhear::removal::Removal;
use overhear::{AirTime, Answer, Association, Gateway, PacketNumber, Received, Settings, Station, StationId};
use published::exor::forwarders::reordered;
use published::exor::{Batch, MAP_COPIES, OPPORTUNISTIC_SHARE, packing};

use super::super::as_printed::{self, Cache};
use super::super::run::CONTROL_BYTES;
use super::{BATCH_FRAGMENTS, FRAGMENT_BYTES, Opportunistic, Scheme, Taken};
use crate::trace::{HEADER_BYTES, TracePacket};

const NETWORK_KEY: [u8; 32] = [7; 32];
/// What 802.11 adds to an IP packet.
const MPDU_OVERHEAD_BYTES: usize = ETHERNET_TO_MPDU_BYTES + 14;
/// More rounds than any batch needs.
const MOST_ROUNDS: usize = 400;
/// A forwarder that holds less of a batch is not asked to expand it.
const LEAST_HELD: f64 = 0.1;

/// The source, the caches of destinations and forwarders, and the air between them.
pub(super) struct Net<'a> {
    run: &'a Opportunistic<'a>,
    timing: Timing,
    /// The source's knowledge of destinations and nodes.
    gateway: Gateway,
    /// Caches of destinations and of those that forward to them.
    stations: BTreeMap<usize, Station>,
    /// Transmissions so far, by node.
    sent: Vec<u64>,
    batch: u32,
    pub(super) taken: Taken,
}

/// Content that a forwarder can build from names: the forwarder, the packets of the batch, and the message to
/// it.
struct Hint {
    forwarder: usize,
    fragments: Vec<(usize, Vec<u8>)>,
    share: f64,
}

fn settings(scheme: Scheme, slot_bits: u8) -> Settings {
    if scheme == Scheme::ReducedAsPrinted {
        let cache = Cache::of(slot_bits);
        let printed = as_printed::settings(NETWORK_KEY, cache, OverheardFractions::default());
        // a batch arrives whole and is acknowledged: nothing is taken to be there by rates
        return Settings { knowledge: Settings::new(NETWORK_KEY).knowledge, ..printed };
    }
    let mut settings = Settings {
        slot_bits,
        removal: Removal::Model { others_load: 0.0, threshold: overhear::removal::Threshold::Seconds(0.0) },
        ..Settings::new(NETWORK_KEY)
    };
    settings.boundaries.min_chunk = MinChunk::Bytes32;
    settings
}

/// The key of a node's MAC, which the paper's codec has not.
fn mac_key(scheme: Scheme, node: usize) -> Option<[u8; 32]> {
    (scheme != Scheme::ReducedAsPrinted).then_some([node as u8; 32])
}

fn id(node: usize) -> StationId {
    StationId(node as u8)
}

impl<'a> Net<'a> {
    pub(super) fn new(run: &'a Opportunistic<'a>) -> Result<Self> {
        let rate = Bitrate::from_megabits_per_second(6);
        let mut gateway = Gateway::new(settings(run.scheme, run.slot_bits))?;
        let nodes = run.mesh.delivery.nodes();
        let mut stations = BTreeMap::new();
        let list =
            |destination: &usize| run.mesh.delivery.forwarders(run.source, *destination).unwrap_or_default();
        let mut keep: Vec<usize> = run.destinations.iter().flat_map(list).collect();
        if matches!(run.scheme, Scheme::Exor | Scheme::Reduced | Scheme::ReducedAsPrinted) {
            keep.clone_from(&run.destinations);
        }
        for node in 0..nodes {
            let association = Association {
                slot_bits: run.slot_bits,
                rate_bits_per_second: rate.bits_per_second(),
                rate_is_known: false,
                air_time: AirTime::of_rate(rate.bits_per_second()),
                mac_key: mac_key(run.scheme, node),
            };
            gateway.join(id(node), association, Duration::ZERO)?;
            if keep.contains(&node) {
                let settings = settings(run.scheme, run.slot_bits);
                stations.insert(node, Station::new(settings, id(node), mac_key(run.scheme, node))?);
            }
        }
        Ok(Self {
            run,
            timing: Timing::new(Standard::G, rate)?,
            gateway,
            stations,
            sent: (0..nodes as u64)
                .map(|node| run.seed.wrapping_mul(97).wrapping_add(31 * node) % 300)
                .collect(),
            batch: 0,
            taken: Taken::default(),
        })
    }

    fn reduces(&self) -> bool {
        self.run.scheme != Scheme::Exor
    }

    fn station(&mut self, node: usize) -> Result<&mut Station> {
        self.stations.get_mut(&node).context("this node keeps nothing")
    }

    /// How much of a fragment a packet is expected to take.
    pub(super) fn expected_bytes(&mut self, client: usize, packet: &TracePacket) -> usize {
        if !self.reduces() {
            return FRAGMENT_BYTES;
        }
        let to = id(self.run.destinations[client]);
        packing::FRONT_BYTES + packet.bytes.len() - self.gateway.would_remove(to, packet.payload())
    }

    /// Transmits a frame; returns its receivers.
    fn transmit(&mut self, from: usize, bytes: usize) -> Vec<usize> {
        self.taken.air_seconds += self.timing.broadcast(bytes + MPDU_OVERHEAD_BYTES).as_secs_f64();
        let number = self.sent[from];
        self.sent[from] += 1;
        let hears = |to: &usize| {
            self.run.mesh.receptions.get(&(from, *to)).is_some_and(|receptions| receptions.received(number))
        };
        (0..self.sent.len()).filter(hears).collect()
    }

    /// Carries a batch to its destination.
    pub(super) fn carry(&mut self, client: usize, packets: &[TracePacket]) -> Result<()> {
        let destination = self.run.destinations[client];
        let encoded = self.encode(destination, packets);
        let bytes: Vec<Vec<u8>> = encoded.iter().map(|(_, bytes)| bytes.clone()).collect();
        // without reduction no two full packets fit, and the short ones at the ends of flows are packed in
        // either case
        let fragments = packing::pack(&bytes, FRAGMENT_BYTES);
        let mut lists = vec![fragments];
        while let Some(long) = lists.last_mut().filter(|list| list.len() > 2 * BATCH_FRAGMENTS) {
            let rest = long.split_off(BATCH_FRAGMENTS);
            lists.push(rest);
        }
        let mut arrived = BTreeMap::new();
        for fragments in lists {
            for fragment in self.forward(destination, &encoded, fragments)? {
                arrived.extend(packing::unpack(&fragment).map(|(number, bytes)| (number, bytes.to_vec())));
            }
        }
        for (number, (packet, (sent, _))) in packets.iter().zip(&encoded).enumerate() {
            let bytes = arrived.get(&(number as u16)).context("a packet did not arrive")?;
            let (head, rest) = bytes.split_at(packet.payload_offset);
            ensure!(head == &packet.bytes[..packet.payload_offset], "wrong headers");
            match sent {
                None => ensure!(rest == packet.payload(), "wrong bytes"),
                Some(sent) => {
                    let restored = match self.station(destination)?.receive(*sent, 0, rest, Duration::ZERO) {
                        Received::Restored(payload) => payload.to_vec(),
                        Received::Held => self.supply(destination, packet.payload())?,
                        other => anyhow::bail!("a packet is {other:?}"),
                    };
                    ensure!(restored == packet.payload(), "wrong bytes");
                }
            }
            self.taken.payload_bytes += packet.payload().len() as u64;
        }
        self.flush()
    }

    /// The source's flush, if it is time for one: each station is told, and acknowledges it.
    fn flush(&mut self) -> Result<()> {
        let Some(flush) = self.gateway.poll_flush(Duration::ZERO) else { return Ok(()) };
        let bytes = CONTROL_BYTES + size_of_val(&flush);
        let nodes: Vec<usize> = self.stations.keys().copied().collect();
        for node in nodes {
            // the way there is as long as the way back, and its radios need not hear as well
            self.unicast(self.run.source, node, bytes)?;
            self.unicast(self.run.source, node, bytes)?;
            self.station(node)?.flush(flush);
            self.gateway.record_flush(id(node), flush, Duration::ZERO);
        }
        Ok(())
    }

    /// A destination that overheard other batches, in another order than they were sent, may hold another
    /// chunk than was meant: it asks the source, and both ways are by the usual route.
    fn supply(&mut self, destination: usize, payload: &[u8]) -> Result<Vec<u8>> {
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        let (source, now) = (self.run.source, Duration::ZERO);
        if self.station(destination)?.poll_request(now, &mut request).is_some() {
            let answer = self.gateway.answer_request(id(destination), &request, &mut reply);
            // the way there is as long as the way back, and its radios need not hear as well
            self.unicast(source, destination, CONTROL_BYTES + request.len())?;
            if matches!(answer, Answer::Supplied { .. }) {
                self.unicast(source, destination, CONTROL_BYTES + reply.len())?;
                self.station(destination)?.receive_reply(&reply, now)?;
            }
        }
        if let Some(delivered) = self.station(destination)?.poll_deliver(now) {
            return Ok(delivered.packet);
        }
        let given_up = Duration::from_secs(3600);
        ensure!(self.station(destination)?.poll_deliver(given_up).is_none(), "a packet waited unnoticed");
        self.unicast(source, destination, CONTROL_BYTES + payload.len())?;
        Ok(payload.to_vec())
    }

    /// Removes content that the destination has. It gets a batch as a whole or not at all, so a packet may
    /// refer to the one before.
    fn encode(
        &mut self,
        destination: usize,
        packets: &[TracePacket],
    ) -> Vec<(Option<PacketNumber>, Vec<u8>)> {
        let mut out = Vec::new();
        for packet in packets {
            let mut bytes = packet.bytes[..packet.payload_offset].to_vec();
            let mut number = None;
            if self.reduces() {
                let sent = self.gateway.encode(id(destination), packet.payload(), Duration::ZERO, &mut bytes);
                self.gateway.record_acknowledgment(id(destination), sent.number, Duration::ZERO);
                number = Some(sent.number);
            } else {
                bytes.extend_from_slice(packet.payload());
            }
            out.push((number, bytes));
        }
        out
    }

    /// A node that hears a fragment keeps the contents of its packets, and the source learns that.
    fn learn(
        &mut self,
        by: usize,
        destination: usize,
        encoded: &[(Option<PacketNumber>, Vec<u8>)],
        fragment: &[u8],
    ) -> Result<()> {
        if !matches!(self.run.scheme, Scheme::ReducedForForwarders | Scheme::Reordered) || by == destination {
            return Ok(());
        }
        for (number, bytes) in packing::unpack(fragment) {
            let Some((Some(sent), _)) = encoded.get(usize::from(number)) else { continue };
            let Some(station) = self.stations.get_mut(&by) else { return Ok(()) };
            station.overhear(&bytes[HEADER_BYTES..])?;
            self.gateway.record_held(id(by), *sent);
        }
        Ok(())
    }

    /// The forwarder with most of a batch, and the names from which it can build fragments.
    fn hint(&mut self, list: &[usize], fragments: &[Vec<u8>]) -> Option<Hint> {
        if !matches!(self.run.scheme, Scheme::ReducedForForwarders | Scheme::Reordered) {
            return None;
        }
        let mut best: Option<Hint> = None;
        for forwarder in list[1..list.len() - 1].iter().copied() {
            let mut named = Vec::new();
            for (place, fragment) in fragments.iter().enumerate() {
                let mut told = Vec::new();
                let makes = packing::unpack(fragment).all(|(number, bytes)| {
                    let (head, encoded) = bytes.split_at(HEADER_BYTES);
                    let Ok(read) = wire::shim::slots::Encoded::parse(encoded) else { return false };
                    // A packet with removal for the destination is sent unchanged.
                    if read.slot_count > 0 {
                        return false;
                    }
                    let removed = self.gateway.would_remove(id(forwarder), read.literals);
                    told.extend_from_slice(&number.to_be_bytes());
                    told.extend_from_slice(head);
                    removed * 10 >= read.literals.len() * 9
                });
                if makes {
                    named.push((place, told));
                }
            }
            let share = named.len() as f64 / fragments.len().max(1) as f64;
            if share >= LEAST_HELD && best.as_ref().is_none_or(|best| share > best.share) {
                best = Some(Hint { forwarder, fragments: named, share });
            }
        }
        best
    }

    /// Sends the names of a forwarder's content along the best path to it, and notes the resulting fragments.
    fn name(&mut self, hint: &Hint, batch: &mut Batch, fragments: &[Vec<u8>]) -> Result<()> {
        let mut told: Vec<Vec<u8>> = Vec::new();
        for (place, _) in &hint.fragments {
            let mut message = vec![*place as u8];
            for (number, bytes) in packing::unpack(&fragments[*place]) {
                let (head, encoded) = bytes.split_at(HEADER_BYTES);
                let literals = wire::shim::slots::Encoded::parse(encoded)?.literals.to_vec();
                message.extend_from_slice(&number.to_be_bytes());
                message.extend_from_slice(head);
                let mut out = Vec::new();
                let sent = self.gateway.encode(id(hint.forwarder), &literals, Duration::ZERO, &mut out);
                let restored =
                    match self.station(hint.forwarder)?.receive(sent.number, 0, &out, Duration::ZERO) {
                        Received::Restored(payload) => payload == literals,
                        _ => false,
                    };
                message.extend_from_slice(&out);
                if restored {
                    self.gateway.record_acknowledgment(id(hint.forwarder), sent.number, Duration::ZERO);
                } else {
                    // it gets that one as the others do
                    let late = Duration::from_secs(3600);
                    let _ = self.station(hint.forwarder)?.poll_deliver(late);
                    message.clear();
                    break;
                }
            }
            if !message.is_empty() {
                batch.holds(*place, &fragments[*place]);
                told.push(message);
            }
        }
        let frames = packing::pack(&told, FRAGMENT_BYTES);
        for frame in frames {
            self.unicast(self.run.source, hint.forwarder, frame.len())?;
        }
        Ok(())
    }

    /// Along the best path, each hop repeated until it is heard.
    fn unicast(&mut self, from: usize, to: usize, bytes: usize) -> Result<()> {
        let path = self.run.mesh.delivery.path(from, to).context("there is no path")?;
        for hop in path.windows(2) {
            let mut tries = 0;
            while !self.transmit(hop[0], bytes).contains(&hop[1]) {
                tries += 1;
                ensure!(tries < 10_000, "a hop never delivers");
            }
            self.taken.air_seconds += (self.timing.sifs() + self.timing.acknowledgement()).as_secs_f64();
        }
        Ok(())
    }

    /// Forwards the fragments of a batch; gives back what the destination got.
    fn forward(
        &mut self,
        destination: usize,
        encoded: &[(Option<PacketNumber>, Vec<u8>)],
        fragments: Vec<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>> {
        let source = self.run.source;
        let mesh = self.run.mesh;
        let mut list = mesh.delivery.forwarders(source, destination).context("there is no path")?;
        let hint = self.hint(&list, &fragments);
        if let Some(hint) = hint.as_ref().filter(|_| self.run.scheme == Scheme::Reordered) {
            let distances = mesh.delivery.distances(destination);
            let share = |node| if node == hint.forwarder { hint.share } else { 0.0 };
            let earlier = reordered(&list, &distances, share);
            self.taken.reordered_batches += u64::from(earlier != list);
            list = earlier;
        }
        self.batch += 1;
        self.taken.batches += 1;
        self.taken.fragments += fragments.len() as u64;
        let names: Vec<u16> = list.iter().map(|node| *node as u16).collect();
        let at_source =
            Batch::at_source(self.batch, names, fragments.clone()).context("the batch is too large")?;
        let mut batches: BTreeMap<usize, Batch> = BTreeMap::from([(source, at_source)]);
        if let Some(hint) = &hint {
            let mut map = Vec::new();
            batches[&source].emit(None, 0, &mut map);
            let mut of_forwarder =
                Batch::heard_of(hint.forwarder as u16, &map).context("it is a forwarder")?;
            self.name(hint, &mut of_forwarder, &fragments)?;
            // The source knows from the acknowledgment that the forwarder has them.
            let mut said = Vec::new();
            of_forwarder.emit(None, 0, &mut said);
            if let Some(batch) = batches.get_mut(&source) {
                batch.handle_frame(&said)?;
            }
            batches.insert(hint.forwarder, of_forwarder);
        }
        for _ in 0..MOST_ROUNDS {
            for sender in list.iter().copied() {
                let Some(batch) = batches.get(&sender) else { continue };
                let mut sends: Vec<Option<usize>> = batch.to_send().into_iter().map(Some).collect();
                if batch.is_destination() {
                    sends = vec![None; MAP_COPIES];
                }
                let count = sends.len();
                for (at, fragment) in sends.into_iter().enumerate() {
                    let mut frame = Vec::new();
                    batches[&sender].emit(fragment, count - at - 1, &mut frame);
                    for receiver in self.transmit(sender, frame.len()) {
                        if let Some(fragment) = fragment {
                            self.learn(receiver, destination, encoded, &fragments[fragment])?;
                        }
                        let known = batches.remove(&receiver);
                        let Some(mut batch) = known.or_else(|| Batch::heard_of(receiver as u16, &frame))
                        else {
                            continue;
                        };
                        batch.handle_frame(&frame)?;
                        batches.insert(receiver, batch);
                    }
                }
            }
            let done = batches.get(&source).is_some_and(|batch| batch.arrived_share() >= OPPORTUNISTIC_SHARE);
            if done {
                break;
            }
        }
        self.rest(destination, &batches, &fragments)
    }

    /// Sends the missing packets from the source by the normal route.
    fn rest(
        &mut self,
        destination: usize,
        batches: &BTreeMap<usize, Batch>,
        fragments: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>> {
        let at_destination = batches.get(&destination).context("the destination heard nothing")?;
        let held: Vec<bool> = at_destination.held().map(|fragment| fragment.is_some()).collect();
        for (place, _) in held.iter().enumerate().filter(|(_, held)| !**held) {
            self.unicast(self.run.source, destination, fragments[place].len())?;
        }
        let of_batch = at_destination.held().zip(fragments);
        Ok(of_batch.map(|(held, sent)| held.map_or_else(|| sent.clone(), <[u8]>::to_vec)).collect())
    }
}
