//! Degree and distance as the flow's link makes best: equations 2 and 4 of XBC with what is measured in them.
//!
//! A lost packet is repaired if it is kept, and if all that it is coded with arrived. How likely it is kept follows from how
//! many packets are on their way when one comes, against what the buffer then holds; how likely the others arrived, from how
//! often a packet so many places from a lost one was lost too. Both are counted, and what they multiply to is compared over
//! all patterns. No model of the losses is fitted: the counts are the model.

use crate::pattern::Pattern;

const DEGREES: [u8; 6] = [1, 2, 3, 4, 6, 8];
const DISTANCES: [u8; 4] = [1, 2, 4, 8];
/// Places over which losses are related: the longest distance, so many times as a pattern reaches.
const REACH: usize = 16;
/// Packets on their way that are told apart; more count as so many.
const MOST_UNDER_WAY: usize = 128;
/// Counts are halved when there are so many, so that what was long ago is forgotten.
const MEMORY: f32 = 2048.0;
/// So many packets and losses are assumed before any is counted: one in a hundred, whatever stands beside it.
const ASSUMED: (f32, f32) = (200.0, 2.0);
/// How many losses' worth of evidence it takes to believe that losses come together.
const DOUBT: f32 = 4.0;
/// How much better another pattern must be to be worth the change.
const BETTER: f32 = 1.02;

/// What was counted of one flow.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The newest packets, bit 0 the last: whether they were lost.
    recent: u32,
    packets: f32,
    lost: f32,
    /// Of packets so many places behind a lost one, how many there were and how many of those were lost.
    behind: [(f32, f32); REACH],
    /// How often so many packets were on their way when one came.
    under_way: [f32; MOST_UNDER_WAY],
    under_way_sum: f32,
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            recent: 0,
            packets: ASSUMED.0,
            lost: ASSUMED.1,
            behind: [(0.0, 0.0); REACH],
            under_way: [0.0; MOST_UNDER_WAY],
            under_way_sum: 0.0,
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
        self.packets += 1.0;
        self.lost += f32::from(u8::from(lost));
        if self.packets > MEMORY {
            self.packets /= 2.0;
            self.lost /= 2.0;
            self.behind.iter_mut().for_each(|it| *it = (it.0 / 2.0, it.1 / 2.0));
        }
    }

    /// A packet comes while so many others are on their way.
    pub fn arrives(&mut self, under_way: usize) {
        self.under_way[under_way.min(MOST_UNDER_WAY - 1)] += 1.0;
        self.under_way_sum += 1.0;
        if self.under_way_sum > MEMORY {
            self.under_way.iter_mut().for_each(|count| *count /= 2.0);
            self.under_way_sum /= 2.0;
        }
    }

    /// How often a packet is lost.
    #[must_use]
    pub fn loss(&self) -> f32 {
        self.lost / self.packets
    }

    /// How likely a packet so many places from a lost one is lost too.
    fn loss_beside_lost(&self, places: usize) -> f32 {
        let (seen, lost) = self.behind.get(places - 1).copied().unwrap_or_default();
        (lost + DOUBT * self.loss()) / (seen + DOUBT)
    }

    /// How likely a lost packet is repaired from a buffer of so many packets, coded in this pattern.
    #[must_use]
    pub fn repaired(&self, pattern: Pattern, buffer_packets: usize) -> f32 {
        self.kept(pattern, buffer_packets) * self.decodable(pattern)
    }

    /// How likely a packet finds room. A window of N packets lies across N / d groups, and where it begins and ends each of
    /// the l columns has one that is there in part.
    fn kept(&self, pattern: Pattern, buffer_packets: usize) -> f32 {
        if self.under_way_sum == 0.0 {
            return 1.0;
        }
        let (degree, distance) = (f32::from(pattern.degree), f32::from(pattern.distance));
        let room = |(others, count): (usize, &f32)| {
            let window = others as f32 + 1.0;
            let slots = (window / degree + distance * (degree - 1.0) / degree).min(window);
            count * (buffer_packets as f32 / slots).min(1.0)
        };
        self.under_way.iter().enumerate().map(room).sum::<f32>() / self.under_way_sum
    }

    /// How likely all that a lost packet is coded with arrived, over the places that it may have in its group.
    fn decodable(&self, Pattern { degree, distance }: Pattern) -> f32 {
        let arrived = |places: u8| 1.0 - self.loss_beside_lost(usize::from(places) * usize::from(distance));
        let of_place = |place: u8| -> f32 {
            (0..degree).filter(|&other| other != place).map(|other| arrived(other.abs_diff(place))).product()
        };
        (0..degree).map(of_place).sum::<f32>() / f32::from(degree)
    }

    /// The best pattern for a buffer of so many packets; the present one if no other is clearly better.
    #[must_use]
    pub fn choose(&self, present: Pattern, buffer_packets: usize) -> Pattern {
        let patterns = DEGREES.into_iter().flat_map(|degree| {
            let distances = DISTANCES.into_iter().filter(move |&distance| distance == 1 || degree > 1);
            distances.map(move |distance| Pattern { degree, distance })
        });
        let fits = |pattern: &Pattern| usize::from(pattern.distance) <= buffer_packets;
        let chances = patterns.filter(fits).map(|pattern| (pattern, self.repaired(pattern, buffer_packets)));
        // the first of equals: the least coded
        let best = chances
            .fold((Pattern::PLAIN, 0.0), |best, next| if next.1 > best.1 * 1.0001 { next } else { best });
        if best.1 > self.repaired(present, buffer_packets) * BETTER { best.0 } else { present }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts after losses by a rule, with so many packets on their way.
    fn counts(under_way: usize, lost: impl Fn(u32) -> bool) -> Counts {
        let mut counts = Counts::default();
        for number in 0..4000 {
            counts.arrives(under_way - 1);
            counts.fate(lost(number));
        }
        counts
    }

    /// A loss with this chance, the same each time.
    fn random(number: u32, per_mille: u32) -> bool {
        number.wrapping_mul(0x9e37_79b9).rotate_left(15).wrapping_mul(0x85eb_ca6b) >> 16 & 0x3ff < per_mille
    }

    #[test]
    fn where_everything_finds_room_nothing_is_coded() {
        let counts = counts(12, |number| random(number, 50));
        assert_eq!(counts.choose(Pattern::PLAIN, 12), Pattern::PLAIN);
        assert_eq!(counts.choose(Pattern { degree: 4, distance: 1 }, 16), Pattern::PLAIN);
    }

    #[test]
    fn the_rarer_the_losses_and_the_smaller_the_buffer_the_higher_the_degree() {
        let degree = |per_mille, buffer| {
            counts(16, |number| random(number, per_mille)).choose(Pattern::PLAIN, buffer).degree
        };
        assert!(degree(5, 2) >= 6);
        assert!(degree(5, 8) < degree(5, 2), "it need not be so high");
        assert!(degree(400, 2) <= 2, "{}", degree(400, 2));
        assert!(degree(150, 2) < degree(5, 2));
    }

    #[test]
    fn where_losses_come_in_rows_the_distance_is_longer_than_the_rows() {
        let counts = counts(32, |number| number % 40 < 3);
        let pattern = counts.choose(Pattern::PLAIN, 8);
        assert!(pattern.degree > 1 && pattern.distance >= 4, "{pattern:?}");
        assert!((counts.loss() - 0.075).abs() < 0.01);
    }
}
