//! Two stations out of each other's range and two relays between them, with real nodes. The stations' packets
//! use different relays, and the second relay does not send back content that it heard from the station
//! (REfactor, Figure 1c).

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::Site;
use crate::support::namespaces::{Machine, Medium, Node, possible};
use crate::support::traffic::{answers, sent_and_returned};
use std::collections::BTreeSet;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const NAMES: [&str; 4] = ["station1", "relay1", "relay2", "station2"];
const PATIENCE: Duration = Duration::from_secs(20);

fn inner(node: usize) -> IpAddr {
    format!("10.98.0.{}", node + 1).parse().unwrap()
}

/// Configurations of all four nodes, with addresses 192.0.2.1 to .4 on the medium.
fn site() -> Site {
    let site = Site::new();
    let keys = NAMES.map(|name| site.key(name));
    let peer = |of: usize, allowed: &[usize], relays: bool| {
        let allowed: Vec<String> = allowed.iter().map(|at| format!("\"{}/32\"", inner(*at))).collect();
        format!(
            "\n[[peer]]\nname = \"{}\"\npublic_key = \"{}\"\nendpoint = \"192.0.2.{}:4780\"\nallowed_ips = [{}]\n{}",
            NAMES[of],
            keys[of],
            of + 1,
            allowed.join(", "),
            if relays { "relays = true\n" } else { "" }
        )
    };
    for (at, name) in NAMES.iter().enumerate() {
        let (role, peers) = match at {
            0 => ("station", peer(1, &[3, 1], true) + &peer(2, &[2], true)),
            3 => ("station", peer(2, &[0, 2], true) + &peer(1, &[1], true)),
            _ => ("relay", peer(0, &[0], false) + &peer(3, &[3], false)),
        };
        let text = format!(
            "[node]\nrole = \"{role}\"\nprivate_key_file = \"{name}/private.key\"\nnetwork_key_file = \"network.key\"\n\
             revoked_file = \"{name}.revoked\"\n\
             listen = \"0.0.0.0:4780\"\nstatus_socket = \"{name}.sock\"\n\n[tunnel]\ninterface = \"ohtest-m\"\n\
             addresses = [\"{}/32\"]\n\n[overhear]\ninterface = \"cable\"\n{peers}",
            inner(at)
        );
        site.write(&format!("{name}.toml"), &text);
    }
    site
}

/// Bytes of datagrams that a node sent to a peer, and one of that peer's counters.
fn count(node: &Node, peer: usize, counter: &str) -> u64 {
    let status = node.status();
    let peers = status["node"]["peers"].as_array().unwrap();
    let of = peers.iter().find(|of| of["name"] == NAMES[peer]).unwrap();
    of["counters"][counter].as_u64().unwrap()
}

/// Sends each payload as a datagram, no faster than they arrive, because a busy machine drops them and UDP is
/// not repaired. Returns those that arrived.
fn exchange(from: (&Machine, usize), to: (&Machine, usize), payloads: &[Vec<u8>]) -> BTreeSet<Vec<u8>> {
    let receiver = to.0.on(|| UdpSocket::bind((inner(to.1), 9000)).unwrap());
    receiver.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let sender = from.0.on(|| UdpSocket::bind((inner(from.1), 0)).unwrap());
    let count = payloads.len();
    let had = Arc::new(AtomicUsize::new(0));
    let counted = had.clone();
    let receiving = std::thread::spawn(move || {
        let (mut arrived, mut buffer) = (BTreeSet::new(), [0; 2000]);
        while arrived.len() < count
            && let Ok(bytes) = receiver.recv(&mut buffer)
        {
            arrived.insert(buffer[..bytes].to_vec());
            counted.store(arrived.len(), Ordering::Relaxed);
        }
        arrived
    });
    const UNDER_WAY: usize = 4;
    let mut lost = 0;
    for (number, payload) in payloads.iter().enumerate() {
        sender.send_to(payload, (inner(to.1), 9000)).unwrap();
        std::thread::sleep(Duration::from_millis(4));
        let had = || had.load(Ordering::Relaxed);
        let patience = Instant::now() + Duration::from_millis(500);
        while had() + lost + UNDER_WAY < number && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        // It is not awaited again.
        lost = lost.max(number.saturating_sub(had() + UNDER_WAY));
    }
    receiving.join().unwrap()
}

/// Bytes that neither repeat nor compress.
struct Content(u64);

impl Content {
    fn some(&mut self, bytes: usize) -> Vec<u8> {
        let mut next = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 24) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }
}

