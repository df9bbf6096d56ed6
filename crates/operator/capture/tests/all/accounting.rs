//! Tests of the counts.

use crate::made::*;
use capture::{Options, Report};

const RAW_IP: u32 = 101;

fn analyze(packets: &[Vec<u8>]) -> Report {
    let mut options = with_published_policies();
    options.byte_caching.store_bytes = 1 << 20;
    options.packets_in_flight = 2;
    options.analyze(source(&pcap(RAW_IP, packets)), &mut |_| {}).unwrap()
}

/// The methods of the product, and the papers' policies.
fn with_published_policies() -> Options {
    Options { policies: published::policy::ON_CAPTURES.to_vec(), ..Options::default() }
}

fn redundant_bytes(report: &Report, method: &str) -> u64 {
    report.method(method).unwrap().total.savings.redundant_bytes
}

#[test]
fn retransmitted_bytes_are_reported_apart_and_by_no_method_as_redundancy() {
    let payload = noise(1, 1000);
    let overlapping = [&payload[600..], &noise(2, 300)].concat();
    let packets = [
        tcp_down(0, 1, &payload),
        tcp_down(0, 1, &payload),
        tcp_down(0, 601, &overlapping),
        tcp_down(0, 1, &payload[..200]),
    ];
    let report = analyze(&packets);
    assert_eq!(report.traffic.retransmitted_bytes, 1000 + 400 + 200);
    assert_eq!(report.traffic.payload_bytes, 1300);
    for method in &report.methods {
        let savings = method.total.savings;
        assert_eq!((savings.redundant_bytes, savings.encoded_bytes), (0, 1300), "{}", method.name);
    }
}

#[test]
fn the_same_bytes_at_another_place_of_the_stream_are_redundancy() {
    let payload = noise(1, 1000);
    let report = analyze(&[tcp_down(0, 1, &payload), tcp_down(0, 1001, &payload)]);
    assert_eq!(report.traffic.retransmitted_bytes, 0);
    for method in ["chunk", "max-match", "whole-packet", "naive", "tcp-seq", "cache-flush"] {
        let bytes = redundant_bytes(&report, method);
        assert!((950..=1000).contains(&bytes), "{method}: {bytes}");
    }
    assert_eq!(redundant_bytes(&report, "chunk"), 1000, "chunks tile a packet");
    assert_eq!(redundant_bytes(&report, "acked"), 0, "nothing is confirmed yet");
}

#[test]
fn what_a_client_had_is_intra_and_what_only_another_had_is_inter() {
    let payload = noise(1, 1000);
    let packets = [
        tcp_down(0, 1, &payload),
        tcp_down(1, 1, &payload),
        tcp_down(2, 1, &payload),
        tcp_down(0, 1001, &payload),
    ];
    let report = analyze(&packets);
    assert_eq!(report.clients, 3);
    assert_eq!(report.traffic.to_client_bytes, 4000);
    let chunk = report.method("chunk").unwrap();
    assert_eq!((chunk.intra_bytes, chunk.inter_bytes), (1000, 2000));
    assert_eq!((chunk.intra_percent, chunk.inter_percent), (25.0, 50.0));
    let whole = report.method("whole-packet").unwrap();
    assert_eq!((whole.intra_bytes, whole.inter_bytes), (1000, 2000));
    assert_eq!(whole.total.savings.encoded_bytes, 1000 + 3 * 8);
    // These refer to the newest copy, which another client received.
    for method in ["max-match", "naive"] {
        assert_eq!(report.method(method).unwrap().intra_bytes, 0, "{method}");
    }
    // With two packets in flight, the fourth packet finds the first one confirmed.
    let acked = report.method("acked").unwrap();
    assert!(acked.intra_bytes > 900 && acked.inter_bytes == 0, "{acked:?}");
    assert_eq!(
        redundant_bytes(&report, "tcp-seq"),
        1000,
        "the newest copy has a lower sequence, in another flow"
    );
}

#[test]
fn the_two_directions_have_nothing_of_each_other() {
    let payload = noise(1, 1000);
    let report = analyze(&[tcp_down(0, 1, &payload), tcp_up(0, 80, 1, &payload), tcp_up(1, 80, 1, &payload)]);
    for method in ["chunk", "max-match", "naive", "whole-packet"] {
        let method = report.method(method).unwrap();
        assert_eq!(method.to_client.savings.redundant_bytes, 0, "{}", method.name);
        assert!(method.to_server.savings.redundant_bytes > 900, "{}", method.name);
        assert_eq!(method.intra_bytes + method.inter_bytes, 0, "these are shares of what clients receive");
    }
}

