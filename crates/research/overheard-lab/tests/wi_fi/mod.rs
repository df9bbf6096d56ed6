//! Wi-Fi networks of the virtual-time kernel: its own 802.11 between simulated radios, over the emulated air.

use std::path::Path;

use air::timing::Standard;
use air::{Bitrate, MediumConfig};
use lab::{Action, Driver, Event, Outcome, Place, Protection, Scenario, Topology, Virtual, WiFi};

use crate::scenarios::{bare, virtually};

/// The driver, if there are a kernel and the programs of Wi-Fi.
fn with_radios() -> Option<Virtual> {
    let driver = virtually()?;
    let programs = ["/usr/sbin/iw", "/usr/sbin/hostapd", "/usr/sbin/wpa_supplicant"];
    let missing = programs.into_iter().find(|program| !Path::new(program).exists());
    if let Some(program) = missing {
        println!("skipped: {program} is missing; scripts/setup.sh lab installs it");
        return None;
    }
    Some(driver)
}

/// A download from the access point by the station `far` at this distance. The station `near`, at 10 m, also
/// listens in monitor mode, and says after 300 ms what it heard.
fn network(folder: &Path, metres: f64, protection: Protection, seeds: &[u64]) -> Scenario {
    let mut medium =
        MediumConfig { stations: vec![[0.0, 0.0], [10.0, 0.0], [metres, 0.0]], ..Default::default() };
    medium.radio.standard = Standard::G;
    medium.radio.rate = Bitrate::from_megabits_per_second(6);
    let place = |name: &str| Place { name: name.to_owned(), ..Place::default() };
    let network = WiFi {
        name: "wifi".to_owned(),
        access_point: "ap".to_owned(),
        stations: vec!["near".to_owned(), "far".to_owned()],
        monitors: vec!["near".to_owned()],
        protection,
        medium,
    };
    let places = ["ap", "near", "far"].map(place).to_vec();
    let topology = Topology { places, wi_fi: vec![network], ..Topology::default() };
    let mut scenario = bare(folder, 0.0, seeds);
    scenario.servers = vec!["ap".to_owned()];
    scenario.downloads[0].place = "far".to_owned();
    scenario.downloads[0].from = topology.address_by_wi_fi("wifi", "ap").unwrap().into();
    let listen = ["ip", "-s", "-j", "link", "show", "wifimon"].map(str::to_owned).to_vec();
    scenario.events =
        vec![Event { at_seconds: 0.3, action: Action::Run { place: "near".to_owned(), command: listen } }];
    Scenario { topology, ..scenario }
}

/// Frames that the monitor has heard.
fn heard(outcome: &Outcome) -> u64 {
    let said: serde_json::Value = serde_json::from_str(&outcome.said[0]).unwrap();
    said[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
}

#[test]
fn rate_control_finds_the_rate_of_a_distance_and_a_seed_is_one_run() {
    let Some(driver) = with_radios() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |metres| network(folder.path(), metres, Protection::Open, &[1]);
    let outcomes = lab::run(&Driver::Virtual(driver), &[at(20.0), at(240.0), at(240.0)]).unwrap();
    let seconds: Vec<f64> = outcomes.iter().map(|outcome| outcome.first_seconds().unwrap()).collect();
    // 587,567 octets: near by at up to 54 Mbit/s, once rate control has learned it; far away at 6 Mbit/s.
    assert!((0.25..0.7).contains(&seconds[0]), "{seconds:?}");
    assert!((0.8..1.5).contains(&seconds[1]), "{seconds:?}");
    assert_eq!(outcomes[1], outcomes[2]);
    let members = &outcomes[0].channels[0].stations;
    assert!(members[0].delivered.packets > 400 && members[0].broadcast.packets > 2, "{members:?}");
    // In 300 ms the monitor hears data, its acknowledgements by TCP, and three beacons.
    assert!(heard(&outcomes[0]) > 50, "{}", heard(&outcomes[0]));
}

#[test]
fn radios_return_for_the_next_seed_and_protection_is_the_kernels() {
    let Some(driver) = with_radios() else { return };
    let folder = tempfile::tempdir().unwrap();
    let scenario = network(folder.path(), 100.0, Protection::Wpa2, &[1, 2]);
    let outcomes = lab::run(&Driver::Virtual(driver), &[scenario]).unwrap();
    assert!(outcomes.len() == 2 && outcomes.iter().all(Outcome::all_came_whole));
    assert_ne!(outcomes[0].channels, outcomes[1].channels);
}