#[test]
fn two_stations_and_two_relays_take_four_less_delta() {
    if !possible() {
        return;
    }
    let (medium, site) = (Medium::new(4), site());
    // Stations hear relays and not each other.
    medium.keep_apart(&[1, 4]);
    let machines = &medium.machines;
    let nodes: Vec<Node> =
        NAMES.iter().zip(machines).map(|(name, machine)| Node::start(&site, machine, name)).collect();
    assert!(answers(&machines[0], inner(3), 56, PATIENCE), "there and back, each by another relay");
    // Time for the exchange of group keys.
    std::thread::sleep(Duration::from_secs(3));

    let mut content = Content(0x9e37_79b9_7f4a_7c15);
    let abc: Vec<Vec<u8>> = (0..300).map(|_| content.some(1200)).collect();
    let abd: Vec<Vec<u8>> = abc.iter().map(|abc| [&abc[..800], &content.some(400)].concat()).collect();
    let hops = [(0, 1), (1, 3), (3, 2), (2, 0)];
    let sent = || hops.map(|(from, to)| count(&nodes[from], to, "outer_sent_bytes"));
    let before = sent();
    for (from, to, payloads) in [(0, 3, &abc), (3, 0, &abd)] {
        let arrived = exchange((&machines[from], from), (&machines[to], to), payloads);
        let sent: BTreeSet<Vec<u8>> = payloads.iter().cloned().collect();
        assert!(arrived.is_subset(&sent), "what arrives is what was sent");
        let missing = sent.difference(&arrived).count();
        let status = || nodes.iter().map(|node| format!("{:#}", node.status())).collect::<String>();
        assert!(missing <= payloads.len() / 50, "{missing} from {from} to {to}: {}", status());
    }
    let after = sent();
    let cost: Vec<f64> = before.iter().zip(after).map(|(before, after)| (after - before) as f64).collect();
    // Of the 800 bytes, all chunks are removed except the last, partial one; a chunk usually has 128 bytes.
    // Each removed chunk takes 18 bits in the shim, beside 12 bytes for number, MAC and lengths.
    let known = 800.0 - 64.0;
    let delta = (known - known / 128.0 * 18.0 / 8.0 - 12.0) / 1200.0;
    let transmissions = cost.iter().sum::<f64>() / cost[0];
    let text = String::from_utf8(site.run(&["status", "relay2.toml"]).stdout).unwrap();
    println!("{transmissions:.3} transmissions for {:.3}: {cost:?}\n{text}", 4.0 - delta);
    assert!((transmissions / (4.0 - delta) - 1.0).abs() < 0.05, "{transmissions} {cost:?}");
    assert!(count(&nodes[2], 0, "relayed_packets") >= 300);
    assert!(count(&nodes[2], 0, "overheard_removed_bytes") > 300 * 600, "{text}");
    assert!(text.contains("RELAYED"), "{text}");

    // TCP as well, with acknowledgments in the other direction.
    let content = content.some(300_000);
    assert!(sent_and_returned(&machines[0], &machines[3], inner(3), &content) == content);
}

/// Configurations of two stations and one relay between them, with addresses 192.0.2.1 to .3 on the medium.
/// `everywhere` is added to all of them, and `at_relay` to the top of the relay's.
fn site_of_one_relay(everywhere: &str, at_relay: &str) -> Site {
    let site = Site::new();
    let keys = ["station1", "relay1", "station2"].map(|name| site.key(name));
    let peer = |of: usize, name: &str, allowed: &str, relays: bool| {
        format!(
            "\n[[peer]]\nname = \"{name}\"\npublic_key = \"{}\"\nendpoint = \"192.0.2.{}:4780\"\nallowed_ips = [{allowed}]\n{}",
            keys[of],
            of + 1,
            if relays { "relays = true\n" } else { "" }
        )
    };
    let (first, relay, second) = ("\"10.98.0.1/32\"", "\"10.98.0.2/32\"", "\"10.98.0.3/32\"");
    let peers = [
        ("station1", "station", peer(1, "relay1", &[second, relay].join(", "), true)),
        ("relay1", "relay", peer(0, "station1", first, false) + &peer(2, "station2", second, false)),
        ("station2", "station", peer(1, "relay1", &[first, relay].join(", "), true)),
    ];
    for (at, (name, role, peers)) in peers.iter().enumerate() {
        let top = if *role == "relay" { at_relay } else { "" };
        let text = format!(
            "{top}[node]\nrole = \"{role}\"\nprivate_key_file = \"{name}/private.key\"\nnetwork_key_file = \"network.key\"\n\
             revoked_file = \"{name}.revoked\"\n\
             listen = \"0.0.0.0:4780\"\nstatus_socket = \"{name}.sock\"\n\n[tunnel]\ninterface = \"ohtest-m\"\n\
             addresses = [\"{}/32\"]\n\n[overhear]\ninterface = \"cable\"\n{everywhere}{peers}",
            inner(at)
        );
        site.write(&format!("{name}.toml"), &text);
    }
    site
}

/// The sum of a counter over a node's peers.
fn sum(node: &Node, counter: &str) -> u64 {
    let status = node.status();
    let peers = status["node"]["peers"].as_array().unwrap();
    peers.iter().map(|of| of["counters"][counter].as_u64().unwrap()).sum()
}

/// Two stations and an answering relay between them, with their medium.
fn one_relay(everywhere: &str, at_relay: &str) -> (Medium, Site, Vec<Node>) {
    let (medium, site) = (Medium::new(3), site_of_one_relay(everywhere, at_relay));
    medium.keep_apart(&[1, 3]);
    let machines = ["station1", "relay1", "station2"].into_iter().zip(&medium.machines);
    let nodes = machines.map(|(name, machine)| Node::start(&site, machine, name)).collect();
    assert!(answers(&medium.machines[0], inner(2), 56, PATIENCE));
    (medium, site, nodes)
}

