//! A web cache on the host of a node with streams: the cache has port 80 first.

use super::{PATIENCE, SERVER_IPV4, ip};
use crate::support::namespaces::{Behind, Machine, Node, possible, run};
use crate::support::origin::{Origin, content};
use crate::support::traffic::answers;
use crate::support::{PROGRAM, Site, wait_until};
use lab::Program;
use std::fs::{self, File};
use std::process::Command;

const PATH: &str = "/fixed/300000";
const BYTES: usize = 300_000;
const CLIENT: &str = "10.98.7.2";

/// A client in a network behind the station, whose TCP goes as streams to an origin behind the gateway.
struct House {
    // Dropped in this order: programs before the machines that they are on.
    station: Node,
    _gateway: Node,
    origin: Origin,
    client: Machine,
    behind: Behind,
    site: Site,
}

impl House {
    fn new() -> Self {
        let (behind, client) = (Behind::new(), Machine::new("cl"));
        let station = &behind.cabled.station;
        let cable =
            format!("link add cable4 netns {} type veth peer name cable netns {}", station.name, client.name);
        run("ip", &cable.split(' ').collect::<Vec<_>>());
        station.ip("addr add 10.98.7.1/24 dev cable4");
        station.ip("link set cable4 up");
        client.ip(&format!("addr add {CLIENT}/24 dev cable"));
        client.ip("link set cable up");
        client.ip("route add default via 10.98.7.1");
        station.on(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap());
        let site = Site::tunnel("192.0.2.1:4780", r#"["10.98.0.1/32", "198.51.100.0/24"]"#);
        let gateway = fs::read_to_string(site.path().join("gateway.toml")).unwrap();
        site.write("gateway.toml", &gateway.replace("\"fd98::2/128\"", "\"fd98::2/128\", \"10.98.7.0/24\""));
        ["gateway", "station"].iter().for_each(|name| site.prepend(name, "streams = true"));
        let origin = behind.server.on(|| Origin::start(80));
        let gateway = Node::start(&site, &behind.cabled.gateway, "gateway");
        let station = Node::start(&site, station, "station");
        assert!(answers(&behind.cabled.station, ip(SERVER_IPV4), 56, PATIENCE), "the tunnel stands");
        House { station, _gateway: gateway, origin, client, behind, site }
    }

    /// Starts a transparent cache on one of the machines.
    fn cache(&self, machine: &Machine) -> Program {
        self.site.write(
            "cache.toml",
            "[cache]\nname = \"it\"\nclients = [\"10.98.0.0/16\"]\n[transparent]\norigin_ports = [80, 81]\n",
        );
        let log = self.site.path().join("cache.log");
        let mut command = Command::new(PROGRAM);
        command.args(["cache", "cache.toml", "--socket", "cache.sock"]).current_dir(self.site.path());
        command.stderr(File::create(&log).unwrap());
        let program = machine.start(command, "overheard");
        wait_until("the cache is open", PATIENCE, || {
            fs::read_to_string(&log).unwrap().contains("the cache is open")
        });
        program
    }

    /// Fetches from the origin.
    fn fetch(&self, from: &Machine) {
        let url = format!("http://{SERVER_IPV4}{PATH}");
        let fetched = from.on(|| {
            let curl = ["--disable", "--silent", "--show-error", "--max-time", "20", "--noproxy", "*"];
            Command::new("curl").args(curl).arg(&url).output().unwrap()
        });
        assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
        assert!(fetched.stdout == content(PATH, BYTES), "{} bytes", fetched.stdout.len());
    }

    /// Requests that reached the origin, and streams that the station opened.
    fn counted(&self) -> (usize, u64) {
        let status = self.station.status();
        let counters = &status["node"]["peers"][0]["counters"]["streams"];
        assert_eq!((&counters["passed"], &counters["no_way_back"]), (&0.into(), &0.into()));
        (self.origin.requests(PATH), counters["opened"].as_u64().unwrap())
    }
}

/// Ends a cache, whose rules go with it.
fn end(mut cache: Program, machine: &Machine) {
    cache.stop();
    assert_eq!(machine.run("nft", "list ruleset"), "");
}

#[test]
fn a_cache_beside_the_near_node_answers_first_and_what_it_lacks_comes_as_a_stream() {
    if !possible() {
        return;
    }
    let house = House::new();
    let station = &house.behind.cabled.station;
    let cache = house.cache(station);
    house.fetch(&house.client);
    assert_eq!(house.counted(), (1, 1), "the cache's own connection is a stream");
    house.fetch(&house.client);
    assert_eq!(house.counted(), (1, 1), "the cache answers");
    house.fetch(station);
    assert_eq!(house.counted(), (2, 2), "no cache takes connections of programs on its host");
    end(cache, station);
    house.fetch(&house.client);
    assert_eq!(house.counted(), (3, 3), "without it, the client's connection is a stream");
}

#[test]
fn a_cache_beside_the_far_node_answers_what_comes_as_a_stream() {
    if !possible() {
        return;
    }
    let house = House::new();
    let gateway = &house.behind.cabled.gateway;
    let cache = house.cache(gateway);
    for (fetched, client) in [(1, &house.client), (2, &house.client), (3, &house.behind.cabled.station)] {
        house.fetch(client);
        assert_eq!(house.counted(), (1, fetched), "the cache answers the far node");
    }
    let refused = |client: &Machine| {
        let url = format!("http://{SERVER_IPV4}:81/");
        let curl = ["--disable", "--silent", "--max-time", "20", "--noproxy", "*", "--output", "/dev/null"];
        let told = ["--write-out", "%{http_code}"];
        let output = client.on(|| Command::new("curl").args(curl).args(told).arg(&url).output().unwrap());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(refused(&house.client), "502", "the cache accepts what the origin refuses");
    end(cache, gateway);
    assert_eq!(refused(&house.client), "000", "a refusal stays a refusal");
    house.fetch(&house.client);
    assert_eq!(house.counted(), (2, 6));
}
