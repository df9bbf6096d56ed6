//! The fixed coding pattern of XBC, section III-D and Table I.
//!
//! With degree d and distance l, a coded packet is P(s) ⊕ P(s + l) ⊕ … ⊕ P(s + (d − 1)·l), where s mod (d·l)
//! < l. The numbers form blocks of d·l. Each block has l columns, and each column is one coded packet:
//!
//! ```text
//! d = 3, l = 2    block 0: 0 ⊕ 2 ⊕ 4   1 ⊕ 3 ⊕ 5    block 1: 6 ⊕ 8 ⊕ 10   7 ⊕ 9 ⊕ 11
//! ```

/// Degree and distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// Number of packets in a coded packet.
    pub degree: u8,
    /// Difference of consecutive numbers in a coded packet.
    pub distance: u8,
}

impl Pattern {
    /// No coding.
    pub const PLAIN: Self = Pattern { degree: 1, distance: 1 };
    /// The highest degree.
    pub const MAX_DEGREE: u8 = 16;
    /// The longest distance.
    pub const MAX_DISTANCE: u8 = 16;

    /// Numbers in a block.
    #[must_use]
    pub fn block(self) -> u64 {
        u64::from(self.degree) * u64::from(self.distance)
    }

    /// The coded packet of this number. Packets with equal groups are combined.
    #[must_use]
    pub fn group(self, number: u64) -> u64 {
        let distance = u64::from(self.distance);
        number / self.block() * distance + number % self.block() % distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The members of the groups of numbers below `count`, by rising first member.
    fn groups(degree: u8, distance: u8, count: u64) -> Vec<Vec<u64>> {
        let pattern = Pattern { degree, distance };
        let mut groups = std::collections::BTreeMap::<u64, Vec<u64>>::new();
        (0..count).for_each(|number| groups.entry(pattern.group(number)).or_default().push(number));
        groups.into_values().collect()
    }

    #[test]
    fn groups_are_those_of_the_papers_table() {
        let [a, b, c] = [groups(2, 2, 16), groups(2, 4, 16), groups(3, 2, 24)];
        assert_eq!(
            a,
            [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12, 14], [13, 15]].map(|it| it.to_vec())
        );
        assert_eq!(
            b,
            [[0, 4], [1, 5], [2, 6], [3, 7], [8, 12], [9, 13], [10, 14], [11, 15]].map(|it| it.to_vec())
        );
        assert_eq!(
            c,
            [
                [0, 2, 4],
                [1, 3, 5],
                [6, 8, 10],
                [7, 9, 11],
                [12, 14, 16],
                [13, 15, 17],
                [18, 20, 22],
                [19, 21, 23]
            ]
            .map(|it| it.to_vec())
        );
    }

    proptest! {
        /// Every number is in one group. Its members are as many as the degree, at the coding distance.
        #[test]
        fn a_group_has_its_degree_and_its_distance(degree in 1u8..=16, distance in 1u8..=16, blocks in 1u64..5) {
            let pattern = Pattern { degree, distance };
            let count = pattern.block() * blocks;
            for group in groups(degree, distance, count) {
                prop_assert_eq!(group.len(), usize::from(degree));
                prop_assert!(group.windows(2).all(|two| two[1] - two[0] == u64::from(distance)));
                prop_assert!(group[0] % pattern.block() < u64::from(distance));
            }
        }
    }
}