#[test]
fn a_cache_flush_forgets_what_was_before_a_retransmission() {
    let (first, second) = (noise(1, 1000), noise(2, 1000));
    let calm = [tcp_down(0, 1, &first), tcp_down(0, 1001, &second), tcp_down(0, 2001, &first)];
    assert!(redundant_bytes(&analyze(&calm), "cache-flush") > 900);
    let lossy = [&calm[..2], &[tcp_down(0, 1001, &second)], &calm[2..]].concat();
    let report = analyze(&lossy);
    assert_eq!(redundant_bytes(&report, "cache-flush"), 0);
    assert!(redundant_bytes(&report, "naive") > 900);
}

#[test]
fn overhead_is_what_the_encoder_adds() {
    let payload = noise(1, 1000);
    let report = analyze(&[tcp_down(0, 1, &payload), tcp_down(0, 1001, &payload)]);
    let max_match = report.method("max-match").unwrap().total;
    assert_eq!(max_match.savings.encoded_bytes, 2000 - 1000 + 14, "one region");
    // One region of the compact form takes 6 to 8 bytes here; generation and MAC take 9.
    let naive = report.method("naive").unwrap().total.savings;
    let overhead = naive.encoded_bytes + naive.redundant_bytes - 2000;
    assert!((13..=18).contains(&overhead), "{overhead}");
    let saved_percent = 100.0 * (1.0 - 1014.0 / 2000.0);
    assert!((max_match.saved_percent - saved_percent).abs() < 1e-9);
}

#[test]
fn zstd_shrinks_text_and_what_is_left_of_it_and_leaves_noise_alone() {
    let text =
        "The quick brown fox jumps over the lazy dog, and the lazy dog jumps over the fox. ".repeat(10);
    let report = analyze(&[tcp_down(0, 1, text.as_bytes()), tcp_down(0, 10_001, &noise(1, 800))]);
    let zstd = report.method("zstd").unwrap().total.savings;
    assert!(zstd.encoded_bytes < 800 + 200, "{zstd:?}");
    assert!(zstd.encoded_bytes >= 800);
    for method in &report.methods {
        let savings = method.total.savings;
        assert!(savings.encoded_zstd_bytes <= zstd.encoded_bytes + 100, "{}", method.name);
    }
}

fn hello(kind: u8) -> Vec<u8> {
    [&[22, 3, 1, 1, 0, kind, 0, 0, 252, 3, 3][..], &noise(9, 250)].concat()
}

#[test]
fn tls_is_known_by_its_hello_on_any_port_and_from_there_on() {
    let packets = [
        tcp_up(0, 3128, 1, b"CONNECT example.org:443 HTTP/1.1\r\n\r\n"),
        tcp_up(0, 3128, 37, &hello(1)),
        tcp_up(0, 3128, 298, &noise(5, 500)),
        tcp_up(1, 443, 1, &hello(1)),
        tcp_up(2, 80, 1, b"GET / HTTP/1.1\r\n\r\n"),
    ];
    let report = analyze(&packets);
    assert_eq!(report.traffic.tls_bytes, 261 + 500 + 261);
}

#[test]
fn a_tls_flow_captured_from_its_middle_is_known_by_port_and_record() {
    let record = [&[23, 3, 3, 0x40, 0][..], &noise(5, 600)].concat();
    let on_443 = [tcp_up(0, 443, 1, &noise(6, 400)), tcp_up(0, 443, 401, &record)];
    assert_eq!(analyze(&on_443).traffic.tls_bytes, 1005, "what came before was of the same flow");
    let on_80 = [tcp_up(0, 80, 1, &record)];
    assert_eq!(analyze(&on_80).traffic.tls_bytes, 0);
    let plain_on_443 = [tcp_up(0, 443, 1, b"GET / HTTP/1.1\r\n\r\n")];
    assert_eq!(analyze(&plain_on_443).traffic.tls_bytes, 0);
}

