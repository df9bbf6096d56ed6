//! Cells in the simulation: the same nodes on the same air, without TCP.
//!
//! A stream is the lab's stream. A download is segments at a constant rate, each retransmitted after a fixed
//! time until its delivery. It shows a scheme's effect on bytes and loss at an independent load, and stalls;
//! it gives no times.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;
use sim::Tunnel;
use sim::trial::{Stream, Trial};

use crate::cell::{Cell, Traffic};
use crate::parallel;
use crate::reading::Reading;
use crate::scheme::Scheme;
use crate::testbed::{STREAM_DATAGRAMS, STREAM_INTERVAL_MILLISECONDS, STREAM_PAYLOAD_BYTES, Testbed};

/// After what time a segment that has not come out is sent again: Linux's shortest timeout.
const RETRANSMIT_AFTER: Duration = Duration::from_millis(200);

/// Runs a cell with one seed.
pub fn run(cell: &Cell, testbed: &Testbed, seed: u64) -> Result<Reading> {
    let outcome = trial(cell, testbed).run(seed).with_context(|| cell.name())?;
    Ok(Reading::from(&outcome))
}

fn trial(cell: &Cell, testbed: &Testbed) -> Trial {
    let [down, up] = cell.impairment.links(cell.path);
    let (Traffic::Download(file) | Traffic::Stream(file)) = cell.traffic;
    let content: Arc<[u8]> = testbed.content(file).bytes.as_slice().into();
    let trial = match cell.traffic {
        Traffic::Download(_) => {
            let stream = Stream::Segments { retransmit_after: Some(RETRANSMIT_AFTER) };
            let whole = Trial::of(content, stream, 0);
            let packets = whole.content.len().div_ceil(whole.payload_bytes) as u64;
            Trial { packets, ..whole }
        }
        Traffic::Stream(_) => Trial {
            payload_bytes: STREAM_PAYLOAD_BYTES,
            interval: Duration::from_secs_f64(STREAM_INTERVAL_MILLISECONDS / 1e3),
            ..Trial::of(content, Stream::Datagrams, STREAM_DATAGRAMS)
        },
    };
    let tunnel = match cell.scheme {
        Scheme::Bare => None,
        // The simulation's nodes shorten nothing, for any parts.
        Scheme::Parts(parts) => Some(parts.policy().into()),
        Scheme::Tunnel { policy, form } => {
            Some(re::Parameters { policy, form, ..re::Parameters::default() }.into())
        }
    };
    let tunnel = tunnel.map(|tunnel| Tunnel { fec: false, ..tunnel });
    Trial { tunnel, down, up, ..trial }
}

/// Runs cells, each with its seeds from 1 on, on all processors.
pub fn run_all(
    cells: &[(Cell, u32)],
    testbed: &Testbed,
    progress: &ProgressBar,
) -> Result<Vec<(Cell, Vec<Reading>)>> {
    progress.set_length(cells.iter().map(|(_, seeds)| u64::from(*seeds)).sum());
    let runs = cells.iter().flat_map(|(cell, seeds)| (1..=u64::from(*seeds)).map(move |seed| (cell, seed)));
    let readings = parallel::map(runs, progress, |(cell, seed)| run(cell, testbed, seed))?;
    let mut readings = readings.into_iter();
    Ok(cells.iter().map(|(cell, seeds)| (*cell, readings.by_ref().take(*seeds as usize).collect())).collect())
}
