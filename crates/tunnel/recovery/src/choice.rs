//! The choice of packets to combine where degree and distance are not fixed. It combines as few as possible,
//! and those that are least likely lost together.
//!
//! Packets stay plain while there is room. A packet beyond the room makes room by the cheapest means, if that
//! costs less than the packet's worth. Two sums become one, all plain packets become rows (one less than
//! packets), or a block loses a row. The degree thus follows the number of packets in flight, which equation
//! 2 of XBC must know in advance. The distance follows observed joint losses, which equation 4 takes from a
//! model.
//!
//! A sum restores a lost packet if all its other packets arrived; rows restore lost packets if there are at
//! least as many rows. The probabilities are counted on the flow's own link: the loss rate, the loss rate at
//! each distance from a lost packet, and the number of losses among consecutive packets. The *cost* of room
//! is the decrease of the repair probability, summed over lost packets. Packets known to have arrived cost
//! nothing.

/// The largest distance at which losses are correlated.
const REACH: usize = 16;
/// The count at which all counts are halved, so that old events lose weight.
const MEMORY: f32 = 2048.0;
/// Packets and losses assumed before any is counted: one loss in fifty, at any distance. The numbers are
/// small: with a hundred packets and a small doubt below, a link that lost 40% was long coded as a good link,
/// and was 5% slower than with Snoop.
const ASSUMED: (f32, f32) = (20.0, 0.4);
/// The most consecutive packets whose losses are counted.
const MOST_IN_ROW: usize = 16;
/// Weight, in windows, of the assumption that losses are independent. The windows overlap.
const WINDOWS_DOUBT: f32 = 60.0;
/// Weight, in losses, of the assumption that losses are independent. With less, the best of many pairs is
/// only apparently good.
const DOUBT: f32 = 12.0;

/// Counts of one flow.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The newest packets, bit 0 the last: whether they were lost.
    recent: u32,
    packets: f32,
    lost: f32,
    /// For each distance behind a lost packet: packets, and lost ones among them.
    behind: [(f32, f32); REACH],
    /// Number of windows, by their length from 1 on and by their number of losses.
    windows: Box<[[f32; MOST_IN_ROW + 1]; MOST_IN_ROW]>,
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            recent: 0,
            packets: ASSUMED.0,
            lost: ASSUMED.1,
            behind: [(0.0, 0.0); REACH],
            windows: Box::new([[0.0; MOST_IN_ROW + 1]; MOST_IN_ROW]),
        }
    }
}

impl Counts {
    /// Notes whether the next packet in order was lost at its first transmission.
    pub fn fate(&mut self, lost: bool) {
        for (back, (seen, lost_too)) in self.behind.iter_mut().enumerate() {
            if self.recent >> back & 1 == 1 {
                *seen += 1.0;
                *lost_too += f32::from(u8::from(lost));
            }
        }
        self.recent = self.recent << 1 | u32::from(lost);
        for (at, window) in self.windows.iter_mut().enumerate() {
            window[(self.recent & ((2 << at) - 1)).count_ones() as usize] += 1.0;
        }
        self.packets += 1.0;
        self.lost += f32::from(u8::from(lost));
        if self.packets > MEMORY {
            self.packets /= 2.0;
            self.lost /= 2.0;
            self.behind.iter_mut().for_each(|it| *it = (it.0 / 2.0, it.1 / 2.0));
            self.windows.iter_mut().flatten().for_each(|it| *it /= 2.0);
        }
    }

    /// The loss rate.
    #[must_use]
    pub fn loss(&self) -> f32 {
        self.lost / self.packets
    }

    /// The worth of keeping a packet. In a combination it occupies room until others have come, which takes
    /// longer with more loss.
    #[must_use]
    pub fn worth(&self) -> f32 {
        1.0 - self.loss()
    }

    /// The loss rate at this distance from a lost packet.
    #[must_use]
    pub fn loss_beside_lost(&self, places: u64) -> f32 {
        let near = usize::try_from(places).ok().and_then(|places| self.behind.get(places.checked_sub(1)?));
        let (seen, lost) = near.copied().unwrap_or_default();
        (lost + DOUBT * self.loss()) / (seen + DOUBT)
    }

    /// Cost of dropping one row of a block with `under_way` packets in flight: if as many packets are lost as
    /// it had rows, none of them can be restored.
    #[must_use]
    pub fn cost_of_row(&self, under_way: usize, rows: usize) -> f32 {
        // Costs are in lost packets.
        rows as f32 * self.lost_of(under_way.min(MOST_IN_ROW), rows) / self.loss()
    }

    /// Cost of turning `packets` packets into rows, one less than packets. It is the cost of the dropped row,
    /// and that of waiting: a lost packet needs as many rows as packets are lost with it, and each of these
    /// rows may be lost, too.
    #[must_use]
    pub fn cost_of_encoding(&self, packets: usize) -> f32 {
        self.cost_of_row(packets, packets) + self.cost_of_waiting(packets)
    }

    /// Sum over lost packets of the further rows that each one waits for and that are lost in turn.
    fn cost_of_waiting(&self, under_way: usize) -> f32 {
        let of = under_way.min(MOST_IN_ROW);
        let rows = |lost: usize| (lost * (lost - 1)) as f32 * self.lost_of(of, lost);
        (2..=of).map(rows).sum::<f32>() * self.loss()
    }

