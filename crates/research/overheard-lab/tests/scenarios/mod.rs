//! Scenarios that several tests begin from.
#![allow(clippy::unwrap_used, reason = "part of tests, which panic on failure")]
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::path::Path;
use std::time::Duration;

use air::{Bitrate, LinkConfig, LossConfig};
use lab::virtual_time::Kernel;
use lab::{Content, Download, Driver, LabError, Programs, Run, Scenario, Start, Stream, Topology, Virtual};

/// The length of the Byte Caching paper's first file.
pub const FILE_BYTES: usize = 587_567;

/// 8 Mbit/s, 10 ms one way, 64 KB of queue, and this probability of loss.
pub fn lossy(probability: f64) -> LinkConfig {
    LinkConfig {
        rate: Some(Bitrate::from_megabits_per_second(8)),
        delay: Duration::from_millis(10),
        loss: LossConfig::Bernoulli { probability },
        ..LinkConfig::default()
    }
}

/// Nothing but a gateway and a station.
pub fn quiet(name: &str, probability: f64, seeds: &[u64]) -> Scenario {
    Scenario {
        name: name.to_owned(),
        seeds: seeds.to_vec(),
        topology: Topology::one_link(lossy(probability), lossy(probability)),
        parameters: Default::default(),
        bound_seconds: 600.0,
        ..Scenario::default()
    }
}

/// The station downloads a file that does not repeat from the gateway, without a tunnel.
pub fn bare(folder: &Path, probability: f64, seeds: &[u64]) -> Scenario {
    let file = folder.join("file");
    std::fs::write(&file, noise(FILE_BYTES)).unwrap();
    let mut scenario = quiet("bare", probability, seeds);
    scenario.contents = vec![Content { name: "file".to_owned(), file, skip_bytes: 0, length_bytes: None }];
    scenario.servers = vec!["gateway".to_owned()];
    scenario.downloads = vec![download(&scenario)];
    scenario
}

/// A download by the station over IPv4.
pub fn download(scenario: &Scenario) -> Download {
    Download {
        place: "station".to_owned(),
        from: scenario.topology.ipv4("air", "gateway").unwrap().into(),
        content: "file".to_owned(),
        port: lab::HTTP_PORT,
        start: Start::default(),
        stall_seconds: 60,
    }
}

/// 500 datagrams of 1000 octets, one every 5 ms, from the gateway to the station.
pub fn stream(scenario: &Scenario) -> Stream {
    Stream {
        from: "gateway".to_owned(),
        to: "station".to_owned(),
        address: scenario.topology.ipv6("air", "station").unwrap().into(),
        datagrams: 500,
        payload_bytes: 1000,
        interval_milliseconds: 5.0,
        content: None,
        start_seconds: 0.0,
        keeps_delays: false,
    }
}

/// Octets without a pattern: xorshift64 (Marsaglia 2003).
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x0123_4567_89ab_cdef_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    })
    .take(length)
    .collect()
}

const LABORATORY: &str = env!("CARGO_BIN_EXE_overheard-lab");

/// These scenarios start the laboratory's program alone.
fn programs() -> Programs {
    Programs { overheard: LABORATORY.into(), laboratory: LABORATORY.into() }
}

/// The driver on this kernel; without the rights for it, prints one line.
pub fn here() -> Option<Driver> {
    match Run::begin() {
        Ok(_) => Some(Driver::Lab { programs: programs() }),
        Err(LabError::NeedsRoot) => {
            println!("left out: network namespaces need root");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The driver in virtual time; without its kernel, prints one line with the remedy.
pub fn virtually() -> Option<Virtual> {
    let programs = programs();
    let guest = vec![LABORATORY.to_owned(), "guest".to_owned()];
    match Kernel::find() {
        Ok(kernel) => Some(Virtual::new(kernel, programs, guest)),
        Err(error) => {
            println!("left out: {error}");
            None
        }
    }
}
