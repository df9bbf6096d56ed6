//! Fronts of packets that were cut: they wait for the rest, which the next datagram has.

use crate::deliveries::Deliveries;
use std::collections::VecDeque;
use wire::frame::FrameType;

/// Fronts that wait at once: the rest comes with the next datagram, or one that was overtaken by a few.
const MAX_FRAGMENTS: usize = 8;

/// The front of a frame.
pub struct Fragment {
    /// The packet's link sequence.
    pub sequence: u64,
    /// The session that its MAC belongs to.
    pub session: u32,
    pub frame_type: FrameType,
    /// Codepoint of its datagram.
    pub ecn: u8,
    pub body: Vec<u8>,
}

/// The fronts that wait, oldest first.
#[derive(Default)]
pub struct Fragments(VecDeque<Fragment>);

impl Fragments {
    /// Keeps a front, in place of the oldest if there is no room.
    pub fn keep(&mut self, front: Fragment, deliveries: &mut Deliveries) {
        if self.0.len() == MAX_FRAGMENTS
            && let Some(given_up) = self.0.pop_front()
        {
            deliveries.recycle(given_up.body);
        }
        self.0.push_back(front);
    }

    /// The front of the packet `sequence`, if it waits.
    pub fn take(&mut self, sequence: u64) -> Option<Fragment> {
        let at = self.0.iter().position(|front| front.sequence == sequence)?;
        self.0.remove(at)
    }
}
