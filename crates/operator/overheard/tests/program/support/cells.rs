//! Two cells of one operator: two gateways on a wire with a server. Each has its own medium on which all hear
//! everything, and stations are in either or also listen to the other.

use super::Site;
use super::namespaces::{Machine, run};
use std::fs;

/// On the wire, 198.51.100.1 and .2 are the gateways, and .9 is the server, whose route to the stations is
/// the first gateway. On the media, 192.0.2.1 and .2 are the gateways, and 192.0.2.11 and so on the stations.
pub struct Cells {
    pub gateways: [Machine; 2],
    pub stations: Vec<Machine>,
    pub server: Machine,
    air: Machine,
}

impl Cells {
    /// Cells with stations in these.
    pub fn new(cells: &[usize]) -> Self {
        let air = Machine::new("air");
        for bridge in ["cell0", "cell1", "wire"] {
            air.ip(&format!("link add {bridge} type bridge ageing_time 0"));
            air.ip(&format!("link set {bridge} up"));
        }
        let gateways = [Machine::new("gw1"), Machine::new("gw2")];
        let stations: Vec<Machine> = (0..cells.len()).map(|at| Machine::new(&format!("st{at}"))).collect();
        let it = Cells { gateways, stations, server: Machine::new("srv"), air };
        for (at, gateway) in it.gateways.iter().enumerate() {
            it.plug(gateway, "cable", &format!("gw{at}"), &format!("cell{at}"));
            it.plug(gateway, "wire", &format!("wire{at}"), "wire");
            gateway.ip(&format!("addr add 192.0.2.{}/24 dev cable", at + 1));
            gateway.ip(&format!("addr add 198.51.100.{}/24 dev wire", at + 1));
            gateway.on(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap());
        }
        for (at, (station, cell)) in it.stations.iter().zip(cells).enumerate() {
            it.plug(station, "cable", &format!("st{at}"), &format!("cell{cell}"));
            station.ip(&format!("addr add 192.0.2.{}/24 dev cable", at + 11));
        }
        it.plug(&it.server, "cable", "server", "wire");
        it.server.ip("addr add 198.51.100.9/24 dev cable");
        it.server.ip("route add 10.98.0.0/24 via 198.51.100.1");
        it
    }

    fn plug(&self, machine: &Machine, interface: &str, port: &str, bridge: &str) {
        let cable = format!(
            "link add {port} netns {} type veth peer name {interface} netns {}",
            self.air.name, machine.name
        );
        run("ip", &cable.split(' ').collect::<Vec<_>>());
        self.air.ip(&format!("link set {port} master {bridge} up"));
        machine.ip(&format!("link set {interface} up"));
    }

    /// Lets a station also hear another cell, on the interface `ear`.
    pub fn listens(&self, station: usize, cell: usize) {
        self.plug(&self.stations[station], "ear", &format!("ear{station}"), &format!("cell{cell}"));
    }

    /// Moves a station to another cell.
    pub fn moves(&self, station: usize, cell: usize) {
        self.air.ip(&format!("link set st{station} nomaster"));
        self.air.ip(&format!("link set st{station} master cell{cell}"));
        self.stations[station].ip("neigh flush dev cable");
    }
}

/// Configurations `gateway0`, `gateway1`, `station0` and so on; `first` has the first gateway of each
/// station. `ear` is the stations' listening interface.
pub fn site(first: &[usize], ear: &str) -> Site {
    let site = Site::new();
    let gateways = ["gateway0", "gateway1"].map(|name| site.key(name));
    let stations: Vec<String> = (0..first.len()).map(|at| site.key(&format!("station{at}"))).collect();
    let node = |name: &str, role: &str, device: &str, address: usize| {
        format!(
            "[node]\nrole = \"{role}\"\nprivate_key_file = \"{name}/private.key\"\nnetwork_key_file = \"network.key\"\n\
             revoked_file = \"{name}.revoked\"\n\
             status_socket = \"{name}.sock\"\n\n[tunnel]\ninterface = \"{device}\"\naddresses = [\"10.98.0.{address}/24\"]\n"
        )
    };
    for (at, other) in [(0, 1), (1, 0)] {
        let name = format!("gateway{at}");
        let mut text = node(&name, "gateway", "ohtest-gw", at + 1) + "\n[overhear]\n";
        text += &format!(
            "\n[[gateway]]\nname = \"gateway{other}\"\npublic_key = \"{}\"\nendpoint = \"198.51.100.{}:4780\"\n\
             allowed_ips = [\"10.98.0.{}/32\"]\n",
            gateways[other],
            other + 1,
            other + 1
        );
        for (station, key) in stations.iter().enumerate() {
            text += &format!(
                "\n[[peer]]\nname = \"station{station}\"\npublic_key = \"{key}\"\nallowed_ips = [\"10.98.0.{}/32\"]\n",
                station + 11
            );
        }
        site.write(&format!("{name}.toml"), &text);
    }
    for (station, first) in first.iter().enumerate() {
        let name = format!("station{station}");
        let mut text = node(&name, "station", "ohtest-st", station + 11);
        text += &format!("\n[overhear]\ninterface = \"{ear}\"\n");
        for (at, allowed) in
            [(*first, "allowed_ips = [\"10.98.0.0/24\", \"198.51.100.0/24\"]\n"), (1 - first, "")]
        {
            text += &format!(
                "\n[[gateway]]\nname = \"gateway{at}\"\npublic_key = \"{}\"\nendpoint = \"192.0.2.{}:4780\"\n{allowed}",
                gateways[at],
                at + 1
            );
        }
        site.write(&format!("{name}.toml"), &text);
    }
    site
}
