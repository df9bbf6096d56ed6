//! Tests of the advice.

use crate::made::*;
use capture::{Options, Report};

const RAW_IP: u32 = 101;
const COOKED: u32 = 113;

fn analyze(file: &[u8]) -> Report {
    let mut options = Options { packets_in_flight: 2, ..Options::default() };
    options.byte_caching.store_bytes = 1 << 22;
    options.analyze(source(file), &mut |_| {}).unwrap()
}

/// Consecutive segments to one client.
fn download(client: usize, payloads: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut sequence = 1;
    let segment = |payload: Vec<u8>| {
        let packet = tcp_down(client, sequence, &payload);
        sequence += payload.len() as u32;
        packet
    };
    payloads.into_iter().map(segment).collect()
}

/// Digits of noise: text without repetition.
fn digits(seed: u64) -> Vec<u8> {
    noise(seed, 600).iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

/// A capture in a file: content of 1024-byte segments twice, a thousand segments a second.
fn twice(segments: u64) -> (tempfile::TempDir, std::path::PathBuf) {
    let payloads = || (0..segments).map(|number| noise(number, 1024));
    let mut bytes = pcap(RAW_IP, &[]);
    for (number, packet) in (0u32..).zip(download(0, payloads().chain(payloads()))) {
        let length = packet.len() as u32;
        let time = [number / 1000, number % 1000 * 1000];
        bytes.extend([time[0], time[1], length, length].map(u32::to_le_bytes).concat());
        bytes.extend(packet);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("twice.pcap");
    std::fs::write(&file, bytes).unwrap();
    (folder, file)
}

#[test]
fn encrypted_traffic_gains_nothing_and_is_said_to() {
    let hello = [&[22, 3, 1, 1, 0, 2, 0, 0, 252, 3, 3][..], &noise(9, 250)].concat();
    let payloads = std::iter::once(hello).chain((0..50).map(|number| noise(number, 1400)));
    let report = analyze(&pcap(RAW_IP, &download(0, payloads)));
    assert!(
        report.advice.starts_with("100% of the payload is encrypted (TLS) and cannot gain."),
        "{}",
        report.advice
    );
    assert!(report.advice.contains("next to nothing"), "{}", report.advice);
}

#[test]
fn text_that_does_not_repeat_is_said_to_be_compressed() {
    let report = analyze(&pcap(RAW_IP, &download(0, (0..50).map(digits))));
    assert!(report.advice.starts_with("The tunnel saves 3"), "{}", report.advice);
    assert!(report.advice.contains("Compressing each payload saves 4"), "{}", report.advice);
}

#[test]
fn content_that_repeats_behind_the_default_store_is_said_to_need_a_larger_one() {
    let (_folder, file) = twice(24 << 10);
    let options =
        Options { only: ["default", "max-match"].map(str::to_owned).to_vec(), ..Options::default() };
    let report = options.analyze_file(&file, &mut |_| {}).unwrap();
    // 18.5% of the second half is in the store's second generation
    assert!(report.default.as_ref().unwrap().saved_percent < 9.0, "{:?}", report.default);
    assert_eq!(
        report.stores.iter().map(|point| point.store_mib).collect::<Vec<_>>(),
        [1, 2, 4, 8, 16, 32, 64]
    );
    assert_eq!(report.store_mib_to_take, Some(64), "{:?}", report.stores);
    assert_eq!(report.configuration, ["[memory]", "mib = 168"]);
    let best = report.best_tunnel().unwrap().saved_percent;
    let there = report.method("max-match").unwrap().total.saved_percent;
    // The difference is the tunnel's own: seals and outer headers of a thousand bytes each.
    assert!((there - 5.0..there).contains(&best), "{best} and {there}");
    assert!(report.advice.contains("with stores of 64 MiB"), "{}", report.advice);
}

#[test]
fn repetition_beyond_the_largest_store_is_said_to_be_there() {
    let (_folder, file) = twice(3000);
    let mut options = Options::default();
    options.tunnel.largest_store_mib = 2;
    let report = options.analyze_file(&file, &mut |_| {}).unwrap();
    // The default size is always measured.
    assert_eq!(report.stores.iter().map(|point| point.store_mib).collect::<Vec<_>>(), [1, 2, 16]);
    assert_eq!(report.store_mib_to_take, Some(16));
    assert!(report.configuration.is_empty(), "{:?}", report.configuration);
}

#[test]
fn what_several_clients_fetch_is_said_to_need_overhearing() {
    let firmware = || (0..50).map(|number| noise(number, 1400));
    let packets = [download(0, firmware()), download(1, firmware())].concat();
    let report = analyze(&pcap(RAW_IP, &packets));
    assert!(report.advice.starts_with("The tunnel saves 4"), "{}", report.advice);
    assert!(
        report.advice.contains("50% of what clients receive only other clients received"),
        "{}",
        report.advice
    );
    assert_eq!(report.notes, [""; 0]);
}

#[test]
fn a_snap_length_is_noted() {
    let packets = download(0, (0..5).map(|number| noise(number, 1000)));
    let mut file = pcap(RAW_IP, &[]);
    for packet in packets {
        let lengths = [60, packet.len() as u32];
        file.extend([0, 0, lengths[0], lengths[1]].map(u32::to_le_bytes).concat());
        file.extend(&packet[..60]);
    }
    let report = analyze(&file);
    assert_eq!((report.frames.cut_frames, report.traffic.payload_bytes), (5, 5 * 20));
    assert!(report.notes[0].contains("snap length"), "{:?}", report.notes);
}

#[test]
fn a_capture_on_all_interfaces_that_holds_packets_twice_is_noted() {
    let twice = |packet: Vec<u8>| {
        let cooked = [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0][..], &packet].concat();
        [cooked.clone(), cooked]
    };
    let frames: Vec<_> =
        download(0, (0..5).map(|number| noise(number, 1000))).into_iter().flat_map(twice).collect();
    let report = analyze(&pcap(COOKED, &frames));
    assert_eq!(report.traffic.retransmitted_bytes, 5000);
    assert!(report.notes[0].contains("one interface"), "{:?}", report.notes);
}

#[test]
fn a_truncated_capture_is_analysed_as_far_as_it_goes_and_that_is_noted() {
    let file = pcap(RAW_IP, &download(0, (0..5).map(|number| noise(number, 1000))));
    let report = analyze(&file[..file.len() - 100]);
    assert_eq!((report.packets, report.traffic.payload_bytes), (4, 4000));
    assert_eq!(report.damage.as_deref(), Some("the file ends in the middle of a record, after 4 whole ones"));
    assert_eq!(report.notes.first(), report.damage.as_ref());
}
