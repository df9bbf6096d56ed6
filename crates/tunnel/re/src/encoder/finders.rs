//! Keys of a packet in the index: windows of its own flow, and spans across flows.

use super::search::Match;
use crate::anchors::{Anchor, AnchorFinder};
use crate::flow::{MULTIPLIER, Owner};
use crate::pieces::SpanFinder;
use crate::sharing::Sharing;
use crate::sparing::Entering;
use crate::store::Stored;
use std::ops::Range;
use wire::inner::{Flow, Inner};

/// A region of so many bytes or more is found by few keys.
const SPARED_REGION_BYTES: usize = 1024;
/// Of its keys, one in 2^2 is entered again.
const SPARED_BITS: u32 = 2;

/// Where a packet is examined in part, stretches for spans are so many times as long as those for windows.
const SPANS_FEWER: usize = 4;

/// The finders of one encoder, and their latest results.
#[derive(Debug)]
pub(super) struct Finders {
    sharing: Sharing,
    /// Secret that chooses the windows and their places in the index.
    secret: u64,
    windows: AnchorFinder,
    pieces: SpanFinder,
    halvings: u32,
    /// Anchors of the packet's own flow.
    pub anchors: Vec<Anchor>,
    /// Spans of all flows that it shares with.
    pub spans: Vec<Anchor>,
}

impl Finders {
    /// Finders without results.
    pub fn new(sharing: Sharing, windows: AnchorFinder) -> Self {
        let pieces = SpanFinder::new();
        Finders { sharing, secret: 0, windows, pieces, halvings: 0, anchors: Vec::new(), spans: Vec::new() }
    }

    /// Sets the secret for windows and spans.
    pub fn set_secret(&mut self, secret: u64) {
        self.secret = secret;
        self.windows.set_secret(secret);
        self.pieces.set_secret(secret);
    }

    /// How far references reach.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// The owner of this flow's packets.
    pub fn owner(&self, flow: &Flow) -> Owner {
        Owner::of(flow, self.sharing, self.secret)
    }

    /// Keeps one in 2^`halvings` of the windows and spans from now on.
    pub fn halve(&mut self, halvings: u32) {
        self.halvings = halvings;
        self.windows.halve(halvings);
    }

    /// Finds the windows and spans in the stretch `unknown` of a payload.
    pub fn find(&mut self, owner: Owner, packet: &[u8], payload: &Range<usize>, unknown: Range<usize>) {
        self.windows.find(packet, unknown.clone(), &mut self.anchors);
        if self.sharing.has_pieces() {
            self.pieces.find(packet, payload, unknown, self.halvings, &mut self.spans);
        }
        self.belong_to(owner);
    }

    /// Finds the keys under which a packet is entered.
    pub fn find_to_enter(
        &mut self,
        entering: Entering,
        owner: Owner,
        packet: &[u8],
        payload: &Range<usize>,
        unknown: Range<usize>,
    ) {
        let stretch_bytes = match entering {
            Entering::All => return self.find(owner, packet, payload, unknown),
            Entering::Few { stretch_bytes } => stretch_bytes,
            Entering::Nothing => {
                self.anchors.clear();
                return self.spans.clear();
            }
        };
        self.windows.find_thinly(packet, unknown.clone(), stretch_bytes, &mut self.anchors);
        if self.sharing.has_pieces() {
            self.pieces.find_thinly(packet, payload, unknown, SPANS_FEWER * stretch_bytes, &mut self.spans);
        }
        self.belong_to(owner);
    }

    /// Finds the keys of a stored packet.
    pub fn find_again(&mut self, entering: Entering, stored: &Stored<'_>) {
        let owner = match Inner::parse(stored.packet) {
            Ok(inner) => self.owner(&inner.flow),
            Err(_) => Owner::NOBODY,
        };
        let payload = stored.payload.clone();
        self.find_to_enter(entering, owner, stored.packet, &payload, payload.clone());
    }

    /// All windows and spans of the latest search.
    pub fn all(&self) -> impl Iterator<Item = &Anchor> {
        self.anchors.iter().chain(&self.spans)
    }

    /// Leaves out most keys within long regions, which are front to back. The table has then room for others.
    pub fn spare_within(&mut self, regions: &[Match]) {
        if !regions.iter().any(|region| region.length >= SPARED_REGION_BYTES) {
            return;
        }
        for anchors in [&mut self.anchors, &mut self.spans] {
            let mut regions = regions.iter().peekable();
            anchors.retain(|anchor| {
                let at = usize::from(anchor.offset);
                while regions.next_if(|region| region.end() <= at).is_some() {}
                let is_known = regions
                    .peek()
                    .is_some_and(|region| region.start <= at && region.length >= SPARED_REGION_BYTES);
                !is_known || anchor.fingerprint.wrapping_mul(MULTIPLIER) >> (u64::BITS - SPARED_BITS) == 0
            });
        }
    }

    fn belong_to(&mut self, owner: Owner) {
        self.anchors.iter_mut().for_each(|anchor| anchor.fingerprint ^= owner.of_windows);
        self.spans.iter_mut().for_each(|span| span.fingerprint ^= owner.of_spans);
    }
}
