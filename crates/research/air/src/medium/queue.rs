//! The queue of a station. Frames leave in order of arrival, or their addressees take turns.

use std::collections::VecDeque;

use super::plan::Plan;

/// A frame that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    /// `None` for a broadcast.
    pub(super) to: Option<usize>,
    pub(super) bytes: usize,
    /// Empty after its delivery.
    pub(super) frame: Vec<u8>,
    /// Absent for a packet of the medium's own rate.
    pub(super) plan: Option<Plan>,
}

/// The frames of a station. The first one is in transmission.
#[derive(Debug, Default)]
pub(super) struct Queue(VecDeque<Waiting>);

impl Queue {
    /// Adds a frame, and returns the one without room. At most `room` frames wait beside the one in
    /// transmission. With turns, the last frame of the longest queue is dropped.
    pub(super) fn push(&mut self, waiting: Waiting, room: usize, takes_turns: bool) -> Option<Waiting> {
        let mut refused = None;
        if self.0.len() > room {
            let longest = if takes_turns { self.longest() } else { None };
            let Some(at) =
                longest.filter(|at| self.waiting_for(self.0[*at].to) > self.waiting_for(waiting.to) + 1)
            else {
                return Some(waiting);
            };
            refused = self.0.remove(at);
        }
        let at = if takes_turns { self.turn_of(waiting.to) } else { self.0.len() };
        self.0.insert(at, waiting);
        refused
    }

    /// The position of a new frame: the *n*-th frame for one station precedes the *n* + 1st for any.
    fn turn_of(&self, to: Option<usize>) -> usize {
        let turn = self.waiting_for(to);
        let later = |at: usize| self.0.range(..at).filter(|it| it.to == self.0[at].to).count() > turn;
        (1..self.0.len()).find(|at| later(*at)).unwrap_or(self.0.len())
    }

    /// Position of the last frame for the addressee with the most frames, without the one in transmission.
    fn longest(&self) -> Option<usize> {
        (1..self.0.len()).max_by_key(|at| self.waiting_for(self.0[*at].to))
    }

    fn waiting_for(&self, to: Option<usize>) -> usize {
        self.0.iter().filter(|it| it.to == to).count()
    }

    pub(super) fn front(&self) -> Option<&Waiting> {
        self.0.front()
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut Waiting> {
        self.0.front_mut()
    }

    pub(super) fn pop_front(&mut self) -> Option<Waiting> {
        self.0.pop_front()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addressees of the queue and of the dropped frames, in order, after these arrivals.
    fn order(came: &[usize], room: usize, takes_turns: bool) -> (Vec<usize>, Vec<usize>) {
        let mut queue = Queue::default();
        let waiting = |to: &usize| Waiting { to: Some(*to), bytes: 1, frame: Vec::new(), plan: None };
        let refused: Vec<Waiting> =
            came.iter().filter_map(|to| queue.push(waiting(to), room, takes_turns)).collect();
        let to = |it: &Waiting| it.to.unwrap_or_default();
        (queue.0.iter().map(to).collect(), refused.iter().map(to).collect())
    }

    #[test]
    fn who_comes_late_does_not_wait_behind_all_that_others_have() {
        assert_eq!(order(&[1, 1, 1, 1, 2, 2, 3], 9, false).0, [1, 1, 1, 1, 2, 2, 3]);
        assert_eq!(order(&[1, 1, 1, 1, 2, 2, 3], 9, true).0, [1, 2, 3, 1, 2, 1, 1]);
    }

    #[test]
    fn a_full_queue_refuses_what_comes_or_what_most_wait_for() {
        assert_eq!(order(&[1, 1, 1, 1, 2], 3, false), (vec![1, 1, 1, 1], vec![2]));
        assert_eq!(order(&[1, 1, 1, 1, 2, 1], 3, true), (vec![1, 2, 1, 1], vec![1, 1]));
        assert_eq!(order(&[1, 2], 0, true), (vec![1], vec![2]), "what is tried is not taken away");
    }
}
