//! Figure 14: references and retransmissions of packets, and their fates.
//!
//! The paper shows an extract from one run of its TCP sequence number encoding. Any run can be traced here:
//! the plan has file, scheme, loss and seed. The nodes at both ends write a trace packet by packet, and link
//! sequences join the two traces.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use lab::Scenario;
use node::{Event, SentPacket};
use serde::Deserialize;
use sim::{Dependencies, DependencyLink, DependencyRow};
use wire::inner::Flow;

use crate::cell::Cell;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{GATEWAY, STATION};
use crate::row::Row;

/// Figure 14.
pub const FIGURE: Figure = Figure {
    id: "14",
    title: "Dependencies between packets",
    x: "packet, by link sequence",
    remark: "How many packets each packet of a download refers to; the note of each row says to which, of which earlier \
             packet it is a retransmission, and what became of it. One lost packet makes undecodable whatever refers to \
             it, directly or through others, as in the paper's extract; under acked nothing is.",
    needs,
    rows,
};

/// Packets kept of a trace: those of the longest download.
const MOST_PACKETS: usize = 20_000;

fn cell(setting: &Setting<'_>) -> Cell {
    let traced = &setting.plan.trace;
    Cell::download(traced.file, traced.scheme, traced.loss_percent)
}

fn trace_path(setting: &Setting<'_>, place: &str) -> PathBuf {
    setting.testbed.folder().join(format!("{place}.trace"))
}

fn scenario(setting: &Setting<'_>) -> Scenario {
    let mut scenario = setting.testbed.scenario(&cell(setting), 1..=1);
    scenario.name = format!("{}, traced", scenario.name);
    scenario.seeds = vec![setting.plan.trace.seed];
    for daemon in &mut scenario.daemons {
        let path = trace_path(setting, &daemon.name).to_string_lossy().into_owned();
        daemon.command.extend(["--trace".to_owned(), path]);
    }
    scenario
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    vec![Need::Scenario(Box::new(scenario(setting)))]
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let setting = &results.setting;
    if results.outcomes(&scenario(setting).name)?.is_empty() {
        return Ok(Vec::new());
    }
    let trace = join(&trace_path(setting, GATEWAY), &trace_path(setting, STATION))?;
    let series = format!("references: {}, seed {}", cell(setting).name(), setting.plan.trace.seed);
    let row = |packet: &DependencyRow| {
        let row = Row::new(FIGURE.id, series.clone(), packet.sent.sequence as f64, "packets referred to");
        let row =
            Row { driver: setting.driver, seeds: 1, ..row.exactly(packet.sent.references.len() as f64) };
        row.note(packet.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
    };
    Ok(trace.rows().map(row).collect())
}

/// One line of a node's trace.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Sent {
        sent: u64,
        tcp_sequence: Option<u32>,
        payload_bytes: usize,
        packet_bytes: usize,
        frame_bytes: usize,
        references: Vec<u64>,
    },
    Arrived {
        arrived: u64,
        outcome: String,
    },
}

/// Joins what the sender wrote and what the receiver wrote.
fn join(sender: &Path, receiver: &Path) -> Result<Dependencies> {
    let link = DependencyLink { from: 0, from_peer: 0, to: 1, to_peer: 0 };
    let mut dependencies = Dependencies::new(link, MOST_PACKETS);
    for (host, path) in [(0, sender), (1, receiver)] {
        let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        for line in text.lines() {
            let line = serde_json::from_str(line)
                .with_context(|| format!("{} has the line {line}", path.display()))?;
            // Traces have no clock: the order is what matters.
            dependencies.note(Duration::ZERO, host, &event(line)?);
        }
    }
    Ok(dependencies)
}

fn event(line: Line) -> Result<Event> {
    // There is one flow with payload in each direction.
    let nowhere = std::net::Ipv4Addr::UNSPECIFIED.into();
    let flow =
        Flow { source: nowhere, destination: nowhere, protocol: 6, source_port: 0, destination_port: 0 };
    Ok(match line {
        Line::Sent { sent, tcp_sequence, payload_bytes, packet_bytes, frame_bytes, references } => {
            let sequence = sent;
            Event::Sent(SentPacket {
                peer: 0,
                sequence,
                flow,
                tcp_sequence,
                payload_bytes,
                packet_bytes,
                frame_bytes,
                references,
            })
        }
        Line::Arrived { arrived, outcome } => {
            let outcome = match outcome.as_str() {
                "delivered" => node::Outcome::Delivered,
                "undecodable" => node::Outcome::Undecodable,
                "held" => node::Outcome::Held,
                "repaired" => node::Outcome::Repaired,
                other => anyhow::bail!("a trace knows the outcome {other:?}"),
            };
            Event::Arrived { peer: 0, sequence: arrived, outcome }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traces_of_both_ends_are_joined_by_link_sequence() {
        let folder = tempfile::tempdir().unwrap();
        let [sender, receiver] = ["sender", "receiver"].map(|name| folder.path().join(name));
        let sent = |sequence: u64, tcp: u32, references: &str| {
            format!(
                "{{\"sent\":{sequence},\"peer\":0,\"flow\":\"\",\"tcp_sequence\":{tcp},\"payload_bytes\":1372,\
                 \"packet_bytes\":1424,\"frame_bytes\":700,\"references\":[{references}]}}\n"
            )
        };
        let arrived = |sequence: u64, outcome: &str| {
            format!("{{\"arrived\":{sequence},\"peer\":0,\"outcome\":\"{outcome}\"}}\n")
        };
        std::fs::write(&sender, [sent(13, 100, ""), sent(14, 1472, "13"), sent(24, 100, "")].concat())
            .unwrap();
        std::fs::write(&receiver, [arrived(14, "undecodable"), arrived(24, "delivered")].concat()).unwrap();
        let trace = join(&sender, &receiver).unwrap();
        let rows: Vec<String> = trace.rows().map(ToString::to_string).collect();
        assert!(rows[0].ends_with("lost"), "{}", rows[0]);
        assert!(rows[1].contains("refers to 13") && rows[1].ends_with("undecodable"), "{}", rows[1]);
        assert!(rows[2].contains("retransmission of 13") && rows[2].ends_with("delivered"), "{}", rows[2]);
    }
}
