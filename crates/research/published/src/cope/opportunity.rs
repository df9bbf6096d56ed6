//! Choice of the queue's natives to combine (COPE, section 3.3, "packet coding algorithm").
//!
//! The first native of the queue is sent now in any case, alone if necessary: it waits for no partner.

use super::queue::{OutputQueue, Place};
use mesh::cope::neighbours::Neighbours;
use mesh::cope::opportunity::gather;

/// Number of failed transmissions after which a native is sent alone, because some assumption about a
/// receiver is wrong.
const ALONE_AFTER: u8 = 2;

/// Places of the natives to combine, the queue's head first; empty for an empty queue. The search for
/// partners starts at neighbour `turn`, so that none is always first.
pub fn choose(
    queue: &OutputQueue,
    neighbours: &Neighbours,
    guess_at_least: f64,
    most: usize,
    turn: usize,
    out: &mut Vec<Place>,
) {
    out.clear();
    let Some((head, first)) = queue.head().and_then(|head| Some((head, queue.get(head)?))) else { return };
    if first.tries >= ALONE_AFTER {
        out.push(head);
        return;
    }
    let others: Vec<u16> = queue.next_hops().filter(|next_hop| *next_hop != first.next_hop).collect();
    let next_hops = (0..others.len()).map(|at| others[(at + turn) % others.len()]);
    let candidate = |next_hop, same_size| {
        let place = queue.head_for(next_hop, first, same_size)?;
        queue.get(place).is_some_and(|candidate| candidate.tries < ALONE_AFTER).then_some(place)
    };
    let chance_of = |neighbour, of: Place| {
        queue.get(of).map_or(0.0, |of| neighbours.probability(neighbour, of.id, of.previous))
    };
    gather((head, first.next_hop), next_hops, (most, guess_at_least), candidate, chance_of, out);
}

#[cfg(test)]
mod tests {
    use super::super::queue::Waiting;
    use super::*;
    use mesh::cope::PacketId;
    use mesh::cope::window::Window;

    /// A native from a source to a next hop, both named by numbers, and the source is the previous hop.
    fn push(queue: &mut OutputQueue, source: u16, next_hop: u16, bytes: usize) {
        let number = queue.len() as u32;
        queue.push(Waiting::new(PacketId { source, number }, (source, next_hop), vec![0; bytes], bytes));
    }

    fn chosen(queue: &OutputQueue, neighbours: &Neighbours) -> Vec<(u16, u16)> {
        let mut places = Vec::new();
        choose(queue, neighbours, 0.8, 8, 0, &mut places);
        places.iter().filter_map(|place| queue.get(*place)).map(|it| (it.id.source, it.next_hop)).collect()
    }

    #[test]
    fn two_that_send_through_a_relay_to_each_other_are_served_together() {
        let (mut queue, neighbours) = (OutputQueue::new(100), Neighbours::default());
        push(&mut queue, 1, 2, 1400);
        push(&mut queue, 1, 2, 1400);
        assert_eq!(chosen(&queue, &neighbours), [(1, 2)], "alone, since there is no partner");
        push(&mut queue, 2, 1, 1300);
        assert_eq!(chosen(&queue, &neighbours), [(1, 2), (2, 1)]);
    }

    #[test]
    fn three_are_combined_only_if_each_has_both_others() {
        let (mut queue, mut neighbours) = (OutputQueue::new(100), Neighbours::default());
        for at in 0..3u16 {
            push(&mut queue, 1 + at, 11 + at, 1400);
        }
        let overheard = |neighbours: &mut Neighbours, by: u16, source: u16| {
            neighbours.record_report(by, source, Window::new(u32::from(source) - 1));
        };
        for (by, source) in [(11, 2), (11, 3), (12, 1), (12, 3), (13, 1)] {
            overheard(&mut neighbours, by, source);
        }
        assert_eq!(chosen(&queue, &neighbours), [(1, 11), (2, 12)], "13 has not got the second");
        overheard(&mut neighbours, 13, 2);
        assert_eq!(chosen(&queue, &neighbours), [(1, 11), (2, 12), (3, 13)]);
    }

    #[test]
    fn a_guess_counts_for_as_much_as_it_is_likely_for_all_together() {
        let (mut queue, mut neighbours) = (OutputQueue::new(100), Neighbours::default());
        for at in 0..3u16 {
            push(&mut queue, 1 + at, 11 + at, 1400);
        }
        for (by, source) in [(11, 2), (11, 3), (12, 1), (12, 3), (13, 1), (13, 2)] {
            neighbours.set_delivery(source, by, 0.85);
        }
        assert_eq!(chosen(&queue, &neighbours).len(), 2, "0.85 twice is below 0.8");
        neighbours.set_delivery(1, 12, 0.7);
        assert_eq!(chosen(&queue, &neighbours), [(1, 11), (3, 13)]);
    }

    #[test]
    fn partners_of_like_size_are_preferred() {
        let (mut queue, neighbours) = (OutputQueue::new(100), Neighbours::default());
        push(&mut queue, 1, 2, 1400);
        push(&mut queue, 2, 1, 40);
        push(&mut queue, 2, 1, 1400);
        let mut places = Vec::new();
        choose(&queue, &neighbours, 0.8, 8, 0, &mut places);
        let bytes: Vec<usize> =
            places.iter().map(|place| queue.get(*place).unwrap().expected_bytes).collect();
        assert_eq!(bytes, [1400, 1400]);
    }
}
