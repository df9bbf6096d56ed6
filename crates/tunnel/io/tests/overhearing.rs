//! A sniffer overhears datagrams between others and nothing else, on a flooding bridge and on an interface
//! with 802.11 frames.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

mod monitor;

use io::Error;
use io::clock::Clock;
use io::sniffer::{Counters, Sniffer};
use io::udp::Udp;
use lab::{Namespace, Run};
use monitor::Monitor;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const PORT: u16 = 4780;
const PATIENCE: Duration = Duration::from_secs(10);

/// An overheard datagram: sender and payload.
type Said = (SocketAddr, Vec<u8>);

/// Starts a run, or prints why this machine cannot.
fn run() -> Option<Run> {
    let run = Run::begin();
    if let Err(why) = &run {
        println!("skipped: namespaces cannot be made: {why}");
    }
    run.ok()
}

fn receive(sniffer: &mut Sniffer, into: &mut Vec<Said>) -> bool {
    let now = Clock::start().now();
    sniffer.receive(now, |overheard| into.push((overheard.from, overheard.datagram.to_vec()))).unwrap()
}

/// Waits for `count` datagrams, and a little longer for unexpected ones. The sniffer reads the addresses of
/// its host.
fn hear(host: &Namespace, sniffer: &mut Sniffer, count: usize) -> Vec<Said> {
    host.enter(|| hear_here(sniffer, count)).unwrap()
}

