//! The paper's Figure 3, set up in the lab: a server that encodes, a client that decodes, and one link.
//!
//! The server is the gateway of a [`Pair`] and the client its station; on the link, *forward* is from server
//! to client.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context as _, Result};
use lab::{Download, Scenario, Start, Stream};
use tempfile::TempDir;

use crate::cell::{self, Cell, File, Traffic};
use crate::contents::{self, Content, Contents};
use crate::pair::{Carrier, GATEWAY, Pair, SERVER, STATION};

/// Start of the traffic, when the session exists even after a few lost handshake messages.
const START_SECONDS: f64 = 5.0;
/// When a run is given up. Only downloads that still advance, if slowly, meet it.
const BOUND_SECONDS: f64 = 7200.0;
/// After how long without a new octet a download has stalled: TCP's patience doubles after each timeout, and
/// its timeouts grow with the round trip.
const STALL_ROUND_TRIPS: u32 = 3000;

/// Octets of payload of a stream's datagrams: they fit the tunnel's MTU.
pub(crate) const STREAM_PAYLOAD_BYTES: usize = 1200;
/// From one datagram to the next: 300 kByte/s, well below the link's rate, so that nothing is lost to the
/// queue.
pub(crate) const STREAM_INTERVAL_MILLISECONDS: f64 = 4.0;
/// Twice file 1, so that the second half repeats the first.
pub(crate) const STREAM_DATAGRAMS: u64 = 1000;

/// What scenarios refer to: contents and keys as files, which vanish with it.
pub struct Testbed {
    folder: TempDir,
    contents: BTreeMap<File, Content>,
    pair: Pair,
}

impl Testbed {
    /// Takes contents from where they are and writes them to a temporary folder.
    pub fn new(contents: &Contents) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("overheard-experiment-").tempdir();
        let folder = folder.context("cannot make a temporary folder")?;
        let mut taken = BTreeMap::new();
        for file in File::ALL {
            let content = match file {
                File::One => contents.file_1()?,
                File::Two => contents.file_2()?,
                File::Ebook => contents.ebook()?,
                File::Random => Contents::random(contents::FILE_1_BYTES),
                File::Long => Contents::random(contents::LONG_BYTES),
                File::HalfRepeating => Contents::half_repeating(),
                File::Documents => contents.documents()?,
            };
            let path = folder.path().join(file.slug());
            fs::write(&path, &content.bytes).with_context(|| format!("cannot write {}", path.display()))?;
            taken.insert(file, content);
        }
        Ok(Self { folder, contents: taken, pair: Pair::new(0)? })
    }

    /// What a file is.
    #[must_use]
    pub fn content(&self, file: File) -> &Content {
        &self.contents[&file]
    }

    /// The nodes' keys.
    #[must_use]
    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// The folder, for what a run writes. Inside the virtual-time kernel it has the same path.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The scenario of a cell with these seeds.
    #[must_use]
    pub fn scenario(&self, cell: &Cell, seeds: RangeInclusive<u64>) -> Scenario {
        let [forward, backward] = cell.impairment.links(cell.path);
        let carrier = Carrier::from(cell.scheme);
        let wire = cell.path.wire();
        let server = if wire.is_some() { SERVER } else { GATEWAY };
        let (mut downloads, mut streams) = (Vec::new(), Vec::new());
        let file = match cell.traffic {
            Traffic::Download(file) => {
                downloads.push(download(&carrier, cell.path, file));
                file
            }
            Traffic::Stream(file) => {
                streams.push(stream(&carrier, file));
                file
            }
        };
        Scenario {
            name: cell.name(),
            seeds: seeds.collect(),
            topology: match wire {
                None => Pair::topology(&forward, &backward),
                Some(wire) => Pair::topology_with_wire(&forward, &backward, &wire),
            },
            parameters: cell.stack.parameters(),
            contents: vec![self.lab_content(file)],
            servers: if downloads.is_empty() { Vec::new() } else { vec![server.to_owned()] },
            daemons: self.pair.daemons(&carrier),
            downloads,
            streams,
            bound_seconds: BOUND_SECONDS,
            ..Scenario::default()
        }
    }

    /// A file as the lab's servers take it.
    #[must_use]
    pub fn lab_content(&self, file: File) -> lab::Content {
        lab::Content {
            name: file.slug().to_owned(),
            file: self.folder.path().join(file.slug()),
            skip_bytes: 0,
            length_bytes: None,
        }
    }
}

fn download(carrier: &Carrier, path: cell::Path, file: File) -> Download {
    let over_wire = path.wire_milliseconds.is_some();
    let round_trip_milliseconds = path.round_trip_milliseconds().max(cell::Path::PAPER.hop_milliseconds);
    Download {
        place: STATION.to_owned(),
        from: if over_wire { Pair::far_server() } else { Pair::server(carrier) },
        content: file.slug().to_owned(),
        port: lab::HTTP_PORT,
        start: Start::AtSeconds(START_SECONDS),
        stall_seconds: round_trip_milliseconds * STALL_ROUND_TRIPS / 1000,
    }
}

fn stream(carrier: &Carrier, file: File) -> Stream {
    Stream {
        from: GATEWAY.to_owned(),
        to: STATION.to_owned(),
        address: Pair::station(carrier),
        datagrams: STREAM_DATAGRAMS,
        payload_bytes: STREAM_PAYLOAD_BYTES,
        interval_milliseconds: STREAM_INTERVAL_MILLISECONDS,
        content: Some(file.slug().to_owned()),
        start_seconds: START_SECONDS,
        keeps_delays: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Impairment, Stack};
    use crate::scheme::Scheme;

    #[test]
    fn every_cell_is_a_scenario_that_makes_sense() {
        let testbed = Testbed::new(&Contents::substitutes()).unwrap();
        for scheme in Scheme::COMPARED.into_iter().chain([Scheme::NAIVE, Scheme::k_distance(50)]) {
            for cell in [Cell::download(File::One, scheme, 5.0), Cell::stream(File::Two, scheme, 20.0)] {
                let scenario = testbed.scenario(&cell, 1..=3);
                scenario.check().unwrap();
                assert_eq!(scenario.seeds, [1, 2, 3]);
                assert_eq!(scenario.daemons.is_empty(), scheme == Scheme::Bare);
            }
        }
        let cell = Cell {
            impairment: Impairment::Everything,
            stack: Stack::Reno,
            ..Cell::download(File::Ebook, Scheme::OFF, 0.0)
        };
        testbed.scenario(&cell, 1..=1).check().unwrap();
    }
}
