//! Memory of a small station.

// The test measures its own process, in which no other tests may run.
#![allow(clippy::unwrap_used)] // a harness fails by panicking

#[allow(dead_code)] // the other tests use the rest
#[path = "all/content.rs"]
mod content;

use content::{Content, association, settings};
use overhear::{PacketNumber, Settings, Station, StationId};
use std::time::Duration;

/// Of this test itself.
const MOST_BEFORE: f64 = 4.0;

fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024.0 / 1e6
}

#[test]
fn a_station_with_65_536_full_slots_keeps_under_24_mb_resident_in_all() {
    let settings = Settings { slot_bits: 16, ..settings() };
    let mac_key = association(StationId(1)).mac_key;
    let mut station = Station::new(settings, StationId(1), mac_key).unwrap();
    let before = resident_mb();
    let mut content = Content::new(1);
    for number in 0..60_000 {
        let mut plain = vec![0];
        plain.extend(content.random(1400));
        station.receive(PacketNumber(number), 0, &plain, Duration::ZERO);
    }
    let after = resident_mb();
    assert!(after > before + 10.0, "the slots are not full: {before} to {after}");
    // The memory of an emulator, which is there before, does not count.
    let own = if before > MOST_BEFORE { after - before + MOST_BEFORE } else { after };
    assert!(own < 24.0, "{own} MB, {before} of {after} before");
}
