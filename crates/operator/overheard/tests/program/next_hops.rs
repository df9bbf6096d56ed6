//! Two stations out of each other's range and two relays between them, with real nodes and a real babeld on
//! each. Packets use the relay of babeld's route, and the other relay after that one's radio fails.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::namespaces::{Machine, Medium, Node, possible};
use crate::support::traffic::answers;
use crate::support::{Site, has};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const NAMES: [&str; 4] = ["station1", "relay1", "relay2", "station2"];
/// Timeout of babeld's convergence on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn inner(node: usize) -> IpAddr {
    format!("10.98.0.{}", node + 1).parse().unwrap()
}

/// Configurations of all four nodes, with addresses 192.0.2.1 to .4 on the medium.
fn site() -> Site {
    let site = Site::new();
    let keys = NAMES.map(|name| site.key(name));
    let peer = |of: usize, lines: &str| {
        format!(
            "\n[[peer]]\nname = \"{}\"\npublic_key = \"{}\"\nendpoint = \"192.0.2.{}:4780\"\n{lines}",
            NAMES[of],
            keys[of],
            of + 1
        )
    };
    for (at, name) in NAMES.iter().enumerate() {
        let (role, others) = if at == 0 || at == 3 {
            let (relay, far) = ("relays = true\nkeepalive_seconds = 2\n", 3 - at);
            let routing = format!(
                "\n[routing]\nsource = \"babeld\"\nsocket = \"{name}.babeld\"\n\n[[destination]]\naddress = \"192.0.2.{}\"\n\
                 allowed_ips = [\"{}/32\"]\n",
                far + 1,
                inner(far)
            );
            ("station", peer(1, relay) + &peer(2, relay) + &routing)
        } else {
            let allowed = |of: usize| peer(of, &format!("allowed_ips = [\"{}/32\"]\n", inner(of)));
            ("relay", allowed(0) + &allowed(3))
        };
        let text = format!(
            "[node]\nrole = \"{role}\"\nprivate_key_file = \"{name}/private.key\"\nnetwork_key_file = \"network.key\"\n\
             revoked_file = \"{name}.revoked\"\n\
             listen = \"0.0.0.0:4780\"\nstatus_socket = \"{name}.sock\"\n\n[tunnel]\ninterface = \"ohtest-n\"\n\
             addresses = [\"{}/32\"]\n{others}",
            inner(at)
        );
        site.write(&format!("{name}.toml"), &text);
    }
    site
}

/// A babeld, ended when dropped.
struct Babeld(Child);

impl Babeld {
    /// Starts it on a machine's `cable`; it serves its routes on the socket `NAME.babeld`.
    fn start(site: &Site, machine: &Machine, name: &str) -> Self {
        let log = File::create(site.path().join(format!("{name}-babeld.log"))).unwrap();
        // babeld distinguishes a socket from a port by the first character.
        let file = |what: &str| site.path().join(format!("{name}.{what}"));
        // The routing protocol must not announce the tunnel's own addresses.
        let rules = ["-C", "redistribute local ip 192.0.2.0/24 allow", "-C", "redistribute local deny"];
        // `ip netns exec` becomes the program: the child's process id is babeld's.
        let child = Command::new("ip")
            .args(["netns", "exec", &machine.name, "babeld", "-h", "0.5", "-H", "0.5", "-M", "1"])
            .arg("-G")
            .arg(file("babeld"))
            .arg("-I")
            .arg(file("pid"))
            .arg("-S")
            .arg(file("state"))
            .args(rules)
            .arg("cable")
            .current_dir(site.path())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        Babeld(child.unwrap())
    }
}

