//! Figures for real captures, compared with those of other programs at the time the captures were chosen:
//! `../shared/data/INDEX.md` beside the workspace. Without that file, nothing is tested.

use capture::{Options, Report};
use std::path::PathBuf;

/// Shares of the payload to clients, in percent, by the same definitions and parameters.
struct Expected {
    capture: &'static str,
    chunk_intra: f64,
    chunk_inter: f64,
    max_match: f64,
    max_match_net: f64,
}

const fn expected(capture: &'static str, chunk: [f64; 2], max_match: [f64; 2]) -> Expected {
    let [chunk_intra, chunk_inter] = chunk;
    let [max_match, max_match_net] = max_match;
    Expected { capture, chunk_intra, chunk_inter, max_match, max_match_net }
}

const INDEX: [Expected; 10] = [
    expected("iot-dlink-1round-A", [8.4, 51.6], [68.4, 65.9]),
    expected("docs-gzip", [0.9, 39.9], [41.9, 41.2]),
    expected("webpages-gzip", [0.2, 41.6], [42.4, 41.9]),
    expected("http-repeat-1client", [54.6, 0.0], [63.2, 59.7]),
    expected("iot-dlink-4rounds-A", [63.2, 19.8], [86.4, 84.2]),
    expected("iot-31devices-A", [48.1, 25.3], [79.3, 76.8]),
    expected("mixed-http-low", [2.8, 0.1], [4.7, 4.2]),
    expected("nasa-replay", [23.0, 22.8], [49.4, 47.9]),
    expected("docs-plain", [29.4, 29.9], [72.6, 67.3]),
    expected("webpages-plain", [13.6, 36.2], [63.7, 59.4]),
];

/// Relative tolerance of a figure.
const TOLERANCE: f64 = 0.15;
/// Absolute tolerance of a share in percentage points: below one percent the gear's random table decides.
const TOLERANCE_POINTS: f64 = 0.3;

fn data() -> Option<PathBuf> {
    let data = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/data/pcap"));
    if !data.is_dir() {
        println!("left out: the captures of ../shared/data are not here");
    }
    data.is_dir().then_some(data)
}

fn analyze(capture: &str, only: &[&str]) -> Option<Report> {
    let path = data()?.join(format!("{capture}.pcap.xz"));
    let options = Options {
        only: only.iter().map(|&name| name.to_owned()).collect(),
        policies: published::policy::ON_CAPTURES.to_vec(),
        ..Options::default()
    };
    Some(options.analyze_file(&path, &mut |_| {}).unwrap())
}

fn close(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= (TOLERANCE * theirs).max(TOLERANCE_POINTS)
}

fn assert_close(expected: &Expected) {
    let Some(report) = analyze(expected.capture, &["chunk", "max-match"]) else { return };
    assert_eq!(report.damage, None);
    let (chunk, max_match) = (report.method("chunk").unwrap(), report.method("max-match").unwrap());
    for (what, ours, theirs) in [
        ("chunk intra", chunk.intra_percent, expected.chunk_intra),
        ("chunk inter", chunk.inter_percent, expected.chunk_inter),
        ("max-match", max_match.to_client.redundant_percent, expected.max_match),
        ("max-match net", max_match.to_client.saved_percent, expected.max_match_net),
    ] {
        assert!(close(ours, theirs), "{} {what}: {ours:.2}% where {theirs}% was expected", expected.capture);
    }
}

#[test]
fn chunk_and_max_match_agree_with_the_index() {
    INDEX.iter().for_each(assert_close);
}

#[test]
fn unrelated_clients_have_next_to_nothing_in_common() {
    let Some(report) = analyze("mixed-http-low", &["chunk", "whole-packet"]) else { return };
    for method in &report.methods {
        assert!(method.inter_percent < 0.5, "{}: {:.3}%", method.name, method.inter_percent);
    }
}

#[test]
fn the_same_page_over_tls_twice_saves_nothing() {
    for capture in ["tls-same-page-chrome", "tls-same-page-firefox"] {
        let Some(report) = analyze(capture, &["chunk", "max-match", "acked", "naive"]) else { return };
        for method in &report.methods {
            let saved_percent = method.total.saved_percent;
            assert!(saved_percent < 0.1, "{capture}: {} saves {saved_percent:.3}%", method.name);
        }
        assert!(report.percent_of_payload(report.traffic.tls_bytes) > 99.9);
    }
}

#[test]
fn the_report_says_what_these_captures_are() {
    let Some(report) = analyze("iot-dlink-1round-A", &["acked", "zstd", "chunk", "default"]) else { return };
    assert_eq!((report.packets, report.clients), (3243, 6));
    assert_eq!(report.link_types, ["Ethernet"]);
    let tls = report.traffic.tls_bytes as f64;
    assert!((185e3..195e3).contains(&tls), "{tls}");
    assert!(
        report.advice.contains("TLS") && report.advice.contains("only other clients"),
        "{}",
        report.advice
    );
}
