//! Peers that come, go and change on a running gateway, while a station carries a transfer.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::namespaces::{Machine, Medium, Node, possible};
use crate::support::origin::content;
use crate::support::traffic::{answers, sent_and_returned};
use crate::support::{PROGRAM, Site, told, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
/// Interval of the numbered packets.
const EVERY: Duration = Duration::from_millis(2);
/// Numbered packets during the changes and after them, at least.
const LEAST_PACKETS: u64 = 100;

fn gateway() -> IpAddr {
    "10.98.0.1".parse().unwrap()
}

/// A gateway and two stations on a medium. The gateway knows the first one, `roof`, alone.
struct Cell {
    node: Node,
    stations: Vec<Node>,
    medium: Medium,
    // Dropped after the nodes, whose logs it has.
    site: Site,
    second_key: String,
}

impl Cell {
    fn new(threads: usize) -> Self {
        let (medium, site) = (Medium::new(3), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32"]"#));
        let station = fs::read_to_string(site.path().join("station.toml")).unwrap();
        site.write("station.toml", &station.replace(r#", "fd98::2/64""#, ""));
        if threads > 1 {
            // A node has no more threads than peers.
            site.add_station("shed", 9);
            site.add("gateway", "[node]", &format!("threads = {threads}"));
        }
        let without = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
        site.add_station("second", 3);
        site.write("gateway.toml", &without);
        let second_key = fs::read_to_string(site.path().join("second/public.key")).unwrap();
        let node = Node::start(&site, &medium.machines[0], "gateway");
        let stations = vec![
            Node::start(&site, &medium.machines[1], "station"),
            Node::start(&site, &medium.machines[2], "second"),
        ];
        let it = Cell { node, stations, medium, site, second_key: second_key.trim().to_owned() };
        assert!(answers(it.first(), gateway(), 56, PATIENCE), "{}", it.node.log());
        it
    }

    fn first(&self) -> &Machine {
        &self.medium.machines[1]
    }

    fn second_answers(&self, patience: Duration) -> bool {
        answers(&self.medium.machines[2], gateway(), 56, patience)
    }

    fn file(&self) -> String {
        fs::read_to_string(self.site.path().join("gateway.toml")).unwrap()
    }

    /// Runs `overheard peer` on the gateway, by its socket.
    fn peer(&self, args: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("peer").args(args).arg("--socket").arg(self.site.path().join("gateway.sock"));
        command.output().unwrap()
    }

    /// The same, by its configuration.
    fn peer_by_file(&self, args: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("peer").args(args).arg("gateway.toml").current_dir(self.site.path()).output().unwrap()
    }

    fn add_second(&self, more: &[&str]) -> Output {
        let add = ["add", "second", "--public-key", &self.second_key, "--allowed-ips", "10.98.0.3/32"];
        self.peer_by_file(&[&add[..], more].concat())
    }

    /// What stays over all changes: the boot, and the first station's sessions and links.
    fn lasting(&self) -> [Value; 2] {
        let node = &self.node.status()["node"];
        [node["boot"].clone(), node["peers"][0]["counters"]["sessions"].clone()]
    }

    /// Makes changes while the first station sends numbered packets to the gateway and back, and a transfer
    /// runs. Each packet arrives.
    fn without_loss(&self, changes: impl FnOnce()) {
        let server = self.medium.machines[0].on(|| UdpSocket::bind((gateway(), 0)).unwrap());
        let to: SocketAddr = server.local_addr().unwrap();
        let client = self.first().on(|| UdpSocket::bind("10.98.0.2:0").unwrap());
        for socket in [&server, &client] {
            socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        }
        let (over, before) = (AtomicBool::new(false), self.counters());
        let lasting = self.lasting();
        let (sent, echoed, heard) = std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let mut number: u64 = 0;
                while number < LEAST_PACKETS || !over.load(Ordering::Relaxed) {
                    client.send_to(&number.to_be_bytes(), to).unwrap();
                    number += 1;
                    std::thread::sleep(EVERY);
                }
                number
            });
            let echo = scope.spawn(|| {
                let (mut count, mut buffer) = (0_u64, [0; 16]);
                while let Ok((bytes, from)) = server.recv_from(&mut buffer) {
                    server.send_to(&buffer[..bytes], from).unwrap();
                    count += 1;
                }
                count
            });
            let listener = scope.spawn(|| {
                let (mut count, mut buffer) = (0_u64, [0; 16]);
                while client.recv(&mut buffer).is_ok() {
                    count += 1;
                }
                count
            });
            let transfer = scope.spawn(|| {
                let content = content("/transfer", 4_000_000);
                sent_and_returned(self.first(), &self.medium.machines[0], gateway(), &content) == content
            });
            let _ends = Ends(&over);
            changes();
            assert!(transfer.join().unwrap(), "every byte of the transfer comes back");
            over.store(true, Ordering::Relaxed);
            (sender.join().unwrap(), echo.join().unwrap(), listener.join().unwrap())
        });
        assert_eq!((echoed, heard), (sent, sent), "no packet is lost: {}", self.node.log());
        assert_eq!(self.lasting(), lasting, "{}", self.node.log());
        let after = self.counters();
        assert!(after.0 >= before.0 + 4_000_000 && after.1 >= before.1 + 4_000_000, "counters go on");
    }

    /// Inner bytes from and to the first station.
    fn counters(&self) -> (u64, u64) {
        let counters = &self.node.status()["node"]["peers"][0]["counters"];
        let count = |name: &str| counters[name].as_u64().unwrap();
        (count("inner_received_bytes"), count("inner_sent_bytes"))
    }
}

