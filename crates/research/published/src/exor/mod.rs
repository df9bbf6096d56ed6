//! ExOR: of the nodes that heard a fragment, the nearest to the destination forwards it (S. Biswas, R.
//! Morris, SIGCOMM 2005).
//!
//! The source lists the [`forwarders`] of a batch by distance to the destination. Nodes send in that order in
//! rounds, the destination first and the source last. Each sends its fragments that no nearer node is known
//! to have. That knowledge is its *batch map*, which is in every frame and so spreads from the destination
//! back to the source. When the destination has nine tenths of a batch, the rest uses the normal route.
//!
//! For repeated content, a fragment carries several reduced packets ([`packing`]), so a batch has fewer
//! fragments. A forwarder that can build a fragment from its own content counts as having it
//! ([`Batch::holds`]), and comes earlier ([`forwarders::reordered`]).
//!
//! The driver schedules turns: frames have the number of fragments to come, so a node knows the end of the
//! turn before its own.

pub mod forwarders;
pub mod frame;
pub mod packing;

use frame::{Frame, MAX_FORWARDERS, MAX_FRAGMENTS};
use wire::Malformed;

/// The share of a batch that is forwarded opportunistically.
pub const OPPORTUNISTIC_SHARE: f64 = 0.9;
/// Repetitions of the destination's batch map in its turn (section 3.4).
pub const MAP_COPIES: usize = 10;

/// A batch in the view of one of its forwarders.
#[derive(Debug, Clone)]
pub struct Batch {
    number: u32,
    forwarders: Vec<u16>,
    place: u8,
    fragments: Vec<Option<Vec<u8>>>,
    map: Vec<u8>,
}

impl Batch {
    /// A batch at its source, with at most [`MAX_FRAGMENTS`] fragments and [`MAX_FORWARDERS`] forwarders, of
    /// which the source is the last. `None` beyond these bounds or without a destination.
    #[must_use]
    pub fn at_source(number: u32, forwarders: Vec<u16>, fragments: Vec<Vec<u8>>) -> Option<Self> {
        let in_form = (2..=MAX_FORWARDERS).contains(&forwarders.len()) && fragments.len() <= MAX_FRAGMENTS;
        let place = forwarders.len().checked_sub(1)? as u8;
        let map = vec![place; fragments.len()];
        let fragments = fragments.into_iter().map(Some).collect();
        in_form.then_some(Batch { number, forwarders, place, fragments, map })
    }

    /// A batch at a forwarder that heard its first frame. `None` at other nodes, or for a malformed frame.
    #[must_use]
    pub fn heard_of(me: u16, frame: &[u8]) -> Option<Self> {
        let frame = Frame::parse(frame).ok()?;
        let forwarders: Vec<u16> = frame.forwarders().collect();
        let place = forwarders.iter().position(|node| *node == me)? as u8;
        let nobody = forwarders.len() as u8 - 1;
        let count = usize::from(frame.fragments);
        Some(Batch {
            number: frame.batch,
            forwarders,
            place,
            fragments: vec![None; count],
            map: vec![nobody; count],
        })
    }

    /// Whether this node is its destination.
    #[must_use]
    pub fn is_destination(&self) -> bool {
        self.place == 0
    }

    /// Handles a frame of this batch; other frames are ignored.
    ///
    /// # Errors
    ///
    /// If it is malformed; nothing changes then.
    pub fn handle_frame(&mut self, frame: &[u8]) -> Result<(), Malformed> {
        let frame = Frame::parse(frame)?;
        let is_of_this = frame.batch == self.number
            && usize::from(frame.fragments) == self.fragments.len()
            && frame.forwarders().eq(self.forwarders.iter().copied());
        if !is_of_this {
            return Ok(());
        }
        for (known, said) in self.map.iter_mut().zip(frame.map()) {
            *known = said.min(*known);
        }
        if let Some(fragment) = frame.fragment {
            self.holds(fragment.into(), frame.payload);
        }
        Ok(())
    }

    /// Notes that this node has a fragment, heard or built from its own content.
    pub fn holds(&mut self, fragment: usize, bytes: &[u8]) {
        let (Some(held), Some(nearest)) = (self.fragments.get_mut(fragment), self.map.get_mut(fragment))
        else {
            return;
        };
        if held.is_none() {
            *held = Some(bytes.to_vec());
        }
        *nearest = self.place.min(*nearest);
    }