impl Drop for Babeld {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a station uses a relay that `is_right` accepts, and returns it.
fn way(station: &Node, is_right: impl Fn(&str) -> bool) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        let status = station.status();
        let next_hop = status["node"]["destinations"][0]["next_hop"].as_str().unwrap_or_default();
        if is_right(next_hop) {
            return next_hop.to_owned();
        }
        assert!(Instant::now() < until, "{status:#}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Bytes in which every position is unique.
fn block(number: u32) -> Vec<u8> {
    (0..2500u32).flat_map(|at| (number * 2500 + at).wrapping_mul(0x9e37_79b9).to_be_bytes()).collect()
}

#[test]
fn a_connection_goes_on_by_the_other_relay_when_babeld_says_so() {
    if !possible() || !has("babeld", "babeld") {
        return;
    }
    let (medium, site) = (Medium::new(4), site());
    // Stations hear relays and not each other.
    medium.keep_apart(&[1, 4]);
    let machines = &medium.machines;
    let each = || NAMES.iter().zip(machines);
    let _daemons: Vec<Babeld> = each().map(|(name, machine)| Babeld::start(&site, machine, name)).collect();
    let nodes: Vec<Node> = each().map(|(name, machine)| Node::start(&site, machine, name)).collect();
    let found = way(&nodes[0], |relay| !relay.is_empty());
    way(&nodes[3], |relay| !relay.is_empty());
    assert!(answers(&machines[0], inner(3), 56, PATIENCE), "by {found}");

    let listener = machines[3].on(|| TcpListener::bind((inner(3), 0)).unwrap());
    let address = listener.local_addr().unwrap();
    let receiving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(2 * PATIENCE)).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).map(|_| heard)
    });
    let mut stream =
        machines[0].on(|| TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap());
    stream.set_write_timeout(Some(2 * PATIENCE)).unwrap();
    let mut sent = Vec::new();
    let mut send = |blocks: std::ops::Range<u32>| {
        for number in blocks {
            let block = block(number);
            stream.write_all(&block).unwrap();
            sent.extend(block);
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let before = way(&nodes[0], |relay| !relay.is_empty());
    send(0..50);
    // In the middle of the transfer.
    let silent = NAMES.iter().position(|name| *name == before).unwrap();
    machines[silent].ip("link set cable down");
    let cut = Instant::now();
    send(50..60);
    let after = way(&nodes[0], |relay| !relay.is_empty() && relay != before);
    let moved = cut.elapsed();
    send(60..100);
    drop(stream);
    let heard = receiving.join().unwrap().unwrap();
    println!(
        "from {before} to {after} {moved:?} after the cut; all of it {:?} after that",
        cut.elapsed() - moved
    );
    assert!(heard == sent, "{} of {} bytes", heard.len(), sent.len());
    let text = String::from_utf8(site.run(&["status", "station1.toml"]).stdout).unwrap();
    assert!(text.contains("DESTINATION") && text.contains(&after), "{text}");
}

#[test]
fn a_destination_that_cannot_be_is_told() {
    let site = Site::new();
    let routing = "[routing]\nsource = \"babeld\"\nsocket = \"/run/babeld.sock\"\n";
    let destination = "[[destination]]\naddress = \"192.0.2.2\"\nallowed_ips = [\"10.99.0.2/32\"]\n";
    let peer = "endpoint = \"192.0.2.9:4780\"\nrelays = true\n";
    let changed = |from: &str, to: &str| format!("{peer}{routing}{destination}").replacen(from, to, 1);
    for (lines, sentence) in [
        (format!("{peer}{destination}"), "nothing says how it is reached"),
        (format!("{peer}{routing}"), "there is no [[destination]]"),
        (changed("relays = true\n", ""), "no peer with an endpoint says relays = true"),
        (changed("10.99.0.2/32", "10.98.0.1/32"), "is this node's own address"),
        (changed("[\"10.99.0.2/32\"]", "[]"), "is empty"),
        (changed("socket", "file"), "[routing] file: goes with source = \"static\""),
        (changed("\"babeld\"", "\"olsrv2\""), "is the port of olsrd2's telnet"),
        (changed("socket = \"/run/babeld.sock\"", "refresh_seconds = 1"), "[routing] socket: goes with"),
        (changed("socket", "refresh_seconds = 0\nsocket"), "is no time to go by the same routes"),
        (changed("\"babeld\"", "\"babel\""), "unknown variant"),
        (format!("{peer}{routing}{destination}{destination}"), "it is there twice"),
        (
            format!("{peer}{routing}{destination}{}", destination.replace("192.0.2.2", "192.0.2.3")),
            "an address can lead to one destination only",
        ),
    ] {
        let (code, said) = site.refused(&(site.gateway() + &lines));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(sentence), "{said}\n{lines}");
    }
    for (from, to) in [("role =", "threads = 2\nrole ="), ("interface", "when_down = \"open\"\ninterface")] {
        let config =
            site.gateway().replacen(from, to, 1) + &changed("relays", "keepalive_seconds = 5\nrelays");
        let (code, said) = site.refused(&config);
        assert_eq!(code, 2, "{said}");
        assert!(said.ends_with("take it out"), "{said}");
    }
}