#[test]
fn quic_ssh_and_dtls_are_counted_apart() {
    let initial = [&[0xc3, 0, 0, 0, 1, 8][..], &noise(1, 1190)].concat();
    let google = [&[0x0d, 1, 2, 3, 4, 5, 6, 7, 8][..], b"Q043", &noise(2, 500)].concat();
    let dtls = [&[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 1][..], &noise(3, 100)].concat();
    let packets = [
        udp_v6(50_000, 443, &initial),
        udp_v6(50_000, 443, &noise(4, 300)),
        udp_v6(50_001, 443, &google),
        udp_v6(50_002, 4433, &dtls),
        tcp_up(0, 22, 1, b"SSH-2.0-OpenSSH_9.6\r\n"),
        udp_v6(50_003, 53, &noise(5, 64)),
    ];
    let traffic = analyze(&packets).traffic;
    assert_eq!(traffic.quic_bytes, 1196 + 300 + 513);
    assert_eq!(traffic.tls_bytes, 114);
    assert_eq!(traffic.ssh_bytes, 21);
    assert_eq!(traffic.encrypted_bytes(), traffic.quic_bytes + traffic.tls_bytes + traffic.ssh_bytes);
}

#[test]
fn whoever_sends_the_syn_is_the_client_whatever_the_ports() {
    let payload = noise(1, 2000);
    // The "server" has the higher port here.
    let packets = [syn(0, 50_000, 9), tcp_up(0, 50_000, 10, &payload)];
    let report = analyze(&packets);
    assert_eq!(report.traffic.to_client_bytes, 0);
    assert_eq!(analyze(&packets[1..]).traffic.to_client_bytes, 2000, "without the SYN the lower port serves");
}

#[test]
fn a_new_connection_on_the_same_ports_is_not_a_retransmission() {
    let payload = noise(1, 500);
    let packets =
        [syn(0, 80, 99), tcp_up(0, 80, 100, &payload), syn(0, 80, 90), tcp_up(0, 80, 91, &noise(2, 500))];
    assert_eq!(analyze(&packets).traffic.retransmitted_bytes, 0);
}

#[test]
fn the_same_capture_gives_the_same_report_every_time() {
    let packets: Vec<_> = (0..400)
        .map(|number| {
            tcp_down(number % 3, number as u32 * 2000, &noise(number as u64 % 50, 300 + number % 900))
        })
        .collect();
    let report = serde_json::to_string(&analyze(&packets)).unwrap();
    for _ in 0..3 {
        assert_eq!(serde_json::to_string(&analyze(&packets)).unwrap(), report);
    }
}

#[test]
fn json_has_what_scripts_look_for() {
    let payload = noise(1, 1200);
    let report = analyze(&[tcp_down(0, 1, &payload), tcp_down(0, 1201, &payload)]);
    let json = serde_json::to_value(&report).unwrap();
    for key in ["packets", "payload_bytes", "tls_bytes", "retransmitted_bytes", "clients"] {
        assert!(json[key].is_u64(), "{key}");
    }
    for method in with_published_policies().names() {
        for key in ["redundant_bytes", "encoded_bytes", "intra_bytes", "inter_bytes"] {
            assert!(json["methods"][&method][key].is_u64(), "{method} {key}");
        }
    }
    assert!(!json["advice"].as_str().unwrap().contains('\n'));
}

#[test]
fn only_the_methods_asked_for_are_measured_and_unknown_ones_are_refused() {
    let mut options = Options { only: vec!["zstd".to_owned()], ..Options::default() };
    let file = pcap(RAW_IP, &[tcp_down(0, 1, &noise(1, 100))]);
    let report = options.analyze(source(&file), &mut |_| {}).unwrap();
    assert_eq!(report.methods.len(), 1);
    options.only = vec!["zsdt".to_owned()];
    let error = options.analyze(source(&file), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("zsdt") && error.contains("max-match"), "{error}");
}

#[test]
fn whoever_watches_sees_the_file_read_to_its_end() {
    let packets: Vec<_> =
        (0..600).map(|number| tcp_down(0, number * 1000, &noise(u64::from(number), 1000))).collect();
    let file = pcap(RAW_IP, &packets);
    let mut seen = Vec::new();
    Options::default().analyze(source(&file), &mut |progress| seen.push(progress.read_bytes())).unwrap();
    assert!(seen.len() > 1 && seen.is_sorted());
    assert_eq!(seen.last(), Some(&(file.len() as u64)));
}
