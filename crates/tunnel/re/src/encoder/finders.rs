//! What a packet is found by: windows of its own flow, and spans across flows.

use crate::anchors::{Anchor, AnchorFinder};
use crate::flow::Owner;
use crate::pieces::SpanFinder;
use crate::sharing::Sharing;
use crate::store::Stored;
use std::ops::Range;
use wire::inner::{Flow, Inner};

/// The finders of one encoder, and what they found last.
#[derive(Debug)]
pub(super) struct Finders {
    sharing: Sharing,
    /// What nobody else knows: which windows are kept, and where in the index they stand.
    secret: u64,
    windows: AnchorFinder,
    pieces: SpanFinder,
    halvings: u32,
    /// Of the packet's own flow.
    pub anchors: Vec<Anchor>,
    /// Of all with whom it shares.
    pub spans: Vec<Anchor>,
}

impl Finders {
    /// Nothing is found yet.
    pub fn new(sharing: Sharing, windows: AnchorFinder) -> Self {
        let pieces = SpanFinder::default();
        Finders { sharing, secret: 0, windows, pieces, halvings: 0, anchors: Vec::new(), spans: Vec::new() }
    }

    /// From now on everything is found under this secret.
    pub fn set_secret(&mut self, secret: u64) {
        self.secret = secret;
        self.windows.set_secret(secret);
        self.pieces.set_secret(secret);
    }

    /// How far references reach.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// The owner of packets of this flow.
    pub fn owner(&self, flow: &Flow) -> Owner {
        Owner::of(flow, self.sharing, self.secret)
    }

    /// From now on finds half as many, or half of that, and so on.
    pub fn halve(&mut self, halvings: u32) {
        self.halvings = halvings;
        self.windows.halve(halvings);
    }

    /// Finds what stands in the stretch `unknown` of a payload.
    pub fn find(&mut self, owner: Owner, packet: &[u8], payload: &Range<usize>, unknown: Range<usize>) {
        self.windows.find(packet, unknown.clone(), &mut self.anchors);
        if self.sharing.has_pieces() {
            self.pieces.find(packet, payload, unknown, self.halvings, &mut self.spans);
        }
        self.belong_to(owner);
    }

    /// Finds what a packet is to be found by later. While nothing is ever found, which `is_rare` says, it is
    /// enough to find the packet at all.
    pub fn find_to_enter(
        &mut self,
        is_rare: bool,
        owner: Owner,
        packet: &[u8],
        payload: &Range<usize>,
        unknown: Range<usize>,
    ) {
        if !is_rare {
            return self.find(owner, packet, payload, unknown);
        }
        self.windows.find_thinly(packet, unknown.clone(), &mut self.anchors);
        if self.sharing.has_pieces() {
            self.pieces.find_thinly(packet, payload, unknown, &mut self.spans);
        }
        self.belong_to(owner);
    }

    /// Finds what a stored packet is to be found by.
    pub fn find_again(&mut self, is_rare: bool, stored: &Stored<'_>) {
        let owner = match Inner::parse(stored.packet) {
            Ok(inner) => self.owner(&inner.flow),
            Err(_) => Owner::NOBODY,
        };
        let payload = stored.payload.clone();
        self.find_to_enter(is_rare, owner, stored.packet, &payload, payload.clone());
    }

    /// Everything that was found last.
    pub fn all(&self) -> impl Iterator<Item = &Anchor> {
        self.anchors.iter().chain(&self.spans)
    }

    fn belong_to(&mut self, owner: Owner) {
        self.anchors.iter_mut().for_each(|anchor| anchor.fingerprint ^= owner.of_windows);
        self.spans.iter_mut().for_each(|span| span.fingerprint ^= owner.of_spans);
    }
}