    /// Cost of adding a packet to a block with `under_way` packets in flight and `rows` rows. More packets
    /// may be lost at once, and then none of them can be restored.
    #[must_use]
    pub fn cost_of_packet(&self, under_way: usize, rows: usize) -> f32 {
        let unrepaired = |under_way: usize| {
            let of = under_way.min(MOST_IN_ROW);
            (rows + 1..=of).map(|lost| lost as f32 * self.lost_of(of, lost)).sum::<f32>()
        };
        let waiting = self.cost_of_waiting(under_way + 1) - self.cost_of_waiting(under_way);
        (unrepaired(under_way + 1) - unrepaired(under_way)) / self.loss() + waiting
    }

    /// Probability that `lost` of `of` consecutive packets are lost.
    fn lost_of(&self, of: usize, lost: usize) -> f32 {
        let Some(window) = of.checked_sub(1).filter(|_| lost <= of).and_then(|at| self.windows.get(at))
        else {
            return 0.0;
        };
        let seen = (self.packets - ASSUMED.0).max(0.0);
        (window[lost] + WINDOWS_DOUBT * binomial(of, lost, self.loss())) / (seen + WINDOWS_DOUBT)
    }

    /// The part of the counts that comparisons of many pairs need.
    pub(crate) fn chances(&self) -> Chances {
        Chances(std::array::from_fn(|places| 1.0 - self.loss_beside_lost(places as u64)))
    }
}

/// The probability of `lost` among `of`, each with probability p.
fn binomial(of: usize, lost: usize, p: f32) -> f32 {
    let ways: f32 = (0..lost).map(|at| (of - at) as f32 / (at + 1) as f32).product();
    ways * p.powi(lost as i32) * (1.0 - p).powi((of - lost) as i32)
}

/// Arrival probability of a packet at each distance from a lost one. The last value is for all greater
/// distances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chances([f32; REACH + 2]);

impl Chances {
    /// Cost of combining two sums, by the numbers of their packets that are not known to have arrived. From
    /// `enough` on it may be inexact.
    pub fn cost(
        &self,
        one: impl Iterator<Item = u64> + Clone,
        other: impl Iterator<Item = u64> + Clone,
        enough: f32,
    ) -> f32 {
        let cost = self.lowered(one.clone(), other.clone(), enough);
        if cost >= enough { cost } else { cost + self.lowered(other, one, enough - cost) }
    }

    /// Decrease of the repair probability of the packets of `own`, summed, if they are combined with
    /// `others`.
    fn lowered(
        &self,
        own: impl Iterator<Item = u64> + Clone,
        others: impl Iterator<Item = u64> + Clone,
        enough: f32,
    ) -> f32 {
        let arrived = |one: u64, other: u64| {
            let places = usize::try_from(one.abs_diff(other)).unwrap_or(usize::MAX);
            self.0[places.min(REACH + 1)]
        };
        let mut sum = 0.0;
        for packet in own.clone() {
            let beside = own.clone().filter(|&other| other != packet);
            let before: f32 = beside.map(|other| arrived(packet, other)).product();
            let with: f32 = others.clone().map(|other| arrived(packet, other)).product();
            sum += before * (1.0 - with);
            if sum >= enough {
                break;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(lost: impl Fn(u32) -> bool) -> Counts {
        let mut counts = Counts::default();
        (0..4000).for_each(|number| counts.fate(lost(number)));
        counts
    }

    #[test]
    fn combining_costs_what_the_other_may_be_lost_by() {
        // One in four, at random.
        let counts = counts(|number| {
            number.wrapping_mul(0x9e37_79b9).rotate_left(15).wrapping_mul(0x85eb_ca6b) >> 30 == 0
        });
        let p = counts.loss();
        assert!((p - 0.25).abs() < 0.03, "{p}");
        let cost = |one: &[u64], other: &[u64]| {
            counts.chances().cost(one.iter().copied(), other.iter().copied(), f32::INFINITY)
        };
        assert!((cost(&[0], &[100]) - 2.0 * p).abs() < 1e-4, "two become as unlikely as one is lost");
        let q = 1.0 - p;
        let expected = 2.0 * (q - q * q) + (1.0 - q * q);
        assert!((cost(&[0, 200], &[100]) - expected).abs() < 1e-4);
        assert_eq!(cost(&[5], &[]), 0.0, "what has arrived is no risk");
    }

    #[test]
    fn what_is_lost_together_is_dear_to_combine() {
        let counts = counts(|number| number % 40 < 4);
        let cost = |distance| counts.chances().cost([0].into_iter(), [distance].into_iter(), f32::INFINITY);
        assert!(cost(1) > 1.0 && cost(2) > 0.8 && cost(6) < 0.1, "{} {} {}", cost(1), cost(2), cost(6));
        assert!((counts.loss() - 0.1).abs() < 0.01);
    }

    #[test]
    fn a_row_costs_what_is_lost_as_often_as_there_are_rows() {
        // Four in a row of forty. Of eight consecutive packets, four are lost more often than by chance, and
        // five never.
        let bursts = counts(|number| number % 40 < 4);
        let spread = counts(|number| number % 10 == 0);
        assert!(bursts.cost_of_row(8, 4) > 4.0 && spread.cost_of_row(8, 4) < 0.1);
        assert!(bursts.cost_of_row(8, 5) < 0.05, "{}", bursts.cost_of_row(8, 5));
        assert_eq!(spread.cost_of_row(3, 4), 0.0, "more rows than packets are no use");
        // One row of two packets is their sum.
        let chances = bursts.chances();
        let pair = chances.cost([0].into_iter(), [1].into_iter(), f32::INFINITY);
        assert!((bursts.cost_of_row(2, 2) / pair - 1.0).abs() < 0.1);
    }
}