/// Ends the numbered packets, also where a change fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_reload_adds_and_removes_a_station_and_the_other_loses_no_packet() {
    if !possible() {
        return;
    }
    let cell = Cell::new(1);
    assert!(!cell.second_answers(Duration::from_secs(1)));
    let alone = cell.file();
    let peer = format!(
        "\n[[peer]]\nname = \"second\"\npublic_key = \"{}\"\nallowed_ips = [\"10.98.0.3/32\"]\n",
        cell.second_key
    );
    cell.without_loss(|| {
        cell.site.write("gateway.toml", &format!("{alone}{peer}"));
        cell.node.reload();
        assert!(cell.second_answers(PATIENCE), "{}", cell.node.log());
        assert!(cell.node.log().contains("sessions stay: peers added: second"), "{}", cell.node.log());
        assert!(cell.medium.machines[0].ip("route").contains("10.98.0.3 dev ohtest-gw"));
        // Behind another address as well: the session stays.
        let second = || cell.node.status()["node"]["peers"][1]["counters"]["sessions"].clone();
        let before = second();
        let more = peer.replace("10.98.0.3/32\"", "10.98.0.3/32\", \"10.99.0.0/24\"");
        cell.site.write("gateway.toml", &format!("{alone}{more}"));
        cell.node.reload();
        wait_until("it has the route", PATIENCE, || {
            cell.medium.machines[0].ip("route").contains("10.99.0.0/24")
        });
        assert_eq!(second(), before);
        cell.site.write("gateway.toml", &alone);
        cell.node.reload();
        wait_until("it is gone", PATIENCE, || cell.node.log().contains("peers removed: second"));
        assert!(!cell.second_answers(Duration::from_secs(1)));
        assert!(!cell.medium.machines[0].ip("route").contains("10.99.0.0/24"));
    });
    cell.node.reload();
    wait_until("nothing is new", PATIENCE, || cell.node.log().contains("the configuration has not changed"));
    cell.site.add("gateway", "[tunnel]", "mtu = 1300");
    cell.node.reload();
    wait_until("it restarts", PATIENCE, || cell.node.log().contains("begins anew, because of [tunnel] mtu"));
    assert!(answers(cell.first(), gateway(), 56, PATIENCE));
    assert_eq!(cell.node.terminate(Signal::TERM).code(), Some(0));
    assert_eq!(cell.medium.machines[0].traces(), Vec::<String>::new());
}

#[test]
fn a_peer_is_added_listed_and_removed_by_the_command_and_the_other_loses_no_packet() {
    if !possible() {
        return;
    }
    let cell = Cell::new(2);
    let before = cell.file();
    let listed = || -> Value { serde_json::from_slice(&cell.peer(&["list", "--json"]).stdout).unwrap() };
    cell.without_loss(|| {
        let (code, said) = told(&cell.add_second(&[]));
        assert_eq!(code, 0, "{said}");
        assert!(cell.second_answers(PATIENCE), "{}", cell.node.log());
        assert_eq!(cell.file(), before, "nobody asked for that");
        let listed = listed();
        assert_eq!(listed["interface"], "ohtest-gw");
        let second = &listed["peers"][2];
        assert_eq!((&second["name"], &second["allowed_ips"][0]), (&"second".into(), &"10.98.0.3/32".into()));
        assert!(second["session_age_seconds"].is_number(), "{listed}");
        let table = text(&cell.peer(&["list"]).stdout);
        assert!(table.lines().next().unwrap().contains("ALLOWED IPS") && table.contains("10.98.0.3/32"));
        let (code, said) = told(&cell.peer(&["remove", "second"]));
        assert_eq!(code, 0, "{said}");
        assert!(!cell.second_answers(Duration::from_secs(1)));
    });
    let (code, said) = told(&cell.add_second(&["--write"]));
    assert_eq!(code, 0, "{said}");
    let with = cell.file();
    assert!(with.starts_with(&before) && with.contains("name = \"second\""), "{with}");
    assert!(cell.second_answers(PATIENCE));
    cell.node.reload();
    wait_until("the file has it", PATIENCE, || cell.node.log().contains("the configuration has not changed"));
    let (code, said) = told(&cell.peer_by_file(&["remove", &cell.second_key, "--write"]));
    assert_eq!((code, cell.file()), (0, before), "{said}");
    assert!(!cell.second_answers(Duration::from_secs(1)));
    assert_eq!(cell.node.terminate(Signal::TERM).code(), Some(0));
    assert_eq!(cell.medium.machines[0].traces(), Vec::<String>::new());
}

