//! A capture's packets through a real tunnel.

#![allow(unsafe_code)] // the address of a packet socket is in no safe interface

use super::Site;
use super::namespaces::{Cabled, Machine, Node};
use capture::{Batch, CaptureReader, Crossings, Dissector, Source, Toward};
use socket2::{Domain, SockAddr, Socket, Type};
use std::path::Path;
use std::time::{Duration, Instant};

/// `AF_PACKET`, and the EtherTypes of IP (linux/if_packet.h, linux/if_ether.h).
const AF_PACKET: u16 = 17;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// The MTU of the tunnel: every packet of a capture fits.
const MTU: usize = 1500;
/// Bytes of the outer headers of IPv4 and UDP.
const OUTER_BYTES: usize = 28;
/// The longest wait for a session, and for the last packet.
const PATIENCE: Duration = Duration::from_secs(20);

/// A `sockaddr_ll`.
#[repr(C)]
struct LinkAddress {
    family: u16,
    protocol: u16,
    index: u32,
    hardware_type: u16,
    packet_type: u8,
    address_length: u8,
    address: [u8; 8],
}

/// A socket that sends packets into a TUN device, as a host behind it.
struct Sender {
    socket: Socket,
    index: u32,
}

impl Sender {
    fn new(machine: &Machine, device: &str) -> Self {
        machine.on(|| {
            let socket = Socket::new(Domain::PACKET, Type::RAW, None).unwrap();
            let index = rustix::net::netdevice::name_to_index(&socket, device).unwrap();
            Sender { socket, index }
        })
    }

    fn send(&self, packet: &[u8]) {
        let protocol = if packet[0] >> 4 == 4 { IPV4 } else { IPV6 }.to_be();
        // SAFETY: the storage has room for any address, and all of the written one is initialised.
        let ((), address) = unsafe {
            SockAddr::try_init(|storage, length| {
                storage.cast::<LinkAddress>().write(LinkAddress {
                    family: AF_PACKET,
                    protocol,
                    index: self.index,
                    hardware_type: 0,
                    packet_type: 0,
                    address_length: 0,
                    address: [0; 8],
                });
                *length = size_of::<LinkAddress>() as u32;
                Ok(())
            })
        }
        .unwrap();
        self.socket.send_to(packet, &address).unwrap();
    }
}

/// What a tunnel carried of a capture.
#[derive(Debug)]
pub struct Carried {
    pub offered_packets: u64,
    pub packets: u64,
    pub saved_percent: f64,
}

/// Sends the packets of a capture through `overheard up` on two machines with the default configuration.
/// Longer pauses between packets are shortened to `longest_pause`.
pub fn replay(file: &Path, longest_pause: Duration) -> Carried {
    let cabled = Cabled::new();
    let site = site();
    for machine in [&cabled.gateway, &cabled.station] {
        machine.ip(&format!("link set cable mtu {}", MTU + node::AROUND_PACKET + OUTER_BYTES));
        // The kernel's own packets would cross the tunnel.
        machine.on(|| std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap());
    }
    let nodes =
        [Node::start(&site, &cabled.gateway, "gateway"), Node::start(&site, &cabled.station, "station")];
    let machines = [(&cabled.gateway, "ohtest-gw"), (&cabled.station, "ohtest-st")];
    let senders = machines.map(|(machine, device)| {
        machine.ip(&format!("link set {device} txqueuelen 20000"));
        Sender::new(machine, device)
    });
    let began = Instant::now();
    while nodes.iter().any(|node| peer(node)["session_age_seconds"].is_null()) {
        assert!(began.elapsed() < PATIENCE, "no session: {}", nodes[1].log());
        std::thread::sleep(Duration::from_millis(50));
    }
    let before = counts(&nodes);
    let offered_packets = send_all(file, longest_pause, &senders);
    let mut counted = counts(&nodes);
    // Until nothing changes for a second.
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let now = counts(&nodes);
        let is_last = now[0] == counted[0] || began.elapsed() > 30 * PATIENCE;
        counted = now;
        if is_last {
            break;
        }
    }
    let [packets, inner_bytes, outer_bytes] = [0, 1, 2].map(|it| counted[it] - before[it]);
    let saved_percent = 100.0 * (1.0 - outer_bytes as f64 / inner_bytes as f64);
    Carried { offered_packets, packets, saved_percent }
}

/// Sends the packets at their times. Returns their number.
fn send_all(file: &Path, longest_pause: Duration, [gateway, station]: &[Sender; 2]) -> u64 {
    let mut reader = CaptureReader::new(Source::open(file).unwrap()).unwrap();
    let (mut dissector, mut sent) = (Dissector::default(), 0);
    let (mut previous, mut due) = (None, Instant::now());
    while let Some(frame) = reader.next_frame() {
        let (mut batch, mut crossings) = (Batch::default(), Crossings::default());
        dissector.dissect_whole(&frame, &mut batch, &mut crossings);
        for crossing in crossings.packets() {
            due += crossing.at.saturating_sub(previous.unwrap_or(crossing.at)).min(longest_pause);
            previous = Some(crossing.at);
            // A late packet delays those behind it: they would otherwise leave together, and be packed.
            due = due.max(Instant::now());
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let sender = if crossing.toward == Toward::Client { gateway } else { station };
            sender.send(crossing.bytes);
            sent += 1;
        }
    }
    sent
}

/// Inner packets, their bytes, and bytes of datagrams, sent by both nodes together.
fn counts(nodes: &[Node; 2]) -> [u64; 3] {
    let mut sum = [0; 3];
    for node in nodes {
        let peer = peer(node);
        let names = ["inner_sent_packets", "inner_sent_bytes", "outer_sent_bytes"];
        for (sum, name) in sum.iter_mut().zip(names) {
            *sum += peer["counters"][name].as_u64().unwrap();
        }
    }
    sum
}

fn peer(node: &Node) -> serde_json::Value {
    node.status()["node"]["peers"][0].clone()
}

/// Two nodes that carry packets of any address for each other, and whose kernels send none of their own.
fn site() -> Site {
    let any = "[\"0.0.0.0/0\", \"::/0\"]";
    let site = Site::tunnel("192.0.2.1:4780", any);
    for name in ["gateway", "station"] {
        let file = format!("{name}.toml");
        let text = std::fs::read_to_string(site.path().join(&file)).unwrap();
        let text = text
            .replace("[::]:4780", "0.0.0.0:4780")
            .replace("[\"10.98.0.2/32\", \"fd98::2/128\"]", any)
            .replace(", \"fd98::1/64\"", "")
            .replace(", \"fd98::2/64\"", "")
            .replace("role = \"station\"", "role = \"station\"\nlisten = \"0.0.0.0:0\"")
            .replace("[tunnel]", &format!("[tunnel]\nroutes = false\nmtu = {MTU}"));
        site.write(&file, &text);
    }
    site
}
