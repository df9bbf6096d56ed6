//! The composer: it assigns content to clients, and schedules repetitions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::flow::{Flow, HEADER_BYTES};
use super::fresh::Fresh;
use super::mix::{Kind, Mix};

/// The paper's C1 and C2.
pub const CLIENTS: usize = 2;

/// Payload of a flow, and of an object that repeats as a whole.
const OBJECT_BYTES: Range<usize> = 4_000..60_000;
/// A piece that repeats, or stands between such.
const PIECE_BYTES: Range<usize> = 80..780;
/// What a flow begins with, its own.
const OWN_BYTES: Range<usize> = 20..180;
/// The least distance of a repetition, in bytes of payload, so that the original has arrived.
const SOONEST_BYTES: f64 = 128.0 * 1024.0;
/// The largest distance of a repetition, unless the trace is short.
const LATEST_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
/// The share of a short trace in which fresh content is not repeated.
const LATEST_SHARE: f64 = 1.0 / 32.0;

/// A packet on its way to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracePacket {
    /// The client, 0 being C1.
    pub client: usize,
    /// The whole IP packet.
    pub bytes: Vec<u8>,
    /// Start of the transport's payload.
    pub payload_offset: usize,
}

impl TracePacket {
    /// The transport's payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.payload_offset..]
    }
}

/// A range of the fresh bytes to deliver. It is due after this many bytes of composed payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    due_bytes: u64,
    place: u64,
    length_bytes: usize,
    /// The cut of the flow that carried it as a whole: segment size, and offset in a segment.
    cut: (usize, usize),
}

/// Whether something fresh comes again.
#[derive(Debug, Clone, Copy)]
enum Future {
    AtTheOther,
    AtTheSame,
    Never,
}

/// A delivery to a client.
struct Delivery {
    flow: Flow,
    /// Payload of the flow that is still to be taken up.
    rest_bytes: usize,
    waiting: Vec<u8>,
    /// All that was taken up for this client, and what of it came again.
    all_bytes: u64,
    repeated_bytes: u64,
    /// Scheduled repetitions for this client.
    due: BinaryHeap<Reverse<Piece>>,
}

/// Composes a trace; see [`super`].
pub struct Composer {
    fresh: Arc<Fresh>,
    kind: Kind,
    /// The shares of fresh bytes that come again, at the other client and at the same.
    chances: (f64, f64),
    /// The repeated share of a client's traffic.
    repeated_share: f64,
    /// Fresh bytes so far, by their [`Future`].
    planned_bytes: [u64; 3],
    length_bytes: u64,
    latest_bytes: f64,
    rng: ChaCha8Rng,
    next_place: u64,
    composed_bytes: u64,
    /// All that is still to come again.
    due_bytes: u64,
    deliveries: Vec<Delivery>,
}

impl Composer {
    /// A trace with this many bytes of payload. Equal arguments give equal traces.
    #[must_use]
    pub fn new(fresh: Arc<Fresh>, mix: Mix, kind: Kind, length_bytes: u64, seed: u64) -> Self {
        Self::among(CLIENTS, fresh, mix, kind, length_bytes, seed)
    }

