//! Recordings of real links, if present: `shared/data/links` beside the workspace.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use crate::driver::{lost_numbers, numbered};
use air::mahimahi::CapacityTrace;
use air::receptions::read_paths;
use air::{CapacityConfig, Link, LinkConfig, LossConfig};

/// The unpacked text of `name`; `None` after a printed line if it is absent.
fn recording(name: &str) -> Option<String> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../../../shared/data/links", name].iter().collect();
    let Ok(packed) = std::fs::File::open(&path) else {
        println!("skipped: no recording {name} beside the workspace");
        return None;
    };
    let mut text = String::new();
    liblzma::read::XzDecoder::new(packed).read_to_string(&mut text).unwrap();
    Some(text)
}

#[test]
fn every_recorded_radio_path_is_replayed_exactly() {
    for name in ["rutgers_dbm0.csv.xz", "rutgers_dbm-10.csv.xz", "rutgers_dbm-20.csv.xz"] {
        let Some(table) = recording(name) else { return };
        let paths = read_paths(&table).unwrap();
        assert_eq!(paths.len(), 29 * 28, "{name}");
        // The third column is the share of receptions, to four digits: another's count of what we parsed.
        for (path, line) in paths.iter().zip(table.lines().skip(1)) {
            let delivery: f64 = line.split(',').nth(2).unwrap().parse().unwrap();
            assert!((path.receptions.delivery() - delivery).abs() < 1e-4, "{line}");
            assert_eq!(path.receptions.len(), 300);
        }
        for path in paths.into_iter().step_by(37) {
            let lost: Vec<u64> = (0..)
                .zip(path.receptions.iter())
                .filter(|(_, received)| !received)
                .map(|(count, _)| count)
                .collect();
            let config = LinkConfig {
                loss: LossConfig::Trace { receptions: path.receptions },
                ..LinkConfig::default()
            };
            assert_eq!(lost_numbers(&config, 1, std::iter::repeat_n(100, 300)), lost);
        }
    }
}

#[test]
fn a_saturated_link_uses_every_opportunity_of_a_recording() {
    for name in [
        "mahimahi-TMobile-LTE-short.down.xz",
        "mahimahi-TMobile-LTE-short.up.xz",
        "mahimahi-ATT-LTE-driving-2016.down.xz",
        "mahimahi-ATT-LTE-driving-2016.up.xz",
        "mahimahi-Verizon-EVDO-driving.down.xz",
        "mahimahi-Verizon-EVDO-driving.up.xz",
    ] {
        let Some(text) = recording(name) else { return };
        let trace: CapacityTrace = text.parse().unwrap();
        assert_eq!(trace.len(), text.lines().count(), "{name}");
        let config = LinkConfig {
            trace: Some(CapacityConfig::OpportunitiesMs(trace)),
            queue_bytes: usize::MAX,
            ..LinkConfig::default()
        };
        let mut link = Link::new(&config, 1).unwrap();
        // One full frame an opportunity: the n-th leaves at the n-th line, for a round and a half. Time 0 is
        // the one moment whose opportunities no frame can be early enough for.
        let at_zero = text.lines().take_while(|line| *line == "0").count();
        let times: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        let period = *times.last().unwrap();
        let count = times.len() * 3 / 2 - at_zero;
        // More waits than any millisecond of the recordings can carry.
        const WAITING: usize = 2000;
        let frame = |number: usize| numbered(number as u64, 1500);
        (0..WAITING.min(count)).for_each(|number| link.send(Duration::ZERO, frame(number)));
        let mut arrived = 0;
        while let Some(now) = link.poll_timeout() {
            while link.poll_deliver(now).is_some() {
                let opportunity = arrived + at_zero;
                let expected = (opportunity / times.len()) as u64 * period + times[opportunity % times.len()];
                assert_eq!(now, Duration::from_millis(expected), "{name}, frame {arrived}");
                arrived += 1;
                if arrived + WAITING <= count {
                    link.send(now, frame(arrived + WAITING - 1));
                }
            }
        }
        assert_eq!(arrived, count, "{name}");
    }
}
