//! What to combine where degree and distance are not fixed: as little as there must be, and what is least likely lost together.
//!
//! Packets are kept as they are while there is room. When one more comes than there is room for, two slots become one: of all
//! pairs, the one that costs least, and only if that costs less than the packet is worth that would otherwise not be kept.
//! So degree follows, packet by packet, how many are on their way, which equation 2 of XBC would have to know beforehand;
//! and distance follows what is lost together, which equation 4 takes from a model.
//!
//! A lost packet comes out of its slot if all others in it arrived. How likely that is is counted on the flow's own link: how
//! often a packet is lost, and how often one that stands so many places from a lost one is lost too. What combining two slots
//! *costs* is how much less likely all packets in them become to be repaired, summed. What is known to have arrived costs
//! nothing.

/// Places over which losses are related.
const REACH: usize = 16;
/// Counts are halved when there are so many, so that what was long ago is forgotten.
const MEMORY: f32 = 2048.0;
/// So many packets and losses are assumed before any is counted: one in fifty, whatever stands beside it.
const ASSUMED: (f32, f32) = (100.0, 2.0);
/// How many losses' worth of evidence it takes to believe that losses come together.
const DOUBT: f32 = 4.0;

/// What was counted of one flow.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The newest packets, bit 0 the last: whether they were lost.
    recent: u32,
    packets: f32,
    lost: f32,
    /// Of packets so many places behind a lost one, how many there were and how many of those were lost.
    behind: [(f32, f32); REACH],
}

impl Default for Counts {
    fn default() -> Self {
        Counts { recent: 0, packets: ASSUMED.0, lost: ASSUMED.1, behind: [(0.0, 0.0); REACH] }
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
        self.packets += 1.0;
        self.lost += f32::from(u8::from(lost));
        if self.packets > MEMORY {
            self.packets /= 2.0;
            self.lost /= 2.0;
            self.behind.iter_mut().for_each(|it| *it = (it.0 / 2.0, it.1 / 2.0));
        }
    }

    /// How often a packet is lost.
    #[must_use]
    pub fn loss(&self) -> f32 {
        self.lost / self.packets
    }

    /// How likely a packet so many places from a lost one is lost too.
    #[must_use]
    pub fn loss_beside_lost(&self, places: u64) -> f32 {
        let near = usize::try_from(places).ok().and_then(|places| self.behind.get(places.checked_sub(1)?));
        let (seen, lost) = near.copied().unwrap_or_default();
        (lost + DOUBT * self.loss()) / (seen + DOUBT)
    }

    /// What it costs to combine two slots, given the numbers of those packets in each that are not known to have arrived.
    pub fn cost<'a>(
        &self,
        one: impl Iterator<Item = u64> + Clone + 'a,
        other: impl Iterator<Item = u64> + Clone + 'a,
    ) -> f32 {
        self.lowered(one.clone(), other.clone()) + self.lowered(other, one)
    }

    /// How much less likely the packets of `own` become to be repaired, summed, where `others` are combined with them.
    fn lowered(
        &self,
        own: impl Iterator<Item = u64> + Clone,
        others: impl Iterator<Item = u64> + Clone,
    ) -> f32 {
        let arrived = |one: u64, other: u64| 1.0 - self.loss_beside_lost(one.abs_diff(other));
        let of = |packet: u64| {
            let beside = own.clone().filter(|&other| other != packet);
            let before: f32 = beside.map(|other| arrived(packet, other)).product();
            let with: f32 = others.clone().map(|other| arrived(packet, other)).product();
            before * (1.0 - with)
        };
        own.clone().map(of).sum()
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
        let cost = |one: &[u64], other: &[u64]| counts.cost(one.iter().copied(), other.iter().copied());
        assert!((cost(&[0], &[100]) - 2.0 * p).abs() < 1e-4, "two become as unlikely as one is lost");
        let q = 1.0 - p;
        let expected = 2.0 * (q - q * q) + (1.0 - q * q);
        assert!((cost(&[0, 200], &[100]) - expected).abs() < 1e-4);
        assert_eq!(cost(&[5], &[]), 0.0, "what has arrived is no risk");
    }

    #[test]
    fn what_is_lost_together_is_dear_to_combine() {
        let counts = counts(|number| number % 40 < 4);
        let cost = |distance| counts.cost([0].into_iter(), [distance].into_iter());
        assert!(cost(1) > 1.0 && cost(2) > 0.8 && cost(6) < 0.1, "{} {} {}", cost(1), cost(2), cost(6));
        assert!((counts.loss() - 0.1).abs() < 0.01);
    }
}
