//! Tests of the tunnel's savings.

use crate::made::*;
use capture::{Options, Report, TunnelReport};

const RAW_IP: u32 = 101;

fn analyze(packets: &[Vec<u8>]) -> Report {
    let options = Options { only: vec!["default".to_owned()], ..Options::default() };
    options.analyze(source(&pcap(RAW_IP, packets)), &mut |_| {}).unwrap()
}

fn tunnel(packets: &[Vec<u8>]) -> TunnelReport {
    analyze(packets).default.unwrap()
}

/// Segments with these payloads to a client, one a second.
fn segments(payloads: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut sequence = 1;
    let segment = |payload: Vec<u8>| {
        let packet = tcp_down(0, sequence, &payload);
        sequence += payload.len() as u32;
        packet
    };
    payloads.into_iter().map(segment).collect()
}

#[test]
fn every_packet_is_carried_and_counted_in_its_direction() {
    let mut packets = segments((0..40).map(|number| noise(number, 1000)));
    packets.extend((0..5).map(|number| tcp_up(1, 80, 1 + 100 * number, &noise(u64::from(number), 100))));
    // Acknowledgments, SYNs and retransmissions are no payload, but they cross the link.
    packets.push(syn(2, 80, 9));
    packets.push(packets[0].clone());
    let report = tunnel(&packets);
    assert_eq!((report.to_client.packets, report.to_server.packets), (41, 6));
    assert_eq!(report.packets_not_carried, 0);
    let bytes = packets.iter().map(|packet| packet.len() as u64).sum::<u64>();
    assert_eq!(report.total().packet_bytes, bytes);
}

#[test]
fn noise_costs_what_the_tunnel_adds_and_its_repetition_saves_nearly_all() {
    let once = tunnel(&segments((0..500).map(|number| noise(number, 1400))));
    assert!((-8.0..0.0).contains(&once.saved_percent), "{once:?}");
    let twice = tunnel(&segments((0..1000).map(|number| noise(number % 500, 1400))));
    assert!((40.0..50.0).contains(&twice.saved_percent), "{twice:?}");
    assert!(twice.to_server.sent_bytes > 0, "receipts go the other way: {twice:?}");
}

#[test]
fn datagrams_that_repeat_within_a_round_trip_are_left_out_by_the_default() {
    let payload = noise(1, 1000);
    let mut file = pcap(RAW_IP, &[]);
    for number in 0..400u32 {
        let packet = udp_v6(5000, 53, &payload);
        let length = packet.len() as u32;
        let time = [number / 200, number % 200 * 5000];
        file.extend([time[0], time[1], length, length].map(u32::to_le_bytes).concat());
        file.extend(packet);
    }
    let report = Options::default().analyze(source(&file), &mut |_| {}).unwrap();
    let (default, acked) = (report.default.unwrap(), report.acked.unwrap());
    assert!(
        default.saved_percent > 85.0 && default.saved_percent > acked.saved_percent,
        "{default:?} {acked:?}"
    );
    assert!(report.advice.contains("with the default configuration"), "{}", report.advice);
    assert_eq!(report.configuration, [""; 0]);
}

#[test]
fn a_super_segment_is_carried_as_segments() {
    let payload = noise(1, 30_000);
    let report = tunnel(&[tcp_down(0, 1, &payload)]);
    assert_eq!(report.to_client.packets, 30_000u64.div_ceil(1460));
    assert_eq!(report.packets_not_carried, 0);
}

#[test]
fn a_clock_that_jumps_for_years_ends_soon() {
    let packet = |number: u64| tcp_down(0, 1 + number as u32 * 500, &noise(number, 500));
    let mut file = pcap(RAW_IP, &[]);
    for (number, second) in [4_000_000_000u32, 1, 3_000_000_000, 2].into_iter().enumerate() {
        let packet = packet(number as u64);
        let length = packet.len() as u32;
        file.extend([second, 0, length, length].map(u32::to_le_bytes).concat());
        file.extend(packet);
    }
    let options = Options { only: vec!["default".to_owned()], ..Options::default() };
    let report = options.analyze(source(&file), &mut |_| {}).unwrap();
    assert_eq!(report.default.unwrap().to_client.packets, 4);
}

#[test]
fn without_the_tunnel_no_node_runs() {
    let options = Options { only: vec!["zstd".to_owned()], ..Options::default() };
    let report = options.analyze(source(&pcap(RAW_IP, &[tcp_down(0, 1, &[1; 100])])), &mut |_| {}).unwrap();
    assert_eq!(report.default, None);
    assert!(report.advice.contains("`default`"), "{}", report.advice);
}
