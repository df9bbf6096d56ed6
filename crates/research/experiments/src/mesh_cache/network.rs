//! The meshes: 50 routers anywhere in a square kilometre with the gateway in three places, and the testbed of
//! 15.

use std::fmt;
use std::time::Duration;

use air::medium::{MediumConfig, Wall, etx};
use air::timing::Standard;
use air::{Bitrate, LinkConfig, RadioConfig};
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Routers of a scenario of section 6, and how many of them have clients (section 5).
const ROUTERS: usize = 50;
const ACTIVE: usize = 25;
/// The side of the square, in metres.
const SIDE: f64 = 1000.0;
/// Clients of each of those.
const CLIENTS: usize = 5;
/// The pace of each client: requests an hour in the long run. The observed hour has a fifth more, because
/// long pauses have not occurred yet. Together they carry 72 MB in contents of 50 KB, the paper's 60 (the
/// gateway's load under Default, Table 2). The rate of hits at a client's own router follows from the number:
/// a seventh at the paper's.
const REQUESTS_AN_HOUR: f64 = 9.6;
/// In the testbed: Figure 12 shows about 100 transfers of a router.
const TESTBED_REQUESTS_AN_HOUR: f64 = 20.0;

/// The origins of section 6 are at the gateway. A copy at the same number of hops costs as much, except that
/// costs fluctuate with each lost hello.
const WAVERING: f64 = 0.5;

/// The mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// The paper's Figure 7: the gateway in the middle; in a corner; between the middle and an edge.
    Scenario(u8),
    /// The paper's Figure 11.
    Testbed,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(number) => write!(f, "scenario {number}"),
            Self::Testbed => f.write_str("testbed"),
        }
    }
}

/// Routers, those with clients, and the network behind the gateway.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Network {
    pub medium: MediumConfig,
    pub gateway: usize,
    /// Routers with clients.
    pub active: Vec<usize>,
    pub clients_each: usize,
    /// Requests of each client.
    pub requests_an_hour: f64,
    /// From the gateway to the origin and back.
    pub wire: LinkConfig,
    /// The cost of that path in hops, for a router that chooses between a copy and the gateway.
    pub uplink_hops: f64,
}

impl Network {
    /// One draw of a mesh. The testbed is always the same.
    pub(super) fn draw(place: Place, seed: u64) -> Self {
        match place {
            Place::Scenario(number) => random(number, seed),
            Place::Testbed => testbed(),
        }
    }

    /// The name of a router: counted from 1, as the paper counts its own.
    pub(super) fn name(router: usize) -> String {
        format!("r{}", router + 1)
    }

    /// Number of hops from each router to the gateway, by ETX; `None` without a path.
    pub(super) fn hops(&self) -> Vec<Option<u32>> {
        let ways = etx::ways(&self.medium.propagation(), 0, self.gateway);
        ways.iter().map(|way| way.map(|way| way.hops)).collect()
    }
}

/// Redrawn until every router has a way to the gateway.
fn random(number: u8, seed: u64) -> Network {
    // The same routers for all three, but for the gateway.
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let gateway = match number {
        1 => [0.5 * SIDE, 0.5 * SIDE],
        2 => [0.02 * SIDE, 0.02 * SIDE],
        _ => [0.5 * SIDE, 0.3 * SIDE],
    };
    loop {
        let mut stations = vec![gateway];
        stations.extend((1..ROUTERS).map(|_| [0, 1].map(|_| random.random::<f64>() * SIDE)));
        let mut active: Vec<usize> = (1..ROUTERS).collect();
        active.shuffle(&mut random);
        active.truncate(ACTIVE);
        active.sort_unstable();
        let network = Network {
            medium: MediumConfig { stations, ..MediumConfig::default() },
            gateway: 0,
            active,
            clients_each: CLIENTS,
            requests_an_hour: REQUESTS_AN_HOUR,
            wire: LinkConfig::default(),
            uplink_hops: WAVERING,
        };
        // Alike in all three scenarios, so that they have the same routers: by the corner's gateway too.
        let all_reach = |place: [f64; 2]| {
            let mut network = network.clone();
            network.medium.stations[0] = place;
            network.hops().iter().filter(|hops| hops.is_none()).count() == 1
        };
        if [[0.5, 0.5], [0.02, 0.02], [0.5, 0.3]]
            .into_iter()
            .all(|place| all_reach(place.map(|part| part * SIDE)))
        {
            return network;
        }
    }
}

