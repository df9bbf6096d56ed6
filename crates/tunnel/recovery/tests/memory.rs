//! Memory of a thousand flows, as the system counts it.

// The test measures its own process, in which no other tests may run.
#![allow(clippy::unwrap_used)] // a harness fails by panicking

#[allow(dead_code)] // the other tests use the rest
#[path = "all/hop.rs"]
mod hop;

use hop::{Flow, MS, data, segment};
use recovery::pattern::Pattern;
use recovery::{Coding, Replacement, Settings, Snoop, Undoes};

/// Resident memory of this process, in bytes.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

#[test]
fn a_thousand_flows_with_eight_packets_each_take_less_than_32_megabytes() {
    for degree in [1, 2, 4] {
        let coding = Coding::Fixed(Pattern { degree, distance: 1 });
        let settings = Settings { buffer_packets: 8, replacement: Replacement::Lru, coding };
        let before = resident_bytes();
        let mut snoop = Snoop::new(&settings, Undoes::Rows);
        // Thirty segments of maximum size are in flight for each flow, and its eight slots are full.
        for number in 0..30 {
            for port in 0..1000 {
                let packet = data(&Flow { port, ..Flow::default() }, 1 + number * 1348, 1348);
                snoop.handle_departure(MS * number, &packet, &segment(&packet));
            }
        }
        let bytes = resident_bytes() - before;
        println!("degree {degree}: {} bytes kept, {bytes} in all", snoop.bytes());
        assert!(snoop.flows() == 1000 && snoop.bytes() >= 7 * 1400 * 1000);
        assert!(bytes < 32_000_000, "degree {degree}: {bytes}");
        drop(snoop);
    }
}