#[test]
fn what_two_stations_send_each_other_at_once_leaves_the_relay_as_one() {
    if !possible() {
        return;
    }
    let (medium, site, nodes) = one_relay("", "");
    let machines = &medium.machines;
    std::thread::sleep(Duration::from_secs(2)); // keys of groups are told
    // A radio's rate, so that packets meet in the queue.
    machines[1].run("tc", "qdisc add dev cable root tbf rate 8mbit burst 3000 limit 1000000");

    // Both directions at once; the two TCPs determine how often packets meet in the relay.
    let mut content = Content(0x2545_f491_4f6c_dd1d);
    for _ in 0..4 {
        let [there, back] = [0, 1].map(|_| content.some(1_500_000));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| sent_and_returned(&machines[2], &machines[0], inner(0), &back));
            assert!(sent_and_returned(&machines[0], &machines[2], inner(2), &there) == there);
            assert!(other.join().unwrap() == back);
        });
        if sum(&nodes[1], "natives_datagrams") > 100 {
            break;
        }
    }
    let (frames, packets) = (sum(&nodes[1], "natives_datagrams"), sum(&nodes[1], "natives_sent"));
    let decoded = sum(&nodes[0], "natives_decoded") + sum(&nodes[2], "natives_decoded");
    let text = String::from_utf8(site.run(&["status", "relay1.toml"]).stdout).unwrap();
    println!("{frames} frames with {packets} packets, {decoded} taken out\n{text}");
    assert!(frames > 20, "{text}");
    assert!(packets >= 2 * frames && decoded <= packets && decoded > packets / 2, "{decoded} of {packets}");
    assert!(text.contains("CODED"), "{text}");

    // UDP as well, which is not repaired.
    let [one, other] = [0, 1].map(|_| (0..200).map(|_| content.some(1000)).collect::<Vec<Vec<u8>>>());
    std::thread::scope(|scope| {
        let back = scope.spawn(|| exchange((&machines[2], 2), (&machines[0], 0), &other));
        let arrived = exchange((&machines[0], 0), (&machines[2], 2), &one);
        for (arrived, sent) in [(arrived, &one), (back.join().unwrap(), &other)] {
            let sent: BTreeSet<Vec<u8>> = sent.iter().cloned().collect();
            assert!(arrived.is_subset(&sent), "what arrives is what was sent");
            assert!(arrived.len() >= 150, "{} of 200 arrived", arrived.len());
        }
    });
}

#[test]
fn a_relay_repairs_what_is_lost_on_its_hop_and_the_sender_is_told_nothing() {
    if !possible() {
        return;
    }
    let (medium, site, nodes) = one_relay("[reduce]\npolicy = \"off\"\n", "snoop = true\n");
    let machines = &medium.machines;
    // A radio's rate, and a loss of one in 25 only on the relay's hop to the second station.
    machines[1].run("tc", "qdisc add dev cable root tbf rate 8mbit burst 3000 limit 100000");
    machines[2].run("nft", "add table inet lossy");
    machines[2].run("nft", "add chain inet lossy in { type filter hook input priority 0; }");
    machines[2]
        .run("nft", "add rule inet lossy in udp dport 4780 meta length > 600 numgen inc mod 25 == 0 drop");

    // How many ACKs a loss brings depends on what of its flow is on the way; so some losses are waited for.
    let mut content = Content(0x9e37_79b9_7f4a_7c15);
    let repaired = || sum(&nodes[1], "segments_repaired") + sum(&nodes[1], "segments_repaired_coded");
    let kept_back = || sum(&nodes[1], "acks_suppressed");
    for _ in 0..4 {
        let content = content.some(600_000);
        assert!(sent_and_returned(&machines[0], &machines[2], inner(2), &content) == content);
        if repaired() >= 10 && kept_back() >= 10 {
            break;
        }
    }
    let (repaired, kept_back) = (repaired(), kept_back());
    let restored = sum(&nodes[2], "coded_restored");
    let text = String::from_utf8(site.run(&["status", "relay1.toml"]).stdout).unwrap();
    println!("{repaired} sent again by the relay, {restored} taken out, {kept_back} ACKs kept back\n{text}");
    assert!(repaired >= 10 && kept_back >= 10, "{text}");
    assert!(restored <= sum(&nodes[1], "segments_repaired_coded"), "{text}");
    // Neither station repairs: they are not configured to, and the relay's hop is not theirs.
    assert_eq!(sum(&nodes[0], "segments_repaired") + sum(&nodes[0], "segments_repaired_coded"), 0);
}

#[test]
fn a_relay_that_cannot_be_is_told() {
    let site = Site::new();
    for (text, sentence) in [
        (
            site.gateway().replacen("\"gateway\"", "\"relay\"", 1),
            "a relay passes on from one peer to another",
        ),
        (
            site.gateway().replacen("role =", "threads = 2\nrole =", 1) + "relays = true\n",
            "stays on one thread",
        ),
    ] {
        let (code, said) = site.refused(&text);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(sentence), "{said}");
    }
}
