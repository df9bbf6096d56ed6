//! Routes by expected transmissions (ETX: D. De Couto, D. Aguayo, J. Bicket, R. Morris, MobiCom 2003). The
//! cost of a link is the inverse of the product of both directions' delivery rates; the cost of a path is the
//! sum.

use super::propagation::Propagation;

/// A link that needs more transmissions than this is ignored.
const MOST: f64 = 10.0;

/// The path from one station to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Way {
    /// The next hop.
    pub next: usize,
    /// Expected transmissions.
    pub cost: f64,
    /// Number of links.
    pub hops: u32,
}

/// Expected transmissions of one packet over the link between two stations; `None` without a link.
#[must_use]
pub fn link_cost(propagation: &Propagation, seed: u64, one: usize, other: usize) -> Option<f64> {
    let loss = propagation.loss(seed, one, other);
    let both = propagation.delivery(one, other, loss) * propagation.delivery(other, one, loss);
    let cost = 1.0 / both;
    (cost <= MOST).then_some(cost)
}

/// The best paths from `from`, by destination (Dijkstra); `None` to itself and to unreachable stations. Of
/// two equal costs, the path with fewer links wins, then the lower next hop.
#[must_use]
pub fn ways(propagation: &Propagation, seed: u64, from: usize) -> Vec<Option<Way>> {
    let stations = propagation.stations();
    let mut ways: Vec<Option<Way>> = vec![None; stations];
    let mut done = vec![false; stations];
    done[from] = true;
    let mut reached = (from, None::<Way>);
    loop {
        let (at, way) = reached;
        for to in (0..stations).filter(|to| !done[*to]) {
            let Some(link) = link_cost(propagation, seed, at, to) else { continue };
            let better = match way {
                None => Way { next: to, cost: link, hops: 1 },
                Some(way) => Way { next: way.next, cost: way.cost + link, hops: way.hops + 1 },
            };
            let order = |way: &Way| (way.cost, way.hops, way.next);
            if ways[to].is_none_or(|known| order(&better) < order(&known)) {
                ways[to] = Some(better);
            }
        }
        let open = (0..stations).filter(|to| !done[*to]).filter_map(|to| Some((to, ways[to]?)));
        let Some((nearest, way)) = open.min_by(|a, b| a.1.cost.total_cmp(&b.1.cost)) else { return ways };
        done[nearest] = true;
        reached = (nearest, Some(way));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::MediumConfig;
    use proptest::prelude::*;

    fn row(metres: f64, rayleigh: bool) -> Propagation {
        let stations = (0..5).map(|number| [f64::from(number) * metres, 0.0]).collect();
        MediumConfig { stations, rayleigh, ..MediumConfig::default() }.propagation()
    }

    #[test]
    fn a_way_takes_as_few_links_as_reach() {
        let ways = ways(&row(100.0, false), 1, 0);
        assert_eq!(ways[2], Some(Way { next: 2, cost: 1.0, hops: 1 }));
        assert_eq!(ways[4].map(|way| (way.cost, way.hops)), Some((2.0, 2)));
        assert_eq!(ways[0], None);
        assert_eq!(super::ways(&row(300.0, false), 1, 0), [None; 5]);
    }

    #[test]
    fn short_links_are_better_than_long_ones_that_fade() {
        let ways = ways(&row(120.0, true), 1, 0);
        assert_eq!(ways[2].map(|way| (way.next, way.hops)), Some((1, 2)), "{ways:?}");
    }

    proptest! {
        #[test]
        fn a_way_costs_as_much_as_its_links(places in prop::collection::vec([0.0..800.0, 0.0..800.0], 2..12),
                                           rayleigh: bool, seed: u64) {
            let stations: Vec<[f64; 2]> = places.iter().map(|place| [place[0], place[1]]).collect();
            let config = MediumConfig { stations, rayleigh, most_loss: 0.3, ..MediumConfig::default() };
            let propagation = config.propagation();
            for from in 0..propagation.stations() {
                for (to, way) in ways(&propagation, seed, from).into_iter().enumerate() {
                    let Some(way) = way else { continue };
                    let link = link_cost(&propagation, seed, from, way.next).unwrap();
                    let rest = if way.next == to { 0.0 } else {
                        ways(&propagation, seed, way.next)[to].unwrap().cost
                    };
                    prop_assert!((way.cost - link - rest).abs() < 1e-9);
                }
            }
        }
    }
}
