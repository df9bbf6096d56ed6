//! A forging member with the group's keys does not affect the other members.

use super::SECOND;
use super::member::{FORGERIES, Forgery, GATEWAYS};
use super::scene::{Plan, STATIONS, Scene};
use std::time::Duration;

/// A station leaves a dead gateway after two seconds, and detects it after as many.
const MOVES_WITHIN: Duration = Duration::from_secs(10);

fn plans(seeds: std::ops::Range<u64>) -> impl Iterator<Item = Plan> {
    FORGERIES.into_iter().flat_map(move |forgery| seeds.clone().map(move |seed| Plan::of(seed, forgery)))
}

#[test]
fn members_get_all_that_is_theirs_in_time_and_move_for_no_lie() {
    for plan in plans(0..8) {
        let mut scene = Scene::new(plan);
        if plan.forgery == Forgery::Resealed {
            scene.fill_the_window();
        }
        scene.begin();
        scene.exchange(12 * SECOND);
        scene.wait(plan.patience() + SECOND);
        scene.all_has_arrived();
        scene.nothing_happened();
        let status = scene.network.status(0);
        for station in STATIONS {
            assert_eq!(scene.associated(station), Some(0), "{plan:?}");
            let shared = status.peers[station - GATEWAYS].counters.shared_packets;
            assert!(shared > 120, "{plan:?}: of 240 packets {shared} were shared");
            let node::Status { refused, peers, .. } = scene.network.status(station);
            let bad = refused.replay + refused.unknown_key + refused.authentication;
            let counters = peers.iter().map(|peer| peer.counters);
            let met = bad + counters.map(|it| it.bad_frames + it.overheard_datagrams).sum::<u64>();
            assert!(met > 0, "{plan:?}: no forgery reached the station");
        }
    }
}

#[test]
fn members_leave_a_dead_gateway_whose_voice_is_forged() {
    for plan in plans(100..106) {
        let mut scene = Scene::new(plan);
        scene.begin();
        scene.exchange(2 * SECOND);
        scene.wait(plan.patience() + SECOND);
        scene.all_has_arrived();
        scene.network.medium.dead = Some(0);
        scene.wait(MOVES_WITHIN);
        for station in STATIONS {
            assert_eq!(scene.associated(station), Some(1), "{plan:?} {:#?}", scene.network.events());
        }
        scene.gateway = 1;
        scene.exchange(4 * SECOND);
        scene.wait(plan.patience() + SECOND);
        scene.all_has_arrived();
    }
}
