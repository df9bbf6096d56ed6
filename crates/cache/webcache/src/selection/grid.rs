//! The router of a URI in the own virtual square: consistent hashing over the square's routers (GHCP,
//! MeshCache section 4.2.3).

use blake2::digest::consts::U8;
use blake2::{Blake2s, Digest};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The routers of one square, by hash of their addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    ring: BTreeMap<u64, IpAddr>,
}

impl Grid {
    /// The square of side `metres` around `own`, with the routers of `positions` in it; `None` if `own` has
    /// no position.
    #[must_use]
    pub fn around(own: IpAddr, positions: &BTreeMap<IpAddr, [f64; 2]>, metres: f64) -> Option<Self> {
        // Squares are numbered, and positions are within a float's precision.
        #[allow(clippy::cast_possible_truncation)]
        let square = |[x, y]: [f64; 2]| ((x / metres).floor() as i64, (y / metres).floor() as i64);
        let here = square(*positions.get(&own)?);
        let members = positions.iter().filter(|(_, at)| square(**at) == here);
        Some(Grid { ring: members.map(|(node, _)| (hash(node.to_string().as_bytes()), *node)).collect() })
    }

    /// The router whose hash is numerically closest to the URI's, around the ring.
    #[must_use]
    pub fn home(&self, key: &str) -> Option<IpAddr> {
        let wanted = hash(key.as_bytes());
        let above = self.ring.range(wanted..).next().or_else(|| self.ring.iter().next());
        let below = self.ring.range(..wanted).next_back().or_else(|| self.ring.iter().next_back());
        let ((above, over), (below, under)) = (above?, below?);
        Some(if above.wrapping_sub(wanted) <= wanted.wrapping_sub(*below) { *over } else { *under })
    }
}

fn hash(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(Blake2s::<U8>::digest(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn positions(count: u8) -> BTreeMap<IpAddr, [f64; 2]> {
        (0..count)
            .map(|last| (node(last), [f64::from(last % 5) * 100.0, f64::from(last / 5) * 100.0]))
            .collect()
    }

    #[test]
    fn only_routers_of_the_own_square_are_homes_and_all_of_it_agree() {
        let positions = positions(25);
        let square: Vec<IpAddr> =
            positions.iter().filter(|(_, [x, y])| *x < 250.0 && *y < 250.0).map(|(node, _)| *node).collect();
        let grids: Vec<Grid> =
            square.iter().map(|node| Grid::around(*node, &positions, 250.0).unwrap()).collect();
        for number in 0..100 {
            let key = format!("http://a/{number}");
            let homes: Vec<IpAddr> = grids.iter().map(|grid| grid.home(&key).unwrap()).collect();
            assert!(homes.iter().all(|home| *home == homes[0] && square.contains(home)), "{key}");
        }
        assert_eq!(Grid::around(node(99), &positions, 250.0), None);
    }

    #[test]
    fn a_router_that_leaves_takes_only_its_own_contents_along() {
        let (all, mut fewer) = (positions(25), positions(25));
        fewer.remove(&node(7));
        let (all, fewer) =
            (Grid::around(node(0), &all, 1e9).unwrap(), Grid::around(node(0), &fewer, 1e9).unwrap());
        for number in 0..500 {
            let key = format!("http://a/{number}");
            if all.home(&key) != Some(node(7)) {
                assert_eq!(all.home(&key), fewer.home(&key));
            }
        }
    }
}