/// Fifteen routers with the neighbours that section 8 gives: 2, 3, 4, 9, 10 and 15 reach the gateway, 7, in
/// one hop, 15 through a wall; 1 has 2 and 3, 5 has 10, 8 and 12 have 4, 9 and 15. Distances are scaled to
/// the radio's outdoor range. Indoors power varies from frame to frame. Frames are sent at 2 Mbit/s, to which
/// radios fall back behind such walls. At that rate, about as many transfers under Default exceed 1 Mbit/s as
/// in the paper; nothing else is fitted. The origins have a distance that was common for much of the web
/// then.
fn testbed() -> Network {
    const PLACES: [[f64; 2]; 15] = [
        [190.0, 380.0],
        [330.0, 300.0],
        [400.0, 430.0],
        [620.0, 400.0],
        [330.0, 10.0],
        [240.0, 130.0],
        [500.0, 300.0],
        [760.0, 330.0],
        [640.0, 230.0],
        [430.0, 150.0],
        [830.0, 200.0],
        [700.0, 120.0],
        [800.0, 440.0],
        [480.0, 560.0],
        [570.0, 200.0],
    ];
    const SOURCES: [usize; 10] = [1, 2, 3, 4, 5, 8, 9, 10, 12, 15];
    Network {
        medium: MediumConfig {
            radio: RadioConfig {
                standard: Standard::B,
                rate: Bitrate::from_megabits_per_second(2),
                retry_limit: 7,
            },
            rayleigh: true,
            stations: PLACES.to_vec(),
            walls: vec![Wall { from: [515.0, 236.0], to: [555.0, 264.0], decibels: 8.0 }],
            ..MediumConfig::default()
        },
        gateway: 6,
        active: SOURCES.iter().map(|number| number - 1).collect(),
        clients_each: CLIENTS,
        requests_an_hour: TESTBED_REQUESTS_AN_HOUR,
        wire: LinkConfig {
            rate: Some(Bitrate::from_megabits_per_second(10)),
            delay: Duration::from_millis(40),
            ..LinkConfig::default()
        },
        uplink_hops: 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_testbed_those_are_one_hop_away_that_the_paper_names() {
        let hops = testbed().hops();
        for router in 1..=15 {
            let one_hop = [2, 3, 4, 9, 10, 15].contains(&router);
            let hops = hops[router - 1];
            match router {
                7 => assert_eq!(hops, None),
                _ if one_hop => assert_eq!(hops, Some(1), "{router}"),
                _ => assert!(hops > Some(1), "{router}"),
            }
        }
    }

    #[test]
    fn the_corner_is_farther_from_everybody_than_the_middle() {
        for seed in 1..=3 {
            let mean = |number: u8| {
                let network = Network::draw(Place::Scenario(number), seed);
                let hops = network.hops();
                network.active.iter().filter_map(|router| hops[*router]).map(f64::from).sum::<f64>() / 25.0
            };
            let (middle, corner, between) = (mean(1), mean(2), mean(3));
            assert!(corner > 1.25 * middle && between < 1.2 * middle, "{middle} {corner} {between}");
        }
    }

    #[test]
    fn one_seed_has_the_same_routers_in_all_three_scenarios() {
        let draw = |number| Network::draw(Place::Scenario(number), 2);
        assert_eq!(draw(1).medium.stations[1..], draw(2).medium.stations[1..]);
        assert_eq!(draw(1).active, draw(3).active);
    }
}
