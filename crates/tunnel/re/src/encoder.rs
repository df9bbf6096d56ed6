//! The encoder of one direction.

mod finders;
mod search;

use crate::anchors::AnchorFinder;
use crate::continuation::Continuations;
use crate::density::Density;
use crate::eligible_payload;
use crate::flow::Owner;
use crate::form::Writer;
use crate::index::{Index, Key, Place};
use crate::parameters::{Form, Parameters, Policy};
use crate::policy::ReferencePolicy;
use crate::sparing::Sparing;
use crate::statistics::EncoderStatistics;
use crate::store::PacketStore;
use crate::waiting::WaitingAnchors;
use finders::Finders;
pub use search::{Match, Search};

use std::cell::Cell;
use std::ops::Range;
use wire::frame::Reduced;
use wire::inner::Inner;
use wire::shim::compact;

/// The result of encoding a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoded {
    /// The packet is sent unchanged.
    Plain,
    /// Shim and literals were appended.
    Reduced {
        /// Regions that were replaced by references.
        regions: usize,
        /// Bytes of those regions.
        removed_bytes: usize,
        /// Bytes of the shim without literals.
        shim_bytes: usize,
        /// Number of distinct packets referred to.
        referred_packets: usize,
    },
}

/// The memory of the smallest store with its tables, in bytes.
const LEAST_BYTES: usize = 48 << 10;
/// What tables of small stores take beyond 13% of the store, in bytes: as much as the store at most.
const SMALL_BYTES: usize = 176 << 10;

/// The index for a store of `store_bytes`. The papers' systems enter every anchor at both ends, and need
/// equal tables.
fn index(parameters: &Parameters, store_bytes: usize) -> Index {
    match parameters.form {
        Form::Compact => Index::new(store_bytes, false),
        Form::Injected(_) => Index::of_anchors(store_bytes, parameters.sample_bits),
    }
}

/// Builds one packet's search. It is a macro because a method would borrow the matches, too.
macro_rules! search {
    ($encoder:ident, $owner:ident, $sequence:ident, $packet:ident, $payload:ident) => {
        Search {
            window_bytes: $encoder.parameters.window_bytes,
            anchors: &$encoder.finders.anchors,
            index: &$encoder.index,
            store: &$encoder.store,
            policy: &*$encoder.policy,
            sequence: $sequence,
            packet: $packet,
            payload: $payload,
            flow: $owner.tag,
            sharing: $encoder.finders.sharing(),
            has_departed: Cell::new(false),
        }
    };
}

/// Reduces the packets of one direction.
#[derive(Debug)]
pub struct Encoder {
    parameters: Parameters,
    policy: Box<dyn ReferencePolicy>,
    finders: Finders,
    index: Index,
    store: PacketStore,
    sparing: Sparing,
    density: Density,
    continuations: Continuations,
    statistics: EncoderStatistics,
    waiting: WaitingAnchors,
    matches: Vec<Match>,
    own_matches: Vec<Match>,
    /// The latest search met a key of a packet that has left the store.
    has_departed: bool,
    regions: Vec<compact::Region>,
    /// `None` in the compact form.
    injected: Option<Box<dyn Writer>>,
    references: Vec<u64>,
}