    /// The fragments of this node.
    pub fn held(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.fragments.iter().map(Option::as_deref)
    }

    /// The share of fragments that the destination has, as far as this node knows.
    #[must_use]
    pub fn arrived_share(&self) -> f64 {
        let arrived = self.map.iter().filter(|place| **place == 0).count();
        arrived as f64 / self.map.len().max(1) as f64
    }

    /// The fragments for this node's turn: those that it has and no nearer node is known to have. The
    /// destination has none.
    #[must_use]
    pub fn to_send(&self) -> Vec<usize> {
        let is_mine = |at: &usize| self.fragments[*at].is_some() && self.map[*at] == self.place;
        if self.is_destination() { Vec::new() } else { (0..self.map.len()).filter(is_mine).collect() }
    }

    /// Appends a frame with a fragment, or with the batch map alone.
    pub fn emit(&self, fragment: Option<usize>, to_come: usize, out: &mut Vec<u8>) {
        let bytes = fragment.and_then(|at| Some((at as u8, self.fragments.get(at)?.as_deref()?)));
        let to_come = to_come.min(u8::MAX.into()) as u8;
        Frame::emit(self.number, bytes, self.place, to_come, &self.forwarders, &self.map, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Over a lossy line the destination gets every fragment unchanged, and fragments that it has are
        /// soon not sent any more.
        #[test]
        fn a_batch_arrives_as_it_was(seed: u64, fragments in 1usize..40, loss in 0.0..0.7) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let list = vec![30, 20, 10];
            let bytes: Vec<Vec<u8>> = (0..fragments).map(|at| vec![at as u8; 1 + at]).collect();
            let source = Batch::at_source(7, list.clone(), bytes.clone()).unwrap();
            let mut nodes: Vec<Option<Batch>> = vec![None, None, Some(source)];
            let mut rounds = 0;
            while nodes[0].as_ref().is_none_or(|batch| batch.arrived_share() < 1.0) {
                rounds += 1;
                prop_assert!(rounds < 400, "it does not come to an end");
                for sender in 0..3 {
                    let Some(batch) = &nodes[sender] else { continue };
                    let mut sends: Vec<Option<usize>> = batch.to_send().into_iter().map(Some).collect();
                    if batch.is_destination() {
                        sends = vec![None; 2];
                    }
                    for fragment in sends {
                        let Some(batch) = &nodes[sender] else { continue };
                        let mut frame = Vec::new();
                        batch.emit(fragment, 0, &mut frame);
                        for receiver in (0..3).filter(|receiver| *receiver != sender) {
                            // The ends rarely hear each other.
                            let is_lost = loss + if sender.abs_diff(receiver) == 2 { 0.25 } else { 0.0 };
                            if rng.random_bool(is_lost) {
                                continue;
                            }
                            let node = &mut nodes[receiver];
                            if node.is_none() {
                                *node = Batch::heard_of(list[receiver], &frame);
                            }
                            node.as_mut().unwrap().handle_frame(&frame).unwrap();
                        }
                    }
                }
            }
            let arrived: Vec<Vec<u8>> =
                nodes[0].as_ref().unwrap().held().map(|fragment| fragment.unwrap().to_vec()).collect();
            prop_assert_eq!(arrived, bytes);
        }
    }

    #[test]
    fn nobody_sends_what_somebody_nearer_is_known_to_have() {
        let source = Batch::at_source(1, vec![3, 2, 1], vec![vec![1], vec![2], vec![3]]).unwrap();
        let mut frame = Vec::new();
        source.emit(Some(1), 0, &mut frame);
        let mut relay = Batch::heard_of(2, &frame).unwrap();
        relay.handle_frame(&frame).unwrap();
        assert_eq!((relay.to_send(), source.to_send()), (vec![1], vec![0, 1, 2]));
        let mut map = Vec::new();
        relay.emit(None, 0, &mut map);
        let mut source = source;
        source.handle_frame(&map).unwrap();
        assert_eq!(source.to_send(), [0, 2]);
        // A frame of another batch or list is ignored.
        let other = Batch::at_source(1, vec![3, 2, 9], vec![vec![1], vec![2], vec![3]]).unwrap();
        let mut frame = Vec::new();
        other.emit(Some(0), 0, &mut frame);
        relay.handle_frame(&frame).unwrap();
        assert_eq!(relay.to_send(), [1]);
        assert!(Batch::heard_of(8, &frame).is_none());
    }
}
