//! Fronts of shared packets that were cut at their datagram's end, for overhearers. The rest arrives in the
//! next datagram to the same member. A front is useful only with its rest.

use std::collections::VecDeque;
use wire::frame::FrameType;

/// Fronts that wait at once, of all members together; a rest comes with the next datagram or not at all.
const MAX_FRONTS: usize = 16;

/// Where the unit begins that brings the rest: under which key, to which member, with which link sequence (24
/// bits).
pub(crate) type RestAt = (u32, u8, u32);

/// The fronts that were overheard, oldest first.
#[derive(Default)]
pub(crate) struct Pieces(VecDeque<(RestAt, Vec<u8>)>);

impl Pieces {
    /// Keeps the body of a head, if a shared packet was cut; `false`: it makes no sense.
    pub fn keep(&mut self, rest_at: RestAt, head: &[u8]) -> bool {
        let Some((&number, piece)) = head.split_first() else { return false };
        if number == FrameType::Shared as u8 {
            self.0.retain(|(at, _)| *at != rest_at);
            if self.0.len() == MAX_FRONTS {
                self.0.pop_front();
            }
            self.0.push_back((rest_at, piece.to_vec()));
        }
        true
    }

    /// The body of the frame whose rest this is; `None`: its front was not heard.
    pub fn join(&mut self, rest_at: RestAt, rest: &[u8]) -> Option<Vec<u8>> {
        let at = self.0.iter().position(|(at, _)| *at == rest_at)?;
        let (_, mut body) = self.0.remove(at)?;
        body.extend_from_slice(rest);
        Some(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: u8 = FrameType::Shared as u8;

    #[test]
    fn a_front_is_joined_with_the_rest_of_its_own_packet_once() {
        let mut pieces = Pieces::default();
        assert!(pieces.keep((7, 1, 100), &[SHARED, 1, 2]));
        assert!(pieces.keep((7, 2, 100), &[SHARED, 8]));
        assert_eq!(pieces.join((7, 1, 101), &[3]), None, "another packet's");
        assert_eq!(pieces.join((8, 1, 100), &[3]), None, "under another key");
        assert_eq!(pieces.join((7, 1, 100), &[3]), Some(vec![1, 2, 3]));
        assert_eq!(pieces.join((7, 1, 100), &[3]), None, "it is gone");
        assert_eq!(pieces.join((7, 2, 100), &[9]), Some(vec![8, 9]));
    }

    #[test]
    fn what_is_kept_is_bounded_and_of_shared_packets() {
        let mut pieces = Pieces::default();
        assert!(!pieces.keep((1, 1, 1), &[]));
        assert!(pieces.keep((1, 1, 1), &[FrameType::Short as u8, 5]), "a packet for its addressee alone");
        assert_eq!(pieces.join((1, 1, 1), &[]), None);
        for sequence in 0..=MAX_FRONTS as u32 {
            pieces.keep((1, 1, sequence), &[SHARED]);
        }
        assert_eq!(pieces.0.len(), MAX_FRONTS);
        assert_eq!(pieces.join((1, 1, 0), &[]), None, "the oldest was given up");
    }
}