impl Encoder {
    /// An empty encoder. Parameters that [`Parameters::validate`] refuses are clamped.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Self {
        let Parameters { policy, form, window_bytes, sample_bits, store_bytes, .. } = *parameters;
        let store_bytes = if policy == Policy::Off { 0 } else { store_bytes };
        let (finder, sparing, density) = match form {
            Form::Compact => {
                let finder = AnchorFinder::quick(window_bytes, sample_bits);
                (finder, Sparing::on(), Density::adaptive(sample_bits))
            }
            Form::Injected(_) => {
                (AnchorFinder::rabin(window_bytes, sample_bits), Sparing::off(), Density::fixed())
            }
        };
        let injected = match form {
            Form::Compact => None,
            Form::Injected(injected) => Some((injected.writer)(parameters)),
        };
        let policy = policy.build();
        Encoder {
            parameters: *parameters,
            policy,
            finders: Finders::new(parameters.sharing(), finder),
            index: index(parameters, store_bytes),
            store: PacketStore::new(store_bytes),
            sparing,
            density,
            continuations: Continuations::default(),
            statistics: EncoderStatistics::default(),
            waiting: WaitingAnchors::new(store_bytes),
            matches: Vec::new(),
            own_matches: Vec::new(),
            has_departed: false,
            regions: Vec::new(),
            injected,
            references: Vec::new(),
        }
    }

    /// Sets the secret (64 random bits) that hides from others which windows the encoder keeps and which of
    /// them collide. Without a secret, all encoders keep the same windows.
    #[must_use]
    pub fn with_secret(mut self, secret: u64) -> Self {
        self.finders.set_secret(secret);
        self
    }

    /// Makes the store a lasting one ([`crate::store`]). The decoder's must be one, too.
    #[must_use]
    pub fn with_lasting_store(mut self) -> Self {
        let store_bytes = self.store_bytes();
        self.index = Index::new(store_bytes, true);
        self.store = PacketStore::lasting(store_bytes);
        self
    }

    /// Changes the bound of the store. Where it is smaller, packets leave. The decoder's bound must not be
    /// the smaller one.
    pub fn set_store_bytes(&mut self, store_bytes: usize) {
        if store_bytes == self.parameters.store_bytes {
            return;
        }
        self.parameters.store_bytes = store_bytes;
        let store_bytes = self.store_bytes();
        self.store.set_bound(store_bytes);
        self.index.set_store_bytes(store_bytes);
        self.waiting.set_store_bytes(store_bytes);
    }

    fn store_bytes(&self) -> usize {
        if self.parameters.policy == Policy::Off { 0 } else { self.parameters.store_bytes }
    }

    /// Bytes of memory of store and tables.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.store.memory_bytes() + self.index.memory_bytes() + self.waiting.memory_bytes()
    }

    /// The most memory of an encoder with a lasting store of `store_bytes`, in bytes.
    #[must_use]
    pub fn most_memory_bytes(store_bytes: usize) -> usize {
        let small_bytes = LEAST_BYTES + store_bytes.min(SMALL_BYTES);
        store_bytes.saturating_add(store_bytes / 100 * 13).saturating_add(small_bytes)
    }

    /// Every packet is held until as many bytes were sent after it.
    #[must_use]
    pub fn recent_bytes(&self) -> usize {
        self.store.recent_bytes()
    }

    /// Appends shim and literals to `out` and returns [`Encoded::Reduced`]; otherwise leaves `out` unchanged.
    /// It stores an eligible packet under `sequence`, which must exceed all earlier ones.
    pub fn encode(&mut self, sequence: u64, packet: &[u8], inner: &Inner, out: &mut Vec<u8>) -> Encoded {
        self.encode_and(true, sequence, packet, inner, out)
    }

    /// As [`encode`](Encoder::encode), but stores nothing. `sequence` exceeds those of stored packets.
    pub fn encode_only(&mut self, sequence: u64, packet: &[u8], inner: &Inner, out: &mut Vec<u8>) -> Encoded {
        self.encode_and(false, sequence, packet, inner, out)
    }

    fn encode_and(
        &mut self,
        stores: bool,
        sequence: u64,
        packet: &[u8],
        inner: &Inner,
        out: &mut Vec<u8>,
    ) -> Encoded {
        self.references.clear();
        self.statistics.packets += 1;
        self.statistics.packet_bytes += packet.len() as u64;
        if self.parameters.policy == Policy::Off {
            return Encoded::Plain;
        }
        let Some(payload) = eligible_payload(packet, inner, self.parameters.window_bytes) else {
            return Encoded::Plain;
        };
        self.statistics.eligible_packets += 1;
        let admitted = self.policy.admit(sequence, inner);
        self.matches.clear();
        let owner = self.finders.owner(&inner.flow);
        let mut reached = None;
        if admitted && self.injected.is_none() && !self.sparing.is_rare() {
            reached = self.go_on(owner, sequence, packet, inner, payload.clone());
        }
        let unknown = self.unknown(payload.clone());
        let searched = admitted && self.sparing.wants_a_search();
        if searched {
            self.statistics.searched_packets += 1;
            // a rare search is to find the beginning of a repetition, of which few keys may be left
            self.finders.halve(if self.sparing.is_rare() { 0 } else { self.density.halvings() });
            self.finders.find(owner, packet, &payload, unknown.clone());
            reached = self.search(owner, sequence, packet, payload.clone()).or(reached);
        }
        let encoded = self.emit(sequence, packet, out);
        if searched {
            if self.matches.is_empty() && self.has_departed {
                let packets = u64::from(self.sparing.stands_for());
                self.statistics.departed_bytes += packets * payload.len() as u64;
            }
            self.sparing.searched(encoded != Encoded::Plain);
        }
        let end = self.matches.last().filter(|found| found.end() == payload.end).map(Match::stored_end);
        self.continuations.ended(inner, payload.len(), end.or(reached));
        if stores && self.store.insert_of_flow(sequence, owner.tag, packet, payload.clone()) {
            self.index.fit(self.store.used_bytes());
            if !searched || self.sparing.is_rare() {
                let entering = self.sparing.enters_next();
                self.finders.halve(self.density.most_halvings());
                self.finders.find_to_enter(entering, owner, packet, &payload, unknown);
            }
            if self.injected.is_none() {
                self.finders.spare_within(&self.matches);
            }
            if self.indexes_when_confirmed() {
                if self.has_own_index() {
                    return encoded; // the form enters the packet when it is confirmed
                }
                let keys = self.finders.all().map(|anchor| Key::new(anchor.fingerprint, anchor.offset));
                self.waiting.keep(sequence, keys);
            } else {
                self.enter_anchors(sequence);
            }
        }
        encoded
    }

    /// Finds the region at the beginning of the packet, if the flow's last packet ended in a region. Returns
    /// the place behind the region's end, if that is in another flow.
    fn go_on(
        &mut self,
        owner: Owner,
        sequence: u64,
        packet: &[u8],
        inner: &Inner,
        payload: Range<usize>,
    ) -> Option<Place> {
        let place = self.continuations.of(inner)?;
        search!(self, owner, sequence, packet, payload).go_on(place, &mut self.matches)
    }

    /// The stretch of the payload in which anchors are looked for: not what stands in a packet that stays for
    /// long yet, and to which its own anchors lead.
    fn unknown(&self, payload: Range<usize>) -> Range<usize> {
        let known = self.matches.iter().take_while(|found| self.store.stays(found.stored_sequence)).last();
        known.map_or(payload.start, Match::end)..payload.end
    }

    /// Searches the packet by its anchors, then by its spans. Regions of its own flow depend on that flow
    /// alone. Returns the place behind the packet's end, if that is in another flow.
    fn search(&mut self, owner: Owner, sequence: u64, packet: &[u8], payload: Range<usize>) -> Option<Place> {
        let search = search!(self, owner, sequence, packet, payload);
        let known = self.matches.len();
        let mut reached = None;
        match &mut self.injected {
            None => search.for_compact_form(&mut self.matches),
            Some(injected) => injected.search(&search, &mut self.matches),
        }
        if !self.finders.spans.is_empty() {
            self.own_matches.clear();
            self.own_matches.extend(self.matches.drain(known..));
            reached = search.across(&self.finders.spans, &self.own_matches, &mut self.matches);
        }
        self.has_departed = search.has_departed.get();
        self.matches.iter().for_each(|found| self.density.found(found.length));
        reached
    }

    /// Writes shim and literals for the matches, if they make the packet shorter.
    fn emit(&mut self, sequence: u64, packet: &[u8], out: &mut Vec<u8>) -> Encoded {
        if self.matches.is_empty() {
            return Encoded::Plain;
        }
        let start = out.len();
        match &mut self.injected {
            None => {
                let mut end_of_last = 0;
                self.regions.clear();
                self.regions.extend(self.matches.iter().map(|found| {
                    let region = found.to_compact(sequence, end_of_last);
                    end_of_last = found.end();
                    region
                }));
                compact::emit(&self.regions, out);
            }
            Some(injected) => injected.emit(&self.matches, out),
        }
        let shim_bytes = out.len() - start;
        let removed_bytes: usize = self.matches.iter().map(|found| found.length).sum();
        if Reduced::FRONT_BYTES + shim_bytes >= removed_bytes {
            out.truncate(start);
            self.statistics.declined_packets += 1;
            return Encoded::Plain;
        }
        let mut end_of_last = 0;
        for found in &self.matches {
            out.extend_from_slice(&packet[end_of_last..found.start]);
            end_of_last = found.end();
            if !self.references.contains(&found.stored_sequence) {
                self.references.push(found.stored_sequence);
            }
        }
        out.extend_from_slice(&packet[end_of_last..]);
        self.statistics.reduced_packets += 1;
        self.statistics.regions += self.matches.len() as u64;
        self.statistics.removed_bytes += removed_bytes as u64;
        self.statistics.shim_bytes += shim_bytes as u64;
        Encoded::Reduced {
            regions: self.matches.len(),
            removed_bytes,
            shim_bytes,
            referred_packets: self.references.len(),
        }
    }

    /// Whether the fingerprints of the packet at hand are entered at its confirmation and not now.
    fn indexes_when_confirmed(&self) -> bool {
        self.policy.waits_for_confirmation() && self.may_enter_late()
    }

    /// Whether the form can enter fingerprints after others that are newer.
    fn may_enter_late(&self) -> bool {
        self.injected.as_ref().is_none_or(|injected| injected.may_enter_late())
    }

    /// Whether the form has an index of its own.
    fn has_own_index(&self) -> bool {
        self.injected.as_ref().is_some_and(|injected| injected.has_index())
    }

    /// Sets whether hop ARQ repairs losses from now on.
    pub fn set_losses_repaired(&mut self, repaired: bool) {
        self.policy.set_losses_repaired(repaired);
    }

    /// Sets whether packets wait for the processor and not for the link. If so, few packets are
    /// searched.
    pub fn set_processor_short(&mut self, is_short: bool) {
        self.sparing.processor_is_short(is_short);
    }

    fn enter_anchors(&mut self, sequence: u64) {
        if let Some(injected) = self.injected.as_mut().filter(|injected| injected.has_index()) {
            if let Some(stored) = self.store.get(sequence) {
                injected.enter(&stored, &self.finders.anchors, &self.store);
            }
            return;
        }
        let lasts = self.store.lasts(sequence);
        let keys = self.finders.all().map(|anchor| Key::new(anchor.fingerprint, anchor.offset));
        self.index.insert(keys, sequence, lasts);
    }

    /// Notes that the receiver holds this packet.
    pub fn confirm(&mut self, sequence: u64) {
        if !self.store.confirm(sequence) {
            return;
        }
        self.statistics.confirmed_packets += 1;
        if !self.may_enter_late() {
            return;
        }
        if let Some(keys) = self.waiting.of(sequence) {
            let lasts = self.store.lasts(sequence);
            self.index.insert(keys, sequence, lasts);
        } else if self.policy.always_waits()
            && let Some(stored) = self.store.get(sequence)
        {
            self.finders.find_again(self.sparing.enters_again(), &stored);
            self.enter_anchors(sequence);
        }
    }

    /// Notes that the receiver lacks this packet: it was lost, or could not be restored.
    pub fn report_lost(&mut self, sequence: u64) {
        if self.store.report_lost(sequence) {
            self.statistics.lost_packets += 1;
        }
    }

    /// A packet before encoding, while the store has it.
    #[must_use]
    pub fn original(&self, sequence: u64) -> Option<&[u8]> {
        self.store.get(sequence).map(|stored| stored.packet)
    }

    /// The distinct link sequences that the last encoded packet refers to, in the packet's order.
    #[must_use]
    pub fn references(&self) -> &[u64] {
        &self.references
    }

    /// Forgets every packet, because the peer has lost its store. Policies keep their state of flows.
    pub fn clear(&mut self) {
        self.store.clear();
        self.index.clear();
        self.waiting.clear();
        self.continuations.clear();
        if let Some(injected) = &mut self.injected {
            injected.clear();
        }
        self.references.clear();
    }

    /// Counts since the encoder was made.
    #[must_use]
    pub fn statistics(&self) -> &EncoderStatistics {
        &self.statistics
    }
}