fn hear_here(sniffer: &mut Sniffer, count: usize) -> Vec<Said> {
    let (mut heard, patience) = (Vec::new(), Instant::now() + PATIENCE);
    while heard.len() < count && Instant::now() < patience {
        if !receive(sniffer, &mut heard) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    std::thread::sleep(Duration::from_millis(100));
    while receive(sniffer, &mut heard) {}
    heard
}

/// A flooding bridge with a gateway, a station and a third host.
struct Hub {
    gateway: Namespace,
    station: Namespace,
    third: Namespace,
    _hub: Namespace,
}

impl Hub {
    fn make(run: &Run) -> Self {
        let made = Namespace::make(run, &["hub", "gateway", "station", "third"]).unwrap();
        let [hub, gateway, station, third] = <[Namespace; 4]>::try_from(made).ok().unwrap();
        hub.ip("link add hub type bridge ageing_time 0 mcast_snooping 0\nlink set hub up").unwrap();
        for (last, host) in (1..).zip([&gateway, &station, &third]) {
            let name = host.name();
            hub.ip(&format!(
                "link add port{last} type veth peer name lan netns {name}\n\
                 link set port{last} master hub\nlink set port{last} up"
            ))
            .unwrap();
            host.ip(&format!(
                "addr add 192.0.2.{last}/24 dev lan\naddr add 2001:db8::{last}/64 dev lan nodad\nlink set lan up"
            ))
            .unwrap();
        }
        let hub = Hub { gateway, station, third, _hub: hub };
        hub.wait_until_it_forwards();
        hub
    }

    /// Waits until the bridge forwards: it drops frames before the kernel notices its active ports.
    fn wait_until_it_forwards(&self) {
        let socket = |host: &Namespace, address: &str| {
            let socket = host.enter(|| UdpSocket::bind((address, 9)).unwrap()).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            socket
        };
        let station = socket(&self.station, "192.0.2.2");
        let others = [(&self.gateway, "192.0.2.1"), (&self.third, "192.0.2.3")];
        for (host, address) in others {
            let (there, patience) = (socket(host, address), Instant::now() + PATIENCE);
            while station.send_to(b"?", (address, 9)).is_err() || there.recv(&mut [0; 1]).is_err() {
                assert!(Instant::now() < patience, "{address} is not reached");
            }
        }
    }
}

fn at(address: &str, port: u16) -> SocketAddr {
    SocketAddr::new(address.parse().unwrap(), port)
}

#[test]
fn a_third_host_hears_what_two_others_say_on_the_port_and_nothing_else() {
    let Some(run) = run() else { return };
    let hub = Hub::make(&run);
    let socket = |host: &Namespace, port: u16| host.enter(|| Udp::bind(at("::", port)).unwrap()).unwrap();
    let (mut gateway, mut station) = (socket(&hub.gateway, PORT), socket(&hub.station, 5000));
    let (mut other, mut third) = (socket(&hub.gateway, 53), socket(&hub.third, PORT));
    let mut sniffer = hub.third.enter(|| Sniffer::open("lan", &[PORT]).unwrap()).unwrap();

    // Several datagrams that the sender's kernel does not cut, because no device requires it.
    let row: Vec<u8> = (0..2500u32).map(|number| (number % 251) as u8).collect();
    let mut datagram_bytes = 0;
    for (gateway_ip, station_ip, third_ip) in
        [("192.0.2.1", "192.0.2.2", "192.0.2.3"), ("2001:db8::1", "2001:db8::2", "2001:db8::3")]
    {
        // Datagrams to and from the third host itself, and of another service.
        third.send(at(gateway_ip, PORT), 0, &[b"by the third"]).unwrap();
        gateway.send(at(third_ip, PORT), 0, &[b"to the third"]).unwrap();
        other.send(at(station_ip, 5000), 0, &[b"of another service"]).unwrap();
        let up = format!("up from {station_ip}").into_bytes();
        station.send(at(gateway_ip, PORT), 0, &[&up]).unwrap();
        assert_eq!(hear(&hub.third, &mut sniffer, 1), [(at(station_ip, 5000), up.clone())]);

        gateway.send(at(station_ip, 5000), 0, &[&row[..1000], &row[1000..2000], &row[2000..]]).unwrap();
        gateway.send(at(station_ip, 5000), 0, &[[7; 1400]]).unwrap();
        let down = [&row[..1000], &row[1000..2000], &row[2000..], &[7; 1400]];
        assert_eq!(
            hear(&hub.third, &mut sniffer, 4),
            down.map(|datagram| (at(gateway_ip, PORT), datagram.to_vec()))
        );
        datagram_bytes += (up.len() + row.len() + 1400) as u64;
    }
    let counters = sniffer.heard().counters;
    // The kernel filtered all others.
    let expected = Counters { frames: counters.frames, datagrams: 10, datagram_bytes, ..Counters::default() };
    assert_eq!(counters, expected);
    assert!(counters.frames <= 10);
}

#[test]
fn an_ear_that_nobody_has_time_for_sheds_and_counts_what_it_shed_and_hears_again() {
    const SENT: u32 = 20_000;
    let Some(run) = run() else { return };
    let hub = Hub::make(&run);
    let socket = |host: &Namespace, port: u16| host.enter(|| Udp::bind(at("::", port)).unwrap()).unwrap();
    let mut gateway = socket(&hub.gateway, PORT);
    let _station = socket(&hub.station, 5000);
    let mut sniffer = hub.third.enter(|| Sniffer::open("lan", &[PORT]).unwrap()).unwrap();
    let mut say = |number: u32| {
        let mut datagram = [0; 1400];
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        gateway.send(at("192.0.2.2", 5000), 0, &[datagram]).unwrap()
    };
    for number in 0..SENT {
        say(number);
    }
    let number = |(_, datagram): &Said| u32::from_be_bytes(*datagram.first_chunk().unwrap());
    let heard: Vec<u32> = hear(&hub.third, &mut sniffer, 1).iter().map(number).collect();
    let Counters { dropped, datagrams, .. } = sniffer.heard().counters;
    assert!(heard.is_sorted() && heard.len() as u64 == datagrams, "{datagrams} counted");
    assert!(
        datagrams > 0 && dropped > 0 && datagrams + dropped <= SENT.into(),
        "{datagrams}, {dropped} dropped"
    );
    say(SENT);
    assert_eq!(hear(&hub.third, &mut sniffer, 1).iter().map(number).collect::<Vec<_>>(), [SENT]);
    assert_eq!(sniffer.heard().counters.dropped, dropped);
}

#[test]
fn an_interface_that_cannot_be_heard_is_told() {
    let Some(run) = run() else { return };
    let [alone] = <[Namespace; 1]>::try_from(Namespace::make(&run, &["alone"]).unwrap()).ok().unwrap();
    let refused = |name: &str| alone.enter(|| Sniffer::open(name, &[PORT]).err().unwrap()).unwrap();
    assert!(matches!(refused("lan"), Error::NoInterface(name) if name == "lan"));
    assert!(matches!(refused("lo"), Error::CannotOverhear { interface, hardware: 772 } if interface == "lo"));
}

#[test]
fn an_interface_that_goes_away_is_an_error_once_and_then_silence() {
    let Some(run) = run() else { return };
    let [alone] = <[Namespace; 1]>::try_from(Namespace::make(&run, &["alone"]).unwrap()).ok().unwrap();
    alone.ip("link add here type veth peer name there\nlink set here up\nlink set there up").unwrap();
    let mut sniffer = alone.enter(|| Sniffer::open("here", &[PORT]).unwrap()).unwrap();
    let now = Clock::start().now();
    while sniffer.receive(now, |_| {}).unwrap() {}
    alone.ip("link delete here").unwrap();
    assert!(sniffer.receive(now, |_| {}).is_err());
    assert!(!sniffer.receive(now, |_| {}).unwrap());
}

/// A UDP packet from host 192.0.2.1.
fn to(destination: [u8; 4], port: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = etherparse::PacketBuilder::ipv4([192, 0, 2, 1], destination, 64).udp(port, 5000);
    builder.write(&mut packet, payload).unwrap();
    packet
}

/// A packet that must be overheard.
fn others(payload: &[u8]) -> Vec<u8> {
    to([192, 0, 2, 2], PORT, payload)
}

#[test]
fn what_a_monitor_receives_is_read_through_radiotap_and_802_11() {
    let Some(run) = run() else { return };
    let monitor = Monitor::make(&run, monitor::RADIOTAP);
    monitor.namespace.ip("addr add 192.0.2.9/32 dev lo").unwrap();
    let mut sniffer = monitor.sniffer(&[PORT]);
    let plain = |packet: &[u8]| monitor::tapped(0, &monitor::data(0x08, 0x02, &[], packet));
    monitor.receives(&plain(&others(b"plain")));
    monitor.receives(&monitor::tapped(0, &monitor::data(0x88, 0x02, &[0, 0], &others(b"with QoS"))));
    // A frame check sequence at the end, which is not part of the frame.
    let checked = [monitor::data(0x08, 0x02, &[], &others(b"checked")), vec![1, 2, 3, 4]].concat();
    monitor.receives(&monitor::tapped(0x10, &checked));
    let aggregate = monitor::aggregate(&[others(b"first of two"), others(b"second of two")]);
    monitor.receives(&monitor::tapped(0, &aggregate));
    // Frames that must not be overheard.
    monitor.receives(&monitor::tapped(0x40, &monitor::data(0x08, 0x02, &[], &others(b"damaged"))));
    monitor.receives(&monitor::tapped(0, &monitor::data(0x08, 0x42, &[], &others(b"encrypted"))));
    monitor.receives(&plain(&to([192, 0, 2, 9], PORT, b"to this host")));
    monitor.receives(&plain(&to([192, 0, 2, 2], 53, b"another service")));
    monitor.receives(&monitor::tapped(0, &[0x80; 60]));

    let heard = hear(&monitor.namespace, &mut sniffer, 5);
    let heard: Vec<Vec<u8>> = heard.into_iter().map(|(_, datagram)| datagram).collect();
    let expected: [&[u8]; 5] = [b"plain", b"with QoS", b"checked", b"first of two", b"second of two"];
    assert_eq!(heard, expected);
    let counters = sniffer.heard().counters;
    let refused = (counters.malformed, counters.protected, counters.own, counters.not_ours);
    assert_eq!((counters.frames, refused), (7, (1, 1, 1, 0)), "{counters:?}");
}

#[test]
fn recordings_of_real_radios_give_what_is_in_them() {
    let Some(run) = run() else { return };
    // DNS replaces the tunnel's port, because the recording has no tunnel.
    if let Some(frames) = monitor::recorded("wifi-open-bss.pcapng.xz") {
        let (heard, expected, counters) = replay(&run, &frames, &[53]);
        assert!(!expected.is_empty());
        assert_eq!(heard, expected);
        assert_eq!(counters.datagrams, expected.len() as u64);
        println!("of {} frames of an open network: {counters:?}", frames.frames.len());
    }
    if let Some(frames) = monitor::recorded("wpa-induction.pcap.gz") {
        let (heard, _, counters) = replay(&run, &frames, &[]);
        assert_eq!(heard, []);
        assert!(counters.protected > 100, "{counters:?}");
        println!("of {} frames of a network with WPA: {counters:?}", frames.frames.len());
    }
}

#[test]
fn vlan_tags_stand_in_no_ones_way() {
    let Some(run) = run() else { return };
    let interface = Monitor::make(&run, monitor::ETHERNET);
    let mut sniffer = interface.sniffer(&[PORT]);
    let tags: [&[u8]; 3] = [b"", &[0x81, 0, 0, 5], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6]];
    for tags in tags {
        interface.receives(&[&[2; 12][..], tags, &[8, 0], &others(&[&[9], tags].concat())].concat());
        interface.receives(&[&[2; 12][..], tags, &[8, 0], &to([192, 0, 2, 2], 53, tags)].concat());
    }
    let heard: Vec<Vec<u8>> =
        hear(&interface.namespace, &mut sniffer, 3).into_iter().map(|(_, datagram)| datagram).collect();
    assert_eq!(heard, tags.map(|tags| [&[9], tags].concat()));
    assert_eq!(sniffer.heard().counters.frames, 3);
}

/// The datagrams that a sniffer overhears when a monitor receives these frames, and those that the parsers
/// alone find.
fn replay(run: &Run, frames: &monitor::Frames, ports: &[u16]) -> (Vec<Said>, Vec<Said>, Counters) {
    let monitor = Monitor::make(run, frames.hardware());
    let mut sniffer = monitor.sniffer(ports);
    let (mut heard, mut expected) = (Vec::new(), Vec::new());
    let mut unpacker = wire::link::Unpacker::default();
    for frame in &frames.frames {
        let _ = unpacker.unpack(frames.link_type, frame, &mut |packet| {
            if let Ok(Some(datagram)) = wire::udp::Datagram::parse(packet)
                && (ports.is_empty() || datagram.concerns(ports))
            {
                expected.push((datagram.source, datagram.payload.to_vec()));
            }
        });
        monitor.receives(frame);
        receive(&mut sniffer, &mut heard);
    }
    while receive(&mut sniffer, &mut heard) {}
    (heard, expected, sniffer.heard().counters)
}