#[test]
fn another_budget_of_memory_is_taken_up_and_the_station_loses_no_packet() {
    if !possible() {
        return;
    }
    let cell = Cell::new(2);
    let file = cell.file();
    let budget = || cell.node.status()["node"]["memory"]["budget_bytes"].as_u64().unwrap();
    let bound = || cell.node.status()["node"]["peers"][0]["stores"]["received_bound_bytes"].as_u64().unwrap();
    cell.without_loss(|| {
        for mib in [64, 6, 32] {
            cell.site.write("gateway.toml", &format!("{file}\n[memory]\nmib = {mib}\n"));
            cell.node.reload();
            wait_until("it has the budget", PATIENCE, || budget() == mib << 20);
            let told = format!("the budget of memory is {mib} MiB now; sessions stay");
            assert!(cell.node.log().contains(&told), "{}", cell.node.log());
            wait_until("the store is within it", PATIENCE, || bound() <= mib << 20);
        }
    });
    cell.site.write("gateway.toml", &format!("{file}\n[memory]\nmib = 3\n"));
    cell.node.reload();
    wait_until("it is refused", PATIENCE, || {
        cell.node.log().contains("[memory] mib: 3 is not between 4 and")
    });
    assert_eq!(budget(), 32 << 20);
}

#[test]
fn a_default_route_comes_and_goes_and_the_station_loses_no_packet() {
    if !possible() {
        return;
    }
    let cell = Cell::new(1);
    let station = &cell.stations[0];
    let file = fs::read_to_string(cell.site.path().join("station.toml")).unwrap();
    let rules = || cell.first().ip("rule");
    let routes = || cell.first().ip("route show table all dev ohtest-st");
    let allow = |nets: &str| {
        cell.site.write("station.toml", &file.replace(r#"["10.98.0.1/32"]"#, nets));
        station.reload();
    };
    let before = (rules(), routes());
    cell.without_loss(|| {
        allow(r#"["10.98.0.1/32", "0.0.0.0/0"]"#);
        wait_until("it has a rule", PATIENCE, || rules().contains("suppress_prefixlength 0"));
        assert!(routes().contains("default"), "{}", routes());
        // The rules have the length of the longest prefix with an endpoint inside.
        allow(r#"["10.98.0.1/32", "192.0.0.0/8"]"#);
        wait_until("it has another rule", PATIENCE, || rules().contains("suppress_prefixlength 8"));
        wait_until("the first is gone", PATIENCE, || !rules().contains("suppress_prefixlength 0"));
        assert!(routes().contains("192.0.0.0/8") && !routes().contains("default"), "{}", routes());
        allow(r#"["10.98.0.1/32"]"#);
        wait_until("all is as before", PATIENCE, || (rules(), routes()) == before);
    });
    assert_eq!(
        station.log().matches("sessions stay: peers changed: gateway").count(),
        3,
        "{}",
        station.log()
    );
}

#[test]
fn a_wrong_change_of_the_peers_is_refused_with_its_remedy_and_changes_nothing() {
    if !possible() {
        return;
    }
    let cell = Cell::new(1);
    let (file, lasting) = (cell.file(), cell.lasting());
    let refused = |args: &[&str], sentence: &str| {
        let (code, said) = told(&cell.peer_by_file(args));
        assert!(code == 2 && said.contains(sentence), "{args:?}: {code}: {said}");
    };
    let key = cell.second_key.as_str();
    let add = |name: &'static str, key: &str, ips: &str, more: &[&str], sentence: &str| {
        let add = ["add", name, "--public-key", key, "--allowed-ips", ips, "--write"];
        refused(&[&add[..], more].concat(), sentence);
    };
    add("roof", key, "10.98.0.3/32", &[], "one is called \"roof\" already; remove it first");
    add("second", "nonsense", "10.98.0.3/32", &[], "[[peer]] \"second\" public_key");
    add("second", key, "10.98.0.2/32", &[], "a prefix can lead to one peer only");
    add("second", key, "10.98.0.3/99", &[], "is no address with a prefix length");
    add("second", key, "10.98.0.3/32", &["--endpoint", "nowhere"], "is no address and port");
    add("second", &cell.site.station_public, "10.98.0.3/32", &[], "have the same public key");
    refused(&["remove", "nobody"], "none has the name or the public key \"nobody\"; there are roof");
    refused(&["remove", "roof"], "there is none; add one for each node to talk to");
    assert_eq!((cell.file(), cell.lasting()), (file, lasting));
    let status = cell.node.status();
    assert_eq!(status["node"]["peers"].as_array().unwrap().len(), 1, "{status:#}");
}
