//! What to combine where degree and distance are not fixed: as little as there must be, and what is least
//! likely lost together.
//!
//! Packets are kept as they are while there is room. When one more comes than there is room for, room is made
//! in the way that costs least, and only if that costs less than the packet is worth that would otherwise not
//! be kept: two sums become one, all packets that are kept as they are become rows, one less than they are,
//! or a block loses one of its rows. So degree follows, packet by packet, how many are on their way, which
//! equation 2 of XBC would have to know beforehand; and distance follows what is lost together, which
//! equation 4 takes from a model.
//!
//! A lost packet comes out of its sum if all others in it arrived, and out of its rows if no more are lost
//! than there are rows. How likely that is is counted on the flow's own link: how often a packet is lost, how
//! often one that stands so many places from a lost one is lost too, and how many of so many in a row are
//! lost. What making room *costs* is how much less likely lost packets become to be repaired, summed. What is
//! known to have arrived costs nothing.

/// Places over which losses are related.
const REACH: usize = 16;
/// Counts are halved when there are so many, so that what was long ago is forgotten.
const MEMORY: f32 = 2048.0;
/// So many packets and losses are assumed before any is counted: one in fifty, whatever stands beside it.
/// They are few: with a hundred, and little doubt below, a link that lost 40% was long coded for one that
/// loses little, and 5% slower than with Snoop.
const ASSUMED: (f32, f32) = (20.0, 0.4);
/// Packets in a row of which it is counted how many are lost.
const MOST_IN_ROW: usize = 16;
/// For how many such windows it counts that losses are believed to be independent: those overlap.
const WINDOWS_DOUBT: f32 = 60.0;
/// How many losses' worth of evidence it takes to believe that losses come together. With less, of many pairs
/// the best looks good by chance.
const DOUBT: f32 = 12.0;

/// What was counted of one flow.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The newest packets, bit 0 the last: whether they were lost.
    recent: u32,
    packets: f32,
    lost: f32,
    /// Of packets so many places behind a lost one, how many there were and how many of those were lost.
    behind: [(f32, f32); REACH],
    /// By length of the window from 1 on and how many of it were lost: how many such windows there were.
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
    /// The next packet in order was lost on its first way, or was not.
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

    /// How often a packet is lost.
    #[must_use]
    pub fn loss(&self) -> f32 {
        self.lost / self.packets
    }

    /// What it is worth to keep a packet. Combined, it holds its room until others have come, too: the
    /// longer, the more is lost.
    #[must_use]
    pub fn worth(&self) -> f32 {
        1.0 - self.loss()
    }

    /// How likely a packet so many places from a lost one is lost too.
    #[must_use]
    pub fn loss_beside_lost(&self, places: u64) -> f32 {
        let near = usize::try_from(places).ok().and_then(|places| self.behind.get(places.checked_sub(1)?));
        let (seen, lost) = near.copied().unwrap_or_default();
        (lost + DOUBT * self.loss()) / (seen + DOUBT)
    }

    /// What it costs that a block of which so many packets are under way loses one of its rows: when as many
    /// are lost as it had rows, none of them is repaired any more.
    #[must_use]
    pub fn cost_of_row(&self, under_way: usize, rows: usize) -> f32 {
        // in packets that are lost, as all costs
        rows as f32 * self.lost_of(under_way.min(MOST_IN_ROW), rows) / self.loss()
    }

    /// What it costs that so many packets become rows, one less than they are: beside the row, that a lost
    /// packet is not had before as many rows have come as packets are lost with it, and any of those may be
    /// lost, too.
    #[must_use]
    pub fn cost_of_encoding(&self, packets: usize) -> f32 {
        self.cost_of_row(packets, packets) + self.cost_of_waiting(packets)
    }

    /// How many rows that each lost packet waits for besides its own are lost in their turn, summed.
    fn cost_of_waiting(&self, under_way: usize) -> f32 {
        let of = under_way.min(MOST_IN_ROW);
        let rows = |lost: usize| (lost * (lost - 1)) as f32 * self.lost_of(of, lost);
        (2..=of).map(rows).sum::<f32>() * self.loss()
    }

    /// What it costs that one more packet becomes part of a block that has so many under way, and so many
    /// rows: more than before are lost at once, and then none of them is repaired.
    #[must_use]
    pub fn cost_of_packet(&self, under_way: usize, rows: usize) -> f32 {
        let unrepaired = |under_way: usize| {
            let of = under_way.min(MOST_IN_ROW);
            (rows + 1..=of).map(|lost| lost as f32 * self.lost_of(of, lost)).sum::<f32>()
        };
        let waiting = self.cost_of_waiting(under_way + 1) - self.cost_of_waiting(under_way);
        (unrepaired(under_way + 1) - unrepaired(under_way)) / self.loss() + waiting
    }

    /// How often so many packets of so many in a row are lost.
    fn lost_of(&self, of: usize, lost: usize) -> f32 {
        let Some(window) = of.checked_sub(1).filter(|_| lost <= of).and_then(|at| self.windows.get(at))
        else {
            return 0.0;
        };
        let seen = (self.packets - ASSUMED.0).max(0.0);
        (window[lost] + WINDOWS_DOUBT * binomial(of, lost, self.loss())) / (seen + WINDOWS_DOUBT)
    }

    /// What is needed of this to compare many pairs.
    pub(crate) fn chances(&self) -> Chances {
        Chances(std::array::from_fn(|places| 1.0 - self.loss_beside_lost(places as u64)))
    }
}

/// The probability that so many of so many are lost, each with probability p.
fn binomial(of: usize, lost: usize, p: f32) -> f32 {
    let ways: f32 = (0..lost).map(|at| (of - at) as f32 / (at + 1) as f32).product();
    ways * p.powi(lost as i32) * (1.0 - p).powi((of - lost) as i32)
}

/// How likely a packet arrives beside a lost one, by how many places they are apart; the last for all that
/// are farther.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chances([f32; REACH + 2]);

impl Chances {
    /// What it costs to combine two sums, given the numbers of those packets in each that are not known to
    /// have arrived. From `enough` on it need not be exact.
    pub fn cost(
        &self,
        one: impl Iterator<Item = u64> + Clone,
        other: impl Iterator<Item = u64> + Clone,
        enough: f32,
    ) -> f32 {
        let cost = self.lowered(one.clone(), other.clone(), enough);
        if cost >= enough { cost } else { cost + self.lowered(other, one, enough - cost) }
    }

    /// How much less likely the packets of `own` become to be repaired, summed, where `others` are combined
    /// with them.
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
        // one in four, in no order
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
        // four in a row of forty: of eight in a row four are lost more often than chance has it, and five
        // never
        let bursts = counts(|number| number % 40 < 4);
        let spread = counts(|number| number % 10 == 0);
        assert!(bursts.cost_of_row(8, 4) > 4.0 && spread.cost_of_row(8, 4) < 0.1);
        assert!(bursts.cost_of_row(8, 5) < 0.05, "{}", bursts.cost_of_row(8, 5));
        assert_eq!(spread.cost_of_row(3, 4), 0.0, "more rows than packets are no use");
        // of two packets one row is their sum
        let chances = bursts.chances();
        let pair = chances.cost([0].into_iter(), [1].into_iter(), f32::INFINITY);
        assert!((bursts.cost_of_row(2, 2) / pair - 1.0).abs() < 0.1);
    }
}