    /// The same for a number of clients, at least two: a repetition elsewhere goes to any of the others.
    #[must_use]
    pub fn among(
        clients: usize,
        fresh: Arc<Fresh>,
        mix: Mix,
        kind: Kind,
        length_bytes: u64,
        seed: u64,
    ) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mean = |range: &Range<usize>| range.start.midpoint(range.end) as f64;
        let own_share = mean(&OWN_BYTES) / mean(&OBJECT_BYTES);
        let (inter, intra) = mix.inter_and_intra();
        let delivery = |client| Delivery {
            flow: Flow::new(client, &mut rng),
            rest_bytes: 0,
            waiting: Vec::new(),
            all_bytes: 0,
            repeated_bytes: 0,
            due: BinaryHeap::new(),
        };
        let deliveries = (0..clients.max(2)).map(delivery).collect();
        Self {
            fresh,
            kind,
            chances: mix.chances(own_share),
            repeated_share: inter + intra,
            planned_bytes: [0; 3],
            length_bytes,
            latest_bytes: (length_bytes as f64 * LATEST_SHARE).clamp(2.0 * SOONEST_BYTES, LATEST_BYTES),
            rng,
            next_place: 0,
            composed_bytes: 0,
            due_bytes: 0,
            deliveries,
        }
    }

    /// Starts a flow at a client without one.
    fn begin_flow(&mut self, client: usize) {
        let flow = Flow::new(client, &mut self.rng);
        let mut own_bytes = self.rng.random_range(OWN_BYTES);
        let cut = (flow.segment_bytes, own_bytes);
        let piece = (self.kind == Kind::Whole).then(|| self.piece(client, OBJECT_BYTES, cut));
        if piece.is_some_and(|piece| piece.cut == cut && piece.due_bytes > 0) {
            own_bytes += 1; // or its packets would repeat as wholes
        }
        let own = self.take_fresh(own_bytes);
        let rest_bytes = if piece.is_some() { 0 } else { self.rng.random_range(OBJECT_BYTES) };
        let delivery = &mut self.deliveries[client];
        self.fresh.read(own, own_bytes, &mut delivery.waiting);
        if let Some(piece) = piece {
            self.fresh.read(piece.place, piece.length_bytes, &mut delivery.waiting);
        }
        delivery.flow = flow;
        delivery.rest_bytes = rest_bytes;
    }

    /// A client's next piece: a due repetition, or fresh content.
    fn piece(&mut self, client: usize, length_bytes: Range<usize>, cut: (usize, usize)) -> Piece {
        // towards the end sooner, so that nothing is left that was to come again
        let is_ending = self.composed_bytes + self.due_bytes >= self.length_bytes;
        let Delivery { due, repeated_bytes, all_bytes, .. } = &mut self.deliveries[client];
        // A client with more repetitions gets less fresh content, and the other fewer repetitions. Without a
        // bound on each client's share, one would finally get all of them.
        let may_repeat = is_ending || *repeated_bytes as f64 <= self.repeated_share * *all_bytes as f64;
        if may_repeat
            && due.peek().is_some_and(|Reverse(piece)| is_ending || piece.due_bytes <= self.composed_bytes)
            && let Some(Reverse(piece)) = due.pop()
        {
            *repeated_bytes += piece.length_bytes as u64;
            *all_bytes += piece.length_bytes as u64;
            self.due_bytes -= piece.length_bytes as u64;
            return piece;
        }
        let length_bytes = self.rng.random_range(length_bytes);
        *all_bytes += length_bytes as u64;
        let piece = Piece { due_bytes: 0, place: self.take_fresh(length_bytes), length_bytes, cut };
        let wait_bytes = log_uniform(&(SOONEST_BYTES..self.latest_bytes), &mut self.rng) as u64;
        let again = match self.future(length_bytes) {
            Future::AtTheOther => self.another(client),
            Future::AtTheSame => client,
            Future::Never => return piece,
        };
        self.due_bytes += length_bytes as u64;
        let due_bytes = self.composed_bytes + wait_bytes;
        self.deliveries[again].due.push(Reverse(Piece { due_bytes, ..piece }));
        piece
    }

    /// Any client but this one.
    fn another(&mut self, than: usize) -> usize {
        let clients = self.deliveries.len();
        // between two there is nothing to draw
        let ahead = if clients == 2 { 1 } else { self.rng.random_range(1..clients) };
        (than + ahead) % clients
    }

    /// The scheduled future of a fresh piece: the kind with the largest deficit. Objects are few, and random
    /// draws would miss a mix's small shares by far.
    fn future(&mut self, length_bytes: usize) -> Future {
        let (inter, intra) = self.chances;
        let meant =
            [(Future::AtTheOther, inter), (Future::AtTheSame, intra), (Future::Never, 1.0 - inter - intra)];
        let fresh_bytes = self.planned_bytes.iter().sum::<u64>() + length_bytes as u64;
        let lack = |future: Future, share: f64| {
            share * fresh_bytes as f64 - self.planned_bytes[future as usize] as f64
        };
        let most =
            meant.into_iter().max_by(|one, other| lack(one.0, one.1).total_cmp(&lack(other.0, other.1)));
        let future = most.map_or(Future::Never, |(future, _)| future);
        self.planned_bytes[future as usize] += length_bytes as u64;
        future
    }

    fn take_fresh(&mut self, length_bytes: usize) -> u64 {
        let place = self.next_place;
        self.next_place += length_bytes as u64;
        place
    }

    /// Prepares a segment for a client, if its flow is long enough.
    fn fill(&mut self, client: usize) {
        if self.deliveries[client].waiting.is_empty() {
            self.begin_flow(client);
        }
        loop {
            let Delivery { flow, rest_bytes, waiting, .. } = &self.deliveries[client];
            if *rest_bytes == 0 || waiting.len() >= flow.segment_bytes {
                return;
            }
            let piece = self.piece(client, PIECE_BYTES, (0, 0));
            let delivery = &mut self.deliveries[client];
            self.fresh.read(piece.place, piece.length_bytes, &mut delivery.waiting);
            delivery.rest_bytes = delivery.rest_bytes.saturating_sub(piece.length_bytes);
        }
    }
}

