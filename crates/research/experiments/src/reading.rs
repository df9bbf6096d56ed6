//! What one run shows, in the paper's terms, whichever driver made it.

use anyhow::{Context as _, Result};
use lab::{Ending, Outcome};
use node::{PeerCounters, Status};

use crate::pair::{AIR, STATION};

/// One run of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Packets sent over the link from server to client, lost or not, with everything included.
    pub packets_down: u64,
    /// The bytes of that, from the outer IP header on.
    pub bytes_down: u64,
    /// Bytes sent over the link from client to server.
    pub bytes_up: u64,
    /// The share of packets towards the client that the link did not deliver whole: lost on the air, refused
    /// by its full queue, or corrupted. The paper's actual loss (section VII).
    pub actual_loss: f64,
    /// The share that the client did not get, with packets that could not be restored: the paper's perceived
    /// loss. For a stream, the share of datagrams that the application did not get.
    pub perceived_loss: f64,
    /// Packets that arrived at the client's node and could not be restored, then or later.
    pub undecodable_packets: u64,
    /// Whether the whole file arrived, byte for byte.
    pub is_complete: bool,
    /// Whether the download stalled: no new octet in order for 60 s.
    pub is_stalled: bool,
    /// The share of the file that arrived in order.
    pub share: f64,
    /// The 99th percentile of a stream's one-way delay, in milliseconds.
    pub delay_p99_milliseconds: Option<f64>,
    /// From the start of the download to its end; none where there is no TCP.
    pub seconds: Option<f64>,
}

impl Reading {
    /// Reads an outcome of the lab.
    ///
    /// # Errors
    ///
    /// When the outcome lacks what every run of a cell has.
    pub fn of(outcome: &Outcome) -> Result<Self> {
        let link = outcome.link(AIR).context("a run without its link")?;
        let (download, stream) = (outcome.downloads.first(), outcome.streams.first());
        let counters = counters(outcome, STATION)?;
        let undecodable_packets = counters.missed.saturating_sub(counters.repaired);
        let down = &link.forward;
        let lost = down.lost.packets + down.queue_dropped.packets + down.corrupted.packets;
        let share = |packets: u64| packets as f64 / down.offered.packets.max(1) as f64;
        let perceived_loss = match stream {
            Some(stream) => 1.0 - stream.received as f64 / stream.sent.max(1) as f64,
            None => share(lost + undecodable_packets),
        };
        Ok(Self {
            packets_down: down.transmitted.packets,
            bytes_down: down.transmitted.bytes,
            bytes_up: link.backward.transmitted.bytes,
            actual_loss: share(lost),
            perceived_loss,
            undecodable_packets,
            is_complete: download.is_some_and(lab::DownloadOutcome::came_whole)
                || stream.is_some_and(|it| it.altered == 0),
            is_stalled: download.is_some_and(|it| it.ending == Ending::Stalled),
            share: download.map_or(0.0, |it| it.bytes as f64 / it.whole_bytes.max(1) as f64),
            delay_p99_milliseconds: stream.map(|it| it.delay.p99_milliseconds),
            seconds: download.map(|it| it.seconds),
        })
    }
}

impl From<&sim::trial::Outcome> for Reading {
    fn from(outcome: &sim::trial::Outcome) -> Self {
        let share = outcome.in_order_share.unwrap_or(1.0);
        Self {
            packets_down: outcome.offered_packets,
            bytes_down: outcome.bytes_down,
            bytes_up: outcome.bytes_up,
            actual_loss: outcome.actual_loss,
            perceived_loss: outcome.perceived_loss,
            undecodable_packets: outcome.undecodable_packets,
            is_complete: share == 1.0 && outcome.wrong_packets == 0,
            is_stalled: share < 1.0,
            share,
            delay_p99_milliseconds: None,
            seconds: None,
        }
    }
}

/// What the node at `place` counted about its peer; zeros without a tunnel.
pub fn counters(outcome: &Outcome, place: &str) -> Result<PeerCounters> {
    let Some(status) = outcome.statuses.get(place) else { return Ok(PeerCounters::default()) };
    let status = status.get("node").context("a status without its node")?;
    let status: Status = serde_json::from_value(status.clone()).context("a status of another form")?;
    Ok(status.peers.first().context("a status without its peer")?.counters)
}
