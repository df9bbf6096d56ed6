//! A gateway and two stations on a medium where all hear everything: the gateway does not send the second
//! station content that the first one fetched. And an ear alone: it counts the datagrams that it hears.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::Site;
use crate::support::namespaces::{Cabled, Machine, Medium, Node, Upstream, possible};
use crate::support::traffic::{answers, sent_and_returned};
use crate::support::wi_fi::{Cell, Protection, has_radios};
use rustix::process::Signal;
use std::fs;
use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

fn gateway() -> IpAddr {
    "10.98.0.1".parse().unwrap()
}

/// Bytes that neither repeat nor compress.
fn content(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut content: Vec<u8> = Vec::with_capacity(bytes);
    while content.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    content
}

/// A gateway, and two stations with equal configurations; `overhear` is the stations' table.
fn site(overhear: &str) -> Site {
    let site = Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#);
    let station = fs::read_to_string(site.path().join("station.toml")).unwrap() + overhear;
    let station = station.replace("ohtest-st", "oh-st").replace(r#", "fd98::2/64""#, "");
    site.write("station.toml", &station);
    site.add_station("other", 3);
    let gateway = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
    site.write("gateway.toml", &(gateway + "\n[overhear]\n"));
    site
}

fn count(node: &Node, peer: usize, name: &str) -> u64 {
    node.status()["node"]["peers"][peer]["counters"][name].as_u64().unwrap()
}

/// Both stations fetch the same content in turn, once the gateway meets the condition. The second transfer
/// must cost the gateway less than half. Returns the gateway's status.
fn fetch_in_turns(
    site: &Site,
    at_gateway: &Machine,
    machines: [&Machine; 2],
    bytes: usize,
    prepare: impl FnOnce(&Node),
) -> String {
    let gateway_node = Node::start(site, at_gateway, "gateway");
    let stations = [Node::start(site, machines[0], "station"), Node::start(site, machines[1], "other")];
    for machine in machines {
        assert!(answers(machine, gateway(), 56, PATIENCE), "the tunnel stands");
    }
    prepare(&gateway_node);
    let content = content(bytes);
    let mut costs = Vec::new();
    for (index, machine) in machines.into_iter().enumerate() {
        let before = count(&gateway_node, index, "outer_sent_bytes");
        let returned = sent_and_returned(machine, at_gateway, gateway(), &content);
        assert!(returned == content, "every byte comes back");
        costs.push(count(&gateway_node, index, "outer_sent_bytes") - before);
        // The last reports are in flight.
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end {
            assert!(answers(machine, gateway(), 56, PATIENCE));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let status = format!("{:#}\n{:#}", gateway_node.status()["node"], stations[1].status()["node"]);
    println!("the first cost {} bytes, the second {}", costs[0], costs[1]);
    assert!(costs[0] > bytes as u64 / 15 * 14, "{costs:?} {status}");
    assert!(costs[1] * 2 < costs[0], "{costs:?} {status}");
    assert!(count(&stations[1], 0, "chunks_hit") > bytes as u64 / 300, "{status}");
    let text = String::from_utf8(site.run(&["status", "gateway.toml"]).stdout).unwrap();
    assert!(text.contains("OVERHEARS") && text.contains("collisions"), "{text}");
    assert!(text.contains("other overhears: "), "{text}");
    text
}

/// The assumed rate if no radio reports one.
const ASSUMED: &str = "% at 24 Mbit/s";
const BYTES: usize = 1_500_000;

#[test]
fn what_one_station_fetched_the_other_has_overheard() {
    if !possible() {
        return;
    }
    let (medium, site) = (Medium::new(3), site("\n[overhear]\ninterface = \"cable\"\n"));
    let [at_gateway, at_station, at_other] = &medium.machines[..] else { panic!("three machines") };
    let text = fetch_in_turns(&site, at_gateway, [at_station, at_other], BYTES, |_| ());
    assert!(text.contains(ASSUMED), "{text}");
}

#[test]
fn a_gateway_upstream_of_two_access_points_serves_a_station_that_hears_both() {
    if !possible() {
        return;
    }
    let (upstream, site) = (Upstream::new(), site("\n[overhear]\ninterface = \"cable\"\n"));
    let other = fs::read_to_string(site.path().join("other.toml")).unwrap();
    site.write("other.toml", &other.replace("interface = \"cable\"", "interface = \"ear\""));
    let [station, other] = &upstream.stations;
    let text = fetch_in_turns(&site, &upstream.gateway, [station, other], BYTES, |_| ());
    assert!(text.contains(ASSUMED), "{text}");
}

/// Wi-Fi tests share three radios, so one cell exists at a time.
static RADIOS: Mutex<()> = Mutex::new(());

/// A site whose stations are on Wi-Fi; the second one has a monitor.
fn on_wi_fi() -> Site {
    let site = site("");
    let other = fs::read_to_string(site.path().join("other.toml")).unwrap();
    site.write("other.toml", &(other + "\n[overhear]\ninterface = \"ear\"\n"));
    let station = fs::read_to_string(site.path().join("station.toml")).unwrap();
    site.write("station.toml", &(station + "\n[overhear]\n"));
    site
}

#[test]
fn on_an_open_wi_fi_a_station_has_overheard_what_the_other_fetched_and_the_radio_tells_rates() {
    let _taken = RADIOS.lock().unwrap_or_else(PoisonError::into_inner);
    if !has_radios() {
        return;
    }
    let (cell, site) = (Cell::new(Protection::Open), on_wi_fi());
    // No radio has this rate, so another reported rate comes from nl80211.
    let config = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
    site.write("gateway.toml", &config.replacen("[overhear]\n", "[overhear]\nrate_mbps = 7\n", 1));
    let [station, other] = &cell.stations;
    let text = fetch_in_turns(&site, &cell.gateway, [station, other], 300_000, |gateway| {
        let end = Instant::now() + PATIENCE;
        let rate = |peer: usize| gateway.status()["node"]["peers"][peer]["radio_bits_per_second"].as_u64();
        while (0..2).any(|peer| rate(peer).is_none()) {
            assert!(Instant::now() < end, "the radio tells rates: {:#}", gateway.status());
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    println!("{text}\n{}", cell.gateway.run("iw", "dev cable station dump"));
    let rates: Vec<&str> = text.split("% at ").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    // The rates of 802.11b and g.
    let told = ["1", "2", "5.5", "6", "9", "11", "12", "18", "24", "36", "48", "54"];
    assert!(rates.iter().any(|rate| told.contains(rate)), "{text}");
}

#[test]
fn on_an_open_wi_fi_the_doctor_counts_others_frames_by_rate_beside_a_station() {
    let _taken = RADIOS.lock().unwrap_or_else(PoisonError::into_inner);
    if !has_radios() {
        return;
    }
    let cell = Cell::new(Protection::Open);
    let [station, other] = &cell.stations;
    let gateway: IpAddr = "192.0.2.1".parse().unwrap();
    let stop = AtomicBool::new(false);
    let findings: Vec<serde_json::Value> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                answers(station, gateway, 1000, PATIENCE);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let said = other.run(crate::support::PROGRAM, "doctor --json --radios=2");
        stop.store(true, Ordering::Relaxed);
        serde_json::from_str(&said).unwrap()
    });
    let finding = findings.iter().find(|finding| finding["name"] == "others' frames by rate").unwrap();
    println!("{finding:#}");
    assert_eq!(finding["state"], "present", "{finding}");
    let rates = finding["rates"].as_array().unwrap();
    let readable: u64 = rates.iter().map(|rate| rate["readable"].as_u64().unwrap()).sum();
    assert!(readable > 10 && rates.iter().all(|rate| rate["protected"] == 0), "{finding}");
    assert!(rates.iter().all(|rate| rate["rate"].as_str().unwrap().contains("bit/s")), "{finding}");
    assert!(!other.run("iw", "dev").contains("ohdoctor"), "the monitor is gone");
    assert!(answers(other, gateway, 56, PATIENCE), "the station is still associated");
}

#[test]
fn on_a_wi_fi_that_encrypts_nothing_can_be_overheard_and_it_is_said() {
    let _taken = RADIOS.lock().unwrap_or_else(PoisonError::into_inner);
    if !has_radios() {
        return;
    }
    let (cell, site) = (Cell::new(Protection::Wpa2), on_wi_fi());
    let [station, other] = &cell.stations;
    let _gateway = Node::start(&site, &cell.gateway, "gateway");
    let _station = Node::start(&site, station, "station");
    let other_node = Node::start(&site, other, "other");
    for machine in [station, other] {
        assert!(answers(machine, gateway(), 56, PATIENCE), "the tunnel stands");
    }
    let content = content(200_000);
    assert!(sent_and_returned(station, &cell.gateway, gateway(), &content) == content);
    let text = String::from_utf8(site.run(&["status", "other.toml"]).stdout).unwrap();
    assert!(text.contains("nothing can be overheard where the radio encrypts (WPA)"), "{text}");
    assert_eq!(count(&other_node, 0, "overheard_datagrams"), 0);

    let stop = AtomicBool::new(false);
    let findings: Vec<serde_json::Value> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                answers(station, gateway(), 1000, PATIENCE);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let said = other.run(crate::support::PROGRAM, "doctor --json --radios=2");
        stop.store(true, Ordering::Relaxed);
        serde_json::from_str(&said).unwrap()
    });
    let of = |name: &str| findings.iter().find(|finding| finding["name"] == name).unwrap().clone();
    let hearing = of("hearing others");
    assert_eq!(hearing["state"], "absent", "{hearing}");
    assert!(hearing["detail"].as_str().unwrap().contains("nothing can be overheard"), "{hearing}");
    let radio = of("radio that can monitor");
    assert_eq!(radio["state"], "present", "{radio}");
    let by_rate = of("others' frames by rate");
    assert_eq!(by_rate["state"], "absent", "{by_rate}");
    assert!(by_rate["rates"][0]["protected"].as_u64().unwrap() > 0, "{by_rate}");
    assert!(!other.run("iw", "dev").contains("ohdoctor"), "the monitor is gone");
}

#[test]
fn stations_without_ears_get_what_they_always_got() {
    if !possible() {
        return;
    }
    let (medium, site) = (Medium::new(3), site(""));
    let [at_gateway, at_station, at_other] = &medium.machines[..] else { panic!("three machines") };
    let gateway_node = Node::start(&site, at_gateway, "gateway");
    let _stations = [Node::start(&site, at_station, "station"), Node::start(&site, at_other, "other")];
    let content = content(300_000);
    for machine in [at_station, at_other] {
        assert!(answers(machine, gateway(), 56, PATIENCE));
        assert!(sent_and_returned(machine, at_gateway, gateway(), &content) == content);
    }
    assert_eq!(count(&gateway_node, 1, "shared_packets"), 0);
}

#[test]
fn what_is_sent_to_another_station_is_heard_and_counted() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24", "fd98::/64"]"#));
    let text = fs::read_to_string(site.path().join("station.toml")).unwrap();
    site.write("station.toml", &format!("{text}\n[overhear]\ninterface = \"cable\"\n"));
    let gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    let inner = "10.98.0.1".parse().unwrap();
    assert!(answers(&cabled.station, inner, 1000, PATIENCE), "the tunnel carries");

    // Another station at the same end of the cable.
    cabled.gateway.ip("neigh add 192.0.2.77 lladdr 02:00:00:00:00:77 dev cable");
    cabled.gateway.on(|| {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for number in 0..5u8 {
            socket.send_to(&[number; 100], "192.0.2.77:4780").unwrap();
            socket.send_to(&[number; 100], "192.0.2.77:53").unwrap();
        }
    });
    let patience = Instant::now() + PATIENCE;
    let heard = loop {
        let heard = station.status()["overheard"].clone();
        if heard["datagrams"] == 5 || Instant::now() > patience {
            break heard;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let expected = serde_json::json!({
        "interface": "cable", "link": "Ethernet", "frames": 5, "datagrams": 5, "datagram_bytes": 500, "not_ours": 0,
        "own": 0, "protected": 0, "retries": 0, "malformed": 0, "dropped": 0,
    });
    assert_eq!(heard, expected, "neither the tunnel's own nor another service's");
    let text = String::from_utf8(site.run(&["status", "station.toml"]).stdout).unwrap();
    assert!(
        text.contains("overheard:       500 datagram bytes, 5 datagrams, 5 frames on cable (Ethernet)"),
        "{text}"
    );
    assert!(gateway.status()["overheard"].is_null());

    assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
    assert!(
        cabled.station.ip("-d link show dev cable").contains("promiscuity 0"),
        "the interface is as it was"
    );
    assert_eq!(gateway.terminate(Signal::TERM).code(), Some(0));
}

#[test]
fn a_table_that_makes_no_sense_is_refused_with_its_key() {
    let site = Site::new();
    for (key, named) in [
        ("slot_bits = 13", "slot_bits"),
        ("rate_mbps = 0.0", "rate_mbps"),
        ("interface = \"a/b\"", "interface"),
        ("listen = true", "listen"),
    ] {
        let (code, said) = site.refused(&format!("{}\n[overhear]\n{key}\n", site.gateway()));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(named), "{key}: {said}");
    }
}