impl Iterator for Composer {
    type Item = TracePacket;

    fn next(&mut self) -> Option<TracePacket> {
        if self.composed_bytes >= self.length_bytes {
            return None;
        }
        let client = self.rng.random_range(0..self.deliveries.len());
        self.fill(client);
        let Delivery { flow, waiting, .. } = &mut self.deliveries[client];
        let payload_bytes = waiting.len().min(flow.segment_bytes);
        let bytes = flow.packet(&waiting[..payload_bytes]);
        waiting.drain(..payload_bytes);
        self.composed_bytes += payload_bytes as u64;
        Some(TracePacket { client, bytes, payload_offset: HEADER_BYTES })
    }
}

fn log_uniform(range: &Range<f64>, rng: &mut ChaCha8Rng) -> f64 {
    range.start * (range.end / range.start).powf(rng.random())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Meter;
    use crate::trace::flow::SEGMENT_BYTES;
    use std::collections::HashSet;
    use wire::inner::Inner;

    const BYTES: u64 = 8 << 20;

    fn compose(mix: Mix, kind: Kind) -> Composer {
        Composer::new(Arc::new(Fresh::random(1)), mix, kind, BYTES, 7)
    }

    #[test]
    fn every_mix_of_either_kind_has_the_papers_shares() {
        for kind in Kind::ALL {
            for mix in Mix::ALL {
                let mut meter = Meter::default();
                compose(mix, kind).for_each(|packet| meter.observe(&packet));
                let shares = meter.shares();
                let (inter, intra) = mix.inter_and_intra();
                for (measured, meant) in [(shares.max_match.0, inter), (shares.max_match.1, intra)] {
                    assert!((measured - meant).abs() < 0.025, "{mix} {kind}: {measured} for {meant}");
                }
                assert!(shares.chunk.0 + shares.chunk.1 > 0.25, "{mix} {kind}: {shares:?}");
            }
        }
    }

    #[test]
    fn both_clients_get_as_much_that_repeats() {
        let (mut seen, mut repeated, mut all) = (HashSet::new(), [0; CLIENTS], [0; CLIENTS]);
        for packet in Composer::new(Arc::new(Fresh::random(1)), Mix::High, Kind::Whole, 4 * BYTES, 3) {
            all[packet.client] += 1;
            // Any eight bytes of an object identify it.
            let windows = packet.payload().windows(8).filter(|window| window[7] == 0 && window[0] < 32);
            let found = windows.filter(|window| !seen.insert(window.to_vec())).count();
            repeated[packet.client] += usize::from(found > 0);
        }
        let shares: Vec<f64> =
            (0..CLIENTS).map(|client| f64::from(repeated[client] as u32) / f64::from(all[client])).collect();
        assert!(shares[0] > 0.0 && (shares[0] / shares[1] - 1.0).abs() < 0.1, "{shares:?}");
    }

    #[test]
    fn no_packet_repeats_as_a_whole() {
        for kind in Kind::ALL {
            let mut payloads = HashSet::new();
            for packet in compose(Mix::Medium, kind) {
                let inner = Inner::parse(&packet.bytes).unwrap();
                assert_eq!(
                    (inner.payload_offset, inner.total_bytes),
                    (packet.payload_offset, packet.bytes.len())
                );
                // the end of an object may fall alike; a segment never does
                if packet.payload().len() >= SEGMENT_BYTES[SEGMENT_BYTES.len() - 1] {
                    assert!(payloads.insert(packet.payload().to_vec()));
                }
            }
            assert!(payloads.len() > 1000);
        }
    }

    #[test]
    fn equal_seeds_compose_equally_and_others_do_not() {
        let first = |seed| -> Vec<_> {
            Composer::new(Arc::new(Fresh::random(1)), Mix::High, Kind::Fine, BYTES, seed).take(100).collect()
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }
}
