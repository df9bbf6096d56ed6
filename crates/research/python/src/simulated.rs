//! The driver `sim`: a scenario of one link and one flow, with the same nodes on the same air, in this
//! process.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;
use std::time::Duration;

use experiments::scheme::Scheme;
use lab::{Content, Medium, Scenario};
use pyo3::prelude::*;
use sim::Tunnel;
use sim::trial::{Stream, Trial};

use crate::face::{raise, read};

/// Linux's shortest timeout: a segment that has not arrived by then is sent again.
const RETRANSMIT_AFTER: Duration = Duration::from_millis(200);

/// Simulates a scenario with each of its seeds, and returns outcomes of [`sim::trial`] as JSON. `scheme` is
/// the tunnel's, if there is one; `repairs` says whether it has forward error correction.
#[pyfunction]
#[pyo3(signature = (scenario, scheme=None, repairs=true))]
pub fn simulate(
    py: Python<'_>,
    scenario: &str,
    scheme: Option<&str>,
    repairs: bool,
) -> PyResult<Vec<String>> {
    let scenario = read(scenario)?;
    scenario.check().map_err(raise)?;
    let scheme = scheme.map(str::parse::<Scheme>).transpose().map_err(raise)?;
    py.detach(|| {
        let trial = trial(&scenario, scheme, repairs)?;
        let run = |seed: &u64| {
            let outcome = trial.run(*seed).map_err(raise)?;
            serde_json::to_string(&outcome).map_err(raise)
        };
        scenario.seeds.iter().map(run).collect()
    })
}

fn trial(scenario: &Scenario, scheme: Option<Scheme>, repairs: bool) -> PyResult<Trial> {
    let impossible = |why: &str| raise(format!("scenario `{}`: the driver sim {why}", scenario.name));
    let topology = &scenario.topology;
    let [link] = &topology.links[..] else {
        return Err(impossible("has one link over the air, and nothing else"));
    };
    let Medium::Air { forward, backward } = &link.medium else {
        return Err(impossible("has one link over the air, and this one is a cable"));
    };
    if !topology.channels.is_empty() || !scenario.clients.is_empty() || !scenario.events.is_empty() {
        return Err(impossible("has no shared channels, clients and events: take the driver virtual"));
    }
    let trial = match (&scenario.downloads[..], &scenario.streams[..]) {
        ([download], []) if download.place == link.ends[1] => {
            let content = bytes(scenario, &download.content)?;
            let stream = Stream::Segments { retransmit_after: Some(RETRANSMIT_AFTER) };
            let whole = Trial::of(content, stream, 0);
            let packets = whole.content.len().div_ceil(whole.payload_bytes) as u64;
            Trial { packets, ..whole }
        }
        ([], [stream]) if stream.to == link.ends[1] => {
            let content = match &stream.content {
                Some(name) => bytes(scenario, name)?,
                None => Arc::from(vec![0; stream.payload_bytes]),
            };
            Trial {
                payload_bytes: stream.payload_bytes,
                interval: Duration::from_secs_f64(stream.interval_milliseconds / 1e3),
                ..Trial::of(content, Stream::Datagrams, stream.datagrams)
            }
        }
        _ => return Err(impossible("has one download or one stream, to the second end of its link")),
    };
    let tunnel = match scheme {
        None | Some(Scheme::Bare) => None,
        Some(Scheme::Parts(parts)) => Some(parts.policy().into()),
        Some(Scheme::Tunnel { policy, form }) => {
            Some(re::Parameters { policy, form, ..re::Parameters::default() }.into())
        }
    };
    let tunnel = tunnel.map(|tunnel| Tunnel { fec: repairs, ..tunnel });
    Ok(Trial { tunnel, down: forward.clone(), up: backward.clone(), ..trial })
}

/// A content of the scenario.
fn bytes(scenario: &Scenario, name: &str) -> PyResult<Arc<[u8]>> {
    let found = scenario.contents.iter().find(|content| content.name == name);
    let Content { file, skip_bytes, length_bytes, .. } =
        found.ok_or_else(|| raise(format!("there is no content `{name}`")))?;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut opened = fs::File::open(file)?;
        opened.seek(SeekFrom::Start(*skip_bytes))?;
        let mut bytes = Vec::new();
        opened.take(length_bytes.unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(bytes.into()),
        Err(error) => Err(raise(format!("cannot read {}: {error}", file.display()))),
    }
}
