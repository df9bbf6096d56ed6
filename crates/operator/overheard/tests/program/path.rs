//! The outer path between network namespaces: properties of packets that cross it.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::namespaces::{Cabled, Machine, Node, possible};
use crate::support::traffic::{answers, sent_and_returned};
use crate::support::{Site, wait_until};
use rustix::process::Signal;
use socket2::{Domain, Protocol, Socket, Type};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

fn inner(address: &str) -> IpAddr {
    address.parse().unwrap()
}

/// Runs `nft` on a machine; its rules end with the machine's namespace.
fn nft(machine: &Machine, rules: &str) {
    let done = Command::new("ip").args(["netns", "exec", &machine.name, "nft", rules]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Sends one UDP packet of this traffic class through the tunnel. Returns the classes of the received
/// datagram and packet, as the receiving kernel sees them.
fn classes(cabled: &Cabled, class: u8) -> (u8, u8) {
    let heard = cabled.gateway.on(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap());
    // The repair of an earlier packet comes before this one.
    heard.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    while (&heard).read(&mut [0; 2000]).is_ok() {}
    cabled.station.on(|| {
        let socket = UdpSocket::bind("10.98.0.2:0").unwrap();
        socket2::SockRef::from(&socket).set_tos_v4(class.into()).unwrap();
        // New and incompressible content.
        let now = Instant::now();
        let random: Vec<u8> = (0..400).map(|_| RandomState::new().hash_one(now) as u8).collect();
        socket.send_to(&random, "10.98.0.1:9").unwrap();
    });
    let end = Instant::now() + PATIENCE;
    let mut outer = None;
    while Instant::now() < end {
        let mut packet = [0; 2000];
        let Ok(count) = (&heard).read(&mut packet) else { continue };
        match packet[16..20] {
            [10, 98, 0, 1] => return (outer.expect("its datagram came first"), packet[1]),
            // the repair that follows has no codepoint of ECN
            _ if count > 300 => _ = outer.get_or_insert(packet[1]),
            _ => {}
        }
    }
    panic!("the packet does not arrive");
}

#[test]
fn traffic_classes_and_marks_of_congestion_cross_the_tunnel() {
    if !possible() {
        return;
    }
    const VOICE: u8 = 46 << 2;
    const ECT: u8 = 0b10;
    const CE: u8 = 0b11;
    for copy_dscp in [true, false] {
        let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24"]"#));
        site.add("station", "[tunnel]", &format!("copy_dscp = {copy_dscp}"));
        let _gateway = Node::start(&site, &cabled.gateway, "gateway");
        let _station = Node::start(&site, &cabled.station, "station");
        assert!(answers(&cabled.station, inner("10.98.0.1"), 56, PATIENCE));
        let outer = |class: u8| if copy_dscp { class } else { class & CE };
        for class in [0, ECT, VOICE, VOICE | ECT] {
            assert_eq!(classes(&cabled, class), (outer(class), class));
        }
        // A router that marks packets where permitted.
        nft(&cabled.station, "add table ip marks");
        nft(&cabled.station, "add chain ip marks out { type filter hook postrouting priority 0; }");
        nft(&cabled.station, "add rule ip marks out udp dport 4780 ip ecn != not-ect ip ecn set ce");
        for class in [ECT, VOICE | ECT] {
            assert_eq!(classes(&cabled, class), (outer(class) | CE, class | CE), "the mark is told inside");
        }
        assert_eq!(classes(&cabled, VOICE), (outer(VOICE), VOICE));
    }
}

/// Makes the path between the machines narrower than their interfaces: longer packets are dropped silently,
/// as by a router whose ICMP a firewall blocks.
fn narrow(cabled: &Cabled, longest: u16) {
    for machine in [&cabled.gateway, &cabled.station] {
        // Rows of datagrams would cross the cable as one.
        machine.ip("link set cable gso_max_segs 1");
        nft(machine, "table inet narrow {}");
        nft(machine, "delete table inet narrow");
        nft(machine, "add table inet narrow");
        nft(machine, "add chain inet narrow in { type filter hook prerouting priority -300; }");
        nft(machine, &format!("add rule inet narrow in iifname cable meta length > {longest} drop"));
    }
}

#[test]
fn a_path_narrower_than_its_interfaces_is_found_and_tcp_and_ping_get_through() {
    if !possible() {
        return;
    }
    for endpoint in ["192.0.2.1:4780", "[2001:db8::1]:4780"] {
        let (cabled, site) = (Cabled::new(), Site::tunnel(endpoint, r#"["10.98.0.0/24", "fd98::/64"]"#));
        narrow(&cabled, 1380);
        let _gateway = Node::start(&site, &cabled.gateway, "gateway");
        let station = Node::start(&site, &cabled.station, "station");
        assert!(answers(&cabled.station, inner("10.98.0.1"), 56, PATIENCE));
        let began = Instant::now();
        let content: Vec<u8> =
            (0..400_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for address in ["10.98.0.1", "fd98::1"] {
            let returned = sent_and_returned(&cabled.station, &cabled.gateway, inner(address), &content);
            assert!(returned == content, "every byte comes back through {address} over {endpoint}");
        }
        println!("{endpoint}: two transfers of 1.6 MB there and back in {:?}", began.elapsed());
        // The search may go on after the transfers.
        wait_until("the path MTU is found and confirmed", PATIENCE, || {
            let peer = &station.status()["node"]["peers"][0];
            let found = peer["path_mtu_bytes"].as_u64().unwrap();
            (1372..=1380).contains(&found) && peer["path_mtu_confirmed"] == true
        });
        // As large as the tunnel's interface accepts, in an unfragmentable echo request.
        let mtu = station.status()["mtu"].as_u64().unwrap() as usize;
        assert!(
            answers(&cabled.station, inner("10.98.0.1"), mtu - 28, PATIENCE),
            "the kernel was told what fits"
        );
    }
}

#[test]
fn a_black_hole_and_the_new_path_mtu_are_in_the_log() {
    if !possible() {
        return;
    }
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24"]"#));
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    let content: Vec<u8> =
        (0..200_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let exchange = || {
        let returned = sent_and_returned(&cabled.station, &cabled.gateway, inner("10.98.0.1"), &content);
        assert!(returned == content, "every byte comes back");
    };
    assert!(answers(&cabled.station, inner("10.98.0.1"), 56, PATIENCE));
    exchange();
    narrow(&cabled, 1300);
    let end = Instant::now() + Duration::from_secs(60);
    for sign in ["the path to gateway lost all packets of the size in use", " bytes now, and was 1500; "] {
        while !station.log().contains(sign) {
            assert!(Instant::now() < end, "{sign}: {}", station.log());
            exchange();
            std::thread::sleep(Duration::from_millis(500));
        }
    }
    let log = station.log();
    let line = log.lines().find(|line| line.contains("the path MTU to gateway is ")).unwrap();
    let mtu: u16 =
        line.split("set [tunnel] mtu = ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    // The advice is what fits, within a step of the search.
    let fits = 1300 - 20 - 8 - node::AROUND_PACKET as u16;
    assert!((fits - 8..=fits).contains(&mtu), "{line}");
}

/// Whether a connection to this address is refused with "host unreachable" within `patience`.
fn is_refused(machine: &Machine, address: &str, patience: Duration) -> bool {
    machine.on(|| {
        let end = Instant::now() + patience;
        let mut refused = false;
        while !refused && Instant::now() < end {
            let told = TcpStream::connect_timeout(&(inner(address), 9).into(), Duration::from_millis(300));
            refused = told.is_err_and(|error| error.kind() == ErrorKind::HostUnreachable);
        }
        refused
    })
}

/// Waits until a machine's packets to an address leave by a device. Returns the time.
fn until_led(machine: &Machine, address: &str, device: &str) -> Duration {
    let began = Instant::now();
    while !machine.ip(&format!("route get {address}")).contains(&format!("dev {device}")) {
        assert!(began.elapsed() < Duration::from_secs(30), "{address} is not led to {device}");
        let _ = answers(machine, inner(address), 56, Duration::from_millis(200));
    }
    began.elapsed()
}

#[test]
fn a_closed_tunnel_refuses_packets_while_its_peer_is_down() {
    if !possible() {
        return;
    }
    let (cabled, site) =
        (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["10.98.0.0/24", "198.51.100.0/24"]"#));
    cabled.station.ip("route add default via 192.0.2.1");
    cabled.gateway.ip("addr add 198.51.100.1/32 dev lo");
    let station = Node::start(&site, &cabled.station, "station");
    assert!(is_refused(&cabled.station, "198.51.100.1", PATIENCE), "{}", station.log());
    assert!(
        !answers(&cabled.station, inner("198.51.100.1"), 56, Duration::from_secs(1)),
        "nothing goes beside it"
    );
    let gateway = Node::start(&site, &cabled.gateway, "gateway");
    assert!(answers(&cabled.station, inner("198.51.100.1"), 56, PATIENCE));
    assert_eq!(gateway.terminate(Signal::KILL).signal(), Some(9));
    let killed = Instant::now();
    assert!(is_refused(&cabled.station, "198.51.100.1", Duration::from_secs(30)));
    println!("a killed gateway was noticed after {:?}", killed.elapsed());
    assert_eq!(station.status()["node"]["peers"][0]["reachable"], false);
    let _gateway = Node::start(&site, &cabled.gateway, "gateway");
    assert!(answers(&cabled.station, inner("198.51.100.1"), 56, PATIENCE));
    // A killed process keeps no route closed: its device and the device's routes disappear with it.
    assert_eq!(station.terminate(Signal::KILL).signal(), Some(9));
    until_led(&cabled.station, "198.51.100.1", "cable");
}

#[test]
fn an_open_tunnel_lets_packets_go_the_ordinary_way_while_its_peer_is_down() {
    if !possible() {
        return;
    }
    for allowed in [r#"["198.51.100.0/24"]"#, r#"["0.0.0.0/0"]"#] {
        let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", allowed));
        site.add("station", "[tunnel]", "when_down = \"open\"");
        cabled.station.ip("route add default via 192.0.2.1");
        cabled.gateway.ip("addr add 198.51.100.1/32 dev lo");
        let before = cabled.station.traces();
        let station = Node::start(&site, &cabled.station, "station");
        until_led(&cabled.station, "198.51.100.1", "cable");
        assert!(answers(&cabled.station, inner("198.51.100.1"), 56, PATIENCE), "beside the tunnel");
        let gateway = Node::start(&site, &cabled.gateway, "gateway");
        until_led(&cabled.station, "198.51.100.1", "ohtest-st");
        assert!(answers(&cabled.station, inner("198.51.100.1"), 56, PATIENCE), "through the tunnel");
        assert_eq!(gateway.terminate(Signal::KILL).signal(), Some(9));
        let after = until_led(&cabled.station, "198.51.100.1", "cable");
        println!("{allowed}: a killed gateway was noticed after {after:?}");
        assert!(answers(&cabled.station, inner("198.51.100.1"), 56, PATIENCE), "beside the tunnel again");
        let gateway = Node::start(&site, &cabled.gateway, "gateway");
        until_led(&cabled.station, "198.51.100.1", "ohtest-st");
        // A farewell is noticed at once.
        assert_eq!(gateway.terminate(Signal::TERM).code(), Some(0));
        assert!(until_led(&cabled.station, "198.51.100.1", "cable") < Duration::from_secs(1));
        assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
        assert_eq!(cabled.station.traces(), before, "nothing is left");
    }
}

#[test]
fn several_source_ports_share_the_flows_and_the_gateway_answers_to_each() {
    if !possible() {
        return;
    }
    // With a default route, the rules for the tunnel's own datagrams cover all source ports.
    let (cabled, site) = (Cabled::new(), Site::tunnel("192.0.2.1:4780", r#"["0.0.0.0/0"]"#));
    site.add("station", "[node]", "source_ports = 4");
    site.add("station", "[[peer]]", "keepalive_seconds = 1");
    cabled.station.ip("route add default via 192.0.2.1");
    let gateway = Node::start(&site, &cabled.gateway, "gateway");
    let station = Node::start(&site, &cabled.station, "station");
    assert!(answers(&cabled.station, inner("10.98.0.1"), 56, PATIENCE));
    let heard = |machine: &Machine| {
        let socket = machine.on(|| Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap());
        socket.set_recv_buffer_size(4 << 20).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        socket
    };
    let (at_gateway, at_station) = (heard(&cabled.gateway), heard(&cabled.station));
    let echo = cabled.gateway.on(|| UdpSocket::bind("10.98.0.1:7777").unwrap());
    echo.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let flows: Vec<UdpSocket> =
        cabled.station.on(|| (0..40).map(|_| UdpSocket::bind("10.98.0.2:0").unwrap()).collect());
    for _ in 0..5 {
        for flow in &flows {
            flow.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            flow.send_to(&[0x33; 200], "10.98.0.1:7777").unwrap();
            let mut bytes = [0; 300];
            let (count, from) = echo.recv_from(&mut bytes).unwrap();
            echo.send_to(&bytes[..count], from).unwrap();
            assert_eq!(flow.recv(&mut bytes).unwrap(), 200);
        }
    }
    // Source ports at the station's end of the datagrams between the two; those with packets are longer than
    // others.
    let ports = |socket: &Socket, at: usize, least: usize| {
        let mut ports = std::collections::BTreeMap::<u16, usize>::new();
        let mut packet = [0; 2000];
        while let Ok(count) = (&*socket).read(&mut packet) {
            if packet[12..15] == [192, 0, 2] && count > least {
                *ports.entry(u16::from_be_bytes([packet[at], packet[at + 1]])).or_default() += 1;
            }
            if ports.values().sum::<usize>() >= 200 {
                break;
            }
        }
        ports
    };
    let (out, back) = (ports(&at_gateway, 20, 28 + 60), ports(&at_station, 22, 28 + 60));
    assert!(out.len() == 4 && out.keys().eq(back.keys()), "{out:?} {back:?}");
    let (first, last) = (out.keys().min().unwrap(), out.keys().max().unwrap());
    assert_eq!(last - first, 3, "in a row");
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(1100));
    }
    let idle = ports(&at_gateway, 20, 0);
    assert_eq!(idle.keys().collect::<Vec<_>>(), out.keys().collect::<Vec<_>>(), "keepalives on each");
    assert!(!gateway.log().contains("moved"), "{}", gateway.log());
    assert_eq!(gateway.status()["node"]["peers"][0]["heard_ports"], 4);
    assert_eq!(station.status()["node"]["peers"][0]["source_ports"], 4);
    assert_eq!(station.terminate(Signal::TERM).code(), Some(0));
}
